/*
 * cubin.h - a kernel built at run time: loaded from the disk where it was saved, else built
 * by NVRTC. The thread that has the context prepares a job, any thread runs it, and the
 * first one ends it and reports the result. All three may be the same thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_CUBIN_H
#define NB_COMPILE_JIT_CUBIN_H

#include "compile/jit/cubin_cache.h"

struct cubin_counts {
    uint64_t hits, misses; /* found on disk or not; a job without a folder counts neither */
    /* damaged files found; files removed to keep within the limit */
    uint64_t damaged, removed;
    uint64_t built, failed; /* by NVRTC */
    uint64_t bytes_read, bytes_written; /* of code */
    double seconds; /* in NVRTC */
};

struct cubin_job {
    /* The request; cubin_job_begin() leaves the text and options to the caller. */
    struct nvrtc_request request; /* text and options; its time limit is the context's */
    unsigned donated; /* a bit for each donated array */
    int major, minor; /* compute capability of the device */
    struct gpu_code as; /* the target, if NVRTC has it; compute 0: the device's own */
    int driver; /* version of the device's driver, as gpu_properties.version */
    const char *nvrtc; /* name of the library; NULL: where NVRTC is installed */
    char folder[ENV_PATH]; /* of the user's cache; "": the disk is not used */
    uint64_t limit; /* CUBIN_CACHE_LIMIT */

    /* The result. */
    nb_status status;
    struct cubin cubin; /* valid with NB_OK; to be released by cubin_free() */
    struct nvrtc_target target;
    struct cubin_counts counts; /* of this job */
    int version[2]; /* of NVRTC: major, minor */
    int without_limit; /* 1: this NVRTC cannot be stopped */
    char why[NVRTC_WHY]; /* the reason of a failure */
    char disk_error[2][STORE_WHY]; /* failures of reading and writing the disk; "": none */
};

/* Initialise a job. With compiled mode off it will not use the disk. */
void cubin_job_begin(const nb_context *ctx, struct cubin_job *job);

/* Run the job without touching any context. */
void cubin_job_run(struct cubin_job *job);

/*
 * Log the result and add its counts to `total` (NULL: nowhere). Failures, of the disk too,
 * are reported by context_fall_back() and so give NB_OK unless NANOBRAG_STRICT=1;
 * job->cubin shows whether there is code.
 */
nb_status cubin_job_end(nb_context *ctx, const struct cubin_job *job,
                        struct cubin_counts *total);

#endif
