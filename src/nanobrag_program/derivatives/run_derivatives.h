/*
 * run_derivatives.h - the gradient and the derivatives of an image that a run is asked for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_RUN_DERIVATIVES_H
#define NB_CLI_RUN_DERIVATIVES_H

#include "nanobrag_program/run.h"

/* Read the weights of the pixels, which are 1 without a file. Returns 0 or the exit status.
 */
int derivatives_weight(struct run *run, double *weight);

/* Resolve the lists of parameters and read the weights, after params_set(). Returns 0 or
 * the exit status. */
int derivatives_start(struct run *run);

/* Compute gradient and derivatives of the present image. Returns 0 or the exit status; with
 * EXIT_INTERRUPTED there are no results. */
int derivatives_make(struct run *run);

/* Print the results or write their files. Returns 0 or the exit status. */
int derivatives_write(struct run *run);

/* Print the names of the parameters of -jacobianfile in the order of its images. */
void derivatives_print_names(const struct run *run);

void derivatives_free(struct run *run);

#endif
