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

/* How threads share a launch. It changes no bit of the result. */
struct schedule {
    int threads; /* largest number of threads */
    int block; /* tiles, or chunks of tiles, assigned to a thread at a time */
};

/* A kernel reads the job of one panel. The job of an image of several panels has the frames
 * of all of them, one after another, and the window of the image; where the detector is one
 * rectangle, both are the same. The image is the sum over lattices, each with frames of its
 * own; only a Jacobian reads more than the first (derivatives/jacobian.h). */
struct job {
    const struct phys_frame *frame;
    int lattices; /* number of lattices; `frame` has the frames of all panels for each, one
                     lattice after another */
    struct phys_spec spec;
    double tolerance; /* largest error allowed, as a fraction of the image's peak */
    const struct window *window; /* the pixels to render */
    const struct window *shown; /* the pixels that count for the peak, if a point spread
                                   needs a margin around them; NULL: all */
    /* for a device, which renders no boxes. roi: the ROI of the window, fast0 fast1 slow0
     * slow1, ends excluded. mask: of the image, nslow x nfast, 0 = skip; or NULL */
    int roi[4];
    const uint8_t *mask;
    double *photons; /* of the image, nslow x nfast; pixels that are not rendered become
                        0 */
    int packed; /* 1: photons hold only the window's tiles (base/window.h) */
    unsigned char *dark; /* (tiles) the spots strategy sets 1 for each tile of photons 0,
                            and need not write such a tile if photons are packed; NULL: all
                            tiles are written */
    struct schedule schedule;
    int planned; /* 1: the compiled mode chose spec and schedule */
    const char *mutated; /* name of an array that is both input and output of the call;
                            NULL: none */
    const struct reach *reach; /* pairs of source and orientation that reach each tile, used
                                by derivatives; NULL: all pairs */
    void *scratch; /* the thread's TILE_SCRATCH bytes (kernels.h), where derivatives of a
                      tile are computed; on a cache line */
    int fixed; /* parts that no free parameter changes (enum phys_fixed); their cotangents
                  may be left out */
};

/* Returns the job of panel i of the image of a job. */
static inline struct job job_of_panel(const struct job *job, int i)
{
    struct job panel = *job;

    panel.frame += i;
    panel.window = window_panel(job->window, i);
    if (job->shown) panel.shown = window_panel(job->shown, i);
    if (job->window->npanel > 0) memcpy(panel.roi, panel.window->roi, sizeof panel.roi);
    return panel;
}

/* Returns the job of lattice l of the image of a job, by itself. */
static inline struct job job_of_lattice(const struct job *job, int l)
{
    struct job lattice = *job;

    lattice.frame += (size_t)l * (size_t)window_panels(job->window);
    lattice.lattices = 1;
    return lattice;
}

#endif
