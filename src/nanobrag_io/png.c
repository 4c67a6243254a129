/*
 * png.c - writes colour pictures as PNG. libpng makes the bytes in memory, so that file.c
 * can write the file whole or not at all. NANOBRAG_PNG is defined if libpng was found.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/io.h>

#include "base/context.h"

#ifdef NANOBRAG_PNG

#include <png.h>

enum { SIDE_MAX = 1000000 }; /* libpng accepts no more pixels along a side */

/* Returns the bytes of the PNG, n of them, which the caller frees. After a failure returns
 * NULL, and *image has libpng's message. */
static void *encode(png_image *image, const uint8_t *rgb, png_alloc_size_t *n)
{
    void *bytes;

    *n = PNG_IMAGE_PNG_SIZE_MAX(*image);
    bytes = malloc(*n);
    if (bytes && png_image_write_to_memory(image, bytes, n, 0, rgb, 0, NULL)) return bytes;
    free(bytes);
    return NULL;
}

nb_status nb_png_write(nb_context *ctx, const char *path, int width, int height,
                       const uint8_t *rgb)
{
    png_image image;
    png_alloc_size_t n;
    void *bytes;
    nb_status status;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !rgb)
        return fail(ctx, NB_ERR_ARGUMENT, "PNG: %s is NULL", path ? "rgb" : "path");
    if (width < 1 || height < 1 || width > SIDE_MAX || height > SIDE_MAX)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "PNG: %d x %d pixels, expected 1 to %d on each side", width, height,
                    (int)SIDE_MAX);
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)width;
    image.height = (png_uint_32)height;
    image.format = PNG_FORMAT_RGB;
    bytes = encode(&image, rgb, &n);
    png_image_free(&image);
    if (!bytes)
        return fail(ctx, NB_ERR_MEMORY, "%s: libpng cannot make the picture: %s", path,
                    *image.message ? image.message : "out of memory");
    status = nb_file_write(ctx, path, bytes, n);
    free(bytes);
    return status;
}

#else

nb_status nb_png_write(nb_context *ctx, const char *path, int width, int height,
                       const uint8_t *rgb)
{
    (void)width;
    (void)height;
    (void)rgb;
    if (!ctx) return NB_ERR_ARGUMENT;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "%s: this build has no libpng; install libpng (Debian: libpng-dev) and "
                "build again, or write a PGM",
                path ? path : "PNG");
}

#endif
