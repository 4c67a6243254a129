/* dual.c - see dual.h. SPDX-License-Identifier: MIT */
#include "oracle/dual.h"

static int carried;

void dual_carry(int n)
{
    carried = n;
}

quad quad_pi(void)
{
    static quad pi;

    if (pi == 0) {
        pi = 3.14159265358979323846; /* rounded to double: sin of it is what it lacks */
        pi += sinq(pi);
    }
    return pi;
}

struct dual dual_of(quad v)
{
    struct dual out;

    out.v = v;
    for (int i = 0; i < carried; i++) out.d[i] = 0;
    return out;
}

struct dual dual_seed(quad v, int parameter)
{
    struct dual out = dual_of(v);

    if (parameter >= 0 && parameter < carried) out.d[parameter] = 1;
    return out;
}

struct dual dual_chain(quad f, quad slope, struct dual x)
{
    x.v = f;
    for (int i = 0; i < carried; i++)
        if (x.d[i] != 0) x.d[i] *= slope;
    return x;
}

struct dual dual_chain2(quad f, quad slope_x, struct dual x, quad slope_y, struct dual y)
{
    x.v = f;
    for (int i = 0; i < carried; i++) {
        if (x.d[i] != 0) x.d[i] *= slope_x;
        if (y.d[i] != 0) x.d[i] += slope_y * y.d[i];
    }
    return x;
}

struct dual dual_add(struct dual a, struct dual b)
{
    return dual_chain2(a.v + b.v, 1, a, 1, b);
}

struct dual dual_sub(struct dual a, struct dual b)
{
    return dual_chain2(a.v - b.v, 1, a, -1, b);
}

struct dual dual_mul(struct dual a, struct dual b)
{
    return dual_chain2(a.v * b.v, b.v, a, a.v, b);
}

struct dual dual_div(struct dual a, struct dual b)
{
    const quad ratio = a.v / b.v;

    return dual_chain2(ratio, 1 / b.v, a, -ratio / b.v, b);
}

struct dual dual_times(quad a, struct dual b)
{
    return dual_chain(a * b.v, a, b);
}

struct dual dual_square(struct dual a)
{
    return dual_chain(a.v * a.v, 2 * a.v, a);
}

struct dual dual_abs(struct dual a)
{
    return a.v < 0 ? dual_times(-1, a) : a;
}

struct dual dual_sqrt(struct dual x)
{
    const quad root = sqrtq(x.v);

    return dual_chain(root, 1 / (2 * root), x);
}

/* of a positive number, by Newton's iteration from the double */
struct dual dual_cbrt(struct dual x)
{
    quad root = x.v > 1 ? x.v : 1;

    for (int i = 0; i < 300; i++) root -= (root - x.v / (root * root)) / 3;
    return dual_chain(root, 1 / (3 * root * root), x);
}

struct dual dual_exp(struct dual x)
{
    const quad e = expq(x.v);

    return dual_chain(e, e, x);
}

struct dual dual_sin(struct dual x)
{
    return dual_chain(sinq(x.v), cosq(x.v), x);
}

struct dual dual_cos(struct dual x)
{
    return dual_chain(cosq(x.v), -sinq(x.v), x);
}

struct dual dual_radian(struct dual degree)
{
    return dual_times(quad_pi() / 180, degree);
}

struct dual_vec vec_of(const double v[3])
{
    struct dual_vec out;

    for (int i = 0; i < 3; i++) out.at[i] = dual_of(v[i]);
    return out;
}

struct dual_vec vec_add(struct dual_vec a, struct dual_vec b)
{
    for (int i = 0; i < 3; i++) a.at[i] = dual_add(a.at[i], b.at[i]);
    return a;
}

struct dual_vec vec_sub(struct dual_vec a, struct dual_vec b)
{
    for (int i = 0; i < 3; i++) a.at[i] = dual_sub(a.at[i], b.at[i]);
    return a;
}

struct dual_vec vec_times(struct dual a, struct dual_vec b)
{
    for (int i = 0; i < 3; i++) b.at[i] = dual_mul(a, b.at[i]);
    return b;
}

struct dual_vec vec_cross(struct dual_vec a, struct dual_vec b)
{
    struct dual_vec out;

    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        out.at[i] = dual_sub(dual_mul(a.at[j], b.at[k]), dual_mul(a.at[k], b.at[j]));
    }
    return out;
}

struct dual vec_dot(struct dual_vec a, struct dual_vec b)
{
    struct dual sum = dual_mul(a.at[0], b.at[0]);

    for (int i = 1; i < 3; i++) sum = dual_add(sum, dual_mul(a.at[i], b.at[i]));
    return sum;
}

struct dual_vec vec_unit(struct dual_vec a)
{
    return vec_times(dual_div(dual_of(1), dual_sqrt(vec_dot(a, a))), a);
}

struct dual_vec vec_rotate(struct dual_vec axis, struct dual angle, struct dual_vec v)
{
    const struct dual c = dual_cos(angle), s = dual_sin(angle);
    const struct dual along = dual_mul(vec_dot(axis, v), dual_sub(dual_of(1), c));

    return vec_add(vec_add(vec_times(c, v), vec_times(s, vec_cross(axis, v))),
                   vec_times(along, axis));
}

struct dual_vec vec_turn_xyz(const struct dual degree[3], struct dual_vec v)
{
    for (int i = 0; i < 3; i++) {
        double axis[3] = {0, 0, 0};

        axis[i] = 1;
        v = vec_rotate(vec_of(axis), dual_radian(degree[i]), v);
    }
    return v;
}
