/*
 * star_make.h - makes the star (star.h) of a spot: decides which widths need one, and finds
 * its variables, axes and points.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_STAR_MAKE_H
#define NB_KERNELS_CONTINUOUS_STAR_MAKE_H

#include "kernels/continuous/forms/view.h"

/* Returns which widths of a spot need a star (STAR_LIGHT, STAR_PLACES): as part of the
 * block they would leave an error above some 5e-5 of the peak. `nodes` are the spot's nodes
 * without a star. */
int star_needed(const struct view *view, const struct spot_name *name,
                const struct spot_nodes *nodes);

/* The data from which the points of a star are found. */
struct star_making {
    struct spot_nodes nodes; /* nodes of the spot with its star */
    double ci[6]; /* inverse covariance of the spot without the widths of the star, A^2 */
};

/* Makes the star of a spot with scattering vector p, and the data from which star_points()
 * finds its points. */
void star_make(const struct view *view, const struct phys_frame *frame,
               const struct spot_name *name, struct form_vector p, struct star *star,
               struct star_making *out);

/* Finds the points of a star for all nodes and steps, and, unless line_at is NULL, the
 * middles of the energies of a line. x, y and step of `nodes` must be set. If `most` is not
 * 0, at[], the middles of the steps along z, are moved to the maxima of log I, within -most
 * .. most. */
void star_points(const struct star_making *making, const struct spot_nodes *nodes,
                 double most, double *at, double (*star_at)[NODES],
                 double (*line_at)[NODES]);

#endif
