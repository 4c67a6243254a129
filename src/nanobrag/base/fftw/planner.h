/*
 * planner.h - FFTW's planner. A process has only one, so one part of the library uses it at
 * a time. The calling program's wisdom is left unchanged.
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

/* Calls planner_lock() and puts the wisdom of the process aside, because plans would depend
 * on it. Returns the wisdom; planner_end() puts it back and unlocks. */
char *planner_begin(void);
void planner_end(char *wisdom);

#endif

#endif
