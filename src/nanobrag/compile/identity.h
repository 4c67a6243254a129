/*
 * identity.h - names of the machine and the build: measurements are comparable only where
 * both are the same.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_IDENTITY_H
#define NB_COMPILE_IDENTITY_H

#include <stddef.h>

enum { IDENTITY = 256 }; /* bytes, with the NUL */

/* The processor and the number of processors, as one line of printable ASCII. */
void identity_machine(char out[IDENTITY]);

/* Version, compiler, kind of build, and a digest of the sources of the kernels. */
const char *identity_build(void);

#endif
