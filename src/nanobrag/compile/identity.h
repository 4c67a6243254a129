/*
 * identity.h - what makes a measurement of this process comparable with another's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_IDENTITY_H
#define NB_COMPILE_IDENTITY_H

#include <stddef.h>

enum { IDENTITY = 256 }; /* bytes, with the end */

/* The processor and how many there are. No two lines, printable ASCII. */
void identity_machine(char out[IDENTITY]);

/* Version, compiler, kind of build, and a digest of what goes into the kernels. */
const char *identity_build(void);

#endif
