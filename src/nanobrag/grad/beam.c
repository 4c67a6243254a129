/*
 * beam.c - tangents of the sources. It follows the formulas of scene/beam.c one by one, and
 * computes each tangent (_dot) beside its value.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/beam.h"

#include "grad/linear_tangent.h"
#include "grad/tangent.h"
#include "scene/sampling.h"

struct beam_vectors beam_vectors_of(const nb_beam *b, const nb_beam *dot)
{
    struct beam_vectors s;
    double across[3], across_dot[3];

    linear_unit(b->direction, s.beam);
    linear_unit(b->polarization_axis, s.axis);
    linear_unit_tangent(b->direction, dot->direction, s.beam_dot);
    linear_unit_tangent(b->polarization_axis, dot->polarization_axis, s.axis_dot);
    linear_cross(s.beam, s.axis, across);
    linear_cross_tangent(s.beam, s.beam_dot, s.axis, s.axis_dot, across_dot);
    linear_unit(across, s.vertical);
    linear_unit_tangent(across, across_dot, s.vertical_dot);
    return s;
}

/* Computes the tangents of the horizontal and vertical deviation of source i, radian. */
static void deviation_tangent(const nb_scene *dot, const struct scene_fixed *fixed, int i,
                              double deviation_dot[2])
{
    const double *divergence_dot = dot->beam.divergence;

    deviation_dot[0] = fixed->beamlet[i].horizontal * fixed->divergence[0].ratio
                       * divergence_dot[0] / 1000;
    deviation_dot[1] =
        fixed->beamlet[i].vertical * fixed->divergence[1].ratio * divergence_dot[1] / 1000;
}

/* Computes the direction of travel of the light of generated source i, and its tangent. */
static void generated_direction(const nb_scene *scene, const nb_scene *dot,
                                const struct scene_fixed *fixed,
                                const struct beam_vectors *s, int i, double out[3],
                                double out_dot[3])
{
    double deviation[2], deviation_dot[2];

    beam_deviation(scene, fixed, i, deviation);
    deviation_tangent(dot, fixed, i, deviation_dot);
    linear_rotate_tangent(s->axis, s->axis_dot, deviation[1], deviation_dot[1], s->beam,
                          s->beam_dot, out_dot);
    linear_rotate(s->axis, deviation[1], s->beam, out);
    linear_rotate_tangent(s->vertical, s->vertical_dot, deviation[0], deviation_dot[0], out,
                          out_dot, out_dot);
    linear_rotate(s->vertical, deviation[0], out, out);
}

/* Computes the tangents of e and b of a source from its direction and the polarization
 * axis. */
static void polarization_tangent(const struct beam_vectors *s, const double direction[3],
                                 struct phys_source *out)
{
    double across[3], across_dot[3], b[3], along[3], along_dot[3];

    linear_cross(s->axis, direction, across);
    linear_cross_tangent(s->axis, s->axis_dot, direction, out->direction, across_dot);
    linear_unit(across, b);
    linear_unit_tangent(across, across_dot, out->b);
    linear_cross(direction, b, along);
    linear_cross_tangent(direction, out->direction, b, out->b, along_dot);
    linear_unit_tangent(along, along_dot, out->e);
}

/* Computes the tangent of source i. The weight is not yet divided by the sum of all
 * weights. */
static void source_tangent(const nb_scene *scene, const nb_scene *dot,
                           const struct scene_fixed *fixed, const struct beam_vectors *s,
                           int i, struct phys_source *out)
{
    static const nb_source zero;
    const nb_beam *b = &scene->beam, *b_dot = &dot->beam;
    double direction[3], wavelength, wavelength_dot;

    out->weight = 0;
    if (fixed->ngrid > 0) {
        const double at = fixed->beamlet[i].wavelength;
        const double step = sampling_step(&fixed->dispersion, b->dispersion);
        const double step_dot = fixed->dispersion.ratio * b_dot->dispersion;

        wavelength = b->wavelength * (1 + step * at);
        wavelength_dot =
            b_dot->wavelength * (1 + step * at) + b->wavelength * step_dot * at;
        generated_direction(scene, dot, fixed, s, i, direction, out->direction);
    } else {
        const nb_source *source_dot = b_dot->source ? b_dot->source + i : &zero;

        wavelength = b->source[i].wavelength;
        wavelength_dot = source_dot->wavelength;
        linear_unit(b->source[i].direction, direction);
        linear_unit_tangent(b->source[i].direction, source_dot->direction, out->direction);
        if (!(scene->quirks & NB_QUIRK_UNIT_WEIGHTS)) out->weight = source_dot->weight;
    }
    out->inverse_wavelength = -wavelength_dot / (wavelength * wavelength);
    polarization_tangent(s, direction, out);
}

double beam_wavelength_tangent(const nb_scene *scene, const nb_scene *dot)
{
    const nb_beam *b = &scene->beam;
    const nb_source *source_dot = dot->beam.source;
    const double mean = beam_wavelength(scene);
    double sum = 0, sum_dot = 0;

    for (int i = 0; i < b->nsource; i++) {
        sum += b->source[i].weight;
        if (source_dot)
            sum_dot += b->source[i].weight * source_dot[i].wavelength
                       + source_dot[i].weight * (b->source[i].wavelength - mean);
    }
    return sum > 0 ? sum_dot / sum : dot->beam.wavelength;
}

void beam_tangent(const nb_scene *scene, const nb_scene *dot,
                  const struct scene_fixed *fixed, struct phys_frame_tangent *out)
{
    const nb_beam *b = &scene->beam;
    const int listed = fixed->ngrid == 0 && !(scene->quirks & NB_QUIRK_UNIT_WEIGHTS);
    const struct beam_vectors shared = beam_vectors_of(b, &dot->beam);
    double sum = 0, sum_dot = 0;

    for (int i = 0; i < fixed->nsource; i++) {
        source_tangent(scene, dot, fixed, &shared, i, out->source + i);
        sum += listed ? b->source[i].weight : 1;
        sum_dot += out->source[i].weight;
    }
    for (int i = 0; i < fixed->nsource; i++) {
        const double weight = (listed ? b->source[i].weight : 1) / sum;

        out->source[i].weight = (out->source[i].weight - weight * sum_dot) / sum;
    }
    out->kahn = dot->beam.polarization;
}
