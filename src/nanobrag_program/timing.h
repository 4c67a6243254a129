/*
 * timing.h - a clock that only goes forward.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_TIMING_H
#define NB_CLI_TIMING_H

/* Returns the time of a clock that only goes forward, s. */
double timing_seconds(void);

#endif
