/*
 * hot.c - counts the uses of image kernels, builds specialised kernels for those used often
 * on a background thread, and verifies that they give the same bits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/hot.h"

#include <limits.h>
#include <string.h>

#include "base/log.h"
#include "compile/jit/built_kernels.h"
#include "gpu/text/frame_flags.h"

/* MOST is the number of bits in struct gpu_verifications. Further kernels are never
 * specialised. */
enum { MOST = 64, THREADS = GPU_FAST * GPU_SLOW };
_Static_assert((int)MOST <= (int)REGISTRY_MOST, "a registry holds as many");

/* Returns the kernel, compiled with the library, that an entry specialises. */
static struct gpu_kernel kernel_of(const struct kernel_entry *entry)
{
    const struct kernel_key *key = &entry->key;
    const struct gpu_kernel kernel = {GPU_IMAGE, key->shape, key->lookup, key->single,
                                      NULL};

    return kernel;
}

static const char *kernel_name(const struct kernel_entry *entry)
{
    const struct gpu_kernel kernel = kernel_of(entry);

    return gpu_kernel_name(&kernel);
}

/* ---- building ---- */

static nb_status begin_build(nb_context *ctx, const struct gpu *gpu,
                             struct kernel_entry *entry)
{
    struct kernel_registry *hot = gpu->hot;
    const struct gpu_kernel kernel = kernel_of(entry);
    const unsigned flags = entry->key.frame_flags;
    const char *name = kernel_name(entry);
    char reason[REGISTRY_REASON];

    entry->state = KERNEL_ABANDONED;
    if (hot->nvrtc_missing[0] || registry_is_full(ctx, hot, &entry->key, entry->why))
        return NB_OK;
    build_begin(ctx, &gpu->properties, "gpu/text/kernels.cu", &kernel, &hot->build);
    /* Code for the same architecture as the library's kernel has the same bits; code for
     * another one may differ. */
    hot->build.job.as = gpu->properties.code;
    nvrtc_option(&hot->build.job.request, "-DGPU_FRAME_FLAGS=%u", flags);
    if (build_start(&hot->build) != 0)
        return context_fall_back(ctx, "hot path: no thread can be started to build %s",
                                 name);
    entry->state = KERNEL_BEING_BUILT;
    hot->building = entry;
    log_topic(ctx, TOPIC_HOTPATH,
              "%s in %s was used %d times; building it for frame flags %#x: %s", name,
              build_precision_name(kernel.single), entry->uses, flags,
              registry_change(hot, &entry->key, reason));
    return NB_OK;
}

static nb_status end_build(nb_context *ctx, struct gpu_scene *scene)
{
    struct kernel_registry *hot = scene->gpu->hot;
    struct kernel_entry *entry = hot->building;

    build_join(&hot->build, 0);
    hot->building = NULL;
    return registry_finish(ctx, scene, hot, entry, kernel_name(entry));
}

/* ---- verification ---- */

/* Compute the partial sums of a kernel. Their memory is first filled with NaN, so that no
 * sum can be left over from another kernel. */
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

/* Compare the partial sums of two kernels bit by bit, in `blocks` blocks. `sums` has space
 * for the sums of both. */
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

/* Compare two kernels on one row of tiles: the middle row in the first call, and the next
 * row in each later call. */
static nb_status compare_row(nb_context *ctx, struct gpu_scene *scene,
                             const struct kernel_entry *entry,
                             const struct gpu_layout *layout,
                             struct gpu_parameters parameters, enum verdict *out)
{
    struct gpu_kernel kernels[2] = {kernel_of(entry), kernel_of(entry)};
    const size_t blocks = (size_t)layout->across * (size_t)layout->segments;
    const int row = (layout->down / 2 + scene->verifications.compared) % layout->down;
    double *sums =
        gpu_workspace(ctx, &scene->staged, 2 * blocks * THREADS * sizeof *sums, NULL);

    *out = TOO_DARK;
    if (!sums) return NB_OK; /* there is no memory now; a later call compares */
    kernels[1].runtime = entry->module;
    scene->verifications.compared += scene->verifications.compared < INT_MAX / 2;
    parameters.first_slow = layout->first_slow + GPU_SLOW * row;
    parameters.down = 1;
    NB_TRY(gpu_send_parameters(ctx, scene, &parameters, sizeof parameters));
    return compare(ctx, scene, kernels, blocks, sums, out);
}

/* Stop using a kernel for good. A kernel in use stays loaded, because other scenes may have
 * recorded launches of it. */
static void abandon(const struct gpu *gpu, struct kernel_entry *entry)
{
    if (entry->state == KERNEL_LOADED) registry_unload(gpu, entry);
    entry->state = KERNEL_ABANDONED;
}

static nb_status verify(nb_context *ctx, struct gpu_scene *scene,
                        struct kernel_entry *entry, uint64_t bit,
                        const struct gpu_layout *layout,
                        const struct gpu_parameters *parameters)
{
    enum verdict verdict;
    const char *name = kernel_name(entry);

    NB_TRY(compare_row(ctx, scene, entry, layout, *parameters, &verdict));
    if (verdict == TOO_DARK) return NB_OK;
    if (verdict == OTHER) {
        abandon(scene->gpu, entry);
        return context_fall_back(ctx, "%s built at run time gives other bits: not used",
                                 name);
    }
    scene->verifications.verified |= bit;
    if (entry->state == KERNEL_IN_USE) return NB_OK;
    entry->state = KERNEL_IN_USE;
    scene->hot.promotions++;
    log_topic(ctx, TOPIC_HOTPATH,
              "promoted %s in %s for frame flags %#x: it gave the same bits", name,
              build_precision_name(entry->key.single), entry->key.frame_flags);
    return NB_OK;
}

/* ---- uses ---- */

nb_status hot_kernel(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                     const struct gpu_layout *layout,
                     const struct gpu_parameters *parameters, struct gpu_kernel *kernel)
{
    const struct kernel_key key = {.shape = kernel->shape,
                                   .lookup = kernel->lookup,
                                   .single = kernel->single,
                                   .frame_flags =
                                       frame_flags_of(job->frame, layout->parts)};
    struct kernel_registry *hot;
    struct kernel_entry *entry;
    uint64_t bit;

    if (!job->planned || ctx->env.hot_threshold == 0) return NB_OK;
    hot = registry_open(&scene->gpu->hot, "image kernels");
    /* without memory, the kernel compiled with the library is used */
    if (!hot) return NB_OK;
    if (hot->building && atomic_load(&hot->build.done)) NB_TRY(end_build(ctx, scene));
    entry = registry_entry(hot, &key, MOST);
    if (!entry) return NB_OK;
    bit = (uint64_t)1 << (entry - hot->entries);
    entry->uses += entry->uses < ctx->env.hot_threshold;
    if (entry->state == KERNEL_NEW && entry->uses >= ctx->env.hot_threshold
        && !hot->building)
        NB_TRY(begin_build(ctx, scene->gpu, entry));
    if ((entry->state == KERNEL_LOADED || entry->state == KERNEL_IN_USE)
        && !(scene->verifications.verified & bit))
        NB_TRY(verify(ctx, scene, entry, bit, layout, parameters));
    if (entry->state == KERNEL_IN_USE && scene->verifications.verified & bit)
        kernel->runtime = entry->module;
    return NB_OK;
}

int hot_is_busy(const struct gpu *gpu)
{
    return gpu->hot && gpu->hot->building && !atomic_load(&gpu->hot->build.done);
}
