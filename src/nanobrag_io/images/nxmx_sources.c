/*
 * nxmx_sources.c - the files of a master. The master has a virtual dataset of HDF5, which
 * shows the frames of all files as one array. The master contains the names of the files,
 * not their pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/nxmx_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/images/nxmx.h"
#include "nanobrag_io/images/nxmx_tree.h"
#include "scene/members/fingerprint.h"

/* ---- the array of pixels in a file ---- */

/* the array of pixels that was found in a file */
struct looked {
    hsize_t size[3]; /* frames, slow, fast; 0: there is no such array */
    int same; /* 1: its type is the expected one */
    int is_virtual; /* 1: its pixels lie in other files */
};

static int is_virtual(struct hdf5_tree *tree, hid_t data)
{
    const hid_t properties = hdf5_checked(tree, hdf5.H5Dget_create_plist(data));
    const int found = properties >= 0 && hdf5.H5Pget_layout(properties) == H5D_VIRTUAL;

    if (properties >= 0) (void)hdf5.H5Pclose(properties);
    return found;
}

static void look_at(struct hdf5_tree *tree, const struct nxmx_pixels *expected,
                    struct looked *out)
{
    const hid_t data =
        hdf5_checked(tree, hdf5.H5Dopen2(tree->file, NXMX_DATA, H5P_DEFAULT));
    hid_t space = -1, type = -1;

    if (!tree->failed) space = hdf5_checked(tree, hdf5.H5Dget_space(data));
    if (!tree->failed) type = hdf5_checked(tree, hdf5.H5Dget_type(data));
    if (!tree->failed && hdf5.H5Sget_simple_extent_ndims(space) == 3) {
        (void)hdf5.H5Sget_simple_extent_dims(space, out->size, NULL);
        out->same = expected && hdf5.H5Tequal(type, expected->type) > 0;
        out->is_virtual = is_virtual(tree, data);
    }
    if (type >= 0) (void)hdf5.H5Tclose(type);
    if (space >= 0) (void)hdf5.H5Sclose(space);
    if (data >= 0) (void)hdf5.H5Dclose(data);
}

/* Opens a file and describes its array of pixels in *out. `expected` may be NULL. */
static nb_status look_into(nb_context *ctx, const char *path,
                           const struct nxmx_pixels *expected, struct looked *out)
{
    struct hdf5_tree tree = {.file = -1};
    struct hdf5_turn turn;

    *out = (struct looked){0};
    hdf5_turn_begin(&turn);
    tree.file = hdf5_checked(&tree, hdf5.H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    if (!tree.failed) look_at(&tree, expected, out);
    if (tree.file >= 0) (void)hdf5.H5Fclose(tree.file);
    hdf5_turn_end(&turn);
    if (!tree.failed) return NB_OK;
    return fail(ctx, NB_ERR_FILE,
                "%s: cannot read the frames of an NXmx file: HDF5 says: %s", path,
                tree.why);
}

nb_status nxmx_count(nb_context *ctx, const char *path, int64_t *frames, int *master)
{
    char why[HDF5_WHY];
    struct looked found;

    if (!hdf5_library_open(why))
        return fail(ctx, NB_ERR_UNSUPPORTED, "%s: NXmx cannot be read: %s", path, why);
    NB_TRY(look_into(ctx, path, NULL, &found));
    if (found.size[1] == 0)
        return fail(ctx, NB_ERR_FORMAT, "%s: " NXMX_DATA " is no array frame x slow x fast",
                    path);
    *frames = (int64_t)found.size[0];
    *master = found.is_virtual;
    return NB_OK;
}

/* ---- the scene of a file ---- */

/* Reads a list of n numbers. Returns 0 if there is no list of this length. */
static int read_list(struct hdf5_tree *tree, const char *path, size_t n, double *out)
{
    const hid_t data = hdf5.H5Dopen2(tree->file, path, H5P_DEFAULT);
    const hid_t space = data >= 0 ? hdf5.H5Dget_space(data) : -1;
    hsize_t length = 0;
    int found = 0;

    if (space >= 0 && hdf5.H5Sget_simple_extent_ndims(space) == 1)
        (void)hdf5.H5Sget_simple_extent_dims(space, &length, NULL);
    if (length == n)
        found = hdf5.H5Dread(data, *hdf5.H5T_NATIVE_DOUBLE_g, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                             out)
                >= 0;
    if (space >= 0) (void)hdf5.H5Sclose(space);
    if (data >= 0) (void)hdf5.H5Dclose(data);
    return found;
}

/* Reads from a file the n numbers of its scene, and then the checksums of its frames. */
static nb_status read_scene(nb_context *ctx, const char *path, size_t n, size_t frames,
                            double *out)
{
    struct hdf5_tree tree = {.file = -1};
    struct hdf5_turn turn;
    int found = 0;

    hdf5_turn_begin(&turn);
    tree.file = hdf5_checked(&tree, hdf5.H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    if (!tree.failed)
        found = read_list(&tree, NXMX_SCENE "/scene", n, out)
                && read_list(&tree, NXMX_SCENE "/rows", frames, out + n);
    if (tree.file >= 0) (void)hdf5.H5Fclose(tree.file);
    hdf5_turn_end(&turn);
    if (tree.failed)
        return fail(ctx, NB_ERR_FILE, "%s: cannot be read: HDF5 says: %s", path, tree.why);
    if (found) return NB_OK;
    return fail(ctx, NB_ERR_FORMAT,
                "%s: the file does not state the scene of its frames; remove the file, or "
                "choose another name",
                path);
}

/* Fails because number i of the scene differs from the file's. */
static nb_status fail_other(nb_context *ctx, const char *path, size_t i, double there,
                            double here)
{
    char name[80];

    fingerprint_name(i, name, sizeof name);
    if (i >= fingerprint_numbers())
        return fail(ctx, NB_ERR_SCENE,
                    "%s: the frames show another scene: %s differs; remove the file, or "
                    "choose another name",
                    path, name);
    return fail(ctx, NB_ERR_SCENE,
                "%s: the frames show another scene: %s is %.10g in the file and %.10g "
                "here; "
                "remove the file, or choose another name",
                path, name, there, here);
}

nb_status nxmx_compare(nb_context *ctx, const char *path, const double *scene, size_t n,
                       const double *rows, size_t frames)
{
    double *const there = calloc(n + frames, sizeof *there);
    nb_status status;

    if (!there) return fail_memory(ctx, path);
    status = read_scene(ctx, path, n, frames, there);
    for (size_t i = 0; status == NB_OK && i < n; i++)
        if (!fingerprint_same(there[i], scene[i]))
            status = fail_other(ctx, path, i, there[i], scene[i]);
    for (size_t i = 0; status == NB_OK && i < frames; i++)
        if (!fingerprint_same(there[n + i], rows[i]))
            status = fail(ctx, NB_ERR_SCENE,
                          "%s: frame %zu was made with other parameters; remove the file, "
                          "or choose another name",
                          path, i + 1);
    free(there);
    return status;
}

/* ---- the list of files ---- */

static nb_status check_source(nb_context *ctx, const char *path,
                              const struct nxmx_pixels *expected)
{
    const hsize_t *const wanted = expected->size;
    struct looked found;

    NB_TRY(look_into(ctx, path, expected, &found));
    if (memcmp(found.size, wanted, sizeof found.size) != 0)
        return fail(ctx, NB_ERR_SHAPE,
                    "%s: the file has %llu x %llu x %llu numbers (frames x fast x slow), "
                    "expected %llu x %llu x %llu",
                    path, (unsigned long long)found.size[0],
                    (unsigned long long)found.size[2], (unsigned long long)found.size[1],
                    (unsigned long long)wanted[0], (unsigned long long)wanted[2],
                    (unsigned long long)wanted[1]);
    if (found.same) return NB_OK;
    return fail(ctx, NB_ERR_SHAPE,
                "%s: the pixels have another type than the pixels of the master file",
                path);
}

nb_status nxmx_sources_add(nb_context *ctx, struct nxmx_sources *sources,
                           const char *master, const char *path,
                           const struct nxmx_pixels *pixels)
{
    char *const whole = file_sibling(master, path);
    nb_status status = whole ? check_source(ctx, whole, pixels) : fail_memory(ctx, path);

    free(whole);
    if (status != NB_OK) return status;
    if (sources->n == sources->room) {
        const size_t room = 2 * sources->room + 16;
        struct nxmx_source *larger = realloc(sources->at, room * sizeof *larger);

        if (!larger) return fail_memory(ctx, path);
        sources->at = larger;
        sources->room = room;
    }
    sources->at[sources->n] = (struct nxmx_source){strdup(path), (size_t)pixels->size[0]};
    if (!sources->at[sources->n].path) return fail_memory(ctx, path);
    sources->n++;
    return NB_OK;
}

void nxmx_sources_free(struct nxmx_sources *sources)
{
    for (size_t i = 0; i < sources->n; i++) free(sources->at[i].path);
    free(sources->at);
    *sources = (struct nxmx_sources){0};
}

/* ---- the virtual array ---- */

/* Maps all frames of a file to the frames of the virtual array from `begin` on. */
static void map_source(struct hdf5_tree *tree, hid_t properties, hid_t there,
                       const struct nxmx_source *source, const hsize_t begin[3],
                       const hsize_t size[3])
{
    hid_t here;

    if (tree->failed) return;
    here = hdf5_checked(tree, hdf5.H5Screate_simple(3, size, NULL));
    if (!tree->failed)
        (void)hdf5_checked(tree, hdf5.H5Sselect_hyperslab(there, H5S_SELECT_SET, begin,
                                                          NULL, size, NULL));
    if (!tree->failed)
        (void)hdf5_checked(tree, hdf5.H5Pset_virtual(properties, there, source->path,
                                                     NXMX_DATA, here));
    if (here >= 0) (void)hdf5.H5Sclose(here);
}

void nxmx_sources_write(struct hdf5_tree *tree, const struct nxmx_sources *sources,
                        const struct nxmx_pixels *pixels)
{
    /* Readers get this value if a file is missing; it is no valid count. */
    const double absent = pixels->type == *hdf5.H5T_STD_U16LE_g ? 65535 : -1;
    const hsize_t *const all = pixels->size;
    hsize_t begin[3] = {0, 0, 0};
    hid_t space, properties, data = -1;

    if (tree->failed) return;
    space = hdf5_checked(tree, hdf5.H5Screate_simple(3, all, NULL));
    properties = hdf5_checked(tree, hdf5.H5Pcreate(*hdf5.H5P_CLS_DATASET_CREATE_ID_g));
    if (!tree->failed) {
        (void)hdf5_checked(tree, hdf5.H5Pset_obj_track_times(properties, 0));
        (void)hdf5_checked(tree,
                           hdf5.H5Pset_fill_value(properties, *hdf5.H5T_NATIVE_DOUBLE_g,
                                                  &absent));
    }
    for (size_t i = 0; i < sources->n; i++) {
        const hsize_t size[3] = {sources->at[i].frames, all[1], all[2]};

        map_source(tree, properties, space, sources->at + i, begin, size);
        begin[0] += sources->at[i].frames;
    }
    if (!tree->failed)
        data =
            hdf5_checked(tree, hdf5.H5Dcreate2(tree->file, NXMX_DATA, pixels->type, space,
                                               H5P_DEFAULT, properties, H5P_DEFAULT));
    if (data >= 0) (void)hdf5.H5Dclose(data);
    if (properties >= 0) (void)hdf5.H5Pclose(properties);
    if (space >= 0) (void)hdf5.H5Sclose(space);
}
