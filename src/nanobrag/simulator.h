/*
 * simulator.h - the inside of a simulator, for simulator.c and its public companions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SIMULATOR_H
#define NB_SIMULATOR_H

#include <nanobrag/compile.h>
#include <nanobrag/image.h>
#include <nanobrag/simulator.h>

#include "base/arena.h"
#include "base/progress.h"
#include "compile/plan.h"
#include "compile/policy.h"
#include "gpu/derivatives.h"
#include "gpu/image_batch.h"
#include "gpu/loss_launch.h"
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

/* what compiled mode did for a simulator, and what its signatures have in common */
struct plans {
    struct signature common;
    struct plan last[PLAN_OPERATIONS]; /* of the last call of a kind; hash 0: none */
    nb_compile_stats stats;
    uint64_t fallbacks_before; /* of the context, when the simulator was made */
    char text[4096]; /* of nb_simulator_explain() */
};

/* where images are computed (backend/choose.c), and derivatives (derivatives_launch.c) */
struct device {
    struct gpu_scene scene; /* its gpu is NULL on the host */
    int lost; /* it failed, and the host took over */
    char name[160];
    char why[CONTEXT_MESSAGE / 2];
    char derivatives_why[CONTEXT_MESSAGE / 2]; /* why the host computed derivatives last;
                                           "": it did not */
    uint64_t derivatives_told[8]; /* hashes of the reasons that were told */
    struct arena memory; /* made when a gradient is first asked for */
    struct phys_frame_tangent
        *dot; /* a tangent for each parameter that is no structure factor */
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
    struct plans plans; /* but for this one, which tells what was done */
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
    struct arena tangents_memory; /* made when a tangent is first asked for */
    struct tangents_work tangents;
    struct arena normal_memory; /* and a normal matrix */
    struct normal_work normal;
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

/* The scene at x (NULL: its own values), its lists in sim->at_x. */
nb_status simulator_scene(nb_simulator *sim, const double *x, nb_scene *scene);

/* The frame at x (NULL: the scene's own values) and the scene it came from. */
nb_status simulator_frame(nb_simulator *sim, const double *x, nb_scene *scene,
                          struct phys_frame *frame);

/* Memory for an image in double, sim->photons, from the first call on that needs it. */
nb_status simulator_photons(nb_simulator *sim);

/* The pixels of a frame to compute, on all threads, into `photons` (nslow x nfast). */
struct job simulator_job(const nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame, double *photons);

/* A launch of a job: an image, an adjoint, rows of the Jacobian. */
typedef nb_status simulator_run(nb_simulator *sim, const struct job *job, const void *user);

/*
 * Run a job, in compiled mode by its plan, which the first such call makes. `directions`:
 * of a Jacobian, else 0. `rehearsed`: what to hand to `run` instead of `user` while a plan
 * is tuned, when nothing of the caller's may be written; photons go to memory of the plan's
 * own.
 */
nb_status plans_run(nb_simulator *sim, enum operation operation, int directions,
                    const struct job *job, simulator_run *run, const void *user,
                    const void *dry_run);

/* backend/launch.c: an image, on a device also of a struct gpu_output; an adjoint, of a
 * struct pull; rows, of a struct jacobian_job; on a device alone, images of a struct
 * batch_launch, and a loss of a struct loss_launch (NULL: an image instead). */
struct jacobian_job {
    int n; /* tangents, of those in `work` */
    const struct jacobian_work *work;
    const struct jacobian_reader *reader;
};
struct batch_launch {
    struct gpu_batch *batch; /* its `done` is 0 where the device was lost */
};
struct loss_launch {
    const struct gpu_loss_job *loss;
    double *value;
    int *done; /* becomes 0 where the device was lost */
};
simulator_run launch_image, launch_adjoint, launch_jacobian, launch_batch, launch_loss;

/* and of a struct derivatives_launch: sums of derivatives on the device */
struct derivatives_launch {
    const struct gpu_derivatives_job *rows;
    struct gpu_derivatives_sums *sums;
};
simulator_run launch_sums;

/* backend/choose.c: choose the device of the images, for a first frame and its number of
 * samples; and go on on the host after it failed, with its words in the context's message.
 * Errors: NB_ERR_UNSUPPORTED with NANOBRAG_STRICT=1. */
nb_status device_choose(nb_simulator *sim, const struct phys_frame *frame, double samples);
nb_status device_lost(nb_simulator *sim);

/* Before any call: with NANOBRAG_STRICT=1 none goes on on the host once a device was lost.
 */
nb_status device_check_lost(nb_simulator *sim);

/* nb_forward() into an image on the device; NB_OK when that image is one it can write, and
 * as the backend knows it. */
nb_status device_forward(nb_simulator *sim, const double *x, nb_array *image);
nb_status device_check(const nb_simulator *sim, const nb_array *image);
struct gpu_output device_output(const nb_array *array);

/* nb_loss() of a target: its value alone, by the device. *done becomes 0 where the host is
 * to compute it, as it does without a device, behind a point spread, or once that failed.
 */
nb_status device_loss(nb_simulator *sim, const nb_scene *scene,
                      const struct phys_frame *frame, const nb_target *target,
                      double *value, int *done);

/*
 * derivatives_launch.c: derivatives on the device of the images. Each leaves *done 0 where
 * the host is to compute instead, having said why; errors are then those of memory, or
 * NB_ERR_UNSUPPORTED with NANOBRAG_STRICT=1. `pulls` is what pulls on the photons, without
 * tangents; *value comes of it, and nothing is added where that is not a number.
 *
 *   device_gradient   bar_x += the gradient
 *   device_normal     what `out` asks for is added to
 *   device_changes    images of what the photons change by along n tangents
 */
nb_status device_gradient(nb_simulator *sim, const nb_scene *scene,
                          const struct phys_frame *frame,
                          const struct gpu_derivatives_job *pulls, double *value,
                          double *bar_x, int *done);
nb_status device_normal(nb_simulator *sim, const nb_scene *scene,
                        const struct phys_frame *frame,
                        const struct gpu_derivatives_job *pulls, double *value,
                        const nb_normal *out, int *done);
nb_status device_changes(nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame, int n,
                         const struct tangents_work *along, nb_array *image, int *done);

/* NB_OK when `array` (NULL: there is none) may be read: on the host, or dense on the device
 * that computes, `derives`: derivatives too. And once the host is to compute: when it lies
 * where the host reads. */
nb_status device_check_input(nb_simulator *sim, const nb_array *array, const char *name,
                             int derives);
nb_status device_check_host(const nb_simulator *sim, const nb_array *array,
                            const char *name);

/* An image as kernels read it, NULL: none; and what a loss compares with. */
struct gpu_input device_input(const nb_array *array);
struct gpu_loss_job device_target(const nb_target *target);

/* Why derivatives are computed on the host; NULL: they are not. */
const char *device_derivatives_why(const nb_simulator *sim);

/* NB_OK for an array that lies on the device where the simulator's images are made. */
nb_status device_check_place(const nb_simulator *sim, const nb_array *array,
                             const char *name);

/* backend/device_counts.c: nb_digitize() with arrays on the device; and with arrays of the
 * host, where sending them there is worth it. done: 0 where the host is to draw after all.
 */
nb_status device_digitize(nb_simulator *sim, const nb_digitizer *how, const nb_array *image,
                          const nb_array *counts);
nb_status device_draw(nb_simulator *sim, const nb_digitizer *how, const nb_array *image,
                      const nb_array *counts, int *done);

/* What signatures of this simulator have in common; once it is made. */
void plans_start(nb_simulator *sim);

/* Look up, or make, the plan of nb_digitize(). */
nb_status plans_digitize(nb_simulator *sim, int donated);

/* nb_forward() as a part of another call, which reports its progress. */
nb_status simulator_forward(nb_simulator *sim, const double *x, nb_array *image);

/* All of nb_forward() but its image's type: photons, dense. */
nb_status simulator_render(nb_simulator *sim, const nb_scene *scene,
                           const struct phys_frame *frame, double *photons);

/* NB_OK when the simulator has free parameters and a derivative. */
nb_status simulator_derivable(const nb_simulator *sim);

/* What the frame changes by along dx, the change of n parameters from `first` on; `axes`
 * are the scene's, by crystal_derive(). The lists of `out` are the caller's, its box of
 * structure factors may be NULL. */
void simulator_tangent(nb_simulator *sim, const nb_scene *scene,
                       const struct crystal_axes *axes, const struct phys_frame *frame,
                       size_t first, size_t n, const double *dx,
                       struct phys_frame_tangent *out);

/* 1 when a free parameter changes the width of the point spread, in pixels. */
int simulator_widens(const nb_simulator *sim);

/* The photons before the point spread to sim->unspread; nothing where its width, which they
 * pull on, is not free. */
nb_status simulator_unspread(nb_simulator *sim, const nb_scene *scene,
                             const struct phys_frame *frame);

/* Of a Jacobian along so many tangents; and its places, each to its structure factor. */
struct jacobian_sizes simulator_jacobian_sizes(const nb_simulator *sim, size_t tangents);
void simulator_own_places(const nb_simulator *sim, const struct jacobian_work *work);

/* Run a job along the first n tangents of `work`. */
nb_status simulator_jacobian(nb_simulator *sim, const struct job *job, int n,
                             const struct jacobian_work *work,
                             const struct jacobian_reader *reader);

/* What the image changes by along n directions dx (n x nparam) of the parameters. With a
 * point spread: after simulator_unspread(), into dense images of float64. */
nb_status simulator_changes(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame, int n, const double *dx,
                            nb_array *change);

/* Pull on the photons: the frame's cotangent ends in sim->adjoint.bar[0]. */
nb_status simulator_adjoint(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame,
                            const struct objective *objective);

/* bar_x += what the frame's cotangent says about each parameter: its inner product with
 * the tangent along that parameter alone. */
nb_status simulator_gather(nb_simulator *sim, const nb_scene *scene,
                           const struct phys_frame *frame,
                           const struct phys_frame_tangent *bar, double *bar_x);

/* bar_x += J^T bar_image, after simulator_unspread(). */
nb_status simulator_vjp(nb_simulator *sim, const nb_scene *scene,
                        const struct phys_frame *frame, const nb_array *bar_image,
                        double *bar_x);

#endif
