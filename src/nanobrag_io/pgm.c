/*
 * pgm.c - writes grey pictures as binary PGM, with a comment in the third line as nanoBragg
 * does.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include <nanobrag/io.h>

#include "base/context.h"
#include "nanobrag_io/file.h"

nb_status nb_pgm_write(nb_context *ctx, const char *path, int width, int height,
                       const uint8_t *grey, const char *comment)
{
    struct file_out file;
    char line[64];

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !grey)
        return fail(ctx, NB_ERR_ARGUMENT, "PGM: %s is NULL", path ? "grey" : "path");
    if (width < 1 || height < 1)
        return fail(ctx, NB_ERR_ARGUMENT, "PGM: %d x %d pixels, expected at least 1 x 1",
                    width, height);
    if (comment && strpbrk(comment, "\r\n"))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "PGM: the comment has a line end, expected one line");
    NB_TRY(file_begin(ctx, path, &file));
    (void)snprintf(line, sizeof line, "P5\n%d %d\n", width, height);
    file_put(&file, line, strlen(line));
    if (comment) {
        file_put(&file, "# ", 2);
        file_put(&file, comment, strlen(comment));
        file_put(&file, "\n", 1);
    }
    file_put(&file, "255\n", 4);
    file_put(&file, grey, (size_t)width * (size_t)height);
    return file_end(&file);
}
