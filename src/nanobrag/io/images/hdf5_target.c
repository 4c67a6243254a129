/*
 * hdf5_target.c - a file driver of HDF5 over a struct file_out. It keeps only the end of
 * the space that HDF5 has handed out and the end of the file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "io/images/hdf5_target.h"

#include <limits.h>
#include <stdlib.h>

#include "base/context.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

struct target {
    H5FD_t head; /* HDF5's own part, first in every driver */
    struct file_out *out;
    haddr_t allocated, end;
};

/* What a list of properties carries to target_open(). */
struct target_info {
    struct file_out *out;
};

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
    (void)type, (void)transfer;
    file_get_at(((struct target *)file)->out, bytes, n, (long long)from);
    return 0;
}

static herr_t target_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t to,
                           size_t n, const void *bytes)
{
    struct target *target = (struct target *)file;

    (void)type, (void)transfer;
    file_put_at(target->out, bytes, n, (long long)to);
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

hid_t hdf5_target_create(struct file_out *out, hid_t *driver)
{
    const struct target_info info = {out};
    const hid_t properties = hdf5.H5Pcreate(*hdf5.H5P_CLS_FILE_ACCESS_ID_g);
    hid_t file = -1;

    *driver = hdf5.H5FDregister(&driver_class);
    if (*driver >= 0 && hdf5.H5Pset_driver(properties, *driver, &info) >= 0)
        file = hdf5.H5Fcreate(out->path, H5F_ACC_TRUNC, H5P_DEFAULT, properties);
    if (properties >= 0) (void)hdf5.H5Pclose(properties);
    return file;
}
