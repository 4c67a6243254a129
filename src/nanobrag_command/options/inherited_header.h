/*
 * inherited_header.h - defaults that the headers of -mask and -img provide.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_INHERITED_HEADER_H
#define NB_CLI_OPTIONS_INHERITED_HEADER_H

#include <stdint.h>

#include "nanobrag_command/options/settings.h"

/* Read both headers into `s`, the mask's first, before any option is applied. `mask` gets
 * one byte per pixel of the mask file (0: skip), to be freed, and its size; NULL without
 * -mask. Returns 0 or the exit status. */
struct mask {
    uint8_t *pixels;
    int nfast, nslow;
};
int header_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                   const struct event_list *events, struct mask *mask);

#endif
