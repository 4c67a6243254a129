/*
 * lattice.c - one lattice of a simulator as a scene of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_integrate/lattice.h"

#include <string.h>

#include <nanobrag/description.h>

#include "base/context.h"
#include "nanobrag_integrate/vectors.h"
#include "scene/lattices/lattices.h"

nb_status lattice_scene(nb_context *ctx, const nb_simulator *sim, const double *x, int i,
                        nb_scene *out)
{
    nb_scene all;

    NB_TRY(nb_simulator_resolved(sim, x, out));
    if (i < 0 || i > out->crystal.nlattice)
        return fail(ctx, NB_ERR_ARGUMENT, "there is no lattice %d of %d", i,
                    out->crystal.nlattice + 1);
    all = *out;
    lattices_scene(&all, i, out);
    out->crystal.nlattice = 0;
    out->crystal.lattice = NULL;
    out->crystal.point_group = NULL;
    out->background.water = 0;
    out->detector.nbox = 0;
    out->detector.box = NULL;
    return NB_OK;
}

nb_status lattice_stars(nb_context *ctx, const nb_simulator *sim, const double *x, int i,
                        double star[3][3])
{
    nb_simulator *still = NULL;
    nb_scene scene;
    double real[9];
    nb_status status;

    NB_TRY(lattice_scene(ctx, sim, x, i, &scene));
    scene.scan.phi0 += scene.scan.osc / 2;
    scene.scan.osc = 0;
    scene.scan.nphi = 1;
    memset(scene.crystal.mosaic, 0, sizeof scene.crystal.mosaic);
    memset(scene.crystal.mosaic_off, 0, sizeof scene.crystal.mosaic_off);
    scene.crystal.ndomains = 1;
    scene.crystal.domain_weight = NULL;
    status = nb_simulator_create(ctx, &scene, NULL, NULL, &still);
    if (status == NB_OK) status = nb_simulator_orientation(still, NULL, 0, 0, real);
    nb_simulator_free(still);
    if (status == NB_OK) vectors_reciprocal(real, star);
    return status;
}
