/*
 * planner.h - FFTW's planner, of which a process has one, for the parts of the library that
 * transform: one at a time uses it, and the calling program's wisdom is left as it was.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_FFTW_PLANNER_H
#define NB_BASE_FFTW_PLANNER_H

/* Returns the next number, from n on, without prime factors above 7; FFTW is fast for
 * it. */
int planner_fast_size(int n);

#ifdef NANOBRAG_FFTW

/* Waits until no other thread uses the planner; planner_unlock() lets the next one in. A
 * program that calls FFTW's planner in another thread of its own must call
 * fftw_make_planner_thread_safe(). */
void planner_lock(void);
void planner_unlock(void);

/* planner_lock(), and puts the wisdom of the process aside, on which plans would depend.
 * Returns it, for planner_end(), which puts it back and unlocks. */
char *planner_begin(void);
void planner_end(char *wisdom);

#endif

#endif
