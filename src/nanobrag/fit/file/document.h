/*
 * fit/file/document.h - the file of a fit in the making.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_FILE_DOCUMENT_H
#define NB_FIT_FILE_DOCUMENT_H

#include "fit/fit.h"

struct cJSON;

/* A JSON document: what could not be added for want of memory is counted, so that no file
 * lacks it. */
struct document {
    struct cJSON *root;
    int lost;
};

/* Each adds an item to an object, with a key, or to an array, without. Reals have 17
 * digits, or as many as are asked for, whatever the locale; those that are not finite are
 * null, as is a text NULL, and bytes of a text that are not ASCII become '?'. */
struct cJSON *document_object(struct document *d, struct cJSON *to, const char *key);
struct cJSON *document_array(struct document *d, struct cJSON *to, const char *key);
void document_real(struct document *d, struct cJSON *to, const char *key, double value);
void document_digits(struct document *d, struct cJSON *to, const char *key, double value,
                     int digits);
void document_reals(struct document *d, struct cJSON *to, const char *key,
                    const double *values, size_t n);
void document_text(struct document *d, struct cJSON *to, const char *key, const char *text);
void document_flag(struct document *d, struct cJSON *to, const char *key, int value);
void document_null(struct document *d, struct cJSON *to, const char *key);

/* Adds what a fit has found; `misfit` of each shot, or NULL. */
void document_findings(struct document *d, const nb_fit *fit, const nb_fit_result *result,
                       const nb_fit_misfit *misfit);

#endif
