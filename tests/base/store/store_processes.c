/*
 * store_processes.c - many processes at once, and processes that are killed.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/store/store_cases.h"
#include "support/files.h"
#include "support/tap.h"

static void nap(double seconds)
{
    const struct timespec length = {0, (long)(1e9 * seconds)};

    (void)nanosleep(&length, NULL);
}

/* ---- files without a lock ---- */

enum { KILLED = 40, EACH_OF_KILLED = 25 };

/* save one after the other and report each, until killed */
static void save_and_report(int from, int pipe_end)
{
    for (int i = from; i < from + EACH_OF_KILLED; i++)
        if (!saves(i, LARGE) || write(pipe_end, &i, sizeof i) != (ssize_t)sizeof i)
            _exit(1);
    for (;;) (void)pause();
}

/* A process that does so is killed a moment after its first report. Its last report. */
static int kill_one(void (*work)(int, int), int from, double moment)
{
    int ends[2], last = -1, next;
    pid_t child;

    if (pipe(ends) != 0) abort();
    child = fork();
    if (child == 0) work(from, ends[1]);
    (void)close(ends[1]);
    if (read(ends[0], &next, sizeof next) == (ssize_t)sizeof next) last = next;
    nap(moment);
    (void)kill(child, SIGKILL);
    while (read(ends[0], &next, sizeof next) == (ssize_t)sizeof next) last = next;
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    return last;
}

int killed_while_writing(void)
{
    int none = 0, saved = 0, lost = 0, damaged = 0, there = 0;

    begin_anew();
    store.limit = (uint64_t)KILLED * EACH_OF_KILLED * LARGE;
    for (int round = 0; round < KILLED; round++) {
        const int from = round * EACH_OF_KILLED;
        const int last = kill_one(save_and_report, from, 0.004 * round / KILLED);

        none += last < 0;
        for (int i = from; i <= last; i++, saved++) lost += loads(i, LARGE) != STORE_FOUND;
        for (int i = last + 1; i < from + EACH_OF_KILLED; i++) {
            const int state = loads(i, LARGE); /* saved, but not reported any more */

            there += state == STORE_FOUND;
            damaged += state != STORE_FOUND && state != STORE_ABSENT;
        }
    }
    tap_check(none == 0 && lost == 0 && damaged == 0,
              "%d of %d reported files lost, %d damaged, allowed 0", lost, saved, damaged);
    tap_note("%d unfinished files when %d processes had been killed",
             count_stored() - saved - there, (int)KILLED);
    return TAP_PASS;
}

/* all save or find the same, in an order of their own */
static int use_all(int from, int n)
{
    int failed = 0;

    for (int k = 0; k < n; k++) {
        const int number = (from + k) % n, state = loads(number, LARGE);

        failed += state != STORE_FOUND && state != STORE_ABSENT;
        failed += state == STORE_ABSENT && !saves(number, LARGE);
    }
    return failed;
}

int processes_at_once(void)
{
    enum { PROCESSES = 4, NUMBERS = 30 };
    int failed = 0, lost = 0;
    pid_t children[PROCESSES];

    begin_anew();
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) _exit(use_all(i % 2 * (NUMBERS / 2), NUMBERS));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        (void)waitpid(children[i], &status, 0);
        failed += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    for (int i = 0; i < NUMBERS; i++) lost += loads(i, LARGE) != STORE_FOUND;
    tap_check(failed == 0 && lost == 0 && count_stored() == NUMBERS,
              "%d failures, %d of %d lost, %d files", failed, lost, (int)NUMBERS,
              count_stored());
    return TAP_PASS;
}

int threads_at_once(void)
{
    enum { THREADS = 4, NUMBERS = 30 };
    const struct file file = {1, LARGE};
    unsigned char *bytes = contents_of(&file);
    int failed = 0;

    begin_anew();
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : failed)
    for (int t = 0; t < THREADS * NUMBERS; t++) {
        char own[STORE_WHY];
        struct store_bytes found;

        failed += !store_save(&store, "1.bin", bytes, LARGE, NULL, own);
        failed +=
            store_load(&store, "1.bin", file_sound, &file, &found, own) != STORE_FOUND;
        free(found.bytes);
    }
    tap_check(failed == 0 && count_stored() == 1, "%d failures, %d files", failed,
              count_stored());
    free(bytes);
    return TAP_PASS;
}
