/* aimed.c - see aimed.h. SPDX-License-Identifier: MIT */
#include "continuous/aimed.h"

#include <math.h>
#include <string.h>

#include "continuous/truth.h"

#define DEGREE (M_PI / 180)

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* The reflection of the crystal whose spacing is nearest to d, as a vector. */
static void nearest_reflection(const nb_scene *scene, double d, double *q)
{
    enum { MOST = 60 };
    struct truth t;
    double star[3][3], best = INFINITY;

    truth_of(scene, &t);
    for (int i = 0; i < 3; i++) {
        double volume;

        cross(t.axes.row[(i + 1) % 3], t.axes.row[(i + 2) % 3], star[i]);
        volume = dot(t.axes.row[i], star[i]);
        for (int k = 0; k < 3; k++) star[i][k] /= volume;
    }
    for (int h = 0; h <= MOST; h++)
        for (int k = -MOST; k <= MOST; k++)
            for (int l = -MOST; l <= MOST; l++) {
                double p[3], off;

                for (int i = 0; i < 3; i++)
                    p[i] = h * star[0][i] + k * star[1][i] + l * star[2][i];
                off = fabs(sqrt(dot(p, p)) * d - 1);
                if (off < best) {
                    best = off;
                    memcpy(q, p, sizeof p);
                }
            }
}

/* v turned about the unit vector k */
static void turn(const double *k, double angle, double *v)
{
    const double along = dot(k, v);
    double across[3];

    cross(k, v, across);
    for (int i = 0; i < 3; i++)
        v[i] = cos(angle) * v[i] + sin(angle) * across[i] + (1 - cos(angle)) * along * k[i];
}

/* The rotation vector, in degree, that takes the laboratory's axes to the rows of m. */
static void rotation_of(double m[3][3], double *vector)
{
    const double axis[3] = {m[1][2] - m[2][1], m[2][0] - m[0][2], m[0][1] - m[1][0]};
    const double sine = sqrt(dot(axis, axis)) / 2,
                 cosine = (m[0][0] + m[1][1] + m[2][2] - 1) / 2;

    for (int i = 0; i < 3; i++)
        vector[i] = axis[i] / 2 / sine * atan2(sine, cosine) / DEGREE;
}

/* Turn the crystal so that q has the direction `unit` at the angle phi about the spindle,
 * which is z; about q it is turned by any angle. */
static void orient(nb_crystal *crystal, const double *q, const double *unit, double phi)
{
    const double length = sqrt(dot(q, q)), z[3] = {0, 0, 1};
    double from[3], axis[3], m[3][3], sine;

    for (int i = 0; i < 3; i++) from[i] = q[i] / length;
    cross(from, unit, axis);
    sine = sqrt(dot(axis, axis));
    for (int i = 0; i < 3; i++) axis[i] /= sine;
    for (int i = 0; i < 3; i++) {
        const double lab[3] = {i == 0, i == 1, i == 2};

        memcpy(m[i], lab, sizeof lab);
        turn(from, 0.7, m[i]);
        turn(axis, atan2(sine, dot(from, unit)), m[i]);
        turn(z, -phi, m[i]);
    }
    rotation_of(m, crystal->rotation);
}

nb_scene aimed_scene(const struct aimed *a)
{
    const double distance = 100, wavelength = 1, cap = 0.4964;
    nb_scene scene = {
        .crystal = {.cell = {40, 45, 50, 85, 95, 100},
                    .shape = NB_SHAPE_GAUSS,
                    .default_f = 100,
                    .mosaic_model = NB_MOSAIC_GAUSS},
        .beam = {.wavelength = wavelength, .fluence = 1e24},
        .detector = {.nslow = AIMED_SIDE,
                     .nfast = AIMED_SIDE,
                     .origin_kind = NB_ORIGIN_PIX0,
                     .origin = {distance, 0, 0},
                     .pixel = 0.1,
                     .point_pixel = 1},
        .scan = {.phi0 = 10, .osc = a->osc},
        .oversample = 1,
    };
    double q[3] = {0, 0, 0}, length, sine, unit[3], wide, turned, mosaic = 0, narrow = 0,
           way[3];
    double *origin = scene.detector.origin, out[3];

    for (int i = 0; i < 3; i++) {
        scene.crystal.ncells[i] = a->edge[i] / scene.crystal.cell[i];
        mosaic = fmax(mosaic, a->mosaic[i] * DEGREE * cap);
        narrow += 0.397 / a->edge[i] / 3;
    }
    nearest_reflection(&scene, a->d, q);
    memcpy(scene.crystal.mosaic, a->mosaic, sizeof a->mosaic);
    length = sqrt(dot(q, q));
    sine = length * wavelength / 2; /* of theta; the beam is along x */
    unit[0] = -sine;
    unit[2] = cos((a->spindle > 0 ? a->spindle : 80) * DEGREE);
    unit[1] = sqrt(fmax(0, 1 - unit[0] * unit[0] - unit[2] * unit[2]));
    wide = hypot(narrow, length * mosaic);
    out[0] = 1 + wavelength * length * unit[0];
    for (int i = 1; i < 3; i++) out[i] = wavelength * length * unit[i];
    scene.detector.pixel = 0.45 * (a->wider > 0 ? a->wider : 1) * sqrt(narrow * wide)
                           * wavelength * distance / out[0];
    for (int i = 0; i < 3; i++)
        origin[i] = distance * out[i] / out[0]; /* fast is z, slow is -y */
    origin[1] += scene.detector.pixel * AIMED_SIDE / 2;
    origin[2] -= scene.detector.pixel * AIMED_SIDE / 2;
    /* beside the sphere: about the axis across q and the beam */
    way[0] = 0;
    way[1] = -unit[2] / hypot(unit[1], unit[2]);
    way[2] = unit[1] / hypot(unit[1], unit[2]);
    turned = a->off * wide / length;
    turn(way, turned, unit);
    orient(&scene.crystal, q, unit, (scene.scan.phi0 + a->at * a->osc) * DEGREE);
    return scene;
}

const int *aimed_places(void)
{
    static int place[2 * AIMED_PIXELS];

    for (int i = 0; i < AIMED_PIXELS; i++) {
        place[2 * i] = i % AIMED_SIDE;
        place[2 * i + 1] = i / AIMED_SIDE;
    }
    return place;
}
