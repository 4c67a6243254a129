/*
 * backend.h - where a call is computed. Host and device are two tables of the same
 * operations. A call fills in a request and passes it to backend_run(), which alone decides
 * whether the host takes over from a device.
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

/* The terms of an objective L, a function of the photons. L is one of three: the inner
 * product of the photons with `cotangent`; the loss against `target`; or least squares with
 * `residual` (NULL: 0) and `weight` (NULL: 1). */
struct objective_terms {
    const nb_array *cotangent;
    const nb_target *target; /* if it has planes, simulator_planes() was called before */
    const nb_array *weight, *residual; /* read if `cotangent` and `target` are NULL */
};

/* A request to a backend. All operations read the first four members; the comments below
 * say which operations read the next ones. */
struct request {
    enum backend_operation operation;
    nb_simulator *sim;
    const nb_scene *scene;
    const struct phys_frame *frame;

    /* BACKEND_FORWARD writes an image to `photons` on the host: dense or, if `packed` is 1,
     * only the window's tiles. If `output` is not NULL, the image goes to that array on the
     * device instead. */
    double *photons;
    int packed;
    /* (tiles) receives 1 for each tile whose photons are all 0, as job.dark; or NULL */
    unsigned char *dark;
    const nb_array *output;

    /* BACKEND_BATCH: if batch->done stays 0, the caller computes image by image. */
    struct gpu_batch *batch;

    /* BACKEND_ADJOINT, BACKEND_LOSS and BACKEND_NORMAL read this objective. An adjoint
     * leaves dL/dx in sim->gradient, a normal matrix goes to *sums. */
    struct objective_terms objective;
    int coupling; /* 1: the normal matrix includes its coupling block */
    double value; /* value of the objective, set by the operation */
    const struct normal_sums *sums;

    /* BACKEND_JACOBIAN computes the changes of the photons along the first n of
     * sim->tangents, into n images on the host. */
    int n;
    nb_array *change;

    /* BACKEND_COUNT: image and counts are both on the host or both on the device. If
     * `donated` is 1, they share memory. */
    const nb_digitizer *how;
    const nb_array *image;
    nb_array *counts;
    int donated;

    /* backend_run() and the operations set these. */
    int started; /* 1: the plan was found, and the backend began to compute */
    /* a reason found by run() why the device cannot compute; or NULL */
    const char *refused;
};

/* Returns a request with the first four members set. */
struct request backend_request(enum backend_operation operation, nb_simulator *sim,
                               const nb_scene *scene, const struct phys_frame *frame);

/* A table of operations. If `run` is NULL, the operation does nothing. `run` finds its plan
 * by backend_plan(), then computes by it. backend_run() handles three errors of a device:
 * NB_ERR_DEVICE (the device is lost), NB_ERR_MEMORY and NB_ERR_UNSUPPORTED. */
struct backend {
    struct {
        nb_status (*run)(struct request *request);
        /* Returns why the backend cannot compute a request, or NULL if it can. A backend
         * without this function always can. */
        const char *(*refuses)(const struct request *request);
    } operations[BACKEND_OPERATIONS];
};

extern const struct backend backend_host, backend_device;

/* Run a request on the simulator's device if it has one, else on the host
 * (backend/request.c). Errors: any error of the operation, and NB_ERR_UNSUPPORTED with
 * NANOBRAG_STRICT=1 if the host would have to take over. */
nb_status backend_run(struct request *request);

/* Find the plan of a request, which computes derivatives along `directions` directions (0:
 * none), and write its choices to `job`. */
nb_status backend_plan(struct request *request, enum operation operation, int directions,
                       struct job *job);

/* Returns why the host computes derivatives, or NULL if the device does. */
const char *backend_derivatives_why(const nb_simulator *sim);

/* ---- backend/choose.c ---- */

/* Choose whether the host or a device computes images, by a first frame and its number of
 * samples. */
nb_status backend_choose(nb_simulator *sim, const struct phys_frame *frame, double samples);

/* backend_lose_device() notes that the device failed, for the reason in the context's
 * message; from then on the host computes. backend_check_lost() is called at the start of
 * each later request. With NANOBRAG_STRICT=1 both return NB_ERR_UNSUPPORTED. */
nb_status backend_lose_device(nb_simulator *sim);
nb_status backend_check_lost(nb_simulator *sim);

/* ---- backend/arrays.c: where the caller's arrays lie ---- */

/* Returns NB_OK if `image` is on the host, or on the device that computes, in a form that
 * its kernels can write. */
nb_status backend_check_output(const nb_simulator *sim, const nb_array *image);

/* Returns NB_OK if `array` may be read: it is NULL, on the host, or dense on the device
 * that computes. If `derives` is 1, the device must compute derivatives, too. */
nb_status backend_check_input(const nb_simulator *sim, const nb_array *array,
                              const char *name, int derives);

/* Returns NB_OK if all arrays of an objective are in host memory, so that the host can take
 * over from a device. */
nb_status backend_check_on_host(const nb_simulator *sim,
                                const struct objective_terms *objective);

/* Returns NB_OK if the arrays of nb_digitize() are valid. *in_place becomes 1 if the counts
 * overwrite the image. */
nb_status backend_check_counts(const nb_simulator *sim, const nb_digitizer *how,
                               const nb_array *image, const nb_array *counts,
                               int *in_place);

int array_is_on_device(const nb_array *array);

/* Describe an array to the kernels of a device; NULL gives an empty description. */
struct gpu_input backend_input(const nb_array *array);

/* ---- backend/host_objective.c ---- */

/* An objective in the form that kernels read. Do not copy this struct, because
 * objective.user points to it. */
struct host_objective {
    struct objective objective;
    const struct objective_terms *terms;
    const struct adjoint_kernels *kernels; /* the functions that compute losses */
    const struct planes *planes; /* planes of background of the target; NULL: none */
    size_t nfast;
};
void objective_start(const nb_simulator *sim, const struct objective_terms *terms,
                     struct host_objective *out);

/* objective_settle() finds the planes of background that minimise the loss for given
 * photons, dense or packed; of->planes may not be NULL. objective_settled() then sets
 * *value to the loss. Errors: NB_ERR_ARGUMENT (a negative weight, or a negative observed
 * number for NB_LOSS_POISSON). */
void objective_settle(const struct host_objective *of, const double *photons, int packed);
nb_status objective_settled(const nb_simulator *sim, const struct host_objective *of,
                            double *value);

/* Returns the objective of a dense image of photons, and replaces the photons by their
 * cotangents, 0 where no pixel is rendered. */
double objective_of_image(const nb_simulator *sim, const struct objective *objective,
                          double *photons);

/* Returns the objective of the photons of a job. */
double objective_of_tiles(const nb_simulator *sim, const struct objective *objective,
                          const struct job *job);

/* ---- backend/device_derivatives.c and backend/device_counts.c ---- */

/* device_never_derives() returns why the device computes no derivatives at all for this
 * simulator. device_refuses_derivatives() and device_refuses_counts() return why it does
 * not compute this request. NULL: there is no such reason. */
const char *device_never_derives(const nb_simulator *sim);
const char *device_refuses_derivatives(const struct request *request);
const char *device_refuses_counts(const struct request *request);
nb_status device_adjoint(struct request *request);
nb_status device_jacobian(struct request *request);
nb_status device_normal(struct request *request);
nb_status device_count(struct request *request);
struct gpu_loss_job device_target(const nb_target *target);

/* Returns 1 if the options ask for float, which the device then uses where it is accurate
 * enough. */
int device_is_single(const nb_simulator *sim);

#endif
