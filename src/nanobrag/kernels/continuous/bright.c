/*
 * bright.c - finds the brightest reflections of a continuous crystal: their photons and the
 * middle of their spots, from the closed forms of all spots on a coarse grid of samples.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/floats.h"
#include "kernels/continuous/spots_at.h"
#include "kernels/spots/brightest.h"

/* Samples along an edge of a spot's part. Its ellipse reaches 5.3 standard deviations from
 * the middle, so the samples of a whole spot lie 0.7 apart. */
enum { EDGE = 16 };

/* Spots are followed to this share of their peak. */
static const double least_share = 1e-6;

/* A spot extends to samples above this share of the brightest sample of its part. */
static const double edge_share = 0.01;

/* Writes the samples of a spot's part, row by row: places inside its cell and its
 * ellipse. */
static void lay_grid(const struct listed_spot *spot, struct sample_row *rows)
{
    const double *cell = spot->cell, around = spot->part.xa / spot->spot.xa;
    const double wide = 0.5 * (cell[1] - cell[0]) / around;
    const double high = 0.5 * (cell[3] - cell[2]) / around;

    for (int i = 0; i < EDGE; i++) {
        const double b = high * ((2 * i + 1.0) / EDGE - 1);
        const double most = fmin(wide, sqrt(fmax(1 - b * b, 0))), da = 2 * most / EDGE;

        rows[i] = (struct sample_row){-most + 0.5 * da, da, b, EDGE, EDGE * (size_t)i};
    }
}

/* Sums the photons of a spot's part that fall onto its panel. Returns 0 if there is no
 * memory. */
static int sum_spot(const struct continuous_kernels *kernels, const struct job *job,
                    const struct continuous_work *work, const struct listed_spot *spot,
                    struct spectrum_row *row, struct bright *out)
{
    const struct phys_frame *frame = job->frame + spot->name.panel;
    const struct spot_ellipse *e = &spot->part;
    const double over = frame->oversample;
    struct sample_row rows[EDGE];
    double photons[EDGE * EDGE] = {0};
    struct profile profile;
    double peak = 0;

    if (!spot_profile(work, spot, row, &profile)) return 0;
    lay_grid(spot, rows);
    kernels->draw(&profile, 1, EDGE, rows, spot->scale, photons);
    for (int i = 0; i < EDGE * EDGE; i++) peak = fmax(peak, photons[i]);
    for (int i = 0; i < EDGE * EDGE; i++) {
        const struct sample_row *r = rows + i / EDGE;
        const double a = r->a + (i % EDGE) * r->da;
        const double fast = (e->x + e->xa * a + e->xb * r->b) / over;
        const double slow = (e->y + e->yb * r->b) / over;
        const double some = photons[i] * r->da * e->xa * (rows[1].b - rows[0].b) * e->yb;

        if (!(fast >= 0 && fast < frame->nfast && slow >= 0 && slow < frame->nslow))
            continue;
        brightest_add(out, some, fast, slow, photons[i] > edge_share * peak);
    }
    return 1;
}

static nb_status sum_spots(const struct kernel_set *kernels, const struct job *job,
                           const struct continuous_work *work, struct bright *list)
{
    const int n = (int)work->table.n, threads = job->schedule.threads;
    int good = 1;

#pragma omp parallel num_threads(threads) reduction(& : good)
    {
        struct spectrum_row row = {0};

#pragma omp for schedule(dynamic, 16)
        for (int i = 0; i < n; i++) {
            STANDARD_FLOATS;
            const struct spot_name *name = &work->table.spot[i].name;

            list[i] = brightest_none(name->h, name->k, name->l, name->panel);
            list[i].found = (size_t)i;
            if ((name->h || name->k || name->l) && work->table.spot[i].scale > 0 && good)
                good &= sum_spot(kernels->continuous_precise, job, work,
                                 work->table.spot + i, &row, list + i);
        }
        spectrum_row_free(&row);
    }
    (void)threads;
    return good ? NB_OK : NB_ERR_MEMORY;
}

nb_status brightest_continuous(struct progress *progress, const struct kernel_set *kernels,
                               const struct job *job, struct bright **out, size_t *n)
{
    struct continuous_work work = {0};
    struct job coarse = *job;
    nb_status status;

    *out = NULL;
    coarse.tolerance = least_share;
    progress_start(progress, 0);
    status = continuous_list(progress, kernels, &coarse, &work);
    if (status == NB_OK) {
        *out = malloc((work.table.n + 1) * sizeof **out);
        status = *out ? sum_spots(kernels, &coarse, &work, *out) : NB_ERR_MEMORY;
        if (status != NB_OK) status = fail_memory(progress->ctx, "a list of reflections");
        if (status == NB_OK) *n = brightest_sort(*out, work.table.n);
    }
    continuous_free(&work);
    if (status == NB_OK) return progress_end(progress);
    free(*out);
    *out = NULL;
    return status;
}
