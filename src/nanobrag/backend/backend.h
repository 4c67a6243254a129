/*
 * backend.h - where a call is computed: host and device are two tables of the same
 * operations. A call fills in a request and passes it to backend_run(), the only place that
 * decides whether the host takes over from a device.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BACKEND_BACKEND_H
#define NB_BACKEND_BACKEND_H

#include <nanobrag/image.h>

#include "compile/call.h"
#include "gpu/launch/image_batch.h"
#include "gpu/launch/loss_launch.h"
#include "state/state.h"

enum backend_operation {
    BACKEND_FORWARD, /* photons of a frame */
    BACKEND_BATCH, /* photons of several frames, which a device computes together */
    BACKEND_ADJOINT, /* the gradient of an objective */
    BACKEND_JACOBIAN, /* tangents of the photons along tangents of the frame */
    BACKEND_LOSS, /* the value of an objective alone */
    BACKEND_NORMAL, /* J^T W J of an objective, with its value and gradient */
    BACKEND_COUNT, /* counts from photons */
    BACKEND_OPERATIONS
};

/* The terms of an objective, a function of the photons. It is one of three: the inner
 * product with a cotangent image; the loss against a target; or least squares of residuals
 * (NULL: 0) with weights (NULL: 1). */
struct objective_terms {
    const nb_array *cotangent;
    const nb_target *target; /* if it has planes, call simulator_planes() before */
    const nb_array *weight, *residual; /* used if the other two are NULL */
};

/* A request to a backend. An operation reads the members under its name, and all members
 * above the first name. */
struct request {
    enum backend_operation operation;
    nb_simulator *sim;
    const nb_scene *scene;
    const struct phys_frame *frame;

    /* An image is written to `photons` on the host: dense or, if `packed` is 1, only the
     * window's tiles. If `output` is not NULL, it is written to that array on the
     * device. */
    double *photons;
    int packed;
    unsigned char *dark; /* (tiles) as in a job, or NULL */
    const nb_array *output;

    /* A batch whose `done` stays 0 has to be computed image by image. */
    struct gpu_batch *batch;

    /* Adjoint, loss and normal matrix belong to this objective. The adjoint is left in
     * sim->gradient, the normal matrix in *sums. */
    struct objective_terms objective;
    int coupling; /* 1: the coupling block of the normal matrix is needed */
    double value; /* of the objective, set by the operation */
    const struct normal_sums *sums;

    /* A Jacobian is computed along the first n of sim->tangents, into n images on the host.
     */
    int n;
    nb_array *change;

    /* Counts and their image are both on the host or both on the device. If `donated` is 1,
     * they share memory. */
    const nb_digitizer *how;
    const nb_array *image;
    nb_array *counts;
    int donated;

    /* These are set while the request runs. */
    int started; /* 1: its plan was found, and the backend runs it */
    const char *refused; /* why a device cannot run it, found while it ran; or NULL */
};

/* Returns a request for an operation on a frame of a scene; the caller sets the other
 * members. */
struct request backend_request(enum backend_operation operation, nb_simulator *sim,
                               const nb_scene *scene, const struct phys_frame *frame);

/* A table of operations. An operation finds its plan by backend_plan(), then runs by it. If
 * both its functions are NULL, the caller does without it. backend_run() handles three
 * errors of a device: NB_ERR_DEVICE (it is lost), NB_ERR_MEMORY and NB_ERR_UNSUPPORTED. */
struct backend {
    struct {
        nb_status (*run)(struct request *request);
        /* Returns why the backend does not run a request, or NULL if it does. */
        const char *(*refuses)(const struct request *request);
    } operations[BACKEND_OPERATIONS];
};

extern const struct backend backend_host, backend_device;

/* Run a request on the simulator's device, or else on the host (backend/request.c). Errors:
 * the errors of the operation, and NB_ERR_UNSUPPORTED if the host would take over and
 * NANOBRAG_STRICT=1. */
nb_status backend_run(struct request *request);

/* Write the plan of a request into `job`. */
nb_status backend_plan(struct request *request, enum operation operation, int directions,
                       struct job *job);

/* Returns why derivatives are computed on the host, or NULL if they are not. */
const char *backend_derivatives_why(const nb_simulator *sim);

/* ---- backend/choose.c ---- */

/* Choose where images are computed, judged by a first frame and its number of samples. */
nb_status backend_choose(nb_simulator *sim, const struct phys_frame *frame, double samples);

/* Report that the device failed, with the message that the context holds; from then on the
 * host computes. backend_check_lost() is for the calls after it. Errors: NB_ERR_UNSUPPORTED
 * with NANOBRAG_STRICT=1, from both. */
nb_status backend_lose_device(nb_simulator *sim);
nb_status backend_check_lost(nb_simulator *sim);

/* ---- backend/arrays.c: where the caller's arrays lie ---- */

/* Returns NB_OK if `image` is on the host, or on the device in a form that it can write. */
nb_status backend_check_output(const nb_simulator *sim, const nb_array *image);

/* Returns NB_OK if `array` may be read: it is NULL, on the host, or dense on the device
 * that computes. With `derives` that device has to compute derivatives too. */
nb_status backend_check_input(const nb_simulator *sim, const nb_array *array,
                              const char *name, int derives);

/* Returns NB_OK if the host can read the arrays of an objective, after the device did not
 * compute it. */
nb_status backend_check_on_host(const nb_simulator *sim,
                                const struct objective_terms *objective);

/* Returns NB_OK for valid arrays of nb_digitize(). *in_place tells whether the counts
 * overwrite the image. */
nb_status backend_check_counts(const nb_simulator *sim, const nb_digitizer *how,
                               const nb_array *image, const nb_array *counts,
                               int *in_place);

int array_is_on_device(const nb_array *array);

/* Describe an array, which may be NULL, for the device's kernels to read. */
struct gpu_input backend_input(const nb_array *array);

/* ---- backend/host_objective.c ---- */

/* An objective in the form that kernels read. It points to `terms` and to itself, so it
 * cannot be copied. */
struct host_objective {
    struct objective objective;
    const struct objective_terms *terms;
    const struct adjoint_kernels *kernels; /* which compute the losses */
    const struct planes *planes; /* of the target; NULL: none */
    size_t nfast;
};
void objective_start(const nb_simulator *sim, const struct objective_terms *terms,
                     struct host_objective *out);

/* objective_settle() solves the planes of an objective that has planes, for photons of an
 * image or packed. objective_settled() then sets *value to the loss. Errors:
 * NB_ERR_ARGUMENT (a negative weight, or a negative observed number for
 * NB_LOSS_POISSON). */
void objective_settle(const struct host_objective *of, const double *photons, int packed);
nb_status objective_settled(const nb_simulator *sim, const struct host_objective *of,
                            double *value);

/* Returns the value for a dense image of photons, and turns the image into its cotangent in
 * place, with 0 where no pixel is rendered. */
double objective_of_image(const nb_simulator *sim, const struct objective *objective,
                          double *photons);

/* Returns the value for the photons of a job. */
double objective_of_tiles(const nb_simulator *sim, const struct objective *objective,
                          const struct job *job);

/* ---- backend/device_derivatives.c and backend/device_counts.c ---- */

/* device_never_derives() returns why the device computes no derivatives of the simulator at
 * all; the next two return why it does not run this request. NULL: it may. */
const char *device_never_derives(const nb_simulator *sim);
const char *device_refuses_derivatives(const struct request *request);
const char *device_refuses_counts(const struct request *request);
nb_status device_adjoint(struct request *request);
nb_status device_jacobian(struct request *request);
nb_status device_normal(struct request *request);
nb_status device_count(struct request *request);
struct gpu_loss_job device_target(const nb_target *target);

/* Returns 1 if the options ask for float; the device then tries it. */
int device_is_single(const nb_simulator *sim);

#endif
