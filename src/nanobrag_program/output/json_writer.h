/*
 * json_writer.h - writes the values of a JSON document: a thin layer over cJSON. Reals are
 * printed as %.17g, so that they read back exactly; those that are not finite become null.
 * It is compiled only with cJSON (json_missing.c replaces the writer without it). If memory
 * runs out, a value is left out, and the document is NULL.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OUTPUT_JSON_WRITER_H
#define NB_CLI_OUTPUT_JSON_WRITER_H

#include <cjson/cJSON.h>

#include <nanobrag/nanobrag.h>

/* Add an object or an array as a member, or an object as the next entry of an array, and
 * return it. */
cJSON *json_object(cJSON *to, const char *key);
cJSON *json_array(cJSON *to, const char *key);
cJSON *json_entry(cJSON *array);

void json_real(cJSON *to, const char *key, double value);
void json_whole(cJSON *to, const char *key, long long value);
void json_pair(cJSON *to, const char *key, double a, double b);
void json_flag(cJSON *to, const char *key, int value);

/* Add an array of at most nine reals. */
void json_reals(cJSON *to, const char *key, const double *values, int n);

/* Add a string, or null if it is NULL. Bytes that are not UTF-8 (a file name may hold any)
 * become '?'. */
void json_text(cJSON *to, const char *key, const char *text);

/* Add an array of n strings; NULLs are left out. */
void json_texts(cJSON *to, const char *key, char *const *texts, size_t n);

/* Add an array of the lines of a text, without their line ends. */
void json_lines(cJSON *to, const char *key, const char *text);

/* Add every counter by its name, and the hash as a string of hexadecimal digits. */
void json_stats(cJSON *to, const nb_compile_stats *stats);

#endif
