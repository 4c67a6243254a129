/*
 * json_missing.c - replaces summary_json.c and bench_compile_json.c in a build without
 * cJSON. outputs.c refuses -json before, so these functions are not reached.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/bench_compile/bench_compile.h"

int json_write(struct run *run, const char *path)
{
    return message_usage(run->messages, "-json %s: this build lacks cJSON", path);
}

int bench_json_write(const struct bench *bench, const char *path)
{
    return json_write(bench->run, path);
}
