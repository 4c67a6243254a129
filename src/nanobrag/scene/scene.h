/*
 * scene.h - turns the scene of the user into a frame, in two steps.
 *
 *   scene_resolve  runs once: fills every default, decides every count, draws every random
 *                  number
 *   scene_derive   runs for each x: computes the frame from the resolved scene, as a pure
 *                  function
 *
 * Both work in double on the host. Each other file of scene/ handles one part of a scene.
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

/* Rotation of a mosaic domain for a spread of 1: axis, a unit vector, and angle, radian. */
struct scene_domain {
    double axis[3], angle;
};

/* Position of a generated source in the grid of sources, in steps from the centre. */
struct scene_beamlet {
    double horizontal, vertical, wavelength;
};

/* The step of a sampled range: ratio x range, or `absolute` if the range is 0. */
struct scene_steps {
    double ratio, absolute;
};

/* The decisions of scene_resolve(), which do not depend on x. */
struct scene_fixed {
    int ngrid; /* number of directions of generated sources; 0: sources are listed */
    int nsource; /* number of sources */
    struct scene_beamlet *beamlet; /* (nsource); NULL for listed sources */
    struct scene_domain *domain; /* (ndomains) */
    struct scene_steps phi, divergence[2], dispersion, layer;
    /* state of the generator after the draws for the crystal */
    struct random_stream random;
    /* N as given, before sizes change it; used by NB_QUIRK_INTERPOLATE */
    double ncells_asked[3];
    /* variance of a continuous divergence (horizontal, vertical) for a full width of 1 */
    double divergence_variance[2];
    int interpolate; /* NB_LOOKUP_NEAREST or NB_LOOKUP_TRICUBIC */
    int interpolate_auto; /* 1: nanobrag chose `interpolate` */
    /* sub-pixels along a pixel's edge that nanobrag would choose, even if the user chose */
    int oversample_wanted;
    const double *f; /* (box) F, or default_f where no F is listed; NULL: no list */
    const float *f_single; /* f rounded to float; NULL unless kernels are in float */
    double f_listed; /* largest |F| of the listed reflections, electron */
    int f_min[3], f_size[3]; /* first index and size of the box along h, k, l */
    /* (ngroup) middles of the groups of panels; NULL without groups */
    struct panel_middle *middle;
};

/* A sampled quantity: the numbers given by the user, which the rules then complete. */
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
/* Fills the defaults and counts of `scene` in place. Its lists of lattices, panels and
 * groups, and fixed->middle, must belong to the simulator, since they are filled in, too.
 * The other lists of `fixed` are filled by scene_fill(), once they have memory. */
nb_status scene_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed);

/* Fills the lists of `fixed`. `box` is filled from scene->crystal.hkl and becomes
 * fixed->f. */
void scene_fill(const nb_scene *scene, struct scene_fixed *fixed, double *box);

/* Computes the frames of a resolved scene: one for each panel, or one if the detector is a
 * rectangle. The frames differ only in the numbers of the detector. All point to `sources`
 * (nsource) and `orientations` (nphi x ndomains), which the caller owns and this call
 * fills. */
nb_status scene_derive(nb_context *ctx, const nb_scene *scene,
                       const struct scene_fixed *fixed, struct phys_source *sources,
                       struct phys_orientation *orientations, struct phys_frame *frames);

/* ---- describe.c ---- */
/* Describes the scene. The caller adds the numbers of pixels, and how images are
 * computed. */
nb_status scene_describe(nb_context *ctx, const nb_scene *scene,
                         const struct scene_fixed *fixed, nb_description *out);

#endif
