/*
 * backend/choose.c - the choice between the host and a device that the context opens, by
 * estimates of how long each would take.
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/context.h"
#include "base/log.h"
#include "grad/grad.h"

/* Samples per second of a core, and of each multiprocessor of a device. They are assumed,
 * not measured. Devices with full speed in double have capability 6.0, 7.0, 8.0, 9.0
 * or 10.0; others have 1/64 of it. */
static const double core_single = 5e8, core_double = 2.5e8;
static const double device_single = 1e9; /* of a multiprocessor */
static const double double_full = 0.5, double_rest = 1.0 / 64;
/* seconds of each call on a device, for copies and launches */
static const double fixed = 1e-3;
static const double worth = 2; /* how many times as fast a device has to be */

static void stay(nb_simulator *sim, const char *why)
{
    (void)snprintf(sim->device.name, sizeof sim->device.name, "cpu");
    (void)snprintf(sim->device.why, sizeof sim->device.why, "%s", why);
}

/* Returns the context's device, opened once, or NULL with the reason in ctx->no_gpu. */
static struct gpu *open_gpu(nb_context *ctx)
{
    const struct gpu_driver *driver = ctx->driver ? ctx->driver : &gpu_cuda;

    if (ctx->no_gpu[0]) return NULL; /* opening it failed before */
    if (ctx->gpu) return ctx->gpu;
    ctx->close_gpu = gpu_close;
    if (gpu_open(ctx, driver, ctx->device_id, &ctx->gpu) != NB_OK)
        (void)snprintf(ctx->no_gpu, sizeof ctx->no_gpu, "%.500s", ctx->message);
    return ctx->gpu;
}

/* Returns why images stay on the host whatever the device, or NULL. */
static const char *needs_host(const nb_simulator *sim)
{
    if (sim->policy.strategy == NB_REFERENCE) return "the reference runs on the host";
    if (sim->policy.strategy == NB_SPOTS && !sim->policy.automatic)
        return "spots were asked for, which run on the host";
    return NULL;
}

static double device_rate(const struct gpu_properties *properties, int single)
{
    const double rate = device_single * properties->processors;

    if (single) return rate;
    return rate
           * (properties->minor == 0 && properties->major >= 6 && properties->major <= 10
                  ? double_full
                  : double_rest);
}

/* Returns 1 if a device is enough faster than the host; `out` explains it in one clause. */
static int is_worth_it(const nb_simulator *sim, const struct phys_frame *frame,
                       double samples, const struct gpu_properties *properties, char *out,
                       size_t n)
{
    const struct job job = simulator_job(sim, &sim->scene, frame, NULL);
    const int asked = sim->policy.precision == NB_SINGLE;
    const int there = gpu_layout_of(properties, &job, asked, 0).single;
    const int single = sim->policy.kernels.single != NULL;
    const double pairs = (double)frame->nsource * frame->norientation;
    const double cores = (single ? core_single : core_double) * sim->ctx->threads;
    const double spots = 1e-9 * sim->policy.spots_work / sim->ctx->threads;
    const double lanes = samples * pairs / cores;
    const double host = sim->policy.strategy == NB_SPOTS ? spots : lanes;
    const double device = fixed + samples * pairs / device_rate(properties, there);

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

/* Report that the requested device does not compute. Errors: NB_ERR_UNSUPPORTED with
 * NANOBRAG_STRICT=1. */
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
    const int asked = ctx->device == NB_CUDA;
    const char *refused = needs_host(sim);
    char why[100] = "asked for";
    struct gpu *gpu;

    stay(sim, "asked for, or by default");
    if (ctx->device == NB_CPU) return NB_OK;
    if (refused) return go_without(sim, asked, refused);
    gpu = open_gpu(ctx);
    if (!gpu) return go_without(sim, asked, ctx->no_gpu);
    refused = gpu_refuses(&gpu->properties, &job);
    if (refused) return go_without(sim, asked, refused);
    if (!asked && !is_worth_it(sim, frame, samples, &gpu->properties, why, sizeof why)) {
        stay(sim, why);
        return NB_OK;
    }
    settle(sim, gpu, why);
    return NB_OK;
}

/* ---- what the signatures of a simulator's calls share ---- */

/* Returns a bit for each feature of the scene that selects code, as opposed to values. */
static uint32_t switches_of(const nb_simulator *sim)
{
    const nb_scene *s = &sim->scene;
    const int flags[] = {s->oversample_thick,      s->oversample_polar,
                         s->oversample_omega,      s->detector.curved,
                         s->detector.point_pixel,  s->beam.unpolarised,
                         sim->window.mask != NULL, sim->psf != NULL};
    uint32_t switches = (uint32_t)s->quirks << 8;

    for (uint32_t i = 0; i < sizeof flags / sizeof *flags; i++)
        switches |= (uint32_t)(flags[i] != 0) << i;
    return switches;
}

/* Returns 1 if the crystal has one orientation of weight 1, which has a kernel for itself.
 */
static int has_one_orientation(const nb_simulator *sim)
{
    const nb_crystal *c = &sim->scene.crystal;

    return sim->scene.scan.nphi == 1 && c->ndomains == 1 && !c->domain_weight
           && sim->policy.kernels.precise
                  ->single_orientation[sim->spec.shape][sim->spec.lookup];
}

/* Returns the device of images as a plan depends on it: 0 for the host, else its
 * architecture. */
static uint32_t device_class(const nb_simulator *sim)
{
    const struct gpu *gpu = sim->device.scene.gpu;

    return gpu ? (uint32_t)(10 * gpu->properties.major + gpu->properties.minor) : 0;
}

void backend_sign(nb_simulator *sim)
{
    struct plans *plans = &sim->plans;
    struct signature *s = &plans->common;
    const struct params *params = &sim->params;
    const nb_scene *scene = &sim->scene;
    const int *roi = sim->window.roi;
    const char *kernel = sim->policy.kernels.precise->name;
    const int over = scene->oversample;

    memset(s, 0, sizeof *s);
    s->shape = (uint32_t)sim->spec.shape;
    s->lookup = (uint32_t)sim->spec.lookup;
    s->strategy = (uint32_t)sim->policy.strategy;
    s->precision = sim->policy.kernels.single ? NB_SINGLE : NB_DOUBLE;
    s->device = device_class(sim);
    s->kernel = (uint32_t)plan_hash(kernel, strlen(kernel));
    s->switches = switches_of(sim);
    s->threads = (uint32_t)sim->ctx->threads;
    s->pixels = plan_class((double)(roi[1] - roi[0]) * (roi[3] - roi[2]));
    s->samples = plan_class((double)over * over * scene->detector.nlayers);
    s->sources = plan_class(sim->fixed.nsource);
    s->orientations = plan_class((double)scene->scan.nphi * scene->crystal.ndomains);
    s->box = plan_class(scene->crystal.hkl ? (double)hkl_box_size(&sim->hkl) : 0);
    plans->single_orientation =
        sim->policy.strategy == NB_LANES && has_one_orientation(sim);
    memset(plans->free, 0, sizeof plans->free);
    for (size_t i = 0; i < params->n; i++) {
        const uint32_t row = (uint32_t)params->at[i].row;

        assert(row / 32 < sizeof plans->free / sizeof *plans->free);
        plans->free[row / 32] |= (uint32_t)1 << row % 32;
    }
}

/* ---- a device that fails ---- */

nb_status backend_lose_device(nb_simulator *sim)
{
    nb_context *ctx = sim->ctx;
    char words[CONTEXT_MESSAGE / 2];

    (void)snprintf(words, sizeof words, "%.400s", ctx->message);
    /* so that no other simulator tries */
    (void)snprintf(ctx->no_gpu, sizeof ctx->no_gpu, "%s", words);
    gpu_scene_drop(&sim->device.scene);
    sim->device.scene.gpu = NULL;
    sim->device.lost = 1;
    stay(sim, words);
    backend_sign(sim);
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

nb_status nb_simulator_set_stream(nb_simulator *sim, void *cuda_stream)
{
    struct gpu_scene *scene;

    if (!sim) return NB_ERR_ARGUMENT;
    scene = &sim->device.scene;
    if (scene->gpu)
        NB_TRY(scene->gpu->driver->use(sim->ctx, scene->gpu->device, cuda_stream));
    scene->stream = cuda_stream;
    return NB_OK;
}
