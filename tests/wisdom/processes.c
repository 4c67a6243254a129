/* processes.c - many at once, and those that are killed. SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/files.h"
#include "support/tap.h"
#include "wisdom/cases.h"

int recall_only(int argc, char **argv)
{
    int good = 0;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 3;
    for (int i = 2; i < argc; i++) good += recalls((int)strtol(argv[i], NULL, 10));
    wisdom_forget();
    nb_context_free(ctx);
    return good == argc - 2 ? 0 : 1;
}

/* ---- threads, each with a context of its own; the file is there or is not ---- */

int threads_at_once(void)
{
    enum { THREADS = 4, KEYS = 40 };
    int failed = 0, differ = 0, ruling[THREADS][KEYS] = {{0}};

    begin_anew();
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : failed)
    for (int t = 0; t < THREADS; t++) {
        nb_context *own = NULL;

        failed += nb_context_create(NB_API_VERSION, NULL, &own) != NB_OK;
        memcpy(own->env.cache_dir, ctx->env.cache_dir, sizeof own->env.cache_dir);
        for (int i = 0; i < KEYS; i++) {
            struct finding finding = finding_of(t), found = {0};
            char key[32];

            /* half of the keys are everybody's */
            (void)snprintf(key, sizeof key, i % 2 ? "ours %d" : "own %d %d", i, t);
            failed += wisdom_keep(own, key, &finding, 1) != NB_OK;
            failed += !wisdom_recall(own, key, RIGOUR_MEASURED, 1, &found)
                      || found.threads != finding.threads;
            ruling[t][i] = finding.threads;
        }
        nb_context_free(own);
    }
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < KEYS; i++)
            differ += ruling[t][i] != (i % 2 ? ruling[0][i] : finding_of(t).threads);
    tap_check(failed == 0 && differ == 0,
              "%d calls failed, %d findings differ between threads, allowed 0", failed,
              differ);
#ifdef NANOBRAG_CJSON
    check_file(KEYS / 2 * (1 + THREADS), 0);
#endif
    return TAP_PASS;
}

#ifdef NANOBRAG_CJSON

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
    check_ok(keep(1), "keep");
    check_ok(keep(2), "keep");
    for (int i = 0; i < 2; i++) {
        child = fork();
        if (child == 0) {
            (void)setenv("NANOBRAG_CACHE_DIR", ctx->env.cache_dir, 1);
            (void)execl("/proc/self/exe", "test_wisdom", "--recall", "1", i ? "3" : "2",
                        (char *)NULL);
            _exit(127);
        }
        (void)waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
            return tap_skip("no /proc to start this program by");
        tap_check(WIFEXITED(status) && WEXITSTATUS(status) == i,
                  i ? "what was not kept is not there" : "both are there");
    }
    return TAP_PASS;
}

enum { EACH_OF_KILLED = 40 };

/* keep one after the other and report each that is in the file, until killed */
static void keep_and_report(int from, int pipe_end)
{
    wisdom_forget();
    for (int i = from; i < from + EACH_OF_KILLED; i++) {
        const uint64_t before = ctx->fallbacks;

        if (keep(i) == NB_OK && ctx->fallbacks == before
            && write(pipe_end, &i, sizeof i) != (ssize_t)sizeof i)
            _exit(1);
    }
    for (;;) (void)pause();
}

/* as above; killed at some moment after its first report. How many reports. */
static int kill_keeper(int from, double moment, int *reported, int most)
{
    int ends[2], n = 0;
    pid_t child;

    if (pipe(ends) != 0) abort();
    child = fork();
    if (child == 0) keep_and_report(from, ends[1]);
    (void)close(ends[1]);
    if (read(ends[0], &reported[0], sizeof *reported) == (ssize_t)sizeof *reported) n = 1;
    nap(moment);
    (void)kill(child, SIGKILL);
    while (n > 0 && n < most
           && read(ends[0], &reported[n], sizeof *reported) == (ssize_t)sizeof *reported)
        n++;
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    return n;
}

int killed_while_writing(void)
{
    enum { ROUNDS = 60 };
    static int reported[ROUNDS][EACH_OF_KILLED];
    const double start = seconds();
    int total = 0, lost = 0, damaged = 0, left = 0, none = 0;

    begin_anew();
    for (int round = 0; round < ROUNDS; round++) {
        const double moment = 0.01 * round / ROUNDS;
        const int n =
            kill_keeper(round * EACH_OF_KILLED, moment, reported[round], EACH_OF_KILLED);
        int findings, texts;

        none += n == 0;
        total += n;
        damaged += !file_is_good(&findings, &texts);
        left += access(in_folder("cache/wisdom.json.tmp"), F_OK) == 0;
        lost += n > 0 && !file_holds(reported[round][n - 1]);
        for (int i = 0; i < n; i += 1 + n / 8) lost += !file_holds(reported[round][i]);
    }
    tap_check(none == 0 && damaged == 0, "%d of %d processes killed left a damaged file",
              damaged, (int)ROUNDS);
    tap_check(lost == 0, "%d of %d findings that were reported are lost, allowed 0", lost,
              total);
    tap_note("%d of them left a temporary file; %.1f s", left, seconds() - start);
    next_process();
    check_ok(keep(ROUNDS * EACH_OF_KILLED), "keep after them");
    check_fallbacks(0, "");
    tap_check(access(in_folder("cache/wisdom.json.tmp"), F_OK) != 0, "none is left");
    return TAP_PASS;
}

enum { EACH = 20, MORE = 50 };

/* Keep EACH findings. What a lock that is not had in time leaves unwritten goes with the
 * next one, so that there are some more if it was so with the last. Returns how many. */
static int keep_each(int from)
{
    int n = 0;
    uint64_t before = 0;

    wisdom_forget();
    while (n < EACH || (ctx->fallbacks > before && n < EACH + MORE)) {
        before = ctx->fallbacks;
        if (keep(from + n) != NB_OK) return 100;
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
            if (children[i] == 0) _exit(keep_each(100 * i));
        }
        for (int i = 0; i < n; i++) {
            (void)waitpid(children[i], &status, 0);
            more += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
        }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < EACH; k++) lost += !file_holds(100 * i + k);
        tap_check(lost == 0, "%d processes: %d of %d findings lost, allowed 0", n, lost,
                  n * EACH);
        check_file(n * EACH + more, 0);
        tap_note("%d more because the lock was not had in a second; %.3f s", more,
                 seconds() - start);
    }
    return TAP_PASS;
}

int locked_by_another(void)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int ends[2];
    char byte;
    double took;
    pid_t child;

    begin_anew();
    check_ok(keep(1), "keep");
    if (pipe(ends) != 0) abort();
    child = fork();
    if (child == 0) {
        const int fd = open(in_folder("cache/wisdom.lock"), O_RDWR);

        if (fcntl(fd, F_SETLK, &whole) == 0) (void)!write(ends[1], "x", 1);
        for (;;) (void)pause();
    }
    (void)close(ends[1]);
    tap_check(read(ends[0], &byte, 1) == 1, "another process holds the lock");
    took = -seconds();
    check_ok(keep(2), "keep");
    took += seconds();
    tap_note("gave up after %.2f s; it waits for one", took);
    check_fallbacks(1, "/wisdom.lock: locked by another process");
    tap_check(!file_holds(2) && recalls(2), "kept for the process");
    took = -seconds();
    check_ok(keep(4), "keep another");
    took += seconds();
    tap_note("not so patient a second time: %.3f s", took);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    (void)close(ends[0]);
    check_ok(keep(3), "keep when it is gone");
    for (int i = 1; i <= 4; i++) tap_check(file_holds(i), "the file holds number %d", i);
    tap_check(ctx->fallbacks >= 2, "%d fallbacks, at least 2", (int)ctx->fallbacks);
    return TAP_PASS;
}

#endif
