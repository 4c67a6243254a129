/*
 * backend.h - who computes: the host or a device, two tables of the same operations. A call
 * fills in a request and hands it to backend_run(), which alone decides whether the host
 * takes over from a device.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BACKEND_BACKEND_H
#define NB_BACKEND_BACKEND_H

#include <nanobrag/image.h>

#include "compile/call.h"
#include "gpu/image_batch.h"
#include "gpu/loss_launch.h"
#include "simulator.h"

enum backend_operation {
    BACKEND_FORWARD, /* photons of a frame */
    BACKEND_BATCH, /* of several frames, which a device computes together */
    BACKEND_ADJOINT, /* the gradient of an objective */
    BACKEND_JACOBIAN, /* changes of the photons along tangents of the frame */
    BACKEND_LOSS, /* the value of an objective alone */
    BACKEND_NORMAL, /* J^T W J of an objective, with its value and gradient */
    BACKEND_COUNT, /* photons to counts */
    BACKEND_OPERATIONS
};

/* A function of the photons. One of: the product with a cotangent image; the loss against a
 * target; least squares of residuals (NULL: none) with weights (NULL: 1). */
struct objective_terms {
    const nb_array *cotangent;
    const nb_target *target;
    const nb_array *weight, *residual; /* where the other two are NULL */
};

/* What is asked for. An operation reads the members under its name, and those above. */
struct request {
    enum backend_operation operation;
    nb_simulator *sim;
    const nb_scene *scene;
    const struct phys_frame *frame;

    /* forward: dense photons of the host, or an image on the device (NULL: none) */
    double *photons;
    const nb_array *output;

    /* batch: as gathered; its `done` stays 0 where the images are to be made one by one */
    struct gpu_batch *batch;

    /* adjoint, loss, normal. The adjoint ends in sim->gradient, a normal matrix in *sums.
     */
    struct objective_terms objective;
    int coupling; /* 1: somebody asks for that block of a normal matrix */
    double value; /* of the objective, once it is computed */
    const struct normal_sums *sums;

    /* jacobian: along the first n of sim->tangents, into as many images of the host */
    int n;
    nb_array *change;

    /* count: both arrays on the host or both on the device; `donated`: in one memory */
    const nb_digitizer *how;
    const nb_array *image;
    nb_array *counts;
    int donated;

    /* set while it runs */
    int started; /* 1: its plan was found, and the backend is at work */
    const char *refused; /* why a device can not, where only its operation could see that */
};

/* A request for an operation on a frame of a scene; the rest of it is the caller's to set.
 */
struct request backend_request(enum backend_operation operation, nb_simulator *sim,
                               const nb_scene *scene, const struct phys_frame *frame);

/* How an operation is carried out; both NULL: the caller does without. It finds its plan by
 * backend_plan(), then runs by it. Errors of a device that backend_run() knows:
 * NB_ERR_DEVICE (it is lost), NB_ERR_MEMORY, NB_ERR_UNSUPPORTED. */
struct backend {
    struct {
        nb_status (*run)(struct request *request);
        const char *(*refuses)(const struct request *request); /* why; NULL: it computes */
    } operations[BACKEND_OPERATIONS];
};

extern const struct backend backend_host, backend_device;

/* backend/run.c: carry out a request on the simulator's device, or else on the host.
 * Errors: those of the operation; NB_ERR_UNSUPPORTED where the host would take over and
 * NANOBRAG_STRICT=1. */
nb_status backend_run(struct request *request);

/* The plan of a request into `job`; `run` (NULL: it is not tuned) repeats it on memory of
 * the library's own. */
nb_status backend_plan(struct request *request, enum operation operation, int directions,
                       tune_run *run, void *user, struct job *job);

/* Why derivatives are computed on the host; NULL: they are not. */
const char *backend_derivatives_why(const nb_simulator *sim);

/* ---- backend/choose.c ---- */

/* Choose where images are computed, for a first frame and its number of samples. */
nb_status backend_choose(nb_simulator *sim, const struct phys_frame *frame, double samples);

/* The device failed, with its words in the context's message: from here on the host
 * computes. Errors: NB_ERR_UNSUPPORTED with NANOBRAG_STRICT=1, also of each call after. */
nb_status backend_lose_device(nb_simulator *sim);
nb_status backend_check_lost(nb_simulator *sim);

/* What signatures of the simulator's calls have in common; again after its strategy or its
 * device changed. */
void backend_sign(nb_simulator *sim);

/* ---- backend/arrays.c: where the caller's arrays lie ---- */

/* NB_OK for an image of the host, or one that the device can write. */
nb_status backend_check_output(const nb_simulator *sim, const nb_array *image);

/* NB_OK when `array` (NULL: there is none) may be read: on the host, or dense on the device
 * that computes, with `derives` derivatives too. */
nb_status backend_check_input(const nb_simulator *sim, const nb_array *array,
                              const char *name, int derives);

/* NB_OK for what the host is to read of an objective, after the device did not compute. */
nb_status backend_check_on_host(const nb_simulator *sim,
                                const struct objective_terms *objective);

/* NB_OK for the arrays of nb_digitize(); *in_place: counts go where the image lies. */
nb_status backend_check_counts(const nb_simulator *sim, const nb_digitizer *how,
                               const nb_array *image, const nb_array *counts,
                               int *in_place);

int array_is_on_device(const nb_array *array);

/* An array as the device's kernels write it, or read it (NULL: there is none). */
struct gpu_output backend_output(const nb_array *array);
struct gpu_input backend_input(const nb_array *array);

/* ---- backend/objective.c: objectives on the host ---- */

/* The objective as kernels read it, which points to `terms` and to itself. */
struct host_objective {
    struct objective objective;
    const struct objective_terms *terms;
    size_t nfast;
};
void objective_start(const nb_simulator *sim, const struct objective_terms *terms,
                     struct host_objective *out);

/* The value for an image of photons (dense), which turns into its cotangent in place: 0
 * where no pixel is rendered. */
double objective_of_image(const nb_simulator *sim, const struct objective *objective,
                          double *photons);

/* ---- backend/device_derivatives.c and backend/device_counts.c ---- */

/* Why it computes no derivatives of a simulator, or not those asked for; NULL: it may. */
const char *device_never_derives(const nb_simulator *sim);
const char *device_refuses_derivatives(const struct request *request);
const char *device_refuses_counts(const struct request *request);
nb_status device_adjoint(struct request *request);
nb_status device_jacobian(struct request *request);
nb_status device_normal(struct request *request);
nb_status device_count(struct request *request);
struct gpu_loss_job device_target(const nb_target *target);

/* 1 where float was asked for, which the device then tries. */
int device_is_single(const nb_simulator *sim);

/* backend/host.c: an image by the strategy of the simulator. */
nb_status backend_host_image(nb_simulator *sim, struct progress *progress,
                             const struct job *job);

#endif
