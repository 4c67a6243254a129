/*
 * derivatives_run.h - one run of a job of derivatives, shared by derivatives.c,
 * derivatives_upload.c and factors.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DERIVATIVES_RUN_H
#define NB_GPU_DERIVATIVES_RUN_H

#include "compile/jit/derivative_kernels.h"
#include "gpu/derivatives.h"
#include "gpu/upload.h"

enum { SUM_LEVELS = 6 }; /* SUM_FAN^6 exceeds any number of tiles */

/* The parameters of all launches are sent at once; each launch has an offset into them. */
struct derivatives_block {
    struct gpu_derivatives_parameters jacobian;
    struct gpu_sum_parameters sum[SUM_LEVELS];
    struct gpu_f_parameters f;
};

/* the order of the tangents: those that turn orientations come first */
struct tangents_order {
    int *at; /* (n) */
    int turning;
    int crystal; /* 1: some tangent changes the crystal */
};

struct derivatives_run {
    nb_context *ctx;
    struct progress *progress;
    struct gpu_scene *scene;
    const struct job *job;
    const struct gpu_derivatives_job *request;
    struct gpu_derivatives_sums *out;
    struct tangents_order order;
    struct gpu_layout layout;
    enum gpu_derivatives_class class;
    struct gpu_kernel kernel, f_kernel;
    int parts, part; /* parts of the progress reported: one for each pass and one for F */
    int levels; /* how many levels of sums there are */
    struct derivatives_block block;
};

/* the tangents of a pass, as indices into the caller's list */
struct derivatives_pass {
    int n, turning;
    int at[TANGENTS_MOST];
};

/* the rows of tiles that one launch covers */
struct derivatives_strip {
    int first, down; /* rows of tiles, in those of the layout */
    int slow, rows; /* the same rows in pixels */
    int is_last;
};

struct derivatives_strip derivatives_strip_at(const struct derivatives_run *run, int first);

/* ---- derivatives_upload.c ---- */

/* Send cotangents and targets, and put their addresses into run->block. */
nb_status derivatives_send_inputs(struct derivatives_run *run);

/* Send the tangents of a pass with their lists, and put their addresses into
 * run->block. */
nb_status derivatives_send_tangents(struct derivatives_run *run,
                                    const struct derivatives_pass *pass);

/* ---- factors.c ---- */

/* Reserve memory for the cotangents of the pixels' sums, which the first pass writes. */
nb_status factors_prepare(struct derivatives_run *run);

/* Compute the cotangents of structure factors, once the first pass is done. */
nb_status factors_gather(struct derivatives_run *run);

#endif
