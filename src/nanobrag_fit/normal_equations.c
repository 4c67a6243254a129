/*
 * normal_equations.c - makes the normal equations of the parameters that one track moves,
 * one shot's own parameters or all parameters, and finds their step by system.c.
 *
 * Structure factors are eliminated first. D is the diagonal of their block, K their
 * coupling with the dense parameters; M and g are the matrix and the gradient of the dense
 * parameters. The elimination leaves a matrix and a gradient for the dense parameters, and
 * then a step for the structure factors F:
 *
 *   M - K D^-1 K^T,   g - K D^-1 g_F,   and then   F: -D^-1 (g_F + K^T step)
 *
 * An image is proportional to F^2, so F = 0 is a saddle of the loss. While F is below three
 * of its standard deviations, its step is therefore a step of F^2.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "nanobrag_fit/fit.h"

/* Least damping of structure factors, because their block is not quite diagonal where spots
 * overlap. In a fit with structure factors, the step that judges the end has this damping
 * in all parameters: a scale and the reflections that only its shot has make directions
 * that are softer in the matrix than in truth. */
static const double f_damping_least = 0.1;

/* ---- the parts of a system ---- */

static void link_blocks(nb_fit *fit, size_t first, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const double *own = fit->best.own + (first + k) * fit->at.own_end;

        fit->own[k] = own + fit->at.own_matrix;
        fit->cross[k] = own + fit->at.own_shared;
    }
}

static void gather_gradient(nb_fit *fit, const struct fit_point *slopes)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_offsets *at = &fit->at;

    for (size_t d = 0; d < l->nd; d++)
        fit->gradient[d] = slopes->sum[at->gradient + l->dense[d]];
    for (size_t k = 0; k < l->nshot; k++)
        memcpy(fit->gradient + l->nd + k * l->no,
               slopes->own + k * at->own_end + at->own_gradient,
               l->no * sizeof *fit->gradient);
}

/* Returns the coupling of structure factor f with dense parameter i of the whole fit. */
static double coupling(const nb_fit *fit, size_t i, size_t f)
{
    const struct fit_layout *l = &fit->layout;
    const size_t shot = i < l->nd ? 0 : (i - l->nd) / l->no;

    if (i < l->nd) return fit->best.sum[fit->at.coupling + i * l->nf + f];
    return fit->best
        .own[shot * fit->at.own_end + fit->at.own_f + (i - l->nd) % l->no * l->nf + f];
}

/* Returns 1/D of structure factor f, with damping; 0 if the data tell too little of f. */
static double f_inverse(const nb_fit *fit, size_t f, double damping)
{
    const double diagonal = fit->best.sum[fit->at.diagonal + f];

    return normal_f_is_held(fit, f) ? 0 : 1 / (diagonal * (1 + damping));
}

/* Writes the matrix of the n dense parameters of all shots into fit->folded (n x n). */
static void gather_matrix(nb_fit *fit, size_t n)
{
    const struct fit_layout *l = &fit->layout;
    double *m = fit->folded;

    memset(m, 0, n * n * sizeof *m);
    for (size_t i = 0; i < l->nd * l->nd; i++)
        m[i / l->nd * n + i % l->nd] = fit->best.sum[fit->at.matrix + i];
    for (size_t k = 0; k < l->nshot; k++) {
        const double *own = fit->best.own + k * fit->at.own_end;
        const size_t first = l->nd + k * l->no;

        for (size_t i = 0; i < l->no * l->no; i++)
            m[(first + i / l->no) * n + first + i % l->no] = own[fit->at.own_matrix + i];
        for (size_t i = 0; i < l->no * l->nd; i++)
            m[(first + i / l->nd) * n + i % l->nd] = m[i % l->nd * n + first + i / l->nd] =
                own[fit->at.own_shared + i];
    }
}

/* Sets k to column f of K, one number for each of n dense parameters. */
static void gather_coupling(const nb_fit *fit, size_t n, size_t f, double *k)
{
    for (size_t i = 0; i < n; i++) k[i] = coupling(fit, i, f);
}

/* Eliminates the structure factors from the matrix fit->folded and from fit->gradient. */
static void fold(nb_fit *fit, const struct fit_point *slopes, size_t n, double damping)
{
    const struct fit_layout *l = &fit->layout;
    const double *gradient = slopes->sum + fit->at.gradient;
    double *k = fit->dense_step; /* workspace, free until the step is solved */

    gather_matrix(fit, n);
    for (size_t i = 0; i < n; i++) fit->diagonal[i] = fit->folded[i * (n + 1)];
    for (size_t f = 0; f < l->nf; f++) {
        const double inverse = f_inverse(fit, f, damping);

        if (inverse == 0) continue;
        gather_coupling(fit, n, f, k);
        for (size_t i = 0; i < n; i++) {
            fit->gradient[i] -= k[i] * inverse * gradient[l->f[f]];
            for (size_t j = 0; j < n; j++) fit->folded[i * n + j] -= k[i] * inverse * k[j];
        }
    }
}

/* D is the diagonal of the block of structure factors, K its coupling with dense
 * parameters, and C the covariance of dense parameters. The covariance of structure factors
 * is -D^-1 K^T C with dense parameters, and D^-1 + D^-1 K^T C K D^-1 with one another. */
double normal_f_dense(const nb_fit *fit, size_t f, const double *covariance, size_t n,
                      size_t j)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += coupling(fit, i, f) * covariance[i * n + j];
    return -f_inverse(fit, f, 0) * sum;
}

double normal_f_covariance(const nb_fit *fit, size_t f, size_t g, const double *covariance,
                           size_t n)
{
    double sum = 0;

    for (size_t j = 0; j < n; j++)
        sum += normal_f_dense(fit, f, covariance, n, j) * coupling(fit, j, g);
    return f_inverse(fit, g, 0) * ((f == g) - sum);
}

double normal_f_error(const nb_fit *fit, size_t f, const double *covariance, size_t n)
{
    if (normal_f_is_held(fit, f)) return INFINITY;
    return sqrt(normal_f_covariance(fit, f, f, covariance, n));
}

struct fit_system normal_alone(nb_fit *fit, size_t shot)
{
    const double *own = fit->best.own + shot * fit->at.own_end;

    link_blocks(fit, shot, 1);
    return (struct fit_system){.no = fit->layout.no,
                               .nblock = 1,
                               .gradient = own + fit->at.own_gradient,
                               .own = fit->own,
                               .cross = fit->cross};
}

struct fit_system normal_joint(nb_fit *fit, const struct fit_point *slopes, double damping)
{
    const struct fit_layout *l = &fit->layout;
    struct fit_system system = {.ns = l->nd, .no = l->no, .nblock = l->nshot};

    gather_gradient(fit, slopes);
    system.gradient = fit->gradient;
    system.shared = fit->best.sum + fit->at.matrix;
    system.own = fit->own;
    system.cross = fit->cross;
    if (l->nf == 0) {
        link_blocks(fit, 0, l->nshot);
        return system;
    }
    system.ns += l->no * l->nshot;
    system.nblock = system.no = 0;
    fold(fit, slopes, system.ns, damping);
    system.shared = fit->folded;
    system.diagonal = fit->diagonal;
    system.neliminated = l->nf;
    return system;
}

/* ---- bounds, in the order of a system ---- */

/* Returns the index of the scale that no step moves, because the mean of F is held: the
 * first scale of a shot that is not left out. Returns SIZE_MAX if there is no such
 * scale. */
static size_t scale_that_stays(const nb_fit *fit)
{
    for (size_t i = 0; fit->has_gauge && i < fit->layout.n; i++) {
        const int64_t shot = fit->value[i].shot;

        if (fit->is_scale[i] && (shot < 0 || !fit->left_out[shot])) return i;
    }
    return SIZE_MAX;
}

int normal_stays(const nb_fit *fit, size_t i)
{
    return fit->is_scale[i] && i == scale_that_stays(fit);
}

/* Sets x of parameter j, and the limits of a straight step that leads to its bounds along
 * its curve. */
static void set_limits(const nb_fit *fit, size_t j, double *x, double *lower, double *upper)
{
    const double now = fit->best.x[j];

    *x = now;
    *lower = now + chart_step_to(fit->chart[j], now, fit->lower[j]);
    *upper = now + chart_step_to(fit->chart[j], now, fit->upper[j]);
}

static struct fit_bounds gather_bounds(nb_fit *fit, size_t n)
{
    double *x = fit->bounds, *lower = x + n, *upper = lower + n;

    for (size_t i = 0; i < n; i++) {
        const size_t j = normal_at_x(&fit->layout, i);

        set_limits(fit, j, x + i, lower + i, upper + i);
        fit->fixed[i] = (unsigned char)normal_stays(fit, j);
    }
    return (struct fit_bounds){x, lower, upper, fit->fixed};
}

/* Holds parameters that make spots broader, too. */
static void hold_widths(nb_fit *fit, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fit->fixed[i] |= fit->is_width[normal_at_x(&fit->layout, i)];
}

/* ---- steps ---- */

static double step_alone(nb_fit *fit, size_t shot, double damping, int holds_widths,
                         int stops, double *step)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_system system = normal_alone(fit, shot);
    const size_t first = l->ns + shot * l->no;
    double *x = fit->bounds, *lower = x + l->no, *upper = lower + l->no;
    const struct fit_bounds bounds = {x, lower, upper, fit->fixed};

    for (size_t i = 0; i < l->no; i++) {
        set_limits(fit, first + i, x + i, lower + i, upper + i);
        fit->fixed[i] = holds_widths && fit->is_width[first + i];
    }
    return solver_step(fit->solver_alone, &system, &bounds, damping, stops, step + first);
}

/* A step lowers F^2 of a weak structure factor by this share at most, because at F = 0 the
 * image no longer depends on F. */
static const double fall_most = 0.96;

/* Returns 1 if F is below three of its standard deviations, 1/sqrt(diagonal). */
static int is_weak(double f, double diagonal)
{
    return f * f * diagonal < 9;
}

/* Returns the step of the normal equations, shortened so that F^2 of a weak F falls by at
 * most fall_most. */
static double limited(double f, double step, double diagonal)
{
    const double least = -fall_most * fabs(f) / 2;

    return is_weak(f, diagonal) && copysign(1, f) * step < least ? copysign(least, -f)
                                                                 : step;
}

/* Returns the step of F, given the step of the normal equations: for a weak F, F^2 changes
 * by 2 F times that step. */
static double step_of_f(double f, double step, double diagonal)
{
    if (!is_weak(f, diagonal)) return step;
    return copysign(sqrt(f * f + 2 * f * step), f) - f;
}

/* Sets the steps of structure factors, given the steps of dense parameters. Returns the
 * gain of loss that these steps add to the predicted one. */
static double step_f(nb_fit *fit, const double *dense, size_t n, double damping, int stops,
                     double *step)
{
    const struct fit_layout *l = &fit->layout;
    double gain = 0;

    for (size_t f = 0; f < l->nf; f++) {
        const size_t i = l->f[f];
        const double diagonal = fit->best.sum[fit->at.diagonal + f];
        double slope = fit->best.sum[fit->at.gradient + i];

        for (size_t j = 0; j < n; j++) slope += coupling(fit, j, f) * dense[j];
        step[i] = limited(fit->best.x[i], -slope * f_inverse(fit, f, damping), diagonal);
        gain -= (slope + diagonal * step[i] / 2) * step[i];
        if (stops) step[i] = step_of_f(fit->best.x[i], step[i], diagonal);
    }
    return gain;
}

/* Returns the gain of loss that is predicted for the steps of the dense parameters
 * alone. */
static double dense_gain(nb_fit *fit, const double *dense, size_t n)
{
    double gain = 0;

    gather_gradient(fit, &fit->best);
    gather_matrix(fit, n);
    for (size_t i = 0; i < n; i++) {
        double slope = fit->gradient[i];

        for (size_t j = 0; j < n; j++) slope += fit->folded[i * n + j] * dense[j] / 2;
        gain -= slope * dense[i];
    }
    return gain;
}

static double step_joint(nb_fit *fit, double damping, int holds_widths, int stops,
                         double *step)
{
    const struct fit_layout *l = &fit->layout;
    const double least = l->nf > 0 ? f_damping_least : 0, damped = fmax(damping, least);
    const struct fit_system system = normal_joint(fit, &fit->best, damped);
    const size_t n = system.ns + system.no * system.nblock;
    const struct fit_bounds bounds = gather_bounds(fit, n);
    double *dense = fit->dense_step, gain;

    if (holds_widths) hold_widths(fit, n);
    gain =
        solver_step(fit->solver, &system, &bounds, stops ? damping : damped, stops, dense);
    for (size_t i = 0; i < n; i++) step[normal_at_x(l, i)] = dense[i];
    if (l->nf == 0) return gain;
    gain = dense_gain(fit, dense, n);
    return gain + step_f(fit, dense, n, damped, stops, step);
}

void normal_step(nb_fit *fit, const struct fit_point *slopes, double *step)
{
    const struct fit_layout *l = &fit->layout;
    const struct fit_system system = normal_joint(fit, slopes, 0);
    const size_t n = system.ns + system.no * system.nblock;
    const struct fit_bounds bounds = gather_bounds(fit, n);
    double *dense = fit->dense_step;

    for (size_t i = 0; i < n; i++)
        fit->fixed[i] |= covariance_bound(fit, normal_at_x(l, i)) != 0;
    (void)solver_step(fit->solver, &system, &bounds, 0, 0, dense);
    for (size_t i = 0; i < n; i++) step[normal_at_x(l, i)] = dense[i];
    for (size_t f = 0; f < l->nf; f++) {
        double slope = slopes->sum[fit->at.gradient + l->f[f]];

        for (size_t j = 0; j < n; j++) slope += coupling(fit, j, f) * dense[j];
        step[l->f[f]] = -slope * f_inverse(fit, f, 0);
    }
}

double normal_enough(const nb_fit *fit)
{
    const double misfit = fit->alone ? 1 : fmax(fit->track->misfit, 1);

    if (fit->options.enough > 0) return fit->options.enough;
    return 1e-3 * misfit * normal_units(fit);
}

/* Sets the step of the scale while all other parameters are held. The scale falls at most
 * by a factor of 20: if spots miss the observed ones, the best scale may be 0, and from
 * there no step leads away. */
static double step_scale(nb_fit *fit, const struct fit_track *track, double damping,
                         double *step)
{
    const struct fit_layout *l = &fit->layout;
    const size_t i = track_scale(fit, track);
    const double h = fit_diagonal(fit, &fit->best, i), g = fit_gradient(fit, &fit->best, i);
    const double now = fit->best.x[i];
    double to = h > 0 ? now - g / (h * (1 + damping)) : now;

    if (fit->alone)
        memset(step + l->ns + (size_t)(track - fit->track) * l->no, 0,
               l->no * sizeof *step);
    else
        memset(step, 0, l->n * sizeof *step);
    to = fmin(fmax(fmax(to, now / 20), fit->lower[i]), fit->upper[i]);
    step[i] = to - now;
    return -(g + h * step[i] / 2) * step[i];
}

double fit_step(nb_fit *fit, const struct fit_track *track, double damping, int stops,
                double *step)
{
    const struct fit_stage stage = track_stage(fit, track);
    const int holds_widths = stage.kind != NB_FIT_ALL_FREE;

    if (stage.is_scale) return step_scale(fit, track, damping, step);
    return fit->alone ? step_alone(fit, (size_t)(track - fit->track), damping, holds_widths,
                                   stops, step)
                      : step_joint(fit, damping, holds_widths, stops, step);
}
