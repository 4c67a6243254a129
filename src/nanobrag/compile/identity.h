/*
 * identity.h - names of the machine and the build. Measurements can be compared only where
 * both are the same.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_IDENTITY_H
#define NB_COMPILE_IDENTITY_H

#include <stddef.h>

enum { IDENTITY = 256 }; /* bytes, with the NUL */

/* Write the processor and the number of processors, as one line of printable ASCII. */
void identity_machine(char out[IDENTITY]);

/* Returns version, compiler, kind of build, and a digest of the kernels' sources. */
const char *identity_build(void);

#endif
