/*
 * exposure.h - the experiment behind an image, in the terms of file formats: lengths in mm,
 * vectors in the frame of dxtbx (nanobrag_io/laboratory.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_EXPOSURE_H
#define NB_IO_IMAGES_EXPOSURE_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/description.h>
#include <nanobrag/simulator.h>

#include "base/window.h"
#include "nanobrag_io/laboratory.h"

/* the wavelengths of a beam in rising order, each once */
struct spectrum {
    size_t n;
    double *wavelength, *weight; /* A; weights with the sum 1 */
};

struct exposure {
    struct laboratory laboratory;
    struct laboratory_panel *panel; /* (laboratory.npanel) */
    struct laboratory_group *group; /* (laboratory.ngroup) */
    int nslow, nfast; /* number of pixels of the image */
    const struct window *window; /* the rendered pixels of the image */
    int curved; /* 1: the detector is curved, which no format can state */
    int hit; /* panel that the direct beam meets or passes nearest */
    double distance, beam_fast, beam_slow; /* mm along the beam; where it meets panel `hit`,
                                              mm from the panel's outer corner */
    double thickness, attenuation; /* of the sensor, mm and 1/mm; 0: no sensor model */
    int material; /* of the sensor, enum nb_material */
    double wavelength; /* A; with listed sources their weighted mean */
    struct spectrum spectrum;
    double phi, width; /* degree */
    double seconds, fluence; /* of exposure; photons/m^2 during it */
    double flux, beam_size; /* photons/s, and the edge, mm, of the square that they pass */
    double stokes[4]; /* intensity 1, then Q, U, V; Q is along x of NeXus */
    /* Numbers that identify the scene (scene/members/fingerprint.h): `row` is a checksum of
     * the image's parameters, and `scene` has nscene numbers of the scene, or is NULL. */
    double row, *scene;
    size_t nscene;
};

/*
 * Describes an image of a simulator from its resolved scene and description.
 *
 *   source   the sources of the beam, with the weights of nb_simulator_source()
 *   window   the exposure keeps this pointer
 *
 * Returns NB_OK, NB_ERR_MEMORY, or the errors of laboratory_of(). The caller calls
 * exposure_free() in any case.
 */
nb_status exposure_of(nb_context *ctx, const nb_scene *scene, const nb_description *d,
                      const nb_source *source, const struct window *window,
                      struct exposure *out);
void exposure_free(struct exposure *exposure);

/* Returns the pose of panel i relative to its group, or to the laboratory without one. */
struct panel_pose exposure_panel_pose(const struct exposure *exposure, int i);

/* Returns the pose of group g relative to its parent, or to the laboratory without one. */
struct panel_pose exposure_group_pose(const struct exposure *exposure, int g);

/* If the crystal turns backwards, describes this as turning forwards about the reversed
 * spindle, because dxtbx does not accept a negative width. */
void exposure_turn_forwards(struct exposure *exposure);

/* Returns the material that dxtbx should assume for the sensor: its own if that is at most
 * `last`, else the one up to `last` that absorbs most alike. *thickness is in mm; without a
 * sensor model it is so thin that dxtbx does not correct positions for depth. */
int exposure_sensor(const struct exposure *exposure, int last, double *thickness);

/* Warns if dxtbx will assume an absorption that differs from the sensor's by over 1 %. */
void exposure_warn_of_sensor(nb_context *ctx, const char *path,
                             const struct exposure *exposure, int last);

/* Warns if a single panel stands upstream of the crystal, because dxtbx will read it as one
 * downstream. */
void exposure_warn_of_upstream(nb_context *ctx, const char *path,
                               const struct exposure *exposure);

/* Compares detector, spindle, sensor and number of wavelengths of two exposures. Returns
 * the first difference in words, for a message; NULL if there is none. */
const char *exposure_changed(const struct exposure *first, const struct exposure *now);

/* Returns NB_ERR_UNSUPPORTED for a curved detector, and for pixel axes that are not
 * perpendicular. `format` is a name for messages. */
nb_status exposure_check_flat(nb_context *ctx, const struct exposure *exposure,
                              const char *format);

#endif
