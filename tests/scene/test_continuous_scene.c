/*
 * test_continuous_scene.c - the numbers of the frame of a continuous crystal: the second
 * moments of the lists that a scene of domains and steps has.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "physics/frame.h"
#include "scene/probe.h"
#include "simulator.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

static const struct phys_frame *frame_of(nb_simulator *sim)
{
    const struct phys_frame *frame;
    nb_scene scene;

    if (simulator_frame(sim, NULL, &scene, &frame) != NB_OK) abort();
    return frame;
}

/* element i, j of a form over the rows of axes */
static double element(const double form[6], double axes[3][3], int i, int j)
{
    double sum = 0;

    for (int k = 0; k < 3; k++) {
        const int a = k == 2 ? 1 : 0, b = k == 0 ? 1 : 2;

        sum += form[k] * axes[k][i] * axes[k][j];
        sum += form[3 + k] / 2 * (axes[a][i] * axes[b][j] + axes[b][i] * axes[a][j]);
    }
    return sum;
}

static void set_tensor(nb_scene *s)
{
    const double diagonal[3] = {0.5, 0.3, 0.2}, off[3] = {0.1, -0.05, 0.02};

    memcpy(s->crystal.mosaic, diagonal, sizeof diagonal);
    memcpy(s->crystal.mosaic_off, off, sizeof off);
}

/* the symmetric matrix of spreads in the laboratory at phi0, in radian */
static void tensor(const nb_scene *s, double t[3][3])
{
    const nb_description about = probe_describe(s);
    const double *m = s->crystal.mosaic, *off = s->crystal.mosaic_off;
    const double in_frame[3][3] = {{m[0], off[0], off[1]},
                                   {off[0], m[1], off[2]},
                                   {off[1], off[2], m[2]}};
    double e[3][3];

    probe_turn(about.spindle, s->scan.phi0, about.real_axes[0], e[0]);
    probe_turn(about.spindle, s->scan.phi0, about.star_axes[2], e[2]);
    probe_unit(e[0], e[0]);
    probe_unit(e[2], e[2]);
    probe_cross(e[2], e[0], e[1]);
    for (int i = 0; i < 9; i++) {
        double sum = 0;

        for (int k = 0; k < 9; k++)
            sum += e[k / 3][i / 3] * in_frame[k / 3][k % 3] * e[k % 3][i % 3];
        t[i / 3][i % 3] = sum * PROBE_RADIAN;
    }
}

/* mean square of one component of the rotation of domains with a spread of 1, by a sum */
static double variance_of_cap(void)
{
    enum { N = 100000 };
    double sum = 0;

    for (int i = 0; i < N; i++) {
        const double u = (i + 0.5) / N, angle = cbrt(1 - u * u);

        sum += angle * angle;
    }
    return sum / N / 3;
}

static int spread_of_mosaic(void)
{
    nb_scene s = probe_gauss(NB_MOSAIC_GAUSS);
    struct worst off = {0};
    double axes[3][3], t[3][3];
    nb_simulator *sim;

    set_tensor(&s);
    tensor(&s, t);
    sim = probe_make(&s, NULL);
    probe_orientation(sim, 0, 0, axes);
    for (int i = 0; i < 9; i++) {
        double square = 0;

        for (int k = 0; k < 3; k++) square += t[i / 3][k] * t[k][i % 3];
        worst_add(&off, element(frame_of(sim)->broad.spread, axes, i / 3, i % 3),
                  variance_of_cap() * square, 1e-5);
    }
    worst_check(&off, 1e-7, "covariance of the mosaic");
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* the rotation vector that takes the rows of one set of axes to those of another, for small
 * angles: it is the mean of a* x (change of a) in a sense that first order suffices for */
static void rotation_between(double from[3][3], double to[3][3], double out[3])
{
    double star[3][3], change[3][3] = {{0}};

    probe_dual(from, star);
    for (int i = 0; i < 9; i++)
        for (int k = 0; k < 3; k++) change[i / 3][i % 3] += to[k][i / 3] * star[k][i % 3];
    out[0] = (change[2][1] - change[1][2]) / 2;
    out[1] = (change[0][2] - change[2][0]) / 2;
    out[2] = (change[1][0] - change[0][1]) / 2;
}

/* random domains have the same tensor: it takes a turn by an isotropic spread of 1 degree
 * to the domain's own */
static int tensor_of_domains(void)
{
    nb_scene s = probe_gauss(NB_MOSAIC_AUTO), one;
    struct worst off = {0};
    double t[3][3], still_axes[3][3], axes[3][3], plain[3], turned[3];
    nb_simulator *sim, *isotropic, *still;

    s.crystal.ndomains = 6;
    one = s;
    one.crystal.mosaic[0] = 1e-3;
    set_tensor(&s);
    for (int i = 0; i < 3; i++)
        s.crystal.mosaic[i] *= 1e-3, s.crystal.mosaic_off[i] *= 1e-3;
    tensor(&s, t);
    sim = probe_make(&s, NULL);
    isotropic = probe_make(&one, NULL);
    one.crystal.ndomains = 1; /* it is not rotated */
    still = probe_make(&one, NULL);
    probe_orientation(still, 0, 0, still_axes);
    nb_simulator_free(still);
    for (int d = 0; d < 6; d++) {
        probe_orientation(isotropic, 0, d, axes);
        rotation_between(still_axes, axes, plain);
        probe_orientation(sim, 0, d, axes);
        rotation_between(still_axes, axes, turned);
        for (int i = 0; i < 3; i++)
            worst_add(&off, turned[i], probe_dot(t[i], plain) / (1e-3 * PROBE_RADIAN),
                      1e-5);
    }
    worst_check(&off, 1e-8, "turns of domains");
    nb_simulator_free(sim);
    nb_simulator_free(isotropic);
    return TAP_PASS;
}

/* parts lie where steps do, and turn to either side by half of one */
static int parts_of_a_rotation(void)
{
    nb_scene s = probe_gauss(NB_MOSAIC_GAUSS), steps = probe_gauss(NB_MOSAIC_AUTO);
    nb_simulator *parts, *sum;
    double axes[3][3], same[3][3];
    struct worst off = {0};

    s.crystal.mosaic[0] = steps.crystal.mosaic[0] = 0.1;
    s.scan.osc = steps.scan.osc = -9;
    steps.scan.nphi = 2;
    steps.crystal.ndomains = 1; /* it is not rotated */
    parts = probe_make(&s, NULL);
    sum = probe_make(&steps, NULL);
    tap_check(frame_of(parts)->norientation == 2, "9 degrees: %d parts",
              frame_of(parts)->norientation);
    for (int p = 0; p < 2; p++) {
        probe_orientation(parts, p, 0, axes);
        probe_orientation(sum, p, 0, same);
        worst_add_all(&off, axes[0], same[0], 9, 40);
    }
    worst_check(&off, 0, "axes of the parts are those of steps");
    tap_close("half of a part", frame_of(parts)->broad.half_range, 2.25 * PROBE_RADIAN,
              1e-15);
    nb_simulator_free(sum);
    s.scan.nphi = 7;
    sum = probe_make(&s, NULL);
    tap_check(frame_of(sum)->norientation == 7 && frame_of(sum)->broad.half_range == 0
                  && frame_of(sum)->continuous,
              "7 steps are a sum");
    nb_simulator_free(sum);
    s.given |= NB_GIVEN_PHI_STEP;
    sum = probe_make(&s, NULL);
    tap_check(frame_of(sum)->norientation == 7, "7 parts");
    tap_close("half of one", frame_of(sum)->broad.half_range, 4.5 / 7 * PROBE_RADIAN,
              1e-15);
    nb_simulator_free(sum);
    nb_simulator_free(parts);
    return TAP_PASS;
}

/* the axes of an image at phi follow the rotation vector of the frame */
static int drift(void)
{
    enum { SIDES = 2 };
    const double by[3] = {0.01, -0.02, 0.03}, step = 1e-3;
    nb_scene s = probe_gauss(NB_MOSAIC_GAUSS);
    double axes[SIDES][3][3], middle[3][3], found[3];
    struct worst off = {0}, least = {0};
    nb_simulator *sim;

    memcpy(s.scan.drift, by, sizeof by);
    s.scan.drift_phi = 10;
    s.scan.axis[0] = 1, s.scan.axis[1] = 2, s.scan.axis[2] = -1;
    for (int side = 0; side < SIDES; side++) {
        s.scan.phi0 = 30 + (side == 0 ? -step : step);
        sim = probe_make(&s, NULL);
        probe_orientation(sim, 0, 0, axes[side]);
        nb_simulator_free(sim);
    }
    s.scan.phi0 = 29.5;
    s.scan.osc = 1;
    sim = probe_make(&s, NULL);
    probe_orientation(sim, 0, 0, middle);
    rotation_between(axes[0], axes[1], found);
    for (int i = 0; i < 3; i++) {
        worst_add(&off, found[i] / (2 * step * PROBE_RADIAN),
                  frame_of(sim)->broad.spindle[i], 1);
        for (int k = 0; k < 3; k++)
            worst_add(&least, (axes[0][i][k] + axes[1][i][k]) / 2, middle[i][k], 40);
    }
    worst_check(&off, 1e-9, "rotation of the axes by phi");
    worst_check(&least, 1e-9, "the middle of a part is an image there");
    nb_simulator_free(sim);
    s.scan.drift_phi = 0;
    sim = probe_make(&s, NULL);
    tap_check(sim->scene.scan.drift_phi == 30, "no drift at %g, the middle",
              sim->scene.scan.drift_phi);
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* energies and directions have the variance of a list of many steps, whose ends count
 * fully: that is (n + 1)/(n - 1) times that of an even distribution */
static int moments_of_a_beam(void)
{
    enum { N = 200 };
    nb_scene s = probe_gauss(NB_MOSAIC_GAUSS), list = probe_gauss(NB_MOSAIC_AUTO);
    struct worst off = {0};
    double line = 0, along[6] = {0};
    nb_simulator *sim;
    const struct phys_frame *f;

    s.crystal.mosaic[0] = list.crystal.mosaic[0] = 0.1;
    list.crystal.ndomains = 1;
    s.beam.dispersion = list.beam.dispersion = 0.02;
    s.beam.divergence[0] = list.beam.divergence[0] = 2;
    s.beam.divergence[1] = list.beam.divergence[1] = 1;
    s.beam.square_divergence = list.beam.square_divergence = 1;
    s.beam.polarization_axis[1] = list.beam.polarization_axis[1] = 1;
    s.beam.polarization_axis[0] = list.beam.polarization_axis[0] = 0.4;
    list.beam.ndispersion = 2;
    list.beam.ndivergence[0] = list.beam.ndivergence[1] = N;
    sim = probe_make(&list, NULL);
    f = frame_of(sim);
    for (int i = 0; i < f->nsource; i++) {
        const struct phys_source *of = f->source + i;
        double d[3];

        line += of->weight * pow(1 / (of->inverse_wavelength * s.beam.wavelength) - 1, 2);
        for (int k = 0; k < 3; k++) d[k] = of->direction[k] - f->beam[k];
        for (int k = 0; k < 3; k++) {
            const int a = k == 2 ? 1 : 0, b = k == 0 ? 1 : 2;

            along[k] += of->weight * d[k] * d[k];
            along[3 + k] += 2 * of->weight * d[a] * d[b];
        }
    }
    nb_simulator_free(sim);
    sim = probe_make(&s, NULL);
    f = frame_of(sim);
    tap_check(f->nsource == 1, "%d source", f->nsource);
    tap_close("variance of energies", f->broad.line * f->broad.line, line / 3, 1e-12);
    for (int k = 0; k < 6; k++)
        worst_add(&off, f->broad.divergence[k], along[k] * (N - 1) / (N + 1), 1e-6);
    worst_check(&off, 1e-5, "covariance of directions"); /* fourth order: 1e-6 of it */
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* directions that fill an ellipse have three quarters of the variance in a rectangle; a
 * line has no other edge to lose */
static int edges_of_a_divergence(void)
{
    nb_scene s = probe_gauss(NB_MOSAIC_GAUSS);
    double trace[3];

    for (int i = 0; i < 3; i++) {
        nb_simulator *sim;

        s.beam.divergence[0] = 2;
        s.beam.divergence[1] = i < 2 ? 1 : 0;
        s.beam.square_divergence = i == 0;
        sim = probe_make(&s, NULL);
        trace[i] = 0;
        for (int k = 0; k < 3; k++) trace[i] += frame_of(sim)->broad.divergence[k];
        nb_simulator_free(sim);
    }
    tap_close("rectangle", trace[0], 5e-6 / 12, 1e-20);
    tap_close("ellipse", trace[1], 5e-6 / 16, 1e-20);
    tap_close("line", trace[2], 4e-6 / 12, 1e-20);
    return TAP_PASS;
}

/* the numbers that pass through, and a scene made from the resolved one */
static int resolved_again(void)
{
    nb_scene s = probe_gauss(NB_MOSAIC_GAUSS), first;
    nb_simulator *sim, *again;
    const struct phys_frame *f;

    set_tensor(&s);
    s.crystal.mosaic_tail = 0.1;
    s.crystal.strain = 2e-3;
    s.crystal.crystal_size = 0.05;
    s.scan.osc = 12;
    s.scan.drift[1] = 0.01;
    s.beam.dispersion = 0.01;
    s.beam.divergence[0] = 1;
    sim = probe_make(&s, NULL);
    f = frame_of(sim);
    tap_check(f->broad.tail == 0.1 && f->broad.tail_width == 5, "tail %g, %g wide",
              f->broad.tail, f->broad.tail_width);
    tap_check(f->broad.spacing == 2e-3 && f->broad.size == 0.05 / 1000, "strain and size");
    if (nb_simulator_resolved(sim, NULL, &first) != NB_OK) abort();
    again = probe_make(&first, NULL);
    tap_check(memcmp(&f->broad, &frame_of(again)->broad, sizeof f->broad) == 0,
              "the same widths");
    tap_check(f->norientation == 3 && frame_of(again)->norientation == 3, "3 parts");
    tap_check(memcmp(&sim->scene, &again->scene, offsetof(nb_scene, crystal.domain_weight))
                      == 0
                  && memcmp(&sim->scene.scan, &again->scene.scan, sizeof(nb_scan)) == 0,
              "nothing is left to resolve");
    tap_check(probe_describe(&s).integrated == 15, "integrated: %d",
              probe_describe(&s).integrated);
    nb_simulator_free(again);
    nb_simulator_free(sim);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"spread_of_mosaic", spread_of_mosaic},
        {"tensor_of_domains", tensor_of_domains},
        {"parts_of_a_rotation", parts_of_a_rotation},
        {"drift", drift},
        {"moments_of_a_beam", moments_of_a_beam},
        {"edges_of_a_divergence", edges_of_a_divergence},
        {"resolved_again", resolved_again},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
