/*
 * changes.h - changes of a spot along several directions at a time, which are the lanes.
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

/* Up to DIRECTION_LANES x DIRECTION_BATCHES directions. `moved` are the changes of the
 * numbers behind the nodes, `made` the changes of the numbers that the form is made from.
 * Without `made`, moved[].form is the change of the form.
 */
struct change_along {
    int n;
    const struct nodes_change *moved;
    const struct form_of *made; /* or NULL */
    const struct form_known *known; /* numbers of the form; needed with `made` */
};

struct change_kernels {
    /* Writes the changes out[batch][o][i] of the outputs of all nodes, 0 in lanes past the
     * last; `values` has the slopes. */
    void (*outputs)(const struct node_kernels *kernels, const struct spot_nodes *nodes,
                    const struct node_values *values, const struct change_along *along,
                    on_directions (*out)[NODE_OUTPUTS][NODES]);
    /* Does the work of pattern_fit() for the changes output[o][i] of all lanes. */
    void (*fit)(const struct pattern *pattern, int outputs, on_directions (*output)[NODES],
                on_directions *coefficient);
};

#endif
