/*
 * signature.h - which branches the samples of every pixel take (physics/pixel_signature.h);
 * nb_gradcheck() compares them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SIGNATURE_H
#define NB_KERNELS_SIGNATURE_H

#include <stdint.h>

#include "kernels/job.h"

/* Mixes the signature of every pixel that a job renders, in its first lattice, into
 * `signature` (nslow x nfast). `repeats` is 1 if all lattice points of the crystal are
 * equivalent. */
void signature_of(const struct job *job, int repeats, int threads, uint64_t *signature);

#endif
