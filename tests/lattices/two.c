/* two.c - see two.h. SPDX-License-Identifier: MIT */
#include "lattices/two.h"

#include <string.h>

#include "support/scenes.h"

static const char *const names[] = {"gauss",  "rotating", "square", "tricubic",
                                    "spread", "panels",   "boxes"};

const char *two_name(int kind)
{
    return names[kind];
}

int two_is_missing(int kind)
{
    return kind == TWO_SPREAD && !strstr(nb_features(), "fftw");
}

int two_is_sampled(int kind)
{
    return kind == TWO_SQUARE || kind == TWO_TRICUBIC;
}

static void continuous(nb_scene *s)
{
    s->crystal.shape = NB_SHAPE_GAUSS;
    s->crystal.mosaic[0] = 0.5;
    s->background.water = 0.05;
}

static void sampled(nb_scene *s)
{
    s->crystal.hkl = scenes_reflections();
    s->crystal.mosaic[0] = 0.5;
    s->crystal.ndomains = 3;
    s->background.water = 0.02;
}

static void set_kind(int kind, nb_scene *s)
{
    static const int box[] = {1, 11, 2, 13, 11, 22, 9, 24};

    if (kind == TWO_SQUARE) {
        sampled(s);
        s->scan.osc = 0.3;
        s->scan.nphi = 2;
        return;
    }
    if (kind == TWO_TRICUBIC) {
        sampled(s);
        s->crystal.shape = NB_SHAPE_GAUSS;
        s->crystal.interpolate = NB_LOOKUP_TRICUBIC;
        return;
    }
    continuous(s);
    if (kind == TWO_ROTATING) {
        s->scan.osc = 2;
        s->crystal.mosaic_tail = 0.1;
        s->crystal.hkl = scenes_reflections();
    }
    if (kind == TWO_SPREAD) {
        s->psf.kind = NB_PSF_GAUSS;
        s->psf.fwhm = 2;
    }
    if (kind == TWO_PANELS) scenes_panels(s);
    if (kind == TWO_BOXES) {
        s->detector.box = box;
        s->detector.nbox = 2;
    }
}

void two_scenes(int kind, nb_scene *both, nb_scene one[2])
{
    static nb_lattice further = {.cell = {32, 38, 43, 82, 95, 102},
                                 .misset = {12, -4, 31},
                                 .scale = 0.6};
    const nb_scene base = {
        .crystal = {.cell = {31, 37, 44, 81, 96, 103},
                    .misset = {10, -5, 30},
                    .ncells = {6, 5, 7},
                    .default_f = 80,
                    .scale = 1.3},
        .beam = {.fluence = 1e24},
        .detector = {.nslow = TWO_SIDE, .nfast = TWO_SIDE, .pixel = 2, .distance = 80},
        .oversample = 2,
    };

    one[0] = base;
    set_kind(kind, one);
    one[1] = one[0];
    one[1].background.water = 0;
    memcpy(one[1].crystal.cell, further.cell, sizeof further.cell);
    memcpy(one[1].crystal.misset, further.misset, sizeof further.misset);
    one[1].crystal.scale *= further.scale;
    *both = one[0];
    both->crystal.lattice = &further;
    both->crystal.nlattice = 1;
}
