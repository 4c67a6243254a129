/*
 * nxmx_places.c - reads where panels lie in an NXmx file. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/nxmx_places.h"

#include <stddef.h>

#include "base/context.h"

#ifdef NANOBRAG_HDF5

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nanobrag_io/images/hdf5/hdf5_tree.h"
#include "nanobrag_io/images/nxmx_tree.h"
#include "nanobrag_io/measured/hdf5_fields.h"

/* Reads the whole numbers of a field of a group: slow and fast, in an array with an axis of
 * panels behind the number of the panel. Then the panel is `nslow` pixels high. */
static void read_pair(struct hdf5_tree *tree, const char *group, const char *field,
                      int64_t nslow, int64_t out[2])
{
    hid_t object, data, space = -1;

    if (tree->failed) return;
    object = hdf5_checked(tree, hdf5.H5Oopen(tree->file, group, H5P_DEFAULT));
    if (object < 0) return;
    data = hdf5_checked(tree, hdf5.H5Dopen2(object, field, H5P_DEFAULT));
    if (data >= 0) space = hdf5_checked(tree, hdf5.H5Dget_space(data));
    if (space >= 0) {
        int64_t numbers[3] = {0};
        hsize_t n = 0;

        if (hdf5.H5Sget_simple_extent_ndims(space) == 1)
            (void)hdf5.H5Sget_simple_extent_dims(space, &n, NULL);
        if (n == 2 || n == 3)
            (void)hdf5_checked(tree, hdf5.H5Dread(data, *hdf5.H5T_NATIVE_INT64_g, H5S_ALL,
                                                  H5S_ALL, H5P_DEFAULT, numbers + 3 - n));
        out[0] = numbers[1];
        out[1] = numbers[2];
        if (numbers[0] > 0 && numbers[0] < INT32_MAX) out[0] += numbers[0] * nslow;
        if (n != 2 && n != 3) {
            tree->failed = 1;
            (void)snprintf(tree->why, sizeof tree->why, "%s does not have two numbers",
                           field);
        }
        (void)hdf5.H5Sclose(space);
    }
    if (data >= 0) (void)hdf5.H5Dclose(data);
    (void)hdf5.H5Oclose(object);
}

/* Reads the size of a frame from NXMX_DATA; 0 0 if the file keeps its frames elsewhere.
 * *nslow becomes the height of a panel if there is an axis of panels. */
static void read_whole(hid_t file, int64_t whole[2], int64_t *nslow)
{
    struct hdf5_tree tree = {.file = file};
    const hid_t data = hdf5_checked(&tree, hdf5.H5Dopen2(file, NXMX_DATA, H5P_DEFAULT));
    const hid_t space = data < 0 ? -1 : hdf5_checked(&tree, hdf5.H5Dget_space(data));
    const int rank = space < 0 ? -1 : hdf5.H5Sget_simple_extent_ndims(space);
    hsize_t size[4];

    whole[0] = whole[1] = *nslow = 0;
    if ((rank == 3 || rank == 4)
        && hdf5.H5Sget_simple_extent_dims(space, size, NULL) == rank && size[1] <= INT32_MAX
        && size[2] <= INT32_MAX && size[rank - 1] <= INT32_MAX) {
        whole[0] = (int64_t)(rank == 3 ? size[1] : size[1] * size[2]);
        whole[1] = (int64_t)size[rank - 1];
        if (rank == 4) *nslow = (int64_t)size[2];
    }
    if (space >= 0) (void)hdf5.H5Sclose(space);
    if (data >= 0) (void)hdf5.H5Dclose(data);
}

/* Opens a file and begins a turn; nxmx_close() ends both. */
static nb_status nxmx_open(nb_context *ctx, const char *path, struct hdf5_tree *tree,
                           struct hdf5_turn *turn)
{
    struct stat st;
    char why[HDF5_WHY];

    if (!hdf5_library_open(why))
        return fail(ctx, NB_ERR_UNSUPPORTED, "%s: NXmx cannot be read: %s", path, why);
    /* before opening, because opening a pipe waits until it is written */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return fail(ctx, NB_ERR_FILE, "%s: there is no such file", path);
    hdf5_turn_begin(turn);
    tree->file = hdf5_checked(tree, hdf5.H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    return NB_OK;
}

static void nxmx_close(const struct hdf5_tree *tree, const struct hdf5_turn *turn)
{
    if (tree->file >= 0) (void)hdf5.H5Fclose(tree->file);
    hdf5_turn_end(turn);
}

nb_status nxmx_read_places(nb_context *ctx, const char *path, struct nxmx_place *place,
                           int n, int64_t whole[2])
{
    struct hdf5_tree tree = {.file = -1};
    struct hdf5_turn turn;
    int64_t nslow = 0;

    NB_TRY(nxmx_open(ctx, path, &tree, &turn));
    if (!tree.failed) read_whole(tree.file, whole, &nslow);
    for (int i = 0; i < n && !tree.failed; i++) {
        read_pair(&tree, place[i].path, "data_origin", nslow, place[i].origin);
        read_pair(&tree, place[i].path, "data_size", 0, place[i].size);
    }
    nxmx_close(&tree, &turn);
    if (!tree.failed) return NB_OK;
    return fail(ctx, NB_ERR_FILE, "%s: HDF5 says: %s", path, tree.why);
}

nb_status nxmx_read_modules(nb_context *ctx, const char *path, int n,
                            char (*out)[NXMX_PATH])
{
    struct hdf5_tree tree = {.file = -1};
    struct hdf5_turn turn;
    int no_memory = 0, found = 0;
    struct fields in = {.frames = 1, .no_memory = &no_memory};
    char detector[FIELDS_PATH], member[FIELDS_PATH], class[FIELDS_TEXT];

    NB_TRY(nxmx_open(ctx, path, &tree, &turn));
    in.file = tree.file;
    if (in.file >= 0 && fields_of_class(&in, "/entry/instrument", "NXdetector", detector))
        for (uint64_t i = 0; fields_member(&in, detector, i, member); i++) {
            if (!fields_attribute(&in, member, "NX_class", class)
                || strcmp(class, "NXdetector_module") != 0)
                continue;
            if (found < n) memcpy(out[found], member, sizeof member);
            found++;
        }
    nxmx_close(&tree, &turn);
    if (found == n) return NB_OK;
    return fail(ctx, NB_ERR_FORMAT, "%s: there are %d modules, expected %d", path, found,
                n);
}

#else

nb_status nxmx_read_places(nb_context *ctx, const char *path, struct nxmx_place *place,
                           int n, int64_t whole[2])
{
    (void)place, (void)n, (void)whole;
    return fail(ctx, NB_ERR_UNSUPPORTED, "%s: this build has no HDF5, which reads NXmx",
                path);
}

nb_status nxmx_read_modules(nb_context *ctx, const char *path, int n,
                            char (*out)[NXMX_PATH])
{
    return (void)out, nxmx_read_places(ctx, path, NULL, n, NULL);
}

#endif
