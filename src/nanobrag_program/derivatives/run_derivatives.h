/*
 * run_derivatives.h - gradient and derivatives of an image: -gradient, -jacobian and their
 * files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_RUN_DERIVATIVES_H
#define NB_CLI_RUN_DERIVATIVES_H

#include "nanobrag_program/run.h"

/* Read the weights of the pixels from -cotangent; without it they are 1. Returns 0 or the
 * exit status. */
int derivatives_weight(struct run *run, double *weight);

/* Find the parameters of -gradient and -jacobian, and read the weights. Call it after
 * params_set(). Returns 0 or the exit status. */
int derivatives_start(struct run *run);

/* Compute gradient and derivatives of the present image. Returns 0 or the exit status;
 * after EXIT_INTERRUPTED there are no results. */
int derivatives_make(struct run *run);

/* Print the gradient or write its file, and write the other files. Returns 0 or the exit
 * status. */
int derivatives_write(struct run *run);

/* Print the names of the parameters in the order of their images in -jacobianfile. */
void derivatives_print_names(const struct run *run);

void derivatives_free(struct run *run);

#endif
