/*
 * changes.h - changes of a spot along several directions at a time, one SIMD lane each.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_CHANGES_H
#define NB_KERNELS_CONTINUOUS_CHANGES_H

#include "kernels/continuous/forms/form_tangent.h"
#include "kernels/continuous/pattern.h"

enum { DIRECTION_LANES = 8, DIRECTION_BATCHES = 6 };

/* One number for each direction. */
typedef double on_directions[DIRECTION_LANES];

/* The changes along n <= DIRECTION_LANES x DIRECTION_BATCHES directions: `moved` are
 * changes of the numbers on which the nodes depend, `made` of the numbers from which the
 * form is made. If `made` is NULL, moved[].form is the change of the form. */
struct change_along {
    int n;
    const struct nodes_change *moved;
    const struct form_of *made; /* NULL: `moved` has the changes of the form */
    const struct form_known *known; /* needed unless `made` is NULL */
};

struct change_kernels {
    /* Writes out[batch][o][i], the changes of output o of node i; lanes past the last
     * direction become 0. `values` must hold the slopes. */
    void (*outputs)(const struct node_kernels *kernels, const struct spot_nodes *nodes,
                    const struct node_values *values, const struct change_along *along,
                    on_directions (*out)[NODE_OUTPUTS][NODES]);
    /* Does what pattern_fit() does, for the changes output[o][i] of all lanes. */
    void (*fit)(const struct pattern *pattern, int outputs, on_directions (*output)[NODES],
                on_directions *coefficient);
};

#endif
