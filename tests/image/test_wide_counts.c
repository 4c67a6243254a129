/*
 * test_wide_counts.c - counts of 32 bits: how they are rounded and clamped, and that they
 * agree with counts of 16 bits.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include <nanobrag/image.h>

#include "image/digitize.h"
#include "support/tap.h"
#include "support/windows.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { NSLOW = 150, NFAST = 97, BRIGHT = 60 * NFAST + 20, FULL = 61 * NFAST + 20 };

/* counts of 32 bits are rounded in double, and clamped at their own end */
static int digitize_wide_rounding(void)
{
    static const struct {
        double photons, scale, offset;
        int count;
    } row[] = {
        {0, 1, 0, 0},
        {0.5, 1, 0, 1},
        {0.49999999999, 1, 0, 0},
        {100, 0.25, 40, 65},
        {65536.4, 1, 0, 65536},
        {16777217, 1, 0, 16777217}, /* no float holds it */
        {2147483646.4, 1, 0, 2147483646},
        {2147483647, 1, 0, 2147483647},
        {2147483648, 1, 0, 2147483647},
        {1e30, 1, 0, 2147483647},
        {INFINITY, 1, 0, 2147483647},
        {-5, 1, 3, 0},
        {NAN, 1, 40, 0},
    };

    for (size_t i = 0; i < COUNT(row); i++) {
        struct window window = windows_make(1, 1, NULL, 0, 1, 0, 1);
        double photons = row[i].photons;
        int32_t count = 7;
        int64_t overloads = -1;
        const nb_array image = nb_array_f64(&photons, 1, 1);
        nb_array counts = nb_array_i32(&count, 1, 1);
        const nb_digitizer how = {.scale = row[i].scale,
                                  .offset = row[i].offset,
                                  .overloads = &overloads};

        digitize(&window, &how, &image, NULL, 1, &counts);
        window_free(&window);
        tap_check(count == row[i].count && overloads == (photons > 2147483647),
                  "%.12g x %g + %g: %d, expected %d, overloads %lld", photons, row[i].scale,
                  row[i].offset, count, row[i].count, (long long)overloads);
    }
    return TAP_PASS;
}

/* With noise, counts of 32 bits are those of 16 bits where these end; in the memory of the
 * image they are the same, too, for any number of threads and type of the image. */
static int digitize_wide_counts(void)
{
    static double photons[NSLOW * NFAST];
    static uint8_t mask[NSLOW * NFAST];
    static double place[NSLOW * NFAST];
    static uint16_t narrow[NSLOW * NFAST];
    static int32_t wide[NSLOW * NFAST];
    struct window window;

    for (int i = 0; i < NSLOW * NFAST; i++) {
        photons[i] = 0.037 * (i % 20000);
        mask[i] = i % 11 != 0;
    }
    photons[BRIGHT] = 3e5;
    photons[FULL] = 3e9;
    mask[BRIGHT] = mask[FULL] = 1;
    window = windows_make(NSLOW, NFAST, mask, 2, 90, 3, 140);
    for (int way = 0; way < 8; way++) {
        const int noise = way & 1, single = way & 2, threads = way & 4 ? 3 : 1;
        int64_t overloads[2];
        const nb_digitizer how16 = {.offset = 10,
                                    .scale = 1,
                                    .noise = noise,
                                    .seed = 7,
                                    .overloads = &overloads[0]};
        nb_digitizer how32 = how16;
        nb_array image = single ? nb_array_f32((float *)(void *)place, NSLOW, NFAST)
                                : nb_array_f64(place, NSLOW, NFAST);
        nb_array counts = nb_array_u16(narrow, NSLOW, NFAST);
        int wrong = 0, moved = 0;

        how32.overloads = &overloads[1];
        for (int i = 0; i < NSLOW * NFAST; i++)
            if (single)
                ((float *)(void *)place)[i] = (float)photons[i];
            else
                place[i] = (double)(float)photons[i];
        digitize(&window, &how16, &image, NULL, threads, &counts);
        counts = nb_array_i32(wide, NSLOW, NFAST);
        digitize(&window, &how32, &image, NULL, threads, &counts);
        counts.data = place;
        digitize(&window, &how32, &image, NULL, threads, &counts);
        for (int i = 0; i < NSLOW * NFAST; i++) {
            wrong += (wide[i] < 65535 ? wide[i] : 65535) != narrow[i];
            moved += wide[i] != ((const int32_t *)(const void *)place)[i];
        }
        tap_check(wrong == 0 && moved == 0,
                  "noise %d, float%d, %d threads: %d counts differ from 16 bits, %d in "
                  "place",
                  noise, single ? 32 : 64, threads, wrong, moved);
        tap_check(overloads[0] == 2 && overloads[1] == 1 && wide[FULL] == INT32_MAX
                      && abs(wide[BRIGHT] - 300010) < 5000,
                  "overloads %lld and %lld, expected 2 and 1", (long long)overloads[0],
                  (long long)overloads[1]);
    }
    window_free(&window);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"digitize_wide_rounding", digitize_wide_rounding},
        {"digitize_wide_counts", digitize_wide_counts},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
