/*
 * planner.h - access to FFTW's planner. A process has only one planner, so one thread at a
 * time may use it. The wisdom of the calling program is left unchanged.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_FFTW_PLANNER_H
#define NB_BASE_FFTW_PLANNER_H

/* Returns the smallest number from n on that has no prime factor above 7. FFTW is fast for
 * such sizes. */
int planner_fast_size(int n);

#ifdef NANOBRAG_FFTW

/* planner_lock() waits until no other thread of the library uses the planner;
 * planner_unlock() lets the next thread in. If the calling program itself uses FFTW's
 * planner in another thread, it must call fftw_make_planner_thread_safe(). */
void planner_lock(void);
void planner_unlock(void);

/* planner_begin() locks the planner, then removes and returns the wisdom of the process,
 * because plans would depend on it. planner_end() restores the wisdom and unlocks. */
char *planner_begin(void);
void planner_end(char *wisdom);

#endif

#endif
