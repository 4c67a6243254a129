/*
 * cubin.h - a job that gets a kernel's code: from the disk if it was saved there, else from
 * NVRTC. The thread that has the context begins a job, any thread runs it, and the first
 * thread ends it and reports the result. All three may be the same thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_CUBIN_H
#define NB_COMPILE_JIT_CUBIN_H

#include "compile/jit/cubin_cache.h"

struct cubin_counts {
    /* hits: jobs whose code was found on disk; misses: jobs whose code was not. A job
     * without a folder counts as neither. */
    uint64_t hits, misses;
    /* damaged files found; files removed to keep within the limit */
    uint64_t damaged, removed;
    uint64_t built, failed; /* builds by NVRTC */
    uint64_t bytes_read, bytes_written; /* bytes of code */
    double seconds; /* time spent in NVRTC */
};

struct cubin_job {
    /* The request. The caller fills in text and options after cubin_job_begin(). */
    struct nvrtc_request request; /* text, options and time limit */
    unsigned donated; /* a bit for each donated array */
    int major, minor; /* compute capability of the device */
    /* the target of the code if NVRTC has it; as.compute 0: choose a target for the
     * device */
    struct gpu_code as;
    int driver; /* version of the device's driver, as gpu_properties.version */
    const char *nvrtc; /* file name of the library; NULL: where CUDA installs it */
    char folder[ENV_PATH]; /* the user's cache; "": the disk is not used */
    uint64_t limit; /* largest size of all files, bytes */

    /* The result. */
    nb_status status;
    struct cubin cubin; /* the code if status is NB_OK; release it by cubin_free() */
    struct nvrtc_target target;
    struct cubin_counts counts; /* counts of this job */
    int version[2]; /* version of NVRTC: major, minor */
    int without_limit; /* 1: this version of NVRTC cannot be stopped */
    char why[NVRTC_WHY]; /* why the job failed */
    /* why reading and writing the disk failed; "": no failure */
    char disk_error[2][STORE_WHY];
};

/* Initialise a job. If compiled mode is off, the job will not use the disk. */
void cubin_job_begin(const nb_context *ctx, struct cubin_job *job);

/* Run a job without touching a context. */
void cubin_job_run(struct cubin_job *job);

/* Log the result and add its counts to `total` (NULL: nowhere). Failures, also of the disk,
 * are reported by context_fall_back(), so that they give NB_OK unless NANOBRAG_STRICT=1;
 * job->cubin shows whether there is code. */
nb_status cubin_job_end(nb_context *ctx, const struct cubin_job *job,
                        struct cubin_counts *total);

#endif
