/*
 * array.h - checks on the caller's images, and copies in and out of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_ARRAY_H
#define NB_BASE_ARRAY_H

#include <nanobrag/array.h>
#include <nanobrag/context.h>

/*
 * NB_OK when `array` is a host image of nslow x nfast whose type and bits are among those
 * allowed; `name` stands in messages when the array has none.
 */
nb_status array_check(nb_context *ctx, const nb_array *array, const char *name,
                      int64_t nslow, int64_t nfast, int type, int bits_a, int bits_b);

/* The same for an image of float32 or float64 on a CUDA device. */
nb_status array_check_on_device(nb_context *ctx, const nb_array *array, const char *name,
                                int64_t nslow, int64_t nfast);

/* The same for counts of 16 bits on a CUDA device. */
nb_status array_check_counts_on_device(nb_context *ctx, const nb_array *array,
                                       const char *name, int64_t nslow, int64_t nfast);

/* Dense float64 of the host: the array may be used in place. */
int array_is_dense_f64(const nb_array *array);

/* An array that was donated, but whose memory no output of the call can use: a warning, and
 * it stays valid. NB_ERR_ARGUMENT for a view, which is not the caller's to give. */
nb_status array_not_used(nb_context *ctx, const nb_array *array, const char *name);

/* Elements from one to the next along an axis. */
int64_t array_stride(const nb_array *array, int axis);

/* Dense, whatever its type. */
int array_is_dense(const nb_array *array);

/* Read pixel (s, f) of a float image, and write it (rounded to its type). */
double array_get(const nb_array *array, int64_t s, int64_t f);

/* out[i] = number of row s, column f + i, for n columns */
void array_row(const nb_array *array, int64_t s, int64_t f, int n, double *out);
void array_set(const nb_array *array, int64_t s, int64_t f, double value);

/* All of a float image, from dense numbers. */
void array_write(const nb_array *array, const double *from);

/* All of a float image becomes 0. */
void array_zero(const nb_array *array);

#endif
