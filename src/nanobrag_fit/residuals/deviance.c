/*
 * deviance.c - computes the deviance D of a pixel from its data, and the expectation and
 * variance of D. For other losses than Poisson's, D is a weighted square of the residual or
 * of the loss's slope.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "nanobrag_fit/fit.h"
#include "physics/loss.h"

/* mean and variance of the deviance of a pixel whose photons have Poisson's distribution */
struct expected {
    double mean, variance;
};

/* Above this number of photons, the series in of_many() is right to 1e-6 of the mean and
 * 2e-4 of the variance. */
static const double many = 30;
enum { COUNTS = 120 }; /* more counts than `many` plus 16 standard deviations */

static struct expected of_many(double photons)
{
    const double p = 1 / photons;

    return (struct expected){1 + p / 6 + p * p / 6 + p * p * p / 3,
                             2 + 2 * p / 3 + 4 * p * p / 3};
}

/* Returns the deviance of a pixel that counted `counts`, with digits enough for a sum. */
static double deviance(double photons, double counts)
{
    const double ratio = counts > 0 ? counts * phys_loss_log(counts / photons) : 0;

    return 2 * (photons - counts + ratio);
}

/* Returns mean and variance of a deviance, by a sum over counts or by the series. */
static struct expected of_poisson(double photons)
{
    double probability = exp(-photons), mean = 0, square = 0;

    if (photons > many) return of_many(photons);
    for (int y = 0; y < COUNTS; y++) {
        const double d = deviance(photons, y);

        mean += probability * d;
        square += probability * d * d;
        probability *= photons / (y + 1);
        if (y > photons && probability < 1e-12) break;
    }
    return (struct expected){mean, square - mean * mean};
}

/* Returns D of a loss that is no likelihood: its squared slope. With weights of 1/variance
 * it is the square over the variance; without them a pixel counts by how much it would move
 * the values. The fourth moment of Poisson counts exceeds the normal one by I. */
static struct fit_pixel of_slope(const struct fit_compared *c, double photons, double off,
                                 double w)
{
    const double v = errors_variance(c->target, c->has_variances, photons, w);
    const struct fit_moments m = errors_moments(c->model, photons, v, c->density);
    const double slope = errors_slope(c->model, off);
    const int is_counted = c->model->kind == PHYS_LOSS_GAUSSIAN && !c->has_variances;
    const double fourth = m.fourth + (is_counted ? fmax(photons, 0) : 0);

    if (!(v > 0)) return (struct fit_pixel){0, 0, 0};
    return (struct fit_pixel){w * slope * slope, w * m.square,
                              w * w * (fourth - m.square * m.square)};
}

static struct fit_pixel of_readout(const struct fit_compared *c, double photons, double off,
                                   double w)
{
    const double g = c->model->gain, sigma = c->model->sigma_readout;
    const double v = photons / g + sigma * sigma;

    if (!(v > 0)) return (struct fit_pixel){0, 0, 0};
    return (struct fit_pixel){w * off * off / v, w,
                              w * w * (2 + fmax(photons, 0) / (g * g * g * v * v))};
}

struct fit_pixel misfit_pixel(const struct fit_compared *c, double photons, double observed,
                              double w)
{
    const double off = photons - observed;
    struct fit_pixel p = {0, 0, 0};

    if (c->model->kind == PHYS_LOSS_POISSON && photons >= PHYS_FAINTEST) {
        const struct expected e = of_poisson(photons);

        p.observed = 2 * phys_loss(*c->model, photons, observed, w).value;
        p.expected = w * e.mean;
        p.variance = w * w * e.variance;
    } else if (c->model->kind == PHYS_LOSS_POISSON_READOUT)
        p = of_readout(c, photons, off, w);
    else if (c->model->kind != PHYS_LOSS_POISSON)
        p = of_slope(c, photons, off, w);
    return p;
}

static void add(struct fit_sum_weighed *to, const struct fit_pixel *p, double weight)
{
    to->observed += weight * p->observed;
    to->expected += weight * p->expected;
    to->variance += weight * weight * p->variance;
}

void misfit_add(const struct fit_compared *c, double photons, double observed, double w,
                struct fit_weighed *to)
{
    const struct fit_pixel p = misfit_pixel(c, photons, observed, w);

    add(&to->alike, &p, 1);
    add(&to->bright, &p, fmax(photons, 0));
}
