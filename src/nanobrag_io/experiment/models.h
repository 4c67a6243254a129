/*
 * models.h - the models of an experiment (beam, detector, crystal, scan, goniometer) as a
 * file states them and in its frame, and their conversion to a scene.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_MODELS_H
#define NB_IO_EXPERIMENT_MODELS_H

#include <nanobrag/experiment.h>

#include "nanobrag_io/file.h"
#include "nanobrag_io/images/exposure.h"

struct models {
    unsigned found; /* NB_FOUND_... */
    double wavelength; /* A */
    double beam[3]; /* direction of travel of the light, of any length */
    double field[3]; /* direction of the electric field */
    /* Kahn's polarization factor, -1 to 1 */
    double kahn;
    double fast[3], slow[3], origin[3]; /* axes of the panel; its corner, mm */
    double pixel; /* mm */
    int nfast, nslow; /* 0 0: several panels, which are in an nb_geometry */
    double thickness, attenuation; /* thickness of the sensor; depth of 1/e in it; um */
    int material; /* material of the sensor, enum nb_material */
    double axis[3]; /* axis of the scan */
    double phi0, osc; /* degree */
    double real_axes[3][3]; /* a, b, c as rows, at phi = 0; A */
    double mosaic; /* mosaic spread, degree */
};

/* which experiment to read from a file, and where to */
struct expt_request {
    int i; /* number of the experiment, from 0 on */
    nb_experiment *out;
    int lattices; /* 1: other crystals of the same image become lattices */
};

/* Rotates the models by the matrix `turn` (rows) to the frame of the scene, and sets
 * out->scene and out->found. `name` is the name of the file, for messages. Returns
 * NB_ERR_FORMAT for vectors of length 0, panel axes that are not perpendicular, and cell
 * axes in one plane. */
nb_status models_to_scene(nb_context *ctx, const char *name, const struct models *models,
                          const double turn[3][3], int convention, nb_experiment *out);

/* Rotates the axes a, b, c of a crystal (rows, A) by the matrix `turn` (rows), and finds
 * the matrix with a*, b*, c* as columns, 1/A, and the cell. Returns NB_ERR_FORMAT for
 * impossible lengths, and for axes in one plane. */
nb_status models_to_axes(nb_context *ctx, const char *name, const double real_axes[3][3],
                         const double turn[3][3], double matrix[9], double cell[6]);

/* Parses n bytes of an .expt; `to` is a struct expt_request. */
file_parser expt_parse;

/* Parses n bytes of an .expt; `to` is an nb_expt *. */
file_parser expt_open_parse;

/* Parses n bytes of an XPARM.XDS; `to` is an nb_experiment. */
file_parser xparm_parse;

/* what an .expt states for one image, or for all images of a scan */
struct expt_shot {
    struct exposure exposure;
    double mosaicity; /* degree; 0: the file does not state it */
    /* 1: -nopolar, which an .expt cannot state */
    int unpolarised;
};

/* Writes an .expt with an image for each of n shots or, if n is 1, options->images images
 * of one shot. With options->scan_points the first shot is a scan and the later ones are
 * its scan points. Each shot consists of `lattices` consecutive entries, which differ only
 * in their crystals. May rotate the exposures in `shots`. */
nb_status expt_write(nb_context *ctx, const char *path, struct expt_shot *shots, int n,
                     int lattices, const nb_expt_options *options);

#endif
