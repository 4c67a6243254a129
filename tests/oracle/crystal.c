/*
 * crystal.c - the axes of the crystal in each orientation: docs/theory.md, 8, 9, 11.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "oracle/truth.h"

/* standard setting: a* along x, b* in the x-y plane */
static void star_of_cell(const struct dual cell[6], struct dual_vec star[3])
{
    const struct dual one = dual_of(1), zero = dual_of(0);
    struct dual c[3], s[3], length[3], cos_star[3], volume, sin_gamma;

    for (int i = 0; i < 3; i++) {
        c[i] = dual_cos(dual_radian(cell[3 + i]));
        s[i] = dual_sin(dual_radian(cell[3 + i]));
    }
    volume = dual_times(2, dual_mul(c[0], dual_mul(c[1], c[2])));
    for (int i = 0; i < 3; i++) volume = dual_sub(volume, dual_square(c[i]));
    volume = dual_sqrt(dual_add(one, volume));
    for (int i = 0; i < 3; i++) volume = dual_mul(volume, cell[i]);
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        length[i] = dual_div(dual_mul(dual_mul(cell[j], cell[k]), s[i]), volume);
        cos_star[i] = dual_div(dual_sub(dual_mul(c[j], c[k]), c[i]), dual_mul(s[j], s[k]));
    }
    sin_gamma = dual_sqrt(dual_sub(one, dual_square(cos_star[2])));
    star[0] = (struct dual_vec){{length[0], zero, zero}};
    star[1] = (struct dual_vec){
        {dual_mul(length[1], cos_star[2]), dual_mul(length[1], sin_gamma), zero}};
    star[2].at[0] = dual_mul(length[2], cos_star[1]);
    star[2].at[1] =
        dual_mul(length[2],
                 dual_div(dual_sub(cos_star[0], dual_mul(cos_star[1], cos_star[2])),
                          sin_gamma));
    star[2].at[2] = dual_div(one, cell[2]);
}

/* a*, b*, c* are the columns of the matrix */
static void star_of_matrix(const struct dual matrix[9], struct dual_vec star[3])
{
    for (int i = 0; i < 3; i++)
        for (int row = 0; row < 3; row++) star[i].at[row] = matrix[3 * row + i];
}

/* the frame in which the matrix has the standard setting: x along a*, y in the plane of a*
 * and b*; then the standard vectors of the cell in that frame */
static void orient(const struct dual_vec matrix[3], struct dual_vec star[3])
{
    struct dual_vec x = vec_unit(matrix[0]), y, z;

    y = vec_unit(vec_sub(matrix[1], vec_times(vec_dot(x, matrix[1]), x)));
    z = vec_cross(x, y);
    if (vec_dot(z, matrix[2]).v < 0) z = vec_times(dual_of(-1), z);
    for (int i = 0; i < 3; i++)
        star[i] = vec_add(vec_add(vec_times(star[i].at[0], x), vec_times(star[i].at[1], y)),
                          vec_times(star[i].at[2], z));
}

/* three vectors of which each has product 1 with its own and 0 with the others */
static void dual_basis(const struct dual_vec from[3], struct dual_vec to[3])
{
    const struct dual volume = vec_dot(from[0], vec_cross(from[1], from[2]));

    for (int i = 0; i < 3; i++)
        to[i] = vec_times(dual_div(dual_of(1), volume),
                          vec_cross(from[(i + 1) % 3], from[(i + 2) % 3]));
}

/* uniform numbers below 1: 16807 mod 2^31 - 1, shuffled in a table of 32, in float */
struct shuffle {
    int64_t x, y, table[32];
};

static int64_t advance(struct shuffle *s)
{
    s->x = s->x * 16807 % 2147483647;
    return s->x;
}

static struct shuffle shuffle_of(int64_t seed)
{
    struct shuffle s = {seed > 1 ? seed : 1, 0, {0}};

    for (int i = 0; i < 8; i++) (void)advance(&s);
    for (int i = 31; i >= 0; i--) s.table[i] = advance(&s);
    s.y = s.table[0];
    return s;
}

static double draw(struct shuffle *s)
{
    const int64_t next = advance(s);
    const int slot = (int)(s->y / 67108864);
    float out;

    s->y = s->table[slot];
    s->table[slot] = next;
    out = (float)s->y * (float)(1 / 2147483647.0);
    return out < 1 - 1.2e-7F ? out : 1 - 1.2e-7F;
}

/* the variance of a component of the rotations that fill a cap of 1:
 * gamma(1/2) gamma(5/3) / (6 gamma(13/6)) */
static quad cap_variance(void)
{
    return (quad)246391386593313384 / 1000000000000000000;
}

/* a rotation, by the quaternion of three uniform numbers */
static void rotation_of(struct shuffle *s, quad m[3][3])
{
    const quad first = draw(s), t = 2 * quad_pi() * (quad)draw(s);
    const quad p = 2 * quad_pi() * (quad)draw(s), a = sqrtq(1 - first), b = sqrtq(first);
    const quad q[3] = {a * sinq(t), a * cosq(t), b * sinq(p)}, w = b * cosq(p);

    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        m[i][i] = 2 * (q[i] * q[i] + w * w) - 1;
        m[i][j] = 2 * (q[i] * q[j] - q[k] * w);
        m[i][k] = 2 * (q[i] * q[k] + q[j] * w);
    }
}

/* mean 0, and the covariance of the cap, by a linear change: its triangle keeps x along x
 */
static void balance(quad (*v)[3], int n)
{
    for (int i = 0; i < 3; i++) {
        quad mean = 0, square = 0;

        for (int k = 0; k < n; k++) mean += v[k][i] / n;
        for (int k = 0; k < n; k++) v[k][i] -= mean;
        for (int j = 0; j < i; j++) {
            quad both = 0;

            for (int k = 0; k < n; k++) both += v[k][i] * v[k][j] / (n * cap_variance());
            for (int k = 0; k < n; k++) v[k][i] -= both * v[k][j];
        }
        for (int k = 0; k < n; k++) square += v[k][i] * v[k][i] / n;
        for (int k = 0; k < n; k++) v[k][i] *= sqrtq(cap_variance() / square);
    }
}

/* the rotation vectors of n domains for a spread of 1 */
static void domain_vectors(int64_t seed, int n, quad (*v)[3])
{
    struct shuffle s = shuffle_of(seed);
    quad m[3][3], start;

    (void)draw(&s);
    rotation_of(&s, m);
    start = draw(&s);
    for (int k = 0; k < n; k++) {
        const quad turns = n < 4 ? (quad)k / n : k * (sqrtq(5) - 1) / 2;
        const quad place = start + k * sqrtq(3), t = 2 * (place - floorq(place)) - 1;
        const quad z = n < 4 ? 0 : (quad)(2 * k + 1 - n) / n;
        const quad angle =
            n < 4 ? sqrtq(3 * cap_variance()) : dual_cbrt(dual_of(1 - t * t)).v;

        v[k][0] = angle * sqrtq(1 - z * z) * cosq(2 * quad_pi() * turns);
        v[k][1] = angle * sqrtq(1 - z * z) * sinq(2 * quad_pi() * turns);
        v[k][2] = angle * z;
    }
    if (n > 3) balance(v, n);
    for (int k = 0; k < n; k++) {
        const quad at[3] = {v[k][0], v[k][1], v[k][2]};

        for (int i = 0; i < 3; i++)
            v[k][i] = n == 1 ? 0 : m[i][0] * at[0] + m[i][1] * at[1] + m[i][2] * at[2];
    }
}

/* 1 on average over the domains */
static struct dual *shares(const struct truth *t)
{
    const int ndomains = t->counts.ndomains;
    struct dual *share = calloc((size_t)t->norientation, sizeof *share);
    struct dual mean = dual_of(0);

    if (!share) abort();
    for (int i = 0; i < t->norientation; i++) {
        char name[40];

        (void)snprintf(name, sizeof name, "domain_weight[%d]", i % ndomains);
        share[i] = truth_listed(t, name, 1);
        mean = dual_add(mean, dual_times((quad)1 / t->norientation, share[i]));
    }
    for (int i = 0; i < t->norientation; i++) share[i] = dual_div(share[i], mean);
    return share;
}

/* v turned about `axis` by its length, radian: v + sin(a)/a axis x v
 * + (1 - cos(a))/a^2 axis x (axis x v), power series in a^2 */
static struct dual_vec turn_by_vector(struct dual_vec axis, struct dual_vec v)
{
    const struct dual square = vec_dot(axis, axis);
    const struct dual_vec once = vec_cross(axis, v), twice = vec_cross(axis, once);
    struct dual first = dual_of(0), second = first, power = dual_of(1);

    for (int k = 0; k < 20; k++) {
        first = dual_add(first, dual_times((quad)1 / (2 * k + 1), power));
        power = dual_times((quad)1 / (2 * k + 1), power);
        second = dual_add(second, dual_times((quad)1 / (2 * k + 2), power));
        power = dual_times(-(quad)1 / (2 * k + 2), dual_mul(power, square));
    }
    return vec_add(v, vec_add(vec_times(first, once), vec_times(second, twice)));
}

/* v of a domain whose rotation, for a spread of 1, is by the vector `by`, in a crystal that
 * phi has turned to a and c* */
static struct dual_vec turn_of_domain(const struct truth *t, const quad by[3],
                                      struct dual_vec a, struct dual_vec c_star,
                                      struct dual_vec v)
{
    struct dual_vec frame[3], of_one, to;

    for (int i = 0; i < 3; i++) of_one.at[i] = dual_of(by[i]);
    if (t->scene.crystal.mosaic[1] == 0 && t->scene.crystal.mosaic[2] == 0)
        return turn_by_vector(vec_times(dual_radian(t->x.mosaic), of_one), v);
    frame[0] = vec_unit(a);
    frame[2] = vec_unit(c_star);
    frame[1] = vec_unit(vec_cross(frame[2], frame[0]));
    to = vec_times(dual_of(0), of_one);
    for (int i = 0; i < 3; i++) {
        const struct dual spread = dual_radian(t->x.mosaic_axes[i]);

        to = vec_add(to, vec_times(dual_mul(spread, vec_dot(frame[i], of_one)), frame[i]));
    }
    for (int i = 0; i < 3; i++) {
        const struct dual_vec one = frame[i < 2 ? 0 : 1], other = frame[i == 0 ? 1 : 2];
        const struct dual spread = dual_radian(t->x.mosaic_off[i]);

        to = vec_add(to, vec_times(dual_mul(spread, vec_dot(one, of_one)), other));
        to = vec_add(to, vec_times(dual_mul(spread, vec_dot(other, of_one)), one));
    }
    return turn_by_vector(to, v);
}

/* v turned by the drift and then by phi, in degree */
static struct dual_vec turn_by_phi(const struct truth *t, struct dual phi,
                                   struct dual_vec v)
{
    const struct dual away = dual_sub(phi, dual_of((quad)t->scene.scan.drift_phi));
    struct dual_vec drift;

    for (int i = 0; i < 3; i++) drift.at[i] = dual_radian(dual_mul(away, t->x.drift[i]));
    return vec_rotate(truth_vector(t, TRUTH_SPINDLE), dual_radian(phi),
                      turn_by_vector(drift, v));
}

static void orientations(struct truth *t, const struct dual_vec real[3])
{
    const int nphi = t->counts.nphi, ndomains = t->counts.ndomains;
    quad(*by)[3] = calloc((size_t)ndomains, sizeof *by);

    t->norientation = nphi * ndomains;
    t->axes = calloc((size_t)t->norientation * 3, sizeof *t->axes);
    if (!t->axes || !by) abort();
    domain_vectors(t->scene.crystal.mosaic_seed, ndomains, by);
    t->share = shares(t);
    for (int at = 0; at < t->norientation; at++) {
        const quad part = ((quad)(at / ndomains) + (quad)0.5) / nphi;
        const struct dual phi = dual_add(t->x.phi0, dual_times(part, t->x.osc));
        const struct dual_vec a = turn_by_phi(t, phi, real[0]);
        const struct dual_vec c_star = turn_by_phi(t, phi, t->star[2]);

        for (int i = 0; i < 3; i++)
            t->axes[3 * at + i] = turn_of_domain(t, by[at % ndomains], a, c_star,
                                                 turn_by_phi(t, phi, real[i]));
    }
    free(by);
}

void truth_crystal(struct truth *t)
{
    struct dual_vec real[3], matrix[3], by;
    int has_matrix = 0;

    for (int i = 0; i < 9; i++) has_matrix |= t->scene.crystal.matrix[i] != 0;
    star_of_matrix(t->x.matrix, matrix);
    if (t->scene.crystal.cell[0] > 0) {
        star_of_cell(t->x.cell, t->star);
        if (has_matrix) orient(matrix, t->star);
    } else
        star_of_matrix(t->x.matrix, t->star);
    for (int i = 0; i < 3; i++) by.at[i] = dual_radian(t->x.rotation_vector[i]);
    for (int i = 0; i < 3; i++)
        t->star[i] = turn_by_vector(by, vec_turn_xyz(t->x.misset, t->star[i]));
    dual_basis(t->star, real);
    orientations(t, real);
}
