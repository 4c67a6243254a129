/*
 * built_kernels.c - keeps the kernels that were built at run time, and counts builds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/built_kernels.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

struct kernel_registry *registry_open(struct kernel_registry **registry, const char *kind)
{
    if (!*registry) *registry = calloc(1, sizeof **registry);
    if (*registry) (*registry)->kind = kind;
    return *registry;
}

void registry_unload(const struct gpu *gpu, struct kernel_entry *entry)
{
    if (entry->module) gpu->driver->unload(gpu->device, entry->module);
    entry->module = NULL;
}

void registry_close(const struct gpu *gpu, struct kernel_registry **registry)
{
    struct kernel_registry *all = *registry;

    if (!all) return;
    if (all->building) {
        build_join(&all->build, 1);
        cubin_free(&all->build.job.cubin);
    }
    for (int i = 0; i < all->n; i++) registry_unload(gpu, all->entries + i);
    free(all);
    *registry = NULL;
}

static int is_same(const struct kernel_key *a, const struct kernel_key *b)
{
    return a->shape == b->shape && a->lookup == b->lookup && a->single == b->single
           && a->frame_flags == b->frame_flags && a->class == b->class;
}

struct kernel_entry *registry_entry(struct kernel_registry *registry,
                                    const struct kernel_key *key, int most)
{
    for (int i = 0; i < registry->n; i++)
        if (is_same(&registry->entries[i].key, key)) return registry->entries + i;
    if (registry->n == most || registry->n == REGISTRY_MOST) return NULL;
    registry->entries[registry->n].key = *key;
    return registry->entries + registry->n++;
}

static void describe_flag(unsigned changed, unsigned now, char out[REGISTRY_REASON])
{
    static const char *const properties[] = {"samples of a pixel",
                                             "sensor layers",
                                             "sources",
                                             "parts of a tile",
                                             "factors of each source",
                                             "factors of each sample"};
    int i = 0;

    while (!(changed >> i & 1)) i++;
    (void)snprintf(out, REGISTRY_REASON, "%s: %s", properties[i],
                   now >> i & 1 ? (i < 4 ? "more -> 1" : "some -> none")
                                : (i < 4 ? "1 -> more" : "none -> some"));
}

const char *registry_change(const struct kernel_registry *registry,
                            const struct kernel_key *key, char out[REGISTRY_REASON])
{
    const struct kernel_key *last = &registry->last;
    const char *was = build_precision_name(last->single);
    const char *is = build_precision_name(key->single), *what = "precision";

    if (registry->builds == 0) {
        (void)snprintf(out, REGISTRY_REASON, "first of its kind");
        return out;
    }
    if (last->shape != key->shape) {
        what = "shape";
        was = build_shape_name(last->shape, last->lookup);
        is = build_shape_name(key->shape, key->lookup);
    } else if (last->lookup != key->lookup) {
        what = "look-up";
        was = build_lookup_name(last->shape, last->lookup);
        is = build_lookup_name(key->shape, key->lookup);
    } else if (last->single == key->single && last->class != key->class) {
        what = "class";
        was = last->class;
        is = key->class;
    } else if (last->single == key->single && last->frame_flags != key->frame_flags) {
        describe_flag(last->frame_flags ^ key->frame_flags, key->frame_flags, out);
        return out;
    }
    (void)snprintf(out, REGISTRY_REASON, "%s: %s -> %s", what, was, is);
    return out;
}

int registry_is_full(const nb_context *ctx, struct kernel_registry *registry,
                     const struct kernel_key *key, char why[REGISTRY_WHY])
{
    char reason[REGISTRY_REASON];

    if (registry->builds < ctx->env.recompile_limit) return 0;
    (void)snprintf(why, REGISTRY_WHY, "hit recompile_limit (%d) of %s, last reason: %s",
                   ctx->env.recompile_limit, registry->kind,
                   registry_change(registry, key, reason));
    if (registry->limit_reported++) return 1;
    log_line(ctx, NB_LOG_WARNING, "hotpath", "%s", why);
    log_topic(ctx, TOPIC_HOTPATH, "%s", why);
    return 1;
}

static void count(struct gpu_scene *scene, struct kernel_registry *registry,
                  const struct kernel_key *key)
{
    const struct cubin_job *job = &registry->build.job;

    registry->builds += (int)(job->counts.built + job->counts.failed);
    registry->last = *key;
    scene->hot.builds += job->counts.built;
    scene->hot.hits += job->counts.hits;
    scene->hot.misses += job->counts.misses;
    if (job->version[0] == 0)
        (void)snprintf(registry->nvrtc_missing, REGISTRY_WHY, "%.300s", job->why);
}

/* Load the code of a build to the device. */
static nb_status load(nb_context *ctx, const struct gpu *gpu, const struct cubin *cubin,
                      struct kernel_entry *entry, const char *name)
{
    if (gpu->driver->load(ctx, gpu->device, cubin->bytes, cubin->size, name, &entry->module)
        == NB_OK) {
        entry->state = KERNEL_LOADED;
        return NB_OK;
    }
    entry->module = NULL;
    (void)snprintf(entry->why, REGISTRY_WHY, "%s built at run time: %.250s", name,
                   ctx->message);
    return context_fall_back(ctx, "%s", entry->why);
}

nb_status registry_finish(nb_context *ctx, struct gpu_scene *scene,
                          struct kernel_registry *registry, struct kernel_entry *entry,
                          const char *name)
{
    struct cubin_job *job = &registry->build.job;
    nb_status status, loaded = NB_OK;

    count(scene, registry, &entry->key);
    entry->state = KERNEL_ABANDONED;
    status = cubin_job_end(ctx, job, NULL);
    if (job->cubin.bytes)
        loaded = load(ctx, scene->gpu, &job->cubin, entry, name);
    else
        (void)snprintf(entry->why, REGISTRY_WHY, "%s: %.300s", name, job->why);
    cubin_free(&job->cubin);
    return status != NB_OK ? status : loaded;
}
