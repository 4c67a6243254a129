/*
 * test_image.c - the stages after the sum over samples: random numbers, noise, counts,
 * statistics. They are compared with a published vector, sampling theory or a direct sum.
 * The point spread is tested by test_psf.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include <nanobrag/image.h>

#include "image/digitize.h"
#include "image/noise.h"
#include "image/statistics.h"
#include "physics/noise/philox.h"
#include "scene/random.h"
#include "support/tap.h"
#include "support/windows.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- generators ---- */

static int generator_vectors(void)
{
    /* nanoBragg's generator, nine digits */
    static const struct {
        int64_t seed;
        double u[6];
    } row[] = {
        {12345678,
         {0.765989304, 0.023453664, 0.589726627, 0.535101593, 0.982231438, 0.693016112}},
        {5, {0.172860548, 0.680409431, 0.917078257, 0.91751039, 0.766779184, 0.648500979}},
        {1, {0.415999353, 0.091964893, 0.75641048, 0.52970022, 0.930436492, 0.383502066}},
        {0, {0.415999353, 0.091964893, 0.75641048, 0.52970022, 0.930436492, 0.383502066}},
    };

    for (size_t i = 0; i < COUNT(row); i++) {
        struct random_stream quirk = {0}, ours = {0};
        struct worst worst = {0}, worst_ours = {0};

        random_seed_quirk(&quirk, row[i].seed);
        random_seed(&ours, row[i].seed);
        for (int j = 0; j < 6; j++) {
            worst_add(&worst, (double)random_uniform(&quirk), row[i].u[j], 1);
            worst_add(&worst_ours, (double)random_uniform(&ours), row[i].u[j], 1);
        }
        worst_check(&worst, 6e-10, "quirk seed");
        if (row[i].seed > 0) worst_check(&worst_ours, 6e-10, "seed");
        if (i == 0) tap_check(quirk.x == 1086690778, "state %lld", (long long)quirk.x);
    }
    return TAP_PASS;
}

static int generator_seeds(void)
{
    static const int64_t seed[] = {0,         -1,        -5,       2147483647, 2147483648,
                                   INT64_MAX, INT64_MIN, 12345678, 5};
    float first[COUNT(seed)];
    struct random_stream used = {0}, fresh = {0}, fork, table;

    for (size_t i = 0; i < COUNT(seed); i++) {
        random_seed(&used, seed[i]);
        first[i] = random_uniform(&used);
        tap_check(first[i] > 0 && first[i] < 1, "seed %lld: %.9g in (0, 1)",
                  (long long)seed[i], (double)first[i]);
        for (size_t j = 0; j < i; j++)
            if (first[i] == first[j]) tap_check(0, "seeds %zu and %zu start alike", i, j);
        random_seed(&fresh, seed[i]);
        tap_check(first[i] == random_uniform(&fresh), "no memory of earlier draws");
    }
    fork = fresh;
    tap_check(random_uniform(&fork) == random_uniform(&fresh), "a copy is a fork");
    /* nanoBragg: a negative seed goes on with the table that is there */
    table = fresh;
    random_seed_quirk(&table, -5);
    tap_check((double)random_uniform(&table)
                  == (double)(float)(fresh.table[fresh.y >> 26] * (1 / 2147483647.0)),
              "quirk: a negative seed keeps the table");
    tap_check(table.x == 84035, "quirk: and its first state is 16807 x 5");
    return TAP_PASS;
}

static int philox_known_answers(void)
{
    /* kat_vectors of Random123 */
    static const struct {
        struct philox_block counter;
        uint64_t key;
        struct philox_block answer;
    } row[] = {
        {{{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
        {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
         0xffffffffffffffff,
         {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
        {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
         0x299f31d0a4093822,
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
    };

    for (size_t i = 0; i < COUNT(row); i++) {
        const struct philox_block b = philox(row[i].counter, row[i].key);

        tap_check(memcmp(&b, &row[i].answer, sizeof b) == 0,
                  "vector %zu: %08x %08x %08x %08x", i, b.word[0], b.word[1], b.word[2],
                  b.word[3]);
    }
    return TAP_PASS;
}

/* ---- Poisson ---- */

static int poisson_quirk_vector(void)
{
    static const float mean[] = {0,    0.5F, 3.25F, 11.99F, 12,  50,
                                 1000, 1e5F, 2e6F,  2e6F,   0.1F};
    static const double drawn[] = {0,    0,     3,         15,          10, 32,
                                   1045, 99794, 2000908.5, 1999304.875, 0};
    struct random_stream random = {0};
    struct noise_spare spare = {0};

    random_seed_quirk(&random, 7);
    for (size_t i = 0; i < COUNT(mean); i++)
        (void)tap_close("draw", (double)noise_poisson_quirk(&random, &spare, mean[i]),
                        drawn[i], 0);
    tap_check(noise_poisson_quirk(&random, &spare, NAN) == 0, "NaN ends");
    return TAP_PASS;
}

/* sampling theory: var(mean) = m/n, var(variance) = (2 m^2 + m)/n */
static int poisson_moments(void)
{
    static const double mean[] = {0.01, 0.5, 5, 29.9, 30.1, 100, 1e4, 1e6, 1e8, 2e9};
    const int n = 1000000;

    for (size_t i = 0; i < COUNT(mean); i++) {
        const double m = mean[i];
        double sum = 0, squares = 0;

        for (int p = 0; p < n; p++) {
            const double d = noise_poisson(20260711, (uint32_t)i, (uint64_t)p, m) - m;

            sum += d;
            squares += d * d;
        }
        tap_note("mean %g", m);
        (void)tap_close("mean, standard errors", sum / n / sqrt(m / n), 0, 5);
        (void)tap_close("variance, standard errors",
                        (squares / n - m) / sqrt((2 * m * m + m) / n), 0, 5);
    }
    return TAP_PASS;
}

/* chi^2 of n draws against the exact probabilities; tails are merged to 10 expected */
static void check_distribution(double mean)
{
    enum { MOST = 400 };
    const int n = 1000000;
    double seen[MOST] = {0}, p = exp(-mean), chi2 = 0;
    double expected = 0, observed = 0, rest = n, rest_seen = n;
    int bins = 0;

    for (int i = 0; i < n; i++)
        seen[(int)fmin(noise_poisson(99, 3, (uint64_t)i, mean), MOST - 1)]++;
    for (int k = 0; k < MOST; k++) {
        expected += n * p;
        observed += seen[k];
        p *= mean / (k + 1);
        if (expected < 10 || rest - expected < 10) continue;
        chi2 += (observed - expected) * (observed - expected) / expected;
        rest -= expected;
        rest_seen -= observed;
        expected = observed = 0;
        bins++;
    }
    chi2 += (rest_seen - rest) * (rest_seen - rest) / rest;
    tap_note("mean %g: %d degrees of freedom", mean, bins);
    (void)tap_close("chi^2", chi2, bins, 5 * sqrt(2.0 * bins));
}

static int poisson_distribution(void)
{
    check_distribution(0.2);
    check_distribution(3);
    check_distribution(29.99);
    check_distribution(30);
    check_distribution(40);
    check_distribution(200);
    return TAP_PASS;
}

static int poisson_arguments(void)
{
    static const double nothing[] = {0, -0.0, -1e-300, -3, -INFINITY, NAN};
    static const double huge[] = {1e-300, 1e-17, 1e9, 1.0000001e9, 1e16, 1e300};
    double base[3], same = 0;

    for (size_t i = 0; i < COUNT(nothing); i++)
        tap_check(noise_poisson(1, 2, 3, nothing[i]) == 0, "mean %g gives 0", nothing[i]);
    for (size_t i = 0; i < COUNT(huge); i++) {
        const double k = noise_poisson(1, 2, 3, huge[i]);

        tap_check(k == floor(k) && fabs(k - huge[i]) <= 7 * sqrt(huge[i]) + 1,
                  "mean %g: %.17g", huge[i], k);
    }
    tap_check(isinf(noise_poisson(1, 2, 3, INFINITY)), "an infinite mean stays infinite");
    /* each argument matters, the upper half of each too */
    for (int i = 0; i < 3; i++) {
        const double m = i == 0 ? 1e6 : i == 1 ? 20 : 1e12;

        base[i] = noise_poisson(1, 2, 3, m);
        same += base[i] == noise_poisson(1, 2, 3, m) ? 0 : 1;
        if (i == 1) continue;
        same += base[i] == noise_poisson(2, 2, 3, m) ? 1 : 0;
        same += base[i] == noise_poisson(1 + (1ULL << 32), 2, 3, m) ? 1 : 0;
        same += base[i] == noise_poisson(1, 3, 3, m) ? 1 : 0;
        same += base[i] == noise_poisson(1, 2, 4, m) ? 1 : 0;
        same += base[i] == noise_poisson(1, 2, 3 + (1ULL << 32), m) ? 1 : 0;
    }
    (void)tap_close("arguments without effect, or effects without arguments", same, 0, 0);
    return TAP_PASS;
}

/* ---- counts ---- */

enum { NSLOW = 150, NFAST = 97 };

/* smooth from 0 to about 86000 photons */
static double ramp(int s, int f)
{
    return 0.04 * (double)s * s * f + 0.01 * f;
}

struct picture {
    double photons[NSLOW * NFAST];
    uint8_t mask[NSLOW * NFAST];
    uint16_t counts[NSLOW * NFAST];
};

static void fill_picture(struct picture *picture)
{
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++) {
            const int at = s * NFAST + f;

            picture->photons[at] = ramp(s, f);
            picture->mask[at] = (uint8_t)((s * 7 + f * 3) % 11 != 0);
            picture->counts[at] = 7;
        }
}

static void digitize_picture(struct picture *picture, const struct window *window,
                             const nb_digitizer *how, const struct random_stream *quirk,
                             int threads)
{
    const nb_array image = nb_array_f64(picture->photons, NSLOW, NFAST);
    nb_array counts = nb_array_u16(picture->counts, NSLOW, NFAST);

    digitize(window, how, &image, quirk, threads, &counts);
}

static int inside(const struct window *window, int s, int f)
{
    return f >= window->roi[0] && f < window->roi[1] && s >= window->roi[2]
           && s < window->roi[3];
}

static int noise_threads_and_roi(void)
{
    static struct picture whole, part;
    struct window all, roi;
    double photons, photons_again, sum = 0;
    int64_t overloads, overloads_again, over = 0;
    nb_digitizer how = {.offset = 40, .noise = 1, .seed = -3, .image = 9};

    fill_picture(&whole);
    fill_picture(&part);
    all = windows_make(NSLOW, NFAST, whole.mask, 0, NFAST, 0, NSLOW);
    roi = windows_make(NSLOW, NFAST, whole.mask, 11, 60, 5, 149);
    how.photons = &photons;
    how.overloads = &overloads;
    digitize_picture(&whole, &all, &how, NULL, 1);
    for (int at = 0; at < NSLOW * NFAST; at++) {
        const double n =
            whole.mask[at] ? noise_poisson((uint64_t)-3, 9, (uint64_t)at, whole.photons[at])
                           : 0;

        sum += n;
        over += n + 40 > 65535;
    }
    (void)tap_close("photons", photons, sum, 0);
    (void)tap_close("overloads", (double)overloads, (double)over, 0);
    tap_check(over > 10, "%lld pixels are clamped", (long long)over);
    how.photons = &photons_again;
    how.overloads = &overloads_again;
    for (int threads = 2; threads <= 4; threads++) {
        digitize_picture(&part, &all, &how, NULL, threads);
        tap_check(memcmp(part.counts, whole.counts, sizeof whole.counts) == 0,
                  "%d threads: the same counts", threads);
        tap_check(photons == photons_again && overloads == overloads_again,
                  "%d threads: the same sums", threads);
    }
    digitize_picture(&part, &roi, &how, NULL, 2);
    over = 0;
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++) {
            const int at = s * NFAST + f;

            over += part.counts[at] != (inside(&roi, s, f) ? whole.counts[at] : 0);
        }
    (void)tap_close("pixels that depend on the ROI", (double)over, 0, 0);
    window_free(&all);
    window_free(&roi);
    return TAP_PASS;
}

/* the rule of digitize.h in other words, per pixel */
static int noise_counts(void)
{
    static struct picture picture;
    struct window window;
    static const double offset[] = {0, 40, -2.5, 12.75};

    fill_picture(&picture);
    window = windows_make(NSLOW, NFAST, picture.mask, 2, 90, 3, 140);
    picture.photons[10 * NFAST + 10] = NAN;
    picture.photons[10 * NFAST + 11] = INFINITY;
    picture.photons[10 * NFAST + 12] = -1e-12;
    for (size_t i = 0; i < COUNT(offset); i++) {
        const nb_digitizer how = {.offset = offset[i], .noise = 1, .seed = 5};
        int wrong = 0;

        digitize_picture(&picture, &window, &how, NULL, 2);
        for (int s = 0; s < NSLOW; s++)
            for (int f = 0; f < NFAST; f++) {
                const int at = s * NFAST + f;
                double v = 0;

                if (picture.mask[at])
                    v = noise_poisson(5, 0, (uint64_t)at, picture.photons[at]);
                v = fmin(fmax(floor(v + offset[i]), 0), 65535);
                wrong += picture.counts[at] != (inside(&window, s, f) ? v : 0);
            }
        tap_check(wrong == 0, "offset %g: %d wrong counts", offset[i], wrong);
    }
    window_free(&window);
    return TAP_PASS;
}

static int noise_quirk_stream(void)
{
    static struct picture picture;
    struct window window;
    struct random_stream left = {0}, random = {0};
    struct noise_spare spare = {0};
    double photons, sum = 0;
    int64_t overloads, over = 0;
    int wrong = 0;
    nb_digitizer how = {.offset = 10, .noise = 1, .seed = 7};

    fill_picture(&picture);
    window = windows_make(NSLOW, NFAST, picture.mask, 2, 90, 3, 140);
    picture.photons[20 * NFAST + 20] = 3e6; /* rounded normal */
    how.photons = &photons;
    how.overloads = &overloads;
    digitize_picture(&picture, &window, &how, &left, 2);
    random_seed_quirk(&random, 7);
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++) {
            const int at = s * NFAST + f;
            double v = 0, count = 0;

            if (inside(&window, s, f)) {
                if (!picture.mask[at])
                    (void)random_uniform(&random);
                else
                    v = (double)noise_poisson_quirk(&random, &spare,
                                                    (float)picture.photons[at]);
                sum += v;
                over += v + 10 > 65535;
                count = fmin(floor(v + 10), 65535);
            }
            wrong += picture.counts[at] != count;
        }
    (void)tap_close("wrong counts", wrong, 0, 0);
    (void)tap_close("photons", photons, sum, 0);
    (void)tap_close("overloads", (double)overloads, (double)over, 0);
    tap_check(!left.filled, "the scene's generator is left alone");
    window_free(&window);
    return TAP_PASS;
}

static int digitize_rounding(void)
{
    /* halves go up, values within 1/512 below one too */
    static const struct {
        double photons, scale, offset;
        int count;
    } row[] = {
        {0, 1, 0, 0},
        {0.5, 1, 0, 1},
        {0.4999, 1, 0, 0},
        {100, 0.25, 40, 65},
        {60000, 1, 0.497, 60000},
        {60000, 1, 0.499, 60001},
        {65534.4, 1, 0, 65534},
        {65535.4, 1, 0, 65535},
        {1e30, 1, 0, 65535},
        {INFINITY, 1, 0, 65535},
        {-5, 1, 3, 0},
        {NAN, 1, 40, 0},
        {16777217, 1.0 / 1024, -0.5 - 1.0 / 1024, 16383}, /* read as the float before */
    };

    for (size_t i = 0; i < COUNT(row); i++) {
        struct window window = windows_make(1, 1, NULL, 0, 1, 0, 1);
        double photons = row[i].photons, drawn = -1;
        uint16_t count = 7;
        int64_t overloads = -1;
        const nb_array image = nb_array_f64(&photons, 1, 1);
        nb_array counts = nb_array_u16(&count, 1, 1);
        const nb_digitizer how = {.scale = row[i].scale,
                                  .offset = row[i].offset,
                                  .photons = &drawn,
                                  .overloads = &overloads};

        digitize(&window, &how, &image, NULL, 1, &counts);
        window_free(&window);
        tap_check(count == row[i].count, "%.9g x %g + %g: %d, expected %d", photons,
                  row[i].scale, row[i].offset, count, row[i].count);
        tap_check(overloads == (photons * row[i].scale + row[i].offset > 65535)
                      && drawn == 0,
                  "overloads %lld, no photons drawn", (long long)overloads);
    }
    return TAP_PASS;
}

/* automatic scale, mask, ROI, float image and strides */
static int digitize_window(void)
{
    static float image[2 * NSLOW * NFAST];
    static uint16_t out[NSLOW * NFAST * 3];
    static struct picture picture;
    struct window window;
    const nb_digitizer how = {.offset = 40.25};
    nb_array photons = nb_array_f32(image, NSLOW, NFAST);
    nb_array counts = nb_array_u16(out, NSLOW, NFAST);
    double max = 0;
    int wrong = 0;

    photons.stride[0] = 1; /* the transpose of a dense image */
    photons.stride[1] = NSLOW;
    counts.stride[0] = (int64_t)3 * NFAST;
    counts.stride[1] = 3;
    fill_picture(&picture);
    window = windows_make(NSLOW, NFAST, picture.mask, 2, 90, 3, 140);
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++) {
            const double p = picture.photons[s * NFAST + f];

            image[f * NSLOW + s] = (float)p;
            if (inside(&window, s, f) && picture.mask[s * NFAST + f])
                max = fmax(max, (double)(float)p);
        }
    memset(out, 1, sizeof out);
    digitize(&window, &how, &photons, NULL, 3, &counts);
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++) {
            const size_t at = (size_t)s * NFAST + (size_t)f;
            double v = 0;

            if (inside(&window, s, f)) {
                v = picture.mask[at] ? (double)(float)picture.photons[at] : 0;
                v = floor((double)(float)(v * (55000 / max) + 40.25 + 0.5));
            }
            wrong += out[3 * at] != v;
            wrong += out[3 * at + 1] != 0x101;
        }
    (void)tap_close("wrong counts", wrong, 0, 0);
    window_free(&window);
    return TAP_PASS;
}

/* ---- statistics ---- */

static int statistics_sums(void)
{
    static struct picture picture;
    struct window window;
    const nb_array image = nb_array_f64(picture.photons, NSLOW, NFAST);
    long double sum = 0, squares = 0, shown = 0, hidden = 0, spread = 0, mean;
    nb_statistics ours, quirk;
    int at[2], at_quirk[2], same;

    fill_picture(&picture);
    /* the maximum twice, the first counts; a larger one is masked, another outside */
    picture.photons[50 * NFAST + 30] = picture.photons[51 * NFAST + 3] = 1e6 + 1.0 / 3;
    picture.mask[50 * NFAST + 30] = picture.mask[51 * NFAST + 3] = 1;
    picture.photons[20 * NFAST + 20] = 1e7;
    picture.mask[20 * NFAST + 20] = 0;
    window = windows_make(NSLOW, NFAST, picture.mask, 2, 90, 3, 140);
    picture.photons[1] = 1e8;
    for (int pass = 0; pass < 2; pass++) {
        mean = shown > 0 ? sum / shown : 0;
        for (int s = 3; s < 140; s++)
            for (int f = 2; f < 90; f++) {
                const long double p = (long double)(float)picture.photons[s * NFAST + f];

                if (pass && picture.mask[s * NFAST + f])
                    spread += (p - mean) * (p - mean);
                else if (pass)
                    hidden++;
                else if (picture.mask[s * NFAST + f]) {
                    shown++;
                    sum += p;
                    squares += p * p;
                }
            }
    }
    statistics_of(&window, &image, 0, &ours, at);
    statistics_of(&window, &image, 1, &quirk, at_quirk);
    /* quotients of sums in long double, rounded: eps is measured */
    (void)tap_close("count", (double)ours.count, (double)shown, 0);
    (void)tap_close("sum", ours.sum / (double)sum, 1, 4e-15);
    (void)tap_close("mean", ours.mean / (double)mean, 1, 4e-15);
    (void)tap_close("max", ours.max, (double)(float)(1e6 + 1.0 / 3), 0);
    tap_check(at[0] == 50 && at[1] == 30, "maximum at %d, %d", at[0], at[1]);
    (void)tap_close("rms", ours.rms / sqrt((double)(squares / (shown - 1))), 1, 4e-15);
    (void)tap_close("rmsd", ours.rmsd / sqrt((double)(spread / (shown - 1))), 1, 4e-15);
    spread += hidden * mean * mean;
    (void)tap_close("quirk rmsd",
                    quirk.rmsd / sqrt((double)(spread / (shown + hidden - 1))), 1, 1e-13);
    same = quirk.sum == ours.sum && quirk.rms == ours.rms && quirk.max == ours.max
           && at_quirk[0] == at[0] && at_quirk[1] == at[1];
    tap_check(same, "the quirk changes nothing else");
    window_free(&window);
    return TAP_PASS;
}

static int statistics_corners(void)
{
    double photons[2] = {0, 3};
    const uint8_t mask[2] = {0, 0};
    const nb_array image = nb_array_f64(photons, 1, 2);
    struct window window = windows_make(1, 2, mask, 0, 2, 0, 1);
    nb_statistics s;
    int at[2];

    statistics_of(&window, &image, 0, &s, at);
    window_free(&window);
    tap_check(s.count == 0 && s.max == 0 && s.mean == 0 && s.rms == 0 && s.rmsd == 0
                  && at[0] == -1 && at[1] == -1,
              "all masked: zeros, no maximum");
    window = windows_make(1, 2, NULL, 1, 2, 0, 1);
    statistics_of(&window, &image, 1, &s, at);
    window_free(&window);
    tap_check(s.count == 1 && s.max == 3 && s.mean == 3 && s.rms == 3 && s.rmsd == 0,
              "one pixel: rms %g, rmsd %g", s.rms, s.rmsd);
    photons[1] = -1;
    window = windows_make(1, 2, NULL, 0, 2, 0, 1);
    statistics_of(&window, &image, 0, &s, at);
    window_free(&window);
    tap_check(s.max == 0 && at[0] == -1 && s.sum == -1, "nothing above 0: no maximum");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"generator_vectors", generator_vectors},
        {"generator_seeds", generator_seeds},
        {"philox_known_answers", philox_known_answers},
        {"poisson_quirk_vector", poisson_quirk_vector},
        {"poisson_moments", poisson_moments},
        {"poisson_distribution", poisson_distribution},
        {"poisson_arguments", poisson_arguments},
        {"noise_threads_and_roi", noise_threads_and_roi},
        {"noise_counts", noise_counts},
        {"noise_quirk_stream", noise_quirk_stream},
        {"digitize_rounding", digitize_rounding},
        {"digitize_window", digitize_window},
        {"statistics_sums", statistics_sums},
        {"statistics_corners", statistics_corners},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
