/*
 * scene.h - turns the scene of the user into a frame, in two steps.
 *
 *   scene_resolve  runs once: fills every default, decides every count, draws every random
 *                  number
 *   scene_derive   runs for each x: computes the frame from the resolved scene, as a pure
 *                  function
 *
 * Both work in double on the host. Each file of scene/ does this for one part of the scene.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_SCENE_H
#define NB_SCENE_SCENE_H

#include <nanobrag/description.h>
#include <nanobrag/scene.h>
#include <nanobrag/simulator.h>

#include "physics/frame.h"
#include "physics/spec.h"
#include "scene/detector/panels.h"
#include "scene/random.h"

/* Rotation of a mosaic domain for a spread of 1: unit vector and angle. */
struct scene_domain {
    double axis[3], angle;
};

/* Position of a generated source in the grid of sources, in steps. */
struct scene_beamlet {
    double horizontal, vertical, wavelength;
};

/* How a sampled range follows from the resolved scene: step = ratio x range, or the
 * absolute step where the range is 0. */
struct scene_steps {
    double ratio, absolute;
};

/* Decisions of scene_resolve() that x never changes. */
struct scene_fixed {
    int ngrid; /* directions of generated sources; 0: sources are listed */
    int nsource; /* number of sources */
    struct scene_beamlet *beamlet; /* (nsource); NULL for listed sources */
    struct scene_domain *domain; /* (ndomains) */
    struct scene_steps phi, divergence[2], dispersion, layer;
    struct random_stream random; /* its state after the draws for the crystal */
    double ncells_asked[3]; /* N as given, before the sizes decide; for nanoBragg's rule of
                               interpolation */
    /* variance of each direction of a continuous divergence, for a full width of 1 */
    double divergence_variance[2];
    int interpolate; /* NB_LOOKUP_NEAREST or NB_LOOKUP_TRICUBIC */
    int interpolate_auto; /* 1: chosen by rule */
    int oversample_wanted; /* sub-pixels by rule, also if another number is given */
    const double *f; /* F of the box of reflections, default_f if unlisted; or NULL */
    const float *f_single; /* f rounded to float; NULL without kernels in float */
    double f_listed; /* largest |F| of the listed reflections, electron */
    int f_min[3], f_size[3]; /* first index and size of the box along h, k, l */
    struct panel_middle *middle; /* of the groups of panels (ngroup); NULL without any */
};

/* One sampled dimension: the numbers given by the user, which the rules then complete. */
struct scene_range {
    double range, step;
    int count;
    int range_given, step_given, count_given;
};

/* ---- validate.c ---- */
/* Checks that every number is finite and in its range, every enum known, and no pointer
 * missing. */
nb_status scene_validate(nb_context *ctx, const nb_scene *scene);

/* ---- derive.c ---- */
/* Fills the defaults and counts of `scene` in place; its lists of lattices, panels and
 * groups and fixed->middle belong to the simulator and are filled in too. scene_fill()
 * fills the other lists of `fixed` once they have memory. */
nb_status scene_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed);

/* Fills the lists of `fixed`, and `box`, which becomes fixed->f,
 * from scene->crystal.hkl. */
void scene_fill(const nb_scene *scene, struct scene_fixed *fixed, double *box);

/* Computes the frames of a resolved scene: one for each panel, or a single one. They differ
 * only in the numbers of the detector. They will point to sources (nsource) and
 * orientations (nphi x ndomains), which the caller owns. */
nb_status scene_derive(nb_context *ctx, const nb_scene *scene,
                       const struct scene_fixed *fixed, struct phys_source *sources,
                       struct phys_orientation *orientations, struct phys_frame *frames);

/* ---- describe.c ---- */
/* Describes the scene; the caller adds the pixel counts and how it is computed. */
nb_status scene_describe(nb_context *ctx, const nb_scene *scene,
                         const struct scene_fixed *fixed, nb_description *out);

#endif
