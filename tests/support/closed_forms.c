/* closed_forms.c - see closed_forms.h. SPDX-License-Identifier: MIT */
#include "support/closed_forms.h"

#include <math.h>

enum { TERMS = 20 };

/* Returns zeta(2k) for k = 1 ... TERMS, the sum of n^-2k; four of them are in closed form.
 */
static const long double *zeta_even(void)
{
    static long double zeta[TERMS + 1];
    const long double pi2 = CLOSED_PI * CLOSED_PI;

    if (zeta[1] != 0) return zeta;
    for (int k = TERMS; k > 4; k--)
        for (int n = 300; n >= 1; n--) zeta[k] += powl(n, -2 * k);
    zeta[4] = pi2 * pi2 * pi2 * pi2 / 9450;
    zeta[3] = pi2 * pi2 * pi2 / 945;
    zeta[2] = pi2 * pi2 / 90;
    zeta[1] = pi2 / 6;
    return zeta;
}

long double closed_cot_rest(long double u)
{
    const long double *zeta = zeta_even();
    const long double t = sqrtl(u);
    long double sum = 0;

    if (u > 0.0625L) return (1 - CLOSED_PI * t / tanl(CLOSED_PI * t)) / u;
    for (int k = TERMS; k >= 1; k--) sum = sum * u + 2 * zeta[k];
    return sum;
}

struct closed closed_slit(long double v, long double n)
{
    const long double m = roundl(n * v), t = n * v - m;
    const long double sign = fmodl(fabsl(m), 2) == 1 ? -1 : 1;
    struct closed r = {n, 0};

    if (v == 0) return r;
    r.f = sign * sinl(CLOSED_PI * t) / sinl(CLOSED_PI * v);
    if (fabsl(n * v) < 0.25L)
        r.df = r.f * v * (closed_cot_rest(v * v) - n * n * closed_cot_rest(n * v * n * v));
    else
        r.df = CLOSED_PI * (n * sign * cosl(CLOSED_PI * t) - r.f * cosl(CLOSED_PI * v))
               / sinl(CLOSED_PI * v);
    return r;
}

struct closed closed_sphere(long double u)
{
    const long double z = CLOSED_PI * CLOSED_PI * u;
    struct closed r = {0, 0};

    if (z > 4) {
        const long double x = sqrtl(z), sinc = sinl(x) / x;

        r.f = 3 * (sinc - cosl(x)) / z;
        r.df = -1.5L * (r.f - sinc) / z;
    } else
        for (int k = 15; k >= 0; k--) { /* 3 (-1)^k (2k + 2)/(2k + 3)! z^k */
            const long double c =
                (k % 2 ? -3 : 3) * (long double)(2 * k + 2) / tgammal(2 * k + 4);

            r.df = r.df * z + r.f;
            r.f = r.f * z + c;
        }
    r.df *= CLOSED_PI * CLOSED_PI;
    return r;
}

void closed_cubic(long double t, long double weight[4])
{
    for (int i = 0; i < 4; i++) {
        weight[i] = 1;
        for (int k = 0; k < 4; k++)
            if (k != i) weight[i] *= (t - (k - 1)) / (i - k);
    }
}
