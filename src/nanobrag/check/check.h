/*
 * check.h - what the two halves of a check share: check/gradcheck.c, which judges, and
 * check/parameter_check.c, which takes the finite differences of one parameter or
 * direction.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CHECK_CHECK_H
#define NB_CHECK_CHECK_H

#include <nanobrag/gradcheck.h>

#include "check/romberg.h"
#include "simulator.h"

/* x moves along d: one parameter, or all of them at once */
struct check_item {
    double *d; /* (nparam) */
    double at; /* value of the one parameter; 0 for a direction */
    double length; /* by which the image changes by about itself */
    double limit; /* to the nearest bound that may be met; HUGE_VAL: none */
    int side; /* enum romberg_side */
};

/* the finite differences of an item */
struct check_slopes {
    int masked_out, zero; /* FAIL_MASK; no pixel changed anywhere */
    int flat; /* the derivative ends at 0 */
    struct romberg_slope slope[NB_GRADCHECK_LOSSES];
    double noise[NB_GRADCHECK_LOSSES], scale[NB_GRADCHECK_LOSSES],
        kept[NB_GRADCHECK_LOSSES];
    int staircase[NB_GRADCHECK_LOSSES];
    int evaluations;
};

struct check {
    nb_simulator *sim;
    nb_context *ctx;
    int (*progress)(void *user, double fraction); /* the caller's */
    double done; /* for it */
    double coverage;
    uint64_t evaluations;
    size_t nparam, pixels, n; /* pixels: of the image; n: those that are rendered */
    int *rendered; /* places of the n in the image */
    double *x, *moved; /* (nparam) */
    nb_param *param; /* (nparam), with the value at x */
    double *length; /* (nparam); 0: the image does not listen */
    double *sensitivity; /* S of every parameter and loss, at one step (nparam x LOSSES) */
    double *image; /* (pixels) */
    uint64_t *signature, *signature_at_x; /* (pixels) */
    int repeating; /* what signature_at_x was made for; -1: not yet */
    unsigned char *differs, *row_differs; /* (pixels) */
    double *at_x; /* the image, rendered pixels (n) */
    double *weight[NB_GRADCHECK_LOSSES]; /* (n) */
    double *cotangent; /* (LOSSES x pixels) */
    double *gradient; /* of all rendered pixels (LOSSES x nparam) */
    /* rows of the ladder, a ring: row r lies at r % ROMBERG_ROWS */
    double *above, *below; /* (ROMBERG_ROWS x n) */
    unsigned char *unsmooth; /* (ROMBERG_ROWS x n) */
    double step[ROMBERG_ROWS];
    long double run[ROMBERG_ROWS];
    double *near; /* where the noise is measured (ROMBERG_POINTS x n) */
    unsigned char *mask, *attempt; /* pixels that take part, 1 (n) */
    double *direction; /* (nparam) */
    double *tangent; /* (pixels) */
};

/* Lengths and sensitivities of all parameters, from one small step of each. */
nb_status check_probe(struct check *check);

/* The finite differences of an item; check->mask, above, below, step and run are then those
 * of the ladder that won. */
nb_status check_differences(struct check *check, const struct check_item *item,
                            struct check_slopes *out);

/* Images nb_forward() is asked for: x + t d into check->image. `usable` is 0 where there is
 * no image, beyond a bound or where the cell is flat. */
nb_status check_image(struct check *check, const double *d, double t, int *usable);

#endif
