/*
 * io.h - the files nanobrag reads and writes.
 *
 * Readers take a path and give an object; writers take memory and a path. A writer makes
 * a temporary file beside the target and renames it, so a target is whole or absent; a
 * target that exists and is no regular file (a pipe, a device) is written directly.
 * Objects are immutable once made and may be shared between threads.
 *
 * Every function: NB_ERR_ARGUMENT for a NULL that is not allowed, NB_ERR_FILE when the
 * system refuses, NB_ERR_FORMAT when a file is not what it should be (the message names
 * file, line, what was expected and what to do), NB_ERR_MEMORY.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_IO_H
#define NANOBRAG_IO_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/array.h>
#include <nanobrag/context.h>
#include <nanobrag/export.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

/* ---- reflections: h k l F in a dense box ---- */
typedef struct nb_hkl nb_hkl;

/* what a list holds */
typedef struct nb_hkl_info {
    size_t count; /* reflections listed */
    int min[3], max[3]; /* bounds of h, k, l, both inside */
} nb_hkl_info;

/*
 * Reflections from memory. A reflection that is listed twice takes its last F.
 *
 *   n    [in]   reflections, at least 1
 *   hkl  [in]   h k l of each                                            (n x 3)
 *   f    [in]   structure factor amplitude, may be negative  electron    (n)
 *   out  [out]  free with nb_hkl_free()
 */
NB_API nb_status nb_hkl_create(nb_context *ctx, size_t n, const int *hkl, const double *f,
                               nb_hkl **out);

/* Reflections from a text file: h k l F a line (a group may go on on the next), '#' starts
 * a comment line. */
NB_API nb_status nb_hkl_read(nb_context *ctx, const char *path, nb_hkl **out);

/* Reflections from a binary dump (Fdump.bin), nanoBragg's or ours. */
NB_API nb_status nb_fdump_read(nb_context *ctx, const char *path, nb_hkl **out);

/*
 * Write a binary dump.
 *
 *   default_f  [in]  stands where the box holds no reflection      electron
 *   profile    [in]  NB_PROFILE_NANOBRAG: with a checksum; NB_PROFILE_NANOBRAGG: the
 *                    layout of nanoBragg, byte for byte
 */
NB_API nb_status nb_fdump_write(nb_context *ctx, const char *path, const nb_hkl *hkl,
                                double default_f, int profile);

NB_API void nb_hkl_info_get(const nb_hkl *hkl, nb_hkl_info *out);

/* F of a reflection; returns 0 (f untouched) when it is not listed. */
NB_API int nb_hkl_get(const nb_hkl *hkl, int h, int k, int l, double *f);

/* Accepts NULL. */
NB_API void nb_hkl_free(nb_hkl *hkl);

/* ---- the first nine numbers of a file, row by row (an orientation matrix) ---- */
NB_API nb_status nb_matrix_read(nb_context *ctx, const char *path, double matrix[9]);

/* ---- a table of numbers: columns separated by blank , ; : ! and '#' comment lines ---- */
typedef struct nb_table nb_table;

/*
 *   columns  [in]   how many are kept; a missing one, and the word nan, give NaN
 *   out      [out]  free with nb_table_free(); at least one row
 */
NB_API nb_status nb_table_read(nb_context *ctx, const char *path, int columns,
                               nb_table **out);
NB_API size_t nb_table_rows(const nb_table *table);

/* The numbers, row by row (rows x columns); NaN where missing. */
NB_API const double *nb_table_data(const nb_table *table);
NB_API void nb_table_free(nb_table *table);

/* ---- SMV: a text header, then unsigned 16-bit pixels ---- */
typedef struct nb_smv nb_smv;
NB_API nb_status nb_smv_read(nb_context *ctx, const char *path, nb_smv **out);
NB_API void nb_smv_free(nb_smv *smv);

/* The number after the last occurrence of `keyword` and the '=' that follows; returns 0
 * (value untouched) without one. */
NB_API int nb_smv_number(const nb_smv *smv, const char *keyword, double *value);

/* Width, height and pixels (height x width) in host byte order. pixels is NULL when the
 * file holds fewer than its header promises. Owned by smv. */
NB_API void nb_smv_image(const nb_smv *smv, int *nfast, int *nslow,
                         const uint16_t **pixels);

/*
 * Write an image. `header` is the text between "{\nHEADER_BYTES=N;\n" and "}\f", lines
 * KEY=value; the writer adds those and pads with blanks to a multiple of 512 bytes.
 *
 *   counts  [in]  NB_UINT 16, dense, on the host               (nslow x nfast)
 */
NB_API nb_status nb_smv_write(nb_context *ctx, const char *path, const char *header,
                              const nb_array *counts);

/* ---- raw pixels without a header, as they lie in memory ---- */
/*
 *   image  [in]  any type, dense, on the host
 *   bits   [in]  of the floats in the file: 32 or 64; converted from those of image
 */
NB_API nb_status nb_raw_write(nb_context *ctx, const char *path, const nb_array *image,
                              int bits);

/* Fill `image` (NB_FLOAT 32 or 64, dense) from a file of exactly its size. */
NB_API nb_status nb_raw_read(nb_context *ctx, const char *path, nb_array *image);

/* ---- pictures ---- */
/* Grey bytes (height x width) as binary PGM; `comment` is one line, may be NULL. */
NB_API nb_status nb_pgm_write(nb_context *ctx, const char *path, int width, int height,
                              const uint8_t *grey, const char *comment);

/* RGB bytes (height x width x 3) as PNG. NB_ERR_UNSUPPORTED in a build without libpng. */
NB_API nb_status nb_png_write(nb_context *ctx, const char *path, int width, int height,
                              const uint8_t *rgb);

/* ---- any bytes, written whole or not at all ---- */
NB_API nb_status nb_file_write(nb_context *ctx, const char *path, const void *bytes,
                               size_t n);

NB_END_DECLS

#endif
