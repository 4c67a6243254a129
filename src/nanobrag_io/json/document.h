/*
 * document.h - makes a JSON document by cJSON. The document counts items for which there
 * was no memory, so that no incomplete file is written. SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_JSON_DOCUMENT_H
#define NB_IO_JSON_DOCUMENT_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include <nanobrag/context.h>

struct document {
    cJSON *root;
    int lost; /* number of items for which there was no memory */
    int replaced; /* number of bytes that were not UTF-8 */
};

/* Begins a document, which is an object. */
struct document document_begin(void);

/* Each adds an item: to an object with a key, or to an array with key NULL. The result is
 * NULL if there was no memory, and NULL may be passed as `to`. */
cJSON *document_object(struct document *d, cJSON *to, const char *key);
cJSON *document_array(struct document *d, cJSON *to, const char *key);

/* Adds a real with 17 digits, which read back as the same number; null if it is not
 * finite. */
void document_real(struct document *d, cJSON *to, const char *key, double value);
void document_reals(struct document *d, cJSON *to, const char *key, const double *values,
                    size_t n);

/* Adds a real like document_real(), but with `digits` digits. */
void document_digits(struct document *d, cJSON *to, const char *key, double value,
                     int digits);

void document_null(struct document *d, cJSON *to, const char *key);
void document_flag(struct document *d, cJSON *to, const char *key, int value);

/* Adds a string, or null for NULL. Bytes that are not UTF-8 become '?'. */
void document_text(struct document *d, cJSON *to, const char *key, const char *text);

/* Writes the document to a file and frees it. `what` names it in messages. */
nb_status document_write(nb_context *ctx, struct document *d, const char *path,
                         const char *what);

#endif
