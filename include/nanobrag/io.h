/*
 * io.h - reads and writes the files of nanobrag.
 *
 *   nb_hkl *hkl = NULL;
 *   nb_smv *smv = NULL;
 *   nb_measured *image = NULL;
 *   double distance, f;
 *   int nfast, nslow;
 *
 *   if (nb_hkl_read(ctx, "p1.hkl", &hkl) != NB_OK) puts(nb_context_message(ctx));
 *   if (nb_hkl_get(hkl, 1, 2, 3, &f)) printf("F(1,2,3) = %g electrons\n", f);
 *   if (nb_smv_read(ctx, "image.img", &smv) != NB_OK) puts(nb_context_message(ctx));
 *   nb_smv_image(smv, &nfast, &nslow, NULL, NULL);
 *   if (nb_smv_number(smv, "DISTANCE", &distance))
 *       printf("%d x %d pixels at %g mm\n", nslow, nfast, distance);
 *   if (nb_image_read(ctx, "frame_0001.cbf.gz", 0, &image) != NB_OK)
 *       puts(nb_context_message(ctx));
 *   if (image) printf("%g counts, %g A\n", image->pixels[0], image->wavelength);
 *   nb_measured_free(image);
 *   nb_smv_free(smv);
 *   nb_hkl_free(hkl);
 *
 * A reader takes a path and returns an object. A writer takes memory and a path. A writer
 * writes a temporary file beside the target, and then renames this file. So the target is
 * complete, or as it was. If the target exists and is not a regular file (a pipe, a
 * device), the writer writes to it directly. An object never changes once made, and threads
 * may share it.
 *
 * Errors of every reader, called "a reader's" below:
 *
 *   NB_ERR_ARGUMENT   a NULL that is not allowed, or a reason that the function names.
 *   NB_ERR_FILE       the file cannot be opened or read.
 *   NB_ERR_FORMAT     the contents are wrong; the message names file, line, the expected
 *                     contents, and what to do.
 *   NB_ERR_MEMORY     out of memory.
 *   NB_ERR_CANCELLED  a signal interrupted a wait, for example for the other end of a pipe,
 *                     and the progress handler of the context, called with fraction 0,
 *                     returned a number other than 0.
 *
 * Errors of every writer, called "a writer's" below: NB_ERR_ARGUMENT, NB_ERR_FILE (the file
 * cannot be written), NB_ERR_MEMORY, NB_ERR_CANCELLED (as for a reader).
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

/* ---- reflections: h k l F, stored in a dense box of indices ---- */
typedef struct nb_hkl nb_hkl;

/* The extent of a list of reflections. */
typedef struct nb_hkl_info {
    size_t count; /* listed reflections, with repeats */
    int min[3], max[3]; /* smallest and largest h, k, l of the list */
} nb_hkl_info;

/*
 * Make a list of reflections from memory. If a reflection is listed twice, its last F
 * counts.
 *
 *   n    [in]   number of reflections, at least 1
 *   hkl  [in]   h k l of each reflection, from -100000 to 100000         (n x 3)
 *   f    [in]   structure factor amplitude, may be negative  electron    (n)
 *   out  [out]  free with nb_hkl_free()
 *
 * Errors: NB_ERR_ARGUMENT (a NULL, n = 0, an index out of range, an F that is not finite),
 * NB_ERR_FORMAT (the bounds of the indices span more than 2^28 reflections), NB_ERR_MEMORY.
 */
NB_API nb_status nb_hkl_create(nb_context *ctx, size_t n, const int *hkl, const double *f,
                               nb_hkl **out);

/*
 * Read reflections from a text file. A line holds one reflection, h k l F. The reader
 * ignores further columns and a first line without a number, with a note. A line that
 * begins with '#' is a comment. The reader ignores text after the last reflection, with a
 * warning. If a reflection is listed twice, its last F counts. A warning gives the number
 * of repeats that differ. A note gives the number of negative F.
 *
 *   out  [out]  free with nb_hkl_free()
 *
 * Errors: a reader's.
 */
NB_API nb_status nb_hkl_read(nb_context *ctx, const char *path, nb_hkl **out);

/*
 * Read reflections as nanoBragg does: in groups h k l F. A line may hold several groups,
 * and a group may extend over several lines. Comments, and text after the last reflection,
 * are treated as by nb_hkl_read().
 *
 *   out  [out]  free with nb_hkl_free()
 *
 * Errors: a reader's.
 */
NB_API nb_status nb_hkl_read_nanobragg(nb_context *ctx, const char *path, nb_hkl **out);

/*
 * Read reflections from a binary dump (Fdump.bin) written by nb_fdump_write() or nanoBragg.
 *
 *   out  [out]  free with nb_hkl_free()
 *
 * Errors: a reader's.
 */
NB_API nb_status nb_fdump_read(nb_context *ctx, const char *path, nb_hkl **out);

/*
 * Write reflections as a binary dump.
 *
 *   hkl        [in]  the reflections
 *   default_f  [in]  F that is written for indices that are not listed  electron
 *   profile    [in]  NB_PROFILE_NANOBRAG: a layout with a checksum; NB_PROFILE_NANOBRAGG:
 *                    the layout of nanoBragg, byte for byte (enum nb_profile, scene.h)
 *
 * Errors: a writer's; NB_ERR_ARGUMENT also if default_f is not finite or the profile is
 * unknown.
 */
NB_API nb_status nb_fdump_write(nb_context *ctx, const char *path, const nb_hkl *hkl,
                                double default_f, int profile);

/* Read the extent of a list; nothing is written if an argument is NULL. */
NB_API void nb_hkl_info_get(const nb_hkl *hkl, nb_hkl_info *out);

/*
 * Look up the F of a reflection.
 *
 *   f  [out]  structure factor amplitude; may be NULL              electron
 *
 * Returns 1, or 0 if the reflection is not listed (f is then not changed).
 */
NB_API int nb_hkl_get(const nb_hkl *hkl, int h, int k, int l, double *f);

/*
 * List the reflections in increasing order of h, then k, then l. Outputs may be NULL.
 *
 *   hkl  [out]  h k l of each reflection                                 (n x 3)
 *   f    [out]  structure factor amplitude                 electron      (n)
 *
 * Returns the number n of different reflections; 0 for NULL.
 */
NB_API size_t nb_hkl_reflections(const nb_hkl *list, int *hkl, double *f);

/* Free a list of reflections; NULL is allowed. */
NB_API void nb_hkl_free(nb_hkl *hkl);

/* ---- orientation matrices ---- */

/*
 * Read the first nine numbers of a text file.
 *
 *   matrix  [out]  row by row, in the unit of the file. For nb_crystal.matrix, divide the
 *                  numbers of a MOSFLM file by the wavelength
 *
 * Errors: a reader's.
 */
NB_API nb_status nb_matrix_read(nb_context *ctx, const char *path, double matrix[9]);

/* ---- tables of numbers ---- */
typedef struct nb_table nb_table;

/*
 * Read a table from a text file. Blanks or , ; : ! separate the columns. A line that begins
 * with '#' is a comment.
 *
 *   columns  [in]   number of columns to read, at least 1; further columns are ignored. A
 *                   missing number and the word nan give NaN
 *   out      [out]  at least one row; free with nb_table_free()
 *
 * Errors: a reader's; NB_ERR_ARGUMENT also for columns < 1.
 */
NB_API nb_status nb_table_read(nb_context *ctx, const char *path, int columns,
                               nb_table **out);

/*
 * Read a table with a title. The first line that is no comment is the title: the names of
 * the columns, or other words. All further lines have equally many numbers.
 *
 *   out  [out]  at least one row; free with nb_table_free()
 *
 * Errors: a reader's.
 */
NB_API nb_status nb_table_read_titled(nb_context *ctx, const char *path, nb_table **out);

/* The title, without the blanks around it. The table owns the text. NULL for NULL, and for
 * a table without a title. */
NB_API const char *nb_table_title(const nb_table *table);

/* The number of rows, and of columns; 0 for NULL. */
NB_API size_t nb_table_rows(const nb_table *table);
NB_API int nb_table_columns(const nb_table *table);

/* The number of the line in the file from which row i was read, counted from 1; 0 for NULL
 * and if there is no row i. */
NB_API long nb_table_line(const nb_table *table, size_t i);

/* The numbers, row by row (rows x columns). The table owns them. NULL for NULL. */
NB_API const double *nb_table_data(const nb_table *table);

/* Free a table; NULL is allowed. */
NB_API void nb_table_free(nb_table *table);

/* ---- SMV images: a text header, then the pixels ---- */
typedef struct nb_smv nb_smv;

/*
 * Read an SMV image. TYPE or Data_type in the header states the type of the pixels: 8, 16
 * or 32 bits with or without a sign, or a float of 32 or 64 bits. BYTE_ORDER states the
 * byte order. If the header does not state them, the reader assumes unsigned 16-bit numbers
 * and little endian, with a warning.
 *
 *   out  [out]  free with nb_smv_free()
 *
 * Errors: a reader's; NB_ERR_UNSUPPORTED (another type, compressed pixels, several images).
 */
NB_API nb_status nb_smv_read(nb_context *ctx, const char *path, nb_smv **out);

/* Free an SMV image; NULL is allowed. */
NB_API void nb_smv_free(nb_smv *smv);

/*
 * Look up a number of the header: the first number in the value of a key. If the key stands
 * there several times, its last value counts.
 *
 *   value  [out]  the number
 *
 * Returns 1, or 0 if there is no such number or an argument is NULL (value is then not
 * changed).
 */
NB_API int nb_smv_number(const nb_smv *smv, const char *keyword, double *value);

/*
 * Look up a number of the header as nanoBragg does: find the last occurrence of `keyword`,
 * even inside another word, and take the number after the next '='. The results are as in
 * nb_smv_number().
 */
NB_API int nb_smv_search(const nb_smv *smv, const char *keyword, double *value);

/*
 * Read the size of an SMV image and the type of its pixels. Outputs may be NULL.
 *
 *   nfast  [out]  width, in pixels; 0 for smv = NULL
 *   nslow  [out]  height, in pixels; 0 for smv = NULL
 *   type   [out]  type in the file: NB_TYPE_UINT, NB_TYPE_INT or NB_TYPE_FLOAT
 *   bits   [out]  bits of a pixel in the file: 8, 16, 32 or 64; 0 if the file has fewer
 *                 pixels than its header says
 */
NB_API void nb_smv_image(const nb_smv *smv, int *nfast, int *nslow, int *type, int *bits);

/*
 * Read the pixels of an SMV image.
 *
 *   pixels  [out]  the pixels, row by row                          (nslow x nfast)
 *
 * Returns 1, or 0 if the file has fewer pixels than its header says or an argument is NULL
 * (pixels are then not changed).
 */
NB_API int nb_smv_pixels(const nb_smv *smv, double *pixels);

/*
 * Write an SMV image.
 *
 *   header  [in]  lines "KEY=value;\n". The writer puts "{\nHEADER_BYTES=N;\n" before the
 *                 lines, "}\f" after the lines, and blanks up to a multiple of 512 bytes.
 *                 Pixels are big endian if BYTE_ORDER=big_endian is among the lines
 *   counts  [in]  NB_TYPE_UINT 16, dense, on the host               (nslow x nfast)
 *
 * Errors: a writer's; NB_ERR_ARGUMENT also for a header longer than 1 MB, NB_ERR_SHAPE and
 * NB_ERR_DONATED (counts).
 */
NB_API nb_status nb_smv_write(nb_context *ctx, const char *path, const char *header,
                              const nb_array *counts);

/* ---- measured images of any kind, with the numbers of their headers ---- */

/* An image, as its file states it. A number that the file does not state is NaN, unless a
 * default stands beside it. */
typedef struct nb_measured {
    int nfast, nslow; /* of all pixels; several panels are stacked along slow */
    int npanel; /* number of panels in the file, at least 1 */
    int64_t frames; /* number of frames in the file */
    const double *pixels; /* counts, row by row                       (nslow x nfast) */
    const uint8_t *mask; /* 1: trusted; 0: bad; NULL: all are trusted (nslow x nfast) */
    double pixel_fast, pixel_slow; /* size of a pixel                           mm     */
    double wavelength; /* mean of a spectrum                                    A      */
    double distance; /* of the detector                                         mm     */
    double beam_x, beam_y; /* beam centre, with the corner and axes of the file mm     */
    double osc_start, osc_range; /* rotation of the frame                       degree */
    double exposure; /*                                                         s      */
    /* smallest count of a saturated pixel. Default: the largest number of the type of the
     * pixels, or infinity for floats */
    double overload;
    double pedestal; /* counts without photons. Default: 0 */
    double gain; /* counts/photon. Default: 1 */
    int has_gain; /* 1: the file states the gain */
    size_t nspectrum; /* number of wavelengths in the spectrum of the frame; 0: not
                         stated */
    const double *spectrum; /* wavelengths                              A (nspectrum) */
    const double *weights; /* weights of the wavelengths, with any sum    (nspectrum) */
} nb_measured;

/*
 * Read a frame of a measured image. The file is SMV or CBF (miniCBF and imgCIF), also
 * compressed by gzip or bzip2, or HDF5 (NXmx, and files of DECTRIS); docs/formats.md lists
 * what is read. Bad pixels have 0 in the mask. These are
 * the bad pixels of the mask in the file, and pixels below the smallest valid count.
 *
 *   frame  [in]   number of the frame in the file, from 0
 *   out    [out]  free with nb_measured_free()
 *
 * Errors: a reader's; also NB_ERR_ARGUMENT if the file does not have this frame;
 * NB_ERR_UNSUPPORTED (this build lacks the library for the format, or cannot expand the
 * compression of the pixels).
 */
NB_API nb_status nb_image_read(nb_context *ctx, const char *path, int64_t frame,
                               nb_measured **out);

/* Free an image; NULL is allowed. */
NB_API void nb_measured_free(nb_measured *image);

/* The format of a file by its first bytes, a static string: "SMV", "CBF", "HDF5", "gzip",
 * "bzip2", "PNG" or "TIFF". nb_image_read() refuses PNG and TIFF. NULL: the file has
 * another format, such as raw numbers, or it cannot be read. */
NB_API const char *nb_image_kind(const char *path);

/* ---- raw images: pixels without a header, in host byte order ---- */

/*
 * Write the pixels of an image.
 *
 *   image  [in]  any type of array.h, dense, on the host                   (nslow x nfast)
 *   bits   [in]  bits of a float in the file, 32 or 64; ignored for integers
 *
 * Errors: a writer's; NB_ERR_ARGUMENT also for other bits, NB_ERR_SHAPE and NB_ERR_DONATED
 * (image).
 */
NB_API nb_status nb_raw_write(nb_context *ctx, const char *path, const nb_array *image,
                              int bits);

/*
 * Read the pixels of an image from a file that has exactly the size of the image.
 *
 *   image  [out]  NB_TYPE_FLOAT, 32 or 64 bits, dense, on the host      (nslow x nfast)
 *
 * Errors: a reader's; NB_ERR_SHAPE and NB_ERR_DONATED (image).
 */
NB_API nb_status nb_raw_read(nb_context *ctx, const char *path, nb_array *image);

/* ---- pictures ---- */

/*
 * Write a grey picture as binary PGM.
 *
 *   width, height  [in]  in pixels, at least 1
 *   grey           [in]  0 black to 255 white                    (height x width)
 *   comment        [in]  one line for the header; may be NULL
 *
 * Errors: a writer's.
 */
NB_API nb_status nb_pgm_write(nb_context *ctx, const char *path, int width, int height,
                              const uint8_t *grey, const char *comment);

/*
 * Write a colour picture as PNG.
 *
 *   width, height  [in]  in pixels, 1 to 1000000
 *   rgb            [in]  red, green, blue, 0 to 255              (height x width x 3)
 *
 * Errors: a writer's; NB_ERR_UNSUPPORTED (a build without libpng).
 */
NB_API nb_status nb_png_write(nb_context *ctx, const char *path, int width, int height,
                              const uint8_t *rgb);

/* ---- other files ---- */

/*
 * Write a file of n bytes. bytes may be NULL if n is 0.
 *
 * Errors: a writer's.
 */
NB_API nb_status nb_file_write(nb_context *ctx, const char *path, const void *bytes,
                               size_t n);

NB_END_DECLS

#endif
