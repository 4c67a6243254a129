/*
 * measured.c - reads an image of any kind: finds the kind, expands the file, and gives it
 * to the reader of that kind.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/measured/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/array.h>
#include <nanobrag/io.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_io/expand.h"
#include "nanobrag_io/measured/nxmx_read.h"
#include "nanobrag_io/parse.h"

/* ---- SMV ---- */

static void read_smv_header(const nb_smv *smv, nb_measured *image)
{
    static const struct {
        const char *keywords[3]; /* the first that the header has counts */
        size_t member;
    } items[] = {
        {{"PIXEL_SIZE"}, offsetof(nb_measured, pixel_fast)},
        {{"PIXEL_SIZE"}, offsetof(nb_measured, pixel_slow)},
        {{"WAVELENGTH"}, offsetof(nb_measured, wavelength)},
        {{"DISTANCE"}, offsetof(nb_measured, distance)},
        {{"BEAM_CENTER_X"}, offsetof(nb_measured, beam_x)},
        {{"BEAM_CENTER_Y"}, offsetof(nb_measured, beam_y)},
        {{"OSC_START", "PHI"}, offsetof(nb_measured, osc_start)},
        {{"OSC_RANGE"}, offsetof(nb_measured, osc_range)},
        {{"TIME"}, offsetof(nb_measured, exposure)},
        {{"CCD_IMAGE_SATURATION", "SATURATED_VALUE", "OVERLOAD"},
         offsetof(nb_measured, overload)},
        {{"IMAGE_PEDESTAL", "ADC_OFFSET"}, offsetof(nb_measured, pedestal)},
        {{"GAIN"}, offsetof(nb_measured, gain)},
    };

    image->gain = NAN;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        for (int k = 0; k < 3; k++) {
            double value;

            if (!nb_smv_number(smv, items[i].keywords[k], &value)) continue;
            memcpy((char *)image + items[i].member, &value, sizeof value);
            break;
        }
    image->has_gain = image->gain > 0;
    if (!image->has_gain) image->gain = 1;
}

static nb_status parse_smv(nb_context *ctx, const char *name, const void *bytes, size_t n,
                           void *to)
{
    nb_measured **const out = to;
    int nfast, nslow, type, bits;
    nb_smv *smv;
    nb_status status;

    NB_TRY(smv_parse(ctx, name, bytes, n, &smv));
    nb_smv_image(smv, &nfast, &nslow, &type, &bits);
    status = bits > 0
                 ? measured_new(ctx, name, (uint64_t)nfast, (uint64_t)nslow, out)
                 : fail(ctx, NB_ERR_FORMAT,
                        "%s: the file ends before its last pixel; copy it again", name);
    if (status == NB_OK) {
        (void)nb_smv_pixels(smv, measured_pixels(*out));
        (*out)->overload = measured_largest(type, bits);
        read_smv_header(smv, *out);
    }
    nb_smv_free(smv);
    return status;
}

/* ---- kinds ---- */

enum { KIND_BYTES = 16 };

/* How a file of a kind begins, and how it is parsed. */
static const struct kind {
    const char *name, *begin;
    file_parser *parse; /* NULL: it is refused, or is read by its name */
} kinds[] = {
    {"CBF", "###CBF", cbf_parse}, {"SMV", "{", parse_smv}, {"HDF5", "\211HDF\r\n", NULL},
    {"gzip", "\037\213", NULL},   {"bzip2", "BZh", NULL},  {"PNG", "\211PNG", NULL},
    {"TIFF", "II*", NULL},        {"TIFF", "MM", NULL},
};

static const struct kind *kind_of(const void *bytes, size_t n)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t length = strlen(kinds[i].begin);

        if (n >= length && memcmp(bytes, kinds[i].begin, length) == 0) return kinds + i;
    }
    return NULL;
}

const char *nb_image_kind(const char *path)
{
    FILE *const file = path ? fopen(path, "rbe") : NULL;
    char begin[KIND_BYTES] = "";
    const size_t n = file ? fread(begin, 1, sizeof begin, file) : 0;
    const struct kind *const kind = kind_of(begin, n);

    if (file) (void)fclose(file);
    return kind ? kind->name : NULL;
}

static nb_status parse_kind(nb_context *ctx, const char *name, const void *bytes, size_t n,
                            nb_measured **out)
{
    const struct kind *const kind = kind_of(bytes, n);

    if (kind && kind->parse) return kind->parse(ctx, name, bytes, n, out);
    return fail(ctx, NB_ERR_FORMAT,
                "%s: %s%s%s, expected an image in SMV, CBF or HDF5; check that it is the "
                "right file",
                name, kind ? "is a file of " : "is of no known kind",
                kind ? kind->name : "",
                kind && strcmp(kind->name, "HDF5") == 0 ? " in a compressed one" : "");
}

nb_status measured_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                         void *to)
{
    static const size_t most = (size_t)3 << 30, always = (size_t)1 << 28;
    unsigned char *expanded;
    size_t nexpanded;
    nb_status status;

    *(nb_measured **)to = NULL;
    NB_TRY(expand_bytes(ctx, name, bytes, n, (struct expand_limits){most, always},
                        &expanded, &nexpanded));
    if (!expanded) return parse_kind(ctx, name, bytes, n, to);
    status = parse_kind(ctx, name, expanded, nexpanded, to);
    free(expanded);
    return status;
}

/* ---- files ---- */

static int is_hdf5(const void *bytes, size_t n)
{
    const struct kind *const kind = kind_of(bytes, n);

    return kind && strcmp(kind->name, "HDF5") == 0;
}

/* HDF5 opens its files itself. */
static nb_status header(nb_context *ctx, const char *name, const void *bytes, size_t n,
                        size_t *wanted)
{
    (void)ctx, (void)name;
    *wanted = is_hdf5(bytes, n) ? n : SIZE_MAX;
    return NB_OK;
}

static nb_status read_file(nb_context *ctx, const char *path, int64_t frame,
                           nb_measured **out)
{
    static const size_t most = (size_t)3 << 30;
    unsigned char *bytes;
    size_t n;
    nb_status status;

    NB_TRY(file_read(ctx, path, most, header, &bytes, &n));
    status = is_hdf5(bytes, n) ? nxmx_read(ctx, path, frame, out)
                               : measured_parse(ctx, path, bytes, n, out);
    free(bytes);
    if (status != NB_OK || !*out) return status;
    return measured_check_frame(ctx, path, frame, (*out)->frames);
}

nb_status nb_image_read(nb_context *ctx, const char *path, int64_t frame, nb_measured **out)
{
    STANDARD_FLOATS;
    nb_status status;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !out)
        return fail(ctx, NB_ERR_ARGUMENT, "image: %s is NULL", path ? "out" : "path");
    *out = NULL;
    status = read_file(ctx, path, frame, out);
    if (status == NB_OK) return NB_OK;
    nb_measured_free(*out);
    *out = NULL;
    return status;
}
