/*
 * backend/device_counts.c - nb_digitize() on the device where a simulator's images are
 * made. Counts and sums have the bits of the host's, so where they come from does not show.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/array.h"
#include "base/context.h"
#include "compile/donate.h"
#include "gpu/count.h"
#include "image/digitize.h"
#include "simulator.h"

/* Seconds of a draw on a core (1.6e-8 to 6e-8 for means from 0.1 to 1e10), bytes a second
 * between host and device, and seconds of a call there: aims, until a device says
 * otherwise, and then the host is asked unless it takes so many times as long. */
static const double draw = 4e-8, copied = 5e9, fixed = 1e-3, worth = 2;

static struct gpu_counting counting_of(const nb_simulator *sim, const nb_digitizer *how)
{
    const struct window *window = &sim->window;
    const struct gpu_counting counting = {window->nslow, window->nfast,       window->roi,
                                          window->mask,  how->noise,          how->scale,
                                          how->offset,   (uint64_t)how->seed, how->image};

    return counting;
}

static void tell(const nb_digitizer *how, const struct phys_tally *tally)
{
    if (how->photons) *how->photons = digitize_photons(tally);
    if (how->overloads) *how->overloads = (int64_t)tally->overloads;
}

static int is_there(const nb_array *array)
{
    return array && array->device == NB_CUDA;
}

/* both arrays on the device, and apart */
static nb_status check(nb_simulator *sim, const nb_digitizer *how, const nb_array *image,
                       const nb_array *counts)
{
    const int nslow = sim->window.nslow, nfast = sim->window.nfast;
    nb_array kept;
    int in_place;

    if (image && counts && is_there(image) != is_there(counts)) {
        const char *names[2] = {image->name ? image->name : "image",
                                counts->name ? counts->name : "counts"};

        return fail(sim->ctx, NB_ERR_SHAPE,
                    "%s lies on a CUDA device and %s in host memory; pass both on the "
                    "device or both in host memory",
                    names[is_there(counts)], names[is_there(image)]);
    }
    if (image) {
        kept = *image;
        kept.flags &= ~(unsigned)NB_DONATE; /* its turn comes when counts are known */
    }
    NB_TRY(array_check_on_device(sim->ctx, image ? &kept : NULL, "image", nslow, nfast));
    NB_TRY(array_check_counts_on_device(sim->ctx, counts, "counts", nslow, nfast));
    NB_TRY(device_check_place(sim, image, "image"));
    NB_TRY(device_check_place(sim, counts, "counts"));
    if (how->noise && (sim->scene.quirks & NB_QUIRK_NOISE))
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "nanoBragg's noise (NB_QUIRK_NOISE) is one stream, drawn on the host; "
                    "pass arrays in host memory");
    NB_TRY(donate_check(sim->ctx, image, counts, &in_place));
    if (in_place)
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "on a device counts are not made in the memory of their image; give "
                    "counts memory of its own");
    return NB_OK;
}

nb_status device_digitize(nb_simulator *sim, const nb_digitizer *how, const nb_array *image,
                          const nb_array *counts)
{
    const struct gpu_counting counting = counting_of(sim, how);
    struct gpu_output from, to;
    struct phys_tally tally;

    NB_TRY(check(sim, how, image, counts));
    NB_TRY(plans_digitize(sim, 0));
    from = device_output(image);
    to = device_output(counts);
    NB_TRY(gpu_count(sim->ctx, &sim->device.scene, &counting, &from, &to, &tally));
    tell(how, &tally);
    return NB_OK;
}

static int is_worth_it(const nb_simulator *sim, const nb_array *image)
{
    const struct window *window = &sim->window;
    const int *roi = window->roi;
    const double pixels = (double)window->nslow * window->nfast;
    const double drawn = (double)(roi[1] - roi[0]) * (roi[3] - roi[2]);
    const double device = fixed + pixels * (image->bits + 16) / 8 / copied;

    return worth * device < drawn * draw / sim->ctx->threads;
}

nb_status device_draw(nb_simulator *sim, const nb_digitizer *how, const nb_array *image,
                      const nb_array *counts, int *done)
{
    const struct gpu_counting counting = counting_of(sim, how);
    struct phys_tally tally;
    nb_status status;

    *done = 0;
    if (!sim->device.scene.gpu || !how->noise || (sim->scene.quirks & NB_QUIRK_NOISE)
        || !array_is_dense(image) || !array_is_dense(counts)
        || image->data == counts->data /* what fails half-way would be lost */
        || !is_worth_it(sim, image))
        return NB_OK;
    status = gpu_count_from_host(sim->ctx, &sim->device.scene, &counting, image->data,
                                 image->bits, counts->data, &tally);
    if (status == NB_ERR_DEVICE || status == NB_ERR_MEMORY) return device_lost(sim);
    if (status != NB_OK) return status;
    tell(how, &tally);
    *done = 1;
    return NB_OK;
}
