/*
 * test_forms.c - the closed form of a reflection against quadrature over the rotations of
 * its blocks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "kernels/continuous/block_mean.h"
#include "kernels/continuous_oracle.h"
#include "support/tap.h"
#include "support/worst.h"

enum { SIDE = 9 };

static const double degree = 3.14159265358979323846 / 180;

/* Variances of a block and of the rotations along three axes, over the middle and the
 * largest one. */
static const double ball[3] = {1, 1.6, 0.6}, plate[3] = {1, 4, 0.25};
static const double even[3] = {1, 1, 1}, aniso[3] = {1, 0.25, 0.09},
                    needle[3] = {1, 0.06, 0.06}, one_axis[3] = {1, 0, 0},
                    two_axes[3] = {1, 0.36, 0}, thin[3] = {1, 0.36, 1e-6};

/* A reflection of spacing d, A, of blocks of an edge in A with a spread in degree; `off`
 * spreads and widths beside the Bragg condition. */
struct subject {
    double spread, edge, d, off;
    const double *block, *axes;
    unsigned seed;
};

static void cross(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void unit(double *a)
{
    const double length = sqrt(dot(a, a));

    for (int i = 0; i < 3; i++) a[i] /= length;
}

/* Writes three orthogonal unit vectors. */
static void random_axes(unsigned *seed, double (*axis)[3])
{
    for (int i = 0; i < 6; i++) axis[i / 3][i % 3] = oracle_uniform(seed);
    unit(axis[0]);
    cross(axis[0], axis[1], axis[2]);
    unit(axis[2]);
    cross(axis[2], axis[0], axis[1]);
}

/* Writes the sum of variance[i] axis[i] axis[i]^T. */
static void covariance(double scale, const double *variance, double (*axis)[3], double *out)
{
    for (int i = 0; i < 6; i++) {
        const int a = i < 3 ? i : i == 5, b = i < 3 ? i : i == 3 ? 1 : 2;

        out[i] = 0;
        for (int k = 0; k < 3; k++) out[i] += scale * variance[k] * axis[k][a] * axis[k][b];
    }
}

/* What a reflection is made from, and light of 1 A that meets it. */
struct reflection {
    struct form_of of;
    double in[3], out[3], across[2][3]; /* wave vectors, and the tangents of the sphere */
    double half; /* of the spot */
};

static void make_reflection(const struct subject *s, struct reflection *r)
{
    const double spread = s->spread * degree, q = 1 / s->d;
    const double width2 = 0.63 / 4 / (s->edge * s->edge);
    const double turn = s->off * (spread + sqrt(width2) / q);
    unsigned seed = s->seed;
    double frame[3][3], axis[3][3];

    memset(r, 0, sizeof *r);
    random_axes(&seed, axis);
    covariance(width2, s->block, axis, r->of.block);
    random_axes(&seed, axis);
    covariance(spread * spread, s->axes, axis, r->of.spread);
    /* q0 on the sphere, in the plane of frame[1] and frame[2]; then the light turns */
    random_axes(&seed, frame);
    for (int i = 0; i < 3; i++) {
        const double rise = sqrt(1 - q * q / 4), y = frame[1][i], z = frame[2][i];
        const double across = rise * cos(turn) + q / 2 * sin(turn);
        const double along = rise * sin(turn) - q / 2 * cos(turn);

        r->of.q0[i] = q * z;
        r->in[i] = across * y + along * z;
        r->out[i] = r->in[i] + q * (cos(turn) * z - sin(turn) * y);
        r->across[0][i] = frame[0][i];
    }
    cross(r->out, frame[0], r->across[1]);
    r->half = 3 * (spread * q + 2 * sqrt(width2));
}

/* Compares a spot on the sphere; `sum` gets the sums of both. */
static void compare(const struct reflection *r, struct worst *w, double *sum)
{
    double truth[SIDE * SIDE], found[SIDE * SIDE], peak = 0;
    struct form form;

    form_make(&r->of, &form);
    sum[0] = sum[1] = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double a = r->half * (2.0 * (i % SIDE) / (SIDE - 1) - 1);
        const double b = r->half * (2.0 * (i / SIDE) / (SIDE - 1) - 1);
        double p[3];

        for (int j = 0; j < 3; j++)
            p[j] = r->out[j] + a * r->across[0][j] + b * r->across[1][j];
        unit(p);
        for (int j = 0; j < 3; j++) p[j] -= r->in[j] + r->of.q0[j];
        truth[i] = block_mean(&r->of, p, 0.6);
        found[i] = exp(form_at(&form, form_load(p)).log);
        peak = fmax(peak, truth[i]);
        sum[0] += truth[i], sum[1] += found[i];
    }
    worst_add_all(w, found, truth, SIDE * SIDE, peak);
}

static int check_all(const struct subject *subjects, size_t n, double allowed,
                     const char *name)
{
    for (size_t i = 0; i < n; i++) {
        const struct subject *s = subjects + i;
        struct worst w = {0}, sums = {0};
        struct reflection r;
        double sum[2];

        make_reflection(s, &r);
        compare(&r, &w, sum);
        worst_add(&sums, sum[1], sum[0], sum[0]);
        worst_check(&w, allowed, "%s: spread %g degree, %g A, d %g A, %g off", name,
                    s->spread, s->edge, s->d, s->off);
        worst_check(&sums, allowed, "and the sum of the spot");
    }
    return TAP_PASS;
}

static int isotropic(void)
{
    static const struct subject subjects[] =
        {{0.02, 500, 2, 0.5, ball, even, 1},   {0.2, 500, 2, 0.5, ball, even, 2},
         {0.5, 500, 2, 0.5, ball, even, 3},    {0.2, 1000, 1.2, 0.5, ball, even, 4},
         {0.3, 300, 3, 0.5, ball, even, 5},    {0.15, 300, 1.5, 1.5, ball, even, 6},
         {1, 300, 1, 0.5, ball, even, 7},      {1, 300, 1, 1.5, ball, even, 8},
         {1, 300, 3, 1.5, ball, even, 9},      {1, 1000, 2, 2.5, ball, even, 10},
         {0.05, 300, 3, 1.5, ball, even, 11},  {0.5, 300, 8, 1.5, ball, even, 12},
         {1, 300, 20, 0.5, ball, even, 13},    {0.3, 300, 30, 0.5, ball, even, 14},
         {0.001, 300, 1, 0.5, ball, even, 15}, {0.3, 2000, 2, 1, ball, even, 16}};

    return check_all(subjects, sizeof subjects / sizeof *subjects, 1e-4, "isotropic");
}

/* Where it is worst: the spread is as wide as a block is seen from 0. */
static int broad_at_low_q(void)
{
    static const struct subject subjects[] = {{1, 300, 8, 0.5, ball, even, 1529},
                                              {1, 300, 14, 0.5, ball, even, 1533},
                                              {1, 500, 30, 0.5, ball, even, 1573}};

    return check_all(subjects, sizeof subjects / sizeof *subjects, 1e-4, "broad");
}

static int plates(void)
{
    static const struct subject subjects[] = {{0.5, 600, 3, 1, plate, even, 17},
                                              {1, 600, 1, 0.5, plate, even, 18},
                                              {0.3, 2000, 1, 1, plate, even, 19},
                                              {0.05, 600, 30, 0.5, plate, even, 20}};

    return check_all(subjects, sizeof subjects / sizeof *subjects, 5e-5, "plate");
}

static int anisotropic(void)
{
    static const struct subject subjects[] = {{0.2, 500, 2, 1.5, ball, aniso, 21},
                                              {0.5, 500, 1.5, 2.5, ball, aniso, 22},
                                              {1, 300, 1, 1.5, ball, aniso, 23},
                                              {1, 300, 3, 0.5, ball, aniso, 24},
                                              {0.1, 300, 3, 2.5, ball, aniso, 25},
                                              {0.3, 600, 2, 1, plate, aniso, 26},
                                              {1, 300, 1, 1.5, ball, needle, 27},
                                              {0.3, 400, 1.5, 1.5, ball, needle, 28}};

    return check_all(subjects, sizeof subjects / sizeof *subjects, 3e-4, "11 : 1");
}

static int about_one_axis(void)
{
    static const struct subject subjects[] = {{0.1, 500, 2, 0.5, ball, one_axis, 29},
                                              {0.3, 300, 1.5, 0.5, ball, one_axis, 30},
                                              {1, 300, 3, 1, ball, one_axis, 31}};

    return check_all(subjects, sizeof subjects / sizeof *subjects, 3e-4, "one axis");
}

/* Spreads about two axes and none about a third, or next to none. */
static int about_two_axes(void)
{
    static const struct subject subjects[] = {{0.1, 500, 2, 0.5, ball, two_axes, 35},
                                              {0.5, 800, 1.5, 0.3, ball, two_axes, 36},
                                              {1, 300, 1, 1, ball, two_axes, 37},
                                              {1, 300, 3, 1, plate, two_axes, 38},
                                              {0.5, 800, 2, 0.3, ball, thin, 39},
                                              {1, 300, 1, 1, ball, thin, 40}};

    return check_all(subjects, sizeof subjects / sizeof *subjects, 3e-4, "two axes");
}

/* The reflection at 0 has no direction: its places go around 0. */
static int at_zero(void)
{
    static const double spreads[] = {0.05, 0.3, 1};

    for (int i = 0; i < 3; i++) {
        const struct subject s = {spreads[i], 300, 1, 0, i == 1 ? plate : ball, even, 32};
        struct worst w = {0};
        struct reflection r;
        struct form form;

        make_reflection(&s, &r);
        memset(r.of.q0, 0, sizeof r.of.q0);
        form_make(&r.of, &form);
        for (int j = 0; j < 40; j++) {
            unsigned seed = 100 + (unsigned)j;
            double d[3];

            for (int k = 0; k < 3; k++) d[k] = j == 0 ? 0 : 4e-3 * oracle_uniform(&seed);
            worst_add(&w, exp(form_at(&form, form_load(d)).log), block_mean(&r.of, d, 0.6),
                      1);
        }
        worst_check(&w, 5e-5, "reflection 000, spread %g degree", spreads[i]);
    }
    return TAP_PASS;
}

/* Without a spread the form is the block's gaussian; with B it has that factor too. */
static int without_spread(void)
{
    const struct subject s = {0, 400, 2, 0, ball, even, 33};
    struct worst w = {0};
    struct reflection r;
    struct form form;
    double k[6];

    make_reflection(&s, &r);
    r.of.height = -1.3;
    r.of.b = 17;
    form_make(&r.of, &form);
    (void)form_inverse(r.of.block, k);
    for (int j = 0; j < 100; j++) {
        unsigned seed = 200 + (unsigned)j;
        double d[3], p[3];

        for (int i = 0; i < 3; i++) {
            d[i] = 3e-3 * oracle_uniform(&seed);
            p[i] = r.of.q0[i] + d[i];
        }
        worst_add(&w, form_at(&form, form_load(d)).log,
                  -1.3 - 0.5 * form_dot(form_load(d), form_times(k, form_load(d)))
                      - 0.5 * 17 * dot(p, p),
                  1);
    }
    worst_check(&w, 1e-12, "log I without a spread");
    return TAP_PASS;
}

/* The quadrature where the mean is known, and with a finer step. */
static int quadrature(void)
{
    const struct subject s = {0.5, 300, 3, 1.5, ball, aniso, 34};
    struct worst exact = {0}, finer = {0};
    struct reflection r;

    make_reflection(&s, &r);
    for (int j = 0; j < 6; j++) {
        unsigned seed = 300 + (unsigned)j;
        struct form_of round = r.of;
        double d[3];

        for (int i = 0; i < 3; i++) d[i] = 2e-3 * oracle_uniform(&seed);
        worst_add(&finer, block_mean(&r.of, d, 0.6), block_mean(&r.of, d, 0.4), 1);
        for (int i = 0; i < 6; i++) round.block[i] = i < 3 ? 1e-6 : 0;
        memset(round.q0, 0, sizeof round.q0);
        worst_add(&exact, block_mean(&round, d, 0.6), exp(-5e5 * dot(d, d)), 1);
    }
    worst_check(&finer, 1e-8, "a step of 0.6 against 0.4");
    worst_check(&exact, 1e-8, "round blocks about 0 do not see rotations");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"quadrature", quadrature},
                                            {"isotropic", isotropic},
                                            {"broad_at_low_q", broad_at_low_q},
                                            {"plates", plates},
                                            {"anisotropic", anisotropic},
                                            {"about_one_axis", about_one_axis},
                                            {"about_two_axes", about_two_axes},
                                            {"at_zero", at_zero},
                                            {"without_spread", without_spread}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
