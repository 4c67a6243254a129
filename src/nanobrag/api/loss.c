/*
 * api/loss.c - fitting: the life of simulator.c with a loss behind the image.
 *
 *   x -> scene -> frame -> photons -> loss
 *
 * The gradient alone is one adjoint, in which each tile's photons turn into cotangents as
 * soon as they are known (kernels/derivatives/adjoint.c). A normal matrix is added up from
 * the rows of each tile's Jacobian (kernels/derivatives/normal.c). No image is kept, but
 * for a point spread and by the adjoint that paints, which need all of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "image/target.h"
#include "kernels/derivatives/normal.h"
#include "normal_psf.h"
#include "simulator.h"

/* what pixels are compared with */
struct compared {
    const nb_target *target;
    size_t nfast;
};

static double objective_target(const void *user, size_t first, int n, const double *photons,
                               double *bar, double *weight)
{
    const struct compared *compared = user;
    const nb_target *t = compared->target;
    const struct phys_loss_model model = target_model(t);
    const int64_t s = (int64_t)(first / compared->nfast);
    const int64_t f = (int64_t)(first % compared->nfast);
    double sum = 0;

    for (int i = 0; i < n; i++) {
        const struct phys_loss loss =
            phys_loss(model, photons[i], array_get(t->observed, s, f + i),
                      t->weight ? array_get(t->weight, s, f + i) : 1);

        sum += loss.value;
        bar[i] = loss.slope;
        if (weight) weight[i] = loss.curvature;
    }
    return sum;
}

/* weight and residual of a least-squares fit */
struct squares {
    const nb_array *weight, *residual;
    size_t nfast;
};

static double objective_squares(const void *user, size_t first, int n,
                                const double *photons, double *bar, double *weight)
{
    const struct squares *squares = user;
    const int64_t s = (int64_t)(first / squares->nfast);
    const int64_t f = (int64_t)(first % squares->nfast);

    (void)photons;
    for (int i = 0; i < n; i++) {
        weight[i] = squares->weight ? array_get(squares->weight, s, f + i) : 1;
        bar[i] = squares->residual ? weight[i] * array_get(squares->residual, s, f + i) : 0;
    }
    return 0;
}

/* ---- the normal matrix ---- */

static nb_status make_normal(nb_simulator *sim)
{
    const struct jacobian_sizes n = simulator_jacobian_sizes(sim, nb_ndense(sim));

    if (sim->normal.sums) return NB_OK;
    if (!normal_reserve(&sim->normal_memory, &n) || !arena_make(&sim->normal_memory)) {
        arena_free(&sim->normal_memory);
        return fail_memory(sim->ctx, "a normal matrix");
    }
    normal_take(&sim->normal_memory, &n, &sim->normal);
    simulator_own_places(sim, &sim->normal.jacobian);
    return NB_OK;
}

/* the sums of a run into what the caller asked for, dense parameters and structure factors
 * in the order of x */
static void deliver_normal(const nb_simulator *sim, const nb_normal *out)
{
    const struct jacobian_sizes *n = &sim->normal.jacobian.sizes;
    const struct normal_sums *sums = sim->normal.sums;
    size_t dense = 0;

    for (size_t i = 0; out->matrix && i < n->tangents * n->tangents; i++)
        out->matrix[i] += sums->matrix[i];
    for (size_t i = 0; out->coupling && i < n->tangents * n->f; i++)
        out->coupling[i] += sums->coupling[i];
    for (size_t i = 0; i < sim->params.n; i++) {
        const int is_f = params_is_f(&sim->params, i);
        const size_t f = is_f ? (size_t)sim->params.at[i].index : 0;

        if (out->diagonal)
            out->diagonal[i] +=
                is_f ? sums->f_diagonal[f] : sums->matrix[dense * (n->tangents + 1)];
        if (out->gradient)
            out->gradient[i] += is_f ? sums->f_gradient[f] : sums->gradient[dense];
        dense += !is_f;
    }
}

static nb_status run_normal(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame,
                            const struct objective *objective, int coupling)
{
    static const double one = 1;
    const struct job job = simulator_job(sim, scene, frame, NULL);
    const struct normal_run run = {objective, &sim->normal, coupling};
    struct jacobian_reader reader;
    struct crystal_axes axes;
    size_t dense = 0;

    NB_TRY(make_normal(sim));
    NB_TRY(crystal_derive(sim->ctx, scene, &axes));
    for (size_t i = 0; i < sim->params.n; i++)
        if (!params_is_f(&sim->params, i))
            simulator_tangent(sim, scene, &axes, frame, i, 1, &one,
                              sim->normal.jacobian.dot + dense++);
    reader = normal_reader(&run);
    NB_TRY(simulator_jacobian(sim, &job, (int)dense, &sim->normal.jacobian, &reader));
    normal_fold(&sim->normal);
    return NB_OK;
}

/* adds what `out` asks for, unless the value of the pull is not a number; by lanes or spots
 */
static nb_status add_normal(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame,
                            const struct objective *objective, double *value,
                            const nb_normal *out)
{
    if (sim->psf) return normal_psf(sim, scene, frame, objective, value, out);
    NB_TRY(run_normal(sim, scene, frame, objective, out->coupling != NULL));
    *value = sim->normal.sums[0].value;
    if (isfinite(*value)) deliver_normal(sim, out);
    return NB_OK;
}

nb_status nb_jtj(nb_simulator *sim, const double *x, const nb_array *weight,
                 const nb_array *residual, nb_normal *out)
{
    struct squares squares = {weight, residual, 0};
    const struct objective objective = {objective_squares, &squares, 0, NULL};
    const struct gpu_derivatives_job pulls = {.end = REDUCE_SQUARES,
                                              .target.observed = device_input(residual),
                                              .target.weight = device_input(weight)};
    nb_scene scene;
    struct phys_frame frame;
    double value;
    int done;

    if (!sim) return NB_ERR_ARGUMENT;
    progress_begin(&sim->progress, sim->ctx);
    NB_TRY(simulator_derivable(sim));
    if (!out) return fail(sim->ctx, NB_ERR_ARGUMENT, "a normal matrix needs a place to go");
    if (out->gradient && !residual)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "a gradient needs residuals");
    NB_TRY(device_check_input(sim, weight, "weight", 1));
    NB_TRY(device_check_input(sim, residual, "residual", 1));
    squares.nfast = (size_t)sim->window.nfast;
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    NB_TRY(device_normal(sim, &scene, &frame, &pulls, &value, out, &done));
    if (done) return NB_OK;
    NB_TRY(device_check_host(sim, weight, "weight"));
    NB_TRY(device_check_host(sim, residual, "residual"));
    return add_normal(sim, &scene, &frame, &objective, &value, out);
}

/* ---- the loss ---- */

/* photons to slopes in place; 0 where no pixel is rendered */
static double slopes_in_place(const nb_simulator *sim, const struct objective *objective,
                              double *photons)
{
    const struct window *w = &sim->window;
    double sum = 0;

    for (int s = 0; s < w->nslow; s++)
        for (int f = 0; f < w->nfast; f++) {
            const size_t at = (size_t)s * (size_t)w->nfast + (size_t)f;
            const int inside = f >= w->roi[0] && f < w->roi[1] && s >= w->roi[2]
                               && s < w->roi[3] && window_shows(w, s, f);
            double slope = 0;

            if (inside)
                sum += objective->row(objective->user, at, 1, photons + at, &slope, NULL);
            photons[at] = slope;
        }
    return sum;
}

static nb_status check_value(const nb_simulator *sim, double value)
{
    if (isfinite(value)) return NB_OK;
    return fail(sim->ctx, NB_ERR_ARGUMENT,
                "the loss is not a number: photons were observed where none are "
                "expected, or a pixel has no variance");
}

/* the value, and the gradient unless NULL, by way of an image */
static nb_status loss_of_image(nb_simulator *sim, const nb_scene *scene,
                               const struct phys_frame *frame,
                               const struct objective *objective, double *value,
                               double *gradient)
{
    nb_array bar;

    NB_TRY(simulator_photons(sim));
    bar = nb_array_f64(sim->photons, sim->window.nslow, sim->window.nfast);
    progress_passes(&sim->progress, gradient ? 2 + simulator_widens(sim) : 1);
    NB_TRY(simulator_render(sim, scene, frame, sim->photons));
    *value = slopes_in_place(sim, objective, sim->photons);
    NB_TRY(check_value(sim, *value));
    if (!gradient) return NB_OK;
    NB_TRY(simulator_unspread(sim, scene, frame));
    return simulator_vjp(sim, scene, frame, &bar, gradient);
}

static nb_status loss_and_gradient(nb_simulator *sim, const nb_scene *scene,
                                   const struct phys_frame *frame,
                                   const struct objective *objective, double *value,
                                   double *gradient)
{
    if (sim->psf || !gradient)
        return loss_of_image(sim, scene, frame, objective, value, gradient);
    NB_TRY(simulator_adjoint(sim, scene, frame, objective));
    *value = sim->adjoint.value[0];
    NB_TRY(check_value(sim, *value));
    return simulator_gather(sim, scene, frame, sim->adjoint.bar, gradient);
}

/* a loss that is not a number, because of what was observed */
static nb_status blame_observed(const nb_simulator *sim, const nb_array *observed,
                                nb_status status)
{
    if (observed->device == NB_CUDA) return status; /* which is not read from here */
    for (int s = sim->window.roi[2]; s < sim->window.roi[3]; s++)
        for (int f = sim->window.roi[0]; f < sim->window.roi[1]; f++)
            if (window_shows(&sim->window, s, f) && !isfinite(array_get(observed, s, f)))
                return fail(sim->ctx, NB_ERR_ARGUMENT,
                            "observed[%d][%d] is %g, expected a number of photons; mask "
                            "pixels without one, or give them the weight 0 and a number",
                            s, f, array_get(observed, s, f));
    return status;
}

static int wants_matrix(const nb_normal *out)
{
    return out && (out->matrix || out->diagonal || out->coupling);
}

static int derives(const nb_normal *out)
{
    return wants_matrix(out) || (out && out->gradient);
}

static nb_status loss_and_matrix(nb_simulator *sim, const nb_scene *scene,
                                 const struct phys_frame *frame,
                                 const struct objective *objective, double *value,
                                 nb_normal *out)
{
    NB_TRY(add_normal(sim, scene, frame, objective, value, out));
    return check_value(sim, *value);
}

static nb_status loss_on_host(nb_simulator *sim, const nb_scene *scene,
                              const struct phys_frame *frame,
                              const struct compared *compared, double *value,
                              nb_normal *out)
{
    const struct objective objective = {objective_target, compared, 0, NULL};

    NB_TRY(device_check_host(sim, compared->target->observed, "observed"));
    NB_TRY(device_check_host(sim, compared->target->weight, "weight"));
    if (wants_matrix(out))
        return loss_and_matrix(sim, scene, frame, &objective, value, out);
    return loss_and_gradient(sim, scene, frame, &objective, value,
                             out ? out->gradient : NULL);
}

/* *done 0: the host is to compute */
static nb_status loss_on_device(nb_simulator *sim, const nb_scene *scene,
                                const struct phys_frame *frame, const nb_target *target,
                                double *value, nb_normal *out, int *done)
{
    struct gpu_derivatives_job pulls = {.target = device_target(target)};

    pulls.end = wants_matrix(out) ? REDUCE_NORMAL : REDUCE_LOSS;
    if (!derives(out))
        NB_TRY(device_loss(sim, scene, frame, target, value, done));
    else if (pulls.end == REDUCE_NORMAL)
        NB_TRY(device_normal(sim, scene, frame, &pulls, value, out, done));
    else
        NB_TRY(device_gradient(sim, scene, frame, &pulls, value, out->gradient, done));
    return *done ? check_value(sim, *value) : NB_OK;
}

nb_status nb_loss(nb_simulator *sim, const double *x, const nb_target *target,
                  double *value, nb_normal *out)
{
    struct compared compared = {target, 0};
    nb_scene scene;
    struct phys_frame frame;
    nb_status status;
    int done;

    if (!sim) return NB_ERR_ARGUMENT;
    progress_begin(&sim->progress, sim->ctx);
    if (!value) return fail(sim->ctx, NB_ERR_ARGUMENT, "a loss needs a place to go");
    NB_TRY(target_check(sim->ctx, target));
    NB_TRY(device_check_input(sim, target->observed, "observed", derives(out)));
    NB_TRY(device_check_input(sim, target->weight, "weight", derives(out)));
    if (out) NB_TRY(simulator_derivable(sim));
    compared.nfast = (size_t)sim->window.nfast;
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    *value = 0;
    status = loss_on_device(sim, &scene, &frame, target, value, out, &done);
    if (status == NB_OK && !done)
        status = loss_on_host(sim, &scene, &frame, &compared, value, out);
    return isfinite(*value) ? status : blame_observed(sim, target->observed, status);
}
