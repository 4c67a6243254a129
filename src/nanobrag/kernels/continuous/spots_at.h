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

/* A spot with its form and the values of the form at its nodes. */
struct spot_state {
    struct form_of of;
    struct spot_nodes nodes;
    struct node_values values;
};

/* Finds the form and the nodes of a spot, without the values. */
void spot_nodes_of(const struct continuous_work *work, const struct job *job,
                   const struct listed_spot *spot, struct spot_state *out);

/* Finds the form of a spot, its values at the nodes, and its polynomials spot->c. */
void spot_fit(const struct continuous_work *work, const struct node_kernels *kernels,
              const struct job *job, struct listed_spot *spot, struct spot_state *out);

/* Adds the logarithm of the factor that each sample has, the capture of its layer, to log I
 * at the nodes. */
void spot_factors(const struct phys_frame *frame, const struct listed_spot *spot,
                  const struct spot_nodes *nodes, double *log_i);

/* Adds the cotangents of the factors in spot_factors(), given the cotangents of log I. */
void spot_factors_adjoint(const struct phys_frame *frame, const struct listed_spot *spot,
                          const struct spot_nodes *nodes, const double *bar,
                          struct phys_frame_tangent *to);

/* A node, and the capture of the spot's layer there. */
struct seen_node {
    double x, y; /* place, sub-pixels */
    double capture, r; /* r: distance, m */
    struct phys_point point;
    struct phys_capture_slopes slopes;
};

/* Writes seen[NODES], which spot_factors_tangent() needs. */
void spot_seen(const struct phys_frame *frame, const struct listed_spot *spot,
               const struct spot_nodes *nodes, struct seen_node *seen);

/* Adds the derivatives of the factors in spot_factors() along n tangents to the derivatives
 * of log I at the nodes. */
void spot_factors_tangent(const struct phys_frame *frame, const struct listed_spot *spot,
                          const struct seen_node *seen, int n,
                          const struct phys_frame_tangent *const *dot,
                          on_directions *log_i);

/* Returns the weight of a spot's orientation times the share of the core or of the tail of
 * the mosaic spread. */
double spot_share(const struct view *view, const struct listed_spot *spot);

/* Fills in the profile of a spot; `row` is memory for the table of its spectrum. Returns 0
 * if there is no memory. */
int spot_profile(const struct continuous_work *work, const struct listed_spot *spot,
                 struct spectrum_row *row, struct profile *out);

#endif
