/*
 * backend/choose.c - the choice between the host and a CUDA device, by estimates of how
 * long each would take for an image.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/context.h"
#include "base/log.h"

/* Samples per second of a core, in float and in double; assumed, not measured. */
static const double core_single = 5e8, core_double = 2.5e8;
/* Seconds that each call on a device takes for copies and launches. */
static const double fixed = 1e-3;
/* a device is chosen if it is this many times as fast as the host */
static const double worth = 2;

static void stay(nb_simulator *sim, const char *why)
{
    (void)snprintf(sim->device.name, sizeof sim->device.name, "cpu");
    (void)snprintf(sim->device.why, sizeof sim->device.why, "%s", why);
}

/* Returns the context's device, which is opened once, or NULL with the reason in
 * ctx->no_gpu. *passing becomes 1 if the reason is a lack of memory, which may not last. */
static struct gpu *open_gpu(nb_context *ctx, int *passing)
{
    const struct gpu_driver *driver = ctx->driver ? ctx->driver : &gpu_cuda;
    nb_status status;

    *passing = 0;
    if (ctx->no_gpu[0]) return NULL; /* opening it failed before */
    if (ctx->gpu) return ctx->gpu;
    ctx->close_gpu = gpu_close;
    status = gpu_open(ctx, driver, ctx->device_id, &ctx->gpu);
    *passing = status == NB_ERR_MEMORY;
    if (status != NB_OK)
        (void)snprintf(ctx->no_gpu, sizeof ctx->no_gpu, "%.500s", ctx->message);
    return ctx->gpu;
}

/* Returns why images are computed on the host, whatever the device; NULL: no reason. */
static const char *needs_host(const nb_simulator *sim)
{
    if (sim->policy.strategy == NB_STRATEGY_REFERENCE)
        return "the reference runs on the host";
    if (sim->scene.crystal.nlattice > 0) return "several lattices are computed on the host";
    if (sim->frames->continuous) return "the mosaic model gauss is computed on the host";
    if (sim->policy.strategy == NB_STRATEGY_SPOTS && !sim->policy.automatic)
        return "spots were asked for, which run on the host";
    if (sim->window.boxed) return "boxes are rendered on the host";
    return NULL;
}

/* Returns 1 if a device is at least `worth` times as fast as the host. `out` receives both
 * estimates, in words. */
static int is_worth_it(const nb_simulator *sim, const struct phys_frame *frame,
                       double samples, const struct gpu_properties *properties, char *out,
                       size_t n)
{
    const struct job job = simulator_job(sim, &sim->scene, frame, NULL);
    const struct job panel = job_of_panel(&job, 0);
    const int asked = sim->policy.precision == NB_PRECISION_SINGLE;
    const int there = gpu_layout_of(properties, &panel, asked).single;
    const int single = sim->policy.kernels.single != NULL;
    const double pairs = (double)frame->nsource * frame->norientation;
    const double cores = (single ? core_single : core_double) * sim->ctx->threads;
    const double spots = 1e-9 * sim->policy.spots_work / sim->ctx->threads;
    const double lanes = samples * pairs / cores;
    const double host = sim->policy.strategy == NB_STRATEGY_SPOTS ? spots : lanes;
    const double device = fixed + samples * pairs / gpu_rate(properties, there);

    (void)snprintf(out, n, "%.2g s estimated there, %.2g s on the host", device, host);
    return worth * device < host;
}

static void settle(nb_simulator *sim, struct gpu *gpu, const char *why)
{
    struct device *d = &sim->device;

    d->scene.gpu = gpu;
    d->scene.f_varies = sim->params.f.n > 0 || sim->nunlisted > 0;
    (void)snprintf(d->name, sizeof d->name, "%s:%d %s", gpu->driver->name, gpu->id,
                   gpu->properties.name);
    (void)snprintf(d->why, sizeof d->why, "%s", why);
}

/* Let the host compute, for the reason `why`, which is reported if the caller asked for a
 * device. Errors: NB_ERR_UNSUPPORTED with NANOBRAG_STRICT=1. */
static nb_status go_without(nb_simulator *sim, int asked, const char *why)
{
    nb_context *ctx = sim->ctx;

    stay(sim, why);
    if (!asked) return NB_OK;
    NB_TRY(context_fall_back(ctx, "device cuda:%d: %s", ctx->device_id, why));
    log_line(ctx, NB_LOG_WARNING, "device", "the host computes: %s", why);
    return NB_OK;
}

nb_status backend_choose(nb_simulator *sim, const struct phys_frame *frame, double samples)
{
    const struct job job = simulator_job(sim, &sim->scene, frame, NULL);
    nb_context *ctx = sim->ctx;
    const int asked = ctx->device == NB_DEVICE_CUDA;
    const char *refused = needs_host(sim);
    char why[100] = "requested";
    struct gpu *gpu;
    int passing;

    stay(sim, "requested or default");
    if (ctx->device == NB_DEVICE_CPU) return NB_OK;
    if (refused) return go_without(sim, asked, refused);
    gpu = open_gpu(ctx, &passing);
    if (!gpu) {
        const nb_status status = go_without(sim, asked, ctx->no_gpu);

        if (passing) ctx->no_gpu[0] = '\0'; /* the next simulator tries again */
        return status;
    }
    refused =
        gpu_refuses(&gpu->properties, &job, sim->policy.precision == NB_PRECISION_SINGLE);
    if (refused) return go_without(sim, asked, refused);
    if (!asked && !is_worth_it(sim, frame, samples, &gpu->properties, why, sizeof why)) {
        stay(sim, why);
        return NB_OK;
    }
    settle(sim, gpu, why);
    return NB_OK;
}

/* ---- a device that fails ---- */

nb_status backend_lose_device(nb_simulator *sim)
{
    nb_context *ctx = sim->ctx;
    char words[CONTEXT_MESSAGE / 2];

    (void)snprintf(words, sizeof words, "%.400s", ctx->message);
    /* With a reason in no_gpu, other simulators of the context do not open the device. */
    (void)snprintf(ctx->no_gpu, sizeof ctx->no_gpu, "%s", words);
    gpu_scene_drop(&sim->device.scene);
    sim->device.scene.gpu = NULL;
    sim->device.lost = 1;
    stay(sim, words);
    simulator_sign(sim);
    NB_TRY(context_fall_back(ctx, "device cuda:%d: %s", ctx->device_id, words));
    log_line(ctx, NB_LOG_WARNING, "device", "the host computes from here on: %s", words);
    return NB_OK;
}

nb_status backend_check_lost(nb_simulator *sim)
{
    nb_context *ctx = sim->ctx;

    if (!sim->device.lost || !ctx->env.strict) return NB_OK;
    return context_fall_back(ctx, "device cuda:%d: %s", ctx->device_id, sim->device.why);
}
