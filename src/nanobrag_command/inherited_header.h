/*
 * inherited_header.h - takes defaults from the SMV headers of -mask and -img.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_INHERITED_HEADER_H
#define NB_CLI_OPTIONS_INHERITED_HEADER_H

#include <stdint.h>

#include "nanobrag_command/options/settings.h"

/* The pixels of -mask, one byte each: 0 means that the pixel is not computed. NULL without
 * -mask. The owner frees `pixels`. */
struct mask {
    uint8_t *pixels;
    int nfast, nslow;
};

/* Read the headers of -mask and -img, in this order, into `s`, before any option is
 * applied. Returns 0 or the exit status. */
int header_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                   const struct event_list *events, struct mask *mask);

#endif
