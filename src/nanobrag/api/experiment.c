/*
 * api/experiment.c - writes the scene of a simulator for DIALS. SPDX-License-Identifier: MIT
 */
#include <nanobrag/experiment.h>

#include "base/context.h"
#include "base/floats.h"
#include "io/experiment/models.h"
#include "simulator.h"

nb_status nb_expt_write(nb_simulator *sim, const double *x, const char *path,
                        const nb_expt_options *options)
{
    STANDARD_FLOATS;
    nb_scene scene;

    if (!sim) return NB_ERR_ARGUMENT;
    if (!path) return fail(sim->ctx, NB_ERR_ARGUMENT, "an .expt needs a path");
    NB_TRY(simulator_scene(sim, x, &scene));
    return expt_write(sim->ctx, &scene, path, options);
}
