/*
 * backend/device_counts.c - nb_digitize() on the device that computes a simulator's images.
 * Counts and sums have the same bits as on the host, so the choice does not change results.
 *
 * SPDX-License-Identifier: MIT
 */
#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "gpu/count.h"
#include "image/digitize.h"

/* Estimates for the choice. draw: seconds of a random number on a core (measured: 1.6e-8 to
 * 6e-8 for means from 0.1 to 1e10). copied: bytes per second between host and device.
 * fixed: seconds of a call on the device. worth: the device is chosen if it is this many
 * times as fast. */
static const double draw = 4e-8, copied = 5e9, fixed = 1e-3, worth = 2;

static struct gpu_counting counting_of(const nb_simulator *sim, const nb_digitizer *how)
{
    const struct gpu_counting counting = {&sim->window, how->noise,          how->scale,
                                          how->offset,  (uint64_t)how->seed, how->image};

    return counting;
}

static int is_worth_it(const nb_simulator *sim, const nb_array *image,
                       const nb_array *counts)
{
    const struct window *window = &sim->window;
    const int *roi = window->roi;
    const double pixels = (double)window->nslow * window->nfast;
    const double drawn = (double)(roi[1] - roi[0]) * (roi[3] - roi[2]);
    const double device = fixed + pixels * (image->bits + counts->bits) / 8 / copied;

    return worth * device < drawn * draw / sim->ctx->threads;
}

const char *device_refuses_counts(const struct request *r)
{
    if (array_is_on_device(r->image)) return NULL;
    if (!r->how->noise) return "without noise there is little to compute";
    if (r->sim->scene.quirks & NB_QUIRK_NOISE) return "nanoBragg's noise is one stream";
    if (!array_is_dense(r->image) || !array_is_dense(r->counts)) return "views";
    if (r->image->data == r->counts->data)
        return "what fails half-way would be lost, image and counts being in one place";
    return is_worth_it(r->sim, r->image, r->counts) ? NULL : "copies would take longer";
}

nb_status device_count(struct request *r)
{
    nb_simulator *sim = r->sim;
    struct gpu_scene *scene = &sim->device.scene;
    const struct gpu_counting counting = counting_of(sim, r->how);
    struct job job = {0};
    struct phys_tally tally;

    NB_TRY(backend_plan(r, PLAN_DIGITIZE, 0, &job));
    NB_TRY(gpu_count(sim->ctx, scene, &counting, r->image, r->counts, &tally));
    if (r->how->photons) *r->how->photons = digitize_photons(&tally);
    if (r->how->overloads) *r->how->overloads = (int64_t)tally.overloads;
    return NB_OK;
}
