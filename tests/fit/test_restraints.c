/*
 * test_restraints.c - what restraints and their bounds add to a fit and do to its result.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"

static struct stills stills;

enum { RESTRAINED = 3 };
static const nb_restraint restraints[RESTRAINED] =
    {{.name = "cell_a", .centre = 50.003, .sigma = 0.0015},
     {.name = "scale", .centre = 1.2, .sigma = 0.05},
     {.name = "misset_y", .centre = 5, .sigma = 30}};

/* The restraint of value i, or NULL. */
static const nb_restraint *restraint_of(size_t i)
{
    const size_t own = i < STILLS_SHARED ? 0 : 1 + (i - STILLS_SHARED) % 4;

    return i == 0     ? restraints
           : own == 4 ? restraints + 1
           : own == 2 ? restraints + 2
                      : NULL;
}

/* What restraints add to loss, gradient and matrix. */
static int restraints_added(void)
{
    enum { N = STILLS_SHARED + 3 * STILLS_OWN };
    nb_context *ctx = renders_context(1);
    nb_fit_options options = stills_options;
    double x[N], loss[2], gradient[2][N] = {{0}}, diagonal[2][N] = {{0}};
    double matrix[2][N * N] = {{0}}, expected = 0;

    stills_make(&stills, ctx, 3, 1, 1);
    for (int k = 0; k < 2; k++) {
        nb_normal out = {matrix[k], diagonal[k], NULL, gradient[k]};
        nb_fit *fit;

        options.restraint = k ? restraints : NULL;
        options.nrestraint = k ? RESTRAINED : 0;
        fit = stills_fit(&stills, ctx, &options);
        for (size_t i = 0; i < N; i++) x[i] = stills_truth(i) * 1.001;
        if (nb_fit_evaluate(fit, x, loss + k, &out) != NB_OK) abort();
        nb_fit_free(fit);
    }
    for (size_t i = 0; i < N; i++) {
        const nb_restraint *r = restraint_of(i);
        const double weight = r ? 1 / (r->sigma * r->sigma) : 0;
        const double off = r ? x[i] - r->centre : 0;

        expected += weight * off * off / 2;
        tap_close("gradient of a restraint", gradient[1][i] - gradient[0][i], weight * off,
                  1e-12 * (fabs(gradient[0][i]) + fabs(gradient[1][i])));
        tap_close("diagonal", diagonal[1][i] - diagonal[0][i], weight,
                  1e-14 * diagonal[1][i]);
        for (size_t j = 0; j < N; j++)
            if (i != j && matrix[1][i * N + j] != matrix[0][i * N + j])
                tap_check(0, "matrix %zu, %zu", i, j);
        tap_close("matrix", matrix[1][i * (N + 1)] - matrix[0][i * (N + 1)], weight,
                  1e-14 * diagonal[1][i]);
    }
    tap_close("loss", loss[1] - loss[0], expected, 1e-12 * loss[1]);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* The result lies where the slopes of data and restraints cancel, and errors are smaller.
 */
static int restrained(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit_options options = stills_options;
    nb_fit_result r;
    double error[STILLS_VALUES] = {0}, value[STILLS_VALUES] = {0}, loss;
    nb_fit *fit;

    for (int k = 0; k < 2; k++) {
        options.restraint = restraints;
        options.nrestraint = k ? RESTRAINED : 0;
        stills_make(&stills, ctx, 3, 1, 1);
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED && stills_gain(fit, &r) < 1e-3,
                  "end %d, %g left to gain", r.end, stills_gain(fit, &r));
        if (nb_fit_evaluate(fit, NULL, &loss, NULL) != NB_OK) abort();
        /* the loss alone and the one with a matrix are added up in other orders */
        tap_close("loss of the result", r.loss, loss, 1e-14 * loss);
        for (size_t i = 0; k == 0 && i < r.nvalue; i++)
            error[i] = r.value[i].error, value[i] = r.value[i].value;
        if (k == 0) nb_fit_free(fit);
    }
    for (size_t i = 0; i < r.nvalue; i++)
        if (restraint_of(i) == restraints || restraint_of(i) == restraints + 1) {
            const nb_restraint *p = restraint_of(i);
            const double before = fabs(value[i] - p->centre) / p->sigma;
            const double now = fabs(r.value[i].value - p->centre) / p->sigma;

            tap_check(now < before && r.value[i].error < p->sigma
                          && r.value[i].error < error[i],
                      "%s from %.2f to %.2f sigma off, error %.4g after %.4g",
                      r.value[i].param.name, before, now, r.value[i].error, error[i]);
        }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Bounds of a restraint hold at every pass and in the result. */
static int within_restraints(void)
{
    static const nb_restraint bounds[] = {
        {.name = "cell_a", .lower = 50.02, .upper = 50.2},
        {.name = "scale", .lower = 0.5, .upper = 1.4},
    };
    nb_context *ctx = renders_context(1);
    nb_fit_options options = stills_options;
    nb_fit_result r;
    nb_fit *fit;

    options.restraint = bounds, options.nrestraint = 2;
    stills_make(&stills, ctx, 2, 1, 0.5);
    stills.scene[0].crystal.cell[0] = stills.scene[1].crystal.cell[0] = 50.03;
    stills.scene[1].crystal.scale = 1.3; /* true: 1.5 */
    fit = stills_fit(&stills, ctx, &options);
    r = stills_run(fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED, "end %d", r.end);
    tap_check(r.value[0].value == 50.02 && r.value[0].bound == -1, "cell_a %.4f, bound %d",
              r.value[0].value, r.value[0].bound);
    tap_check(r.value[9].value == 1.4 && r.value[9].bound == 1, "scale %.4f, bound %d",
              r.value[9].value, r.value[9].bound);
    tap_check(r.value[5].bound == 0 && r.value[5].value > 0.8, "other scale %.4f",
              r.value[5].value);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"restraints_added", restraints_added},
        {"restrained", restrained},
        {"within_restraints", within_restraints},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
