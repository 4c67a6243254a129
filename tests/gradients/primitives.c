/*
 * primitives.c - derivatives of the one-dimensional functions of physics/lattice.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>

#include "gradients/gradients.h"
#include "physics/lattice.h"
#include "support/closed_forms.h"

/* ---- slit: one axis of a parallelepiped ---- */
static const double cells_tested[] = {1, 2, 5, 200, 4.3};

static double slit_sign(double v, double n)
{
    return phys_parity(rint(n * v));
}

static long double slit_truth(const void *n, double v)
{
    return closed_slit(v, *(const double *)n).f;
}

static long double slit_own(const void *n, double v)
{
    const struct phys_slit s = phys_slit(phys_off_zero(v), *(const double *)n);

    return slit_sign(v, *(const double *)n) * s.above / s.below;
}

static void check_slit(struct tally *tally, double v, double n)
{
    const struct phys_slit s = phys_slit(phys_off_zero(v), n);
    const double slope = slit_sign(v, n) * s.slope / s.below / s.below;
    struct ladder ladder = {slit_truth, &n, v, 1 / fmax(n, 2), 0, 0};

    tally_slope(tally, "slit against its closed form", &ladder, slope);
    ladder.limit = 0.5 - fabs(v);
    ladder.f = slit_own;
    if (ladder.limit > 0.1 * ladder.length)
        tally_slope(tally, "slit against itself", &ladder, slope);
}

/* at and about the middle of a spot */
int slit_peak(void)
{
    struct tally tally = {0};

    for (size_t i = 0; i < LENGTH(cells_tested); i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const double n = cells_tested[i];

            check_slit(&tally, 0, n);
            for (double v = 1e-20; v < 0.06; v *= 10) check_slit(&tally, sign * v, n);
            for (double v = 0.01; v < 0.5; v += 0.07) check_slit(&tally, sign * v / n, n);
        }
    return tally_finish(&tally);
}

/* zeros of the numerator, and close to them */
int slit_zeros(void)
{
    static const double beside[] = {0, 1e-15, 1e-13, 1e-9, 1e-5, 1e-3};
    struct tally tally = {0};

    for (size_t i = 0; i < LENGTH(cells_tested); i++)
        for (int m = -100; m <= 100; m += m < -3 || m > 2 ? 7 : 1)
            for (size_t k = 0; k < LENGTH(beside); k++) {
                const double n = cells_tested[i], v = m / n + beside[k];

                if (m != 0 && fabs(v) <= 0.5) check_slit(&tally, v, n);
            }
    return tally_finish(&tally);
}

/* everything between the spots, up to half an index away */
int slit_between(void)
{
    struct tally tally = {0};
    uint64_t state = 1;

    for (size_t i = 0; i < LENGTH(cells_tested); i++) {
        for (int k = 0; k < 200; k++)
            check_slit(&tally, random_number(&state) - 0.5, cells_tested[i]);
        check_slit(&tally, 0.5, cells_tested[i]);
        check_slit(&tally, 0.5 - 1e-13, cells_tested[i]);
        check_slit(&tally, -0.5 + 1e-9, cells_tested[i]);
    }
    return tally_finish(&tally);
}

/* ---- sphere and profiles ---- */
static long double sphere_truth(const void *unused, double u)
{
    (void)unused;
    return closed_sphere(u).f;
}

static long double sphere_own(const void *unused, double u)
{
    (void)unused;
    return phys_sphere(u).f;
}

static void check_sphere(struct tally *tally, double u)
{
    /* one oscillation is 2 in sqrt(u) */
    struct ladder ladder = {sphere_truth, NULL, u, 0.3 * fmax(0.3, sqrt(u)), 0, 0};
    const double slope = phys_sphere(u).df;

    tally_slope(tally, "sphere against its closed form", &ladder, slope);
    ladder.limit = u;
    ladder.f = sphere_own;
    if (u > 0.1 * ladder.length)
        tally_slope(tally, "sphere against itself", &ladder, slope);
}

/* where the closed form is 0/0 */
int sphere_series(void)
{
    struct tally tally = {0};

    check_sphere(&tally, 0);
    for (double u = 1e-30; u < 0.1; u *= 10) check_sphere(&tally, u);
    for (double u = 0; u < 0.1; u += 0.003) check_sphere(&tally, u);
    return tally_finish(&tally);
}

/* about u = 1/pi^2, where the series hands over to the closed form */
int sphere_switch(void)
{
    const double u = 1 / (PHYS_PI * PHYS_PI);
    struct tally tally = {0};

    for (int i = -40; i <= 40; i++) check_sphere(&tally, u * (1 + i * DBL_EPSILON));
    for (double off = 1e-14; off < 0.5; off *= 10) {
        check_sphere(&tally, u * (1 - off));
        check_sphere(&tally, u * (1 + off));
    }
    return tally_finish(&tally);
}

int sphere_far(void)
{
    struct tally tally = {0};

    for (double u = 0.2; u < 1e4; u *= 1.3) check_sphere(&tally, u);
    return tally_finish(&tally);
}

struct profile {
    int shape;
    double fudge;
};

static long double profile_truth(const void *context, double rho2)
{
    const struct profile *p = context;

    if (p->shape == PHYS_ROUND)
        return 0.723601254558268L * closed_sphere((long double)p->fudge * rho2).f;
    return expl(-(long double)p->fudge * rho2 / 0.63L);
}

static long double profile_own(const void *context, double rho2)
{
    const struct profile *p = context;

    return phys_profile(p->shape, p->fudge * rho2).f;
}

static int profile_of(int shape)
{
    struct tally tally = {0};
    struct profile p = {shape, 0};

    for (p.fudge = 0.3; p.fudge < 4; p.fudge *= 1.7)
        /* a gauss is 0 from fudge rho^2 = 223 on: there its square would be no number */
        for (double rho2 = 0; p.fudge * rho2 < 200 && rho2 < 120; rho2 += 0.01 + rho2 / 3) {
            const double length = shape == PHYS_ROUND
                                      ? 0.3 * fmax(0.3, sqrt(p.fudge * rho2)) / p.fudge
                                      : 0.3 / p.fudge;
            struct ladder ladder = {profile_truth, &p, rho2, length, 0, 0};
            const double slope = p.fudge * phys_profile(shape, p.fudge * rho2).df;

            tally_slope(&tally, "profile against its closed form", &ladder, slope);
            ladder.limit = rho2;
            ladder.f = profile_own;
            if (rho2 > 0.1 * length)
                tally_slope(&tally, "profile against itself", &ladder, slope);
        }
    return tally_finish(&tally);
}

int profile_round(void)
{
    return profile_of(PHYS_ROUND);
}

int profile_gauss(void)
{
    return profile_of(PHYS_GAUSS);
}

/* a tophat has no slope, on either side of its edge */
int profile_tophat(void)
{
    int inside = 0, outside = 0, sloping = 0;

    for (double rho2 = 0; rho2 < 2; rho2 += 0.01) {
        const struct phys_dual p = phys_profile(PHYS_TOPHAT, 0.7 * rho2);

        inside += p.f == 1 && 0.7 * rho2 < 0.63 * 0.63;
        outside += p.f == 0 && 0.7 * rho2 > 0.63 * 0.63;
        sloping += p.df != 0;
    }
    tap_check(inside + outside == 200 && inside > 10 && outside > 10,
              "%d values inside, %d outside, of 200", inside, outside);
    tap_check(sloping == 0, "%d slopes are not 0", sloping);
    return TAP_PASS;
}
