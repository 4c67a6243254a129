/*
 * raw.c - reads and writes raw pixels: without a header, row by row, in the host's byte
 * order.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/parse.h"

enum { BUFFER = 1 << 15 /* pixels */ };

/* Checks that an image has pixels, is dense and is on the host. With `floats` its pixels
 * have to be floats. */
static nb_status check_image(nb_context *ctx, const nb_array *image, int floats)
{
    const char *name = image->name ? image->name : "image";
    const int whole = image->type == NB_TYPE_INT || image->type == NB_TYPE_UINT;
    const int bits = image->bits;

    if (!(image->type == NB_TYPE_FLOAT && (bits == 32 || bits == 64))
        && (floats || !whole || (bits != 8 && bits != 16 && bits != 32 && bits != 64)))
        return fail(ctx, NB_ERR_SHAPE, "%s: element type %d of %d bits, expected %s", name,
                    image->type, bits,
                    floats ? "float of 32 or 64 bits" : "int, uint or float");
    NB_TRY(array_check(ctx, image, name, array_extent(image, 0), array_extent(image, 1),
                       image->type, bits, bits));
    if (array_extent(image, 0) < 1 || array_extent(image, 1) < 1 || !array_is_dense(image))
        return fail(ctx, NB_ERR_SHAPE, "%s: not a dense image with pixels", name);
    return NB_OK;
}

static size_t count_pixels(const nb_array *image)
{
    return (size_t)array_extent(image, 0) * (size_t)array_extent(image, 1);
}

static size_t part_size(size_t n, size_t done)
{
    return n - done < BUFFER ? n - done : BUFFER;
}

/* Writes doubles as floats, or floats as doubles. `part` is a buffer for part_size(n, 0)
 * pixels. */
static void put_converted(struct file_out *file, const nb_array *image, size_t n,
                          void *part)
{
    const int narrows = image->bits == 64;
    const double *wide = image->data;
    const float *narrow = image->data;

    for (size_t done = 0; done < n;) {
        const size_t length = part_size(n, done);

        for (size_t i = 0; i < length; i++)
            if (narrows)
                ((float *)part)[i] = (float)wide[done + i];
            else
                ((double *)part)[i] = (double)narrow[done + i];
        file_put(file, part, length * (narrows ? sizeof(float) : sizeof(double)));
        done += length;
    }
}

nb_status nb_raw_write(nb_context *ctx, const char *path, const nb_array *image, int bits)
{
    STANDARD_FLOATS;
    struct file_out file;
    void *part = NULL;
    nb_status status;
    size_t n, bytes;
    int converted;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !image)
        return fail(ctx, NB_ERR_ARGUMENT, "raw image: %s is NULL", path ? "image" : "path");
    NB_TRY(check_image(ctx, image, 0));
    if (image->type == NB_TYPE_FLOAT && bits != 32 && bits != 64)
        return fail(ctx, NB_ERR_ARGUMENT, "raw image: floats of %d bits, expected 32 or 64",
                    bits);
    n = count_pixels(image);
    converted = image->type == NB_TYPE_FLOAT && image->bits != bits;
    bytes = (size_t)(converted ? bits : image->bits) / 8;
    if (converted) {
        part = malloc(part_size(n, 0) * bytes);
        if (!part) return fail_memory(ctx, path);
    }
    status = file_begin(ctx, path, &file);
    if (status == NB_OK) {
        file_preallocate(&file, n * bytes);
        if (converted)
            put_converted(&file, image, n, part);
        else
            file_put(&file, image->data, n * bytes);
        status = file_end(&file);
    }
    free(part);
    return status;
}

static nb_status fail_length(nb_context *ctx, const char *path, long long found,
                             const nb_array *image)
{
    return fail(ctx, NB_ERR_FORMAT,
                "%s: the file has %lld bytes, expected %zu (%lld x %lld floats of %d "
                "bits); check the size of the image",
                path, found, count_pixels(image) * (size_t)(image->bits / 8),
                (long long)array_extent(image, 1), (long long)array_extent(image, 0),
                image->bits);
}

nb_status nb_raw_read(nb_context *ctx, const char *path, nb_array *image)
{
    STANDARD_FLOATS;
    unsigned char *bytes;
    long long found;
    size_t n, expected;
    nb_status status = NB_OK;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !image)
        return fail(ctx, NB_ERR_ARGUMENT, "raw image: %s is NULL", path ? "image" : "path");
    NB_TRY(check_image(ctx, image, 1));
    expected = count_pixels(image) * (size_t)(image->bits / 8);
    found = file_size(path);
    if (found >= 0 && (unsigned long long)found != expected)
        return fail_length(ctx, path, found, image);
    NB_TRY(file_read(ctx, path, expected, NULL, &bytes, &n));
    if (n == expected)
        memcpy(image->data, bytes, n);
    else
        status = fail_length(ctx, path, (long long)n, image);
    free(bytes);
    return status;
}
