/*
 * stills.c - nanobrag_bench_stills STILLS SIDE THREADS FOLDER [WHAT...]: how many stills
 * of SIDE x SIDE pixels are made in a second, of crystals in random orientations, with
 * water, photon noise and NXmx files, as -shots makes them. WHAT are rows of the table; all
 * without.
 *
 * The scene is that of docs/xfel.md, 102.4 mm wide: the reflections of 2ERL, blocks of 12 x
 * 28 x 28 cells in five mosaic domains, 5 um of water. Each row makes the same stills. Exit
 * status 1: a file could not be written, or an image that nb_forward_batch() computed has
 * not the bits of a single one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "timing.h"

enum { BATCH = 16, PARAMETERS = 4, SIDE_MOST = 8192, USAGE = 2 };

/* What is done with an image beside computing it. */
enum { IMAGES, BATCHES, NOISE, WRITTEN };
struct row {
    const char *name;
    int does;
    int compression; /* of WRITTEN */
};
static const struct row rows[] = {
    {"images", IMAGES, 0},
    {"batches", BATCHES, 0},
    {"noise", NOISE, 0},
    {"none", WRITTEN, NB_COMPRESSION_NONE},
    {"deflate", WRITTEN, NB_COMPRESSION_DEFLATE},
    {"lz4", WRITTEN, NB_COMPRESSION_LZ4},
    {"bslz4", WRITTEN, NB_COMPRESSION_BSLZ4},
};
static const char *const words[] = {
    [IMAGES] = "images, one after the other",
    [BATCHES] = "images, 16 in a call",
    [NOISE] = "with photon noise",
    [WRITTEN] = "with noise, as NXmx",
};

struct bench {
    nb_context *ctx;
    nb_simulator *sim;
    const char *folder;
    int stills, side;
    size_t pixels;
    double *image[BATCH]; /* photons */
    int32_t *counts;
};

static void give_up(const nb_context *ctx)
{
    (void)fprintf(stderr, "nanobrag_bench_stills: %s\n",
                  ctx ? nb_context_message(ctx) : "out of memory");
    exit(1);
}

static void must(const struct bench *b, nb_status status)
{
    if (status != NB_OK) give_up(b->ctx);
}

/* ---- the stills ---- */

/* A number of [0, 1), the same for a seed on every machine (splitmix64). */
static double draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The parameters of still i: a rotation vector of a uniform orientation, in degrees, from a
 * random unit quaternion, and the photons of its pulse. */
static void still_at(int i, double x[PARAMETERS])
{
    const double turn = 2 * acos(-1);
    uint64_t state = 1000003ULL * (uint64_t)(i + 1);
    const double u = draw(&state), v = turn * draw(&state), w = turn * draw(&state);
    const double q[4] = {sqrt(1 - u) * sin(v), sqrt(1 - u) * cos(v), sqrt(u) * sin(w),
                         sqrt(u) * cos(w)};
    const double sine = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    const double angle = 2 * atan2(sine, q[0]) * 360 / turn;

    for (int k = 0; k < 3; k++) x[k] = angle * q[k + 1] / sine;
    x[3] = 1e23 * (0.5 + draw(&state));
}

static void open_scene(struct bench *b, int threads, const char *list)
{
    const nb_context_options how = {.threads = threads};
    nb_scene scene = {.crystal = {.cell = {53.91, 23.10, 23.10, 90, 110.4, 90},
                                  .ncells = {12, 28, 28},
                                  .mosaic = {0.2},
                                  .ndomains = 5,
                                  .shape = NB_SHAPE_GAUSS,
                                  .scale = 4e3},
                      .beam = {.wavelength = 1.3, .fluence = 1e23},
                      .background = {.water = 5},
                      .detector = {.nslow = b->side,
                                   .nfast = b->side,
                                   .pixel = 102.4 / b->side,
                                   .distance = 80}};
    nb_hkl *hkl = NULL;

    if (nb_context_create(NB_API_VERSION, &how, &b->ctx) != NB_OK) give_up(NULL);
    must(b, nb_hkl_read(b->ctx, list, &hkl));
    scene.crystal.hkl = hkl;
    must(b, nb_simulator_create(b->ctx, &scene, "rotation fluence", NULL, &b->sim));
    nb_hkl_free(hkl);
    if (nb_simulator_nparam(b->sim) != PARAMETERS) give_up(b->ctx);
    b->counts = malloc(b->pixels * sizeof *b->counts);
    if (!b->counts) give_up(NULL);
    for (int k = 0; k < BATCH; k++) {
        b->image[k] = malloc(b->pixels * sizeof *b->image[k]);
        if (!b->image[k]) give_up(NULL);
    }
}

static void close_scene(struct bench *b)
{
    for (int k = 0; k < BATCH; k++) free(b->image[k]);
    free(b->counts);
    nb_simulator_free(b->sim);
    nb_context_free(b->ctx);
}

/* ---- a row of the table ---- */

/* Makes stills i .. i + n - 1; the first is given noise and written where a row does so. */
static void make(struct bench *b, const struct row *row, int i, int n, nb_nxmx *file)
{
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 1, .image = (uint32_t)i};
    nb_array image[BATCH], counts = nb_array_i32(b->counts, b->side, b->side);
    double x[BATCH][PARAMETERS];

    for (int k = 0; k < n; k++) {
        still_at(i + k, x[k]);
        image[k] = nb_array_f64(b->image[k], b->side, b->side);
    }
    if (row->does == BATCHES)
        must(b, nb_forward_batch(b->sim, n, x[0], image));
    else
        must(b, nb_forward(b->sim, x[0], image));
    if (row->does >= NOISE) must(b, nb_digitize(b->sim, &how, image, &counts));
    if (file) must(b, nb_nxmx_append(file, x[0], &counts));
}

/* Megabytes of a file, as text; "-" without one. */
static const char *size_of(const char *path, char text[32])
{
    struct stat st;

    if (stat(path, &st) != 0) return "-";
    (void)snprintf(text, 32, "%.3g", 1e-6 * (double)st.st_size);
    return text;
}

static void run_row(struct bench *b, const struct row *row)
{
    const nb_nxmx_options how = {.compression = row->compression, .stills = 1};
    const int step = row->does == BATCHES ? BATCH : 1, n = b->stills;
    char path[4096], what[64], size[32];
    nb_nxmx *file = NULL;
    double wall, cpu;

    (void)snprintf(path, sizeof path, "%s/stills.nxs", b->folder);
    (void)snprintf(what, sizeof what, "%s%s%s", words[row->does],
                   row->does == WRITTEN ? ", " : "", row->does == WRITTEN ? row->name : "");
    if (row->does == WRITTEN && !nb_nxmx_can_compress(row->compression)) {
        (void)printf("%-30s not run: no HDF5, or without this filter\n", what);
        return;
    }
    wall = timing_seconds();
    cpu = timing_process_seconds();
    if (row->does == WRITTEN) must(b, nb_nxmx_create(b->sim, path, &how, &file));
    for (int i = 0; i < n; i += step) make(b, row, i, n - i < step ? n - i : step, file);
    must(b, nb_nxmx_close(file));
    wall = timing_seconds() - wall;
    cpu = timing_process_seconds() - cpu;
    (void)printf("%-30s %9.4g %9.4g %9.4g %9s\n", what, n / wall, 1e3 * wall / n,
                 1e3 * cpu / n, size_of(path, size));
    (void)fflush(stdout);
    (void)unlink(path);
}

/* Returns 1 if the images of a batch have the bits of single ones. */
static int batch_is_same(struct bench *b)
{
    double *const kept = malloc(BATCH * b->pixels * sizeof *kept);
    int same = 1;

    if (!kept) give_up(NULL);
    make(b, rows + BATCHES, 0, BATCH, NULL);
    for (size_t k = 0; k < BATCH; k++)
        memcpy(kept + k * b->pixels, b->image[k], b->pixels * sizeof *kept);
    for (size_t k = 0; k < BATCH; k++) {
        make(b, rows + IMAGES, (int)k, 1, NULL);
        same &= memcmp(kept + k * b->pixels, b->image[0], b->pixels * sizeof *kept) == 0;
    }
    free(kept);
    (void)printf("images of a batch %s the bits of single ones\n",
                 same ? "have" : "DO NOT HAVE");
    return same;
}

static int is_wanted(const struct row *row, int n, char **names)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], row->name) == 0) return 1;
    return n == 0;
}

int main(int argc, char **argv)
{
    struct bench b = {.stills = argc > 4 ? atoi(argv[1]) : 0};
    const int threads = argc > 4 ? atoi(argv[3]) : 0;
    int same;

    b.side = argc > 4 ? atoi(argv[2]) : 0;
    if (b.stills < 1 || b.side < 1 || b.side > SIDE_MOST || threads < 1) {
        (void)fprintf(stderr,
                      "usage: nanobrag_bench_stills STILLS SIDE THREADS FOLDER [images|"
                      "batches|noise|none|deflate|lz4|bslz4]...\n");
        return USAGE;
    }
    b.folder = argv[4];
    b.pixels = (size_t)b.side * (size_t)b.side;
    open_scene(&b, threads, BENCH_LIST);
    same = batch_is_same(&b); /* and everything is warm */
    (void)printf("%d stills of %d x %d pixels, %d thread%s\n", b.stills, b.side, b.side,
                 nb_context_threads(b.ctx), threads > 1 ? "s" : "");
    (void)printf("%-30s %9s %9s %9s %9s\n", "", "stills/s", "ms", "ms of CPU", "MB");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_wanted(rows + i, argc - 5, argv + 5)) run_row(&b, rows + i);
    close_scene(&b);
    return !same;
}
