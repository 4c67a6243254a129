/*
 * cubin.c - loads a kernel from disk, or builds it by NVRTC and saves it to disk.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/cubin.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

void cubin_job_begin(const nb_context *ctx, struct cubin_job *job)
{
    memset(job, 0, sizeof *job);
    job->request.timeout = ctx->env.compile_timeout;
    job->limit = CUBIN_CACHE_LIMIT;
    if (context_compile(ctx) != NB_COMPILE_OFF)
        memcpy(job->folder, ctx->env.cache_dir, sizeof job->folder);
}

/* Load the code from disk. Returns 1 if it was found. */
static int load_saved(struct cubin_job *job, const unsigned char key[CUBIN_KEY])
{
    const enum store_state state =
        cubin_load(job->folder, key, &job->cubin, job->disk_error[0]);

    job->counts.hits = state == STORE_FOUND;
    job->counts.misses = state != STORE_FOUND;
    job->counts.damaged = state == STORE_DAMAGED;
    if (state == STORE_FOUND) job->counts.bytes_read = job->cubin.size;
    return state == STORE_FOUND;
}

void cubin_job_run(struct cubin_job *job)
{
    unsigned char key[CUBIN_KEY];
    struct nvrtc nvrtc;
    double start;

    job->status = nvrtc_open(job->nvrtc, job->driver, &nvrtc, job->why);
    if (job->status == NB_OK) {
        job->version[0] = nvrtc.major;
        job->version[1] = nvrtc.minor;
        if (!nvrtc_aim_at(&nvrtc, &job->as, &job->target))
            job->status = nvrtc_aim(&nvrtc, job->major, job->minor, &job->target, job->why);
    }
    if (job->status != NB_OK) {
        job->counts.failed = 1;
        return;
    }
    cubin_key(&nvrtc, &job->request, job->donated, &job->target, key);
    if (job->folder[0] && load_saved(job, key)) return;
    job->without_limit = !nvrtc.set_callback;
    start = nvrtc_seconds();
    job->status = nvrtc_build(&nvrtc, &job->request, &job->target, &job->cubin, job->why);
    job->counts.seconds = nvrtc_seconds() - start;
    job->counts.built = job->status == NB_OK;
    job->counts.failed = job->status != NB_OK;
    if (job->status == NB_OK && job->folder[0]
        && cubin_save(job->folder, job->limit, key, &job->cubin, &job->counts.removed,
                      job->disk_error[1]))
        job->counts.bytes_written = job->cubin.size;
}

static void add_counts(struct cubin_counts *total, const struct cubin_counts *counts)
{
    total->hits += counts->hits;
    total->misses += counts->misses;
    total->damaged += counts->damaged;
    total->removed += counts->removed;
    total->built += counts->built;
    total->failed += counts->failed;
    total->bytes_read += counts->bytes_read;
    total->bytes_written += counts->bytes_written;
    total->seconds += counts->seconds;
}

static void log_results(const nb_context *ctx, const struct cubin_job *job)
{
    const char *text = job->request.text->name, *target = job->target.name;
    const struct cubin_counts *counts = &job->counts;

    if (counts->hits > 0)
        log_topic(ctx, TOPIC_CACHE, "cubin read from disk: %s for %s, %zu bytes", text,
                  target, job->cubin.size);
    if (counts->misses > 0)
        log_topic(ctx, TOPIC_CACHE, "cubin not found: %s for %s", text, target);
    if (counts->built > 0)
        log_topic(ctx, TOPIC_HOTPATH, "NVRTC %d.%d built %s for %s in %.2f s, %zu bytes%s",
                  job->version[0], job->version[1], text, target, counts->seconds,
                  job->cubin.size,
                  job->without_limit ? "; this version has no time limit" : "");
    if (counts->removed > 0)
        log_topic(ctx, TOPIC_CACHE, "cubins removed to keep within the limit: %d",
                  (int)counts->removed);
    if (counts->bytes_written > 0)
        log_topic(ctx, TOPIC_CACHE, "cubin saved: %s for %s", text, target);
}

nb_status cubin_job_end(nb_context *ctx, const struct cubin_job *job,
                        struct cubin_counts *total)
{
    nb_status status = NB_OK;

    if (total) add_counts(total, &job->counts);
    log_results(ctx, job);
    for (int i = 0; i < 2; i++) {
        if (!job->disk_error[i][0]) continue;
        log_topic(ctx, TOPIC_CACHE, "%s", job->disk_error[i]);
        status = context_fall_back(ctx, "%s", job->disk_error[i]);
    }
    if (job->status != NB_OK) status = context_fall_back(ctx, "%s", job->why);
    return status;
}
