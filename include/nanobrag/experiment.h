/*
 * experiment.h - beam, detector, rotation axis, scan and crystal of an experiment: reads
 * files of DIALS and XDS, writes files of DIALS.
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
 * (-x, y, -z) here, where the beam is close to +z (NB_CONVENTION_DIALS). A written file is
 * turned, as a whole, so that the beam is exactly dxtbx's default, -z. Positions agree
 * within rounding, 1e-9 mm.
 *
 * A build without cJSON has no .expt (NB_ERR_UNSUPPORTED). Space groups need gemmi; without
 * it a written file says P 1, and the group of a file that is read is not known.
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

/* Bits of nb_experiment.found: a file states this, and has set these members of the scene.
 */
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

/* The crystal, beam and goniometer of a scan that changes them, at the boundaries of its
 * images. Scan points never change once made and may be shared between threads. */
typedef struct nb_scan_points nb_scan_points;

typedef struct nb_experiment {
    nb_scene scene; /* members that the file states; all further members are 0. convention
                       is NB_CONVENTION_DIALS or NB_CONVENTION_XDS, and vectors are in its
                       frame */
    unsigned found; /* NB_FOUND_... */
    int count; /* experiments in the file */
    int images; /* images of the scan; 0: no scan */
    char space_group[40]; /* Hermann-Mauguin symbol; "": not known */
    /* The caller frees these with nb_experiment_clear(), or takes and frees each by itself.
     * The scene points into geometry, lattice and mask */
    nb_geometry *geometry; /* several panels; NULL: one rectangle, or no detector */
    nb_scan_points *points; /* a scan that changes something; NULL: nothing changes */
    nb_lattice *lattice; /* of nb_expt_read_lattices(); NULL: none */
    uint8_t *mask; /* of one rectangle; NULL: all pixels are trusted */
} nb_experiment;

/* Free geometry, points, lattice and mask of an experiment, and set them to NULL; NULL is
 * allowed. */
NB_API void nb_experiment_clear(nb_experiment *experiment);

/*
 * Read an experiment of DIALS.
 *
 *   i    [in]   number of the experiment in the file, from 0 on, as DIALS counts them
 *   out  [out]  the experiment
 *
 * Several panels become a detector of panels and groups, at raw_image_offset in the image.
 * The frame of a panel is local to the frame of its group; a root of the hierarchy that is
 * the laboratory's frame is no group. Where all offsets are 0 0 and the panels have names
 * of modules, as dxtbx names the panels of NXmx, the file of the images is opened and says
 * their places and the size of the image. If that file cannot be read, they are stacked
 * along slow, with a warning; without names of modules they are stacked, too. The untrusted
 * rectangles ("mask") become a mask, here or in the geometry. The sensor of the first panel
 * is taken for all.
 *
 * A goniometer of several axes is turned as it stands, but for its scan axis. A scan
 * without a goniometer is none: the experiment is a still. If the crystal, beam or
 * goniometer changes during the scan, the scene has its state in the middle of the first
 * image, with a warning; nb_scan_points_set() sets its state in another image.
 *
 *   in the file          becomes
 *   no polarization      the default of dxtbx: fraction 0.999, normal 0 1 0.
 *   sensor under 1 um    no sensor.
 *   NaN, Infinity        a missing number, for they are not JSON.
 *   mosaicity (Kabsch)   a standard deviation: the spread with the same standard deviation
 *                        (docs/theory.md, 9).
 *   mosaicity (Sauter)   half the width of a top hat: the spread with the same standard
 *                        deviation.
 *
 * Flux, divergence, gain, the profile and the images are not taken.
 *
 * Errors: a reader's (above); NB_ERR_ARGUMENT also if the file has no experiment i;
 * NB_ERR_UNSUPPORTED (pixels that are not square, over 4096 panels or groups, electrons or
 * neutrons; a build without cJSON).
 */
NB_API nb_status nb_expt_read(nb_context *ctx, const char *path, int i, nb_experiment *out);

/*
 * Read an experiment of DIALS with all crystals of its image, such as a split crystal: the
 * further ones become the lattices of the scene (nb_crystal.lattice).
 *
 *   i    [in]   experiment of the crystal itself; the lattices follow in the order of the
 *               file
 *   out  [out]  the experiment, otherwise as of nb_expt_read()
 *
 * Two experiments share an image if they share imageset and scan or, without an imageset,
 * the scan. An experiment with another beam, detector or goniometer is left out, with a
 * warning. Each lattice has its orientation, and scale 1, since the file has no word for
 * its brightness. It has a cell of its own unless this equals the crystal's cell within
 * 1e-12. The mosaic spread of experiment i is taken for all, with a warning where another
 * spread differs by over 1 %. Structure factors belong to all, so indices have to be in one
 * setting.
 *
 * Errors: as nb_expt_read(); NB_ERR_UNSUPPORTED also for different space groups, and for
 * over 1001 crystals.
 */
NB_API nb_status nb_expt_read_lattices(nb_context *ctx, const char *path, int i,
                                       nb_experiment *out);

/*
 * Set the crystal, beam and goniometer of a scene to their state at one angle of the scan:
 * linearly between the two scan points beside it.
 *
 *   points   [in]      of nb_experiment; NULL: nothing is set
 *   phi      [in]      for an image the middle of its rotation, phi0 + osc/2        degree
 *   members  [in]      which models to set: NB_FOUND_CRYSTAL, NB_FOUND_BEAM, NB_FOUND_AXIS
 *   scene    [in,out]  crystal.matrix and cell; beam.direction and wavelength; scan.axis
 *   beyond   [out]     1 if the angle lies outside the scan, whose nearest end is taken;
 *                      else 0. NULL: not wanted
 *
 * An image made with the model at its middle lacks the change from there to its ends. This
 * change turns the crystal by at most the angle in the warning of nb_expt_read(). The
 * linear mean of two orientations that differ by t has the angle between them in the
 * middle; its axes are longer by t^2/8, 4e-7 for 0.1 degree.
 *
 * Returns the models that were set.
 */
NB_API unsigned nb_scan_points_set(const nb_scan_points *points, double phi,
                                   unsigned members, nb_scene *scene, int *beyond);

/*
 * Set the axes of lattices to their state at one angle, as nb_scan_points_set() does for
 * the crystal.
 *
 *   points   [in]      of nb_expt_read_lattices(); NULL: nothing is set
 *   phi      [in]      as in nb_scan_points_set()                                degree
 *   n        [in]      how many of its lattices
 *   lattice  [in,out]  a list in their order: matrix, and cell where it changes  (n)
 */
NB_API void nb_scan_points_set_lattices(const nb_scan_points *points, double phi, int n,
                                        nb_lattice *lattice);

/* Free scan points; NULL is allowed. */
NB_API void nb_scan_points_free(nb_scan_points *points);

/*
 * Read a file XPARM.XDS or GXPARM.XDS, in the format of XDS since 2010 (first line
 * "XPARM.XDS ..."). It is turned by the smallest angle that takes its beam to +z
 * (NB_CONVENTION_XDS). phi0 of the scan is the angle of the starting frame.
 *
 *   out  [out]  the experiment
 *
 * Errors: a reader's (above); NB_ERR_UNSUPPORTED (several segments, pixels that are not
 * square).
 */
NB_API nb_status nb_xparm_read(nb_context *ctx, const char *path, nb_experiment *out);

/*
 * Read the experiment that the header of an SMV image states in the terms of d*TREK.
 *
 *   name  [in]   of the file, for messages
 *   out   [out]  the experiment: detector, beam, axis and, with ROTATION, scan. found is 0
 *                for a header of another kind, one without DETECTOR_NAMES
 *
 * Where only one axis of the detector's goniometer turns, and it turns the whole about the
 * crystal, its angle is detector.twotheta about detector.vectors[3]. Otherwise all angles
 * are in the detector's vectors and origin. Directions that the header lacks are the usual
 * ones: source 0 0 1, rotation about 1 0 0, six axes RotZ, RotX, RotY, TransX, TransY and
 * the distance along 0 0 -1. A distortion beyond SPATIAL_DISTORTION_VECTORS is not taken.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_FORMAT (keys are missing or contradict each
 * other), NB_ERR_UNSUPPORTED (pixels that are not square, several detectors).
 */
NB_API nb_status nb_smv_experiment(nb_context *ctx, const nb_smv *smv, const char *name,
                                   nb_experiment *out);

/* Statements of a written file besides the scene. A zero-initialised member means its
 * default. */
typedef struct nb_expt_options {
    int images; /* of the scan, each of the scene's oscillation range; 0: 1 */
    int first; /* number of the first image; 0: 1 */
    /* Their files: a template with a run of '#' for the digits of the number, or without
     * '#' the one file that holds all. DIALS looks for a relative one where it runs. NULL:
     * the file names no images */
    const char *files;
    /* 1: everything is turned about the beam until the fast axis points along +x. Headers
     * of miniCBF and SMV, which state no directions, mean the same */
    int fast_along_x;
    const char *space_group; /* Hermann-Mauguin symbol; NULL: P 1 */
    /* x of each image, which is then a still with a crystal, a beam and a detector of its
     * own; NULL: all images are made at x                            (images x nparam) */
    const double *shots;
    /* x at the start of each image of a sweep and at the end of the last one. The crystals
     * at these x become "A_at_scan_points"; the beam stays the beam at x. NULL: the crystal
     * does not change                                            (images + 1 x nparam) */
    const double *scan_points;
    double pedestal; /* added to each pixel */
    double trusted[2]; /* smallest and largest count that was measured, without the
                          pedestal; 0 0: any */
} nb_expt_options;

/*
 * Write the scene at x as experiments of DIALS. With an oscillation range the file holds
 * one sweep; without, each image is a still, with the crystal at phi0 and no goniometer.
 * Shots (nb_expt_options.shots) are stills, each with its own x. Each lattice of the
 * crystal is an experiment of its own; it shares all but the crystal with the experiments
 * of its image. Stills without files then have scans that say which image they are. The
 * brightness of a lattice is not stated.
 *
 *   x        [in]  parameters; NULL: the values of the scene                (nparam)
 *   path     [in]  ends in .expt by convention
 *   options  [in]  NULL: all defaults
 *
 * dxtbx takes no negative oscillation: such a sweep is written as a forward sweep about the
 * reversed axis. A spectrum is written as its mean wavelength. DIALS has no word for
 * polarization factor 1 (nb_beam.unpolarised), and the fraction is then 0.5.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL; negative images or first; shots with an oscillation range;
 *                       scan points without one or with shots; an unknown space group; a
 *                       parameter outside its bounds.
 *   NB_ERR_SCENE, NB_ERR_UNIT_CELL  x gives an impossible geometry, or a flat cell.
 *   NB_ERR_UNSUPPORTED  a curved detector, or one whose axes are not at right angles; a
 *                       build without cJSON.
 *   NB_ERR_FILE         the file cannot be written.
 *   NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_expt_write(nb_simulator *sim, const double *x, const char *path,
                               const nb_expt_options *options);

/*
 * A file of DIALS that is written again with experiments as scenes have them, such as those
 * that fits have ended in.
 *
 *   nb_expt_update *update = NULL;
 *
 *   if (nb_expt_update_begin(ctx, "indexed.expt", &update) == NB_OK
 *       && nb_expt_update_add(update, 0, sim, x) == NB_OK)
 *       nb_expt_update_write(update, "fitted.expt");
 *   nb_expt_update_free(update);
 *
 * Other than by nb_expt_write(), the file keeps its frame and all else: a byte changes only
 * where a number moves by more than rounding, 1e-12.
 */
typedef struct nb_expt_update nb_expt_update;

/*
 * Read the file that is to be updated.
 *
 *   out  [out]  free with nb_expt_update_free(), before the context
 *
 * Errors: a reader's (above); NB_ERR_UNSUPPORTED (a build without cJSON).
 */
NB_API nb_status nb_expt_update_begin(nb_context *ctx, const char *path,
                                      nb_expt_update **out);

/*
 * Change an experiment to a scene at x.
 *
 *   i    [in]  number of the experiment, as in nb_expt_read()
 *   sim  [in]  of a scene that was made from this experiment
 *   x    [in]  parameters; NULL: the values of the scene                    (nparam)
 *
 * These models follow the scene:
 *
 *   crystal     its axes, and those of the lattices of the image, of which each is an
 *               experiment of its own; mosaicity, where the file states it. At each scan
 *               point the crystal turns and changes its cell as in the scene's image, and
 *               drifts with nb_scan.drift, which has no other place in the file.
 *   beam        direction, wavelength (not with listed sources) and polarization; the
 *               scan points likewise
 *   detector    origins and axes of panels and groups, each relative to its group; the
 *               attenuation, if the wavelength changes
 *   goniometer  the axis of the scan; its other axes stay
 *
 * All else stays as it is, and so does any number of which the scene has no more than the
 * rounding of it. A lattice of which the scene has none keeps its crystal. An experiment
 * that shares a model with one that changes keeps its own: the file then has both. A second
 * change of an experiment replaces the first.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL; no experiment i; a scene of another convention than
 *                       NB_CONVENTION_DIALS; a parameter outside its bounds.
 *   NB_ERR_FORMAT       the experiment cannot be read.
 *   NB_ERR_SCENE, NB_ERR_UNIT_CELL  x gives an impossible geometry; the scene has other
 *                       numbers of panels, groups or lattices than the experiment.
 *   NB_ERR_UNSUPPORTED  as nb_expt_read(); a curved detector.
 *   NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_expt_update_add(nb_expt_update *update, int i, nb_simulator *sim,
                                    const double *x);

/*
 * Write the file with all changes so far. It may be the file that was read.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE, NB_ERR_MEMORY.
 */
NB_API nb_status nb_expt_update_write(nb_expt_update *update, const char *path);

/* Free an update; NULL is allowed. */
NB_API void nb_expt_update_free(nb_expt_update *update);

NB_END_DECLS

#endif
