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

/* ---- a file that is read, changed and saved with the lock: a list of numbers ---- */

/* 0: not added */
static int add_number(int number)
{
    char own[STORE_WHY];
    struct store_bytes found;
    const int lock = store_lock(&store, 60000, own);
    enum store_state state;
    int added = 0, *list;

    if (lock < 0) return 0;
    state = store_load(&store, "list.bin", NULL, NULL, &found, own);
    list = realloc(found.bytes, found.size + sizeof number);
    if (list && state <= STORE_ABSENT) {
        list[found.size / sizeof number] = number;
        added = store_save(&store, "list.bin", list, found.size + sizeof number, NULL, own);
    }
    store_unlock(lock);
    free(list);
    return added;
}

static int has_number(int number)
{
    struct store_bytes found;
    int has = 0;

    (void)store_load(&store, "list.bin", NULL, NULL, &found, why);
    for (size_t i = 0; i < found.size / sizeof number; i++)
        has += ((int *)found.bytes)[i] == number;
    free(found.bytes);
    return has == 1;
}

static void add_and_report(int from, int pipe_end)
{
    for (int i = from; i < from + EACH_OF_KILLED; i++)
        if (!add_number(i) || write(pipe_end, &i, sizeof i) != (ssize_t)sizeof i) _exit(1);
    for (;;) (void)pause();
}

int locked_updates(void)
{
    enum { PROCESSES = 4, EACH = 20, FIRST = 100000 };
    int lost = 0, none = 0, failed = 0, total = 0;
    pid_t children[PROCESSES];

    begin_anew();
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        for (int k = 0; k < EACH; k++) failed += !add_number(FIRST + EACH * i + k);
        _exit(failed);
    }
#pragma omp parallel for num_threads(4) schedule(static, 1) reduction(+ : failed)
    for (int t = 0; t < PROCESSES * EACH; t++) failed += !add_number(2 * FIRST + t);
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        (void)waitpid(children[i], &status, 0);
        failed += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    for (int k = 0; k < PROCESSES * EACH; k++)
        lost += !has_number(FIRST + k) + !has_number(2 * FIRST + k);
    tap_check(lost == 0 && failed == 0, "%d of %d numbers lost, %d failures", lost,
              2 * PROCESSES * EACH, failed);
    for (int round = 0; round < KILLED; round++) {
        const int from = round * EACH_OF_KILLED;
        const int last = kill_one(add_and_report, from, 0.01 * round / KILLED);

        none += last < 0;
        for (int i = from; i <= last; i++, total++) lost += !has_number(i);
    }
    tap_check(lost == 0 && none == 0, "%d of %d lost by those who were killed", lost,
              total);
    tap_check(add_number(2 * total), "none of them left it locked");
    return TAP_PASS;
}

int locked_by_another(void)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct timespec start, end;
    int ends[2], lock;
    char byte;
    pid_t child;

    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    put(in_folder("cache/store/lock"), "", 0);
    if (pipe(ends) != 0) abort();
    child = fork();
    if (child == 0) {
        const int fd = open(in_folder("cache/store/lock"), O_RDWR);

        if (fcntl(fd, F_SETLK, &whole) == 0) (void)!write(ends[1], "x", 1);
        for (;;) (void)pause();
    }
    (void)close(ends[1]);
    tap_check(read(ends[0], &byte, 1) == 1, "another process holds the lock");
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    check_state(store_lock(&store, 300, why), -1, "/lock: locked by another process");
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    tap_note("gave up after %.3f s; it waits for 0.3",
             (double)(end.tv_sec - start.tv_sec)
                 + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
    tap_check(loads(1, SIZE) == STORE_FOUND && saves(2, SIZE), "files need no lock");
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    (void)close(ends[0]);
    lock = store_lock(&store, 60000, why);
    tap_check(lock >= 0, "had when that process is gone");
    check_state(store_lock(&store, 10, why), -1, "/lock: locked by another thread");
    (void)remove(in_folder("cache/store/lock"));
    store_unlock(lock);
    lock = store_lock(&store, 60000, why);
    tap_check(lock >= 0, "and when its file was removed");
    store_unlock(lock);
    return TAP_PASS;
}
