/*
 * both.h - derivatives of a scene by a simulator of the host and by one of a device: how
 * far they are apart, in units of the sum of the sizes of their terms, of which each pixel
 * gives |dI/dx| and its photons over the scale of x.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_BOTH_H
#define NB_TESTS_BOTH_H

#include <nanobrag/nanobrag.h>

#include "support/compiled.h"

enum { BOTH_PIXELS = COMPILED_PIXELS, BOTH_MOST = 80, BOTH_CHANGES = 3 };

/* What the derivatives of a device may be off by, of the sizes of their terms: rounding of
 * N h (some 100 periods of a sine) times the number of terms' square root; of the device's
 * text run on this machine 8e-14 and, by sums of changes in float, 2.3e-6 are measured. */
static const double both_double = 1e-12, both_float = 4e-5;

/* one for the process */
extern struct both {
    nb_context *ctx[2]; /* the host's, the device's */
    nb_simulator *sim[2];
    size_t n; /* parameters */
    double size[BOTH_MOST][BOTH_PIXELS]; /* of the terms of parameter i, pixel by pixel */
    double photons[BOTH_PIXELS]; /* of the host */
    double observed[BOTH_PIXELS], weight[BOTH_PIXELS]; /* of both_target() */
    nb_array images[2]; /* the two */
} both;

/* Make simulators of both contexts, which are given back by both_close(). `precision` is
 * that of the device's. */
void both_open(nb_context *host, nb_context *device, const nb_scene *scene,
               const char *names, int precision);
void both_close(void);

/* n numbers from `from` to 1, the same each time */
void both_fill(double *out, int n, double from);

/* of one pull in an image of so many bits */
double both_vjp(int bits);

/* observed numbers near the photons, and weights, some of them 0 */
nb_target both_target(int kind);

/* Of a loss: its gradient, and by how much of itself the value is off. */
double both_loss(int kind, double *value);

/* Of a loss without derivatives: by how much of itself the value is off. */
double both_value(int kind);

/* Of the normal matrix of a loss, or (kind -1) of weights alone. */
double both_normal(int kind);

/* of BOTH_CHANGES images of tangents of so many bits, pixel by pixel */
double both_jvp(int bits);

#endif
