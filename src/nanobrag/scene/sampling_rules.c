/*
 * sampling_rules.c - sampling_step() and sampling_interpolation(), rules that several parts
 * of a scene need.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/sampling.h"

double sampling_step(const struct scene_steps *steps, double range)
{
    return steps->ratio * range + steps->absolute;
}

int sampling_interpolation(const nb_scene *scene, const struct scene_fixed *fixed)
{
    const nb_crystal *c = &scene->crystal;
    const double *n =
        scene->quirks & NB_QUIRK_INTERPOLATE ? fixed->ncells_asked : c->ncells;

    if (c->interpolate != NB_LOOKUP_AUTO) return c->interpolate;
    return n[0] <= 2 || n[1] <= 2 || n[2] <= 2 ? NB_LOOKUP_TRICUBIC : NB_LOOKUP_NEAREST;
}
