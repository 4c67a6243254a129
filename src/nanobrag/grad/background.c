/*
 * background.c - tangents of bragg_scale (scene/derive.c) and of amorphous_scale
 * (scene/background.c), the factors from F^2 to photons. This file follows the formulas
 * there one by one; x_dot is the tangent of x.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/background.h"

#include "grad/tangent.h"
#include "scene/beam.h"

/* Returns the number of molecules in a cube whose edge is the thickness, and writes its
 * tangent. */
static double molecules(const nb_background *b, const nb_background *dot,
                        double *molecules_dot)
{
    const double edge = b->water * 1e-6, edge_dot = dot->water * 1e-6;
    const double per_volume = 1e6 * b->density * AVOGADRO / b->molecular_weight;
    const double per_volume_dot =
        per_volume
        * (dot->density / b->density - dot->molecular_weight / b->molecular_weight);

    *molecules_dot =
        3 * edge * edge * edge_dot * per_volume + edge * edge * edge * per_volume_dot;
    return edge * edge * edge * per_volume;
}

static double quirk_molecules(const nb_background *b, const nb_background *dot,
                              double *molecules_dot)
{
    const double edge = b->water * 1e-6, edge_dot = dot->water * 1e-6;

    *molecules_dot = 3 * edge * edge * edge_dot * 1e6 * AVOGADRO / 18;
    return edge * edge * edge * 1e6 * AVOGADRO / 18;
}

void background_tangent(const nb_scene *scene, const nb_scene *dot,
                        const struct phys_frame *frame, struct phys_frame_tangent *out)
{
    const nb_background *b = &scene->background;
    const double nsub = (double)scene->oversample * scene->oversample;
    const double per_electron2 = BEAM_RE2 * scene->beam.fluence;
    const double per_electron2_dot = BEAM_RE2 * dot->beam.fluence;
    double n, n_dot;

    out->bragg_scale =
        (per_electron2_dot * scene->crystal.scale + per_electron2 * dot->crystal.scale)
        / (nsub * frame->norientation);
    if (scene->quirks & NB_QUIRK_WATER) {
        /* In nanoBragg the water has the square of the fluence, divided by the number of
         * steps (scene/background.c). */
        const double steps = (double)frame->nsource * frame->norientation * nsub;
        const double layers = frame->each_capture ? 1 : frame->nlayers;

        n = quirk_molecules(b, &dot->background, &n_dot);
        out->amorphous_scale = per_electron2 / steps
                               * (2 * per_electron2_dot * n + per_electron2 * n_dot)
                               / (nsub * layers);
        return;
    }
    n = molecules(b, &dot->background, &n_dot);
    out->amorphous_scale = per_electron2_dot * n + per_electron2 * n_dot;
}
