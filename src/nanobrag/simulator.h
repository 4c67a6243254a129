/*
 * simulator.h - the functions of simulator.c that api/ calls: from a frame to the image,
 * and the derivatives. The state of a simulator and the stages before the frame are in
 * state/state.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SIMULATOR_H
#define NB_SIMULATOR_H

#include "state/state.h"

/* ---- forward ---- */

/* Render a frame into dense float64 photons (nslow x nfast) and apply the point spread. */
nb_status simulator_render(nb_simulator *sim, const nb_scene *scene,
                           const struct phys_frame *frame, double *photons);

/* Do the work of nb_forward() for a call that computes several images. The caller has
 * called progress_begin() before. */
nb_status simulator_forward(nb_simulator *sim, const double *x, nb_array *image);

/* ---- tangents ---- */

/* Returns NB_OK if a parameter is free and the image has derivatives, else NB_ERR_ARGUMENT
 * or NB_ERR_UNSUPPORTED. */
nb_status simulator_derivable(const nb_simulator *sim);

/* Returns 1 if a free parameter changes the width of the point spread in pixels. */
int simulator_widens(const nb_simulator *sim);

/* Render the photons before the point spread into sim->unspread, which the derivative by
 * the width of the point spread needs. Does nothing unless simulator_widens(). */
nb_status simulator_unspread(nb_simulator *sim, const nb_scene *scene,
                             const struct phys_frame *frame);

/* Write the derivative of the image along each of n directions dx (n x nparam) to the
 * images change[0] to change[n - 1]. With a point spread, call simulator_unspread() before
 * and pass dense float64 images. */
nb_status simulator_changes(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame, int n, const double *dx,
                            nb_array *change);

/* ---- the adjoint ---- */

/* Add sim->gradient to bar_x (nparam), in the order of x. */
void simulator_add_gradient(const nb_simulator *sim, double *bar_x);

/* Add J^T bar_image to bar_x (nparam), where J is the Jacobian of the image by x. Call
 * simulator_unspread() before. */
nb_status simulator_vjp(nb_simulator *sim, const nb_scene *scene,
                        const struct phys_frame *frame, const nb_array *bar_image,
                        double *bar_x);

#endif
