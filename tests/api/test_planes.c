/*
 * test_planes.c - planes of background in boxes: nb_loss() with NB_BACKGROUND_PLANES and
 * nb_planes() against planes found by hand, gradients against differences of the least
 * loss, and the matrix against columns of nb_jvp() made orthogonal to the planes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "api/plane_subject.h"
#include "support/ladder.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

static const int kinds[] = {NB_LOSS_GAUSS, NB_LOSS_POISSON, NB_LOSS_READOUT, NB_LOSS_HUBER,
                            NB_LOSS_CAUCHY};
enum { KINDS = sizeof kinds / sizeof *kinds, MOST = 48 };

/* Counts the planes that are 0 nowhere, in a corner, along an edge, everywhere. */
static void count_faces(const struct subject *t, const double *planes, int faces[4])
{
    for (int b = 0; b < BOXES; b++) {
        const int *e = subject_boxes[b];
        int zero = 0;

        for (int i = 0; i < 4; i++)
            zero += hand_photons(&t->hand, b, planes + 3 * b, i & 2 ? e[3] - 1 : e[2],
                                 i & 1 ? e[1] - 1 : e[0])
                    == 0;
        faces[zero < 3 ? zero : 3]++;
    }
}

/* ---- value and planes ---- */

/* Compares the planes of every box with those found by hand. */
static void check_planes(struct subject *t, const char *name, const nb_target *target)
{
    double planes[3 * BOXES], by_hand[3 * BOXES], sum = 0, size = 0;
    struct worst losses = {0}, terms = {0}, value = {0};

    subject_planes(t, target, planes);
    for (int b = 0; b < BOXES; b++) {
        const double least = hand_least(&t->hand, b, by_hand + 3 * b);
        const double *p = planes + 3 * b;
        const double width = (subject_boxes[b][1] - subject_boxes[b][0] - 1) / 2.;
        const double height = (subject_boxes[b][3] - subject_boxes[b][2] - 1) / 2.;
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
    worst_add(&value, subject_loss(t, NULL, target, NULL), sum, size);
    /* rounding of some 150 losses; the barrier by hand moves a plane from its bound */
    worst_check(&value, 1e-14, "%s, kind %d: least loss", name, target->kind);
    worst_check(&losses, 1e-14, "%s, kind %d: loss of each box, at the planes reported",
                name, target->kind);
    worst_check(&terms, 1e-9, "%s, kind %d: planes", name, target->kind);
}

static void check_kinds(const char *name, int strategy)
{
    struct subject *t = subject_open(name, "misset", strategy);

    for (int k = 0; k < KINDS; k++) {
        const nb_target target = subject_target(t, kinds[k]);

        check_planes(t, name, &target);
    }
    subject_close(t);
}

static int least_losses(void)
{
    check_kinds("base", NB_STRATEGY_REFERENCE);
    check_kinds("square_nearest", NB_STRATEGY_LANES);
    check_kinds("gauss_nearest", NB_STRATEGY_SPOTS);
    check_kinds("faint", NB_STRATEGY_REFERENCE);
    check_kinds("faint", NB_STRATEGY_LANES);
    check_kinds("faint", NB_STRATEGY_SPOTS);
#ifdef NANOBRAG_FFTW
    check_kinds("point_spread", NB_STRATEGY_LANES);
#endif
    return TAP_PASS;
}

/* many draws of few photons, where planes touch their bounds in every way */
static void check_few(const char *name, int strategy, int draws)
{
    struct subject *t = subject_open(name, "misset", strategy);
    struct worst worst = {0};
    int faces[4] = {0};

    t->hand.weight = NULL;
    for (int draw = 0; draw < draws; draw++)
        for (int k = 1; k <= 2; k++) {
            nb_target target = subject_target(t, kinds[k]);
            double planes[3 * BOXES], by_hand[3];

            target.weight = NULL;
            target.saturation = t->hand.target.saturation = draw % 3 ? 0 : 2;
            subject_draw_few(t, draw);
            subject_planes(t, &target, planes);
            count_faces(t, planes, faces);
            for (int b = 0; b < BOXES; b++) {
                const double least = hand_least(&t->hand, b, by_hand);

                worst_add(&worst, hand_loss(&t->hand, b, planes + 3 * b), least,
                          fabs(least) + 1);
            }
        }
    worst_check(&worst, 5e-14, "%s: loss of each box at its plane", name);
    for (int i = 0; i < 4; i++)
        tap_check(2 * faces[i] > draws,
                  "%s: %d planes that are 0 nowhere, in a corner, along an edge, "
                  "everywhere",
                  name, faces[i]);
    subject_close(t);
}

static int few_photons(void)
{
    check_few("gauss_nearest", NB_STRATEGY_SPOTS, 18);
    check_few("faint", NB_STRATEGY_LANES, 8);
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

    memcpy(there, a->x, nb_simulator_nparam(a->t->sim) * sizeof *there);
    there[a->p] = x;
    return (long double)subject_loss(a->t, there, a->target, NULL);
}

static void check_gradient(const char *name, const char *names, int strategy, int few)
{
    struct subject *t = subject_open(name, names, strategy);
    const size_t n = nb_simulator_nparam(t->sim);
    double x[MOST] = {0};

    if (few) subject_draw_few(t, few);
    for (size_t p = 0; p < n; p++) {
        nb_param param;

        if (nb_simulator_param(t->sim, p, &param) != NB_OK) abort();
        x[p] = param.value;
    }
    for (int k = 0; k < KINDS; k++) {
        const nb_target target = subject_target(t, kinds[k]);
        double gradient[MOST] = {0};
        nb_normal out = {.gradient = gradient};

        (void)subject_loss(t, x, &target, &out);
        for (size_t p = 0; p < n; p++) {
            const struct at_x at = {t, &target, x, p};
            nb_param param;
            struct ladder ladder = {loss_along, &at, x[p], 0, 0, 0};
            struct ladder_slope found;
            double off = 0;
            int agrees;

            if (nb_simulator_param(t->sim, p, &param) != NB_OK) abort();
            ladder.length = fmin(param.scale, 0.2 * fabs(x[p]));
            found = ladder_run(&ladder);
            agrees = ladder_agrees(&found, gradient[p], &off);
            tap_check(agrees, "%s, kind %d, %s: %.12g, differences %.12g +- %.1e (%.2g)",
                      name, kinds[k], param.name, gradient[p], found.slope, found.bar, off);
        }
    }
    subject_close(t);
}

static int gradients(void)
{
    check_gradient("base", "misset_z scale", NB_STRATEGY_REFERENCE, 0);
    check_gradient("gauss_constant", "misset_x cell_a mosaic scale", NB_STRATEGY_LANES, 0);
    check_gradient("gauss_nearest", "misset_y ncells_a scale", NB_STRATEGY_SPOTS, 0);
    check_gradient("gauss_nearest", "misset_y scale", NB_STRATEGY_SPOTS, 3);
    check_gradient("faint", "misset_x scale", NB_STRATEGY_REFERENCE, 3);
    check_gradient("faint", "misset_y scale", NB_STRATEGY_LANES, 5);
    check_gradient("faint", "misset_z scale", NB_STRATEGY_SPOTS, 5);
#ifdef NANOBRAG_FFTW
    check_gradient("point_spread", "scale psf_fwhm", NB_STRATEGY_LANES, 0);
#endif
    return TAP_PASS;
}

/* ---- the matrix ---- */

/* `names`, and the structure factors that the boxes depend on most */
static void add_reflections(const char *scene, char *names, size_t size)
{
    struct subject *t = subject_open(scene, "F[*]", NB_STRATEGY_LANES);
    const size_t n = nb_simulator_nparam(t->sim);
    double *slope = calloc(n, sizeof *slope);
    size_t used = strlen(names);

    if (!slope || nb_vjp(t->sim, NULL, 1, &t->w, slope) != NB_OK) abort();
    for (int k = 0; k < 12; k++) {
        size_t best = 0;
        nb_param param;

        for (size_t i = 1; i < n; i++)
            if (fabs(slope[i]) > fabs(slope[best])) best = i;
        slope[best] = 0;
        if (nb_simulator_param(t->sim, best, &param) != NB_OK) abort();
        used += (size_t)snprintf(names + used, size - used, " %s", param.name);
    }
    free(slope);
    subject_close(t);
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
    const size_t n = nb_simulator_nparam(t->sim), dense = nb_simulator_ndense(t->sim);
    struct worst matrix = {0}, coupling = {0}, diagonal = {0}, mirror = {0};
    size_t row = 0;

    for (size_t p = 0; p < n; p++) {
        size_t column = 0, f = 0;
        double size, sum = product(columns + p * PIXELS, columns + p * PIXELS, &size);
        nb_param param;

        (void)product(whole + p * PIXELS, whole + p * PIXELS, &size);
        worst_add(&diagonal, found->diagonal[p], sum, size);
        if (nb_simulator_param(t->sim, p, &param) != NB_OK) abort();
        if (strncmp(param.name, "F[", 2) == 0) continue;
        for (size_t q = 0; q < n; q++) {
            sum = product(columns + p * PIXELS, columns + q * PIXELS, &size);
            (void)product(whole + p * PIXELS, whole + q * PIXELS, &size);
            if (nb_simulator_param(t->sim, q, &param) != NB_OK) abort();
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
    for (size_t p = 0; p < nb_simulator_nparam(t->sim); p++) {
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
    struct subject *t = subject_open(name, names, strategy);
    const size_t n = nb_simulator_nparam(t->sim);

    int faces[4] = {0};

    if (n > MOST) abort();
    if (few) subject_draw_few(t, few);
    take_columns(t, jacobian);
    for (int k = 0; k < KINDS; k++) {
        const nb_target target = subject_target(t, kinds[k]);
        double planes[3 * BOXES], alone[MOST] = {0}, plain, value;
        nb_normal out = {m[0], m[1], m[2], m[3]}, gradient = {.gradient = alone};
        struct worst worst = {0};
        char what[80];

        (void)snprintf(what, sizeof what, "%s, kind %d", name, kinds[k]);
        memset(m, 0, sizeof m);
        value = subject_loss(t, NULL, &target, &out);
        subject_planes(t, &target, planes);
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
        plain = subject_loss(t, NULL, &target, &gradient);
        for (size_t p = 0; p < n; p++)
            worst_add(&worst, alone[p], m[3][p], fabs(alone[p]) + sqrt(m[1][p]));
        worst_check(&worst, 3e-12, "%s: gradient alone, of it and its error, and beside",
                    what);
        tap_check(fabs(value - plain) <= 1e-13 * fabs(value),
                  "%s: value with the matrix %.17g, with the gradient %.17g", what, value,
                  plain);
    }
    if (few)
        tap_check(faces[0] > 0 && faces[1] > 0 && faces[2] > 0 && faces[3] > 0,
                  "%s: planes that are 0 nowhere, in a corner, along an edge, everywhere: "
                  "%d %d %d %d",
                  name, faces[0], faces[1], faces[2], faces[3]);
    subject_close(t);
}

static int matrices(void)
{
    char names[1000] = "misset scale ncells";

    check_normal("base", "misset cell scale", NB_STRATEGY_REFERENCE, 0);
    check_normal("gauss_constant", "misset mosaic scale default_f", NB_STRATEGY_LANES, 0);
    add_reflections("gauss_nearest", names, sizeof names);
#ifdef NANOBRAG_FFTW
    check_normal("point_spread", "misset scale", NB_STRATEGY_LANES, 0);
    check_normal("spread_nearest", names, NB_STRATEGY_LANES, 3);
    check_normal("spread_faint", "misset scale", NB_STRATEGY_LANES, 3);
#endif
    check_normal("gauss_nearest", names, NB_STRATEGY_SPOTS, 0);
    check_normal("gauss_nearest", names, NB_STRATEGY_LANES, 0);
    check_normal("gauss_nearest", names, NB_STRATEGY_SPOTS, 3);
    check_normal("gauss_nearest", names, NB_STRATEGY_LANES, 5);
    check_normal("faint", "misset scale", NB_STRATEGY_REFERENCE, 3);
    check_normal("faint", "misset scale", NB_STRATEGY_LANES, 3);
    check_normal("faint", "misset scale", NB_STRATEGY_SPOTS, 3);
    return TAP_PASS;
}

/* Pixels that float loses are those that do not matter. */
static int in_float(void)
{
    enum { N = 4 };

    for (int strategy = NB_STRATEGY_LANES; strategy <= NB_STRATEGY_SPOTS; strategy++) {
        struct subject *t = subject_open("faint", "misset scale", strategy);
        const nb_target target = subject_target(t, NB_LOSS_POISSON);
        double value[2], gradient[2][N] = {{0}}, matrix[2][N * N] = {{0}};
        struct worst slopes = {0}, terms = {0};

        subject_draw_few(t, 3);
        for (int i = 0; i < 2; i++) {
            nb_normal out = {.gradient = gradient[i], .matrix = matrix[i]};

            subject_drop(t);
            subject_make(t, "misset scale", strategy,
                         i ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE, 2);
            value[i] = subject_loss(t, NULL, &target, &out);
        }
        for (int i = 0; i < N; i++)
            worst_add(&slopes, gradient[1][i], gradient[0][i],
                      sqrt(matrix[0][i * (N + 1)]));
        for (int i = 0; i < N * N; i++)
            worst_add(&terms, matrix[1][i], matrix[0][i],
                      sqrt(matrix[0][i / N * (N + 1)] * matrix[0][i % N * (N + 1)]));
        /* rounding of h by 6e-8 of some 5, on slopes of up to 50 widths of a spot */
        tap_close("loss in float", value[1] / value[0], 1, 1e-4);
        worst_check(&slopes, 1e-4, "strategy %d: gradient in float, of its error",
                    strategy);
        worst_check(&terms, 1e-4, "strategy %d: matrix in float, of its diagonal",
                    strategy);
        subject_close(t);
    }
    return TAP_PASS;
}

/* ---- threads ---- */

static int threads(void)
{
    static const int strategies[] = {NB_STRATEGY_REFERENCE, NB_STRATEGY_LANES,
                                     NB_STRATEGY_SPOTS};
    char names[1000] = "misset scale";

    add_reflections("gauss_nearest", names, sizeof names);
    for (int k = 0; k < 10; k++) {
        static double found[4][3 + 3 * BOXES + 2 * MOST + 2 * MOST * MOST];
        const int strategy = strategies[k / 2 % 3], kind = kinds[k % KINDS];
        const int single = k >= 6 && strategy != NB_STRATEGY_REFERENCE;
        struct subject *t = subject_open("gauss_nearest", names, strategy);
        const nb_target target = subject_target(t, kind);

        memset(found, 0, sizeof found);
        for (int i = 0; i < 4; i++) {
            double *at = found[i];
            nb_normal slopes = {.gradient = at + 3}, all;

            subject_drop(t);
            subject_make(t, names, strategy,
                         single ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE, i + 1);
            all = (nb_normal){at + 3 + MOST, at + 3 + MOST + MOST * MOST,
                              at + 3 + 2 * MOST + MOST * MOST, NULL};
            at[0] = subject_loss(t, NULL, &target, NULL);
            at[1] = subject_loss(t, NULL, &target, &slopes);
            at[2] = subject_loss(t, NULL, &target, &all);
            subject_planes(t, &target, at + 3 + 2 * MOST + 2 * MOST * MOST);
        }
        for (int i = 1; i < 4; i++)
            tap_check(bits_same(found[0], found[i], sizeof found[0] / sizeof *found[0]),
                      "strategy %d%s, kind %d: 1 and %d threads", strategy,
                      single ? " in float" : "", kind, i + 1);
        subject_close(t);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"least_losses", least_losses}, {"few_photons", few_photons},
        {"gradients", gradients},       {"matrices", matrices},
        {"in_float", in_float},         {"threads", threads},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
