/*
 * nodes.c - see nodes.h. It is compiled once per instruction set, in double.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/forms/nodes.h"

#include <string.h>

enum { MIDDLE_STEP = NODE_STEPS / 2, MIDDLE_LINE = LINE_STEPS / 2 };

/* Rotates a vector by -z about w, p - z s1 w x p + z^2 s2 w x (w x p), by the series of
 * sin(a)/a and (1 - cos(a))/a^2 in a = z |w|, which is below 0.3 here. */
struct turn {
    double s1, s2, ds1, ds2; /* and their derivatives by a^2 */
};

FORM_FN struct turn turn_of(double a2)
{
    struct turn t;

    t.s1 = 1 - a2 * (1. / 6 - a2 * (1. / 120 - a2 * (1. / 5040 - a2 * (1. / 362880))));
    t.s2 = 0.5 - a2 * (1. / 24 - a2 * (1. / 720 - a2 * (1. / 40320 - a2 * (1. / 3628800))));
    t.ds1 = -1. / 6 + a2 * (1. / 60 - a2 * (1. / 1680 - a2 * (1. / 90720)));
    t.ds2 = -1. / 24 + a2 * (1. / 360 - a2 * (1. / 13440 - a2 * (1. / 907200)));
    return t;
}

FORM_FN struct form_vector turned(struct form_vector w, double z, struct form_vector p)
{
    const struct turn t = turn_of(z * z * form_dot(w, w));
    const struct form_vector c = form_cross(w, p);

    return form_axpy(z * z * t.s2, form_cross(w, c), form_axpy(-z * t.s1, c, p));
}

/* The phi of node i in step j, without the energies along which it may be integrated. */
FORM_FN double phi_of(const struct spot_nodes *n, int j, int i)
{
    if (n->along != ALONG_PHI) return n->z0;
    return n->at[i] + (j - MIDDLE_STEP) * n->step;
}

/* The relative energy of form (j, m). */
FORM_FN double energy_of(const struct spot_nodes *n, int lines, int j, int m, int i)
{
    if (n->along == ALONG_ENERGY) return n->at[i] + (j - MIDDLE_STEP) * n->step;
    if (lines == 1) return 0;
    return n->line_at[j][i] + (m - MIDDLE_LINE) * n->line_step;
}

/* Writes the phi of the nodes in step j. */
static void find_phi(const struct spot_nodes *n, int j, double *z)
{
    for (int i = 0; i < NODES; i++) z[i] = phi_of(n, j, i);
}

static void find_places(const struct spot_nodes *n, struct node_values *v)
{
    const struct form_vector fast = form_load(n->fast), slow = form_load(n->slow);
    const struct form_vector origin = form_load(n->origin), w = form_load(n->w);
    const double k = n->k, s[3] = {n->s[0], n->s[1], n->s[2]};

#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const struct form_vector x =
            form_axpy(n->x[i], fast, form_axpy(n->y[i], slow, origin));
        const double per = 1 / sqrt(form_dot(x, x));

        v->per_length[i] = per;
        v->d[0][i] = per * x.x, v->d[1][i] = per * x.y, v->d[2][i] = per * x.z;
    }
    for (int j = 0; j < v->steps; j++) {
        on_nodes z;

        find_phi(n, j, z);
#pragma omp simd
        for (int i = 0; i < NODES; i++) {
            const struct form_vector p = {k * (v->d[0][i] - s[0]), k * (v->d[1][i] - s[1]),
                                          k * (v->d[2][i] - s[2])};
            const struct form_vector at = turned(w, z[i], p);

            v->p[j][0][i] = at.x, v->p[j][1][i] = at.y, v->p[j][2][i] = at.z;
        }
    }
}

/* Writes 1 + e of the nodes in form (j, m), and their displacements from q0. */
static void find_displacements(const struct spot_nodes *n, const struct node_values *v,
                               int j, int m, double *scale, double (*d)[NODES])
{
    for (int i = 0; i < NODES; i++) scale[i] = 1 + energy_of(n, v->lines, j, m, i);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < NODES; i++) d[c][i] = scale[i] * v->p[j][c][i] - n->q0[c];
}

/* Integrates log I over a line in step j: a gaussian about the middle energy e of the three
 * forms, of standard deviation `line`. */
static void over_line(const struct spot_nodes *n, int j, struct node_values *v, double *out)
{
    const double u = n->line_step, per = 1 / n->line, per2 = per * per;
    on_nodes *of_step = v->log + (size_t)LINE_STEPS * (size_t)j;
    const double *low = of_step[0], *mid = of_step[1], *high = of_step[2];

    for (int i = 0; i < NODES; i++) {
        const double e = n->line_at[j][i];
        const double h = per2 - (high[i] - 2 * mid[i] + low[i]) / (u * u);
        const double t = ((high[i] - low[i]) / (2 * u) - e * per2) / h;
        const double bend = 0.5 * (t * t + 1 / h) / (u * u);

        out[i] = mid[i] - 0.5 * e * e * per2 + 0.5 * h * t * t - 0.5 * log(h / per2);
        v->line_slope[j][0][i] = bend - t / (2 * u);
        v->line_slope[j][1][i] = 1 - 2 * bend;
        v->line_slope[j][2][i] = bend + t / (2 * u);
        v->by_line[j][i] = (((e + t) * (e + t) + 1 / h) * per2 - 1) * per;
    }
}

/* Finds the outputs and their slopes from log I at five steps u apart. */
static void over_steps(const struct spot_nodes *n, double (*f)[NODES],
                       struct node_values *v)
{
    const double u = 1 / n->step;
    const double first[] = {u / 12, -8 * u / 12, 0, 8 * u / 12, -u / 12};
    const double h_of[] = {u * u / 12, -16 * u * u / 12, 30 * u * u / 12, -16 * u * u / 12,
                           u * u / 12};
    const double third[] = {-u * u * u / 2, u * u * u, 0, -u * u * u, u * u * u / 2};
    const double u4 = u * u * u * u, fourth[] = {u4, -4 * u4, 6 * u4, -4 * u4, u4};

    for (int i = 0; i < NODES; i++) {
        double l1 = 0, h = 0, l3 = 0, l4 = 0, t;

        for (int j = 0; j < NODE_STEPS; j++) {
            l1 += first[j] * f[j][i], h += h_of[j] * f[j][i];
            l3 += third[j] * f[j][i], l4 += fourth[j] * f[j][i];
        }
        t = l1 / h;
        v->output[NODE_L][i] = f[2][i] + 0.5 * l1 * t;
        v->output[NODE_M][i] = n->at[i] + t;
        v->output[NODE_H][i] = h;
        v->output[NODE_L3][i] = l3;
        v->output[NODE_L4][i] = l4;
        for (int j = 0; j < NODE_STEPS; j++) {
            v->output_slope[NODE_L][j][i] = (j == 2) + t * first[j] - 0.5 * t * t * h_of[j];
            v->output_slope[NODE_M][j][i] = (first[j] - t * h_of[j]) / h;
            v->output_slope[NODE_H][j][i] = h_of[j];
            v->output_slope[NODE_L3][j][i] = third[j];
            v->output_slope[NODE_L4][j][i] = fourth[j];
        }
    }
}

/* Computes log I of form (j, m) at all nodes. */
static void find_logs(const struct spot_nodes *n, int j, int m, struct node_values *v)
{
    const struct form form = n->form;
    double *restrict out = v->log[v->lines * j + m];
    on_nodes scale, d[3];

    find_displacements(n, v, j, m, scale, d);
#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const struct form_vector at = {d[0][i], d[1][i], d[2][i]};

        out[i] = form_at(&form, at).log;
    }
}

/* Does so with the slopes. */
static void find_logs_and_slopes(const struct spot_nodes *n, int j, int m,
                                 struct node_values *v)
{
    const struct form form = n->form;
    double *restrict log_i = v->log[v->lines * j + m];
    double(*restrict out)[NODES] = v->slope[v->lines * j + m];
    on_nodes scale, d[3];

    find_displacements(n, v, j, m, scale, d);
#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const struct form_vector place = {d[0][i], d[1][i], d[2][i]};
        const struct form_steps at = form_at(&form, place);
        const struct form_slopes s = form_back(&form, &at);

        log_i[i] = at.log;
        out[0][i] = s.d.x, out[1][i] = s.d.y, out[2][i] = s.d.z;
        for (int f = 0; f < FORM_NUMBERS; f++)
            out[3 + f][i] = ((const double *)(const void *)&s.by)[f];
    }
}

static void find_all(const struct spot_nodes *n, int slopes, struct node_values *v)
{
    on_nodes step[NODE_STEPS];

    v->steps = n->along == ALONG_NOTHING ? 1 : NODE_STEPS;
    v->lines = n->line > 0 && n->line_step > 0 && n->along != ALONG_ENERGY ? LINE_STEPS : 1;
    find_places(n, v);
    for (int j = 0; j < v->steps; j++)
        for (int m = 0; m < v->lines; m++)
            if (slopes)
                find_logs_and_slopes(n, j, m, v);
            else
                find_logs(n, j, m, v);
    for (int j = 0; j < v->steps; j++)
        if (v->lines > 1)
            over_line(n, j, v, step[j]);
        else
            memcpy(step[j], v->log[j], sizeof step[j]);
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

/* Writes the slopes of an objective by the log I of form (j, m), given its slopes by the
 * outputs. */
static void bars_of_form(const struct node_values *v, double (*bar)[NODES], int j, int m,
                         double *out)
{
    for (int i = 0; i < NODES; i++) {
        double sum = v->steps == 1 ? bar[NODE_L][i] : 0;

        for (int o = 0; o < NODE_OUTPUTS && v->steps > 1; o++)
            sum += bar[o][i] * v->output_slope[o][j][i];
        out[i] = sum;
    }
    for (int i = 0; i < NODES && v->lines > 1; i++) out[i] *= v->line_slope[j][m][i];
}

/* Takes p_bar, the cotangent of a turned vector, back to that of the vector before, and
 * adds those of w and z. */
FORM_FN struct form_vector turn_back(struct form_vector w, double z, struct form_vector p,
                                     struct form_vector p_bar, struct form_vector *w_bar)
{
    const struct turn t = turn_of(z * z * form_dot(w, w));
    const struct form_vector c = form_cross(w, p), e = form_cross(w, c);
    const struct form_vector e_bar = form_scale(z * z * t.s2, p_bar);
    const struct form_vector c_bar = form_axpy(-z * t.s1, p_bar, form_cross(e_bar, w));
    const double s1_bar = -z * form_dot(p_bar, c), s2_bar = z * z * form_dot(p_bar, e);
    const double a2_bar = s1_bar * t.ds1 + s2_bar * t.ds2;

    *w_bar = form_axpy(2 * z * z * a2_bar, w,
                       form_axpy(1, form_cross(c, e_bar),
                                 form_axpy(1, form_cross(p, c_bar), *w_bar)));
    return form_axpy(1, form_cross(c_bar, w), p_bar);
}

static double sum_of(const double *a)
{
    double sum = 0;

    for (int i = 0; i < NODES; i++) sum += a[i];
    return sum;
}

/* Adds the cotangents of a step's turned places p_bar to `to`, and those of the places
 * before to `back`. */
static void back_through_turn(const struct spot_nodes *n, const struct node_values *v,
                              int j, double (*p_bar)[NODES], double (*back)[NODES],
                              struct nodes_change *to)
{
    const struct form_vector w = form_load(n->w);
    on_nodes spindle_bar[3], by[3], z_bar, phi;

    find_phi(n, j, phi);
#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const double z = phi[i];
        const struct form_vector bar = {p_bar[0][i], p_bar[1][i], p_bar[2][i]};
        const struct form_vector at = {v->p[j][0][i], v->p[j][1][i], v->p[j][2][i]};
        const struct form_vector from = {n->k * (v->d[0][i] - n->s[0]),
                                         n->k * (v->d[1][i] - n->s[1]),
                                         n->k * (v->d[2][i] - n->s[2])};
        const struct form_vector turn = form_cross(at, bar);
        struct form_vector w_bar = {0, 0, 0};
        const struct form_vector p = turn_back(w, z, from, bar, &w_bar);

        back[0][i] += p.x, back[1][i] += p.y, back[2][i] += p.z;
        spindle_bar[0][i] = w_bar.x, spindle_bar[1][i] = w_bar.y,
        spindle_bar[2][i] = w_bar.z;
        by[0][i] = -turn.x, by[1][i] = -turn.y, by[2][i] = -turn.z;
        z_bar[i] = -form_dot(w, turn);
    }
    for (int k = 0; k < 3; k++) {
        to->w[k] += sum_of(spindle_bar[k]);
        to->by[k] += sum_of(by[k]);
    }
    if (n->along != ALONG_PHI) to->z0 += sum_of(z_bar);
}

/* Takes the cotangents of places k (d - s) to those of the detector and the beam. */
static void back_to_detector(const struct spot_nodes *n, const struct node_values *v,
                             double (*p_bar)[NODES], struct nodes_change *to)
{
    on_nodes x_bar[3], k_bar;

#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const struct form_vector d = {v->d[0][i], v->d[1][i], v->d[2][i]};
        const struct form_vector bar = {p_bar[0][i], p_bar[1][i], p_bar[2][i]};
        const double along = form_dot(bar, d), scale = n->k * v->per_length[i];

        k_bar[i] = along - form_dot(bar, form_load(n->s));
        x_bar[0][i] = scale * (bar.x - along * d.x);
        x_bar[1][i] = scale * (bar.y - along * d.y);
        x_bar[2][i] = scale * (bar.z - along * d.z);
    }
    to->k += sum_of(k_bar);
    for (int c = 0; c < 3; c++) {
        double fast = 0, slow = 0;

        for (int i = 0; i < NODES; i++) {
            fast += n->x[i] * x_bar[c][i];
            slow += n->y[i] * x_bar[c][i];
        }
        to->s[c] -= n->k * sum_of(p_bar[c]);
        to->origin[c] += sum_of(x_bar[c]);
        to->fast[c] += fast;
        to->slow[c] += slow;
    }
}

static void adjoint(const struct spot_nodes *n, const struct node_values *v,
                    double (*bar)[NODES], struct nodes_change *to)
{
    double *form = (double *)(void *)&to->form;
    on_nodes back[3] = {{0}};

    for (int j = 0; j < v->steps; j++) {
        on_nodes p_bar[3] = {{0}};

        for (int m = 0; m < v->lines; m++) {
            const double(*slope)[NODES] = v->slope[v->lines * j + m];
            on_nodes weight;

            bars_of_form(v, bar, j, m, weight);
            for (int f = 0; f < FORM_NUMBERS; f++) {
                double sum = 0;

                for (int i = 0; i < NODES; i++) sum += weight[i] * slope[3 + f][i];
                form[f] += sum;
            }
            for (int c = 0; c < 3; c++)
                for (int i = 0; i < NODES; i++) {
                    const double d_bar = weight[i] * slope[c][i];

                    to->q0[c] -= d_bar;
                    p_bar[c][i] += (1 + energy_of(n, v->lines, j, m, i)) * d_bar;
                }
        }
        for (int i = 0; i < NODES && v->lines > 1; i++) {
            double sum = v->steps == 1 ? bar[NODE_L][i] : 0;

            for (int o = 0; o < NODE_OUTPUTS && v->steps > 1; o++)
                sum += bar[o][i] * v->output_slope[o][j][i];
            to->line += sum * v->by_line[j][i];
        }
        back_through_turn(n, v, j, p_bar, back, to);
    }
    back_to_detector(n, v, back, to);
}

/* ---- the tangent ---- */

/* Writes the changes of the places k (d - s). */
static void move_places(const struct spot_nodes *n, const struct node_values *v,
                        const struct nodes_change *dot, double (*out)[NODES])
{
#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const struct form_vector d = {v->d[0][i], v->d[1][i], v->d[2][i]};
        const struct form_vector x =
            form_axpy(n->x[i], form_load(dot->fast),
                      form_axpy(n->y[i], form_load(dot->slow), form_load(dot->origin)));
        const struct form_vector across =
            form_scale(v->per_length[i], form_axpy(-form_dot(x, d), d, x));
        const struct form_vector p =
            form_axpy(n->k, form_axpy(-1, form_load(dot->s), across),
                      form_scale(dot->k, form_axpy(-1, form_load(n->s), d)));

        out[0][i] = p.x, out[1][i] = p.y, out[2][i] = p.z;
    }
}

/* Writes the changes of the turned places of a step. */
static void turn_places(const struct spot_nodes *n, const struct node_values *v, int j,
                        const struct nodes_change *dot, double (*moved)[NODES],
                        double (*out)[NODES])
{
    const double z_dot = n->along == ALONG_PHI ? 0 : dot->z0;
    const struct form_vector w = form_load(n->w), dw = form_load(dot->w);
    on_nodes phi;

    find_phi(n, j, phi);
#pragma omp simd
    for (int i = 0; i < NODES; i++) {
        const double z = phi[i];
        const struct form_vector p = {n->k * (v->d[0][i] - n->s[0]),
                                      n->k * (v->d[1][i] - n->s[1]),
                                      n->k * (v->d[2][i] - n->s[2])};
        const struct form_vector at = {v->p[j][0][i], v->p[j][1][i], v->p[j][2][i]};
        const struct form_vector dp = {moved[0][i], moved[1][i], moved[2][i]};
        const struct turn t = turn_of(z * z * form_dot(w, w));
        const double a2 = 2 * z * z * form_dot(w, dw);
        const struct form_vector c = form_cross(w, p), dc = form_cross(dw, p);
        struct form_vector sum = turned(w, z, dp);

        sum = form_axpy(-z * t.s1, dc, form_axpy(-z * a2 * t.ds1, c, sum));
        sum = form_axpy(z * z * t.s2, form_axpy(1, form_cross(dw, c), form_cross(w, dc)),
                        sum);
        sum = form_axpy(z * z * a2 * t.ds2, form_cross(w, c), sum);
        sum = form_axpy(-1, form_cross(form_axpy(z_dot, w, form_load(dot->by)), at), sum);
        out[0][i] = sum.x, out[1][i] = sum.y, out[2][i] = sum.z;
    }
}

/* Writes the change of the log I of form (j, m). */
static void change_form(const struct spot_nodes *n, const struct node_values *v, int j,
                        int m, const struct nodes_change *dot, double (*moved)[NODES],
                        double *out)
{
    const double *form = (const double *)(const void *)&dot->form;
    const double(*slope)[NODES] = v->slope[v->lines * j + m];

    for (int i = 0; i < NODES; i++) {
        const double e = 1 + energy_of(n, v->lines, j, m, i);
        double sum = 0;

        for (int c = 0; c < 3; c++) sum += slope[c][i] * (e * moved[c][i] - dot->q0[c]);
        out[i] = sum;
    }
    for (int f = 0; f < FORM_NUMBERS; f++)
        for (int i = 0; i < NODES && form[f] != 0; i++) out[i] += slope[3 + f][i] * form[f];
}

static void tangent(const struct spot_nodes *n, const struct node_values *v,
                    const struct nodes_change *dot, double (*out)[NODES])
{
    on_nodes places[3], step[NODE_STEPS] = {{0}};

    move_places(n, v, dot, places);
    for (int j = 0; j < v->steps; j++) {
        on_nodes moved[3], change;

        turn_places(n, v, j, dot, places, moved);
        for (int i = 0; i < NODES; i++)
            step[j][i] = v->lines > 1 ? dot->line * v->by_line[j][i] : 0;
        for (int m = 0; m < v->lines; m++) {
            change_form(n, v, j, m, dot, moved, change);
            for (int i = 0; i < NODES; i++)
                step[j][i] += (v->lines > 1 ? v->line_slope[j][m][i] : 1) * change[i];
        }
    }
    if (v->steps == 1) {
        memcpy(out[NODE_L], step[0], sizeof step[0]);
        return;
    }
    for (int o = 0; o < NODE_OUTPUTS; o++)
        for (int i = 0; i < NODES; i++) {
            out[o][i] = 0;
            for (int j = 0; j < NODE_STEPS; j++)
                out[o][i] += v->output_slope[o][j][i] * step[j][i];
        }
}

const struct node_kernels KERNELS = {find_values, find_slopes, adjoint, tangent};
