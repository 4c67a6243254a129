/*
 * hdf5_fields.h - fields of an HDF5 file that is read: lists of numbers, texts, and the
 * members of groups. A field that is not there, or of another kind, is no failure.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_MEASURED_HDF5_FIELDS_H
#define NB_IO_MEASURED_HDF5_FIELDS_H

#include <stdint.h>

#include "nanobrag_io/images/hdf5/hdf5_library.h"

enum { FIELDS_PATH = 512, FIELDS_TEXT = 256 };

/* A file, and the frame that is read from it. */
struct fields {
    hid_t file;
    int64_t frame, frames; /* frames: of the whole file */
    int *no_memory; /* becomes 1 if a list finds no memory */
};

/* What a number measures: plain, or in mm, A, degree or s. */
enum fields_kind { FIELDS_PLAIN, FIELDS_MM, FIELDS_ANGSTROM, FIELDS_DEGREE, FIELDS_SECOND };

/* Reads the numbers of a field with one or no axis; of one with two, the row of the frame,
 * if it has as many rows, or the only row. Returns how many there are, 0: none. The caller
 * frees *out. */
size_t fields_list(const struct fields *in, const char *path, enum fields_kind kind,
                   double **out);

/* Reads the number of the frame: the only one, or one of as many as there are frames.
 * Returns NAN if there is none. */
double fields_number(const struct fields *in, const char *path, enum fields_kind kind);

/* Read a text: a field, and an attribute of an object. Return 0 if there is none. */
int fields_text(const struct fields *in, const char *path, char out[FIELDS_TEXT]);
int fields_attribute(const struct fields *in, const char *path, const char *name,
                     char out[FIELDS_TEXT]);

/* Writes the path of member i of a group, in the order of names. Returns 0 at the end. */
int fields_member(const struct fields *in, const char *group, uint64_t i,
                  char out[FIELDS_PATH]);

/* Writes the path of the first member of a group that is of a class of NeXus. Returns 0 if
 * there is none. */
int fields_of_class(const struct fields *in, const char *group, const char *nx_class,
                    char out[FIELDS_PATH]);

/* Finds the size of a field of numbers. Returns its rank; -1 if it is no field of
 * numbers. */
enum { FIELDS_RANK = 4 };
int fields_size(hid_t data, hsize_t size[FIELDS_RANK]);

#endif
