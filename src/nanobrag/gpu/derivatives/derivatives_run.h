/*
 * derivatives_run.h - one run of a job of derivatives, shared by derivatives.c,
 * derivatives_upload.c and factors.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DERIVATIVES_RUN_H
#define NB_GPU_DERIVATIVES_RUN_H

#include "compile/jit/derivative_kernels.h"
#include "gpu/derivatives/derivatives.h"
#include "gpu/strips.h"
#include "gpu/upload.h"

/* The parameters of all launches are sent at once; each launch has an offset into them. */
struct derivatives_block {
    struct gpu_derivatives_parameters jacobian;
    struct gpu_sums sums;
    struct gpu_f_parameters f;
};

_Static_assert(sizeof(struct derivatives_block) <= (size_t)FRONT_BYTES, "sent at once");

/* The tangents along which a panel changes, and their numbers among all. */
struct tangents_along {
    int n;
    const int *which; /* (n); NULL: all, in order */
    const struct phys_frame_tangent *dot; /* (n) */
};

/* the order of the tangents: those that rotate orientations come first */
struct tangents_order {
    int *at; /* (n) */
    int rotating;
    int crystal; /* 1: some tangent changes the crystal */
};

/* the tangents of a pass, as indices into those of the panel */
struct derivatives_pass {
    int n, rotating;
    int is_first; /* 1: the first pass over a panel */
    int at[TANGENTS_MOST];
};

/* The cotangents of all pixels' sums: the sum and the maximum of their sizes. */
struct cotangents {
    double total, most;
};

/* The panels of an image are computed one after the other, each as an image of its own, and
 * their results added up in that order. */
struct derivatives_run {
    nb_context *ctx;
    struct progress *progress;
    struct gpu_scene *scene;
    const struct gpu_derivatives_job *request;
    struct gpu_derivatives_sums *out;
    struct gpu_image cotangent; /* of the image, as `target` is */
    struct gpu_target target;
    /* of the panel at work */
    const struct job *job;
    struct tangents_along along;
    double base, share; /* of the progress: what is done before it, and its part */
    struct tangents_order order;
    struct gpu_layout layout;
    enum gpu_derivatives_class class;
    struct gpu_kernel kernel, f_kernel;
    int parts, part; /* parts of the progress reported: one for each pass and one for F */
    struct derivatives_pass pass; /* the one that runs */
    double brightest; /* photons of the brightest pixel that it found */
    int lost; /* 1: float lost the image, and nothing was added to the results */
    struct cotangents cotangents; /* found by the first pass, if asked for */
    struct derivatives_block block;
};

/* Report the progress of `share` parts of a panel, from part `begin` on, in so many steps.
 */
void derivatives_part(const struct derivatives_run *run, double begin, double share,
                      int steps);

/* ---- derivatives_upload.c ---- */

/* Send cotangents and targets of an image. */
nb_status derivatives_send_inputs(struct derivatives_run *run, const struct job *image);

/* Send the tangents of the pass with their lists, and put their addresses into
 * run->block. */
nb_status derivatives_send_tangents(struct derivatives_run *run);

/* ---- factors.c ---- */

/* Reserve memory for the cotangents of the pixels' sums, which the first pass writes. */
nb_status factors_prepare(struct derivatives_run *run);

/* The address on the device of the cotangents of a strip. */
double *factors_cotangents_of(const struct derivatives_run *run,
                              const struct gpu_strip *strip);

/* Add a strip that the first pass has computed to run->cotangents. */
nb_status factors_add_cotangents(struct derivatives_run *run,
                                 const struct gpu_strip *strip);

/* Compute the cotangents of structure factors, once the first pass is done. */
nb_status factors_gather(struct derivatives_run *run);

#endif
