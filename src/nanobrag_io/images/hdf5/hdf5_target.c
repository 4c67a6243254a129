/*
 * hdf5_target.c - a file driver that lets HDF5 write to a struct file_out. Its only state
 * is the end of the space that HDF5 has allocated, and the end of the file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/hdf5/hdf5_target.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

struct target {
    H5FD_t head; /* HDF5's part, first in every driver */
    struct file_out *out;
    struct hdf5_room *room;
    haddr_t allocated, end;
};

struct hdf5_late {
    haddr_t at;
    size_t n;
    char *bytes;
};

/* what an HDF5 list of properties hands to target_open() */
struct target_info {
    struct file_out *out;
    struct hdf5_room *room;
};

/* ---- a full disk ---- */

/* Keeps in memory the bytes that could not be written. */
static void keep(struct hdf5_room *room, struct file_out *out, haddr_t at, size_t n,
                 const void *bytes)
{
    struct hdf5_late *more = realloc(room->late, (room->n + 1) * sizeof *more);
    char *const copy = malloc(n);

    if (more) room->late = more;
    if (!more || !copy) {
        free(copy);
        if (out->status == NB_OK) out->status = fail_memory(out->ctx, out->path);
        return;
    }
    memcpy(copy, bytes, n);
    room->late[room->n++] = (struct hdf5_late){at, n, copy};
}

/* Corrects n bytes that were read from offset `from`, where newer bytes are kept in
 * memory. */
static void read_kept(const struct hdf5_room *room, haddr_t from, size_t n, char *bytes)
{
    for (size_t i = 0; i < room->n; i++) {
        const struct hdf5_late *l = room->late + i;
        const haddr_t begin = l->at > from ? l->at : from;
        const haddr_t end = l->at + l->n < from + n ? l->at + l->n : from + n;

        if (begin < end)
            memcpy(bytes + (begin - from), l->bytes + (begin - l->at), end - begin);
    }
}

void hdf5_room_recover(struct hdf5_room *room, struct file_out *out)
{
    for (size_t i = 0; i < room->n; i++)
        file_put_at(out, room->late[i].bytes, room->late[i].n, (long long)room->late[i].at);
    hdf5_room_free(room);
    room->error = 0;
    room->most = 0;
}

void hdf5_room_free(struct hdf5_room *room)
{
    for (size_t i = 0; i < room->n; i++) free(room->late[i].bytes);
    free(room->late);
    room->late = NULL;
    room->n = 0;
}

/* ---- the driver ---- */

static H5FD_t *target_open(const char *name, unsigned flags, hid_t properties, haddr_t most)
{
    const struct target_info *info = hdf5.H5Pget_driver_info(properties);
    struct target *target = calloc(1, sizeof *target);

    (void)name, (void)flags, (void)most;
    if (info && !target) info->out->status = fail_memory(info->out->ctx, info->out->path);
    if (!info || !target) {
        free(target);
        return NULL;
    }
    target->out = info->out;
    target->room = info->room;
    return &target->head;
}

static herr_t target_close(H5FD_t *file)
{
    free((struct target *)file);
    return 0;
}

static herr_t target_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA
             | H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t target_get_allocated(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct target *)file)->allocated;
}

static herr_t target_set_allocated(H5FD_t *file, H5FD_mem_t type, haddr_t to)
{
    (void)type;
    ((struct target *)file)->allocated = to;
    return 0;
}

static haddr_t target_get_end(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const struct target *)file)->end;
}

static herr_t target_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t from,
                          size_t n, void *bytes)
{
    const struct target *target = (struct target *)file;

    (void)type, (void)transfer;
    file_get_at(target->out, bytes, n, (long long)from);
    read_kept(target->room, from, n, bytes);
    return 0;
}

static herr_t target_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t to,
                           size_t n, const void *bytes)
{
    struct target *target = (struct target *)file;
    struct hdf5_room *room = target->room;

    (void)transfer;
    if (room->most > 0 && type == H5FD_MEM_DRAW && to + n > (haddr_t)room->most)
        room->error = EFBIG;
    if (room->error == 0)
        room->error = file_try_put_at(target->out, bytes, n, (long long)to);
    if (room->error != 0 && type != H5FD_MEM_DRAW) keep(room, target->out, to, n, bytes);
    if (to + n > target->end) target->end = to + n;
    return 0;
}

static herr_t target_truncate(H5FD_t *file, hid_t transfer, hbool_t closing)
{
    struct target *target = (struct target *)file;

    (void)transfer, (void)closing;
    if (target->end == target->allocated) return 0;
    file_resize(target->out, (long long)target->allocated);
    target->end = target->allocated;
    return 0;
}

static const H5FD_class_t driver_class = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)(H5_VFD_MAX - 1),
#endif
    .name = "nanobrag",
    .maxaddr = (haddr_t)LLONG_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct target_info),
    .open = target_open,
    .close = target_close,
    .query = target_query,
    .get_eoa = target_get_allocated,
    .set_eoa = target_set_allocated,
    .get_eof = target_get_end,
    .read = target_read,
    .write = target_write,
    .truncate = target_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t hdf5_target_create(struct file_out *out, struct hdf5_room *room, hid_t *driver)
{
    const struct target_info info = {out, room};
    const hid_t properties = hdf5.H5Pcreate(*hdf5.H5P_CLS_FILE_ACCESS_ID_g);
    hid_t file = -1;

    *driver = hdf5.H5FDregister(&driver_class);
    if (*driver >= 0 && hdf5.H5Pset_driver(properties, *driver, &info) >= 0
        && hdf5.H5Pset_cache(properties, 0, 0, 0, 1) >= 0)
        file = hdf5.H5Fcreate(out->path, H5F_ACC_TRUNC, H5P_DEFAULT, properties);
    if (properties >= 0) (void)hdf5.H5Pclose(properties);
    return file;
}
