/* sampling.c - tangents of steps and phi angles. SPDX-License-Identifier: MIT */
#include "grad/tangent.h"

double sampling_step_tangent(const struct scene_steps *steps, double range_dot)
{
    return steps->ratio * range_dot;
}

double sampling_phi_tangent(const nb_scene *scene, const nb_scene *dot,
                            const struct scene_fixed *fixed, int i)
{
    const double step_dot = sampling_step_tangent(&fixed->phi, dot->scan.osc);
    const double start = scene->quirks & NB_QUIRK_STEP_RULES ? i : i + 0.5;

    return dot->scan.phi0 + step_dot * start;
}
