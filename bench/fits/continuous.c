/*
 * continuous.c - fits of images that no model drew: their domains are others than those of
 * the fit, or twenty thousand normal ones, each at its own places in phi and with
 * lines of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fits.h"

#define PI 3.14159265358979323846

/* Standard deviation, about an axis, of domains whose spread is 1 (docs/theory.md, 9). */
#define OF_SPREAD 0.49637826966267715

/* ---- bias by number of domains ---- */

/* The example of docs/fitting.md. */
static nb_scene example(const nb_hkl *list)
{
    nb_scene scene = {
        .crystal = {.cell = {53.91, 23.1, 23.1, 90, 110.4, 90},
                    .misset = {10, 20, 30},
                    .ncells = {6, 6, 6},
                    .shape = NB_SHAPE_GAUSS,
                    .mosaic = {0.5},
                    .hkl = list},
        .beam = {.wavelength = 1.2, .fluence = 1e28},
        .background = {.water = 0.05},
        .detector = {.distance = 120, .nfast = 256, .nslow = 256, .pixel = 0.4},
        .oversample = 2,
    };

    return scene;
}

/* Fits the data of `scene`, 256 x 256, from the start of docs/fitting.md, and prints how
 * far orientation and mosaic spread are off. */
static void print_bias(struct campaign *c, const nb_scene *scene, const char *model,
                       const nb_target *target)
{
    static const double truth[] = {53.91, 10, 20, 30, 0.5, 1, 0.05};
    nb_scene start = *scene;
    const nb_shot shot = {.scene = &start, .target = *target};
    const nb_fit_options options = {.shared = "cell_a misset mosaic scale water",
                                    .passes = 60};
    const clock_t began = clock();
    nb_fit_result r;
    nb_fit *fit;

    start.crystal.cell[0] = 54;
    start.crystal.misset[0] = 10.1;
    start.crystal.misset[1] = 19.9;
    start.crystal.misset[2] = 30.1;
    start.crystal.mosaic[0] = 0.4;
    must(c->ctx, nb_fit_create(c->ctx, 1, &shot, &options, &fit));
    must(c->ctx, nb_fit_run(fit));
    must(c->ctx, nb_fit_result_get(fit, &r));
    (void)printf("| %s |", model);
    for (size_t i = 0; i < r.nvalue; i++)
        (void)printf(" %.4f (%+.1f) |", r.value[i].value,
                     (r.value[i].value - truth[i]) / r.value[i].error);
    (void)printf(" %.3f | %.2f | %d | %.1f s |\n", r.rms, r.error_factor, r.passes,
                 (double)(clock() - began) / CLOCKS_PER_SEC);
    (void)fflush(stdout);
    nb_fit_free(fit);
}

void campaign_bias(struct campaign *c, const char *name)
{
    static const int counts[] = {10, 20, 100, 400};
    enum { SIDE = 256 };
    static double photons[SIDE * SIDE];
    const nb_array observed = nb_array_f64(photons, SIDE, SIDE);
    const nb_target target = {.kind = NB_LOSS_POISSON,
                              .observed = &observed,
                              .saturation = STILL_OVERLOAD};
    nb_scene scene = example(c->list);

    (void)
        printf("%s: data of 2000 domains, seed 987; values, and how many printed errors "
               "they are off\n"
               "| model | cell_a | misset_x | misset_y | misset_z | mosaic | scale | water "
               "| rms z | errors x | passes | time |\n",
               name);
    scene.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
    scene.crystal.ndomains = 2000;
    scene.crystal.mosaic_seed = 987;
    still_observe(c->ctx, &scene, 1, photons);
    scene.crystal.mosaic_seed = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char model[32];

        scene.crystal.ndomains = counts[i];
        (void)snprintf(model, sizeof model, "%d domains", counts[i]);
        print_bias(c, &scene, model, &target);
    }
    scene.crystal.ndomains = 0;
    scene.crystal.mosaic_model = NB_MOSAIC_GAUSS;
    print_bias(c, &scene, "continuous", &target);
}

/* ---- data of normal domains ---- */

static double normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(draw(state) + 0x1p-54));

    return radius * cos(2 * PI * draw(state));
}

/* A rotation vector, in units of the spread: of a normal distribution, or of the cap that
 * the program draws from. */
static void draw_domain(int cap, uint64_t *state, double *out)
{
    double length = 0, wanted;

    for (int i = 0; i < 3; i++) {
        out[i] = normal(state);
        length += out[i] * out[i];
    }
    wanted = 2 * draw(state) - 1;
    wanted = cbrt(1 - wanted * wanted) / sqrt(length);
    for (int i = 0; i < 3; i++) out[i] *= cap ? wanted : OF_SPREAD;
}

enum { DOMAINS = 20000, STEPS = 20, LINES = 100, LINES_OF_A_DOMAIN = 5 };

/* Returns the wavelength of the line at which the sum of weights, over all, reaches
 * `share`; without lines the scene's own. */
static double wavelength_at(const nb_scene *scene, double share)
{
    const nb_source *line = scene->beam.source;
    const size_t n = (size_t)scene->beam.nsource;
    double all = 0, sum = 0;

    for (size_t i = 0; i < n; i++) all += line[i].weight;
    for (size_t i = 0; i < n; i++)
        if ((sum += line[i].weight) >= share * all) return line[i].wavelength;
    return n > 0 ? line[n - 1].wavelength : scene->beam.wavelength;
}

/* The mean image of DOMAINS domains that are drawn with this seed. Each of them has some of
 * the lines, one from each part of the spectrum that is as bright as the others. */
static void average_domains(struct campaign *c, const nb_scene *still, int cap,
                            uint64_t seed, double *photons)
{
    const int side = still->detector.nfast;
    nb_array image = nb_array_f64(photons, side, side);
    nb_scene scene = *still;
    const int lines = scene.beam.nsource > 0 ? LINES_OF_A_DOMAIN : 1;
    uint64_t state = 88172645463325252ULL + seed * 0x9e3779b97f4a7c15ULL;
    nb_simulator *sim;

    scene.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
    /* water, once */
    scene.crystal.hkl = NULL;
    must(c->ctx, nb_simulator_create(c->ctx, &scene, NULL, NULL, &sim));
    must(c->ctx, nb_forward(sim, NULL, &image));
    nb_simulator_free(sim);
    scene.crystal.hkl = still->crystal.hkl;
    scene.background.water = 0;
    scene.crystal.mosaic[0] = 0;
    scene.crystal.ndomains = 1;
    if (scene.scan.osc != 0) scene.scan.nphi = STEPS;
    scene.beam.nsource = 0;
    must(c->ctx,
         nb_simulator_create(c->ctx, &scene, "rotation phi0 wavelength", NULL, &sim));
    for (int i = 0; i < DOMAINS; i++) {
        double x[5];

        draw_domain(cap, &state, x);
        for (int k = 0; k < 3; k++) x[k] *= still->crystal.mosaic[0];
        x[3] = scene.scan.phi0 + scene.scan.osc / STEPS * (draw(&state) - 0.5);
        for (int k = 0; k < lines; k++) {
            x[4] = wavelength_at(still, (k + draw(&state)) / lines);
            must(c->ctx, nb_forward_add(sim, x, 1. / DOMAINS / lines, &image));
        }
    }
    nb_simulator_free(sim);
}

/* What data and model of a campaign are. */
static const struct data {
    const char *name;
    double osc;
    int lines, cap;
} kinds[] = {
    {"drawn", 0, 0, 0},
    {"drawn_osc", 0.5, 0, 0},
    {"drawn_lines", 0, LINES, 0},
    {"drawn_cap", 0, 0, 1},
};

/* A pulse of self-amplified emission: random lines under a bell, 1 % wide. */
static void make_lines(nb_source *out)
{
    uint64_t state = 7;

    for (int j = 0; j < LINES; j++) {
        const double at = (j + 0.5) / LINES - 0.5;

        out[j] = (nb_source){{1, 0, 0}, 1 / (1 + 0.01 * at), 0};
        out[j].weight = exp(-16 * at * at) * -log(draw(&state) + 0x1p-54);
    }
}

/* Adds the counting noise of this seed to expected photons. */
static void add_noise(nb_context *ctx, nb_simulator *sim, int64_t seed, size_t n,
                      double *expected, double *photons)
{
    const int side = (int)lround(sqrt((double)n));
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = seed};
    uint16_t *counts = malloc(n * sizeof *counts);
    nb_array image = nb_array_f64(expected, side, side);
    nb_array counted = nb_array_u16(counts, side, side);

    if (!counts) exit(1);
    must(ctx, nb_digitize(sim, &how, &image, &counted));
    for (size_t i = 0; i < n; i++) photons[i] = counts[i];
    free(counts);
}

void campaign_drawn(struct campaign *c, const char *name)
{
    enum { SIDE = 1024, FITS_OF_A_DRAW = 25 };
    const struct still still = {NB_SHAPE_GAUSS, 40, SIDE, {8, 18, 18}, 1e27, 0.12};
    const size_t n = (size_t)SIDE * SIDE;
    const int runs = c->runs > 0 ? c->runs : 100;
    double *expected = malloc(n * sizeof *expected), *photons = malloc(n * sizeof *photons);
    const nb_array observed = nb_array_f64(photons, SIDE, SIDE);
    const struct data *data = kinds;
    nb_scene scene = still_scene(&still, c->list);
    static nb_source lines[LINES];
    struct pulls p = {0};
    double truth[STILL_PARAMETERS], factor = 0, rms = 0;
    nb_simulator *sim;

    while (strcmp(data->name, name)) data++;
    if (!expected || !photons) exit(1);
    make_lines(lines);
    scene.crystal.ndomains = 0;
    scene.crystal.mosaic_model = NB_MOSAIC_GAUSS;
    scene.scan.osc = data->osc;
    scene.beam.source = lines;
    scene.beam.nsource = data->lines;
    must(c->ctx, nb_simulator_create(c->ctx, &scene, still_names, NULL, &sim));
    for (size_t i = 0; i < STILL_PARAMETERS; i++) {
        nb_param param;

        must(c->ctx, nb_simulator_param(sim, i, &param));
        truth[i] = param.value;
    }
    for (int k = 0; k < runs; k++) {
        const nb_shot shot = {.scene = &scene,
                              .target = {.kind = NB_LOSS_POISSON,
                                         .observed = &observed,
                                         .saturation = STILL_OVERLOAD}};
        const nb_fit_options options = {.shared = still_names};
        nb_fit_result r;
        nb_fit *fit;

        if (k % FITS_OF_A_DRAW == 0)
            average_domains(c, &scene, data->cap, (uint64_t)(k / FITS_OF_A_DRAW) + 1,
                            expected);
        add_noise(c->ctx, sim, 1000 + k, n, expected, photons);
        must(c->ctx, nb_fit_create(c->ctx, 1, &shot, &options, &fit));
        must(c->ctx, nb_fit_run(fit));
        must(c->ctx, nb_fit_result_get(fit, &r));
        pulls_add(&p, truth, &r);
        factor = fmax(factor, r.error_factor);
        rms += r.rms / runs;
        if (c->verbose)
            for (size_t i = 0; i < r.nvalue; i++)
                (void)printf("%s%s %.6g (%+.2f)", i ? ", " : "  ", r.value[i].param.name,
                             r.value[i].value,
                             (r.value[i].value - truth[i]) / r.value[i].error);
        if (c->verbose) (void)printf(", rms %.4f, %d passes\n", r.rms, r.passes);
        (void)fflush(stdout);
        nb_fit_free(fit);
    }
    pulls_print(&p, name, 2, 0.85);
    (void)printf("  rms z %.4f, errors scaled by %.3f at most\n", rms, factor);
    nb_simulator_free(sim);
    free(expected);
    free(photons);
}
