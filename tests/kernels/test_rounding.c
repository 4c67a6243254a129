/*
 * test_rounding.c - the errors of rounding: crystals from 1 to 1000 cells of 10 to 1000 A,
 * all wavelengths, near and far, at low and at high angles, in every precision and
 * strategy, compared with the reference kernel. In each image a pixel is on the flank of a
 * reflection, where rounding has the greatest effect.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { NFAST = 64, NSLOW = 40, PIXELS = NFAST * NSLOW, AT_FAST = 49, AT_SLOW = 29 };

static const struct renders_way reference = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0,
                                             1, NULL};

enum { WAYS = 4 };
static const char *const way_names[WAYS] = {"double", "float", "spots", "spots float"};
static const struct renders_way ways[WAYS] = {
    {NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0, 1, NULL},
    {NB_PRECISION_SINGLE, NB_STRATEGY_LANES, 0, 1, NULL},
    {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0, 1, NULL},
    {NB_PRECISION_SINGLE, NB_STRATEGY_SPOTS, 0, 1, NULL},
};

/* ---- the grid ---- */
static const double counts[] = {1, 2, 5, 20, 100, 300, 1000};
static const double wavelengths[] = {0.5, 1, 2.5, 6};
static const double cells[][6] = {
    {10, 10, 10, 90, 90, 90},        {40, 40, 40, 90, 90, 90},
    {150, 150, 150, 90, 90, 90},     {500, 500, 500, 90, 90, 90},
    {45, 60, 80, 75, 100, 110},      {15, 110, 480, 90, 97, 90},
    {1000, 1000, 1000, 80, 90, 100},
};
static const struct {
    double distance, pixel, twotheta; /* mm, mm, degree */
} places[] = {{30, 0.4, 0}, {100, 0.1, 25}, {300, 0.3, 75}, {1000, 1.2, 0}};

static nb_scene scene_of(int shape, double count, size_t cell, double wavelength,
                         size_t place)
{
    nb_scene s = {0};

    memcpy(s.crystal.cell, cells[cell], sizeof s.crystal.cell);
    for (int i = 0; i < 3; i++) {
        s.crystal.ncells[i] = count;
        s.crystal.misset[i] = 17 + 29 * i;
    }
    s.crystal.shape = shape;
    s.crystal.default_f = 100;
    s.beam.wavelength = wavelength;
    s.beam.polarization = 0.9;
    s.detector.convention = NB_CONVENTION_XDS; /* two theta turns about the crystal */
    s.detector.nfast = NFAST;
    s.detector.nslow = NSLOW;
    s.detector.distance = places[place].distance;
    s.detector.pixel = places[place].pixel;
    s.detector.twotheta = places[place].twotheta;
    s.oversample = 1;
    return s;
}

/* F of the reflections about one, from 0 to 200 */
static nb_hkl *reflections_about(const int at[3])
{
    enum { MOST = 5, SIDE = 2 * MOST + 1 };
    static int hkl[SIDE * SIDE * SIDE][3];
    static double f[SIDE * SIDE * SIDE];
    nb_context *ctx;
    nb_hkl *made;
    size_t n = 0;

    for (int h = -MOST; h <= MOST; h++)
        for (int k = -MOST; k <= MOST; k++)
            for (int l = -MOST; l <= MOST; l++) {
                hkl[n][0] = at[0] + h, hkl[n][1] = at[1] + k, hkl[n][2] = at[2] + l;
                f[n++] = 100 * (1 + cos(1.3 * h + 2.1 * k + 0.7 * l));
            }
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || nb_hkl_create(ctx, n, hkl[0], f, &made) != NB_OK)
        abort();
    nb_context_free(ctx);
    return made;
}

/* ---- what is found ---- */

/* the worst of many images, as parts of what is allowed */
struct worst_image {
    struct worst over;
    double measured, allowed;
    char scene[120];
};

static void keep_worst(struct worst_image *w, double measured, double allowed,
                       const char *scene)
{
    const size_t before = w->over.count;

    worst_add(&w->over, measured, 0, allowed);
    if (w->over.at < before) return;
    w->measured = measured;
    w->allowed = allowed;
    (void)snprintf(w->scene, sizeof w->scene, "%s", scene);
}

static void check_image(const char *name, const char *what, const struct worst_image *w)
{
    worst_check(&w->over, 1, "%s: %s %.2g allowed %.2g (%s)", name, what, w->measured,
                w->allowed, w->scene);
}

/* of one number of cells and one way */
struct found {
    struct worst_image pixel, estimate, correlation;
    int images, small, precise;
};

static int has_contrast(const double *image)
{
    double low = image[0], high = image[0];

    for (int i = 0; i < PIXELS; i++) {
        low = fmin(low, image[i]);
        high = fmax(high, image[i]);
    }
    return high - low > 0.1 * high;
}

static void look(const nb_scene *scene, const char *name, const double *truth,
                 double rounding, struct found *found)
{
    static double image[PIXELS];

    for (int w = 0; w < WAYS; w++) {
        const double allowed = ways[w].precision == NB_PRECISION_SINGLE ? 1e-5 : rounding;
        struct found *f = found + w;
        nb_description about;
        struct renders_gap gap;
        double dropped;

        if (ways[w].strategy == NB_STRATEGY_SPOTS
            && (scene->crystal.shape == NB_SHAPE_SQUARE
                || scene->crystal.shape == NB_SHAPE_ROUND))
            continue;
        if (!renders_image(scene, &ways[w], image, &about)) continue;
        dropped = about.strategy == NB_STRATEGY_SPOTS ? about.tolerance : 0;
        gap = renders_compare(image, truth, PIXELS);
        f->images++;
        f->small += about.tiles_small > 0;
        f->precise += about.tiles_double > 0;
        keep_worst(&f->pixel, gap.worst, allowed + dropped, name);
        keep_worst(&f->estimate, gap.worst, about.rounding + dropped, name);
        if (has_contrast(truth)) keep_worst(&f->correlation, gap.uncorrelated, 1e-10, name);
    }
}

/* a scene aimed at a pixel; 1 look-up out of three */
static void try_scene(nb_scene scene, const char *name, int lookup, struct found *found)
{
    static double truth[PIXELS];
    /* half way down: the metric of gauss_star is not that of the indices */
    const double off = scene.crystal.shape == NB_SHAPE_GAUSS_STAR ? 0.08 : 0.3;
    int at[3];
    nb_hkl *list = NULL;

    if (!renders_aim(&scene, AT_SLOW, AT_FAST, off, at)) return;
    if (lookup > 0) {
        scene.crystal.hkl = list = reflections_about(at);
        scene.crystal.interpolate = lookup == 1 ? NB_LOOKUP_NEAREST : NB_LOOKUP_TRICUBIC;
    }
    if (renders_image(&scene, &reference, truth, NULL))
        look(&scene, name, truth, renders_allowed(&scene), found);
    nb_hkl_free(list);
}

static void report(double count, const struct found *found)
{
    for (int w = 0; w < WAYS; w++) {
        const struct found *f = found + w;
        char name[80];

        if (f->images == 0) continue;
        (void)snprintf(name, sizeof name, "N = %g, %s", count, way_names[w]);
        check_image(name, "pixels, rounding", &f->pixel);
        check_image(name, "pixels, the estimate", &f->estimate);
        if (ways[w].precision == NB_PRECISION_SINGLE)
            check_image(name, "1 - correlation", &f->correlation);
        tap_note("%s: tiles divided in %d of %d images, in double in %d", name, f->small,
                 f->images, f->precise);
    }
}

/* of the shape that the running case is named after */
static int grid(void)
{
    static const char *const cases[] = {"grid_square", "grid_round", "grid_gauss",
                                        "grid_tophat", "grid_gauss_star"};
    static const char *const lookups[] = {"constant", "nearest", "tricubic"};
    struct found found[WAYS];
    int rotation = 0, shape = NB_SHAPE_SQUARE;

    while (strcmp(tap_running(), cases[shape]) != 0) shape++;
    for (size_t n = 0; n < COUNT(counts); n++) {
        memset(found, 0, sizeof found);
        for (size_t c = 0; c < COUNT(cells); c++)
            for (size_t w = 0; w < COUNT(wavelengths); w++)
                for (size_t p = 0; p < COUNT(places); p++, rotation++) {
                    const int lookup = rotation % 3;
                    char name[120];

                    (void)snprintf(name, sizeof name, "cell %g %g %g, %g A, %g mm, %s",
                                   cells[c][0], cells[c][1], cells[c][2], wavelengths[w],
                                   places[p].distance, lookups[lookup]);
                    try_scene(scene_of(shape, counts[n], c, wavelengths[w], p), name,
                              lookup, found);
                }
        report(counts[n], found);
    }
    return TAP_PASS;
}

/* A sensor that stops one photon in ten million, layer by layer: what it stops is the
 * difference of two numbers next to 1. */
static int thin_sensor(void)
{
    static double truth[PIXELS], image[PIXELS];
    static const double thickness[] = {1, 0.1, 1e-4};

    for (size_t i = 0; i < COUNT(thickness); i++)
        for (int layers = 1; layers <= 4; layers += 3) {
            const struct renders_way way = {NB_PRECISION_SINGLE, NB_STRATEGY_LANES, 0, 1,
                                            NULL};
            nb_scene s = scene_of(NB_SHAPE_SQUARE, 5, 1, 1, 0);
            struct worst worst = {0};

            s.detector.thickness = thickness[i];
            s.detector.attenuation = 1000;
            s.detector.nlayers = layers;
            if (!renders_image(&s, &reference, truth, NULL)
                || !renders_image(&s, &way, image, NULL))
                continue;
            worst_add_all(&worst, image, truth, PIXELS, worst_largest(truth, PIXELS));
            worst_check(&worst, 1e-5, "%g um of 1000 um, %d layers, float, of the peak",
                        thickness[i], layers);
        }
    return TAP_PASS;
}

/* Crystals so small that F^2 is not near 0 halfway between two reflections, where it jumps
 * from one to the other: float must know on which side a sample lies. Of 40960 samples in
 * 12 orientations some lie within its rounding. */
static int jumps(void)
{
    static const struct {
        int shape;
        double count, fudge;
    } crystals[] = {{NB_SHAPE_SQUARE, 1, 1},      {NB_SHAPE_SQUARE, 2, 1},
                    {NB_SHAPE_ROUND, 2, 1},       {NB_SHAPE_GAUSS, 3, 0.05},
                    {NB_SHAPE_GAUSS, 2, 1},       {NB_SHAPE_GAUSS_STAR, 2, 1},
                    {NB_SHAPE_GAUSS_STAR, 3, 0.3}};
    static double truth[PIXELS], image[PIXELS];
    const struct renders_way way = {NB_PRECISION_SINGLE, NB_STRATEGY_LANES, 0, 1, NULL};
    static const int origin[3] = {0, 0, 0};
    nb_hkl *list = reflections_about(origin);

    for (size_t i = 0; i < COUNT(crystals); i++) {
        struct worst worst = {0};

        for (int rotation = 0; rotation < 12; rotation++) {
            nb_scene s = scene_of(crystals[i].shape, crystals[i].count, 4, 1, 0);

            s.crystal.fudge = crystals[i].fudge;
            for (int k = 0; k < 3; k++) s.crystal.misset[k] = 17 * rotation + 29 * k;
            s.crystal.hkl = list;
            s.crystal.interpolate = NB_LOOKUP_NEAREST;
            s.oversample = 4;
            if (renders_image(&s, &reference, truth, NULL)
                && renders_image(&s, &way, image, NULL))
                worst_add_all(&worst, image, truth, PIXELS, worst_largest(truth, PIXELS));
        }
        worst_check(&worst, 1e-5, "shape %d, N = %g, of the peak", crystals[i].shape,
                    crystals[i].count);
        tap_check(worst.error > 0, "float was used");
    }
    nb_hkl_free(list);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"grid_square", grid},        {"grid_round", grid},  {"grid_gauss", grid},
        {"grid_gauss_star", grid},    {"grid_tophat", grid}, {"jumps", jumps},
        {"thin_sensor", thin_sensor},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
