/*
 * variances.c - reads weights of a loss as variances, and computes the moments of its
 * slopes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "base/array.h"
#include "base/context.h"
#include "image/target.h"
#include "nanobrag_fit/fit.h"

/* ---- kinds of losses ---- */

int errors_can_read(const nb_array *image)
{
    return image && image->device == NB_DEVICE_CPU && image->data
           && (image->ndim == 2 || (image->ndim == 3 && array_is_stack(image)))
           && image->type == NB_TYPE_FLOAT && (image->bits == 32 || image->bits == 64);
}

int errors_has_variances(const nb_target *target)
{
    const nb_array *w = target->weight;

    if (!errors_can_read(w)) return w != NULL;
    for (int64_t s = 0; s < array_extent(w, 0); s++)
        for (int64_t f = 0; f < array_extent(w, 1); f++) {
            const double weight = array_get(w, s, f);

            if (weight != 0 && weight != 1) return 1;
        }
    return 0;
}

nb_status errors_check_weights(nb_context *ctx, const nb_target *target)
{
    const nb_array *w = target->weight;
    int counts = 0;

    if (!w || w->device != NB_DEVICE_CPU) return NB_OK;
    if (!errors_can_read(w))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "the weight of a fit has no data, or is no image of floats");
    for (int64_t s = 0; s < array_extent(w, 0); s++)
        for (int64_t f = 0; f < array_extent(w, 1); f++) {
            const double weight = array_get(w, s, f);

            if (!(weight >= 0 && weight < INFINITY))
                return fail(ctx, NB_ERR_ARGUMENT,
                            "weight[%lld][%lld] is %g, expected a number of at least 0",
                            (long long)s, (long long)f, weight);
            counts |= weight > 0;
        }
    if (counts) return NB_OK;
    return fail(ctx, NB_ERR_ARGUMENT, "no pixel counts: every weight is 0");
}

int errors_need_variance(const nb_target *target)
{
    if (target->kind == NB_LOSS_GAUSS) return !errors_has_variances(target);
    return target->kind == NB_LOSS_HUBER || target->kind == NB_LOSS_CAUCHY;
}

double errors_variance(const nb_target *target, int has_variances, double photons,
                       double weight)
{
    if (has_variances) return 1 / weight;
    return photons + target->sigma_readout * target->sigma_readout;
}

/* ---- a pixel ---- */

double errors_slope(const struct phys_loss_model *model, double off)
{
    const double delta = model->delta;

    if (model->kind == PHYS_LOSS_GAUSSIAN) return off;
    if (model->kind == PHYS_LOSS_HUBER) return fmin(fmax(off, -delta), delta);
    return off / (1 + off / delta * (off / delta));
}

/* Step of the trapezoidal rule over t = (y - I)/sigma, which is normally distributed. Each
 * point stands for t and -t. */
static const double step = 0.1;

void errors_density(double density[ERRORS_POINTS])
{
    static const double per_root = 0.39894228040143267794; /* 1/sqrt(2 pi) */

    for (int i = 0; i < ERRORS_POINTS; i++)
        density[i] = 2 * step * per_root * exp(-pow((i + 1) * step, 2) / 2);
}

/* L'' itself is not needed: <L''> = <L' (I - y)>/variance (Stein, Ann. Statist. 9, 1981,
 * 1135). */
struct fit_moments errors_moments(const struct phys_loss_model *model, double photons,
                                  double variance, const double density[ERRORS_POINTS])
{
    const double sigma = sqrt(variance);
    struct fit_moments sum = {0, 0, 0};

    if (!(variance > 0)) return sum;
    if (model->kind == PHYS_LOSS_GAUSSIAN)
        return (struct fit_moments){variance, 1, 3 * variance * variance};
    if (model->kind == PHYS_LOSS_POISSON || model->kind == PHYS_LOSS_POISSON_READOUT) {
        sum.second = phys_loss(*model, photons, photons, 1).curvature;
        sum.square = sum.second;
        return sum;
    }
    for (int i = 0; i < ERRORS_POINTS; i++) {
        const double off = (i + 1) * step * sigma, l = errors_slope(model, off);

        sum.square += density[i] * l * l;
        sum.second += density[i] * l * off / variance;
        sum.fourth += density[i] * l * l * l * l;
    }
    return sum;
}

/* ---- an image ---- */

void errors_weigh(const nb_target *t, int wants, const nb_array *image)
{
    const struct phys_loss_model model = target_model(t);
    const int has_variances = errors_has_variances(t);
    double density[ERRORS_POINTS];

    errors_density(density);
    for (int64_t s = 0; s < array_extent(image, 0); s++)
        for (int64_t f = 0; f < array_extent(image, 1); f++) {
            const double photons = array_get(image, s, f);
            const double weight = t->weight ? array_get(t->weight, s, f) : 1;
            struct fit_moments d = {0, 0, 0};

            /* a saturated pixel does not depend on further photons */
            if (weight > 0 && photons < model.saturation)
                d = errors_moments(&model, photons,
                                   errors_variance(t, has_variances, photons, weight),
                                   density);
            if (wants == FIT_WEIGH) d.second *= fmax(photons, 0);
            array_set(image, s, f,
                      wants == FIT_MEAT ? weight * weight * d.square : weight * d.second);
        }
}
