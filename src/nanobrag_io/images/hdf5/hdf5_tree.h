/*
 * hdf5_tree.h - groups, fields and attributes of an HDF5 file, and the lock of HDF5.
 *
 * Every function does nothing once `failed` is set; `why` has HDF5's first message.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_HDF5_TREE_H
#define NB_IO_IMAGES_HDF5_TREE_H

#include "nanobrag_io/images/hdf5/hdf5_library.h"

struct hdf5_tree {
    hid_t file;
    int failed;
    char why[160];
};

/* HDF5 keeps state of the process, and may be built without locks of its own: between these
 * two calls one thread has it alone, and it prints nothing. */
struct hdf5_turn {
    H5E_auto2_t print;
    void *printed_to;
};
void hdf5_turn_begin(struct hdf5_turn *turn);
void hdf5_turn_end(const struct hdf5_turn *turn);

/* Sets `failed` and keeps HDF5's message if `result`, of a call of HDF5, is negative. */
hid_t hdf5_checked(struct hdf5_tree *tree, hid_t result);

/* Creates the group at a path, with its class of NeXus. */
void hdf5_group(struct hdf5_tree *tree, const char *path, const char *nx_class);

/* Writes numbers: one, a list or a table. A mask is compressed. */
enum { HDF5_REAL, HDF5_WHOLE, HDF5_MASK };
struct hdf5_numbers {
    const void *at; /* double; int64_t for HDF5_WHOLE, int32_t for HDF5_MASK */
    int kind;
    hsize_t nslow, nfast; /* nfast 0: one number; nslow 0: a list of nfast */
};
void hdf5_numbers(struct hdf5_tree *tree, const char *path, struct hdf5_numbers numbers,
                  const char *units);

/* One number, with its unit or NULL. */
void hdf5_real(struct hdf5_tree *tree, const char *path, double value, const char *units);
void hdf5_whole(struct hdf5_tree *tree, const char *path, long long value);
void hdf5_flag(struct hdf5_tree *tree, const char *path, int value);

/* A list of n reals. */
void hdf5_reals(struct hdf5_tree *tree, const char *path, size_t n, const double *at,
                const char *units);

void hdf5_text(struct hdf5_tree *tree, const char *path, const char *text);

/* Attributes of the object at a path. */
void hdf5_attribute(struct hdf5_tree *tree, const char *path, const char *name,
                    const char *text);
/* An attribute with text of variable length. h5py returns it as a string in Python; readers
 * build names from it. */
void hdf5_name_attribute(struct hdf5_tree *tree, const char *path, const char *name,
                         const char *text);
void hdf5_vector(struct hdf5_tree *tree, const char *path, const char *name,
                 const double v[3]);

#endif
