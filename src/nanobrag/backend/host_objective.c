/*
 * backend/host_objective.c - the derivatives of an objective at each pixel, as the
 * host's kernels read them. The device has the same formulas in gpu/text/.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "backend/backend.h"
#include "base/array.h"
#include "image/target.h"

static double row_of_cotangent(const void *user, size_t first, int n, const double *photons,
                               double *bar, double *weight)
{
    const struct host_objective *of = user;
    const int64_t s = (int64_t)(first / of->nfast), f = (int64_t)(first % of->nfast);

    (void)photons;
    /* a linear objective has no curvature */
    if (weight) memset(weight, 0, (size_t)n * sizeof *weight);
    array_row(of->terms->cotangent, s, f, n, bar);
    return 0;
}

static double row_of_target(const void *user, size_t first, int n, const double *photons,
                            double *bar, double *weight)
{
    const struct host_objective *of = user;
    const nb_target *t = of->terms->target;
    const struct phys_loss_model model = target_model(t);
    const int64_t s = (int64_t)(first / of->nfast), f = (int64_t)(first % of->nfast);
    double sum = 0;

    for (int i = 0; i < n; i++) {
        const struct phys_loss loss =
            phys_loss(model, photons[i], array_get(t->observed, s, f + i),
                      t->weight ? array_get(t->weight, s, f + i) : 1);

        sum += loss.value;
        bar[i] = loss.slope;
        if (weight) weight[i] = loss.curvature;
    }
    return sum;
}

static double row_of_squares(const void *user, size_t first, int n, const double *photons,
                             double *bar, double *weight)
{
    const struct host_objective *of = user;
    const struct objective_terms *t = of->terms;
    const int64_t s = (int64_t)(first / of->nfast), f = (int64_t)(first % of->nfast);

    (void)photons;
    for (int i = 0; i < n; i++) {
        weight[i] = t->weight ? array_get(t->weight, s, f + i) : 1;
        bar[i] = t->residual ? weight[i] * array_get(t->residual, s, f + i) : 0;
    }
    return 0;
}

void objective_start(const nb_simulator *sim, const struct objective_terms *terms,
                     struct host_objective *out)
{
    memset(out, 0, sizeof *out);
    out->terms = terms;
    out->nfast = (size_t)sim->window.nfast;
    out->objective.user = out;
    out->objective.linear = terms->cotangent != NULL;
    out->objective.row = terms->cotangent ? row_of_cotangent
                         : terms->target  ? row_of_target
                                          : row_of_squares;
}

double objective_of_image(const nb_simulator *sim, const struct objective *objective,
                          double *photons)
{
    const struct window *w = &sim->window;
    double sum = 0;

    for (int s = 0; s < w->nslow; s++)
        for (int f = 0; f < w->nfast; f++) {
            const size_t at = (size_t)s * (size_t)w->nfast + (size_t)f;
            const int inside = f >= w->roi[0] && f < w->roi[1] && s >= w->roi[2]
                               && s < w->roi[3] && window_shows(w, s, f);
            double slope = 0;

            if (inside)
                sum += objective->row(objective->user, at, 1, photons + at, &slope, NULL);
            photons[at] = slope;
        }
    return sum;
}
