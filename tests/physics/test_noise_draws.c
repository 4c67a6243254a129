/*
 * test_noise_draws.c - the parts of random draws that have to be the same on every machine:
 * exp, log and cos, compared with those of long double, and sums of photons.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>

#include "image/digitize.h"
#include "physics/noise/philox.h"
#include "physics/noise/precise.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- exp, log and cos ---- */

#if LDBL_MANT_DIG > DBL_MANT_DIG
/* how far from the truth, in units of the last place of the double that lies there */
static void add_ulps(struct worst *worst, double got, long double truth)
{
    const double at = fabs((double)truth);

    worst_add(worst, (double)((long double)got - truth), 0, nextafter(at, INFINITY) - at);
}

static double uniform_of(int i, int which)
{
    const struct philox_block counter = {{(unsigned)i, (unsigned)which, 0, 0}};
    const struct philox_block block = philox(counter, 4);

    return ((double)block.word[0] + 0.5) / 4294967296.0;
}

static int precise(void)
{
    const int n = 400000;
    const long double pi = 3.141592653589793238462643383279502884L;
    struct worst worst_exp = {0}, worst_log = {0}, worst_near = {0}, worst_cos = {0};

    for (int i = 0; i < n; i++) {
        const double u = uniform_of(i, 0), v = uniform_of(i, 1);
        const double x = i % 2 ? -30 * u : 1400 * u - 700;
        const double any = ldexp(1 + u, (int)(2040 * v) - 1020);
        const double near = 1 + (u - 0.5) * pow(2, -20 * v);
        /* turns, also close to those where the cosine is 0 */
        const double rotation =
            i % 2 ? u : 0.25 + 0.5 * (i % 4 / 2) + ldexp(u - 0.5, -i % 40);
        const double exact = rint(ldexp(rotation, 53)) * 0x1p-53;
        const long double t = 2 * fabsl((long double)exact - 0.5L) - 0.5L;

        add_ulps(&worst_exp, phys_precise_exp(x), expl((long double)x));
        add_ulps(&worst_log, phys_precise_log(any), logl((long double)any));
        add_ulps(&worst_near, phys_precise_log(near), logl((long double)near));
        if (exact >= 0 && exact <= 1)
            add_ulps(&worst_cos, phys_precise_cos_turn(exact), sinl(pi * t));
    }
    worst_check(&worst_exp, 1, "exp, units in the last place");
    worst_check(&worst_log, 1, "log");
    worst_check(&worst_near, 1, "log near 1");
    worst_check(&worst_cos, 1.5, "cos");
    (void)tap_close("log 1", phys_precise_log(1), 0, 0);
    (void)tap_close("exp 0", phys_precise_exp(0), 1, 0);
    (void)tap_close("cos 0, 1/4, 1/2, 3/4, 1 turns",
                    fabs(phys_precise_cos_turn(0) - 1) + fabs(phys_precise_cos_turn(0.25))
                        + fabs(phys_precise_cos_turn(0.5) + 1)
                        + fabs(phys_precise_cos_turn(0.75))
                        + fabs(phys_precise_cos_turn(1) - 1),
                    0, 0);
    return TAP_PASS;
}
#else
static int precise(void)
{
    return tap_skip("long double is no longer than double here");
}
#endif

/* ---- sums ---- */

/* sums of photons: exact while they are whole numbers of a double, and in any order */
static int sums(void)
{
    static const struct {
        double photons;
        int n;
        double sum;
    } row[] = {
        {0, 5, 0},
        {3, 1000, 3000},
        {0x1p32, 1000, 1000 * 0x1p32},
        {0x1p52 + 1, 2, 0x1p53 + 2},
        {0x1p53 - 1, 1, 0x1p53 - 1},
        {0x1p62, 1 << 20, 0x1p82}, /* far beyond 64 bits */
        {0x1p63, 1, INFINITY},
        {INFINITY, 1, INFINITY},
    };

    for (size_t i = 0; i < COUNT(row); i++) {
        struct phys_tally tally = {0, 0, 0, 0}, total = {0, 0, 0, 0};
        double sum;

        for (int k = 0; k < row[i].n; k++) phys_tally_add(&tally, row[i].photons);
        phys_tally_join(&total, &tally);
        sum = digitize_photons(&total);
        tap_check(sum == row[i].sum, "%d times %.17g: %.17g expected %.17g", row[i].n,
                  row[i].photons, sum, row[i].sum);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"precise", precise},
        {"sums", sums},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
