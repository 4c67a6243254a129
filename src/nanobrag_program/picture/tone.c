/*
 * tone.c - chooses the scale of grey. Diffraction images span many decades. With a
 * background, a linear scale over a few standard deviations around it shows every spot, as
 * beamline viewers do. Without a background that scale would make every tail black; a
 * logarithmic scale shows differences of intensity.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/picture/picture.h"

/* numbers that describe the distribution of photons over pixels */
struct distribution {
    double median, strong, most; /* `strong` is exceeded by one pixel in 300 */
    double deviation; /* 1.4826 times the median absolute deviation */
};

enum { STRONG = 300, SIGMAS = 12 };

/* black over white in a logarithmic scale without a background */
static const double log_range = 1e4;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct distribution distribution_of(const double *photons, size_t n, double *sorted)
{
    struct distribution d;

    memcpy(sorted, photons, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    d.median = sorted[n / 2];
    d.strong = sorted[n - 1 - n / STRONG];
    d.most = sorted[n - 1];
    for (size_t i = 0; i < n; i++) sorted[i] = fabs(photons[i] - d.median);
    qsort(sorted, n, sizeof *sorted, compare);
    d.deviation = 1.4826 * sorted[n / 2];
    return d;
}

/* Returns 1 if most pixels have about the same photons, as a background with its noise has
 * from two photons on. Tails of spots alone spread over decades. */
static int has_background(const struct distribution *d)
{
    return d->median > 0 && d->deviation <= 0.75 * d->median;
}

static void around_background(const struct distribution *d, struct tone *tone)
{
    double sigma = fmax(d->deviation, sqrt(d->median));

    if (d->median + SIGMAS * sigma > d->most) sigma = d->deviation;
    if (!(sigma > 0))
        sigma = ((d->strong > d->median ? d->strong : d->most) - d->median) / SIGMAS;
    tone->white = fmax(d->median - sigma, 0);
    tone->black = d->median + SIGMAS * sigma;
}

struct tone tone_choose(enum tone_kind asked, const double *photons, size_t n,
                        double *sorted)
{
    const struct distribution d = distribution_of(photons, n, sorted);
    const int background = has_background(&d);
    struct tone tone = {asked, 0, d.strong > 0 ? d.strong : d.most};

    if (asked == TONE_AUTO) tone.kind = background ? TONE_LINEAR : TONE_LOG;
    if (background) tone.white = fmax(0, d.median - d.deviation);
    if (tone.kind == TONE_LINEAR && background) around_background(&d, &tone);
    if (tone.kind == TONE_LOG) {
        tone.black = d.most;
        tone.white = fmax(tone.white, d.most / log_range);
    }
    if (!(tone.black > tone.white)) tone.black = tone.white + 1;
    return tone;
}

int tone_grey(const struct tone *tone, double photons)
{
    double part;

    if (tone->kind == TONE_LOG)
        part = photons > tone->white && tone->white > 0
                   ? log(photons / tone->white) / log(tone->black / tone->white)
                   : 0;
    else
        part = (photons - tone->white) / (tone->black - tone->white);
    part = fmin(fmax(part, 0), 1);
    if (tone->kind == TONE_SQRT) part = sqrt(part);
    return (int)(255 * (1 - part));
}

static const char *const words[] = {"auto", "linear", "sqrt", "log"};

const char *tone_word(const struct tone *tone)
{
    return words[tone->kind];
}

int tone_is_fixed(const double range[2])
{
    return range[1] > range[0];
}
