/*
 * geometry.h - reads and writes detectors of panels in geometry files of CrystFEL (.geom).
 *
 *   nb_geometry *geometry = NULL;
 *
 *   if (nb_geom_read(ctx, "agipd.geom", &geometry) != NB_OK) puts(nb_context_message(ctx));
 *   scene.detector.distance = 120;
 *   if (nb_geometry_apply(geometry, &scene) == NB_OK
 *       && nb_simulator_create(ctx, &scene, "panel_shift_fast[0]", NULL, &sim) == NB_OK)
 *       nb_geom_write(sim, NULL, "moved.geom");
 *   nb_simulator_free(sim);
 *   nb_geometry_free(geometry);
 *
 * CrystFEL's laboratory has z along the beam, y up and x so that the three are
 * right-handed. A scene has the same frame under the conventions with beam +z. Under the
 * conventions with beam +x, a vector (x, y, z) of the file is (z, y, -x) of the scene: up
 * is y under every convention.
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

/* The extent of a geometry, and the places of numbers that stand in a data file. */
typedef struct nb_geometry_info {
    int npanel, ngroup;
    int nslow, nfast; /* size of the image */
    double pixel; /* edge of the pixels of the first panel                   mm     */
    double distance; /* clen, if distance_from is NULL                       mm     */
    double wavelength; /* 0: the file states none                            A      */
    /* distance_from: where in a data file clen is, "" if the file has no clen, NULL for a
     * number. wavelength_from: where the photon energy or the wavelength is, NULL for a
     * number or nothing. The geometry owns both */
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
 * value without a panel holds for panels first named after it. Further words that CrystFEL
 * understands (gain, masks and peaks in data files) are left out; any other line brings a
 * warning to the log.
 *
 * Panels lie in the image as in the data. Panels that differ in fixed dimN or in data are
 * stacked along slow, by these numbers and in the order of the data's places, so that the
 * image has the memory of the array of the data.
 *
 * A pixel is in a bad region of x, y if its first corner, moved by detector_shift, lies
 * between the limits and on none of them; limits of fs, ss include their ends. A region
 * lies on the panel it names, and on panels with the same fixed dimN.
 *
 * Groups are a tree here: each set of panels lies within another set or apart from it. If
 * sets overlap otherwise, the larger one is kept, else the first, with a warning. Where
 * there are collections, only the rigid groups in a collection are taken. The group "all"
 * is the detector itself. A group's frame has the axes of CrystFEL's laboratory and lies in
 * the middle of its panels.
 *
 * Axes that are up to 0.01 from unit length or a right angle, as numbers of few digits are,
 * are made exact, both by the same angle, with a note.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE (the file cannot be read), NB_ERR_FORMAT
 * (its contents are wrong), NB_ERR_UNSUPPORTED (electrons, a detector shift that is in a
 * data file), NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_geom_read(nb_context *ctx, const char *path, nb_geometry **out);

/* Read the extent of a geometry; nothing is written if an argument is NULL. */
NB_API void nb_geometry_info_get(const nb_geometry *geometry, nb_geometry_info *out);

/* Free a geometry; NULL is allowed. */
NB_API void nb_geometry_free(nb_geometry *geometry);

/*
 * Put a geometry into a scene, in the frame of its convention. The scene then points into
 * the geometry, which must live until nb_simulator_create().
 *
 *   scene  [in,out]  the geometry sets npanel, panel, ngroup, group, nslow, nfast, pixel,
 *                    mask, origin_kind and origin of its detector. Members that place a
 *                    rectangle (nb_detector) become 0, and so do roi and box, which belong
 *                    to another image. The scene's distance, if not 0, replaces clen; its
 *                    wavelength, if not 0, replaces the wavelength of the file. mask
 *                    becomes NULL if the geometry masks nothing
 *
 * The origin is clen along the beam of the convention, with detector_shift_x, _y, so that
 * detector.rotation turns the whole about that point. The geometry of an experiment
 * (experiment.h) has the distance in its panels: the origin is 0 0 0, detector.rotation
 * turns the whole about the crystal, and a scene with a distance is refused.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_SCENE (distance_from or wavelength_from is not
 * NULL, and the scene has no such number; or the scene has a distance, and the geometry
 * comes from an experiment; the scene is not changed).
 */
NB_API nb_status nb_geometry_apply(const nb_geometry *geometry, nb_scene *scene);

/*
 * Write the detector at x as a geometry file of CrystFEL, DIALS and cfelpyutils. Everything
 * is turned by the smallest angle that takes the beam to +z of CrystFEL.
 *
 *   x     [in]  parameters; NULL: the values of the scene                   (nparam)
 *   path  [in]  ends in .geom by convention
 *
 * The photon energy is written for the mean wavelength. Origins and axes have 15 decimals,
 * of m and unit vectors. Names that are missing, not unique or not allowed there become p0,
 * p1, ... and g0, g1, ..., with a note. The mask is not written. Places of data are as in
 * an NXmx.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL, or a parameter outside its bounds.
 *   NB_ERR_SCENE, NB_ERR_UNIT_CELL  x gives an impossible geometry, or a flat cell.
 *   NB_ERR_UNSUPPORTED  a curved detector, or one whose axes are not at right angles.
 *   NB_ERR_FILE         the file cannot be written.
 *   NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_geom_write(nb_simulator *sim, const double *x, const char *path);

NB_END_DECLS

#endif
