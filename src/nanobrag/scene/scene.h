/*
 * scene.h - from the user's scene to a frame, in two steps.
 *
 *   scene_resolve  once: fills every default, decides every count, draws what is random
 *   scene_derive   for each x: the resolved scene's numbers -> frame, a pure function
 *
 * Both work in double on the host. Each file of scene/ holds one part of the scene: its
 * *_resolve and what scene_derive takes from it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_SCENE_H
#define NB_SCENE_SCENE_H

#include <nanobrag/scene.h>
#include <nanobrag/simulator.h>

#include "physics/frame.h"
#include "physics/spec.h"
#include "scene/random.h"

/* rotation of a mosaic domain, per unit of spread */
struct scene_domain {
    double axis[3], angle;
};

/* a generated source: its place in the grid, in units of the steps */
struct scene_beamlet {
    double horizontal, vertical, wavelength;
};

/* How a sampled range follows from the resolved scene: step = ratio x range, or the
 * absolute step where the range is 0. */
struct scene_steps {
    double ratio, absolute;
};

/* what scene_resolve decided and x never changes */
struct scene_fixed {
    int ngrid; /* directions of the generated beam; 0: sources were given */
    int nsource; /* all of them */
    struct scene_beamlet *beamlet; /* (nsource) or NULL */
    struct scene_domain *domain; /* (ndomains) */
    struct scene_steps phi, divergence[2], dispersion, layer;
    struct random_stream random; /* as the draws for the crystal left it */
    double ncells_asked[3]; /* before sizes: what nanoBragg's interpolation rule reads */
    int interpolate; /* NB_NEAREST or NB_TRICUBIC */
    int interpolate_auto; /* by rule */
    int oversample_wanted;
    const double *f; /* the box of reflections with default_f filled in; or NULL */
    const float *f_single; /* the same rounded, for kernels in float; or NULL */
    double f_listed; /* the largest of the list, as a modulus */
    int f_min[3], f_size[3]; /* its bounds */
};

/* One sampled dimension: what was given and what came of it. */
struct scene_range {
    double range, step;
    int count;
    int range_given, step_given, count_given;
};

/* ---- validate.c ---- */
/* Every number finite and in its range; every enum known; no pointer missing. */
nb_status scene_validate(nb_context *ctx, const nb_scene *scene);

/* ---- derive.c ---- */
/* Fill the defaults and counts of `scene` in place. The lists of `fixed` are filled by
 * scene_fill() once memory for them exists. */
nb_status scene_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed);

/* Fill the lists of `fixed`, which have their memory; `box` (f) from scene->crystal.hkl. */
void scene_fill(const nb_scene *scene, struct scene_fixed *fixed, double *box);

/* The frame of a resolved scene. sources (nsource) and orientations (nphi x ndomains) are
 * work memory that the frame will point to. */
nb_status scene_derive(nb_context *ctx, const nb_scene *scene,
                       const struct scene_fixed *fixed, struct phys_source *sources,
                       struct phys_orientation *orientations, struct phys_frame *frame);

/* ---- describe.c ---- */
/* What the scene came to; the pixel counts are left to the caller. */
nb_status scene_describe(nb_context *ctx, const nb_scene *scene,
                         const struct scene_fixed *fixed, nb_description *out);

#endif
