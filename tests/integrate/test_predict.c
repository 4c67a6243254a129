/*
 * test_predict.c - nb_predict() against images in which one reflection scatters: photons,
 * centroid, bounding box; against Bragg's law; and that no reflection of the image is
 * missing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

enum { SIDE = 300, EACH = 11 };
static const double cell[3] = {50, 60, 70};

static double image[SIDE * SIDE];

static void require(nb_context *ctx, nb_status status)
{
    if (status == NB_OK) return;
    tap_check(0, "%s", nb_context_message(ctx));
    exit(1);
}

static nb_scene still(void)
{
    static const double misset[3] = {10, 20, 30};
    nb_scene s = {0};

    memcpy(s.crystal.cell, cell, sizeof cell);
    memcpy(s.crystal.misset, misset, sizeof misset);
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 15;
    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.default_f = 100;
    s.crystal.interpolate = NB_LOOKUP_NEAREST;
    s.crystal.mosaic[0] = 0.3;
    s.beam.fluence = 1e26;
    s.detector.nfast = s.detector.nslow = SIDE;
    s.detector.distance = 80;
    s.detector.pixel = 0.15;
    return s;
}

static nb_scene domains(void)
{
    nb_scene s = still();

    s.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
    s.crystal.ndomains = 5;
    s.crystal.shape = NB_SHAPE_TOPHAT;
    return s;
}

static nb_scene spectrum(void)
{
    nb_scene s = still();

    s.beam.dispersion = 0.02;
    s.crystal.mosaic[0] = 0.05;
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

/* the second lattice has the matrix of the crystal, turned */
static nb_scene on_a_matrix(void)
{
    static const double stars[9] = {0, 0, 1. / 70, 1. / 50, 0, 0, 0, 1. / 60, 0};
    nb_scene s = two_lattices();

    memcpy(s.crystal.matrix, stars, sizeof stars);
    memset(s.crystal.cell, 0, sizeof s.crystal.cell);
    return s;
}

/* spots of few domains far apart, and larger than the first box */
static nb_scene wide_domains(void)
{
    nb_scene s = domains();

    s.crystal.mosaic[0] = 3;
    s.crystal.ndomains = 8;
    return s;
}

static nb_scene few_cells(void)
{
    nb_scene s = still();

    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 3;
    return s;
}

/* two panels side by side, at places of the image that do not touch */
static const nb_panel panels[2] = {{.nslow = SIDE,
                                    .nfast = 140,
                                    .origin = {-22.5, -22.5, 80},
                                    .fast = {1},
                                    .slow = {0, 1}},
                                   {.nslow = SIDE,
                                    .nfast = 140,
                                    .fast0 = 160,
                                    .origin = {-1.5, -22.5, 80},
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

static const struct {
    const char *name;
    nb_scene (*make)(void);
} cases[] = {{"still", still},         {"domains", domains},
             {"spectrum", spectrum},   {"lattices", two_lattices},
             {"matrix", on_a_matrix},  {"wide_domains", wide_domains},
             {"few_cells", few_cells}, {"panels", two_panels}};
enum { CASES = sizeof cases / sizeof cases[0] };

static void render(nb_context *ctx, const nb_scene *s)
{
    nb_array array = nb_array_f64(image, SIDE, SIDE);
    nb_simulator *sim;

    require(ctx, nb_simulator_create(ctx, s, NULL, NULL, &sim));
    require(ctx, nb_forward(sim, NULL, &array));
    nb_simulator_free(sim);
}

/* Renders an image in which only reflection h k l scatters, with F = 1. */
static void render_alone(nb_context *ctx, const nb_scene *s, const int32_t *index,
                         int which)
{
    const int hkl[3] = {index[0], index[1], index[2]};
    const double f = 1;
    nb_scene alone = *s;
    nb_hkl *list;

    require(ctx, nb_hkl_create(ctx, 1, hkl, &f, &list));
    alone.crystal.hkl = list;
    alone.crystal.default_f = 0;
    if (which > 0) {
        memcpy(alone.crystal.misset, lattice.misset, sizeof lattice.misset);
        alone.crystal.scale = lattice.scale;
    }
    alone.crystal.nlattice = 0;
    render(ctx, &alone);
    nb_hkl_free(list);
}

struct columns {
    const int32_t *id, *hkl, *bbox;
    const uint64_t *panel, *flags;
    const double *px, *s1, *d, *wavelength, *photons, *f;
};

static struct columns columns_of(const nb_reflections *t)
{
    return (struct columns){nb_reflections_find(t, "id", NB_COLUMN_INT),
                            nb_reflections_find(t, "miller_index", NB_COLUMN_MILLER),
                            nb_reflections_find(t, "bbox", NB_COLUMN_INT6),
                            nb_reflections_find(t, "panel", NB_COLUMN_SIZE),
                            nb_reflections_find(t, "flags", NB_COLUMN_SIZE),
                            nb_reflections_find(t, "xyzcal.px", NB_COLUMN_VEC3),
                            nb_reflections_find(t, "s1", NB_COLUMN_VEC3),
                            nb_reflections_find(t, "d", NB_COLUMN_DOUBLE),
                            nb_reflections_find(t, "wavelength", NB_COLUMN_DOUBLE),
                            nb_reflections_find(t, "nanobrag.photons", NB_COLUMN_DOUBLE),
                            nb_reflections_find(t, "nanobrag.f", NB_COLUMN_DOUBLE)};
}

struct checks {
    struct worst place, photons, box, lengths, bragg;
};

/* Compares row i with the image, in which it is alone. */
static void compare(const struct columns *c, size_t i, int panelled, struct checks *checks)
{
    const int first = c->panel[i] ? panels[1].fast0 : 0, *const bbox = c->bbox + 6 * i;
    double sum = 0, fast = 0, slow = 0, peak = 0, outside = 0;

    for (int p = 0; p < SIDE * SIDE; p++) {
        const int f = p % SIDE - first, s = p / SIDE;
        const int in = f >= bbox[0] && f < bbox[1] && s >= bbox[2] && s < bbox[3];

        if (panelled && (c->panel[i] ? f < 0 : f >= 150)) continue; /* the other panel */
        sum += image[p];
        fast += image[p] * (f + 0.5);
        slow += image[p] * (s + 0.5);
        peak = fmax(peak, image[p]);
        if (!in) outside = fmax(outside, image[p]);
    }
    worst_add(&checks->photons, c->photons[i], sum, sum);
    worst_add(&checks->place, c->px[3 * i], fast / sum, 1);
    worst_add(&checks->place, c->px[3 * i + 1], slow / sum, 1);
    worst_add(&checks->box, outside / peak, 0, 1);
}

/* 1/d from the cell, whose axes are at right angles; the length of s1; 2 d sin(theta) from
 * the direction of s1. The beam travels along `beam` in the frame of DIALS. */
static void by_bragg(const struct columns *c, size_t i, const double beam[3],
                     const nb_scene *s, struct checks *checks)
{
    const double size = s->crystal.ncells[0] * cell[0], brightest = c->photons[0];
    const double *const s1 = c->s1 + 3 * i;
    const double length = sqrt(s1[0] * s1[0] + s1[1] * s1[1] + s1[2] * s1[2]);
    double inverse = 0, cosine = 0;

    for (int k = 0; k < 3; k++) {
        inverse += pow(c->hkl[3 * i + (size_t)k] / cell[k], 2);
        cosine += s1[k] / length * beam[k];
    }
    worst_add(&checks->lengths, c->d[i] * sqrt(inverse), 1, 1);
    worst_add(&checks->lengths, c->wavelength[i] * length, 1, 1);
    /* a reflection that scatters brightly lies off the sphere by less than its width */
    if (c->photons[i] > 1e-3 * brightest)
        worst_add(&checks->bragg, c->d[i] * sqrt(2 * (1 - cosine)), c->wavelength[i],
                  c->d[i] / size);
}

static int as_images(int which)
{
    nb_context *ctx = renders_context(2);
    const nb_scene s = cases[which].make();
    const nb_prediction how = {.least = 1e-6, .id = 3, .frame = 0};
    const double beam[3] = {s.detector.npanel ? 0 : -1, 0, s.detector.npanel ? -1 : 0};
    struct checks checks = {0};
    nb_simulator *sim;
    nb_reflections *table;
    double model = 0, all = 0;

    require(ctx, nb_simulator_create(ctx, &s, NULL, NULL, &sim));
    require(ctx, nb_predict(sim, NULL, &how, &table));
    const struct columns c = columns_of(table);
    const size_t n = nb_reflections_rows(table);

    tap_check(n > 3 * EACH, "%zu reflections", n);
    for (size_t i = 0; i < n; i += EACH) {
        render_alone(ctx, &s, c.hkl + 3 * i, c.id[i] - how.id);
        compare(&c, i, s.detector.npanel > 0, &checks);
    }
    for (size_t i = 0; i < n; i++) {
        model += c.photons[i] * c.f[i] * c.f[i];
        by_bragg(&c, i, beam, &s, &checks);
    }
    render(ctx, &s);
    for (int p = 0; p < SIDE * SIDE; p++) all += image[p];
    render_alone(ctx, &s, (const int32_t[]){0, 0, 0}, 0);
    for (int p = 0; p < SIDE * SIDE; p++) all -= 1e4 * image[p];
    if (s.crystal.nlattice > 0) render_alone(ctx, &s, (const int32_t[]){0, 0, 0}, 1);
    for (int p = 0; p < SIDE * SIDE && s.crystal.nlattice > 0; p++) all -= 1e4 * image[p];
    worst_check(&checks.photons, 1e-4, "photons for F = 1");
    worst_check(&checks.place, 1e-3, "centroid, pixels");
    worst_check(&checks.box, 0.01, "the brightest pixel outside a box, of the peak");
    worst_check(&checks.lengths, 1e-12, "d and the length of s1");
    worst_check(&checks.bragg, 1.5,
                "2 d sin(theta) against the wavelength, widths of a block");
    tap_close("photons of all reflections, of the image's", model / all, 1, 0.002);
    nb_reflections_free(table);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int run(void)
{
    for (int i = 0; i < CASES; i++)
        if (strcmp(cases[i].name, tap_running()) == 0) return as_images(i);
    return 1;
}

/* A point spread whose tails reach every box is refused. */
static int fiber(void)
{
    nb_context *ctx = renders_context(1);
    nb_scene s = still();
    nb_simulator *sim;
    nb_reflections *table;

    s.psf.kind = NB_PSF_FIBER;
    s.psf.fwhm = 0.1;
    if (nb_simulator_create(ctx, &s, NULL, NULL, &sim) != NB_OK) {
        nb_context_free(ctx);
        return tap_skip("this build has no point spread");
    }
    tap_check(nb_predict(sim, NULL, NULL, &table) == NB_ERR_UNSUPPORTED && !table, "%s",
              nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    struct tap_case list[CASES + 1];

    for (int i = 0; i < CASES; i++) list[i] = (struct tap_case){cases[i].name, run};
    list[CASES] = (struct tap_case){"fiber", fiber};
    return tap_main(argc, argv, list, CASES + 1);
}
