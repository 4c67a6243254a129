/*
 * points.c - the base scene with the required figures, and points at which formulas divide
 * by zero or parameters reach a bound: gradcheck.points.NAME.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "gradients/gradients.h"
#include "gradients/harness.h"
#include "support/scenes.h"

int base_full(void)
{
    const nb_scene scene = modes_base();

    harness_check("base", &scene, HARNESS_ALL, 0);
    return TAP_PASS;
}

/* within 1e-10 of the derivative itself, for the plain sum and for random weights */
int base_figures(void)
{
    const nb_scene scene = modes_base();
    nb_context *ctx = harness_context();
    nb_gradcheck_row *rows;
    nb_simulator *sim;

    if (nb_simulator_create(ctx, &scene, "cell misset mosaic distance wavelength", NULL,
                            &sim)
        != NB_OK)
        abort();
    rows = calloc(nb_gradcheck_rows(sim, NULL), sizeof *rows);
    if (!rows) abort();
    tap_check(nb_gradcheck(sim, NULL, NULL, NULL, rows, NULL) == NB_OK, "checked");
    for (size_t i = 0; i < nb_gradcheck_rows(sim, NULL); i++) {
        const nb_gradcheck_row *r = rows + i;
        const double off = fabs(r->vjp - r->fd) / fabs(r->fd);

        if (r->loss == NB_GRADCHECK_BRIGHT) continue;
        tap_check(r->verdict == NB_VERDICT_PASS && off <= 1e-10,
                  "%s, %s: %.12e, off by %.1e of it, 1e-10 allowed (%s)", r->param.name,
                  nb_gradcheck_loss_name(r->loss), r->vjp, off,
                  nb_verdict_name(r->verdict));
    }
    free(rows);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* the direct beam hits the middle of a pixel: q = 0, a lattice point, no polarization */
static void forward_scattering(nb_scene *s)
{
    memset(s->detector.rotation, 0, sizeof s->detector.rotation);
    s->detector.twotheta = 0;
    s->detector.origin_kind = NB_ORIGIN_BEAM;
    s->detector.origin[0] = s->detector.origin[1] = 7.5 * s->detector.pixel;
}

/* orthogonal, unturned: the spots of l = 0 lie at whole indices of the centre rows */
static void lattice_points(nb_scene *s)
{
    forward_scattering(s);
    for (int i = 0; i < 3; i++) {
        s->crystal.cell[i] = 40;
        s->crystal.cell[3 + i] = 90;
        s->crystal.misset[i] = 0;
    }
    s->crystal.mosaic[0] = 0;
    s->crystal.ndomains = 1;
    s->scan.phi0 = s->scan.osc = 0;
    s->scan.nphi = 1;
}

static void right_angles(nb_scene *s)
{
    for (int i = 3; i < 6; i++) s->crystal.cell[i] = 90;
}

/* Weights give the domains a mean rotation, without which the slope is 0. */
static void no_mosaic(nb_scene *s)
{
    static const double weight[6] = {2, 1, 0.5, 1, 0.3, 1.2};

    s->crystal.mosaic[0] = 0;
    s->crystal.domain_weight = weight;
    s->given |= NB_GIVEN_MOSAIC;
}

static void one_cell(nb_scene *s)
{
    for (int i = 0; i < 3; i++) s->crystal.ncells[i] = 1;
    s->crystal.hkl = scenes_reflections();
    s->crystal.interpolate = NB_LOOKUP_TRICUBIC;
}

static void no_rotations(nb_scene *s)
{
    for (int i = 0; i < 3; i++) s->crystal.misset[i] = s->detector.rotation[i] = 0;
    s->detector.twotheta = 0;
    s->scan.phi0 = 0;
}

static void unpolarised(nb_scene *s)
{
    s->beam.unpolarised = 1;
}

static void unpolarised_light(nb_scene *s)
{
    s->beam.polarization = 0;
}

static void one_source(nb_scene *s)
{
    static const nb_source source = {{1, 0, 0}, 1.1, 1};

    s->beam.source = &source;
    s->beam.nsource = 1;
}

static void no_spread(nb_scene *s)
{
    s->beam.ndispersion = s->beam.ndivergence[0] = s->beam.ndivergence[1] = 2;
    s->beam.square_divergence = 1;
    s->given |= NB_GIVEN_DISPERSION | NB_GIVEN_DIVERGENCE_H | NB_GIVEN_DIVERGENCE_V;
}

static void some_water(nb_scene *s)
{
    s->background.water = 0.2;
}

/* A point spread mixes what jumps into every pixel that it reaches, so it is checked where
 * nothing jumps: a grating of whole cells with one structure factor. */
static void point_spread(nb_scene *s)
{
    s->psf.kind = NB_PSF_GAUSS;
    s->psf.fwhm = 1.9;
    s->background.water = 0.2;
    s->oversample = 2;
}

static void fibre(nb_scene *s)
{
    point_spread(s);
    s->psf.kind = NB_PSF_FIBER;
    s->detector.roi[0] = 3, s->detector.roi[1] = 14;
    s->detector.roi[2] = 2, s->detector.roi[3] = 12;
}

/* spots that are painted, and their adjoint with them */
static void painted(nb_scene *s)
{
    s->crystal.shape = NB_SHAPE_GAUSS;
    s->oversample = 2;
    s->beam.ndispersion = 2;
    s->beam.dispersion = 0.02;
    s->given |= NB_GIVEN_DISPERSION;
}

static void painted_list(nb_scene *s)
{
    s->crystal.shape = NB_SHAPE_GAUSS;
    s->crystal.hkl = scenes_reflections();
    s->crystal.interpolate = NB_LOOKUP_NEAREST;
}

/* at 0 the volume of a crystal whose cells are not sheared has no slope in them */
static void shear(nb_scene *s)
{
    static const double sheared[3] = {0.3, -0.2, 0.25};

    memcpy(s->crystal.ncells_off, sheared, sizeof sheared);
}

static void painted_round(nb_scene *s)
{
    painted(s);
    s->crystal.shape = NB_SHAPE_ROUND;
}

static void painted_tophat(nb_scene *s)
{
    painted_list(s);
    shear(s);
    s->crystal.shape = NB_SHAPE_TOPHAT;
    for (int i = 0; i < 3; i++) s->crystal.ncells[i] = 2; /* wide enough to be met */
}

/* under a curved detector, from sources of a list */
static void painted_star(nb_scene *s)
{
    static const nb_source source[2] = {{{1, 0.002, -0.001}, 1.1, 1},
                                        {{0.999, -0.003, 0.002}, 1.12, 0.7}};

    shear(s);
    s->crystal.shape = NB_SHAPE_GAUSS_STAR;
    s->detector.curved = 1;
    s->crystal.mosaic[1] = 0.5, s->crystal.mosaic[2] = 1.1;
    s->beam.source = source;
    s->beam.nsource = 2;
}

/* two further lattices, one with a cell of its own */
static void further_lattices(nb_scene *s)
{
    s->crystal.hkl = scenes_reflections();
    s->crystal.interpolate = NB_LOOKUP_NEAREST;
    s->crystal.ndomains = 2;
    scenes_lattices(s);
}

static int check(const char *name, void (*change)(nb_scene *scene))
{
    nb_scene scene = modes_base();

    change(&scene);
    if (scene.psf.kind != NB_PSF_NONE && !modes_has_psf())
        return tap_skip("this build was made without FFTW");
    harness_check(name, &scene,
                  scene.crystal.shape == NB_SHAPE_SQUARE ? HARNESS_REFERENCE | HARNESS_LANES
                                                         : HARNESS_ALL,
                  0);
    return TAP_PASS;
}

#define POINT(name)                                                                        \
    int point_##name(void)                                                                 \
    {                                                                                      \
        return check(#name, name);                                                         \
    }
POINT_LIST(POINT)
#undef POINT

/* the gradient in float is that in double, whatever the shape */
int float_gradients(void)
{
    for (size_t i = 0; i < modes_count; i++) {
        const nb_scene scene = modes_scene(modes_list + i);
        nb_context *ctx = harness_context();
        char *names = harness_names(ctx, &scene);
        const size_t pixels = (size_t)scene.detector.nslow * (size_t)scene.detector.nfast;
        double *bar = calloc(pixels, sizeof *bar), *change = calloc(pixels, sizeof *change);
        struct worst worst = {0};
        double *gradient[2] = {NULL, NULL};
        uint64_t state = 4;
        nb_simulator *sim;
        size_t n = 0;

        for (size_t k = 0; k < pixels; k++) bar[k] = 2 * random_number(&state) - 1;
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++) {
            const nb_options options = {precision, NB_STRATEGY_LANES, 0};
            nb_array array = nb_array_f64(bar, scene.detector.nslow, scene.detector.nfast);

            if (nb_simulator_create(ctx, &scene, names, &options, &sim) != NB_OK) abort();
            n = nb_simulator_nparam(sim);
            gradient[precision] = calloc(n, sizeof(double));
            if (nb_vjp(sim, NULL, 1, &array, gradient[precision]) != NB_OK) abort();
            if (precision == NB_PRECISION_DOUBLE) nb_simulator_free(sim);
        }
        for (size_t p = 0; p < n; p++) {
            nb_array array =
                nb_array_f64(change, scene.detector.nslow, scene.detector.nfast);
            double *d = calloc(n, sizeof *d), scale = 0;

            d[p] = 1;
            if (nb_jvp(sim, NULL, 1, d, &array) != NB_OK) abort();
            for (size_t k = 0; k < pixels; k++) scale += fabs(bar[k] * change[k]);
            worst_add(&worst, gradient[1][p], gradient[0][p], scale);
            free(d);
        }
        /* float's rounding of N h in the slope of the lattice's sine: 2.5e-6 measured */
        worst_check(&worst, 4e-5, "%s: float, of S", modes_list[i].name);
        free(gradient[0]);
        free(gradient[1]);
        free(bar);
        free(change);
        free(names);
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}
