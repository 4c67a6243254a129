/*
 * simulator.h - the inside of a simulator, and the stages of a call (simulator.c) that
 * others run parts of.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SIMULATOR_H
#define NB_SIMULATOR_H

#include <nanobrag/simulator.h>

#include "base/arena.h"
#include "base/progress.h"
#include "compile/call.h"
#include "compile/policy.h"
#include "gpu/gpu.h"
#include "grad/grad.h"
#include "image/psf.h"
#include "image/window.h"
#include "kernels/derivatives/adjoint.h"
#include "kernels/derivatives/normal.h"
#include "kernels/spots/spots.h"
#include "scene/crystal.h"
#include "scene/reflections/hkl_table.h"
#include "scene/scene.h"

/* directions of nb_jvp() that share a pass over the samples */
enum { TANGENTS_AT_ONCE = 16 };

struct tangents_work {
    struct jacobian_work jacobian;
    double *f_dot; /* (directions x free structure factors) */
};

/* dL/dx of an objective L: of the parameters that are no structure factor, in their order,
 * and of the places of the box of structure factors */
struct gradient {
    double *dense; /* (nb_ndense()) */
    double *f; /* (box), the adjoint's; NULL: nobody asks */
};

/* where images are computed, and derivatives (backend/choose.c, backend/run.c) */
struct device {
    struct gpu_scene scene; /* its gpu is NULL on the host */
    int lost; /* it failed, and the host took over */
    char name[160];
    char why[CONTEXT_MESSAGE / 2];
    char derivatives_why[CONTEXT_MESSAGE / 2]; /* why the host computed derivatives last;
                                                  "": it did not */
    uint64_t reported[8]; /* hashes of the reasons that were reported */
    struct arena memory; /* made when a gradient is first asked for */
    struct jacobian_work tangents; /* of the frame, along each dense parameter */
    struct arena sums_memory; /* and a normal matrix */
    struct normal_sums sums;
    struct arena images_memory; /* and images of tangents in another type than double */
};

struct nb_simulator {
    nb_context *ctx;
    struct arena arena;
    /* decided by nb_simulator_create() and never written again */
    nb_scene scene; /* resolved; its pointers are ours */
    struct nb_hkl hkl; /* the reflections, over `listed` or else `box` */
    struct scene_fixed fixed;
    struct phys_spec spec;
    struct policy policy;
    struct plans plans; /* but for this one, which counts what was done */
    struct window window;
    struct params params; /* the free ones */
    size_t nunlisted; /* reflections of the box that hold default_f; 0 unless it is free */
    size_t *unlisted;
    struct progress progress; /* of the call at hand */
    /* work memory: carries nothing from one call to the next */
    double *box;
    float *box_single; /* the same for kernels in float, else NULL */
    struct phys_source *sources;
    struct phys_orientation *orientations;
    struct phys_source *source_change; /* these only where parameters are free */
    struct phys_rotation *rotation;
    struct adjoint_work adjoint;
    struct gradient gradient;
    struct arena tangents_memory; /* made when a tangent is first asked for */
    struct tangents_work tangents;
    struct arena normal_memory; /* and a normal matrix */
    struct normal_work normal;
    struct arena spread_memory; /* and a normal matrix behind a point spread */
    struct normal_psf_work *spread;
    double *unspread; /* photons before the point spread; only with one */
    struct params_lists at_x, change; /* lists of the scene at x, and of its change */
    struct params_lists resolved; /* what nb_resolved() handed out last */
    double *listed; /* the box that goes with it, NaN where nothing is listed */
    struct spots_work spots;
    struct arena photons_memory;
    struct device device;
    double *photons; /* NULL until simulator_photons() */
    double *rows_of_image; /* one number per image row */
    struct psf *psf;
};

/* ---- forward ---- */

/* The scene at x (NULL: its own values), its lists in sim->at_x. */
nb_status simulator_scene(nb_simulator *sim, const double *x, nb_scene *scene);

/* The frame at x (NULL: the scene's own values) and the scene it came from. */
nb_status simulator_frame(nb_simulator *sim, const double *x, nb_scene *scene,
                          struct phys_frame *frame);

/* The pixels of a frame to compute, on all threads, into `photons` (nslow x nfast). */
struct job simulator_job(const nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame, double *photons);

/* Memory for an image in double, sim->photons, from the first call on that needs it. */
nb_status simulator_photons(nb_simulator *sim);

/* All of nb_forward() but its image's type: photons, dense. */
nb_status simulator_render(nb_simulator *sim, const nb_scene *scene,
                           const struct phys_frame *frame, double *photons);

/* nb_forward() as a part of another call, which reports its progress. */
nb_status simulator_forward(nb_simulator *sim, const double *x, nb_array *image);

/* ---- tangents ---- */

/* NB_OK when the simulator has free parameters and a derivative. */
nb_status simulator_derivable(const nb_simulator *sim);

/* What the frame changes by along dx, the change of n parameters from `first` on; `axes`
 * are the scene's, by crystal_derive(). The lists of `out` are the caller's, its box of
 * structure factors may be NULL. */
void simulator_tangent(nb_simulator *sim, const nb_scene *scene,
                       const struct crystal_axes *axes, const struct phys_frame *frame,
                       size_t first, size_t n, const double *dx,
                       struct phys_frame_tangent *out);

/* The same along each parameter that is no structure factor: nb_ndense() of them. */
nb_status simulator_parameter_tangents(nb_simulator *sim, const nb_scene *scene,
                                       const struct phys_frame *frame,
                                       struct phys_frame_tangent *out);

/* 1 when a free parameter changes the width of the point spread, in pixels. */
int simulator_widens(const nb_simulator *sim);

/* The photons before the point spread to sim->unspread; nothing where its width, whose
 * derivative needs them, is not free. */
nb_status simulator_unspread(nb_simulator *sim, const nb_scene *scene,
                             const struct phys_frame *frame);

/* Of a Jacobian along so many tangents; and its places, each to its structure factor. */
struct jacobian_sizes simulator_jacobian_sizes(const nb_simulator *sim, size_t tangents);
void simulator_own_places(const nb_simulator *sim, const struct jacobian_work *work);

/* What the image changes by along n directions dx (n x nparam) of the parameters. With a
 * point spread: after simulator_unspread(), into dense images of float64. */
nb_status simulator_changes(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame, int n, const double *dx,
                            nb_array *change);

/* ---- the adjoint ---- */

/* What default_f moves in a tangent: its inner product with the cotangents of the box. */
double simulator_default_f(const nb_simulator *sim, const struct phys_frame_tangent *dot,
                           const double *f);

/* The cotangent of a frame to sim->gradient: its inner product with the tangent along each
 * parameter. */
nb_status simulator_frame_adjoint(nb_simulator *sim, const nb_scene *scene,
                                  const struct phys_frame *frame,
                                  const struct phys_frame_tangent *bar);

/* bar_x += sim->gradient, in the order of x. */
void simulator_add_gradient(const nb_simulator *sim, double *bar_x);

/* bar_x += J^T bar_image, after simulator_unspread(). */
nb_status simulator_vjp(nb_simulator *sim, const nb_scene *scene,
                        const struct phys_frame *frame, const nb_array *bar_image,
                        double *bar_x);

#endif
