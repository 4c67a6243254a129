/* models.c - makes a scene of the models of an experiment. SPDX-License-Identifier: MIT */
#include "nanobrag_io/experiment/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "scene/crystal.h"
#include "scene/linear.h"

/* the largest cosine between two axes that are taken for perpendicular */
static const double square_within = 1e-6;

/* the limits of the cell axes, A, beyond which a file is taken for wrong */
static const double shortest_axis = 1e-2, longest_axis = 1e6;

/* Rotates a vector by `turn` and scales it to length 1. Returns NB_ERR_FORMAT if its length
 * is 0 or not finite. */
static nb_status direction(nb_context *ctx, const char *name, const char *what,
                           const double turn[3][3], const double v[3], double out[3])
{
    if (!(linear_norm(v) > 0) || !isfinite(linear_norm(v)))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the %s is %g %g %g, expected a vector with a direction", name,
                    what, v[0], v[1], v[2]);
    linear_unit(v, out);
    linear_apply(turn, out, out);
    return NB_OK;
}

static nb_status set_beam(nb_context *ctx, const char *name, const struct models *m,
                          const double turn[3][3], nb_beam *beam)
{
    if (m->found & NB_FOUND_BEAM) {
        beam->wavelength = m->wavelength;
        NB_TRY(direction(ctx, name, "beam", turn, m->beam, beam->direction));
    }
    if (!(m->found & NB_FOUND_POLARIZATION)) return NB_OK;
    beam->polarization = m->kahn;
    return direction(ctx, name,
                     "electric field of the beam (its direction across the polarization "
                     "normal)",
                     turn, m->field, beam->polarization_axis);
}

static nb_status set_detector(nb_context *ctx, const char *name, const struct models *m,
                              const double turn[3][3], nb_detector *d)
{
    double *const fast = d->vectors[0], *const slow = d->vectors[1];
    double *const normal = d->vectors[2], origin[3];

    if (m->found & NB_FOUND_SENSOR) {
        d->thickness = m->thickness;
        d->attenuation = m->attenuation;
        d->material = m->material;
        if (m->found & NB_FOUND_BEAM) d->attenuation_wavelength = m->wavelength;
    }
    if (!(m->found & NB_FOUND_DETECTOR) || m->nfast == 0) return NB_OK;
    NB_TRY(direction(ctx, name, "fast axis of the panel", turn, m->fast, fast));
    NB_TRY(direction(ctx, name, "slow axis of the panel", turn, m->slow, slow));
    if (!(fabs(linear_dot(fast, slow)) < square_within))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the fast and slow axes of the panel are not at right angles (the "
                    "cosine is %g); correct one of them",
                    name, linear_dot(fast, slow));
    linear_cross(fast, slow, normal);
    linear_unit(normal, normal);
    linear_apply(turn, m->origin, origin);
    if (linear_dot(origin, normal) < 0) linear_scale(-1, normal, normal);
    d->pixel = m->pixel;
    d->nfast = m->nfast;
    d->nslow = m->nslow;
    d->pivot = NB_PIVOT_SAMPLE;
    d->origin_kind = NB_ORIGIN_CLOSE;
    d->origin[0] = -linear_dot(origin, fast);
    d->origin[1] = -linear_dot(origin, slow);
    d->close_distance = linear_dot(origin, normal);
    if (!(d->close_distance > 1e-9 * linear_norm(origin)))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the crystal lies in the plane of the panel; correct its origin",
                    name);
    return NB_OK;
}

nb_status models_to_axes(nb_context *ctx, const char *name, const double real_axes[3][3],
                         const double turn[3][3], double matrix[9], double cell[6])
{
    double real[3][3], star[3], volume;

    for (int i = 0; i < 3; i++) {
        const double length = linear_norm(real_axes[i]);

        if (!(length >= shortest_axis && length <= longest_axis))
            return fail(ctx, NB_ERR_FORMAT,
                        "%s: the axis %c of the crystal has a length of %g A, expected %g "
                        "to %g",
                        name, 'a' + i, length, shortest_axis, longest_axis);
        linear_apply(turn, real_axes[i], real[i]);
    }
    linear_cross(real[1], real[2], star);
    volume = linear_dot(real[0], star);
    if (!(fabs(volume)
          > 1e-6 * linear_norm(real[0]) * linear_norm(real[1]) * linear_norm(real[2])))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the axes a, b and c of the crystal lie in a plane; correct them",
                    name);
    for (int i = 0; i < 3; i++) {
        linear_cross(real[(i + 1) % 3], real[(i + 2) % 3], star);
        for (int k = 0; k < 3; k++) matrix[3 * k + i] = star[k] / volume;
    }
    crystal_cell_of((const double(*)[3])real, cell);
    return NB_OK;
}

static nb_status set_crystal(nb_context *ctx, const char *name, const struct models *m,
                             const double turn[3][3], nb_crystal *crystal)
{
    if (m->found & NB_FOUND_MOSAIC) crystal->mosaic[0] = m->mosaic;
    if (!(m->found & NB_FOUND_CRYSTAL)) return NB_OK;
    return models_to_axes(ctx, name, (const double(*)[3])m->real_axes, turn,
                          crystal->matrix, crystal->cell);
}

void nb_experiment_clear(nb_experiment *e)
{
    if (!e) return;
    nb_geometry_free(e->geometry);
    nb_scan_points_free(e->points);
    free(e->mask);
    free(e->lattice);
    free(e->counts);
    e->geometry = NULL;
    e->points = NULL;
    e->mask = NULL;
    e->lattice = NULL;
    e->counts = NULL;
}

nb_status models_to_scene(nb_context *ctx, const char *name, const struct models *models,
                          const double turn[3][3], int convention, nb_experiment *out)
{
    nb_scene *scene = &out->scene;

    scene->detector.convention = convention;
    NB_TRY(set_beam(ctx, name, models, turn, &scene->beam));
    NB_TRY(set_detector(ctx, name, models, turn, &scene->detector));
    NB_TRY(set_crystal(ctx, name, models, turn, &scene->crystal));
    if (models->found & NB_FOUND_AXIS)
        NB_TRY(
            direction(ctx, name, "axis of rotation", turn, models->axis, scene->scan.axis));
    if (models->found & NB_FOUND_SCAN) {
        scene->scan.phi0 = models->phi0;
        scene->scan.osc = models->osc;
        scene->given |= NB_GIVEN_OSC;
    }
    out->found = models->found;
    return NB_OK;
}
