/*
 * lattice.h - one lattice of a simulator as a scene of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_INTEGRATE_LATTICE_H
#define NB_INTEGRATE_LATTICE_H

#include <nanobrag/simulator.h>

/* Writes the resolved scene at x with lattice i alone. It has no background, no boxes and
 * no point group. The simulator owns its memory (nb_simulator_resolved()). Errors:
 * NB_ERR_ARGUMENT if there is no such lattice; the errors of nb_simulator_resolved(). */
nb_status lattice_scene(nb_context *ctx, const nb_simulator *sim, const double *x, int i,
                        nb_scene *out);

/* Writes a*, b*, c* of lattice i in the middle of the rotation, without mosaic spread,
 * 1/A. */
nb_status lattice_stars(nb_context *ctx, const nb_simulator *sim, const double *x, int i,
                        double star[3][3]);

#endif
