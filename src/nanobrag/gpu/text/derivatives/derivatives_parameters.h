/*
 * jacobian_parameters.h - what the kernels of derivatives are given besides the parameters
 * of an image: tangents of the frame, and what is asked for about them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_DERIVATIVES_PARAMETERS_H
#define NB_GPU_TEXT_DERIVATIVES_DERIVATIVES_PARAMETERS_H

#include "gpu/text/parameters.h"
#include "physics/frame_tangent.h"
#include "physics/loss.h"

enum {
    TANGENTS_MOST = 32, /* tangents of a launch */
    SUM_FAN = 64 /* sums that are added up to one: sum_block() */
};

/* What a tile adds to: the value at the end; then, in the order of struct
 * phys_frame_tangent, the cotangents of the frame's numbers; then what the lists of each
 * tangent (its sources and turns) add to the derivative along it. Of a normal matrix
 * instead: the value, the gradient (n), and rows 0, 1, ... of the matrix up to its
 * diagonal. Of both the last number is the photons of the brightest pixel, of which the
 * largest is kept. */
enum {
    SUM_VALUE,
    SUM_NUMBERS,
    SUM_PIX0 = SUM_NUMBERS,
    SUM_FAST = SUM_PIX0 + 3,
    SUM_SLOW = SUM_FAST + 3,
    SUM_NORMAL = SUM_SLOW + 3,
    SUM_PIXEL = SUM_NORMAL + 3,
    SUM_DISTANCE,
    SUM_CLOSE_DISTANCE,
    SUM_LAYER_STEP,
    SUM_LAYER_OFFSET,
    SUM_LAYER_MU,
    SUM_KAHN,
    SUM_STRAIN,
    SUM_NCELLS = SUM_STRAIN + 9,
    SUM_PEAK = SUM_NCELLS + 3,
    SUM_METRIC,
    SUM_FUDGE = SUM_METRIC + 6,
    SUM_B_FACTOR,
    SUM_DEFAULT_F,
    SUM_BRAGG_SCALE,
    SUM_AMORPHOUS_SCALE,
    SUM_LIST,
    JACOBIAN_NUMBERS = SUM_LIST - SUM_NUMBERS,
    JACOBIAN_TOTALS = SUM_LIST + TANGENTS_MOST
};

/* what becomes of the rows of the Jacobian */
enum gpu_reduction {
    REDUCE_NOTHING, /* they are written out */
    REDUCE_COTANGENT, /* sums, weighted with given cotangents of the photons */
    REDUCE_LOSS, /* sums, weighted with the slopes of a loss */
    REDUCE_NORMAL, /* normal matrix of a loss */
    REDUCE_SQUARES /* normal matrix of given weights and residuals */
};

/* numbers of all pixels of the detector (nslow x nfast), in one of two types */
struct gpu_image {
    const double *wide;
    const float *single; /* both NULL: there is none */
};

/* what the photons are compared with */
struct gpu_target {
    struct phys_loss_model model;
    struct gpu_image observed; /* photons; of REDUCE_SQUARES residuals, or none: 0 */
    struct gpu_image weight; /* or none: 1 */
};

/* the number of a pixel; `none` where there is no image */
PHYS_FN double image_at(const struct gpu_image *image, long long at, double none)
{
    if (image->wide) return image->wide[at];
    return image->single ? (double)image->single[at] : none;
}

/* the loss of a pixel that is rendered */
PHYS_FN struct phys_loss target_loss(const struct gpu_target *target, double photons,
                                     long long at)
{
    return phys_loss(target->model, photons, image_at(&target->observed, at, 0),
                     image_at(&target->weight, at, 1));
}

struct gpu_derivatives_parameters {
    struct gpu_parameters image; /* no segments; its photons may be NULL */
    int n; /* tangents, at most TANGENTS_MOST */
    int turning; /* the first so many turn orientations, or change their weights */
    unsigned moving; /* bit d: tangent d changes a source */
    const struct phys_frame_tangent *dot; /* (n), their lists on the device */
    int end; /* enum gpu_reduction */
    double *change; /* (n x rows of the launch x nfast); REDUCE_NOTHING */
    struct gpu_image cotangent; /* REDUCE_COTANGENT */
    struct gpu_target target;
    /* what the sums of weighted F^2 pull with, for f_block.h; or NULL (rows of the launch x
     * nfast) */
    double *sum_bar;
    double *totals; /* ([tile of the launch][length]); all but REDUCE_NOTHING */
    int length; /* jacobian_sum_length(n), or of a normal matrix jacobian_normal_length(n)
                 */
};

/* numbers of a tile where sums are asked for, and where a normal matrix is */
PHYS_FN int jacobian_sum_length(int n)
{
    return SUM_LIST + n + 1;
}

PHYS_FN int jacobian_normal_length(int n)
{
    return 1 + n + n * (n + 1) / 2 + 1;
}

/* 1 when the kernels know how the photons of a frame change */
PHYS_FN int jacobian_serve(const struct phys_frame *frame)
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
    const struct phys_frame_tangent *dot;
    double *gradient;
};

/* structure factors: f_block.h */
struct gpu_f_parameters {
    struct gpu_parameters image; /* its sums and photons are unused */
    /* cotangents of the pixels' sums, gpu_derivatives_parameters.sum_bar (rows of the
     * launch x nfast) */
    const double *sum_bar;
    /* cotangents of the box and its default behind it, in units: no sum may reach 2^63 */
    long long *count;
    double unit;
};

#endif
