/*
 * donate.h - memory that the caller gives away for one call.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_DONATE_H
#define NB_COMPILE_DONATE_H

#include <nanobrag/array.h>

#include "base/context.h"

/*
 * May `output` be written where `input` lies? in_place: 1 where it lies there and the input
 * is given away, 0 where the two lie apart. A donated input that is not used is said, and
 * stays valid. Errors: NB_ERR_ARGUMENT for memory that is shared without being given away,
 * or in part, or that is borrowed.
 */
nb_status donate_check(nb_context *ctx, const nb_array *input, const nb_array *output,
                       int *in_place);

/* The input was used: it says so from now on. In checked builds what the output left of its
 * memory becomes NaN, so that a use that nobody checks is seen. */
void donate_take(const nb_context *ctx, nb_array *input, const nb_array *output);

#endif
