/*
 * check.h - declarations for the two halves of a check: check/gradcheck.c judges,
 * check/parameter_check.c takes the finite differences of one parameter or direction.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CHECK_CHECK_H
#define NB_CHECK_CHECK_H

#include <nanobrag/gradcheck.h>

#include "check/romberg.h"
#include "state/state.h"

/* A line through x along d, on which finite differences are taken: one parameter, or all of
 * them at once. */
struct check_item {
    double *d; /* (nparam) */
    double at; /* value of the one parameter; 0 for a direction */
    double length; /* the step that changes the image by about itself */
    double limit; /* distance to the nearest bound; HUGE_VAL: none */
    int side; /* enum romberg_side */
};

/* The finite differences of an item. */
struct check_slopes {
    /* masked_out: too few smooth pixels; zero: no pixel changed anywhere */
    int masked_out, zero;
    int flat; /* 1: the derivative tends to 0 as the step does */
    struct romberg_slope slope[NB_GRADCHECK_LOSSES];
    double noise[NB_GRADCHECK_LOSSES], scale[NB_GRADCHECK_LOSSES],
        kept[NB_GRADCHECK_LOSSES];
    int staircase[NB_GRADCHECK_LOSSES];
    int evaluations;
};

struct check {
    nb_simulator *sim;
    nb_context *ctx;
    nb_context_options before; /* with the handlers of the caller */
    double done; /* share of the check that is done, for the handler of progress */
    double coverage;
    uint64_t evaluations;
    size_t nparam, pixels, n; /* pixels: of the image; n: pixels that are rendered */
    int *rendered; /* places of the rendered pixels in the image (n) */
    double *x, *moved; /* (nparam) */
    nb_param *param; /* (nparam), with the value at x */
    double *length; /* (nparam); 0: the image does not depend on it */
    double *sensitivity; /* S of every parameter and loss, at one step (nparam x LOSSES) */
    double *image; /* (pixels) */
    uint64_t *signature, *signature_at_x; /* (pixels) */
    int repeating; /* result of has_equal_lattice_points() for signature_at_x; -1: not
                      computed yet */
    unsigned char *differs, *row_differs; /* (pixels) */
    double *at_x; /* the image, rendered pixels (n) */
    double *weight[NB_GRADCHECK_LOSSES]; /* (n) */
    double *cotangent; /* (LOSSES x pixels) */
    double *gradient; /* of all rendered pixels (LOSSES x nparam) */
    /* The rows of the ladder of steps are a ring: row r lies at r % ROMBERG_ROWS. */
    double *above, *below; /* (ROMBERG_ROWS x n) */
    unsigned char *unsmooth; /* (ROMBERG_ROWS x n) */
    double step[ROMBERG_ROWS];
    long double run[ROMBERG_ROWS];
    double
        *noise_samples; /* images from which the noise is measured (ROMBERG_POINTS x n) */
    unsigned char *mask, *attempt; /* 1 for the pixels that take part (n) */
    double *direction; /* (nparam) */
    double *tangent; /* (pixels) */
};

/* check_set_handlers() turns compiled mode off and takes over the handlers of the context;
 * check_restore_handlers() gives all back. */
void check_set_handlers(struct check *check);
void check_restore_handlers(const struct check *check);

/* Hold the spots of all lattices of a continuous crystal, or let them go. */
void check_hold(nb_simulator *sim, int held);

/* Estimate lengths and sensitivities of all parameters from one small step of each. */
nb_status check_probe(struct check *check);

/* Take the finite differences of an item. check->mask, above, below, step and run then
 * belong to the ladder with the smallest error bars. */
nb_status check_differences(struct check *check, const struct check_item *item,
                            struct check_slopes *out);

/* Bound the slope of a loss that the differences cannot see, where check->tangent is not 0.
 * A pixel that keeps all of its bits over the ladder, such as the pixel of the direct beam,
 * may have a slope of up to its rounding over the longest step. */
double check_unseen(const struct check *check, int loss);

/* Compute the image at x + t d into check->image by nb_forward(). `usable` is 0 where there
 * is no image: beyond a bound, or where the cell is flat. */
nb_status check_image(struct check *check, const double *d, double t, int *usable);

#endif
