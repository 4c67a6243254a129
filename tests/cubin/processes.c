/* processes.c - many at once, and those that are killed. SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cubin/cases.h"
#include "support/files.h"
#include "support/tap.h"

enum { LARGE = 200000 };

/* --get NUMBER FOUND: 0 when it came so */
int get_only(int argc, char **argv)
{
    int good;

    if (argc != 4 || nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 3;
    good = obtains((int)strtol(argv[2], NULL, 10), SIZE, strcmp(argv[3], "1") == 0)
           && ctx->fallbacks == 0;
    nb_context_free(ctx);
    return good ? 0 : 1;
}

/* this program again, which finds the folder by the environment */
int second_process(void)
{
    int status = -1;
    pid_t child;

    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    for (int i = 0; i < 3; i++) {
        child = fork();
        if (child == 0) {
            (void)setenv("NANOBRAG_CACHE_DIR", ctx->env.cache_dir, 1);
            (void)execl("/proc/self/exe", "test_cubin", "--get", i == 0 ? "1" : "2",
                        i == 1 ? "0" : "1", (char *)NULL);
            _exit(127);
        }
        (void)waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
            return tap_skip("no /proc to start this program by");
        tap_check(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  i == 1 ? "another process makes what is not there" : "and finds what is");
    }
    tap_check(obtains(2, SIZE, 1), "what it made is found here");
    return TAP_PASS;
}

/* all of them stay below CUBIN_CACHE_LIMIT */
enum { KILLED = 40, EACH_OF_KILLED = 25 };

/* make one after the other and report each that is kept, until killed */
static void make_and_report(int from, int pipe_end)
{
    for (int i = from; i < from + EACH_OF_KILLED; i++) {
        prepare(i, LARGE);
        cubin_job_run(&job);
        cubin_free(&job.cubin);
        if (job.counts.bytes_written != LARGE
            || write(pipe_end, &i, sizeof i) != (ssize_t)sizeof i)
            _exit(1);
    }
    for (;;) (void)pause();
}

/* as above; killed at some moment after its first report. The last that it reported. */
static int kill_maker(int from, double moment)
{
    const struct timespec length = {0, (long)(1e9 * moment)};
    int ends[2], last = -1, next;
    pid_t child;

    if (pipe(ends) != 0) abort();
    child = fork();
    if (child == 0) make_and_report(from, ends[1]);
    (void)close(ends[1]);
    if (read(ends[0], &next, sizeof next) == (ssize_t)sizeof next) last = next;
    (void)nanosleep(&length, NULL);
    (void)kill(child, SIGKILL);
    while (read(ends[0], &next, sizeof next) == (ssize_t)sizeof next) last = next;
    (void)close(ends[0]);
    (void)waitpid(child, NULL, 0);
    return last;
}

int killed_while_writing(void)
{
    int none = 0, made = 0, lost = 0, wrong = 0, left;

    begin_anew();
    for (int round = 0; round < KILLED; round++) {
        const int from = round * EACH_OF_KILLED;
        const int last = kill_maker(from, 0.004 * round / KILLED);

        none += last < 0;
        for (int i = from; i <= last; i++, made++) lost += !obtains(i, LARGE, 1);
    }
    left = count_cubins() - made;
    /* one that was written but not reported may be there, or is made */
    for (int round = 0; round < KILLED; round++) {
        prepare((round + 1) * EACH_OF_KILLED - 1, LARGE);
        wrong += run() != NB_OK || job.cubin.size != LARGE;
        cubin_free(&job.cubin);
    }
    tap_check(none == 0 && lost == 0 && wrong == 0 && total.damaged == 0,
              "%d of %d reported ones lost, %d damaged, allowed 0", lost, made,
              (int)total.damaged);
    tap_note("%d other files when %d processes had been killed", left, (int)KILLED);
    check_fallbacks(0, "");
    return TAP_PASS;
}

/* all make or find the same, in their own order */
static int get_all(int from, int n)
{
    int failed = 0;

    for (int k = 0; k < n; k++) {
        prepare((from + k) % n, LARGE);
        cubin_job_run(&job);
        failed += job.status != NB_OK || job.cubin.size != LARGE || job.counts.damaged > 0
                  || job.disk_error[0][0] || job.disk_error[1][0];
        cubin_free(&job.cubin);
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
        if (children[i] == 0) _exit(get_all(i % 2 * (NUMBERS / 2), NUMBERS));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        (void)waitpid(children[i], &status, 0);
        failed += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    for (int i = 0; i < NUMBERS; i++) lost += !obtains(i, LARGE, 1);
    tap_check(failed == 0 && lost == 0 && count_cubins() == NUMBERS,
              "%d failures, %d of %d lost, %d files", failed, lost, (int)NUMBERS,
              count_cubins());
    check_fallbacks(0, "");
    return TAP_PASS;
}

int threads_at_once(void)
{
    enum { THREADS = 4, NUMBERS = 30 };
    int failed = 0, lost = 0;

    begin_anew();
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : failed)
    for (int t = 0; t < THREADS * NUMBERS; t++) {
        struct cubin_job *own = malloc(sizeof *own);

        if (!own) abort();
#pragma omp critical
        {
            prepare(t / THREADS, LARGE);
            *own = job;
        }
        cubin_job_run(own);
        failed += own->status != NB_OK || own->cubin.size != LARGE
                  || own->counts.damaged > 0 || own->disk_error[0][0]
                  || own->disk_error[1][0];
        cubin_free(&own->cubin);
        free(own);
    }
    for (int i = 0; i < NUMBERS; i++) lost += !obtains(i, LARGE, 1);
    tap_check(failed == 0 && lost == 0 && count_cubins() == NUMBERS,
              "%d failures, %d of %d lost, %d files", failed, lost, (int)NUMBERS,
              count_cubins());
    return TAP_PASS;
}
