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
 * The laboratory frame of CrystFEL is right-handed, with z along the beam and y up. A scene
 * has the same frame under the conventions whose beam is +z. Under the conventions whose
 * beam is +x, the vector (x, y, z) of the file is (z, y, -x) in the scene. So y is up under
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

/* A detector from a file. A geometry never changes once made, and threads may share it. */
typedef struct nb_geometry nb_geometry;

/* The size of a geometry, and the places of numbers that are in a data file. */
typedef struct nb_geometry_info {
    int npanel, ngroup;
    int nslow, nfast; /* size of the image */
    double pixel; /* edge of the pixels of the first panel                   mm     */
    double distance; /* clen, if distance_from is NULL                       mm     */
    double wavelength; /* 0: the file states no wavelength                   A      */
    /* distance_from: the place of clen in a data file; "": the file has no clen; NULL: clen
     * is a number. wavelength_from: the place of the photon energy or wavelength in a data
     * file; NULL: a number, or not stated. The geometry owns both strings */
    const char *distance_from, *wavelength_from;
    size_t masked; /* number of pixels in bad regions, at masked edges and in bad panels */
} nb_geometry_info;

/*
 * Read a geometry file of CrystFEL, of any version with panels.
 *
 *   out  [out]  free with nb_geometry_free()
 *
 * The reader takes fs, ss, corner_x, corner_y, coffset, clen, res or pixel_pitch, min_fs,
 * max_fs, min_ss, max_ss, dimN, data, no_index, mask_edge_pixels, detector_shift_x, _y,
 * photon_energy, wavelength, bad regions, and groups (without groups: rigid groups). A
 * value without a panel is valid for all panels that are first named after it. The reader
 * ignores all other words that CrystFEL understands, such as gain, masks and peaks in data
 * files. For any other line it writes a warning to the log.
 *
 * Place in the image. Panels lie in the image as in the data. Panels that differ in data,
 * or in a dimN that is a number, are stacked along slow. The order is by these numbers, and
 * then by the data. So the image has the memory of the array of the data.
 *
 * Bad regions. A region in x, y holds a pixel if the first corner of the pixel, moved by
 * detector_shift, lies between the limits and not on a limit. Limits in fs, ss are part of
 * the region. A region masks the panel that it names, and all panels with the same fixed
 * dimN.
 *
 * Groups form a tree here: two groups are apart, or one lies within the other. If two
 * groups overlap in another way, the reader keeps the larger group, or the first of equal
 * groups, with a warning. If there are collections, it takes only rigid groups in a
 * collection. The group "all" is the detector itself. The frame of a group has the axes of
 * CrystFEL's laboratory. It lies in the middle of the panels of the group.
 *
 * Axes. The numbers of a file may have few digits. If axes are not unit vectors at right
 * angles, but by at most 0.01, the reader makes them exact, with a note. It turns both axes
 * by the same angle.
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
 * Put a geometry into a scene, in the frame of the scene's convention. The scene then
 * points into the geometry. So keep the geometry until nb_simulator_create().
 *
 *   scene  [in,out]  the call sets these members of the detector: npanel, panel, ngroup,
 *                    group, nslow, nfast, pixel, mask, origin_kind and origin. mask becomes
 *                    NULL if the geometry masks no pixel. Members that place a rectangle
 *                    (nb_detector) become 0. roi and box also become 0, because they belong
 *                    to another image. If the scene has a distance, this distance replaces
 *                    clen. If it has a wavelength, this wavelength replaces the wavelength
 *                    of the file
 *
 * The origin is the point at clen along the beam, moved by detector_shift_x, _y.
 * detector.rotation turns the detector about this point. The geometry of an experiment
 * (experiment.h) is different: its panels contain the distance, and the origin is 0 0 0.
 * detector.rotation then turns the detector about the crystal, and the call refuses a scene
 * with a distance.
 *
 * Errors: NB_ERR_ARGUMENT (a NULL), NB_ERR_SCENE (distance_from or wavelength_from is not
 * NULL, and the scene has no such number; or the scene has a distance, and the geometry
 * comes from an experiment). After an error the scene is not changed.
 */
NB_API nb_status nb_geometry_apply(const nb_geometry *geometry, nb_scene *scene);

/*
 * Write the detector at x as a geometry file that CrystFEL, DIALS and cfelpyutils read. The
 * detector is turned by the smallest angle that takes the beam to +z of CrystFEL.
 *
 *   x     [in]  parameters; NULL: the values of the scene                   (nparam)
 *   path  [in]  ends in .geom by convention
 *
 * The photon energy is the energy of the mean wavelength. Origins (in m) and axes (unit
 * vectors) have 15 decimals. Names that are missing, not unique or not allowed become p0,
 * p1, ... for panels and g0, g1, ... for groups, with a note. The mask is not written. The
 * places of data are the places in an NXmx file.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL, or a parameter outside its bounds.
 *   NB_ERR_SCENE, NB_ERR_UNIT_CELL  x gives an impossible geometry, or a flat cell.
 *   NB_ERR_UNSUPPORTED  the detector is curved, or its axes are not at right angles.
 *   NB_ERR_FILE         the file cannot be written.
 *   NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_geom_write(nb_simulator *sim, const double *x, const char *path);

NB_END_DECLS

#endif
