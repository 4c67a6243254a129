/*
 * cubin_disk.c - what this store adds to the one of tests/base/store/test_store.c: the key,
 * the header, and the reports and counts of a job.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/jit/build.h"
#include "compile/jit/cubin_cases.h"
#include "physics/spec.h"
#include "support/files.h"
#include "support/tap.h"

enum { SMALL = 100 };

/* ---- files that are no good ---- */

/* what must happen to a file that is no good: said, counted, replaced */
static int is_replaced(int size)
{
    const uint64_t before = ctx->fallbacks, damaged = total.damaged;

    return obtains(1, size, 0) && ctx->fallbacks == before + 1
           && total.damaged == damaged + 1 && obtains(1, size, 1)
           && ctx->fallbacks == before + 1;
}

int damaged_anywhere(void)
{
    static const size_t lengths[] = {0, 1, 63, 64, 65, 100, CUBIN_HEADER + SMALL - 1};
    char path[400];
    size_t n, replaced = 0;
    char *bytes;

    begin_anew();
    tap_check(obtains(1, SMALL, 0), "made");
    (void)snprintf(path, sizeof path, "%s", in_folder(only_file()));
    bytes = slurp(path, &n);
    tap_check(n == CUBIN_HEADER + SMALL, "a file of %zu bytes", n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)(bytes[i] ^ (int)(1U << i % 8));
        put(path, bytes, n);
        bytes[i] = (char)(bytes[i] ^ (int)(1U << i % 8));
        replaced += (size_t)is_replaced(SMALL);
        replaced -= (size_t)!holds(path, bytes, n);
    }
    tap_check(replaced == n, "%zu of %zu damaged files are made anew", replaced, n);
    check_fallbacks((int)n, "cubin: removed, for it is damaged");
    for (size_t i = 0; i < COUNT(lengths); i++) {
        put(path, bytes, lengths[i]);
        tap_check(is_replaced(SMALL), "%zu bytes are made anew", lengths[i]);
    }
    bytes[n] = 'x';
    put(path, bytes, n + 1);
    tap_check(is_replaced(SMALL), "one byte more");
    free(bytes);
    return TAP_PASS;
}

/* whole, but code of something else */
int under_another_key(void)
{
    char path[400];
    size_t n;
    char *bytes;

    begin_anew();
    tap_check(obtains(2, SMALL, 0), "made");
    bytes = slurp(in_folder(only_file()), &n);
    begin_anew();
    tap_check(obtains(1, SMALL, 0), "made");
    (void)snprintf(path, sizeof path, "%s", in_folder(only_file()));
    tap_check(strlen(only_file()) == strlen("cache/cubins/") + 64 + strlen(".cubin"),
              "named by its key: %s", only_file());
    put(path, bytes, n);
    tap_check(is_replaced(SMALL), "is not taken");
    free(bytes);
    return TAP_PASS;
}

/* ---- a store that cannot be used, and its limits ---- */

/* both troubles of a job are said: with reading, and with writing */
int folder_refused(void)
{
    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    (void)chmod(in_folder("cache/cubins"), 0770);
    for (int i = 0; i < 2; i++) {
        tap_check(obtains(1, SIZE, 0), "made each time");
        check_fallbacks(2 * (i + 1), "/cubins: not used: other users can write it");
    }
    ctx->env.strict = 1;
    prepare(1, SIZE);
    check_refused(run(), NB_ERR_UNSUPPORTED, "other users can write", "NANOBRAG_STRICT=1");
    tap_check(job.status == NB_OK && job.cubin.size == SIZE, "the code is there");
    cubin_free(&job.cubin);
    (void)chmod(in_folder("cache/cubins"), 0700);
    tap_check(obtains(1, SIZE, 1), "it was there all the time");
    return TAP_PASS;
}

int limit_of_the_folder(void)
{
    enum { FILE_SIZE = CUBIN_HEADER + SIZE };

    begin_anew();
    for (int i = 0; i < 4; i++) tap_check(obtains(i, SIZE, 0), "made");
    prepare(4, SIZE);
    job.limit = (uint64_t)2 * FILE_SIZE;
    check_ok(run(), "with space for two");
    tap_check(job.counts.removed == 3 && job.counts.bytes_written == SIZE
                  && total.removed == 3 && count_cubins() == 2,
              "%d removed expected 3", (int)job.counts.removed);
    cubin_free(&job.cubin);
    tap_check(obtains(4, SIZE, 1), "the last one is there");
    check_fallbacks(0, "");
    return TAP_PASS;
}

int too_large(void)
{
    begin_anew();
    prepare(1, SIZE);
    job.limit = SIZE;
    check_ok(run(), "more than the limit");
    cubin_free(&job.cubin);
    check_fallbacks(1, ".cubin: cannot write: File too large");
    tap_check(obtains(2, CUBIN_MOST - CUBIN_HEADER + 1, 0), "more than a file may have");
    check_fallbacks(2, ".cubin: cannot write: File too large");
    tap_check(access(in_folder("cache"), F_OK) != 0, "nothing is saved");
    return TAP_PASS;
}

/* ---- many at once ---- */

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

int threads_at_once(void)
{
    enum { THREADS = 4, NUMBERS = 30, LARGE = 200000 };
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

/* A kernel is built on a thread of its own, which is asked whether it is done; and one that
 * is stopped meanwhile. */
int background_thread(void)
{
    static const struct gpu_properties properties = {.major = 9};
    static const struct gpu_kernel kernel = {GPU_IMAGE, PHYS_SQUARE, PHYS_NEAREST, 0, NULL};
    static struct build build;

    ctx->nvrtc = FAKE_NVRTC;
    for (int slow = 0; slow < 2; slow++) {
        begin_anew();
        build_begin(ctx, &properties, "gpu/text/kernels.cu", &kernel, &build);
        if (slow) nvrtc_option(&build.job.request, "-DSLOW");
        tap_check(build_start(&build) == 0, "started");
        while (!slow && !atomic_load(&build.done)) (void)sched_yield();
        build_join(&build, slow);
        (void)cubin_job_end(ctx, &build.job, &total);
        tap_check((build.job.cubin.bytes != NULL) == !slow
                      && (count_cubins() == 1) == !slow,
                  "%s: %d file", slow ? "stopped" : "built", count_cubins());
        cubin_free(&build.job.cubin);
    }
    ctx->nvrtc = NULL;
    return TAP_PASS;
}
