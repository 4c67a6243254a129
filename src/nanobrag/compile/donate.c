/*
 * donate.c - checks whether an output may take the memory of a donated input.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/donate.h"

#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"

static const char *name_of(const nb_array *array, const char *otherwise)
{
    return array->name ? array->name : otherwise;
}

/* Write the addresses of the first byte of an array and of the byte after its last one. */
static void extent(const nb_array *array, uintptr_t out[2])
{
    const int64_t size = array->bits / 8;
    int64_t low = 0, high = 0;

    for (int axis = 0; axis < 2; axis++) {
        const int64_t reach = (array_extent(array, axis) - 1) * array_stride(array, axis);

        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    out[0] = (uintptr_t)array->data + (uintptr_t)(low * size);
    out[1] = (uintptr_t)array->data + (uintptr_t)((high + 1) * size);
}

nb_status donate_check(nb_context *ctx, const nb_array *input, const nb_array *output,
                       int *in_place)
{
    const char *name = name_of(input, "image"), *other = name_of(output, "counts");
    const int donated = (input->flags & NB_DONATE) != 0;
    uintptr_t a[2], b[2];

    extent(input, a);
    extent(output, b);
    *in_place = 0;
    if (a[0] >= b[1] || b[0] >= a[1])
        return donated ? array_warn_unused(ctx, input, name) : NB_OK;
    if (!donated)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "%s lies in the memory of %s; donate %s (NB_DONATE), or give %s memory "
                    "of its own",
                    other, name, name, other);
    if (input->data != output->data || !array_is_dense(input) || !array_is_dense(output))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "%s lies in a part of the memory of %s; in place both are dense and "
                    "begin at the same address",
                    other, name);
    *in_place = 1;
    return NB_OK;
}

void donate_mark_used(const nb_context *ctx, nb_array *input, const nb_array *output)
{
    const size_t pixels = (size_t)array_extent(input, 0) * (size_t)array_extent(input, 1);

    input->flags = (input->flags & ~(unsigned)NB_DONATE) | NB_DONATED;
#ifndef NDEBUG
    {
        const size_t used = pixels * (size_t)output->bits / 8;

        memset((char *)input->data + used, 0xff, pixels * (size_t)input->bits / 8 - used);
    }
#endif
    log_topic(ctx, TOPIC_DONATION, "%s donated its memory to %s, which saves %zu bytes",
              name_of(input, "image"), name_of(output, "counts"),
              pixels * (size_t)output->bits / 8);
}
