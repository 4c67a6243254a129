/*
 * hdf5_target.h - lets HDF5 write to a struct file_out. Then an HDF5 file is also whole or
 * not there, and the system's reason is known when a write fails.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_HDF5_TARGET_H
#define NB_IO_IMAGES_HDF5_TARGET_H

#include "nanobrag_io/file.h"
#include "nanobrag_io/images/hdf5/hdf5_library.h"

/* The state of a file when the disk is full. Further pixels are dropped. Bytes of the
 * file's structure are kept in memory until hdf5_room_recover() writes them. */
struct hdf5_room {
    int error; /* errno of the write that failed; 0: the disk is not full */
    long long most; /* no pixels are written beyond this offset; 0: no limit */
    struct hdf5_late *late; /* (n) bytes kept in memory, in the order of the writes */
    size_t n;
};

/* Writes the bytes that are kept in memory, when there is space again. If that fails, the
 * file has failed. */
void hdf5_room_recover(struct hdf5_room *room, struct file_out *out);
void hdf5_room_free(struct hdf5_room *room);

/*
 * Creates an HDF5 file in `out` after file_begin(). If a write fails, HDF5 is told that it
 * and all later ones succeed, because HDF5 could not close the file otherwise. out->status
 * has the failure, or `room` if the disk is full. No pixels wait in memory: each chunk is
 * written when it is complete. The caller closes the file with H5Fclose() before
 * file_end(). Afterwards it releases the driver with H5FDunregister() if *driver is not
 * negative; HDF5 needs the driver until the file is closed. Returns a negative number if
 * HDF5 fails.
 */
hid_t hdf5_target_create(struct file_out *out, struct hdf5_room *room, hid_t *driver);

#endif
