/*
 * backend/host.c - the operations on the host, by the simulator's strategy: spots
 * (reflection by reflection), lanes, or the reference kernel.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "image/digitize.h"
#include "kernels/grid.h"
#include "kernels/kernels.h"
#include "kernels/spots/spots_vjp.h"

/* ---- images ---- */

/* Returns 1 if lanes have to take over from spots: the spots at this x need too much
 * memory, and the strategy was chosen automatically. */
static int needs_lanes(const nb_simulator *sim, nb_status status)
{
    return status == NB_ERR_MEMORY && sim->policy.automatic;
}

/* Computes the image of lattice l alone. `job` renders this lattice only. */
static nb_status lattice_image(nb_simulator *sim, struct progress *progress,
                               const struct job *job, int l)
{
    const struct kernel_set *kernels = &sim->policy.kernels;

    if (sim->policy.strategy == NB_STRATEGY_SPOTS) {
        const nb_status status = spots_forward(progress, kernels, job, sim->spots + l);

        if (!needs_lanes(sim, status)) return status;
    }
    return tiles_forward(progress, kernels, job);
}

static nb_status all_lattices(nb_simulator *sim, struct progress *progress,
                              const struct job *job)
{
    const size_t n = simulator_layout(sim, job);

    NB_TRY(lattice_image(sim, progress, job, 0));
    for (int l = 1; l < job->lattices; l++) {
        struct job lattice = job_of_lattice(job, l);

        NB_TRY(simulator_other(sim, &lattice));
        NB_TRY(lattice_image(sim, progress, &lattice, l));
        for (size_t i = 0; i < n; i++) job->photons[i] += lattice.photons[i];
    }
    return NB_OK;
}

/* Finds the plan of an image and computes the image, summed over all lattices. */
static nb_status run_image(struct request *r, struct job *job)
{
    NB_TRY(backend_plan(r, PLAN_FORWARD, 0, job));
    return all_lattices(r->sim, &r->sim->progress, job);
}

static nb_status host_forward(struct request *r)
{
    struct job job = simulator_job(r->sim, r->scene, r->frame, r->photons);

    job.packed = r->packed;
    /* With several lattices, a tile that one lattice leaves dark may have photons from
     * another. */
    job.dark = job.lattices > 1 ? NULL : r->dark;
    return run_image(r, &job);
}

static nb_status host_loss(struct request *r)
{
    nb_simulator *sim = r->sim;
    struct job job = simulator_job(sim, r->scene, r->frame, NULL);
    struct host_objective of;

    NB_TRY(simulator_packed(sim, &job));
    NB_TRY(run_image(r, &job));
    objective_start(sim, &r->objective, &of);
    if (of.planes) {
        objective_settle(&of, job.photons, 1);
        return objective_settled(sim, &of, &r->value);
    }
    r->value = objective_of_tiles(sim, &of.objective, &job);
    return NB_OK;
}

/* Finds the planes of an objective for the packed photons of a job. From then on the
 * cotangents are fixed numbers. */
static void settle_by_image(const struct job *image, struct host_objective *of)
{
    objective_settle(of, image->photons, 1);
    of->objective.settle = NULL;
    of->objective.linear = 1;
}

/* Computes an image and fits the planes of an objective to it, before a pass that computes
 * derivatives tile by tile. */
static nb_status settle_before(struct request *r, struct host_objective *of)
{
    nb_simulator *sim = r->sim;
    struct job image = simulator_job(sim, r->scene, r->frame, NULL);

    progress_passes(&sim->progress, 2);
    NB_TRY(simulator_packed(sim, &image));
    NB_TRY(run_image(r, &image));
    settle_by_image(&image, of);
    return NB_OK;
}

static nb_status host_count(struct request *r)
{
    nb_simulator *sim = r->sim;
    const int quirk = (sim->scene.quirks & NB_QUIRK_NOISE) != 0;
    struct job job = {0};

    NB_TRY(backend_plan(r, PLAN_DIGITIZE, 0, &job));
    digitize(&sim->window, r->how, r->image, quirk ? &sim->fixed.random : NULL,
             sim->ctx->threads, r->counts);
    return NB_OK;
}

/* ---- the adjoint ---- */

struct adjoint_call {
    nb_simulator *sim;
    struct host_objective *of;
    int lattice;
};

static nb_status run_adjoint(void *user, struct progress *progress, const struct job *job)
{
    const struct adjoint_call *call = user;
    nb_simulator *sim = call->sim;
    const struct kernel_set *kernels = &sim->policy.kernels;
    const struct objective *objective = &call->of->objective;

    if (sim->policy.strategy == NB_STRATEGY_SPOTS) {
        const nb_status status = spots_vjp(progress, kernels, job, objective, &sim->adjoint,
                                           sim->spots + call->lattice);

        if (!needs_lanes(sim, status)) return status;
    }
    if (objective->settle) { /* the spots strategy calls settle() itself */
        NB_TRY(tiles_forward(progress, kernels, job));
        settle_by_image(job, call->of);
    }
    return adjoint_run(progress, kernels, job, objective, &sim->adjoint, NULL);
}

/* Runs the adjoint for lattice l and adds the lattice's gradient. `job` renders this
 * lattice only. */
static nb_status lattice_adjoint(struct request *r, struct adjoint_call *call, int l,
                                 struct job job)
{
    nb_simulator *sim = r->sim;
    struct lattice_at at;

    call->lattice = l;
    NB_TRY(simulator_lattice(sim, r->scene, r->frame, l, &at));
    simulator_fixed(sim, &at, &job.fixed);
    if (l == 0) NB_TRY(backend_plan(r, PLAN_ADJOINT, 0, &job));
    NB_TRY(run_adjoint(call, &sim->progress, &job));
    if (l == 0) r->value = sim->adjoint.value[0];
    simulator_frame_adjoint(sim, &at, sim->adjoint.bar, sim->adjoint.panel);
    return NB_OK;
}

/* Computes dL/dx. With several lattices the objective is always linear, because api/loss.c
 * first turns every other objective into cotangents of the photons. */
static nb_status host_adjoint(struct request *r)
{
    nb_simulator *sim = r->sim;
    struct job job = simulator_job(sim, r->scene, r->frame, NULL);
    struct host_objective of;
    struct adjoint_call call = {sim, &of, 0};
    const int splats = sim->policy.strategy == NB_STRATEGY_SPOTS && spots_vjp_splats(&job);

    objective_start(sim, &r->objective, &of);
    if (of.planes && !splats) NB_TRY(settle_before(r, &of));
    if (splats) NB_TRY(simulator_packed(sim, &job));
    for (int l = 0; l < job.lattices; l++)
        NB_TRY(lattice_adjoint(r, &call, l, job_of_lattice(&job, l)));
    return of.planes ? objective_settled(sim, &of, &r->value) : NB_OK;
}

/* ---- the Jacobian ---- */

struct jacobian_call {
    nb_simulator *sim;
    int n; /* number of tangents of `work` that are computed */
    const struct jacobian_work *work;
    const struct jacobian_reader *reader;
};

static nb_status run_jacobian(const struct jacobian_call *call, struct progress *progress,
                              const struct job *job, const struct jacobian_reader *reader)
{
    nb_simulator *sim = call->sim;
    const struct kernel_set *kernels = &sim->policy.kernels;

    if (sim->policy.strategy == NB_STRATEGY_SPOTS) {
        const nb_status status =
            jacobian_run(progress, kernels, job, call->n, call->work, reader, sim->spots);

        if (!needs_lanes(sim, status)) return status;
    }
    return jacobian_run(progress, kernels, job, call->n, call->work, reader, NULL);
}

static void start_nothing(const void *user, int chunk)
{
    (void)user;
    (void)chunk;
}

static nb_status read_jacobian(struct request *r, struct jacobian_call *call)
{
    struct job job = simulator_job(r->sim, r->scene, r->frame, NULL);

    NB_TRY(backend_plan(r, PLAN_JACOBIAN, call->n, &job));
    return run_jacobian(call, &r->sim->progress, &job, call->reader);
}

/* Compute the derivatives of a tile's photons along tangent k of its panel, including the
 * changes of structure factors. */
static void change_of(const nb_simulator *sim, const struct jacobian_tile *jacobian,
                      size_t k, double *change)
{
    const size_t nf = sim->params.f.n, d = jacobian_which(jacobian->of, k);
    const int n = grid_rendered(&jacobian->tile);
    const size_t lanes = (size_t)grid_lanes(&jacobian->tile);

    memcpy(change, jacobian->change + k * TILE_PIXELS, sizeof *change * (size_t)n);
    for (int c = 0; jacobian->columns && c < jacobian->columns->n; c++) {
        const size_t f = (size_t)jacobian->columns->used[c];
        const double *column = jacobian->columns->slope + (size_t)c * lanes;
        const double dot = f < nf ? sim->tangents.f_dot[d * nf + f] : 0;

        for (int i = 0; dot != 0 && i < n; i++) change[i] += dot * column[i];
    }
}

static void deliver_changes(const void *user, int chunk, const struct job *job,
                            const struct adjoint_kernels *adjoint_kernels,
                            const struct jacobian_tile *jacobian)
{
    const struct request *r = user;
    const struct tile *tile = &jacobian->tile;
    const int slow = job->window->slow0 + tile->slow,
              fast = job->window->fast0 + tile->fast;
    struct shown_pixels shown;
    double change[TILE_PIXELS];

    grid_list(tile, &shown);
    (void)chunk;
    (void)adjoint_kernels;
    for (size_t k = 0; k < jacobian->of->n; k++) {
        change_of(r->sim, jacobian, k, change);
        for (int i = 0; i < shown.n; i++) {
            const int pixel = shown.pixel[i];

            array_set(r->change + jacobian_which(jacobian->of, k),
                      slow + pixel / tile->width, fast + pixel % tile->width, change[i]);
        }
    }
}

static nb_status host_jacobian(struct request *r)
{
    const struct jacobian_reader reader = {0, start_nothing, deliver_changes, r, NULL};
    struct jacobian_call call = {r->sim, r->n, &r->sim->tangents.jacobian, &reader};

    for (int d = 0; d < r->n; d++) array_zero(r->change + d);
    return read_jacobian(r, &call);
}

/* ---- the normal matrix ---- */

static void take_normal(struct arena *arena, void *user)
{
    nb_simulator *sim = user;
    const struct jacobian_sizes n =
        simulator_jacobian_sizes(sim, params_dense(&sim->params), 0);

    normal_take(arena, &n, &sim->normal);
}

static nb_status make_normal(nb_simulator *sim)
{
    if (sim->normal.sums) return NB_OK;
    if (!arena_build(&sim->normal_memory, take_normal, sim))
        return fail_memory(sim->ctx, "a normal matrix");
    simulator_assign_places(sim, &sim->normal.jacobian);
    return NB_OK;
}

static nb_status host_normal(struct request *r)
{
    nb_simulator *sim = r->sim;
    struct host_objective of;
    struct normal_run run = {&of.objective, &sim->normal, NULL, r->coupling};
    struct jacobian_reader reader;
    struct jacobian_call call = {sim, (int)params_dense(&sim->params),
                                 &sim->normal.jacobian, &reader};
    const struct jacobian_work *work;
    struct lattice_at at;
    int l = 0;

    NB_TRY(make_normal(sim));
    objective_start(sim, &r->objective, &of);
    run.planes = of.planes;
    if (of.planes) {
        NB_TRY(simulator_plane_columns(sim, sim->normal.chunks));
        NB_TRY(settle_before(r, &of));
    }
    for (work = &sim->normal.jacobian; work; work = work->next) {
        NB_TRY(simulator_lattice(sim, r->scene, r->frame, l++, &at));
        simulator_parameter_tangents(sim, &at, work->dot);
        simulator_parameters_on_panels(sim, r->scene, work);
    }
    reader = normal_reader(&run);
    NB_TRY(read_jacobian(r, &call));
    if (!normal_sum_chunks(&run)) return fail_memory(sim->ctx, "planes of background");
    r->sums = sim->normal.sums;
    r->value = r->sums->value;
    return of.planes ? objective_settled(sim, &of, &r->value) : NB_OK;
}

/* There is no BACKEND_BATCH, so that the caller computes image by image. */
const struct backend backend_host = {
    .operations = {[BACKEND_FORWARD] = {host_forward, NULL},
                   [BACKEND_ADJOINT] = {host_adjoint, NULL},
                   [BACKEND_JACOBIAN] = {host_jacobian, NULL},
                   [BACKEND_LOSS] = {host_loss, NULL},
                   [BACKEND_NORMAL] = {host_normal, NULL},
                   [BACKEND_COUNT] = {host_count, NULL}}};
