/*
 * choose.c - where the images of a simulator are computed: on the host, or on a device that
 * the context opens. One table says what the work is worth.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/log.h"
#include "simulator.h"

/* Samples a second: of a core, and of a device of so many multiprocessors (the aims of
 * reports/, until a device says otherwise). Cards of full speed in double are those of
 * capability 6.0 to 10.0, whole numbers; others have a 64th of it. */
static const double core_single = 5e8, core_double = 2.5e8;
static const double device_single = 1e9; /* of a multiprocessor */
static const double double_full = 0.5, double_rest = 1.0 / 64;
static const double fixed = 1e-3; /* seconds of a call on a device: copies, launches */
static const double worth = 2; /* times as fast, or the host is asked */

static void stay(nb_simulator *sim, const char *why)
{
    (void)snprintf(sim->device.name, sizeof sim->device.name, "cpu");
    (void)snprintf(sim->device.why, sizeof sim->device.why, "%s", why);
}

/* the context's device, opened once; NULL: there is none, ctx->no_gpu says why */
static struct gpu *open_gpu(nb_context *ctx)
{
    const struct gpu_driver *driver = ctx->driver ? ctx->driver : &gpu_cuda;

    if (ctx->no_gpu[0]) return NULL; /* or it failed */
    if (ctx->gpu) return ctx->gpu;
    ctx->close_gpu = gpu_close;
    if (gpu_open(ctx, driver, ctx->device_id, &ctx->gpu) != NB_OK)
        (void)snprintf(ctx->no_gpu, sizeof ctx->no_gpu, "%.500s", ctx->message);
    return ctx->gpu;
}

/* what keeps images on the host whatever the device; NULL: nothing */
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

/* 1 when a device takes so much less time that it is worth its while; `out`: one clause */
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

/* an asked-for device does not compute: NB_ERR_UNSUPPORTED with NANOBRAG_STRICT=1 */
static nb_status go_without(nb_simulator *sim, int asked, const char *why)
{
    nb_context *ctx = sim->ctx;

    stay(sim, why);
    if (!asked) return NB_OK;
    NB_TRY(context_fall_back(ctx, "device cuda:%d: %s", ctx->device_id, why));
    log_line(ctx, NB_LOG_WARNING, "device", "the host computes: %s", why);
    return NB_OK;
}

nb_status device_choose(nb_simulator *sim, const struct phys_frame *frame, double samples)
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

nb_status device_lost(nb_simulator *sim)
{
    nb_context *ctx = sim->ctx;
    char words[CONTEXT_MESSAGE / 2];

    (void)snprintf(words, sizeof words, "%.400s", ctx->message);
    (void)snprintf(ctx->no_gpu, sizeof ctx->no_gpu, "%s", words); /* nor will others try */
    gpu_scene_drop(&sim->device.scene);
    sim->device.scene.gpu = NULL;
    sim->device.lost = 1;
    stay(sim, words);
    plans_start(sim);
    NB_TRY(context_fall_back(ctx, "device cuda:%d: %s", ctx->device_id, words));
    log_line(ctx, NB_LOG_WARNING, "device", "the host computes from here on: %s", words);
    ctx->goes_on = 1; /* progress does not go back */
    return NB_OK;
}

nb_status device_check_lost(nb_simulator *sim)
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

/* ---- an image of the caller's on the device ---- */

nb_status device_check_place(const nb_simulator *sim, const nb_array *array,
                             const char *name)
{
    const struct gpu *gpu = sim->device.scene.gpu;

    if (array->name) name = array->name;
    if (!gpu)
        return fail(sim->ctx, NB_ERR_SHAPE,
                    "%s lies on a CUDA device, but images are made on the cpu (%s); pass "
                    "one "
                    "in host memory",
                    name, sim->device.why);
    if (array->device_id != gpu->id)
        return fail(sim->ctx, NB_ERR_SHAPE, "%s lies on CUDA device %d, expected %d", name,
                    array->device_id, gpu->id);
    if (!gpu->driver->owns(gpu->device, (gpu_address)(uintptr_t)array->data))
        return fail(sim->ctx, NB_ERR_SHAPE,
                    "%s is said to lie on CUDA device %d, but its address is not of that "
                    "device's memory",
                    name, gpu->id);
    return NB_OK;
}

struct gpu_output device_output(const nb_array *array)
{
    const struct gpu_output out = {(gpu_address)(uintptr_t)array->data,
                                   array->bits,
                                   {array_stride(array, 0), array_stride(array, 1)}};

    return out;
}

nb_status device_check(const nb_simulator *sim, const nb_array *image)
{
    const char *name = "image";

    NB_TRY(
        array_check_on_device(sim->ctx, image, name, sim->window.nslow, sim->window.nfast));
    NB_TRY(device_check_place(sim, image, name));
    if (image->name) name = image->name;
    if (sim->psf)
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "%s lies on a CUDA device, but the point spread is applied on the cpu; "
                    "pass one in host memory",
                    name);
    return NB_OK;
}

nb_status device_forward(nb_simulator *sim, const double *x, nb_array *image)
{
    struct gpu_output out;
    struct phys_frame frame;
    nb_scene scene;
    struct job job;

    NB_TRY(device_check(sim, image));
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    job = simulator_job(sim, &scene, &frame, NULL);
    if (gpu_needs_photons(&job, sim->policy.precision == NB_SINGLE)) {
        NB_TRY(simulator_photons(sim));
        job.photons = sim->photons;
    }
    out = device_output(image);
    return plans_run(sim, PLAN_FORWARD, 0, &job, launch_image, &out, NULL);
}

/* ---- the value of a loss ---- */

nb_status device_loss(nb_simulator *sim, const nb_scene *scene,
                      const struct phys_frame *frame, const nb_target *target,
                      double *value, int *done)
{
    const struct job job = simulator_job(sim, scene, frame, NULL);
    const struct gpu_loss_job loss = device_target(target);
    double found = 0;
    const struct loss_launch launch = {&loss, &found, done};

    *done = 0;
    if (!sim->device.scene.gpu || sim->psf) return NB_OK;
    NB_TRY(plans_run(sim, PLAN_FORWARD, 0, &job, launch_loss, &launch, NULL));
    if (*done) *value = found;
    return NB_OK;
}
