/* among.c - see among.h. SPDX-License-Identifier: MIT */
#include "fit/among.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct process {
    struct among *among;
    struct meeting *meeting;
    int rank, calls;
};

struct meeting {
    pthread_barrier_t barrier;
    double *handed[AMONG_MOST];
    size_t n[AMONG_MOST];
};

/* Adds up in another order in each call. */
static int exchange(void *user, double *numbers, size_t n)
{
    struct process *p = user;
    struct meeting *m = p->meeting;
    const int ranks = p->among->n, first = p->calls++ % ranks;
    double *sum = malloc((n + 1) * sizeof *sum);

    if (!sum) abort();
    m->handed[p->rank] = numbers;
    m->n[p->rank] = n;
    (void)pthread_barrier_wait(&m->barrier);
    memcpy(sum, m->handed[first], n * sizeof *sum);
    for (int k = 1; k < ranks; k++) {
        const int other = (first + k) % ranks;

        if (m->n[other] != n) abort();
        for (size_t i = 0; i < n; i++) sum[i] += m->handed[other][i];
    }
    (void)pthread_barrier_wait(&m->barrier);
    memcpy(numbers, sum, n * sizeof *sum);
    free(sum);
    return p->among->fails_at > 0 && p->calls >= p->among->fails_at;
}

static void *run(void *user)
{
    struct process *p = user;
    struct among *among = p->among;

    among->status[p->rank] =
        nb_fit_run_among(among->fit[p->rank], p->rank, among->n, exchange, p);
    return NULL;
}

void among_run(struct among *among)
{
    struct meeting meeting;
    struct process process[AMONG_MOST];
    pthread_t thread[AMONG_MOST];

    if (pthread_barrier_init(&meeting.barrier, NULL, (unsigned)among->n)) abort();
    for (int i = 0; i < among->n; i++) {
        process[i] = (struct process){among, &meeting, i, 0};
        if (pthread_create(thread + i, NULL, run, process + i)) abort();
    }
    for (int i = 0; i < among->n; i++)
        if (pthread_join(thread[i], NULL)) abort();
    (void)pthread_barrier_destroy(&meeting.barrier);
}
