/*
 * array.h - checks of images that the caller passes, and access to their pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_ARRAY_H
#define NB_BASE_ARRAY_H

#include <nanobrag/array.h>
#include <nanobrag/context.h>

/*
 * Checks that `array` is a host image of nslow x nfast pixels of this type, with bits_a or
 * bits_b bits, or a stack of equal panels with as many pixels. `name` is used in messages
 * if the array has no name.
 */
nb_status array_check(nb_context *ctx, const nb_array *array, const char *name,
                      int64_t nslow, int64_t nfast, int type, int bits_a, int bits_b);

/* Does the checks of array_check() for an image of float32 or float64 on a CUDA device. */
nb_status array_check_on_device(nb_context *ctx, const nb_array *array, const char *name,
                                int64_t nslow, int64_t nfast);

/* Checks in the same way counts, NB_TYPE_UINT 16 or NB_TYPE_INT 32, on a device:
 * NB_DEVICE_CPU, NB_DEVICE_CUDA. */
nb_status array_check_counts(nb_context *ctx, const nb_array *array, int device,
                             int64_t nslow, int64_t nfast);

/* Returns 1 if the array is dense float64, so that kernels can use it directly. */
int array_is_dense_f64(const nb_array *array);

/* Warns that the array was donated but no output of this call can use its memory; it stays
 * valid. Returns NB_ERR_ARGUMENT if it is a view with strides, which may not be donated. */
nb_status array_warn_unused(nb_context *ctx, const nb_array *array, const char *name);

/* Returns the number of pixels of an image along an axis, 0: slow, 1: fast; and the
 * distance between neighbours, in elements. A stack of panels is one image. */
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

/* Prefetches these pixels: the rows of a tile lie too far apart for the processor to
 * predict them. */
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
