/*
 * expt_json.h - looks up the models of an .expt and their numbers.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_JSON_H
#define NB_IO_EXPERIMENT_EXPT_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include <nanobrag/context.h>

/* An .expt that is being read. */
struct expt {
    nb_context *ctx;
    const char *name; /* of the file */
    const cJSON *root;
    int i; /* which experiment */
};

/* Parses n bytes of JSON; NaN and Infinity count as null. The caller frees *root with
 * cJSON_Delete(). Returns NB_ERR_FORMAT, NB_ERR_MEMORY. */
nb_status expt_document(nb_context *ctx, const char *name, const void *bytes, size_t n,
                        cJSON **root);

/* Finds a model of an experiment, *model = NULL if it has none. Returns NB_ERR_FORMAT if
 * the file lacks it, NB_ERR_UNSUPPORTED if it is in another file. */
nb_status expt_model(const struct expt *e, const cJSON *experiment, const char *kind,
                     const cJSON **model);

/* Reads the n numbers of `key`; a single one is no array. Returns NB_ERR_FORMAT if they are
 * missing or not finite. */
nb_status expt_reals(const struct expt *e, const cJSON *model, const char *what,
                     const char *key, double *out, int n);

/* As expt_reals(), but leaves `out` unchanged if there is no such key or it is null. */
nb_status expt_optional(const struct expt *e, const cJSON *model, const char *what,
                        const char *key, double *out, int n);

/* Reads the first n numbers of an array of `length`. */
nb_status expt_numbers(const struct expt *e, const cJSON *array, const char *what,
                       const char *key, double *out, int n, int length);

/* Fails because a number of a model differs from the expected one. */
nb_status expt_wrong(const struct expt *e, const char *what, const char *key,
                     const char *expected);

#endif
