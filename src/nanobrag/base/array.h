/*
 * array.h - checks of images that the caller passes, and access to their pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_ARRAY_H
#define NB_BASE_ARRAY_H

#include <nanobrag/array.h>
#include <nanobrag/context.h>

/* Checks that `array` is an image in host memory of nslow x nfast pixels, or a stack of
 * equal panels with as many pixels. Elements have the type `type` (NB_TYPE_...) and bits_a
 * or bits_b bits. Messages call the array `name` unless array->name is set. */
nb_status array_check(nb_context *ctx, const nb_array *array, const char *name,
                      int64_t nslow, int64_t nfast, int type, int bits_a, int bits_b);

/* Checks an image of float32 or float64 on a CUDA device as array_check() does. */
nb_status array_check_on_device(nb_context *ctx, const nb_array *array, const char *name,
                                int64_t nslow, int64_t nfast);

/* Checks an array of counts as array_check() does. Elements are uint16 or int32. `device`
 * is NB_DEVICE_CPU or NB_DEVICE_CUDA. */
nb_status array_check_counts(nb_context *ctx, const nb_array *array, int device,
                             int64_t nslow, int64_t nfast);

/* Returns 1 if the array is dense float64, so that kernels can use it directly. */
int array_is_dense_f64(const nb_array *array);

/* Warns that the caller donated the array but no output of this call can use its memory.
 * The array stays valid. Returns NB_ERR_ARGUMENT for an array with strides, which may not
 * be donated. */
nb_status array_warn_unused(nb_context *ctx, const nb_array *array, const char *name);

/* array_extent() returns the number of pixels along an axis (0: slow, 1: fast),
 * array_stride() the distance of neighbours along it in elements. A stack of panels counts
 * as one image. */
int64_t array_extent(const nb_array *array, int axis);

/* Returns 1 if the panels of an array of three axes lie one after another in memory. */
int array_is_stack(const nb_array *array);
int64_t array_stride(const nb_array *array, int axis);

/* Returns 1 if the array is dense, whatever its type. */
int array_is_dense(const nb_array *array);

/* Reads pixel (s, f) of a float image. */
double array_get(const nb_array *array, int64_t s, int64_t f);

/* Reads the pixels f .. f + n - 1 of row s of a float image. */
void array_row(const nb_array *array, int64_t s, int64_t f, int n, double *out);

/* Prefetches the pixels that array_row() would read. The rows of a tile lie too far apart
 * for the processor to predict them. */
void array_row_ahead(const nb_array *array, int64_t s, int64_t f, int n);

/* Writes pixel (s, f) of a float image, rounded to its type. */
void array_set(const nb_array *array, int64_t s, int64_t f, double value);

/* Writes the pixels f .. f + n - 1 of row s of a float image, rounded to its type. */
void array_set_row(const nb_array *array, int64_t s, int64_t f, int n, const double *from);

/* Writes all pixels of a float image from dense doubles. */
void array_write(const nb_array *array, const double *from);

/* Sets all pixels of a float image to 0. */
void array_zero(const nb_array *array);

#endif
