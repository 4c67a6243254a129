/* cubin_cases.c - see cubin_cases.h. SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include "compile/jit/cubin_cases.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "support/files.h"
#include "support/tap.h"

struct cubin_job job;
struct cubin_counts total;

static const struct source text = {"gpu/test.cu", "void f(void);\n", 14};
static char last_line[1024];

static void note_line(void *user, int level, const char *topic, const char *line)
{
    (void)user, (void)level;
    if (strcmp(topic, "fallback") == 0)
        (void)snprintf(last_line, sizeof last_line, "%s", line);
}

void begin_anew(void)
{
    empty_folder();
    memset(&total, 0, sizeof total);
    ctx->options.log = note_line;
    ctx->options.compile = NB_COMPILE_ON;
    ctx->env.strict = 0;
    ctx->env.topics = 0;
    ctx->fallbacks = 0;
    last_line[0] = '\0';
    (void)snprintf(ctx->env.cache_dir, sizeof ctx->env.cache_dir, "%s", in_folder("cache"));
}

void prepare(int number, int size)
{
    cubin_job_begin(ctx, &job);
    job.request.text = &text;
    job.nvrtc = FAKE_NVRTC;
    job.major = 9;
    nvrtc_option(&job.request, "-DSIZE=%d", size);
    nvrtc_option(&job.request, "-DNUMBER=%d", number);
}

nb_status run(void)
{
    cubin_job_run(&job);
    return cubin_job_end(ctx, &job, &total);
}

int obtains(int number, int size, int found)
{
    struct cubin expected;
    int good;

    prepare(number, size);
    job.folder[0] = '\0';
    cubin_job_run(&job);
    expected = job.cubin;
    prepare(number, size);
    good = run() == NB_OK && job.status == NB_OK && expected.bytes && job.cubin.bytes
           && job.cubin.size == (size_t)size && job.cubin.ptx == expected.ptx
           && memcmp(job.cubin.bytes, expected.bytes, expected.size) == 0
           && (job.counts.hits == 1) == found && (job.counts.built == 1) == !found;
    cubin_free(&expected);
    cubin_free(&job.cubin);
    return good;
}

void check_fallbacks(int expected, const char *part)
{
    tap_check((int)ctx->fallbacks == expected && strstr(last_line, part)
                  && !strchr(last_line, '\n'),
              "%d fallbacks expected %d, '%s' names '%s'", (int)ctx->fallbacks, expected,
              last_line, part);
}

int count_cubins(void)
{
    return count_files(in_folder("cache/cubins"));
}

const char *only_file(void)
{
    static char name[300];
    DIR *dir = opendir(in_folder("cache/cubins"));
    const struct dirent *entry;
    int n = 0;

    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(name, sizeof name, "cache/cubins/%s", entry->d_name);
        n++;
    }
    if (dir) (void)closedir(dir);
    return n == 1 ? name : "";
}
