/*
 * backend/host_objective.c - an objective and its derivatives at each pixel, as the host's
 * kernels read them. The device has the same formulas in gpu/text/.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "image/target.h"
#include "kernels/grid.h"

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
    double observed[TILE_FAST], share[TILE_FAST], curvature[TILE_FAST], sum = 0;

    for (int i = 0; i < TILE_FAST; i++) share[i] = 1;
    for (int at = 0; at < n; at += TILE_FAST) {
        const int m = n - at < TILE_FAST ? n - at : TILE_FAST;

        array_row(t->observed, s, f + at, m, observed);
        if (t->weight) array_row(t->weight, s, f + at, m, share);
        sum += of->kernels->loss(&model, m, photons + at, observed, share, bar + at,
                                 weight ? weight + at : curvature);
    }
    return sum;
}

static void target_ahead(const void *user, size_t first, int n)
{
    const struct host_objective *of = user;
    const nb_target *t = of->terms->target;
    const int64_t s = (int64_t)(first / of->nfast), f = (int64_t)(first % of->nfast);

    array_row_ahead(t->observed, s, f, n);
    if (t->weight) array_row_ahead(t->weight, s, f, n);
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

static double row_of_planes(const void *user, size_t first, int n, const double *photons,
                            double *bar, double *weight)
{
    const struct host_objective *of = user;

    (void)photons;
    planes_row(of->planes, (int)(first / of->nfast), (int)(first % of->nfast), n, bar,
               weight);
    return 0;
}

/* ---- planes of background ---- */

void objective_settle(const struct host_objective *of, const double *photons, int packed)
{
    const nb_target *t = of->terms->target;
    const struct plane_target loss = {photons,   packed,          t->observed,
                                      t->weight, target_model(t), of->kernels->loss};

    planes_solve(of->planes, &loss);
}

static void settle(const void *user, const double *photons)
{
    objective_settle(user, photons, 1);
}

nb_status objective_settled(const nb_simulator *sim, const struct host_objective *of,
                            double *value)
{
    const nb_target *t = of->terms->target;
    const struct plane *wrong = planes_fault(of->planes);

    *value = planes_loss(of->planes);
    if (!wrong) return NB_OK;
    if (wrong->fault == PLANE_NEGATIVE_WEIGHT)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "weight[%d][%d] is %g, expected 0 or more for a target with planes",
                    wrong->slow, wrong->fast,
                    array_get(t->weight, wrong->slow, wrong->fast));
    return fail(sim->ctx, NB_ERR_ARGUMENT,
                "observed[%d][%d] is %g, expected 0 or more for NB_LOSS_POISSON with "
                "planes",
                wrong->slow, wrong->fast, array_get(t->observed, wrong->slow, wrong->fast));
}

void objective_start(const nb_simulator *sim, const struct objective_terms *terms,
                     struct host_objective *out)
{
    memset(out, 0, sizeof *out);
    out->terms = terms;
    out->nfast = (size_t)sim->window.nfast;
    out->kernels = sim->policy.kernels.adjoint_precise;
    out->objective.user = out;
    if (terms->target && terms->target->background) out->planes = &sim->planes;
    out->objective.linear = terms->cotangent != NULL;
    out->objective.row = terms->cotangent ? row_of_cotangent
                         : out->planes    ? row_of_planes
                         : terms->target  ? row_of_target
                                          : row_of_squares;
    if (out->planes)
        out->objective.settle = settle;
    else if (terms->target)
        out->objective.ahead = target_ahead;
}

/* Replaces the photons of row s by dL/dphotons. Returns the row's contribution to L. */
static double objective_of_row(const struct window *w, const struct objective *objective,
                               int s, double *photons)
{
    const size_t start = (size_t)s * (size_t)w->nfast;
    double bar[TILE_FAST], sum = 0;
    int f = w->roi[0];

    memset(photons, 0, sizeof *photons * (size_t)w->roi[0]);
    while (f < w->roi[1]) {
        const int end = f + TILE_FAST < w->roi[1] ? f + TILE_FAST : w->roi[1];
        int n = 0;

        while (f + n < end && window_shows(w, s, f + n)) n++;
        if (n == 0) {
            photons[f++] = 0;
            continue;
        }
        sum +=
            objective->row(objective->user, start + (size_t)f, n, photons + f, bar, NULL);
        memcpy(photons + f, bar, sizeof *bar * (size_t)n);
        f += n;
    }
    memset(photons + f, 0, sizeof *photons * (size_t)(w->nfast - f));
    return sum;
}

/* Rows or tiles are summed in CHUNKS chunks, and the chunks in order, so that any number of
 * threads gives the same bits. */
enum { CHUNKS = 64 };

double objective_of_image(const nb_simulator *sim, const struct objective *objective,
                          double *photons)
{
    const struct window *w = &sim->window;
    const size_t nfast = (size_t)w->nfast;
    double chunk[CHUNKS] = {0}, sum = 0;

#pragma omp parallel for num_threads(sim->ctx->threads)
    for (int c = 0; c < CHUNKS; c++) {
        STANDARD_FLOATS;
        const int end = (int)((int64_t)w->nslow * (c + 1) / CHUNKS);

        for (int s = (int)((int64_t)w->nslow * c / CHUNKS); s < end; s++)
            if (s >= w->roi[2] && s < w->roi[3])
                chunk[c] += objective_of_row(w, objective, s, photons + (size_t)s * nfast);
            else
                memset(photons + (size_t)s * nfast, 0, sizeof *photons * nfast);
    }
    for (int c = 0; c < CHUNKS; c++) sum += chunk[c];
    return sum;
}

double objective_of_tiles(const nb_simulator *sim, const struct objective *objective,
                          const struct job *job)
{
    const int count = grid_count(job);
    double chunk[CHUNKS] = {0}, sum = 0;

#pragma omp parallel for num_threads(sim->ctx->threads)
    for (int c = 0; c < CHUNKS; c++) {
        STANDARD_FLOATS;
        const int end = (int)((int64_t)count * (c + 1) / CHUNKS);

        for (int t = (int)((int64_t)count * c / CHUNKS); t < end; t++) {
            const struct tile tile = grid_tile(job, t);
            const struct job panel = job_of_panel(job, tile.panel);
            double photons[TILE_PIXELS], bar[TILE_PIXELS];

            if (t + 1 < end) {
                const struct tile next = grid_tile(job, t + 1);

                objective_ahead(objective, job, &next);
            }
            grid_read(&panel, &tile, photons);
            chunk[c] += objective_tile(objective, &panel, &tile, photons, bar, NULL);
        }
    }
    for (int c = 0; c < CHUNKS; c++) sum += chunk[c];
    return sum;
}
