/*
 * derivatives_run.h - what the parts of derivatives.c share: one run of a job of
 * derivatives.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DERIVATIVES_RUN_H
#define NB_GPU_DERIVATIVES_RUN_H

#include "compile/jit/derivative_kernels.h"
#include "gpu/derivatives.h"
#include "gpu/upload.h"

enum { SUM_LEVELS = 6 }; /* of sums: SUM_FAN^6 tiles are more than can be counted */

/* parameters of all launches, sent at once; a launch finds its own at an offset */
struct derivatives_block {
    struct gpu_derivatives_parameters rows;
    struct gpu_sum_parameters sum[SUM_LEVELS];
    struct gpu_f_parameters f;
};

/* tangents: those that turn orientations first */
struct tangents_order {
    int *at; /* (n) */
    int turning;
    int crystal; /* 1: some change the crystal */
};

struct derivatives_run {
    nb_context *ctx;
    struct progress *progress;
    struct gpu_scene *scene;
    const struct job *job;
    const struct gpu_derivatives_job *rows;
    struct gpu_derivatives_sums *out;
    struct tangents_order order;
    struct gpu_layout layout;
    enum gpu_derivatives_class class;
    struct gpu_kernel kernel, f_kernel;
    int parts, part; /* of what is told of its progress: passes, and one for F */
    int levels; /* of sums */
    struct derivatives_block block;
};

/* the tangents of a pass: numbers in the caller's list */
struct derivatives_pass {
    int n, turning;
    int at[TANGENTS_MOST];
};

/* rows of tiles of a launch */
struct derivatives_strip {
    int first, down; /* rows of tiles, of the layout's */
    int slow, rows; /* and of pixels */
    int is_last;
};

struct derivatives_strip derivatives_strip_at(const struct derivatives_run *run, int first);

/* ---- jacobian_send.c ---- */

/* Cotangents and targets, into the block. */
nb_status derivatives_send_inputs(struct derivatives_run *run);

/* The tangents of a pass with what their lists say, into the block. */
nb_status derivatives_send_tangents(struct derivatives_run *run,
                                    const struct derivatives_pass *pass);

/* ---- jacobian_f.c ---- */

/* Room for what the pixels' sums pull with, into the block; for the first pass. */
nb_status factors_prepare(struct derivatives_run *run);

/* Cotangents of structure factors, when the first pass is done. */
nb_status factors_gather(struct derivatives_run *run);

#endif
