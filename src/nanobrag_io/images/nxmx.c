/*
 * nxmx.c - writes an NXmx file frame by frame. The pixels are one array (frame, slow,
 * fast). A chunk is as wide as the image and as high as the first panel, because readers
 * want whole panels, which are usually stacked. Numbers that a file states once are taken
 * from its first frame. Lists with a number for each frame are written at the end.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/nxmx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/context.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/images/hdf5/hdf5_target.h"
#include "nanobrag_io/images/nxmx_sources.h"
#include "nanobrag_io/images/nxmx_tree.h"
#include "scene/detector/attenuation.h"
#include "scene/linear.h"

enum {
    LZ4 = 32004, /* numbers of these filters in HDF5's registry */
    BITSHUFFLE = 32008,
    CHUNK_BYTES = 1 << 30 /* HDF5's own limit is 4 GiB */
};

/* how far a frame may begin from the end of the frame before, as a fraction of its width */
static const double gap_most = 1e-6;

struct nxmx {
    nb_context *ctx;
    char *path;
    nb_nxmx_options options;
    struct file_out out;
    struct hdf5_tree tree;
    struct hdf5_room disk;
    int reserve; /* descriptor of file_reserve(): disk space for the file's end */
    size_t reserved; /* bytes of that space */
    int full; /* errno; no further frame fits on the disk, but the frames so far are kept */
    hid_t driver;
    hid_t data; /* the pixels */
    struct exposure first; /* of the first frame; the file states it once */
    struct nxmx_frame *frame; /* (n) frames, with memory for `room` */
    size_t n, room;
    struct nxmx_sources sources; /* the files whose frames a master shows */
};

/* ---- compression ---- */

static const struct {
    const char *name;
    H5Z_filter_t filter;
    const char *package; /* Debian's package with this filter */
} compressions[] = {
    [NB_COMPRESSION_DEFLATE] = {"deflate", H5Z_FILTER_DEFLATE, "libhdf5-dev"},
    [NB_COMPRESSION_NONE] = {"none", 0, ""},
    [NB_COMPRESSION_LZ4] = {"lz4", LZ4, "hdf5-filter-plugin"},
    [NB_COMPRESSION_BSLZ4] = {"bslz4", BITSHUFFLE, "bitshuffle"},
};

/* Returns 1 if HDF5 has a filter, or can load it, and if the filter can compress. */
static int has_filter(H5Z_filter_t filter)
{
    unsigned can = 0;

    if (filter == 0) return 1;
    return hdf5.H5Zfilter_avail(filter) > 0 && hdf5.H5Zget_filter_info(filter, &can) >= 0
           && (can & H5Z_FILTER_CONFIG_ENCODE_ENABLED);
}

int nxmx_can_compress(int compression)
{
    char why[HDF5_WHY];
    struct hdf5_turn turn;
    int can;

    if (!hdf5_library_open(why)) return 0;
    hdf5_turn_begin(&turn);
    can = has_filter(compressions[compression].filter);
    hdf5_turn_end(&turn);
    return can;
}

static void set_compression(struct nxmx *nxmx, hid_t properties)
{
    /* blocks of the size that the filter chooses (0), compressed by LZ4 (2) */
    static const unsigned bitshuffle[2] = {0, 2};
    struct hdf5_tree *const tree = &nxmx->tree;

    switch (nxmx->options.compression) {
    case NB_COMPRESSION_DEFLATE:
        (void)hdf5_checked(tree, hdf5.H5Pset_shuffle(properties));
        (void)hdf5_checked(tree,
                           hdf5.H5Pset_deflate(properties, (unsigned)nxmx->options.level));
        break;
    case NB_COMPRESSION_LZ4:
        (void)hdf5_checked(tree, hdf5.H5Pset_filter(properties, LZ4, H5Z_FLAG_MANDATORY, 0,
                                                    NULL));
        break;
    case NB_COMPRESSION_BSLZ4:
        (void)hdf5_checked(tree, hdf5.H5Pset_filter(properties, BITSHUFFLE,
                                                    H5Z_FLAG_MANDATORY, 2, bitshuffle));
        break;
    default:
        break;
    }
}

/* ---- the beginning ---- */

static void set_time(char out[32])
{
    const time_t now = time(NULL);
    struct tm utc;

    if (!gmtime_r(&now, &utc) || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        out[0] = '\0';
}

static nb_status fail_hdf5(struct nxmx *nxmx)
{
    if (nxmx->out.status != NB_OK) return nxmx->out.status;
    return fail(nxmx->ctx, NB_ERR_FILE, "%s: cannot write: HDF5 says: %s", nxmx->path,
                nxmx->tree.why);
}

/* Returns the first failure of the file or of HDF5. */
static nb_status state_of(struct nxmx *nxmx)
{
    return nxmx->out.status != NB_OK || nxmx->tree.failed ? fail_hdf5(nxmx) : NB_OK;
}

/* Fails because a frame does not fit on the disk. The file is kept with the frames before
 * it; without any there is no file. */
static nb_status fail_full(struct nxmx *nxmx)
{
    char kept[60];
    nb_status status;

    if (nxmx->disk.error) nxmx->full = nxmx->disk.error;
    if (nxmx->n > 0)
        (void)snprintf(kept, sizeof kept, "%zu complete frame%s kept", nxmx->n,
                       nxmx->n == 1 ? " is" : "s are");
    status = file_fail_room(&nxmx->out, nxmx->full, nxmx->n > 0 ? kept : NULL);
    if (nxmx->n == 0) nxmx->out.status = status;
    return status;
}

static void release(struct nxmx *nxmx)
{
    for (size_t i = 0; i < nxmx->n; i++) free(nxmx->frame[i].spectrum);
    free(nxmx->frame);
    nxmx_sources_free(&nxmx->sources);
    exposure_free(&nxmx->first);
    file_reserve_end(&nxmx->reserve);
    hdf5_room_free(&nxmx->disk);
    free(nxmx->path);
    free(nxmx);
}

/* Begins the file. Pipes and devices are refused, because HDF5 does not write in order. */
static nb_status begin_file(struct nxmx *nxmx)
{
    const char *slash = strrchr(nxmx->path, '/');
    struct hdf5_turn turn;
    struct stat st;
    char start[32];

    /* before opening, because opening a pipe waits until it is read */
    if (stat(nxmx->path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return fail(nxmx->ctx, NB_ERR_FILE,
                    "%s: cannot write HDF5 to a pipe or a device; give the name of a file",
                    nxmx->path);
    NB_TRY(file_begin(nxmx->ctx, nxmx->path, &nxmx->out));
    set_time(start);
    hdf5_turn_begin(&turn);
    nxmx->tree.file = hdf5_checked(&nxmx->tree, hdf5_target_create(&nxmx->out, &nxmx->disk,
                                                                   &nxmx->driver));
    nxmx_tree_begin(&nxmx->tree, slash ? slash + 1 : nxmx->path, start);
    hdf5_turn_end(&turn);
    return nxmx->disk.error ? fail_full(nxmx) : state_of(nxmx);
}

nb_status nxmx_begin(nb_context *ctx, const char *path, const nb_nxmx_options *options,
                     struct nxmx **out)
{
    const int compression = options->compression;
    struct nxmx *nxmx;
    char why[HDF5_WHY];
    nb_status status;

    if (!hdf5_library_open(why))
        return fail(ctx, NB_ERR_UNSUPPORTED, "%s: NXmx cannot be written: %s", path, why);
    if (!nxmx_can_compress(compression))
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "%s: HDF5 finds no filter for the compression %s (Debian package: %s; "
                    "HDF5_PLUGIN_PATH names further folders); install the filter or choose "
                    "deflate",
                    path, compressions[compression].name,
                    compressions[compression].package);
    nxmx = calloc(1, sizeof *nxmx);
    if (nxmx) nxmx->path = strdup(path);
    if (!nxmx || !nxmx->path) {
        free(nxmx);
        return fail_memory(ctx, path);
    }
    nxmx->ctx = ctx;
    nxmx->options = *options;
    nxmx->out.fd = nxmx->reserve = -1;
    nxmx->tree.file = nxmx->data = nxmx->driver = -1;
    status = begin_file(nxmx);
    if (status != NB_OK) {
        nxmx_drop(nxmx);
        return status;
    }
    *out = nxmx;
    return NB_OK;
}

/* ---- frames ---- */

static hid_t type_in_file(const nb_nxmx_options *options)
{
    if (options->type == NB_TYPE_FLOAT) return *hdf5.H5T_IEEE_F32LE_g;
    return options->type == NB_TYPE_INT ? *hdf5.H5T_STD_I32LE_g : *hdf5.H5T_STD_U16LE_g;
}

static hid_t type_in_memory(const nb_nxmx_options *options)
{
    if (options->type == NB_TYPE_FLOAT) return *hdf5.H5T_NATIVE_FLOAT_g;
    return options->type == NB_TYPE_INT ? *hdf5.H5T_NATIVE_INT32_g
                                        : *hdf5.H5T_NATIVE_UINT16_g;
}

/* Makes the array of pixels, for 0 frames. */
static void create_data(struct nxmx *nxmx)
{
    const struct laboratory_panel *panel = nxmx->first.panel;
    const hsize_t nslow = (hsize_t)nxmx->first.nslow, nfast = (hsize_t)nxmx->first.nfast;
    const hsize_t rows = CHUNK_BYTES / ((hsize_t)nxmx->options.bits / 8 * nfast);
    const hsize_t height = (hsize_t)panel->nslow;
    const hsize_t chunk[3] = {1, rows < height ? rows : height, nfast};
    const hsize_t none[3] = {0, nslow, nfast}, most[3] = {H5S_UNLIMITED, nslow, nfast};
    struct hdf5_tree *const tree = &nxmx->tree;
    hid_t space, properties;

    if (tree->failed) return;
    space = hdf5_checked(tree, hdf5.H5Screate_simple(3, none, most));
    properties = hdf5_checked(tree, hdf5.H5Pcreate(*hdf5.H5P_CLS_DATASET_CREATE_ID_g));
    if (!tree->failed) {
        (void)hdf5_checked(tree, hdf5.H5Pset_obj_track_times(properties, 0));
        (void)hdf5_checked(tree, hdf5.H5Pset_chunk(properties, 3, chunk));
        (void)hdf5_checked(tree, hdf5.H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER));
        set_compression(nxmx, properties);
    }
    if (!tree->failed)
        nxmx->data =
            hdf5_checked(tree, hdf5.H5Dcreate2(tree->file, NXMX_DATA,
                                               type_in_file(&nxmx->options), space,
                                               H5P_DEFAULT, properties, H5P_DEFAULT));
    if (properties >= 0) (void)hdf5.H5Pclose(properties);
    if (space >= 0) (void)hdf5.H5Sclose(space);
}

/* Writes rows s to s + height - 1 of the frame that is appended. */
static void put_rows(struct nxmx *nxmx, const nb_array *image, hsize_t s, hsize_t height)
{
    const hsize_t nfast = (hsize_t)nxmx->first.nfast;
    const hsize_t from[3] = {nxmx->n, s, 0}, size[3] = {1, height, nfast};
    const char *const at = (const char *)image->data + s * nfast * (hsize_t)image->bits / 8;
    struct hdf5_tree *const tree = &nxmx->tree;
    hid_t there, here;

    if (tree->failed) return;
    there = hdf5_checked(tree, hdf5.H5Dget_space(nxmx->data));
    here = hdf5_checked(tree, hdf5.H5Screate_simple(3, size, NULL));
    if (!tree->failed)
        (void)hdf5_checked(tree, hdf5.H5Sselect_hyperslab(there, H5S_SELECT_SET, from, NULL,
                                                          size, NULL));
    if (!tree->failed)
        (void)hdf5_checked(tree, hdf5.H5Dwrite(nxmx->data, type_in_memory(&nxmx->options),
                                               here, there, H5P_DEFAULT, at));
    if (here >= 0) (void)hdf5.H5Sclose(here);
    if (there >= 0) (void)hdf5.H5Sclose(there);
}

/* Writes the pixels in blocks as high as the chunks, wherever panels lie, so that each
 * chunk is compressed only once. */
static void put_pixels(struct nxmx *nxmx, const nb_array *image)
{
    const hsize_t nslow = (hsize_t)nxmx->first.nslow, nfast = (hsize_t)nxmx->first.nfast;
    const hsize_t extent[3] = {nxmx->n + 1, nslow, nfast};
    const hsize_t band = (hsize_t)nxmx->first.panel->nslow;

    if (nxmx->tree.failed) return;
    (void)hdf5_checked(&nxmx->tree, hdf5.H5Dset_extent(nxmx->data, extent));
    for (hsize_t s = 0; s < nslow && nxmx->out.status == NB_OK; s += band)
        put_rows(nxmx, image, s, band < nslow - s ? band : nslow - s);
}

/* Writes the contents that the first frame determines. */
static nb_status begin_data(struct nxmx *nxmx)
{
    const nb_nxmx_options *o = &nxmx->options;
    int enough;

    exposure_warn_of_sensor(nxmx->ctx, nxmx->path, &nxmx->first, MATERIALS_LAST);
    exposure_warn_of_upstream(nxmx->ctx, nxmx->path, &nxmx->first);
    nxmx_tree_detector(&nxmx->tree, &nxmx->first);
    /* With a depth of readout, readers take the two largest numbers of that depth for marks
     * of bad pixels. Counts of 16 bits use these numbers, so they get no depth. */
    nxmx_tree_range(&nxmx->tree, o->type == NB_TYPE_INT ? o->bits : 0, o->underload,
                    o->overload);
    enough = nxmx_tree_mask(nxmx->ctx, &nxmx->tree, &nxmx->first);
    if (!o->master) create_data(nxmx);
    if (enough) return state_of(nxmx);
    nxmx->out.status = fail_memory(nxmx->ctx, nxmx->path);
    return nxmx->out.status;
}

/* Refuses a frame whose exposure differs in a number that the file states once. */
static nb_status check_unchanged(struct nxmx *nxmx, const struct exposure *exposure)
{
    const char *const what = exposure_changed(&nxmx->first, exposure);

    if (!what) return NB_OK;
    return fail(nxmx->ctx, NB_ERR_UNSUPPORTED,
                "%s: frame %zu: %s, and an NXmx file states it once; write another file",
                nxmx->path, nxmx->n + 1, what);
}

/* Refuses a frame of a sweep that does not begin where the frame before it ended. */
static nb_status check_sweep(struct nxmx *nxmx, const struct exposure *exposure)
{
    const struct nxmx_frame *last = nxmx->n > 0 ? nxmx->frame + nxmx->n - 1 : NULL;
    double expected;

    if (!last || nxmx->options.stills) return NB_OK;
    if (last->width == 0 && exposure->width == 0) return NB_OK;
    expected = last->phi + last->width;
    if (fabs(exposure->phi - expected) <= gap_most * fabs(last->width)
        && fabs(exposure->width - last->width) <= gap_most * fabs(last->width))
        return NB_OK;
    return fail(nxmx->ctx, NB_ERR_ARGUMENT,
                "%s: frame %zu starts at %g degrees and is %g wide; expected %g and %g, "
                "because the frames of a sweep follow each other; write stills or another "
                "file",
                nxmx->path, nxmx->n + 1, exposure->phi, exposure->width, expected,
                last->width);
}

static nb_status check_frame(struct nxmx *nxmx, const struct exposure *exposure,
                             const nb_array *image)
{
    const nb_nxmx_options *o = &nxmx->options;

    if (image)
        NB_TRY(array_check(nxmx->ctx, image, "image", exposure->nslow, exposure->nfast,
                           o->type, o->bits, o->bits));
    if (image && !array_is_dense(image))
        return fail(nxmx->ctx, NB_ERR_SHAPE, "%s: not a dense image",
                    image->name ? image->name : "image");
    if (o->frames > 0 && nxmx->n >= (size_t)o->frames)
        return fail(nxmx->ctx, NB_ERR_ARGUMENT,
                    "%s: frame %zu is one more than the %lld that were announced; announce "
                    "all frames",
                    nxmx->path, nxmx->n + 1, (long long)o->frames);
    NB_TRY(exposure_check_flat(nxmx->ctx, exposure, "NXmx"));
    if (nxmx->n > 0) NB_TRY(check_unchanged(nxmx, exposure));
    return check_sweep(nxmx, exposure);
}

/* Keeps the numbers that may differ from frame to frame. */
static nb_status remember(struct nxmx *nxmx, const struct exposure *exposure)
{
    const size_t m = exposure->spectrum.n;
    struct nxmx_frame *frame;

    if (nxmx->n == nxmx->room) {
        const size_t room = 2 * nxmx->room + 16;
        struct nxmx_frame *larger = realloc(nxmx->frame, room * sizeof *larger);

        if (!larger) return fail_memory(nxmx->ctx, nxmx->path);
        nxmx->frame = larger;
        nxmx->room = room;
    }
    frame = nxmx->frame + nxmx->n;
    frame->spectrum = malloc(2 * m * sizeof *frame->spectrum);
    if (!frame->spectrum) return fail_memory(nxmx->ctx, nxmx->path);
    memcpy(frame->spectrum, exposure->spectrum.wavelength, m * sizeof *frame->spectrum);
    memcpy(frame->spectrum + m, exposure->spectrum.weight, m * sizeof *frame->spectrum);
    frame->phi = exposure->phi;
    frame->width = exposure->width;
    frame->wavelength = exposure->wavelength;
    frame->fluence = exposure->fluence;
    frame->flux = exposure->flux;
    frame->row = exposure->row;
    memcpy(frame->stokes, exposure->stokes, sizeof frame->stokes);
    return NB_OK;
}

/* Reserves disk space for the end of the file, with n frames: the tree, and lists with
 * numbers of each frame. Returns 0, or an errno if the disk is full. */
static int hold_room(struct nxmx *nxmx, size_t n, size_t sources)
{
    enum { TREE = 1 << 17, FRAME = 512, SOURCE = 16 };
    const size_t needed = TREE + n * (FRAME + SOURCE * sources);
    const long long most = file_most(), half = most / 2;
    int error;

    nxmx->disk.most = most == 0                  ? 0
                      : half > (long long)needed ? most - (long long)needed
                                                 : half;
    if (needed <= nxmx->reserved) return 0;
    error = file_reserve(&nxmx->out, 2 * needed, &nxmx->reserve);
    if (error == 0) nxmx->reserved = 2 * needed;
    return error;
}

/* Takes back the frame that did not fit, and keeps the frames before it. */
static nb_status drop_frame(struct nxmx *nxmx)
{
    const hsize_t extent[3] = {nxmx->n, (hsize_t)nxmx->first.nslow,
                               (hsize_t)nxmx->first.nfast};

    if (nxmx->n > 0 && nxmx->data >= 0)
        (void)hdf5_checked(&nxmx->tree, hdf5.H5Dset_extent(nxmx->data, extent));
    nxmx->full = nxmx->disk.error;
    file_reserve_end(&nxmx->reserve);
    hdf5_room_recover(&nxmx->disk, &nxmx->out);
    return fail_full(nxmx);
}

nb_status nxmx_append(struct nxmx *nxmx, struct exposure *exposure, const nb_array *image)
{
    struct hdf5_turn turn;
    nb_status status;

    NB_TRY(state_of(nxmx));
    if (!nxmx->full) nxmx->full = hold_room(nxmx, nxmx->n + 1, exposure->spectrum.n);
    if (nxmx->full) return fail_full(nxmx);
    if (nxmx->options.step != 0) {
        exposure->phi = nxmx->options.start + (double)nxmx->n * nxmx->options.step;
        exposure->width = nxmx->options.step;
    }
    exposure_turn_forwards(exposure);
    NB_TRY(check_frame(nxmx, exposure, image));
    NB_TRY(remember(nxmx, exposure));
    hdf5_turn_begin(&turn);
    if (nxmx->n == 0) {
        nxmx->first = *exposure;
        memset(exposure, 0, sizeof *exposure);
        status = begin_data(nxmx);
    } else {
        status = NB_OK;
    }
    if (status == NB_OK && image) put_pixels(nxmx, image);
    if (nxmx->disk.error) {
        status = drop_frame(nxmx);
        hdf5_turn_end(&turn);
        free(nxmx->frame[nxmx->n].spectrum);
        return status;
    }
    hdf5_turn_end(&turn);
    nxmx->n++;
    return status == NB_OK ? state_of(nxmx) : status;
}

nb_status nxmx_append_file(struct nxmx *nxmx, const char *path, size_t n,
                           const struct exposure *exposure)
{
    const struct nxmx_pixels pixels = {{n, (hsize_t)exposure->nslow,
                                        (hsize_t)exposure->nfast},
                                       type_in_file(&nxmx->options)};

    NB_TRY(state_of(nxmx));
    return nxmx_sources_add(nxmx->ctx, &nxmx->sources, nxmx->path, path, &pixels);
}

void nxmx_spoil(struct nxmx *nxmx, nb_status status)
{
    if (nxmx->out.status == NB_OK) nxmx->out.status = status;
}

nb_status nxmx_frames(nb_context *ctx, const char *path, int64_t *n, int *master)
{
    return nxmx_count(ctx, path, n, master);
}

/* ---- the end ---- */

/* Closes all objects of HDF5. A failure is kept in nxmx->tree. */
static void close_hdf5(struct nxmx *nxmx)
{
    if (nxmx->data >= 0) (void)hdf5_checked(&nxmx->tree, hdf5.H5Dclose(nxmx->data));
    if (nxmx->tree.file >= 0)
        (void)hdf5_checked(&nxmx->tree, hdf5.H5Fclose(nxmx->tree.file));
    if (nxmx->driver >= 0) (void)hdf5.H5FDunregister(nxmx->driver);
    nxmx->data = nxmx->tree.file = nxmx->driver = -1;
}

/* Writes the contents that are known only at the end. */
static nb_status finish_tree(struct nxmx *nxmx)
{
    struct hdf5_tree *const tree = &nxmx->tree;
    const int sweep = !nxmx->options.stills && nxmx->frame[0].width != 0;
    const struct nxmx_pixels pixels = {{nxmx->n, (hsize_t)nxmx->first.nslow,
                                        (hsize_t)nxmx->first.nfast},
                                       type_in_file(&nxmx->options)};
    char end[32];

    set_time(end);
    if (nxmx->options.master) nxmx_sources_write(tree, &nxmx->sources, &pixels);
    if (!nxmx_tree_end(tree, &nxmx->first, nxmx->frame, nxmx->n, sweep, end)
        || !nxmx_tree_scene(tree, &nxmx->first, nxmx->frame, nxmx->n))
        return fail_memory(nxmx->ctx, nxmx->path);
    if (!tree->failed)
        (void)hdf5_checked(tree, hdf5.H5Lcreate_hard(tree->file, NXMX_DATA, tree->file,
                                                     "/entry/instrument/detector/data",
                                                     H5P_DEFAULT, H5P_DEFAULT));
    return state_of(nxmx);
}

nb_status nxmx_end(struct nxmx *nxmx)
{
    struct hdf5_turn turn;
    nb_status status = state_of(nxmx);

    if (status == NB_OK && nxmx->n == 0)
        status = fail(nxmx->ctx, NB_ERR_ARGUMENT,
                      "%s: no frame was appended, so no file is written", nxmx->path);
    file_reserve_end(&nxmx->reserve);
    nxmx->disk.most = 0;
    hdf5_turn_begin(&turn);
    if (status == NB_OK) status = finish_tree(nxmx);
    close_hdf5(nxmx);
    hdf5_turn_end(&turn);
    if (status == NB_OK && nxmx->disk.error)
        status = file_fail_room(&nxmx->out, nxmx->disk.error, NULL);
    if (status == NB_OK) status = state_of(nxmx);
    if (status != NB_OK) nxmx->out.status = status;
    (void)file_end(&nxmx->out);
    status = nxmx->out.status;
    release(nxmx);
    return status;
}

void nxmx_drop(struct nxmx *nxmx)
{
    struct hdf5_turn turn;

    if (!nxmx) return;
    if (nxmx->out.fd >= 0) {
        /* HDF5 writes while it closes; those writes may be skipped */
        if (nxmx->out.status == NB_OK) nxmx->out.status = NB_ERR_CANCELLED;
        hdf5_turn_begin(&turn);
        close_hdf5(nxmx);
        hdf5_turn_end(&turn);
        (void)file_end(&nxmx->out);
    }
    release(nxmx);
}
