/*
 * derivatives_parameters.h - the parameters of the derivative kernels: the parameters of an
 * image, the tangents of the frame, and the results to compute.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_DERIVATIVES_PARAMETERS_H
#define NB_GPU_TEXT_DERIVATIVES_DERIVATIVES_PARAMETERS_H

#include "gpu/text/parameters.h"
#include "physics/frame_tangent.h"
#include "physics/loss.h"

enum {
    TANGENTS_MOST = 32, /* largest number of tangents in a launch */
    SUM_FAN = 64 /* number of arrays that sum_block() adds up to one */
};

/* The totals of a tile: the value of the objective L; the cotangents dL/d(number) of the
 * frame's numbers, in the order of physics/frame_tangent.def; and, for each tangent, the
 * part of the derivative along it that comes from the frame's lists (sources and
 * orientations). For a normal matrix they are instead the value, the gradient (n), and
 * rows 0, 1, ... of the matrix up to its diagonal. In both cases the last number is the
 * photons of the brightest pixel; it is combined by the maximum, not by the sum. */
enum {
    SUM_VALUE,
    SUM_NUMBERS,
    SUM_LIST = SUM_NUMBERS + PHYS_NUMBERS,
    JACOBIAN_TOTALS = SUM_LIST + TANGENTS_MOST
};

/* How the Jacobian is used. */
enum gpu_reduction {
    REDUCE_NOTHING, /* the Jacobian is written out */
    REDUCE_COTANGENT, /* gradient: sums weighted with given dL/d(photons) */
    REDUCE_LOSS, /* gradient of a loss: sums weighted with its derivatives */
    REDUCE_NORMAL, /* normal matrix of a loss */
    REDUCE_SQUARES /* normal matrix of given weights and residuals */
};

/* One number for each pixel of the detector, in one of two types. A pixel has the index
 * pixel_number(). */
struct gpu_image {
    const double *wide;
    const float *single; /* one pointer is NULL, or both if there is no image */
};

/* The data to compare the photons with. */
struct gpu_target {
    struct phys_loss_model model;
    /* photons, or residuals for REDUCE_SQUARES; 0 without an image */
    struct gpu_image observed;
    struct gpu_image weight; /* 1 without an image */
};

/* Returns the number at a pixel, or `none` if there is no image. */
PHYS_FN double image_at(const struct gpu_image *image, long long at, double none)
{
    if (image->wide) return image->wide[at];
    return image->single ? (double)image->single[at] : none;
}

/* Returns the loss of a rendered pixel with index `at`. */
PHYS_FN struct phys_loss target_loss(const struct gpu_target *target, double photons,
                                     long long at)
{
    return phys_loss(target->model, photons, image_at(&target->observed, at, 0),
                     image_at(&target->weight, at, 1));
}

struct gpu_derivatives_parameters {
    struct gpu_parameters image; /* its `segments` and `partial` are not used */
    int n; /* number of tangents, at most TANGENTS_MOST */
    /* the first `turning` tangents rotate orientations or change their weights */
    int turning;
    unsigned moving; /* bit d is 1: tangent d changes a source */
    const struct phys_frame_tangent *dot; /* (n), with their lists in device memory */
    int end; /* enum gpu_reduction */
    double *change; /* (n x pixel rows of the launch x nfast), for REDUCE_NOTHING */
    struct gpu_image cotangent; /* dL/d(photons), for REDUCE_COTANGENT */
    struct gpu_target target;
    /* cotangents of the pixels' sums of weighted F^2, for f_block.h (pixel rows of the
     * launch x nfast); or NULL */
    double *sum_bar;
    double *totals; /* ([tile of the launch][length]); not for REDUCE_NOTHING */
    int length; /* jacobian_sum_length(n) or jacobian_normal_length(n) */
};

/* jacobian_sum_length() returns how many totals a tile has for a gradient,
 * jacobian_normal_length() for a normal matrix. */
PHYS_FN int jacobian_sum_length(int n)
{
    return SUM_LIST + n + 1;
}

PHYS_FN int jacobian_normal_length(int n)
{
    return 1 + n + n * (n + 1) / 2 + 1;
}

/* Returns 1 if the kernels can compute the derivatives of a frame's photons. */
PHYS_FN int jacobian_serve(const struct phys_frame *frame)
{
    return !frame->amorphous_in_samples && !(frame->last_capture && frame->layer_mu != 0)
           && frame->surface != PHYS_CURVED_QUIRK;
}

/* The parameters of sum_block.h, which adds up `count` arrays number by number, but takes
 * the maximum of the last number. */
struct gpu_sum_parameters {
    const double *from; /* (count x length) */
    double *to; /* (ceil(count / SUM_FAN) x length) */
    int count, length;
    /* unless `gradient` is NULL, the launch of the last sum writes value and derivatives
     * along n tangents there (1 + n) */
    int n;
    const struct phys_frame_tangent *dot;
    double *gradient;
};

/* The parameters of f_block.h, the derivatives by the structure factors. */
struct gpu_f_parameters {
    struct gpu_parameters image; /* its `partial` is not used */
    /* cotangents of the pixels' sums, gpu_derivatives_parameters.sum_bar (pixel rows of
     * the launch x nfast) */
    const double *sum_bar;
    /* cotangents of the box of structure factors and of the default behind it, as multiples
     * of `unit`, which is so large that no sum reaches 2^63 */
    long long *count;
    double unit;
};

#endif
