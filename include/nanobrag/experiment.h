/*
 * experiment.h - reads experiments from files of DIALS and XDS, and writes experiments to
 * files of DIALS. An experiment holds beam, detector, rotation axis, scan and crystal.
 *
 *   nb_experiment e = {0};
 *   nb_expt_options options = {.images = 1, .files = "image_####.cbf"};
 *
 *   if (nb_expt_read(ctx, "indexed.expt", 0, &e) != NB_OK) puts(nb_context_message(ctx));
 *   scene = e.scene;
 *   scene.crystal.default_f = 100;
 *   if (nb_simulator_create(ctx, &scene, "misset", NULL, &sim) == NB_OK)
 *       nb_expt_write(sim, NULL, "again.expt", &options);
 *   nb_simulator_free(sim);
 *   nb_experiment_clear(&e);
 *
 * A file of DIALS (.expt) is JSON, in the frame of dxtbx. A vector (x, y, z) of the file is
 * (-x, y, -z) in the scene, where the beam is close to +z (NB_CONVENTION_DIALS). The writer
 * turns the whole experiment so that the beam is exactly -z, the default of dxtbx.
 * Positions agree within rounding, 1e-9 mm.
 *
 * .expt needs a build with cJSON; without cJSON the calls return NB_ERR_UNSUPPORTED. Space
 * groups need gemmi. A build without gemmi writes the space group P 1, and does not know
 * the space group of a file that it reads.
 *
 * Errors of every reader: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE, NB_ERR_FORMAT,
 * NB_ERR_MEMORY, NB_ERR_CANCELLED (io.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_EXPERIMENT_H
#define NANOBRAG_EXPERIMENT_H

#include <stdint.h>

#include <nanobrag/context.h>
#include <nanobrag/export.h>
#include <nanobrag/geometry.h>
#include <nanobrag/io.h>
#include <nanobrag/scene.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

/* Bits of nb_experiment.found. A set bit means that the file states this, and that these
 * members of the scene have the values of the file. */
enum {
    NB_FOUND_BEAM = 1, /* beam: wavelength, direction */
    NB_FOUND_POLARIZATION = 2, /* beam: polarization, polarization_axis */
    NB_FOUND_DETECTOR = 4, /* detector: nfast, nslow, pixel, vectors, pivot, origin,
                              origin_kind (NB_ORIGIN_CLOSE), close_distance; for several
                              panels, the members that nb_geometry_apply() sets */
    NB_FOUND_SENSOR = 8, /* detector: thickness, attenuation, its wavelength, material */
    NB_FOUND_AXIS = 16, /* scan: axis */
    NB_FOUND_SCAN = 32, /* scan: phi0, osc, of the first image; given: NB_GIVEN_OSC */
    NB_FOUND_CRYSTAL = 64, /* crystal: cell and matrix, at phi = 0 */
    NB_FOUND_MOSAIC = 128 /* crystal: mosaic[0] */
};

/* Scan points: crystal, beam and goniometer at the boundaries of the images, for a scan
 * during which they change. Scan points never change once made, and threads may share
 * them. */
typedef struct nb_scan_points nb_scan_points;

/* How a panel counts photons, as a file states it. A pixel with a count of c has
 * (c - pedestal)/gain photons, and is bad unless low <= c <= high. */
typedef struct nb_panel_counts {
    double gain; /* counts/photon; 1 if the file states none */
    double pedestal; /* counts; 0 if the file states none */
    double low, high; /* -infinity, infinity: the file states no limits */
} nb_panel_counts;

typedef struct nb_experiment {
    nb_scene scene; /* members that the file states; all other members are 0. convention is
                       NB_CONVENTION_DIALS or NB_CONVENTION_XDS, and vectors are in the
                       frame of this convention */
    unsigned found; /* NB_FOUND_... */
    int count; /* number of experiments in the file */
    int images; /* number of images of the scan; 0: no scan */
    char space_group[40]; /* Hermann-Mauguin symbol; "": not known */
    /* Free the next five members with nb_experiment_clear(), or each by itself. The scene
     * points into geometry, lattice and mask */
    nb_geometry *geometry; /* several panels; NULL: one rectangle, or no detector */
    nb_scan_points *points; /* a scan with changes; NULL: nothing changes */
    nb_lattice *lattice; /* lattices by nb_expt_read_lattices(); NULL: none */
    uint8_t *mask; /* for one rectangle; NULL: all pixels are trusted */
    nb_panel_counts *counts; /* of each panel, or of the rectangle; NULL: no detector */
} nb_experiment;

/* Free geometry, points, lattice, mask and counts of an experiment, and set them to NULL;
 * NULL is allowed. */
NB_API void nb_experiment_clear(nb_experiment *experiment);

/*
 * Read an experiment of DIALS.
 *
 *   i    [in]   number of the experiment in the file, counted from 0 as in DIALS
 *   out  [out]  the experiment
 *
 * Panels. Several panels become a detector of panels and groups, at raw_image_offset in the
 * image. The frame of a panel is local to the frame of its group. If the root of the
 * hierarchy is the laboratory frame, it does not become a group. dxtbx writes no offsets
 * for the panels of an NXmx file (all are 0 0), but the panels have names of modules. The
 * reader then opens the file of the images, and takes the places of the panels and the size
 * of the image from this file. If it cannot read this file, it stacks the panels along
 * slow, with a warning. If the panels have other names, and the file has as many modules of
 * the same sizes, the panels are the modules in the order of the modules' names. Panels of
 * other images are stacked in the order of the .expt. The untrusted
 * rectangles ("mask") become a mask, here or in the geometry. All panels get the sensor of
 * the first panel.
 *
 * Goniometer. Only the scan axis of a goniometer turns; all other axes stay as they are. A
 * scan without a goniometer is ignored: the experiment is a still.
 *
 * Changes. If the crystal, beam or goniometer changes during the scan, the scene has the
 * state in the middle of the first image, with a warning. nb_scan_points_set() sets the
 * state in another image.
 *
 *   in the file          in the scene
 *   no polarization      the default of dxtbx: fraction 0.999, normal 0 1 0.
 *   sensor under 1 um    no sensor.
 *   NaN, Infinity        a missing number, because they are not JSON.
 *   mosaicity (Kabsch)   a standard deviation: the spread with the same standard deviation
 *                        (docs/theory.md, 9).
 *   mosaicity (Sauter)   half the width of a top hat: the spread with the same standard
 *                        deviation.
 *   gain of 0 or less    1.
 *   trusted_range 0 0    no limits. Otherwise counts at the limits are trusted. DIALS up to
 *                        3.12 does not trust these counts.
 *
 * The reader ignores flux, divergence, profile and images.
 *
 * Errors: a reader's (above); also NB_ERR_ARGUMENT if the file has no experiment i, and
 * NB_ERR_UNSUPPORTED (pixels that are not square, over 4096 panels or groups, electrons or
 * neutrons; or a build without cJSON).
 */
NB_API nb_status nb_expt_read(nb_context *ctx, const char *path, int i, nb_experiment *out);

/*
 * Read an experiment of DIALS with all crystals of its image, such as a split crystal. The
 * other crystals become the lattices of the scene (nb_crystal.lattice).
 *
 *   i    [in]   experiment of the first lattice; the other lattices follow in the order of
 *               the file
 *   out  [out]  the experiment, otherwise as from nb_expt_read()
 *
 * Which experiments. Two experiments share an image if they share imageset and scan.
 * Without an imageset they only have to share the scan. If such an experiment has another
 * beam, detector or goniometer, it is left out, with a warning.
 *
 * What a lattice has. Each lattice has its own orientation. Its scale is 1, because the
 * file cannot state its brightness. It has its own cell, unless this cell equals the cell
 * of experiment i within 1e-12. All lattices get the mosaic spread of experiment i. If
 * another spread differs by over 1 %, there is a warning. All lattices share structure
 * factors, so their indices have to be in one setting.
 *
 * Errors: the errors of nb_expt_read(); also NB_ERR_UNSUPPORTED for different space groups,
 * and for over 1001 crystals.
 */
NB_API nb_status nb_expt_read_lattices(nb_context *ctx, const char *path, int i,
                                       nb_experiment *out);

/* One or several .expt files in memory, for many reads. Threads may share it while no file
 * is added. */
typedef struct nb_expt nb_expt;

/* An image of an experiment. */
typedef struct nb_expt_image {
    const char *file; /* path of an existing file, or the path that was looked for first;
                         "": the experiment names no images */
    int64_t frame; /* number of the image in the file, from 0; -1: the file holds one
                      image */
    int experiment; /* number of the experiment, from 0 on through all files */
    int first; /* number of the first experiment that has this image, of which experiment
                  is a lattice (nb_expt_read_lattices()); or experiment itself */
    int image; /* number of the image in the scan, from 0; 0 if there is no scan */
    int array; /* number of the image as DIALS counts it in a bbox: the middle of the image
                  is array + 1/2 */
    const char *identifier; /* of the experiment; "": none */
} nb_expt_image;

/*
 * Read an .expt file into memory, to take its experiments one by one.
 *
 *   out  [out]  free with nb_expt_free()
 *
 * Errors: a reader's (above); NB_ERR_UNSUPPORTED (a build without cJSON).
 */
NB_API nb_status nb_expt_open(nb_context *ctx, const char *path, nb_expt **out);

/* Add a further .expt file. Its experiments follow the experiments that are there: number i
 * of the file is number nb_expt_count() + i, by the count before the call. Errors: the
 * errors of nb_expt_open(); NB_ERR_UNSUPPORTED (over 1000000 images). */
NB_API nb_status nb_expt_add(nb_context *ctx, nb_expt *expt, const char *path);

/* The number of experiments; 0 for NULL. */
NB_API int nb_expt_count(const nb_expt *expt);

/* Free an .expt; NULL is allowed. */
NB_API void nb_expt_free(nb_expt *expt);

/*
 * Take one experiment from an .expt in memory. The result is the result of nb_expt_read()
 * or, with lattices, of nb_expt_read_lattices().
 *
 *   i         [in]   number of the experiment, from 0
 *   lattices  [in]   1: with the other crystals of the image; 0: without
 *   out       [out]  the experiment
 *
 * Errors: the errors of these functions.
 */
NB_API nb_status nb_expt_get(nb_context *ctx, const nb_expt *expt, int i, int lattices,
                             nb_experiment *out);

/*
 * List the images of all experiments. The list has the order of the experiments in the file
 * and, within an experiment, the order of the scan. An experiment that names no images has
 * entries without a file: one for each image of its scan, or one for a still.
 *
 * Files. The library looks for the first file of an experiment in three places: where the
 * program runs; in the folder of the .expt; and in this folder again, by the last part of
 * its name. In each place it also tries the name with .gz and .bz2. All other files of the
 * experiment are in the same place.
 *
 *   n  [out]  number of images
 *
 * Returns the list, which `expt` owns; NULL for NULL.
 */
NB_API const nb_expt_image *nb_expt_images(const nb_expt *expt, size_t *n);

/*
 * Set crystal, beam and goniometer of a scene to their state at one angle of the scan. The
 * state is interpolated linearly between the two nearest scan points.
 *
 *   points   [in]      nb_experiment.points; NULL: nothing is set
 *   phi      [in]      angle; for an image the middle of its rotation, phi0 + osc/2 degree
 *   members  [in]      which models to set: NB_FOUND_CRYSTAL, NB_FOUND_BEAM, NB_FOUND_AXIS
 *   scene    [in,out]  crystal.matrix and cell; beam.direction and wavelength; scan.axis
 *   beyond   [out]     1 if the angle lies outside the scan; the call then takes the
 *                      nearest end. 0 otherwise. NULL: not wanted
 *
 * Accuracy. The scene does not change within an image. So the image lacks the change from
 * its middle to its ends. This change turns the crystal by at most the angle in the warning
 * of nb_expt_read(). If two orientations differ by an angle t, their linear mean lies in
 * the middle between them. The axes of the mean are longer by t^2/8, which is 4e-7 for 0.1
 * degree.
 *
 * Returns the models that were set.
 */
NB_API unsigned nb_scan_points_set(const nb_scan_points *points, double phi,
                                   unsigned members, nb_scene *scene, int *beyond);

/*
 * Set the axes of lattices to their state at one angle, as nb_scan_points_set() does for
 * the crystal.
 *
 *   points   [in]      points of nb_expt_read_lattices(); NULL: nothing is set
 *   phi      [in]      as in nb_scan_points_set()                                degree
 *   n        [in]      number of lattices
 *   lattice  [in,out]  the lattices in the order of nb_expt_read_lattices(); the call sets
 *                      matrix, and cell if it changes                            (n)
 */
NB_API void nb_scan_points_set_lattices(const nb_scan_points *points, double phi, int n,
                                        nb_lattice *lattice);

/* Free scan points; NULL is allowed. */
NB_API void nb_scan_points_free(nb_scan_points *points);

/*
 * Read a file XPARM.XDS or GXPARM.XDS, in the format of XDS since 2010 (first line
 * "XPARM.XDS ..."). The reader turns the experiment by the smallest angle that takes the
 * beam to +z (NB_CONVENTION_XDS). phi0 of the scan is the angle of the starting frame.
 *
 *   out  [out]  the experiment
 *
 * Errors: a reader's (above); NB_ERR_UNSUPPORTED (several segments, pixels that are not
 * square).
 */
NB_API nb_status nb_xparm_read(nb_context *ctx, const char *path, nb_experiment *out);

/*
 * Read the experiment in the header of an SMV image, if the header has the keys of d*TREK.
 *
 *   name  [in]   name of the file, for messages
 *   out   [out]  the experiment: detector, beam, axis and, with ROTATION, scan. found is 0
 *                for another kind of header, without DETECTOR_NAMES
 *
 * Detector. If only one axis of the detector's goniometer turns, and turns the whole
 * detector about the crystal, its angle becomes detector.twotheta, about
 * detector.vectors[3]. Otherwise the detector's vectors and origin contain all angles. The
 * reader ignores a distortion other than SPATIAL_DISTORTION_VECTORS.
 *
 * Defaults. If the header does not state directions, the reader takes the usual directions:
 * source 0 0 1, rotation about 1 0 0, six axes RotZ, RotX, RotY, TransX, TransY, and the
 * distance along 0 0 -1.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_FORMAT (keys are missing or contradict each
 * other), NB_ERR_UNSUPPORTED (pixels that are not square, several detectors).
 */
NB_API nb_status nb_smv_experiment(nb_context *ctx, const nb_smv *smv, const char *name,
                                   nb_experiment *out);

/* What a written file states besides the scene. A member that is 0 has its default. */
typedef struct nb_expt_options {
    int images; /* number of images of the scan, each with the scene's oscillation range;
                   0: 1 */
    int first; /* number of the first image; 0: 1 */
    /* Image files: a template in which a run of '#' stands for the digits of the number;
     * or, without '#', one file that holds all images. DIALS looks for a relative path in
     * the folder in which DIALS runs. NULL: the file names no images */
    const char *files;
    /* 1: the whole experiment is turned about the beam until the fast axis points along +x.
     * Headers of miniCBF and SMV state no directions and imply this turn */
    int fast_along_x;
    const char *space_group; /* Hermann-Mauguin symbol; NULL: P 1 */
    /* x of each image. Each image is then a still with its own crystal, beam and detector.
     * NULL: all images are made at x                                 (images x nparam) */
    const double *shots;
    /* x at the start of each image of a sweep, and at the end of the last image. The
     * crystals at these x become "A_at_scan_points". The beam is the beam at x. NULL: the
     * crystal does not change                                    (images + 1 x nparam) */
    const double *scan_points;
    double pedestal; /* pedestal that each pixel contains */
    double trusted[2]; /* smallest and largest measured count, without the pedestal; 0 0:
                          any */
} nb_expt_options;

/*
 * Write the scene at x as experiments of DIALS.
 *
 *   - With an oscillation range, the file holds one sweep.
 *   - Without an oscillation range, each image is a still, with the crystal at phi0 and
 *     without a goniometer.
 *   - Shots (nb_expt_options.shots) are stills, each with its own x.
 *   - Each lattice of the crystal is a separate experiment. The experiments of an image
 *     share everything except the crystal. Stills without files then have scans, which say
 *     which image they are. The file does not state the brightness of a lattice.
 *
 *   x        [in]  parameters; NULL: the values of the scene                (nparam)
 *   path     [in]  ends in .expt by convention
 *   options  [in]  NULL: all defaults
 *
 * dxtbx accepts no negative oscillation. So a sweep with a negative oscillation is written
 * as a forward sweep about the reversed axis. A spectrum is written as its mean wavelength.
 * DIALS cannot state a polarization factor of 1 (nb_beam.unpolarised); the file then has
 * the fraction 0.5.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL; negative images or first; shots with an oscillation range;
 *                       scan points without an oscillation range, or with shots; an unknown
 *                       space group; a parameter outside its bounds.
 *   NB_ERR_SCENE, NB_ERR_UNIT_CELL  x gives an impossible geometry, or a flat cell.
 *   NB_ERR_UNSUPPORTED  the detector is curved, or its axes are not at right angles; or the
 *                       build has no cJSON.
 *   NB_ERR_FILE         the file cannot be written.
 *   NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_expt_write(nb_simulator *sim, const double *x, const char *path,
                               const nb_expt_options *options);

/*
 * An update of a file of DIALS: the file is written again with changed experiments, for
 * example with the results of fits.
 *
 *   nb_expt_update *update = NULL;
 *
 *   if (nb_expt_update_begin(ctx, "indexed.expt", &update) == NB_OK
 *       && nb_expt_update_add(update, 0, sim, x) == NB_OK)
 *       nb_expt_update_write(update, "fitted.expt");
 *   nb_expt_update_free(update);
 *
 * Unlike nb_expt_write(), an update keeps the frame and everything else in the file. A byte
 * changes only if a number changes by more than rounding, 1e-12.
 */
typedef struct nb_expt_update nb_expt_update;

/*
 * Read the file that is to be updated.
 *
 *   out  [out]  free with nb_expt_update_free(), before you free the context
 *
 * Errors: a reader's (above); NB_ERR_UNSUPPORTED (the build has no cJSON).
 */
NB_API nb_status nb_expt_update_begin(nb_context *ctx, const char *path,
                                      nb_expt_update **out);

/*
 * Change an experiment to a scene at x.
 *
 *   i    [in]  number of the experiment, as in nb_expt_read()
 *   sim  [in]  simulator of a scene that was made from this experiment
 *   x    [in]  parameters; NULL: the values of the scene                    (nparam)
 *
 * The call changes these models:
 *
 *   crystal     axes; axes of the lattices of the image, each in its own experiment;
 *               mosaicity, if the file states it. At each scan point the crystal turns and
 *               changes its cell as in the image of the scene. It also drifts with
 *               nb_scan.drift, which has no other place in the file.
 *   beam        direction, wavelength (not with listed sources) and polarization; at scan
 *               points too
 *   detector    origins and axes of panels and groups, each relative to its group; the
 *               attenuation, if the wavelength changes
 *   goniometer  the axis of the scan; not the other axes
 *
 * Everything else stays as it is. A number also stays if the scene has this number, apart
 * from rounding. If the scene has no lattice for a crystal of the file, this crystal stays.
 * If two experiments share a model and only one of them changes, the file then has both
 * models. A second change of an experiment replaces the first change.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL; there is no experiment i; the scene has a convention other
 *                       than NB_CONVENTION_DIALS; a parameter is outside its bounds.
 *   NB_ERR_FORMAT       the experiment cannot be read.
 *   NB_ERR_SCENE, NB_ERR_UNIT_CELL  x gives an impossible geometry; or the numbers of
 *                       panels, groups or lattices differ between scene and experiment.
 *   NB_ERR_UNSUPPORTED  as for nb_expt_read(); or the detector is curved.
 *   NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_expt_update_add(nb_expt_update *update, int i, nb_simulator *sim,
                                    const double *x);

/*
 * Write the file with all changes so far. path may be the file that was read. If path is in
 * another folder, relative names of images become absolute: they begin in the folder of the
 * file that was read.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE, NB_ERR_MEMORY.
 */
NB_API nb_status nb_expt_update_write(nb_expt_update *update, const char *path);

/* Free an update; NULL is allowed. */
NB_API void nb_expt_update_free(nb_expt_update *update);

NB_END_DECLS

#endif
