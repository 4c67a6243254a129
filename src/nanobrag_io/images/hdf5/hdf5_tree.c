/*
 * hdf5_tree.c - writes groups, fields and attributes. Objects get no time stamps, so that
 * equal contents make equal files. Text has a fixed length, which readers in C handle most
 * easily.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/hdf5/hdf5_tree.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hdf5_turn_begin(struct hdf5_turn *turn)
{
    (void)pthread_mutex_lock(&lock);
    (void)hdf5.H5Eget_auto2(H5E_DEFAULT, &turn->print, &turn->printed_to);
    (void)hdf5.H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void hdf5_turn_end(const struct hdf5_turn *turn)
{
    (void)hdf5.H5Eset_auto2(H5E_DEFAULT, turn->print, turn->printed_to);
    (void)pthread_mutex_unlock(&lock);
}

/* Keeps the message of the innermost failure. */
static herr_t keep_reason(unsigned n, const H5E_error2_t *error, void *to)
{
    struct hdf5_tree *tree = to;

    if (n == 0 && error->desc)
        (void)snprintf(tree->why, sizeof tree->why, "%s", error->desc);
    return 0;
}

hid_t hdf5_checked(struct hdf5_tree *tree, hid_t result)
{
    if (result < 0 && !tree->failed) {
        tree->failed = 1;
        (void)snprintf(tree->why, sizeof tree->why, "no reason was given");
        (void)hdf5.H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_reason, tree);
    }
    return result;
}

/* ---- attributes ---- */

static hid_t text_type(struct hdf5_tree *tree, const char *text)
{
    const hid_t type = hdf5_checked(tree, hdf5.H5Tcopy(*hdf5.H5T_C_S1_g));

    if (tree->failed) return type;
    (void)hdf5_checked(tree, hdf5.H5Tset_size(type, strlen(text) + 1));
    (void)hdf5_checked(tree, hdf5.H5Tset_cset(type, H5T_CSET_UTF8));
    return type;
}

static void put_attribute(struct hdf5_tree *tree, hid_t object, const char *name,
                          hid_t type, hid_t space, const void *value)
{
    hid_t attribute;

    if (tree->failed) return;
    attribute = hdf5_checked(tree, hdf5.H5Acreate2(object, name, type, space, H5P_DEFAULT,
                                                   H5P_DEFAULT));
    if (attribute < 0) return;
    (void)hdf5_checked(tree, hdf5.H5Awrite(attribute, type, value));
    (void)hdf5_checked(tree, hdf5.H5Aclose(attribute));
}

static void put_text_attribute(struct hdf5_tree *tree, hid_t object, const char *name,
                               const char *text)
{
    hid_t type, space;

    if (tree->failed) return;
    type = text_type(tree, text);
    space = hdf5_checked(tree, hdf5.H5Screate(H5S_SCALAR));
    put_attribute(tree, object, name, type, space, text);
    if (space >= 0) (void)hdf5.H5Sclose(space);
    if (type >= 0) (void)hdf5.H5Tclose(type);
}

void hdf5_attribute(struct hdf5_tree *tree, const char *path, const char *name,
                    const char *text)
{
    hid_t object;

    if (tree->failed) return;
    object = hdf5_checked(tree, hdf5.H5Oopen(tree->file, path, H5P_DEFAULT));
    put_text_attribute(tree, object, name, text);
    if (object >= 0) (void)hdf5.H5Oclose(object);
}

void hdf5_name_attribute(struct hdf5_tree *tree, const char *path, const char *name,
                         const char *text)
{
    hid_t object, type, space;

    if (tree->failed) return;
    object = hdf5_checked(tree, hdf5.H5Oopen(tree->file, path, H5P_DEFAULT));
    type = text_type(tree, text);
    (void)hdf5_checked(tree, hdf5.H5Tset_size(type, H5T_VARIABLE));
    space = hdf5_checked(tree, hdf5.H5Screate(H5S_SCALAR));
    put_attribute(tree, object, name, type, space, &text);
    if (space >= 0) (void)hdf5.H5Sclose(space);
    if (type >= 0) (void)hdf5.H5Tclose(type);
    if (object >= 0) (void)hdf5.H5Oclose(object);
}

void hdf5_vector(struct hdf5_tree *tree, const char *path, const char *name,
                 const double v[3])
{
    static const hsize_t three = 3;
    hid_t object, space;

    if (tree->failed) return;
    object = hdf5_checked(tree, hdf5.H5Oopen(tree->file, path, H5P_DEFAULT));
    space = hdf5_checked(tree, hdf5.H5Screate_simple(1, &three, NULL));
    put_attribute(tree, object, name, *hdf5.H5T_NATIVE_DOUBLE_g, space, v);
    if (space >= 0) (void)hdf5.H5Sclose(space);
    if (object >= 0) (void)hdf5.H5Oclose(object);
}

/* ---- groups and fields ---- */

void hdf5_group(struct hdf5_tree *tree, const char *path, const char *nx_class)
{
    hid_t properties, group;

    if (tree->failed) return;
    properties = hdf5_checked(tree, hdf5.H5Pcreate(*hdf5.H5P_CLS_GROUP_CREATE_ID_g));
    if (properties < 0) return;
    (void)hdf5_checked(tree, hdf5.H5Pset_obj_track_times(properties, 0));
    group = hdf5_checked(tree, hdf5.H5Gcreate2(tree->file, path, H5P_DEFAULT, properties,
                                               H5P_DEFAULT));
    put_text_attribute(tree, group, "NX_class", nx_class);
    if (group >= 0) (void)hdf5.H5Gclose(group);
    (void)hdf5.H5Pclose(properties);
}

/* Makes a table of numbers compressed, in chunks of about a million numbers. */
static void compress_table(struct hdf5_tree *tree, hid_t properties,
                           const struct hdf5_numbers *table)
{
    const hsize_t piece = (1 << 20) / table->nfast + 1;
    const hsize_t chunk[2] = {piece < table->nslow ? piece : table->nslow, table->nfast};

    (void)hdf5_checked(tree, hdf5.H5Pset_chunk(properties, 2, chunk));
    (void)hdf5_checked(tree, hdf5.H5Pset_deflate(properties, 1));
}

/* Writes a field of any type. `table` is NULL, or describes a table that is to be
 * compressed. */
static void put_field(struct hdf5_tree *tree, const char *path, hid_t type, hid_t space,
                      const void *value, const char *units,
                      const struct hdf5_numbers *table)
{
    hid_t properties, field;

    if (tree->failed) return;
    properties = hdf5_checked(tree, hdf5.H5Pcreate(*hdf5.H5P_CLS_DATASET_CREATE_ID_g));
    if (properties < 0) return;
    (void)hdf5_checked(tree, hdf5.H5Pset_obj_track_times(properties, 0));
    if (table) compress_table(tree, properties, table);
    field = hdf5_checked(tree, hdf5.H5Dcreate2(tree->file, path, type, space, H5P_DEFAULT,
                                               properties, H5P_DEFAULT));
    if (field >= 0) {
        (void)hdf5_checked(tree, hdf5.H5Dwrite(field, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                               value));
        if (units) put_text_attribute(tree, field, "units", units);
        (void)hdf5_checked(tree, hdf5.H5Dclose(field));
    }
    (void)hdf5.H5Pclose(properties);
}

void hdf5_numbers(struct hdf5_tree *tree, const char *path, struct hdf5_numbers numbers,
                  const char *units)
{
    const hsize_t both[2] = {numbers.nslow, numbers.nfast};
    const int rank = numbers.nfast == 0 ? 0 : numbers.nslow == 0 ? 1 : 2;
    hid_t space;

    if (tree->failed) return;
    space = hdf5_checked(tree, rank == 0
                                   ? hdf5.H5Screate(H5S_SCALAR)
                                   : hdf5.H5Screate_simple(rank, both + (2 - rank), NULL));
    put_field(tree, path,
              numbers.kind == HDF5_REAL    ? *hdf5.H5T_NATIVE_DOUBLE_g
              : numbers.kind == HDF5_WHOLE ? *hdf5.H5T_NATIVE_INT64_g
                                           : *hdf5.H5T_NATIVE_INT32_g,
              space, numbers.at, units, numbers.kind == HDF5_MASK ? &numbers : NULL);
    if (space >= 0) (void)hdf5.H5Sclose(space);
}

void hdf5_real(struct hdf5_tree *tree, const char *path, double value, const char *units)
{
    hdf5_numbers(tree, path, (struct hdf5_numbers){&value, HDF5_REAL, 0, 0}, units);
}

void hdf5_reals(struct hdf5_tree *tree, const char *path, size_t n, const double *at,
                const char *units)
{
    hdf5_numbers(tree, path, (struct hdf5_numbers){at, HDF5_REAL, 0, n}, units);
}

void hdf5_whole(struct hdf5_tree *tree, const char *path, long long value)
{
    const int64_t number = value;

    hdf5_numbers(tree, path, (struct hdf5_numbers){&number, HDF5_WHOLE, 0, 0}, NULL);
}

void hdf5_flag(struct hdf5_tree *tree, const char *path, int value)
{
    hdf5_whole(tree, path, value != 0);
}

void hdf5_text(struct hdf5_tree *tree, const char *path, const char *text)
{
    hid_t type, space;

    if (tree->failed) return;
    type = text_type(tree, text);
    space = hdf5_checked(tree, hdf5.H5Screate(H5S_SCALAR));
    put_field(tree, path, type, space, text, NULL, NULL);
    if (space >= 0) (void)hdf5.H5Sclose(space);
    if (type >= 0) (void)hdf5.H5Tclose(type);
}
