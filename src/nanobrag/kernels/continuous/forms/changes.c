/*
 * changes.c - changes of a spot along several directions at a time. It is compiled once per
 * instruction set, in double.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/forms/changes.h"

#include <stddef.h>
#include <string.h>

#include "kernels/continuous/forms/steps.h"
#include "kernels/continuous/forms/turn.h"

/* the index of the first double of a member in a struct of doubles */
#define ROW(type, member) (offsetof(struct type, member) / sizeof(double))

/* Sums for all directions, in vectors that stay in registers. gcc would turn loops over
 * lanes into sums in memory. */
typedef double four_lanes
    __attribute__((vector_size(4 * sizeof(double)), aligned(sizeof(double)), may_alias));
struct sums {
    four_lanes low, high;
};

/* Adds `share` times the numbers `of`, one for each direction, to the sums. */
FORM_FN void add_lanes(double share, const double *of, struct sums *to)
{
    const four_lanes *half = (const four_lanes *)(const void *)of;

    to->low += share * half[0];
    to->high += share * half[1];
}

/* Adds `share` times the sums to the numbers `to`, one for each direction. */
FORM_FN void add_sums(double share, const struct sums *of, double *to)
{
    four_lanes *half = (four_lanes *)(void *)to;

    half[0] += share * of->low;
    half[1] += share * of->high;
}

/* The changes of the numbers on which the nodes depend (struct nodes_change), one lane a
 * direction. */
enum { MOVED_NUMBERS = (int)(sizeof(struct nodes_change) / sizeof(double)) };
struct moved {
    _Alignas(64) on_directions of[MOVED_NUMBERS];
    int n, row[FORM_NUMBERS]; /* indices of the n numbers of the form that change */
};

#define MOVED(member) ROW(nodes_change, member)

/* Changes of log I, or of a number from which it is computed, in the steps of all nodes. */
typedef on_directions lanes_of_steps[NODE_STEPS][NODES];

FORM_FN struct form_vector lane_vector(on_directions *of, int lane)
{
    const struct form_vector v = {of[0][lane], of[1][lane], of[2][lane]};

    return v;
}

/* Computes the changes of the form along the directions of all lanes. Members are copied by
 * short loops, which compilers unroll. */
static void forms_of_lanes(const struct form_known *known, on_directions *restrict dot,
                           on_directions *restrict out)
{
    const struct form_known p = *known;
    const double per_q = p.q > 0 ? 1 / p.q : 0;

#pragma omp simd
    for (int d = 0; d < DIRECTION_LANES; d++) {
        const struct form_of change = {
            .q0 = {dot[ROW(form_of, q0) + 0][d], dot[ROW(form_of, q0) + 1][d],
                   dot[ROW(form_of, q0) + 2][d]},
            .block = {dot[ROW(form_of, block) + 0][d], dot[ROW(form_of, block) + 1][d],
                      dot[ROW(form_of, block) + 2][d], dot[ROW(form_of, block) + 3][d],
                      dot[ROW(form_of, block) + 4][d], dot[ROW(form_of, block) + 5][d]},
            .spread = {dot[ROW(form_of, spread) + 0][d], dot[ROW(form_of, spread) + 1][d],
                       dot[ROW(form_of, spread) + 2][d], dot[ROW(form_of, spread) + 3][d],
                       dot[ROW(form_of, spread) + 4][d], dot[ROW(form_of, spread) + 5][d]},
            .height = dot[ROW(form_of, height)][d],
            .b = dot[ROW(form_of, b)][d],
        };
        struct form form;

        form = form_tangent(&p, per_q, change);
        out[ROW(form, norm)][d] = form.norm;
        out[ROW(form, q)][d] = form.q;
        out[ROW(form, b)][d] = form.b;
        for (int k = 0; k < 3; k++) {
            out[ROW(form, n) + k][d] = form.n[k];
            out[ROW(form, beta) + k][d] = form.beta[k];
        }
        for (int k = 0; k < 6; k++) {
            out[ROW(form, ci) + k][d] = form.ci[k];
            out[ROW(form, s) + k][d] = form.s[k];
            out[ROW(form, k) + k][d] = form.k[k];
            out[ROW(form, sig) + k][d] = form.sig[k];
            out[ROW(form, m) + k][d] = form.m[k];
        }
    }
}

/* Copies the changes in `along` for the directions from `first` on, each to its own
 * lane. */
static void lay_lanes(const struct change_along *along, int first, struct moved *out)
{
    _Alignas(64) on_directions in[FORM_OF_NUMBERS];
    const int left = along->n - first, n = left < DIRECTION_LANES ? left : DIRECTION_LANES;

    memset(out, 0, sizeof *out);
    for (int d = 0; d < n; d++)
        for (int k = 0; k < MOVED_NUMBERS; k++)
            out->of[k][d] = ((const double *)(const void *)(along->moved + first + d))[k];
    if (along->made) {
        memset(in, 0, sizeof in);
        for (int d = 0; d < n; d++)
            for (int k = 0; k < FORM_OF_NUMBERS; k++)
                in[k][d] = ((const double *)(const void *)(along->made + first + d))[k];
        forms_of_lanes(along->known, in, out->of + MOVED(form));
    }
    for (int f = 0; f < FORM_NUMBERS; f++) {
        int any = 0;

        for (int d = 0; d < n; d++) any |= out->of[MOVED(form) + (size_t)f][d] != 0;
        if (any) out->row[out->n++] = f;
    }
}

/* Writes the changes of k (d - s), the place of node i before it is turned. */
static void move_place(const struct spot_nodes *n, const struct node_values *v, int seen,
                       int i, struct moved *by, on_directions *restrict out)
{
    on_directions *restrict of = by->of;
    const int turned_light = n->star && n->star->light > 0;
    const double x = n->x[i], y = n->y[i], k = n->k, per_s = v->per_s[seen][i];
    const double per_length = v->per_length[seen][i];
    const struct form_vector d = {v->d[seen][0][i], v->d[seen][1][i], v->d[seen][2][i]};
    const struct form_vector s = {v->s[seen][0][i], v->s[seen][1][i], v->s[seen][2][i]};
    const struct form_vector between = form_axpy(-1, s, d);

#pragma omp simd
    for (int l = 0; l < DIRECTION_LANES; l++) {
        const struct form_vector ds = lane_vector(of + MOVED(s), l);
        const struct form_vector dx =
            form_axpy(x, lane_vector(of + MOVED(fast), l),
                      form_axpy(y, lane_vector(of + MOVED(slow), l),
                                lane_vector(of + MOVED(origin), l)));
        const struct form_vector across =
            form_scale(per_length, form_axpy(-form_dot(dx, d), d, dx));
        const double inward = turned_light ? form_dot(ds, s) : 0;
        const struct form_vector light = form_scale(per_s, form_axpy(-inward, s, ds));
        const struct form_vector p = form_axpy(k, form_axpy(-1, light, across),
                                               form_scale(of[MOVED(k)][l], between));

        out[0][l] = p.x, out[1][l] = p.y, out[2][l] = p.z;
    }
}

/* Writes the changes of the turned place of node i in step j, given `moved`, the changes of
 * the place before it is turned. */
static void turn_place(const struct spot_nodes *n, const struct node_values *v, int j,
                       int i, struct moved *by, on_directions *restrict moved,
                       on_directions *restrict out)
{
    on_directions *restrict of = by->of;
    const int seen = seen_of(n, j);
    const double z = phi_of(n, j, i), turning = n->along == ALONG_PHI ? 0 : 1, k = n->k;
    const struct form_vector w = form_load(n->w);
    const struct form_vector p = {k * (v->d[seen][0][i] - v->s[seen][0][i]),
                                  k * (v->d[seen][1][i] - v->s[seen][1][i]),
                                  k * (v->d[seen][2][i] - v->s[seen][2][i])};
    const struct form_vector at = {v->p[j][0][i], v->p[j][1][i], v->p[j][2][i]};
    const struct turn t = turn_of(z * z * form_dot(w, w));
    const struct form_vector c = form_cross(w, p), e = form_cross(w, c);

#pragma omp simd
    for (int l = 0; l < DIRECTION_LANES; l++) {
        const struct form_vector dp = lane_vector(moved, l);
        const struct form_vector dw = lane_vector(of + MOVED(w), l);
        const struct form_vector by_l = lane_vector(of + MOVED(by), l);
        const double a2 = 2 * z * z * form_dot(w, dw);
        const struct form_vector dc = form_axpy(1, form_cross(dw, p), form_cross(w, dp));
        const struct form_vector de = form_axpy(1, form_cross(dw, c), form_cross(w, dc));
        struct form_vector sum = form_axpy(z * z * t.s2, de, form_axpy(-z * t.s1, dc, dp));

        sum = form_axpy(z * z * a2 * t.ds2, e, form_axpy(-z * a2 * t.ds1, c, sum));
        sum = form_axpy(-1, form_cross(form_axpy(turning * of[MOVED(z0)][l], w, by_l), at),
                        sum);
        out[0][l] = sum.x, out[1][l] = sum.y, out[2][l] = sum.z;
    }
}

/* Adds the changes of log I of form (j, m), step j and energy m, at each node, times the
 * node's share. */
static void change_form(const struct spot_nodes *n, const struct node_values *v, int j,
                        int m, const double *share, struct moved *by,
                        on_directions (*moved)[3], on_directions *step)
{
    const double(*slope)[NODES] = v->slope[v->lines * j + m];

    /* four nodes at a time share loads */
    for (int i = 0; i < NODES; i += 4) {
        struct sums p = {{0}, {0}}, q = p, r = p, s = p;

        for (int c = 0; c < 3; c++) {
            const double *q0 = by->of[MOVED(q0) + (size_t)c], *a = slope[c] + i;

            add_lanes(a[0] * energy_of(n, v, j, m, i), moved[i][c], &p);
            add_lanes(a[1] * energy_of(n, v, j, m, i + 1), moved[i + 1][c], &q);
            add_lanes(a[2] * energy_of(n, v, j, m, i + 2), moved[i + 2][c], &r);
            add_lanes(a[3] * energy_of(n, v, j, m, i + 3), moved[i + 3][c], &s);
            add_lanes(-a[0], q0, &p);
            add_lanes(-a[1], q0, &q);
            add_lanes(-a[2], q0, &r);
            add_lanes(-a[3], q0, &s);
        }
        for (int f = 0; f < by->n; f++) {
            const double *change = by->of[MOVED(form) + (size_t)by->row[f]];
            const double *a = slope[3 + by->row[f]] + i;

            add_lanes(a[0], change, &p);
            add_lanes(a[1], change, &q);
            add_lanes(a[2], change, &r);
            add_lanes(a[3], change, &s);
        }
        add_sums(share[i], &p, step[i]);
        add_sums(share[i + 1], &q, step[i + 1]);
        add_sums(share[i + 2], &r, step[i + 2]);
        add_sums(share[i + 3], &s, step[i + 3]);
    }
}

/* Adds the changes of log I in each step at one point of the star, or without a star, times
 * the share that the point has at each node. */
static void change_point(const struct spot_nodes *n, const struct node_values *v,
                         on_nodes *share, struct moved *by, lanes_of_steps step)
{
    _Alignas(64) on_directions place[NODES][3], moved[NODES][3];
    on_nodes all;

    for (int j = 0; j < v->steps; j++) {
        for (int i = 0; i < NODES; i++) {
            if (n->star || j == 0) move_place(n, v, seen_of(n, j), i, by, place[i]);
            turn_place(n, v, j, i, by, place[i], moved[i]);
        }
        if (v->lines == 1) change_form(n, v, j, 0, share[j], by, moved, step[j]);
        for (int m = 0; m < v->lines && v->lines > 1; m++) {
            for (int i = 0; i < NODES; i++) all[i] = share[j][i] * v->line_slope[j][m][i];
            change_form(n, v, j, m, all, by, moved, step[j]);
        }
        for (int i = 0; i < NODES && v->lines > 1; i++)
            for (int l = 0; l < DIRECTION_LANES; l++)
                step[j][i][l] += share[j][i] * v->by_line[j][i] * by->of[MOVED(line)][l];
    }
}

/* Adds the change of log I in each step by the change of n->prior, the inverse covariance
 * of the variables of a star. */
static void change_prior(const struct spot_nodes *n, const struct node_values *v,
                         struct moved *by, lanes_of_steps step)
{
    for (int j = 0; j < v->steps; j++)
        for (int i = 0; i < NODES; i++) {
            struct sums sum = {{0}, {0}};

            for (int a = 0; a < n->star->n; a++)
                for (int b = 0; b < n->star->n; b++)
                    add_lanes(v->by_prior[j][i][a][b],
                              by->of[MOVED(prior) + (size_t)(STAR_AXES * a + b)], &sum);
            add_sums(1, &sum, step[j][i]);
        }
}

/* Writes the changes of the outputs, given the changes of log I in each step. */
static void change_outputs(const struct node_values *v, lanes_of_steps step,
                           on_directions (*out)[NODES])
{
    memcpy(out[NODE_L], step[0], sizeof step[0]);
    for (int o = 0; o < NODE_OUTPUTS && v->steps > 1; o++)
        for (int i = 0; i < NODES; i++) {
            struct sums sum = {{0}, {0}};

            for (int j = 0; j < NODE_STEPS; j++)
                add_lanes(v->output_slope[o][j][i], step[j][i], &sum);
            memcpy(out[o][i], &sum, sizeof sum);
        }
}

static void outputs(const struct node_kernels *kernels, const struct spot_nodes *n,
                    const struct node_values *v, const struct change_along *along,
                    on_directions (*out)[NODE_OUTPUTS][NODES])
{
    _Alignas(64) lanes_of_steps step[DIRECTION_BATCHES];
    struct moved by[DIRECTION_BATCHES];
    struct node_values point;
    on_nodes share[NODE_STEPS];
    const int points = n->star ? 2 * n->star->n + 1 : 1;
    const int batches = (along->n + DIRECTION_LANES - 1) / DIRECTION_LANES;

    memset(step, 0, (size_t)batches * sizeof *step);
    for (int b = 0; b < batches; b++) {
        lay_lanes(along, b * DIRECTION_LANES, by + b);
        if (n->star) change_prior(n, v, by + b, step[b]);
    }
    for (int m = 0; m < points; m++) {
        for (int j = 0; j < v->steps; j++)
            for (int i = 0; i < NODES; i++)
                share[j][i] = n->star ? v->star_slope[j][m][i] : 1;
        if (n->star) kernels->point(n, m, &point);
        for (int b = 0; b < batches; b++)
            change_point(n, n->star ? &point : v, share, by + b, step[b]);
    }
    for (int b = 0; b < batches; b++) change_outputs(v, step[b], out[b]);
}

static void fit(const struct pattern *pattern, int outputs, on_directions (*output)[NODES],
                on_directions *coefficient)
{
    for (int k = 0; k < SPOT_COEFFICIENTS; k++) {
        const int o = k < SPOT_M    ? NODE_L
                      : k < SPOT_H  ? NODE_M
                      : k < SPOT_L3 ? NODE_H
                      : k < SPOT_L4 ? NODE_L3
                                    : NODE_L4;
        const double *weight = pattern->fit[k];
        struct sums even = {{0}, {0}}, odd = even;

        for (int i = 0; i < NODES && o < outputs; i += 2) {
            add_lanes(weight[i], output[o][i], &even);
            add_lanes(weight[i + 1], output[o][i + 1], &odd);
        }
        even.low += odd.low;
        even.high += odd.high;
        memcpy(coefficient[k], &even, sizeof even);
    }
}

extern const struct change_kernels KERNELS;
const struct change_kernels KERNELS = {outputs, fit};
