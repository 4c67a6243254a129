/*
 * state.h - the members of an nb_simulator, and the stages from x to the frame. A simulator
 * is made once by api/create.c; after that a call writes only its work memory, its device
 * and its counters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_STATE_STATE_H
#define NB_STATE_STATE_H

#include <nanobrag/simulator.h>

#include "base/arena.h"
#include "base/progress.h"
#include "base/window.h"
#include "compile/call.h"
#include "compile/policy.h"
#include "gpu/gpu.h"
#include "gpu/launch/image_batch.h"
#include "grad/grad.h"
#include "image/psf.h"
#include "kernels/continuous/continuous.h"
#include "kernels/derivatives/adjoint.h"
#include "kernels/derivatives/normal.h"
#include "kernels/planes/planes.h"
#include "kernels/spots/spots.h"
#include "scene/crystal.h"
#include "scene/lattices/lattices.h"
#include "scene/reflections/hkl_table.h"
#include "scene/scene.h"

/* The directions of nb_jvp() that share one pass over the samples. */
enum { TANGENTS_AT_ONCE = 16 };

struct tangents_work {
    struct jacobian_work jacobian;
    double *f_dot; /* (directions x free structure factors) */
};

/* dL/dx of an objective L, in two parts: the parameters that are not structure factors, in
 * their order in x, and the structure factors by their places in the box. */
struct gradient {
    double *dense; /* (nb_simulator_ndense()) */
    double *f; /* (box), of the adjoint; NULL: not asked for */
};

/* The device on which images and derivatives are computed (backend/choose.c,
 * backend/request.c). */
struct device {
    struct gpu_scene scene; /* its gpu is NULL on the host */
    int lost; /* 1: it failed, and the host took over */
    char name[160];
    char why[CONTEXT_MESSAGE / 2];
    /* why the host computed the last derivatives; "" if the device computed them */
    char derivatives_why[CONTEXT_MESSAGE / 2];
    uint64_t reported[8]; /* hashes of the reasons that were reported */
    struct arena memory; /* of the tangents, made with the first gradient */
    struct jacobian_work tangents; /* of the frame, along each dense parameter */
    struct arena sums_memory; /* made with the first normal matrix */
    struct normal_sums sums;
    struct gpu_workspace images; /* of tangents whose arrays are not in double */
    struct gpu_batch batch; /* of nb_forward_batch() */
};

struct nb_simulator {
    nb_context *ctx;
    struct arena arena;
    struct arena panels_memory; /* of the lists of panels and groups */
    struct arena lattices_memory; /* of the list of further lattices */
    /* These are set by nb_simulator_create() and never written again, except `plans`. */
    nb_scene scene; /* resolved; its pointers are the simulator's */
    struct nb_hkl hkl; /* the reflections, over `listed` or else `box` */
    struct scene_fixed fixed;
    struct phys_spec spec;
    struct policy policy;
    struct plans plans; /* of compiled mode, with counters of its calls */
    struct window window; /* of images */
    struct window lit; /* rendered pixels plus the margin that a point spread needs; empty
                          without one */
    struct params params; /* the free ones */
    /* the places of the box that hold default_f, if default_f is free; else none */
    size_t nunlisted;
    size_t *unlisted;
    struct progress progress; /* of the call at hand */
    /* This is work memory: it carries nothing from one call to the next. */
    double *box;
    float *box_single; /* the same for kernels in float, or NULL */
    struct phys_frame *frames; /* one for each panel, lattice by lattice */
    struct phys_source *sources;
    struct phys_orientation *orientations; /* lattice by lattice */
    /* the lists of a tangent of the frame; NULL where no parameter is free */
    struct phys_source *source_change;
    struct phys_rotation *rotation;
    struct adjoint_work adjoint;
    struct gradient gradient;
    struct arena tangents_memory; /* made with the first tangent */
    struct tangents_work tangents;
    struct arena normal_memory; /* made with the first normal matrix */
    struct normal_work normal;
    double *unspread; /* photons before the point spread, if there is one */
    struct params_lists at_x, change; /* lists of the scene at x, and of its tangent */
    struct params_lists resolved; /* lists of the last result of nb_simulator_resolved() */
    double *listed; /* the box of `resolved`; NaN where nothing is listed */
    struct spots_work *spots; /* one for each lattice */
    struct continuous_work *continuous; /* one for each lattice */
    struct arena photons_memory, packed_memory, other_memory;
    struct arena planes_memory; /* made with the first loss with planes */
    struct planes planes;
    struct arena plane_columns_memory; /* made with their first normal matrix */
    struct device device;
    double *photons; /* NULL until simulator_photons() */
    double *packed; /* NULL until simulator_packed() */
    double *other; /* (nother) the image of a further lattice, from simulator_other() */
    size_t nother;
    unsigned char *dark; /* (tiles) 1 for each tile of `packed` that is 0 */
    double *rows_of_image; /* one number per image row */
    struct psf *psf;
};

/* ---- state/frame_at_x.c ---- */

/* Write the scene at x, whose lists are in sim->at_x. If x is NULL, the scene keeps its own
 * values. */
nb_status simulator_scene(nb_simulator *sim, const double *x, nb_scene *scene);

/* Write the scene at x, as simulator_scene() does, and point *frames to the frames derived
 * from it, one for each panel of the detector, lattice by lattice, which the simulator
 * keeps until the next call. */
nb_status simulator_frame(nb_simulator *sim, const double *x, nb_scene *scene,
                          const struct phys_frame **frames);

/* A lattice of the scene at x: its own scene, axes and frames. */
struct lattice_at {
    int number; /* 0: the crystal's own */
    const nb_scene *all; /* the scene with all lattices */
    nb_scene scene;
    struct crystal_axes axes;
    const struct phys_frame *frame; /* one for each panel */
};

/* Returns lattice `number` of a scene and its frames. Errors: NB_ERR_UNIT_CELL. */
nb_status simulator_lattice(const nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frames, int number,
                            struct lattice_at *out);

/* Write the tangent of a lattice's frame along dx, a change of the n parameters from
 * `first` on. The lists of `out` belong to the caller; its box of structure factors may be
 * NULL. With several panels, the numbers that differ among panels are 0. */
void simulator_tangent(nb_simulator *sim, const struct lattice_at *at, size_t first,
                       size_t n, const double *dx, struct phys_frame_tangent *out);

/* Write the nb_simulator_ndense() tangents of a lattice's frame, one along each parameter
 * that is not a structure factor, and the tangents of its panels. */
void simulator_parameter_tangents(nb_simulator *sim, const struct lattice_at *at,
                                  struct phys_frame_tangent *out);
void simulator_parameters_on_panels(nb_simulator *sim, const nb_scene *scene,
                                    const struct jacobian_work *work);

/* Write the tangents of the panels along n directions dx of all parameters. */
void simulator_directions_on_panels(nb_simulator *sim, const nb_scene *scene, int n,
                                    const double *dx, const struct jacobian_work *work);

/* Returns the inner product of the part of a tangent that is due to default_f with f, the
 * cotangents of the box. */
double simulator_default_f(const nb_simulator *sim, const struct phys_frame_tangent *dot,
                           const double *f);

/* Set *fixed to the parts that no free parameter changes at this x (enum phys_fixed). */
void simulator_fixed(nb_simulator *sim, const struct lattice_at *at, int *fixed);

/* Add to sim->gradient, for each parameter that is not a structure factor, the inner
 * product of `bar`, the cotangent of a lattice's frame, with the frame's tangent along the
 * parameter. For lattice 0 the gradient is first set to 0. `panels` are the cotangents of
 * the numbers of each panel; NULL where the detector is one rectangle. */
void simulator_frame_adjoint(nb_simulator *sim, const struct lattice_at *at,
                             const struct phys_frame_tangent *bar,
                             double (*panels)[PHYS_PANEL_NUMBERS]);

/* ---- state/state.c ---- */

/* Returns the job of rendering a frame into `photons` (nslow x nfast) with all threads. */
struct job simulator_job(const nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame, double *photons);

/* Allocate sim->photons, an image in double, on the first call that needs it: the image
 * before a point spread, or the image of a device. */
nb_status simulator_photons(nb_simulator *sim);

/* Let a job write sim->packed, the photons of the window's tiles alone, which is allocated
 * on the first call that needs it. */
nb_status simulator_packed(nb_simulator *sim, struct job *job);

/* Returns the number of photons of a job, dense or packed. */
size_t simulator_layout(const nb_simulator *sim, const struct job *job);

/* Let the job of a further lattice write sim->other, in the job's own layout. */
nb_status simulator_other(nb_simulator *sim, struct job *job);

/* simulator_planes() allocates sim->planes on the first call that needs it;
 * simulator_plane_columns() allocates their columns, for a normal matrix of `chunks`
 * chunks. */
nb_status simulator_planes(nb_simulator *sim);
nb_status simulator_plane_columns(nb_simulator *sim, int chunks);

/* Returns the sizes of a Jacobian along `tangents` tangents: the parameters or, if `any` is
 * 1, any directions. simulator_assign_places() assigns each place of the box in its
 * workspace to the structure factor that it belongs to. */
struct jacobian_sizes simulator_jacobian_sizes(const nb_simulator *sim, size_t tangents,
                                               int any);
void simulator_assign_places(const nb_simulator *sim, const struct jacobian_work *work);

/* ---- state/scene_signature.c ---- */

/* Set the members that the signatures of all calls of the simulator share. It has to be
 * called again after the strategy or the device has changed. */
void simulator_sign(nb_simulator *sim);

#endif
