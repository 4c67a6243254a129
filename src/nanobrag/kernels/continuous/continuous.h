/*
 * continuous.h - images and derivatives of a crystal whose mosaic spread, rotation and
 * spectrum are continuous distributions (phys_frame.continuous). The sum over the domains,
 * phi steps and energies of a reflection is a closed form (form.h). So the cost of an image
 * depends only on the number of spots and of their samples.
 *
 * A call lists the spots (list.h), computes the form at the nodes of each spot (nodes.h),
 * fits polynomials to the nodes (pattern.h), and evaluates these at the samples
 * (samples.h). The adjoint takes these steps in reverse order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_CONTINUOUS_H
#define NB_KERNELS_CONTINUOUS_CONTINUOUS_H

#include "base/progress.h"
#include "kernels/continuous/list.h"
#include "kernels/continuous/pattern.h"
#include "kernels/derivatives/adjoint.h"
#include "kernels/kernels.h"

/* A strip: rows row .. end - 1 of a panel's pixels, and the spots that reach them. The
 * spots have the indices order[first .. first + n - 1] in the table. */
struct spot_strip {
    int panel, row, end;
    size_t first, n;
};

/* The workspace of continuous crystals. The workspace grows if a frame needs more, and
 * later calls reuse it. Unless `held` is set, no result depends on its contents before a
 * call. All members are zero before the first use. */
struct continuous_work {
    int held; /* 1: the spots of the last call stay listed, and only their numbers follow
                 the parameters */
    int tail; /* 1: the share of the tail may change, so the tail's spots are listed even if
                 the share is 0 */
    struct pattern pattern;
    struct view view;
    size_t ncrystals, ngroups; /* allocated lengths of the lists of `view` */
    struct spot_table table;
    struct spectral_lines *spectrum; /* (ngroups) the lines of each group of sources */
    size_t nspectra; /* allocated length of `spectrum` */
    int nstrip;
    struct spot_strip *strip;
    size_t nstrips, norder; /* allocated lengths of `strip` and `order` */
    unsigned *order;
    size_t ntiles;
    unsigned char *lit; /* (tiles of the image) 1: a spot reaches the tile */
    /* the spots with indices of_tile[first[i] .. first[i + 1] - 1] reach tile i */
    size_t npairs, pairs;
    struct spot_on_tile {
        unsigned tile, spot;
    } * pair; /* (npairs, room for `pairs`) tile and spot, sorted by spot */
    size_t nfirsts, nof_tile;
    unsigned *first, *of_tile;
    size_t nchanges;
    struct profile_change *change; /* the derivatives of spots that rows.h computes */
    int no_memory; /* continuous_rows.no_memory points to it */
};

void continuous_free(struct continuous_work *work);

/* Returns the bytes of memory that a workspace holds. */
size_t continuous_bytes(const struct continuous_work *work);

/* Lists the spots of a job, unless `held` is set, and computes their polynomials. Errors:
 * NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status continuous_list(struct progress *progress, const struct kernel_set *kernels,
                          const struct job *job, struct continuous_work *work);

/* Draws the listed spots: job->photons becomes the Bragg sums, without constant factors. If
 * job->packed is set, only tiles with spots are written. Errors: NB_ERR_MEMORY,
 * NB_ERR_CANCELLED. */
nb_status continuous_draw(struct progress *progress, const struct kernel_set *kernels,
                          const struct job *job, const struct continuous_work *work);

/* Adds the contribution of the samples of all spots to the cotangents of the frame.
 * `weight` holds the cotangents of the Bragg sums, packed (base/window.h), in tiles with
 * spots. Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status continuous_back(struct progress *progress, const struct kernel_set *kernels,
                          const struct job *job, const struct adjoint_work *adjoint,
                          const double *weight, struct continuous_work *work);

#endif
