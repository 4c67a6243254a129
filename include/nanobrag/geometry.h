/*
 * geometry.h - detectors of panels from geometry files of CrystFEL (.geom), and to them.
 *
 * CrystFEL's laboratory has z along the beam, y up and x so that the three are
 * right-handed. It is that of a scene under the conventions whose beam is +z. Under those
 * whose beam is +x a vector (x, y, z) of the file is (z, y, -x) of the scene: up is y under
 * every convention.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_GEOMETRY_H
#define NANOBRAG_GEOMETRY_H

#include <stddef.h>

#include <nanobrag/context.h>
#include <nanobrag/export.h>
#include <nanobrag/scene.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

/* A detector as a file states it. It never changes once made and may be shared between
 * threads. */
typedef struct nb_geometry nb_geometry;

/* The extent of a geometry, and what it does not hold. */
typedef struct nb_geometry_info {
    int npanel, ngroup;
    int nslow, nfast; /* size of the image */
    double pixel; /* edge of the pixels of the first panel                   mm     */
    double distance; /* clen, if distance_from is NULL                       mm     */
    double wavelength; /* 0: the file states none                            A      */
    /* Where in a data file clen is, "" where the file has no clen, NULL for a number; and
     * where the photon energy or the wavelength is, NULL for a number or nothing. The
     * geometry owns both */
    const char *distance_from, *wavelength_from;
    size_t masked; /* pixels of bad regions, edges and panels */
} nb_geometry_info;

/*
 * Read a geometry file of CrystFEL, of any version with panels.
 *
 *   out  [out]  free with nb_geometry_free()
 *
 * Taken are fs, ss, corner_x, corner_y, coffset, clen, res or pixel_pitch, min_fs, max_fs,
 * min_ss, max_ss, dimN, data, no_index, mask_edge_pixels, detector_shift_x, _y,
 * photon_energy, wavelength, bad regions, groups or, where there are none, rigid groups. A
 * value without a panel is that of the panels first named after it. What else CrystFEL
 * understands (gain, masks and peaks in data files) is left out; any other line brings a
 * warning to the log.
 *
 * Panels lie in the image as in the data: those with other fixed dimN or other data are
 * stacked along slow, by these numbers and in the order of the data's places, so that the
 * image has the memory of the array of the data.
 *
 * A pixel is in a bad region of x, y if its first corner, moved by detector_shift, lies
 * between the limits and on none of them; limits of fs, ss include their ends. A region
 * lies on the panel it names, and on panels with the same fixed dimN.
 *
 * Groups are a tree here, sets of panels within others. Of sets that overlap otherwise the
 * larger one, else the first is kept, with a warning; of rigid groups, where there are
 * collections, those of a collection. The group "all" is the detector itself. A group's
 * frame has the axes of CrystFEL's laboratory and lies in the middle of its panels.
 *
 * Axes that are up to 0.01 from unit length or a right angle, as numbers of few digits are,
 * are made exact, both by the same angle, with a note.
 *
 * Errors: those of a reader (io.h); NB_ERR_UNSUPPORTED (electrons, a detector shift that is
 * in a data file).
 */
NB_API nb_status nb_geom_read(nb_context *ctx, const char *path, nb_geometry **out);

/* Read the extent of a geometry; nothing is written if an argument is NULL. */
NB_API void nb_geometry_info_get(const nb_geometry *geometry, nb_geometry_info *out);

/* Free a geometry; NULL is allowed. */
NB_API void nb_geometry_free(nb_geometry *geometry);

/*
 * Put a geometry into a scene, in the frame of its convention. Pointers of the scene are
 * then those of the geometry, which must live until nb_simulator_create().
 *
 *   scene  [in,out]  detector: npanel, panel, ngroup, group, nslow, nfast, pixel, mask,
 *                    origin_kind and origin become those of the geometry, and what places a
 *                    rectangle (nb_detector) becomes 0. Its distance, if not 0, is taken
 *                    for clen; so is its wavelength, if not 0, for that of the file. mask
 *                    becomes NULL if the geometry masks nothing; roi and box, which are of
 *                    another image, end
 *
 * The origin is clen along the beam of the convention, with detector_shift_x, _y, so that
 * detector.rotation turns the whole about that point. The geometry of an experiment
 * (experiment.h) has the distance in its panels: the origin is 0 0 0, detector.rotation
 * turns the whole about the crystal, and a scene with a distance is refused.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_SCENE (distance_from or wavelength_from is not
 * NULL, and the scene has no such number; or the scene has a distance, and the geometry is
 * that of an experiment; the scene is not changed).
 */
NB_API nb_status nb_geometry_apply(const nb_geometry *geometry, nb_scene *scene);

/*
 * Write the detector at x as a geometry file of CrystFEL, DIALS and cfelpyutils. Everything
 * is turned by the smallest angle that takes the beam to +z of CrystFEL.
 *
 *   x     [in]  parameters; NULL: the values of the scene                   (nparam)
 *   path  [in]  ends in .geom by convention
 *
 * The photon energy is that of the mean wavelength. Origins and axes have 15 decimals, of m
 * and unit vectors. Names that are missing, not unique or not allowed there become p0, p1,
 * ... and g0, g1, ..., with a note. The mask is not written. Data are those of an NXmx.
 *
 * Errors: those of a writer (io.h); NB_ERR_ARGUMENT also for a parameter outside its
 * bounds, NB_ERR_SCENE and NB_ERR_UNIT_CELL (x gives an impossible geometry or a flat
 * cell), NB_ERR_UNSUPPORTED (a curved detector, or one whose axes are not at right angles).
 */
NB_API nb_status nb_geom_write(nb_simulator *sim, const double *x, const char *path);

NB_END_DECLS

#endif
