/*
 * simulator.h - the stages of a call, from the frame to the image and back (simulator.c),
 * which api/ runs too. The state of a simulator and the stages before the frame are in
 * state/state.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SIMULATOR_H
#define NB_SIMULATOR_H

#include "state/state.h"

/* ---- forward ---- */

/* Render a frame into dense photons: what nb_forward() does before it converts the type. */
nb_status simulator_render(nb_simulator *sim, const nb_scene *scene,
                           const struct phys_frame *frame, double *photons);

/* Do what nb_forward() does, as a part of another call that reports the progress. */
nb_status simulator_forward(nb_simulator *sim, const double *x, nb_array *image);

/* ---- tangents ---- */

/* Returns NB_OK if the simulator has free parameters and its scene a derivative. */
nb_status simulator_derivable(const nb_simulator *sim);

/* Returns 1 if a free parameter changes the width of the point spread in pixels. */
int simulator_widens(const nb_simulator *sim);

/* Render the photons before the point spread into sim->unspread, which the derivative with
 * respect to its width needs. Does nothing where the width is not free. */
nb_status simulator_unspread(nb_simulator *sim, const nb_scene *scene,
                             const struct phys_frame *frame);

/* Write J dx for n directions dx (n x nparam), one image each. With a point spread,
 * simulator_unspread() has to be called before, and the images have to be dense float64. */
nb_status simulator_changes(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame, int n, const double *dx,
                            nb_array *change);

/* ---- the adjoint ---- */

/* Add sim->gradient to bar_x, in the order of x. */
void simulator_add_gradient(const nb_simulator *sim, double *bar_x);

/* Add J^T bar_image to bar_x. simulator_unspread() has to be called before. */
nb_status simulator_vjp(nb_simulator *sim, const nb_scene *scene,
                        const struct phys_frame *frame, const nb_array *bar_image,
                        double *bar_x);

#endif
