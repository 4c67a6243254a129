/*
 * test_continuous_bits.c - images, derivatives and losses of continuous crystals have the
 * same bits for any number of threads, compiled or not; and in boxes those of the whole
 * image, for all that belongs to a pixel, and the same sums.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/compiled.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { PIXELS = COMPILED_PIXELS, PARAMETERS = 24, SQUARE = PARAMETERS * PARAMETERS };

/* What a simulator computes. The first two belong to pixels, the rest are sums. */
struct results {
    double image[PIXELS], tangent[PIXELS];
    double gradient[PARAMETERS];
    double matrix[SQUARE], by_residual[PARAMETERS];
    double loss, loss_gradient[PARAMETERS], loss_matrix[SQUARE];
};

enum { NUMBERS = (int)(sizeof(struct results) / sizeof(double)) };

static const char *const names =
    "cell_a cell_beta misset_x ncells mosaic rotation scale phi0 b_factor";

static void require(nb_status status)
{
    if (status != NB_OK) abort();
}

/* Computes all of it from the pixels of weight 1 alone; without weights from all. */
static void compute(nb_simulator *sim, const double *weight, struct results *out)
{
    static double bar[PIXELS], data[PIXELS];
    const nb_array weights =
        nb_array_f64((double *)(uintptr_t)weight, COMPILED_SLOW, COMPILED_FAST);
    const nb_array residual = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);
    const nb_array observed = nb_array_f64(data, COMPILED_SLOW, COMPILED_FAST);
    nb_array image = nb_array_f64(out->image, COMPILED_SLOW, COMPILED_FAST);
    nb_array tangent = nb_array_f64(out->tangent, COMPILED_SLOW, COMPILED_FAST);
    const nb_target target = {.kind = NB_LOSS_POISSON,
                              .observed = &observed,
                              .weight = weight ? &weights : NULL};
    nb_normal normal = {.matrix = out->matrix, .gradient = out->by_residual};
    nb_normal of_loss = {.matrix = out->loss_matrix, .gradient = out->loss_gradient};
    double dx[PARAMETERS];

    memset(out, 0, sizeof *out);
    if (nb_simulator_nparam(sim) > PARAMETERS) abort();
    for (int i = 0; i < PIXELS; i++) {
        bar[i] = (1 + i % 5) * (weight ? weight[i] : 1);
        data[i] = i * 7 % 13;
    }
    for (int i = 0; i < PARAMETERS; i++) dx[i] = 0.01 * (i % 4 + 1);
    require(nb_forward(sim, NULL, &image));
    require(nb_jvp(sim, NULL, 1, dx, &tangent));
    require(nb_vjp(sim, NULL, 1, &residual, out->gradient));
    require(nb_jtj(sim, NULL, target.weight, &residual, &normal));
    require(nb_loss(sim, NULL, &target, &out->loss, &of_loss));
}

/* A still, with water. */
static nb_scene still(void)
{
    nb_scene s = scenes_base();

    s.crystal.mosaic_model = NB_MOSAIC_GAUSS;
    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.ndomains = s.crystal.mosaic_seed = 0;
    s.crystal.b_factor = 3;
    s.scan.osc = s.scan.nphi = 0;
    s.background.water = 0.05;
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 9 + 2 * i;
    return s;
}

enum { KINDS = 5 };
static const char *const kinds[KINDS] = {"a still", "rotation, samples and layers",
                                         "a spectrum", "panels", "a wide beam"};

static nb_scene scene_of(int kind)
{
    static nb_source lines[40];
    nb_scene s = still();

    if (kind == 1) {
        s.crystal.mosaic_tail = 0.1;
        s.scan.osc = 1.2;
        s.oversample = 2;
        s.detector.thickness = 450, s.detector.attenuation = 300;
        s.detector.nlayers = 2;
    }
    for (int i = 0; kind == 2 && i < 40; i++)
        lines[i] = (nb_source){{1, 0, 0}, 1.1 * (1 + 5e-4 * (i - 19.7)), 1 + i % 3};
    if (kind == 2) s.beam.source = lines, s.beam.nsource = 40;
    if (kind == 3) s.scan.osc = 0.5, scenes_panels(&s);
    if (kind == 4) s.beam.divergence[0] = 5, s.beam.divergence[1] = 3;
    return s;
}

static void compute_with(const nb_scene *scene, int precision, int compiled, int threads,
                         const double *weight, struct results *out)
{
    nb_context *ctx = compiled_context(compiled, threads);
    nb_simulator *sim = compiled_make(ctx, scene, names, precision, NB_STRATEGY_AUTO);

    compute(sim, weight, out);
    nb_simulator_free(sim);
    nb_context_free(ctx);
}

static const char *name_of(int precision)
{
    return precision == NB_PRECISION_SINGLE ? "float" : "double";
}

static int same_for_threads(void)
{
    static const int threads[] = {1, 2, 3, 7, 3, 7}, modes[] = {1, 0, 1, 0, 0, 1};
    static struct results first, other;

    for (int way = 0; way < 2 * KINDS; way++) {
        const nb_scene scene = scene_of(way / 2);
        const int precision = way % 2 ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE;

        compute_with(&scene, precision, NB_COMPILE_OFF, 1, NULL, &first);
        tap_check(worst_largest(first.tangent, PIXELS) > 0 && first.loss_matrix[0] > 0
                      && first.gradient[0] != 0 && first.by_residual[0] != 0,
                  "%s, %s: there is something to compare", kinds[way / 2],
                  name_of(precision));
        for (size_t i = 0; i < COUNT(threads); i++) {
            const int n = threads[i], compiled = modes[i];

            if (precision == NB_PRECISION_SINGLE && i > 2) break;
            compute_with(&scene, precision, compiled ? NB_COMPILE_ON : NB_COMPILE_OFF, n,
                         NULL, &other);
            tap_check(bits_same((const double *)(const void *)&first,
                                (const double *)(const void *)&other, NUMBERS),
                      "%s, %s: the same bits by %d threads, %s", kinds[way / 2],
                      name_of(precision), n, compiled ? "compiled" : "eager");
        }
    }
    return TAP_PASS;
}

/* Returns 1 where a pixel lies in one of the boxes. */
static int is_boxed(const int *box, size_t n, int x, int y)
{
    for (size_t i = 0; i < n; i++, box += 4)
        if (x >= box[0] && x < box[1] && y >= box[2] && y < box[3]) return 1;
    return 0;
}

/* Compares the sums of two simulators, each on the scale of the largest number of its kind.
 * Their terms are the same, but for the order. */
static void compare_sums(const struct results *a, const struct results *b, double allowed)
{
    const struct {
        const char *what;
        const double *found, *truth;
        size_t n;
    } sums[] = {{"gradient", a->gradient, b->gradient, PARAMETERS},
                {"matrix", a->matrix, b->matrix, SQUARE},
                {"J^T W r", a->by_residual, b->by_residual, PARAMETERS},
                {"loss", &a->loss, &b->loss, 1},
                {"its gradient", a->loss_gradient, b->loss_gradient, PARAMETERS},
                {"its matrix", a->loss_matrix, b->loss_matrix, SQUARE}};

    for (size_t i = 0; i < COUNT(sums); i++) {
        struct worst off = {0};

        worst_add_all(&off, sums[i].found, sums[i].truth, sums[i].n,
                      worst_largest(sums[i].truth, sums[i].n));
        worst_check(&off, allowed, "its sums: %s", sums[i].what);
    }
}

static int same_in_boxes(void)
{
    static const int box[] = {3, 12, 2, 9, 10, 31, 5, 17, 30, 40, 21, 35};
    static struct results whole, boxed;
    static double weight[PIXELS];

    for (int way = 0; way < 2 * KINDS; way++) {
        nb_scene scene = scene_of(way / 2);
        const int precision = way % 2 ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE;
        struct worst tangent = {0};
        int lit = 0;

        for (int i = 0; i < PIXELS; i++)
            weight[i] = is_boxed(box, COUNT(box) / 4, i % COMPILED_FAST, i / COMPILED_FAST);
        compute_with(&scene, precision, NB_COMPILE_OFF, 1, weight, &whole);
        scene.detector.box = box;
        scene.detector.nbox = COUNT(box) / 4;
        for (int i = 0; i < PIXELS; i++) {
            lit += weight[i] > 0 && whole.image[i] > 0;
            if (weight[i] == 0) whole.image[i] = whole.tangent[i] = 0;
        }
        compute_with(&scene, precision, NB_COMPILE_OFF, 2, weight, &boxed);
        tap_check(lit > 100 && bits_same(whole.image, boxed.image, PIXELS),
                  "%s, %s: the image in boxes", kinds[way / 2], name_of(precision));
        /* lanes of a row and what is left of it may round differently */
        worst_add_all(&tangent, boxed.tangent, whole.tangent, PIXELS,
                      worst_largest(whole.tangent, PIXELS));
        worst_check(&tangent, precision == NB_PRECISION_SINGLE ? 1e-6 : 1e-15,
                    "its tangent");
        compare_sums(&boxed, &whole, precision == NB_PRECISION_SINGLE ? 1e-6 : 4e-15);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"same_for_threads", same_for_threads},
                                            {"same_in_boxes", same_in_boxes}};

    compiled_environment();
    return tap_main(argc, argv, cases, COUNT(cases));
}
