/*
 * bench_compile_cases.c - small scenes that together meet what a plan is made for: every
 * crystal shape with every way to look up F, and every loop.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "cli/bench_compile/bench_compile.h"

enum { PSF = 1, WATER = 2, LIMIT = 4, REGION = 8, CURVED = 16 };
enum { CONSTANT = 0 };

struct plot {
    const char *name;
    int shape, lookup; /* lookup: CONSTANT or enum nb_interpolation */
    int edge; /* pixels */
    int ndomains, nsource, nphi, nlayers, oversample;
    int strategy;
    int with;
};

// clang-format off
static const struct plot plots[] = {
    {"square_constant", NB_SQUARE, CONSTANT, 48, 1, 1, 1, 1, 1, 0, 0},
    {"square_nearest", NB_SQUARE, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, 0},
    {"square_tricubic", NB_SQUARE, NB_TRICUBIC, 48, 1, 1, 1, 1, 1, 0, 0},
    {"round_constant", NB_ROUND, CONSTANT, 48, 1, 1, 1, 1, 1, 0, 0},
    {"round_nearest", NB_ROUND, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, 0},
    {"round_tricubic", NB_ROUND, NB_TRICUBIC, 48, 1, 1, 1, 1, 1, 0, 0},
    {"gauss_constant", NB_GAUSS, CONSTANT, 48, 1, 1, 1, 1, 1, 0, 0},
    {"gauss_nearest", NB_GAUSS, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, 0},
    {"gauss_tricubic", NB_GAUSS, NB_TRICUBIC, 48, 1, 1, 1, 1, 1, 0, 0},
    {"tophat_constant", NB_TOPHAT, CONSTANT, 48, 1, 1, 1, 1, 1, 0, 0},
    {"tophat_nearest", NB_TOPHAT, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, 0},
    {"tophat_tricubic", NB_TOPHAT, NB_TRICUBIC, 48, 1, 1, 1, 1, 1, 0, 0},
    {"star_constant", NB_GAUSS_STAR, CONSTANT, 48, 1, 1, 1, 1, 1, 0, 0},
    {"star_nearest", NB_GAUSS_STAR, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, 0},
    {"star_tricubic", NB_GAUSS_STAR, NB_TRICUBIC, 48, 1, 1, 1, 1, 1, 0, 0},
    {"one_domain", NB_SQUARE, CONSTANT, 64, 1, 1, 1, 1, 1, 0, 0},
    {"orientations_100", NB_SQUARE, NB_NEAREST, 64, 20, 1, 5, 1, 1, 0, 0},
    {"mosaic_25", NB_SQUARE, NB_NEAREST, 48, 25, 1, 1, 1, 1, 0, 0},
    {"sources_7", NB_SQUARE, NB_NEAREST, 48, 1, 7, 1, 1, 1, 0, 0},
    {"phi_steps_5", NB_SQUARE, NB_NEAREST, 48, 1, 1, 5, 1, 1, 0, 0},
    {"layers_4", NB_SQUARE, NB_NEAREST, 48, 1, 1, 1, 4, 1, 0, 0},
    {"oversample_3", NB_SQUARE, NB_NEAREST, 48, 1, 1, 1, 1, 3, 0, 0},
    {"water", NB_SQUARE, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, WATER},
    {"dmin_b_factor", NB_SQUARE, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, LIMIT},
    {"roi_mask", NB_SQUARE, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, REGION},
    {"curved", NB_SQUARE, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, CURVED},
    {"lanes_gauss", NB_GAUSS, NB_NEAREST, 48, 3, 1, 2, 1, 1, NB_LANES, 0},
    {"spots_gauss", NB_GAUSS, NB_NEAREST, 48, 3, 1, 2, 1, 1, NB_SPOTS, 0},
    {"spots_star", NB_GAUSS_STAR, CONSTANT, 48, 3, 1, 2, 1, 2, NB_SPOTS, 0},
    {"everything", NB_SQUARE, NB_NEAREST, 32, 3, 2, 2, 2, 2, 0, WATER | LIMIT | REGION},
    /* This has to be the last: a build without FFTW leaves it out. */
    {"point_spread", NB_SQUARE, NB_NEAREST, 48, 1, 1, 1, 1, 1, 0, PSF},
};
// clang-format on

enum { PLOTS = sizeof plots / sizeof *plots };

int bench_cases_count(void)
{
    return option_listed(nb_features(), "fftw") ? PLOTS : PLOTS - 1;
}

/* Make amplitudes each of which differs from its neighbours. */
static nb_status make_factors(nb_context *ctx, nb_hkl **out)
{
    enum { REACH = 9, EDGE = 2 * REACH + 1, COUNT = EDGE * EDGE * EDGE };
    int(*hkl)[3] = calloc(COUNT, sizeof *hkl);
    double *f = calloc(COUNT, sizeof *f);
    nb_status status = NB_ERR_MEMORY;
    for (int i = 0; hkl && f && i < COUNT; i++) {
        const int h = i / (EDGE * EDGE) - REACH, k = i / EDGE % EDGE - REACH;
        const int l = i % EDGE - REACH;
        hkl[i][0] = h;
        hkl[i][1] = k;
        hkl[i][2] = l;
        f[i] = 40 + 9 * ((7 * h + 3 * k + l * l + 700) % 7);
    }
    if (hkl && f) status = nb_hkl_create(ctx, COUNT, hkl[0], f, out);
    free(hkl);
    free(f);
    return status;
}

static nb_status make_sources(struct bench_case *c, int n)
{
    c->sources = calloc((size_t)n, sizeof *c->sources);
    if (!c->sources) return NB_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        c->sources[i] = (nb_source){.direction = {1, 4e-4 * (i % 3 - 1), 3e-4 * (i % 2)},
                                    .wavelength = 1.1 + 2e-3 * (i - 3),
                                    .weight = 1 + 0.25 * (i % 4)};
    c->scene.beam.source = c->sources;
    c->scene.beam.nsource = n;
    return NB_OK;
}

static nb_status make_region(struct bench_case *c, int edge)
{
    const int n = edge * edge;
    const int roi[4] = {3, edge - 5, 2, edge - 1};
    c->mask = calloc((size_t)n, 1);
    if (!c->mask) return NB_ERR_MEMORY;
    for (int i = 0; i < n; i++) c->mask[i] = i % 11 != 3 && i / edge % 13 != 6;
    c->scene.detector.mask = c->mask;
    for (int i = 0; i < 4; i++) c->scene.detector.roi[i] = roi[i];
    return NB_OK;
}

static void start(nb_scene *scene, const struct plot *p)
{
    static const double cell[6] = {31.4, 37.2, 43.9, 81, 96, 103};
    static const double misset[3] = {12, -33, 71};
    *scene = (nb_scene){0};
    nb_scene_set_profile(scene, NB_PROFILE_NANOBRAG);
    for (int i = 0; i < 6; i++) scene->crystal.cell[i] = cell[i];
    for (int i = 0; i < 3; i++) {
        scene->crystal.misset[i] = misset[i];
        /* in float the spots have to be apart */
        scene->crystal.ncells[i] = p->strategy == NB_SPOTS ? 11 + i : 5 + i;
    }
    scene->crystal.shape = p->shape;
    scene->crystal.default_f = 60;
    scene->crystal.interpolate = p->lookup;
    scene->beam.wavelength = 1.1;
    scene->beam.fluence = 1e26;
    scene->detector.nslow = scene->detector.nfast = p->edge;
    scene->detector.pixel = 12.0 / p->edge;
    scene->detector.distance = 80;
    scene->oversample = p->oversample;
}

static void add_loops(nb_scene *scene, const struct plot *p)
{
    if (p->ndomains > 1) {
        scene->crystal.mosaic[0] = 0.6;
        scene->crystal.ndomains = p->ndomains;
    }
    if (p->nphi > 1) {
        scene->scan.phi0 = 3;
        scene->scan.osc = 1;
        scene->scan.nphi = p->nphi;
    }
    if (p->nlayers > 1) {
        scene->detector.thickness = 300;
        scene->detector.attenuation = 250;
        scene->detector.nlayers = p->nlayers;
    }
    if (p->with & PSF) {
        scene->psf.kind = NB_PSF_GAUSS;
        scene->psf.fwhm = 0.5;
    }
    if (p->with & WATER) scene->background.water = 2;
    if (p->with & LIMIT) {
        scene->dmin = 12;
        scene->crystal.b_factor = 12;
    }
    scene->detector.curved = (p->with & CURVED) != 0;
}

nb_status bench_case_make(nb_context *ctx, int i, struct bench_case *out)
{
    const struct plot *const p = &plots[i];
    nb_status status = NB_OK;
    *out = (struct bench_case){.name = p->name, .how = {.strategy = p->strategy}};
    start(&out->scene, p);
    add_loops(&out->scene, p);
    if (p->lookup != CONSTANT) {
        status = make_factors(ctx, &out->hkl);
        out->scene.crystal.hkl = out->hkl;
    }
    if (status == NB_OK && p->nsource > 1) status = make_sources(out, p->nsource);
    if (status == NB_OK && (p->with & REGION)) status = make_region(out, p->edge);
    return status;
}

void bench_case_free(struct bench_case *c)
{
    nb_hkl_free(c->hkl);
    free(c->sources);
    free(c->mask);
}
