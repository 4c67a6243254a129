/*
 * api/batch.c - nb_forward_batch(), many images in one call. On a device the images of
 * small detectors are gathered and computed together (gpu/image_batch.h); all others are
 * computed one after the other.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "simulator.h"

/* A call whose images a device computes. */
struct batch_call {
    nb_simulator *sim;
    int n;
    const double *x; /* (n x nparam) or NULL */
    nb_array *image; /* (n) */
    int first; /* the first image that is gathered */
    struct gpu_batch *batch; /* the simulator's */
};

static const double *row_of(const nb_simulator *sim, const double *x, int k)
{
    return x ? x + (size_t)k * sim->params.n : NULL;
}

/* Compute the images from number `first` up to, not including, `end` one by one. */
static nb_status forward_each(const struct batch_call *call, int first, int end)
{
    nb_simulator *sim = call->sim;

    for (int k = first; k < end; k++) {
        progress_at(&sim->progress, k * lattices_count(&sim->scene), 1);
        NB_TRY(simulator_forward(sim, row_of(sim, call->x, k), call->image + k));
    }
    return NB_OK;
}

/* Copy image i of the gathered ones to the caller; pixels that are not rendered become 0.
 */
static void deliver(const struct batch_call *call, int i)
{
    const struct window *w = &call->sim->window;
    const struct gpu_batch *batch = call->batch;
    const int begin = batch->layout.first_slow, end = batch->end_slow;
    const double *photons = gpu_batch_photons(batch, i);
    const size_t nfast = (size_t)w->nfast;
    nb_array *image = call->image + call->first + i;

    array_zero(image);
    if (array_is_dense_f64(image)) {
        memcpy((double *)image->data + (size_t)begin * nfast, photons,
               (size_t)(end - begin) * nfast * sizeof *photons);
        return;
    }
    for (int s = begin; s < end; s++)
        for (int f = 0; f < w->nfast; f++)
            array_set(image, s, f, photons[(size_t)(s - begin) * nfast + (size_t)f]);
}

static nb_status deliver_all(const struct batch_call *call, const struct job *job)
{
    const struct gpu_batch *batch = call->batch;

    for (int i = 0; i < batch->n; i++) {
        const int k = call->first + i;

        if (gpu_batch_is_lost(batch, job, i))
            NB_TRY(forward_each(call, k, k + 1));
        else if (!batch->on_device)
            deliver(call, i);
    }
    return NB_OK;
}

/* Compute the gathered images together, or one by one if the device cannot. */
static nb_status run_gathered(struct batch_call *call)
{
    struct gpu_batch *batch = call->batch;
    nb_simulator *sim = call->sim;
    const struct job job = simulator_job(sim, &sim->scene, batch->frames, NULL);
    struct request request =
        backend_request(BACKEND_BATCH, sim, &sim->scene, batch->frames);

    request.batch = batch;
    progress_at(&sim->progress, call->first, batch->n);
    NB_TRY(backend_run(&request));
    if (!batch->done) return forward_each(call, call->first, call->first + batch->n);
    return deliver_all(call, &job);
}

static nb_status flush(struct batch_call *call)
{
    nb_status status = NB_OK;

    if (call->batch->n > 0) status = run_gathered(call);
    call->first += call->batch->n;
    call->batch->n = 0;
    return status;
}

/* Compute the gathered images, then return the failure that ended the gathering. */
static nb_status flush_failed(struct batch_call *call, nb_status failed)
{
    nb_context *ctx = call->sim->ctx;
    char message[CONTEXT_MESSAGE];

    memcpy(message, ctx->message, sizeof message);
    NB_TRY(flush(call));
    memcpy(ctx->message, message, sizeof message);
    return failed;
}

/* Gather the next image; if it does not fit beside the gathered ones, compute them
 * first. */
static nb_status gather(struct batch_call *call)
{
    nb_simulator *sim = call->sim;
    const int single = sim->policy.precision == NB_PRECISION_SINGLE;
    const int k = call->first + call->batch->n;
    const nb_array *image = call->image + k;
    const int there = array_is_on_device(image);
    const struct phys_frame *frame;
    struct gpu_output out;
    nb_scene scene;
    nb_status status = simulator_frame(sim, row_of(sim, call->x, k), &scene, &frame);
    struct job job;

    if (status != NB_OK) return flush_failed(call, status);
    job = simulator_job(sim, &scene, frame, NULL);
    /* too large for one pass: alone, in strips */
    if (there && gpu_batch_limit(&sim->device.scene, &job, 1) < 1) {
        NB_TRY(flush(call));
        NB_TRY(forward_each(call, k, k + 1));
        call->first = k + 1;
        return NB_OK;
    }
    if (!gpu_batch_accepts(call->batch, &sim->device.scene, &job, single, there))
        return flush(call);
    if (there) out = backend_output(image);
    gpu_batch_add(call->batch, &sim->device.scene, &job, single, there ? &out : NULL);
    return NB_OK;
}

/* Gather images as long as there is a device, and compute the rest one by one. */
static nb_status forward_gathered(struct batch_call *call)
{
    while (call->first < call->n && call->sim->device.scene.gpu) {
        if (call->first + call->batch->n == call->n)
            NB_TRY(flush(call));
        else
            NB_TRY(gather(call));
    }
    return forward_each(call, call->first, call->n);
}

static nb_status forward_all(struct batch_call *call)
{
    nb_simulator *sim = call->sim;
    const struct phys_frame *frame;
    nb_scene scene;
    struct job job;
    int most = 1;

    if (sim->device.scene.gpu && !sim->psf) {
        NB_TRY(simulator_frame(sim, row_of(sim, call->x, 0), &scene, &frame));
        job = simulator_job(sim, &scene, frame, NULL);
        most = gpu_batch_limit(&sim->device.scene, &job, 0);
    }
    if (most > call->n) most = call->n;
    if (most < 2) return forward_each(call, 0, call->n);
    call->batch = &sim->device.batch;
    NB_TRY(gpu_batch_reserve(sim->ctx, &job, most, call->batch));
    return forward_gathered(call);
}

nb_status nb_forward_batch(nb_simulator *sim, int n, const double *x, nb_array *image)
{
    STANDARD_FLOATS;
    struct batch_call call = {sim, n, x, image, 0, NULL};

    if (!sim) return NB_ERR_ARGUMENT;
    if (n < 1) return fail(sim->ctx, NB_ERR_ARGUMENT, "a batch of %d images", n);
    if (!image) return fail(sim->ctx, NB_ERR_ARGUMENT, "image: no array was given");
    for (int k = 0; k < n; k++) NB_TRY(backend_check_output(sim, image + k));
    progress_begin(&sim->progress, sim->ctx);
    progress_passes(&sim->progress, n);
    return forward_all(&call);
}
