/* scenes.c - see scenes.h. SPDX-License-Identifier: MIT */
#include "oracle/scenes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set(double *to, double x, double y, double z)
{
    to[0] = x, to[1] = y, to[2] = z;
}

nb_scene oracle_scene_start(void)
{
    static const double cell[6] = {31.4, 37.2, 43.9, 81, 96, 103};
    nb_scene s = {0};

    memcpy(s.crystal.cell, cell, sizeof cell);
    set(s.crystal.misset, 12, -33, 71);
    set(s.crystal.ncells, 5, 5, 5);
    s.crystal.default_f = 80;
    s.crystal.mosaic[0] = 0.8;
    s.crystal.ndomains = 3;
    s.crystal.mosaic_seed = 7;
    s.beam.wavelength = 1.1;
    s.beam.polarization = 0.6;
    s.scan.phi0 = 2;
    s.scan.osc = 1.5;
    s.scan.nphi = 2;
    s.detector.distance = 80;
    s.detector.nfast = s.detector.nslow = 8;
    s.detector.pixel = 2.2;
    set(s.detector.rotation, 3, -4, 0);
    s.detector.twotheta = 6;
    s.oversample = 1;
    return s;
}

/* -9 <= h, k, l <= 9, some of them left out; made once and never freed */
static const nb_hkl *reflections(void)
{
    enum { MOST = 9, SIDE = 2 * MOST + 1 };
    static nb_hkl *list;
    static int hkl[SIDE * SIDE * SIDE][3];
    static double f[SIDE * SIDE * SIDE];
    nb_context *ctx;
    size_t n = 0;

    if (list) return list;
    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
        const int h = i / SIDE / SIDE - MOST, k = i / SIDE % SIDE - MOST;
        const int l = i % SIDE - MOST;

        if ((2 * h + k + 5 * l) % 9 == 4) continue;
        hkl[n][0] = h, hkl[n][1] = k, hkl[n][2] = l;
        f[n++] = 90 * sin(1 + 0.9 * h + 1.7 * k - 0.4 * l) + 3 * h;
    }
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || nb_hkl_create(ctx, n, hkl[0], f, &list) != NB_OK)
        abort();
    nb_context_free(ctx);
    return list;
}

/* ---- shapes and structure factors ---- */
void oracle_scene_base(nb_scene *s)
{
    s->detector.nfast = s->detector.nslow = 16;
    s->detector.pixel = 1.1;
    s->crystal.ndomains = 6;
}

void oracle_scene_real_cells(nb_scene *s)
{
    set(s->crystal.ncells, 4.3, 1, 6.75);
}

void oracle_scene_one_cell(nb_scene *s)
{
    set(s->crystal.ncells, 1, 1, 1);
    s->crystal.hkl = reflections();
    s->crystal.interpolate = NB_TRICUBIC;
}

void oracle_scene_nearest(nb_scene *s)
{
    s->crystal.hkl = reflections();
    s->crystal.interpolate = NB_NEAREST;
}

void oracle_scene_tricubic(nb_scene *s)
{
    s->crystal.hkl = reflections();
    s->crystal.interpolate = NB_TRICUBIC;
    s->detector.distance = 55; /* some of it leaves the box */
}

void oracle_scene_round_ball(nb_scene *s)
{
    s->crystal.shape = NB_ROUND;
    s->crystal.fudge = 0.8;
    set(s->crystal.ncells, 4, 3.3, 6);
}

void oracle_scene_round_tricubic(nb_scene *s)
{
    oracle_scene_tricubic(s);
    s->crystal.shape = NB_ROUND;
}

/* spots so wide that every sample lies near a middle */
void oracle_scene_wide_balls(nb_scene *s)
{
    s->crystal.shape = NB_ROUND;
    s->crystal.fudge = 0.4;
    set(s->crystal.ncells, 1, 1.5, 1.2);
}

void oracle_scene_gauss(nb_scene *s)
{
    s->crystal.shape = NB_GAUSS;
    s->crystal.fudge = 0.3;
    set(s->crystal.ncells, 2, 3, 2.5);
    s->crystal.hkl = reflections();
    s->crystal.interpolate = NB_NEAREST;
}

void oracle_scene_gauss_star(nb_scene *s)
{
    s->crystal.shape = NB_GAUSS_STAR;
    s->crystal.fudge = 0.7;
    set(s->crystal.ncells, 2, 3, 2.5);
}

void oracle_scene_tophat(nb_scene *s)
{
    s->crystal.shape = NB_TOPHAT;
    set(s->crystal.ncells, 2, 2, 2);
    s->crystal.hkl = reflections();
    s->crystal.interpolate = NB_TRICUBIC;
}

/* ---- slow factors ---- */
void oracle_scene_layers(nb_scene *s)
{
    s->detector.thickness = 450;
    s->detector.attenuation = 300;
    s->detector.nlayers = 3;
    s->oversample = 2;
    s->background.water = 0.06;
}

void oracle_scene_each_sample(nb_scene *s)
{
    oracle_scene_layers(s);
    s->oversample_thick = s->oversample_polar = s->oversample_omega = 1;
    s->crystal.ndomains = 1;
}

void oracle_scene_curved(nb_scene *s)
{
    s->detector.curved = 1;
    s->detector.thickness = 450;
    s->detector.attenuation = 300;
    s->oversample = 2;
    s->crystal.ndomains = 1;
}

void oracle_scene_point_pixel(nb_scene *s)
{
    s->detector.point_pixel = 1;
}

void oracle_scene_curved_point(nb_scene *s)
{
    s->detector.curved = s->detector.point_pixel = 1;
}

void oracle_scene_water(nb_scene *s)
{
    s->dmin = 8;
    s->background.water = 0.05;
    s->background.density = 1.2;
    s->oversample = 2;
    s->oversample_polar = 1;
    s->beam.fluence = 3e27;
}

void oracle_scene_displacement(nb_scene *s)
{
    s->crystal.b_factor = 20;
    s->crystal.scale = 1.7;
    s->beam.unpolarised = 1;
}

/* ---- beams ---- */
void oracle_scene_grid_of_sources(nb_scene *s)
{
    s->beam.dispersion = 0.02;
    s->beam.ndispersion = 3;
    s->beam.divergence[0] = 2;
    s->beam.divergence[1] = 3;
    s->beam.ndivergence[0] = 2;
    s->beam.ndivergence[1] = 3;
    s->beam.polarization = -0.4;
    s->crystal.ndomains = 1;
    set(s->scan.axis, 0.1, 0.2, 2);
    set(s->beam.polarization_axis, 0.2, 0.1, 1.5);
}

void oracle_scene_divergence_step(nb_scene *s)
{
    s->beam.divergence[0] = 2;
    s->beam.divergence_step[0] = 0.7;
    s->beam.divergence[1] = 1.5;
    s->beam.ndivergence[1] = 2;
    s->beam.square_divergence = 1;
    s->crystal.ndomains = 1;
}

void oracle_scene_list_of_sources(nb_scene *s)
{
    static const nb_source source[] = {{{1, 0.001, 0.002}, 1.1, 2.5},
                                       {{2, -0.003, 0.001}, 1.09, 1},
                                       {{1, 0, 0}, 1.12, 0}};

    s->beam.source = source;
    s->beam.nsource = 3;
    s->background.water = 0.06;
}

/* ---- matrices: columns a*, b*, c* ---- */
void oracle_scene_matrix(nb_scene *s)
{
    static const double matrix[9] = {0.031, 0.004, -0.002, -0.006, 0.024,
                                     0.005, 0.003, -0.007, 0.022};

    memcpy(s->crystal.matrix, matrix, sizeof matrix);
    memset(s->crystal.cell, 0, sizeof s->crystal.cell);
}

void oracle_scene_matrix_and_cell(nb_scene *s)
{
    static const double cell[6] = {31.4, 37.2, 43.9, 81, 96, 103};

    oracle_scene_matrix(s);
    memcpy(s->crystal.cell, cell, sizeof cell);
}

void oracle_scene_left_handed(nb_scene *s)
{
    oracle_scene_matrix(s);
    for (int row = 0; row < 3; row++) s->crystal.matrix[3 * row + 1] *= -1;
    s->crystal.shape = NB_GAUSS_STAR;
    set(s->crystal.ncells, 3, 3, 3);
}

void oracle_scene_left_handed_cell(nb_scene *s)
{
    oracle_scene_matrix_and_cell(s);
    for (int row = 0; row < 3; row++) s->crystal.matrix[3 * row + 1] *= -1;
}

/* ---- detectors ---- */
void oracle_scene_xds(nb_scene *s)
{
    s->detector.convention = NB_XDS;
    s->detector.origin_kind = NB_ORIGIN_NEAR;
    set(s->detector.origin, 2.5, 6.25, 0);
    s->detector.rotation[2] = 20;
}

void oracle_scene_xds_beam(nb_scene *s)
{
    s->detector.convention = NB_XDS;
    s->detector.origin_kind = NB_ORIGIN_NEAR;
    s->detector.pivot = NB_PIVOT_BEAM;
    set(s->detector.origin, 2.5, 6.25, 0);
}

void oracle_scene_dials(nb_scene *s)
{
    s->detector.convention = NB_DIALS;
    s->detector.origin_kind = NB_ORIGIN_BEAM;
    set(s->detector.origin, 7.5, 11.25, 0);
}

void oracle_scene_adxv(nb_scene *s)
{
    s->detector.convention = NB_ADXV;
    s->detector.origin_kind = NB_ORIGIN_BEAM;
    set(s->detector.origin, 7.5, 11.25, 0);
    s->detector.rotation[2] = -15;
}

void oracle_scene_denzo(nb_scene *s)
{
    s->detector.convention = NB_DENZO;
    s->detector.origin_kind = NB_ORIGIN_BEAM;
    set(s->detector.origin, 7.5, 11.25, 0);
    s->oversample = 2;
    s->crystal.ndomains = 1;
}

void oracle_scene_mosflm_sample(nb_scene *s)
{
    s->detector.pivot = NB_PIVOT_SAMPLE;
    s->detector.origin_kind = NB_ORIGIN_BEAM;
    set(s->detector.origin, 6.5, 9.25, 0);
    s->detector.twotheta = 25;
}

void oracle_scene_mosflm_near(nb_scene *s)
{
    s->detector.origin_kind = NB_ORIGIN_NEAR;
    set(s->detector.origin, 2.5, 6.25, 0);
    s->detector.twotheta = 25;
}

void oracle_scene_custom(nb_scene *s)
{
    s->detector.convention = NB_CUSTOM;
    set(s->detector.vectors[0], 0, 0.1, 2);
    set(s->detector.vectors[1], 0.02, -1, 0.1);
    set(s->detector.vectors[2], 1.1, 0.05, -0.02);
    set(s->detector.vectors[3], 0.1, 1, 0.2);
    set(s->beam.direction, 1, 0.03, -0.02);
    s->detector.origin_kind = NB_ORIGIN_BEAM;
    set(s->detector.origin, 6.5, 9.25, 0);
}

void oracle_scene_corner_given(nb_scene *s)
{
    s->detector.origin_kind = NB_ORIGIN_PIX0;
    set(s->detector.origin, 75, 9, -7);
    s->detector.thickness = 300;
    s->detector.attenuation = 250;
}

void oracle_scene_close_given(nb_scene *s)
{
    s->detector.convention = NB_DIALS;
    s->detector.close_distance = 60;
    s->detector.distance = 0;
    s->detector.origin_kind = NB_ORIGIN_CLOSE;
    set(s->detector.origin, 3, 14, 0);
}

/* ---- degenerate points ---- */
void oracle_scene_right_angles(nb_scene *s)
{
    static const double cell[6] = {30, 40, 50, 90, 90, 90};

    memcpy(s->crystal.cell, cell, sizeof cell);
    set(s->crystal.misset, 0, 0, 0);
    set(s->detector.rotation, 0, 0, 0);
    s->detector.twotheta = s->scan.phi0 = 0;
    s->beam.polarization = 0;
}

/* a cell of 25 A along x and z: the pixel at (60, 0, 80) mm scatters by (-10, 0, 20) */
void oracle_scene_lattice_points(nb_scene *s)
{
    static const double cell[6] = {25, 35, 25, 90, 90, 90};

    memcpy(s->crystal.cell, cell, sizeof cell);
    set(s->crystal.misset, 0, 0, 0);
    set(s->crystal.ncells, 5, 4, 6.5);
    set(s->detector.rotation, 0, 0, 0);
    s->detector.twotheta = s->scan.phi0 = s->scan.osc = 0;
    s->scan.nphi = 1;
    s->crystal.ndomains = 1;
    s->crystal.mosaic[0] = 0;
    s->beam.wavelength = 1;
    s->detector.distance = 60;
    s->detector.pixel = 2;
    s->detector.convention = NB_DENZO;
    s->detector.origin_kind = NB_ORIGIN_BEAM;
    set(s->detector.origin, 7, -73, 0);
}

/* the middle of a pixel in the direct beam */
void oracle_scene_forward(nb_scene *s)
{
    s->detector.convention = NB_DENZO;
    s->detector.origin_kind = NB_ORIGIN_BEAM;
    set(s->detector.origin, 7.7, 9.9, 0);
    s->crystal.shape = NB_ROUND;
    s->background.water = 0.06;
}

void oracle_scene_no_mosaic(nb_scene *s)
{
    s->crystal.mosaic[0] = 0;
    s->given |= NB_GIVEN_MOSAIC;
}

void oracle_scene_still(nb_scene *s)
{
    s->scan.phi0 = s->scan.osc = 0;
    s->scan.nphi = 1;
    s->crystal.ndomains = 1;
    s->crystal.mosaic[0] = 0;
    s->crystal.shape = NB_ROUND;
    s->beam.polarization = 1;
    s->beam.wavelength = 0.7;
}

void oracle_scene_sheared(nb_scene *s)
{
    s->crystal.shape = NB_GAUSS;
    s->crystal.fudge = 0.5;
    set(s->crystal.ncells, 2, 3, 2.5);
    set(s->crystal.ncells_off, 0.3, -0.4, 0.2);
}

void oracle_scene_anisotropic(nb_scene *s)
{
    set(s->crystal.mosaic, 0.8, 0.3, 1.2);
}
