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

/* axis and angle per spread of a random rotation */
static quad random_rotation(struct shuffle *s, struct dual_vec *axis)
{
    const double first = draw(s), second = draw(s), third = draw(s);
    const quad r1 = 2 * (quad)first - 1, r2 = 2 * (quad)second - 1;
    const quad r3 = 2 * (quad)third - 1, flat = sqrtq(1 - r2 * r2);

    axis->at[0] = dual_of(flat * sinq(quad_pi() * r1));
    axis->at[1] = dual_of(flat * cosq(quad_pi() * r1));
    axis->at[2] = dual_of(r2);
    return dual_cbrt(dual_of(1 - r3 * r3)).v;
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

/* v of a domain whose rotation, for a spread of 1, is by `share` about `axis`, in a crystal
 * that phi has turned to a and c* */
static struct dual_vec turn_of_domain(const struct truth *t, struct dual_vec axis,
                                      quad share, struct dual_vec a, struct dual_vec c_star,
                                      struct dual_vec v)
{
    struct dual_vec frame[3], by = vec_times(dual_of(0), axis);

    if (t->scene.crystal.mosaic[1] == 0 && t->scene.crystal.mosaic[2] == 0)
        return vec_rotate(axis, dual_times(share, dual_radian(t->x.mosaic)), v);
    frame[0] = vec_unit(a);
    frame[2] = vec_unit(c_star);
    frame[1] = vec_unit(vec_cross(frame[2], frame[0]));
    for (int i = 0; i < 3; i++) {
        const struct dual spread = dual_times(share, dual_radian(t->x.mosaic_axes[i]));

        by = vec_add(by, vec_times(dual_mul(spread, vec_dot(frame[i], axis)), frame[i]));
    }
    for (int i = 0; i < 3; i++) {
        const struct dual_vec one = frame[i < 2 ? 0 : 1], other = frame[i == 0 ? 1 : 2];
        const struct dual spread = dual_times(share, dual_radian(t->x.mosaic_off[i]));

        by = vec_add(by, vec_times(dual_mul(spread, vec_dot(one, axis)), other));
        by = vec_add(by, vec_times(dual_mul(spread, vec_dot(other, axis)), one));
    }
    return turn_by_vector(by, v);
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
    struct shuffle random = shuffle_of(t->scene.crystal.mosaic_seed);

    t->norientation = nphi * ndomains;
    t->axes = calloc((size_t)t->norientation * 3, sizeof *t->axes);
    if (!t->axes) abort();
    t->share = shares(t);
    for (int domain = 0; domain < ndomains; domain++) {
        struct dual_vec axis;
        const quad share = random_rotation(&random, &axis);

        for (int step = 0; step < nphi; step++) {
            const quad at = ((quad)step + (quad)0.5) / nphi;
            const struct dual phi = dual_add(t->x.phi0, dual_times(at, t->x.osc));
            const struct dual_vec a = turn_by_phi(t, phi, real[0]);
            const struct dual_vec c_star = turn_by_phi(t, phi, t->star[2]);

            for (int i = 0; i < 3; i++) {
                struct dual_vec *to =
                    t->axes + ((size_t)step * (size_t)ndomains + (size_t)domain) * 3 + i;

                *to = turn_by_phi(t, phi, real[i]);
                if (domain > 0) *to = turn_of_domain(t, axis, share, a, c_star, *to);
            }
        }
    }
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
