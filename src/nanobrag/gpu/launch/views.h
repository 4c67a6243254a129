/*
 * views.h - images on a device, divided into launches. A call computes views: the panels
 * of an image, or the images of a batch. A
 * launch computes one strip of a view that needs several launches, or as many whole views
 * as it may. Every view has the bits of an image of that view alone.
 *
 * views.c plans the launches, and image_launch.c runs them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_LAUNCH_VIEWS_H
#define NB_GPU_LAUNCH_VIEWS_H

#include "gpu/launch/tile_rows.h"

/* A frame, the pixels that are rendered with it, and their place in an image. */
struct gpu_view {
    struct job job;
    const nb_array *to; /* the image, on the host or on the device */
    size_t lists; /* offset of its lists in the lists of the call, bytes */
    int blank; /* 1: the whole image becomes 0, and nothing is computed */
    struct gpu_layout layout; /* all 0: it is done */
    unsigned frame_flags; /* enum gpu_frame_flags */
    int alike; /* the first view that the same kernels compute; -1: it is done */
    int planned;
    struct gpu_kernel kernel; /* of the Bragg sums, in the view `alike` */
    double peak; /* photons of its brightest pixel, where float may lose it */
};

/* Rows of tiles of a view that a launch computes. */
struct view_strip {
    int view;
    struct gpu_strip rows;
    size_t blocks, pixels; /* of the strips before it in its launch */
};

/* A launch computes strip begin .. end - 1 of the plan. */
struct gpu_bundle {
    int begin, end;
    double share; /* its cost, in units of what it may cost */
    double tiles;
    int most_tiles; /* of a strip */
    size_t blocks, pixels; /* of Bragg sums; pixels that come back */
};

/* The strips of all views that are computed, launch after launch. */
struct gpu_plan {
    struct view_strip *strip;
    struct gpu_bundle *bundle; /* (launches) */
    int launches;
    int sequences; /* launches that may differ from one another */
    int loses; /* 1: float may lose a view */
    /* the most in a launch */
    int most_strips;
    size_t most_blocks, most_pixels;
};

/* The images of a call. */
struct image_run {
    struct progress *progress;
    nb_context *ctx;
    struct gpu_scene *scene;
    struct gpu_span lists[FRONT_LISTS]; /* of all views */
    int single; /* 1: float is asked for */
    struct gpu_view *view; /* (views) */
    int views;
    struct gpu_plan plan;
};

/* Make room for `images` images like a job's; add one, whose lists begin at offset `lists`.
 * If the views of an image on the device do not cover it, a blank view comes first. */
nb_status views_reserve(struct image_run *run, const struct job *job, int images);
void views_add(struct image_run *run, const struct job *job, const nb_array *to,
               size_t lists);

/* Plan the launches of all views that are not done. */
nb_status views_plan(struct image_run *run);

/* Keep the views that float lost, to be computed in double; all other views are done.
 * Returns how many are kept. */
int views_keep_lost(struct image_run *run);

/* Returns 1 if the photons of a view come back. */
int view_comes_back(const struct gpu_view *view);

/* Compute all views; then compute the views that float lost again, in double. */
nb_status views_run(struct image_run *run);

#endif
