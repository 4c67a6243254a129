/*
 * dual.h - numbers that carry their derivatives, and vectors of them, in 128-bit floating
 * point. A calculation written with them gives its value and its change with each of up to
 * DUAL_MOST parameters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ORACLE_DUAL_H
#define NB_TESTS_ORACLE_DUAL_H

__extension__ typedef __float128 quad;

/* of libquadmath, whose header not every compiler finds */
quad sinq(quad x);
quad cosq(quad x);
quad expq(quad x);
quad sqrtq(quad x);
quad floorq(quad x);
quad ceilq(quad x);
quad fabsq(quad x);
quad fmaxq(quad x, quad y);

enum { DUAL_MOST = 96 };

struct dual {
    quad v;
    quad d[DUAL_MOST];
};

struct dual_vec {
    struct dual at[3];
};

/* How many derivatives are carried, 0 to DUAL_MOST; set before any other call. */
void dual_carry(int n);

quad quad_pi(void);

struct dual dual_of(quad v);
struct dual dual_seed(quad v, int parameter);
struct dual dual_add(struct dual a, struct dual b);
struct dual dual_sub(struct dual a, struct dual b);
struct dual dual_mul(struct dual a, struct dual b);
struct dual dual_div(struct dual a, struct dual b);
struct dual dual_times(quad a, struct dual b);
struct dual dual_square(struct dual a);
struct dual dual_abs(struct dual a);

/* a function of x, or of x and y, from its value and its slopes */
struct dual dual_chain(quad f, quad slope, struct dual x);
struct dual dual_chain2(quad f, quad slope_x, struct dual x, quad slope_y, struct dual y);

struct dual dual_sqrt(struct dual x);
struct dual dual_cbrt(struct dual x);
struct dual dual_exp(struct dual x);
struct dual dual_sin(struct dual x);
struct dual dual_cos(struct dual x);
struct dual dual_radian(struct dual degree);

struct dual_vec vec_of(const double v[3]);
struct dual_vec vec_add(struct dual_vec a, struct dual_vec b);
struct dual_vec vec_sub(struct dual_vec a, struct dual_vec b);
struct dual_vec vec_times(struct dual a, struct dual_vec b);
struct dual_vec vec_cross(struct dual_vec a, struct dual_vec b);
struct dual_vec vec_unit(struct dual_vec a);
struct dual vec_dot(struct dual_vec a, struct dual_vec b);

/* v turned by an angle (radian) about an axis of length 1 */
struct dual_vec vec_rotate(struct dual_vec axis, struct dual angle, struct dual_vec v);

/* v turned about lab x, then y, then z; degree */
struct dual_vec vec_turn_xyz(const struct dual degree[3], struct dual_vec v);

#endif
