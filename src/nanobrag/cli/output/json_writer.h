/*
 * json_writer.h - values of a JSON document, for the program and for nanobrag_bench: a thin
 * layer over cJSON. Reals are printed as %.17g, so that they read back exactly; what is not
 * finite is null. Compiled only where there is cJSON (json_missing.c is the program's part
 * where there is none). Without memory a value is left out, and the document is NULL.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OUTPUT_JSON_WRITER_H
#define NB_CLI_OUTPUT_JSON_WRITER_H

#include <cjson/cJSON.h>

#include <nanobrag/nanobrag.h>

/* An object or an array that is a member; an object that is the next entry of an array. */
cJSON *json_object(cJSON *to, const char *key);
cJSON *json_array(cJSON *to, const char *key);
cJSON *json_entry(cJSON *array);

void json_null(cJSON *to, const char *key);
void json_real(cJSON *to, const char *key, double value);
void json_figure(cJSON *to, const char *key, double value); /* to nine digits */
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

#endif
