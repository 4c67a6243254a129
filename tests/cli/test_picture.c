/*
 * test_picture.c - the grey of a picture tells a background from spots and strong spots
 * from weak ones, and no label covers a spot or another label. cli/picture.sh looks at
 * whole pictures.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/picture/picture.h"
#include "support/tap.h"

enum { PIXELS = 40000, EDGE = 512 };

static double photons[PIXELS], sorted[PIXELS];

/* Returns a number in [0, 1) that follows from i. */
static double random_at(uint32_t i)
{
    i = (i ^ 61) ^ (i >> 16);
    i *= 9;
    i ^= i >> 4;
    i *= 0x27d4eb2d;
    return (i ^ (i >> 15)) / 4294967296.0;
}

static struct tone tone_of(enum tone_kind asked)
{
    return tone_choose(asked, photons, PIXELS, sorted);
}

/* Background of 100 photons with its noise, and 1 % of the pixels in spots. */
static int background(void)
{
    for (uint32_t i = 0; i < PIXELS; i++) {
        photons[i] = 100 + 20 * (random_at(i) - 0.5) + 20 * (random_at(i + PIXELS) - 0.5);
        if (i % 100 == 0) photons[i] = 300 + i;
    }
    const struct tone tone = tone_of(TONE_AUTO);

    tap_check(tone.kind == TONE_LINEAR, "a background is shown on a linear scale: %s",
              tone_word(&tone));
    tap_close("white, one sigma below the background", tone.white, 90, 2);
    tap_close("black, twelve sigma above it", tone.black, 220, 3);
    tap_check(tone_grey(&tone, 100) > 220 && tone_grey(&tone, 300) == 0,
              "grey of the background %d, expected above 220; of a spot %d, expected 0",
              tone_grey(&tone, 100), tone_grey(&tone, 300));
    tap_check(tone_of(TONE_LOG).kind == TONE_LOG && tone_of(TONE_SQRT).kind == TONE_SQRT,
              "log and sqrt are obeyed");
    return TAP_PASS;
}

/* Tails of spots over twelve decades, as without water. */
static int no_background(void)
{
    for (uint32_t i = 0; i < PIXELS; i++) photons[i] = 1e6 * pow(10, -12 * random_at(i));
    const struct tone tone = tone_of(TONE_AUTO), linear = tone_of(TONE_LINEAR);
    const int strong = tone_grey(&tone, 9e5), middle = tone_grey(&tone, 3e4);
    const int weak = tone_grey(&tone, 1e3), tail = tone_grey(&tone, 1);

    tap_check(tone.kind == TONE_LOG, "without a background the scale is logarithmic: %s",
              tone_word(&tone));
    tap_check(strong < 20 && middle > strong + 50 && weak > middle + 50 && tail == 255,
              "grey of 9e5, 3e4, 1e3 and 1 photons: %d, %d, %d, %d", strong, middle, weak,
              tail);
    tap_check(linear.kind == TONE_LINEAR && linear.black > 1e5 && linear.white == 0,
              "linear goes from 0 to the level that one pixel in 300 exceeds: %g",
              linear.black);
    return TAP_PASS;
}

/* All pixels equal, one pixel, zeros, and one spot among zeros. */
static int degenerate(void)
{
    for (int kind = TONE_AUTO; kind <= TONE_LOG; kind++)
        for (int which = 0; which < 4; which++) {
            const size_t n = which == 1 ? 1 : PIXELS;
            struct tone tone;

            for (size_t i = 0; i < PIXELS; i++) photons[i] = which < 2 ? 7 : 0;
            if (which == 3) photons[123] = 5000;
            tone = tone_choose((enum tone_kind)kind, photons, n, sorted);
            tap_check(isfinite(tone.white) && isfinite(tone.black) && tone.kind != TONE_AUTO
                          && tone_grey(&tone, 0) >= tone_grey(&tone, 5000)
                          && (which < 3 || tone_grey(&tone, 5000) < 128),
                      "kind %d, case %d: white %g, black %g", kind, which, tone.white,
                      tone.black);
        }
    return TAP_PASS;
}

/* A detector of EDGE pixels of 0.2 mm at 100 mm. */
static nb_description flat_detector(double first)
{
    nb_description d = {0};

    d.nfast = d.nslow = EDGE;
    d.pixel = 0.2e-3;
    d.origin[0] = 0.1, d.origin[1] = d.origin[2] = first;
    d.fast[1] = d.slow[2] = d.normal[0] = d.beam[0] = 1;
    return d;
}

/* Draws rings over a picture with dark squares; returns how many points of the squares are
 * covered by the paper of a label, and sets how many labels were written. */
static int covered(double share, double first, int *paper)
{
    static uint8_t rgb[EDGE * EDGE * 3], taken[EDGE * EDGE];
    const nb_description d = flat_detector(first);
    struct canvas c = {EDGE, EDGE, rgb, taken};
    const struct extent extent = {0, 0, 1, 1, EDGE, EDGE, {&d, 1}};
    int n = 0;

    for (int i = 0; i < EDGE * EDGE; i++) {
        const uint32_t square = (uint32_t)(i / EDGE / 8 * EDGE + i % EDGE / 8);

        taken[i] = random_at(square) < share;
        memset(rgb + (size_t)3 * (size_t)i, taken[i] ? 0 : 230, 3);
    }
    if (!marks_rings(&c, &extent)) abort();
    *paper = 0;
    for (int i = 0; i < EDGE * EDGE; i++) {
        const uint32_t square = (uint32_t)(i / EDGE / 8 * EDGE + i % EDGE / 8);
        const int is_paper = rgb[3 * i] == 255;

        *paper += is_paper;
        n += is_paper && random_at(square) < share;
    }
    return n;
}

static int labels(void)
{
    static const struct {
        double share, first; /* of dark squares; corner of the detector, metres */
        int least; /* points of paper, if labels find a place */
    } cases[] = {{0, -0.0512, 600}, {0.01, -0.0512, 600}, {0.05, -0.0512, 200},
                 {1, -0.0512, 0},   {0.01, 0.1, 600},     {0.01, 3, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int paper;
        const int n = covered(cases[i].share, cases[i].first, &paper);

        tap_check(n == 0 && paper >= cases[i].least && (cases[i].share < 1 || paper == 0),
                  "%g of the picture dark, corner at %g m: %d points of spots covered, "
                  "allowed 0; %d points of paper, at least %d",
                  cases[i].share, cases[i].first, n, paper, cases[i].least);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"background", background},
        {"no_background", no_background},
        {"degenerate", degenerate},
        {"labels", labels},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
