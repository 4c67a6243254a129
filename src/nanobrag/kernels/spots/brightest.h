/*
 * brightest.h - the reflections that scatter onto the detector, with their brightness and
 * their place on it. They are found from the Ewald sphere, without an image.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_BRIGHTEST_H
#define NB_KERNELS_SPOTS_BRIGHTEST_H

#include <stddef.h>

#include "base/context.h"
#include "base/progress.h"
#include "kernels/job.h"
#include "kernels/kernels.h"

struct bright {
    int h, k, l;
    double brightness; /* sum of weight F^2 over the pairs of source and orientation */
    /* place on the panel, pixels: mean over pairs, weighted by brightness */
    double fast, slow;
    /* least and largest place over pairs: fast, slow */
    double low[2], high[2];
    int panel, lattice;
    size_t found; /* position in the order of finding the reflections */
};

/* Finds the reflections of the job of an image on its detector. They are ordered by
 * brightness, the brightest first, and equally bright ones by h, k, l and panel. A
 * reflection that meets several panels is listed once for each, with its brightness there.
 * A pair of source and orientation counts with F^2 at the point of the Ewald sphere nearest
 * to the reflection, if the profile there is above 1e-6 of its peak. The caller frees *out.
 * Errors: NB_ERR_MEMORY, NB_ERR_CANCELLED. */
nb_status brightest_find(struct progress *progress, const struct job *job,
                         struct bright **out, size_t *n);

/* Does the same for a continuous crystal: brightness is a sum of photons, over the samples
 * of an image. Defined in kernels/continuous/bright.c. */
nb_status brightest_continuous(struct progress *progress, const struct kernel_set *kernels,
                               const struct job *job, struct bright **out, size_t *n);

/* Returns a reflection without brightness; adds a contribution at a place on its panel,
 * which counts for `low` and `high` if is_in is 1. */
struct bright brightest_none(int h, int k, int l, int panel);
void brightest_add(struct bright *to, double some, double fast, double slow, int is_in);

/* Makes a list of reflections from n contributions, whose `fast` and `slow` are multiplied
 * by their brightness: adds up the contributions to each reflection on a panel in the order
 * of `found`, and sorts the reflections. Returns their number. */
size_t brightest_sort(struct bright *list, size_t n);

#endif
