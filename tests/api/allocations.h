/*
 * allocations.h - counts what the process asks of malloc and its kin, and refuses on
 * request. Works by standing in for them, with glibc and without a sanitizer; or, with
 * ALLOCATIONS_OF_ASAN, before those of gcc's address sanitizer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ALLOCATIONS_H
#define NB_TESTS_ALLOCATIONS_H

/* 0 where nothing can be counted. */
int allocations_counted(void);

/* Calls so far: by the program itself, with what is linked into it, and by shared
 * libraries. Blocks given to either and not yet freed. */
long allocations_made(void);
long allocations_elsewhere(void);
long allocations_held(void);

/* The n-th call of the program from now on (1: the next) gets no memory; 0: all do. */
void allocations_refuse(long n);

#endif
