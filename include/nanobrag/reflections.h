/*
 * reflections.h - tables of reflections as DIALS writes them (.refl): columns of one
 * number, vector or index for each row.
 *
 *   nb_reflections *found = NULL;
 *   const double *xyz;
 *
 *   if (nb_reflections_read(ctx, "indexed.refl", &found) != NB_OK)
 *       puts(nb_context_message(ctx));
 *   xyz = nb_reflections_find(found, "xyzobs.px.value", NB_COLUMN_VEC3);
 *   for (size_t i = 0; xyz && i < nb_reflections_rows(found); i++)
 *       printf("fast %g, slow %g, frame %g\n", xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]);
 *   nb_reflections_free(found);
 *
 * A file is MessagePack, plain or compressed by gzip, or HDF5. In MessagePack, columns of
 * other types, such as shoeboxes, are kept as they are in the file, and are written again.
 * In HDF5 they are left out, and so are identifiers; several tables of a file become one,
 * with the columns that all of them have. Columns have the
 * units and meanings of DIALS: pixels from the corner of a panel, fast axis first; mm;
 * radians. The numbers of a file are little-endian. The host has to be little-endian too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_REFLECTIONS_H
#define NANOBRAG_REFLECTIONS_H

#include <stddef.h>

#include <nanobrag/context.h>
#include <nanobrag/export.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

typedef struct nb_reflections nb_reflections;

/* Types of columns, with the C type of a row. */
enum nb_column_type {
    NB_COLUMN_OTHER, /* kept, not interpreted */
    NB_COLUMN_BOOL, /* unsigned char, 0 or 1 */
    NB_COLUMN_INT, /* int32_t */
    NB_COLUMN_SIZE, /* uint64_t */
    NB_COLUMN_DOUBLE, /* double */
    NB_COLUMN_VEC2, /* double[2] */
    NB_COLUMN_VEC3, /* double[3] */
    NB_COLUMN_MAT3, /* double[9], row after row */
    NB_COLUMN_INT6, /* int32_t[6]; a bbox: fast0 fast1 slow0 slow1 frame0 frame1 */
    NB_COLUMN_MILLER /* int32_t[3], h k l */
};

typedef struct nb_column {
    const char *name; /* such as "miller_index" */
    int type; /* enum nb_column_type */
    const void *data; /* (rows), as the type says; NULL for NB_COLUMN_OTHER */
} nb_column;

/*
 * Read a table.
 *
 *   out  [out]  free with nb_reflections_free()
 *
 * Errors: a reader's (io.h); NB_ERR_UNSUPPORTED (the file is compressed, and the build has
 * no zlib; or the file is HDF5, and the build lacks HDF5).
 */
NB_API nb_status nb_reflections_read(nb_context *ctx, const char *path,
                                     nb_reflections **out);

/*
 * Make a table without columns.
 *
 *   rows  [in]   at most 2^31 - 1
 *   out   [out]  free with nb_reflections_free()
 *
 * Errors: NB_ERR_ARGUMENT, NB_ERR_MEMORY.
 */
NB_API nb_status nb_reflections_create(nb_context *ctx, size_t rows, nb_reflections **out);

/* Free a table; NULL is allowed. */
NB_API void nb_reflections_free(nb_reflections *table);

/* The number of rows, and of columns; 0 for table = NULL. */
NB_API size_t nb_reflections_rows(const nb_reflections *table);
NB_API size_t nb_reflections_columns(const nb_reflections *table);

/* Column i in the order of names; all members are 0 if there is no column i. The result is
 * valid until the table changes. */
NB_API nb_column nb_reflections_column(const nb_reflections *table, size_t i);

/* The data of the column with this name; NULL if there is no such column of this type. */
NB_API const void *nb_reflections_find(const nb_reflections *table, const char *name,
                                       int type);

/*
 * Add a column, or replace one of the same name.
 *
 *   name  [in]  1 to 255 bytes
 *   type  [in]  enum nb_column_type, but not NB_COLUMN_OTHER
 *   data  [in]  copied                                                       (rows)
 *
 * Errors: NB_ERR_ARGUMENT, NB_ERR_MEMORY.
 */
NB_API nb_status nb_reflections_set(nb_context *ctx, nb_reflections *table,
                                    const char *name, int type, const void *data);

/* The identifier of the experiment with the number `id` in the column "id"; NULL: no
 * identifier. */
NB_API const char *nb_reflections_identifier(const nb_reflections *table, int id);

/* Set the identifier of an experiment. Errors: NB_ERR_ARGUMENT (a NULL, id below 0),
 * NB_ERR_MEMORY. */
NB_API nb_status nb_reflections_set_identifier(nb_context *ctx, nb_reflections *table,
                                               int id, const char *identifier);

/*
 * Join tables: the rows of all, one table after another, in the columns that all tables
 * with rows have. Columns of NB_COLUMN_OTHER and identifiers are left out.
 *
 *   tables  [in]   the tables                                                 (n)
 *   out     [out]  free with nb_reflections_free()
 *
 * Errors: NB_ERR_ARGUMENT, NB_ERR_MEMORY.
 */
NB_API nb_status nb_reflections_join(nb_context *ctx, size_t n,
                                     nb_reflections *const *tables, nb_reflections **out);

/*
 * Write a table, not compressed.
 *
 * Errors: a writer's (io.h).
 */
NB_API nb_status nb_reflections_write(nb_context *ctx, const char *path,
                                      const nb_reflections *table);

/* ---- reflections of a simulator ---- */

/* A ray to a place on the detector, with the indices of its reflection. Vectors are in
 * the laboratory frame of DIALS (docs/conventions.md). */
typedef struct nb_ray {
    int hkl[3]; /* in: h k l; 0 0 0: not indexed */
    int lattice; /* in: 0 is the first lattice of the crystal */
    int panel; /* in: 0 if the detector is one rectangle */
    double fast, slow; /* in: place, from the corner of the panel            pixel   */
    double mm[2]; /* the place, without the shift by the depth at which the sensor
                     absorbs the ray                                         mm      */
    double s1[3]; /* along the ray, length 1/wavelength                      1/A     */
    double d; /* spacing of h k l in the middle of the rotation; 0: not indexed  A   */
    /* angle by which the reflection has to turn to meet the Ewald sphere; 0: not indexed
     * (delpsical.rad of DIALS); 0 in a rotation                             radian  */
    double delta_psi;
    double wavelength; /* the wavelength that reflects at this angle, 2 d sin(theta); the
                          beam's: it has only one, or not indexed            A       */
} nb_ray;

/*
 * Compute the geometry of rays.
 *
 *   x    [in]      parameters; NULL: the values of the scene       (nparam)
 *   n    [in]      number of rays
 *   ray  [in,out]  the members marked `in` are read, the others are set        (n)
 *
 * Errors: the errors of nb_simulator_describe(); NB_ERR_ARGUMENT (sim or ray is NULL; there
 * is no such lattice or panel), NB_ERR_MEMORY.
 */
NB_API nb_status nb_rays(nb_simulator *sim, const double *x, size_t n, nb_ray *ray);

/* What nb_predict() lists. A zero-initialised member means its default. */
typedef struct nb_prediction {
    double least; /* photons of the weakest reflection; 0: 1 */
    int id; /* "id" of the first lattice; further lattices have the next numbers */
    double frame; /* place of the image along a scan, as in xyzcal.px; 0 for a still */
} nb_prediction;

/*
 * List the reflections that scatter onto the detector, the brightest first. Each lattice
 * and each panel has rows of its own. Places and photons come from the image that
 * nb_forward() computes if the reflection alone scatters.
 *
 *   x    [in]   parameters; NULL: the values of the scene                     (nparam)
 *   how  [in]   NULL: all defaults
 *   out  [out]  free with nb_reflections_free()
 *
 * Columns: id, panel, miller_index, flags (predicted); xyzcal.px, the centroid of the
 * photons; xyzcal.mm, s1, d, delpsical.rad and wavelength (nb_ray); bbox, which holds all
 * pixels above 1 % of the brightest, and a pixel around them; nanobrag.photons, the photons
 * for F = 1, in the bbox and a few pixels around it; nanobrag.f, the structure factor of
 * the scene, electrons.
 *
 * Errors: the errors of nb_simulator_spots(), nb_simulator_create() and nb_forward();
 * NB_ERR_ARGUMENT (sim or out is NULL; `least` is negative; |frame| > 1e9);
 * NB_ERR_UNSUPPORTED (NB_PSF_FIBER, whose tails reach every box).
 */
NB_API nb_status nb_predict(nb_simulator *sim, const double *x, const nb_prediction *how,
                            nb_reflections **out);

/* How nb_integrate() integrates. A zero-initialised member means its default. */
typedef struct nb_integration {
    int id; /* "id" of the first lattice, as in nb_prediction */
    int margin; /* pixels around each bbox that are used too, at most 1000; 0: 4 */
} nb_integration;

/*
 * Integrate reflections: fit their intensities to an image at once with the background.
 * The model of the pixels around a reflection is
 *
 *   sum over reflections k of J_k P_k + a plane, if the target has planes
 *                                     + amorphous material, if the scene has any
 *
 * P_k is the profile of reflection k, its photons for F = 1. So J is F^2 in electron^2: the
 * model accounts for partiality, polarization, Lorentz factor, B and scale. J may be
 * negative. Each reflection is fitted together with those that reach into its box, by least
 * squares with the variances of the model (NB_LOSS_POISSON: I; NB_LOSS_READOUT: I/gain +
 * sigma_readout^2), which are found by iteration. The variance of J comes from the inverse
 * normal matrix, so it includes background and neighbours. It counts one photon more than
 * the fitted J, because a spot without photons has an error too.
 *
 *   x       [in]      parameters; NULL: the values of the scene               (nparam)
 *   target  [in]      the observed photons, weights, kind, gain, sigma_readout, saturation
 *                     and background. Pixels of weight 0, full, masked and NaN pixels
 *                     and pixels outside the ROI are left out. Boxes of the simulator have
 *                     no effect. Weights above 0 all count as 1
 *   how     [in]      NULL: all defaults
 *   table   [in,out]  reflections with id, miller_index, panel and bbox, for
 *                     example from nb_predict()
 *
 * Columns that are set: intensity.prf.value and intensity.prf.variance, J and its variance;
 * intensity.sum.value and intensity.sum.variance, photons in the bbox without background
 * and neighbours; background.mean, photons/pixel; nanobrag.photons, the photons for F = 1;
 * num_pixels.foreground, pixels of the bbox that were used; lp, 1, because J needs no such
 * factor; flags, with the bits of DIALS predicted, overloaded (a pixel of the bbox is
 * full), integrated_prf, and integrated_sum (all pixels of the bbox were used). A
 * reflection that could not be integrated has the value 0 and the variance -1.
 *
 * Errors: the errors of nb_forward(); NB_ERR_UNSUPPORTED (NB_PSF_FIBER); NB_ERR_ARGUMENT
 * (sim, target or table is NULL; a column is missing; a bbox lies outside its panel; an id
 * is no lattice; gain or saturation is negative; another kind of loss; NB_LOSS_READOUT
 * without sigma_readout); NB_ERR_SHAPE (an array has a wrong size or type, or lies on a
 * device).
 */
NB_API nb_status nb_integrate(nb_simulator *sim, const double *x, const nb_target *target,
                              const nb_integration *how, nb_reflections *table);

NB_END_DECLS

#endif
