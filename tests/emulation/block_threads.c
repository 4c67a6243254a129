/* block_threads.c - see block_threads.h. SPDX-License-Identifier: MIT */
#include "emulation/block_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 128, WARP = 32 };

int block_lost_step, block_lost_warp_step;

static pthread_barrier_t block, warp[THREADS / WARP];
static _Thread_local int thread, steps, warp_steps;
static int steps_of_last, warp_steps_of_last;
static atomic_int races;

/* What the sanitizer calls by these names: at each report, and for its options, so that
 * every race is reported. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */
__attribute__((visibility("default"))) void __tsan_on_report(void *report);
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

/* what it has: threads wait for each other, and it does not see it */
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);

void __tsan_on_report(void *report)
{
    (void)report;
    (void)atomic_fetch_add(&races, 1);
}

const char *__tsan_default_options(void)
{
    return "symbolize=0:suppress_equal_stacks=0:suppress_equal_addresses=0";
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming) */

int block_races(void)
{
    return atomic_exchange(&races, 0);
}

int block_steps(void)
{
    return steps_of_last;
}

int block_warp_steps(void)
{
    return warp_steps_of_last;
}

int block_thread(void)
{
    return thread;
}

/* They wait where it is lost all the same: a thread that did not could read an index that
 * is none. */
static void wait_at(pthread_barrier_t *barrier, int lost)
{
    if (lost) AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    (void)pthread_barrier_wait(barrier);
    if (lost) AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}

void block_wait_warp(void)
{
    wait_at(warp + thread / WARP, ++warp_steps == block_lost_warp_step);
}

void block_wait(void)
{
    wait_at(&block, ++steps == block_lost_step);
}

/* what a thread is started with */
struct start {
    block_body *body;
    const void *parameters;
    int number, thread;
};

static void *run(void *from)
{
    const struct start *start = from;

    thread = start->thread;
    start->body(start->parameters, start->number);
    if (thread == 0) {
        steps_of_last = steps;
        warp_steps_of_last = warp_steps;
    }
    return NULL;
}

void block_run(block_body *body, const void *parameters, int number)
{
    pthread_t id[THREADS];
    struct start start[THREADS];

    if (pthread_barrier_init(&block, NULL, THREADS) != 0) abort();
    for (int i = 0; i < THREADS / WARP; i++)
        if (pthread_barrier_init(warp + i, NULL, WARP) != 0) abort();
    for (int i = 0; i < THREADS; i++) {
        start[i] = (struct start){body, parameters, number, i};
        if (pthread_create(id + i, NULL, run, start + i) != 0) abort();
    }
    for (int i = 0; i < THREADS; i++) (void)pthread_join(id[i], NULL);
    (void)pthread_barrier_destroy(&block);
    for (int i = 0; i < THREADS / WARP; i++) (void)pthread_barrier_destroy(warp + i);
}
