/*
 * beam.c - resolves the beam and computes its sources (docs/theory.md, 10).
 * SPDX-License-Identifier: MIT
 */
#include "scene/beam.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "scene/linear.h"
#include "scene/sampling.h"

nb_status beam_resolve(nb_context *ctx, nb_scene *scene)
{
    nb_beam *b = &scene->beam;
    double sum = 0;

    if (fabs(b->polarization) > 1 && !scene->quirks)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "the Kahn factor is %g, expected -1 to 1 (-polar)", b->polarization);
    if (b->wavelength == 0) b->wavelength = 1;
    if (b->exposure == 0) b->exposure = 1;
    if (b->size == 0) b->size = 0.1;
    if (b->flux != 0 && b->size > 0)
        b->fluence = b->flux * b->exposure / (b->size * b->size * 1e-6);
    else if (b->fluence == 0 && !(scene->given & NB_GIVEN_FLUENCE))
        b->fluence = 125932015286227086360700780544.0; /* 1/r_e^2 */
    scene->given |= NB_GIVEN_FLUENCE;
    b->flux = 0;
    for (int i = 0; i < b->nsource; i++) {
        const nb_source *s = b->source + i;

        if (linear_is_zero(s->direction))
            return fail(ctx, NB_ERR_SCENE, "source %d has no direction", i + 1);
        if (!(s->wavelength > 0))
            return fail(ctx, NB_ERR_SCENE,
                        "source %d has wavelength %g A, expected more than 0", i + 1,
                        s->wavelength);
        if (s->wavelength > 1000)
            log_line(ctx, NB_LOG_WARNING, "beam",
                     "source %d has a wavelength of %g A; source files give metres", i + 1,
                     s->wavelength);
        if (!(s->weight >= 0) && !(scene->quirks & NB_QUIRK_UNIT_WEIGHTS))
            return fail(ctx, NB_ERR_SCENE, "source %d has weight %g, expected 0 or more",
                        i + 1, s->weight);
        sum += s->weight;
    }
    if (b->nsource > 0 && !(sum > 0) && !(scene->quirks & NB_QUIRK_UNIT_WEIGHTS))
        return fail(ctx, NB_ERR_SCENE,
                    "the source weights add up to %g, expected more than 0", sum);
    return NB_OK;
}

nb_status beam_check_directions(nb_context *ctx, const nb_scene *scene)
{
    const nb_beam *b = &scene->beam;
    double cross[3];

    if (linear_norm(b->direction) == 0)
        return fail(ctx, NB_ERR_SCENE, "the beam has no direction; it is 0 0 0");
    if (linear_norm(scene->scan.axis) == 0)
        return fail(ctx, NB_ERR_SCENE, "the spindle has no direction; it is 0 0 0");
    linear_cross(b->direction, b->polarization_axis, cross);
    if (!(linear_norm(cross)
          > 1e-6 * linear_norm(b->direction) * linear_norm(b->polarization_axis))
        && ((b->polarization != 0 && !b->unpolarised) || b->divergence[0] != 0
            || b->divergence[1] != 0))
        return fail(ctx, NB_ERR_SCENE,
                    "the polarization axis lies along the beam; give -polar_vector");
    return NB_OK;
}

/* Returns the position of grid point i of n, in steps from the centre. nanoBragg's grid
 * starts at -range/2 and need not be centred. */
static double grid_offset(int i, int n, double range, double step, int quirk)
{
    if (quirk) return step > 0 ? i - range / 2 / step : 0;
    return i - (n - 1) / 2.0;
}

/* Returns the term of one axis in q, the squared elliptical radius of a direction
 * (docs/theory.md, 10). A round divergence keeps the points with 4 q <= 1.1. */
static double round_term(double deviation, double step, double range, int n)
{
    const double even = n % 2 == 0 ? step * step / 4 : 0;

    return (deviation * deviation - even) / (range * range);
}

/* Computes the position of point (ih, iv) of the divergence grid, in steps. Returns 1 if
 * the point lies within the divergence. */
static int grid_point(const nb_scene *scene, int ih, int iv, double at[2])
{
    const nb_beam *b = &scene->beam;
    const int quirk = (scene->quirks & NB_QUIRK_STEP_RULES) != 0;
    const int i[2] = {ih, iv};
    double q = 0;

    for (int k = 0; k < 2; k++) {
        at[k] = grid_offset(i[k], b->ndivergence[k], b->divergence[k],
                            b->divergence_step[k], quirk);
        q += round_term(at[k] * b->divergence_step[k], b->divergence_step[k],
                        b->divergence[k], b->ndivergence[k]);
    }
    /* A range of 0 makes q NaN; such a point counts as inside. */
    return b->square_divergence || !(4 * q > 1.1);
}

nb_status beam_count(nb_context *ctx, const nb_scene *scene, struct scene_fixed *fixed)
{
    const nb_beam *b = &scene->beam;
    double at[2];

    fixed->ngrid = 0;
    fixed->nsource = b->nsource;
    if (b->nsource > 0) return NB_OK;
    if ((double)b->ndivergence[0] * b->ndivergence[1] * b->ndispersion > 1e8)
        return fail(ctx, NB_ERR_SCENE,
                    "%d x %d x %d sources are too many; at most 1e8 (-hdivsteps, "
                    "-vdivsteps, -dispsteps)",
                    b->ndivergence[0], b->ndivergence[1], b->ndispersion);
    for (int ih = 0; ih < b->ndivergence[0]; ih++)
        for (int iv = 0; iv < b->ndivergence[1]; iv++)
            fixed->ngrid += grid_point(scene, ih, iv, at);
    fixed->nsource = fixed->ngrid * b->ndispersion;
    if (fixed->nsource == 0)
        return fail(ctx, NB_ERR_SCENE, "the divergence grid has no point left inside it");
    return NB_OK;
}

void beam_fill(const nb_scene *scene, struct scene_fixed *fixed)
{
    const nb_beam *b = &scene->beam;
    const int quirk = (scene->quirks & NB_QUIRK_STEP_RULES) != 0;
    struct scene_beamlet *next = fixed->beamlet;
    double at[2];

    if (fixed->ngrid == 0) return;
    for (int ih = 0; ih < b->ndivergence[0]; ih++)
        for (int iv = 0; iv < b->ndivergence[1]; iv++) {
            if (!grid_point(scene, ih, iv, at)) continue;
            for (int il = 0; il < b->ndispersion; il++) {
                const double step =
                    fixed->dispersion.ratio * b->dispersion + fixed->dispersion.absolute;

                next->horizontal = at[0];
                next->vertical = at[1];
                next->wavelength =
                    grid_offset(il, b->ndispersion, b->dispersion, step, quirk);
                next++;
            }
        }
}

void beam_deviation(const nb_scene *scene, const struct scene_fixed *fixed, int i,
                    double deviation[2])
{
    const nb_beam *b = &scene->beam;

    deviation[0] = deviation[1] = 0;
    if (fixed->ngrid == 0) return;
    deviation[0] = fixed->beamlet[i].horizontal
                   * sampling_step(&fixed->divergence[0], b->divergence[0]) / 1000;
    deviation[1] = fixed->beamlet[i].vertical
                   * sampling_step(&fixed->divergence[1], b->divergence[1]) / 1000;
}

/* Computes the direction of travel of the light of generated source i. */
static void generated_direction(const nb_scene *scene, const struct scene_fixed *fixed,
                                const double beam[3], const double e[3], int i,
                                double out[3])
{
    double vertical[3], deviation[2];

    linear_cross(beam, e, vertical);
    linear_unit(vertical, vertical);
    beam_deviation(scene, fixed, i, deviation);
    linear_rotate(e, deviation[1], beam, out);
    linear_rotate(vertical, deviation[0], out, out);
}

nb_status beam_source(nb_context *ctx, const nb_scene *scene,
                      const struct scene_fixed *fixed, int i, struct phys_source *out)
{
    const nb_beam *b = &scene->beam;
    double beam[3], axis[3], wavelength;

    linear_unit(b->direction, beam);
    linear_unit(b->polarization_axis, axis);
    if (fixed->ngrid > 0) {
        const double step = sampling_step(&fixed->dispersion, b->dispersion);

        wavelength = b->wavelength * (1 + step * fixed->beamlet[i].wavelength);
        generated_direction(scene, fixed, beam, axis, i, out->direction);
    } else {
        wavelength = b->source[i].wavelength;
        linear_unit(b->source[i].direction, out->direction);
    }
    if (linear_norm(out->direction) == 0)
        return fail(ctx, NB_ERR_SCENE, "source %d has no direction", i + 1);
    if (!(wavelength > 0))
        return fail(ctx, NB_ERR_SCENE,
                    "-dispersion, in percent, reaches a wavelength of %g A; make it "
                    "smaller "
                    "(beam.dispersion)",
                    wavelength);
    out->inverse_wavelength = 1 / wavelength;
    out->weight = 1;
    if (fixed->ngrid == 0 && !(scene->quirks & NB_QUIRK_UNIT_WEIGHTS))
        out->weight = b->source[i].weight;
    linear_cross(axis, out->direction, out->b);
    linear_unit(out->b, out->b);
    linear_cross(out->direction, out->b, out->e);
    linear_unit(out->e, out->e);
    return NB_OK;
}

nb_status beam_derive(nb_context *ctx, const nb_scene *scene,
                      const struct scene_fixed *fixed, struct phys_source *out)
{
    double sum = 0;

    for (int i = 0; i < fixed->nsource; i++) {
        NB_TRY(beam_source(ctx, scene, fixed, i, out + i));
        sum += out[i].weight;
    }
    if (!(sum > 0))
        return fail(ctx, NB_ERR_SCENE,
                    "the source weights add up to %g, expected more than 0", sum);
    for (int i = 0; i < fixed->nsource; i++) out[i].weight /= sum;
    return NB_OK;
}

double beam_shortest(const nb_scene *scene)
{
    const nb_beam *b = &scene->beam;
    double shortest;

    if (b->nsource == 0)
        return b->wavelength * (1 - (b->ndispersion > 1 ? b->dispersion / 2 : 0));
    shortest = b->source[0].wavelength;
    for (int i = 1; i < b->nsource; i++) shortest = fmin(shortest, b->source[i].wavelength);
    return shortest;
}

void beam_turn_to_dxtbx(const nb_scene *scene, double turn[3][3])
{
    static const double from_x[3][3] = {{0, 0, 1}, {0, 1, 0}, {-1, 0, 0}};
    static const double from_z[3][3] = {{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}};
    static const double forward[3] = {0, 0, -1};
    const int convention = scene->detector.convention;
    const int along_x = convention == NB_CONVENTION_MOSFLM
                        || convention == NB_CONVENTION_DENZO
                        || convention == NB_CONVENTION_CUSTOM;
    double beam[3];

    /* the beam of the convention itself is turned to -z without rounding */
    memcpy(turn, along_x ? from_x : from_z, sizeof from_x);
    linear_unit(scene->beam.direction, beam);
    linear_apply((const double(*)[3])turn, beam, beam);
    linear_rotate_to_z(beam, forward, turn);
}

double beam_wavelength(const nb_scene *scene)
{
    const nb_beam *b = &scene->beam;
    double sum = 0, moment = 0;

    for (int i = 0; i < b->nsource; i++) {
        sum += b->source[i].weight;
        moment += b->source[i].weight * b->source[i].wavelength;
    }
    return sum > 0 ? moment / sum : b->wavelength;
}
