/*
 * hdf5_tree.h - writes groups, fields and attributes of an HDF5 file, and locks HDF5.
 *
 * If a call of HDF5 fails, `failed` is set, `why` has HDF5's first message, and all further
 * functions do nothing.
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

/* HDF5 has state of the whole process and may be built without locks. Between
 * hdf5_turn_begin() and hdf5_turn_end() one thread has HDF5 alone, and HDF5 prints no
 * messages. */
struct hdf5_turn {
    H5E_auto2_t print;
    void *printed_to;
};
void hdf5_turn_begin(struct hdf5_turn *turn);
void hdf5_turn_end(const struct hdf5_turn *turn);

/* Checks the result of a call of HDF5. If it is negative, sets `failed` and keeps HDF5's
 * message. Returns `result`. */
hid_t hdf5_checked(struct hdf5_tree *tree, hid_t result);

/* Creates the group at a path, with NX_class, its class in NeXus. */
void hdf5_group(struct hdf5_tree *tree, const char *path, const char *nx_class);

/* kinds of numbers; a mask is compressed */
enum { HDF5_REAL, HDF5_WHOLE, HDF5_MASK };
struct hdf5_numbers {
    const void *at; /* double; int64_t for HDF5_WHOLE; int32_t for HDF5_MASK */
    int kind;
    hsize_t nslow, nfast; /* nfast 0: a single number; nslow 0: a list of nfast numbers */
};
void hdf5_numbers(struct hdf5_tree *tree, const char *path, struct hdf5_numbers numbers,
                  const char *units);

/* Each writes a single number; `units` may be NULL. */
void hdf5_real(struct hdf5_tree *tree, const char *path, double value, const char *units);
void hdf5_whole(struct hdf5_tree *tree, const char *path, long long value);
void hdf5_flag(struct hdf5_tree *tree, const char *path, int value);

/* Writes a list of n reals. */
void hdf5_reals(struct hdf5_tree *tree, const char *path, size_t n, const double *at,
                const char *units);

void hdf5_text(struct hdf5_tree *tree, const char *path, const char *text);

/* Writes a text attribute of the object at a path. */
void hdf5_attribute(struct hdf5_tree *tree, const char *path, const char *name,
                    const char *text);
/* Writes a text attribute of variable length. h5py returns such text as a str, which
 * readers need if they build names from it. */
void hdf5_name_attribute(struct hdf5_tree *tree, const char *path, const char *name,
                         const char *text);
void hdf5_vector(struct hdf5_tree *tree, const char *path, const char *name,
                 const double v[3]);

#endif
