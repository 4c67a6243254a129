/*
 * test_system.c - the normal equations of a fit against dense matrices in long double: the
 * step, within bounds too, errors, correlations and free directions.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_fit/eigen.h"
#include "nanobrag_fit/fit.h"
#include "support/tap.h"
#include "support/worst.h"

enum { MOST = 16, BLOCKS = 4 };

static unsigned long long seed = 1;

/* -1 to 1 */
static double draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(1ull << 52) - 1;
}

/* A system, its blocks and the matrix that they stand for. */
struct problem {
    size_t n;
    struct fit_system system;
    double gradient[MOST], shared[MOST * MOST];
    double own[BLOCKS][MOST * MOST], cross[BLOCKS][MOST * MOST];
    const double *owns[BLOCKS], *crosses[BLOCKS];
    double dense[MOST][MOST];
    double x[MOST], lower[MOST], upper[MOST];
    unsigned char is_fixed[MOST];
};

static struct fit_bounds bounds_of(const struct problem *p)
{
    return (struct fit_bounds){p->x, p->lower, p->upper, p->is_fixed};
}

/* The matrix becomes J^T J of random rows; a row belongs to one block and sees its own
 * parameters and the shared ones, which have scales from 1e-2 to 1e2. */
static void make(struct problem *p, size_t ns, size_t no, size_t nblock, int rows)
{
    const size_t n = ns + no * nblock;

    memset(p, 0, sizeof *p);
    p->n = n;
    for (size_t k = 0; k < (nblock > 0 ? nblock : 1); k++)
        for (int row = 0; row < rows; row++) {
            double j[MOST] = {0};

            for (size_t i = 0; i < n; i++)
                if (i < ns || (i - ns) / no == k) j[i] = draw() * pow(10, (int)(i % 5) - 2);
            for (size_t a = 0; a < n; a++)
                for (size_t b = 0; b < n; b++) p->dense[a][b] += j[a] * j[b];
        }
    for (size_t i = 0; i < n; i++) {
        p->gradient[i] = draw() * sqrt(p->dense[i][i]) * 3;
        p->lower[i] = -INFINITY;
        p->upper[i] = INFINITY;
    }
    p->system =
        (struct fit_system){ns,         no,   nblock, p->gradient, p->shared, p->owns,
                            p->crosses, NULL, 0};
}

/* Sorts the dense matrix into its blocks. */
static void sort(struct problem *p)
{
    const size_t ns = p->system.ns, no = p->system.no;

    for (size_t i = 0; i < ns; i++)
        for (size_t j = 0; j < ns; j++) p->shared[i * ns + j] = p->dense[i][j];
    for (size_t k = 0; k < p->system.nblock; k++) {
        const size_t first = ns + k * no;

        for (size_t i = 0; i < no; i++) {
            for (size_t j = 0; j < no; j++)
                p->own[k][i * no + j] = p->dense[first + i][first + j];
            for (size_t j = 0; j < ns; j++)
                p->cross[k][i * ns + j] = p->dense[first + i][j];
        }
        p->owns[k] = p->own[k];
        p->crosses[k] = p->cross[k];
    }
}

/* Solves a v = b for the parameters that are free, with those held as they are; elimination
 * with pivots on the diagonal, which suits positive matrices. */
static void solve(size_t n, long double a[MOST][MOST], const long double *b,
                  const unsigned char *is_held, long double *v)
{
    long double m[MOST][MOST + 1];

    for (size_t i = 0; i < n; i++) {
        m[i][n] = is_held[i] ? v[i] : b[i];
        for (size_t j = 0; j < n; j++) m[i][j] = is_held[i] ? i == j : a[i][j];
    }
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++) {
            const long double factor = i == k ? 0 : m[i][k] / m[k][k];

            for (size_t j = k; j <= n && factor != 0; j++) m[i][j] -= factor * m[k][j];
        }
    for (size_t i = 0; i < n; i++) v[i] = m[i][n] / m[i][i];
}

/* Sets the damped matrix and -gradient. */
static void damp(const struct problem *p, double damping, long double a[MOST][MOST],
                 long double *b)
{
    for (size_t i = 0; i < p->n; i++) {
        b[i] = -(long double)p->gradient[i];
        for (size_t j = 0; j < p->n; j++)
            a[i][j] = (long double)p->dense[i][j] * (i == j ? 1 + (long double)damping : 1);
    }
}

/* The loss that a step gains, of a matrix. */
static long double gain_of(size_t n, long double a[MOST][MOST], const long double *b,
                           const long double *step)
{
    long double gain = 0;

    for (size_t i = 0; i < n; i++) {
        gain += b[i] * step[i];
        for (size_t j = 0; j < n; j++) gain -= step[i] * a[i][j] * step[j] / 2;
    }
    return gain;
}

static const struct {
    size_t ns, no, nblock;
} shapes[] = {{5, 0, 0}, {0, 5, 1}, {0, 3, 4}, {1, 1, 1}, {4, 3, 4}, {6, 2, 3}, {3, 5, 2}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int steps(void)
{
    for (int k = 0; k < SHAPES; k++) {
        const size_t ns = shapes[k].ns, no = shapes[k].no, nb = shapes[k].nblock;
        struct fit_solver *solver = solver_make(ns, no, nb);
        struct worst off = {0}, off_gain = {0};

        for (int trial = 0; solver && trial < 40; trial++) {
            static const double dampings[] = {0, 1e-6, 0.1, 30};
            const double damping = dampings[trial % 4];
            struct problem p;
            long double a[MOST][MOST], b[MOST], truth[MOST] = {0};
            struct fit_bounds bounds;
            double step[MOST], gain;

            make(&p, ns, no, nb, 12);
            if (trial % 3 == 1) p.is_fixed[trial % p.n] = 1;
            sort(&p);
            bounds = bounds_of(&p);
            damp(&p, damping, a, b);
            solve(p.n, a, b, p.is_fixed, truth);
            gain = solver_step(solver, &p.system, &bounds, damping, trial % 2, step);
            for (size_t i = 0; i < p.n; i++)
                worst_add(&off, step[i], (double)truth[i], 1 / sqrt(p.dense[i][i]));
            damp(&p, 0, a, b);
            worst_add(&off_gain, gain, (double)gain_of(p.n, a, b, truth), gain);
        }
        tap_note("%zu shared, %zu x %zu own", ns, nb, no);
        /* eps times the condition of these matrices, up to some thousands */
        worst_check(&off, 2e-12, "step, in conditional errors");
        worst_check(&off_gain, 2e-14, "predicted gain, relative");
        solver_free(solver);
    }
    return TAP_PASS;
}

/* The largest gain of the damped matrix within the bounds, by all ways to hold parameters
 * at one of them; with `here` only those that stand at a bound have one. */
static long double best_within(const struct problem *p, double damping, int here,
                               long double *best)
{
    long double a[MOST][MOST], b[MOST], most = -1;
    size_t all = 1;

    damp(p, damping, a, b);
    for (size_t i = 0; i < p->n; i++) all *= 3;
    for (size_t code = 0; code < all; code++) {
        unsigned char is_held[MOST];
        long double v[MOST], gain;
        int is_within = 1;
        size_t rest = code;

        for (size_t i = 0; i < p->n; i++, rest /= 3) {
            const double bound = rest % 3 == 1 ? p->lower[i] : p->upper[i];

            is_held[i] = p->is_fixed[i] || rest % 3 > 0;
            v[i] = p->is_fixed[i] ? 0 : (long double)bound - p->x[i];
            if (rest % 3 > 0 && (isinf(bound) || (here && bound != p->x[i]))) is_within = 0;
        }
        if (!is_within) continue;
        solve(p->n, a, b, is_held, v);
        for (size_t i = 0; i < p->n; i++) {
            const long double to = p->x[i] + v[i];

            if (here && p->x[i] != p->lower[i] && p->x[i] != p->upper[i]) continue;
            if (here && p->x[i] == p->lower[i]) is_within &= v[i] >= 0;
            if (here && p->x[i] == p->upper[i]) is_within &= v[i] <= 0;
            if (!here)
                is_within &= to >= p->lower[i] - 1e-12L && to <= p->upper[i] + 1e-12L;
        }
        gain = gain_of(p->n, a, b, v);
        if (!is_within || gain <= most) continue;
        most = gain;
        for (size_t i = 0; i < p->n; i++) best[i] = v[i];
    }
    return most;
}

/* Bounds about a tenth to two conditional errors away, on one side or both; some
 * parameters stand at one. */
static void bound(struct problem *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const double width = 1 / sqrt(p->dense[i][i]);

        p->x[i] = width * draw();
        if (draw() > -0.5) p->lower[i] = p->x[i] - (draw() > 0 ? 0 : width * (1 + draw()));
        if (draw() > -0.5 && p->x[i] != p->lower[i])
            p->upper[i] = p->x[i] + (draw() > 0 ? 0 : width * (1 + draw()));
    }
}

static int bounded(int here)
{
    static const size_t sizes[][3] = {{5, 0, 0},
                                      {0, 6, 1},
                                      {2, 2, 2},
                                      {1, 1, 4},
                                      {2, 4, 1}};

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const size_t ns = sizes[k][0], no = sizes[k][1], nb = sizes[k][2];
        struct fit_solver *solver = solver_make(ns, no, nb);
        struct worst off = {0};
        double outside = 0;
        int at_bounds = 0;

        for (int trial = 0; solver && trial < 150; trial++) {
            const double damping = here ? 0 : trial % 3 * 0.3;
            long double a[MOST][MOST], b[MOST], best[MOST] = {0}, v[MOST], most;
            struct problem p;
            struct fit_bounds bounds;
            double step[MOST], beyond;

            make(&p, ns, no, nb, 8);
            if (trial % 5 == 0) p.is_fixed[0] = 1;
            bound(&p);
            sort(&p);
            bounds = bounds_of(&p);
            most = best_within(&p, damping, here, best);
            (void)solver_step(solver, &p.system, &bounds, damping, !here, step);
            damp(&p, damping, a, b);
            for (size_t i = 0; i < p.n; i++) {
                const double to = p.x[i] + step[i];

                v[i] = step[i];
                if (!here || p.x[i] == p.lower[i]) outside = fmax(outside, p.lower[i] - to);
                if (!here || p.x[i] == p.upper[i]) outside = fmax(outside, to - p.upper[i]);
                at_bounds += to == p.lower[i] || to == p.upper[i];
            }
            /* where every step leads out of the bounds, both gains are 0 */
            beyond = (double)(most - gain_of(p.n, a, b, v));
            worst_add(&off, beyond < 0 ? 0 : beyond, 0, (double)most);
        }
        tap_note("%zu shared, %zu x %zu own: %d at bounds", ns, nb, no, at_bounds);
        tap_check(at_bounds > 50, "%d at bounds", at_bounds);
        tap_close("outside the bounds", outside, 0, 1e-15);
        worst_check(&off, 1e-15, "gain that all ways to hold find beyond it, relative");
        solver_free(solver);
    }
    return TAP_PASS;
}

static int at_bounds(void)
{
    return bounded(0);
}

static int judged_at_bounds(void)
{
    return bounded(1);
}

/* ---- errors ---- */

struct pair {
    size_t i, j;
    double value;
};
struct pairs {
    struct pair pair[MOST * MOST];
    size_t n;
};

static int note_pair(void *user, size_t i, size_t j, double value)
{
    struct pairs *pairs = user;

    pairs->pair[pairs->n++] = (struct pair){i, j, value};
    return 1;
}

static void invert(const struct problem *p, long double inverse[MOST][MOST])
{
    long double a[MOST][MOST], b[MOST];

    damp(p, 0, a, b);
    for (size_t j = 0; j < p->n; j++) {
        long double column[MOST] = {0};

        for (size_t i = 0; i < p->n; i++) b[i] = i == j;
        solve(p->n, a, b, p->is_fixed, column);
        for (size_t i = 0; i < p->n; i++) inverse[i][j] = p->is_fixed[j] ? 0 : column[i];
    }
}

/* Whether the two are shared, or of one block. */
static int is_reported(const struct problem *p, size_t i, size_t j)
{
    const size_t ns = p->system.ns, no = p->system.no;

    return i < ns || (i - ns) / no == (j - ns) / no;
}

struct tally {
    double error, covariance; /* the largest relative differences */
    size_t strong, found, wrong; /* pairs, and what is wrong */
};

/* Compares errors, covariances and correlated pairs with the inverse of the matrix. */
static void compare_errors(const struct problem *p, const struct fit_errors *out,
                           const struct pairs *pairs, struct tally *tally)
{
    long double inverse[MOST][MOST] = {{0}};

    invert(p, inverse);
    for (size_t i = 0; i < p->n; i++) {
        const double truth = sqrt((double)inverse[i][i]);

        if (truth > 0)
            tally->error = fmax(tally->error, fabs(out->error[i] / truth - 1));
        else
            tally->wrong += out->error[i] != 0;
        for (size_t j = 0; j < p->n; j++) {
            const double size = sqrt((double)(inverse[i][i] * inverse[j][j])) + 1e-300;
            const double off = fabs(out->covariance[i * p->n + j] - (double)inverse[i][j]);

            tally->covariance = fmax(tally->covariance, off / (size > 1e-300 ? size : 1));
            tally->strong +=
                j > i && fabs((double)inverse[i][j] / size) > 0.95 && is_reported(p, i, j);
        }
    }
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair *q = pairs->pair + i;
        const double size = sqrt((double)(inverse[q->i][q->i] * inverse[q->j][q->j]));

        tally->found++;
        tally->wrong +=
            q->i >= q->j || fabs(q->value - (double)inverse[q->i][q->j] / size) > 1e-6;
    }
}

static int errors(void)
{
    for (int k = 0; k < SHAPES; k++) {
        const size_t ns = shapes[k].ns, no = shapes[k].no, nb = shapes[k].nblock;
        struct fit_solver *solver = solver_make(ns, no, nb);
        struct tally tally = {0};

        for (int trial = 0; solver && trial < 40; trial++) {
            double error[MOST], covariance[MOST * MOST], directions[MOST];
            struct pairs pairs = {.n = 0};
            struct problem p;
            struct fit_errors out = {.error = error,
                                     .covariance = covariance,
                                     .directions = directions,
                                     .ndirection = 1,
                                     .correlated = note_pair,
                                     .user = &pairs};

            make(&p, ns, no, nb, (int)(ns + no) + 1);
            if (trial % 3 == 1) p.is_fixed[trial % p.n] = 1;
            sort(&p);
            if (!solver_errors(solver, &p.system, p.is_fixed, &out)) abort();
            tap_check(out.nfree == 0 && out.condition >= 1, "%zu free, condition %g",
                      out.nfree, out.condition);
            compare_errors(&p, &out, &pairs, &tally);
        }
        tap_note("%zu shared, %zu x %zu own", ns, nb, no);
        /* eps times the condition of these matrices, of hardly more rows than columns */
        tap_close("error, relative", tally.error, 0, 1.5e-12);
        tap_close("covariance, relative", tally.covariance, 0, 3e-12);
        tap_check(tally.found == tally.strong && tally.wrong == 0,
                  "%zu pairs reported, %zu strongly correlated, %zu wrong", tally.found,
                  tally.strong, tally.wrong);
        solver_free(solver);
    }
    return TAP_PASS;
}

/* Makes parameter c the sum of a and b, in each row. */
static void tie(struct problem *p, size_t a, size_t b, size_t c)
{
    for (size_t i = 0; i < p->n; i++) p->dense[c][i] = p->dense[a][i] + p->dense[b][i];
    for (size_t i = 0; i < p->n; i++) p->dense[i][c] = p->dense[i][a] + p->dense[i][b];
}

static int free_directions(void)
{
    /* shared alone; own alone, in one block; shared with the own ones of the only block,
     * and the same where nothing else is shared */
    static const size_t cases[][6] = {{4, 0, 0, 0, 1, 3}, {2, 4, 2, 2, 3, 5},
                                      {3, 3, 1, 2, 3, 4}, {0, 4, 2, 5, 6, 7},
                                      {1, 2, 1, 1, 2, 0}, {1, 4, 1, 2, 4, 0}};

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const size_t *c = cases[k];
        struct fit_solver *solver = solver_make(c[0], c[1], c[2]);
        double error[MOST], directions[2 * MOST] = {0}, step[MOST], dot = 0, size = 0;
        struct pairs pairs = {.n = 0};
        struct problem p;
        struct fit_bounds bounds;
        struct fit_errors out = {.error = error,
                                 .directions = directions,
                                 .ndirection = 2,
                                 .correlated = note_pair,
                                 .user = &pairs};
        double null[MOST] = {0}, along = 0, slope = 0;
        int wrong = 0;

        make(&p, c[0], c[1], c[2], 12);
        tie(&p, c[3], c[4], c[5]);
        sort(&p);
        if (!solver_errors(solver, &p.system, p.is_fixed, &out)) abort();
        null[c[3]] = null[c[4]] = 1, null[c[5]] = -1;
        for (size_t i = 0; i < p.n; i++) {
            const double scaled = null[i] * sqrt(p.dense[i][i]);

            dot += scaled * directions[i];
            size += scaled * scaled;
            wrong += (null[i] != 0) != (isinf(error[i]) != 0);
        }
        tap_check(out.nfree == 1, "%zu free directions", out.nfree);
        tap_close("1 - cosine to the true one", 1 - fabs(dot) / sqrt(size), 0, 4e-15);
        tap_check(wrong == 0, "%d errors are infinite and should not, or the reverse",
                  wrong);
        tap_check(pairs.n == 0 || !isinf(error[pairs.pair[0].i]),
                  "what is free has no correlation");
        /* a gradient that the rows can have, and a step along nothing that is free */
        bounds = bounds_of(&p);
        for (size_t i = 0; i < p.n; i++)
            p.gradient[i] = p.dense[i][0] / sqrt(p.dense[0][0]) + p.dense[i][1];
        (void)solver_step(solver, &p.system, &bounds, 0, 0, step);
        for (size_t i = 0; i < p.n; i++) {
            double product = p.gradient[i];

            along += null[i] * p.dense[i][i] * step[i] / sqrt(size);
            for (size_t j = 0; j < p.n; j++) product += p.dense[i][j] * step[j];
            slope = fmax(slope, fabs(product) / sqrt(p.dense[i][i]));
        }
        tap_close("slope that the step leaves", slope, 0, 1e-9);
        if (k == 0 || k == 3) tap_close("step along the free direction", along, 0, 4e-15);
        solver_free(solver);
    }
    return TAP_PASS;
}

/* Parameters without influence stay; one with a matrix that is no matrix moves nothing. */
static int without_influence(void)
{
    struct fit_solver *solver = solver_make(3, 2, 2);
    double error[MOST], step[MOST];
    struct pairs pairs = {.n = 0};
    struct fit_errors out = {.error = error, .correlated = note_pair, .user = &pairs};
    struct problem p;
    struct fit_bounds bounds;
    double matrix[4] = {1, NAN, NAN, 1}, values[2] = {3, 3}, work[69], gain;

    make(&p, 3, 2, 2, 12);
    for (size_t i = 0; i < p.n; i++)
        p.dense[1][i] = p.dense[i][1] = p.dense[6][i] = p.dense[i][6] = 0;
    p.gradient[1] = p.gradient[6] = 0;
    sort(&p);
    bounds = bounds_of(&p);
    (void)solver_step(solver, &p.system, &bounds, 0.1, 1, step);
    tap_check(step[1] == 0 && step[6] == 0 && step[0] != 0 && step[5] != 0,
              "steps %g and %g", step[1], step[6]);
    if (!solver_errors(solver, &p.system, p.is_fixed, &out)) abort();
    tap_check(isinf(error[1]) && isinf(error[6]) && isfinite(error[0]) && out.nfree == 0,
              "errors %g and %g", error[1], error[6]);
    for (int k = 0; k < 2; k++) { /* on the diagonal, or beside it */
        const double before = p.own[0][k];

        p.own[0][k] = k ? INFINITY : NAN;
        gain = solver_step(solver, &p.system, &bounds, 0.1, 1, step);
        tap_check(isnan(gain) && step[0] == 0 && step[3] == 0,
                  "with %g in the matrix: gain %g", p.own[0][k], gain);
        if (!solver_errors(solver, &p.system, p.is_fixed, &out)) abort();
        tap_check(isnan(error[0]) && isnan(out.condition) && out.nfree == 0, "error %g",
                  error[0]);
        p.own[0][k] = before;
    }
    solver_free(solver);
    solver_free(NULL);
    tap_check(!eigen_symmetric(2, matrix, values, work) && values[0] == 0 && values[1] == 0
                  && eigen_work(2) <= 69,
              "eigenvalues of NaN: %g, %g", values[0], values[1]);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"steps", steps},
        {"at_bounds", at_bounds},
        {"judged_at_bounds", judged_at_bounds},
        {"errors", errors},
        {"free_directions", free_directions},
        {"without_influence", without_influence},
    };

    if (!eigen_is_available() && !(argc > 1 && strcmp(argv[1], "--list") == 0))
        return tap_skip("this build has no LAPACK");
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
