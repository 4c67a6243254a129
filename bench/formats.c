/*
 * formats.c - nanobrag_bench_formats FOLDER: seconds and bytes of one noisy frame of a
 * detector of 32 panels of 512 x 1024 pixels as NXmx, for each compression, and as miniCBF
 * with one panel as large. The panels are given to the writer itself, since a scene has
 * one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/clock.h"
#include "base/context.h"
#include "image/noise.h"
#include "io/file.h"
#include "io/images/cbf.h"
#include "io/images/exposure.h"
#include "io/images/nxmx.h"
#include "simulator.h"

enum { PANELS = 32, HEIGHT = 512, NFAST = 1024, NSLOW = PANELS * HEIGHT, TURNS = 5 };

static void give_up(const nb_context *ctx)
{
    (void)fprintf(stderr, "nanobrag_bench_formats: %s\n",
                  ctx ? nb_context_message(ctx) : "out of memory");
    exit(1);
}

/* Background of 2 to 30 photons that falls off from the middle, and spots. */
static void fill(int32_t *counts)
{
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++) {
            const uint64_t at = (uint64_t)s * NFAST + (uint64_t)f;
            const double y = s / (NSLOW / 2.0) - 1, x = f / (NFAST / 2.0) - 1;
            const int spot = s % 61 < 3 && f % 53 < 3;
            const double mean = 2 + 28 * exp(-2 * (x * x + y * y)) + (spot ? 300 : 0);

            counts[at] = (int32_t)noise_poisson(1, 0, at, mean);
        }
}

/* What a scene with this many panels would be taken with. */
static void expose(nb_simulator *sim, int panels, struct exposure *out)
{
    nb_description d;
    nb_scene scene;
    nb_source source;

    if (nb_describe(sim, NULL, &d) != NB_OK || nb_resolved(sim, NULL, &scene) != NB_OK
        || nb_source_at(sim, NULL, 0, &source, NULL) != NB_OK
        || exposure_of(sim->ctx, &scene, &d, &source, &sim->window, out) != NB_OK)
        give_up(sim->ctx);
    if (panels > 1) {
        const struct laboratory_panel first = out->panel[0];

        free(out->panel);
        out->panel = calloc((size_t)panels, sizeof *out->panel);
        if (!out->panel) give_up(NULL);
        out->laboratory.npanel = panels;
        for (int i = 0; i < panels; i++) {
            out->panel[i] = first;
            out->panel[i].nslow = NSLOW / panels;
            for (int k = 0; k < 3; k++)
                out->panel[i].origin[k] += first.slow[k] * first.pixel * (HEIGHT + 10) * i;
        }
    }
}

static double write_nxmx(nb_simulator *sim, const char *path, int compression,
                         const nb_array *image)
{
    const nb_nxmx_options options = {.compression = compression,
                                     .level = 1,
                                     .type = NB_INT,
                                     .bits = 32,
                                     .overload = 2147483646};
    const double start = clock_seconds(CLOCK_MONOTONIC);
    struct exposure exposure;
    struct nxmx *nxmx;

    expose(sim, PANELS, &exposure);
    if (nxmx_begin(sim->ctx, path, &options, &nxmx) != NB_OK
        || nxmx_append(nxmx, &exposure, image) != NB_OK || nxmx_end(nxmx) != NB_OK)
        give_up(sim->ctx);
    exposure_free(&exposure);
    return clock_seconds(CLOCK_MONOTONIC) - start;
}

static double write_cbf(nb_simulator *sim, const char *path, const nb_array *image)
{
    const double start = clock_seconds(CLOCK_MONOTONIC);
    struct exposure exposure;

    expose(sim, 1, &exposure);
    if (cbf_write(sim->ctx, path, &exposure, 2147483646, image) != NB_OK) give_up(sim->ctx);
    exposure_free(&exposure);
    return clock_seconds(CLOCK_MONOTONIC) - start;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"deflate", "none", "lz4", "bslz4"};
    const nb_scene scene =
        {.crystal = {.cell = {50}, .default_f = 1},
         .detector = {.nslow = NSLOW, .nfast = NFAST, .pixel = 0.075, .distance = 200},
         .oversample = 1};
    int32_t *counts = malloc((size_t)NSLOW * NFAST * sizeof *counts);
    nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    nb_context *ctx = NULL;
    nb_simulator *sim = NULL;

    if (argc != 2) {
        (void)fprintf(stderr, "usage: nanobrag_bench_formats FOLDER\n");
        return 2;
    }
    if (!counts || nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) give_up(ctx);
    if (nb_simulator_create(ctx, &scene, "", NULL, &sim) != NB_OK) give_up(ctx);
    fill(counts);
    printf("one frame of %d x %d x %d int32, median of %d\n", (int)PANELS, (int)HEIGHT,
           (int)NFAST, (int)TURNS);
    for (int kind = 0; kind <= 4; kind++) {
        double seconds[TURNS];
        char path[4096];

        if (kind < 4 && !nxmx_can_compress(kind)) {
            printf("  NXmx %-8s not available here\n", names[kind]);
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/bench.%s", argv[1], kind < 4 ? "nxs" : "cbf");
        for (int i = 0; i < TURNS; i++)
            seconds[i] = kind < 4 ? write_nxmx(sim, path, kind, &image)
                                  : write_cbf(sim, path, &image);
        qsort(seconds, TURNS, sizeof *seconds, by_value);
        printf("  %s %-8s %6.3f s %6.1f MB\n", kind < 4 ? "NXmx" : "miniCBF",
               kind < 4 ? names[kind] : "", seconds[TURNS / 2],
               (double)file_size(path) * 1e-6);
        (void)remove(path);
    }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    free(counts);
    return 0;
}
