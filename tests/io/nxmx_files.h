/*
 * nxmx_files.h - writes NXmx files of known pixels, and reads fields and attributes of NXmx
 * files by HDF5, where the build has it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_NXMX_FILES_H
#define NB_TESTS_NXMX_FILES_H

#include <stdint.h>

#include <nanobrag/nanobrag.h>

enum { NFAST = 11, NSLOW = 7, NPIX = NFAST * NSLOW };

#ifdef NANOBRAG_HDF5

#include <hdf5.h>

/* The pixels of a frame of a test. */
void nxmx_fill(int32_t counts[NPIX], int frame);

/* Checks the pixels of n frames against them. */
void nxmx_same_counts(hid_t file, int n);

/* Writes n frames of them with phi from 12.25 in steps of 0.5. */
nb_status nxmx_write(nb_simulator *sim, const char *name, const nb_nxmx_options *options,
                     int n);

/* Opens a file of the folder of files.h. */
hid_t nxmx_open(const char *name);

int nxmx_has(hid_t file, const char *path);

/* The size of a field along each axis, at most 3; returns how many. */
int nxmx_size(hid_t file, const char *path, hsize_t size[3]);

/* Reads all numbers of a field; returns how many, of which at most `most` are read. */
int nxmx_reals(hid_t file, const char *path, int most, double *out);

/* Reads a field that must be one number. */
double nxmx_real(hid_t file, const char *path);

/* Returns a text field, or the text attribute `name` of an object, until the next call. */
const char *nxmx_text(hid_t file, const char *path, const char *name);

/* Check such a text, and an attribute of three numbers, which must agree to 1e-15. */
void nxmx_same_text(hid_t file, const char *path, const char *name, const char *expected);
void nxmx_same_vector(hid_t file, const char *path, const char *name,
                      const double expected[3]);

#endif

#endif
