/*
 * cubin.h - a kernel built at run time: from the disk where it is kept, else by NVRTC. A
 * job is filled in by the thread that has the context, run by any thread, and ended by the
 * first again, which then says what came of it; all three may follow each other at once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_CUBIN_H
#define NB_COMPILE_JIT_CUBIN_H

#include "compile/jit/cubin_cache.h"

struct cubin_counts {
    uint64_t hits, misses; /* found on disk or not; a job without a folder counts neither */
    uint64_t damaged, removed; /* files no good; files that had to make room */
    uint64_t built, failed; /* by NVRTC */
    uint64_t bytes_read, bytes_written; /* of code */
    double seconds; /* in NVRTC */
};

struct cubin_job {
    /* what is wanted; cubin_job_begin() leaves these to the caller */
    struct nvrtc_request request; /* text and options; its time limit is the context's */
    unsigned donated; /* a bit for each donated array */
    int major, minor; /* compute capability of the device */
    const char *nvrtc; /* NULL: NVRTC where it is installed; tests have their own */
    char folder[ENV_PATH]; /* of the user's cache; "": nothing is read or kept */
    uint64_t limit; /* CUBIN_CACHE_LIMIT */

    /* what came of it */
    nb_status status;
    struct cubin cubin; /* with NB_OK; cubin_free() it */
    struct nvrtc_target target;
    struct cubin_counts counts; /* of this job */
    int version[2]; /* NVRTC's */
    int without_limit; /* NVRTC cannot be stopped */
    char why[NVRTC_WHY]; /* of a failure */
    char trouble[2][STORE_WHY]; /* with the disk, reading and writing; "": none */
};

/* A job that wants nothing yet; with compiled mode off the disk is left alone. */
void cubin_job_begin(const nb_context *ctx, struct cubin_job *job);

/* Do it, touching no context. */
void cubin_job_run(struct cubin_job *job);

/*
 * Say what came of it and add its counts to `total` (NULL: nowhere). What failed, the disk
 * too, is a context_fall_back() and so NB_OK, but for NANOBRAG_STRICT=1; whether there is
 * code job->cubin tells.
 */
nb_status cubin_job_end(nb_context *ctx, const struct cubin_job *job,
                        struct cubin_counts *total);

#endif
