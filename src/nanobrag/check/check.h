/*
 * check.h - declarations that the two halves of nb_gradcheck() share. check/gradcheck.c
 * compares and judges; check/parameter_check.c takes the finite differences of one
 * parameter or direction.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CHECK_CHECK_H
#define NB_CHECK_CHECK_H

#include <nanobrag/gradcheck.h>

#include "check/romberg.h"
#include "state/state.h"

/* A line x + t d on which finite differences are taken. d changes one parameter, or all of
 * them together. */
struct check_item {
    double *d; /* (nparam) */
    double at; /* value of the one parameter; 0 if d changes several */
    double length; /* the t that changes the image by about itself */
    double limit; /* the |t| at the nearest bound of a parameter; HUGE_VAL: none */
    int side; /* enum romberg_side */
};

/* The finite differences of an item. */
struct check_slopes {
    /* masked_out: 1 if too few pixels are smooth; zero: 1 if no pixel changed at any
     * step */
    int masked_out, zero;
    int flat; /* 1: the difference quotient tends to 0 with the step */
    struct romberg_slope slope[NB_GRADCHECK_LOSSES];
    double noise[NB_GRADCHECK_LOSSES], scale[NB_GRADCHECK_LOSSES],
        kept[NB_GRADCHECK_LOSSES];
    int staircase[NB_GRADCHECK_LOSSES];
    int evaluations;
};

struct check {
    nb_simulator *sim;
    nb_context *ctx;
    nb_context_options before; /* options of the caller, with the caller's handlers */
    double done; /* fraction of the check that is done, for the handler of progress */
    double coverage;
    uint64_t evaluations;
    /* pixels: number in the image; n: number of rendered pixels */
    size_t nparam, pixels, n;
    int *rendered; /* (n) places of the rendered pixels in the image */
    double *x, *moved; /* (nparam) */
    nb_param *param; /* (nparam), with the value at x */
    /* (nparam) length (struct check_item) of each parameter; 0: the image does not depend
     * on it */
    double *length;
    /* (nparam x LOSSES) S of each parameter and loss, from one step: the sum over the
     * pixels of |weight x slope| */
    double *sensitivity;
    double *image; /* (pixels) the last image computed */
    /* (pixels) the branches that each pixel takes (kernels/signature.h) */
    uint64_t *signature, *signature_at_x;
    /* has_equal_lattice_points() when signature_at_x was computed; -1: not computed yet */
    int repeating;
    unsigned char *differs, *row_differs; /* (pixels) 1: other branches than at x */
    double *at_x; /* (n) the image at x */
    /* (n) the weight of each rendered pixel in a loss */
    double *weight[NB_GRADCHECK_LOSSES];
    double *cotangent; /* (LOSSES x pixels) */
    double *gradient; /* (LOSSES x nparam) from nb_vjp(), over all rendered pixels */
    /* The arrays below hold the last ROMBERG_ROWS steps of the ladder (check/romberg.h),
     * one row for each step: row r is stored at index r % ROMBERG_ROWS. */
    double *above, *below; /* (ROMBERG_ROWS x n) images at x + h d and x - h d */
    /* (ROMBERG_ROWS x n) 1: the pixel is not smooth between these points */
    unsigned char *unsmooth;
    double step[ROMBERG_ROWS];
    long double run[ROMBERG_ROWS];
    double *noise_samples; /* (ROMBERG_POINTS x n) images near x, for the noise */
    unsigned char *mask, *attempt; /* (n) 1: the pixel takes part */
    double *direction; /* (nparam) d of the current item */
    double *tangent; /* (pixels) image of nb_jvp() */
};

/* check_set_handlers() turns compiled mode off and replaces the handlers of the context.
 * check_restore_handlers() restores both. */
void check_set_handlers(struct check *check);
void check_restore_handlers(const struct check *check);

/* If `held` is 1, keep the present choice of spots of a continuous crystal, and their
 * extents, in all later images; if 0, choose them for each image again. */
void check_hold(nb_simulator *sim, int held);

/* Estimate check->length and check->sensitivity from one small step of each parameter. */
nb_status check_probe(struct check *check);

/* Take the finite differences of an item. On return mask, above, below, step and run of
 * `check` belong to the ladder with the smallest error bars. */
nb_status check_differences(struct check *check, const struct check_item *item,
                            struct check_slopes *out);

/* Returns a bound on the part of a loss's slope that finite differences cannot see. A pixel
 * that keeps all of its bits over the ladder, such as the pixel of the direct beam, may
 * have a slope of up to its rounding over the longest step. */
double check_unseen(const struct check *check, int loss);

/* Compute the image at x + t d into check->image by nb_forward(). *usable is 0 if there is
 * no image: a parameter is beyond a bound, or the cell is flat. */
nb_status check_image(struct check *check, const double *d, double t, int *usable);

#endif
