/*
 * derivatives_launch.c - derivatives of a simulator whose images are computed on a device:
 * there too, or else on the host, with the reason.
 *
 * A device adds up what each tangent of the frame is worth, one for each parameter, so that
 * its sums are a gradient already; on the host they are a cotangent of the frame, which
 * simulator_gather() turns into one. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/log.h"
#include "grad/tangent.h"
#include "image/target.h"
#include "simulator.h"

/* ---- where ---- */

static int is_off(const nb_simulator *sim)
{
    return context_compile(sim->ctx) == NB_COMPILE_OFF;
}

/* whatever is asked for; NULL: nothing is against it */
static const char *always_against(const nb_simulator *sim)
{
    if (sim->psf) return "behind a point spread";
    if (is_off(sim)) return "compiled mode is off, which builds their kernels";
    return NULL;
}

static const char *reason_of(const nb_simulator *sim, const struct job *job,
                             const struct gpu_derivatives_job *rows)
{
    return gpu_derivatives_refuses(sim->device.scene.gpu, job,
                                   sim->policy.precision == NB_SINGLE, rows);
}

/* 1 when a reason was not told before; it counts as told from then on */
static int is_new(struct device *d, const char *why)
{
    const uint64_t hash = plan_hash(why, strlen(why));
    const size_t n = sizeof d->derivatives_told / sizeof *d->derivatives_told;

    for (size_t i = 0; i < n; i++) {
        if (d->derivatives_told[i] == hash) return 0;
        if (d->derivatives_told[i] != 0) continue;
        d->derivatives_told[i] = hash;
        return 1;
    }
    return 0;
}

/* The host computes derivatives, which is told once for each reason. `counted`: not as
 * something that could not be had, or it was counted already. Only who asked for a device
 * may insist on it. */
static nb_status stay_on_host(nb_simulator *sim, const char *why, int counted)
{
    struct device *d = &sim->device;
    nb_context *ctx = sim->ctx;
    const int insists = ctx->device == NB_CUDA && ctx->env.strict;

    if (insists && !counted)
        return context_fall_back(ctx, "derivatives on %s: %s", d->name, why);
    (void)snprintf(d->derivatives_why, sizeof d->derivatives_why, "%s", why);
    if (!is_new(d, d->derivatives_why)) return NB_OK;
    if (!counted) (void)context_fall_back(ctx, "derivatives on %s: %s", d->name, why);
    if (ctx->device == NB_CUDA && !is_off(sim))
        log_line(ctx, NB_LOG_WARNING, "device", "the host computes derivatives: %s",
                 d->derivatives_why);
    return NB_OK;
}

const char *device_derivatives_why(const nb_simulator *sim)
{
    if (!sim->device.scene.gpu) return "as images";
    if (always_against(sim)) return always_against(sim);
    return sim->device.derivatives_why[0] ? sim->device.derivatives_why : NULL;
}

/* ---- tangents ---- */

static nb_status make_tangents(nb_simulator *sim, size_t n)
{
    struct device *d = &sim->device;
    const size_t sources = (size_t)sim->fixed.nsource;
    const size_t orientations =
        (size_t)sim->scene.scan.nphi * (size_t)sim->scene.crystal.ndomains;
    int fits = 1;

    if (d->dot) return NB_OK;
    fits = arena_reserve(&d->memory, n, sizeof *d->dot);
    for (size_t i = 0; i < n; i++)
        fits = fits && arena_reserve(&d->memory, sources, sizeof(struct phys_source))
               && arena_reserve(&d->memory, orientations, sizeof(struct phys_rotation));
    if (!fits || !arena_make(&d->memory)) {
        arena_free(&d->memory);
        return fail_memory(sim->ctx, "tangents");
    }
    d->dot = arena_take(&d->memory, n, sizeof *d->dot);
    for (size_t i = 0; i < n; i++) {
        d->dot[i].source = arena_take(&d->memory, sources, sizeof(struct phys_source));
        d->dot[i].rotation =
            arena_take(&d->memory, orientations, sizeof(struct phys_rotation));
    }
    return NB_OK;
}

/* what the frame changes by along each parameter that is not a structure factor */
static nb_status find_tangents(nb_simulator *sim, const nb_scene *scene,
                               const struct phys_frame *frame,
                               struct gpu_derivatives_job *rows)
{
    static const double one = 1;
    struct crystal_axes axes;
    int n = 0;

    NB_TRY(make_tangents(sim, nb_ndense(sim)));
    NB_TRY(crystal_derive(sim->ctx, scene, &axes));
    for (size_t i = 0; i < sim->params.n; i++)
        if (!params_is_f(&sim->params, i))
            simulator_tangent(sim, scene, &axes, frame, i, 1, &one, sim->device.dot + n++);
    rows->n = n;
    rows->dot = sim->device.dot;
    return NB_OK;
}

/* ---- runs ---- */

/* *done 0: the host is to compute, as if the device had not been asked */
static nb_status run_derivatives(nb_simulator *sim, const nb_scene *scene,
                                 const struct phys_frame *frame,
                                 const struct gpu_derivatives_job *rows,
                                 struct gpu_derivatives_sums *sums, int *done)
{
    const struct job job = simulator_job(sim, scene, frame, NULL);
    const struct derivatives_launch call = {rows, sums};
    const int n = rows->end == REDUCE_NOTHING ? rows->n : 0;
    const char *why = reason_of(sim, &job, rows);
    char words[CONTEXT_MESSAGE / 2];
    nb_status status;

    *done = 0;
    if (why) return stay_on_host(sim, why, 0);
    status = plans_run(sim, n > 0 ? PLAN_JACOBIAN : PLAN_ADJOINT, n, &job, launch_sums,
                       &call, NULL);
    (void)snprintf(words, sizeof words, "%.400s", sim->ctx->message);
    if (status == NB_ERR_DEVICE) return device_lost(sim);
    if (status == NB_ERR_MEMORY) { /* images need less */
        gpu_derivatives_drop(&sim->device.scene);
        return stay_on_host(sim, words, 0);
    }
    if (status == NB_ERR_UNSUPPORTED
        && !(sim->ctx->env.strict && sim->ctx->device == NB_CUDA))
        return stay_on_host(sim, words, 1);
    *done = status == NB_OK;
    if (*done) sim->device.derivatives_why[0] = '\0';
    return status;
}

/* the cotangents of structure factors are asked for */
static nb_status make_f(nb_simulator *sim, double **out)
{
    const int wants_f = sim->params.f.n > 0 || sim->nunlisted > 0;

    *out = NULL;
    if (!wants_f) return NB_OK;
    *out = calloc(hkl_box_size(&sim->hkl) + 1, sizeof **out);
    return *out ? NB_OK : fail_memory(sim->ctx, "cotangents of structure factors");
}

/* a gradient along dense parameters, and the cotangents of structure factors, in the order
 * of x */
static void gather(const nb_simulator *sim, const struct gpu_derivatives_sums *sums,
                   double *bar_x)
{
    const struct phys_frame_tangent *dot = sim->device.dot;
    int dense = 0;

    for (size_t i = 0; i < sim->params.n; i++) {
        if (params_is_f(&sim->params, i)) continue;
        bar_x[i] += sums->gradient[dense];
        for (size_t k = 0; dot[dense].default_f != 0 && k < sim->nunlisted; k++)
            bar_x[i] += dot[dense].default_f * sums->f[sim->unlisted[k]];
        dense++;
    }
    if (sums->f) params_gather_f(&sim->params, sums->f, bar_x);
}

nb_status device_gradient(nb_simulator *sim, const nb_scene *scene,
                          const struct phys_frame *frame,
                          const struct gpu_derivatives_job *pulls, double *value,
                          double *bar_x, int *done)
{
    struct gpu_derivatives_job rows = *pulls;
    struct gpu_derivatives_sums sums = {0};
    nb_status status = NB_OK;

    *done = 0;
    if (!sim->device.scene.gpu) return NB_OK;
    if (always_against(sim)) return stay_on_host(sim, always_against(sim), is_off(sim));
    NB_TRY(find_tangents(sim, scene, frame, &rows));
    sums.gradient = calloc(nb_ndense(sim) + 1, sizeof *sums.gradient);
    if (!sums.gradient) status = fail_memory(sim->ctx, "a gradient");
    if (status == NB_OK) status = make_f(sim, &sums.f);
    if (status == NB_OK) status = run_derivatives(sim, scene, frame, &rows, &sums, done);
    if (*done) *value = sums.value;
    if (*done && (rows.end == REDUCE_COTANGENT || isfinite(sums.value)))
        gather(sim, &sums, bar_x);
    free(sums.gradient);
    free(sums.f);
    return status;
}

/* ---- the normal matrix ---- */

/* sums into what the caller asked for */
static void deliver(const struct gpu_derivatives_sums *sums, size_t n, const nb_normal *out)
{
    for (size_t i = 0; out->matrix && i < n * n; i++) out->matrix[i] += sums->matrix[i];
    for (size_t i = 0; i < n; i++) {
        if (out->diagonal) out->diagonal[i] += sums->matrix[i * (n + 1)];
        if (out->gradient) out->gradient[i] += sums->gradient[i];
    }
}

nb_status device_normal(nb_simulator *sim, const nb_scene *scene,
                        const struct phys_frame *frame,
                        const struct gpu_derivatives_job *pulls, double *value,
                        const nb_normal *out, int *done)
{
    const size_t n = nb_ndense(sim);
    struct gpu_derivatives_job rows = *pulls;
    struct gpu_derivatives_sums sums = {0};
    nb_status status = NB_OK;

    *done = 0;
    if (!sim->device.scene.gpu) return NB_OK;
    if (always_against(sim)) return stay_on_host(sim, always_against(sim), is_off(sim));
    if (sim->params.f.n > 0 || sim->nunlisted > 0)
        return stay_on_host(sim, "a normal matrix of structure factors", 0);
    NB_TRY(find_tangents(sim, scene, frame, &rows));
    sums.gradient = calloc(n, sizeof *sums.gradient);
    sums.matrix = calloc(n * n, sizeof *sums.matrix);
    if (!sums.gradient || !sums.matrix) status = fail_memory(sim->ctx, "a normal matrix");
    if (status == NB_OK) status = run_derivatives(sim, scene, frame, &rows, &sums, done);
    if (*done) *value = sums.value;
    if (*done && isfinite(sums.value)) deliver(&sums, n, out);
    free(sums.gradient);
    free(sums.matrix);
    return status;
}

/* ---- tangents of the image ---- */

static int turns_f(const nb_simulator *sim, int n, const struct phys_frame_tangent *dot,
                   const double *f_dot)
{
    const size_t nf = sim->params.f.n;

    for (size_t i = 0; i < (size_t)n * nf; i++)
        if (f_dot[i] != 0) return 1;
    for (int d = 0; d < n; d++)
        if (dot[d].default_f != 0 && sim->nunlisted > 0) return 1;
    return 0;
}

/* images to where they are wanted, in their type */
static void deliver_changes(const nb_simulator *sim, int n, const double *change,
                            nb_array *image)
{
    const size_t nfast = (size_t)sim->window.nfast;
    const size_t pixels = (size_t)sim->window.nslow * nfast;

    for (int d = 0; d < n; d++)
        for (int s = 0; s < sim->window.nslow; s++)
            for (int f = 0; f < sim->window.nfast; f++)
                array_set(image + d, s, f,
                          change[(size_t)d * pixels + (size_t)s * nfast + (size_t)f]);
}

nb_status device_changes(nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame, int n,
                         const struct tangents_work *along, nb_array *image, int *done)
{
    const size_t pixels = (size_t)sim->window.nslow * (size_t)sim->window.nfast;
    struct gpu_derivatives_job rows = {0};
    struct gpu_derivatives_sums sums = {0};
    double *change[TANGENTS_AT_ONCE], *workspace;
    nb_status status;

    *done = 0;
    if (!sim->device.scene.gpu) return NB_OK;
    if (always_against(sim)) return stay_on_host(sim, always_against(sim), is_off(sim));
    if (turns_f(sim, n, along->jacobian.dot, along->f_dot))
        return stay_on_host(sim, "tangents along structure factors", 0);
    workspace = calloc((size_t)n * pixels, sizeof *workspace);
    if (!workspace) return stay_on_host(sim, "images of tangents take too much memory", 0);
    for (int d = 0; d < n; d++) change[d] = workspace + (size_t)d * pixels;
    rows.n = n;
    rows.dot = along->jacobian.dot;
    rows.end = REDUCE_NOTHING;
    sums.change = change;
    status = run_derivatives(sim, scene, frame, &rows, &sums, done);
    if (*done) deliver_changes(sim, n, workspace, image);
    free(workspace);
    return status;
}

/* ---- what pulls ---- */

nb_status device_check_input(nb_simulator *sim, const nb_array *array, const char *name,
                             int derives)
{
    const int nslow = sim->window.nslow, nfast = sim->window.nfast;
    const struct gpu *gpu = sim->device.scene.gpu;
    const char *why = !gpu       ? sim->device.why
                      : derives  ? always_against(sim)
                      : sim->psf ? "behind a point spread"
                                 : NULL;

    if (!array) return NB_OK;
    if (array->device != NB_CUDA)
        return array_check(sim->ctx, array, name, nslow, nfast, NB_FLOAT, 32, 64);
    NB_TRY(array_check_on_device(sim->ctx, array, name, nslow, nfast));
    if (array->name) name = array->name;
    if (why)
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "%s lies on a CUDA device, but the cpu computes (%s); pass one in host "
                    "memory",
                    name, why);
    NB_TRY(device_check_place(sim, array, name));
    if (!array_is_dense(array))
        return fail(sim->ctx, NB_ERR_SHAPE,
                    "%s is a view with strides on a CUDA device; pass a dense copy", name);
    return NB_OK;
}

nb_status device_check_host(const nb_simulator *sim, const nb_array *array,
                            const char *name)
{
    const struct device *d = &sim->device;

    if (!array || array->device != NB_CUDA) return NB_OK;
    return fail(sim->ctx, d->lost ? NB_ERR_DEVICE : NB_ERR_UNSUPPORTED,
                "%s lies on a CUDA device, but the cpu computes (%s); pass one in host "
                "memory",
                array->name ? array->name : name,
                d->scene.gpu ? d->derivatives_why : d->why);
}

struct gpu_input device_input(const nb_array *array)
{
    struct gpu_input input = {0};

    if (!array) return input;
    input.bits = array->bits;
    input.stride[0] = array_stride(array, 0);
    input.stride[1] = array_stride(array, 1);
    if (array->device == NB_CUDA)
        input.device = (gpu_address)(uintptr_t)array->data;
    else
        input.host = array->data;
    return input;
}

struct gpu_loss_job device_target(const nb_target *target)
{
    const struct gpu_loss_job job = {target_model(target), device_input(target->observed),
                                     device_input(target->weight)};

    return job;
}
