/*
 * state/frame_at_x.c - the frame of a simulator at x, its tangents, and its adjoint: the
 * inner product of a cotangent of the frame with the tangent along each parameter. Both
 * stages between x and the frame are cheap, so they have no adjoint code.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "base/context.h"
#include "grad/tangent.h"
#include "scene/detector/detector.h"
#include "state/state.h"

nb_status simulator_scene(nb_simulator *sim, const double *x, nb_scene *scene)
{
    *scene = sim->scene;
    if (!x) return NB_OK;
    NB_TRY(params_check(sim->ctx, &sim->params, scene, x));
    params_unpack(&sim->params, x, &sim->at_x, scene);
    return NB_OK;
}

nb_status simulator_frame(nb_simulator *sim, const double *x, nb_scene *scene,
                          const struct phys_frame **frames)
{
    double largest;

    NB_TRY(simulator_scene(sim, x, scene));
    largest = params_write_f(&sim->params, x, sim->box, sim->box_single);
    for (size_t i = 0; i < sim->nunlisted; i++)
        sim->box[sim->unlisted[i]] = scene->crystal.default_f;
    for (size_t i = 0; sim->box_single && i < sim->nunlisted; i++)
        sim->box_single[sim->unlisted[i]] = (float)scene->crystal.default_f;
    NB_TRY(scene_derive(sim->ctx, scene, &sim->fixed, sim->sources, sim->orientations,
                        sim->frames));
    for (int i = 0; i < detector_panels(&scene->detector); i++)
        sim->frames[i].f_max = fmax(sim->frames[i].f_max, largest);
    *frames = sim->frames;
    return NB_OK;
}

/* ---- the tangent ---- */

void simulator_tangent(nb_simulator *sim, const nb_scene *scene,
                       const struct crystal_axes *axes, const struct phys_frame *frame,
                       size_t first, size_t n, const double *dx,
                       struct phys_frame_tangent *out)
{
    nb_scene dot;

    params_unpack_change(&sim->params, first, n, dx, scene, &sim->change, &dot);
    scene_derive_tangent(scene, &dot, &sim->fixed, axes, frame, out);
}

nb_status simulator_parameter_tangents(nb_simulator *sim, const nb_scene *scene,
                                       const struct phys_frame *frame,
                                       struct phys_frame_tangent *out)
{
    static const double one = 1;
    struct crystal_axes axes;

    NB_TRY(crystal_derive(sim->ctx, scene, &axes));
    for (size_t i = 0; i < sim->params.n; i++)
        if (!params_is_f(&sim->params, i))
            simulator_tangent(sim, scene, &axes, frame, i, 1, &one, out++);
    return NB_OK;
}

/* Add tangent `which`, of the parameters from `first` on along dx, to those of a panel. */
static void add_on_panel(nb_simulator *sim, const nb_scene *scene, int panel, int which,
                         size_t first, size_t n, const double *dx,
                         const struct jacobian_work *work)
{
    struct phys_frame_tangent *to = jacobian_add(work, panel, which);
    nb_scene dot;

    params_unpack_change(&sim->params, first, n, dx, scene, &sim->change, &dot);
    if (panels_change(&dot))
        panel_tangent(scene, &dot, &sim->fixed, panel, phys_numbers(to));
}

void simulator_parameters_on_panels(nb_simulator *sim, const nb_scene *scene,
                                    const struct jacobian_work *work)
{
    static const double one = 1;
    const struct params *params = &sim->params;

    for (int p = 0; p < scene->detector.npanel; p++) {
        int which = 0;

        jacobian_start_panel(work, p);
        for (size_t i = 0; i < params->n; i++) {
            if (params_is_f(params, i)) continue;
            if (params_move_panel(params, scene, i, p))
                add_on_panel(sim, scene, p, which, i, 1, &one, work);
            which++;
        }
    }
}

void simulator_directions_on_panels(nb_simulator *sim, const nb_scene *scene, int n,
                                    const double *dx, const struct jacobian_work *work)
{
    for (int p = 0; p < scene->detector.npanel; p++) {
        jacobian_start_panel(work, p);
        for (int d = 0; d < n; d++)
            add_on_panel(sim, scene, p, d, 0, sim->params.n, dx + (size_t)d * sim->params.n,
                         work);
    }
}

/* ---- the adjoint ---- */

double simulator_default_f(const nb_simulator *sim, const struct phys_frame_tangent *dot,
                           const double *f)
{
    double sum = 0;

    for (size_t k = 0; dot->default_f != 0 && k < sim->nunlisted; k++)
        sum += dot->default_f * f[sim->unlisted[k]];
    return sum;
}

/* Compute the tangent along parameter i; its lists are those of the simulator. *moves
 * becomes 1 if it may change numbers of panels. */
static struct phys_frame_tangent tangent_along(nb_simulator *sim, const nb_scene *scene,
                                               const struct crystal_axes *axes,
                                               const struct phys_frame *frame, size_t i,
                                               nb_scene *scene_dot, int *moves)
{
    static const double one = 1;
    struct phys_frame_tangent dot = {0};

    dot.source = sim->source_change;
    dot.rotation = sim->rotation;
    params_unpack_change(&sim->params, i, 1, &one, scene, &sim->change, scene_dot);
    scene_derive_tangent(scene, scene_dot, &sim->fixed, axes, frame, &dot);
    *moves = scene->detector.npanel > 0 && panels_change(scene_dot);
    return dot;
}

/* Returns the inner product of the cotangents and the tangents of the numbers of the panels
 * along parameter i. */
static double inner_on_panels(const nb_simulator *sim, const nb_scene *scene,
                              const nb_scene *dot, size_t i,
                              double (*panels)[PHYS_PANEL_NUMBERS])
{
    double number[PHYS_PANEL_NUMBERS], sum = 0;

    for (int p = 0; p < scene->detector.npanel; p++) {
        if (!params_move_panel(&sim->params, scene, i, p)) continue;
        panel_tangent(scene, dot, &sim->fixed, p, number);
        sum += phys_inner(PHYS_PANEL_NUMBERS, panels[p], number);
    }
    return sum;
}

nb_status simulator_fixed(nb_simulator *sim, const nb_scene *scene,
                          const struct phys_frame *frame, int *fixed)
{
    struct crystal_axes axes;

    *fixed = PHYS_FIXED_PIXELS;
    if (frame->amorphous_scale != 0) *fixed |= PHYS_FIXED_SCALE;
    NB_TRY(crystal_derive(sim->ctx, scene, &axes));
    for (size_t i = 0; i < sim->params.n && *fixed; i++) {
        struct phys_frame_tangent dot;
        nb_scene scene_dot;
        int moves;

        if (params_is_f(&sim->params, i)) continue;
        dot = tangent_along(sim, scene, &axes, frame, i, &scene_dot, &moves);
        *fixed &= phys_fixed_along(frame->nsource, &dot);
        if (moves) *fixed &= ~PHYS_FIXED_PIXELS;
    }
    return NB_OK;
}

/* Apply the adjoint of scene_derive() and params_unpack(). */
nb_status simulator_frame_adjoint(nb_simulator *sim, const nb_scene *scene,
                                  const struct phys_frame *frame,
                                  const struct phys_frame_tangent *bar,
                                  double (*panels)[PHYS_PANEL_NUMBERS])
{
    double *dense = sim->gradient.dense;
    struct crystal_axes axes;

    NB_TRY(crystal_derive(sim->ctx, scene, &axes));
    for (size_t i = 0; i < sim->params.n; i++) {
        struct phys_frame_tangent dot;
        nb_scene scene_dot;
        int moves;

        if (params_is_f(&sim->params, i)) continue;
        dot = tangent_along(sim, scene, &axes, frame, i, &scene_dot, &moves);
        *dense = phys_frame_inner(frame->nsource, frame->norientation, bar, &dot)
                 + simulator_default_f(sim, &dot, bar->f);
        if (moves) *dense += inner_on_panels(sim, scene, &scene_dot, i, panels);
        dense++;
    }
    return NB_OK;
}
