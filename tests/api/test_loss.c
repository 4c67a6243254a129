/*
 * test_loss.c - nb_loss() and nb_jtj() compared with the same quantities computed from
 * nb_forward(), nb_jvp() and nb_vjp().
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "image/target.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Of the sum of the terms' sizes: rounding of some 1500 of them in another order, whose
 * rows of the Jacobian differ by eps times their largest. Measured are 8.7e-15
 * in a gradient, 1.1e-15 in sums of products, 6.3e-14 in a gradient computed alone. */
static const double gradient_allowed = 1e-13, product_allowed = 2e-14;
static const double alone_allowed = 2e-13;
/* Of a derivative, with one parameter free or many. */
static const double one_of_many = 0;

enum { FAST = 40, SLOW = 37, PIXELS = FAST * SLOW, MOST = 100, REFLECTIONS = 24 };

static const char *const globals = "cell misset mosaic wavelength distance scale origin_x "
                                   "origin_y phi0 ncells";

/* ---- by hand ---- */

static nb_scene scene_of(const char *name)
{
    nb_scene scene;

    if (!strcmp(name, "spread_nearest")) {
        scene = scene_of("square_nearest");
        scene.psf = scene_of("point_spread").psf;
        return scene;
    }
    scene = scenes_named(SCENES_FEATURES, name);
    scene.detector.roi[0] = 12, scene.detector.roi[1] = 22;
    scene.detector.roi[2] = 9, scene.detector.roi[3] = 17;
    return scene;
}

static nb_simulator *simulator_for(nb_context *ctx, const nb_scene *scene,
                                   const char *names, int strategy)
{
    const nb_options options = {NB_PRECISION_DOUBLE, strategy, 0};
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, names, &options, &sim) != NB_OK) {
        tap_check(0, "%s", nb_context_message(ctx));
        abort();
    }
    return sim;
}

static int is_inside(int pixel)
{
    const int f = pixel % FAST, s = pixel / FAST;

    return f >= 12 && f < 22 && s >= 9 && s < 17;
}

/* observed photons: the image, wrong by a tenth here and there */
static void observe(const double *image, double *observed, double *weight)
{
    for (int i = 0; i < PIXELS; i++) {
        observed[i] = image[i] * (1 + 0.1 * sin(7.0 * i)) + 1e-3;
        weight[i] = i % 5 == 0 ? 0 : 0.5 + (i % 7) / 7.0;
    }
}

struct by_hand {
    double *jacobian; /* (nparam x PIXELS) */
    double slope[PIXELS], curvature[PIXELS], value;
    /* relative rounding of the curvature, in that of the image: beyond Huber's limit it
     * goes as 1/(I - y) */
    double rough[PIXELS];
};

static void take_jacobian(nb_simulator *sim, struct by_hand *hand)
{
    const size_t n = nb_simulator_nparam(sim);
    double dx[MOST];

    if (n > MOST) abort();
    hand->jacobian = calloc(n * PIXELS, sizeof *hand->jacobian);
    if (!hand->jacobian) abort();
    for (size_t p = 0; p < n; p++) {
        nb_array column = nb_array_f64(hand->jacobian + p * PIXELS, SLOW, FAST);

        memset(dx, 0, sizeof dx);
        dx[p] = 1;
        if (nb_jvp(sim, NULL, 1, dx, &column) != NB_OK) abort();
    }
}

static void take_losses(const nb_target *target, const double *image,
                        const double *observed, const double *weight, struct by_hand *hand)
{
    hand->value = 0;
    for (int i = 0; i < PIXELS; i++) {
        const struct phys_loss loss =
            phys_loss(target_model(target), image[i], observed[i], weight[i]);
        const double off = image[i] - observed[i];

        hand->slope[i] = is_inside(i) ? loss.slope : 0;
        hand->curvature[i] = is_inside(i) ? loss.curvature : 0;
        hand->value += is_inside(i) ? loss.value : 0;
        hand->rough[i] = 1;
        if (target->kind == NB_LOSS_HUBER && fabs(loss.slope) < weight[i] * fabs(off))
            hand->rough[i] += image[i] / fabs(off);
    }
}

/* sum of w a b over the pixels, and of its modulus times the roughness of w, unless that is
 * NULL */
static double product(const double *w, const double *rough, const double *a,
                      const double *b, double *size)
{
    double sum = 0;

    *size = 0;
    for (int i = 0; i < PIXELS; i++) {
        const double v = w[i] * a[i] * (b ? b[i] : 1);

        sum += v;
        *size += fabs(v) * (rough ? rough[i] : 1);
    }
    return sum;
}

/* allocated and zeroed, for all parameters of a simulator */
static nb_normal normal_for(const nb_simulator *sim)
{
    const size_t n = nb_simulator_nparam(sim), dense = nb_simulator_ndense(sim);
    nb_normal normal;

    normal.matrix = calloc(dense * dense + 1, sizeof(double));
    normal.diagonal = calloc(n + 1, sizeof(double));
    normal.coupling = calloc(dense * (n - dense) + 1, sizeof(double));
    normal.gradient = calloc(n + 1, sizeof(double));
    if (!normal.matrix || !normal.diagonal || !normal.coupling || !normal.gradient) abort();
    return normal;
}

static void free_normal(nb_normal *normal)
{
    free(normal->matrix);
    free(normal->diagonal);
    free(normal->coupling);
    free(normal->gradient);
}

static int is_f(const nb_simulator *sim, size_t i)
{
    nb_param param;

    if (nb_simulator_param(sim, i, &param) != NB_OK) abort();
    return strncmp(param.name, "F[", 2) == 0;
}

static void check_normal(const char *what, const nb_simulator *sim,
                         const struct by_hand *hand, const nb_normal *found)
{
    const size_t n = nb_simulator_nparam(sim), dense = nb_simulator_ndense(sim);
    struct worst gradient = {0}, diagonal = {0}, coupling = {0}, matrix = {0}, mirror = {0};
    double size;
    size_t row = 0;

    for (size_t p = 0; p < n; p++) {
        const double *a = hand->jacobian + p * PIXELS;
        size_t column = 0, f = 0;
        double sum = product(hand->slope, NULL, a, NULL, &size);

        worst_add(&gradient, found->gradient[p], sum, size);
        sum = product(hand->curvature, hand->rough, a, a, &size);
        worst_add(&diagonal, found->diagonal[p], sum, size);
        if (is_f(sim, p)) continue;
        for (size_t q = 0; q < n; q++) {
            const double *b = hand->jacobian + q * PIXELS;

            sum = product(hand->curvature, hand->rough, a, b, &size);
            if (is_f(sim, q)) {
                worst_add(&coupling, found->coupling[row * (n - dense) + f++], sum, size);
                continue;
            }
            worst_add(&matrix, found->matrix[row * dense + column], sum, size);
            worst_add(&mirror, found->matrix[row * dense + column],
                      found->matrix[column * dense + row], size);
            column++;
        }
        row++;
    }
    worst_check(&gradient, gradient_allowed, "%s: gradient of %zu, of S", what, n);
    worst_check(&diagonal, product_allowed, "%s: diagonal, of its terms", what);
    if (n > dense)
        worst_check(&coupling, 1e-14, "%s: coupling of %zu x %zu, of its terms", what,
                    dense, n - dense);
    worst_check(&matrix, product_allowed, "%s: matrix, of its terms", what);
    worst_check(&mirror, 0, "%s: matrix against itself transposed", what);
}

/* value, gradient and matrix of a scene by both calls */
static void check_scene(const char *name, const char *names, int strategy)
{
    static double image[PIXELS], observed[PIXELS], weight[PIXELS];
    static struct by_hand hand;
    nb_context *ctx = renders_context(2);
    const nb_scene scene = scene_of(name);
    nb_simulator *sim = simulator_for(ctx, &scene, names, strategy);
    nb_array out = nb_array_f64(image, SLOW, FAST);
    nb_array y = nb_array_f64(observed, SLOW, FAST), w = nb_array_f64(weight, SLOW, FAST);
    nb_array residual = nb_array_f64(hand.slope, SLOW, FAST);

    if (nb_forward(sim, NULL, &out) != NB_OK) abort();
    observe(image, observed, weight);
    take_jacobian(sim, &hand);
    for (int kind = NB_LOSS_GAUSS; kind <= NB_LOSS_CAUCHY; kind++) {
        /* the curvature of a narrow one would multiply the rounding of the photons */
        const double peak = worst_largest(image, PIXELS);
        const double width = kind == NB_LOSS_CAUCHY ? 0.2 * peak : 0.05;
        const nb_target target = {kind, &y, &w, 0.5, 1.5, width, kind % 2 ? 0.5 * peak : 0,
                                  0};
        nb_normal all = normal_for(sim), alone = {NULL, NULL, NULL, NULL};
        struct worst worst = {0};
        double value, plain, size;

        take_losses(&target, image, observed, weight, &hand);
        tap_check(nb_loss(sim, NULL, &target, &value, &all) == NB_OK, "%s: nb_loss: %s",
                  name, nb_context_message(ctx));
        tap_check(fabs(value - hand.value) <= 1e-12 * fabs(hand.value),
                  "%s, kind %d: value %.15g, by hand %.15g", name, kind, value, hand.value);
        check_normal(name, sim, &hand, &all);
        alone.gradient = calloc(nb_simulator_nparam(sim), sizeof(double));
        if (nb_loss(sim, NULL, &target, &value, &alone) != NB_OK) abort();
        if (nb_loss(sim, NULL, &target, &plain, NULL) != NB_OK) abort();
        for (size_t p = 0; p < nb_simulator_nparam(sim); p++) {
            const double sum =
                product(hand.slope, NULL, hand.jacobian + p * PIXELS, NULL, &size);

            worst_add(&worst, alone.gradient[p], sum, size);
        }
        worst_check(&worst, alone_allowed, "%s, kind %d: gradient alone, of S", name, kind);
        tap_check(fabs(value - plain) <= 1e-13 * fabs(plain),
                  "%s, kind %d: the value alone %.15g, with the gradient %.15g", name, kind,
                  plain, value);
        free(alone.gradient);
        free_normal(&all);
    }
    { /* W r is the slope, so r the slope and W 1 but for the mask of weights */
        nb_normal all = normal_for(sim);

        for (int i = 0; i < PIXELS; i++) hand.curvature[i] = is_inside(i) ? 1 : 0;
        tap_check(nb_jtj(sim, NULL, NULL, &residual, &all) == NB_OK, "%s: nb_jtj: %s", name,
                  nb_context_message(ctx));
        check_normal("nb_jtj", sim, &hand, &all);
        free_normal(&all);
    }
    free(hand.jacobian);
    nb_simulator_free(sim);
    nb_context_free(ctx);
}

static int scenes_by_reference(void)
{
    check_scene("base", globals, NB_STRATEGY_REFERENCE);
    check_scene("layers", "cell distance attenuation default_f", NB_STRATEGY_REFERENCE);
    return TAP_PASS;
}

/* a scale of 0 leaves no photons, but a slope in it: alone as with the matrix */
static int dark_scale(void)
{
    static const int strategies[] = {NB_STRATEGY_REFERENCE, NB_STRATEGY_LANES,
                                     NB_STRATEGY_SPOTS};
    static double observed[PIXELS];
    nb_scene scene = scene_of("gauss_constant");
    nb_array y = nb_array_f64(observed, SLOW, FAST);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &y};
    double truth = 0;

    for (int i = 0; i < PIXELS; i++) observed[i] = 1;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        nb_context *ctx = renders_context(1);
        nb_simulator *sim = simulator_for(ctx, &scene, "scale", strategies[i]);
        const double x = 0;
        double value, alone = 0, beside = 0, matrix = 0;
        nb_normal gradient = {NULL, NULL, NULL, &alone},
                  all = {&matrix, NULL, NULL, &beside};

        if (nb_loss(sim, &x, &target, &value, &gradient) != NB_OK
            || nb_loss(sim, &x, &target, &value, &all) != NB_OK)
            abort();
        if (strategies[i] == NB_STRATEGY_REFERENCE) truth = alone;
        tap_check(alone < 0 && fabs(alone - truth) <= 1e-9 * fabs(truth)
                      && fabs(beside - truth) <= 1e-9 * fabs(truth),
                  "strategy %d: gradient %.12g alone, %.12g with the matrix, %.12g by the "
                  "reference",
                  strategies[i], alone, beside, truth);
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

static int scenes_by_lanes(void)
{
    check_scene("base", globals, NB_STRATEGY_LANES);
    check_scene("grid_of_sources", "cell dispersion beam_direction", NB_STRATEGY_LANES);
    check_scene("gauss_constant", "cell fudge default_f ncells", NB_STRATEGY_LANES);
    check_scene("layers", "misset thickness attenuation origin water", NB_STRATEGY_LANES);
    check_scene("list_of_sources", "source_direction source_wavelength water",
                NB_STRATEGY_LANES);
    return TAP_PASS;
}

/* The gradient at the scene: by the adjoint, and beside a normal matrix by the Jacobian. */
static size_t both_gradients(const nb_scene *scene, const char *names, int strategy,
                             double adjoint[MOST], double jacobian[MOST],
                             char (*name)[sizeof((nb_param *)0)->name])
{
    static double observed[PIXELS], matrix[MOST * MOST];
    nb_context *ctx = renders_context(1);
    nb_simulator *sim = simulator_for(ctx, scene, names, strategy);
    nb_array y = nb_array_f64(observed, SLOW, FAST);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &y};
    const nb_normal alone = {NULL, NULL, NULL, adjoint},
                    beside = {matrix, NULL, NULL, jacobian};
    const size_t n = nb_simulator_nparam(sim);
    double value;

    for (int i = 0; i < PIXELS; i++) observed[i] = 1e-3 * (i % 17);
    memset(adjoint, 0, MOST * sizeof *adjoint);
    memset(jacobian, 0, MOST * sizeof *jacobian);
    for (size_t i = 0; name && i < n; i++) {
        nb_param param;

        if (nb_simulator_param(sim, i, &param) != NB_OK) abort();
        (void)snprintf(name[i], sizeof name[i], "%s", param.name);
    }
    if (nb_loss(sim, NULL, &target, &value, (nb_normal *)&alone) != NB_OK
        || nb_loss(sim, NULL, &target, &value, (nb_normal *)&beside) != NB_OK)
        abort();
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return n;
}

/* What no free parameter changes is not computed; the derivatives by the others stay as
 * they are. */
static void check_each_alone(const char *scene_name, const char *names, int strategy)
{
    static char name[MOST][sizeof((nb_param *)0)->name];
    nb_scene scene = scene_of(scene_name);
    double adjoint[MOST], jacobian[MOST], one[MOST], row[MOST];
    struct worst off = {0};
    size_t n;

    scene.background.water = 50;
    n = both_gradients(&scene, names, strategy, adjoint, jacobian, name);
    for (size_t i = 0; i < n; i++) {
        (void)both_gradients(&scene, name[i], strategy, one, row, NULL);
        worst_add(&off, *one, adjoint[i], fabs(adjoint[i]) + 1e-300);
        worst_add(&off, *row, jacobian[i], fabs(jacobian[i]) + 1e-300);
    }
    worst_check(&off, one_of_many, "%s: each of \"%s\" alone, in turn adjoint and row",
                scene_name, names);
}

static int parameters_alone(void)
{
    check_each_alone("base", "misset scale water origin wavelength polarization b_factor",
                     NB_STRATEGY_LANES);
    check_each_alone("layers", "misset thickness attenuation origin water",
                     NB_STRATEGY_LANES);
    check_each_alone("list_of_sources", "source_weight misset water distance",
                     NB_STRATEGY_LANES);
    check_each_alone("gauss_constant", "misset mosaic water origin fluence scale",
                     NB_STRATEGY_SPOTS);
    return TAP_PASS;
}

/* `names`, and the structure factors that the window depends on most */
static void add_reflections(const char *scene_name, char *names, size_t size)
{
    static double one[PIXELS];
    nb_context *ctx = renders_context(1);
    const nb_scene scene = scene_of(scene_name);
    nb_simulator *sim = simulator_for(ctx, &scene, "F[*]", NB_STRATEGY_LANES);
    nb_array bar = nb_array_f64(one, SLOW, FAST);
    double *slope = calloc(nb_simulator_nparam(sim), sizeof *slope);
    size_t used = strlen(names);

    for (int i = 0; i < PIXELS; i++) one[i] = 1;
    if (!slope || nb_vjp(sim, NULL, 1, &bar, slope) != NB_OK) abort();
    for (int k = 0; k < REFLECTIONS; k++) {
        nb_param param;
        size_t most = 0;

        for (size_t i = 1; i < nb_simulator_nparam(sim); i++)
            if (fabs(slope[i]) > fabs(slope[most])) most = i;
        if (slope[most] == 0) break;
        if (nb_simulator_param(sim, most, &param) != NB_OK) abort();
        used += (size_t)snprintf(names + used, size - used, " %s", param.name);
        if (used >= size) abort();
        slope[most] = 0;
    }
    free(slope);
    nb_simulator_free(sim);
    nb_context_free(ctx);
}

static int scenes_with_reflections(void)
{
    char nearest[2000] = "cell default_f", tricubic[2000] = "misset";

    add_reflections("square_nearest", nearest, sizeof nearest);
    add_reflections("square_tricubic", tricubic, sizeof tricubic);
    check_scene("square_nearest", nearest, NB_STRATEGY_LANES);
    check_scene("square_tricubic", tricubic, NB_STRATEGY_REFERENCE);
    return TAP_PASS;
}

static int threads_same_bits(void)
{
    static double image[PIXELS], observed[PIXELS], weight[PIXELS];
    const nb_scene scene = scene_of("square_nearest");
    nb_normal kept[3];
    double value[3];
    size_t n = 0, dense = 0;

    for (int threads = 1; threads <= 3; threads++) {
        nb_context *ctx = renders_context(threads);
        nb_simulator *sim =
            simulator_for(ctx, &scene, "cell F[*] distance", NB_STRATEGY_LANES);
        nb_array out = nb_array_f64(image, SLOW, FAST);
        nb_array y = nb_array_f64(observed, SLOW, FAST);
        const nb_target target = {.kind = NB_LOSS_POISSON, .observed = &y};

        if (nb_forward(sim, NULL, &out) != NB_OK) abort();
        observe(image, observed, weight);
        kept[threads - 1] = normal_for(sim);
        if (nb_loss(sim, NULL, &target, value + threads - 1, kept + threads - 1) != NB_OK)
            abort();
        n = nb_simulator_nparam(sim);
        dense = nb_simulator_ndense(sim);
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    for (int i = 1; i < 3; i++)
        tap_check(value[i] == value[0]
                      && bits_same(kept[i].matrix, kept[0].matrix, dense * dense)
                      && bits_same(kept[i].gradient, kept[0].gradient, n)
                      && bits_same(kept[i].diagonal, kept[0].diagonal, n)
                      && bits_same(kept[i].coupling, kept[0].coupling, dense * (n - dense)),
                  "%d threads: the bits of one", i + 1);
    for (int i = 0; i < 3; i++) free_normal(kept + i);
    return TAP_PASS;
}

/* all but the normal matrix */
static int point_spread(void)
{
    static double image[PIXELS], observed[PIXELS], weight[PIXELS], slope[PIXELS];
    nb_context *ctx = renders_context(1);
    const nb_scene scene = scene_of("point_spread");
    nb_simulator *sim =
        simulator_for(ctx, &scene, "cell distance psf_fwhm", NB_STRATEGY_LANES);
    nb_array out = nb_array_f64(image, SLOW, FAST), bar = nb_array_f64(slope, SLOW, FAST);
    nb_array y = nb_array_f64(observed, SLOW, FAST);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &y};
    nb_normal normal = normal_for(sim), gradient = {NULL, NULL, NULL, NULL};
    char names[2000] = "cell default_f pixel";
    struct worst worst = {0};
    double value, expected[16] = {0};

    gradient.gradient = normal.gradient;
    if (nb_forward(sim, NULL, &out) != NB_OK) abort();
    observe(image, observed, weight);
    for (int i = 0; i < PIXELS; i++) slope[i] = is_inside(i) ? image[i] - observed[i] : 0;
    if (nb_vjp(sim, NULL, 1, &bar, expected) != NB_OK) abort();
    tap_check(nb_loss(sim, NULL, &target, &value, &gradient) == NB_OK, "nb_loss: %s",
              nb_context_message(ctx));
    for (size_t p = 0; p < nb_simulator_nparam(sim); p++)
        worst_add(&worst, normal.gradient[p], expected[p], fabs(expected[p]));
    worst_check(&worst, 2e-13, "gradient with a point spread, of itself");
    free_normal(&normal);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    check_scene("point_spread", "cell distance psf_fwhm pixel", NB_STRATEGY_LANES);
    add_reflections("square_nearest", names, sizeof names);
    check_scene("spread_nearest", names, NB_STRATEGY_LANES);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"scenes_by_reference", scenes_by_reference},
        {"scenes_by_lanes", scenes_by_lanes},
        {"parameters_alone", parameters_alone},
        {"scenes_with_reflections", scenes_with_reflections},
        {"threads_same_bits", threads_same_bits},
        {"point_spread", point_spread},
        {"dark_scale", dark_scale},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
