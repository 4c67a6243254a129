/*
 * state/state.c - the job that renders a frame, memory that is allocated when first needed,
 * and the sizes of a Jacobian.
 *
 * SPDX-License-Identifier: MIT
 */
#include "state/state.h"

#include <string.h>

#include "base/context.h"

struct job simulator_job(const nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame, double *photons)
{
    const struct window *window = sim->psf ? &sim->lit : &sim->window;
    struct job job;

    job.frame = frame;
    job.lattices = lattices_count(scene);
    job.spec = sim->spec;
    job.tolerance = sim->policy.tolerance;
    job.window = window;
    job.shown = sim->psf ? &sim->window : NULL;
    memcpy(job.roi, window->roi, sizeof job.roi);
    job.mask = window->mask;
    job.photons = photons;
    job.packed = 0;
    job.dark = NULL;
    job.schedule.threads = sim->ctx->threads;
    job.schedule.block = 1;
    job.planned = 0;
    job.mutated = NULL;
    job.reach = NULL;
    job.fixed = 0;
    return job;
}

nb_status simulator_photons(nb_simulator *sim)
{
    const size_t n = (size_t)sim->window.nslow * (size_t)sim->window.nfast;
    const struct arena_part image = {&sim->photons, n, sizeof *sim->photons, NULL};

    if (sim->photons || arena_build_parts(&sim->photons_memory, &image, 1)) return NB_OK;
    return fail_memory(sim->ctx, "an image");
}

nb_status simulator_packed(nb_simulator *sim, struct job *job)
{
    const size_t n = window_packed(job->window);
    const size_t tiles = (size_t)job->window->ntile + 1;
    const struct arena_part parts[] = {{&sim->packed, n > 0 ? n : 1, sizeof *sim->packed,
                                        NULL},
                                       {&sim->dark, tiles, sizeof *sim->dark, NULL}};

    if (!sim->packed && !arena_build_parts(&sim->packed_memory, parts, 2))
        return fail_memory(sim->ctx, "an image");
    job->photons = sim->packed;
    job->packed = 1;
    return NB_OK;
}

size_t simulator_layout(const nb_simulator *sim, const struct job *job)
{
    return job->packed ? window_packed(job->window)
                       : (size_t)sim->window.nslow * (size_t)sim->window.nfast;
}

nb_status simulator_other(nb_simulator *sim, struct job *job)
{
    const size_t n = simulator_layout(sim, job);
    const struct arena_part part = {&sim->other, n > 0 ? n : 1, sizeof *sim->other, NULL};

    if (n > sim->nother) {
        arena_free(&sim->other_memory);
        sim->nother = 0;
        if (!arena_build_parts(&sim->other_memory, &part, 1))
            return fail_memory(sim->ctx, "an image");
        sim->nother = n;
    }
    job->photons = sim->other;
    return NB_OK;
}

static void take_planes(struct arena *arena, void *user)
{
    planes_take(arena, user);
}

nb_status simulator_planes(nb_simulator *sim)
{
    struct planes *planes = &sim->planes;

    if (planes->owner) return NB_OK;
    planes->window = &sim->window;
    planes->nbox = sim->scene.detector.nbox;
    planes->threads = (size_t)sim->ctx->threads;
    if (!arena_build(&sim->planes_memory, take_planes, planes))
        return fail_memory(sim->ctx, "planes of background");
    planes_draw(planes, sim->scene.detector.box);
    return NB_OK;
}

struct columns_to_take {
    struct planes *planes;
    size_t pieces;
};

static void take_columns(struct arena *arena, void *user)
{
    const struct columns_to_take *take = user;

    planes_columns_take(arena, take->pieces, take->planes);
}

nb_status simulator_plane_columns(nb_simulator *sim, int chunks)
{
    struct planes *planes = &sim->planes;
    struct columns_to_take take = {planes, planes_pieces(planes)};

    if (planes->columns.first) return NB_OK;
    planes->columns.tangents = params_dense(&sim->params);
    planes->columns.f = sim->params.f.n;
    planes->columns.chunks = chunks;
    if (!arena_build(&sim->plane_columns_memory, take_columns, &take))
        return fail_memory(sim->ctx, "planes of background");
    planes_cut(planes);
    return NB_OK;
}

/* Returns how many dense parameters change the numbers of a panel. */
static size_t count_moving(const nb_simulator *sim, int panel)
{
    size_t n = 0;

    for (size_t i = 0; i < sim->params.n; i++)
        n += !params_is_f(&sim->params, i)
             && params_move_panel(&sim->params, &sim->scene, i, panel);
    return n;
}

/* Set the sizes that depend on the panels. `any` as in simulator_jacobian_sizes(). */
static void size_panels(const nb_simulator *sim, int any, struct jacobian_sizes *n)
{
    const int npanel = sim->scene.detector.npanel;

    n->panels = npanel > 0 ? (size_t)npanel : 1;
    n->at_once = n->of_panels = 0;
    for (int p = 0; p < npanel; p++) {
        const size_t moving = any ? n->tangents : count_moving(sim, p);

        n->at_once = moving > n->at_once ? moving : n->at_once;
        n->of_panels += moving;
    }
    if (npanel == 0) n->at_once = n->tangents;
    if (npanel > 0) n->of_panels++; /* 0 would stand for a detector that is one rectangle */
}

struct jacobian_sizes simulator_jacobian_sizes(const nb_simulator *sim, size_t tangents,
                                               int any)
{
    const int wants_f = sim->params.f.n > 0 || sim->nunlisted > 0;
    struct jacobian_sizes n;

    n.tangents = tangents;
    size_panels(sim, any, &n);
    n.f = sim->params.f.n;
    n.sources = (size_t)sim->fixed.nsource;
    n.orientations = (size_t)sim->scene.scan.nphi * (size_t)sim->scene.crystal.ndomains;
    n.box = wants_f ? hkl_box_size(&sim->hkl) + 1 : 0;
    n.by_pixel =
        sim->policy.strategy == NB_STRATEGY_REFERENCE || sim->scene.quirks != 0 ? n.box : 0;
    n.threads = (size_t)sim->ctx->threads;
    n.lattices = (size_t)lattices_count(&sim->scene);
    return n;
}

void simulator_assign_places(const nb_simulator *sim, const struct jacobian_work *work)
{
    const struct params_f *free = &sim->params.f;

    for (size_t i = 0; i < work->sizes.box; i++) work->owner[i] = -1;
    for (size_t i = 0; i < sim->nunlisted; i++)
        work->owner[sim->unlisted[i]] = (int)free->n;
    for (size_t f = 0; f < free->n; f++)
        for (size_t i = free->start[f]; i < free->start[f + 1]; i++)
            work->owner[free->place[i]] = (int)f;
}
