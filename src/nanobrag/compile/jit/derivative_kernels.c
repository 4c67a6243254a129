/*
 * derivative_kernels.c - see derivative_kernels.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/derivative_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "compile/jit/build.h"

enum { NAME = 64, REASON = 96, WHY = 384 };
enum { ENTRIES = CLASSES * PHYS_SHAPES * PHYS_LOOKUPS * 2 };

/* the properties that a kernel is built for */
struct key {
    enum gpu_derivatives_class class;
    int shape, lookup, single;
};

struct entry {
    void *module; /* of the driver; NULL: not loaded */
    char *why; /* why this kernel cannot be built; NULL: it was not tried or it was built */
};

struct gpu_derivatives_kernels {
    struct entry entries[ENTRIES];
    int builds; /* builds by NVRTC, which count towards the limit */
    int limit_reported;
    struct key last; /* the kernel built last */
    char
        nvrtc_missing[WHY]; /* why NVRTC cannot be opened; "": it was not tried or it can */
    struct build build;
};

/* ---- names ---- */

static const struct {
    const char *name;
    int turns;
} classes[CLASSES] = {{"FRAME", 0}, {"TURNED", 4}, {"FEW", 4}, {"MANY", 8}, {"F", 0}};

int derivative_kernel_turns(enum gpu_derivatives_class class)
{
    return classes[class].turns;
}

/* the name of the kernel in derivatives.cu */
static const char *kernel_name(const struct key *key, char out[NAME])
{
    const char *shape = build_shape_name(key->shape, key->lookup);
    const char *lookup = build_lookup_name(key->shape, key->lookup);

    if (key->class == CLASS_F)
        (void)snprintf(out, NAME, "f_%s_%s", shape, lookup);
    else
        (void)snprintf(out, NAME, "jacobian_%s_%s_%s", shape, lookup,
                       classes[key->class].name);
    return out;
}

/* Describe the first property in which a kernel differs from the one built before it. */
static void describe_change(const struct gpu_derivatives_kernels *all,
                            const struct key *key, char out[REASON])
{
    const struct key *last = &all->last;

    if (all->builds == 0)
        (void)snprintf(out, REASON, "first of its kind");
    else if (last->shape != key->shape)
        (void)snprintf(out, REASON, "shape: %s -> %s",
                       build_shape_name(last->shape, last->lookup),
                       build_shape_name(key->shape, key->lookup));
    else if (last->lookup != key->lookup)
        (void)snprintf(out, REASON, "look-up: %s -> %s",
                       build_lookup_name(last->shape, last->lookup),
                       build_lookup_name(key->shape, key->lookup));
    else if (last->single != key->single)
        (void)snprintf(out, REASON, "precision: %s -> %s",
                       build_precision_name(last->single),
                       build_precision_name(key->single));
    else
        (void)snprintf(out, REASON, "class: %s -> %s", classes[last->class].name,
                       classes[key->class].name);
}

/* ---- kernels that cannot be built ---- */

static nb_status refuse(nb_context *ctx, const char *why)
{
    return fail(ctx, NB_ERR_UNSUPPORTED, "%s", why);
}

/* Record for good why a kernel cannot be built. */
static nb_status give_up(nb_context *ctx, struct entry *entry, const char *why)
{
    entry->why = malloc(WHY);
    if (!entry->why) return fail_memory(ctx, "a reason");
    (void)snprintf(entry->why, WHY, "%s", why);
    return refuse(ctx, entry->why);
}

/* 1 when the limit of builds by NVRTC is reached, which is reported once. */
static int is_at_limit(const nb_context *ctx, struct gpu_derivatives_kernels *all,
                       const struct key *key, char why[WHY])
{
    char reason[REASON];

    if (all->builds < ctx->env.recompile_limit) return 0;
    describe_change(all, key, reason);
    (void)snprintf(why, WHY,
                   "hit recompile_limit (%d) of derivative kernels, last reason: %s",
                   ctx->env.recompile_limit, reason);
    if (all->limit_reported++) return 1;
    log_line(ctx, NB_LOG_WARNING, "hotpath", "%s", why);
    log_topic(ctx, TOPIC_HOTPATH, "%s", why);
    return 1;
}

/* ---- building ---- */

static void prepare_job(const nb_context *ctx, const struct gpu *gpu, const struct key *key)
{
    const struct gpu_kernel kernel = {GPU_DERIVATIVES, key->shape, key->lookup, key->single,
                                      NULL};
    struct build *build = &gpu->derivative_kernels->build;

    build_begin(ctx, &gpu->properties, "gpu/text/derivatives/derivatives.cu", &kernel,
                build);
    build->job.request.timeout = ctx->env.wait_timeout;
    nvrtc_option(&build->job.request, "-DGPU_ONLY_CLASS=JACOBIAN_%s",
                 classes[key->class].name);
}

/* Wait until the build is done, or the progress handler of the context stops it. */
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

static void add_counts(const struct cubin_job *job, const struct key *key,
                       struct gpu_scene *scene)
{
    struct gpu_derivatives_kernels *all = scene->gpu->derivative_kernels;

    all->builds += (int)(job->counts.built + job->counts.failed);
    all->last = *key;
    scene->hot.builds += job->counts.built;
    scene->hot.hits += job->counts.hits;
    scene->hot.misses += job->counts.misses;
    if (job->version[0] == 0) (void)snprintf(all->nvrtc_missing, WHY, "%.300s", job->why);
}

static nb_status load(nb_context *ctx, struct gpu *gpu, const struct key *key,
                      struct entry *entry)
{
    const struct cubin *cubin = &gpu->derivative_kernels->build.job.cubin;
    char name[NAME], why[WHY];
    void *module;

    (void)kernel_name(key, name);
    if (gpu->driver->load(ctx, gpu->device, cubin->bytes, cubin->size, name, &module)
        == NB_OK) {
        entry->module = module;
        return NB_OK;
    }
    (void)snprintf(why, sizeof why, "%s built at run time: %.250s", name, ctx->message);
    (void)context_fall_back(ctx, "%s", why);
    return give_up(ctx, entry, why);
}

/* End a build: report its result, and load its code to the device. */
static nb_status finish_build(nb_context *ctx, struct gpu_scene *scene,
                              const struct key *key, struct entry *entry)
{
    struct cubin_job *job = &scene->gpu->derivative_kernels->build.job;
    char name[NAME], why[WHY];
    nb_status status;

    add_counts(job, key, scene);
    if (job->counts.built > 0)
        log_line(ctx, NB_LOG_INFO, "hotpath", "built %s in %s in %.1f s",
                 kernel_name(key, name), build_precision_name(key->single),
                 job->counts.seconds);
    status = cubin_job_end(ctx, job, NULL);
    if (job->cubin.bytes) {
        NB_TRY(load(ctx, scene->gpu, key, entry));
        return status;
    }
    (void)snprintf(why, sizeof why, "%s: %.300s", kernel_name(key, name), job->why);
    return give_up(ctx, entry, why);
}

static nb_status build(struct progress *progress, struct gpu_scene *scene,
                       const struct key *key, struct entry *entry)
{
    nb_context *ctx = progress->ctx;
    struct gpu_derivatives_kernels *all = scene->gpu->derivative_kernels;
    char name[NAME], why[WHY];
    nb_status status;

    if (all->nvrtc_missing[0]) return refuse(ctx, all->nvrtc_missing);
    if (is_at_limit(ctx, all, key, why)) return refuse(ctx, why);
    prepare_job(ctx, scene->gpu, key);
    if (build_start(&all->build) != 0)
        return fail(ctx, NB_ERR_UNSUPPORTED, "no thread can be started to build %s",
                    kernel_name(key, name));
    wait_for(progress, &all->build);
    status = progress_check(progress); /* a stopped build may be tried again */
    if (status == NB_OK) status = finish_build(ctx, scene, key, entry);
    cubin_free(&all->build.job.cubin);
    return status;
}

nb_status derivative_kernel(struct progress *progress, struct gpu_scene *scene,
                            const struct job *job, enum gpu_derivatives_class class,
                            int single, struct gpu_kernel *out)
{
    const struct key key = {class, job->spec.shape, job->spec.lookup, single};
    struct gpu *gpu = scene->gpu;
    struct entry *entry;
    int at;

    if (!gpu->derivative_kernels)
        gpu->derivative_kernels = calloc(1, sizeof *gpu->derivative_kernels);
    if (!gpu->derivative_kernels)
        return fail_memory(progress->ctx, "kernels of derivatives");
    at = (((int)class * PHYS_SHAPES + key.shape) * PHYS_LOOKUPS + key.lookup) * 2 + single;
    entry = &gpu->derivative_kernels->entries[at];
    if (entry->why) return refuse(progress->ctx, entry->why);
    if (!entry->module) NB_TRY(build(progress, scene, &key, entry));
    out->work = class == CLASS_F ? GPU_F : GPU_DERIVATIVES;
    out->shape = key.shape;
    out->lookup = key.lookup;
    out->single = single;
    out->runtime = entry->module;
    return NB_OK;
}

void derivative_kernels_close(struct gpu *gpu)
{
    struct gpu_derivatives_kernels *all = gpu->derivative_kernels;

    for (int i = 0; all && i < ENTRIES; i++) {
        struct entry *entry = all->entries + i;

        if (entry->module) gpu->driver->unload(gpu->device, entry->module);
        free(entry->why);
    }
    free(all);
    gpu->derivative_kernels = NULL;
}
