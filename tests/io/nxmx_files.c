/*
 * nxmx_files.c - see nxmx_files.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "io/nxmx_files.h"

#ifdef NANOBRAG_HDF5

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/files.h"
#include "support/tap.h"

hid_t nxmx_open(const char *name)
{
    const hid_t file = H5Fopen(in_folder(name), H5F_ACC_RDONLY, H5P_DEFAULT);

    tap_check(file >= 0, "HDF5 opens %s", name);
    return file;
}

int nxmx_has(hid_t file, const char *path)
{
    return H5Lexists(file, path, H5P_DEFAULT) > 0;
}

/* The size of a field along each axis, at most 3; returns how many. */
int nxmx_size(hid_t file, const char *path, hsize_t size[3])
{
    const hid_t field = H5Dopen2(file, path, H5P_DEFAULT), space = H5Dget_space(field);
    const int rank = H5Sget_simple_extent_dims(space, size, NULL);

    H5Sclose(space);
    H5Dclose(field);
    return rank;
}

/* Reads all numbers of a field; returns how many, at most `most`. */
int nxmx_reals(hid_t file, const char *path, int most, double *out)
{
    const hid_t field = H5Dopen2(file, path, H5P_DEFAULT);
    hid_t space;
    int n;

    if (field < 0) return tap_check(0, "%s is there", path) - 1;
    space = H5Dget_space(field);
    n = (int)H5Sget_simple_extent_npoints(space);
    if (n <= most) H5Dread(field, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    H5Sclose(space);
    H5Dclose(field);
    return n;
}

double nxmx_real(hid_t file, const char *path)
{
    double value = NAN;

    tap_check(nxmx_reals(file, path, 1, &value) == 1, "%s is one number", path);
    return value;
}

/* a text field, or the text attribute `name` of an object */
const char *nxmx_text(hid_t file, const char *path, const char *name)
{
    static char out[256];
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    const hid_t attribute = name ? H5Aopen(object, name, H5P_DEFAULT) : -1;
    const hid_t type = name ? H5Aget_type(attribute) : H5Dget_type(object);

    memset(out, 0, sizeof out);
    if (name && H5Tis_variable_str(type) > 0) {
        char *text = NULL;

        H5Aread(attribute, type, &text);
        if (text) (void)snprintf(out, sizeof out, "%s", text);
        H5free_memory(text);
    } else if (H5Tget_size(type) < sizeof out) {
        if (name)
            H5Aread(attribute, type, out);
        else
            H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    }
    H5Tclose(type);
    if (name) H5Aclose(attribute);
    H5Oclose(object);
    return out;
}

void nxmx_same_text(hid_t file, const char *path, const char *name, const char *expected)
{
    const char *const found = nxmx_text(file, path, name);

    tap_check(strcmp(found, expected) == 0, "%s%s%s is \"%s\"", path, name ? "@" : "",
              name ? name : "", found);
}

void nxmx_same_vector(hid_t file, const char *path, const char *name,
                      const double expected[3])
{
    const hid_t object = H5Oopen(file, path, H5P_DEFAULT);
    const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    double found[3] = {NAN, NAN, NAN}, off = 0;

    H5Aread(attribute, H5T_NATIVE_DOUBLE, found);
    H5Aclose(attribute);
    H5Oclose(object);
    for (int i = 0; i < 3; i++) off = fmax(off, fabs(found[i] - expected[i]));
    tap_check(off <= 1e-15, "%s@%s is %g %g %g", path, name, found[0], found[1], found[2]);
}

void nxmx_fill(int32_t counts[NPIX], int frame)
{
    for (int i = 0; i < NPIX; i++) counts[i] = frame * 1000003 + i * i * i * 97 - 5;
}

void nxmx_same_counts(hid_t file, int n)
{
    static int32_t found[4 * NPIX], expected[NPIX];
    const hid_t data = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
    int wrong = 0;

    H5Dread(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, found);
    H5Dclose(data);
    for (int k = 0; k < n; k++) {
        nxmx_fill(expected, k);
        for (int i = 0; i < NPIX; i++) wrong += found[k * NPIX + i] != expected[i];
    }
    tap_check(wrong == 0, "%d of %d counts differ", wrong, n * NPIX);
}

nb_status nxmx_write(nb_simulator *sim, const char *name, const nb_nxmx_options *options,
                     int n)
{
    int32_t counts[NPIX];
    nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    nb_nxmx *nxmx = NULL;
    nb_status status = nb_nxmx_create(sim, in_folder(name), options, &nxmx);

    for (int i = 0; i < n && status == NB_OK; i++) {
        const double phi = 12.25 + 0.5 * i;

        nxmx_fill(counts, i);
        status = nb_nxmx_append(nxmx, &phi, &image);
    }
    if (status == NB_OK) return nb_nxmx_close(nxmx);
    nb_nxmx_free(nxmx);
    return status;
}

#endif
