/*
 * system.c - solves the normal equations of a fit. Each block of own parameters couples to
 * the shared parameters alone, so each block is eliminated by itself (Schur complement;
 * Nocedal & Wright, Numerical Optimization, 16.2):
 *
 *   (S - sum X^T B^-1 X) s = r - sum X^T B^-1 r_k,   t_k = B^-1 (r_k - X s)
 *
 * S and B are the shared and the own block of the matrix, X is their coupling. r and r_k
 * are the right sides, s and t_k the steps. Parameters are scaled to ones on the diagonal.
 * B and the complement are inverted by eigenvalues; those near 0 belong to free directions.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "nanobrag_fit/eigen.h"
#include "nanobrag_fit/fit.h"

/* A direction is free if its eigenvalue is below this, in units of the diagonal before any
 * elimination. Rounding leaves some n eps where exact arithmetic leaves 0, and earlier
 * eliminations add to it. The largest eigenvalue after elimination is no such unit, since
 * all eigenvalues may be rounding. */
static const double free_below = 1e-12;
/* A parameter is free if its squared component in a free direction exceeds this. */
static const double free_share = 1e-6;
/* Elements of a scaled gradient below this fraction of the largest one may be rounding. */
static const double rounding = 1e-12;

struct fit_solver {
    struct arena memory;
    size_t ns, no, nblock, n;
    double *scale; /* factor on each parameter; 0: no influence, held              (n) */
    unsigned char *is_held; /*                                                     (n) */
    double *vectors, *values; /* of each B       (nblock x no x no), (nblock x no) */
    double *right; /* right sides r and r_k, scaled                                (n) */
    double *cross, *solved; /* X and B^-1 X of all blocks             (nblock x no x ns) */
    double *complement, *complement_values; /*                      (ns x ns), (ns) */
    double *along; /* workspace of solve()                          (max(ns, no)) */
    double *product; /* H times the step                                           (n) */
    double *target; /* a step that may lead beyond the bounds                      (n) */
    double *work;
    double least; /* eigenvalues of a block below this are free */
    double least_complement; /* eigenvalues of the complement below this are free */
    int failed; /* 1: numbers are not finite, or eigenvalues were not found */
};

static void list(struct arena *memory, void *user)
{
    struct fit_solver *s = user;
    const size_t nb = s->nblock, most = s->ns > s->no ? s->ns : s->no;

    s->scale = arena_take(memory, s->n, sizeof *s->scale);
    s->is_held = arena_take(memory, s->n, 1);
    s->vectors = arena_take(memory, nb * s->no * s->no, sizeof *s->vectors);
    s->values = arena_take(memory, nb * s->no, sizeof *s->values);
    s->right = arena_take(memory, s->n, sizeof *s->right);
    s->cross = arena_take(memory, nb * s->no * s->ns, sizeof *s->cross);
    s->solved = arena_take(memory, nb * s->no * s->ns, sizeof *s->solved);
    s->complement = arena_take(memory, s->ns * s->ns, sizeof *s->complement);
    s->complement_values = arena_take(memory, s->ns, sizeof *s->complement_values);
    s->along = arena_take(memory, most, sizeof *s->along);
    s->product = arena_take(memory, s->n, sizeof *s->product);
    s->target = arena_take(memory, s->n, sizeof *s->target);
    s->work = arena_take(memory, eigen_work(most), sizeof *s->work);
}

struct fit_solver *solver_make(size_t ns, size_t no, size_t nblock)
{
    struct fit_solver *s = calloc(1, sizeof *s);

    if (!s) return NULL;
    s->ns = ns, s->no = no, s->nblock = nblock;
    s->n = ns + no * nblock;
    if (arena_build(&s->memory, list, s)) return s;
    free(s);
    return NULL;
}

void solver_free(struct fit_solver *solver)
{
    if (!solver) return;
    arena_free(&solver->memory);
    free(solver);
}

/* ---- products with the matrix ---- */

/* Sets product = H v, in the units of the parameters. */
static void multiply(const struct fit_solver *s, const struct fit_system *system,
                     const double *v, double *product)
{
    const size_t ns = s->ns, no = s->no;

    memset(product, 0, s->n * sizeof *product);
    for (size_t i = 0; i < ns; i++)
        for (size_t j = 0; j < ns; j++) product[i] += system->shared[i * ns + j] * v[j];
    for (size_t k = 0; k < s->nblock; k++) {
        const double *own = system->own[k], *cross = system->cross[k];
        const double *vk = v + ns + k * no;
        double *pk = product + ns + k * no;

        for (size_t i = 0; i < no; i++) {
            for (size_t j = 0; j < no; j++) pk[i] += own[i * no + j] * vk[j];
            for (size_t j = 0; j < ns; j++) {
                pk[i] += cross[i * ns + j] * v[j];
                product[j] += cross[i * ns + j] * vk[i];
            }
        }
    }
}

/* Sets factors that scale the diagonal, as it was before any elimination, to ones; the
 * factor of a parameter without influence is 0. Also sets the limit below which eigenvalues
 * are rounding. */
static void set_scale(struct fit_solver *s, const struct fit_system *system)
{
    s->failed = 0;
    for (size_t i = 0; i < s->n; i++) {
        const size_t k = i < s->ns ? 0 : (i - s->ns) / s->no;
        const size_t j = i < s->ns ? i : (i - s->ns) % s->no;
        const double now =
            i < s->ns ? system->shared[j * (s->ns + 1)] : system->own[k][j * (s->no + 1)];
        const double diagonal = system->diagonal ? system->diagonal[i] : now;

        s->failed |= !isfinite(diagonal);
        s->scale[i] = diagonal > 0 ? 1 / sqrt(diagonal) : 0;
    }
    s->least = fmax(free_below, 8 * DBL_EPSILON * (double)system->neliminated);
}

/* ---- inverses ---- */

/* eigenvectors (rows) and eigenvalues of a matrix; an eigenvalue below `least` is free */
struct spectrum {
    size_t n;
    double *vectors, *values; /*                                        (n x n), (n) */
    double least;
};

static struct spectrum block_of(const struct fit_solver *s, size_t k)
{
    return (struct spectrum){s->no, s->vectors + k * s->no * s->no, s->values + k * s->no,
                             s->least};
}

static struct spectrum complement_of(const struct fit_solver *s)
{
    return (struct spectrum){s->ns, s->complement, s->complement_values,
                             s->least_complement};
}

static int is_free(const struct spectrum *of, size_t k)
{
    return !(of->values[k] > of->least);
}

/* Replaces v by (vectors^T diag(values + damping) vectors)^+ v, without free directions. */
static void solve(struct spectrum of, double damping, double *along, double *v)
{
    const double *vectors = of.vectors;
    const size_t n = of.n;

    for (size_t k = 0; k < n; k++) {
        along[k] = 0;
        if (is_free(&of, k)) continue;
        for (size_t i = 0; i < n; i++) along[k] += vectors[k * n + i] * v[i];
        along[k] /= of.values[k] + damping;
    }
    memset(v, 0, n * sizeof *v);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n; i++) v[i] += along[k] * vectors[k * n + i];
}

/* Returns an element of the scaled matrix; a held parameter has a 1 on the diagonal
 * only. */
static double element(const struct fit_solver *s, double value, size_t i, size_t j)
{
    if (s->is_held[i] || s->is_held[j]) return i == j;
    return s->scale[i] * s->scale[j] * value;
}

/* Decomposes block k of B, and sets its X and B^-1 X. */
static void eliminate(struct fit_solver *s, const struct fit_system *system, size_t k,
                      double damping)
{
    const size_t ns = s->ns, no = s->no, first = ns + k * no;
    const struct spectrum block = block_of(s, k);
    double *cross = s->cross + k * no * ns, *solved = s->solved + k * no * ns;

    for (size_t i = 0; i < no * no; i++)
        block.vectors[i] = element(s, system->own[k][i], first + i / no, first + i % no);
    s->failed |= !eigen_symmetric(no, block.vectors, block.values, s->work);
    for (size_t i = 0; i < no * ns; i++) {
        const size_t row = first + i / ns, column = i % ns;

        cross[i] = s->is_held[row] || s->is_held[column]
                       ? 0
                       : s->scale[row] * s->scale[column] * system->cross[k][i];
    }
    for (size_t j = 0; j < ns; j++) {
        double *column = s->product; /* workspace, free until the step is solved */

        for (size_t i = 0; i < no; i++) column[i] = cross[i * ns + j];
        solve(block, damping, s->along, column);
        for (size_t i = 0; i < no; i++) solved[i * ns + j] = column[i];
    }
}

/* Returns the smallest eigenvalue of blocks that is not free, plus damping; at most 1. */
static double smallest_of_blocks(const struct fit_solver *s, double damping)
{
    double smallest = 1;

    for (size_t k = 0; k < s->nblock; k++) {
        const struct spectrum block = block_of(s, k);

        for (size_t i = 0; i < block.n; i++)
            if (!is_free(&block, i)) smallest = fmin(smallest, block.values[i] + damping);
    }
    return smallest;
}

/* Decomposes blocks and complement. X has the size of sqrt(B), so that X^T B^-1 X is
 * rounded by eps/sqrt(B); eigenvalues of the complement below that are free. */
static void decompose(struct fit_solver *s, const struct fit_system *system, double damping)
{
    const size_t ns = s->ns, no = s->no;

    for (size_t i = 0; i < ns * ns; i++)
        s->complement[i] = element(s, system->shared[i], i / ns, i % ns)
                           + (i / ns == i % ns ? damping : 0);
    for (size_t k = 0; k < s->nblock; k++) {
        const double *cross = s->cross + k * no * ns, *solved = s->solved + k * no * ns;

        eliminate(s, system, k, damping);
        for (size_t i = 0; i < ns; i++)
            for (size_t j = 0; j < ns; j++)
                for (size_t l = 0; l < no; l++)
                    s->complement[i * ns + j] -= cross[l * ns + i] * solved[l * ns + j];
    }
    s->failed |= !eigen_symmetric(ns, s->complement, s->complement_values, s->work);
    s->least_complement =
        fmax(s->least, 4 * (double)no * DBL_EPSILON / sqrt(smallest_of_blocks(s, damping)));
}

/* ---- the step ---- */

/* Solves for the elements of the step that are not held, given the held elements. */
static void solve_step(struct fit_solver *s, const struct fit_system *system,
                       double damping, double *step)
{
    const size_t ns = s->ns, no = s->no;
    double *r = s->right;

    decompose(s, system, damping);
    for (size_t i = 0; i < s->n; i++)
        if (!s->is_held[i]) step[i] = 0;
    multiply(s, system, step, r);
    for (size_t i = 0; i < s->n; i++)
        r[i] = s->is_held[i] ? 0 : -s->scale[i] * (system->gradient[i] + r[i]);
    for (size_t k = 0; k < s->nblock; k++) {
        const double *solved = s->solved + k * no * ns, *rk = r + ns + k * no;

        for (size_t i = 0; i < no; i++)
            for (size_t j = 0; j < ns; j++) r[j] -= solved[i * ns + j] * rk[i];
    }
    solve(complement_of(s), 0, s->along, r);
    for (size_t k = 0; k < s->nblock; k++) {
        const double *solved = s->solved + k * no * ns;
        double *rk = r + ns + k * no;

        solve(block_of(s, k), damping, s->along, rk);
        for (size_t i = 0; i < no; i++)
            for (size_t j = 0; j < ns; j++) rk[i] -= solved[i * ns + j] * r[j];
    }
    for (size_t i = 0; i < s->n; i++)
        if (!s->is_held[i]) step[i] = s->scale[i] * r[i];
}

/* limits of a parameter's step: its bounds; without `stops` only the bound it stands at */
struct limits {
    double low, high;
};

static struct limits limits_of(const struct fit_bounds *bounds, int stops, size_t i)
{
    const double x = bounds->x[i], low = bounds->lower[i], high = bounds->upper[i];

    return (struct limits){stops || x == low ? low - x : -INFINITY,
                           stops || x == high ? high - x : INFINITY};
}

/* Holds each parameter whose step would pass a limit, at the limit. Returns 1 if any is. */
static int hold(struct fit_solver *s, const struct fit_bounds *bounds, int stops,
                double *step)
{
    int found = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct limits limits = limits_of(bounds, stops, i);

        if (s->is_held[i] || (step[i] >= limits.low && step[i] <= limits.high)) continue;
        step[i] = step[i] < limits.low ? limits.low : limits.high;
        s->is_held[i] = 1;
        found = 1;
    }
    return found;
}

/* Releases the held parameter that its slope pulls back the most. Returns 0 if there is
 * none; then the step is the best within the limits. */
static int release(struct fit_solver *s, const struct fit_system *system,
                   const struct fit_bounds *bounds, double damping, int stops,
                   const double *step)
{
    double most = 0, size = 0;
    size_t which = 0;

    multiply(s, system, step, s->product);
    for (size_t i = 0; i < s->n; i++) {
        const struct limits limits = limits_of(bounds, stops, i);
        const double slope = s->scale[i] * (system->gradient[i] + s->product[i])
                             + (s->scale[i] > 0 ? damping * step[i] / s->scale[i] : 0);
        const double back = step[i] == limits.low ? -slope : slope;

        size = fmax(size, fabs(s->scale[i] * system->gradient[i]));
        if (!s->is_held[i] || bounds->is_fixed[i] || !(limits.low < limits.high)
            || !(back > most))
            continue;
        most = back;
        which = i;
    }
    if (!(most > rounding * size)) return 0;
    s->is_held[which] = 0;
    return 1;
}

/* Moves the step towards a target up to the first limit, and holds the parameter there.
 * Returns 1 if a limit was in the way; otherwise the step becomes the target. */
static int approach(struct fit_solver *s, const struct fit_bounds *bounds, int stops,
                    const double *target, double *step)
{
    double share = 1;
    size_t which = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct limits limits = limits_of(bounds, stops, i);
        const double limit = target[i] < limits.low ? limits.low : limits.high;

        if (s->is_held[i] || (target[i] >= limits.low && target[i] <= limits.high))
            continue;
        if (!((limit - step[i]) / (target[i] - step[i]) < share)) continue;
        share = fmax((limit - step[i]) / (target[i] - step[i]), 0);
        which = i;
    }
    for (size_t i = 0; i < s->n; i++)
        if (!s->is_held[i])
            step[i] = share < 1 ? step[i] + share * (target[i] - step[i]) : target[i];
    if (!(share < 1)) return 0;
    step[which] = target[which] < step[which] ? limits_of(bounds, stops, which).low
                                              : limits_of(bounds, stops, which).high;
    s->is_held[which] = 1;
    return 1;
}

/*
 * Finds the step that gains the most within the limits (active set; Nocedal & Wright,
 * 16.5). First it holds all parameters that the free step takes too far. If too many are
 * held, it releases them one by one, and moves towards each new solution.
 */
static void step_within(struct fit_solver *s, const struct fit_system *system,
                        const struct fit_bounds *bounds, double damping, int stops,
                        double *step)
{
    const size_t rounds = 20 + 4 * s->n;

    do solve_step(s, system, damping, step);
    while (hold(s, bounds, stops, step));
    for (size_t i = 0; i < rounds && release(s, system, bounds, damping, stops, step); i++)
        do {
            memcpy(s->target, step, s->n * sizeof *step);
            solve_step(s, system, damping, s->target);
        } while (approach(s, bounds, stops, s->target, step));
}

double solver_step(struct fit_solver *s, const struct fit_system *system,
                   const struct fit_bounds *bounds, double damping, int stops, double *step)
{
    double gain = 0;

    set_scale(s, system);
    memset(step, 0, s->n * sizeof *step);
    for (size_t i = 0; i < s->n; i++)
        s->is_held[i] = bounds->is_fixed[i] || s->scale[i] == 0;
    step_within(s, system, bounds, damping, stops, step);
    if (s->failed) {
        memset(step, 0, s->n * sizeof *step);
        return NAN;
    }
    multiply(s, system, step, s->product);
    for (size_t i = 0; i < s->n; i++)
        gain -= (system->gradient[i] + s->product[i] / 2) * step[i];
    return gain;
}

/* ---- errors ---- */

/* the covariance, with Y = B^-1 X and S the complement: S^+ for shared parameters, B^+ + Y
 * S^+ Y^T for own ones, -Y S^+ between own and shared */
struct inverse {
    const struct fit_solver *s;
    double *complement; /* S^+                                          (ns x ns) */
    double *solved; /* Y S^+                                 (nblock x no x ns) */
    double *own; /* B^+                                      (nblock x no x no) */
};

static double covariance(const struct inverse *inverse, size_t i, size_t j)
{
    const struct fit_solver *s = inverse->s;
    const size_t ns = s->ns, no = s->no;
    const size_t oi = i - ns, oj = j - ns; /* rows of own parameters */
    double sum = 0;

    if (i < ns && j < ns) return inverse->complement[i * ns + j];
    if (i < ns) return -inverse->solved[oj * ns + i];
    if (j < ns) return -inverse->solved[oi * ns + j];
    if (oi / no == oj / no) sum = inverse->own[oi * no + oj % no];
    for (size_t l = 0; l < ns; l++)
        sum += inverse->solved[oi * ns + l] * s->solved[oj * ns + l];
    return sum;
}

/* Sets inverse to the pseudo-inverse of a decomposed matrix (n x n). */
static void invert(struct fit_solver *s, struct spectrum of, double *inverse)
{
    for (size_t j = 0; j < of.n; j++) {
        double *row = inverse + j * of.n;

        memset(row, 0, of.n * sizeof *row);
        row[j] = 1;
        solve(of, 0, s->along, row);
    }
}

static void invert_all(struct fit_solver *s, const struct inverse *inverse)
{
    const size_t ns = s->ns, no = s->no;

    invert(s, complement_of(s), inverse->complement);
    for (size_t k = 0; k < s->nblock; k++)
        invert(s, block_of(s, k), inverse->own + k * no * no);
    for (size_t i = 0; i < s->nblock * no; i++)
        for (size_t j = 0; j < ns; j++) {
            double sum = 0;

            for (size_t l = 0; l < ns; l++)
                sum += s->solved[i * ns + l] * inverse->complement[l * ns + j];
            inverse->solved[i * ns + j] = sum;
        }
}

/* Notes a free direction v of all n parameters. */
static void note_free(const struct fit_solver *s, struct fit_errors *out, const double *v)
{
    double size = 0;

    for (size_t i = 0; i < s->n; i++) size += v[i] * v[i];
    for (size_t i = 0; i < s->n; i++)
        if (v[i] * v[i] > free_share * size) out->error[i] = INFINITY;
    for (size_t i = 0; i < s->n && out->nfree < out->ndirection; i++)
        out->directions[out->nfree * s->n + i] = v[i] / sqrt(size);
    out->nfree++;
}

/* Notes the free directions of the blocks, then of the complement. */
static void find_free(struct fit_solver *s, struct fit_errors *out)
{
    const size_t ns = s->ns, no = s->no;
    double *v = s->right;

    for (size_t k = 0; k <= s->nblock; k++) {
        const int is_block = k < s->nblock;
        const struct spectrum of = is_block ? block_of(s, k) : complement_of(s);

        for (size_t i = 0; i < of.n; i++) {
            if (!is_free(&of, i)) continue;
            memset(v, 0, s->n * sizeof *v);
            memcpy(v + (is_block ? ns + k * no : 0), of.vectors + i * of.n,
                   of.n * sizeof *v);
            for (size_t row = 0; !is_block && row < s->nblock * no; row++)
                for (size_t j = 0; j < ns; j++)
                    v[ns + row] -= s->solved[row * ns + j] * v[j];
            note_free(s, out, v);
        }
    }
}

/* Returns the ratio of the largest and smallest eigenvalue that is not free, of blocks and
 * complement; NAN if there is none. */
static double condition(const struct fit_solver *s)
{
    double largest = 0, smallest = INFINITY;

    for (size_t k = 0; k <= s->nblock; k++) {
        const struct spectrum of = k < s->nblock ? block_of(s, k) : complement_of(s);

        for (size_t i = 0; i < of.n; i++) {
            if (is_free(&of, i)) continue;
            largest = fmax(largest, of.values[i]);
            smallest = fmin(smallest, of.values[i]);
        }
    }
    return largest > 0 ? largest / smallest : NAN;
}

/* Reports strongly correlated pairs, but none between two shots. Returns 0 if there is no
 * memory. */
static int report_correlated(const struct inverse *inverse, struct fit_errors *out)
{
    const struct fit_solver *s = inverse->s;

    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i + 1; j < s->n; j++) {
            double value;

            if (i >= s->ns && (i - s->ns) / s->no != (j - s->ns) / s->no) break;
            if (s->is_held[i] || s->is_held[j] || isinf(out->error[i])
                || isinf(out->error[j]))
                continue;
            value = covariance(inverse, i, j)
                    / sqrt(covariance(inverse, i, i) * covariance(inverse, j, j));
            if (fabs(value) > FIT_CORRELATED && !out->correlated(out->user, i, j, value))
                return 0;
        }
    return 1;
}

static void deliver(const struct inverse *inverse, struct fit_errors *out)
{
    const struct fit_solver *s = inverse->s;
    const size_t n = s->n;

    for (size_t i = 0; i < n; i++)
        if (s->is_held[i])
            out->error[i] = s->scale[i] > 0 ? 0 : INFINITY;
        else if (out->error[i] == 0)
            out->error[i] = s->scale[i] * sqrt(fmax(covariance(inverse, i, i), 0));
    for (size_t i = 0; out->covariance && i < n * n; i++)
        out->covariance[i] =
            s->is_held[i / n] || s->is_held[i % n]
                ? 0
                : s->scale[i / n] * s->scale[i % n] * covariance(inverse, i / n, i % n);
}

/* Sets all results to unknown, for a matrix whose eigenvalues were not found. */
static void deliver_unknown(size_t n, struct fit_errors *out)
{
    out->nfree = 0;
    out->condition = NAN;
    for (size_t i = 0; i < n; i++) out->error[i] = NAN;
    for (size_t i = 0; out->covariance && i < n * n; i++) out->covariance[i] = NAN;
}

int solver_errors(struct fit_solver *s, const struct fit_system *system,
                  const unsigned char *is_fixed, struct fit_errors *out)
{
    const size_t no = s->no, ns = s->ns, rows = s->nblock * no;
    struct inverse inverse = {.s = s};
    double *memory = malloc((ns * ns + rows * ns + rows * no + 1) * sizeof *memory);
    int has_memory;

    if (!memory) return 0;
    inverse.complement = memory;
    inverse.solved = memory + ns * ns;
    inverse.own = inverse.solved + rows * ns;
    set_scale(s, system);
    for (size_t i = 0; i < s->n; i++) s->is_held[i] = is_fixed[i] || s->scale[i] == 0;
    decompose(s, system, 0);
    if (s->failed) {
        deliver_unknown(s->n, out);
        free(memory);
        return 1;
    }
    invert_all(s, &inverse);
    memset(out->error, 0, s->n * sizeof *out->error);
    out->nfree = 0;
    find_free(s, out);
    out->condition = condition(s);
    deliver(&inverse, out);
    has_memory = report_correlated(&inverse, out);
    free(memory);
    return has_memory;
}
