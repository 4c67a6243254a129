/*
 * api/batch.c - nb_forward_batch(), which computes many images in one call. On a device,
 * images of small detectors are gathered and computed together (gpu/launch/image_batch.h).
 * All other images are computed one by one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "backend/backend.h"
#include "base/context.h"
#include "base/floats.h"
#include "simulator.h"

/* A call of nb_forward_batch(). */
struct batch_call {
    nb_simulator *sim;
    int n;
    const double *x; /* (n x nparam); NULL: the values of the scene */
    nb_array *image; /* (n) */
    int first; /* number of the first gathered image; all before it are complete */
    struct gpu_batch *batch; /* sim->device.batch, the gathered images */
};

static const double *row_of(const nb_simulator *sim, const double *x, int k)
{
    return x ? x + (size_t)k * sim->params.n : NULL;
}

/* Compute the images `first` to `end` - 1 one by one. */
static nb_status forward_each(const struct batch_call *call, int first, int end)
{
    nb_simulator *sim = call->sim;

    for (int k = first; k < end; k++) {
        progress_at(&sim->progress, k * lattices_count(&sim->scene), 1);
        NB_TRY(simulator_forward(sim, row_of(sim, call->x, k), call->image + k));
    }
    return NB_OK;
}

/* Compute the gathered images together, or one by one if the device cannot. */
static nb_status flush(struct batch_call *call)
{
    struct gpu_batch *batch = call->batch;
    nb_simulator *sim = call->sim;
    const int first = call->first, n = batch->n;
    struct request request =
        backend_request(BACKEND_BATCH, sim, &sim->scene, batch->frames);

    if (n == 0) return NB_OK;
    request.batch = batch;
    progress_at(&sim->progress, first, n);
    NB_TRY(backend_run(&request));
    call->first += n;
    batch->n = 0;
    return batch->done ? NB_OK : forward_each(call, first, first + n);
}

/* Compute the gathered images, then return `failed`, the error at the image after them,
 * with its message. */
static nb_status flush_failed(struct batch_call *call, nb_status failed)
{
    nb_context *ctx = call->sim->ctx;
    char message[CONTEXT_MESSAGE];

    memcpy(message, ctx->message, sizeof message);
    NB_TRY(flush(call));
    memcpy(ctx->message, message, sizeof message);
    return failed;
}

/* Gather the next image. If it does not fit beside the gathered images, compute these
 * first. */
static nb_status gather(struct batch_call *call)
{
    nb_simulator *sim = call->sim;
    const int k = call->first + call->batch->n;
    const struct phys_frame *frame;
    nb_scene scene;
    nb_status status;

    if (!gpu_batch_accepts(call->batch, call->image + k)) return flush(call);
    status = simulator_frame(sim, row_of(sim, call->x, k), &scene, &frame);
    if (status != NB_OK) return flush_failed(call, status);
    gpu_batch_add(call->batch, frame, call->image + k);
    return NB_OK;
}

/* Gather and compute images while there is a device, then compute the rest one by one. */
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
        most = gpu_batch_limit(&sim->device.scene, &job);
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
