/*
 * api/loss.c - nb_loss(), nb_planes() and nb_jtj(), for fitting. They run the stages of
 * simulator.c, followed by a loss:
 *
 *   x -> scene -> frame -> photons -> loss
 *
 * A gradient is one adjoint: the photons of each tile turn into cotangents as soon as they
 * are computed (kernels/derivatives/adjoint.c). A normal matrix is summed from the Jacobian
 * of each tile (kernels/derivatives/normal.c). The whole image is needed before the
 * backward pass only with a point spread, with several lattices, in the adjoint of
 * NB_STRATEGY_SPOTS, and with planes of background (kernels/planes/planes.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "image/target.h"
#include "normal_psf.h"
#include "simulator.h"

/* ---- the normal matrix ---- */

/* Add the sums of a normal matrix to the caller's arrays that are not NULL. `diagonal` and
 * `gradient` have one element for each parameter, in the order of x. */
static void deliver_normal(const nb_simulator *sim, const struct normal_sums *sums,
                           const nb_normal *out)
{
    const size_t n = params_dense(&sim->params), nf = sim->params.f.n;
    size_t dense = 0;

    for (size_t i = 0; out->matrix && i < n * n; i++) out->matrix[i] += sums->matrix[i];
    for (size_t i = 0; out->coupling && i < n * nf; i++)
        out->coupling[i] += sums->coupling[i];
    for (size_t i = 0; i < sim->params.n; i++) {
        const int is_f = params_is_f(&sim->params, i);
        const size_t f = is_f ? (size_t)sim->params.at[i].index : 0;

        if (out->diagonal)
            out->diagonal[i] += is_f ? sums->f_diagonal[f] : sums->matrix[dense * (n + 1)];
        if (out->gradient)
            out->gradient[i] += is_f ? sums->f_gradient[f] : sums->gradient[dense];
        dense += !is_f;
    }
}

/* Set *value to the objective and, if it is finite, add the results that `out` requests. */
static nb_status add_normal(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame,
                            const struct objective_terms *objective, double *value,
                            const nb_normal *out)
{
    struct request request = backend_request(BACKEND_NORMAL, sim, scene, frame);

    request.objective = *objective;
    request.coupling = out->coupling != NULL;
    if (sim->psf) return normal_psf(sim, scene, frame, objective, value, out);
    NB_TRY(backend_run(&request));
    *value = request.value;
    if (isfinite(*value)) deliver_normal(sim, request.sums, out);
    return NB_OK;
}

nb_status nb_jtj(nb_simulator *sim, const double *x, const nb_array *weight,
                 const nb_array *residual, nb_normal *out)
{
    STANDARD_FLOATS;
    const struct objective_terms objective = {.weight = weight, .residual = residual};
    nb_scene scene;
    const struct phys_frame *frame;
    double value;

    if (!sim) return NB_ERR_ARGUMENT;
    progress_begin(&sim->progress, sim->ctx);
    NB_TRY(simulator_derivable(sim));
    if (!out) return fail(sim->ctx, NB_ERR_ARGUMENT, "a normal matrix needs a place to go");
    if (out->gradient && !residual)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "a gradient needs residuals");
    NB_TRY(backend_check_input(sim, weight, "weight", 1));
    NB_TRY(backend_check_input(sim, residual, "residual", 1));
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    return add_normal(sim, &scene, frame, &objective, &value, out);
}

/* ---- the loss ---- */

static nb_status check_value(const nb_simulator *sim, double value)
{
    if (isfinite(value)) return NB_OK;
    if (isnan(value)) return fail(sim->ctx, NB_ERR_ARGUMENT, "the loss is not a number");
    return fail(sim->ctx, NB_ERR_DOMAIN,
                "the loss is infinite: photons were observed where none are expected, or a "
                "pixel has no variance");
}

/* Derives the frame at x for a loss. If x is finite but has no frame, for example because
 * its unit cell is impossible, the value is infinite and the status NB_ERR_DOMAIN: a fit
 * may try such a step. */
static nb_status frame_for_loss(nb_simulator *sim, const double *x, nb_scene *scene,
                                const struct phys_frame **frame, double *value)
{
    const nb_status status = simulator_frame(sim, x, scene, frame);
    const int is_refused =
        status == NB_ERR_ARGUMENT || status == NB_ERR_SCENE || status == NB_ERR_UNIT_CELL;

    if (!x || !is_refused) return status;
    for (size_t i = 0; i < sim->params.n; i++)
        if (isnan(x[i])) return status;
    *value = INFINITY;
    return NB_ERR_DOMAIN; /* simulator_frame() has set the message */
}

/* Compute the loss from a whole image and, unless `gradient` is NULL, add the gradient to
 * it. */
static nb_status loss_of_image(nb_simulator *sim, const nb_scene *scene,
                               const struct phys_frame *frame,
                               const struct objective_terms *terms, double *value,
                               double *gradient)
{
    struct host_objective of;
    nb_array bar;

    NB_TRY(simulator_photons(sim));
    bar = nb_array_f64(sim->photons, sim->window.nslow, sim->window.nfast);
    progress_passes(&sim->progress, gradient ? 2 + simulator_widens(sim) : 1);
    NB_TRY(simulator_render(sim, scene, frame, sim->photons));
    objective_start(sim, terms, &of);
    if (of.planes) objective_settle(&of, sim->photons, 0);
    *value = objective_of_image(sim, &of.objective, sim->photons);
    if (of.planes) NB_TRY(objective_settled(sim, &of, value));
    NB_TRY(check_value(sim, *value));
    if (!gradient) return NB_OK;
    NB_TRY(simulator_unspread(sim, scene, frame));
    return simulator_vjp(sim, scene, frame, &bar, gradient);
}

static nb_status loss_and_gradient(nb_simulator *sim, const nb_scene *scene,
                                   const struct phys_frame *frame,
                                   const struct objective_terms *objective, double *value,
                                   double *gradient)
{
    struct request request =
        backend_request(gradient ? BACKEND_ADJOINT : BACKEND_LOSS, sim, scene, frame);

    request.objective = *objective;
    if (sim->psf || (gradient && scene->crystal.nlattice > 0))
        return loss_of_image(sim, scene, frame, objective, value, gradient);
    NB_TRY(backend_run(&request));
    *value = request.value;
    NB_TRY(check_value(sim, *value));
    if (gradient) simulator_add_gradient(sim, gradient);
    return NB_OK;
}

/* If the loss is not finite because a pixel of the observed image is not, return an error
 * that names this pixel. */
static nb_status blame_observed(const nb_simulator *sim, const nb_array *observed,
                                nb_status status)
{
    if (array_is_on_device(observed)) return status; /* the host cannot read the array */
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

/* Compute the loss, and add the derivatives that `out` requests. */
static nb_status loss_of(nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame,
                         const struct objective_terms *objective, double *value,
                         nb_normal *out)
{
    if (!wants_matrix(out))
        return loss_and_gradient(sim, scene, frame, objective, value,
                                 out ? out->gradient : NULL);
    NB_TRY(add_normal(sim, scene, frame, objective, value, out));
    return check_value(sim, *value);
}

/* ---- the calls ---- */

static nb_status check_target(nb_simulator *sim, const nb_target *target, int derived)
{
    NB_TRY(target_check(sim->ctx, target));
    if (target->background && sim->scene.detector.nbox == 0)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "planes of background need boxes of pixels (detector.box)");
    NB_TRY(backend_check_input(sim, target->observed, "observed", derived));
    NB_TRY(backend_check_input(sim, target->weight, "weight", derived));
    return target->background ? simulator_planes(sim) : NB_OK;
}

nb_status nb_loss(nb_simulator *sim, const double *x, const nb_target *target,
                  double *value, nb_normal *out)
{
    STANDARD_FLOATS;
    const struct objective_terms objective = {.target = target};
    nb_scene scene;
    const struct phys_frame *frame;
    nb_status status;

    if (!sim) return NB_ERR_ARGUMENT;
    progress_begin(&sim->progress, sim->ctx);
    if (!value) return fail(sim->ctx, NB_ERR_ARGUMENT, "a loss needs a place to go");
    NB_TRY(check_target(sim, target, derives(out)));
    if (out) NB_TRY(simulator_derivable(sim));
    NB_TRY(frame_for_loss(sim, x, &scene, &frame, value));
    *value = 0;
    status = loss_of(sim, &scene, frame, &objective, value, out);
    return isfinite(*value) ? status : blame_observed(sim, target->observed, status);
}

nb_status nb_planes(nb_simulator *sim, const double *x, const nb_target *target,
                    double *planes)
{
    STANDARD_FLOATS;
    const struct objective_terms objective = {.target = target};
    nb_scene scene;
    const struct phys_frame *frame;
    nb_status status;
    double value;

    if (!sim) return NB_ERR_ARGUMENT;
    progress_begin(&sim->progress, sim->ctx);
    if (!planes) return fail(sim->ctx, NB_ERR_ARGUMENT, "planes need a place to go");
    NB_TRY(check_target(sim, target, 0));
    if (!target->background)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "a target without planes has none to report; set its background to "
                    "NB_BACKGROUND_PLANES");
    NB_TRY(frame_for_loss(sim, x, &scene, &frame, &value));
    value = 0;
    status = loss_of(sim, &scene, frame, &objective, &value, NULL);
    if (!isfinite(value)) return blame_observed(sim, target->observed, status);
    NB_TRY(status);
    for (size_t i = 0; i < sim->planes.nbox; i++)
        planes_report(&sim->planes, i, planes + PLANE_TERMS * i);
    return NB_OK;
}
