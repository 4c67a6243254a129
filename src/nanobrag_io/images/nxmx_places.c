/*
 * nxmx_places.c - reads where panels lie in an NXmx file. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/nxmx_places.h"

#include "base/context.h"

#ifdef NANOBRAG_HDF5

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nanobrag_io/images/hdf5/hdf5_tree.h"
#include "nanobrag_io/images/nxmx_tree.h"

/* Reads the two whole numbers of a field of a group. */
static void read_pair(struct hdf5_tree *tree, const char *group, const char *field,
                      int64_t out[2])
{
    hid_t object, data, space = -1;

    if (tree->failed) return;
    object = hdf5_checked(tree, hdf5.H5Oopen(tree->file, group, H5P_DEFAULT));
    if (object < 0) return;
    data = hdf5_checked(tree, hdf5.H5Dopen2(object, field, H5P_DEFAULT));
    if (data >= 0) space = hdf5_checked(tree, hdf5.H5Dget_space(data));
    if (space >= 0) {
        hsize_t n = 0;

        if (hdf5.H5Sget_simple_extent_ndims(space) == 1)
            (void)hdf5.H5Sget_simple_extent_dims(space, &n, NULL);
        if (n == 2)
            (void)hdf5_checked(tree, hdf5.H5Dread(data, *hdf5.H5T_NATIVE_INT64_g, H5S_ALL,
                                                  H5S_ALL, H5P_DEFAULT, out));
        if (n != 2) {
            tree->failed = 1;
            (void)snprintf(tree->why, sizeof tree->why, "%s does not have two numbers",
                           field);
        }
        (void)hdf5.H5Sclose(space);
    }
    if (data >= 0) (void)hdf5.H5Dclose(data);
    (void)hdf5.H5Oclose(object);
}

/* Reads the size of a frame from NXMX_DATA; 0 0 if the file keeps its frames elsewhere. */
static void read_whole(hid_t file, int64_t whole[2])
{
    struct hdf5_tree tree = {.file = file};
    const hid_t data = hdf5_checked(&tree, hdf5.H5Dopen2(file, NXMX_DATA, H5P_DEFAULT));
    const hid_t space = data < 0 ? -1 : hdf5_checked(&tree, hdf5.H5Dget_space(data));
    hsize_t size[3];

    whole[0] = whole[1] = 0;
    if (space >= 0 && hdf5.H5Sget_simple_extent_ndims(space) == 3
        && hdf5.H5Sget_simple_extent_dims(space, size, NULL) == 3) {
        whole[0] = (int64_t)size[1];
        whole[1] = (int64_t)size[2];
    }
    if (space >= 0) (void)hdf5.H5Sclose(space);
    if (data >= 0) (void)hdf5.H5Dclose(data);
}

nb_status nxmx_read_places(nb_context *ctx, const char *path, struct nxmx_place *place,
                           int n, int64_t whole[2])
{
    struct hdf5_tree tree = {.file = -1};
    struct hdf5_turn turn;
    struct stat st;
    char why[HDF5_WHY];

    if (!hdf5_library_open(why))
        return fail(ctx, NB_ERR_UNSUPPORTED, "%s: NXmx cannot be read: %s", path, why);
    /* before opening, because opening a pipe waits until it is written */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return fail(ctx, NB_ERR_FILE, "%s: there is no such file", path);
    hdf5_turn_begin(&turn);
    tree.file = hdf5_checked(&tree, hdf5.H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    for (int i = 0; i < n && !tree.failed; i++) {
        read_pair(&tree, place[i].path, "data_origin", place[i].origin);
        read_pair(&tree, place[i].path, "data_size", place[i].size);
    }
    if (!tree.failed) read_whole(tree.file, whole);
    if (tree.file >= 0) (void)hdf5.H5Fclose(tree.file);
    hdf5_turn_end(&turn);
    if (!tree.failed) return NB_OK;
    return fail(ctx, NB_ERR_FILE, "%s: HDF5 says: %s", path, tree.why);
}

#else

nb_status nxmx_read_places(nb_context *ctx, const char *path, struct nxmx_place *place,
                           int n, int64_t whole[2])
{
    (void)place, (void)n, (void)whole;
    return fail(ctx, NB_ERR_UNSUPPORTED, "%s: this build has no HDF5, which reads NXmx",
                path);
}

#endif
