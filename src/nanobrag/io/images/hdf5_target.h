/*
 * hdf5_target.h - lets HDF5 write through a struct file_out, so that its files, too, are
 * complete or not there, and the system's own reason is known when a write fails.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_HDF5_TARGET_H
#define NB_IO_IMAGES_HDF5_TARGET_H

#include "io/file.h"
#include "io/images/hdf5_library.h"

/*
 * Creates an HDF5 file in a file that was begun. After a write has failed, HDF5 is told
 * that this and all later ones succeeded, because it could not close the file otherwise:
 * `out->status` holds the failure. Close it with H5Fclose() before file_end(), and only
 * then its driver with H5FDunregister() if `driver` is not negative: HDF5 still reads the
 * driver as it closes the file. Returns a negative number if HDF5 fails.
 */
hid_t hdf5_target_create(struct file_out *out, hid_t *driver);

#endif
