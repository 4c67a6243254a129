/*
 * api/counts.c - nb_digitize(), which turns the photons of an image into the counts of a
 * detector. The counts may take the memory of an image that is donated (NB_DONATE).
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include <nanobrag/image.h>

#include "backend/backend.h"
#include "base/context.h"
#include "base/floats.h"
#include "compile/donate.h"

nb_status nb_digitize(nb_simulator *sim, const nb_digitizer *how, nb_array *image,
                      nb_array *counts)
{
    STANDARD_FLOATS;
    struct request request = {.operation = BACKEND_COUNT,
                              .sim = sim,
                              .how = how,
                              .image = image,
                              .counts = counts};
    int in_place;

    if (!sim || !how) return NB_ERR_ARGUMENT;
    if (!(how->scale >= 0) || !isfinite(how->scale) || !isfinite(how->offset))
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "digitizer: scale %g, offset %g; expected finite numbers, scale 0 or "
                    "more",
                    how->scale, how->offset);
    progress_begin(&sim->progress, sim->ctx);
    NB_TRY(backend_check_counts(sim, how, image, counts, &in_place));
    request.donated = in_place;
    NB_TRY(backend_run(&request));
    if (in_place) {
        donate_mark_used(sim->ctx, image, counts);
        sim->plans.stats.donated++;
    }
    return NB_OK;
}
