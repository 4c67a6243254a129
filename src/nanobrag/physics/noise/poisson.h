/*
 * poisson.h - Poisson numbers from a counter. Seed, image and pixel select a stream of
 * uniforms, so that no draw depends on another. If the compiler fuses no products and sums,
 * a draw has the same bits on a CPU and on a GPU.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_NOISE_POISSON_H
#define NB_PHYSICS_NOISE_POISSON_H

#include "philox.h"
#include "precise.h"

/* Means below PHYS_LARGEST_INVERTED are drawn by inversion of the distribution, means up to
 * PHYS_LARGEST_REJECTED by rejection. A larger mean gives a rounded normal number. */
#define PHYS_LARGEST_INVERTED 30.0
#define PHYS_LARGEST_REJECTED 1e9
#define PHYS_LARGEST_DOUBLE   0x1.fffffffffffffp+1023

/* The stream of uniforms of one pixel of one image. */
struct phys_stream {
    unsigned long long seed, pixel;
    unsigned image;
};

/* Two uniforms, both strictly between 0 and 1. */
struct phys_pair {
    double u, v;
};

/* Returns (k + 1/2)/2^53 for 53 random bits k, strictly between 0 and 1. From 1/2 up double
 * rounds k + 1/2 to an even number, for the last k to 2^53; the result would then be 1. */
PHYS_FN double phys_uniform(unsigned high, unsigned low)
{
    const unsigned long long k = ((unsigned long long)high << 32 | low) >> 11;
    const double u = ((double)k + 0.5) * 0x1p-53;

    return u < 1 ? u : 1 - 0x1p-53;
}

/* Returns the two uniforms of draw `number` of a stream. */
PHYS_FN struct phys_pair phys_draw(struct phys_stream stream, unsigned number)
{
    struct philox_block block;
    struct phys_pair pair;

    block.word[0] = (unsigned)stream.pixel;
    block.word[1] = (unsigned)(stream.pixel >> 32);
    block.word[2] = number;
    block.word[3] = stream.image;
    block = philox(block, stream.seed);
    pair.u = phys_uniform(block.word[0], block.word[1]);
    pair.v = phys_uniform(block.word[2], block.word[3]);
    return pair;
}

/* Returns the smallest k whose cumulative Poisson probability reaches u. Rounding can leave
 * the sum below a u near 1. So beyond the mean the search ends at a term that adds
 * nothing. */
PHYS_FN double phys_inverted(double mean, double u)
{
    double k = 0, term, sum, next;

    /* a lower bound of e^-mean decides most small means without the exponential */
    if (mean < 1 && u < 1 - mean * (1 - mean * (0.5 - mean * (1.0 / 6))) - 1e-15) return 0;
    term = sum = phys_precise_exp(-mean);
    while (u > sum && k < mean) {
        k++;
        term *= mean / k;
        sum += term;
    }
    while (u > sum) {
        k++;
        term *= mean / k;
        next = sum + term;
        if (next <= sum) break;
        sum = next;
    }
    return k;
}

/* Returns ln k! - (ln sqrt(2 pi k) + k ln k - k), k >= 10, by Stirling's series. The first
 * omitted term bounds the error: 691/360360/k^11 <= 2e-14. */
PHYS_FN double phys_stirling_rest(double k)
{
    const double r = 1 / (k * k);

    return (1.0 / 12
            - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - r * (1.0 / 1188)) * r) * r) * r)
           / k;
}

/* Returns k ln(k/mean) + mean - k without cancellation near k = mean, by ln(k/mean) = 2
 * artanh(w), w = (k - mean)/(k + mean) (C. Loader, 2000). */
PHYS_FN double phys_deviance(double k, double mean)
{
    const double d = k - mean, w = d / (k + mean), u = w * w, v = u * u;
    double even = 1.0 / 15, odd = 1.0 / 17;

    if (fabs(w) > 0.1) return k * phys_precise_log(k / mean) - d;
    /* here w^2 <= 0.01, and the series of eight terms errs by 1e-16 of its sum */
    even = even * v + 1.0 / 11;
    odd = odd * v + 1.0 / 13;
    even = even * v + 1.0 / 7;
    odd = odd * v + 1.0 / 9;
    even = even * v + 1.0 / 3;
    odd = odd * v + 1.0 / 5;
    return d * w + 2 * k * w * u * (even + u * odd);
}

/* Returns ln(mean^k exp(-mean)/k!). The terms are as large as the result, so the error is a
 * few roundings of the result plus the error of Stirling's series: below 1e-13 max(1,
 * |result|). (The plain sum k ln mean - mean - ln k! would lose 4e-6 at a mean of 1e9.) */
PHYS_FN double phys_log_probability(double k, double mean)
{
    if (k < 10) {
        double factorial = 1;

        for (int i = 2; i <= (int)k; i++) factorial *= i;
        return k * phys_precise_log(mean) - mean - phys_precise_log(factorial);
    }
    return -phys_deviance(k, mean) - phys_stirling_rest(k)
           - 0.5 * phys_precise_log(6.283185307179586477 * k);
}

/* Returns a Poisson number by the algorithm PTRS of Hoermann, Insurance: Mathematics and
 * Economics 12 (1993) 39: transformed rejection with squeeze. A Poisson number takes 1.1 to
 * 1.2 pairs of uniform numbers. */
PHYS_FN double phys_rejected(struct phys_stream stream, double mean)
{
    const double b = 0.931 + 2.53 * sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double alpha = 1.1239 + 1.1328 / (b - 3.4); /* the paper's 1/alpha */
    const double squeeze = 0.9277 - 3.6224 / (b - 2);

    for (unsigned number = 0;; number++) {
        const struct phys_pair pair = phys_draw(stream, number);
        const double u = pair.u - 0.5, v = pair.v, edge = 0.5 - fabs(u);
        const double k = floor((2 * a / edge + b) * u + mean + 0.43);

        if (edge >= 0.07 && v <= squeeze) return k;
        if (k < 0 || (edge < 0.013 && v > edge)) continue;
        if (phys_precise_log(v * alpha / (a / (edge * edge) + b))
            <= phys_log_probability(k, mean))
            return k;
    }
}

/* Returns a Poisson number of the given mean; 0 for NaN or a mean <= 0, and infinity for
 * an infinite mean. */
PHYS_FN double phys_poisson(struct phys_stream stream, double mean)
{
    struct phys_pair pair;

    if (!(mean > 0)) return 0;
    if (mean > PHYS_LARGEST_DOUBLE) return mean;
    if (mean >= PHYS_LARGEST_INVERTED && mean <= PHYS_LARGEST_REJECTED)
        return phys_rejected(stream, mean);
    pair = phys_draw(stream, 0);
    if (mean < PHYS_LARGEST_INVERTED) return phys_inverted(mean, pair.u);
    /* a normal number of Box and Muller; it lacks the skewness 1/sqrt(mean) < 4e-5 */
    return floor(
        mean
        + sqrt(mean) * (sqrt(-2 * phys_precise_log(pair.u)) * phys_precise_cos_turn(pair.v))
        + 0.5);
}

#endif
