/*
 * inherited_header.h - what the headers of -mask and -img hand down.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_INHERITED_HEADER_H
#define NB_CLI_OPTIONS_INHERITED_HEADER_H

#include <stdint.h>

#include "cli/options/settings.h"

/* Read both headers into `s`, the mask first, before any option is applied. `mask` gets
 * one byte per pixel of the mask file, 0 to skip, and its size; NULL without -mask.
 * free() it. Returns 0 or the exit status. */
struct mask {
    uint8_t *pixels;
    int nfast, nslow;
};
int header_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                   const struct event_list *events, struct mask *mask);

#endif
