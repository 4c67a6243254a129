/*
 * image_file.c - -imagefile: images for other programs, in the format that the ending of
 * the name chooses. NXmx has all images of a sweep in one file, which exists once the sweep
 * ends. After an interrupt it has the images finished so far.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include "nanobrag_program/share/share.h"

struct image_file {
    nb_nxmx *nxmx; /* NULL: another format, or no file is open */
    int frames; /* number of frames in the open file */
    int next; /* the image that may become the next frame */
    int in_parts; /* 1: data files; a master is written at the end */
    void *pixels; /* int32, or float32 in NXmx without noise */
};

int image_file_check(const struct settings *s, struct messages *messages)
{
    if (image_format(s) != IMAGE_UNKNOWN) return 0;
    return message_usage(messages,
                         "-imagefile %s: expected a name that ends in .nxs or .h5 (NXmx), "
                         ".cbf (miniCBF) or .img (SMV)",
                         s->out[OUT_IMAGE]);
}

static int failed(struct run *run, nb_status status)
{
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 1);
}

/* Begin the NXmx file, or the data file whose first frame is image i. Returns 0 or the exit
 * status. */
static int begin_nxmx(struct run *run, int i)
{
    const struct settings *s = run->command.s;
    struct image_file *const file = run->image_file;
    const nb_nxmx_options options = {.compression = s->compression,
                                     .type = s->plain ? NB_TYPE_FLOAT : NB_TYPE_INT,
                                     .bits = 32,
                                     .stills = run->command.shots != NULL,
                                     .frames = s->images};
    char *const name = file->in_parts ? part_name(s, i) : output_name_of(s, OUT_IMAGE, 0);
    if (!name) return message_failure(run->command.messages, "out of memory");
    const nb_status status = nb_nxmx_create(run->command.sim, name, &options, &file->nxmx);
    free(name);
    file->frames = 0;
    file->next = i;
    return status == NB_OK ? 0 : failed(run, status);
}

/* Returns the first image that this process makes and that is in no data file; -1: none. */
static int first_frame(const struct run *run)
{
    for (int i = 0; i < run->command.s->images; i++)
        if (share_is_mine(run, i) && !share_is_framed(run, i)) return i;
    return -1;
}

int image_file_begin(struct run *run)
{
    const size_t n =
        (size_t)run->command.description.nslow * (size_t)run->command.description.nfast;
    if (!run->command.s->out[OUT_IMAGE]) return 0;
    const enum image_format format = image_format(run->command.s);
    run->image_file = calloc(1, sizeof *run->image_file);
    if (run->image_file && format != IMAGE_SMV)
        run->image_file->pixels = malloc(n * sizeof(int32_t));
    if (!run->image_file || (format != IMAGE_SMV && !run->image_file->pixels))
        return message_failure(run->command.messages, "out of memory for %s",
                               run->command.s->out[OUT_IMAGE]);
    if (format == IMAGE_NXMX) {
        const int first = first_frame(run);
        run->image_file->in_parts = run->share->in_parts;
        return first >= 0 ? begin_nxmx(run, first) : 0;
    }
    if (format == IMAGE_CBF) {
        const nb_status status = nb_cbf_check(run->command.sim, run->command.params.x);
        if (status != NB_OK) return failed(run, status);
    }
    return 0;
}

/* Returns how photons become counts. If -scale is 0, SMV has the scale of -intfile, and
 * other formats have 1. */
static nb_digitizer conversion(struct run *run, struct result *result, int i)
{
    const struct settings *s = run->command.s;
    const int smv = image_format(s) == IMAGE_SMV;
    const double pedestal = smv ? s->adc : 0;
    nb_digitizer how = {.offset = pedestal,
                        .scale = smv            ? result->int_scale
                                 : s->scale > 0 ? s->scale
                                                : 1};
    if (!s->plain) how = outputs_noise(run, i, pedestal);
    how.overloads = &result->image_overloads;
    return how;
}

/* Convert the image to the type of the pixels in the file. */
static nb_status convert(struct run *run, struct result *result, int i, nb_array *out)
{
    const int nslow = run->command.description.nslow,
              nfast = run->command.description.nfast;
    nb_array image = nb_array_f64(run->image, nslow, nfast);
    if (run->image_file->nxmx && run->command.s->plain) {
        float *const to = run->image_file->pixels;
        for (size_t k = 0; k < (size_t)nslow * (size_t)nfast; k++)
            to[k] = (float)run->image[k];
        *out = nb_array_f32(to, nslow, nfast);
        return NB_OK;
    }
    const nb_digitizer how = conversion(run, result, i);
    *out = nb_array_i32(run->image_file->pixels, nslow, nfast);
    return nb_digitize(run->command.sim, &how, &image, out);
}

/* Open the data file for image i, unless the open file can take it. Returns 0 or the exit
 * status. */
static int turn_to(struct run *run, int i)
{
    struct image_file *const file = run->image_file;
    struct result *const result = &run->results[i];
    result->file[OUT_IMAGE] = NULL;
    if (file->nxmx && i == file->next && file->frames < run->share->frames_most) {
        result->file[OUT_IMAGE] = part_name(run->command.s, i - file->frames);
        return result->file[OUT_IMAGE]
                   ? 0
                   : message_failure(run->command.messages, "out of memory");
    }
    if (file->nxmx) {
        nb_nxmx *const done = file->nxmx;
        file->nxmx = NULL;
        const nb_status status = nb_nxmx_close(done);
        if (status != NB_OK) return failed(run, status);
    }
    result->file[OUT_IMAGE] = part_name(run->command.s, i);
    if (!result->file[OUT_IMAGE])
        return message_failure(run->command.messages, "out of memory");
    return begin_nxmx(run, i);
}

int image_file_write(struct run *run, struct result *result, int i)
{
    struct image_file *const file = run->image_file;
    if (share_is_framed(run, i)) return 0;
    if (file->in_parts) {
        const int code = turn_to(run, i);
        if (code) return code;
    }
    const char *const name = result->file[OUT_IMAGE];
    if (image_format(run->command.s) == IMAGE_SMV) {
        const nb_digitizer how = conversion(run, result, i);
        return outputs_write_smv(run, result, &how, name);
    }
    nb_array pixels;
    nb_status status = convert(run, result, i, &pixels);
    if (run->command.s->full_report)
        printf("writing %s as 4-byte %s\n", name,
               pixels.type == NB_TYPE_FLOAT ? "floats" : "integers");
    if (status == NB_OK)
        status = file->nxmx ? nb_nxmx_append(file->nxmx, run->command.params.x, &pixels)
                            : nb_cbf_write(run->command.sim, run->command.params.x, name, 0,
                                           &pixels);
    if (status != NB_OK) return failed(run, status);
    file->frames++;
    file->next = i + 1;
    return 0;
}

int image_file_end(struct run *run, int code)
{
    struct image_file *const file = run->image_file;
    if (!file || !file->nxmx) return code;
    nb_nxmx *const nxmx = file->nxmx;
    file->nxmx = NULL;
    if (file->frames == 0) {
        nb_nxmx_free(nxmx);
        return code;
    }
    const nb_status status = nb_nxmx_close(nxmx);
    /* a failure that ended the run has been reported */
    return code && code != EXIT_INTERRUPTED ? code
           : status == NB_OK                ? code
                                            : failed(run, status);
}

void image_file_free(struct run *run)
{
    if (!run->image_file) return;
    nb_nxmx_free(run->image_file->nxmx);
    free(run->image_file->pixels);
    free(run->image_file);
}
