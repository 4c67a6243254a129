/*
 * state.h - the members of an nb_simulator, and the stages from x to the frame.
 * api/create.c makes a simulator. Later calls write only its work memory, its device and
 * its counters.
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

/* The largest number of directions of nb_jvp() that share one pass over the samples. */
enum { TANGENTS_AT_ONCE = 16 };

struct tangents_work {
    struct jacobian_work jacobian;
    /* (TANGENTS_AT_ONCE x free structure factors) changes of F along each direction */
    double *f_dot;
};

/* dL/dx of an objective L in two parts: parameters that are not structure factors, and
 * structure factors. */
struct gradient {
    double *dense; /* (nb_simulator_ndense()) in the order of x */
    /* (box) at the place of each F; NULL if neither an F nor default_f is free */
    double *f;
};

/* The CUDA device that computes images and derivatives, if there is one (backend/choose.c,
 * backend/request.c). */
struct device {
    struct gpu_scene scene; /* scene.gpu is NULL if the host computes */
    int lost; /* 1: the device failed, and the host took over */
    char name[160];
    char why[CONTEXT_MESSAGE / 2];
    /* why the host computed the last derivatives; "" if the device computed them */
    char derivatives_why[CONTEXT_MESSAGE / 2];
    /* hashes of the reasons that were logged, so that each is logged once */
    uint64_t reported[8];
    struct arena memory; /* holds `tangents`, made by the first gradient */
    /* tangents of the frame along each parameter but structure factors */
    struct jacobian_work tangents;
    struct arena sums_memory; /* holds `sums`, made by the first normal matrix */
    struct normal_sums sums;
    /* tangents for images that are not dense float64, before conversion */
    struct gpu_workspace images;
    struct gpu_batch batch; /* images of nb_forward_batch() that are computed together */
};

struct nb_simulator {
    nb_context *ctx;
    struct arena arena;
    struct arena panels_memory; /* holds the panels and groups of the scene */
    struct arena lattices_memory; /* holds the further lattices of the scene */
    /* The next members, but for `plans`, `policy` and `progress`, are set by
     * nb_simulator_create() and then keep their values. */
    nb_scene scene; /* resolved; its lists belong to the simulator */
    /* reflections of the scene; their box is `listed`, or `box` if no parameter is free */
    struct nb_hkl hkl;
    struct scene_fixed fixed;
    struct phys_spec spec;
    struct policy policy;
    struct plans plans; /* plans of compiled mode, and counters of its calls */
    struct window window; /* the pixels of images that are rendered */
    /* with a point spread, all pixels whose light is computed: `window`, its masked pixels,
     * and a margin from which light spreads into `window`; else empty */
    struct window lit;
    struct params params; /* the free parameters */
    /* places of the box that hold default_f, if default_f is free; else none */
    size_t nunlisted;
    size_t *unlisted;
    struct progress progress; /* progress of the current call */
    /* Below is work memory, apart from `device` and `psf`: a call needs nothing that an
     * earlier call left in it. `box` holds F for the box of Miller indices. */
    double *box;
    float *box_single; /* `box` in float, for kernels in float; else NULL */
    struct phys_frame *frames; /* (lattices x panels) */
    struct phys_source *sources;
    struct phys_orientation *orientations; /* (lattices x phi steps x domains) */
    /* lists for one tangent of the frame; NULL if no parameter is free */
    struct phys_source *source_change;
    struct phys_rotation *rotation;
    struct adjoint_work adjoint;
    struct gradient gradient;
    /* holds `tangents`, made by the first call that needs them */
    struct arena tangents_memory;
    struct tangents_work tangents;
    struct arena normal_memory; /* holds `normal`, made by the first normal matrix */
    struct normal_work normal;
    double *unspread; /* (nslow x nfast) photons before the point spread, or NULL */
    /* lists of the scene at x, and of the scene's tangent */
    struct params_lists at_x, change;
    struct params_lists resolved; /* lists of the last scene from nb_simulator_resolved() */
    double *listed; /* (box) F of listed reflections, else NaN; read through `hkl` */
    struct spots_work *spots; /* (lattices) */
    struct continuous_work *continuous; /* (lattices) */
    struct arena photons_memory, packed_memory, other_memory;
    /* holds `planes`, made by the first loss with planes of background */
    struct arena planes_memory;
    struct planes planes;
    /* holds planes.columns, made by the first normal matrix with planes */
    struct arena plane_columns_memory;
    struct device device;
    double *photons; /* (nslow x nfast) NULL before the first simulator_photons() */
    double *packed; /* (tiles of the window) NULL before the first simulator_packed() */
    double *other; /* (nother) the image of one further lattice, from simulator_other() */
    size_t nother;
    unsigned char *dark; /* (tiles) 1 for each tile whose photons in `packed` are all 0 */
    double *rows_of_image; /* (nslow) a sum for each row of an image */
    struct psf *psf;
};

/* ---- state/frame_at_x.c ---- */

/* Write the scene at x; its changed lists are in sim->at_x. If x is NULL, write
 * sim->scene. */
nb_status simulator_scene(nb_simulator *sim, const double *x, nb_scene *scene);

/* Write the scene at x as simulator_scene() does, and derive its frames. *frames points to
 * them: a frame for each panel of lattice 0, then of lattice 1, and so on. The simulator
 * keeps them until the next call. */
nb_status simulator_frame(nb_simulator *sim, const double *x, nb_scene *scene,
                          const struct phys_frame **frames);

/* A lattice of the scene at x, with axes and frames. */
struct lattice_at {
    int number; /* 0: the crystal's own lattice; else a further one */
    const nb_scene *all; /* the scene with all lattices */
    nb_scene scene;
    struct crystal_axes axes;
    const struct phys_frame *frame; /* (panels) */
};

/* Write lattice `number` of a scene and its frames, which are among `frames`. Errors:
 * NB_ERR_UNIT_CELL. */
nb_status simulator_lattice(const nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frames, int number,
                            struct lattice_at *out);

/* Write the tangent of a lattice's frame along dx, a change of the n parameters from
 * number `first` on. The lists of `out` belong to the caller; out->f may be NULL. With
 * several panels, the first PHYS_PANEL_NUMBERS numbers of `out`, which differ among
 * panels, are 0. */
void simulator_tangent(nb_simulator *sim, const struct lattice_at *at, size_t first,
                       size_t n, const double *dx, struct phys_frame_tangent *out);

/* simulator_parameter_tangents() writes the tangents of a lattice's frame along each of
 * the nb_simulator_ndense() parameters that are not structure factors.
 * simulator_parameters_on_panels() writes the tangents of each panel's numbers along
 * them. */
void simulator_parameter_tangents(nb_simulator *sim, const struct lattice_at *at,
                                  struct phys_frame_tangent *out);
void simulator_parameters_on_panels(nb_simulator *sim, const nb_scene *scene,
                                    const struct jacobian_work *work);

/* Write the tangents of each panel's numbers along n directions dx (n x nparam). */
void simulator_directions_on_panels(nb_simulator *sim, const nb_scene *scene, int n,
                                    const double *dx, const struct jacobian_work *work);

/* Returns the part of a derivative that is due to default_f. Along `dot` every F that is
 * not listed changes by dot->default_f; the result is the inner product of these changes
 * with f (box), the cotangents of F. */
double simulator_default_f(const nb_simulator *sim, const struct phys_frame_tangent *dot,
                           const double *f);

/* Set *fixed to the parts of the frame (enum phys_fixed) that no free parameter changes at
 * this x. */
void simulator_fixed(nb_simulator *sim, const struct lattice_at *at, int *fixed);

/* Add dL/dx to sim->gradient. The term of each parameter that is not a structure factor is
 * the inner product of `bar`, the cotangent of a lattice's frame, with the frame's tangent
 * along the parameter. For lattice 0 the gradient is first set to 0. `panels` (panels) has
 * the cotangents of each panel's numbers; NULL if the detector is one rectangle. */
void simulator_frame_adjoint(nb_simulator *sim, const struct lattice_at *at,
                             const struct phys_frame_tangent *bar,
                             double (*panels)[PHYS_PANEL_NUMBERS]);

/* ---- state/state.c ---- */

/* Returns the job that renders a frame into `photons` (nslow x nfast) with all threads. */
struct job simulator_job(const nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame, double *photons);

/* Allocate sim->photons, a dense float64 image, on the first call that needs it. */
nb_status simulator_photons(nb_simulator *sim);

/* Let a job write its photons to sim->packed, which has numbers only for the window's tiles
 * (base/window.h) and is allocated on the first call. */
nb_status simulator_packed(nb_simulator *sim, struct job *job);

/* Returns the length of a job's photons: pixels of the image or, if packed, of the
 * tiles. */
size_t simulator_layout(const nb_simulator *sim, const struct job *job);

/* Let the job of a further lattice write to sim->other, in the layout, dense or packed,
 * that the job has. */
nb_status simulator_other(nb_simulator *sim, struct job *job);

/* simulator_planes() allocates sim->planes on the first call. simulator_plane_columns()
 * allocates the columns of the planes, for a normal matrix that is summed in `chunks`
 * chunks. */
nb_status simulator_planes(nb_simulator *sim);
nb_status simulator_plane_columns(nb_simulator *sim, int chunks);

/* simulator_jacobian_sizes() returns the sizes of a Jacobian along `tangents` tangents. The
 * tangents lie along the dense parameters or, if `any` is 1, along any directions.
 * simulator_assign_places() sets work->owner: for each place of the box, the number of the
 * structure factor that it holds. */
struct jacobian_sizes simulator_jacobian_sizes(const nb_simulator *sim, size_t tangents,
                                               int any);
void simulator_assign_places(const nb_simulator *sim, const struct jacobian_work *work);

/* ---- state/scene_signature.c ---- */

/* Set the members of the signature that all calls of the simulator share. Call it again
 * after the strategy or the device has changed. */
void simulator_sign(nb_simulator *sim);

#endif
