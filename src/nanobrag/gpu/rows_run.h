/*
 * rows_run.h - what the parts of rows.c share: one run of a job of derivatives.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_ROWS_RUN_H
#define NB_GPU_ROWS_RUN_H

#include "gpu/frame.h"
#include "gpu/rows.h"
#include "gpu/rows_kernels.h"

enum { ROWS_LEVELS = 6 }; /* of sums: SUM_FAN^6 tiles are more than can be counted */

/* parameters of all launches, sent at once; a launch finds its own at an offset */
struct rows_block {
    struct gpu_rows_parameters rows;
    struct gpu_sum_parameters sum[ROWS_LEVELS];
    struct gpu_f_parameters f;
};

/* tangents: those that turn orientations first */
struct rows_order {
    int *at; /* (n) */
    int turning;
    int crystal; /* 1: some change the crystal */
};

struct rows_run {
    nb_context *ctx;
    struct headway *headway;
    struct gpu_scene *scene;
    const struct job *job;
    const struct gpu_rows_job *rows;
    struct gpu_rows_sums *out;
    struct rows_order order;
    struct gpu_layout layout;
    enum gpu_rows_class class;
    struct gpu_kernel kernel, f_kernel;
    int parts, part; /* of what is told of its headway: passes, and one for F */
    int levels; /* of sums */
    struct rows_block block;
};

/* the tangents of a pass: numbers in the caller's list */
struct rows_pass {
    int n, turning;
    int at[ROWS_MOST];
};

/* rows of tiles of a launch */
struct rows_band {
    int first, down; /* rows of tiles, of the layout's */
    int slow, rows; /* and of pixels */
    int is_last;
};

struct rows_band rows_band_at(const struct rows_run *run, int first);

/* ---- rows_send.c ---- */

/* Cotangents and targets, into the block. */
nb_status rows_send_inputs(struct rows_run *run);

/* The tangents of a pass with what their lists say, into the block. */
nb_status rows_send_tangents(struct rows_run *run, const struct rows_pass *pass);

/* ---- rows_f.c ---- */

/* Room for what the pixels' sums pull with, into the block; for the first pass. */
nb_status rows_f_prepare(struct rows_run *run);

/* Cotangents of structure factors, when the first pass is done. */
nb_status rows_gather_f(struct rows_run *run);

#endif
