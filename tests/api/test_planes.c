/*
 * test_planes.c - planes of background in boxes: nb_loss() with NB_PLANES and nb_planes()
 * against planes found by hand, gradients against differences of the least loss, and the
 * matrix against columns of nb_jvp() made orthogonal to the planes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "api/planes_by_hand.h"
#include "support/ladder.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { FAST = 40, SLOW = 37, PIXELS = FAST * SLOW, MOST = 48, BOXES = 9 };

/* Two overlap, one is a pixel, one a row, one a column, one ends with the detector, one is
 * inside another that comes first and so has no pixel; the last two hold few photons. */
static const int boxes[BOXES][4] = {{2, 14, 3, 15},   {10, 22, 9, 21},  {30, 31, 5, 6},
                                    {25, 37, 19, 20}, {24, 25, 22, 33}, {28, 40, 24, 37},
                                    {4, 6, 5, 7},     {0, 12, 20, 32},  {26, 38, 7, 18}};

static const int kinds[] = {NB_GAUSSIAN, NB_POISSON, NB_POISSON_READOUT, NB_HUBER};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A scene of boxes with data: a wrong image, planes and noise. */
struct subject {
    nb_context *ctx;
    nb_simulator *sim;
    nb_scene scene;
    struct hand_scene hand;
    nb_array y, w;
    double image[PIXELS], observed[PIXELS], weight[PIXELS];
    uint8_t mask[PIXELS];
};

/* the same numbers everywhere, from -1 to 1 */
static double noise(int i)
{
    return sin(12.9898 * i) * cos(78.233 * i + 1);
}

static void make(struct subject *t, const char *names, int strategy, int precision,
                 int threads)
{
    const nb_options options = {precision, strategy, 0};

    t->ctx = renders_context(threads);
    if (nb_simulator_create(t->ctx, &t->scene, names, &options, &t->sim) != NB_OK) {
        tap_check(0, "%s", nb_context_message(t->ctx));
        abort();
    }
}

static void drop(struct subject *t)
{
    nb_simulator_free(t->sim);
    nb_context_free(t->ctx);
}

static void render(struct subject *t)
{
    nb_array image = nb_array_f64(t->image, SLOW, FAST);

    if (nb_forward(t->sim, NULL, &image) != NB_OK) abort();
}

/* Open a scene whose brightest pixel has 60 photons. */
static struct subject *open_subject(const char *name, const char *names, int strategy)
{
    struct subject *t = calloc(1, sizeof *t);
    double level;

    if (!t) abort();
    if (!strcmp(name, "spread_nearest")) {
        t->scene = scenes_named(SCENES_FEATURES, "gauss_nearest");
        t->scene.psf = scenes_named(SCENES_FEATURES, "point_spread").psf;
    } else
        t->scene = scenes_named(SCENES_FEATURES, name);
    memset(t->scene.detector.roi, 0, sizeof t->scene.detector.roi);
    for (int i = 0; i < PIXELS; i++) t->mask[i] = i % 23 != 7;
    t->scene.detector.mask = t->mask;
    t->scene.detector.box = boxes[0];
    t->scene.detector.nbox = BOXES;
    make(t, NULL, strategy, NB_DOUBLE, 1);
    render(t);
    drop(t);
    t->scene.crystal.scale = 60 / worst_largest(t->image, PIXELS)
                             * (t->scene.crystal.scale > 0 ? t->scene.crystal.scale : 1);
    make(t, names, strategy, NB_DOUBLE, 2);
    render(t);
    t->hand = (struct hand_scene){.nfast = FAST,
                                  .nslow = SLOW,
                                  .image = t->image,
                                  .observed = t->observed,
                                  .weight = t->weight,
                                  .mask = t->mask,
                                  .box = boxes,
                                  .nbox = BOXES};
    for (int i = 0; i < PIXELS; i++) {
        const int s = i / FAST, f = i % FAST, b = hand_owner(&t->hand, s, f);

        level = b >= BOXES - 2 ? 0.04 * b - 0.2 : 4 + 0.2 * f - 0.1 * s;
        level += t->image[i] * (b >= BOXES - 2 ? 0.1 : 1 + 0.05 * noise(i + 7));
        t->observed[i] = fmax(0, rint(level + 1.7 * noise(i) * sqrt(level)));
        t->weight[i] = i % 5 == 0 ? 0 : 0.5 + (i % 7) / 7.0;
    }
    t->y = nb_array_f64(t->observed, SLOW, FAST);
    t->w = nb_array_f64(t->weight, SLOW, FAST);
    return t;
}

static void close_subject(struct subject *t)
{
    drop(t);
    free(t);
}

/* Few photons everywhere, another draw for each number. */
static void draw_few(struct subject *t, int draw)
{
    for (int i = 0; i < PIXELS; i++) {
        const double u = 0.5 + 0.5 * noise(i + 2000 * draw);

        t->observed[i] = u > 0.97 ? 2 : u > 0.8 + 0.01 * (draw % 18) ? 1 : 0;
    }
}

/* Counts the planes that are 0 nowhere, in a corner, along an edge, everywhere. */
static void count_faces(const struct subject *t, const double *planes, int faces[4])
{
    for (int b = 0; b < BOXES; b++) {
        const int *e = boxes[b];
        int zero = 0;

        for (int i = 0; i < 4; i++)
            zero += hand_photons(&t->hand, b, planes + 3 * b, i & 2 ? e[3] - 1 : e[2],
                                 i & 1 ? e[1] - 1 : e[0])
                    == 0;
        faces[zero < 3 ? zero : 3]++;
    }
}

/* A target of a kind; the odd ones have saturated pixels. */
static nb_target target_of(struct subject *t, int kind)
{
    const nb_target target = {.kind = kind,
                              .observed = &t->y,
                              .weight = &t->w,
                              .sigma_readout = 1.5,
                              .gain = 1.25,
                              .delta = 3,
                              .saturation = kind % 2 ? 25 : 0,
                              .background = NB_PLANES};

    t->hand.target = target;
    return target;
}

static double loss_at(struct subject *t, const double *x, const nb_target *target,
                      nb_normal *out)
{
    double value = NAN;

    if (nb_loss(t->sim, x, target, &value, out) != NB_OK)
        tap_check(0, "nb_loss: %s", nb_context_message(t->ctx));
    return value;
}

static void planes_at(struct subject *t, const nb_target *target, double *planes)
{
    if (nb_planes(t->sim, NULL, target, planes) != NB_OK)
        tap_check(0, "nb_planes: %s", nb_context_message(t->ctx));
}

/* ---- value and planes ---- */

/* Compares the planes of every box with those found by hand. */
static void check_planes(struct subject *t, const char *name, const nb_target *target)
{
    double planes[3 * BOXES], by_hand[3 * BOXES], sum = 0, size = 0;
    struct worst losses = {0}, terms = {0}, value = {0};

    planes_at(t, target, planes);
    for (int b = 0; b < BOXES; b++) {
        const double least = hand_least(&t->hand, b, by_hand + 3 * b);
        const double *p = planes + 3 * b;
        const double width = (boxes[b][1] - boxes[b][0] - 1) / 2.;
        const double height = (boxes[b][3] - boxes[b][2] - 1) / 2.;
        const double tall = fabs(p[0]) + fabs(p[1]) * width + fabs(p[2]) * height;

        worst_add(&losses, hand_loss(&t->hand, b, p), least, fabs(least) + 1);
        for (int k = 0; k < 3; k++)
            worst_add(&terms,
                      p[k]
                          * (k == 1   ? width
                             : k == 2 ? height
                                      : 1),
                      by_hand[3 * b + k]
                          * (k == 1   ? width
                             : k == 2 ? height
                                      : 1),
                      tall + 1);
        sum += least;
        size += fabs(least);
    }
    worst_add(&value, loss_at(t, NULL, target, NULL), sum, size);
    /* rounding of some 150 losses; the barrier by hand moves a plane from its bound */
    worst_check(&value, 1e-14, "%s, kind %d: least loss", name, target->kind);
    worst_check(&losses, 1e-14, "%s, kind %d: loss of each box, at the planes reported",
                name, target->kind);
    worst_check(&terms, 1e-9, "%s, kind %d: planes", name, target->kind);
}

static void check_kinds(const char *name, int strategy)
{
    struct subject *t = open_subject(name, "misset", strategy);

    for (int k = 0; k < KINDS; k++) {
        const nb_target target = target_of(t, kinds[k]);

        check_planes(t, name, &target);
    }
    close_subject(t);
}

static int least_losses(void)
{
    check_kinds("base", NB_REFERENCE);
    check_kinds("square_nearest", NB_LANES);
    check_kinds("gauss_nearest", NB_SPOTS);
#ifdef NANOBRAG_FFTW
    check_kinds("point_spread", NB_LANES);
#endif
    return TAP_PASS;
}

/* many draws of few photons, where planes touch their bounds in every way */
static int few_photons(void)
{
    struct subject *t = open_subject("gauss_nearest", "misset", NB_SPOTS);
    struct worst worst = {0};
    int faces[4] = {0};

    t->hand.weight = NULL;
    for (int draw = 0; draw < 18; draw++)
        for (int k = 1; k <= 2; k++) {
            nb_target target = target_of(t, kinds[k]);
            double planes[3 * BOXES], by_hand[3];

            target.weight = NULL;
            target.saturation = t->hand.target.saturation = draw % 3 ? 0 : 2;
            draw_few(t, draw);
            planes_at(t, &target, planes);
            count_faces(t, planes, faces);
            for (int b = 0; b < BOXES; b++) {
                const double least = hand_least(&t->hand, b, by_hand);

                worst_add(&worst, hand_loss(&t->hand, b, planes + 3 * b), least,
                          fabs(least) + 1);
            }
        }
    worst_check(&worst, 5e-14, "loss of each box at its plane");
    tap_check(faces[0] > 9 && faces[1] > 9 && faces[2] > 9 && faces[3] > 9,
              "planes that are 0 nowhere, in a corner, along an edge, everywhere: %d %d %d "
              "%d",
              faces[0], faces[1], faces[2], faces[3]);
    close_subject(t);
    return TAP_PASS;
}

/* ---- the gradient ---- */

struct at_x {
    struct subject *t;
    const nb_target *target;
    const double *x;
    size_t p;
};

static long double loss_along(const void *context, double x)
{
    const struct at_x *a = context;
    double there[MOST];

    memcpy(there, a->x, nb_nparam(a->t->sim) * sizeof *there);
    there[a->p] = x;
    return (long double)loss_at(a->t, there, a->target, NULL);
}

static void check_gradient(const char *name, const char *names, int strategy, int few)
{
    struct subject *t = open_subject(name, names, strategy);
    const size_t n = nb_nparam(t->sim);
    double x[MOST] = {0};

    if (few) draw_few(t, few);
    for (size_t p = 0; p < n; p++) {
        nb_param param;

        if (nb_param_at(t->sim, p, &param) != NB_OK) abort();
        x[p] = param.value;
    }
    for (int k = 0; k < KINDS; k++) {
        const nb_target target = target_of(t, kinds[k]);
        double gradient[MOST] = {0};
        nb_normal out = {.gradient = gradient};

        (void)loss_at(t, x, &target, &out);
        for (size_t p = 0; p < n; p++) {
            const struct at_x at = {t, &target, x, p};
            nb_param param;
            struct ladder ladder = {loss_along, &at, x[p], 0, 0, 0};
            struct ladder_slope found;
            double off = 0;
            int agrees;

            if (nb_param_at(t->sim, p, &param) != NB_OK) abort();
            ladder.length = fmin(param.scale, 0.2 * fabs(x[p]));
            found = ladder_run(&ladder);
            agrees = ladder_agrees(&found, gradient[p], &off);
            tap_check(agrees, "%s, kind %d, %s: %.12g, differences %.12g +- %.1e (%.2g)",
                      name, kinds[k], param.name, gradient[p], found.slope, found.bar, off);
        }
    }
    close_subject(t);
}

static int gradients(void)
{
    check_gradient("base", "misset_z scale", NB_REFERENCE, 0);
    check_gradient("gauss_constant", "misset_x cell_a mosaic scale", NB_LANES, 0);
    check_gradient("gauss_nearest", "misset_y ncells_a scale", NB_SPOTS, 0);
    check_gradient("gauss_nearest", "misset_y scale", NB_SPOTS, 3);
#ifdef NANOBRAG_FFTW
    check_gradient("point_spread", "scale psf_fwhm", NB_LANES, 0);
#endif
    return TAP_PASS;
}

/* ---- the matrix ---- */

/* `names`, and the structure factors that the boxes depend on most */
static void add_reflections(const char *scene, char *names, size_t size)
{
    struct subject *t = open_subject(scene, "F[*]", NB_LANES);
    const size_t n = nb_nparam(t->sim);
    double *slope = calloc(n, sizeof *slope);
    size_t used = strlen(names);

    if (!slope || nb_vjp(t->sim, NULL, 1, &t->w, slope) != NB_OK) abort();
    for (int k = 0; k < 12; k++) {
        size_t best = 0;
        nb_param param;

        for (size_t i = 1; i < n; i++)
            if (fabs(slope[i]) > fabs(slope[best])) best = i;
        slope[best] = 0;
        if (nb_param_at(t->sim, best, &param) != NB_OK) abort();
        used += (size_t)snprintf(names + used, size - used, " %s", param.name);
    }
    free(slope);
    close_subject(t);
}

static double product(const double *a, const double *b, double *size)
{
    double sum = 0;

    *size = 0;
    for (int i = 0; i < PIXELS; i++) sum += a[i] * b[i];
    for (int i = 0; i < PIXELS; i++) *size += fabs(a[i] * b[i]);
    return sum;
}

/* Compares the matrix with that of columns; `whole` are these before they were made
 * orthogonal, whose size decides about rounding. */
static void check_matrix(const char *name, const struct subject *t, const nb_normal *found,
                         const double *columns, const double *whole)
{
    const size_t n = nb_nparam(t->sim), dense = nb_ndense(t->sim);
    struct worst matrix = {0}, coupling = {0}, diagonal = {0}, mirror = {0};
    size_t row = 0;

    for (size_t p = 0; p < n; p++) {
        size_t column = 0, f = 0;
        double size, sum = product(columns + p * PIXELS, columns + p * PIXELS, &size);
        nb_param param;

        (void)product(whole + p * PIXELS, whole + p * PIXELS, &size);
        worst_add(&diagonal, found->diagonal[p], sum, size);
        if (nb_param_at(t->sim, p, &param) != NB_OK) abort();
        if (strncmp(param.name, "F[", 2) == 0) continue;
        for (size_t q = 0; q < n; q++) {
            sum = product(columns + p * PIXELS, columns + q * PIXELS, &size);
            (void)product(whole + p * PIXELS, whole + q * PIXELS, &size);
            if (nb_param_at(t->sim, q, &param) != NB_OK) abort();
            if (strncmp(param.name, "F[", 2) == 0) {
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
    worst_check(&matrix, 2e-14, "%s: matrix of %zu, of its terms", name, dense);
    worst_check(&mirror, 0, "%s: matrix against itself transposed", name);
    worst_check(&diagonal, 2e-14, "%s: diagonal, of its terms", name);
    if (n > dense)
        worst_check(&coupling, 2e-13, "%s: coupling with %zu, of its terms", name,
                    n - dense);
}

/* Fills in the columns of the Jacobian. */
static void take_columns(struct subject *t, double *columns)
{
    for (size_t p = 0; p < nb_nparam(t->sim); p++) {
        nb_array column = nb_array_f64(columns + p * PIXELS, SLOW, FAST);
        double dx[MOST] = {0};

        dx[p] = 1;
        if (nb_jvp(t->sim, NULL, 1, dx, &column) != NB_OK) abort();
    }
}

/* With `few` photons planes are at their bounds. */
static void check_normal(const char *name, const char *names, int strategy, int few)
{
    static double jacobian[MOST * PIXELS], columns[MOST * PIXELS], whole[MOST * PIXELS];
    static double m[4][MOST * MOST];
    struct subject *t = open_subject(name, names, strategy);
    const size_t n = nb_nparam(t->sim);

    int faces[4] = {0};

    if (n > MOST) abort();
    if (few) draw_few(t, few);
    take_columns(t, jacobian);
    for (int k = 0; k < KINDS; k++) {
        const nb_target target = target_of(t, kinds[k]);
        double planes[3 * BOXES], alone[MOST] = {0}, plain, value;
        nb_normal out = {m[0], m[1], m[2], m[3]}, gradient = {.gradient = alone};
        struct worst worst = {0};
        char what[80];

        (void)snprintf(what, sizeof what, "%s, kind %d", name, kinds[k]);
        memset(m, 0, sizeof m);
        value = loss_at(t, NULL, &target, &out);
        planes_at(t, &target, planes);
        count_faces(t, planes, faces);
        memcpy(columns, jacobian, sizeof columns);
        memcpy(whole, jacobian, sizeof whole);
        hand_orthogonal(&t->hand, planes, n, columns);
        for (int i = 0; i < PIXELS; i++) {
            const int s = i / FAST, f = i % FAST, b = hand_owner(&t->hand, s, f);
            double slope, curvature = 0;

            if (b >= 0)
                (void)hand_pixel(&t->hand, s, f,
                                 t->image[i]
                                     + hand_photons(&t->hand, b, planes + 3 * b, s, f),
                                 &slope, &curvature);
            for (size_t p = 0; p < n; p++) whole[p * PIXELS + (size_t)i] *= sqrt(curvature);
        }
        check_matrix(what, t, &out, columns, whole);
        plain = loss_at(t, NULL, &target, &gradient);
        for (size_t p = 0; p < n; p++)
            worst_add(&worst, alone[p], m[3][p], fabs(alone[p]) + fabs(value) * 1e-3);
        worst_check(&worst, 5e-12, "%s: gradient alone, and beside the matrix", what);
        tap_check(fabs(value - plain) <= 1e-13 * fabs(value),
                  "%s: value with the matrix %.17g, with the gradient %.17g", what, value,
                  plain);
    }
    if (few)
        tap_check(faces[0] > 0 && faces[1] > 0 && faces[2] > 0 && faces[3] > 0,
                  "%s: planes that are 0 nowhere, in a corner, along an edge, everywhere: "
                  "%d %d %d %d",
                  name, faces[0], faces[1], faces[2], faces[3]);
    close_subject(t);
}

static int matrices(void)
{
    char names[1000] = "misset scale ncells";

    check_normal("base", "misset cell scale", NB_REFERENCE, 0);
    check_normal("gauss_constant", "misset mosaic scale default_f", NB_LANES, 0);
    add_reflections("gauss_nearest", names, sizeof names);
#ifdef NANOBRAG_FFTW
    check_normal("point_spread", "misset scale", NB_LANES, 0);
    check_normal("spread_nearest", names, NB_LANES, 3);
#endif
    check_normal("gauss_nearest", names, NB_SPOTS, 0);
    check_normal("gauss_nearest", names, NB_LANES, 0);
    check_normal("gauss_nearest", names, NB_SPOTS, 3);
    check_normal("gauss_nearest", names, NB_LANES, 5);
    return TAP_PASS;
}

/* ---- threads ---- */

static int threads(void)
{
    static const int strategies[] = {NB_REFERENCE, NB_LANES, NB_SPOTS};
    char names[1000] = "misset scale";

    add_reflections("gauss_nearest", names, sizeof names);
    for (int k = 0; k < 10; k++) {
        static double found[4][3 + 3 * BOXES + 2 * MOST + 2 * MOST * MOST];
        const int strategy = strategies[k / 2 % 3], kind = kinds[k % KINDS];
        const int single = k >= 6 && strategy != NB_REFERENCE;
        struct subject *t = open_subject("gauss_nearest", names, strategy);
        const nb_target target = target_of(t, kind);

        memset(found, 0, sizeof found);
        for (int i = 0; i < 4; i++) {
            double *at = found[i];
            nb_normal slopes = {.gradient = at + 3}, all;

            drop(t);
            make(t, names, strategy, single ? NB_SINGLE : NB_DOUBLE, i + 1);
            all = (nb_normal){at + 3 + MOST, at + 3 + MOST + MOST * MOST,
                              at + 3 + 2 * MOST + MOST * MOST, NULL};
            at[0] = loss_at(t, NULL, &target, NULL);
            at[1] = loss_at(t, NULL, &target, &slopes);
            at[2] = loss_at(t, NULL, &target, &all);
            planes_at(t, &target, at + 3 + 2 * MOST + 2 * MOST * MOST);
        }
        for (int i = 1; i < 4; i++)
            tap_check(bits_same(found[0], found[i], sizeof found[0] / sizeof *found[0]),
                      "strategy %d%s, kind %d: 1 and %d threads", strategy,
                      single ? " in float" : "", kind, i + 1);
        close_subject(t);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"least_losses", least_losses}, {"few_photons", few_photons},
        {"gradients", gradients},       {"matrices", matrices},
        {"threads", threads},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
