/*
 * bench_compile_cases.c - small scenes that together meet what a plan is made for: every
 * crystal shape with every way to look up F, and every loop. Each is a command line of this
 * program, with what no option can say.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_compile/bench_compile.h"

/* What no option says. */
enum { MASK = 1, B_FACTOR = 2 };

struct words {
    const char *name, *options;
    int nsource; /* number of sources; 0: as the options have it */
    int with;
};

/* Options of all cases; the last option of a kind counts. */
static const char common[] =
    "-cell 31.4 37.2 43.9 81 96 103 -misset 12 -33 71 -Na 5 -Nb 6 -Nc 7 -default_F 60 "
    "-lambda 1.1 -fluence 1e26 -distance 80 -pixel 0.25 -detpixels 48 -oversample 1";

/* The first cases are all pairs of these. */
static const struct words shapes[] = {{"square", "-square_xtal", 0, 0},
                                      {"round", "-round_xtal", 0, 0},
                                      {"gauss", "-gauss_xtal", 0, 0},
                                      {"tophat", "-tophat_spots", 0, 0},
                                      {"star", "-gauss_star", 0, 0}};
static const struct words lookups[] = {{"constant", "", 0, 0},
                                       {"nearest", "-nointerpolate", 0, 0},
                                       {"tricubic", "-interpolate", 0, 0}};

#define SPOTS                                                                              \
    "-strategy spots -Na 11 -Nb 12 -Nc 13 " /* in float spots have to be apart             \
                                             */
static const struct words others[] = {
    {"one_domain", "-detpixels 64 -pixel 0.1875", 0, 0},
    {"orientations_100",
     "-nointerpolate -detpixels 64 -pixel 0.1875 -mosaic 0.6 -mosaic_dom 20 -phi 3 -osc 1 "
     "-phisteps 5",
     0, 0},
    {"mosaic_25", "-nointerpolate -mosaic 0.6 -mosaic_dom 25", 0, 0},
    {"sources_7", "-nointerpolate", 7, 0},
    {"phi_steps_5", "-nointerpolate -phi 3 -osc 1 -phisteps 5", 0, 0},
    {"layers_4", "-nointerpolate -detector_thick 300 -detector_abs 250 -thicksteps 4", 0,
     0},
    {"oversample_3", "-nointerpolate -oversample 3", 0, 0},
    {"water", "-nointerpolate -water 2", 0, 0},
    {"dmin_b_factor", "-nointerpolate -dmin 12", 0, B_FACTOR},
    {"roi_mask", "-nointerpolate -roi 3 42 2 46", 0, MASK},
    {"curved", "-nointerpolate -curved_det", 0, 0},
    {"lanes_gauss",
     "-nointerpolate -strategy lanes -gauss_xtal -mosaic 0.6 -mosaic_dom 3 -phi 3 -osc 1 "
     "-phisteps 2",
     0, 0},
    {"spots_gauss",
     SPOTS "-nointerpolate -gauss_xtal -mosaic 0.6 -mosaic_dom 3 -phi 3 -osc 1 -phisteps 2",
     0, 0},
    {"spots_star",
     SPOTS "-gauss_star -mosaic 0.6 -mosaic_dom 3 -phi 3 -osc 1 -phisteps 2 -oversample 2",
     0, 0},
    {"everything",
     "-nointerpolate -detpixels 32 -pixel 0.375 -roi 3 26 2 30 -mosaic 0.6 -mosaic_dom 3 "
     "-phi 3 -osc 1 "
     "-phisteps 2 -detector_thick 300 -detector_abs 250 -thicksteps 2 -oversample 2 "
     "-water 2 -dmin 12",
     2, MASK | B_FACTOR},
    /* This has to be the last: a build without FFTW leaves it out. */
    {"point_spread", "-nointerpolate -psf gauss -psf_fwhm 0.5", 0, 0},
};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
enum { PAIRS = COUNT(shapes) * COUNT(lookups) };

int bench_cases_count(void)
{
    return PAIRS + COUNT(others) - !option_listed(nb_features(), "fftw");
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

static nb_status make_mask(struct bench_case *c)
{
    const int edge = c->scene.detector.nfast, n = edge * edge;
    c->mask = calloc((size_t)n, 1);
    if (!c->mask) return NB_ERR_MEMORY;
    for (int i = 0; i < n; i++) c->mask[i] = i % 11 != 3 && i / edge % 13 != 6;
    c->scene.detector.mask = c->mask;
    return NB_OK;
}

/* Turn options into a scene, as a command line of this program would. */
static nb_status read_options(const char *first, const char *second, struct bench_case *out)
{
    enum { WORDS = 64 };
    struct messages messages = {0};
    struct event_list events;
    struct settings s;
    char text[640], name[] = "nanobrag", *argv[WORDS] = {name};
    int argc = 1, code;
    snprintf(text, sizeof text, "%s %s %s", common, first, second);
    for (char *word = strtok(text, " "); word && argc < WORDS; word = strtok(NULL, " "))
        argv[argc++] = word;
    code = parse_arguments(&messages, argc, argv, &events);
    settings_start(&s, 0);
    if (!code) settings_apply(&s, &events);
    if (!code) code = settings_finish(&s, &messages);
    out->scene = s.scene;
    out->how = s.how;
    events_free(&events);
    messages_free(&messages);
    return code ? NB_ERR_ARGUMENT : NB_OK;
}

nb_status bench_case_make(nb_context *ctx, int i, struct bench_case *out)
{
    const int pair = i < PAIRS;
    const struct words *const a = pair ? &shapes[i / COUNT(lookups)] : &others[i - PAIRS];
    const struct words *const b = pair ? &lookups[i % COUNT(lookups)] : NULL;
    nb_status status;
    *out = (struct bench_case){0};
    snprintf(out->name, sizeof out->name, "%s%s%s", a->name, b ? "_" : "",
             b ? b->name : "");
    status = read_options(a->options, b ? b->options : "", out);
    if (status == NB_OK && out->scene.crystal.interpolate != NB_INTERPOLATE_AUTO) {
        status = make_factors(ctx, &out->hkl);
        out->scene.crystal.hkl = out->hkl;
    }
    if (a->with & B_FACTOR) out->scene.crystal.b_factor = 12;
    if (status == NB_OK && a->nsource > 0) status = make_sources(out, a->nsource);
    if (status == NB_OK && (a->with & MASK)) status = make_mask(out);
    return status;
}

void bench_case_free(struct bench_case *c)
{
    nb_hkl_free(c->hkl);
    free(c->sources);
    free(c->mask);
}
