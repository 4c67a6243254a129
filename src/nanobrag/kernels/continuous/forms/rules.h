/*
 * rules.h - Gauss's rules for the lines of a spectrum. The sum over lines, sum w_j f(e_j),
 * equals a sum over n points, sum W_i f(x_i), for every polynomial f of degree 2 n - 1. The
 * intensity of a reflection that is wide along the energies is nearly such a polynomial.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_RULES_H
#define NB_KERNELS_CONTINUOUS_RULES_H

#include "physics/frame.h"

enum { RULE_MOST = 12, RULE_POINTS = RULE_MOST * (RULE_MOST + 1) / 2 };

/* The rules of 1 to `most` points. The points of the rule of n points begin at index n (n -
 * 1)/2. */
struct rules {
    int most;
    double at[RULE_POINTS], weight[RULE_POINTS];
};

/* Makes the rules for the energies of n sources, divided by the energy of wave number k.
 * There are fewer rules than RULE_MOST if there are few different lines. */
void rules_make(int n, const struct phys_source *source, double k, struct rules *out);

/* Returns the index of point i of the rule with `points` points. */
static inline int rules_point(int points, int i)
{
    return points * (points - 1) / 2 + i;
}

/* The derivatives of the place and the weight of a point of Gauss's rule by the energy and
 * the weight of one line. */
struct rule_slopes {
    double at_e, at_w, weight_e, weight_w;
};

struct rule_slopes rules_slopes(const struct rules *rules, int points, int i,
                                const struct phys_source *source, double k);

/* Writes point i of n of Gauss's rule for an even distribution on -1 .. 1, and its weight.
 * The weights add up to 1. */
void rules_even_point(int n, int i, double *at, double *weight);

#endif
