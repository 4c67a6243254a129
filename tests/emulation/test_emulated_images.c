/*
 * test_emulated_images.c - the GPU's kernels, run on the host block by block, compared with
 * the CPU's: every scene, shape and look-up, in double and in float; the edges of tiles,
 * chunks and segments; and changes that must not change a bit.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/compared.h"
#include "emulation/emulated.h"
#include "emulation/gpu_runs.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { MOST = COMPARED_MOST }; /* pixels */

/* shape by look-up, all in the base scene */
static nb_scene variant(int i)
{
    static const int shapes[] = {NB_SQUARE, NB_ROUND, NB_GAUSS, NB_TOPHAT};
    nb_scene s = scenes_base();

    s.crystal.shape = shapes[i / 3];
    if (i % 3 > 0) {
        s.crystal.hkl = scenes_reflections();
        s.crystal.interpolate = i % 3;
    }
    if (s.crystal.shape == NB_TOPHAT) /* wide enough for the samples to meet it */
        for (int k = 0; k < 3; k++) s.crystal.ncells[k] = 2;
    return s;
}

static const char *variant_name(int i)
{
    static const char *const shapes[] = {"square", "round", "gauss", "tophat"};
    static const char *const lookups[] = {"constant", "nearest", "tricubic"};
    static char name[40];

    (void)snprintf(name, sizeof name, "%s_%s", shapes[i / 3], lookups[i % 3]);
    return name;
}

enum { VARIANTS = 12 };

/* ---- against the CPU ---- */

static size_t pixels_of(const struct gpu_case *c)
{
    return (size_t)c->frame.nfast * (size_t)c->frame.nslow;
}

static void check_both(const char *name, const nb_scene *scene)
{
    struct gpu_case *c = gpu_case_open(scene);

    compared_in_double(name, c, renders_allowed(scene));
    compared_in_float(name, c);
    gpu_case_close(c);
}

static int scenes_in_double(void)
{
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        struct gpu_case *c = gpu_case_open(&named.scene);

        compared_in_double(named.name, c, renders_allowed(&named.scene));
        gpu_case_close(c);
    }
    return TAP_PASS;
}

static int scenes_in_float(void)
{
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        struct gpu_case *c = gpu_case_open(&named.scene);

        compared_in_float(named.name, c);
        gpu_case_close(c);
    }
    /* top hats, the quirk of a curved detector, and the poles of a broken count of cells */
    compared_float_count(5);
    return TAP_PASS;
}

static int variants_oversampled(void)
{
    for (int i = 0; i < VARIANTS; i++)
        for (int n = 2; n <= 3; n++) {
            nb_scene scene = variant(i);
            char name[80];

            scene.oversample = n;
            scene.scan.nphi = 1;
            (void)snprintf(name, sizeof name, "%s, %d x %d", variant_name(i), n, n);
            check_both(name, &scene);
        }
    compared_float_count(6);
    return TAP_PASS;
}

/* every way of taking the factors of a pixel or of its samples */
static int factors(void)
{
    nb_scene scene = scenes_base();

    scene.detector.thickness = 450;
    scene.detector.attenuation = 300;
    scene.detector.nlayers = 3;
    scene.detector.nfast = 21;
    scene.detector.nslow = 13;
    scene.detector.pixel = 0.9;
    scene.oversample = 2;
    scene.background.water = 200;
    scene.crystal.b_factor = 11;
    scene.beam.dispersion = 0.05;
    scene.beam.ndispersion = 3;
    for (int bits = 0; bits < 128; bits++) {
        struct gpu_case *c;
        char name[80];

        scene.dmin = bits & 16 ? 6 : 0;
        c = gpu_case_open(&scene);
        c->frame.each_omega = bits & 1;
        c->frame.each_polar = bits >> 1 & 1;
        c->frame.each_capture = bits >> 2 & 1;
        c->frame.last_capture = bits >> 3 & 1;
        c->frame.dark_polar = bits >> 5 & 1;
        c->frame.amorphous_in_samples = bits >> 6 & 1;
        (void)snprintf(name, sizeof name, "factors %d", bits);
        compared_in_double(name, c, 3e-14); /* 2.2e-15 measured: tens of roundings */
        if (bits % 3 == 0) compared_in_float(name, c);
        gpu_case_close(c);
    }
    compared_float_count(0);
    return TAP_PASS;
}

/* pairs fill several chunks, of 128 and of 32, and several segments of 1024 */
static int chunks_and_segments(void)
{
    static const struct {
        int sources, domains, phis;
    } counts[] = {{1, 1, 1},   {1, 31, 1},  {1, 32, 1},  {1, 33, 1},
                  {3, 43, 1},  {127, 1, 1}, {128, 1, 1}, {129, 1, 1},
                  {5, 205, 1}, {2, 64, 8},  {3, 171, 2}, {31, 67, 1}};

    for (size_t i = 0; i < COUNT(counts); i++)
        for (int v = 0; v < VARIANTS; v += 4) {
            nb_scene scene = variant(v);
            char name[80];

            scene.detector.nfast = 19;
            scene.detector.nslow = 11;
            scene.detector.pixel = 1.1;
            scene.beam.dispersion = 0.02;
            scene.beam.ndispersion = counts[i].sources;
            scene.crystal.ndomains = counts[i].domains;
            scene.scan.nphi = counts[i].phis;
            scene.dmin = i % 2 ? 4 : 0;
            (void)snprintf(name, sizeof name, "%s, %d sources x %d domains x %d steps",
                           variant_name(v), counts[i].sources, counts[i].domains,
                           counts[i].phis);
            check_both(name, &scene);
        }
    compared_float_count(12);
    return TAP_PASS;
}

/* tiles that stand out over the image's edges */
static int sizes_of_detectors(void)
{
    static const int sizes[][2] = {{1, 1},   {16, 8}, {15, 7}, {17, 9},
                                   {33, 20}, {1, 40}, {40, 1}, {32, 16}};

    for (size_t i = 0; i < COUNT(sizes); i++) {
        nb_scene scene = scenes_base();
        char name[80];

        scene.crystal.ncells[1] = 2;
        scene.detector.nfast = sizes[i][0];
        scene.detector.nslow = sizes[i][1];
        (void)snprintf(name, sizeof name, "%d x %d pixels", sizes[i][0], sizes[i][1]);
        check_both(name, &scene);
    }
    compared_float_count(0);
    return TAP_PASS;
}

/* nanoBragg's curved detector puts pixels far from where a flat tile has them */
static int curved_far_and_near(void)
{
    for (int i = 0; i < 16; i++) {
        nb_scene scene = scenes_base();
        char name[80];

        if (i % 2 == 0) scene.quirks = NB_QUIRK_ALL;
        scene.crystal.hkl = scenes_reflections();
        scene.crystal.interpolate = i / 2 % 2 ? NB_TRICUBIC : NB_NEAREST;
        scene.crystal.shape = i / 4 % 2 ? NB_GAUSS : NB_SQUARE;
        scene.detector.curved = 1;
        scene.detector.convention = NB_DIALS;
        scene.detector.distance = 30 + 10 * i;
        (void)snprintf(name, sizeof name, "curved %d at %g mm", i, scene.detector.distance);
        check_both(name, &scene);
    }
    compared_float_count(8);
    return TAP_PASS;
}

/* samples leave the list of reflections on all sides */
static int small_list(void)
{
    for (int v = 0; v < VARIANTS; v++) {
        nb_scene scene = variant(v);
        struct gpu_case *c;
        int inside = 0;

        if (v % 3 == 0) continue;
        scene.crystal.default_f = 37;
        scene.detector.distance = 40; /* to more than twice the list's 8 */
        scene.oversample = 2;
        c = gpu_case_open(&scene);
        for (int i = 0; i < 3; i++) inside += c->frame.hkl_size[i];
        tap_check(inside <= 51, "%s: a list of %d + ... indices", variant_name(v), inside);
        compared_in_double(variant_name(v), c, renders_allowed(&scene));
        compared_in_float(variant_name(v), c);
        gpu_case_close(c);
    }
    compared_float_count(4);
    return TAP_PASS;
}

/* Where F jumps halfway between two reflections: of crystals so small that F^2 is not 0
 * there, many samples, some of them within float's rounding. */
static int jumps(void)
{
    static const struct {
        int shape;
        double count, fudge;
    } crystals[] = {{NB_SQUARE, 1, 1},   {NB_SQUARE, 2, 1}, {NB_ROUND, 2, 1},
                    {NB_GAUSS, 3, 0.05}, {NB_GAUSS, 2, 1},  {NB_GAUSS_STAR, 2, 1}};

    for (size_t i = 0; i < COUNT(crystals); i++)
        for (int rotation = 0; rotation < 6; rotation++) {
            nb_scene s = scenes_base();
            char name[80];

            s.crystal.shape = crystals[i].shape;
            s.crystal.fudge = crystals[i].fudge;
            for (int k = 0; k < 3; k++) {
                s.crystal.ncells[k] = crystals[i].count;
                s.crystal.misset[k] = 17 * rotation + 29 * k;
            }
            if (rotation % 2 || s.crystal.shape != NB_GAUSS) {
                s.crystal.hkl = scenes_reflections();
                s.crystal.interpolate = NB_NEAREST;
            }
            s.detector.nfast = 64;
            s.detector.nslow = 40;
            s.crystal.ndomains = 1;
            s.oversample = 4;
            (void)snprintf(name, sizeof name, "shape %d, N = %g, turn %d", s.crystal.shape,
                           s.crystal.ncells[0], rotation);
            check_both(name, &s);
        }
    compared_float_count(0);
    return TAP_PASS;
}

/* A pixel a hair beside halfway between two reflections, along all axes at once: double
 * knows on which side it lies, float does not. */
static int halfway(void)
{
    static const double beside[] = {-1e-8, -1e-9, 1e-9, 1e-8};
    int aimed = 0, compared = 0;

    for (int v = 0; v < VARIANTS; v++)
        for (size_t i = 0; i < COUNT(beside); i++) {
            const int slow = 3 + 5 * (int)i, fast = 4 + 3 * v;
            nb_scene s = variant(v);
            char name[120];

            if (v / 3 == 3 || v % 3 == 2) continue; /* tophat is not for float */
            s.crystal.ndomains = s.scan.nphi = 1;
            s.scan.phi0 = s.scan.osc = 0;
            s.crystal.mosaic[0] = 0;
            s.crystal.fudge = v / 3 == 2 ? 0.2 : 1;
            for (int k = 0; k < 3; k++) s.crystal.ncells[k] = 1;
            aimed++;
            if (!renders_aim(&s, slow, fast, 0.5 + beside[i], NULL)) continue;
            compared++;
            (void)snprintf(name, sizeof name, "%s, pixel %d %d, %g beside halfway",
                           variant_name(v), fast, slow, beside[i]);
            check_both(name, &s);
        }
    compared_float_count(0);
    tap_check(compared >= aimed - 1, "%d of %d pixels lie beside a reflection, allowed %d",
              compared, aimed, aimed - 1);
    return TAP_PASS;
}

/* ---- the same bits ---- */

/* a crystal whose pairs mostly add nothing to a tile */
static nb_scene sparse(int v)
{
    nb_scene scene = variant(v);

    for (int k = 0; k < 3; k++)
        scene.crystal.ncells[k] = (scene.crystal.shape == NB_TOPHAT ? 10 : 50) + 5 * k;
    if (v % 2) { /* rounding indices does not find the nearest point */
        for (int k = 3; k < 6; k++) scene.crystal.cell[k] = 62;
        if (scene.crystal.shape == NB_GAUSS) scene.crystal.shape = NB_GAUSS_STAR;
    }
    scene.crystal.ndomains = 50;
    scene.crystal.mosaic[0] = 3;
    scene.beam.dispersion = 0.03;
    scene.beam.ndispersion = 3;
    scene.detector.pixel = 0.05;
    scene.oversample = v % 2 + 1;
    scene.detector.nfast = 35;
    scene.detector.nslow = 18;
    return scene;
}

static void check_left_out(const char *name, struct gpu_case *c, struct gpu_way way)
{
    static double all[MOST], some[MOST], few[MOST];
    int lit = 0, dark = 0;

    if (!gpu_case_run(c, &way, some)) return;
    way.cut = -1;
    if (!gpu_case_run(c, &way, all)) return;
    way.cut = 0.05;
    if (!gpu_case_run(c, &way, few)) return;
    for (size_t i = 0; i < pixels_of(c); i++) {
        lit += all[i] > 0;
        dark += all[i] == 0;
    }
    tap_check(lit > 0 && bits_same(all, some, pixels_of(c)),
              "%s, %s, parts %d: the same bits; %d pixels lit, %d dark", name,
              way.single ? "float" : "double", way.parts, lit, dark);
    tap_check(bits_differ(all, few, pixels_of(c)) > 0,
              "%s: with a twentieth of the bound some are missed", name);
}

static int pairs_left_out(void)
{
    for (int v = 6; v < VARIANTS; v++) {
        const nb_scene scene = sparse(v);
        struct gpu_case *c = gpu_case_open(&scene);

        for (int k = 0; k < 4; k++) {
            const struct gpu_way way = {.single = k % 2, .parts = 1 + k / 2};

            check_left_out(variant_name(v), c, way);
        }
        gpu_case_close(c);
    }
    return TAP_PASS;
}

/* Where two axes of the reciprocal lattice are nearly opposite, the lattice point of a
 * sample across half an index is far nearer than that of the anchor: one pair of source and
 * orientation, whose point of the anchor alone is out of reach. */
static int oblique_cell(void)
{
    static const double cells[2] = {20, 5}; /* for the reach in double, in float */
    static double all[MOST], some[MOST];
    nb_scene scene = scenes_base();

    scene.crystal.shape = NB_GAUSS_STAR;
    scene.crystal.hkl = NULL;
    scene.crystal.default_f = 100;
    scene.crystal.cell[3] = scene.crystal.cell[4] = 90;
    scene.crystal.cell[5] = 20;
    scene.crystal.ndomains = 1;
    memset(scene.crystal.mosaic, 0, sizeof scene.crystal.mosaic);
    scene.scan.nphi = 1;
    scene.scan.osc = 0;
    scene.beam.ndispersion = 1;
    scene.beam.dispersion = 0;
    scene.detector.pixel = 0.2;
    scene.detector.nslow = scene.detector.nfast = 64;
    scene.oversample = 1;
    for (int i = 0; i < 4; i++) {
        struct gpu_way way = {.single = i % 2, .parts = 1 + i / 2};
        struct gpu_case *c;
        int lit = 0;

        for (int k = 0; k < 3; k++) scene.crystal.ncells[k] = cells[i % 2];
        c = gpu_case_open(&scene);
        if (!gpu_case_run(c, &way, some)) continue;
        way.cut = -1;
        if (!gpu_case_run(c, &way, all)) continue;
        for (size_t k = 0; k < pixels_of(c); k++) lit += all[k] > 0;
        tap_check(lit > 0 && lit < (int)pixels_of(c) && bits_same(all, some, pixels_of(c)),
                  "%s, parts %d: the same bits, %d pixels lit", i % 2 ? "float" : "double",
                  way.parts, lit);
        gpu_case_close(c);
    }
    return TAP_PASS;
}

static int any_order(void)
{
    static double first[MOST], other[MOST];

    for (int v = 0; v < VARIANTS; v++) {
        nb_scene scene = sparse(v);
        struct gpu_case *c;

        scene.background.water = 30;
        c = gpu_case_open(&scene);
        for (int k = 0; k < 2; k++) {
            const struct gpu_way way = {.single = k, .parts = 1};

            emulated_reset();
            if (!gpu_case_run(c, &way, first)) continue;
            for (int order = EMULATED_IN_ORDER; order <= EMULATED_SHUFFLED; order++) {
                emulated.order = order;
                emulated.threads = 1 + order;
                if (!gpu_case_run(c, &way, other)) continue;
                tap_check(bits_same(first, other, pixels_of(c)),
                          "%s, %s, order %d: same bits", variant_name(v),
                          k ? "float" : "double", order);
            }
        }
        gpu_case_close(c);
    }
    emulated_reset();
    return TAP_PASS;
}

/* float rounds by sums or, on devices before 8.6, by instructions: the same bits */
static int roundings(void)
{
    static double sums[MOST], instructions[MOST];

    for (int i = 0; i < 2 * VARIANTS; i++) {
        const nb_scene scene = i % 2 ? sparse(i / 2) : variant(i / 2);
        const struct gpu_way way = {.single = 1, .parts = 2 - i % 2};
        struct gpu_case *c = gpu_case_open(&scene);

        emulated_reset();
        if (gpu_case_run(c, &way, sums)) {
            emulated.early = 1;
            if (gpu_case_run(c, &way, instructions))
                tap_check(bits_same(sums, instructions, pixels_of(c)), "%s, parts %d",
                          variant_name(i / 2), way.parts);
        }
        emulated_reset();
        gpu_case_close(c);
    }
    return TAP_PASS;
}

/* rows of tiles computed alone */
static int strips(void)
{
    static double whole[MOST], part[MOST];

    for (int v = 0; v < VARIANTS; v++) {
        nb_scene scene = sparse(v);
        struct gpu_case *c;
        struct gpu_way way = {.single = v % 2, .parts = 1 + v / 2 % 2};
        size_t strip;
        int rows;

        scene.detector.nslow = 29; /* the last row of tiles has 5 of pixels */
        c = gpu_case_open(&scene);
        rows = (c->frame.nslow + GPU_SLOW - 1) / GPU_SLOW;
        if (!gpu_case_run(c, &way, whole)) continue;
        /* spots may leave a row of tiles dark, but not all */
        tap_check(worst_largest(whole, pixels_of(c)) > 0, "%s: lit", variant_name(v));
        for (way.first_row = 0, way.rows = 1; way.first_row < rows; way.first_row++) {
            const int first = GPU_SLOW * way.first_row, left = c->frame.nslow - first;
            const size_t at = (size_t)first * (size_t)c->frame.nfast;

            strip = (size_t)(left < GPU_SLOW ? left : GPU_SLOW) * (size_t)c->frame.nfast;
            if (!gpu_case_run(c, &way, part)) continue;
            tap_check(bits_same_or_zeros(whole + at, part + at, strip),
                      "%s, row %d: same bits", variant_name(v), way.first_row);
        }
        gpu_case_close(c);
    }
    return TAP_PASS;
}

/* pixels of the window have the bits of the whole image, the others are 0 */
static void check_window(const char *name, struct gpu_case *c, const struct gpu_way *way,
                         const double *whole)
{
    static double part[MOST];
    int differ = 0, dark = 0, lit = 0;

    if (!gpu_case_run(c, way, part)) return;
    for (int s = 0; s < c->frame.nslow; s++)
        for (int f = 0; f < c->frame.nfast; f++) {
            const int at = c->frame.nfast * s + f, *roi = c->job.roi;
            const int shown = f >= roi[0] && f < roi[1] && s >= roi[2] && s < roi[3]
                              && (!c->job.mask || c->job.mask[at]);

            differ += shown && memcmp(whole + at, part + at, sizeof *whole) != 0;
            dark += !shown && part[at] != 0;
            lit += shown && part[at] != 0;
        }
    tap_check(differ == 0 && dark == 0 && lit > 0,
              "%s: %d of %d pixels differ from the whole image, %d outside are not 0", name,
              differ, lit, dark);
}

static int roi_and_mask(void)
{
    static const int rois[][4] = {{5, 23, 7, 30},
                                  {16, 32, 8, 16},
                                  {17, 18, 9, 10},
                                  {0, 40, 36, 37}};
    static double whole[MOST];
    static uint8_t mask[MOST];

    for (int i = 0; i < MOST; i++) mask[i] = i % 7 != 0;
    for (int v = 0; v < VARIANTS; v++) {
        nb_scene scene = variant(v);
        struct gpu_case *c;

        scene.background.water = 100;
        c = gpu_case_open(&scene);
        for (size_t r = 0; r < 2 * COUNT(rois); r++) {
            const struct gpu_way way = {.single = (int)(r + (size_t)v) % 2,
                                        .parts = 1 + v % 2};
            char name[80];

            memcpy(c->job.roi, (int[4]){0, 40, 0, 37}, sizeof c->job.roi);
            c->job.mask = NULL;
            if (!gpu_case_run(c, &way, whole)) continue;
            memcpy(c->job.roi, rois[r / 2], sizeof c->job.roi);
            c->job.mask = r % 2 ? mask : NULL;
            (void)snprintf(name, sizeof name, "%s, window %zu%s", variant_name(v), r / 2,
                           r % 2 ? ", masked" : "");
            check_window(name, c, &way, whole);
        }
        gpu_case_close(c);
    }
    return TAP_PASS;
}

#define NAMED(name)                                                                        \
    {                                                                                      \
#name, name                                                                        \
    }

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        NAMED(scenes_in_double),
        NAMED(scenes_in_float),
        NAMED(variants_oversampled),
        NAMED(factors),
        NAMED(chunks_and_segments),
        NAMED(sizes_of_detectors),
        NAMED(curved_far_and_near),
        NAMED(small_list),
        NAMED(jumps),
        NAMED(halfway),
        NAMED(pairs_left_out),
        NAMED(oblique_cell),
        NAMED(any_order),
        NAMED(roundings),
        NAMED(strips),
        NAMED(roi_and_mask),
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
