/*
 * api/boxes.c - nb_boxes(), boxes of pixels around the brightest reflections.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "base/context.h"
#include "base/floats.h"
#include "kernels/spots/brightest.h"

/* Returns 1 if a reflection lies on a pixel of the ROI of its panel that is not masked. */
static int is_inside(const struct window *w, const struct bright *bright)
{
    const int f = (int)bright->fast, s = (int)bright->slow;

    return f >= w->roi[0] && f < w->roi[1] && s >= w->roi[2] && s < w->roi[3]
           && (!w->mask || w->mask[(size_t)s * (size_t)w->stride + (size_t)f]);
}

/* Writes the first pixel and the end, in the image, of an edge around a place on a panel,
 * cut to its n pixels, of which the first is `begin`. */
static void write_edge(double place, int edge, int n, int begin, int *box)
{
    const double first = floor(place - 0.5 * edge + 0.5);

    box[0] = begin + (int)fmax(first, 0);
    box[1] = begin + (int)fmin(first + edge, n);
}

nb_status nb_boxes(nb_simulator *sim, const double *x, int edge, size_t most, int *box,
                   size_t *n)
{
    STANDARD_FLOATS;
    struct bright *list;
    const struct phys_frame *frame;
    nb_scene scene;
    struct job job;
    size_t found;

    if (!sim) return NB_ERR_ARGUMENT;
    if (!box || !n) return fail(sim->ctx, NB_ERR_ARGUMENT, "boxes need a place to go");
    if (edge < 1)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "boxes of %d pixels an edge", edge);
    *n = 0;
    progress_begin(&sim->progress, sim->ctx);
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    if (frame->surface == PHYS_CURVED_QUIRK)
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "reflections are not placed on nanoBragg's curved detector");
    job = simulator_job(sim, &scene, frame, NULL);
    NB_TRY(brightest_find(&sim->progress, &job, &list, &found));
    for (size_t i = 0; i < found && *n < most; i++) {
        const struct window *w = window_panel(&sim->window, list[i].panel);

        if (!is_inside(w, list + i)) continue;
        write_edge(list[i].fast, edge, w->nfast, w->fast0, box + 4 * *n);
        write_edge(list[i].slow, edge, w->nslow, w->slow0, box + 4 * *n + 2);
        ++*n;
    }
    free(list);
    return NB_OK;
}
