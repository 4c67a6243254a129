/* array.c - checks of the shapes, types and strides of arrays that the caller passes.
 * SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/context.h"
#include "base/log.h"

static nb_array backend_host_image(void *data, int64_t nslow, int64_t nfast, int type,
                                   int bits)
{
    nb_array array = {0};

    array.data = data;
    array.device = NB_DEVICE_CPU;
    array.type = type;
    array.bits = bits;
    array.ndim = 2;
    array.shape[0] = nslow;
    array.shape[1] = nfast;
    return array;
}

nb_array nb_array_f32(float *data, int64_t nslow, int64_t nfast)
{
    return backend_host_image(data, nslow, nfast, NB_TYPE_FLOAT, 32);
}

nb_array nb_array_f64(double *data, int64_t nslow, int64_t nfast)
{
    return backend_host_image(data, nslow, nfast, NB_TYPE_FLOAT, 64);
}

nb_array nb_array_u16(uint16_t *data, int64_t nslow, int64_t nfast)
{
    return backend_host_image(data, nslow, nfast, NB_TYPE_UINT, 16);
}

nb_array nb_array_i32(int32_t *data, int64_t nslow, int64_t nfast)
{
    return backend_host_image(data, nslow, nfast, NB_TYPE_INT, 32);
}

static const char *name_of(const nb_array *array, const char *otherwise)
{
    return array->name ? array->name : otherwise;
}

static nb_status check_place(nb_context *ctx, const nb_array *array, const char *name,
                             int device)
{
    if (!array || !array->data)
        return fail(ctx, NB_ERR_ARGUMENT, "%s: no array was given", name);
    name = name_of(array, name);
    if (array->flags & NB_DONATED)
        return fail(ctx, NB_ERR_DONATED,
                    "%s was donated to an earlier call; pass an array that was kept", name);
    if (array->device != device)
        return fail(ctx, NB_ERR_SHAPE, "%s lies on device type %d, expected %d (%s)", name,
                    array->device, device,
                    device == NB_DEVICE_CPU ? "host memory" : "a CUDA device");
    return NB_OK;
}

int array_is_stack(const nb_array *array)
{
    const int64_t *stride = array->stride;
    const int dense = stride[0] == 0 && stride[1] == 0 && stride[2] == 0;

    return dense || array->shape[0] == 1 || stride[0] == array->shape[1] * stride[1];
}

/* Checks an array of three axes, a stack of panels, which has to cover the memory of an
 * image of nslow x nfast pixels without gaps. */
static nb_status check_stack(nb_context *ctx, const nb_array *array, const char *name,
                             int64_t nslow, int64_t nfast)
{
    const int64_t *shape = array->shape, *stride = array->stride;
    const int dense = stride[0] == 0 && stride[1] == 0 && stride[2] == 0;

    if (shape[0] < 1 || shape[0] > nslow || shape[1] < 1 || shape[1] > nslow
        || shape[0] * shape[1] != nslow || shape[2] != nfast)
        return fail(ctx, NB_ERR_SHAPE,
                    "%s has 3 axes of %lld x %lld x %lld, expected panels x slow x fast "
                    "that hold %lld x %lld pixels",
                    name, (long long)shape[0], (long long)shape[1], (long long)shape[2],
                    (long long)nslow, (long long)nfast);
    if (!dense && (stride[1] == 0 || stride[2] == 0))
        return fail(ctx, NB_ERR_SHAPE,
                    "%s repeats one element along an axis (stride 0); pass a full copy",
                    name);
    if (!array_is_stack(array))
        return fail(ctx, NB_ERR_SHAPE,
                    "%s has gaps between its panels in memory; pass a dense copy", name);
    return NB_OK;
}

static nb_status check_form(nb_context *ctx, const nb_array *array, const char *name,
                            int64_t nslow, int64_t nfast, int type, int bits_a, int bits_b)
{
    static const char *const type_name[] = {"int", "uint", "float"};

    name = name_of(array, name);
    if (array->type != type || (array->bits != bits_a && array->bits != bits_b)) {
        char other[32] = "";

        if (bits_b != bits_a)
            (void)snprintf(other, sizeof other, " or %s%d", type_name[type], bits_b);
        return fail(ctx, NB_ERR_SHAPE, "%s: element type %d of %d bits, expected %s%d%s",
                    name, array->type, array->bits, type_name[type], bits_a, other);
    }
    if (array->ndim != 3 && (array->stride[0] == 0) != (array->stride[1] == 0))
        return fail(ctx, NB_ERR_SHAPE,
                    "%s repeats one element along an axis (stride 0); pass a full copy",
                    name);
    if (array->ndim == 3) {
        NB_TRY(check_stack(ctx, array, name, nslow, nfast));
    } else if (array->ndim != 2 || array->shape[0] != nslow || array->shape[1] != nfast)
        return fail(ctx, NB_ERR_SHAPE,
                    "%s has %d axes of %lld x %lld, expected 2 of %lld x %lld "
                    "(slow x fast)",
                    name, array->ndim, (long long)array->shape[0],
                    (long long)array->shape[1], (long long)nslow, (long long)nfast);
    return array->flags & NB_DONATE ? array_warn_unused(ctx, array, name) : NB_OK;
}

nb_status array_check(nb_context *ctx, const nb_array *array, const char *name,
                      int64_t nslow, int64_t nfast, int type, int bits_a, int bits_b)
{
    NB_TRY(check_place(ctx, array, name, NB_DEVICE_CPU));
    return check_form(ctx, array, name, nslow, nfast, type, bits_a, bits_b);
}

nb_status array_check_on_device(nb_context *ctx, const nb_array *array, const char *name,
                                int64_t nslow, int64_t nfast)
{
    NB_TRY(check_place(ctx, array, name, NB_DEVICE_CUDA));
    return check_form(ctx, array, name, nslow, nfast, NB_TYPE_FLOAT, 32, 64);
}

nb_status array_check_counts(nb_context *ctx, const nb_array *array, int device,
                             int64_t nslow, int64_t nfast)
{
    int known;

    NB_TRY(check_place(ctx, array, "counts", device));
    if (!array) return NB_ERR_ARGUMENT;
    known = (array->type == NB_TYPE_UINT && array->bits == 16)
            || (array->type == NB_TYPE_INT && array->bits == 32);
    if (!known)
        return fail(ctx, NB_ERR_SHAPE,
                    "%s: element type %d of %d bits, expected uint16 or int32",
                    name_of(array, "counts"), array->type, array->bits);
    return check_form(ctx, array, "counts", nslow, nfast, array->type, array->bits,
                      array->bits);
}

nb_status array_warn_unused(nb_context *ctx, const nb_array *array, const char *name)
{
    if (!array_is_dense(array))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "%s is a view with strides: borrowed memory can't be donated; leave "
                    "NB_DONATE out",
                    name);
    log_topic(ctx, TOPIC_DONATION, "%s: not used, stays valid", name);
    log_line(ctx, NB_LOG_WARNING, "donation",
             "%s was donated, but no output of this call can use its memory; it stays "
             "valid",
             name);
    return NB_OK;
}

int64_t array_extent(const nb_array *array, int axis)
{
    if (array->ndim != 3) return array->shape[axis];
    return axis == 0 ? array->shape[0] * array->shape[1] : array->shape[2];
}

int64_t array_stride(const nb_array *array, int axis)
{
    const int first = array->ndim == 3; /* index of the slow axis */

    if (array->stride[first] == 0 && array->stride[first + 1] == 0)
        return axis == 0 ? array->shape[first + 1] : 1;
    return array->stride[first + axis];
}

int array_is_dense(const nb_array *array)
{
    return array_stride(array, 1) == 1 && array_stride(array, 0) == array_extent(array, 1);
}

int array_is_dense_f64(const nb_array *array)
{
    return array->type == NB_TYPE_FLOAT && array->bits == 64 && array_is_dense(array);
}

double array_get(const nb_array *array, int64_t s, int64_t f)
{
    const ptrdiff_t at =
        (ptrdiff_t)(s * array_stride(array, 0) + f * array_stride(array, 1));

    if (array->bits == 64) return ((const double *)array->data)[at];
    return (double)((const float *)array->data)[at];
}

/* Returns the number of bytes from the start of an array to pixel (s, f). */
static ptrdiff_t bytes_to(const nb_array *array, int64_t s, int64_t f)
{
    return (ptrdiff_t)((s * array_stride(array, 0) + f * array_stride(array, 1))
                       * (array->bits / 8));
}

void array_row(const nb_array *array, int64_t s, int64_t f, int n, double *out)
{
    const void *from = (const char *)array->data + bytes_to(array, s, f);

    if (array_stride(array, 1) == 1 && array->type == NB_TYPE_FLOAT && array->bits == 64)
        memcpy(out, from, sizeof *out * (size_t)n);
    else if (array_stride(array, 1) == 1 && array->type == NB_TYPE_FLOAT
             && array->bits == 32)
        for (int i = 0; i < n; i++) out[i] = (double)((const float *)from)[i];
    else
        for (int i = 0; i < n; i++) out[i] = array_get(array, s, f + i);
}

void array_row_ahead(const nb_array *array, int64_t s, int64_t f, int n)
{
    enum { LINE = 64 }; /* bytes of a cache line */
    const char *from = (const char *)array->data + bytes_to(array, s, f);
    const ptrdiff_t bytes = (ptrdiff_t)n * (array->bits / 8);

    if (array_stride(array, 1) != 1) return;
    for (ptrdiff_t i = 0; i < bytes; i += LINE) __builtin_prefetch(from + i);
}

void array_set(const nb_array *array, int64_t s, int64_t f, double value)
{
    const ptrdiff_t at =
        (ptrdiff_t)(s * array_stride(array, 0) + f * array_stride(array, 1));

    if (array->bits == 64)
        ((double *)array->data)[at] = value;
    else
        ((float *)array->data)[at] = (float)value;
}

void array_set_row(const nb_array *array, int64_t s, int64_t f, int n, const double *from)
{
    void *to = (char *)array->data + bytes_to(array, s, f);

    if (array_stride(array, 1) == 1 && array->bits == 64)
        memcpy(to, from, sizeof *from * (size_t)n);
    else if (array_stride(array, 1) == 1)
        for (int i = 0; i < n; i++) ((float *)to)[i] = (float)from[i];
    else
        for (int i = 0; i < n; i++) array_set(array, s, f + i, from[i]);
}

void array_write(const nb_array *array, const double *from)
{
    const int64_t nslow = array_extent(array, 0), nfast = array_extent(array, 1);

    for (int64_t s = 0; s < nslow; s++, from += nfast)
        array_set_row(array, s, 0, (int)nfast, from);
}

void array_zero(const nb_array *array)
{
    const int64_t nslow = array_extent(array, 0), nfast = array_extent(array, 1);
    const size_t row = (size_t)nfast * (size_t)(array->bits / 8);

    if (array_is_dense(array)) {
        arena_clear(array->data, row * (size_t)nslow);
        return;
    }
    for (int64_t s = 0; s < nslow; s++) {
        if (array_stride(array, 1) == 1)
            memset((char *)array->data + bytes_to(array, s, 0), 0, row);
        else
            for (int64_t f = 0; f < nfast; f++) array_set(array, s, f, 0);
    }
}
