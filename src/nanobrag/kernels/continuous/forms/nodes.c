/*
 * nodes.c - computes the form of a reflection at the nodes. It is compiled once per
 * instruction set, in double.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/forms/nodes.h"

#include <stddef.h>
#include <string.h>

#include "kernels/continuous/forms/star.h"
#include "kernels/continuous/forms/steps.h"
#include "kernels/continuous/forms/turn.h"

/* Writes the relative energy of the middle step of each node, and the ratio of each step's
 * energy to it. */
static void find_energies(const struct spot_nodes *n, struct node_values *v)
{
    for (int i = 0; i < NODES; i++) v->middle_energy[i] = exp(n->at[i]);
    for (int j = 0; j < NODE_STEPS; j++)
        v->energy_ratio[j] = exp((j - MIDDLE_STEP) * n->step);
}

/* Writes the phi of each node in step j. */
static void find_phi(const struct spot_nodes *n, int j, double *z)
{
    for (int i = 0; i < NODES; i++) z[i] = phi_of(n, j, i);
}

/* Writes the directions of all nodes and of the light; with a star, for its point m in step
 * j. */
static void find_directions(const struct spot_nodes *n, int j, int m, struct node_values *v)
{
    const struct form_vector fast = form_load(n->fast), slow = form_load(n->slow);
    const struct form_vector origin = form_load(n->origin), s = form_load(n->s);
    on_nodes light[3] = {{0}}, place[3] = {{0}};

    for (int i = 0; i < NODES && n->star; i++) {
        double y[STAR_AXES] = {0};

        star_point(n->star, star_step(n, j), m, i, y);
        for (int k = 0; k < n->star->n; k++)
            for (int c = 0; c < 3; c++)
                (k < n->star->light ? light : place)[c][i] += y[k] * n->star->way[k][c];
    }
#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const struct form_vector beside = {place[0][i], place[1][i], place[2][i]};
        const struct form_vector x =
            form_axpy(-1, beside,
                      form_axpy(n->x[i], fast, form_axpy(n->y[i], slow, origin)));
        const double per = 1 / sqrt(form_dot(x, x));

        v->per_length[j][i] = per;
        v->d[j][0][i] = per * x.x, v->d[j][1][i] = per * x.y, v->d[j][2][i] = per * x.z;
        v->s[j][0][i] = s.x + light[0][i];
        v->s[j][1][i] = s.y + light[1][i];
        v->s[j][2][i] = s.z + light[2][i];
        v->per_s[j][i] = 1;
    }
    for (int i = 0; i < NODES && n->star && n->star->light > 0; i++) {
        const struct form_vector l = {v->s[j][0][i], v->s[j][1][i], v->s[j][2][i]};
        const double per = 1 / sqrt(form_dot(l, l));

        v->per_s[j][i] = per;
        for (int c = 0; c < 3; c++) v->s[j][c][i] *= per;
    }
}

/* Writes the scattering vectors of the nodes in all steps; with a star, for its point m. */
static void find_places(const struct spot_nodes *n, int m, struct node_values *v)
{
    const struct form_vector w = form_load(n->w);
    const double k = n->k;

    if (!n->star) find_directions(n, 0, 0, v);
    for (int j = 0; j < v->steps; j++) {
        const int at = seen_of(n, j);
        on_nodes z;

        if (n->star) find_directions(n, j, m, v);
        find_phi(n, j, z);
#pragma omp simd
        for (int i = 0; i < NODES; i++) {
            const struct form_vector p = {k * (v->d[at][0][i] - v->s[at][0][i]),
                                          k * (v->d[at][1][i] - v->s[at][1][i]),
                                          k * (v->d[at][2][i] - v->s[at][2][i])};
            const struct form_vector q = turned(w, z[i], p);

            v->p[j][0][i] = q.x, v->p[j][1][i] = q.y, v->p[j][2][i] = q.z;
        }
    }
}

/* Writes the relative energy 1 + e of each node in form (j, m), step j and energy m. */
static void find_scales(const struct spot_nodes *n, const struct node_values *v, int j,
                        int m, double *scale)
{
    for (int i = 0; i < NODES; i++) scale[i] = energy_of(n, v, j, m, i);
}

/* Writes the displacement of each node from q0 in form (j, m). */
static void find_displacements(const struct spot_nodes *n, const struct node_values *v,
                               int j, int m, double (*d)[NODES])
{
    on_nodes scale;

    find_scales(n, v, j, m, scale);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < NODES; i++) d[c][i] = scale[i] * v->p[j][c][i] - n->q0[c];
}

/* Computes log I of form (j, m) at all nodes. */
static void find_logs(const struct spot_nodes *n, int j, int m, struct node_values *v)
{
    const struct form form = n->form;
    double *restrict out = v->log[v->lines * j + m];
    on_nodes d[3];

    find_displacements(n, v, j, m, d);
#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const struct form_vector at = {d[0][i], d[1][i], d[2][i]};

        out[i] = form_at(&form, at).log;
    }
}

/* the index of a member of struct form among the slopes */
#define SLOPE(member) (3 + (int)(offsetof(struct form, member) / sizeof(double)))

/* Computes log I and its slopes for form (j, m) at all nodes. Members are copied by short
 * loops, which compilers unroll; a long loop would keep them from vectorising the loop
 * around it. */
static void find_logs_and_slopes(const struct spot_nodes *n, int j, int m,
                                 struct node_values *v)
{
    const struct form form = n->form;
    double *restrict log_i = v->log[v->lines * j + m];
    double(*restrict out)[NODES] = v->slope[v->lines * j + m];
    on_nodes d[3];

    find_displacements(n, v, j, m, d);
#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const struct form_vector place = {d[0][i], d[1][i], d[2][i]};
        const struct form_slopes_at at = form_slopes_at(&form, place);
        const struct form_slopes s = at.slopes;

        log_i[i] = at.log;
        out[0][i] = s.d.x, out[1][i] = s.d.y, out[2][i] = s.d.z;
        out[SLOPE(norm)][i] = s.by.norm;
        out[SLOPE(q)][i] = s.by.q;
        out[SLOPE(b)][i] = s.by.b;
        for (int f = 0; f < 3; f++) {
            out[SLOPE(n) + f][i] = s.by.n[f];
            out[SLOPE(beta) + f][i] = s.by.beta[f];
        }
        for (int f = 0; f < 6; f++) {
            out[SLOPE(ci) + f][i] = s.by.ci[f];
            out[SLOPE(s) + f][i] = s.by.s[f];
            out[SLOPE(k) + f][i] = s.by.k[f];
            out[SLOPE(sig) + f][i] = s.by.sig[f];
            out[SLOPE(m) + f][i] = s.by.m[f];
        }
    }
}

/* Writes log I of each step; with a star, at its point m. */
static void find_steps(const struct spot_nodes *n, int m, int slopes, struct node_values *v,
                       double (*step)[NODES])
{
    v->steps = n->along == ALONG_NOTHING ? 1 : NODE_STEPS;
    v->lines = n->line > 0 && n->line_step > 0 && n->along != ALONG_ENERGY ? LINE_STEPS : 1;
    find_places(n, m, v);
    if (n->along == ALONG_ENERGY) find_energies(n, v);
    for (int j = 0; j < v->steps; j++)
        for (int line = 0; line < v->lines; line++)
            if (slopes)
                find_logs_and_slopes(n, j, line, v);
            else
                find_logs(n, j, line, v);
    for (int j = 0; j < v->steps; j++)
        if (v->lines > 1)
            over_line(n, j, v, step[j]);
        else
            memcpy(step[j], v->log[j], sizeof step[j]);
}

/* Writes log I of each step, integrated over a star. */
static void find_star(const struct spot_nodes *n, struct node_values *v,
                      double (*step)[NODES])
{
    const int points = 2 * n->star->n + 1;
    const double(*prior)[STAR_AXES] = (const double(*)[STAR_AXES])n->prior;
    star_matrix inverse = {{0}};
    const double log_det = star_inverse(n->star->n, prior, inverse);

    for (int m = 0; m < points; m++) {
        find_steps(n, m, 0, v, step);
        for (int j = 0; j < v->steps; j++)
            memcpy(v->star_log[j][m], step[j], sizeof step[j]);
    }
    for (int j = 0; j < v->steps; j++)
        for (int i = 0; i < NODES; i++) {
            double log_i[STAR_POINTS] = {0};
            struct star_sum sum;

            for (int m = 0; m < points; m++) log_i[m] = v->star_log[j][m][i];
            star_integral(n->star, prior, (const double(*)[STAR_AXES])inverse, log_det,
                          star_step(n, j), i, log_i, &sum);
            step[j][i] = sum.log;
            for (int m = 0; m < points; m++) v->star_slope[j][m][i] = sum.slope[m];
            memcpy(v->by_prior[j][i], sum.by_prior, sizeof sum.by_prior);
        }
}

static void find_all(const struct spot_nodes *n, int slopes, struct node_values *v)
{
    on_nodes step[NODE_STEPS];

    if (n->star)
        find_star(n, v, step);
    else
        find_steps(n, 0, slopes, v, step);
    if (v->steps > 1)
        over_steps(n, step, v);
    else
        memcpy(v->output[NODE_L], step[0], sizeof step[0]);
}

static void find_values(const struct spot_nodes *n, struct node_values *v)
{
    find_all(n, 0, v);
}

static void find_slopes(const struct spot_nodes *n, struct node_values *v)
{
    find_all(n, 1, v);
}

/* Returns the sum of a_i b_i. Compilers unroll this loop of fixed length into vectors. */
FORM_FN double product_of(const double *a, const double *b)
{
    enum { PARTS = 8 };
    double part[PARTS] = {0};

    for (int i = 0; i < NODES; i += PARTS)
        for (int k = 0; k < PARTS; k++) part[k] += a[i + k] * b[i + k];
    for (int k = 0; k < 4; k++) part[k] += part[k + 4];
    return (part[0] + part[2]) + (part[1] + part[3]);
}

FORM_FN double sum_of(const double *a)
{
    static const on_nodes ones = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

    return product_of(a, ones);
}

/* Propagates p_bar, the cotangents of the turned places in step j. Adds the cotangents of
 * the turn to `to`, and the cotangents of the places before the turn to `back`. */
static void back_through_turn(const struct spot_nodes *n, const struct node_values *v,
                              int j, double (*p_bar)[NODES], double (*back)[NODES],
                              struct nodes_change *to)
{
    const struct form_vector w = form_load(n->w);
    const int seen = seen_of(n, j);
    on_nodes spindle_bar[3], by[3], z_bar, phi;

    find_phi(n, j, phi);
#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const double z = phi[i];
        const struct form_vector bar = {p_bar[0][i], p_bar[1][i], p_bar[2][i]};
        const struct form_vector at = {v->p[j][0][i], v->p[j][1][i], v->p[j][2][i]};
        const struct form_vector from = {n->k * (v->d[seen][0][i] - v->s[seen][0][i]),
                                         n->k * (v->d[seen][1][i] - v->s[seen][1][i]),
                                         n->k * (v->d[seen][2][i] - v->s[seen][2][i])};
        const struct form_vector turn = form_cross(at, bar);
        const struct turn_bars bars = turn_back(w, z, from, bar);
        const struct form_vector p = bars.p, by_w = bars.w;

        back[0][i] += p.x, back[1][i] += p.y, back[2][i] += p.z;
        spindle_bar[0][i] = by_w.x, spindle_bar[1][i] = by_w.y, spindle_bar[2][i] = by_w.z;
        by[0][i] = -turn.x, by[1][i] = -turn.y, by[2][i] = -turn.z;
        z_bar[i] = -form_dot(w, turn);
    }
    for (int k = 0; k < 3; k++) {
        to->w[k] += sum_of(spindle_bar[k]);
        to->by[k] += sum_of(by[k]);
    }
    if (n->along != ALONG_PHI) to->z0 += sum_of(z_bar);
}

/* Propagates p_bar, the cotangents of the places k (d - s), to detector and beam. If the
 * beam turns with the detector, k d and k s change far more than their difference. So the
 * cotangents of the detector (by k d) and of the beam (by k s) use the same sum of p_bar,
 * and its rounding errors cancel. The detector takes this sum as if all nodes had d0, the
 * direction d of one node near the middle. The corrections for the other nodes are small,
 * and so is the rounding of these corrections. */
static void back_to_detector(const struct spot_nodes *n, const struct node_values *v,
                             int seen, double (*p_bar)[NODES], struct nodes_change *to)
{
    const int turned_light = n->star && n->star->light > 0;
    enum {
        NEAR = 1
    }; /* the node of d0; clang would not vectorise a loop that begins at this node */
    const double per0 = n->k * v->per_length[seen][NEAR], x0 = n->x[NEAR], y0 = n->y[NEAR];
    const struct form_vector d0 = {v->d[seen][0][NEAR], v->d[seen][1][NEAR],
                                   v->d[seen][2][NEAR]};
    on_nodes beside[3], x_bar[3], k_bar, s_bar[3], x, y;
    double sum[3], along_sum;

#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const struct form_vector d = {v->d[seen][0][i], v->d[seen][1][i], v->d[seen][2][i]};
        const struct form_vector s = {v->s[seen][0][i], v->s[seen][1][i], v->s[seen][2][i]};
        const struct form_vector bar = {p_bar[0][i], p_bar[1][i], p_bar[2][i]};
        const struct form_vector off = {d.x - d0.x, d.y - d0.y, d.z - d0.z};
        const double along = form_dot(bar, d), scale = n->k * v->per_length[seen][i];
        const double along0 = form_dot(bar, d0), aside = form_dot(bar, off);
        const double more = scale - per0;
        const double inward = form_dot(bar, s), per = v->per_s[seen][i];

        x[i] = n->x[i] - x0, y[i] = n->y[i] - y0;
        k_bar[i] = form_dot(bar, form_axpy(-1, s, d));
        x_bar[0][i] = scale * (bar.x - along * d.x);
        x_bar[1][i] = scale * (bar.y - along * d.y);
        x_bar[2][i] = scale * (bar.z - along * d.z);
        beside[0][i] = more * (bar.x - along * d.x) - per0 * (aside * d.x + along0 * off.x);
        beside[1][i] = more * (bar.y - along * d.y) - per0 * (aside * d.y + along0 * off.y);
        beside[2][i] = more * (bar.z - along * d.z) - per0 * (aside * d.z + along0 * off.z);
        s_bar[0][i] = (per - 1) * bar.x - per * inward * s.x;
        s_bar[1][i] = (per - 1) * bar.y - per * inward * s.y;
        s_bar[2][i] = (per - 1) * bar.z - per * inward * s.z;
    }
    to->k += sum_of(k_bar);
    for (int c = 0; c < 3; c++) sum[c] = sum_of(p_bar[c]);
    along_sum = form_dot(form_load(sum), d0);
    for (int c = 0; c < 3; c++) {
        const double d = v->d[seen][c][NEAR];
        const double place = per0 * (sum[c] - along_sum * d) + sum_of(beside[c]);

        to->s[c] -= n->k * (sum[c] + (turned_light ? sum_of(s_bar[c]) : 0));
        to->origin[c] += place;
        to->fast[c] += x0 * place + product_of(x, x_bar[c]);
        to->slow[c] += y0 * place + product_of(y, x_bar[c]);
    }
}

/* Propagates log_bar, the cotangents of log I, through form (j, m). Adds the cotangents of
 * the form's numbers and of q0 to `to`, and the cotangents of its places to p_bar. */
static void back_through_form(const struct spot_nodes *n, const struct node_values *v,
                              int j, int m, const double *restrict log_bar,
                              double (*restrict p_bar)[NODES], struct nodes_change *to)
{
    const double(*restrict slope)[NODES] = v->slope[v->lines * j + m];
    double *form = (double *)(void *)&to->form;
    on_nodes scale;

    find_scales(n, v, j, m, scale);
    for (int f = 0; f < FORM_NUMBERS; f++) form[f] += product_of(log_bar, slope[3 + f]);
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < NODES; i++)
            p_bar[c][i] += scale[i] * (log_bar[i] * slope[c][i]);
        to->q0[c] -= product_of(log_bar, slope[c]);
    }
}

/* Propagates the cotangents of log I in each step for one point of the star, or without a
 * star, to the numbers on which the nodes depend. */
static void point_adjoint(const struct spot_nodes *n, const struct node_values *v,
                          double (*step_bar)[NODES], struct nodes_change *to)
{
    on_nodes back[3] = {{0}}, log_bar;

    for (int j = 0; j < v->steps; j++) {
        on_nodes p_bar[3] = {{0}};

        if (v->lines == 1) back_through_form(n, v, j, 0, step_bar[j], p_bar, to);
        for (int m = 0; m < v->lines && v->lines > 1; m++) {
            for (int i = 0; i < NODES; i++)
                log_bar[i] = step_bar[j][i] * v->line_slope[j][m][i];
            back_through_form(n, v, j, m, log_bar, p_bar, to);
        }
        for (int i = 0; i < NODES && v->lines > 1; i++)
            to->line += step_bar[j][i] * v->by_line[j][i];
        back_through_turn(n, v, j, p_bar, back, to);
        if (!n->star && j + 1 < v->steps) continue;
        back_to_detector(n, v, seen_of(n, j), back, to);
        memset(back, 0, sizeof back);
    }
}

/* Writes the cotangents of log I in step j, given `bar`, the cotangents of the outputs. */
FORM_FN void bars_of_step(const struct node_values *v, double (*bar)[NODES], int j,
                          double *restrict out)
{
    if (v->steps == 1) {
        memcpy(out, bar[NODE_L], sizeof bar[NODE_L]);
        return;
    }
#pragma omp simd
    for (int i = 0; i < NODES; i++)
        out[i] = bar[NODE_L][i] * v->output_slope[NODE_L][j][i]
                 + bar[NODE_M][i] * v->output_slope[NODE_M][j][i]
                 + bar[NODE_H][i] * v->output_slope[NODE_H][j][i]
                 + bar[NODE_L3][i] * v->output_slope[NODE_L3][j][i]
                 + bar[NODE_L4][i] * v->output_slope[NODE_L4][j][i];
}

static void adjoint(const struct spot_nodes *n, const struct node_values *v,
                    double (*bar)[NODES], struct nodes_change *to)
{
    on_nodes step_bar[NODE_STEPS] = {{0}}, ignored[NODE_STEPS];
    struct node_values point;

    for (int j = 0; j < v->steps; j++) bars_of_step(v, bar, j, step_bar[j]);
    if (!n->star) {
        point_adjoint(n, v, step_bar, to);
        return;
    }
    for (int j = 0; j < v->steps; j++)
        for (int i = 0; i < NODES; i++)
            for (int a = 0; a < n->star->n; a++)
                for (int b = 0; b < n->star->n; b++)
                    to->prior[a][b] += step_bar[j][i] * v->by_prior[j][i][a][b];
    for (int m = 0; m < 2 * n->star->n + 1; m++) {
        on_nodes point_bar[NODE_STEPS] = {{0}};

        for (int j = 0; j < v->steps; j++)
            for (int i = 0; i < NODES; i++)
                point_bar[j][i] = step_bar[j][i] * v->star_slope[j][m][i];
        find_steps(n, m, 1, &point, ignored);
        point_adjoint(n, &point, point_bar, to);
    }
}

/* Computes values and slopes of the nodes for point m of a star. */
static void find_point(const struct spot_nodes *n, int m, struct node_values *out)
{
    on_nodes ignored[NODE_STEPS];

    find_steps(n, m, 1, out, ignored);
}

const struct node_kernels KERNELS = {find_values, find_slopes, find_point, adjoint};
