/*
 * json_missing.c - replaces summary_json.c in a build without cJSON. constraints_check()
 * refuses -json in such a build, so this function is not called.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/run.h"

int json_write(struct run *run, const char *path)
{
    return message_usage(run->command.messages, "-json %s: this build lacks cJSON", path);
}
