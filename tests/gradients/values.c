/*
 * values.c - the accuracy of the polynomials of physics/ and of the table look-up, compared
 * with closed forms in long double.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>

#include "gradients/gradients.h"
#include "physics/lattice.h"
#include "physics/structure_factor.h"
#include "support/closed_forms.h"

/* largest relative error of a range, and where */
struct range {
    struct worst worst;
    double at;
};

static const struct range no_range;

static void note_error(struct range *range, double at, double value, long double truth,
                       long double scale)
{
    const size_t before = range->worst.count;

    worst_add(&range->worst, (double)(value - truth), 0, (double)fabsl(scale));
    if (range->worst.at >= before) range->at = at;
}

static void check_worst(const char *name, const struct range *range, double allowed)
{
    worst_check(&range->worst, allowed, "%s, largest error (at %.6g)", name, range->at);
}

int values_sinpi(void)
{
    struct range over = no_range, sine = no_range, cosine = no_range, far = no_range;
    uint64_t state = 3;

    for (int i = 1; i <= 20000; i++) {
        const double t = i / 40000.0, x = 40 * (random_number(&state) - 0.5);
        const long double pt = CLOSED_PI * t, px = CLOSED_PI * x;
        const double u = t * t;
        const long double root = sqrtl(u);

        note_error(&over, t, phys_sinpi_over(u), sinl(CLOSED_PI * root) / root,
                   sinl(CLOSED_PI * root) / root);
        note_error(&sine, t, phys_sinpi(t), sinl(pt), sinl(pt));
        if (i < 20000) note_error(&cosine, t, phys_cospi(t), cosl(pt), cosl(pt));
        note_error(&far, x, phys_sinpi(x), sinl(px), 1);
        note_error(&far, x, phys_cospi(x), cosl(px), 1);
    }
    check_worst("sin(pi t)/t, relative", &over, 2 * DBL_EPSILON);
    check_worst("sin(pi t), relative", &sine, 5e-16);
    check_worst("cos(pi t), relative", &cosine, 5e-16);
    check_worst("sin, cos of pi x, |x| < 20, of 1", &far, 5e-16);
    tap_check(phys_sinpi(3) == 0 && phys_cospi(0.5) == 0 && phys_cospi(-2) == 1
                  && phys_cospi(7) == -1 && phys_sinpi_over(0) == PHYS_PI,
              "exact where the result is a whole number");
    return TAP_PASS;
}

int values_sinpi_slope(void)
{
    struct range worst = no_range;

    for (int i = 0; i <= 20000; i++) {
        const double u = i / 80000.0;
        const long double t = sqrtl(u);
        const long double over = u > 0 ? sinl(CLOSED_PI * t) / t : CLOSED_PI;
        const long double truth = over * closed_cot_rest(u);

        note_error(&worst, u, phys_sinpi_over_slope(u), truth, truth);
    }
    check_worst("slope of sin(pi t)/t in t^2, relative", &worst, 4e-16);
    return TAP_PASS;
}

int values_exp(void)
{
    struct range worst = no_range;

    for (int i = 0; i <= 100000; i++) {
        const double x = -350 * (i / 1e5) * (i / 1e5);

        note_error(&worst, x, phys_exp(x), expl(x), expl(x));
    }
    check_worst("exp(x), -350 <= x <= 0, relative", &worst, 4e-16);
    worst = no_range;
    for (int i = 0; i <= 100000; i++) {
        const double x = 20 * pow(i / 1e5, 8);

        note_error(&worst, x, phys_fall(x), -expm1l(-x), -expm1l(-x));
    }
    check_worst("1 - exp(-x), 0 <= x <= 20, relative", &worst, 1.5e-15);
    tap_check(phys_exp(0) == 1, "exp(0) is 1");
    tap_check(phys_exp(-355) == 0 && phys_exp(-1e300) == 0 && phys_exp(-HUGE_VAL) == 0,
              "0 below the root of the smallest normal number");
    tap_check(phys_exp(-354) * phys_exp(-354) >= DBL_MIN, "exp(-354)^2 is still normal");
    return TAP_PASS;
}

/* to the rounding of x in sin x, relative to the envelope 3/x^2, 3/(2 x^3) of the slope */
int values_sphere(void)
{
    struct range value = no_range, slope = no_range, far_value = no_range,
                 far_slope = no_range;

    for (int i = 0; i < 40000; i++) {
        const double u = 1e-5 * i * (1 + i / 400.0);
        const long double z = CLOSED_PI * CLOSED_PI * u, x = sqrtl(z);
        const struct phys_dual s = phys_sphere(u);
        const struct closed truth = closed_sphere(u);

        if (x < 3) {
            note_error(&value, u, s.f, truth.f, truth.f);
            note_error(&slope, u, s.df, truth.df, truth.df);
        } else {
            note_error(&far_value, u, s.f, truth.f, 3 / z * x / 3);
            note_error(&far_slope, u, s.df, truth.df,
                       1.5L / (z * x) * CLOSED_PI * CLOSED_PI * x / 3);
        }
    }
    check_worst("S, x < 3, relative", &value, 4e-15);
    check_worst("dS/du, x < 3, relative", &slope, 2e-14);
    check_worst("S, x > 3, of its envelope x/3 times", &far_value, 2e-15);
    check_worst("dS/du, x > 3, of its envelope x/3 times", &far_slope, 2e-15);
    tap_check(phys_sphere(0).f == 1, "S(0) is 1");
    return TAP_PASS;
}

static const double cells_tested[] = {1, 2, 3, 5, 17, 50, 200, 4.3};

static double point_between(int i)
{
    return i < 400 ? 0.5 * pow(10, -i / 30.0) : (i - 400) / 1200.0;
}

enum { POINTS = 1001 };

int values_slit(void)
{
    struct range peak = no_range, all = no_range;

    for (size_t k = 0; k < LENGTH(cells_tested); k++)
        for (int i = 0; i < POINTS; i++) {
            const double n = cells_tested[k], v = point_between(i);
            const struct phys_slit s = phys_slit(phys_off_zero(v), n);
            const long double truth = fabsl(closed_slit(v, n).f);

            note_error(&all, v, fabs(s.above / s.below), truth, n);
            if (n * v < 0.5) note_error(&peak, v, fabs(s.above / s.below), truth, truth);
        }
    check_worst("slit in its peak, relative", &peak, 1e-15);
    check_worst("slit, of its peak", &all, 1e-15);
    return TAP_PASS;
}

/* the slope of sin(pi n v)/sin(pi v): in the middle of the peak to its own size, elsewhere
 * to that of the largest slope, about n^2 */
int values_slit_slope(void)
{
    struct range peak = no_range, all = no_range;
    int flat = 0;

    for (size_t k = 0; k < LENGTH(cells_tested); k++)
        for (int i = 0; i < POINTS; i++) {
            const double n = cells_tested[k], v = point_between(i);
            const struct phys_slit s = phys_slit(phys_off_zero(v), n);
            const double slope = fabs(s.slope / s.below / s.below);
            const long double truth = fabsl(closed_slit(v, n).df);

            if (n == 1)
                flat += slope == 0;
            else if (v > 0 && CLOSED_PI * n * v < 0.2L)
                note_error(&peak, v, slope, truth, truth);
            else
                note_error(&all, v, slope, truth, n * n);
        }
    check_worst("slope of a slit in its peak, relative", &peak, 1e-15);
    check_worst("slope of a slit, of the steepest", &all, 5e-15);
    tap_check(flat == POINTS, "%d of %d slopes of a single cell are 0", flat, (int)POINTS);
    return TAP_PASS;
}

/* a cubic is its own interpolation */
static double cubic_field(double h, double k, double l)
{
    return 2 + h * h * h - 0.5 * k * k * l + 3 * h * k * l + l * l * l / 7;
}

int values_tricubic(void)
{
    enum { SIDE = 12 };
    static double f[SIDE * SIDE * SIDE + 1];
    struct phys_frame frame = {0};
    struct phys_box box;
    struct range worst = no_range;
    uint64_t state = 11;

    for (int i = 0; i < 3; i++) frame.hkl_size[i] = SIDE;
    frame.hkl_min[0] = -6, frame.hkl_min[1] = -3, frame.hkl_min[2] = 1;
    for (int h = 0; h < SIDE; h++)
        for (int k = 0; k < SIDE; k++)
            for (int l = 0; l < SIDE; l++)
                f[(h * SIDE + k) * SIDE + l] = cubic_field(h - 6, k - 3, l + 1);
    frame.f = f;
    box = phys_box(&frame);
    for (int i = 0; i < 3000; i++) {
        double at[3];
        struct phys_vec3 x;

        for (int k = 0; k < 3; k++)
            at[k] = frame.hkl_min[k] + 2 + (SIDE - 5) * random_number(&state);
        x = phys_load(at);
        note_error(&worst, at[0], phys_f_tricubic(0, &box, x, phys_vec3(0, 0, 4)).f,
                   cubic_field(at[0], at[1], at[2]), 1000);
    }
    check_worst("tricubic of a cubic, of its largest value", &worst, 2e-15);
    return TAP_PASS;
}
