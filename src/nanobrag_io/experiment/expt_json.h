/*
 * expt_json.h - finds the models (beam, detector, crystal and so on) of an .expt and their
 * numbers.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_JSON_H
#define NB_IO_EXPERIMENT_EXPT_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include <nanobrag/context.h>

/* an .expt that is being read, and the experiment that is looked at */
struct expt {
    nb_context *ctx;
    const char *name; /* name of the file, for messages */
    const cJSON *root;
    int i; /* number of the experiment, from 0 on */
};

/* Parses n bytes of JSON, with null in place of NaN and Infinity. The caller frees *root
 * with cJSON_Delete(). Returns NB_ERR_FORMAT, NB_ERR_MEMORY. */
nb_status expt_document(nb_context *ctx, const char *name, const void *bytes, size_t n,
                        cJSON **root);

/* Finds the model of a kind, such as "beam", that an experiment names; *model is NULL if it
 * names none. Returns NB_ERR_FORMAT if the file lacks the model, NB_ERR_UNSUPPORTED if the
 * experiment names another file. */
nb_status expt_model(const struct expt *e, const cJSON *experiment, const char *kind,
                     const cJSON **model);

/* Reads the n numbers of `key` of a model: an array, or for n = 1 a plain number. `what`
 * names the model in messages. Returns NB_ERR_FORMAT if numbers are missing or not
 * finite. */
nb_status expt_reals(const struct expt *e, const cJSON *model, const char *what,
                     const char *key, double *out, int n);

/* Does the same as expt_reals(), but leaves `out` unchanged if the key is missing or
 * null. */
nb_status expt_optional(const struct expt *e, const cJSON *model, const char *what,
                        const char *key, double *out, int n);

/* Reads the first n numbers of an array that must have `length`. Returns NB_ERR_FORMAT. */
nb_status expt_numbers(const struct expt *e, const cJSON *array, const char *what,
                       const char *key, double *out, int n, int length);

/* Returns NB_ERR_FORMAT, with a message that `key` of a model is missing or not as
 * expected. */
nb_status expt_wrong(const struct expt *e, const char *what, const char *key,
                     const char *expected);

#endif
