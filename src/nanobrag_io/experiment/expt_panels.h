/*
 * expt_panels.h - the detector of an .expt: one rectangle, or several panels in groups.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_PANELS_H
#define NB_IO_EXPERIMENT_EXPT_PANELS_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/experiment/models.h"

/* Reads a detector. One panel goes into the models, and its mask into out->mask. Several
 * panels go into out->geometry, turned by the rows of `turn`, with their mask. */
nb_status expt_read_detector(const struct expt *e, const cJSON *detector,
                             const double turn[3][3], struct models *m, nb_experiment *out);

#endif
