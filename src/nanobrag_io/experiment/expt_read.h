/*
 * expt_read.h - an experiment of an .expt, without its detector, for reading and for
 * updates. SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_READ_H
#define NB_IO_EXPERIMENT_EXPT_READ_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/experiment/scan_points.h"

/* rotation from the frame of dxtbx to the frame of the scene, and back: x and z change
 * their sign */
static const double expt_turn[3][3] = {{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}};

/* Checks that the file is a list of experiments, and finds the experiment e->i. Returns
 * NB_ERR_FORMAT, NB_ERR_ARGUMENT. */
nb_status expt_find(const struct expt *e, const cJSON **experiment);

/* Reads the beam, the scan, the crystal and the goniometer of an experiment, and where
 * their scan points are. out->images becomes the images of the scan, and out->space_group
 * the group. */
nb_status expt_read_models(const struct expt *e, const cJSON *experiment, struct models *m,
                           struct scan_source *source, nb_experiment *out);

/* Reads the experiment that a request names; after a failure *request->out is all 0. */
nb_status expt_read_root(nb_context *ctx, const char *name, const cJSON *root,
                         const struct expt_request *request);

#endif
