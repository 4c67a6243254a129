/* spot_scenes.c - see spot_scenes.h. SPDX-License-Identifier: MIT */
#include "kernels/spot_scenes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/renders.h"
#include "support/scenes.h"

nb_scene spots_base(void)
{
    static const double cell[6] = {70, 80, 90, 85, 95, 105};
    nb_scene s = {0};

    memcpy(s.crystal.cell, cell, sizeof s.crystal.cell);
    for (int i = 0; i < 3; i++) {
        s.crystal.ncells[i] = 10;
        s.crystal.misset[i] = 10 + 10 * i;
    }
    s.crystal.shape = NB_GAUSS;
    s.crystal.default_f = 100;
    s.crystal.mosaic[0] = 0.5;
    s.crystal.ndomains = 20;
    s.beam.wavelength = 1;
    s.beam.polarization = 0.9;
    s.detector.convention = NB_XDS; /* two theta turns about the crystal */
    s.detector.nfast = SPOTS_NFAST;
    s.detector.nslow = SPOTS_NSLOW;
    s.detector.pixel = 0.5;
    s.oversample = 1;
    return s;
}

/* ---- crystals ---- */
static void cells(nb_scene *s, double a, double b, double c)
{
    s->crystal.ncells[0] = a;
    s->crystal.ncells[1] = b;
    s->crystal.ncells[2] = c;
}

static void plain(nb_scene *s)
{
    (void)s;
}

static void one_cell(nb_scene *s)
{
    cells(s, 1, 1, 1);
}

static void two_cells(nb_scene *s)
{
    cells(s, 2, 2, 2);
}

static void plate(nb_scene *s)
{
    cells(s, 100, 30, 2);
}

/* spots far smaller than a pixel: one of them is hit in its middle, hardly any other */
static void narrow(nb_scene *s)
{
    cells(s, 3000, 3000, 3000);
    s->crystal.ndomains = 1;
    s->crystal.mosaic[0] = 0;
    if (!renders_aim(s, 29, 49, 0, NULL)) abort();
}

static void narrow_oversampled(nb_scene *s)
{
    s->oversample = 4;
    narrow(s);
}

static void narrow_mosaic(nb_scene *s)
{
    cells(s, 300, 300, 300);
    s->crystal.mosaic[0] = 0.05;
    s->crystal.ndomains = 300;
    s->oversample = 2;
}

static void widely_mosaic(nb_scene *s)
{
    s->crystal.mosaic[0] = 10;
    s->crystal.ndomains = 300;
}

static void half_a_turn(nb_scene *s)
{
    s->scan.osc = 180;
    s->scan.nphi = 60;
    s->crystal.ndomains = 3;
}

static void left_handed(nb_scene *s)
{
    static const double matrix[9] = {0.012, 0.003, 0.001, -0.002, 0.011,
                                     0.002, 0.001, 0.002, -0.013};

    memset(s->crystal.cell, 0, sizeof s->crystal.cell);
    memcpy(s->crystal.matrix, matrix, sizeof matrix);
}

/* rows of reflections that nearly cancel: |h a*| is ten times |q| */
static void skew(nb_scene *s)
{
    static const double cell[6] = {300, 300, 300, 14, 14, 14};

    memcpy(s->crystal.cell, cell, sizeof cell);
    cells(s, 300, 300, 300);
    s->crystal.ndomains = 1;
    s->crystal.mosaic[0] = 0;
    if (!renders_aim(s, 29, 49, 0, NULL)) abort();
}

static void gaps(nb_scene *s)
{
    s->crystal.hkl = scenes_reflections();
    s->crystal.interpolate = NB_NEAREST;
    s->crystal.default_f = 0;
}

static void gaps_tricubic(nb_scene *s)
{
    gaps(s);
    s->crystal.interpolate = NB_TRICUBIC;
}

static void fudged(nb_scene *s)
{
    s->crystal.fudge = 0.2;
}

/* ---- beams ---- */
static void divergent(nb_scene *s)
{
    s->beam.divergence[0] = s->beam.divergence[1] = 30;
    s->beam.ndivergence[0] = s->beam.ndivergence[1] = 5;
}

static void dispersive(nb_scene *s)
{
    s->beam.dispersion = 0.3;
    s->beam.ndispersion = 12;
}

/* nothing in common */
static void rainbow(nb_scene *s)
{
    static const nb_source source[] = {
        {{0, 0, 1}, 0.5, 1},        {{0.3, 0, 1}, 6, 2},   {{0, -0.4, 1}, 1.3, 0.2},
        {{-0.1, 0.2, 0.8}, 2.7, 3}, {{1, 1, 0.3}, 1, 0.7}, {{0, 0, 1}, 0.9, 0},
    };

    s->beam.source = source;
    s->beam.nsource = sizeof source / sizeof *source;
}

static void short_waves(nb_scene *s)
{
    s->beam.wavelength = 0.1;
}

static void long_waves(nb_scene *s)
{
    s->beam.wavelength = 6;
}

/* ---- detectors ---- */
static void thick(nb_scene *s)
{
    s->detector.thickness = 2000;
    s->detector.attenuation = 700;
    s->detector.nlayers = 4;
    s->detector.distance = 30;
}

static void each_factor(nb_scene *s)
{
    thick(s);
    s->oversample = 2;
    s->oversample_thick = s->oversample_polar = s->oversample_omega = 1;
}

static void curved(nb_scene *s)
{
    s->detector.curved = 1;
    s->detector.distance = 40;
}

/* the cones of many reflections reach the horizon */
static void turned_by_70(nb_scene *s)
{
    s->detector.twotheta = 70;
    s->detector.distance = 12;
}

static void behind(nb_scene *s)
{
    s->detector.twotheta = 160;
    s->detector.distance = 30;
}

/* seen from so near that it covers the forward half space, direct beam included */
static void close_up(nb_scene *s)
{
    s->detector.distance = 1.5;
    cells(s, 5, 5, 5);
}

static void far_away(nb_scene *s)
{
    s->detector.distance = 5000;
}

static void rotated(nb_scene *s)
{
    s->detector.rotation[0] = 25;
    s->detector.rotation[1] = -30;
    s->detector.rotation[2] = 77;
    s->detector.distance = 20;
}

static void slanted_axes(nb_scene *s)
{
    static const double vectors[4][3] = {{0.2, 0.4, 1}, {-0.3, -1, 0.5}, {0}, {0, 1, 0}};
    double *n = s->detector.vectors[2];

    s->detector.convention = NB_CUSTOM;
    memcpy(s->detector.vectors, vectors, sizeof vectors);
    n[0] = 0.4 * 0.5 + 1; /* fast x slow */
    n[1] = -0.3 - 0.2 * 0.5;
    n[2] = -0.2 + 0.4 * 0.3;
    s->detector.distance = 30;
}

/* the normal is what the user says, and not that of the plane; there is a warning */
static void false_normal(nb_scene *s)
{
    static const double vectors[4][3] = {{0, 0, 1}, {0, -1, 0}, {1, 0.15, -0.2}, {0, 1, 0}};

    s->detector.convention = NB_CUSTOM;
    memcpy(s->detector.vectors, vectors, sizeof vectors);
    s->detector.distance = 30;
}

static void region(nb_scene *s)
{
    s->detector.roi[0] = 33, s->detector.roi[1] = 50;
    s->detector.roi[2] = 30, s->detector.roi[3] = 39;
}

static void masked(nb_scene *s)
{
    static uint8_t shows[SPOTS_PIXELS];

    for (int i = 0; i < SPOTS_PIXELS; i++) shows[i] = i % 5 != 2;
    s->detector.mask = shows;
}

/* ---- factors ---- */
static void cut_at_dmin(nb_scene *s)
{
    s->dmin = 9;
    s->oversample = 2;
}

static void warm(nb_scene *s)
{
    s->crystal.b_factor = 60;
    s->detector.distance = 30;
}

static void cold(nb_scene *s)
{
    s->crystal.b_factor = -20;
    s->detector.distance = 30;
}

static void wet(nb_scene *s)
{
    s->background.water = 50;
}

static void point_pixels(nb_scene *s)
{
    s->detector.point_pixel = 1;
}

static void negative(nb_scene *s)
{
    s->crystal.scale = -2;
}

#ifdef NANOBRAG_FFTW
static void blurred(nb_scene *s)
{
    s->psf.kind = NB_PSF_GAUSS;
    s->psf.fwhm = 3;
}
#endif

static void quirks(nb_scene *s)
{
    nb_scene_set_profile(s, NB_PROFILE_NANOBRAGG);
    each_factor(s);
    s->oversample_thick = 0;
    cells(s, 3, 3, 3); /* nanoBragg's gaussian is narrower */
    s->dmin = 3;
}

#define NAMED(group, name)                                                                 \
    {                                                                                      \
#name, SPOTS_##group, name                                                         \
    }

const struct spots_scene spots_list[] = {
    NAMED(CRYSTAL, plain),
    NAMED(CRYSTAL, one_cell),
    NAMED(CRYSTAL, two_cells),
    NAMED(CRYSTAL, plate),
    NAMED(CRYSTAL, narrow),
    NAMED(CRYSTAL, narrow_oversampled),
    NAMED(CRYSTAL, narrow_mosaic),
    NAMED(CRYSTAL, widely_mosaic),
    NAMED(CRYSTAL, half_a_turn),
    NAMED(CRYSTAL, left_handed),
    NAMED(CRYSTAL, skew),
    NAMED(CRYSTAL, gaps),
    NAMED(CRYSTAL, gaps_tricubic),
    NAMED(CRYSTAL, fudged),
    NAMED(BEAM, divergent),
    NAMED(BEAM, dispersive),
    NAMED(BEAM, rainbow),
    NAMED(BEAM, short_waves),
    NAMED(BEAM, long_waves),
    NAMED(DETECTOR, thick),
    NAMED(DETECTOR, each_factor),
    NAMED(DETECTOR, curved),
    NAMED(DETECTOR, turned_by_70),
    NAMED(DETECTOR, behind),
    NAMED(DETECTOR, close_up),
    NAMED(DETECTOR, far_away),
    NAMED(DETECTOR, rotated),
    NAMED(DETECTOR, slanted_axes),
    NAMED(DETECTOR, false_normal),
    NAMED(DETECTOR, region),
    NAMED(DETECTOR, masked),
    NAMED(FACTOR, cut_at_dmin),
    NAMED(FACTOR, warm),
    NAMED(FACTOR, cold),
    NAMED(FACTOR, wet),
    NAMED(FACTOR, point_pixels),
    NAMED(FACTOR, negative),
#ifdef NANOBRAG_FFTW
    NAMED(FACTOR, blurred),
#endif
    NAMED(FACTOR, quirks),
};
const size_t spots_count = sizeof spots_list / sizeof *spots_list;

nb_scene spots_make(const struct spots_scene *named)
{
    nb_scene s = spots_base();

    named->change(&s);
    return s;
}

nb_scene spots_beside(int shape, double count, double off)
{
    nb_scene s = spots_base();

    cells(&s, count, count, count);
    s.crystal.shape = shape;
    s.crystal.ndomains = 1;
    s.crystal.mosaic[0] = 0;
    s.detector.distance = 200;
    s.detector.pixel = 0.2 / count;
    s.detector.twotheta = 20;
    if (!renders_aim(&s, SPOTS_NSLOW / 2, SPOTS_NFAST / 2, off, NULL)) abort();
    return s;
}
