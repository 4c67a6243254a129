/*
 * test_lattices.c - a crystal of two lattices has the sum of their images, of their changes
 * and of their gradients, in every strategy, on panels, in boxes and behind a point spread.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lattices/two.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

enum { MOST = 40, PIXELS_MOST = 2 * TWO_PIXELS };

static const nb_options ways[] = {
    {NB_PRECISION_DOUBLE, NB_STRATEGY_AUTO, 0},
    {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0},
    {NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0},
    {NB_PRECISION_SINGLE, NB_STRATEGY_AUTO, 0},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* The simulators of both lattices and of each. */
struct trio {
    nb_context *ctx;
    nb_scene both, one[2];
    nb_simulator *sum, *part[2];
    int nslow, nfast;
    size_t n, pixels; /* parameters of the sum, pixels of the image */
    double photons[3][PIXELS_MOST];
};

static struct trio *make(int kind, const nb_options *options)
{
    struct trio *t = calloc(1, sizeof *t);
    nb_scene resolved;

    if (!t) abort();
    t->ctx = renders_context(1);
    two_scenes(kind, &t->both, t->one);
    t->sum = renders_simulator(t->ctx, &t->both, TWO_OF_BOTH, options);
    for (int i = 0; i < 2; i++)
        t->part[i] = renders_simulator(t->ctx, t->one + i, TWO_OF_ONE, options);
    renders_require(t->ctx, nb_simulator_resolved(t->sum, NULL, &resolved));
    t->nslow = resolved.detector.nslow;
    t->nfast = resolved.detector.nfast;
    t->pixels = (size_t)t->nslow * (size_t)t->nfast;
    t->n = nb_simulator_nparam(t->sum);
    if (t->pixels > PIXELS_MOST || t->n > MOST) abort();
    return t;
}

static void drop(struct trio *t)
{
    nb_simulator_free(t->sum);
    for (int i = 0; i < 2; i++) nb_simulator_free(t->part[i]);
    nb_context_free(t->ctx);
    free(t);
}

static nb_array image_of(const struct trio *t, double *photons)
{
    return nb_array_f64(photons, t->nslow, t->nfast);
}

/* Returns the number of the parameter of the sum in a scene of one lattice, or -1; *factor
 * becomes the change of one by the other. */
static int in_part(const struct trio *t, size_t i, int part, double *factor)
{
    nb_param p, q;
    const char *name;
    char of_part[sizeof p.name];

    if (nb_simulator_param(t->sum, i, &p) != NB_OK) abort();
    name = p.name;
    *factor = 1;
    if (part == 1 && !strcmp(name, "scale")) *factor = 0.6;
    if (!strncmp(name, "lattice_", 8)) {
        if (part == 0) return -1;
        (void)snprintf(of_part, sizeof of_part, "%.*s", (int)strcspn(name + 8, "["),
                       name + 8);
        name = of_part;
        if (!strcmp(name, "scale")) *factor = 1.3;
    } else if (part == 1 && (!strcmp(p.group, "cell") || !strcmp(p.group, "misset")))
        return -1;
    for (size_t k = 0; k < nb_simulator_nparam(t->part[part]); k++)
        if (nb_simulator_param(t->part[part], k, &q) == NB_OK && !strcmp(q.name, name))
            return (int)k;
    return -1;
}

/* Of the sum and of both parts. */
static double columns[3][MOST][PIXELS_MOST];

/* ---- the cases ---- */

/* The image is the sum, to the last bits. */
static int images(void)
{
    for (int kind = 0; kind < TWO_KINDS; kind++)
        for (int w = 0; w < WAYS && !two_is_missing(kind); w++) {
            struct trio *t = make(kind, ways + w);
            struct worst off = {0};
            double peak;

            for (int i = 0; i < 3; i++) {
                nb_array image = image_of(t, t->photons[i]);

                renders_require(t->ctx,
                                nb_forward(i ? t->part[i - 1] : t->sum, NULL, &image));
            }
            peak = worst_largest(t->photons[0], t->pixels);
            for (size_t p = 0; p < t->pixels; p++)
                worst_add(&off, t->photons[0][p], t->photons[1][p] + t->photons[2][p],
                          peak);
            worst_check(&off, kind == TWO_SPREAD ? 1e-14 : 1e-15, "%s, strategy %d, %s",
                        two_name(kind), ways[w].strategy,
                        ways[w].precision == NB_PRECISION_SINGLE ? "float" : "double");
            tap_check(worst_largest(t->photons[2], t->pixels) > 0.01 * peak,
                      "the second lattice is seen");
            drop(t);
        }
    return TAP_PASS;
}

/* The changes of an image along all parameters of a simulator. */
static void jacobian_of(const struct trio *t, nb_simulator *sim,
                        double (*column)[PIXELS_MOST])
{
    const size_t n = nb_simulator_nparam(sim);
    double dx[MOST * MOST] = {0};
    nb_array change[MOST];

    for (size_t i = 0; i < n; i++) {
        dx[i * (n + 1)] = 1;
        change[i] = image_of(t, column[i]);
    }
    renders_require(t->ctx, nb_jvp(sim, NULL, (int)n, dx, change));
}

/* Checks a column of the sum against those of the parts, and a gradient against it. */
static void check_column(const struct trio *t, size_t i, const double *cotangent,
                         double gradient, struct worst off[2])
{
    static double truth[PIXELS_MOST];
    double sum = 0, size = 0, largest;

    memset(truth, 0, sizeof truth);
    for (int part = 0; part < 2; part++) {
        double factor;
        const int at = in_part(t, i, part, &factor);

        for (size_t p = 0; p < t->pixels && at >= 0; p++)
            truth[p] += factor * columns[1 + part][at][p];
    }
    largest = worst_largest(truth, t->pixels);
    worst_add_all(off, columns[0][i], truth, t->pixels, largest);
    for (size_t p = 0; p < t->pixels; p++) {
        sum += cotangent[p] * columns[0][i][p];
        size += fabs(cotangent[p] * columns[0][i][p]);
    }
    worst_add(off + 1, gradient, sum, size);
    tap_check(largest > 0, "parameter %zu changes the image", i);
}

/* Changes along every parameter, and the gradient of a cotangent. */
static int changes(void)
{
    static double cotangent[PIXELS_MOST];

    for (int kind = 0; kind < TWO_KINDS; kind++)
        for (int w = 0; w < (two_is_sampled(kind) ? 3 : 1) && !two_is_missing(kind); w++) {
            struct trio *t = make(kind, ways + w);
            struct worst off[2] = {{0}};
            double gradient[MOST] = {0};
            const nb_array bar = image_of(t, cotangent);

            for (size_t p = 0; p < t->pixels; p++) cotangent[p] = 1 + (double)(p % 7);
            renders_require(t->ctx, nb_vjp(t->sum, NULL, 1, &bar, gradient));
            jacobian_of(t, t->sum, columns[0]);
            for (int i = 0; i < 2; i++) jacobian_of(t, t->part[i], columns[1 + i]);
            for (size_t i = 0; i < t->n; i++)
                check_column(t, i, cotangent, gradient[i], off);
            worst_check(off, 1e-12, "%s, strategy %d: changes of the image", two_name(kind),
                        ways[w].strategy);
            worst_check(off + 1, 1e-12, "the gradient, from them");
            drop(t);
        }
    return TAP_PASS;
}

/* Draws data: the image, scaled to counts. */
static void observe(struct trio *t, double *counts)
{
    nb_array image = image_of(t, counts);

    renders_require(t->ctx, nb_forward(t->sum, NULL, &image));
    for (size_t p = 0; p < t->pixels; p++)
        counts[p] = floor(counts[p] * (1 + 0.2 * sin((double)p)) + 0.5);
}

/* The matrix and the gradient of a loss are those of its columns; the gradient alone is the
 * same. With planes, value and gradient of both calls agree. */
static int losses(void)
{
    static double counts[PIXELS_MOST];
    double(*column)[PIXELS_MOST] = columns[0];

    for (int kind = 0; kind < TWO_KINDS; kind++)
        for (int planes = 0; planes <= (kind == TWO_BOXES) && !two_is_missing(kind);
             planes++) {
            struct trio *t = make(kind, ways);
            const nb_array observed = image_of(t, counts);
            nb_target target = {.kind = NB_LOSS_POISSON, .observed = &observed};
            double matrix[MOST * MOST] = {0}, gradient[2][MOST] = {{0}}, value[2];
            nb_normal out = {.matrix = matrix, .gradient = gradient[0]},
                      alone = {.gradient = gradient[1]};
            struct worst of_matrix = {0}, of_gradient = {0}, of_column = {0};
            nb_array image = image_of(t, t->photons[0]);

            observe(t, counts);
            if (planes) target.background = NB_BACKGROUND_PLANES;
            for (size_t p = 0; p < t->pixels && planes; p++) counts[p] += 3;
            renders_require(t->ctx, nb_loss(t->sum, NULL, &target, value, &out));
            renders_require(t->ctx, nb_loss(t->sum, NULL, &target, value + 1, &alone));
            tap_close("value", value[1], value[0], 1e-12 * fabs(value[0]));
            renders_require(t->ctx, nb_forward(t->sum, NULL, &image));
            jacobian_of(t, t->sum, column);
            for (size_t i = 0; i < t->n; i++)
                worst_add(&of_gradient, gradient[1][i], gradient[0][i],
                          sqrt(matrix[i * (t->n + 1)] * (double)t->pixels));
            worst_check(&of_gradient, 1e-12, "%s%s: the gradient by both calls",
                        two_name(kind), planes ? " with planes" : "");
            for (size_t i = 0; i < t->n && !planes; i++) {
                double slope = 0;

                for (size_t k = 0; k < t->n; k++) {
                    double sum = 0;

                    for (size_t p = 0; p < t->pixels; p++)
                        if (t->photons[0][p] > 0)
                            sum += column[i][p] * column[k][p] / t->photons[0][p];
                    worst_add(&of_matrix, matrix[i * t->n + k], sum,
                              sqrt(matrix[i * (t->n + 1)] * matrix[k * (t->n + 1)]));
                }
                for (size_t p = 0; p < t->pixels; p++)
                    if (t->photons[0][p] > 0)
                        slope += column[i][p] * (1 - counts[p] / t->photons[0][p]);
                worst_add(&of_column, gradient[0][i], slope,
                          sqrt(matrix[i * (t->n + 1)] * (double)t->pixels));
            }
            if (!planes) worst_check(&of_matrix, 1e-12, "the matrix, from columns");
            if (!planes) worst_check(&of_column, 1e-12, "the gradient, from columns");
            drop(t);
        }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"images", images},
        {"changes", changes},
        {"losses", losses},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
