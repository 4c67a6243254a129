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
                          struct phys_frame *frame)
{
    double largest;

    NB_TRY(simulator_scene(sim, x, scene));
    largest = params_write_f(&sim->params, x, sim->box, sim->box_single);
    for (size_t i = 0; i < sim->nunlisted; i++)
        sim->box[sim->unlisted[i]] = scene->crystal.default_f;
    for (size_t i = 0; sim->box_single && i < sim->nunlisted; i++)
        sim->box_single[sim->unlisted[i]] = (float)scene->crystal.default_f;
    NB_TRY(
        scene_derive(sim->ctx, scene, &sim->fixed, sim->sources, sim->orientations, frame));
    frame->f_max = fmax(frame->f_max, largest);
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

/* ---- the adjoint ---- */

double simulator_default_f(const nb_simulator *sim, const struct phys_frame_tangent *dot,
                           const double *f)
{
    double sum = 0;

    for (size_t k = 0; dot->default_f != 0 && k < sim->nunlisted; k++)
        sum += dot->default_f * f[sim->unlisted[k]];
    return sum;
}

/* Compute the tangent along parameter i; its lists are those of the simulator. */
static struct phys_frame_tangent tangent_along(nb_simulator *sim, const nb_scene *scene,
                                               const struct crystal_axes *axes,
                                               const struct phys_frame *frame, size_t i)
{
    static const double one = 1;
    struct phys_frame_tangent dot = {0};

    dot.source = sim->source_change;
    dot.rotation = sim->rotation;
    simulator_tangent(sim, scene, axes, frame, i, 1, &one, &dot);
    return dot;
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

        if (params_is_f(&sim->params, i)) continue;
        dot = tangent_along(sim, scene, &axes, frame, i);
        *fixed &= phys_fixed_along(frame->nsource, &dot);
    }
    return NB_OK;
}

/* Apply the adjoint of scene_derive() and params_unpack(). */
nb_status simulator_frame_adjoint(nb_simulator *sim, const nb_scene *scene,
                                  const struct phys_frame *frame,
                                  const struct phys_frame_tangent *bar)
{
    double *dense = sim->gradient.dense;
    struct crystal_axes axes;

    NB_TRY(crystal_derive(sim->ctx, scene, &axes));
    for (size_t i = 0; i < sim->params.n; i++) {
        struct phys_frame_tangent dot;

        if (params_is_f(&sim->params, i)) continue;
        dot = tangent_along(sim, scene, &axes, frame, i);
        *dense++ = phys_frame_inner(frame->nsource, frame->norientation, bar, &dot)
                   + simulator_default_f(sim, &dot, bar->f);
    }
    return NB_OK;
}
