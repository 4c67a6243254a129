/*
 * hdf5_target.h - lets HDF5 write through a struct file_out, so that its files, too, are
 * complete or not there, and the system's own reason is known when a write fails.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_HDF5_TARGET_H
#define NB_IO_IMAGES_HDF5_TARGET_H

#include "nanobrag_io/file.h"
#include "nanobrag_io/images/hdf5/hdf5_library.h"

/* The state of a file that has no more room. Its further pixels are dropped. The bytes of
 * its structure are kept in memory until hdf5_room_recover(). */
struct hdf5_room {
    int error; /* errno; 0: there is room */
    long long most; /* bytes where pixels may end, as of a limit on files; 0: anywhere */
    struct hdf5_late *late; /* (n) kept bytes, in order */
    size_t n;
};

/* Writes the kept bytes, once there is room for them. A failure counts as a failure of the
 * file. */
void hdf5_room_recover(struct hdf5_room *room, struct file_out *out);
void hdf5_room_free(struct hdf5_room *room);

/*
 * Creates an HDF5 file in a file that was begun. After a write has failed, HDF5 is told
 * that this and all later ones succeeded, because it could not close the file otherwise:
 * `out->status` holds the failure; `room` holds it if the disk is full. No chunk of pixels
 * waits in memory: each is written when it is complete. Close it with H5Fclose() before
 * file_end(), and only then its driver with H5FDunregister() if `driver` is not negative:
 * HDF5 still reads the driver as it closes the file. Returns a negative number if HDF5
 * fails.
 */
hid_t hdf5_target_create(struct file_out *out, struct hdf5_room *room, hid_t *driver);

#endif
