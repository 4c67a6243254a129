/*
 * continuous.h - images and derivatives of a crystal whose mosaic spread, rotation and
 * spectrum are continuous distributions (phys_frame.continuous). The sum over domains, phi
 * steps and energies of a reflection is a closed form (form.h), so that the cost of an
 * image follows the spots and their samples alone.
 *
 * A call lists the spots (list.h), computes the form at the nodes of each (nodes.h), and
 * draws polynomials through them (samples.h). The adjoint returns by the same way.
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

/* Rows of pixels of a panel, and the spots that reach them: numbers order[first .. first +
 * n - 1] of the table. */
struct spot_strip {
    int panel, row, end;
    size_t first, n;
};

/* Workspace. It grows when a frame needs more and is reused by later calls; unless `held`
 * is set, no result depends on what an earlier call left in it. All members are zero before
 * the first use. */
struct continuous_work {
    int held; /* 1: the spots of the last call stay listed, and only their numbers follow
                 the parameters */
    int tail; /* 1: the share of the tail may change, so its spots are kept at a share of 0,
                 too */
    struct pattern pattern;
    struct view view;
    size_t ncrystals, ngroups; /* sizes of the lists of `view` */
    struct spot_table table;
    struct spectral_lines *spectrum; /* (ngroups) */
    size_t nspectra;
    int nstrip;
    struct spot_strip *strip;
    size_t nstrips, norder;
    unsigned *order;
    size_t ntiles;
    unsigned char *lit; /* (tiles of the image) 1: a spot reaches it */
    /* tile i is reached by the spots of numbers of_tile[first[i] .. first[i + 1] - 1] */
    size_t npairs, pairs;
    struct spot_on_tile {
        unsigned tile, spot;
    } * pair; /* (npairs, room for `pairs`) the same, spot by spot */
    size_t nfirsts, nof_tile;
    unsigned *first, *of_tile;
    size_t nchanges;
    struct profile_change *change; /* the changes that rows.h computes */
};

void continuous_free(struct continuous_work *work);

/* Returns the bytes of memory that a workspace holds. */
size_t continuous_bytes(const struct continuous_work *work);

/* Lists the spots of a job, unless they are held, and computes their polynomials. Errors:
 * NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status continuous_list(struct progress *progress, const struct kernel_set *kernels,
                          const struct job *job, struct continuous_work *work);

/* Draws the listed spots: job->photons become the Bragg sums, without constant factors.
 * Where they are packed, only tiles with spots are written. Errors: NB_ERR_MEMORY,
 * NB_ERR_CANCELLED. */
nb_status continuous_draw(struct progress *progress, const struct kernel_set *kernels,
                          const struct job *job, const struct continuous_work *work);

/* Adds the contribution of the samples of all spots to the cotangents of the frame.
 * `weight` holds the cotangents of the Bragg sums in tiles with spots (packed,
 * base/window.h). Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status continuous_back(struct progress *progress, const struct kernel_set *kernels,
                          const struct job *job, const struct adjoint_work *adjoint,
                          const double *weight, struct continuous_work *work);

#endif
