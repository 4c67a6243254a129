/*
 * expt_panels.h - the detector of an .expt: one rectangle, or several panels in groups.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_PANELS_H
#define NB_IO_EXPERIMENT_EXPT_PANELS_H

#include "io/experiment/expt_json.h"
#include "io/experiment/models.h"

/* Reads a detector. One panel goes into the models; of several *geometry becomes the list,
 * turned by the rows of `turn`, else NULL. */
nb_status expt_read_detector(const struct expt *e, const cJSON *detector,
                             const double turn[3][3], struct models *m,
                             nb_geometry **geometry);

#endif
