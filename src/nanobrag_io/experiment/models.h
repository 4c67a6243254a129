/*
 * models.h - the models of an experiment as files state them, in the frame of the file, and
 * how they become a scene. SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_MODELS_H
#define NB_IO_EXPERIMENT_MODELS_H

#include <nanobrag/experiment.h>

#include "nanobrag_io/file.h"
#include "nanobrag_io/images/exposure.h"

struct models {
    unsigned found; /* NB_FOUND_... */
    double wavelength; /* A */
    double beam[3]; /* along the light, any length */
    double field[3]; /* axis of the electric field */
    double kahn;
    double fast[3], slow[3], origin[3]; /* of the panel; mm */
    double pixel; /* mm */
    int nfast, nslow; /* 0 0: several panels; they are kept elsewhere */
    double thickness, attenuation; /* of the sensor; um */
    int material; /* of it, enum nb_material */
    double axis[3]; /* of the rotation */
    double phi0, osc; /* degree */
    double real_axes[3][3]; /* rows a, b, c at phi = 0; A */
    double mosaic; /* degree */
};

/* Which experiment of a file is read, and where it goes. */
struct expt_request {
    int i;
    nb_experiment *out;
    int lattices; /* 1: read the other crystals of the image, too */
};

/* Turns the models by the rows of `turn` into out->scene; `name` is the file's, for
 * messages. Sets out->found. Returns NB_ERR_FORMAT for vectors that are 0, or axes that are
 * not at right angles or lie in a plane. */
nb_status models_to_scene(nb_context *ctx, const char *name, const struct models *models,
                          const double turn[3][3], int convention, nb_experiment *out);

/* Turns the axes a, b, c of a crystal by the rows of `turn` into its matrix and cell.
 * Returns NB_ERR_FORMAT for lengths that make no sense, or axes that lie in a plane. */
nb_status models_to_axes(nb_context *ctx, const char *name, const double real_axes[3][3],
                         const double turn[3][3], double matrix[9], double cell[6]);

/* Parses n bytes of an .expt; `to` is a struct expt_request. */
file_parser expt_parse;

/* Parses n bytes of an XPARM.XDS; `to` is an nb_experiment. */
file_parser xparm_parse;

/* The models that an .expt states for one shot, or for all images of a scan. */
struct expt_shot {
    struct exposure exposure;
    double mosaicity; /* degree; 0: not stated */
    int unpolarised;
};

/* Writes n shots as an .expt, each an image; or, for n = 1, options->images of one. With
 * options->scan_points the first shot is the scan and all later ones are its points. A shot
 * has `lattices` entries, one after the other, that differ in the axes of their crystals.
 * Turns the exposures if needed. */
nb_status expt_write(nb_context *ctx, const char *path, struct expt_shot *shots, int n,
                     int lattices, const nb_expt_options *options);

#endif
