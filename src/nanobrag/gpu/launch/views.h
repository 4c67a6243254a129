/*
 * views.h - divides the images of a call on a device into launches. A call computes views:
 * the panels of an image, or the images of a batch. A launch computes one strip of a view
 * that needs several launches, or as many whole views as one launch may. The bits of a view
 * do not depend on other views.
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
    size_t lists; /* offset of the view's lists in image_run.lists, bytes */
    int blank; /* 1: nothing is computed; the whole image becomes 0 */
    struct gpu_layout layout; /* all 0: the view is done */
    unsigned frame_flags; /* enum gpu_frame_flags */
    /* number of the first view that the same kernels compute; -1: the view is done */
    int alike;
    int planned;
    struct gpu_kernel kernel; /* kernel of the Bragg sums; valid in the view `alike` */
    /* photons of the brightest pixel; set if float may lose the spots of the view */
    double peak;
};

/* Rows of tiles of a view that a launch computes. */
struct view_strip {
    int view;
    struct gpu_strip rows;
    size_t blocks, pixels; /* blocks and pixels of the strips before it in its launch */
};

/* A launch, which computes the strips begin .. end - 1 of the plan. */
struct gpu_bundle {
    int begin, end;
    double share; /* cost, over the limit of one launch */
    double tiles;
    int most_tiles; /* tiles of the largest strip */
    size_t blocks, pixels; /* blocks of Bragg sums; pixels that come back to the host */
};

/* The strips of all views that are computed, launch after launch. */
struct gpu_plan {
    struct view_strip *strip;
    struct gpu_bundle *bundle; /* (launches) */
    int launches;
    int sequences; /* number of launches that may differ from one another */
    /* 1: a view may hold only tails of spots, which float loses (rounding_is_lost()) */
    int loses;
    /* the largest numbers in a launch */
    int most_strips;
    size_t most_blocks, most_pixels;
};

/* The views of a call, and its plan. */
struct image_run {
    struct progress *progress;
    nb_context *ctx;
    struct gpu_scene *scene;
    struct gpu_span lists[FRONT_LISTS]; /* lists of all views */
    int single; /* 1: the caller asks for float */
    struct gpu_view *view; /* (views) */
    int views;
    struct gpu_plan plan;
};

/* views_reserve() makes room for `images` images like the job's. views_add() adds the views
 * of one image, whose lists begin at offset `lists`. If these views do not cover an image
 * on the device, it also adds a blank view, which is launched before them. */
nb_status views_reserve(struct image_run *run, const struct job *job, int images);
void views_add(struct image_run *run, const struct job *job, const nb_array *to,
               size_t lists);

/* Plan the launches of all views that are not done. */
nb_status views_plan(struct image_run *run);

/* Keep the views that float lost, and lay them out in double; all other views are done.
 * Returns how many are kept. */
int views_keep_lost(struct image_run *run);

/* Returns 1 if the photons of a view come back to the host. */
int view_comes_back(const struct gpu_view *view);

/* Compute all views; then compute again, in double, the views whose spots float lost. */
nb_status views_run(struct image_run *run);

#endif
