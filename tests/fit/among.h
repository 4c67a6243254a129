/*
 * among.h - threads that stand for the processes of nb_fit_run_among().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_FIT_AMONG_H
#define NB_TESTS_FIT_AMONG_H

#include <nanobrag/nanobrag.h>

enum { AMONG_MOST = 8 };

/* Runs fits, each of a context of its own, as one process each, and sets their statuses.
 * NULL: a process without a fit. Exchanges fail from number `fails_at` on; 0: none. */
struct among {
    int n;
    nb_fit *fit[AMONG_MOST];
    nb_status status[AMONG_MOST];
    int fails_at;
};

void among_run(struct among *among);

#endif
