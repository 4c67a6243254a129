/*
 * backend/tuning.h - what compiled mode measures when it is asked to tune: schedules, an
 * open strategy, the transforms of a point spread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BACKEND_TUNING_H
#define NB_BACKEND_TUNING_H

#include "simulator.h"

/* a job that may be run again and again: nothing of the caller's is written */
struct rehearsal {
    nb_simulator *sim;
    struct job job;
    simulator_run *run;
    const void *user;
};

/* The schedule that is known for a plan, of this process or the file; nothing without one.
 * Errors: those of context_fall_back(), for a file that is no good. */
nb_status tuning_recall(nb_simulator *sim, struct plan *plan);

/* The same, and where none is known and compiled mode tunes the fastest. On a busy machine,
 * and for long calls, the estimate stays. Errors: NB_ERR_CANCELLED, those of the job and of
 * context_fall_back(). */
nb_status tuning_schedule(struct rehearsal *rehearsal, struct plan *plan);

/* Of an open strategy the one that is faster here, when compiled mode tunes: measured once
 * in a process, and saved in the tuning cache. */
nb_status tuning_strategy(nb_simulator *sim, const nb_scene *scene,
                          const struct phys_frame *frame);

/* The point spread of a simulator, with measured transforms when compiled mode tunes. */
nb_status tuning_psf(nb_simulator *sim, const nb_psf *psf, int nslow, int nfast);

#endif
