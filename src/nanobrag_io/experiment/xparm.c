/*
 * xparm.c - reads XPARM.XDS: the first line names the format, and the meaning of each
 * number after it follows from its line and place. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_io/experiment/models.h"
#include "nanobrag_io/gemmi/gemmi.h"
#include "nanobrag_io/text.h"
#include "scene/linear.h"

/* the numbers of the file, in their order */
struct xparm {
    double start[6]; /* first frame, phi, oscillation, axis of rotation */
    double beam[4]; /* wavelength, direction */
    double cell[7]; /* space group, cell */
    double axes[3][3]; /* a, b, c at phi = 0 */
    double size[5]; /* segments, NX, NY, QX, QY */
    double place[3]; /* ORGX, ORGY, distance */
    double detector[3][3]; /* X, Y and normal */
};

static nb_status read_line(nb_context *ctx, struct text *text, const char *what,
                           double *out, int n)
{
    struct span line, word;

    if (!text_line(text, &line))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s, line %ld: the file ends here, expected %s; give a whole XPARM.XDS",
                    text->name, text->line, what);
    for (int i = 0; i < n; i++) {
        if (!text_word(text, &line, &word))
            return fail(ctx, NB_ERR_FORMAT,
                        "%s, line %ld: the line has %d number%s, expected %d: %s; give a "
                        "whole XPARM.XDS",
                        text->name, text->line, i, i == 1 ? "" : "s", n, what);
        if (!text_number(word, out + i))
            return fail(ctx, NB_ERR_FORMAT,
                        "%s, line %ld: '%s' is no finite number, expected %s; correct it",
                        text->name, text->line, text_show(word).s, what);
    }
    return NB_OK;
}

static nb_status read_numbers(nb_context *ctx, struct text *text, struct xparm *x)
{
    NB_TRY(read_line(ctx, text, "first frame, angle, oscillation and axis of rotation",
                     x->start, 6));
    NB_TRY(read_line(ctx, text, "wavelength and direction of the beam", x->beam, 4));
    NB_TRY(read_line(ctx, text, "space group and cell", x->cell, 7));
    for (int i = 0; i < 3; i++)
        NB_TRY(read_line(ctx, text, "an axis of the crystal", x->axes[i], 3));
    NB_TRY(read_line(ctx, text, "number of segments, NX, NY, QX and QY", x->size, 5));
    NB_TRY(read_line(ctx, text, "ORGX, ORGY and the distance", x->place, 3));
    for (int i = 0; i < 3; i++)
        NB_TRY(read_line(ctx, text, "an axis of the detector", x->detector[i], 3));
    return NB_OK;
}

static nb_status check(nb_context *ctx, const char *name, const struct xparm *x)
{
    const double *size = x->size;

    if (size[0] > 1)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "%s: the detector has %g segments, expected 1, a flat panel", name,
                    size[0]);
    if (!(x->beam[0] > 0))
        return fail(ctx, NB_ERR_FORMAT, "%s: the wavelength is %g A, expected more than 0",
                    name, x->beam[0]);
    if (!(size[1] >= 1 && size[1] <= 1e6 && size[2] >= 1 && size[2] <= 1e6)
        || size[1] != floor(size[1]) || size[2] != floor(size[2]))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the detector has %g x %g pixels, expected whole numbers from 1 to "
                    "1000000",
                    name, size[1], size[2]);
    if (!(size[3] > 0 && size[4] > 0))
        return fail(ctx, NB_ERR_FORMAT, "%s: the pixels are %g x %g mm, expected above 0",
                    name, size[3], size[4]);
    if (!(fabs(size[3] - size[4]) <= 1e-9 * size[3]))
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "%s: the pixels are %g x %g mm; expected square pixels", name, size[3],
                    size[4]);
    return NB_OK;
}

/* Reads the axes of the detector. The axes have six decimals in the file, so the slow axis
 * is made exactly perpendicular to the fast axis, and the normal to both. */
static nb_status detector_axes(nb_context *ctx, const char *name, const struct xparm *x,
                               double axis[3][3])
{
    static const double within = 1e-4;
    double normal[3];

    for (int i = 0; i < 3; i++) linear_unit(x->detector[i], axis[i]);
    linear_cross(axis[0], axis[1], normal);
    if (!(fabs(linear_dot(axis[0], axis[1])) < within)
        || !(fabs(fabs(linear_dot(axis[2], normal)) - 1) < within))
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the three axes of the detector are not at right angles to each "
                    "other; give a whole XPARM.XDS",
                    name);
    linear_add(-linear_dot(axis[0], axis[1]), axis[0], axis[1]);
    linear_unit(axis[1], axis[1]);
    linear_cross(axis[0], axis[1], normal);
    linear_scale(linear_dot(axis[2], normal) < 0 ? -1 : 1, normal, axis[2]);
    return NB_OK;
}

/* Places the panel. The outer corner of the first pixel has ORGX = ORGY = 1/2. The distance
 * is along the normal, and negative if the normal points to the crystal. */
static nb_status place_detector(nb_context *ctx, const char *name, const struct xparm *x,
                                struct models *m)
{
    double axis[3][3];

    NB_TRY(detector_axes(ctx, name, x, axis));
    linear_copy(axis[0], m->fast);
    linear_copy(axis[1], m->slow);
    linear_scale(x->place[2], axis[2], m->origin);
    linear_add(-(x->place[0] - 0.5) * x->size[3], axis[0], m->origin);
    linear_add(-(x->place[1] - 0.5) * x->size[3], axis[1], m->origin);
    m->nfast = (int)x->size[1];
    m->nslow = (int)x->size[2];
    m->pixel = x->size[3];
    return NB_OK;
}

static nb_status to_experiment(nb_context *ctx, const char *name, const struct xparm *x,
                               nb_experiment *out)
{
    static const double forward[3] = {0, 0, 1};
    struct models m = {.found = NB_FOUND_BEAM | NB_FOUND_DETECTOR | NB_FOUND_AXIS
                                | NB_FOUND_SCAN | NB_FOUND_CRYSTAL,
                       .wavelength = x->beam[0],
                       .phi0 = x->start[1],
                       .osc = x->start[2]};
    char symbol[GEMMI_NAME], hall[GEMMI_NAME], number[16];
    double turn[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, beam[3];
    nb_status status;

    linear_copy(x->beam + 1, m.beam);
    linear_copy(x->start + 3, m.axis);
    memcpy(m.real_axes, x->axes, sizeof m.real_axes);
    NB_TRY(place_detector(ctx, name, x, &m));
    linear_unit(m.beam, beam);
    linear_rotate_to_z(beam, forward, turn);
    NB_TRY(
        models_to_scene(ctx, name, &m, (const double(*)[3])turn, NB_CONVENTION_XDS, out));
    out->count = out->images = 1;
    if (x->cell[0] >= 1 && x->cell[0] < 1e5) {
        (void)snprintf(number, sizeof number, "%d", (int)x->cell[0]);
        status = gemmi_symbols(GEMMI_NUMBER, number, symbol, hall);
        if (status == NB_ERR_MEMORY) return fail_memory(ctx, name);
        if (status == NB_OK) memcpy(out->space_group, symbol, sizeof symbol);
    }
    return NB_OK;
}

nb_status xparm_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                      void *to)
{
    static const char expected[] = "the numbers of an XPARM.XDS", first[] = "XPARM.XDS";
    nb_experiment *out = to;
    struct xparm x;
    struct text text;
    struct span line;
    nb_status status;

    memset(out, 0, sizeof *out);
    NB_TRY(text_open(ctx, name, bytes, n, expected, &text));
    if (!text_line(&text, &line) || line.n < sizeof first - 1
        || memcmp(line.at, first, sizeof first - 1) != 0)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s, line %ld: not an XPARM.XDS, whose first line begins with those "
                    "words (XDS since 2010)",
                    name, text.line);
    NB_TRY(read_numbers(ctx, &text, &x));
    NB_TRY(check(ctx, name, &x));
    status = to_experiment(ctx, name, &x, out);
    if (status != NB_OK) memset(out, 0, sizeof *out);
    return status;
}

nb_status nb_xparm_read(nb_context *ctx, const char *path, nb_experiment *out)
{
    STANDARD_FLOATS;
    static const struct file_format format = {"XPARM.XDS", (size_t)1 << 20, NULL,
                                              xparm_parse};

    if (ctx && !out) return fail(ctx, NB_ERR_ARGUMENT, "XPARM.XDS: out is NULL");
    if (out) memset(out, 0, sizeof *out);
    return file_parse(ctx, path, &format, out);
}
