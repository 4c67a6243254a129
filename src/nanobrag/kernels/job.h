/*
 * job.h - the arguments of one kernel launch: plain data without pointers into a scene.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_JOB_H
#define NB_KERNELS_JOB_H

#include <stdint.h>
#include <string.h>

#include "base/window.h"
#include "physics/frame.h"
#include "physics/spec.h"

struct reach;

/* How threads share a launch. No bit of the result depends on this. */
struct schedule {
    int threads; /* largest number of threads */
    int block; /* tiles, or chunks of tiles, assigned to a thread at a time */
};

/* A kernel reads the job of one panel. The job of an image differs where the detector has
 * several panels: `frame` has the frames of all panels, one after another, and `window` is
 * the window of the image. The image is the sum over lattices, each with its own frames;
 * only a Jacobian reads all of them, all else only the first lattice's
 * (derivatives/jacobian.h). */
struct job {
    const struct phys_frame *frame;
    int lattices; /* number of lattices; `frame` has the frames of all panels for each, one
                     lattice after another */
    struct phys_spec spec;
    /* largest error allowed in a pixel, as a fraction of the image's peak */
    double tolerance;
    const struct window *window; /* the pixels to render */
    const struct window *shown; /* the pixels that count for the peak, if `window` has a
                                   margin for a point spread; NULL: all of `window` */
    /* Only kernels of a device read roi and mask; they render no boxes. roi is the ROI of
     * the window: fast0 fast1 slow0 slow1, ends excluded. mask has nslow x nfast bytes for
     * the image, 0 = skip; or NULL. */
    int roi[4];
    const uint8_t *mask;
    double *photons; /* photons of the image, nslow x nfast; pixels that are not rendered
                        become 0 */
    int packed; /* 1: `photons` holds only the window's tiles (base/window.h) */
    unsigned char *dark; /* (tiles) the spots strategy sets 1 for each tile without photons,
                            and need not write this tile if `packed` is 1; NULL: all tiles
                            are written */
    struct schedule schedule;
    int planned; /* 1: the compiled mode chose spec and schedule */
    const char *mutated; /* name of an array that is both input and output of the call;
                            NULL: none */
    const struct reach *reach; /* tells which pairs of source and orientation reach each
                                  tile; derivatives skip all others. NULL: every pair may */
    void *scratch; /* TILE_SCRATCH bytes (kernels.h) of the calling thread for derivatives
                      of a tile, aligned to a cache line */
    int fixed; /* bits of enum phys_fixed: parts of the frame that no free parameter
                  changes; their cotangents may be left out */
};

/* Returns the job of panel i of an image, given the job of the image. */
static inline struct job job_of_panel(const struct job *job, int i)
{
    struct job panel = *job;

    panel.frame += i;
    panel.window = window_panel(job->window, i);
    if (job->shown) panel.shown = window_panel(job->shown, i);
    if (job->window->npanel > 0) memcpy(panel.roi, panel.window->roi, sizeof panel.roi);
    return panel;
}

/* Returns the job of lattice l alone, given the job of an image with all lattices. */
static inline struct job job_of_lattice(const struct job *job, int l)
{
    struct job lattice = *job;

    lattice.frame += (size_t)l * (size_t)window_panels(job->window);
    lattice.lattices = 1;
    return lattice;
}

#endif
