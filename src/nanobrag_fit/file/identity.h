/*
 * nanobrag_fit/file/identity.h - the numbers that identify a shot.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_FILE_IDENTITY_H
#define NB_FIT_FILE_IDENTITY_H

#include "nanobrag_fit/fit.h"

/* identity_count() returns how many numbers identify a shot; identity_take() writes
 * them. */
size_t identity_count(void);
nb_status identity_take(nb_fit *fit, nb_simulator *sim, const nb_shot *shot, double *out);

/* Returns 1 if two numbers are the same but for rounding. */
int identity_same(double a, double b);

/* Returns 1 if the numbers of two shots differ, and writes the first difference as a
 * clause. */
int identity_differs(const double *there, const double *here, char *what, size_t size);

#endif
