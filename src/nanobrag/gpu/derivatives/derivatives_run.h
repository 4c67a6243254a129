/*
 * derivatives_run.h - the state of one call of gpu_derivatives(), which derivatives.c,
 * derivatives_upload.c and factors_launch.c share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DERIVATIVES_DERIVATIVES_RUN_H
#define NB_GPU_DERIVATIVES_DERIVATIVES_RUN_H

#include "compile/jit/derivative_kernels.h"
#include "gpu/derivatives/derivatives.h"
#include "gpu/launch/tile_rows.h"
#include "gpu/upload.h"

/* The parameters of all launches of a strip, which are sent at once. The parameters of each
 * launch begin at an offset in this struct. */
struct derivatives_block {
    struct gpu_derivatives_parameters jacobian;
    struct gpu_sums sums;
    struct gpu_f_parameters f;
};

_Static_assert(sizeof(struct derivatives_block) <= (size_t)FRONT_BYTES, "sent at once");

/* The tangents along which a panel changes, and their numbers among all tangents. */
struct tangents_along {
    int n;
    const int *which; /* (n); NULL: all, in order */
    const struct phys_frame_tangent *dot; /* (n) */
};

/* The order of a panel's tangents: tangents that rotate orientations come first. */
struct tangents_order {
    int *at; /* (n) indices into tangents_along */
    int rotating;
    int crystal; /* 1: some tangent changes the crystal (PHYS_CRYSTAL) */
};

/* The tangents of a pass, as indices into tangents_along. */
struct derivatives_pass {
    int n, rotating;
    int is_first; /* 1: the first pass over a panel */
    int at[TANGENTS_MOST];
};

/* The sum and the maximum of |cotangent| over the Bragg sums of all pixels. */
struct cotangents {
    double total, most;
};

/* Data of a panel for the cotangents of structure factors, which are gathered at the
 * end. */
struct panel_cotangents {
    struct gpu_layout layout; /* layout that computed the panel's derivatives */
    size_t before; /* number of pixels of earlier panels in scene->sum_bar */
};

/* The panels of an image are computed one after the other, each as an image of its own.
 * Their results are added up in that order. */
struct derivatives_run {
    nb_context *ctx;
    struct progress *progress;
    struct gpu_scene *scene;
    const struct job *image;
    const struct gpu_derivatives_job *request;
    struct gpu_derivatives_sums *out;
    struct gpu_image cotangent; /* covers all panels, as the images of `target` do */
    struct gpu_target target;
    int most; /* largest number of tangents of a panel */
    int asks_f; /* 1: cotangents of structure factors are requested */
    struct panel_cotangents *panels; /* (panels) */
    struct cotangents cotangents; /* over all panels, from their first passes */
    struct gpu_kernel f_kernels[2]; /* in double, in float */
    /* The members below belong to the current panel. */
    struct job panel;
    const struct job *job; /* points to `panel` */
    int number;
    struct tangents_along along;
    double base, share; /* fractions of the progress: before this panel, of this panel */
    struct tangents_order order;
    struct gpu_layout layout;
    enum gpu_derivatives_class class;
    struct gpu_kernel kernel;
    int parts, part; /* number of passes; number of passes that have begun */
    struct derivatives_pass pass; /* the pass that runs */
    double brightest; /* photons of the brightest pixel that the pass found */
    int lost; /* 1: float lost the image, and nothing was added to the results */
    struct derivatives_block block;
};

/* ---- derivatives_upload.c ---- */

/* Upload the cotangents and the target of an image. */
nb_status derivatives_send_inputs(struct derivatives_run *run, const struct job *image);

/* Upload the tangents of the pass with their lists, and put their addresses into
 * run->block. */
nb_status derivatives_send_tangents(struct derivatives_run *run);

/* ---- factors_launch.c ---- */

/* factors_reserve() reserves memory for the cotangents of the Bragg sums of all panels'
 * pixels, which the first pass over each panel writes. factors_prepare() makes the current
 * panel write its cotangents. */
nb_status factors_reserve(struct derivatives_run *run);
void factors_prepare(struct derivatives_run *run);

/* Returns the address on the device of the cotangents of a strip. */
double *factors_cotangents_of(const struct derivatives_run *run,
                              const struct gpu_strip *strip);

/* Add the cotangents of a strip, which the first pass has computed, to run->cotangents. */
nb_status factors_add_cotangents(struct derivatives_run *run,
                                 const struct gpu_strip *strip);

/* Compute the cotangents of structure factors, once all panels are done. */
nb_status factors_gather(struct derivatives_run *run);

#endif
