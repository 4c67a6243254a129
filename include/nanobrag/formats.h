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
 * docs/formats.md says what each format holds, and what it cannot hold. Each format states
 * the geometry in its own frame. The writer turns the whole experiment until the beam has
 * the direction that the format prescribes. This turn changes no image.
 *
 * A file is complete, or it does not exist: the writer writes it under another name in the
 * same folder, and renames it at the end.
 *
 * In every call, x holds nparam parameters (simulator.h). x = NULL stands for the values of
 * the scene. Errors by x, common to these calls: NB_ERR_ARGUMENT (a parameter is outside
 * its bounds), NB_ERR_SCENE or NB_ERR_UNIT_CELL (x gives an impossible geometry).
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

/* How the pixels are compressed. All methods are lossless. LZ4 and BSLZ4 (bitshuffle, then
 * LZ4) are filters that HDF5 loads when they are needed. The writer and every reader need
 * them. */
enum nb_compression {
    NB_COMPRESSION_DEFLATE, /* shuffle, then zlib, which every HDF5 has */
    NB_COMPRESSION_NONE,
    NB_COMPRESSION_LZ4, /* filter 32004 */
    NB_COMPRESSION_BSLZ4 /* filter 32008 */
};

typedef struct nb_nxmx_options {
    int compression; /* enum nb_compression */
    int level; /* level of NB_COMPRESSION_DEFLATE, 1 to 9; 0: 1 */
    int type, bits; /* of the pixels: NB_TYPE_INT 32, NB_TYPE_UINT 16 or NB_TYPE_FLOAT 32;
                       bits 0: NB_TYPE_INT 32 */
    int stills; /* 1: frames are stills, for any scan */
    int master; /* 1: the pixels stay in other files, see nb_nxmx_append_file() */
    int64_t frames; /* largest number of frames that you will append; 0: not known */
    /* Start angle of the first frame, and rotation of each frame. step 0: both come from
     * the scene at the x of a frame                                             degree */
    double start, step;
    double underload; /* smallest valid count */
    double overload; /* largest valid count. 0: no limit for NB_TYPE_FLOAT, else one below
                        the largest number of the type, because nb_digitize() clamps to this
                        number */
} nb_nxmx_options;

typedef struct nb_nxmx nb_nxmx;

/*
 * Begin an NXmx file.
 *
 *   sim      [in]   keep the simulator until the file is closed. While a call uses the
 *                   file, no other thread may use the simulator
 *   path     [in]   the file appears at nb_nxmx_close(). Until then an older file stays
 *   options  [in]   only this call reads them; NULL: all defaults
 *   out      [out]  end with nb_nxmx_close() or nb_nxmx_free()
 *
 * Only one thread at a time may use HDF5. The calls of this library take turns. If your own
 * program uses HDF5 in other threads, it needs a thread-safe build of HDF5.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL, or an option out of range.
 *   NB_ERR_FILE         the file cannot be made, or path is a pipe or a device.
 *   NB_ERR_UNSUPPORTED  the build has no HDF5; HDF5 does not find the filter of the
 *                       compression; the detector is curved; or the axes of pixels are not
 *                       at right angles.
 *   NB_ERR_MEMORY       out of memory.
 */
NB_API nb_status nb_nxmx_create(nb_simulator *sim, const char *path,
                                const nb_nxmx_options *options, nb_nxmx **out);

/*
 * Append a frame.
 *
 *   x      [in]  parameters at which the image was computed; NULL: the values of the
 *                scene. Wavelength, spectrum, phi and fluence may differ between frames.
 *                Detector, sensor, and the directions of beam and spindle may not differ
 *                                                                      (nparam)
 *   image  [in]  of the type of the options, dense, on the host      (nslow x nfast)
 *
 * Frames with a rotation other than 0 form a sweep. Each frame begins where the frame
 * before it ended. If the absorption of the sensor differs by over 1 % from the absorption
 * that dxtbx assumes for this sensor, the first frame writes a warning to the log.
 *
 * Errors, besides the errors by x (above):
 *   NB_ERR_ARGUMENT     a NULL; the file is a master; more frames than you announced; or
 *                       the frame does not continue the sweep.
 *   NB_ERR_SHAPE, NB_ERR_DONATED  of image.
 *   NB_ERR_UNSUPPORTED  a number differs that may not differ between frames.
 *   NB_ERR_FILE         the frame could not be appended, and no further frame can be. If
 *                       the disk was full, or a limit on files was reached, nb_nxmx_close()
 *                       still completes the file with the earlier frames. The message
 *                       states their number.
 *   NB_ERR_MEMORY       after the first frame the file may be lost. The next call says so.
 * After every other error the file is as before.
 */
NB_API nb_status nb_nxmx_append(nb_nxmx *nxmx, const double *x, const nb_array *image);

/*
 * Append all frames of another NXmx file to a master. The pixels stay in the other file.
 * The master holds the geometry and the beam of every frame. A virtual dataset of HDF5
 * shows the pixels of all files as one array. Readers need all of these files.
 *
 *   path    [in]  name of the file in the master. A path without a slash at its start
 *                 begins in the folder of the master, so you can move all files together.
 *                 If a reader does not find the file, its pixels are -1 (65535 for
 *                 NB_TYPE_UINT)
 *   nframe  [in]  number of frames in the file. Its pixels must have the size of the image
 *                 and the type of the options
 *   x       [in]  parameters of each frame; NULL: the values of the scene, for all frames
 *                                                                (nframe x nparam)
 *
 * Errors, besides the errors by x (above):
 *   NB_ERR_ARGUMENT     a NULL; nxmx is no master; nframe below 1; more frames than you
 *                       announced; or a frame that does not continue the sweep.
 *   NB_ERR_SHAPE        the pixels have another size or type.
 *   NB_ERR_UNSUPPORTED  a number differs that may not differ between frames.
 *   NB_ERR_FILE         the file cannot be read, or the master cannot be written.
 *   NB_ERR_MEMORY       out of memory.
 * After an error you cannot complete the master, except after NB_ERR_ARGUMENT for the
 * arguments of this call.
 */
NB_API nb_status nb_nxmx_append_file(nb_nxmx *nxmx, const char *path, int64_t nframe,
                                     const double *x);

/*
 * Count the frames of an NXmx file.
 *
 *   master  [out]  1: the file is a master, and its files may be missing; may be NULL
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE (the file cannot be read as HDF5),
 * NB_ERR_FORMAT (the file has no array frame x slow x fast), NB_ERR_UNSUPPORTED (the build
 * has no HDF5).
 */
NB_API nb_status nb_nxmx_count(nb_context *ctx, const char *path, int64_t *nframe,
                               int *master);

/*
 * Check that an NXmx file holds frames of this simulator. nb_nxmx_append() has written the
 * scene and the parameters into the file. The scene has to be the same to ten digits, and
 * the parameters have to be the same.
 *
 *   nframe  [in]  number of frames in the file
 *   x       [in]  parameters of each frame; NULL: the values of the scene, for all frames
 *                                                                (nframe x nparam)
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL, or nframe below 1.
 *   NB_ERR_SCENE        the file has another scene or other parameters; the message names
 *                       the first difference.
 *   NB_ERR_FORMAT       the file does not state scene and parameters, or has another number
 *                       of frames.
 *   NB_ERR_FILE         the file cannot be read as HDF5.
 *   NB_ERR_UNSUPPORTED  the build has no HDF5.
 *   NB_ERR_MEMORY       out of memory.
 */
NB_API nb_status nb_nxmx_check(nb_simulator *sim, const char *path, int64_t nframe,
                               const double *x);

/*
 * Complete the file with its frames, and rename it to its path. The call also frees `nxmx`,
 * even after an error. For NULL it returns NB_OK.
 *
 * Errors: NB_ERR_ARGUMENT (no frame was appended), NB_ERR_FILE, NB_ERR_MEMORY. After an
 * error there is no new file at the path.
 */
NB_API nb_status nb_nxmx_close(nb_nxmx *nxmx);

/* Free `nxmx` without a file: nothing is left on the disk. NULL is allowed. */
NB_API void nb_nxmx_free(nb_nxmx *nxmx);

/* Returns 1 if this build and this machine can write the compression (enum
 * nb_compression). */
NB_API int nb_nxmx_can_compress(int compression);

/* ---- miniCBF: a text header, then pixels as differences, one file for each image ---- */

/*
 * Write a miniCBF of the convention GENERIC_MINI. This format holds no directions. Readers
 * assume that the detector is flat and at right angles to the beam, that it is seen from
 * the crystal, and that the spindle is along its fast axis. The call refuses another
 * geometry. A sensor is silicon or CdTe.
 *
 *   x         [in]  parameters at which the image was computed; NULL: the values of the
 *                   scene                                              (nparam)
 *   overload  [in]  largest valid count; 0: one below the largest number of the type
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
 * Check whether a miniCBF can state the geometry at x. You can call this before you compute
 * the image. If the absorption of the sensor differs by over 1 % from the absorption that
 * dxtbx assumes for this sensor, the call writes a warning to the log.
 *
 * Errors: the errors by x (above); NB_ERR_UNSUPPORTED (a geometry that the format cannot
 * state).
 */
NB_API nb_status nb_cbf_check(nb_simulator *sim, const double *x);

NB_END_DECLS

#endif
