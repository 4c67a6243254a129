/*
 * test_box_calls.c - what is said of boxes besides their pixels: which ones
 * nb_simulator_boxes() finds, which ones are refused, how much memory they take, and that
 * derivatives in boxes are those of the image.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"

static void require(nb_context *ctx, nb_status status)
{
    if (status == NB_OK) return;
    tap_check(0, "%s", nb_context_message(ctx));
    exit(1);
}

static nb_simulator *make(nb_context *ctx, const nb_scene *s, const char *names)
{
    nb_simulator *sim;

    require(ctx, nb_simulator_create(ctx, s, names, NULL, &sim));
    return sim;
}

/* ---- nb_simulator_boxes() ---- */

enum { SIDE = 400, EDGE = 21, MOST = 30 };

/* Spots of some pixels, apart from each other, of several domains; a swung detector that
 * the direct beam misses. */
static nb_scene still(void)
{
    static const double cell[6] = {50, 60, 70, 80, 95, 105}, misset[3] = {10, 20, 30};
    nb_scene s = {0};

    memcpy(s.crystal.cell, cell, sizeof cell);
    memcpy(s.crystal.misset, misset, sizeof misset);
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 9;
    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.default_f = 100;
    s.crystal.mosaic[0] = 0.2;
    s.crystal.ndomains = 4;
    s.beam.fluence = 1e24;
    s.detector.nfast = s.detector.nslow = SIDE;
    s.detector.distance = 100;
    s.detector.twotheta = 20;
    s.oversample = 1;
    return s;
}

/* The same with one domain, where the peak of a spot is as bright as its reflection. */
static nb_scene one_domain(void)
{
    nb_scene s = still();

    s.crystal.mosaic[0] = 0;
    s.crystal.ndomains = 1;
    return s;
}

static int holds(const int *box, int s, int f)
{
    return f >= box[0] && f < box[1] && s >= box[2] && s < box[3];
}

/* Returns the brightest pixel inside a box or, if `inside` is 0, outside all n boxes. */
static double peak_of(const double *image, const int (*box)[4], size_t n, int inside)
{
    double peak = 0;

    for (int i = 0; i < SIDE * SIDE; i++) {
        int in = 0;

        for (size_t k = 0; k < n && !in; k++) in = holds(box[k], i / SIDE, i % SIDE);
        if (in == inside) peak = fmax(peak, image[i]);
    }
    return peak;
}

/* against the image: what the boxes leave out is darker than what is in any of them */
static int brightest_first(void)
{
    static double image[SIDE * SIDE];
    nb_context *ctx = renders_context(2);
    const nb_scene s = one_domain();
    nb_simulator *sim = make(ctx, &s, "misset");
    nb_array whole = nb_array_f64(image, SIDE, SIDE);
    int box[MOST][4], fewer[MOST / 2][4];
    size_t n = 0, half = 0;
    double last = 0, outside, peak;

    require(ctx, nb_simulator_boxes(sim, NULL, EDGE, MOST, box[0], &n));
    require(ctx, nb_simulator_boxes(sim, NULL, EDGE, MOST / 2, fewer[0], &half));
    tap_check(n == MOST && half == MOST / 2 && memcmp(box, fewer, sizeof fewer) == 0,
              "%zu boxes, and %zu that are the first of them", n, half);
    require(ctx, nb_forward(sim, NULL, &whole));
    outside = peak_of(image, (const int(*)[4])box, n, 0);
    peak = peak_of(image, (const int(*)[4])box, 1, 1);
    /* a pixel half a pixel beside its reflection along both axes loses a third, and the
     * factor of the solid angle, which does not count, falls to 0.94 at a corner */
    tap_check(peak > 0.6 * fmax(outside, peak_of(image, (const int(*)[4])box, n, 1)),
              "the first box holds %.3g photons, any pixel at most %.3g", peak,
              fmax(outside, peak_of(image, (const int(*)[4])box, n, 1)));
    for (size_t i = 0; i < n; i++) {
        const double own = peak_of(image, (const int(*)[4])(box + i), 1, 1);

        last = i == 0 || own < last ? own : last;
    }
    /* a pixel samples its spot up to half a pixel beside its place */
    tap_check(outside < 1.2 * last && last < peak,
              "outside up to %.3g photons, in each box at least one of %.3g", outside,
              last);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* in the middle of the boxes the indices are whole, and the boxes end with the detector */
static int places(void)
{
    nb_context *ctx = renders_context(1);
    const nb_scene s = still();
    nb_simulator *sim = make(ctx, &s, "");
    int box[MOST][4], wrong = 0, cut = 0;
    size_t n;

    require(ctx, nb_simulator_boxes(sim, NULL, 5, MOST, box[0], &n));
    for (size_t i = 0; i < n; i++) {
        const int f = box[i][0] + 2, l = box[i][2] + 2;
        nb_pixel_trace trace;

        if (box[i][1] - box[i][0] < 5 || box[i][3] - box[i][2] < 5) continue;
        require(ctx, nb_simulator_trace(sim, NULL, 0, l, f, &trace));
        for (int k = 0; k < 3; k++) wrong += fabs(trace.h[k] - trace.hkl[k]) > 0.1;
    }
    tap_check(n == MOST && wrong == 0,
              "%d indices in the middle of %zu boxes are not whole", wrong, n);
    require(ctx, nb_simulator_boxes(sim, NULL, 301, MOST, box[0], &n));
    for (size_t i = 0; i < n; i++) {
        wrong += box[i][0] < 0 || box[i][1] > SIDE || box[i][2] < 0 || box[i][3] > SIDE;
        cut += box[i][1] - box[i][0] < 301 || box[i][3] - box[i][2] < 301;
    }
    tap_check(wrong == 0 && cut > 0, "%d of %zu boxes end with the detector", cut, n);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* threads, an ROI, a mask, the simulator's own boxes, and x */
static int what_counts(void)
{
    static uint8_t mask[SIDE * SIDE];
    static const int own[4] = {0, 1, 0, 1};
    int all[MOST][4], box[MOST][4], moved = 0;
    const int roi[4] = {50, 390, 20, 300};
    nb_scene s = still();
    size_t n, count;
    double x[3];

    for (int i = 0; i < SIDE * SIDE; i++) mask[i] = i % SIDE < 200;
    for (int k = 0; k < 4; k++) {
        nb_context *ctx = renders_context(k == 1 ? 3 : 1);
        nb_simulator *sim;
        int outside = 0;

        s.detector.box = k == 1 ? own : NULL;
        s.detector.nbox = k == 1;
        if (k >= 2) memcpy(s.detector.roi, roi, sizeof roi);
        if (k == 3) s.detector.mask = mask;
        sim = make(ctx, &s, "misset");
        require(ctx, nb_simulator_boxes(sim, NULL, 9, MOST, k == 0 ? all[0] : box[0], &n));
        if (k == 1)
            tap_check(memcmp(all, box, sizeof all) == 0,
                      "the same for three threads and in a box");
        for (size_t i = 0; k >= 2 && i < n; i++) {
            const int f = box[i][0] + 4, l = box[i][2] + 4;

            outside += f < roi[0] || f >= roi[1] || l < roi[2] || l >= roi[3]
                       || (k == 3 && f >= 200);
        }
        if (k >= 2) tap_check(outside == 0 && n > 0, "%zu inside the window", n);
        for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
            nb_param param;

            require(ctx, nb_simulator_param(sim, i, &param));
            x[i] = param.value + 3;
        }
        require(ctx, nb_simulator_boxes(sim, x, 9, MOST, box[0], &count));
        moved += memcmp(all, box, sizeof all) != 0;
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    tap_check(moved == 4, "others at another x");
    return TAP_PASS;
}

/* ---- what is refused ---- */

static void refuse(nb_context *ctx, const int *box, size_t nbox, const char *words)
{
    nb_scene s = still();
    nb_simulator *sim = NULL;
    nb_status status;

    s.detector.box = box;
    s.detector.nbox = nbox;
    status = nb_simulator_create(ctx, &s, NULL, NULL, &sim);
    tap_check(status != NB_OK && strstr(nb_context_message(ctx), words)
                  && !strchr(nb_context_message(ctx), '\n'),
              "%s", nb_context_message(ctx));
    nb_simulator_free(sim);
}

static int refused(void)
{
    static const int wrong[][8] = {{0, 9, 0, 9, -1, 5, 0, 5},
                                   {0, 9, 0, 9, 5, 5, 0, 5},
                                   {0, 9, 0, 9, 5, 4, 0, 5},
                                   {0, 9, 0, 9, 0, 5, 7, 3},
                                   {0, 9, 0, 9, 390, 401, 0, 5},
                                   {0, 9, 0, 9, 0, 5, 400, 401},
                                   {0, 9, 0, 9, 0, 5, -3, 5}};
    nb_context *ctx = renders_context(1);
    const nb_scene s = still();
    nb_simulator *sim = make(ctx, &s, "");
    int box[4];
    size_t n;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(ctx, wrong[i], 2, "box 2 is");
    refuse(ctx, NULL, 3, "detector.box is NULL");
    tap_check(nb_simulator_boxes(sim, NULL, 0, 1, box, &n) == NB_ERR_ARGUMENT, "%s",
              nb_context_message(ctx));
    tap_check(nb_simulator_boxes(sim, NULL, 1, 1, NULL, &n) == NB_ERR_ARGUMENT
                  && nb_simulator_boxes(sim, NULL, 1, 1, box, NULL) == NB_ERR_ARGUMENT
                  && nb_simulator_boxes(NULL, NULL, 1, 1, box, &n) == NB_ERR_ARGUMENT,
              "no place for boxes, and no simulator");
    tap_check(nb_simulator_boxes(sim, NULL, 1, 0, box, &n) == NB_OK && n == 0,
              "no boxes wanted");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- memory ---- */

/* Returns the bytes that a simulator holds after a loss with its gradient and, if asked
 * for, its matrix. */
static double bytes_after(const nb_scene *s, int strategy, int with_matrix)
{
    nb_context *ctx = renders_context(1);
    const nb_options options = {NB_PRECISION_DOUBLE, strategy, 0};
    const int side = s->detector.nfast;
    double *observed = calloc((size_t)side * (size_t)side, sizeof *observed);
    const nb_array data = nb_array_f64(observed, side, side);
    const nb_target target = {.kind = NB_LOSS_GAUSS,
                              .observed = &data,
                              .sigma_readout = 1,
                              .background =
                                  s->detector.nbox > 0 ? NB_BACKGROUND_PLANES : 0};
    double value, gradient[32] = {0}, matrix[32 * 32] = {0};
    nb_normal slopes = {.gradient = gradient}, normal = {.matrix = matrix};
    nb_compile_stats stats;
    nb_simulator *sim;

    if (!observed) abort();
    require(ctx, nb_simulator_create(ctx, s, "cell misset scale origin", &options, &sim));
    require(ctx, nb_loss(sim, NULL, &target, &value, NULL));
    require(ctx, nb_loss(sim, NULL, &target, &value, &slopes));
    if (with_matrix) require(ctx, nb_loss(sim, NULL, &target, &value, &normal));
    nb_simulator_stats(sim, &stats);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    free(observed);
    return (double)stats.bytes;
}

/* A whole image of that many pixels has the spots of SIDE x SIDE: its pixels are smaller
 * and its crystal is larger. */
static nb_scene finer_still(int side)
{
    nb_scene s = still();

    s.detector.nfast = s.detector.nslow = side;
    s.detector.pixel *= (double)SIDE / side;
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] *= (double)side / SIDE;
    s.crystal.mosaic[0] *= (double)SIDE / side;
    return s;
}

/* The bytes where only boxes or an ROI are rendered, by lanes with the matrix: by spots
 * that also keeps lists of spots, which memory_of_a_matrix() looks at. */
static double bytes_of_part(int side, int strategy, const int (*box)[4], size_t nbox,
                            int roi)
{
    nb_scene s = still();

    s.detector.nfast = s.detector.nslow = side;
    s.detector.box = nbox > 0 ? box[0] : NULL;
    s.detector.nbox = nbox;
    s.detector.roi[1] = s.detector.roi[3] = roi;
    return bytes_after(&s, strategy, strategy == NB_STRATEGY_LANES);
}

/* an ROI or boxes take the memory of their pixels, whatever the detector */
static int memory(void)
{
    static const int strategies[] = {NB_STRATEGY_LANES, NB_STRATEGY_SPOTS};
    int box[MOST][4];

    for (int i = 0; i < MOST; i++) {
        box[i][0] = 5 + i * 13, box[i][1] = box[i][0] + 12;
        box[i][2] = 380 - i * 11, box[i][3] = box[i][2] + 12;
    }
    for (int k = 0; k < 2; k++) {
        const char *name = k ? "spots" : "lanes";
        const double small =
            bytes_of_part(SIDE, strategies[k], (const int(*)[4])box, MOST, 0);
        const double large =
            bytes_of_part(4000, strategies[k], (const int(*)[4])box, MOST, 0);
        const double part = bytes_of_part(SIDE, strategies[k], NULL, 0, 40);
        const double part_of_large = bytes_of_part(4000, strategies[k], NULL, 0, 40);

        /* the rows of an image take 8 bytes each; lists of spots follow the detector's
         * solid angle, which is larger; an image of 4000 x 4000 would take 128 MB */
        tap_check(large < small + 2e6,
                  "%s, boxes: %.2f MB, %.2f MB where 100 times as many "
                  "pixels are around them",
                  name, small / 1e6, large / 1e6);
        tap_check(part_of_large < part + 2e6, "%s, an ROI: %.2f MB, %.2f MB", name,
                  part / 1e6, part_of_large / 1e6);
    }
    return TAP_PASS;
}

/* value and gradient of a whole large image */
static int memory_of_an_image(void)
{
    const int side = 2496;
    const nb_scene s = finer_still(side);
    const double bytes = bytes_after(&s, NB_STRATEGY_SPOTS, 0);

    /* sums and cotangents of spots: 16 bytes a pixel; the list of tiles: 0.2 */
    tap_check(bytes < 24.0 * side * side, "%.1f bytes a pixel", bytes / side / side);
    return TAP_PASS;
}

/* The lists of spots that a matrix keeps have at most 2^19 of them at a time, of 36 bytes
 * and with half as much room to grow: 28 MB, whatever the detector and the domains. The
 * lists of all spots would take 70 MB here. */
static int memory_of_a_matrix(void)
{
    nb_scene s = finer_still(1248);
    double without, with;

    s.crystal.ndomains = 300;
    for (int i = 0; i < 3; i++) s.crystal.cell[i] *= 2;
    without = bytes_after(&s, NB_STRATEGY_SPOTS, 0);
    with = bytes_after(&s, NB_STRATEGY_SPOTS, 1);
    tap_check(with - without < 30e6 && with - without > 3e6,
              "%.1f MB, %.1f MB more with the matrix, less than 30 expected", without / 1e6,
              (with - without) / 1e6);
    return TAP_PASS;
}

/* ---- derivatives against finite differences ---- */

static int gradcheck(void)
{
    static const int box[][4] = {{3, 17, 2, 9}, {10, 40, 5, 8}, {20, 21, 30, 31}};
    nb_context *ctx = renders_context(2);
    nb_scene s = scenes_base();
    nb_gradcheck_summary summary;
    nb_gradcheck_row *rows;
    nb_simulator *sim;

    memset(s.detector.roi, 0, sizeof s.detector.roi);
    s.detector.box = box[0];
    s.detector.nbox = 3;
    sim = make(ctx, &s, "cell misset ncells scale");
    rows = calloc(nb_gradcheck_rows(sim, NULL), sizeof *rows);
    if (!rows) abort();
    require(ctx, nb_gradcheck(sim, NULL, NULL, NULL, rows, &summary));
    tap_check(summary.verdict == NB_VERDICT_PASS, "verdict %d: %s", summary.verdict,
              summary.message);
    free(rows);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"brightest_first", brightest_first},
                                            {"places", places},
                                            {"what_counts", what_counts},
                                            {"refused", refused},
                                            {"memory", memory},
                                            {"memory_of_an_image", memory_of_an_image},
                                            {"memory_of_a_matrix", memory_of_a_matrix},
                                            {"gradcheck", gradcheck}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
