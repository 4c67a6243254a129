/*
 * backend/device_derivatives.c - derivatives on a simulator's device. A device takes the
 * inner product of the photons' cotangent with the photons' tangent along each parameter.
 * So its result is dL/dx, while the host's kernels return a cotangent of the frame.
 *
 * SPDX-License-Identifier: MIT
 */
#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "gpu/derivatives/derivatives.h"
#include "image/target.h"

static int wants_f(const nb_simulator *sim)
{
    return sim->params.f.n > 0 || sim->nunlisted > 0;
}

/* Returns 1 if one of the first n tangents of sim->tangents changes a structure factor,
 * which is a free F or default_f. */
static int changes_f(const nb_simulator *sim, int n)
{
    const struct tangents_work *t = &sim->tangents;

    for (size_t i = 0; i < (size_t)n * sim->params.f.n; i++)
        if (t->f_dot[i] != 0) return 1;
    for (int d = 0; d < n; d++)
        if (t->jacobian.dot[d].default_f != 0 && sim->nunlisted > 0) return 1;
    return 0;
}

const char *device_refuses_derivatives(const struct request *r)
{
    if (device_never_derives(r->sim)) return device_never_derives(r->sim);
    if (r->operation == BACKEND_NORMAL && wants_f(r->sim))
        return "a normal matrix of structure factors";
    if (r->operation == BACKEND_JACOBIAN && changes_f(r->sim, r->n))
        return "tangents along structure factors";
    return NULL;
}

struct gpu_loss_job device_target(const nb_target *target)
{
    const struct gpu_loss_job job = {target_model(target), backend_input(target->observed),
                                     backend_input(target->weight)};

    return job;
}

/* Take the tangents of the frame along each dense parameter from an arena. */
static void take_tangents(struct arena *arena, void *user)
{
    nb_simulator *sim = user;
    struct jacobian_sizes n = simulator_jacobian_sizes(sim, params_dense(&sim->params), 0);

    /* no workspace, only the tangents and their lists */
    n.f = n.box = n.by_pixel = n.threads = 0;
    jacobian_take(arena, &n, &sim->device.tangents);
}

static nb_status make_tangents(nb_simulator *sim)
{
    struct device *d = &sim->device;

    if (d->tangents.dot || arena_build(&d->memory, take_tangents, sim)) return NB_OK;
    return fail_memory(sim->ctx, "tangents");
}

/* Returns the tangents of each panel, or NULL where the detector is one rectangle. */
static const struct panel_tangents *panels_of(const nb_simulator *sim,
                                              const struct jacobian_work *work)
{
    return sim->window.npanel > 0 ? work->panel : NULL;
}

/* Describe the objective of a request and the tangents along all dense parameters to the
 * device. */
static nb_status find_job(const struct request *r, struct gpu_derivatives_job *out)
{
    const struct objective_terms *of = &r->objective;
    const int normal = r->operation == BACKEND_NORMAL;
    const struct gpu_derivatives_job job = {.n = (int)params_dense(&r->sim->params)};
    struct lattice_at at;

    NB_TRY(make_tangents(r->sim));
    NB_TRY(simulator_lattice(r->sim, r->scene, r->frame, 0, &at));
    simulator_parameter_tangents(r->sim, &at, r->sim->device.tangents.dot);
    simulator_parameters_on_panels(r->sim, r->scene, &r->sim->device.tangents);
    *out = job;
    out->dot = r->sim->device.tangents.dot;
    out->panel = panels_of(r->sim, &r->sim->device.tangents);
    if (of->cotangent) {
        out->end = REDUCE_COTANGENT;
        out->cotangent = backend_input(of->cotangent);
        out->no_value = 1;
    } else if (of->target) {
        out->end = normal ? REDUCE_NORMAL : REDUCE_LOSS;
        out->target = device_target(of->target);
    } else {
        out->end = REDUCE_SQUARES;
        out->target.observed = backend_input(of->residual);
        out->target.weight = backend_input(of->weight);
    }
    return NB_OK;
}

static nb_status run(struct request *r, enum operation operation, int directions,
                     const struct gpu_derivatives_job *what,
                     struct gpu_derivatives_sums *sums)
{
    nb_simulator *sim = r->sim;
    struct job job = simulator_job(sim, r->scene, r->frame, NULL);
    const int single = device_is_single(sim);

    r->refused = gpu_derivatives_refuses(sim->device.scene.gpu, &job, single, what);
    if (r->refused) return NB_ERR_UNSUPPORTED; /* backend_run() reports why */
    NB_TRY(backend_plan(r, operation, directions, &job));
    return gpu_derivatives(&sim->progress, &sim->device.scene, &job, single, what, sums);
}

nb_status device_adjoint(struct request *r)
{
    nb_simulator *sim = r->sim;
    struct gradient *gradient = &sim->gradient;
    struct gpu_derivatives_job what;
    struct gpu_derivatives_sums sums = {.gradient = gradient->dense};

    if (wants_f(sim)) sums.f = gradient->f;
    NB_TRY(find_job(r, &what));
    NB_TRY(run(r, PLAN_ADJOINT, 0, &what, &sums));
    r->value = sums.value;
    for (int i = 0; sums.f && i < what.n; i++)
        gradient->dense[i] += simulator_default_f(sim, what.dot + i, sums.f);
    return NB_OK;
}

static nb_status make_sums(nb_simulator *sim)
{
    struct device *d = &sim->device;
    const size_t n = params_dense(&sim->params);
    const struct arena_part parts[] = {
        {&d->sums.matrix, n * n, sizeof(double), NULL},
        {&d->sums.gradient, n, sizeof(double), NULL},
    };
    const size_t count = sizeof parts / sizeof *parts;

    if (d->sums.matrix) return NB_OK;
    if (arena_build_parts(&d->sums_memory, parts, count)) return NB_OK;
    return fail_memory(sim->ctx, "a normal matrix");
}

nb_status device_normal(struct request *r)
{
    struct device *d = &r->sim->device;
    struct gpu_derivatives_job what;
    struct gpu_derivatives_sums sums = {0};

    NB_TRY(make_sums(r->sim));
    NB_TRY(find_job(r, &what));
    sums.matrix = d->sums.matrix;
    sums.gradient = d->sums.gradient;
    NB_TRY(run(r, PLAN_ADJOINT, 0, &what, &sums));
    r->sums = &d->sums;
    r->value = d->sums.value = sums.value;
    return NB_OK;
}

/* Find memory for the tangents of the photons: the caller's images where they are dense
 * float64, else a workspace that keeps its largest size. Returns 0 if there is no
 * memory. */
static int find_images(const struct request *r, double **change)
{
    nb_simulator *sim = r->sim;
    const size_t pixels = (size_t)sim->window.nslow * (size_t)sim->window.nfast;
    double *next = NULL;
    size_t n = 0;

    for (int d = 0; d < r->n; d++) n += !array_is_dense_f64(r->change + d);
    if (n > 0) {
        next =
            gpu_workspace(sim->ctx, &sim->device.images, n * pixels * sizeof *next, NULL);
        if (!next) return 0;
    }
    for (int d = 0; d < r->n; d++) {
        const int in_place = array_is_dense_f64(r->change + d);

        change[d] = in_place ? r->change[d].data : next;
        if (!in_place) next += pixels;
    }
    return 1;
}

nb_status device_jacobian(struct request *r)
{
    nb_simulator *sim = r->sim;
    const struct gpu_derivatives_job what = {.n = r->n,
                                             .dot = sim->tangents.jacobian.dot,
                                             .panel =
                                                 panels_of(sim, &sim->tangents.jacobian),
                                             .end = REDUCE_NOTHING};
    double *change[TANGENTS_AT_ONCE];
    struct gpu_derivatives_sums sums = {.change = change};

    if (!find_images(r, change)) {
        r->refused = "images of tangents take too much memory";
        return NB_ERR_MEMORY;
    }
    NB_TRY(run(r, PLAN_JACOBIAN, r->n, &what, &sums));
    for (int d = 0; d < r->n; d++)
        if (change[d] != r->change[d].data) array_write(r->change + d, change[d]);
    return NB_OK;
}
