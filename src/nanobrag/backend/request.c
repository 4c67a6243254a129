/*
 * backend/request.c - runs a request on a simulator's device, or else on the host. Only
 * this file decides whether the host takes over, and it reports each reason once.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/context.h"
#include "base/log.h"
#include "gpu/derivatives/derivatives.h"

static int derives(const struct request *r)
{
    return r->operation == BACKEND_ADJOINT || r->operation == BACKEND_JACOBIAN
           || r->operation == BACKEND_NORMAL;
}

static int is_off(const nb_simulator *sim)
{
    return context_compile(sim->ctx) == NB_COMPILE_OFF;
}

/* Returns 1 if a reason was not reported before, and notes that it is reported now. */
static int is_new(struct device *d, const char *why)
{
    const uint64_t hash = plan_hash(why, strlen(why));
    const size_t n = sizeof d->reported / sizeof *d->reported;

    for (size_t i = 0; i < n; i++) {
        if (d->reported[i] == hash) return 0;
        if (d->reported[i] != 0) continue;
        d->reported[i] = hash;
        return 1;
    }
    return 0;
}

/* Let the host compute derivatives, for the reason `why`, and report each reason once. If
 * `counted` is 1, this fallback has been counted already. The fallback is an error only if
 * the caller asked for a device by name and NANOBRAG_STRICT=1. */
static nb_status stay_on_host(nb_simulator *sim, const char *why, int counted)
{
    struct device *d = &sim->device;
    nb_context *ctx = sim->ctx;
    const int insists = ctx->device == NB_DEVICE_CUDA && ctx->env.strict;

    if (insists && !counted)
        return context_fall_back(ctx, "derivatives on %s: %s", d->name, why);
    (void)snprintf(d->derivatives_why, sizeof d->derivatives_why, "%s", why);
    if (!is_new(d, d->derivatives_why)) return NB_OK;
    if (!counted) (void)context_fall_back(ctx, "derivatives on %s: %s", d->name, why);
    if (ctx->device == NB_DEVICE_CUDA && !is_off(sim))
        log_line(ctx, NB_LOG_WARNING, "device", "the host computes derivatives: %s",
                 d->derivatives_why);
    return NB_OK;
}

const char *backend_derivatives_why(const nb_simulator *sim)
{
    if (!sim->device.scene.gpu) return "the same as images";
    if (device_never_derives(sim)) return device_never_derives(sim);
    return sim->device.derivatives_why[0] ? sim->device.derivatives_why : NULL;
}

/* Returns 1 if the host can and may compute a request after the device returned
 * `status`. */
static int host_may(const struct request *r, nb_status status)
{
    const int insists = r->sim->ctx->env.strict && r->sim->ctx->device == NB_DEVICE_CUDA;

    if (array_is_on_device(r->output) || array_is_on_device(r->counts)) return 0;
    if (r->batch && r->batch->on_device) return 0;
    if (r->refused) return 1;
    if (!r->started) return 0; /* the error is not due to the device */
    if (derives(r) && status == NB_ERR_UNSUPPORTED) return !insists;
    return status == NB_ERR_DEVICE || status == NB_ERR_MEMORY;
}

/* Let the host compute this call because the device's memory is full. Other programs on the
 * device may free memory, so the next call tries the device again, and uploads all data
 * again. */
static nb_status lack_memory(nb_simulator *sim)
{
    static const char reason[] = "out of memory";
    nb_context *ctx = sim->ctx;
    char words[CONTEXT_MESSAGE / 2];

    (void)snprintf(words, sizeof words, "%.400s", ctx->message);
    gpu_scene_drop(&sim->device.scene);
    if (!is_new(&sim->device, reason) && !ctx->env.strict) return NB_OK;
    NB_TRY(context_fall_back(ctx, "device cuda:%d: %s", ctx->device_id, words));
    log_line(ctx, NB_LOG_WARNING, "device",
             "the host computes this call, and any other for which the device's memory "
             "does not suffice: %s",
             words);
    return NB_OK;
}

/* React to a request that failed on the device. The message of the failure is in the
 * context. */
static nb_status fall_back(const struct request *r, nb_status status)
{
    nb_simulator *sim = r->sim;
    char words[CONTEXT_MESSAGE / 2];

    if (r->refused) return stay_on_host(sim, r->refused, 0);
    if (status == NB_ERR_DEVICE) return backend_lose_device(sim);
    if (!derives(r)) return lack_memory(sim);
    (void)snprintf(words, sizeof words, "%.400s", sim->ctx->message);
    if (status == NB_ERR_UNSUPPORTED) return stay_on_host(sim, words, 1);
    gpu_derivatives_drop(&sim->device.scene); /* leaves more memory for images */
    return stay_on_host(sim, words, 0);
}

static nb_status run_on(const struct backend *backend, struct request *r)
{
    nb_simulator *sim = r->sim;
    const uint64_t before = sim->ctx->compiled_launches;
    nb_status status = NB_OK;

    r->started = 0;
    r->refused = NULL;
    if (backend->operations[r->operation].run)
        status = backend->operations[r->operation].run(r);
    sim->plans.stats.compiled_launches += sim->ctx->compiled_launches - before;
    return status;
}

static const char *refusal_of(const struct backend *backend, const struct request *r)
{
    const char *(*refuses)(const struct request *) =
        backend->operations[r->operation].refuses;

    return refuses ? refuses(r) : NULL;
}

struct request backend_request(enum backend_operation operation, nb_simulator *sim,
                               const nb_scene *scene, const struct phys_frame *frame)
{
    const struct request request = {.operation = operation,
                                    .sim = sim,
                                    .scene = scene,
                                    .frame = frame};

    return request;
}

nb_status backend_run(struct request *r)
{
    nb_simulator *sim = r->sim;

    NB_TRY(backend_check_lost(sim));
    if (sim->device.scene.gpu) {
        const char *why = refusal_of(&backend_device, r);

        if (!why) {
            const nb_status status = run_on(&backend_device, r);

            if (status == NB_OK && derives(r)) sim->device.derivatives_why[0] = '\0';
            if (status == NB_OK || !host_may(r, status)) return status;
            NB_TRY(fall_back(r, status));
        } else if (derives(r))
            NB_TRY(stay_on_host(sim, why, is_off(sim)));
    }
    NB_TRY(backend_check_on_host(sim, &r->objective));
    return run_on(&backend_host, r);
}
