/* lattice.c - see lattice.h: docs/theory.md, 5 and 6. SPDX-License-Identifier: MIT */
#include "oracle/lattice.h"

#include <stddef.h>
#include <stdio.h>

void lattice_slit(quad v, quad n, quad *value, quad *slope_v, quad *slope_n)
{
    const quad pi = quad_pi(), x = pi * v, square = x * x, nn = n * n;
    const quad above = sinq(n * x), below = sinq(x);

    if (fabsq(n * v) < (quad)1e-6L && fabsq(v) < (quad)1e-6L) {
        /* n (1 + c2 x^2 + c4 x^4); the next term is below 1e-33 */
        const quad c2 = (1 - nn) / 6, c4 = (7 - 10 * nn + 3 * nn * nn) / 360;

        *value = n * (1 + square * (c2 + c4 * square));
        *slope_v = pi * n * x * (2 * c2 + 4 * c4 * square);
        *slope_n =
            1 + square * ((1 - 3 * nn) / 6 + square * (7 - 30 * nn + 15 * nn * nn) / 360);
        return;
    }
    *value = above / below;
    *slope_v = pi * (n * cosq(n * x) * below - above * cosq(x)) / (below * below);
    *slope_n = x * cosq(n * x) / below;
}

/* 3 (sin x/x - cos x)/x^2 of z = x^2 */
static struct dual ball(struct dual z)
{
    quad value = 0, slope = 0;

    if (z.v < 1) {
        quad term = 1; /* of z^k: (-1)^k 6 (k + 1)/(2 k + 3)! */

        for (int k = 0; k < 24; k++) {
            value += term;
            term *= -z.v * (k + 2) / ((quad)(k + 1) * (2 * k + 4) * (2 * k + 5));
        }
        term = -(quad)1 / 10;
        for (int k = 1; k < 24; k++) {
            slope += term;
            term *= -z.v * (k + 2) / ((quad)k * (2 * k + 4) * (2 * k + 5));
        }
    } else {
        const quad x = sqrtq(z.v), s = sinq(x) / x, c = cosq(x);

        value = 3 * (s - c) / z.v;
        slope = 3 * (3 * c - 3 * s + z.v * s) / (2 * z.v * z.v);
    }
    return dual_chain(value, slope, z);
}

/* of the symmetric matrix N */
static struct dual_vec cells_row(const struct truth *t, int i)
{
    static const int place[3][3] = {{0, 0, 1}, {0, 0, 2}, {1, 2, 0}};
    struct dual_vec row;

    for (int j = 0; j < 3; j++)
        row.at[j] = i == j ? t->x.ncells[i] : t->x.ncells_off[place[i][j]];
    return row;
}

/* fudge rho^2 */
static struct dual radius(const struct truth *t, const struct dual_vec axes[3],
                          const struct dual away[3])
{
    struct dual sum = dual_of(0);

    if (t->scene.crystal.shape == NB_SHAPE_GAUSS_STAR) {
        struct dual_vec g = vec_times(away[0], t->star[0]);
        struct dual volume = dual_of(1);

        for (int i = 1; i < 3; i++) g = vec_add(g, vec_times(away[i], t->star[i]));
        for (int i = 0; i < 3; i++)
            volume = dual_mul(volume, dual_mul(t->x.ncells[i],
                                               dual_sqrt(vec_dot(axes[i], axes[i]))));
        sum = dual_mul(vec_dot(g, g), dual_square(dual_cbrt(volume)));
    } else
        for (int i = 0; i < 3; i++) {
            const struct dual_vec row = cells_row(t, i);
            const struct dual_vec d = {{away[0], away[1], away[2]}};

            sum = dual_add(sum, dual_square(vec_dot(row, d)));
        }
    return dual_mul(t->x.fudge, sum);
}

/* integral of the square of F_latt over that of square blocks of as many cells */
static struct dual spot_sum(const struct truth *t, const struct dual_vec axes[3])
{
    const quad pi = quad_pi(), gauss = (quad)0.63 / 2 * pi, ball = (quad)0.723601254558268,
               edge = (quad)0.63;
    const int shape = t->scene.crystal.shape;
    struct dual sum = dual_of(shape == NB_SHAPE_ROUND    ? 6 * ball * ball / pi
                              : shape == NB_SHAPE_TOPHAT ? 4 * pi / 3 * edge * edge * edge
                                                         : gauss * sqrtq(gauss));

    if (shape == NB_SHAPE_GAUSS_STAR) {
        sum = dual_mul(sum, dual_abs(vec_dot(axes[0], vec_cross(axes[1], axes[2]))));
        for (int i = 0; i < 3; i++)
            sum = dual_div(sum, dual_sqrt(vec_dot(axes[i], axes[i])));
    }
    return dual_div(sum, dual_mul(t->x.fudge, dual_sqrt(t->x.fudge)));
}

static struct dual shape_factor(const struct truth *t, const struct dual_vec axes[3],
                                const struct dual away[3])
{
    const struct dual *n = t->x.ncells;
    struct dual out = vec_dot(cells_row(t, 0), vec_cross(cells_row(t, 1), cells_row(t, 2)));
    struct dual u;

    if (t->scene.crystal.shape == NB_SHAPE_SQUARE) {
        out = dual_of(1);
        for (int i = 0; i < 3; i++) {
            quad value, slope_v, slope_n;

            lattice_slit(away[i].v, n[i].v, &value, &slope_v, &slope_n);
            out = dual_mul(out, dual_chain2(value, slope_v, away[i], slope_n, n[i]));
        }
        return out;
    }
    u = radius(t, axes, away);
    if (t->scene.crystal.normalise) out = dual_div(out, dual_sqrt(spot_sum(t, axes)));
    switch (t->scene.crystal.shape) {
    case NB_SHAPE_ROUND:
        return dual_mul(dual_times((quad)0.723601254558268, out),
                        ball(dual_times(quad_pi() * quad_pi(), u)));
    case NB_SHAPE_TOPHAT:
        return u.v < (quad)0.3969 ? out : dual_of(0);
    default:
        if (u.v >= 223) return dual_of(0);
        return dual_mul(out, dual_exp(dual_times(-1 / (quad)0.63, u)));
    }
}

static struct dual f_at(const struct truth *t, const int n[3])
{
    double f;

    char name[40];

    if (!t->scene.crystal.hkl || !nb_hkl_get(t->scene.crystal.hkl, n[0], n[1], n[2], &f))
        return t->x.default_f;
    (void)snprintf(name, sizeof name, "F[%d,%d,%d]", n[0], n[1], n[2]);
    return truth_listed(t, name, f);
}

/* Lagrange's cubic through the nodes -1, 0, 1, 2 */
static struct dual cubic_weight(struct dual at, int node)
{
    struct dual out = dual_of(1);

    for (int other = -1; other <= 2; other++)
        if (other != node)
            out = dual_times((quad)1 / (node - other),
                             dual_mul(out, dual_sub(at, dual_of(other))));
    return out;
}

static struct dual tricubic(const struct truth *t, const struct dual h[3])
{
    struct dual weight[3][4], sum = dual_of(0);
    int low[3];

    for (int i = 0; i < 3; i++) {
        const quad whole = floorq(h[i].v);

        low[i] = (int)whole - 1;
        for (int node = -1; node <= 2; node++)
            weight[i][node + 1] = cubic_weight(dual_sub(h[i], dual_of(whole)), node);
    }
    for (int k = 0; k < 64; k++) {
        const int at[3] = {k / 16, k / 4 % 4, k % 4};
        const int n[3] = {low[0] + at[0], low[1] + at[1], low[2] + at[2]};
        struct dual term = f_at(t, n);

        for (int i = 0; i < 3; i++) term = dual_mul(term, weight[i][at[i]]);
        sum = dual_add(sum, term);
    }
    return sum;
}

static struct dual cell_factor(const struct truth *t, const struct dual h[3],
                               const int nearest[3])
{
    nb_hkl_info box;
    int inside = 1;

    if (!t->scene.crystal.hkl || t->counts.interpolate != NB_LOOKUP_TRICUBIC)
        return f_at(t, nearest);
    nb_hkl_info_get(t->scene.crystal.hkl, &box);
    for (int i = 0; i < 3; i++)
        inside &= h[i].v >= box.min[i] + 2 && h[i].v <= box.max[i] - 2;
    return inside ? tricubic(t, h) : f_at(t, nearest);
}

struct dual lattice_square(const struct truth *t, const struct dual_vec axes[3],
                           struct dual_vec q)
{
    struct dual h[3], away[3];
    int nearest[3];

    for (int i = 0; i < 3; i++) {
        const quad half = (quad)0.5;
        quad whole;

        h[i] = vec_dot(axes[i], q);
        whole = ceilq(h[i].v - half);
        nearest[i] = (int)whole;
        away[i] = dual_sub(h[i], dual_of(whole));
    }
    return dual_square(dual_mul(cell_factor(t, h, nearest), shape_factor(t, axes, away)));
}
