/*
 * derivative_kernels.c - finds, builds and loads a device's kernels for derivatives.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/derivative_kernels.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "compile/jit/built_kernels.h"

_Static_assert(CLASSES *PHYS_SHAPES *PHYS_LOOKUPS * 2 <= REGISTRY_MOST,
               "a registry holds all kernels");

static const struct {
    const char *name;
    int rotations;
} classes[CLASSES] = {{"FRAME", 0}, {"TURNED", 4}, {"FEW", 4}, {"MANY", 8}, {"F", 0}};

int derivative_kernel_rotations(enum gpu_derivatives_class class)
{
    return classes[class].rotations;
}

/* Write the name that a kernel has in derivatives.cu. */
static const char *kernel_name(const struct kernel_key *key, char out[REGISTRY_NAME])
{
    const char *shape = build_shape_name(key->shape, key->lookup);
    const char *lookup = build_lookup_name(key->shape, key->lookup);

    if (key->class == classes[CLASS_F].name)
        (void)snprintf(out, REGISTRY_NAME, "f_%s_%s", shape, lookup);
    else
        (void)snprintf(out, REGISTRY_NAME, "jacobian_%s_%s_%s", shape, lookup, key->class);
    return out;
}

static nb_status refuse(nb_context *ctx, const char *why)
{
    return fail(ctx, NB_ERR_UNSUPPORTED, "%s", why);
}

/* Wait until the build is done, or until the context's progress handler stops it. */
static void wait_for(struct progress *progress, struct build *build)
{
    enum { SHORTEST = 100 * 1000, LONGEST = 20 * 1000 * 1000 };
    struct timespec nap = {0, SHORTEST};
    int stopped = 0;

    while (!atomic_load(&build->done) && !stopped) {
        (void)nanosleep(&nap, NULL);
        if (nap.tv_nsec < LONGEST) nap.tv_nsec *= 2;
        stopped = progress_asked(progress);
    }
    build_join(build, stopped);
}

/* End a build: report its result, and load its code to the device. */
static nb_status finish_build(nb_context *ctx, struct gpu_scene *scene,
                              struct kernel_registry *all, struct kernel_entry *entry)
{
    const struct cubin_counts *counts = &all->build.job.counts;
    char name[REGISTRY_NAME];
    nb_status status;

    (void)kernel_name(&entry->key, name);
    if (counts->built > 0)
        log_line(ctx, NB_LOG_INFO, "hotpath", "built %s in %s in %.1f s", name,
                 build_precision_name(entry->key.single), counts->seconds);
    status = registry_finish(ctx, scene, all, entry, name);
    return entry->state == KERNEL_LOADED ? status : refuse(ctx, entry->why);
}

static nb_status build(struct progress *progress, struct gpu_scene *scene,
                       struct kernel_registry *all, struct kernel_entry *entry)
{
    nb_context *ctx = progress->ctx;
    const struct kernel_key *key = &entry->key;
    const struct gpu_kernel kernel = {GPU_DERIVATIVES, key->shape, key->lookup, key->single,
                                      NULL};
    char name[REGISTRY_NAME], why[REGISTRY_WHY];
    nb_status status;

    if (all->nvrtc_missing[0]) return refuse(ctx, all->nvrtc_missing);
    if (registry_is_full(ctx, all, key, why)) return refuse(ctx, why);
    build_begin(ctx, &scene->gpu->properties, "gpu/text/derivatives/derivatives.cu",
                &kernel, &all->build);
    all->build.job.request.timeout = ctx->env.wait_timeout;
    nvrtc_option(&all->build.job.request, "-DGPU_ONLY_CLASS=JACOBIAN_%s", key->class);
    if (build_start(&all->build) != 0)
        return fail(ctx, NB_ERR_UNSUPPORTED, "no thread can be started to build %s",
                    kernel_name(key, name));
    wait_for(progress, &all->build);
    status = progress_check(progress); /* a build that was stopped may be tried again */
    if (status == NB_OK) return finish_build(ctx, scene, all, entry);
    cubin_free(&all->build.job.cubin);
    return status;
}

/* ---- kernels compiled with the library, used if NVRTC is missing ---- */

static const void *built_code(const struct gpu *gpu, struct phys_spec spec, int single)
{
    return gpu->driver->built(gpu->device, spec.shape, spec.lookup, single);
}

static int uses_built(const nb_context *ctx, const struct gpu *gpu,
                      struct kernel_registry *all, struct phys_spec spec, int single)
{
    struct nvrtc nvrtc;
    char why[NVRTC_WHY];

    if (!built_code(gpu, spec, single)) return 0;
    if (all->nvrtc == NVRTC_UNKNOWN)
        all->nvrtc = nvrtc_open(ctx->nvrtc, gpu->properties.version, &nvrtc, why) == NB_OK
                         ? NVRTC_THERE
                         : NVRTC_ABSENT;
    return all->nvrtc == NVRTC_ABSENT;
}

enum gpu_derivatives_class derivative_kernel_class(struct gpu *gpu, struct phys_spec spec,
                                                   enum gpu_derivatives_class wanted,
                                                   int single)
{
    struct kernel_registry *all =
        registry_open(&gpu->derivative_kernels, "derivative kernels");

    return all && uses_built(gpu->ctx, gpu, all, spec, single) ? CLASS_FEW : wanted;
}

/* Load a kernel that was compiled with the library to PTX, which the driver now
 * compiles. */
static nb_status load_built(nb_context *ctx, const struct gpu *gpu, struct phys_spec spec,
                            struct kernel_entry *entry)
{
    const void *code = built_code(gpu, spec, entry->key.single);
    char name[REGISTRY_NAME];

    log_line(ctx, NB_LOG_INFO, "hotpath",
             "there is no NVRTC; the driver compiles %s in %s of the build",
             kernel_name(&entry->key, name), build_precision_name(entry->key.single));
    entry->state = KERNEL_LOADED;
    if (gpu->driver->load(ctx, gpu->device, code, 0, name, &entry->module) == NB_OK)
        return NB_OK;
    entry->module = NULL;
    entry->state = KERNEL_ABANDONED;
    (void)snprintf(entry->why, REGISTRY_WHY, "%s of the build: %.250s", name, ctx->message);
    NB_TRY(context_fall_back(ctx, "%s", entry->why));
    return refuse(ctx, entry->why);
}

nb_status derivative_kernel(struct progress *progress, struct gpu_scene *scene,
                            const struct job *job, enum gpu_derivatives_class class,
                            int single, struct gpu_kernel *out)
{
    const struct kernel_key key = {.shape = job->spec.shape,
                                   .lookup = job->spec.lookup,
                                   .single = single,
                                   .class = classes[class].name};
    struct kernel_registry *all =
        registry_open(&scene->gpu->derivative_kernels, "derivative kernels");
    struct kernel_entry *entry;

    if (!all) return fail_memory(progress->ctx, "kernels of derivatives");
    entry = registry_entry(all, &key, REGISTRY_MOST);
    assert(entry);
    if (entry->state == KERNEL_ABANDONED) return refuse(progress->ctx, entry->why);
    if (entry->state == KERNEL_NEW && class == CLASS_FEW
        && uses_built(progress->ctx, scene->gpu, all, job->spec, single))
        NB_TRY(load_built(progress->ctx, scene->gpu, job->spec, entry));
    if (entry->state == KERNEL_NEW) NB_TRY(build(progress, scene, all, entry));
    out->work = class == CLASS_F ? GPU_F : GPU_DERIVATIVES;
    out->shape = key.shape;
    out->lookup = key.lookup;
    out->single = single;
    out->runtime = entry->module;
    return NB_OK;
}
