/*
 * changes.h - changes of a spot along several directions at a time, which are the lanes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_CHANGES_H
#define NB_KERNELS_CONTINUOUS_CHANGES_H

#include "kernels/continuous/forms/form_tangent.h"
#include "kernels/continuous/pattern.h"

enum { DIRECTION_LANES = 8 };

/* One number for each direction. */
typedef double on_directions[DIRECTION_LANES];

struct change_kernels {
    /* Writes the changes of the form along n directions. */
    void (*forms)(const struct form_known *known, int n, const struct form_of *dot,
                  struct nodes_change *to);
    /* Does what pattern_fit() does for the changes output[o][i] of all lanes. */
    void (*fit)(const struct pattern *pattern, int outputs, on_directions (*output)[NODES],
                on_directions *coefficient);
};

#endif
