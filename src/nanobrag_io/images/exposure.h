/*
 * exposure.h - the experiment behind an image, as the formats of images state it: lengths
 * in mm, vectors in the frame of dxtbx (nanobrag_io/laboratory.h).
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

/* wavelengths of the beam in rising order, each once */
struct spectrum {
    size_t n;
    double *wavelength, *weight; /* A; weights with the sum 1 */
};

struct exposure {
    struct laboratory laboratory;
    struct laboratory_panel *panel; /* (laboratory.npanel) */
    struct laboratory_group *group; /* (laboratory.ngroup) */
    int nslow, nfast; /* of the image */
    const struct window *window; /* its rendered pixels */
    int curved;
    int hit; /* the panel that the direct beam meets, or is nearest to */
    double distance, beam_fast, beam_slow; /* along the beam; from its outer corner */
    double thickness, attenuation; /* of the sensor, mm and 1/mm; 0: there is no sensor */
    int material; /* of the sensor, enum nb_material */
    double wavelength; /* of the scene, or the mean of the spectrum of listed sources */
    struct spectrum spectrum;
    double phi, width; /* degree */
    double seconds, fluence; /* photons/m^2 in these seconds */
    double flux, beam_size; /* photons/s through a square of this edge */
    double stokes[4]; /* of intensity 1, with Q along x of NeXus */
    /* identify the scene (scene/members/fingerprint.h): row is a checksum of the parameters
     * of the image, scene (nscene) has the numbers of the scene, or is NULL */
    double row, *scene;
    size_t nscene;
};

/*
 * Describes an image of a simulator from its resolved scene and description.
 *
 *   source   the sources of the beam, with the weights of nb_simulator_source()
 *   window   kept by the exposure
 *
 * Returns NB_OK, NB_ERR_MEMORY, or the errors of laboratory_of(); exposure_free() is right
 * after all of them.
 */
nb_status exposure_of(nb_context *ctx, const nb_scene *scene, const nb_description *d,
                      const nb_source *source, const struct window *window,
                      struct exposure *out);
void exposure_free(struct exposure *exposure);

/* Returns the pose of a panel within the frame of its group, or of the whole. */
struct panel_pose exposure_panel_pose(const struct exposure *exposure, int i);

/* Returns the pose of a group within the frame of its own group. */
struct panel_pose exposure_group_pose(const struct exposure *exposure, int g);

/* States a rotation backwards as one forwards about the reverse of the spindle, because
 * dxtbx takes no negative width. */
void exposure_turn_forwards(struct exposure *exposure);

/* Returns the material, of those up to `last`, and the thickness, mm, that stand for the
 * sensor in dxtbx: its own, or the one that absorbs most alike. Without a sensor model it
 * is thin, so that dxtbx corrects no position for its depth. */
int exposure_sensor(const struct exposure *exposure, int last, double *thickness);

/* Warns if dxtbx will assume an absorption of the sensor that differs by more than 1 %. */
void exposure_warn_of_sensor(nb_context *ctx, const char *path,
                             const struct exposure *exposure, int last);

/* Warns of a single panel that faces the beam from upstream: dxtbx takes its distance for
 * one that has lost its sign. */
void exposure_warn_of_upstream(nb_context *ctx, const char *path,
                               const struct exposure *exposure);

/* Compares detector, spindle, sensor and number of wavelengths of two exposures. Returns
 * the first difference as a clause; NULL: there is none. */
const char *exposure_changed(const struct exposure *first, const struct exposure *now);

/* Refuses, with NB_ERR_UNSUPPORTED, a detector that no format of flat panels can state.
 * `format` is the format's name. */
nb_status exposure_check_flat(nb_context *ctx, const struct exposure *exposure,
                              const char *format);

#endif
