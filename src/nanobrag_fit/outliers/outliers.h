/*
 * outliers.h - leaves out what stands out from the model of a fit: single pixels, boxes of
 * the detector, shots.
 *
 *   find.c       one shot: its single bright pixels, and how far each box is off
 *   judge.c      all shots: which boxes and pixels leave the fit
 *   masks.c      a loaded shot without its boxes and pixels that left
 *   leave_out.c  shots that fail or stand out
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_OUTLIERS_OUTLIERS_H
#define NB_FIT_OUTLIERS_OUTLIERS_H

#include <nanobrag/fit.h>

/* Rounds of judgement of shots alone, and then of all together: once the scale is known,
 * once widths are free, and at the end. */
enum { OUTLIERS_ROUNDS = 3 };

/* what one box, without its single bright pixels, tells */
struct outliers_box {
    double fast, slow; /* its first pixel */
    double pixels; /* number of pixels that count */
    double single; /* how many more stand out alone and were not taken out before */
    double variance; /* of `excess`, if only noise counts */
    /* `excess` is the sum of squared residuals, less its expectation by noise. `energy` is
     * the sum of squares of data and of model about their means, without noise. First of
     * the box as it is, then of its spot times the factor that suits the data best */
    double excess[2], energy[2];
};

enum {
    OUTLIERS_BOX = sizeof(struct outliers_box) / sizeof(double), /* numbers of a box */
    OUTLIERS_PIXEL = 3 /* numbers of a single pixel: fast, slow, z */
};

/* the outliers of one shot */
struct outliers_shot {
    int nfast, nslow; /* of its image; 0: not known */
    size_t n;
    nb_fit_outlier *at; /* (n) what left: boxes, then pixels */
    int64_t lost; /* pixels that left */
    /* what was found last, as numbers that processes exchange: the number of boxes, each
     * box, and each single bright pixel */
    size_t nfound;
    double *found; /*                                                          (nfound) */
};

/* ---- find.c ---- */

/* the image of a shot beside its data */
struct outliers_image {
    const nb_detector *detector;
    int nfast, nslow;
    const double *photons, *variance; /* variance 0: the pixel does not count */
    const nb_array *observed;
};

/* Sets `found`. */
nb_status outliers_find(nb_context *ctx, const struct outliers_image *image,
                        struct outliers_shot *out);

void outliers_free(struct outliers_shot *out);

/* Replaces `found` by n numbers. Returns 0 if there is no memory. */
int outliers_take_found(struct outliers_shot *out, const double *found, size_t n);

/* Finds the outliers of a shot at the worker's x (residuals/compare.c). */
struct fit_worker;
nb_status compare_outliers(struct fit_worker *worker, nb_simulator *sim,
                           const nb_shot *shot, struct outliers_shot *out);

/* ---- judge.c ---- */

/* Returns 1 if boxes and pixels are to be judged now. */
int outliers_are_due(const nb_fit *fit);

/* Takes what was found in all shots: decides what leaves, and begins the last stage of the
 * fit anew if that has changed. */
nb_status outliers_judge(nb_fit *fit);

/* Replaces what left a shot by a list that then belongs to it. */
void outliers_replace(nb_fit *fit, size_t shot, nb_fit_outlier *at, size_t n, int64_t lost);

/* ---- masks.c ---- */

/* Takes the boxes and pixels that left out of a loaded shot, by its mask. While boxes are
 * judged only pixels are taken out. */
nb_status outliers_hide(nb_fit *fit, nb_context *ctx, size_t shot, nb_shot *loaded);

/* Gives a shot back as it was loaded. */
void outliers_unhide(const nb_fit *fit, size_t shot, nb_shot *loaded);

/* ---- leave_out.c ---- */

/* The standard deviation of a normal distribution over its median absolute deviation. */
static const double outliers_deviation = 1.4826;

/* Returns the median of n values, 1 or more, which it sorts. */
double outliers_median(double *values, size_t n);

nb_status fit_leave_out(nb_fit *fit, size_t shot, const char *why);

/* Leaves out shots whose loss stands out. Where a second attempt is possible it begins
 * instead, with broadened spots; *again is the number of these shots. After a fit of all
 * shots together there is no second attempt, and *again is the number that left. */
nb_status fit_judge_outliers(nb_fit *fit, size_t *again);
void fit_warn_of_held(nb_fit *fit);

#endif
