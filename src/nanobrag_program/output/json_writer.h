/*
 * json_writer.h - adds values to a JSON document of cJSON. Reals have 17 digits, which read
 * back as the same number; a real that is not finite becomes null. Without cJSON
 * json_missing.c replaces the writer. If memory runs out, values may be missing, or the
 * document is NULL.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OUTPUT_JSON_WRITER_H
#define NB_CLI_OUTPUT_JSON_WRITER_H

#include <cjson/cJSON.h>

#include <nanobrag/nanobrag.h>

/* Add an object or an array with a key, or an object to an array. Each returns what it
 * added. */
cJSON *json_object(cJSON *to, const char *key);
cJSON *json_array(cJSON *to, const char *key);
cJSON *json_entry(cJSON *array);

void json_real(cJSON *to, const char *key, double value);
void json_whole(cJSON *to, const char *key, long long value);
void json_pair(cJSON *to, const char *key, double a, double b);
void json_flag(cJSON *to, const char *key, int value);

/* Add an array of at most nine reals. */
void json_reals(cJSON *to, const char *key, const double *values, int n);

/* Add a string, or null for NULL. Bytes that are not UTF-8, which the name of a file may
 * have, become '?'. */
void json_text(cJSON *to, const char *key, const char *text);

/* Add an array of n strings; strings that are NULL are left out. */
void json_texts(cJSON *to, const char *key, char *const *texts, size_t n);

/* Add an array of the lines of a text, without their line ends. */
void json_lines(cJSON *to, const char *key, const char *text);

/* Add all counters by name, and the hash as hexadecimal text. */
void json_stats(cJSON *to, const nb_compile_stats *stats);

#endif
