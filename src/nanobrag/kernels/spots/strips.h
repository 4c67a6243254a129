/*
 * strips.h - what painting an image and its adjoint share: the detector is cut into bands
 * of rows, and each is visited pair by pair of source and orientation, always in the same
 * order, with the list of reflections that may reach it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_STRIPS_H
#define NB_KERNELS_SPOTS_STRIPS_H

#include "base/progress.h"
#include "kernels/job.h"
#include "kernels/spots/ewald.h"
#include "kernels/spots/spots.h"

/* more candidates, or rows of them to look through, are refused: a list that takes 0.8 GB,
 * and what is looked through in a second */
enum { STRIPS_CANDIDATES = 1 << 25 };
static const double strips_rows = 1e8;

/* what is done with a pair on the area of a band */
typedef void band_pair(const void *user, int chunk, const struct splat_area *splat_area,
                       const struct pair *pair, const struct reflections *list, int *hits);

struct strips {
    const struct job *job;
    double radius; /* of a spot, 1/A */
    double *bragg; /* nslow x nfast; becomes 0 before the first pair; NULL: none */
    double begin, share; /* of the progress */
    int chunks; /* band i belongs to chunk i % chunks, which is one thread's; 0: as many
                   as there are bands */
    band_pair *pair;
    const void *user;
    struct spots_work *work;
};

/* The first group of sources and orientations that a list of candidates is made for; how
 * many pairs it has. */
double strips_group(struct ewald *ewald, const struct phys_frame *frame);

/* How many of the threads of a job some work is worth, counted in reflections looked at and
 * samples finished. */
int strips_threads(const struct job *job, double work);

/* Visit all bands. Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status strips_run(struct progress *progress, const struct strips *strips);

#endif
