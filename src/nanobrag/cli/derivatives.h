/*
 * derivatives.h - the gradient and the derivatives of an image that a run asks for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_DERIVATIVES_H
#define NB_CLI_DERIVATIVES_H

#include "cli/run.h"

/* Refuse combinations that cannot be meant. Returns 0 or the exit status. */
int derivatives_check(const struct settings *s, struct messages *messages);

/* 1 when a run is to make any. */
int derivatives_asked(const struct settings *s);

/* Read the weights of the pixels, 1 where no file gives them. Returns 0 or the exit status.
 */
int derivatives_weight(struct run *run, double *weight);

/* What the lists name, and the weights; after params_set(). */
int derivatives_start(struct run *run);

/* Compute them for the image in hand. EXIT_INTERRUPTED leaves nothing. */
int derivatives_make(struct run *run);

/* Print them or write their files. */
int derivatives_write(struct run *run);

void derivatives_free(struct run *run);

#endif
