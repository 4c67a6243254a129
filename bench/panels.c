/*
 * panels.c - nanobrag_bench_panels [-quick]: how long images and gradients of a detector of
 * many panels take beside those of one rectangle with as many pixels at the same places.
 * One thread; seconds of its processor, medians of runs in turn.
 *
 * SPDX-License-Identifier: MIT
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "timing.h"

/* The pixels are those of a JUNGFRAU 16M. */
enum { NFAST = 2048, NSLOW = 8192, MOST_PANELS = 256, TURNS = 5 };

static const double pixel = 0.075, distance = 150; /* mm */

/* A detector cut into columns x rows panels, each a little turned, or not at all (1 x 1).
 */
struct cut {
    int columns, rows, divide; /* divide: of the numbers of pixels, for a quick run */
    nb_panel panel[MOST_PANELS];
};

static void give_up(const nb_context *ctx)
{
    (void)fprintf(stderr, "nanobrag_bench_panels: %s\n",
                  ctx ? nb_context_message(ctx) : "out of memory");
    exit(1);
}

static void put_panels(struct cut *cut, nb_detector *d)
{
    const int nfast = NFAST / cut->divide, nslow = NSLOW / cut->divide;
    const int width = nfast / cut->columns, height = nslow / cut->rows;

    memset(cut->panel, 0, sizeof cut->panel);
    for (int i = 0; i < cut->columns * cut->rows; i++) {
        const int column = i % cut->columns, row = i / cut->columns;
        nb_panel *p = cut->panel + i;

        p->nfast = width, p->nslow = height;
        p->origin[0] = (column * width - 0.5 * nfast) * pixel * cut->divide;
        p->origin[1] = (row * height - 0.5 * nslow) * pixel * cut->divide;
        p->origin[2] = distance;
        if (i == 0) continue;
        p->rotation[0] = 0.1 * (i % 7 - 3);
        p->rotation[1] = 0.1 * (i % 5 - 2);
        p->rotation[2] = 0.1 * (i % 3 - 1);
    }
    d->pixel = pixel * cut->divide;
    d->convention = NB_DIALS;
    d->npanel = cut->columns * cut->rows;
    d->panel = cut->panel;
}

/* What the image shows: a protein's cell, water, and gaussian or square spots. */
static nb_scene scene_of(struct cut *cut, int shape, int ndomains, nb_hkl *hkl)
{
    nb_scene s = {
        .crystal = {.cell = {53.4, 40.5, 29.3, 90, 90, 90},
                    .misset = {10, 20, 30},
                    .ncells = {40, 40, 40},
                    .mosaic = {0.05},
                    .ndomains = ndomains,
                    .shape = shape,
                    .hkl = hkl},
        .beam = {.wavelength = 1.2, .fluence = 1e28},
        .background = {.water = 50},
        .oversample = 1,
    };

    put_panels(cut, &s.detector);
    return s;
}

/* What an image shows, and how it is computed. */
struct kind {
    const char *name;
    int shape, ndomains;
    nb_options options;
};

/* Makes a simulator of a cut, and its image in `pixels`. */
static nb_simulator *make(nb_context *ctx, struct cut *cut, const struct kind *kind,
                          nb_hkl *hkl, const char *names, float *pixels, nb_array *image)
{
    const nb_scene scene = scene_of(cut, kind->shape, kind->ndomains, hkl);
    nb_simulator *sim;
    nb_description d;

    if (nb_simulator_create(ctx, &scene, names, &kind->options, &sim) != NB_OK
        || nb_describe(sim, NULL, &d) != NB_OK)
        give_up(ctx);
    *image = nb_array_f32(pixels, d.nslow, d.nfast);
    return sim;
}

/* ---- images ---- */

static double seconds_of_image(nb_context *ctx, nb_simulator *sim, nb_array *image)
{
    const double start = timing_process_seconds();

    if (nb_forward(sim, NULL, image) != NB_OK) give_up(ctx);
    return timing_process_seconds() - start;
}

static void images(nb_context *ctx, nb_hkl *hkl, int divide)
{
    static const struct kind kinds[] = {
        {"square, lanes, double", NB_SQUARE, 10, {NB_DOUBLE, NB_LANES, 0}},
        {"square, lanes, float", NB_SQUARE, 10, {NB_SINGLE, NB_LANES, 0}},
        {"gauss, spots, double", NB_GAUSS, 100, {NB_DOUBLE, NB_SPOTS, 0}},
        {"gauss, spots, float", NB_GAUSS, 100, {NB_SINGLE, NB_SPOTS, 0}},
    };
    static const int columns[] = {1, 2, 8}, rows[] = {1, 16, 32};
    enum { CUTS = sizeof columns / sizeof *columns };
    const int64_t n = (int64_t)NFAST * NSLOW / divide / divide;
    float *pixels = malloc(sizeof *pixels * (size_t)n);
    struct cut *cut = calloc(CUTS, sizeof *cut);

    if (!pixels || !cut) give_up(NULL);
    (void)printf("%-24s %10s %10s %10s %8s %8s\n", "image, s", "1 panel", "32", "256",
                 "32/1", "256/1");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        double seconds[CUTS][TURNS], median[CUTS];
        nb_simulator *sim[CUTS];
        nb_array image[CUTS];

        for (int c = 0; c < CUTS; c++) {
            cut[c].columns = columns[c], cut[c].rows = rows[c], cut[c].divide = divide;
            sim[c] = make(ctx, cut + c, kinds + k, hkl, NULL, pixels, image + c);
            (void)seconds_of_image(ctx, sim[c], image + c);
        }
        for (int turn = 0; turn < TURNS; turn++)
            for (int c = 0; c < CUTS; c++)
                seconds[c][turn] = seconds_of_image(ctx, sim[c], image + c);
        for (int c = 0; c < CUTS; c++) {
            median[c] = timing_median(seconds[c], TURNS);
            nb_simulator_free(sim[c]);
        }
        (void)printf("%-24s %10.3f %10.3f %10.3f %8.2f %8.2f\n", kinds[k].name, median[0],
                     median[1], median[2], median[1] / median[0], median[2] / median[0]);
    }
    free(pixels);
    free(cut);
}

/* ---- gradients ---- */

/* Memory that is allocated now. */
static double mebibytes_in_use(void)
{
    const struct mallinfo2 now = mallinfo2();

    return (double)(now.uordblks + now.hblkhd) / 1048576;
}

static double seconds_of_loss(nb_context *ctx, nb_simulator *sim, const nb_target *target,
                              nb_normal *normal)
{
    const double start = timing_process_seconds();
    double value;

    if (nb_loss(sim, NULL, target, &value, normal) != NB_OK) give_up(ctx);
    return timing_process_seconds() - start;
}

/* The gradient by cell, orientation and all moves of the panels. */
static void gradients(nb_context *ctx, nb_hkl *hkl, int divide)
{
    static const struct kind kinds[] = {
        {"square, lanes, double", NB_SQUARE, 10, {NB_DOUBLE, NB_LANES, 0}},
        {"gauss, spots, double", NB_GAUSS, 100, {NB_DOUBLE, NB_SPOTS, 0}},
    };
    static const int columns[] = {1, 8}, rows[] = {1, 32};
    const int64_t n = (int64_t)NFAST * NSLOW / divide / divide;
    float *pixels = malloc(2 * sizeof *pixels * (size_t)n);
    struct cut *cut = calloc(2, sizeof *cut);

    if (!pixels || !cut) give_up(NULL);
    (void)printf("\n%-24s %10s %10s %8s %12s %12s\n", "gradient of a loss, s", "1 panel",
                 "256", "256/1", "parameters", "MiB");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        double seconds[2][TURNS], median[2], mebibytes[2];
        nb_simulator *sim[2];
        nb_array image[2];
        nb_target target[2] = {{.kind = NB_POISSON}, {.kind = NB_POISSON}};
        nb_normal normal[2] = {{0}, {0}};
        size_t number[2];

        for (int c = 0; c < 2; c++) {
            const double before = mebibytes_in_use();

            cut[c].columns = columns[c], cut[c].rows = rows[c], cut[c].divide = divide;
            sim[c] = make(ctx, cut + c, kinds + k, hkl, "cell misset panel_shift panel_rot",
                          pixels + c * n, image + c);
            if (nb_forward(sim[c], NULL, image + c) != NB_OK) give_up(ctx);
            target[c].observed = image + c;
            number[c] = nb_nparam(sim[c]);
            normal[c].gradient = calloc(number[c], sizeof(double));
            if (!normal[c].gradient) give_up(NULL);
            (void)seconds_of_loss(ctx, sim[c], target + c, normal + c);
            mebibytes[c] = mebibytes_in_use() - before;
        }
        for (int turn = 0; turn < TURNS; turn++)
            for (int c = 0; c < 2; c++)
                seconds[c][turn] = seconds_of_loss(ctx, sim[c], target + c, normal + c);
        for (int c = 0; c < 2; c++) {
            median[c] = timing_median(seconds[c], TURNS);
            free(normal[c].gradient);
            nb_simulator_free(sim[c]);
        }
        (void)printf("%-24s %10.3f %10.3f %8.2f %5zu %6zu %5.0f %6.0f\n", kinds[k].name,
                     median[0], median[1], median[1] / median[0], number[0], number[1],
                     mebibytes[0], mebibytes[1]);
    }
    free(pixels);
    free(cut);
}

int main(int argc, char **argv)
{
    const nb_context_options options = {.threads = 1};
    const int divide = argc > 1 && !strcmp(argv[1], "-quick") ? 8 : 1;
    nb_context *ctx;
    nb_hkl *hkl;

    if (argc > 2 || (argc == 2 && divide == 1)) {
        (void)fprintf(stderr, "usage: nanobrag_bench_panels [-quick]\n");
        return 2;
    }
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) give_up(NULL);
    if (nb_hkl_read(ctx, BENCH_LIST, &hkl) != NB_OK) give_up(ctx);
    images(ctx, hkl, divide);
    gradients(ctx, hkl, divide);
    nb_hkl_free(hkl);
    nb_context_free(ctx);
    return 0;
}
