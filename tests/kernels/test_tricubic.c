/*
 * test_tricubic.c - F interpolated by the lanes, and the gradient by all structure factors,
 * against the reference: where the lanes of a tile share few cells of the list and use the
 * polynomials of these, where a tile meets more cells than are kept, where each lane has a
 * cell of its own, and at the edge of the list.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { NFAST = 40, NSLOW = 21, PIXELS = NFAST * NSLOW, FAR = 24, SIDE = 2 * FAR + 1 };

static const struct {
    const char *name;
    double pixel; /* mm */
    double osc; /* degree */
    int nphi, ndomains, oversample;
    int shape, most; /* reflections with -most <= h, k, l <= most */
} scenes[] = {
    {"few cells", 0.1, 1.5, 2, 3, 2, NB_SHAPE_SQUARE, FAR},
    {"few cells, gaussian spots", 0.2, 1.5, 2, 3, 1, NB_SHAPE_GAUSS, FAR},
    /* 3 indices for each step of phi where h is 20: 40 steps meet hundreds of cells */
    {"more cells than are kept", 0.44, 80, 40, 2, 1, NB_SHAPE_SQUARE, FAR},
    /* 80 orientations are more than are added up in float */
    {"many orientations", 0.05, 2, 40, 2, 1, NB_SHAPE_ROUND, FAR},
    {"a cell for every lane", 1.5, 1.5, 2, 3, 1, NB_SHAPE_SQUARE, FAR},
    {"the edge of the list", 0.44, 1.5, 2, 3, 1, NB_SHAPE_SQUARE, 7},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static nb_hkl *list_of(nb_context *ctx, int most)
{
    static int index[SIDE * SIDE * SIDE][3];
    static double f[SIDE * SIDE * SIDE];
    nb_hkl *list;
    size_t n = 0;

    for (int h = -most; h <= most; h++)
        for (int k = -most; k <= most; k++)
            for (int l = -most; l <= most; l++) {
                if ((2 * h + k + 5 * l) % 9 == 4) continue;
                index[n][0] = h, index[n][1] = k, index[n][2] = l;
                f[n++] = 90 * sin(1 + 0.9 * h + 1.7 * k - 0.4 * l) + h;
            }
    if (nb_hkl_create(ctx, n, index[0], f, &list) != NB_OK) abort();
    return list;
}

static nb_scene scene_of(size_t i, const nb_hkl *list)
{
    nb_scene s = scenes_base();

    s.crystal.hkl = list;
    s.crystal.interpolate = NB_LOOKUP_TRICUBIC;
    s.crystal.shape = scenes[i].shape;
    s.crystal.ndomains = scenes[i].ndomains;
    s.scan.osc = scenes[i].osc;
    s.scan.nphi = scenes[i].nphi;
    s.detector.pixel = scenes[i].pixel;
    s.detector.nfast = NFAST;
    s.detector.nslow = NSLOW;
    s.oversample = scenes[i].oversample;
    return s;
}

/* An image and its gradients by all structure factors: those of a sum of its pixels, and
 * those of a loss. */
struct results {
    double *image, *sum, *loss;
    size_t n;
};

static double *numbers(size_t n)
{
    double *a = calloc(n + 1, sizeof *a);

    if (!a) abort();
    return a;
}

static struct results results_of(nb_context *ctx, const nb_scene *scene,
                                 const struct renders_way *way, const double *observed)
{
    const nb_options options = {way->precision, way->strategy, 0};
    static double weights[PIXELS], seen[PIXELS];
    struct results r = {0};
    nb_array image, bar, data;
    nb_target target = {.kind = NB_LOSS_GAUSS};
    nb_normal normal = {0};
    nb_simulator *sim;
    double value;

    (void)setenv("NANOBRAG_ISA", way->isa ? way->isa : "", 1);
    if (nb_simulator_create(ctx, scene, "F[*] default_f", &options, &sim) != NB_OK) abort();
    r.n = nb_simulator_nparam(sim);
    r.image = numbers(PIXELS), r.sum = numbers(r.n), r.loss = numbers(r.n);
    image = nb_array_f64(r.image, NSLOW, NFAST);
    if (nb_forward(sim, NULL, &image) != NB_OK) abort();
    for (int i = 0; i < PIXELS; i++) {
        weights[i] = cos(0.37 * i);
        seen[i] = 1.2 * (observed ? observed[i] : r.image[i]);
    }
    bar = nb_array_f64(weights, NSLOW, NFAST);
    data = nb_array_f64(seen, NSLOW, NFAST);
    target.observed = &data;
    normal.gradient = r.loss;
    tap_check(nb_vjp(sim, NULL, 1, &bar, r.sum) == NB_OK
                  && nb_loss(sim, NULL, &target, &value, &normal) == NB_OK,
              "the gradients are computed");
    nb_simulator_free(sim);
    return r;
}

static void drop(struct results *r)
{
    free(r->image);
    free(r->sum);
    free(r->loss);
}

/* of the largest */
static void check(const char *what, const double *found, const double *truth, size_t n,
                  double allowed)
{
    const double most = worst_largest(truth, n);
    struct worst worst = {0};

    worst_add_all(&worst, found, truth, n, most);
    worst_check(&worst, allowed, "%s", what);
    tap_check(most > 0, "the largest is %g", most);
}

static int agree(const char *isa)
{
    static const struct renders_way reference = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE,
                                                 0, 1, NULL};
    nb_context *ctx;

    if (!kernels_lanes(isa).precise)
        return tap_skip("this processor, or this build, lacks the instruction set %s", isa);
    ctx = renders_context(1);
    for (size_t i = 0; i < SCENES; i++) {
        nb_hkl *list = list_of(ctx, scenes[i].most);
        const nb_scene scene = scene_of(i, list);
        struct results truth = results_of(ctx, &scene, &reference, NULL);

        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++) {
            const struct renders_way way = {precision, NB_STRATEGY_LANES, 0, 1, isa};
            struct results found = results_of(ctx, &scene, &way, truth.image);
            const double image = precision == NB_PRECISION_SINGLE ? 1e-5 : 1e-12;
            const double slopes = precision == NB_PRECISION_SINGLE ? 3e-5 : 1e-12;

            tap_note("%s, %s", scenes[i].name,
                     precision == NB_PRECISION_SINGLE ? "float" : "double");
            check("image", found.image, truth.image, PIXELS, image);
            check("gradient of a sum", found.sum, truth.sum, truth.n, slopes);
            check("gradient of a loss", found.loss, truth.loss, truth.n, slopes);
            drop(&found);
        }
        drop(&truth);
        nb_hkl_free(list);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

#define CASE(isa)                                                                          \
    static int by_##isa(void)                                                              \
    {                                                                                      \
        return agree(#isa);                                                                \
    }
CASE(v2)
CASE(v3)
CASE(v4)
CASE(base)
CASE(scalar)

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"by_v2", by_v2},
                                            {"by_v3", by_v3},
                                            {"by_v4", by_v4},
                                            {"by_base", by_base},
                                            {"by_scalar", by_scalar}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
