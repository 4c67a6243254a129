/*
 * test_gpu_rows.c - the GPU's kernels of derivatives, run on this machine block by block,
 * against the rows of the Jacobian that the CPU's kernels find: changes of the photons,
 * gradients, losses, normal matrices; and bits that no order of blocks may change.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "image/loss.h"
#include "support/rows_runs.h"
#include "support/scenes.h"
#include "support/tap.h"

static const double double_allowed = 1e-11, float_allowed = 5e-4;

static double *numbers(size_t n)
{
    double *p = calloc(n + 1, sizeof *p);

    if (!p) abort();
    return p;
}

static nb_scene scene_named(const char *name)
{
    for (size_t i = 0; i < scenes_count; i++)
        if (strcmp(scenes_list[i].name, name) == 0) return scenes_make(&scenes_list[i]);
    abort();
}

/* the next tangents that a kernel takes at once, from number way->first on */
static void next_tangents(const struct rows_trial *t, struct rows_way *way)
{
    const struct rows_kernel *kernel =
        &way->kernels->rows[t->job.spec.shape][t->job.spec.lookup][way->kind];
    const int left = t->n - way->first, turning = t->turning - way->first;

    if (turning > kernel->turns)
        way->n = kernel->turns;
    else
        way->n = left < ROWS_MOST ? left : ROWS_MOST;
}

/* ---- changes ---- */

/* the worst change of all tangents from number `first` on, of the largest of its tangent
 * or, of one that holds tails only, what the image is by */
static double worst_change(const struct rows_trial *t, struct rows_way way, int first,
                           char *where, size_t size)
{
    double *change = numbers((size_t)ROWS_MOST * t->pixels), worst = 0;

    (void)snprintf(where, size, "none");
    for (way.first = first; way.first < t->n; way.first += way.n) {
        next_tangents(t, &way);
        rows_changes(t, &way, NULL, change);
        for (int d = 0; d < way.n; d++) {
            const double *truth = t->change + (size_t)(way.first + d) * t->pixels;
            double off = 0, most = t->peak * t->unit[way.first + d];

            for (size_t i = 0; i < t->pixels; i++) {
                const double gap = fabs(change[(size_t)d * t->pixels + i] - truth[i]);

                if (!(gap <= off)) off = gap;
                most = fmax(most, fabs(truth[i]));
            }
            if (!(off > 0) || off / most <= worst) continue;
            worst = off / most;
            (void)snprintf(where, size, "%s", t->name[way.first + d]);
        }
    }
    free(change);
    return worst;
}

static double worst_photons(const struct rows_trial *t, struct rows_way way)
{
    double *photons = numbers(t->pixels), *change = numbers((size_t)ROWS_MOST * t->pixels);
    double worst = 0;

    way.first = t->turning;
    way.n = 1;
    rows_changes(t, &way, photons, change);
    for (size_t i = 0; i < t->pixels; i++) {
        const double gap = fabs(photons[i] - t->photons[i]) / t->peak;

        if (!(gap <= worst)) worst = gap;
    }
    free(photons);
    free(change);
    return worst;
}

/* every named scene that the kernels serve */
static int changes_by(const struct rows_kernels *kernels, int parts, double allowed)
{
    int served = 0;

    for (size_t i = 0; i < scenes_count; i++) {
        const struct rows_way way = {kernels, ROWS_OF_FEW, parts, 0, 0, 0, 0};
        nb_scene scene = scenes_make(&scenes_list[i]);
        struct rows_trial t;
        char where[64];
        double worst;

        scene.psf.kind = 0; /* comes later */
        rows_trial_make(&scene, 1, &t);
        if (kernels->serve(&t.frame)) {
            worst = worst_change(&t, way, 0, where, sizeof where);
            tap_check(worst <= allowed, "%s: %d tangents, %s off %.1e, %.0e allowed",
                      scenes_list[i].name, t.n, where, worst, allowed);
            worst = worst_photons(&t, way);
            tap_check(worst <= allowed / 10, "%s: photons off %.1e, %.0e allowed",
                      scenes_list[i].name, worst, allowed / 10);
            served++;
        } else
            tap_note("%s: left to the CPU", scenes_list[i].name);
        rows_trial_drop(&t);
    }
    tap_check(served > 20, "%d scenes of %zu", served, scenes_count);
    return TAP_PASS;
}

static int changes_double(void)
{
    return changes_by(&rows_kernels_double, 1, double_allowed);
}

static int changes_float(void)
{
    return changes_by(&rows_kernels_single, 1, float_allowed);
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"changes_double", changes_double},
        {"changes_float", changes_float},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
