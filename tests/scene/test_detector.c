/*
 * test_detector.c - the position of the detector, the solid angles of its pixels, and the
 * sampling of all quantities, compared with plain geometry.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "physics/pixel_position.h"
#include "scene/probe.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Where no other reason is given, a tolerance is 3 to 20 times the rounding that is
 * measured: a few eps (2.2e-16) of the numbers that meet in a sum. */

enum { BEAM, FAST, SLOW, NORMAL, AXIS };

/* vectors of the conventions, by enum nb_convention */
static const double vectors[6][5][3] = {
    {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0}, {0, 0, -1}},
    {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0}, {0, 0, -1}},
    {{0, 0, 1}, {1, 0, 0}, {0, -1, 0}, {0, 0, 1}, {-1, 0, 0}},
    {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}},
    {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 1, 0}},
    {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0}, {0, 1, 0}},
};

static nb_scene plate(int convention)
{
    nb_scene s = {0};

    s.crystal.cell[0] = 40;
    s.crystal.default_f = 1;
    s.detector.nfast = 60;
    s.detector.nslow = 50;
    s.detector.pixel = 0.5;
    s.detector.convention = convention;
    s.oversample = 1;
    return s;
}

/* fast, slow of the direct beam, mm, that a scene's beam centre (x, y) means */
static void centre_to_beam(const nb_scene *s, double x, double y, double out[2])
{
    const double p = s->detector.pixel;

    out[0] = x, out[1] = y;
    switch (s->detector.convention) {
    case NB_CONVENTION_ADXV:
        out[1] = s->detector.nslow * p - y;
        break;
    case NB_CONVENTION_MOSFLM:
        out[0] = y + p / 2, out[1] = x + p / 2;
        break;
    case NB_CONVENTION_DENZO:
        out[0] = y, out[1] = x;
        break;
    default:
        break;
    }
}

/* The spec's placement in mm: stated by the direct beam or by the nearest point, turned
 * about the pivot. On the unrotated detector of a convention b = o, so both statements
 * have the same two numbers. */
struct expected {
    double origin[3], axis[3][3]; /* axis: fast, slow, normal */
};

static struct expected place(const nb_scene *s, const double at[2], int pivot)
{
    const nb_detector *d = &s->detector;
    const double(*v)[3] = vectors[d->convention];
    struct expected e;
    double length, cosine;

    for (int i = 0; i < 3; i++) probe_turn_xyz(d->rotation, v[FAST + i], e.axis[i]);
    cosine = probe_dot(v[BEAM], e.axis[2]);
    for (int i = 0; i < 3; i++) probe_turn(v[AXIS], d->twotheta, e.axis[i], e.axis[i]);
    if (pivot == NB_PIVOT_BEAM)
        length = d->close_distance != 0 ? d->close_distance / cosine : d->distance;
    else
        length = d->close_distance != 0 ? d->close_distance : fabs(cosine * d->distance);
    for (int i = 0; i < 3; i++)
        e.origin[i] = length * (pivot == NB_PIVOT_BEAM ? v[BEAM][i] : e.axis[2][i])
                      - at[0] * e.axis[0][i] - at[1] * e.axis[1][i];
    return e;
}

/* largest difference in mm, and two facts that need no formula: the direct beam and the
 * normal through the crystal do hit the points that are reported */
static void add_placement(struct worst *off, const nb_description *d,
                          const struct expected *e)
{
    double hit, foot;

    for (int i = 0; i < 3; i++) {
        worst_add(off, d->origin[i], e->origin[i], 1);
        worst_add(off, d->fast[i], e->axis[0][i], 0.01);
        worst_add(off, d->slow[i], e->axis[1][i], 0.01);
        worst_add(off, d->normal[i], e->axis[2][i], 0.01);
        hit = d->origin[i] + d->beam_fast * d->fast[i] + d->beam_slow * d->slow[i];
        worst_add(off, hit, d->distance * d->beam[i], 1);
        foot = d->origin[i] + d->close_fast * d->fast[i] + d->close_slow * d->slow[i];
        worst_add(off, foot, d->close_distance * d->normal[i], 1);
    }
}

static int own_pivot(int convention)
{
    return convention == NB_CONVENTION_XDS || convention == NB_CONVENTION_DIALS
               ? NB_PIVOT_SAMPLE
               : NB_PIVOT_BEAM;
}

/* all pivots and statements of one scene that has its rotations and distance */
static void check_placements(const char *name, nb_scene scene, double allowed)
{
    nb_detector *d = &scene.detector;
    struct worst off = {0};
    double at[2];

    for (d->pivot = NB_PIVOT_DEFAULT; d->pivot <= NB_PIVOT_SAMPLE; d->pivot++) {
        const int pivot = d->pivot ? d->pivot : own_pivot(d->convention);
        nb_description told;
        struct expected e;

        d->origin[0] = 11.3, d->origin[1] = 8.6;
        d->origin_kind = NB_ORIGIN_BEAM;
        centre_to_beam(&scene, 11.3, 8.6, at);
        told = probe_describe(&scene);
        e = place(&scene, at, pivot);
        add_placement(&off, &told, &e);
        worst_add(&off, told.xbeam, 11.3, 1);
        worst_add(&off, told.ybeam, 8.6, 1);
        d->origin_kind = NB_ORIGIN_CLOSE;
        at[0] = 11.3, at[1] = 8.6;
        told = probe_describe(&scene);
        e = place(&scene, at, pivot);
        add_placement(&off, &told, &e);
        d->origin_kind = NB_ORIGIN_NEAR;
        at[0] = (11.3 - 0.5) * d->pixel, at[1] = (8.6 - 0.5) * d->pixel;
        told = probe_describe(&scene);
        e = place(&scene, at, pivot);
        add_placement(&off, &told, &e);
        if (pivot == NB_PIVOT_SAMPLE) /* the point that stays */
        {
            worst_add(&off, told.xds_org[0], 11.3, 1);
            worst_add(&off, told.xds_org[1], 8.6, 1);
        }
    }
    worst_check(&off, allowed, "%s", name);
}

static int placement(void)
{
    for (int convention = NB_CONVENTION_MOSFLM; convention <= NB_CONVENTION_CUSTOM;
         convention++) {
        nb_scene scene = plate(convention);

        tap_note("convention %d", convention);
        scene.detector.distance = 83;
        check_placements("upright, mm", scene, 6e-14);
        scene.detector.rotation[0] = 5, scene.detector.rotation[1] = -8;
        scene.detector.rotation[2] = 31;
        check_placements("turned, mm", scene, 8e-13);
        scene.detector.twotheta = 17;
        check_placements("and swung out, mm", scene, 8e-13);
        scene.detector.close_distance = 71;
        check_placements("by its close distance, mm", scene, 8e-13);
    }
    return TAP_PASS;
}

static int default_centres(void)
{
    for (int convention = NB_CONVENTION_MOSFLM; convention <= NB_CONVENTION_CUSTOM;
         convention++) {
        const nb_scene scene = plate(convention); /* 30 x 25 mm, pixel 0.5 */
        const nb_description d = probe_describe(&scene);
        /* Xbeam, Ybeam of section 5.2 */
        const double x[] = {12.75, 12.75, 15.25, 15, 15, 15};
        const double y[] = {15.25, 15.25, 12.25, 12.5, 12.5, 12.5};
        double at[2];

        centre_to_beam(&scene, x[convention], y[convention], at);
        tap_note("convention %d", convention);
        tap_close("direct beam, fast", d.beam_fast, at[0], 3e-14);
        tap_close("direct beam, slow", d.beam_slow, at[1], 3e-14);
        tap_close("Xbeam", d.xbeam, x[convention], 1e-13);
        tap_close("Ybeam", d.ybeam, y[convention], 1e-13);
    }
    return TAP_PASS;
}

/* a beam that does not run along the normal of the unrotated detector */
static nb_scene oblique(void)
{
    nb_scene s = plate(NB_CONVENTION_CUSTOM);
    const double beam[3] = {1, 0.1, -0.05};

    memcpy(s.beam.direction, beam, sizeof beam);
    s.detector.distance = 90;
    s.detector.origin_kind = NB_ORIGIN_BEAM;
    s.detector.origin[0] = 14, s.detector.origin[1] = 13;
    s.crystal.ncells[0] = s.crystal.ncells[1] = s.crystal.ncells[2] = 3;
    return s;
}

static int two_statements(void)
{
    static double one[60 * 50], other[60 * 50];
    nb_scene scene = oblique(), upright = scene;
    nb_description d;
    const double *b;
    double fast, slow;

    d = probe_describe(&upright);
    b = d.beam;
    /* the normal is x, fast is z, slow is -y */
    fast = 14 - 90 * b[2];
    slow = 13 + 90 * b[1];
    tap_close("nearest point, fast", d.close_fast, fast, 2e-13);
    tap_close("nearest point, slow", d.close_slow, slow, 2e-13);
    tap_close("distance along the normal", d.close_distance, 90 * b[0], 2e-13);
    scene.detector.rotation[1] = 12;
    scene.detector.twotheta = -9;
    for (int pivot = NB_PIVOT_BEAM; pivot <= NB_PIVOT_SAMPLE; pivot++) {
        nb_scene close = scene;

        scene.detector.pivot = close.detector.pivot = pivot;
        close.detector.origin_kind = NB_ORIGIN_CLOSE;
        close.detector.origin[0] = fast, close.detector.origin[1] = slow;
        probe_image(&scene, one);
        probe_image(&close, other);
        tap_close("image by the other statement", probe_off(other, one, COUNT(one)), 0,
                  1e-11);
        d = probe_describe(&scene);
        if (pivot == NB_PIVOT_BEAM)
            tap_close("the direct beam stays", hypot(d.beam_fast - 14, d.beam_slow - 13), 0,
                      4e-14); /* of a beam at 14 mm: 2.5e-15 measured */
        else
            tap_close("the nearest point stays",
                      hypot(d.close_fast - fast, d.close_slow - slow), 0, 2e-13);
    }
    scene.detector.also_kind = NB_ORIGIN_NEAR;
    scene.detector.also[0] = fast / 0.5 + 0.5, scene.detector.also[1] = slow / 0.5 + 0.5;
    probe_image(&scene, other);
    tap_close("stating both changes nothing", probe_off(other, one, COUNT(one)), 0, 0);
    scene.detector.also[1] += 1e-5;
    probe_refused(&scene, NB_ERR_SCENE, "differ by");
    scene.detector.also[1] -= 1e-5 + 1e-8;
    tap_close("both given and agreed", probe_describe(&scene).close_fast, fast, 2e-13);
    scene.detector.also_kind = NB_ORIGIN_PIX0;
    probe_refused(&scene, NB_ERR_SCENE, "pix0");
    return TAP_PASS;
}

static int pix0_given(void)
{
    for (int convention = NB_CONVENTION_MOSFLM; convention <= NB_CONVENTION_CUSTOM;
         convention++) {
        nb_scene scene = plate(convention);
        struct worst off = {0};
        double along[3];
        nb_description d;

        for (int i = 0; i < 3; i++)
            scene.detector.origin[i] = vectors[convention][BEAM][i] * 90 - 7 + i;
        scene.detector.origin_kind = NB_ORIGIN_PIX0;
        scene.detector.rotation[1] = 10;
        scene.detector.twotheta = 4;
        d = probe_describe(&scene);
        for (int i = 0; i < 3; i++)
            worst_add(&off, d.origin[i], scene.detector.origin[i], 1);
        probe_turn_xyz(scene.detector.rotation, vectors[convention][FAST], along);
        probe_turn(vectors[convention][AXIS], 4, along, along);
        worst_check(&off, 1e-13, "the corner is where it was put");
        tap_close("the fast axis is turned", probe_off(d.fast, along, 3), 0, 2e-15);
        for (int i = 0; i < 3; i++)
            worst_add(&off, d.origin[i] + d.beam_fast * d.fast[i] + d.beam_slow * d.slow[i],
                      d.distance * d.beam[i], 1);
        worst_check(&off, 2e-13, "the beam hits where it is said to");
    }
    return TAP_PASS;
}

static int normals(void)
{
    nb_scene scene = plate(NB_CONVENTION_MOSFLM);
    nb_description d;

    scene.detector.vectors[2][0] = 3;
    d = probe_describe(&scene);
    tap_check(d.normal[0] == 1, "a normal of length 3 becomes 1");
    scene.detector.vectors[2][0] = -3;
    d = probe_describe(&scene);
    tap_check(d.normal[0] == -1 && d.close_distance > 0 && d.distance < 0,
              "its sign is kept: the detector stands upstream, distance %g", d.distance);
    scene.quirks = NB_QUIRK_NORMAL_SIGN;
    d = probe_describe(&scene); /* z x -y = x */
    tap_check(d.normal[0] == 1, "nanoBragg: fast x slow");
    scene = plate(NB_CONVENTION_XDS);
    scene.detector.pivot = NB_PIVOT_BEAM;
    scene.detector.twotheta = 100;
    probe_refused(&scene, NB_ERR_SCENE, "behind");
    scene.detector.twotheta = 0;
    scene.detector.close_distance = -20;
    probe_refused(&scene, NB_ERR_SCENE, "behind");
    return TAP_PASS;
}

/* ---- solid angle, sensor, curvature ---- */

/* of the rectangle u0..u1, v0..v1 in a plane at distance d, from its foot */
static double rectangle(double d, const double u[2], const double v[2])
{
    double sum = 0;

    for (int i = 0; i < 4; i++) {
        const double a = u[i & 1], b = v[i >> 1];
        const double sign = (i & 1) == (i >> 1) ? 1 : -1;

        sum += sign * atan2(a * b, d * sqrt(d * d + a * a + b * b));
    }
    return sum;
}

static double solid_angle(const nb_scene *scene)
{
    nb_simulator *sim = probe_make(scene, NULL);
    const nb_detector *d = &scene->detector;
    double *zero = calloc((size_t)d->nslow * (size_t)d->nfast, sizeof *zero);
    nb_array image = nb_array_f64(zero, d->nslow, d->nfast);
    nb_statistics s;

    if (nb_statistics_get(sim, NULL, &image, &s) != NB_OK) abort();
    nb_simulator_free(sim);
    free(zero);
    return s.solid_angle;
}

static int solid_angle_of_a_plate(void)
{
    double off[2], bare;

    for (int fine = 0; fine < 2; fine++) {
        nb_scene scene = plate(NB_CONVENTION_XDS);
        nb_description d;
        double u[2], v[2], exact;

        scene.detector.nfast = 60 << fine, scene.detector.nslow = 50 << fine;
        scene.detector.pixel = 4.0 / (1 << fine);
        scene.detector.rotation[0] = 20;
        scene.detector.twotheta = -15;
        d = probe_describe(&scene);
        u[0] = -d.close_fast, u[1] = 240 - d.close_fast;
        v[0] = -d.close_slow, v[1] = 200 - d.close_slow;
        exact = rectangle(d.close_distance, u, v);
        off[fine] = solid_angle(&scene) - exact;
        tap_close("steradian", off[fine] + exact, exact, 1e-3);
        if (!fine) continue;
        scene.oversample = 2;
        scene.oversample_omega = 1;
        tap_close("sampled twice as fine, each sample: a quarter of the rest",
                  (solid_angle(&scene) - exact) / off[1], 0.25,
                  2e-5); /* the next order: 1.6e-6 measured */
        scene.detector.roi[1] = 60, scene.detector.roi[3] = 100;
        u[1] = 120 - d.close_fast;
        tap_close("of the region alone", solid_angle(&scene),
                  rectangle(d.close_distance, u, v), 1e-4);
    }
    tap_close("half the pixel, a quarter of the error", off[1] / off[0], 0.25,
              1e-4); /* the next order: 6.5e-6 measured */
    { /* a point pixel has neither area nor obliquity */
        nb_scene scene = plate(NB_CONVENTION_XDS);

        scene.detector.point_pixel = 1;
        scene.detector.roi[1] = scene.detector.roi[3] = 1;
        bare = solid_angle(&scene);
        /* mm: 0.1 m away, the centre of the first pixel 14.75 and 12.25 mm off */
        tap_close("point pixel, 1/R^2",
                  bare * (100 * 100 + 14.75 * 14.75 + 12.25 * 12.25) * 1e-6, 1, 1e-13);
    }
    return TAP_PASS;
}

static int capture_adds_up(void)
{
    struct phys_detector det = {0};
    struct phys_point point = {{0.48, 0.6, 0.64}, 0.1};
    const double mu = 1 / 300e-6, thick = 450e-6;
    struct worst worst = {0};

    for (int n = 1; n <= 40; n++)
        for (int surface = PHYS_FLAT; surface <= PHYS_CURVED; surface++) {
            const double cosine = surface == PHYS_CURVED ? 1 : 0.64;
            double sum = 0;

            det.normal = phys_vec3(0, 0, 1);
            det.layer_mu = thick * mu / n;
            det.surface = surface;
            for (int t = 0; t < n; t++) {
                const double c = phys_capture(&det, point, t);
                const double from = exp(-t * thick * mu / n / cosine);
                const double to = exp(-(t + 1) * thick * mu / n / cosine);

                worst_add(&worst, c, from - to, 1);
                sum += c;
            }
            worst_add(&worst, sum, 1 - exp(-thick * mu / cosine), 1);
        }
    worst_check(&worst, 8e-15, "captured fraction");
    return TAP_PASS;
}

/* position of the first sub-pixel of pixel i in layer t, metres */
static void sample_at(const nb_description *d, int i, int t, int last, double out[3])
{
    const int n = d->oversample, k = last ? n - 1 : 0;
    const double sub = d->pixel / n / 1000;
    const double fast = sub * ((double)(i % d->nfast) * n + k) + sub / 2;
    const double slow = sub * (i / d->nfast * (double)n + k) + sub / 2;
    const double depth = (t + 0.5) * d->thickness / d->nlayers * 1e-6;

    for (int j = 0; j < 3; j++)
        out[j] = d->origin[j] / 1000 + fast * d->fast[j] + slow * d->slow[j]
                 + depth * d->normal[j];
}

/* An image of water alone is F^2 molecules omega polar times the sum of the captures:
 * all of it from plain geometry. */
static int layers_of_a_sensor(void)
{
    static double with[40 * 37], without[40 * 37];
    nb_scene scene = scenes_base(), bare;
    nb_simulator *sim;
    nb_description d;
    struct worst worst = {0}, far = {0};

    scene.crystal.default_f = 0;
    scene.background.water = 100; /* taken at the centre of a pixel */
    scene.oversample = 1;
    scene.detector.convention = NB_CONVENTION_XDS;
    bare = scene;
    scene.detector.thickness = 450;
    scene.detector.attenuation = 300;
    scene.detector.nlayers = 7;
    probe_image(&scene, with);
    probe_image(&bare, without);
    sim = probe_make(&scene, NULL);
    if (nb_simulator_describe(sim, NULL, &d) != NB_OK) abort();
    tap_close("layer step, um", d.layer_step, 450.0 / 7, 2e-13);
    for (int i = 0; i < 40 * 37; i++) {
        double p[3], front[3], sum = 0, cosine;
        nb_pixel_trace t;

        for (int layer = 0; layer < 7; layer++) {
            sample_at(&d, i, layer, 0, p);
            cosine = probe_dot(p, d.normal) / sqrt(probe_dot(p, p));
            sum += exp(-layer * 450.0 / 300 / 7 / cosine)
                   - exp(-(layer + 1) * 450.0 / 300 / 7 / cosine);
        }
        /* the solid angle is that of the first sample, half a layer deep */
        sample_at(&d, i, 0, 0, p);
        for (int j = 0; j < 3; j++) front[j] = p[j] - 0.5 * 450e-6 / 7 * d.normal[j];
        sum *= pow(probe_dot(front, front) / probe_dot(p, p), 1.5);
        { /* polarization of both, for a single source along the beam */
            double polar[2], *at[2] = {p, front};

            for (int k = 0; k < 2; k++) {
                const double r2 = probe_dot(at[k], at[k]);
                const double c = probe_dot(at[k], d.beam) / sqrt(r2);
                const double x = at[k][0] / sqrt(r2), y = at[k][1] / sqrt(r2);

                polar[k] = (1 + c * c - 0.6 * (x * x - y * y)) / 2;
            }
            sum *= polar[0] / polar[1];
        }
        worst_add(&worst, with[i] / without[i] / sum, 1, 1);
        if (nb_simulator_trace(sim, NULL, 0, i / 40, i % 40, &t) != NB_OK) abort();
        sample_at(&d, i, 6, 1, p);
        for (int j = 0; j < 3; j++) worst_add(&far, t.position[j], p[j], 1);
    }
    worst_check(&worst, 4e-14, "sum of the captures");
    worst_check(&far, 4e-16, "the last sample lies in the middle of the last layer, m");
    nb_simulator_free(sim);
    scene.detector.nlayers = 0;
    tap_check(probe_describe(&scene).nlayers == 1, "layers not given: 1");
    scene.detector.attenuation = HUGE_VAL;
    probe_image(&scene, with);
    tap_check(bits_same(with, without, sizeof with / sizeof *with),
              "infinite depth: no sensor");
    scene.detector.attenuation = 0;
    probe_refused(&scene, NB_ERR_SCENE, "-detector_abs");
    return TAP_PASS;
}

static int curved_detector(void)
{
    for (int point_pixel = 0; point_pixel < 2; point_pixel++) {
        nb_scene scene = scenes_base();
        nb_simulator *sim;
        nb_description d;
        struct worst r = {0}, bent = {0}, omega = {0}, capture = {0};

        scene.detector.curved = 1;
        scene.detector.point_pixel = point_pixel;
        scene.detector.thickness = 100, scene.detector.attenuation = 80;
        scene.detector.nlayers = 1; /* in the middle */
        scene.oversample = 3;
        sim = probe_make(&scene, NULL);
        if (nb_simulator_describe(sim, NULL, &d) != NB_OK) abort();
        for (int i = 0; i < 40 * 37; i++) {
            nb_pixel_trace t;
            double flat[3], at[3];

            if (nb_simulator_trace(sim, NULL, 0, i / 40, i % 40, &t) != NB_OK) abort();
            sample_at(&d, i, 0, 1, flat);
            probe_unit(flat, flat);
            worst_add(&r, sqrt(probe_dot(t.position, t.position)), d.distance / 1000, 1);
            probe_unit(t.position, at);
            for (int j = 0; j < 3; j++) worst_add(&bent, at[j], flat[j], 1);
            worst_add(&omega,
                      t.omega * d.distance * d.distance / (point_pixel ? 1e6 : 0.44 * 0.44),
                      1, 1);
            worst_add(&capture, t.capture, 1 - exp(-100.0 / 80), 1);
        }
        worst_check(&r, 4e-16, "all samples at the distance, m");
        worst_check(&bent, 1e-15, "in the direction of the flat ones");
        worst_check(&omega, 4e-15, "one solid angle");
        worst_check(&capture, 1e-15, "one captured fraction");
        nb_simulator_free(sim);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"placement", placement},
        {"default_centres", default_centres},
        {"two_statements", two_statements},
        {"pix0_given", pix0_given},
        {"normals", normals},
        {"solid_angle_of_a_plate", solid_angle_of_a_plate},
        {"capture_adds_up", capture_adds_up},
        {"layers_of_a_sensor", layers_of_a_sensor},
        {"curved_detector", curved_detector},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
