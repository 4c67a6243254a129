/*
 * formats.c - nanobrag_bench_formats FOLDER: seconds and bytes of one noisy frame of a
 * detector of 32 panels of 512 x 1024 pixels as NXmx, for each compression, and as miniCBF
 * with one panel as large.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <nanobrag/nanobrag.h>

#include "timing.h"

enum { PANELS = 32, HEIGHT = 512, NFAST = 1024, NSLOW = PANELS * HEIGHT, TURNS = 5 };

static nb_context *ctx;

static void must(nb_status status)
{
    if (status == NB_OK) return;
    (void)fprintf(stderr, "nanobrag_bench_formats: %s\n",
                  ctx ? nb_context_message(ctx) : "out of memory");
    exit(1);
}

/* Makes the detector of panels, one above the other with gaps, or one rectangle. */
static nb_simulator *make(int panels)
{
    static nb_panel panel[PANELS];
    const double pixel = 0.075;
    nb_scene scene = {.crystal = {.cell = {50}, .default_f = 1},
                      .detector = {.pixel = pixel},
                      .oversample = 1};
    nb_detector *const d = &scene.detector;
    nb_simulator *sim = NULL;

    for (int i = 0; i < panels; i++)
        panel[i] = (nb_panel){.nfast = NFAST,
                              .nslow = HEIGHT,
                              .origin = {-0.5 * NFAST * pixel,
                                         ((HEIGHT + 10) * i - 0.5 * NSLOW) * pixel, 200}};
    if (panels > 0)
        d->convention = NB_CONVENTION_DIALS, d->npanel = panels, d->panel = panel;
    else
        d->nslow = NSLOW, d->nfast = NFAST, d->distance = 200;
    must(nb_simulator_create(ctx, &scene, "", NULL, &sim));
    return sim;
}

/* Background of 2 to 30 photons that falls off from the middle, and spots; with noise. */
static void fill(nb_simulator *sim, nb_array *counts)
{
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 1};
    double *photons = malloc((size_t)NSLOW * NFAST * sizeof *photons);
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);

    if (!photons) must(NB_ERR_MEMORY);
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++) {
            const double y = s / (NSLOW / 2.0) - 1, x = f / (NFAST / 2.0) - 1;
            const int spot = s % 61 < 3 && f % 53 < 3;

            photons[(size_t)s * NFAST + (size_t)f] =
                2 + 28 * exp(-2 * (x * x + y * y)) + (spot ? 300 : 0);
        }
    must(nb_digitize(sim, &how, &image, counts));
    free(photons);
}

static double write_nxmx(nb_simulator *sim, const char *path, int compression,
                         const nb_array *counts)
{
    const nb_nxmx_options options = {.compression = compression, .level = 1};
    const double start = timing_seconds();
    nb_nxmx *file = NULL;

    must(nb_nxmx_create(sim, path, &options, &file));
    must(nb_nxmx_append(file, NULL, counts));
    must(nb_nxmx_close(file));
    return timing_seconds() - start;
}

static double write_cbf(nb_simulator *sim, const char *path, const nb_array *counts)
{
    const double start = timing_seconds();

    must(nb_cbf_write(sim, NULL, path, 0, counts));
    return timing_seconds() - start;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"deflate", "none", "lz4", "bslz4"};
    int32_t *pixels = malloc((size_t)NSLOW * NFAST * sizeof *pixels);
    nb_array counts = nb_array_i32(pixels, NSLOW, NFAST);
    nb_simulator *sim[2];

    if (argc != 2) {
        (void)fprintf(stderr, "usage: nanobrag_bench_formats FOLDER\n");
        return 2;
    }
    if (!pixels) must(NB_ERR_MEMORY);
    must(nb_context_create(NB_API_VERSION, NULL, &ctx));
    sim[0] = make(PANELS), sim[1] = make(0);
    fill(sim[1], &counts);
    (void)printf("one frame of %d x %d x %d int32, median of %d\n", (int)PANELS,
                 (int)HEIGHT, (int)NFAST, (int)TURNS);
    for (int kind = 0; kind <= 4; kind++) {
        double seconds[TURNS];
        struct stat st = {0};
        char path[4096];

        if (kind < 4 && !nb_nxmx_can_compress(kind)) {
            (void)printf("  NXmx %-8s not available here\n", names[kind]);
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/bench.%s", argv[1], kind < 4 ? "nxs" : "cbf");
        for (int i = 0; i < TURNS; i++)
            seconds[i] = kind < 4 ? write_nxmx(sim[0], path, kind, &counts)
                                  : write_cbf(sim[1], path, &counts);
        (void)stat(path, &st);
        (void)printf("  %s %-8s %6.3f s %6.1f MB\n", kind < 4 ? "NXmx" : "miniCBF",
                     kind < 4 ? names[kind] : "", timing_median(seconds, TURNS),
                     (double)st.st_size * 1e-6);
        (void)remove(path);
    }
    for (int i = 0; i < 2; i++) nb_simulator_free(sim[i]);
    nb_context_free(ctx);
    free(pixels);
    return 0;
}
