/*
 * hdf5_fields.c - see hdf5_fields.h. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/measured/hdf5_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MOST = 1 << 22, MEMBERS_MOST = 1 << 16 };

static int is_number(hid_t data)
{
    const hid_t type = hdf5.H5Dget_type(data);
    const H5T_class_t class = type >= 0 ? hdf5.H5Tget_class(type) : H5T_NO_CLASS;

    if (type >= 0) (void)hdf5.H5Tclose(type);
    return class == H5T_INTEGER || class == H5T_FLOAT;
}

int fields_size(hid_t data, hsize_t size[FIELDS_RANK])
{
    const hid_t space = data >= 0 && is_number(data) ? hdf5.H5Dget_space(data) : -1;
    int rank = space >= 0 ? hdf5.H5Sget_simple_extent_ndims(space) : -1;

    if (rank > FIELDS_RANK) rank = -1;
    if (rank > 0 && hdf5.H5Sget_simple_extent_dims(space, size, NULL) != rank) rank = -1;
    if (space >= 0) (void)hdf5.H5Sclose(space);
    return rank;
}

/* ---- texts ---- */

/* Reads a text by H5Aread() or H5Dread(), of an object of one text. */
static int read_text(hid_t object, int is_field, char out[FIELDS_TEXT])
{
    const hid_t type = is_field ? hdf5.H5Dget_type(object) : hdf5.H5Aget_type(object);
    const hid_t space = is_field ? hdf5.H5Dget_space(object) : hdf5.H5Aget_space(object);
    const int is_text = type >= 0 && space >= 0 && hdf5.H5Tget_class(type) == H5T_STRING
                        && hdf5.H5Sget_simple_extent_npoints(space) == 1;
    const int is_variable = is_text && hdf5.H5Tis_variable_str(type) > 0;
    char *text = NULL;
    void *const to = is_variable ? (void *)&text : (void *)out;
    int done = 0;

    memset(out, 0, FIELDS_TEXT);
    if (is_variable || (is_text && hdf5.H5Tget_size(type) < FIELDS_TEXT))
        done = (is_field ? hdf5.H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to)
                         : hdf5.H5Aread(object, type, to))
               >= 0;
    if (text) {
        (void)snprintf(out, FIELDS_TEXT, "%s", text);
        (void)hdf5.H5free_memory(text);
    }
    if (type >= 0) (void)hdf5.H5Tclose(type);
    if (space >= 0) (void)hdf5.H5Sclose(space);
    return done;
}

int fields_text(const struct fields *in, const char *path, char out[FIELDS_TEXT])
{
    const hid_t data = hdf5.H5Dopen2(in->file, path, H5P_DEFAULT);
    const int done = data >= 0 && read_text(data, 1, out);

    if (data >= 0) (void)hdf5.H5Dclose(data);
    return done;
}

int fields_attribute(const struct fields *in, const char *path, const char *name,
                     char out[FIELDS_TEXT])
{
    const hid_t object = hdf5.H5Oopen(in->file, path, H5P_DEFAULT);
    const hid_t attribute = object >= 0 ? hdf5.H5Aopen(object, name, H5P_DEFAULT) : -1;
    const int done = attribute >= 0 && read_text(attribute, 0, out);

    if (attribute >= 0) (void)hdf5.H5Aclose(attribute);
    if (object >= 0) (void)hdf5.H5Oclose(object);
    return done;
}

/* ---- numbers ---- */

/* Returns the factor from the unit of a field. */
static double factor_of(const struct fields *in, const char *path, enum fields_kind kind)
{
    static const struct {
        enum fields_kind kind;
        const char *unit;
        double factor;
    } units[] = {
        {FIELDS_MM, "mm", 1},
        {FIELDS_MM, "m", 1000},
        {FIELDS_MM, "um", 1e-3},
        {FIELDS_MM, "micrometer", 1e-3},
        {FIELDS_MM, "millimeter", 1},
        {FIELDS_MM, "meter", 1000},
        {FIELDS_MM, "cm", 10},
        {FIELDS_ANGSTROM, "angstrom", 1},
        {FIELDS_ANGSTROM, "nm", 10},
        {FIELDS_ANGSTROM, "m", 1e10},
        {FIELDS_ANGSTROM, "pm", 0.01},
        {FIELDS_DEGREE, "rad", 57.29577951308232},
        {FIELDS_DEGREE, "radian", 57.29577951308232},
        {FIELDS_SECOND, "ms", 1e-3},
        {FIELDS_SECOND, "us", 1e-6},
        {FIELDS_SECOND, "ns", 1e-9},
    };
    char unit[FIELDS_TEXT];

    if (kind == FIELDS_PLAIN) return 1;
    if (!fields_attribute(in, path, "units", unit)) return kind == FIELDS_MM ? 1000 : 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].kind == kind && strcmp(units[i].unit, unit) == 0)
            return units[i].factor;
    return 1;
}

/* Reads n numbers of a field, of row `row` if it has rows. */
static int read_numbers(hid_t data, int rank, hsize_t row, hsize_t n, double *out)
{
    const hsize_t from[2] = {row, 0}, size[2] = {1, n};
    hid_t there = H5S_ALL, here = H5S_ALL;
    int done = 1;

    if (rank == 2) {
        there = hdf5.H5Dget_space(data);
        here = hdf5.H5Screate_simple(1, &n, NULL);
        done =
            there >= 0 && here >= 0
            && hdf5.H5Sselect_hyperslab(there, H5S_SELECT_SET, from, NULL, size, NULL) >= 0;
    }
    done = done
           && hdf5.H5Dread(data, *hdf5.H5T_NATIVE_DOUBLE_g, here, there, H5P_DEFAULT, out)
                  >= 0;
    if (rank == 2 && here >= 0) (void)hdf5.H5Sclose(here);
    if (rank == 2 && there >= 0) (void)hdf5.H5Sclose(there);
    return done;
}

size_t fields_list(const struct fields *in, const char *path, enum fields_kind kind,
                   double **out)
{
    const hid_t data = hdf5.H5Dopen2(in->file, path, H5P_DEFAULT);
    hsize_t size[FIELDS_RANK];
    const int rank = fields_size(data, size);
    const hsize_t n = rank == 0 ? 1 : rank == 1 ? size[0] : rank == 2 ? size[1] : 0;
    const hsize_t row = rank == 2 && size[0] > 1 ? (hsize_t)in->frame : 0;
    int done = 0;

    *out = NULL;
    if (n >= 1 && n <= NUMBERS_MOST
        && (rank < 2 || size[0] == 1 || size[0] == (hsize_t)in->frames))
        *out = malloc((size_t)n * sizeof **out), *in->no_memory |= !*out;
    if (*out) done = read_numbers(data, rank, row, n, *out);
    if (data >= 0) (void)hdf5.H5Dclose(data);
    if (done) {
        const double factor = factor_of(in, path, kind);

        for (hsize_t i = 0; i < n; i++) (*out)[i] *= factor;
        return (size_t)n;
    }
    free(*out);
    *out = NULL;
    return 0;
}

double fields_number(const struct fields *in, const char *path, enum fields_kind kind)
{
    double *list, found = NAN;
    const size_t n = fields_list(in, path, kind, &list);

    if (n == 1) found = list[0];
    if (n > 1 && n == (size_t)in->frames) found = list[in->frame];
    free(list);
    return isfinite(found) ? found : NAN;
}

/* ---- groups ---- */

int fields_member(const struct fields *in, const char *group, uint64_t i,
                  char out[FIELDS_PATH])
{
    const int n = snprintf(out, FIELDS_PATH, "%s/", group);

    if (i >= MEMBERS_MOST || n < 0 || n >= FIELDS_PATH) return 0;
    return hdf5.H5Lget_name_by_idx(in->file, group, H5_INDEX_NAME, H5_ITER_INC, i, out + n,
                                   (size_t)(FIELDS_PATH - n), H5P_DEFAULT)
           > 0;
}

int fields_of_class(const struct fields *in, const char *group, const char *nx_class,
                    char out[FIELDS_PATH])
{
    char found[FIELDS_TEXT];

    for (uint64_t i = 0; fields_member(in, group, i, out); i++)
        if (fields_attribute(in, out, "NX_class", found) && strcmp(found, nx_class) == 0)
            return 1;
    return 0;
}
