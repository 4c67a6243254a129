/*
 * changes.c - see changes.h. It is compiled once per instruction set, in double.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/forms/changes.h"

#include <stddef.h>
#include <string.h>

/* the first row of a member of a struct of doubles */
#define ROW(type, member) (offsetof(struct type, member) / sizeof(double))

/* Computes the changes of the form along the directions of all lanes. */
static void forms_of_lanes(const struct form_known *known, on_directions *restrict dot,
                           on_directions *restrict out)
{
    const struct form_known p = *known;
    const double per_q = p.q > 0 ? 1 / p.q : 0;

#pragma omp simd
    for (int d = 0; d < DIRECTION_LANES; d++) {
        struct form_of change;
        struct form form;

        for (int k = 0; k < 3; k++) change.q0[k] = dot[ROW(form_of, q0) + k][d];
        for (int k = 0; k < 6; k++) {
            change.block[k] = dot[ROW(form_of, block) + k][d];
            change.spread[k] = dot[ROW(form_of, spread) + k][d];
        }
        change.height = dot[ROW(form_of, height)][d];
        change.b = dot[ROW(form_of, b)][d];
        form = form_tangent(&p, per_q, change);
        out[ROW(form, norm)][d] = form.norm;
        out[ROW(form, q)][d] = form.q;
        out[ROW(form, b)][d] = form.b;
        for (int k = 0; k < 3; k++) {
            out[ROW(form, n) + k][d] = form.n[k];
            out[ROW(form, beta) + k][d] = form.beta[k];
        }
        for (int k = 0; k < 6; k++) {
            out[ROW(form, ci) + k][d] = form.ci[k];
            out[ROW(form, s) + k][d] = form.s[k];
            out[ROW(form, k) + k][d] = form.k[k];
            out[ROW(form, sig) + k][d] = form.sig[k];
            out[ROW(form, m) + k][d] = form.m[k];
        }
    }
}

static void forms(const struct form_known *known, int n, const struct form_of *dot,
                  struct nodes_change *to)
{
    _Alignas(64) on_directions in[FORM_OF_NUMBERS], out[FORM_NUMBERS];

    for (int first = 0; first < n; first += DIRECTION_LANES) {
        const int lanes = n - first < DIRECTION_LANES ? n - first : DIRECTION_LANES;

        memset(in, 0, sizeof in);
        for (int d = 0; d < lanes; d++)
            for (int k = 0; k < FORM_OF_NUMBERS; k++)
                in[k][d] = ((const double *)(const void *)(dot + first + d))[k];
        forms_of_lanes(known, in, out);
        for (int d = 0; d < lanes; d++)
            for (int k = 0; k < FORM_NUMBERS; k++)
                ((double *)(void *)&to[first + d].form)[k] = out[k][d];
    }
}

static void fit(const struct pattern *pattern, int outputs, on_directions (*output)[NODES],
                on_directions *restrict coefficient)
{
    for (int k = 0; k < SPOT_COEFFICIENTS; k++) {
        const int o = k < SPOT_M    ? NODE_L
                      : k < SPOT_H  ? NODE_M
                      : k < SPOT_L3 ? NODE_H
                      : k < SPOT_L4 ? NODE_L3
                                    : NODE_L4;
        double sum[DIRECTION_LANES] = {0};

        for (int i = 0; i < NODES && o < outputs; i++) {
            const double *restrict from = output[o][i];
            const double weight = pattern->fit[k][i];

            for (int d = 0; d < DIRECTION_LANES; d++) sum[d] += weight * from[d];
        }
        memcpy(coefficient[k], sum, sizeof sum);
    }
}

extern const struct change_kernels KERNELS;
const struct change_kernels KERNELS = {forms, fit};
