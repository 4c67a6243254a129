/*
 * donate.h - rules for memory that the caller donates to one call.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_DONATE_H
#define NB_COMPILE_DONATE_H

#include <nanobrag/array.h>

#include "base/context.h"

/* Check whether `output` may overwrite `input`. *in_place becomes 1 if both have the same
 * memory and the input is donated, 0 if they do not overlap. A donated input whose memory
 * is not needed stays valid; this is reported. Errors: NB_ERR_ARGUMENT if they overlap and
 * the input is not donated, if they overlap only in part, or if a view with strides is
 * donated. */
nb_status donate_check(nb_context *ctx, const nb_array *input, const nb_array *output,
                       int *in_place);

/* Mark a donated input as used. In debug builds the part of its memory that the output does
 * not cover becomes NaN, so that any later use shows. */
void donate_mark_used(const nb_context *ctx, nb_array *input, const nb_array *output);

#endif
