/*
 * test_gpu_edges.c - images on a CUDA device where they might go wrong: every shape and
 * look-up oversampled, each way of taking factors, the edges of tiles, chunks and segments,
 * of lists and between reflections, and pairs that add nothing. Skipped without a device.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/on_device.h"
#include "support/compiled.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { VARIANTS = 12 };

/* shape by look-up, all in the base scene */
static nb_scene variant(int i)
{
    static const int shapes[] = {NB_SHAPE_SQUARE, NB_SHAPE_ROUND, NB_SHAPE_GAUSS,
                                 NB_SHAPE_TOPHAT};
    nb_scene s = scenes_base();

    s.crystal.shape = shapes[i / 3];
    if (i % 3 > 0) {
        s.crystal.hkl = scenes_reflections();
        s.crystal.interpolate = i % 3;
    }
    if (s.crystal.shape == NB_SHAPE_TOPHAT) /* wide enough for the samples to meet it */
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

/* one for all scenes, so that kernels are loaded once */
static nb_context *ctx;

/* Compute an image on the device; returns 0 after a check that failed. */
static int render(const nb_scene *scene, int precision, double *image)
{
    nb_simulator *sim = on_device_make(ctx, scene, "", precision);
    const int ok = on_device_image(ctx, sim, NULL, image);

    nb_simulator_free(sim);
    return ok;
}

static void check(const nb_scene *scene, const char *name)
{
    const size_t n = on_device_size(scene);
    const double allowed[] = {[NB_PRECISION_DOUBLE] =
                                  fmax(on_device_double, renders_allowed(scene)),
                              [NB_PRECISION_SINGLE] = on_device_float};
    const struct renders_way way = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0, 1, NULL};
    double *host = on_device_pixels(n), *device = on_device_pixels(n);

    if (!renders_image(scene, &way, host, NULL)) abort();
    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        size_t lit = 0;

        if (!render(scene, precision, device)) continue;
        for (size_t i = 0; i < n; i++) lit += host[i] == 0 && device[i] != 0;
        tap_close(name, renders_compare(device, host, n).worst, 0, allowed[precision]);
        if (lit > 0) tap_check(0, "%s: %zu pixels should be 0", name, lit);
    }
    free(host);
    free(device);
}

static int variants_oversampled(void)
{
    if (!on_device_found()) return TAP_SKIP;
    for (int i = 0; i < VARIANTS; i++)
        for (int n = 2; n <= 3; n++) {
            nb_scene scene = variant(i);

            scene.oversample = n;
            scene.scan.nphi = 1;
            scene.crystal.ndomains = 3;
            check(&scene, variant_name(i));
        }
    return TAP_PASS;
}

/* every way of taking the factors of a pixel or of its samples */
static int factors(void)
{
    nb_scene scene = scenes_base();

    if (!on_device_found()) return TAP_SKIP;
    scene.detector.thickness = 450;
    scene.detector.attenuation = 300;
    scene.detector.nlayers = 3;
    scene.detector.nfast = 21;
    scene.detector.nslow = 13;
    scene.detector.pixel = 0.9;
    scene.oversample = 2;
    scene.background.water = 200;
    scene.crystal.b_factor = 11;
    scene.crystal.ndomains = 2;
    scene.beam.dispersion = 0.05;
    scene.beam.ndispersion = 3;
    for (int bits = 0; bits < 32; bits++) {
        char name[20];

        scene.oversample_omega = bits & 1;
        scene.oversample_polar = bits >> 1 & 1;
        scene.oversample_thick = bits >> 2 & 1;
        scene.dmin = bits & 8 ? 6 : 0;
        scene.quirks = bits & 16 ? NB_QUIRK_ALL : 0;
        (void)snprintf(name, sizeof name, "factors %d", bits);
        check(&scene, name);
    }
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

    if (!on_device_found()) return TAP_SKIP;
    for (size_t i = 0; i < COUNT(counts); i++) {
        nb_scene scene = variant((int)i % 3 * 4);
        char name[80];

        scene.detector.nfast = 19;
        scene.detector.nslow = 11;
        scene.detector.pixel = 1.1;
        scene.beam.dispersion = 0.02;
        scene.beam.ndispersion = counts[i].sources;
        scene.crystal.ndomains = counts[i].domains;
        scene.scan.nphi = counts[i].phis;
        scene.dmin = i % 2 ? 4 : 0;
        (void)snprintf(name, sizeof name, "%d sources x %d domains x %d steps",
                       counts[i].sources, counts[i].domains, counts[i].phis);
        check(&scene, name);
    }
    return TAP_PASS;
}

/* tiles that stand out over the image's edges */
static int sizes_of_detectors(void)
{
    static const int sizes[][2] = {{1, 1},   {16, 8}, {15, 7}, {17, 9},
                                   {33, 20}, {1, 40}, {40, 1}, {32, 16}};

    if (!on_device_found()) return TAP_SKIP;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        nb_scene scene = scenes_base();
        char name[80];

        scene.crystal.ncells[1] = 2;
        scene.detector.nfast = sizes[i][0];
        scene.detector.nslow = sizes[i][1];
        (void)snprintf(name, sizeof name, "%d x %d pixels", sizes[i][0], sizes[i][1]);
        check(&scene, name);
    }
    return TAP_PASS;
}

/* nanoBragg's curved detector puts pixels far from where a flat tile has them */
static int curved_far_and_near(void)
{
    if (!on_device_found()) return TAP_SKIP;
    for (int i = 0; i < 16; i++) {
        nb_scene scene = scenes_base();
        char name[80];

        if (i % 2 == 0) scene.quirks = NB_QUIRK_ALL;
        scene.crystal.hkl = scenes_reflections();
        scene.crystal.interpolate = i / 2 % 2 ? NB_LOOKUP_TRICUBIC : NB_LOOKUP_NEAREST;
        scene.crystal.shape = i / 4 % 2 ? NB_SHAPE_GAUSS : NB_SHAPE_SQUARE;
        scene.detector.curved = 1;
        scene.detector.convention = NB_CONVENTION_DIALS;
        scene.detector.distance = 30 + 10 * i;
        (void)snprintf(name, sizeof name, "curved %d at %g mm", i, scene.detector.distance);
        check(&scene, name);
    }
    return TAP_PASS;
}

/* samples leave the list of reflections on all sides */
static int small_list(void)
{
    if (!on_device_found()) return TAP_SKIP;
    for (int v = 0; v < VARIANTS; v++) {
        nb_scene scene = variant(v);

        if (v % 3 == 0) continue;
        scene.crystal.default_f = 37;
        scene.detector.distance = 40; /* to more than twice the list's 8 */
        scene.oversample = 2;
        check(&scene, variant_name(v));
    }
    return TAP_PASS;
}

/* Where F jumps halfway between two reflections: of crystals so small that F^2 is not 0
 * there, many samples, some of them within float's rounding. */
static int jumps(void)
{
    static const struct {
        int shape;
        double count, fudge;
    } crystals[] = {{NB_SHAPE_SQUARE, 1, 1}, {NB_SHAPE_SQUARE, 2, 1},
                    {NB_SHAPE_ROUND, 2, 1},  {NB_SHAPE_GAUSS, 3, 0.05},
                    {NB_SHAPE_GAUSS, 2, 1},  {NB_SHAPE_GAUSS_STAR, 2, 1}};

    if (!on_device_found()) return TAP_SKIP;
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
            if (rotation % 2 || s.crystal.shape != NB_SHAPE_GAUSS) {
                s.crystal.hkl = scenes_reflections();
                s.crystal.interpolate = NB_LOOKUP_NEAREST;
            }
            s.detector.nfast = 40;
            s.detector.nslow = 16;
            s.crystal.ndomains = 1;
            s.oversample = 4;
            (void)snprintf(name, sizeof name, "shape %d, N = %g, turn %d", s.crystal.shape,
                           s.crystal.ncells[0], rotation);
            check(&s, name);
        }
    return TAP_PASS;
}

/* A pixel a hair beside halfway between two reflections, along all axes at once: double
 * knows on which side it lies, float does not. */
static int halfway(void)
{
    static const double beside[] = {-1e-8, -1e-9, 1e-9, 1e-8};
    int aimed = 0, compared = 0;

    if (!on_device_found()) return TAP_SKIP;
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
            check(&s, name);
        }
    tap_check(compared >= aimed - 1, "%d of %d pixels lie beside a reflection, allowed %d",
              compared, aimed, aimed - 1);
    return TAP_PASS;
}

/* ---- pairs of sources and orientations that add nothing to a tile are left out ---- */

/* a crystal whose pairs mostly do */
static nb_scene sparse(int v)
{
    nb_scene scene = variant(v);

    for (int k = 0; k < 3; k++)
        scene.crystal.ncells[k] =
            (scene.crystal.shape == NB_SHAPE_TOPHAT ? 10 : 50) + 5 * k;
    if (v % 2) { /* rounding indices does not find the nearest point */
        for (int k = 3; k < 6; k++) scene.crystal.cell[k] = 62;
        if (scene.crystal.shape == NB_SHAPE_GAUSS)
            scene.crystal.shape = NB_SHAPE_GAUSS_STAR;
    }
    scene.crystal.ndomains = 50;
    scene.crystal.mosaic[0] = 3;
    scene.beam.dispersion = 0.03;
    scene.beam.ndispersion = 3;
    scene.detector.pixel = 0.05;
    scene.oversample = v % 2 + 1;
    scene.detector.nfast = 19;
    scene.detector.nslow = 18;
    return scene;
}

/* Where two axes of the reciprocal lattice are nearly opposite, the lattice point of a
 * sample across half an index is far nearer than that of the anchor: one pair, whose point
 * of the anchor alone is out of reach. */
static nb_scene oblique(double cells)
{
    nb_scene scene = scenes_base();

    scene.crystal.shape = NB_SHAPE_GAUSS_STAR;
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
    for (int k = 0; k < 3; k++) scene.crystal.ncells[k] = cells;
    return scene;
}

/* In double every pixel is compared with itself, dark as it may be: a pair that is missed
 * is most of what some of them have. The phase is that of the whole crystal. */
static void check_each(const char *name, const nb_scene *scene)
{
    static const double allowed = 1e-10;
    const size_t n = on_device_size(scene);
    const struct renders_way way = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0, 1, NULL};
    double *host = on_device_pixels(n), *device = on_device_pixels(n);
    struct worst worst = {0};
    size_t lit = 0;

    if (!renders_image(scene, &way, host, NULL)) abort();
    if (render(scene, NB_PRECISION_DOUBLE, device)) {
        for (size_t i = 0; i < n; i++) {
            lit += host[i] > 1e-290;
            worst_add(&worst, device[i], host[i], fmax(host[i], 1e-290));
        }
        worst_check(&worst, allowed, "%s: of each of %zu pixels, %zu lit", name, n, lit);
        tap_check(lit > 0, "some are lit");
    }
    free(host);
    free(device);
}

static int pairs_left_out(void)
{
    if (!on_device_found()) return TAP_SKIP;
    for (int v = 6; v < VARIANTS; v++) {
        const nb_scene scene = sparse(v);

        check(&scene, variant_name(v));
        check_each(variant_name(v), &scene);
    }
    for (int i = 0; i < 2; i++) { /* the reach of double and of float */
        const nb_scene scene = oblique(i ? 5 : 20);

        check(&scene, "oblique cell");
        check_each("oblique cell", &scene);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"variants_oversampled", variants_oversampled},
        {"factors", factors},
        {"chunks_and_segments", chunks_and_segments},
        {"sizes_of_detectors", sizes_of_detectors},
        {"curved_far_and_near", curved_far_and_near},
        {"small_list", small_list},
        {"jumps", jumps},
        {"halfway", halfway},
        {"pairs_left_out", pairs_left_out},
    };

    int status;

    compiled_device_environment();
    ctx = on_device_context(NB_DEVICE_CUDA);
    status = tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
    nb_context_free(ctx);
    return status;
}
