/*
 * nxmx_read.c - see nxmx_read.h. The pixels are /entry/data/data, or the datasets
 * /entry/data/data_000001 and so on, which external links lead to. Their axes are frame,
 * panel, slow, fast; the first two may be missing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/measured/nxmx_read.h"

#include "base/context.h"

#ifdef NANOBRAG_HDF5

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/array.h>

#include "nanobrag_io/images/hdf5/hdf5_tree.h"
#include "nanobrag_io/measured/hdf5_fields.h"
#include "nanobrag_io/measured/measured.h"

#define DATA       "/entry/data"
#define INSTRUMENT "/entry/instrument"
#define SAMPLE     "/entry/sample"

struct reading {
    nb_context *ctx;
    const char *name;
    struct fields in;
    int no_memory;
    struct hdf5_tree tree; /* for HDF5's reason of a failure */
    char detector[FIELDS_PATH];
    /* the dataset that holds the frame, and its axes */
    char path[FIELDS_PATH];
    int64_t first; /* number of its first frame */
    uint64_t npanel, nslow, nfast;
    int rank;
};

/* ---- the pixels ---- */

/* Adds the frames of a dataset; keeps it if the frame is among them. */
static nb_status add_data(struct reading *r, const char *path)
{
    const hid_t data = hdf5_checked(&r->tree, hdf5.H5Dopen2(r->in.file, path, H5P_DEFAULT));
    hsize_t size[FIELDS_RANK] = {0};
    const int rank = fields_size(data, size);
    const uint64_t n = rank > 2 ? size[0] : 1;

    if (data >= 0) (void)hdf5.H5Dclose(data);
    if (data < 0)
        return fail(r->ctx, NB_ERR_FORMAT,
                    "%s: %s cannot be opened (HDF5 says: %s); if it leads to another file, "
                    "put this file beside it",
                    r->name, path, r->tree.why);
    if (rank < 2 || n > (uint64_t)INT64_MAX / 2 - (uint64_t)r->in.frames)
        return fail(r->ctx, NB_ERR_FORMAT,
                    "%s: %s is no array of numbers, frame x slow x fast; check that it is "
                    "the right file",
                    r->name, path);
    if (r->in.frame >= r->in.frames && r->in.frame < r->in.frames + (int64_t)n) {
        (void)snprintf(r->path, sizeof r->path, "%s", path);
        r->first = r->in.frames;
        r->rank = rank;
        r->npanel = rank == 4 ? size[1] : 1;
        r->nslow = size[rank - 2];
        r->nfast = size[rank - 1];
    }
    r->in.frames += (int64_t)n;
    return NB_OK;
}

/* Finds the dataset of the frame, and counts all frames. */
static nb_status find_data(struct reading *r)
{
    char path[FIELDS_PATH];
    hid_t data = hdf5.H5Dopen2(r->in.file, DATA "/data", H5P_DEFAULT);

    if (data >= 0) {
        (void)hdf5.H5Dclose(data);
        NB_TRY(add_data(r, DATA "/data"));
    } else {
        for (uint64_t i = 0; fields_member(&r->in, DATA, i, path); i++)
            if (strncmp(path, DATA "/data", strlen(DATA "/data")) == 0)
                NB_TRY(add_data(r, path));
    }
    if (r->in.frames == 0)
        return fail(r->ctx, NB_ERR_FORMAT,
                    "%s: there are no frames in " DATA ", where NXmx has its pixels; check "
                    "that it is the right file",
                    r->name);
    NB_TRY(measured_check_frame(r->ctx, r->name, r->in.frame, r->in.frames));
    if (r->npanel < 1 || r->npanel > measured_most || r->nslow > measured_most
        || r->npanel * r->nslow > measured_most)
        return fail(r->ctx, NB_ERR_FORMAT,
                    "%s: %s has no pixels, or more than 2^31 of them", r->name, r->path);
    return NB_OK;
}

/* Returns the number of a filter of a dataset that HDF5 does not find; 0: it has all. */
static int missing_filter(hid_t data)
{
    const hid_t properties = hdf5.H5Dget_create_plist(data);
    const int n = properties >= 0 ? hdf5.H5Pget_nfilters(properties) : 0;
    int missing = 0;

    for (int i = 0; i < n && !missing; i++) {
        unsigned flags, config;
        size_t values = 0;
        const H5Z_filter_t filter = hdf5.H5Pget_filter2(properties, (unsigned)i, &flags,
                                                        &values, NULL, 0, NULL, &config);

        if (filter > 0 && hdf5.H5Zfilter_avail(filter) <= 0) missing = filter;
    }
    if (properties >= 0) (void)hdf5.H5Pclose(properties);
    return missing;
}

/* Reads a part of a dataset: all of it, or of the axis before others one step. */
static void read_part(struct reading *r, hid_t data, int64_t step, size_t n, double *out)
{
    const hsize_t length = n;
    hsize_t size[FIELDS_RANK], from[FIELDS_RANK] = {0};
    const hid_t there = hdf5_checked(&r->tree, hdf5.H5Dget_space(data));
    const hid_t here = hdf5_checked(&r->tree, hdf5.H5Screate_simple(1, &length, NULL));

    if (!r->tree.failed) (void)hdf5.H5Sget_simple_extent_dims(there, size, NULL);
    if (!r->tree.failed && step >= 0) {
        from[0] = (hsize_t)step;
        size[0] = 1;
        (void)hdf5_checked(&r->tree, hdf5.H5Sselect_hyperslab(there, H5S_SELECT_SET, from,
                                                              NULL, size, NULL));
    }
    if (!r->tree.failed)
        (void)hdf5_checked(&r->tree, hdf5.H5Dread(data, *hdf5.H5T_NATIVE_DOUBLE_g, here,
                                                  there, H5P_DEFAULT, out));
    if (here >= 0) (void)hdf5.H5Sclose(here);
    if (there >= 0) (void)hdf5.H5Sclose(there);
}

/* Returns the largest number of the type of a dataset. */
static double largest_of(hid_t data)
{
    const hid_t type = hdf5.H5Dget_type(data);
    double largest = INFINITY;

    if (type >= 0 && hdf5.H5Tget_class(type) == H5T_INTEGER)
        largest = measured_largest(hdf5.H5Tget_sign(type) == H5T_SGN_NONE ? NB_TYPE_UINT
                                                                          : NB_TYPE_INT,
                                   (int)hdf5.H5Tget_size(type) * 8);
    if (type >= 0) (void)hdf5.H5Tclose(type);
    return largest;
}

static nb_status read_pixels(struct reading *r, nb_measured **out)
{
    const size_t n = (size_t)(r->nfast * r->nslow * r->npanel);
    hid_t data;
    int missing;

    NB_TRY(measured_new(r->ctx, r->name, r->nfast, r->nslow * r->npanel, out));
    (*out)->npanel = (int)r->npanel;
    (*out)->frames = r->in.frames;
    data = hdf5_checked(&r->tree, hdf5.H5Dopen2(r->in.file, r->path, H5P_DEFAULT));
    if (data < 0)
        return fail(r->ctx, NB_ERR_FORMAT, "%s: HDF5 says: %s", r->name, r->tree.why);
    missing = missing_filter(data);
    (*out)->overload = largest_of(data);
    if (!missing)
        read_part(r, data, r->rank > 2 ? r->in.frame - r->first : -1, n,
                  measured_pixels(*out));
    (void)hdf5.H5Dclose(data);
    if (missing)
        return fail(r->ctx, NB_ERR_UNSUPPORTED,
                    "%s: its pixels are compressed by filter %d of HDF5%s, which is not "
                    "installed here; install it, or set HDF5_PLUGIN_PATH to its folder",
                    r->name, missing,
                    missing == 32008   ? " (bitshuffle; Debian package: bitshuffle)"
                    : missing == 32004 ? " (LZ4; Debian package: hdf5-filter-plugin)"
                                       : "");
    if (!r->tree.failed) return NB_OK;
    return fail(r->ctx, NB_ERR_FORMAT,
                "%s: the pixels of %s cannot be read: HDF5 says: %s; the file is damaged, "
                "or a filter of HDF5 is missing (HDF5_PLUGIN_PATH names its folder)",
                r->name, r->path, r->tree.why);
}

/* ---- masks ---- */

/* Reads the numbers of a mask of n pixels, or of one for each frame. Returns 0 if there is
 * none of this size. */
static int read_bits(struct reading *r, const char *path, size_t n, double *out)
{
    const hid_t data = hdf5.H5Dopen2(r->in.file, path, H5P_DEFAULT);
    hsize_t size[FIELDS_RANK];
    const int rank = fields_size(data, size);
    double total = 1;
    int is_each;

    for (int i = 0; i < rank; i++) total *= (double)size[i];
    is_each = rank > 2 && size[0] == (hsize_t)r->in.frames
              && total == (double)n * (double)r->in.frames;
    if (rank >= 2 && (total == (double)n || is_each))
        read_part(r, data, is_each ? r->in.frame : -1, n, out);
    if (data >= 0) (void)hdf5.H5Dclose(data);
    return rank >= 2 && (total == (double)n || is_each);
}

/* Reads pixel_mask, where any bit marks a bad pixel. */
static nb_status read_mask(struct reading *r, nb_measured *image)
{
    static const char *const fields[] = {"pixel_mask", "detectorSpecific/pixel_mask"};
    const size_t n = (size_t)image->nfast * (size_t)image->nslow;
    double *const bits = calloc(n, sizeof *bits);
    char path[FIELDS_PATH + 40];
    nb_status status = NB_OK;

    if (!bits) return fail_memory(r->ctx, r->name);
    for (int i = 0; status == NB_OK && i < 2 && !image->mask; i++) {
        uint8_t *mask;

        (void)snprintf(path, sizeof path, "%s/%s", r->detector, fields[i]);
        if (!read_bits(r, path, n, bits)) continue;
        mask = measured_mask_of(image);
        if (!mask) {
            status = fail_memory(r->ctx, r->name);
            break;
        }
        if (r->tree.failed)
            status = fail(r->ctx, NB_ERR_FORMAT, "%s: %s cannot be read: HDF5 says: %s",
                          r->name, path, r->tree.why);
        for (size_t k = 0; status == NB_OK && k < n; k++)
            if (bits[k] != 0) mask[k] = 0;
    }
    free(bits);
    return status;
}

/* ---- the header ---- */

/* Returns the first number that one of some fields of a group has; NAN: none. */
static double first_number(const struct reading *r, const char *group,
                           const char *const fields[], enum fields_kind kind)
{
    double found = NAN;

    for (int i = 0; fields[i] && isnan(found); i++) {
        char path[FIELDS_PATH + 80];

        (void)snprintf(path, sizeof path, "%s/%s", group, fields[i]);
        found = fields_number(&r->in, path, kind);
    }
    return found;
}

static void read_detector(const struct reading *r, nb_measured *image)
{
    static const char *const
        distance[] = {"distance", "detector_distance", NULL},
        *const x[] = {"x_pixel_size", NULL}, *const y[] = {"y_pixel_size", NULL},
        *const beam_x[] = {"beam_center_x", NULL},
        *const beam_y[] = {"beam_center_y", NULL},
        *const time[] = {"count_time", "frame_time", NULL},
        *const fast[] = {"fast_pixel_direction", NULL},
        *const slow[] = {"slow_pixel_direction", NULL},
        *const overload[] = {"saturation_value", "detectorSpecific/saturation_value",
                             "detectorSpecific/countrate_correction_count_cutoff", NULL};
    const char *const detector = r->detector;
    const double most = first_number(r, detector, overload, FIELDS_PLAIN);
    char module[FIELDS_PATH];

    image->pixel_fast = first_number(r, detector, x, FIELDS_MM);
    image->pixel_slow = first_number(r, detector, y, FIELDS_MM);
    if (isnan(image->pixel_fast)
        && fields_of_class(&r->in, detector, "NXdetector_module", module)) {
        image->pixel_fast = first_number(r, module, fast, FIELDS_MM);
        image->pixel_slow = first_number(r, module, slow, FIELDS_MM);
    }
    image->distance = first_number(r, detector, distance, FIELDS_MM);
    image->beam_x = image->pixel_fast * first_number(r, detector, beam_x, FIELDS_PLAIN);
    image->beam_y = image->pixel_slow * first_number(r, detector, beam_y, FIELDS_PLAIN);
    image->exposure = first_number(r, detector, time, FIELDS_SECOND);
    if (most > 0) image->overload = most;
}

/* Reads a spectrum: wavelengths at `path`, and their weights at this path and an ending.
 * Returns 0 if there is none. */
static int read_spectrum(const struct reading *r, const char *path, nb_measured *image)
{
    static const char *const endings[] = {"_weights", "_weight"};
    double *wavelengths, *weights = NULL, sum = 0, mean = 0;
    const size_t n = fields_list(&r->in, path, FIELDS_ANGSTROM, &wavelengths);
    size_t m = 0;

    for (int i = 0; n > 1 && i < 2 && m == 0; i++) {
        char of[FIELDS_PATH + 20];

        (void)snprintf(of, sizeof of, "%s%s", path, endings[i]);
        m = fields_list(&r->in, of, FIELDS_PLAIN, &weights);
    }
    for (size_t i = 0; n > 1 && i < n && m == n; i++) {
        sum += weights[i];
        mean += weights[i] * wavelengths[i];
    }
    if (!(sum > 0) || !isfinite(mean)) {
        free(wavelengths);
        free(weights);
        return 0;
    }
    image->nspectrum = n;
    image->spectrum = wavelengths;
    image->weights = weights;
    if (isnan(image->wavelength)) image->wavelength = mean / sum;
    return 1;
}

static void read_beam(const struct reading *r, nb_measured *image)
{
    static const char *const groups[] = {INSTRUMENT "/beam", SAMPLE "/beam"};

    for (int i = 0; i < 2 && isnan(image->wavelength); i++) {
        char path[FIELDS_PATH], variant[FIELDS_TEXT], other[FIELDS_PATH];

        (void)snprintf(path, sizeof path, "%s/incident_wavelength", groups[i]);
        if (fields_attribute(&r->in, path, "variant", variant)) {
            (void)snprintf(other, sizeof other, "%s/%s", groups[i], variant);
            image->wavelength = fields_number(&r->in, path, FIELDS_ANGSTROM);
            if (read_spectrum(r, other, image)) continue;
        }
        if (!read_spectrum(r, path, image))
            image->wavelength = fields_number(&r->in, path, FIELDS_ANGSTROM);
    }
}

/* Reads where an axis stands, and by how much it turns in the frame. Returns 1 if it
 * turns. */
static int read_axis(const struct reading *r, const char *path, nb_measured *image)
{
    static const char *const endings[] = {"_increment_set", "_range_average", "_increment"};
    double *angles, range = NAN;
    const size_t n = fields_list(&r->in, path, FIELDS_DEGREE, &angles);
    const size_t at = n > 1 ? (size_t)r->in.frame : 0;
    char other[FIELDS_PATH + 20];

    if (at >= n || !isfinite(angles[at])) {
        free(angles);
        return 0;
    }
    (void)snprintf(other, sizeof other, "%s_end", path);
    range = fields_number(&r->in, other, FIELDS_DEGREE) - angles[at];
    for (int i = 0; i < 3 && isnan(range); i++) {
        (void)snprintf(other, sizeof other, "%s%s", path, endings[i]);
        range = fields_number(&r->in, other, FIELDS_DEGREE);
    }
    if (isnan(range) && n > 1)
        range = at + 1 < n ? angles[at + 1] - angles[at] : angles[at] - angles[at - 1];
    if (isnan(image->osc_start) || (range != 0 && !isnan(range))) {
        image->osc_start = angles[at];
        image->osc_range = range;
    }
    free(angles);
    return range != 0 && !isnan(range);
}

/* Follows the axes that the sample depends on, up to the one that turns. */
static void read_rotation(const struct reading *r, nb_measured *image)
{
    enum { AXES_MOST = 16 };
    char path[FIELDS_PATH] = SAMPLE, next[FIELDS_TEXT];

    if (!fields_text(&r->in, SAMPLE "/depends_on", next)) {
        (void)read_axis(r, SAMPLE "/goniometer/omega", image);
        return;
    }
    for (int i = 0; i < AXES_MOST && strcmp(next, ".") != 0; i++) {
        char *const slash = strrchr(path, '/');
        char group[FIELDS_PATH];

        if (i > 0 && slash) *slash = '\0'; /* a relative path begins in the same group */
        (void)snprintf(group, sizeof group, "%s", path);
        if (*next == '/')
            (void)snprintf(path, sizeof path, "%s", next);
        else
            (void)snprintf(path, sizeof path, "%.200s/%s", group, next);
        if (read_axis(r, path, image)
            || !fields_attribute(&r->in, path, "depends_on", next))
            return;
    }
}

/* ---- the file ---- */

static nb_status read_frame(struct reading *r, nb_measured **out)
{
    static const char *const underloads[] = {"underload_value", NULL};
    double underload;

    NB_TRY(find_data(r));
    NB_TRY(read_pixels(r, out));
    if (!fields_of_class(&r->in, INSTRUMENT, "NXdetector", r->detector))
        (void)snprintf(r->detector, sizeof r->detector, INSTRUMENT "/detector");
    read_detector(r, *out);
    read_beam(r, *out);
    read_rotation(r, *out);
    NB_TRY(read_mask(r, *out));
    underload = first_number(r, r->detector, underloads, FIELDS_PLAIN);
    if (r->no_memory) return fail_memory(r->ctx, r->name);
    return isnan(underload) ? NB_OK : measured_mask(r->ctx, r->name, *out, underload, 0);
}

nb_status nxmx_read(nb_context *ctx, const char *path, int64_t frame, nb_measured **out)
{
    struct reading r = {.ctx = ctx, .name = path, .in = {-1, frame, 0, NULL}};
    struct hdf5_turn turn;
    char why[HDF5_WHY];
    nb_status status;

    if (!hdf5_library_open(why))
        return fail(ctx, NB_ERR_UNSUPPORTED, "%s: HDF5 cannot be read: %s", path, why);
    r.in.no_memory = &r.no_memory;
    hdf5_turn_begin(&turn);
    r.in.file = hdf5_checked(&r.tree, hdf5.H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    status = r.in.file >= 0
                 ? read_frame(&r, out)
                 : fail(ctx, NB_ERR_FORMAT,
                        "%s: HDF5 cannot open it and says: %s; the file is damaged "
                        "or cut off, copy it again",
                        path, r.tree.why);
    if (r.in.file >= 0) (void)hdf5.H5Fclose(r.in.file);
    hdf5_turn_end(&turn);
    if (status == NB_OK) return NB_OK;
    nb_measured_free(*out);
    *out = NULL;
    return status;
}

#else

nb_status nxmx_read(nb_context *ctx, const char *path, int64_t frame, nb_measured **out)
{
    (void)frame, (void)out;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "%s: this build has no HDF5, which reads it; install it (Debian: "
                "libhdf5-dev) "
                "and build again",
                path);
}

#endif
