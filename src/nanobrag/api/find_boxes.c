/*
 * api/find_boxes.c - nb_simulator_spots(), which finds the reflections on the detector, and
 * nb_simulator_boxes(), which puts boxes of pixels around the brightest.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include <nanobrag/description.h>

#include "backend/backend.h"
#include "base/context.h"
#include "base/floats.h"
#include "kernels/spots/brightest.h"

/* Returns 1 if the centre of a reflection lies in the ROI of its panel, on a pixel that is
 * not masked. */
static int is_inside(const struct window *w, const struct bright *bright)
{
    const int f = (int)bright->fast, s = (int)bright->slow;

    return f >= w->roi[0] && f < w->roi[1] && s >= w->roi[2] && s < w->roi[3]
           && (!w->mask || w->mask[(size_t)s * (size_t)w->stride + (size_t)f]);
}

/* Writes the first pixel (box[0]) and the end (box[1]) of an edge of `edge` pixels around a
 * place on a panel, cut to the panel's n pixels. `place` counts from the first pixel of the
 * panel; the results count from the first pixel of the image, where the panel begins at
 * `begin`. */
static void write_edge(double place, int edge, int n, int begin, int *box)
{
    const double first = floor(place - 0.5 * edge + 0.5);

    box[0] = begin + (int)fmax(first, 0);
    box[1] = begin + (int)fmin(first + edge, n);
}

static int brighter(const void *left, const void *right)
{
    const struct bright *a = left, *b = right;

    if (a->brightness != b->brightness) return a->brightness > b->brightness ? -1 : 1;
    return (a->found > b->found) - (a->found < b->found);
}

/* Finds the reflections of one lattice. */
static nb_status find_lattice(nb_simulator *sim, const struct job *job,
                              struct bright **list, size_t *n)
{
    if (!job->frame->continuous) return brightest_find(&sim->progress, job, list, n);
    return brightest_continuous(&sim->progress, &sim->policy.kernels, job, list, n);
}

/* Appends the reflections of lattice l to a list, with brightnesses in photons, so that
 * lattices can be compared. */
static nb_status add_lattice(nb_simulator *sim, const struct job *image, int l,
                             struct bright **list, size_t *n)
{
    const struct job job = job_of_lattice(image, l);
    struct bright *own, *all;
    size_t more;

    NB_TRY(find_lattice(sim, &job, &own, &more));
    all = realloc(*list, (*n + more + 1) * sizeof *all);
    if (all) *list = all;
    for (size_t i = 0; all && i < more; i++) {
        all[*n] = own[i];
        all[*n].brightness *= job.frame->bragg_scale;
        all[*n].lattice = l;
        all[*n].found = *n;
        ++*n;
    }
    free(own);
    return all ? NB_OK : fail_memory(sim->ctx, "a list of spots");
}

/* Finds the reflections of all lattices at x, whether they lie in a box of the simulator or
 * not, sorted by brightness from the brightest on. The caller frees *list, also after a
 * failure. */
static nb_status find_all(nb_simulator *sim, const double *x, struct bright **list,
                          size_t *n)
{
    const struct phys_frame *frame;
    struct window_pixels pixels;
    struct window unboxed;
    struct job job;
    nb_scene scene;
    nb_status status = NB_OK;

    *list = NULL;
    *n = 0;
    progress_begin(&sim->progress, sim->ctx);
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    if (frame->surface == PHYS_CURVED_QUIRK)
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "reflections are not placed on nanoBragg's curved detector");
    job = simulator_job(sim, &scene, frame, NULL);
    pixels = window_pixels_of(&scene.detector);
    pixels.nbox = 0;
    if (!window_make(&pixels, &unboxed)) status = fail_memory(sim->ctx, "a list of tiles");
    job.window = &unboxed;
    for (int l = 0; l < job.lattices && status == NB_OK; l++)
        status = add_lattice(sim, &job, l, list, n);
    window_free(&unboxed);
    if (job.lattices > 1 && *list) qsort(*list, *n, sizeof **list, brighter);
    return status;
}

nb_status nb_simulator_spots(nb_simulator *sim, const double *x, size_t most, nb_spot *spot,
                             size_t *n)
{
    STANDARD_FLOATS;
    struct bright *list;
    nb_status status;
    size_t found;

    if (!sim) return NB_ERR_ARGUMENT;
    if ((!spot && most > 0) || !n)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "spots need a place to go");
    *n = 0;
    status = find_all(sim, x, &list, &found);
    for (size_t i = 0; status == NB_OK && i < found; i++) {
        const struct bright *b = list + i;

        if (!is_inside(window_panel(&sim->window, b->panel), b)) continue;
        if (*n < most)
            spot[*n] = (nb_spot){{b->h, b->k, b->l},
                                 b->lattice,
                                 b->panel,
                                 b->fast,
                                 b->slow,
                                 {b->low[0], b->high[0], b->low[1], b->high[1]},
                                 b->brightness};
        ++*n;
    }
    free(list);
    return status;
}

nb_status nb_simulator_boxes(nb_simulator *sim, const double *x, int edge, size_t most,
                             int *box, size_t *n)
{
    STANDARD_FLOATS;
    struct bright *list;
    nb_status status;
    size_t found;

    if (!sim) return NB_ERR_ARGUMENT;
    if (!box || !n) return fail(sim->ctx, NB_ERR_ARGUMENT, "boxes need a place to go");
    if (edge < 1)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "boxes of %d pixels an edge", edge);
    *n = 0;
    status = find_all(sim, x, &list, &found);
    for (size_t i = 0; status == NB_OK && i < found && *n < most; i++) {
        const struct window *w = window_panel(&sim->window, list[i].panel);

        if (!is_inside(w, list + i)) continue;
        write_edge(list[i].fast, edge, w->nfast, w->fast0, box + 4 * *n);
        write_edge(list[i].slow, edge, w->nslow, w->slow0, box + 4 * *n + 2);
        ++*n;
    }
    free(list);
    return status;
}
