/*
 * document.h - a JSON document in the making, on cJSON. What could not be added for want of
 * memory is counted, so that no file lacks it. SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_JSON_DOCUMENT_H
#define NB_IO_JSON_DOCUMENT_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include <nanobrag/context.h>

struct document {
    cJSON *root;
    int lost; /* items that are missing */
    int replaced; /* bytes of strings that were not UTF-8 */
};

/* Begins a document with an object. */
struct document document_begin(void);

/* Each adds an item to an object under a key, or to an array with the key NULL. Functions
 * that return the item return NULL if it was lost; all accept NULL for `to`. */
cJSON *document_object(struct document *d, cJSON *to, const char *key);
cJSON *document_array(struct document *d, cJSON *to, const char *key);

/* Adds a real with 17 digits, which read back exactly, or null if it is not finite. */
void document_real(struct document *d, cJSON *to, const char *key, double value);
void document_reals(struct document *d, cJSON *to, const char *key, const double *values,
                    size_t n);

/* The same with `digits` digits. */
void document_digits(struct document *d, cJSON *to, const char *key, double value,
                     int digits);

void document_null(struct document *d, cJSON *to, const char *key);
void document_flag(struct document *d, cJSON *to, const char *key, int value);

/* Adds a string, or null. Bytes that are not UTF-8 become '?'. */
void document_text(struct document *d, cJSON *to, const char *key, const char *text);

/* Writes the document as a file and frees it; `what` names it for messages. */
nb_status document_write(nb_context *ctx, struct document *d, const char *path,
                         const char *what);

#endif
