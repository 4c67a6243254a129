/*
 * dtrek.c - reads the experiment in an SMV header of d*TREK (Rigaku and others). The
 * detector is on a goniometer whose axes are rotations or translations in the frame of the
 * laboratory, listed from the outermost inwards. The frame is taken to be dxtbx's, as dxtbx
 * itself does.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/experiment.h>

#include "base/context.h"
#include "base/floats.h"
#include "base/log.h"
#include "nanobrag_io/experiment/models.h"
#include "nanobrag_io/smv/smv.h"
#include "scene/linear.h"

enum { AXES_MOST = 12, PREFIX = 32, KEY = 80 };

/* rotation from the frame of dxtbx to the frame of the scene: x and z change their sign */
static const double from_dxtbx[3][3] = {{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}};

struct dtrek {
    nb_context *ctx;
    const char *name; /* name of the file, for messages */
    const nb_smv *smv;
    char prefix[PREFIX]; /* the detector's name; its keys begin with it */
};

/* the axes of the detector's goniometer, degree or mm */
struct axes {
    int n, is_length[AXES_MOST];
    double value[AXES_MOST], vector[AXES_MOST][3];
};

static struct span value_of(const struct dtrek *d, const char *key)
{
    return smv_value(d->smv->header, key);
}

/* Reads up to `most` numbers of a key of the detector. Returns how many there are. */
static int of_detector(const struct dtrek *d, const char *key, int most, double *out)
{
    char whole[KEY];

    (void)snprintf(whole, sizeof whole, "%s%s", d->prefix, key);
    return smv_numbers(d->smv->header, whole, most, out);
}

static nb_status lacks(const struct dtrek *d, const char *key, const char *expected)
{
    return fail(d->ctx, NB_ERR_FORMAT,
                "%s: the d*TREK header lacks %s%s (%s); state the geometry by options",
                d->name, d->prefix, key, expected);
}

/* Reads the name of the detector, because its keys begin with it. Refuses a header of
 * several detectors. */
static nb_status read_prefix(struct dtrek *d)
{
    const struct span names = value_of(d, "DETECTOR_NAMES");
    double number = 1;
    size_t n = 0;

    while (n < names.n && !strchr(" \t,", names.at[n])) n++;
    (void)smv_numbers(d->smv->header, "DETECTOR_NUMBER", 1, &number);
    if (number > 1)
        return fail(d->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the d*TREK header has %g detectors; expected one", d->name,
                    number);
    if (n + 2 > PREFIX)
        return fail(d->ctx, NB_ERR_FORMAT, "%s: DETECTOR_NAMES is too long", d->name);
    memcpy(d->prefix, names.at, n);
    d->prefix[n] = '\0';
    if (n == 0 || of_detector(d, "GONIO_VALUES", 1, &number) > 0) return NB_OK;
    (void)memcpy(d->prefix + n, "_", 2); /* the name may stand without the underscore of the
                                            keys */
    if (of_detector(d, "GONIO_VALUES", 1, &number) == 0) d->prefix[n] = '\0';
    return NB_OK;
}

/* ---- detector ---- */

/* Reads the edge of a pixel, mm, and where the beam meets the detector, pixels, if all axes
 * are at 0. */
static nb_status read_pixels(const struct dtrek *d, struct models *m, double beam[2])
{
    double info[4] = {0}, size[2];
    const int n = of_detector(d, "SPATIAL_DISTORTION_INFO", 4, info);

    nb_smv_image(d->smv, &m->nfast, &m->nslow, NULL, NULL);
    if (m->nfast < 1 || m->nslow < 1)
        return lacks(d, "DETECTOR_DIMENSIONS", "SIZE1 and SIZE2");
    if (n < 4) {
        if (of_detector(d, "DETECTOR_SIZE", 2, size) < 2)
            return lacks(d, "SPATIAL_DISTORTION_INFO", "beam x, y, pixel x, y");
        info[2] = size[0] / m->nfast;
        info[3] = size[1] / m->nslow;
    }
    if (n < 2 && of_detector(d, "SPATIAL_BEAM_POSITION", 2, info) < 2)
        return lacks(d, "SPATIAL_DISTORTION_INFO", "beam x, y, pixel x, y");
    if (!(info[2] > 0 && fabs(info[2] - info[3]) <= 1e-6 * info[2]))
        return fail(d->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the pixels are %g x %g mm in the header; expected square pixels",
                    d->name, info[2], info[3]);
    m->pixel = info[2];
    beam[0] = info[0];
    beam[1] = info[1];
    return NB_OK;
}

/* Reads the directions of rows and columns of pixels if all axes are at 0. */
static void read_directions(const struct dtrek *d, double fast[3], double slow[3])
{
    double v[6] = {1, 0, 0, 0, 1, 0}, t[4] = {1, 0, 0, 1}, read[6];

    if (of_detector(d, "DETECTOR_VECTORS", 6, read) == 6) memcpy(v, read, sizeof v);
    if (of_detector(d, "SPATIAL_DISTORTION_VECTORS", 4, read) == 4)
        memcpy(t, read, sizeof t);
    for (int k = 0; k < 3; k++) {
        fast[k] = t[0] * v[k] + t[1] * v[3 + k];
        slow[k] = t[2] * v[k] + t[3] * v[3 + k];
    }
}

/* Reads the unit of each axis. Without any, the first three axes are angles and the others
 * lengths. */
static nb_status read_units(const struct dtrek *d, struct axes *axes)
{
    char key[KEY];
    struct span units;

    for (int i = 0; i < axes->n; i++) axes->is_length[i] = i >= 3;
    (void)snprintf(key, sizeof key, "%sGONIO_UNITS", d->prefix);
    units = value_of(d, key);
    for (int i = 0; i < axes->n && units.n > 0; i++) {
        size_t n = 0;

        while (n < units.n && !strchr(" \t\r\n", units.at[n])) n++;
        if (n < 2 || (memcmp(units.at, "de", 2) != 0 && memcmp(units.at, "mm", 2) != 0))
            return lacks(d, "GONIO_UNITS", "deg or mm for each axis");
        axes->is_length[i] = units.at[0] == 'm';
        while (n < units.n && strchr(" \t\r\n", units.at[n])) n++;
        units.at += n;
        units.n -= n;
    }
    return NB_OK;
}

static nb_status read_axes(const struct dtrek *d, struct axes *axes)
{
    /* without GONIO_VECTORS: RotZ, RotX/Swing, RotY, TransX, TransY, TransZ/Dist */
    static const double usual[6][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0},
                                       {1, 0, 0}, {0, 1, 0}, {0, 0, -1}};
    double number = 0;
    int n;

    axes->n = of_detector(d, "GONIO_VALUES", AXES_MOST, axes->value);
    if (of_detector(d, "GONIO_NUM_VALUES", 1, &number) == 1 && number != axes->n)
        return lacks(d, "GONIO_VALUES", "as many numbers as GONIO_NUM_VALUES says");
    if (axes->n == 0) return lacks(d, "GONIO_VALUES", "angles and distance");
    NB_TRY(read_units(d, axes));
    n = of_detector(d, "GONIO_VECTORS", 3 * axes->n, axes->vector[0]);
    if (n == 0 && axes->n == 6)
        memcpy(axes->vector, usual, sizeof usual);
    else if (n < 3 * axes->n)
        return lacks(d, "GONIO_VECTORS", "three numbers for each axis");
    for (int i = 0; i < axes->n; i++)
        if (!(linear_norm(axes->vector[i]) > 0))
            return lacks(d, "GONIO_VECTORS", "vectors with a direction");
    return NB_OK;
}

/* Returns the number of the axis that swings the detector about the crystal (two theta):
 * the only rotation that is not 0, with no shift outside it. Returns -1 if there is
 * none. */
static int swing_of(const struct axes *axes)
{
    int swing = -1;

    for (int i = 0; i < axes->n; i++) {
        if (axes->value[i] == 0 || axes->is_length[i]) continue;
        if (swing >= 0) return -1;
        swing = i;
    }
    for (int i = 0; i < swing; i++)
        if (axes->value[i] != 0) return -1;
    return swing;
}

/* Moves the detector by all axes except number `but`, from the innermost outwards. */
static void move(const struct axes *axes, int but, struct models *m)
{
    double *const moved[] = {m->fast, m->slow, m->origin};

    for (int i = axes->n - 1; i >= 0; i--) {
        double unit[3];

        if (i == but) continue;
        if (axes->is_length[i]) {
            linear_add(axes->value[i], axes->vector[i], m->origin);
            continue;
        }
        linear_unit(axes->vector[i], unit);
        for (int k = 0; k < 3; k++)
            linear_rotate(unit, linear_radian(axes->value[i]), moved[k], moved[k]);
    }
}

static nb_status read_detector(const struct dtrek *d, struct models *m, struct axes *axes)
{
    double beam[2] = {0};

    NB_TRY(read_pixels(d, m, beam));
    NB_TRY(read_axes(d, axes));
    read_directions(d, m->fast, m->slow);
    for (int k = 0; k < 3; k++)
        m->origin[k] = -m->pixel * (beam[0] * m->fast[k] + beam[1] * m->slow[k]);
    move(axes, swing_of(axes), m);
    m->found |= NB_FOUND_DETECTOR;
    return NB_OK;
}

/* ---- beam and scan ---- */

/* Reads a wavelength, A. The number of wavelengths may stand in front of it. */
static double wavelength_of(const struct dtrek *d, const char *key)
{
    double value[3] = {0};
    const int n = smv_numbers(d->smv->header, key, 3, value);

    if (n >= 2 && value[0] > 1)
        log_line(d->ctx, NB_LOG_WARNING, "smv",
                 "%s: the first of the %g wavelengths in %s is taken", d->name, value[0],
                 key);
    return n >= 2 ? value[1] : value[0];
}

static void read_beam(const struct dtrek *d, struct models *m)
{
    const double of_source = wavelength_of(d, "SOURCE_WAVELENGTH");
    const double of_scan = wavelength_of(d, "SCAN_WAVELENGTH");
    double source[3] = {0, 0, 1}, polar[4], read[3];

    m->wavelength = of_scan > 0 ? of_scan : of_source;
    if (of_scan > 0 && of_source > 0 && fabs(of_scan - of_source) > 1e-4 * of_scan)
        log_line(d->ctx, NB_LOG_WARNING, "smv",
                 "%s: SCAN_WAVELENGTH is %g A but SOURCE_WAVELENGTH is %g A; "
                 "SCAN_WAVELENGTH is taken",
                 d->name, of_scan, of_source);
    if (!(m->wavelength > 0)) {
        log_line(d->ctx, NB_LOG_WARNING, "smv",
                 "%s: the header has no SOURCE_WAVELENGTH above 0; the run takes 1 A "
                 "unless -lambda or -energy states the wavelength",
                 d->name);
        m->wavelength = 1;
    }
    if (smv_numbers(d->smv->header, "SOURCE_VECTORS", 3, read) == 3
        && linear_norm(read) > 0)
        linear_copy(read, source);
    linear_scale(-1, source, m->beam);
    m->found |= NB_FOUND_BEAM;
    if (smv_numbers(d->smv->header, "SOURCE_POLARZ", 4, polar) < 4) return;
    linear_cross(polar + 1, m->beam, m->field);
    if (!(polar[0] >= 0 && polar[0] <= 1) || !(linear_norm(m->field) > 0)) return;
    m->kahn = 2 * polar[0] - 1;
    m->found |= NB_FOUND_POLARIZATION;
}

static void read_scan(const struct dtrek *d, struct models *m)
{
    double rotation[3], axis[3] = {1, 0, 0}, read[3];

    if (smv_numbers(d->smv->header, "ROTATION_VECTOR", 3, read) == 3
        && linear_norm(read) > 0)
        linear_copy(read, axis);
    linear_copy(axis, m->axis);
    m->found |= NB_FOUND_AXIS;
    if (smv_numbers(d->smv->header, "ROTATION", 3, rotation) < 3
        && smv_numbers(d->smv->header, "SCAN_ROTATION", 3, rotation) < 3) {
        log_line(d->ctx, NB_LOG_WARNING, "smv",
                 "%s: the header has no ROTATION; the run takes a still at 0 degrees "
                 "unless -phi and -osc state a rotation",
                 d->name);
        return;
    }
    m->phi0 = rotation[0];
    m->osc = rotation[2];
    m->found |= NB_FOUND_SCAN;
}

/* ---- the experiment ---- */

/* Puts the swing into the scene as two theta, so that it stays a parameter. */
static void set_swing(const struct axes *axes, nb_detector *detector)
{
    const int swing = swing_of(axes);

    if (swing < 0) return;
    linear_unit(axes->vector[swing], detector->vectors[3]);
    linear_apply(from_dxtbx, detector->vectors[3], detector->vectors[3]);
    detector->twotheta = axes->value[swing];
}

nb_status nb_smv_experiment(nb_context *ctx, const nb_smv *smv, const char *name,
                            nb_experiment *out)
{
    STANDARD_FLOATS;
    struct dtrek d = {.ctx = ctx, .name = name, .smv = smv};
    struct models models = {0};
    struct axes axes = {0};

    if (out) memset(out, 0, sizeof *out);
    if (!ctx) return NB_ERR_ARGUMENT;
    if (!smv || !name || !out)
        return fail(ctx, NB_ERR_ARGUMENT, "SMV image: %s is NULL",
                    !smv    ? "smv"
                    : !name ? "name"
                            : "out");
    if (value_of(&d, "DETECTOR_NAMES").n == 0) return NB_OK;
    NB_TRY(read_prefix(&d));
    NB_TRY(read_detector(&d, &models, &axes));
    read_beam(&d, &models);
    read_scan(&d, &models);
    NB_TRY(models_to_scene(ctx, name, &models, from_dxtbx, NB_CONVENTION_DIALS, out));
    set_swing(&axes, &out->scene.detector);
    out->count = out->images = 1;
    return NB_OK;
}
