/*
 * wrong.c - derivatives that are wrong on purpose, and the verdict of nb_gradcheck() on
 * them. The program is linked so that calls of nb_vjp(), nb_jvp() and nb_simulator_param()
 * pass through this file (--wrap in tests/CMakeLists.txt) instead of support/plant.c, whose
 * errors it plants too; the calls of other cases pass unchanged.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradients/gradients.h"
#include "gradients/harness.h"
#include "support/plant.h"

enum { PIXELS = 16 * 16, LOSSES = NB_GRADCHECK_LOSSES };

/* what is wrong with the first parameter */
enum mistake {
    NO_MISTAKE,
    SCALED_ADJOINT, /* by 1 + amount */
    SHIFTED_ADJOINT, /* by amount, whatever the cotangent */
    SHIFTED_TANGENT, /* by amount, every pixel */
    UNSEEN_TANGENT, /* by amount of its largest pixel, in a way that no loss sees */
    DECLARED_ZERO /* the registry says that it has no influence */
};

static enum mistake mistake;
static double amount;
static double losses[LOSSES][PIXELS]; /* the cotangents of the last nb_vjp() of all four */

/* made by the linker */
// NOLINTBEGIN(readability-identifier-naming)
nb_status __real_nb_vjp(nb_simulator *sim, const double *x, int ncot,
                        const nb_array *bar_image, double *bar_x);
nb_status __wrap_nb_vjp(nb_simulator *sim, const double *x, int ncot,
                        const nb_array *bar_image, double *bar_x);
nb_status __real_nb_jvp(nb_simulator *sim, const double *x, int ndir, const double *dx,
                        nb_array *dimage);
nb_status __wrap_nb_jvp(nb_simulator *sim, const double *x, int ndir, const double *dx,
                        nb_array *dimage);
nb_status __real_nb_simulator_param(const nb_simulator *sim, size_t i, nb_param *out);
nb_status __wrap_nb_simulator_param(const nb_simulator *sim, size_t i, nb_param *out);
// NOLINTEND(readability-identifier-naming)

static long double inner(const double *a, const double *b)
{
    long double sum = 0;

    for (int i = 0; i < PIXELS; i++) sum += (long double)a[i] * (long double)b[i];
    return sum;
}

static void add(double s, const double *from, double *to)
{
    for (int i = 0; i < PIXELS; i++) to[i] += s * from[i];
}

/* a tangent plus what is orthogonal to the cotangents of all four losses */
static void distort_unseen(double *tangent)
{
    static double basis[LOSSES][PIXELS];
    double off[PIXELS] = {0}, most = 0;

    for (int i = 0; i < PIXELS; i++) {
        most = fmax(most, fabs(tangent[i]));
        off[i] = i % 3 - 1;
    }
    memcpy(basis, losses, sizeof basis);
    for (int k = 0; k < LOSSES; k++) {
        for (int j = 0; j < 2 * k; j++) /* twice, against rounding */
            add((double)-inner(basis[j % k], basis[k]), basis[j % k], basis[k]);
        add(1 / sqrt((double)inner(basis[k], basis[k])) - 1, basis[k], basis[k]);
    }
    for (int k = 0; k < 2 * LOSSES; k++)
        add((double)-inner(basis[k % LOSSES], off), basis[k % LOSSES], off);
    add(amount * most, off, tangent);
}

// NOLINTBEGIN(readability-identifier-naming)
nb_status __wrap_nb_vjp(nb_simulator *sim, const double *x, int ncot,
                        const nb_array *bar_image, double *bar_x)
{
    const nb_status status = __real_nb_vjp(sim, x, ncot, bar_image, bar_x);

    for (int i = 0; status == NB_OK && i < ncot; i++)
        plant_numbers("gradient", bar_x + (size_t)i * nb_simulator_nparam(sim),
                      nb_simulator_nparam(sim));
    if (mistake == NO_MISTAKE) return status;
    for (int i = 0; i < ncot; i++) {
        double *first = bar_x + (size_t)i * nb_simulator_nparam(sim);

        if (mistake == SCALED_ADJOINT) *first *= 1 + amount;
        if (mistake == SHIFTED_ADJOINT) *first += amount;
        if (ncot == LOSSES) memcpy(losses[i], bar_image[i].data, sizeof losses[i]);
    }
    return status;
}

nb_status __wrap_nb_jvp(nb_simulator *sim, const double *x, int ndir, const double *dx,
                        nb_array *dimage)
{
    const nb_status status = __real_nb_jvp(sim, x, ndir, dx, dimage);

    for (int i = 0; status == NB_OK && i < ndir; i++) plant_array("jacobian", dimage + i);
    if (mistake == UNSEEN_TANGENT) distort_unseen(dimage->data);
    for (int i = 0; i < PIXELS && mistake == SHIFTED_TANGENT; i++)
        ((double *)dimage->data)[i] += amount;
    return status;
}

nb_status __wrap_nb_simulator_param(const nb_simulator *sim, size_t i, nb_param *out)
{
    const nb_status status = __real_nb_simulator_param(sim, i, out);

    if (mistake == DECLARED_ZERO && i == 0) out->smooth = NB_SMOOTH_ZERO;
    return status;
}
// NOLINTEND(readability-identifier-naming)

struct found {
    nb_gradcheck_summary summary;
    nb_gradcheck_row row[LOSSES];
};

/* checks one parameter of the base scene, with a mistake */
static struct found run(const char *name, enum mistake what, double by)
{
    const nb_options options = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    const nb_scene scene = modes_base();
    nb_context *ctx = harness_context();
    struct found found;
    nb_simulator *sim;

    if (nb_simulator_create(ctx, &scene, name, &options, &sim) != NB_OK) abort();
    if (scene.detector.nfast * scene.detector.nslow != PIXELS) abort();
    mistake = what;
    amount = by;
    if (nb_gradcheck(sim, NULL, NULL, NULL, found.row, &found.summary) != NB_OK) abort();
    mistake = NO_MISTAKE;
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return found;
}

static void expect_row(const char *what, const nb_gradcheck_row *row, int verdict)
{
    char line[300];

    (void)nb_gradcheck_line(row, line, sizeof line);
    tap_check(row->verdict == verdict, "%s: %s", what, line);
}

static void expect_whole(const char *what, const nb_gradcheck_summary *summary, int verdict)
{
    tap_check(summary->verdict == verdict, "%s, as a whole: %s, expected %s (%s)", what,
              nb_verdict_name(summary->verdict), nb_verdict_name(verdict),
              summary->message);
}

static void expect(const char *what, const struct found *found, int verdict)
{
    for (int i = 0; i < LOSSES; i++) expect_row(what, found->row + i, verdict);
    expect_whole(what, &found->summary, verdict);
}

/* too little for the finite difference of the same sum to see */
int verdict_dot(void)
{
    struct found found = run("misset_x", NO_MISTAKE, 0);
    const double s = found.row[NB_GRADCHECK_RANDOM].scale;
    const nb_gradcheck_summary *whole = &found.summary;

    expect("as it is", &found, NB_VERDICT_PASS);
    found = run("misset_x", SCALED_ADJOINT, 5e-11);
    expect_row("an adjoint times 1 + 5e-11", found.row + NB_GRADCHECK_RANDOM,
               NB_VERDICT_PASS);
    expect_whole("an adjoint times 1 + 5e-11", whole, NB_VERDICT_FAIL_DOT);
    tap_check(whole->dot > 1e-12 && whole->linearity <= 1e-13
                  && strstr(whole->message, "transpose"),
              "dot test %.1e, linearity %.1e", whole->dot, whole->linearity);
    /* what does not depend on the cotangent is not linear in it */
    found = run("misset_x", SHIFTED_ADJOINT, 5e-13 * s);
    for (int i = 0; i < LOSSES; i++)
        expect_row("an adjoint plus 5e-13 S", found.row + i, NB_VERDICT_PASS);
    expect_whole("an adjoint plus 5e-13 S", whole, NB_VERDICT_FAIL_DOT);
    tap_check(whole->dot <= 1e-12 && whole->linearity > 1e-13
                  && strstr(whole->message, "not linear")
                  && strstr(whole->message, "misset_x"),
              "dot test %.1e, linearity %.1e", whole->dot, whole->linearity);
    return TAP_PASS;
}

/* a tangent that is wrong in its pixels, but in none of the sums that are compared */
int verdict_rate(void)
{
    struct found found = run("misset_x", NO_MISTAKE, 0);

    expect("as it is", &found, NB_VERDICT_PASS);
    tap_check(fabs(found.row[0].rate - 2) <= 0.1 && found.row[0].kept == 1,
              "the remainder shrinks at a rate of %.3f", found.row[0].rate);
    found = run("misset_x", UNSEEN_TANGENT, 1e-3);
    expect("a tangent that no loss sees", &found, NB_VERDICT_FAIL_RATE);
    for (int i = 0; i < LOSSES; i++) {
        const nb_gradcheck_row *row = found.row + i;

        tap_check(fabs(row->jvp - row->fd) <= row->tolerance,
                  "the %s sum is right all the same: off by %.1e, %.1e allowed",
                  nb_gradcheck_loss_name(i), fabs(row->jvp - row->fd), row->tolerance);
    }
    tap_check(found.summary.dot <= 1e-12 && found.row[0].rate < 1.9,
              "dot test %.1e, rate %.3f", found.summary.dot, found.row[0].rate);
    return TAP_PASS;
}

int verdict_structural_zero(void)
{
    struct found found = run("fudge", NO_MISTAKE, 0);

    tap_check(found.row[0].param.smooth == NB_SMOOTH_ZERO,
              "fudge of a parallelepiped has no influence");
    expect("as it is", &found, NB_VERDICT_PASS);
    found = run("fudge", SHIFTED_ADJOINT, 1e-300);
    expect("an adjoint of 1e-300", &found, NB_VERDICT_FAIL_STRUCTURAL_ZERO);
    found = run("fudge", SHIFTED_TANGENT, 1e-300);
    expect("a tangent of 1e-300", &found, NB_VERDICT_FAIL_STRUCTURAL_ZERO);
    found = run("misset_x", NO_MISTAKE, 0);
    expect("misset_x", &found, NB_VERDICT_PASS);
    found = run("misset_x", DECLARED_ZERO, 0);
    expect("misset_x declared without influence", &found, NB_VERDICT_FAIL_STRUCTURAL_ZERO);
    return TAP_PASS;
}
