/*
 * cbf.c - writes miniCBF: a text header as detectors of Dectris write, then the pixels in
 * the byte offset compression of CBF (International Tables for Crystallography G, 5.6.3.2),
 * which stores the difference of each pixel from the one before in as few bytes as it
 * needs.
 *
 * The header has no vectors. dxtbx gives its numbers a meaning: in the frame of dxtbx, the
 * fast axis and the spindle are along +x, slow is along -y, and the beam along -z.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/cbf.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/context.h"
#include "nanobrag_io/file.h"
#include "scene/detector/attenuation.h"
#include "scene/linear.h"

enum { HEADER_MAX = 4096, NUMBER = 32 };

/* how far a unit vector may be from the direction that the format implies */
static const double rounding = 1e-9;

/* ---- the geometry ---- */

static nb_status fail_geometry(nb_context *ctx, const char *what)
{
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "miniCBF cannot state %s; write NXmx (a name that ends in .nxs) instead",
                what);
}

static int is_along(const double a[3], const double b[3])
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(a[i] - b[i]) <= rounding)) return 0;
    return 1;
}

nb_status cbf_check(nb_context *ctx, const struct exposure *exposure)
{
    static const double beam[3] = {0, 0, -1}, source[3] = {0, 0, 1};
    const struct laboratory_panel *panel = exposure->panel;
    const double *spindle = exposure->laboratory.spindle;
    double normal[3], reverse[3];

    if (exposure->laboratory.npanel != 1)
        return fail_geometry(ctx, "a detector of several panels");
    NB_TRY(exposure_check_flat(ctx, exposure, "miniCBF"));
    linear_cross(panel->fast, panel->slow, normal);
    if (is_along(normal, source))
        return fail_geometry(ctx, "a mirrored image (fast axis, slow axis and beam are "
                                  "left-handed, as under the convention adxv)");
    if (!is_along(normal, beam)) return fail_geometry(ctx, "a tilted detector");
    if (exposure->width == 0 || is_along(spindle, panel->fast)) return NB_OK;
    linear_scale(-1, panel->fast, reverse);
    return fail_geometry(ctx, is_along(spindle, reverse)
                                  ? "a crystal that turns backwards about the fast axis"
                                  : "a spindle that is not along the fast axis");
}

/* ---- the header ---- */

struct header {
    char text[HEADER_MAX];
    size_t n;
};

static void add(struct header *header, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a line to the header. */
static void add(struct header *header, const char *format, ...)
{
    const size_t room = sizeof header->text - header->n;
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(header->text + header->n, room, format, list);
    va_end(list);
    if (n > 0) header->n += (size_t)n < room ? (size_t)n : room - 1;
    if (header->n + 2 < sizeof header->text) {
        memcpy(header->text + header->n, "\r\n", 3);
        header->n += 2;
    }
}

/* Writes a number with the fewest digits that read back as the same number. */
static const char *exact(double value, char out[NUMBER])
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(out, NUMBER, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
    return out;
}

static void add_number(struct header *header, const char *key, double value,
                       const char *unit)
{
    char text[NUMBER];

    add(header, "# %s %s %s", key, exact(value, text), unit);
}

/* Adds the name of the data block: the file's name without folder and ending. */
static void add_block(struct header *header, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    const size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    char name[64] = "image";
    size_t n = 0;

    for (; n < length && n + 1 < sizeof name; n++) {
        const unsigned char c = (unsigned char)base[n];

        name[n] = (char)(c < 128 && (isalnum(c) || strchr("_-.", c)) ? c : '_');
    }
    if (n > 0) name[n] = '\0';
    add(header, "data_%s", name);
}

static void add_time(struct header *header)
{
    const time_t now = time(NULL);
    struct tm utc;
    char text[32];

    if (gmtime_r(&now, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc) > 0)
        add(header, "# %s.000", text);
}

/* Adds a sensor. Without one, dxtbx would not know a detector of counting pixels and would
 * look for larger spots. */
static void add_sensor(struct header *header, const struct exposure *exposure)
{
    double thickness;
    const int material = exposure_sensor(exposure, MATERIALS_LAST_CBF, &thickness);
    char text[NUMBER];

    add(header, "# %s sensor, thickness %s m",
        material == NB_MATERIAL_SI ? "Silicon" : attenuation_name(material),
        exact(thickness / 1000, text));
}

/* Adds geometry, beam and rotation. */
static void add_exposure(struct header *header, const struct exposure *exposure,
                         double overload)
{
    const double pixel = exposure->panel->pixel;
    char x[NUMBER], y[NUMBER];

    add(header, "# Detector: simulated by nanobrag %s", NANOBRAG_VERSION);
    add_time(header);
    add(header, "# Pixel_size %s m x %s m", exact(pixel / 1000, x), exact(pixel / 1000, y));
    add_number(header, "Exposure_time", exposure->seconds, "s");
    add_number(header, "Exposure_period", exposure->seconds, "s");
    add_sensor(header, exposure);
    add(header, "# Count_cutoff %.0f counts", overload);
    add_number(header, "Wavelength", exposure->wavelength, "A");
    add_number(header, "Detector_distance", exposure->distance / 1000, "m");
    add(header, "# Beam_xy (%s, %s) pixels", exact(exposure->beam_fast / pixel, x),
        exact(exposure->beam_slow / pixel, y));
    add_number(header, "Flux", exposure->flux, "photons/s");
    add_number(header, "Start_angle", exposure->phi, "deg.");
    add_number(header, "Angle_increment", exposure->width, "deg.");
    add_number(header, "Polarization", exposure->laboratory.polarization_fraction, "");
}

/* Makes the header, up to the n bytes of pixels. */
static void compose(struct header *header, const char *path,
                    const struct exposure *exposure, double overload, size_t n)
{
    header->n = 0;
    add(header, "###CBF: VERSION 1.5, nanobrag %s", NANOBRAG_VERSION);
    add(header, "%s", "");
    add_block(header, path);
    add(header, "%s", "");
    add(header, "_array_data.header_convention \"GENERIC_MINI\"");
    add(header, "_array_data.header_contents");
    add(header, ";");
    add_exposure(header, exposure, overload);
    add(header, ";");
    add(header, "%s", "");
    add(header, "_array_data.data");
    add(header, ";");
    add(header, "--CIF-BINARY-FORMAT-SECTION--");
    add(header, "Content-Type: application/octet-stream;");
    add(header, "     conversions=\"x-CBF_BYTE_OFFSET\"");
    add(header, "Content-Transfer-Encoding: BINARY");
    add(header, "X-Binary-Size: %zu", n);
    add(header, "X-Binary-ID: 1");
    add(header, "X-Binary-Element-Type: \"signed 32-bit integer\"");
    add(header, "X-Binary-Element-Byte-Order: LITTLE_ENDIAN");
    add(header, "X-Binary-Number-of-Elements: %lld",
        (long long)exposure->nfast * exposure->nslow);
    add(header, "X-Binary-Size-Fastest-Dimension: %d", exposure->nfast);
    add(header, "X-Binary-Size-Second-Dimension: %d", exposure->nslow);
    add(header, "X-Binary-Size-Padding: 0");
    add(header, "%s", "");
}

/* ---- the pixels ---- */

static int64_t pixel_at(const nb_array *counts, size_t i)
{
    return counts->bits == 32 ? ((const int32_t *)counts->data)[i]
                              : ((const uint16_t *)counts->data)[i];
}

/* Appends the lowest `bytes` bytes of a number, lowest first. */
static unsigned char *put_little(unsigned char *to, int64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *to++ = (unsigned char)((uint64_t)value >> 8 * i);
    return to;
}

/* Appends a difference of two pixels in 1, 2, 4 or 8 bytes. The lowest number of each
 * length says that a longer one follows. */
static unsigned char *put_difference(unsigned char *to, int64_t d)
{
    if (d >= -127 && d <= 127) return put_little(to, d, 1);
    to = put_little(to, INT8_MIN, 1);
    if (d >= -INT16_MAX && d <= INT16_MAX) return put_little(to, d, 2);
    to = put_little(to, INT16_MIN, 2);
    if (d >= -INT32_MAX && d <= INT32_MAX) return put_little(to, d, 4);
    to = put_little(to, INT32_MIN, 4);
    return put_little(to, d, 8);
}

static size_t length_of_difference(int64_t d)
{
    if (d >= -127 && d <= 127) return 1;
    if (d >= -INT16_MAX && d <= INT16_MAX) return 3;
    return d >= -INT32_MAX && d <= INT32_MAX ? 7 : 15;
}

static size_t length_of(const nb_array *counts, size_t pixels)
{
    int64_t last = 0;
    size_t n = 0;

    for (size_t i = 0; i < pixels; i++) {
        const int64_t now = pixel_at(counts, i);

        n += length_of_difference(now - last);
        last = now;
    }
    return n;
}

static void compress(const nb_array *counts, size_t pixels, unsigned char *to)
{
    int64_t last = 0;

    for (size_t i = 0; i < pixels; i++) {
        const int64_t now = pixel_at(counts, i);

        to = put_difference(to, now - last);
        last = now;
    }
}

nb_status cbf_write(nb_context *ctx, const char *path, const struct exposure *exposure,
                    double overload, const nb_array *counts)
{
    static const unsigned char start[4] = {0x0c, 0x1a, 0x04, 0xd5};
    static const char end[] = "\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n";
    const size_t pixels = (size_t)exposure->nslow * (size_t)exposure->nfast;
    struct header header;
    struct file_out file;
    unsigned char *bytes;
    size_t n;
    nb_status status;

    NB_TRY(
        array_check_counts(ctx, counts, NB_DEVICE_CPU, exposure->nslow, exposure->nfast));
    if (!array_is_dense(counts))
        return fail(ctx, NB_ERR_SHAPE, "%s: not a dense image",
                    counts->name ? counts->name : "counts");
    NB_TRY(cbf_check(ctx, exposure));
    n = length_of(counts, pixels);
    bytes = malloc(n + 1);
    if (!bytes) return fail_memory(ctx, path);
    compress(counts, pixels, bytes);
    compose(&header, path, exposure, overload, n);
    status = file_begin(ctx, path, &file);
    if (status == NB_OK) {
        file_preallocate(&file, header.n + sizeof start + n + sizeof end);
        file_put(&file, header.text, header.n);
        file_put(&file, start, sizeof start);
        file_put(&file, bytes, n);
        file_put(&file, end, sizeof end - 1);
        status = file_end(&file);
    }
    free(bytes);
    return status;
}
