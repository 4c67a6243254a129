/* truth_scene.c - see truth.h. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "continuous/truth.h"
#include "support/renders.h"

#define DEGREE (M_PI / 180)

static void cross(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static double length(const double *a)
{
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

/* v turned by `angle` about an axis of length 1 */
static void turn(const double *axis, double angle, double *v)
{
    const double along = axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2];
    double across[3];

    cross(axis, v, across);
    for (int i = 0; i < 3; i++)
        v[i] =
            cos(angle) * v[i] + sin(angle) * across[i] + (1 - cos(angle)) * along * axis[i];
}

/* The rows a, b, c: a* lies along x and b* in the x-y plane, so c lies along z. */
static void axes_of(const nb_crystal *crystal, double axes[3][3])
{
    double edge[3], cosine[3], star[3][3], volume;
    const double angle = length(crystal->rotation);

    for (int i = 0; i < 3; i++) {
        edge[i] = crystal->cell[i] > 0 ? crystal->cell[i] : crystal->cell[0];
        cosine[i] = crystal->cell[i + 3] > 0 ? cos(crystal->cell[i + 3] * DEGREE) : 0;
    }
    /* any setting of the axes, and from it the one that is wanted */
    memset(axes, 0, 9 * sizeof axes[0][0]);
    axes[2][2] = edge[2];
    axes[1][2] = edge[1] * cosine[0];
    axes[1][1] = edge[1] * sqrt(1 - cosine[0] * cosine[0]);
    axes[0][2] = edge[0] * cosine[1];
    axes[0][1] = edge[0] * (cosine[2] - cosine[0] * cosine[1]) / (axes[1][1] / edge[1]);
    axes[0][0] =
        sqrt(edge[0] * edge[0] - axes[0][1] * axes[0][1] - axes[0][2] * axes[0][2]);
    for (int i = 0; i < 3; i++) cross(axes[(i + 1) % 3], axes[(i + 2) % 3], star[i]);
    volume = axes[0][0] * star[0][0] + axes[0][1] * star[0][1] + axes[0][2] * star[0][2];
    if (!(volume > 0) || fabs(star[0][1]) + fabs(star[0][2]) > 1e-9 * volume
        || fabs(star[1][2]) > 1e-9 * volume)
        abort();
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            const double lab[3] = {k == 0, k == 1, k == 2};

            turn(lab, crystal->misset[k] * DEGREE, axes[i]);
        }
        if (angle > 0) {
            double unit[3];

            for (int k = 0; k < 3; k++) unit[k] = crystal->rotation[k] / angle;
            turn(unit, angle * DEGREE, axes[i]);
        }
    }
}

/* The axes of the mosaic spread, the shape of a block and its height. */
static void crystal_of(const nb_crystal *crystal, struct truth *t)
{
    const double *n = crystal->ncells, *off = crystal->ncells_off;
    double(*e)[3] = t->frame.row, star[3][3], volume = 0, cells = 1;

    axes_of(crystal, t->axes.row);
    for (int i = 0; i < 3; i++)
        cross(t->axes.row[(i + 1) % 3], t->axes.row[(i + 2) % 3], star[i]);
    for (int i = 0; i < 3; i++) volume += t->axes.row[0][i] * star[0][i];
    for (int i = 0; i < 3; i++) {
        e[0][i] = t->axes.row[0][i] / length(t->axes.row[0]);
        e[2][i] = star[2][i] / length(star[2]);
        t->shape.row[i][i] = n[i];
        t->shape.row[i][(i + 1) % 3] = t->shape.row[(i + 1) % 3][i] =
            off[i == 0 ? 0 : 3 - i];
    }
    cross(e[2], e[0], e[1]);
    t->height = n[0] * (n[1] * n[2] - off[2] * off[2])
                - off[0] * (off[0] * n[2] - off[2] * off[1])
                + off[1] * (off[0] * off[2] - n[1] * off[1]);
    for (int i = 0; i < 3; i++) cells *= n[i] * length(t->axes.row[i]);
    for (int i = 0; crystal->shape == NB_SHAPE_GAUSS_STAR && i < 3; i++)
        for (int k = 0; k < 3; k++) t->shape.row[i][k] = star[k][i] / volume * cbrt(cells);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            t->shape.row[i][k] *= crystal->fudge > 0 ? sqrt(crystal->fudge) : 1;
    t->height *= t->height;
    t->b_factor = crystal->b_factor;
    t->f2 = crystal->default_f * crystal->default_f;
}

/* The standard deviations of what varies. */
static void normals_of(const nb_scene *scene, struct truth *t)
{
    /* of the turn of a domain about an axis, for a spread of 1 (docs/theory.md, 9) */
    const double cap = sqrt(sqrt(M_PI) / 2 * tgamma(5. / 3) / tgamma(13. / 6) / 3);
    const nb_crystal *crystal = &scene->crystal;
    const nb_beam *beam = &scene->beam;
    const int isotropic = crystal->mosaic[1] == 0 && crystal->mosaic[2] == 0;
    const double *off = crystal->mosaic_off;
    int any = 0;

    for (int k = 0; k < 3; k++) {
        const int next = (k + 1) % 3;

        t->way.row[k][k] = crystal->mosaic[isotropic ? 0 : k] * DEGREE;
        t->way.row[k][next] = t->way.row[next][k] = off[k == 0 ? 0 : 3 - k] * DEGREE;
        any |= off[k] != 0;
    }
    for (int k = 0; k < 3; k++) t->sd[k] = any || t->way.row[k][k] != 0 ? cap : 0;
    t->tail = crystal->mosaic_tail;
    t->tail_width = crystal->mosaic_tail_width > 0 ? crystal->mosaic_tail_width : 5;
    t->sd[TRUTH_SPACING] = crystal->strain;
    t->sd[TRUTH_PLACE] = t->sd[TRUTH_PLACE + 1] = crystal->crystal_size * 1e-3;
    if (beam->nsource > 0) return;
    /* a full width that is filled evenly; directions fill an ellipse */
    t->sd[TRUTH_LINE] = beam->dispersion / sqrt(12);
    for (int k = 0; k < 2; k++)
        t->sd[TRUTH_DIVERGENCE + k] =
            beam->divergence[k] / 1000 / (beam->divergence[1 - k] > 0 ? 4 : sqrt(12));
}

void truth_of(const nb_scene *scene, struct truth *t)
{
    const nb_crystal *crystal = &scene->crystal;
    const nb_description d = renders_describe(scene, &(struct renders_way){0});

    memset(t, 0, sizeof *t);
    crystal_of(crystal, t);
    normals_of(scene, t);
    for (int k = 0; k < 3; k++) {
        t->drift[k] = scene->scan.drift[k];
        t->spindle[k] = d.spindle[k];
        t->vertical[k] = d.vertical[k];
        t->polarization_axis[k] = d.polarization_axis[k];
        t->fast[k] = d.fast[k];
        t->slow[k] = d.slow[k];
        t->pix0[k] = d.origin[k] * 1e-3;
    }
    t->pixel = d.pixel * 1e-3;
    t->close = d.close_distance * 1e-3;
    t->phi0 = scene->scan.phi0 * DEGREE;
    t->osc = scene->scan.osc * DEGREE;
    t->nphi = d.nphi;
    if (crystal->mosaic_model == NB_MOSAIC_GAUSS && scene->scan.step == 0
        && (scene->scan.nphi == 0 || (scene->given & NB_GIVEN_PHI_STEP)))
        t->nphi = 0;
    t->kahn = scene->beam.polarization;
    t->unpolarised = scene->beam.unpolarised;
    t->point_pixel = scene->detector.point_pixel;
    t->oversample = d.oversample;
    t->photons =
        7.94079248018965e-30 * d.fluence * (crystal->scale > 0 ? crystal->scale : 1);
    t->nsource = scene->beam.nsource;
    t->source = scene->beam.source;
    if (t->nsource) return;
    memcpy(t->beam.direction, d.beam, sizeof d.beam);
    t->beam.wavelength = scene->beam.wavelength > 0 ? scene->beam.wavelength : 1;
    t->beam.weight = 1;
}
