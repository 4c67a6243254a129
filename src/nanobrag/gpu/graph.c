/*
 * graph.c - runs the launches of a scene: recorded as a CUDA graph at their first use and
 * replayed later, or launched one by one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "gpu/gpu.h"

void gpu_forget(struct gpu_scene *scene)
{
    struct gpu_graphs *graphs = &scene->graphs;

    for (int i = 0; i < GPU_RECORDINGS; i++) {
        struct gpu_recording *recording = &graphs->recordings[i];

        if (recording->handle)
            scene->gpu->driver->forget(scene->gpu->device, recording->handle);
        recording->handle = NULL;
    }
    graphs->next = 0;
}

static int is_same(const struct gpu_launch *a, const struct gpu_launch *b)
{
    return a->kernel.work == b->kernel.work && a->kernel.shape == b->kernel.shape
           && a->kernel.lookup == b->kernel.lookup && a->kernel.single == b->kernel.single
           && a->kernel.runtime == b->kernel.runtime && a->blocks == b->blocks
           && a->offset == b->offset && a->images == b->images;
}

/* Returns 1 if a recording has just the launches of a sequence. Unused launches are 0 in
 * both. */
static int is_recording_of(const struct gpu_recording *recording,
                           const struct gpu_sequence *sequence)
{
    int same = recording->handle != NULL;

    for (int i = 0; i < GPU_SEQUENCE; i++)
        same &= is_same(&recording->launches[i], &sequence->launches[i]);
    return same;
}

static nb_status record(nb_context *ctx, struct gpu_scene *scene,
                        const struct gpu_sequence *sequence, void **out)
{
    const struct gpu *gpu = scene->gpu;
    struct gpu_graphs *graphs = &scene->graphs;
    struct gpu_recording *recording = &graphs->recordings[graphs->next];

    if (gpu->driver->record(ctx, gpu->device, sequence->launches, sequence->n,
                            graphs->parameters, out)
        != NB_OK) {
        *out = NULL;
        (void)snprintf(graphs->failure, sizeof graphs->failure, "%.190s", ctx->message);
        return context_fall_back(ctx, "CUDA graphs: %s", graphs->failure);
    }
    if (recording->handle) gpu->driver->forget(gpu->device, recording->handle);
    recording->handle = *out;
    memcpy(recording->launches, sequence->launches, sizeof recording->launches);
    graphs->next = (graphs->next + 1) % GPU_RECORDINGS;
    graphs->captures++;
    log_topic(ctx, TOPIC_CUDAGRAPHS, "captured %s: %d launches", sequence->name,
              sequence->n);
    return NB_OK;
}

/* Find the recording of a sequence, or make one; *out is NULL if the sequence must be
 * launched without a graph. */
static nb_status find_recording(nb_context *ctx, struct gpu_scene *scene,
                                const struct job *job, const struct gpu_sequence *sequence,
                                void **out)
{
    struct gpu_graphs *graphs = &scene->graphs;

    *out = NULL;
    if (job->mutated) {
        log_topic(ctx, TOPIC_CUDAGRAPHS,
                  "skipping cudagraphs due to mutated inputs (1 instance): '%s'",
                  job->mutated);
        return NB_OK;
    }
    if (graphs->parameters != scene->parameters.address) gpu_forget(scene);
    graphs->parameters = scene->parameters.address;
    for (int i = 0; i < GPU_RECORDINGS && !*out; i++)
        if (is_recording_of(&graphs->recordings[i], sequence))
            *out = graphs->recordings[i].handle;
    if (!*out && !graphs->failure[0]) NB_TRY(record(ctx, scene, sequence, out));
    if (!*out) log_topic(ctx, TOPIC_CUDAGRAPHS, "skipping cudagraphs: %s", graphs->failure);
    return NB_OK;
}

static nb_status launch_all(nb_context *ctx, const struct gpu_scene *scene,
                            const struct gpu_sequence *sequence)
{
    const struct gpu *gpu = scene->gpu;

    for (int i = 0; i < sequence->n; i++)
        NB_TRY(gpu->driver->launch(ctx, gpu->device, sequence->launches + i,
                                   scene->parameters.address));
    return NB_OK;
}

nb_status gpu_run(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                  const struct gpu_sequence *sequence)
{
    const struct gpu *gpu = scene->gpu;
    void *recording;

    if (!job->planned || !ctx->env.graphs || scene->graphs.paused)
        return launch_all(ctx, scene, sequence);
    NB_TRY(find_recording(ctx, scene, job, sequence, &recording));
    if (!recording) {
        scene->graphs.skips++;
        return launch_all(ctx, scene, sequence);
    }
    NB_TRY(gpu->driver->replay(ctx, gpu->device, recording));
    scene->graphs.replays++;
    log_topic(ctx, TOPIC_CUDAGRAPHS, "replayed %s", sequence->name);
    return NB_OK;
}
