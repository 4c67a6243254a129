/*
 * smv_header.c - makes the text of an SMV header.
 *
 * With -compat nanobragg it is nanoBragg's, byte for byte. Otherwise it also has
 * ADC_OFFSET, and the beam centre as dxtbx reads it: x is one pixel less, and y is measured
 * from the far edge and one pixel more. Numbers in nanoBragg's header have six digits, too
 * few to get the geometry back by -img. So numbers that -img reads have 7 to 9 digits: as
 * many as fit into a header of 512 bytes, or 9 if 7 do not fit.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/run.h"

struct text {
    char *out;
    size_t used;
    int digits, needed_digits; /* of most numbers; of numbers that -img reads */
};

static void put(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n =
        vsnprintf(text->out + text->used, SMV_HEADER_BYTES - text->used, format, args);
    va_end(args);
    if (n > 0) text->used += (size_t)n;
    if (text->used >= SMV_HEADER_BYTES) text->used = SMV_HEADER_BYTES - 1;
}

/* Write KEY=value with at least six digits, and no more than needed to agree with the value
 * to `most` digits. */
static void put_digits(struct text *text, const char *key, double value, int most)
{
    char number[40];
    for (int digits = 6; digits <= most; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        const double off = fabs(strtod(number, NULL) - value);
        if (off <= 0.5 * pow(10, -most) * fabs(value)) break;
    }
    put(text, "%s=%s;\n", key, number);
}

static void put_real(struct text *text, const char *key, double value)
{
    put_digits(text, key, value, text->digits);
}

static void put_needed(struct text *text, const char *key, double value)
{
    put_digits(text, key, value, text->needed_digits);
}

static const char *byte_order(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first ? "little_endian" : "big_endian";
}

static void put_beam_centre(struct text *text, const struct run *run)
{
    const nb_description *d = &run->command.description;
    const struct pair *given = &run->command.s->header_beam;
    double x = d->xbeam, y = d->ybeam;
    if (!run->command.s->compat) {
        x = d->beam_fast - d->pixel;
        y = d->pixel * d->nslow - (d->beam_slow - d->pixel);
    } else if (given->given[0]) {
        x = given->value[0];
        y = given->value[1];
    }
    put_real(text, "BEAM_CENTER_X", x);
    put_real(text, "BEAM_CENTER_Y", y);
}

static void put_lines(struct text *text, const struct run *run, double phi)
{
    const nb_description *d = &run->command.description;
    const nb_scene *scene = &run->command.resolved;
    put(text, "DIM=2;\nBYTE_ORDER=%s;\nTYPE=unsigned_short;\n", byte_order());
    put(text, "SIZE1=%d;\nSIZE2=%d;\n", d->nfast, d->nslow);
    put_needed(text, "PIXEL_SIZE", d->pixel);
    put_real(text, "DISTANCE", d->distance);
    put_needed(text, "WAVELENGTH", scene->beam.wavelength);
    put_beam_centre(text, run);
    put(text, "ADXV_CENTER_X=%g;\nADXV_CENTER_Y=%g;\n", d->adxv[0], d->adxv[1]);
    put(text, "MOSFLM_CENTER_X=%g;\nMOSFLM_CENTER_Y=%g;\n", d->mosflm[0], d->mosflm[1]);
    put(text, "DENZO_X_BEAM=%g;\nDENZO_Y_BEAM=%g;\n", d->denzo[0], d->denzo[1]);
    double origin[3];
    report_dials_origin(run, origin);
    put(text, "DIALS_ORIGIN=%g,%g,%g\n", origin[0], origin[1], origin[2]);
    put_needed(text, "XDS_ORGX", d->xds_org[0]);
    put_needed(text, "XDS_ORGY", d->xds_org[1]);
    put_needed(text, "CLOSE_DISTANCE", d->close_distance);
    put_needed(text, "PHI", phi);
    put_needed(text, "OSC_START", phi);
    put_needed(text, "OSC_RANGE", scene->scan.osc);
    put_needed(text, "TWOTHETA", scene->detector.twotheta);
    put(text, "DETECTOR_SN=000;\n");
    if (!run->command.s->compat) put(text, "ADC_OFFSET=%g;\n", run->command.s->adc);
    put(text, "BEAMLINE=fake;\n");
}

/* Write all lines. Returns their length, bytes. */
static size_t compose(const struct run *run, double phi, struct text text)
{
    put_lines(&text, run, phi);
    return text.used;
}

void smv_header(const struct run *run, double phi, char out[SMV_HEADER_BYTES])
{
    enum { USUAL = 512, FRAME = sizeof "{\nHEADER_BYTES=512;\n}\f" - 1 };
    out[0] = 0;
    const struct text six = {out, 0, 6, 6}, nine = {out, 0, 9, 9};
    if (run->command.s->compat) {
        compose(run, phi, six);
        return;
    }
    if (compose(run, phi, nine) + FRAME <= USUAL) return;
    for (int needed = 9; needed >= 7; needed--) {
        const struct text text = {out, 0, 6, needed};
        if (compose(run, phi, text) + FRAME <= USUAL) return;
    }
    compose(run, phi, nine);
}
