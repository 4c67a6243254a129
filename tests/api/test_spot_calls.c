/*
 * test_spot_calls.c - nb_simulator_spots() against images: the middle and the brightness of
 * a spot are those of an image in which only its reflection scatters, and no spot is
 * missing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

enum { SIDE = 400, MOST = 2000, EACH = 9 };
static const double distance = 100, pixel = 0.1; /* mm */

static double image[SIDE * SIDE];
static nb_spot spots[MOST];

static void require(nb_context *ctx, nb_status status)
{
    if (status == NB_OK) return;
    tap_check(0, "%s", nb_context_message(ctx));
    exit(1);
}

static nb_scene still(void)
{
    static const double cell[6] = {50, 60, 70, 80, 95, 105}, misset[3] = {10, 20, 30};
    nb_scene s = {0};

    memcpy(s.crystal.cell, cell, sizeof cell);
    memcpy(s.crystal.misset, misset, sizeof misset);
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 12;
    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.default_f = 100;
    s.crystal.mosaic[0] = 0.5;
    s.crystal.mosaic_model = NB_MOSAIC_GAUSS;
    s.beam.fluence = 1e24;
    s.beam.unpolarised = 1;
    s.detector.nfast = s.detector.nslow = SIDE;
    s.detector.distance = distance;
    s.detector.pixel = pixel;
    s.detector.point_pixel = 1;
    s.oversample = 3;
    return s;
}

static nb_scene scan(void)
{
    nb_scene s = still();

    s.scan.osc = 1;
    return s;
}

static nb_scene domains(void)
{
    nb_scene s = still();

    s.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
    s.crystal.mosaic[0] = 0.1;
    s.crystal.ndomains = 4;
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 40;
    return s;
}

/* two panels side by side, at places of the image that do not touch */
static nb_panel panels[2] =
    {{.nslow = SIDE, .nfast = 190, .origin = {-20, -20, 100}, .fast = {1}, .slow = {0, 1}},
     {.nslow = SIDE,
      .nfast = 190,
      .fast0 = 210,
      .origin = {-1, -20, 100},
      .fast = {1},
      .slow = {0, 1}}};

static nb_scene two_panels(void)
{
    nb_scene s = still();

    s.detector.npanel = 2;
    s.detector.panel = panels;
    s.detector.distance = 0;
    s.beam.direction[2] = 1;
    return s;
}

static nb_lattice lattice = {.misset = {40, 10, -30}, .scale = 0.5};

static nb_scene two_lattices(void)
{
    nb_scene s = still();

    s.crystal.nlattice = 1;
    s.crystal.lattice = &lattice;
    return s;
}

/* boxes of the simulator do not count */
static nb_scene boxed(void)
{
    static const int box[4] = {3, 8, 3, 8};
    nb_scene s = still();

    s.detector.box = box;
    s.detector.nbox = 1;
    return s;
}

static const struct {
    const char *name;
    nb_scene (*make)(void);
    /* How far the middle may be from the photons' centroid, pixels; and the brightness from
     * the photons, as a fraction, for a spot and for all together. With domains, F_latt at
     * one point stands for a spot, wherever its rays meet pixels. */
    double place, share, all;
} cases[] = {{"still", still, 0.01, 0.002, 0.002},
             {"scan", scan, 0.01, 0.002, 0.002},
             {"panels", two_panels, 0.01, 0.002, 0.002},
             {"lattices", two_lattices, 0.01, 0.002, 0.002},
             {"boxed", boxed, 0.01, 0.002, 0.002},
             {"domains", domains, 0.3, 0.5, 0.1}};

/* The sums over the pixels of a panel. */
struct sums {
    double photons, fast, slow, all; /* all: photons times the squared distance, mm^2 */
};

static struct sums add_up(const nb_scene *s, int panel)
{
    struct sums sums = {0};

    for (int i = 0; i < SIDE * SIDE; i++) {
        const int column = i % SIDE, row = i / SIDE;
        const int first = s->detector.npanel ? panels[panel].fast0 : 0;
        const int n = s->detector.npanel ? panels[panel].nfast : SIDE;
        const double left =
            s->detector.npanel ? panels[panel].origin[0] : -0.5 * SIDE * pixel;
        const double x = left + (column - first + 0.5) * pixel;
        const double y = (row + 0.5 - 0.5 * SIDE) * pixel;

        if (column < first || column >= first + n) continue;
        sums.photons += image[i];
        sums.all += image[i] * (x * x + y * y + distance * distance);
        sums.fast += image[i] * (column - first + 0.5);
        sums.slow += image[i] * (row + 0.5);
    }
    return sums;
}

static void render(nb_context *ctx, const nb_scene *s)
{
    nb_array array = nb_array_f64(image, SIDE, SIDE);
    nb_simulator *sim;

    require(ctx, nb_simulator_create(ctx, s, NULL, NULL, &sim));
    require(ctx, nb_forward(sim, NULL, &array));
    nb_simulator_free(sim);
}

/* Renders an image in which only the reflection of a spot scatters. */
static void render_alone(nb_context *ctx, const nb_scene *s, const nb_spot *spot)
{
    const int hkl[3] = {spot->hkl[0], spot->hkl[1], spot->hkl[2]};
    const double f = s->crystal.default_f;
    nb_scene alone = *s;
    nb_hkl *list;

    require(ctx, nb_hkl_create(ctx, 1, hkl, &f, &list));
    alone.crystal.hkl = list;
    alone.crystal.default_f = 0;
    alone.detector.nbox = 0;
    if (spot->lattice > 0) {
        memcpy(alone.crystal.misset, lattice.misset, sizeof lattice.misset);
        alone.crystal.scale = lattice.scale;
    }
    alone.crystal.nlattice = 0;
    render(ctx, &alone);
    nb_hkl_free(list);
}

/* A spot whose tails leave the panel has another centroid. */
static int is_whole(const nb_scene *s, const nb_spot *spot)
{
    const double n = s->detector.npanel ? panels[spot->panel].nfast : SIDE, edge = 15;

    return spot->fast > edge && spot->fast < n - edge && spot->slow > edge
           && spot->slow < SIDE - edge;
}

static int as_images(int which)
{
    nb_context *ctx = renders_context(2);
    static const int beam[3] = {0, 0, 0};
    static const double none = 0;
    nb_scene s = cases[which].make();
    nb_hkl *others;
    struct worst place = {0}, share = {0};
    nb_simulator *sim;
    size_t n, few;
    double unit = 0, total = 0, listed = 0;

    require(ctx, nb_hkl_create(ctx, 1, beam, &none, &others)); /* all but the direct beam */
    s.crystal.hkl = others;
    s.crystal.interpolate = NB_LOOKUP_NEAREST;
    require(ctx, nb_simulator_create(ctx, &s, NULL, NULL, &sim));
    require(ctx, nb_simulator_spots(sim, NULL, 0, NULL, &few));
    require(ctx, nb_simulator_spots(sim, NULL, MOST, spots, &n));
    nb_simulator_free(sim);
    tap_check(n == few && n > 5 * EACH && n < MOST, "%zu spots, at most %d expected", n,
              MOST);
    for (size_t i = 0; i < n; i++) listed += spots[i].brightness;
    for (size_t i = 0; i < n && spots[i].brightness > 1e-4 * spots[0].brightness;
         i += EACH) {
        const nb_spot *at = spots + i;
        struct sums sums;

        if (!is_whole(&s, at)) continue;
        render_alone(ctx, &s, at);
        sums = add_up(&s, at->panel);
        if (unit == 0) unit = sums.all / at->brightness;
        worst_add(&share, at->brightness * unit, sums.all, sums.all);
        worst_add(&place, at->fast, sums.fast / sums.photons, 1);
        worst_add(&place, at->slow, sums.slow / sums.photons, 1);
    }
    s.detector.nbox = 0;
    render(ctx, &s);
    for (int p = 0; p < (s.detector.npanel ? 2 : 1); p++) total += add_up(&s, p).all;
    worst_check(&place, cases[which].place, "middle of a spot, pixels");
    worst_check(&share, cases[which].share, "brightness of a spot");
    tap_close("photons of all spots, of the image's", listed * unit / total, 1,
              cases[which].all);
    nb_hkl_free(others);
    nb_context_free(ctx);
    return TAP_PASS;
}

enum { CASES = sizeof cases / sizeof cases[0] };

static int run(void)
{
    for (int i = 0; i < CASES; i++)
        if (strcmp(cases[i].name, tap_running()) == 0) return as_images(i);
    return 1;
}

int main(int argc, char **argv)
{
    struct tap_case list[CASES];

    for (int i = 0; i < CASES; i++) list[i] = (struct tap_case){cases[i].name, run};
    return tap_main(argc, argv, list, CASES);
}
