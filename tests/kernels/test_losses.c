/*
 * test_losses.c - the loss of a pixel against its differences, its logarithm against that
 * of the C library, and losses by lanes against those of one pixel after the other.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>

#include <nanobrag/nanobrag.h>

#include "image/target.h"
#include "kernels/kernels.h"
#include "support/ladder.h"
#include "support/tap.h"
#include "support/worst.h"

struct one_pixel {
    nb_target target;
    double observed, weight;
};

static long double value_at(const void *context, double photons)
{
    const struct one_pixel *p = context;

    return phys_loss(target_model(&p->target), photons, p->observed, p->weight).value;
}

static int formulas(void)
{
    static const double photons[] = {0.3, 1, 2.9, 4.1, 40, 1e4};

    for (int kind = NB_LOSS_GAUSS; kind <= NB_LOSS_CAUCHY; kind++)
        for (size_t i = 0; i < sizeof photons / sizeof *photons; i++) {
            struct one_pixel p = {{kind, NULL, NULL, 1.5, 2.5, 2.1, 0, 0}, 3, 0.7};
            const struct phys_loss loss =
                phys_loss(target_model(&p.target), photons[i], 3, 0.7);
            const struct ladder ladder = {value_at,
                                          &p,
                                          photons[i],
                                          photons[i],
                                          kind == NB_LOSS_HUBER
                                              ? fabs(fabs(photons[i] - 3) - 2.1)
                                              : 0,
                                          0};
            const struct ladder_slope found = ladder_run(&ladder);

            /* where a loss has a slope, a fit has a way to go */
            tap_check(ladder_agrees(&found, loss.slope, NULL) && loss.curvature > 0,
                      "kind %d at %g: slope %.12g, differences %.12g +- %.1e", kind,
                      photons[i], loss.slope, found.slope, found.bar);
            if (kind == NB_LOSS_HUBER || kind == NB_LOSS_CAUCHY)
                tap_close("curvature, that of reweighted squares", loss.curvature,
                          loss.slope / (photons[i] - 3), 4e-16);
        }
    return TAP_PASS;
}

/* Values in long double, which the losses have to 1e-15 of their terms; 0 where photons
 * and observed ones are equal, and infinite where photons were observed but none computed.
 * The loss of a Poisson distribution is not negative, that with read-out noise hardly. */
static int deviances(void)
{
    static const double sizes[] = {1e-3, 0.7, 3, 1e3, 1e6}, gain = 2.5;
    static const double ratios[] = {1e-3, 0.9, 1 - 1e-6, 1, 1 + 1e-6, 1.1, 1e3};
    struct worst off_by = {0};
    double least = 0, bounded = 0, equal = 0, near = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof ratios / sizeof *ratios; k++) {
            const struct phys_loss_model poisson = {PHYS_LOSS_POISSON, 0, 1, 1, INFINITY};
            const struct phys_loss_model readout = {PHYS_LOSS_POISSON_READOUT, 1.5, gain, 1,
                                                    INFINITY};
            const double y = sizes[i], photons = y * ratios[k];
            const long double off = (long double)photons - y;
            const long double v = photons / (long double)gain + 2.25L;
            const long double v_y = y / (long double)gain + 2.25L;
            const long double p = off - y * log1pl(off / y);
            const long double r = (off * off / v + logl(v / v_y)) / 2;
            const double a = phys_loss(poisson, photons, y, 1).value;
            const double b = phys_loss(readout, photons, y, 1).value;

            worst_add(&off_by, (double)(a - p), 0, photons + y);
            worst_add(&off_by, (double)(b - r), 0, (double)(off * off / v + 1));
            least = fmin(least, a / (photons + y));
            if (off != 0 && fabsl(off) < 0.5L * y)
                near = fmax(near, (double)fabsl((a - p) / off));
            bounded = fmin(bounded, b * 8 * (double)v * gain * gain);
            if (ratios[k] == 1) equal = fmax(equal, fabs(a) + fabs(b));
        }
    worst_promised(&off_by, 1e-15, "of their terms");
    tap_promised("Poisson near the observed photons, of the difference", near, 0, 1e-15);
    tap_promised("Poisson below 0", -least, 0, 1e-15);
    tap_promised("with read-out noise, of 1/(8 v gain^2)", -bounded, 0, 1.02);
    tap_promised("where photons are equal", equal, 0, 0);
    for (int y = 0; y < 2; y++) {
        const struct phys_loss_model model = {PHYS_LOSS_POISSON, 0, 1, 1, INFINITY};
        const double found = phys_loss(model, 0, y, 1).value;

        tap_check(found == (y ? INFINITY : 0), "no photons, %d observed: %g", y, found);
    }
    return TAP_PASS;
}

/* Photons from 1 down to none, where none and one were observed, by one pixel and by lanes:
 * the loss is I, of slope 1, and all that a fit makes of it is finite. */
static int faint(void)
{
    static const double photons[] = {1, 1e-9, 1e-80, 1e-250, 1e-290, 1e-310, 5e-324, 0};
    enum { N = sizeof photons / sizeof *photons };
    const struct phys_loss_model model = {PHYS_LOSS_POISSON, 0, 1, 1, INFINITY};
    const double none[N] = {0}, share[N] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct adjoint_kernels *lanes = kernels_lanes("scalar").adjoint_precise;
    double slope[N], curvature[N];

    (void)lanes->loss(&model, N, photons, none, share, slope, curvature);
    for (int i = 0; i < N; i++) {
        const double m = photons[i], terms = m * curvature[i];
        const struct phys_loss l = phys_loss(model, m, 0, 1),
                               one = phys_loss(model, m, 1, 1);
        const double want = m - 1 - log(m);

        tap_check(l.value == m && l.slope == 1 && l.curvature == curvature[i]
                      && slope[i] == 1,
                  "%g photons, none observed: loss %g, slope %g", m, l.value, l.slope);
        tap_check(curvature[i] >= 0 && curvature[i] < 1e280 && terms < 1 + 1e-15
                      && (m < 1e-260 || terms > 1 - 1e-15),
                  "%g photons: curvature %g", m, curvature[i]);
        tap_check(m < 1e-260
                      ? one.value == INFINITY && isfinite(one.slope)
                      : fabs(one.value - want) <= 1e-15 * (want + 1) && isfinite(one.slope),
                  "%g photons, one observed: loss %g, slope %g", m, one.value, one.slope);
    }
    return TAP_PASS;
}

/* The width beyond which a pull falls, and small losses, which keep their digits. */
static int cauchy(void)
{
    static const double sizes[] = {1e-9, 1e-4, 0.3, 1, 20, 1e5};
    const struct phys_loss_model model = {PHYS_LOSS_CAUCHY, 0, 1, 2.5, INFINITY};
    struct worst off_by = {0};
    double steepest = 0, at = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const double off = sizes[i];
        const long double t = (long double)off / 2.5, want = 3.125L * log1pl(t * t);
        const struct phys_loss found = phys_loss(model, off, 0, 1);

        worst_add(&off_by, (double)(found.value / want - 1), 0, 1);
        tap_check(found.curvature > 0 && found.curvature <= 1, "curvature %g",
                  found.curvature);
    }
    for (double off = 0.01; off < 100; off *= 1.01) {
        const double slope = phys_loss(model, off, 0, 1).slope;

        if (slope > steepest) steepest = slope, at = off;
    }
    worst_promised(&off_by, 2e-15, "of the loss");
    tap_check(fabs(at / 2.5 - 1) < 0.011, "steepest at %g, of width 2.5", at);
    return TAP_PASS;
}

/* A saturated pixel tells of so many photons at the least. */
static int saturated(void)
{
    for (int kind = PHYS_LOSS_GAUSSIAN; kind <= PHYS_LOSS_CAUCHY; kind++) {
        const struct phys_loss_model full = {kind, 1.5, 2.5, 2.1, 10};
        const struct phys_loss_model open = {kind, 1.5, 2.5, 2.1, INFINITY};
        int same = 0, nothing = 0, below = 0;

        for (int i = 1; i <= 20; i++) {
            const struct phys_loss a = phys_loss(full, i, 10, 0.7);
            const struct phys_loss b = phys_loss(full, i, 12, 0.7);
            const struct phys_loss c = phys_loss(open, i, 10, 0.7);
            const struct phys_loss d = phys_loss(full, i, 9.9, 0.7);
            const struct phys_loss e = phys_loss(open, i, 9.9, 0.7);

            same += i <= 10 && a.value == c.value && b.value == c.value
                    && a.slope == c.slope && b.slope == c.slope
                    && b.curvature == c.curvature;
            nothing +=
                i > 10 && a.value == 0 && b.value == 0 && b.slope == 0 && b.curvature == 0;
            below += d.value == e.value && d.slope == e.slope;
        }
        tap_check(same == 10 && nothing == 10 && below == 20,
                  "kind %d: as ever for %d numbers of photons up to saturation, nothing "
                  "for %d beyond; below saturation as ever for %d",
                  kind, same, nothing, below);
    }
    return TAP_PASS;
}

/* Units in the last place of log() of the C library, itself within one. */
static const double log_allowed = 2.5;

static int logarithm(void)
{
    struct worst off = {0};

    for (int e = -1074; e <= 1023; e++)
        for (int k = 0; k < 16; k++) {
            const double x = ldexp(1 + k / 16.0 + 1e-3, e), want = log(x);
            const double unit =
                fmax(nextafter(fabs(want), INFINITY) - fabs(want), 0x1p-53 * fabs(x - 1));

            worst_add(&off, phys_loss_log(x), want, unit);
        }
    worst_check(&off, log_allowed, "logarithms, in units");
    tap_check(phys_loss_log(0) == -INFINITY, "0 has the logarithm -infinity");
    return TAP_PASS;
}

/* Of the sum of the losses' sizes, and of each slope: contraction and the order of a sum.
 * Measured are 3e-16 and 3e-16. */
static const double lanes_allowed = 4e-15;

static void one_kind_by_lanes(const struct phys_loss_model *model, const char *isa)
{
    double photons[TILE_FAST], observed[TILE_FAST], weight[TILE_FAST];
    double slope[TILE_FAST], curvature[TILE_FAST];
    struct worst off = {0};

    for (int n = 1; n <= TILE_FAST; n++) {
        double sum = 0, size = 0, found;

        for (int i = 0; i < n; i++) {
            photons[i] = 0.01 * (i + 1) * (i + n);
            observed[i] = i % 5 == 4 ? NAN : (i * 7) % 11;
            weight[i] = i % 5 == 4 ? 0 : 0.5 + 0.1 * i;
        }
        found = kernels_lanes(isa).adjoint_precise->loss(model, n, photons, observed,
                                                         weight, slope, curvature);
        for (int i = 0; i < n; i++) {
            const struct phys_loss want =
                phys_loss(*model, photons[i], observed[i], weight[i]);
            const double most = fabs(want.slope) + weight[i];

            sum += want.value;
            size += fabs(want.value) + weight[i];
            if (most > 0) worst_add(&off, slope[i], want.slope, most);
            worst_add(&off, curvature[i], want.curvature, fabs(want.curvature) + 1e-300);
        }
        worst_add(&off, found, sum, size);
    }
    worst_check(&off, lanes_allowed, "%s kind %d", isa, model->kind);
}

static int losses_by_lanes(void)
{
    static const char *const sets[] = {"scalar", "v2", "v3", "v4", "base"};
    int run = 0;

    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        if (!kernels_lanes(sets[k]).precise) continue;
        run++;
        for (int kind = NB_LOSS_GAUSS; kind <= NB_LOSS_CAUCHY; kind++) {
            const nb_target target = {kind, NULL, NULL, 1.5, 2.5, 2.1, 8, 0};
            const struct phys_loss_model model = target_model(&target);

            one_kind_by_lanes(&model, sets[k]);
        }
    }
    tap_check(run >= 2, "%d instruction sets", run);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"formulas", formulas},
        {"deviances", deviances},
        {"faint", faint},
        {"cauchy", cauchy},
        {"saturated", saturated},
        {"logarithm", logarithm},
        {"losses_by_lanes", losses_by_lanes},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
