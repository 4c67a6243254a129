/*
 * noise.c - Poisson numbers by counter: pixel, image and seed name a stream of uniforms,
 * so that no draw depends on another. Compiled without contraction.
 * SPDX-License-Identifier: MIT
 */
#include "image/noise.h"

#include <float.h>
#include <math.h>

#include "image/philox.h"

static const double largest_inverted = 30; /* below: inversion */
static const double largest_rejected = 1e9; /* above: a rounded normal */
static const double two_pi = 6.283185307179586477;

struct pair {
    double u, v;
};

/* 53 bits k: (k + 1/2)/2^53, strictly between 0 and 1. From 1/2 up the sum rounds to the
 * middle of a cell twice as wide; for the last k that would be 1. */
static double uniform(uint32_t high, uint32_t low)
{
    const uint64_t k = ((uint64_t)high << 32 | low) >> 11;
    const double u = ((double)k + 0.5) * (DBL_EPSILON / 2);

    return u < 1 ? u : 1 - DBL_EPSILON / 2;
}

/* the uniforms of one draw of a pixel */
static struct pair draw(uint64_t seed, uint32_t image, uint64_t pixel, uint32_t number)
{
    const struct philox_block counter = {
        {(uint32_t)pixel, (uint32_t)(pixel >> 32), number, image}};
    const struct philox_block block = philox(counter, seed);
    const struct pair pair = {uniform(block.word[0], block.word[1]),
                              uniform(block.word[2], block.word[3])};

    return pair;
}

/* The smallest k whose cumulated probability reaches u. Rounding can leave the sum short
 * of a u near 1: beyond the mean, a term that adds nothing ends the search. */
static double inverted(double mean, double u)
{
    double k = 0, term = exp(-mean), sum = term;

    while (u > sum) {
        double next;

        k++;
        term *= mean / k;
        next = sum + term;
        if (next == sum && k > mean) break;
        sum = next;
    }
    return k;
}

/* ln k! - (ln sqrt(2 pi k) + k ln k - k) for k >= 10, Stirling's series. The first term
 * left out bounds the error: 691/360360/k^11 <= 2e-14. */
static double stirling_rest(double k)
{
    const double r = 1 / (k * k);

    return (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - r / 1188) * r) * r) * r)
           / k;
}

/* k ln(k/mean) + mean - k without cancellation near k = mean, through
 * ln(k/mean) = 2 artanh(w), w = (k - mean)/(k + mean) (Loader, 2000). */
static double deviance(double k, double mean)
{
    const double d = k - mean, w = d / (k + mean);
    double sum = d * w, power = 2 * k * w;

    if (fabs(w) > 0.1) return k * log(k / mean) - d;
    /* w^2 <= 0.01: eight terms leave 1e-16 of the sum */
    for (int j = 3; j <= 17; j += 2) {
        power *= w * w;
        sum += power / j;
    }
    return sum;
}

/* ln(mean^k exp(-mean)/k!). Its terms are of the size of the result, so the error is a few
 * roundings of it plus that of Stirling's series: below 1e-13 max(1, |result|). (The plain
 * sum k ln mean - mean - ln k! would lose 4e-6 at a mean of 1e9.) */
static double log_probability(double k, double mean)
{
    if (k < 10) {
        double factorial = 1;

        for (int i = 2; i <= (int)k; i++) factorial *= i;
        return k * log(mean) - mean - log(factorial);
    }
    return -deviance(k, mean) - stirling_rest(k) - 0.5 * log(two_pi * k);
}

/* PTRS of Hoermann, Insurance: Mathematics and Economics 12 (1993) 39: transformed
 * rejection with squeeze, 1.1 to 1.2 pairs of uniforms per number */
static double rejected(uint64_t seed, uint32_t image, uint64_t pixel, double mean)
{
    const double b = 0.931 + 2.53 * sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double alpha = 1.1239 + 1.1328 / (b - 3.4); /* the paper's 1/alpha */
    const double squeeze = 0.9277 - 3.6224 / (b - 2);

    for (uint32_t number = 0;; number++) {
        const struct pair pair = draw(seed, image, pixel, number);
        const double u = pair.u - 0.5, v = pair.v, edge = 0.5 - fabs(u);
        const double k = floor((2 * a / edge + b) * u + mean + 0.43);

        if (edge >= 0.07 && v <= squeeze) return k;
        if (k < 0 || (edge < 0.013 && v > edge)) continue;
        if (log(v * alpha / (a / (edge * edge) + b)) <= log_probability(k, mean)) return k;
    }
}

double noise_poisson(uint64_t seed, uint32_t image, uint64_t pixel, double mean)
{
    struct pair pair;

    if (!(mean > 0)) return 0;
    if (mean > DBL_MAX) return mean;
    if (mean >= largest_inverted && mean <= largest_rejected)
        return rejected(seed, image, pixel, mean);
    pair = draw(seed, image, pixel, 0);
    if (mean < largest_inverted) return inverted(mean, pair.u);
    /* Box and Muller; the neglected skewness is 1/sqrt(mean) < 4e-5 */
    return floor(mean + sqrt(mean) * (sqrt(-2 * log(pair.u)) * cos(two_pi * pair.v)) + 0.5);
}
