/*
 * formats.h - diffraction images in the formats of other programs: NXmx and miniCBF.
 *
 *   static int32_t pixels[512 * 512];
 *   nb_array counts = nb_array_i32(pixels, 512, 512);
 *   nb_nxmx_options options = {.compression = NB_COMPRESSION_DEFLATE, .frames = 1};
 *   nb_nxmx *file;
 *
 *   if (nb_nxmx_create(sim, "frames.nxs", &options, &file) != NB_OK) return;
 *   if (nb_nxmx_append(file, NULL, &counts) != NB_OK) puts(nb_context_message(ctx));
 *   if (nb_nxmx_close(file) != NB_OK) puts(nb_context_message(ctx));
 *   if (nb_cbf_write(sim, NULL, "frame_0001.cbf", 0, &counts) != NB_OK)
 *       puts(nb_context_message(ctx));
 *
 * docs/formats.md says what each format carries and what it loses. Both state the geometry
 * of the simulator's scene in their own frame: everything is turned until the beam has the
 * direction that the format prescribes, on which no image depends.
 *
 * A file is whole or not there: it is written under another name in the same folder and
 * renamed at the end.
 *
 * Every call with x takes nparam parameters (simulator.h); x = NULL stands for the values
 * of the scene. It returns NB_ERR_ARGUMENT for a parameter outside its bounds, and
 * NB_ERR_SCENE or NB_ERR_UNIT_CELL if x gives an impossible geometry.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_FORMATS_H
#define NANOBRAG_FORMATS_H

#include <stdint.h>

#include <nanobrag/array.h>
#include <nanobrag/export.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

/* ---- NXmx: HDF5 with the names of NeXus, one file for all frames ---- */

/* How the pixels are compressed: without loss. LZ4 and BSLZ4 (bitshuffle, then LZ4) are
 * filters that HDF5 loads when they are needed, by the writer and by every reader. */
enum nb_compression {
    NB_COMPRESSION_DEFLATE, /* shuffle, then zlib, which every HDF5 has */
    NB_COMPRESSION_NONE,
    NB_COMPRESSION_LZ4, /* filter 32004 */
    NB_COMPRESSION_BSLZ4 /* filter 32008 */
};

typedef struct nb_nxmx_options {
    int compression; /* enum nb_compression */
    int level; /* of NB_COMPRESSION_DEFLATE, 1 to 9; 0: 1 */
    int type, bits; /* of the pixels: NB_TYPE_INT 32, NB_TYPE_UINT 16 or NB_TYPE_FLOAT 32;
                       bits 0: NB_TYPE_INT 32 */
    int stills; /* 1: frames are stills, whatever the scan */
    int master; /* 1: the pixels stay in other files, see nb_nxmx_append_file() */
    int64_t frames; /* most frames that will be appended; 0: not known */
    /* Start of the first frame and width of each. step 0: the scene at the x of each frame
     * has both                                                                  degree */
    double start, step;
    double underload; /* smallest count that is valid */
    double overload; /* largest count that is valid; 0: none for NB_TYPE_FLOAT, else one
                        below the largest of the type, since nb_digitize() clamps to this */
} nb_nxmx_options;

typedef struct nb_nxmx nb_nxmx;

/*
 * Begin an NXmx file.
 *
 *   sim      [in]   must outlive the file, and is not to be used by another thread during a
 *                   call that is given the file
 *   path     [in]   nothing is there before nb_nxmx_close(), and an older file stays
 *   options  [in]   read during this call only; NULL: all defaults
 *   out      [out]  end with nb_nxmx_close() or nb_nxmx_free()
 *
 * HDF5 is used by one thread at a time, which these calls see to among themselves. A
 * program that uses HDF5 for itself in other threads needs a build of it with locks.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL, or an option out of range.
 *   NB_ERR_FILE         the file cannot be made, or path is a pipe or a device.
 *   NB_ERR_UNSUPPORTED  a build without HDF5, a compression whose filter HDF5 does not
 *                       find, a curved detector, or axes of pixels that are not at right
 *                       angles.
 *   NB_ERR_MEMORY       out of memory.
 */
NB_API nb_status nb_nxmx_create(nb_simulator *sim, const char *path,
                                const nb_nxmx_options *options, nb_nxmx **out);

/*
 * Append a frame.
 *
 *   x      [in]  parameters that the image was computed at; NULL: the values of the scene.
 *                Wavelength, spectrum, phi and fluence may differ from frame to frame; the
 *                detector, the directions of beam and spindle and the sensor may not
 *                                                                      (nparam)
 *   image  [in]  of the type of the options, dense, on the host      (nslow x nfast)
 *
 * Frames whose width is not 0 are a sweep and follow each other: each begins where the one
 * before it ended. If the absorption of the sensor differs by over 1 % from the absorption
 * that dxtbx will assume for it, the first frame brings a warning to the log.
 *
 * Errors, besides the errors by x (above):
 *   NB_ERR_ARGUMENT     a NULL; a master; more frames than were announced; a frame that
 *                       does not continue the sweep.
 *   NB_ERR_SHAPE, NB_ERR_DONATED  of image.
 *   NB_ERR_UNSUPPORTED  a number differs that may not differ from frame to frame.
 *   NB_ERR_FILE         no further frame can be appended. If the disk was full, or a limit
 *                       on files was met, nb_nxmx_close() still completes the file with the
 *                       frames before, and the message tells their number.
 *   NB_ERR_MEMORY       after the first frame the file may be lost: the next call says so.
 * Every other error leaves the file as it was.
 */
NB_API nb_status nb_nxmx_append(nb_nxmx *nxmx, const double *x, const nb_array *image);

/*
 * Append to a master all frames of another NXmx file, whose pixels stay there: the master
 * has the geometry, the beam of every frame, and a virtual dataset of HDF5 that shows the
 * pixels of its files as one array. Readers need all of the files.
 *
 *   path    [in]  as the master names it: without a slash at its start it begins in the
 *                 folder of the master, so that all may be moved together. Where the file
 *                 is absent later, readers find the fill value -1 (65535 for NB_TYPE_UINT).
 *   nframe  [in]  number of frames, equal to the number in the file; its pixels must have
 *                 the size of the image and the type of the options
 *   x       [in]  parameters of each frame; NULL: the values of the scene for all
 *                                                                (nframe x nparam)
 *
 * Errors, besides the errors by x (above):
 *   NB_ERR_ARGUMENT     a NULL; nxmx is no master; nframe below 1; more frames than were
 *                       announced; a frame that does not continue the sweep.
 *   NB_ERR_SHAPE        pixels of another size or type.
 *   NB_ERR_UNSUPPORTED  a number differs that may not differ from frame to frame.
 *   NB_ERR_FILE         the file cannot be read, or the master not be written.
 *   NB_ERR_MEMORY       out of memory.
 * After an error the master cannot be completed, unless it was NB_ERR_ARGUMENT for these
 * arguments.
 */
NB_API nb_status nb_nxmx_append_file(nb_nxmx *nxmx, const char *path, int64_t nframe,
                                     const double *x);

/*
 * Count the frames of an NXmx file.
 *
 *   master  [out]  1: the file is a master, whose files may be absent; may be NULL
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE (it cannot be read as HDF5), NB_ERR_FORMAT
 * (it has no array frame x slow x fast), NB_ERR_UNSUPPORTED (a build without HDF5).
 */
NB_API nb_status nb_nxmx_count(nb_context *ctx, const char *path, int64_t *nframe,
                               int *master);

/*
 * Check that an NXmx file holds frames of this simulator, as nb_nxmx_append() has stated
 * them: the same scene, to ten digits, and the same parameters.
 *
 *   nframe  [in]  number of frames, equal to the number in the file
 *   x       [in]  parameters of each frame; NULL: the values of the scene for all
 *                                                                (nframe x nparam)
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL, or nframe below 1.
 *   NB_ERR_SCENE        the file has another scene or other parameters; the message names
 *                       the first difference.
 *   NB_ERR_FORMAT       the file does not say it, or has another number of frames.
 *   NB_ERR_FILE         the file cannot be read as HDF5.
 *   NB_ERR_UNSUPPORTED  a build without HDF5.
 *   NB_ERR_MEMORY       out of memory.
 */
NB_API nb_status nb_nxmx_check(nb_simulator *sim, const char *path, int64_t nframe,
                               const double *x);

/*
 * Complete the file with the frames it has, rename it to its path, and free `nxmx`, also
 * after an error; NULL is NB_OK.
 *
 * Errors: NB_ERR_ARGUMENT (no frame was appended), NB_ERR_FILE, NB_ERR_MEMORY. Nothing new
 * is then at the path.
 */
NB_API nb_status nb_nxmx_close(nb_nxmx *nxmx);

/* Drop the file and free `nxmx`; nothing is left behind. NULL is allowed. */
NB_API void nb_nxmx_free(nb_nxmx *nxmx);

/* Returns 1 if this build and this machine can write the compression (enum
 * nb_compression). */
NB_API int nb_nxmx_can_compress(int compression);

/* ---- miniCBF: a text header, then pixels as differences, one file for each image ---- */

/*
 * Write a miniCBF of the convention GENERIC_MINI. It holds no direction, so readers take
 * the detector to be flat, at right angles to the beam and seen from the crystal, with the
 * spindle along its fast axis. Another geometry is refused. A sensor is silicon or CdTe.
 *
 *   x         [in]  parameters that the image was computed at; NULL: the values of the
 *                   scene                                              (nparam)
 *   overload  [in]  largest count that is valid; 0: one below the largest of the type
 *   counts    [in]  NB_TYPE_INT 32 or NB_TYPE_UINT 16, dense, on the host
 *                                                                    (nslow x nfast)
 *
 * Errors, besides the errors by x (above): NB_ERR_ARGUMENT (a NULL), NB_ERR_SHAPE and
 * NB_ERR_DONATED (counts), NB_ERR_UNSUPPORTED (a geometry that the format cannot state),
 * NB_ERR_FILE (the file cannot be written), NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_cbf_write(nb_simulator *sim, const double *x, const char *path,
                              double overload, const nb_array *counts);

/*
 * Check whether a miniCBF can state the geometry of the image at x, before the image is
 * computed. If the absorption of the sensor differs by over 1 % from the absorption that
 * dxtbx will assume for it, the log has a warning.
 *
 * Errors: the errors by x (above); NB_ERR_UNSUPPORTED (a geometry that the format cannot
 * state).
 */
NB_API nb_status nb_cbf_check(nb_simulator *sim, const double *x);

NB_END_DECLS

#endif
