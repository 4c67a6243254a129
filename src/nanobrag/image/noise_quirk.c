/*
 * noise_quirk.c - Poisson numbers with every rounding of nanoBragg's float arithmetic
 * (docs/from_nanobragg.md). Each rounding counts, because one rejection that is decided
 * otherwise changes all later numbers. The file is compiled without fused multiply-add.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "image/noise.h"

/* Returns ln gamma(x) by Lanczos' approximation, with the coefficients of nanoBragg. */
static float log_gamma(float argument)
{
    static const double coefficient[] = {76.18009172947146,    -86.50532032941677,
                                         24.01409824083091,    -1.231739572450155,
                                         1.208650973866179e-3, -5.395239384953e-6};
    const double x = (double)argument;
    double tail = x + 5.5, series = 1.000000000190015;

    tail -= (x + 0.5) * log(tail);
    for (int j = 0; j < 6; j++) series += coefficient[j] / (x + (j + 1));
    return (float)(-tail + log(2.5066282746310005 * series / x));
}

/* Draws a normal number by the polar method, which gives two; the second is kept in
 * `spare`. */
static float draw_normal(struct random_stream *random, struct noise_spare *spare)
{
    float v1, v2, square, factor;

    if (spare->filled) {
        spare->filled = 0;
        return spare->value;
    }
    do {
        v1 = (float)(2 * (double)random_uniform(random) - 1);
        v2 = (float)(2 * (double)random_uniform(random) - 1);
        square = (float)((float)(v1 * v1) + (float)(v2 * v2));
    } while (square >= 1 || square == 0);
    factor = (float)sqrt(-2 * log((double)square) / (double)square);
    spare->value = (float)(v1 * factor);
    spare->filled = 1;
    return (float)(v2 * factor);
}

/* Draws a Poisson number: counts how many uniform numbers can be multiplied before their
 * product falls to exp(-mean). */
static float draw_by_product(struct random_stream *random, float mean)
{
    const float limit = (float)exp(-(double)mean);
    float product = 1, k = -1;

    do {
        k++;
        product = (float)(product * random_uniform(random));
    } while (product > limit);
    return k;
}

/* Draws a Poisson number by rejection, with a Lorentzian as the envelope. */
static float draw_by_rejection(struct random_stream *random, float mean)
{
    static const double pi = 3.14159265358979323846;
    const float width = (float)sqrt(2 * (double)mean);
    const float log_mean = (float)log((double)mean);
    const float offset =
        (float)((float)(mean * log_mean) - log_gamma((float)((double)mean + 1)));
    float k, ratio;

    do {
        float y;

        do {
            y = (float)tan(pi * (double)random_uniform(random));
            k = (float)((float)(width * y) + mean);
        } while (k < 0);
        k = floorf(k);
        ratio = (float)((float)(k * log_mean) - log_gamma((float)((double)k + 1)));
        ratio = (float)(ratio - offset);
        ratio = (float)(0.9 * (1 + (double)(float)(y * y)) * exp((double)ratio));
    } while (random_uniform(random) > ratio);
    return k;
}

float noise_poisson_quirk(struct random_stream *random, struct noise_spare *spare,
                          float mean)
{
    const double m = (double)mean;

    if (m > 1e6) return (float)(m + sqrt(m) * (double)draw_normal(random, spare));
    if (m >= 12) return draw_by_rejection(random, mean);
    /* For a mean of NaN nanoBragg never returns; this call ends after one uniform
     * number. */
    return draw_by_product(random, mean);
}
