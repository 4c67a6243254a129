/*
 * spots_at.h - functions that images and derivatives of a continuous crystal share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SPOTS_AT_H
#define NB_KERNELS_CONTINUOUS_SPOTS_AT_H

#include "kernels/continuous/continuous.h"
#include "kernels/continuous/forms/changes.h"
#include "physics/pixel_position.h"
#include "physics/step_vjp.h"

/* The form of a spot at its nodes. */
struct spot_state {
    struct form_of of;
    struct spot_nodes nodes;
    struct node_values values;
};

/* Points the nodes of a spot to its form. */
void spot_nodes_of(const struct continuous_work *work, const struct job *job,
                   const struct listed_spot *spot, struct spot_state *out);

/* Computes the form of a spot at its nodes, and its polynomials. */
void spot_fit(const struct continuous_work *work, const struct node_kernels *kernels,
              const struct job *job, struct listed_spot *spot, struct spot_state *out);

/* Adds the logarithms of the factors that belong to each sample, the capture of its layer,
 * to log I at the nodes. */
void spot_factors(const struct phys_frame *frame, const struct listed_spot *spot,
                  const struct spot_nodes *nodes, double *log_i);

/* Adds the cotangents of the factors in spot_factors(), given the cotangents of log I. */
void spot_factors_adjoint(const struct phys_frame *frame, const struct listed_spot *spot,
                          const struct spot_nodes *nodes, const double *bar,
                          struct phys_frame_tangent *to);

/* A node as the layer of a sensor sees it. */
struct seen_node {
    double x, y; /* samples */
    double capture, r;
    struct phys_point point;
    struct phys_capture_slopes slopes;
};

/* Writes seen[NODES], from which spot_factors_tangent() computes the changes. */
void spot_seen(const struct phys_frame *frame, const struct listed_spot *spot,
               const struct spot_nodes *nodes, struct seen_node *seen);

/* Adds the changes of the factors in spot_factors(), along n directions, to the changes of
 * log I at the nodes. */
void spot_factors_tangent(const struct phys_frame *frame, const struct listed_spot *spot,
                          const struct seen_node *seen, int n,
                          const struct phys_frame_tangent *const *dot,
                          on_directions *log_i);

/* The weight of a spot's source, and the share of its crystal and mosaic. */
double spot_share(const struct view *view, const struct listed_spot *spot);

/* Fills in the profile of a spot; `row` is memory for its row of the spectrum. Returns 0
 * when there is no memory. */
int spot_profile(const struct continuous_work *work, const struct listed_spot *spot,
                 struct spectrum_row *row, struct profile *out);

#endif
