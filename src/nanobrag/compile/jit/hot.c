/*
 * hot.c - counts the uses of kernels, builds specialised ones for those used often on one
 * background thread, and verifies that they give the same bits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/hot.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "compile/jit/build.h"
#include "gpu/text/frame_flags.h"

/* MOST_ENTRIES is the number of bits in struct gpu_verifications. */
enum { MOST_ENTRIES = 64, THREADS = GPU_FAST * GPU_SLOW, REASON = 96 };

/* the properties that a kernel is built for */
struct key {
    int shape, lookup, single;
    unsigned frame_flags;
};

enum state {
    COUNTED, /* its uses are counted until it is hot */
    BEING_BUILT,
    LOADED, /* built, but not verified in any scene */
    IN_USE, /* used in the scenes where it was verified */
    ABANDONED /* the kernel of the build is used for good */
};

struct entry {
    struct key key;
    enum state state;
    int uses;
    void *module; /* of the driver; NULL: not loaded */
};

struct hot {
    struct entry entries[MOST_ENTRIES]; /* kernels beyond these are never specialised */
    int n;
    int builds; /* builds by NVRTC, which count towards the limit */
    int limit_reported;
    int nvrtc_missing; /* 1: NVRTC cannot be opened */
    struct key last; /* the kernel built last */
    struct entry *building; /* NULL: no build is running */
    struct build build;
};

/* ---- names ---- */

static const char *shape_name(const struct key *key)
{
    return build_shape_name(key->shape, key->lookup);
}

static const char *lookup_name(const struct key *key)
{
    return build_lookup_name(key->shape, key->lookup);
}

static const char *precision_name(const struct key *key)
{
    return build_precision_name(key->single);
}

static const char *kernel_name(const struct key *key)
{
    const struct gpu_kernel kernel = {GPU_IMAGE, key->shape, key->lookup, key->single,
                                      NULL};

    return gpu_kernel_name(&kernel);
}

/* Describe the first property in which a kernel differs from the one built before it. */
static const char *describe_change(const struct hot *hot, const struct key *key,
                                   char out[REASON])
{
    static const char *const properties[] = {"samples of a pixel",
                                             "sensor layers",
                                             "sources",
                                             "parts of a tile",
                                             "factors of each source",
                                             "factors of each sample"};
    const struct key *last = &hot->last;
    const unsigned changed = last->frame_flags ^ key->frame_flags;
    int i = 0;

    if (hot->builds == 0)
        (void)snprintf(out, REASON, "first of its kind");
    else if (last->shape != key->shape)
        (void)snprintf(out, REASON, "shape: %s -> %s", shape_name(last), shape_name(key));
    else if (last->lookup != key->lookup)
        (void)snprintf(out, REASON, "look-up: %s -> %s", lookup_name(last),
                       lookup_name(key));
    else if (last->single != key->single || changed == 0)
        (void)snprintf(out, REASON, "precision: %s -> %s", precision_name(last),
                       precision_name(key));
    else {
        while (!(changed >> i & 1)) i++;
        (void)snprintf(out, REASON, "%s: %s", properties[i],
                       key->frame_flags >> i & 1 ? (i < 4 ? "more -> 1" : "some -> none")
                                                 : (i < 4 ? "1 -> more" : "none -> some"));
    }
    return out;
}

/* ---- building ---- */

/* 1 when the limit of builds by NVRTC is reached, which is reported once. */
static int is_at_limit(const nb_context *ctx, struct hot *hot, const struct key *key)
{
    char reason[REASON];

    if (hot->builds < ctx->env.recompile_limit) return 0;
    if (hot->limit_reported++) return 1;
    (void)describe_change(hot, key, reason);
    log_line(ctx, NB_LOG_WARNING, "hotpath",
             "hit recompile_limit (%d) of image kernels, last reason: %s",
             ctx->env.recompile_limit, reason);
    log_topic(ctx, TOPIC_HOTPATH,
              "hit recompile_limit (%d) of image kernels, last reason: %s",
              ctx->env.recompile_limit, reason);
    return 1;
}

static nb_status begin_build(nb_context *ctx, struct gpu *gpu, struct entry *entry)
{
    struct hot *hot = gpu->hot;
    const struct key *key = &entry->key;
    const struct gpu_kernel kernel = {GPU_IMAGE, key->shape, key->lookup, key->single,
                                      NULL};
    char reason[REASON];

    entry->state = ABANDONED;
    if (hot->nvrtc_missing || is_at_limit(ctx, hot, &entry->key)) return NB_OK;
    build_begin(ctx, &gpu->properties, "gpu/text/kernels.cu", &kernel, &hot->build);
    nvrtc_option(&hot->build.job.request, "-DGPU_FRAME_FLAGS=%u", key->frame_flags);
    if (build_start(&hot->build) != 0)
        return context_fall_back(ctx, "hot path: no thread can be started to build %s",
                                 kernel_name(&entry->key));
    entry->state = BEING_BUILT;
    hot->building = entry;
    log_topic(ctx, TOPIC_HOTPATH,
              "%s in %s was used %d times; building it for frame flags %#x: %s",
              kernel_name(&entry->key), precision_name(&entry->key), entry->uses,
              entry->key.frame_flags, describe_change(hot, &entry->key, reason));
    return NB_OK;
}

/* Load the code of a finished job to the device. */
static nb_status load(nb_context *ctx, struct gpu *gpu, struct entry *entry)
{
    const struct cubin *cubin = &gpu->hot->build.job.cubin;
    const char *name = kernel_name(&entry->key);

    if (!cubin->bytes) return NB_OK;
    if (gpu->driver->load(ctx, gpu->device, cubin->bytes, cubin->size, name, &entry->module)
        != NB_OK) {
        char words[CONTEXT_MESSAGE / 4];

        (void)snprintf(words, sizeof words, "%.250s", ctx->message);
        entry->module = NULL;
        return context_fall_back(ctx, "%s built at run time: %s", name, words);
    }
    entry->state = LOADED;
    return NB_OK;
}

static nb_status end_build(nb_context *ctx, struct gpu_scene *scene)
{
    struct gpu *gpu = scene->gpu;
    struct hot *hot = gpu->hot;
    const struct cubin_counts *counts = &hot->build.job.counts;
    struct entry *entry = hot->building;
    nb_status status, loaded;

    build_join(&hot->build, 0);
    hot->building = NULL;
    hot->nvrtc_missing = hot->build.job.version[0] == 0;
    hot->builds += (int)(counts->built + counts->failed);
    hot->last = entry->key;
    scene->hot.builds += counts->built;
    scene->hot.hits += counts->hits;
    scene->hot.misses += counts->misses;
    entry->state = ABANDONED;
    status = cubin_job_end(ctx, &hot->build.job, NULL);
    loaded = load(ctx, gpu, entry);
    cubin_free(&hot->build.job.cubin);
    return status != NB_OK ? status : loaded;
}

/* ---- verification ---- */

/* Compute the partial sums of a kernel over memory filled with NaN, so that none can be
 * left from another kernel. */
static nb_status partial_sums(nb_context *ctx, struct gpu_scene *scene,
                              const struct gpu_kernel *kernel, size_t blocks, double *out)
{
    const struct gpu *gpu = scene->gpu;
    const struct gpu_driver *driver = gpu->driver;
    const struct gpu_launch launch = {*kernel, (unsigned)blocks, 0, 0};
    const size_t bytes = blocks * THREADS * sizeof *out;

    memset(out, 0xff, bytes);
    NB_TRY(driver->upload(ctx, gpu->device, scene->partial.address, out, bytes));
    NB_TRY(driver->launch(ctx, gpu->device, &launch, scene->parameters.address));
    NB_TRY(driver->download(ctx, gpu->device, out, scene->partial.address, bytes));
    return driver->wait(ctx, gpu->device);
}

static int is_dark(const double *sums, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sums[i] != 0) return 0;
    return 1;
}

enum verdict { SAME, OTHER, TOO_DARK };

/* Compare the bits of two kernels in `blocks` blocks. `sums` has space for the sums of
 * both. */
static nb_status compare(nb_context *ctx, struct gpu_scene *scene,
                         const struct gpu_kernel *kernels, size_t blocks, double *sums,
                         enum verdict *out)
{
    const size_t n = blocks * THREADS;

    NB_TRY(partial_sums(ctx, scene, kernels, blocks, sums));
    NB_TRY(partial_sums(ctx, scene, kernels + 1, blocks, sums + n));
    if (memcmp(sums, sums + n, n * sizeof *sums) != 0)
        *out = OTHER;
    else
        *out = is_dark(sums, n) ? TOO_DARK : SAME;
    return NB_OK;
}

/* Compare on one row of tiles; successive calls start at the middle and go down. */
static nb_status compare_row(nb_context *ctx, struct gpu_scene *scene,
                             const struct entry *entry, const struct gpu_layout *layout,
                             struct gpu_parameters parameters, enum verdict *out)
{
    const struct key *key = &entry->key;
    const struct gpu_kernel kernels[2] = {{GPU_IMAGE, key->shape, key->lookup, key->single,
                                           NULL},
                                          {GPU_IMAGE, key->shape, key->lookup, key->single,
                                           entry->module}};
    const size_t blocks = (size_t)layout->across * (size_t)layout->segments;
    const int row = (layout->down / 2 + scene->verifications.compared) % layout->down;
    double *sums = malloc(2 * blocks * THREADS * sizeof *sums);
    nb_status status;

    *out = TOO_DARK;
    if (!sums) return NB_OK; /* there is no memory now; a later call compares */
    scene->verifications.compared += scene->verifications.compared < INT_MAX / 2;
    parameters.first_slow = layout->first_slow + GPU_SLOW * row;
    parameters.down = 1;
    status = gpu_put(ctx, scene->gpu, &scene->parameters, &parameters, sizeof parameters);
    if (status == NB_OK) status = compare(ctx, scene, kernels, blocks, sums, out);
    free(sums);
    return status;
}

static void unload(struct gpu *gpu, struct entry *entry)
{
    if (entry->module) gpu->driver->unload(gpu->device, entry->module);
    entry->module = NULL;
}

/* Stop using a kernel for good. One that is in use stays loaded, since other scenes may
 * have recorded launches of it. */
static void abandon(struct gpu *gpu, struct entry *entry)
{
    if (entry->state == LOADED) unload(gpu, entry);
    entry->state = ABANDONED;
}

static nb_status verify(nb_context *ctx, struct gpu_scene *scene, struct entry *entry,
                        uint64_t bit, const struct gpu_layout *layout,
                        const struct gpu_parameters *parameters)
{
    enum verdict verdict;
    const char *name = kernel_name(&entry->key);

    NB_TRY(compare_row(ctx, scene, entry, layout, *parameters, &verdict));
    if (verdict == TOO_DARK) return NB_OK;
    if (verdict == OTHER) {
        abandon(scene->gpu, entry);
        return context_fall_back(ctx, "%s built at run time gives other bits: not used",
                                 name);
    }
    scene->verifications.verified |= bit;
    if (entry->state == IN_USE) return NB_OK;
    entry->state = IN_USE;
    scene->hot.promotions++;
    log_topic(ctx, TOPIC_HOTPATH,
              "promoted %s in %s for frame flags %#x: it gave the same bits", name,
              precision_name(&entry->key), entry->key.frame_flags);
    return NB_OK;
}

/* ---- uses ---- */

/* Find or add the entry of a kernel; NULL: there are too many. */
static struct entry *entry_of(struct hot *hot, const struct key *key)
{
    for (int i = 0; i < hot->n; i++)
        if (memcmp(&hot->entries[i].key, key, sizeof *key) == 0) return &hot->entries[i];
    if (hot->n == MOST_ENTRIES) return NULL;
    hot->entries[hot->n].key = *key;
    return &hot->entries[hot->n++];
}

nb_status hot_kernel(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                     const struct gpu_layout *layout,
                     const struct gpu_parameters *parameters, struct gpu_kernel *kernel)
{
    struct gpu *gpu = scene->gpu;
    const struct key key = {kernel->shape, kernel->lookup, kernel->single,
                            frame_flags_of(job->frame, layout->parts)};
    struct entry *entry;
    uint64_t bit;

    if (!job->planned || ctx->env.hot_threshold == 0) return NB_OK;
    if (!gpu->hot) gpu->hot = calloc(1, sizeof *gpu->hot);
    if (!gpu->hot) return NB_OK; /* without memory the kernel of the build is used */
    if (gpu->hot->building && atomic_load(&gpu->hot->build.done))
        NB_TRY(end_build(ctx, scene));
    entry = entry_of(gpu->hot, &key);
    if (!entry) return NB_OK;
    bit = (uint64_t)1 << (entry - gpu->hot->entries);
    entry->uses += entry->uses < ctx->env.hot_threshold;
    if (entry->state == COUNTED && entry->uses >= ctx->env.hot_threshold
        && !gpu->hot->building)
        NB_TRY(begin_build(ctx, gpu, entry));
    if ((entry->state == LOADED || entry->state == IN_USE)
        && !(scene->verifications.verified & bit))
        NB_TRY(verify(ctx, scene, entry, bit, layout, parameters));
    if (entry->state == IN_USE && scene->verifications.verified & bit)
        kernel->runtime = entry->module;
    return NB_OK;
}

int hot_is_busy(const struct gpu *gpu)
{
    return gpu->hot && gpu->hot->building && !atomic_load(&gpu->hot->build.done);
}

void hot_close(struct gpu *gpu)
{
    struct hot *hot = gpu->hot;

    if (!hot) return;
    if (hot->building) {
        build_join(&hot->build, 1);
        cubin_free(&hot->build.job.cubin);
    }
    for (int i = 0; i < hot->n; i++) unload(gpu, &hot->entries[i]);
    free(hot);
    gpu->hot = NULL;
}
