/*
 * api/execution.c - how the calls of a simulator are executed: nb_simulator_set_stream(),
 * and the reports on compiled mode.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include <nanobrag/compile.h>

#include "base/context.h"
#include "compile/reasons.h"
#include "state/state.h"

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

void nb_simulator_stats(const nb_simulator *sim, nb_compile_stats *out)
{
    if (!out) return;
    memset(out, 0, sizeof *out);
    if (!sim) return;
    *out = sim->plans.stats;
    out->captures = sim->device.scene.graphs.captures;
    out->replays = sim->device.scene.graphs.replays;
    out->skips = sim->device.scene.graphs.skips;
    out->builds = sim->device.scene.hot.builds;
    out->promotions = sim->device.scene.hot.promotions;
    out->cubin_hits = sim->device.scene.hot.hits;
    out->cubin_misses = sim->device.scene.hot.misses;
    out->fallbacks = sim->ctx->fallbacks - sim->plans.fallbacks_before;
    for (int i = 0; i < PLAN_OPERATIONS; i++) out->plan_hash ^= sim->plans.last[i].hash;
    out->bytes =
        sizeof *sim + sim->arena.size + sim->tangents_memory.size + sim->normal_memory.size
        + sim->photons_memory.size + sim->packed_memory.size + sim->other_memory.size
        + sim->planes_memory.size + sim->plane_columns_memory.size
        + planes_entries_bytes(&sim->planes.columns) + window_bytes(&sim->window)
        + window_bytes(&sim->lit) + sim->device.memory.size + sim->device.sums_memory.size
        + sim->device.images.bytes + gpu_scene_bytes(&sim->device.scene)
        + sim->device.batch.bytes + psf_bytes(sim->psf);
    for (int l = 0; l < lattices_count(&sim->scene); l++)
        out->bytes += spots_bytes(sim->spots + l) + continuous_bytes(sim->continuous + l);
}

const char *nb_simulator_explain(nb_simulator *sim)
{
    struct plan plans[PLAN_OPERATIONS];
    nb_compile_stats stats;

    if (!sim) return "";
    memcpy(plans, sim->plans.last, sizeof plans);
    if (call_is_compiled(&sim->plans) && plans[PLAN_FORWARD].hash == 0)
        call_preview(&sim->plans, plans + PLAN_FORWARD);
    nb_simulator_stats(sim, &stats);
    explain_compiled(sim->ctx, &sim->policy, sim->device.name, plans, &stats,
                     sim->plans.text, sizeof sim->plans.text);
    return sim->plans.text;
}
