/*
 * profiles.h - the profiles of reflections: the photons that each alone scatters into the
 * pixels of a box, if its structure factor is 1.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_INTEGRATE_PROFILES_H
#define NB_INTEGRATE_PROFILES_H

#include <stddef.h>

#include <nanobrag/simulator.h>

/* One reflection of one lattice on one panel. */
struct profile_of {
    int hkl[3], lattice;
    int box[4]; /* of pixels of the image, as nb_detector.box */
    int is_done; /* 1: profiles_render() leaves it out */
    double *photons; /* (pixels of the box, row after row); the set owns it */
};

struct profiles {
    size_t n;
    struct profile_of *of; /* (n) */
};

/* Renders the profiles that are not done, in double. Reflections whose boxes do not touch
 * share an image. Errors: the errors of nb_simulator_create() and nb_forward(). */
nb_status profiles_render(nb_context *ctx, nb_simulator *sim, const double *x,
                          struct profiles *profiles);

void profiles_free(struct profiles *profiles);

static inline int profile_width(const struct profile_of *p)
{
    return p->box[1] - p->box[0];
}

static inline size_t profile_pixels(const struct profile_of *p)
{
    return (size_t)profile_width(p) * (size_t)(p->box[3] - p->box[2]);
}

#endif
