/*
 * state/frame_at_x.c - the frame of a simulator at x, with tangents and adjoint. The
 * adjoint is the inner product of the frame's cotangent with the frame's tangent along each
 * parameter. These tangents are cheap, so scene_derive() and params_unpack() need no
 * adjoint code of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

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

/* Derive the frames of lattice l, one for each panel. `largest` is the largest |F| among
 * free structure factors; f_max of a frame is at least that. */
static nb_status derive_lattice(nb_simulator *sim, const nb_scene *scene, double largest,
                                int l)
{
    const int panels = detector_panels(&scene->detector);
    const size_t each = (size_t)scene->scan.nphi * (size_t)scene->crystal.ndomains;
    struct phys_frame *frames = sim->frames + (size_t)l * (size_t)panels;
    nb_scene own;

    lattices_scene(scene, l, &own);
    NB_TRY(scene_derive(sim->ctx, &own, &sim->fixed, sim->sources,
                        sim->orientations + (size_t)l * each, frames));
    for (int i = 0; i < panels; i++) frames[i].f_max = fmax(frames[i].f_max, largest);
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
    for (int l = 0; l < lattices_count(scene); l++)
        NB_TRY(derive_lattice(sim, scene, largest, l));
    *frames = sim->frames;
    return NB_OK;
}

nb_status simulator_lattice(const nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frames, int number,
                            struct lattice_at *out)
{
    out->number = number;
    out->all = scene;
    out->frame = frames + (size_t)number * (size_t)detector_panels(&scene->detector);
    lattices_scene(scene, number, &out->scene);
    return crystal_derive(sim->ctx, &out->scene, &out->axes);
}

/* ---- tangents of the frame ---- */

void simulator_tangent(nb_simulator *sim, const struct lattice_at *at, size_t first,
                       size_t n, const double *dx, struct phys_frame_tangent *out)
{
    nb_scene all, dot;

    params_unpack_change(&sim->params, first, n, dx, at->all, &sim->change, &all);
    lattices_scene_tangent(at->all, &all, at->number, &dot);
    scene_derive_tangent(&at->scene, &dot, &sim->fixed, &at->axes, at->frame, out);
}

void simulator_parameter_tangents(nb_simulator *sim, const struct lattice_at *at,
                                  struct phys_frame_tangent *out)
{
    static const double one = 1;

    for (size_t i = 0; i < sim->params.n; i++)
        if (!params_is_f(&sim->params, i)) simulator_tangent(sim, at, i, 1, &one, out++);
}

/* Add tangent number `which` to the tangents of a panel. The tangent lies along dx, a
 * change of the n parameters from number `first` on. */
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

/* ---- the adjoint of the frame ---- */

double simulator_default_f(const nb_simulator *sim, const struct phys_frame_tangent *dot,
                           const double *f)
{
    double sum = 0;

    for (size_t k = 0; dot->default_f != 0 && k < sim->nunlisted; k++)
        sum += dot->default_f * f[sim->unlisted[k]];
    return sum;
}

/* Returns the tangent of the frame along parameter i, with lists that belong to the
 * simulator, and writes the scene's tangent to *scene_dot. *moves becomes 1 if the
 * parameter may change numbers of panels. */
static struct phys_frame_tangent tangent_along(nb_simulator *sim,
                                               const struct lattice_at *at, size_t i,
                                               nb_scene *scene_dot, int *moves)
{
    static const double one = 1;
    struct phys_frame_tangent dot = {0};
    nb_scene all;

    dot.source = sim->source_change;
    dot.rotation = sim->rotation;
    params_unpack_change(&sim->params, i, 1, &one, at->all, &sim->change, &all);
    lattices_scene_tangent(at->all, &all, at->number, scene_dot);
    scene_derive_tangent(&at->scene, scene_dot, &sim->fixed, &at->axes, at->frame, &dot);
    *moves = at->scene.detector.npanel > 0 && panels_change(scene_dot);
    return dot;
}

/* Returns the inner product, over the panels that parameter i moves, of the cotangents
 * `panels` with the tangents of each panel's numbers along that parameter. */
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

void simulator_fixed(nb_simulator *sim, const struct lattice_at *at, int *fixed)
{
    *fixed = PHYS_FIXED_PIXELS;
    if (at->frame->amorphous_scale != 0) *fixed |= PHYS_FIXED_SCALE;
    for (size_t i = 0; i < sim->params.n && *fixed; i++) {
        struct phys_frame_tangent dot;
        nb_scene scene_dot;
        int moves;

        if (params_is_f(&sim->params, i)) continue;
        dot = tangent_along(sim, at, i, &scene_dot, &moves);
        *fixed &= phys_fixed_along(at->frame->nsource, &dot);
        if (moves) *fixed &= ~PHYS_FIXED_PIXELS;
    }
}

void simulator_frame_adjoint(nb_simulator *sim, const struct lattice_at *at,
                             const struct phys_frame_tangent *bar,
                             double (*panels)[PHYS_PANEL_NUMBERS])
{
    const struct phys_frame *frame = at->frame;
    struct gradient *to = &sim->gradient;
    double *dense = to->dense;

    if (at->number == 0) memset(dense, 0, params_dense(&sim->params) * sizeof *dense);
    for (size_t i = 0; i < sim->params.n; i++) {
        struct phys_frame_tangent dot;
        nb_scene scene_dot;
        int moves;

        if (params_is_f(&sim->params, i)) continue;
        dot = tangent_along(sim, at, i, &scene_dot, &moves);
        *dense += phys_frame_inner(frame->nsource, frame->norientation, bar, &dot)
                  + simulator_default_f(sim, &dot, bar->f);
        if (moves) *dense += inner_on_panels(sim, &at->scene, &scene_dot, i, panels);
        dense++;
    }
    /* With one lattice to->f is bar->f, which holds the cotangents already. */
    if (!to->f || to->f == bar->f) return;
    if (at->number == 0) memset(to->f, 0, sim->adjoint.sizes.box * sizeof *to->f);
    for (size_t i = 0; i < sim->adjoint.sizes.box; i++) to->f[i] += bar->f[i];
}
