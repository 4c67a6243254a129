/*
 * rows_parameters.h - what the kernels of derivatives are given besides the parameters of
 * an image: tangents of the frame, and what is asked for about them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_ROWS_PARAMETERS_H
#define NB_GPU_ROWS_PARAMETERS_H

#include "gpu/parameters.h"
#include "physics/slope.h"

enum {
    ROWS_MOST = 32, /* tangents of a launch */
    SUM_FAN = 64 /* sums that are added up to one: sum_block() */
};

/* What a tile adds to: the value at the end; then, in the order of struct phys_slope, the
 * cotangents of the frame's numbers; then what the lists of each tangent (its sources and
 * turns) add to the derivative along it. Of a normal matrix instead: the value, the
 * gradient (n), and rows 0, 1, ... of the matrix up to its diagonal. Of both the last
 * number is the photons of the brightest pixel, of which the largest is kept. */
enum {
    ROW_VALUE,
    ROW_NUMBERS,
    ROW_PIX0 = ROW_NUMBERS,
    ROW_FAST = ROW_PIX0 + 3,
    ROW_SLOW = ROW_FAST + 3,
    ROW_NORMAL = ROW_SLOW + 3,
    ROW_PIXEL = ROW_NORMAL + 3,
    ROW_DISTANCE,
    ROW_CLOSE_DISTANCE,
    ROW_LAYER_STEP,
    ROW_LAYER_OFFSET,
    ROW_LAYER_MU,
    ROW_KAHN,
    ROW_STRAIN,
    ROW_NCELLS = ROW_STRAIN + 9,
    ROW_PEAK = ROW_NCELLS + 3,
    ROW_METRIC,
    ROW_FUDGE = ROW_METRIC + 6,
    ROW_B_FACTOR,
    ROW_DEFAULT_F,
    ROW_BRAGG_SCALE,
    ROW_AMORPHOUS_SCALE,
    ROW_LIST,
    ROWS_NUMBERS = ROW_LIST - ROW_NUMBERS,
    ROWS_TOTALS = ROW_LIST + ROWS_MOST
};

/* what becomes of the rows of the Jacobian */
enum gpu_rows_end {
    ROWS_CHANGES, /* they are written out */
    ROWS_PULL, /* sums, weighted with given cotangents of the photons */
    ROWS_LOSS, /* sums, weighted with the slopes of a loss */
    ROWS_NORMAL, /* normal matrix of a loss */
    ROWS_SQUARES /* normal matrix of given weights and residuals */
};

/* of each pixel, as enum nb_loss_kind */
enum gpu_loss { LOSS_GAUSSIAN, LOSS_POISSON, LOSS_POISSON_READOUT, LOSS_HUBER };

/* numbers of all pixels of the detector (nslow x nfast), in one of two types */
struct gpu_image {
    const double *wide;
    const float *single; /* both NULL: there is none */
};

/* what the photons are compared with */
struct gpu_target {
    int kind; /* enum gpu_loss */
    double sigma_readout, gain, delta; /* as in struct nb_target, defaults filled in */
    struct gpu_image observed; /* photons; of ROWS_SQUARES residuals, or none: 0 */
    struct gpu_image weight; /* or none: 1 */
};

struct gpu_rows_parameters {
    struct gpu_parameters image; /* no segments; its photons may be NULL */
    int n; /* tangents, at most ROWS_MOST */
    int turning; /* the first so many turn orientations, or change their weights */
    unsigned moving; /* bit d: tangent d changes a source */
    const struct phys_slope *dot; /* (n), their lists on the device */
    int end; /* enum gpu_rows_end */
    double *change; /* (n x rows of the launch x nfast); ROWS_CHANGES */
    struct gpu_image pull; /* ROWS_PULL */
    struct gpu_target target;
    /* what the sums of weighted F^2 pull with, for f_block.h; or NULL (rows of the launch x
     * nfast) */
    double *sum_bar;
    double *totals; /* ([tile of the launch][length]); all but ROWS_CHANGES */
    int length; /* rows_sum_length(n), or of a normal matrix rows_normal_length(n) */
};

/* numbers of a tile where sums are asked for, and where a normal matrix is */
PHYS_FN int rows_sum_length(int n)
{
    return ROW_LIST + n + 1;
}

PHYS_FN int rows_normal_length(int n)
{
    return 1 + n + n * (n + 1) / 2 + 1;
}

/* 1 when the kernels know how the photons of a frame change */
PHYS_FN int rows_serve(const struct phys_frame *frame)
{
    return !frame->amorphous_in_samples && !(frame->last_capture && frame->layer_mu != 0)
           && frame->surface != PHYS_CURVED_QUIRK;
}

/* sum_block.h: rows of numbers, each of which is added up over the rows, but for the last,
 * of which the largest is kept */
struct gpu_sum_parameters {
    const double *from; /* (count x length) */
    double *to; /* (ceil(count / SUM_FAN) x length) */
    int count, length;
    /* of the last sum, unless NULL: value and gradient along the tangents (1 + n) */
    int n;
    const struct phys_slope *dot;
    double *gradient;
};

/* structure factors: f_block.h */
struct gpu_f_parameters {
    struct gpu_parameters image; /* its sums and photons are unused */
    /* cotangents of the pixels' sums, gpu_rows_parameters.sum_bar (rows of the launch x
     * nfast) */
    const double *sum_bar;
    /* cotangents of the box and its default behind it, in units: no sum may reach 2^63 */
    long long *count;
    double unit;
};

#endif
