/*
 * tuning_cache_processes.c - many threads and processes that use the cache at once.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compile/tune/tuning_cache_cases.h"
#include "support/files.h"
#include "support/tap.h"

int find_only(int argc, char **argv)
{
    int good = 0;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 3;
    for (int i = 2; i < argc; i++) good += finds((int)strtol(argv[i], NULL, 10));
    tuning_cache_forget();
    nb_context_free(ctx);
    return good == argc - 2 ? 0 : 1;
}

/* ---- threads, each with a context of its own; the file is there or is not ---- */

/* Save from all threads at once, which share one folder, or two in turn. */
static void check_threads(int folders)
{
    enum { THREADS = 4, KEYS = 40 };
    const char *const paths[] = {in_folder("cache"), in_folder("second")};
    int failed = 0, differ = 0, ruling[THREADS][KEYS] = {{0}};

    begin_anew();
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : failed)
    for (int t = 0; t < THREADS; t++) {
        nb_context *own = NULL;

        failed += nb_context_create(NB_API_VERSION, NULL, &own) != NB_OK;
        (void)snprintf(own->env.cache_dir, sizeof own->env.cache_dir, "%s",
                       paths[t % folders]);
        for (int i = 0; i < KEYS; i++) {
            struct tuning_entry entry = entry_of(t), found = {0};
            char key[32];

            /* half of the keys are everybody's */
            (void)snprintf(key, sizeof key, i % 2 ? "ours %d" : "own %d %d", i, t);
            failed += tuning_cache_save(own, key, &entry, 1) != NB_OK;
            failed +=
                !tuning_cache_find(own, key, &found) || found.threads != entry.threads;
            ruling[t][i] = entry.threads;
        }
        nb_context_free(own);
    }
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < KEYS; i++)
            differ +=
                ruling[t][i] != (i % 2 ? ruling[t % folders][i] : entry_of(t).threads);
    tap_check(failed == 0 && differ == 0,
              "%d folders: %d calls failed, %d entries differ between threads, allowed 0",
              folders, failed, differ);
    tap_check(count_entries() == KEYS / 2 * (1 + THREADS / folders),
              "%d entries in the file of the first", count_entries());
}

int threads_at_once(void)
{
    for (int folders = 1; folders <= 2; folders++) check_threads(folders);
    return TAP_PASS;
}

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void nap(double time)
{
    const struct timespec length = {0, (long)(1e9 * time)};

    (void)nanosleep(&length, NULL);
}

/* this program again, which finds the folder by the environment */
int second_process(void)
{
    int status = -1;
    pid_t child;

    begin_anew();
    check_ok(save(1), "save");
    check_ok(save(2), "save");
    for (int i = 0; i < 2; i++) {
        child = fork();
        if (child == 0) {
            (void)setenv("NANOBRAG_CACHE_DIR", ctx->env.cache_dir, 1);
            (void)execl("/proc/self/exe", "test_tuning_cache", "--find", "1", i ? "3" : "2",
                        (char *)NULL);
            _exit(127);
        }
        (void)waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
            return tap_skip("no /proc to start this program by");
        tap_check(WIFEXITED(status) && WEXITSTATUS(status) == i,
                  i ? "what was not saved is not there" : "both are there");
    }
    return TAP_PASS;
}

enum { EACH = 20, MORE = 50 };

/* Save EACH entries. What a lock that is not had in time leaves unwritten goes with the
 * next one, so that there are some more if it was so with the last. Returns how many. */
static int save_each(int from)
{
    int n = 0;
    uint64_t before = 0;

    tuning_cache_forget();
    while (n < EACH || (ctx->fallbacks > before && n < EACH + MORE)) {
        before = ctx->fallbacks;
        if (save(from + n) != NB_OK) return 100;
        nap(0.001);
        n++;
    }
    return n - EACH;
}

int processes_at_once(void)
{
    for (int n = 2; n <= 4; n += 2) {
        const double start = seconds();
        int lost = 0, more = 0, status;
        pid_t children[4];

        begin_anew();
        for (int i = 0; i < n; i++) {
            children[i] = fork();
            if (children[i] == 0) _exit(save_each(100 * i));
        }
        for (int i = 0; i < n; i++) {
            (void)waitpid(children[i], &status, 0);
            more += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
        }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < EACH; k++) lost += !file_holds(100 * i + k);
        tap_check(lost == 0, "%d processes: %d of %d entries lost, allowed 0", n, lost,
                  n * EACH);
        tap_check(count_entries() == n * EACH + more, "%d entries in the file",
                  count_entries());
        tap_note("%d more because the lock was not had in a second; %.3f s", more,
                 seconds() - start);
    }
    return TAP_PASS;
}
