/*
 * json_values.h - values of a JSON document. Reals as %.17g, so that they read back
 * exactly; what is not finite is null.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OUTPUT_JSON_VALUES_H
#define NB_CLI_OUTPUT_JSON_VALUES_H

#include "cli/run.h"

#ifdef NANOBRAG_CJSON

#include <cjson/cJSON.h>

void json_real(cJSON *to, const char *key, double value);
void json_whole(cJSON *to, const char *key, long long value);
void json_pair(cJSON *to, const char *key, double a, double b);
void json_flag(cJSON *to, const char *key, int value);

/* Up to nine of them. */
void json_reals(cJSON *to, const char *key, const double *values, int n);

/* NULL: null. Bytes that are no UTF-8 (a file name may hold any) become '?'. */
void json_text(cJSON *to, const char *key, const char *text);

/* Those of n that are not NULL. */
void json_texts(cJSON *to, const char *key, char *const *texts, size_t n);

/* The lines of a text, without what ends them. */
void json_lines(cJSON *to, const char *key, const char *text);

/* Every counter by its name, the hash as a string of hexadecimal digits. */
void json_stats(cJSON *to, const nb_compile_stats *stats);

/* Write the document, which is freed; NULL: there was no memory for it. "-": to stdout.
 * Returns 0 or the exit status. */
int json_finish(struct run *run, cJSON *root, const char *path);

#endif
#endif
