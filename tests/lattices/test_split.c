/*
 * test_split.c - a split crystal: data of two lattices 0.2 degree apart, 60 to 40, each
 * drawn by itself with random domains, are fitted with one lattice and with two.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

enum { SIDE = 96, PIXELS = SIDE * SIDE };

static const double misset[2][3] = {{10, 20, 30}, {10.12, 19.88, 30.1}};
static const double scale[2] = {0.6, 0.4};

static nb_scene scene_of(int lattice)
{
    nb_scene s = {
        .crystal = {.cell = {50, 60, 70, 90, 90, 90},
                    .ncells = {14, 14, 14},
                    .mosaic = {0.15},
                    .shape = NB_SHAPE_GAUSS,
                    .default_f = 100,
                    .scale = scale[lattice]},
        .beam = {.fluence = 1e28, .wavelength = 1.2},
        .scan = {.osc = 0.5},
        .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 0.8},
        .oversample = 2,
    };

    memcpy(s.crystal.misset, misset[lattice], sizeof s.crystal.misset);
    if (lattice == 0) s.background.water = 0.05;
    return s;
}

/* Draws the counts of both lattices. */
static void observe(nb_context *ctx, double *counts)
{
    static uint16_t drawn[PIXELS];
    static double photons[PIXELS];
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 11};
    nb_array image = nb_array_f64(photons, SIDE, SIDE);
    nb_array counted = nb_array_u16(drawn, SIDE, SIDE);
    nb_simulator *sim = NULL;

    for (int l = 0; l < 2; l++) {
        nb_scene s = scene_of(l);

        s.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
        s.crystal.ndomains = 300;
        s.crystal.mosaic_seed = 5 + l;
        s.scan.nphi = 40;
        nb_simulator_free(sim);
        sim = renders_simulator(ctx, &s, NULL, NULL);
        renders_require(ctx, nb_forward_add(sim, NULL, 1, &image));
    }
    renders_require(ctx, nb_digitize(sim, &how, &image, &counted));
    nb_simulator_free(sim);
    for (int p = 0; p < PIXELS; p++) counts[p] = drawn[p];
}

/* Fits `scene` and returns the result, which lives as long as *fit. */
static nb_fit_result find(nb_context *ctx, const nb_scene *scene, double *counts,
                          const char *names, nb_fit **fit)
{
    const nb_array observed = nb_array_f64(counts, SIDE, SIDE);
    const nb_shot shot = {.scene = scene,
                          .target = {.kind = NB_LOSS_POISSON, .observed = &observed}};
    const nb_fit_options options = {.shared = names};
    nb_fit_result r;

    renders_require(ctx, nb_fit_create(ctx, 1, &shot, &options, fit));
    renders_require(ctx, nb_fit_run(*fit));
    renders_require(ctx, nb_fit_result_get(*fit, &r));
    tap_note("%s; loss %.1f", r.why, r.loss);
    for (size_t i = 0; i < r.nvalue; i++)
        tap_note("%-20s %10.5f +- %.5f", r.value[i].param.name, r.value[i].value,
                 r.value[i].error);
    return r;
}

static double pull(const nb_fit_result *r, const char *name, double truth)
{
    for (size_t i = 0; i < r->nvalue; i++)
        if (!strcmp(r->value[i].param.name, name))
            return (r->value[i].value - truth) / r->value[i].error;
    return NAN;
}

static const char *const of_first[] = {"misset_x", "misset_y", "misset_z"};
static const char *const of_second[] = {"lattice_misset_x[0]", "lattice_misset_y[0]",
                                        "lattice_misset_z[0]"};

static int one_and_two(void)
{
    static double counts[PIXELS];
    nb_context *ctx = renders_context(1);
    nb_lattice further = {.misset = {10.10, 19.91, 30.12}, .scale = 1};
    nb_scene start = scene_of(0);
    struct worst off = {0};
    double one_off = 0, loss;
    nb_fit *fit;
    nb_fit_result r;

    observe(ctx, counts);
    start.crystal.misset[0] = 9.98;
    start.crystal.misset[1] = 20.02;
    start.crystal.cell[0] = 50.02;
    r = find(ctx, &start, counts, "cell_a misset mosaic scale water", &fit);
    for (int i = 0; i < 3; i++)
        one_off = fmax(one_off, fabs(pull(&r, of_first[i], misset[0][i])));
    tap_check(one_off > 10, "with one lattice misset is %.1f errors off", one_off);
    loss = r.loss;
    nb_fit_free(fit);
    start.crystal.lattice = &further;
    start.crystal.nlattice = 1;
    r = find(ctx, &start, counts,
             "cell_a misset mosaic scale water lattice_misset lattice_scale", &fit);
    for (int i = 0; i < 3; i++) {
        worst_add(&off, pull(&r, of_first[i], misset[0][i]), 0, 1);
        worst_add(&off, pull(&r, of_second[i], misset[1][i]), 0, 1);
    }
    worst_add(&off, pull(&r, "lattice_scale[0]", scale[1] / scale[0]), 0, 1);
    worst_add(&off, pull(&r, "cell_a", 50), 0, 1);
    worst_add(&off, pull(&r, "scale", scale[0]), 0, 1);
    tap_check(r.end == NB_FIT_CONVERGED, "%s", r.why);
    worst_check(&off, 4, "with two, in errors");
    tap_check(r.loss < loss - 1000, "the loss falls from %.0f to %.0f", loss, r.loss);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Boxes are placed around the spots of both lattices, the brightest first. */
static int boxes(void)
{
    enum { MOST = 40 };
    nb_context *ctx = renders_context(1);
    const nb_lattice further = {.misset = {40, -20, 10}, .scale = 1};
    int own[MOST * 4], all[MOST * 4];
    size_t n, total, same = 0;
    nb_scene s = scene_of(0);
    nb_simulator *sim = renders_simulator(ctx, &s, NULL, NULL);

    renders_require(ctx, nb_simulator_boxes(sim, NULL, 5, MOST, own, &n));
    nb_simulator_free(sim);
    s.crystal.lattice = &further;
    s.crystal.nlattice = 1;
    sim = renders_simulator(ctx, &s, NULL, NULL);
    renders_require(ctx, nb_simulator_boxes(sim, NULL, 5, MOST, all, &total));
    nb_simulator_free(sim);
    for (size_t i = 0; i < total; i++)
        for (size_t k = 0; k < n; k++)
            same += !memcmp(all + 4 * i, own + 4 * k, 4 * sizeof *all);
    tap_check(total == MOST && same > 5 && same < total - 5,
              "%zu of %zu boxes are those of the first lattice", same, total);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"one_and_two", one_and_two},
        {"boxes", boxes},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
