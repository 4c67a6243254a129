/*
 * added_images.c - reads the images of -add, which are added to each image of a run before
 * noise is drawn. They may show another state of the crystal, another lattice, or a
 * measured background.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include <nanobrag/description.h>

#include "nanobrag_program/fit/steady_file.h"
#include "nanobrag_program/run.h"

static size_t pixels_of(const struct run *run)
{
    return (size_t)run->command.description.nslow * (size_t)run->command.description.nfast;
}

/* Read raw floats of 4 or 8 bytes. */
static nb_status read_floats(struct run *run, const char *path, double *out)
{
    const nb_description *const d = &run->command.description;
    const size_t n = pixels_of(run);
    nb_array wide = nb_array_f64(out, d->nslow, d->nfast);
    const nb_status status = nb_raw_read(run->command.ctx, path, &wide);
    if (status != NB_ERR_FORMAT) return status;
    float *const single = malloc(n * sizeof *single);
    if (!single) return NB_ERR_MEMORY;
    nb_array narrow = nb_array_f32(single, d->nslow, d->nfast);
    const nb_status other = nb_raw_read(run->command.ctx, path, &narrow);
    for (size_t i = 0; i < n && other == NB_OK; i++) out[i] = (double)single[i];
    free(single);
    return other;
}

static int add_file(struct run *run, const struct added *added, double *read)
{
    struct steady_file file;
    const int code = steady_file_begin(run->command.messages, added->file,
                                       pixels_of(run) * sizeof *read, &file);
    if (code) return code;
    const nb_status status = read_floats(run, steady_file_path(&file), read);
    steady_file_end(&file);
    if (status == NB_ERR_MEMORY)
        return message_failure(run->command.messages, "out of memory for %s", added->file);
    if (status == NB_ERR_FORMAT)
        return message_usage(run->command.messages,
                             "-add %s: expected raw floats of 4 or 8 bytes for %d x %d "
                             "pixels, as -floatfile and -doublefile write them",
                             added->file, run->command.description.nfast,
                             run->command.description.nslow);
    if (status != NB_OK)
        return message_status(run->command.messages, status,
                              nb_context_message(run->command.ctx), 0);
    for (size_t i = 0; i < pixels_of(run); i++) {
        if (!isfinite(read[i]))
            return message_usage(run->command.messages,
                                 "-add %s: pixel %zu (from 0) is no finite number",
                                 added->file, i);
        run->added[i] += added->factor * read[i];
    }
    return 0;
}

int added_read(struct run *run)
{
    const struct settings *s = run->command.s;
    const size_t n = pixels_of(run);
    int code = 0;
    if (s->nadded == 0) return 0;
    double *const read = malloc(n * sizeof *read);
    run->added = calloc(n, sizeof *run->added);
    if (!read || !run->added) {
        free(read);
        return message_failure(run->command.messages,
                               "out of memory for the images of -add");
    }
    for (int i = 0; i < s->nadded && !code; i++) code = add_file(run, &s->added[i], read);
    free(read);
    return code;
}

void added_to_image(struct run *run)
{
    for (size_t i = 0; run->added && i < pixels_of(run); i++)
        run->image[i] += run->added[i];
}
