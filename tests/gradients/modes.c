/* modes.c - see modes.h. SPDX-License-Identifier: MIT */
#include "gradients/modes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scenes.h"

const struct modes modes_list[] = {
#define MODES(name, ...) {#name, {__VA_ARGS__}},
#include "gradients/modes.def"
#undef MODES
};
const size_t modes_count = sizeof modes_list / sizeof *modes_list;

static const char *const kind_name[] = {
#define NAME(name, values) #name,
    MODE_LIST(NAME)
#undef NAME
};

static const char *const value_names[] = {
#define VALUES(name, values) values,
    MODE_LIST(VALUES)
#undef VALUES
};

const char *modes_kind(int kind)
{
    return kind_name[kind];
}

int modes_value(const struct modes *modes, int kind)
{
    const int value[] = {
#define VALUE(name, values) modes->is.name,
        MODE_LIST(VALUE)
#undef VALUE
    };

    return value[kind];
}

int modes_values(int kind)
{
    int n = 1;

    for (const char *at = value_names[kind]; *at; at++) n += *at == ' ';
    return n;
}

const char *modes_value_name(int kind, int value, char *name, size_t size)
{
    const char *at = value_names[kind];

    for (; value > 0; value--) at = strchr(at, ' ') + 1;
    (void)snprintf(name, size, "%.*s", (int)strcspn(at, " "), at);
    return name;
}

nb_scene modes_base(void)
{
    nb_scene s = scenes_base();

    s.detector.nfast = s.detector.nslow = 16;
    s.detector.pixel = 1.1;
    return s;
}

/* Each column of modes.def adds its part to the scene. */

static void set_crystal(const struct modes *m, nb_crystal *c)
{
    static const int shape[] = {NB_SHAPE_SQUARE, NB_SHAPE_ROUND, NB_SHAPE_GAUSS,
                                NB_SHAPE_GAUSS_STAR, NB_SHAPE_TOPHAT};
    /* a*, b*, c* of the base cell, in columns, turned by nothing */
    static const double matrix[9] = {0.0331,  0.0069,  0.0021, 0.0007, 0.0268,
                                     -0.0039, -0.0013, 0.0011, 0.0227};
    static const double sheared[3] = {0.3, -0.2, 0.25};
    static const double real_cells[3] = {4.3, 5.6, 3.75};

    c->shape = shape[m->is.shape];
    c->fudge = 0.9;
    /* none where spots may be painted: their adjoint leaves it to the lanes */
    c->b_factor = m->is.cut == ALL && m->is.factors != EACH ? 0 : 8;
    c->scale = 1.3;
    c->normalise = m->is.cells == REAL;
    if (m->is.axes == MATRIX) {
        memcpy(c->matrix, matrix, sizeof matrix);
        memset(c->cell, 0, sizeof c->cell);
    }
    for (int i = 0; i < 3; i++) c->ncells[i] = m->is.cells == REAL ? real_cells[i] : 4 + i;
    /* wide enough to be met; of many samples in a pixel fewer may meet an edge */
    if (m->is.shape == TOPHAT)
        for (int i = 0; i < 3; i++)
            c->ncells[i] =
                (m->is.cells == REAL ? 1.8 : 2) * (m->is.factors == FIRST ? 1 : 2);
    /* at 0 the volume of such a crystal has no slope in them */
    if (m->is.shape == GAUSS_STAR || m->is.shape == TOPHAT
        || (m->is.shape == GAUSS && m->is.cells == REAL))
        memcpy(c->ncells_off, sheared, sizeof sheared);
    c->mosaic[0] = m->is.mosaic == NONE ? 0 : 0.8;
    if (m->is.mosaic == AXES) c->mosaic[1] = 0.5, c->mosaic[2] = 1.1;
    /* few samples in a pixel: every one of them has its kinks */
    c->ndomains = m->is.mosaic < MANY ? 1 : 2;
    if (m->is.lookup == CONSTANT) return;
    c->hkl = scenes_reflections_outside();
    c->interpolate = m->is.lookup == NEAREST ? NB_LOOKUP_NEAREST : NB_LOOKUP_TRICUBIC;
}

static void set_beam(const struct modes *m, nb_scene *s)
{
    /* unlike each other: the slope in a weight is what one differs by from their mean */
    static const nb_source source[] = {{{1, 0.05, 0.06}, 1.1, 2.5},
                                       {{2, -0.08, 0.05}, 1.05, 1}};
    static const double direction[3] = {1, 0.06, -0.05}, field[3] = {0.1, 0.3, 1.2};
    static const double spindle[3] = {0.05, 0.1, 0.9};
    nb_beam *b = &s->beam;

    memcpy(b->direction, direction, sizeof direction);
    memcpy(b->polarization_axis, field, sizeof field);
    memcpy(s->scan.axis, spindle, sizeof spindle);
    b->polarization = 0.6;
    if (m->is.sources == LIST) {
        b->source = source;
        b->nsource = 2;
    } else if (m->is.sources == GRID) {
        b->dispersion = 0.02;
        b->divergence[0] = 2;
        b->divergence[1] = 3;
        b->ndispersion = b->ndivergence[0] = b->ndivergence[1] = 2;
        b->square_divergence = 1;
    }
    s->scan.phi0 = 2;
    s->scan.osc = m->is.phi == STEPS ? 1.5 : 0;
    s->scan.nphi = m->is.phi == STEPS ? 2 : 1;
}

static void set_detector(const struct modes *m, nb_detector *d)
{
    static const double pix0[3] = {80, 6.1, -7.2};

    d->nfast = d->nslow = m->is.sources == GRID ? 8 : 12;
    d->pixel = m->is.sources == GRID ? 1.9 : 1.3;
    d->pivot = m->is.pivot == BEAM ? NB_PIVOT_BEAM : NB_PIVOT_SAMPLE;
    d->curved = m->is.surface == CURVED;
    d->point_pixel = m->is.surface == POINT;
    if (m->is.surface == THICK) {
        d->thickness = 450;
        d->attenuation = 300;
        d->nlayers = m->is.sources == SINGLE ? 2 : 0; /* 0: by rule */
        d->material = NB_MATERIAL_SI; /* so that they follow the wavelength */
    }
    if (m->is.place == CLOSE) {
        d->close_distance = 80;
        d->distance = 0;
    } else if (m->is.place == PIX0) {
        d->origin_kind = NB_ORIGIN_PIX0;
        memcpy(d->origin, pix0, sizeof pix0);
    }
}

int modes_exclude(int a, int v, int b, int w)
{
    return a == MODE_surface && v == CURVED && b == MODE_place && w == PANELS;
}

int modes_has_psf(void)
{
    return strstr(nb_features(), "fftw") != NULL;
}

nb_scene modes_scene(const struct modes *m)
{
    nb_scene s = scenes_base();

    set_crystal(m, &s.crystal);
    set_beam(m, &s);
    set_detector(m, &s.detector);
    if (m->is.place == PANELS) scenes_panels(&s);
    s.oversample = m->is.factors == FIRST ? 1 : 2;
    s.oversample_omega = s.oversample_polar = s.oversample_thick = m->is.factors == EACH;
    s.dmin = m->is.cut == DMIN ? 7 : 0;
    if (m->is.background == NONE) return s;
    s.background.water = 0.2; /* about as bright as the spots */
    if (m->is.background == TABLE) scenes_amorphous(&s, 0.2);
    return s;
}

static int is_default(const double v[3])
{
    return v[0] == 0 && v[1] == 0 && v[2] == 0;
}

static int is_among(const char *name, const char *list)
{
    const size_t length = strcspn(name, "[");

    for (const char *at = list; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && strncmp(at, name, length) == 0) return 1;
    return 0;
}

/* The same for a scene of the continuous model: widths enter squared. */
static const char *zero_width(const nb_scene *s, const char *name)
{
    const nb_crystal *c = &s->crystal;

    if (strcmp(name, "mosaic_tail_width") == 0 && c->mosaic_tail == 0)
        return "no share of the crystal has it";
    if ((strcmp(name, "strain") == 0 && c->strain == 0)
        || (strcmp(name, "crystal_size") == 0 && c->crystal_size == 0)
        || (strcmp(name, "dispersion") == 0 && s->beam.dispersion == 0))
        return "a width of 0 has no slope";
    if (is_among(name, "ncells_ab ncells_ac ncells_bc") && c->shape == NB_SHAPE_GAUSS_STAR)
        return "the shape has no such number";
    return NULL;
}

const char *modes_zero(const nb_scene *s, const char *name)
{
    static const char moves_samples[] =
        "cell_a cell_b cell_c cell_alpha cell_beta cell_gamma a_star_x a_star_y a_star_z "
        "b_star_x b_star_y b_star_z c_star_x c_star_y c_star_z misset_x misset_y misset_z "
        "rotation_x rotation_y rotation_z mosaic mosaic_b mosaic_c mosaic_ab mosaic_ac "
        "mosaic_bc phi0 osc spindle_x spindle_y spindle_z rotation_drift_x "
        "rotation_drift_y rotation_drift_z";
    const int tricubic = s->crystal.hkl && s->crystal.interpolate == NB_LOOKUP_TRICUBIC;

    if (strcmp(name, "water") == 0 && s->background.water == 0)
        return "the image grows with the cube of the thickness";
    if (strcmp(name, "distance") == 0 && s->detector.origin_kind == NB_ORIGIN_PIX0)
        return "the pix0 vector alone says where the detector is";
    if (strncmp(name, "source_x", 8) == 0 && s->beam.nsource > 0
        && s->beam.source[0].direction[1] == 0 && s->beam.source[0].direction[2] == 0)
        return "a direction along an axis has no slope in its own length";
    if (is_among(name, "domain_weight") && s->crystal.mosaic[0] == 0)
        return "without a spread all domains are the same";
    if (is_among(name, "beam_x beam_y beam_z") && s->beam.nsource > 0)
        return "sources of a list have directions of their own";
    if ((is_among(name, "beam_x beam_y beam_z") && is_default(s->beam.direction))
        || (is_among(name, "polarization_x polarization_y polarization_z")
            && is_default(s->beam.polarization_axis))
        || (is_among(name, "spindle_x spindle_y spindle_z") && is_default(s->scan.axis)))
        return "a direction along an axis has no slope in its own length";
    if (s->crystal.mosaic_model == NB_MOSAIC_GAUSS) return zero_width(s, name);
    if (s->crystal.shape != NB_SHAPE_TOPHAT) return NULL;
    if (strcmp(name, "fudge") == 0 && !s->crystal.normalise)
        return "moves the edge of a spot, in no sample";
    if (!tricubic && is_among(name, moves_samples))
        return "moves samples within spots that are flat";
    if (!tricubic && is_among(name, "wavelength dispersion") && s->crystal.b_factor == 0
        && s->background.water == 0 && s->detector.material == NB_MATERIAL_UNKNOWN)
        return "moves samples within spots that are flat";
    return NULL;
}
