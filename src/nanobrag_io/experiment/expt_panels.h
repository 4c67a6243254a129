/*
 * expt_panels.h - reads the detector of an .expt: one panel, or several in groups.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_PANELS_H
#define NB_IO_EXPERIMENT_EXPT_PANELS_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/experiment/models.h"
#include "scene/detector/panels.h"

/* Reads a detector. A single panel goes into `m` and its mask into out->mask. Several
 * panels go with their mask into out->geometry, rotated by the matrix `turn` (rows) to the
 * frame of the scene. Returns NB_ERR_FORMAT, NB_ERR_UNSUPPORTED, NB_ERR_MEMORY. */
nb_status expt_read_detector(const struct expt *e, const cJSON *detector,
                             const double turn[3][3], struct models *m, nb_experiment *out);

/* Reads a frame (origin and axes), which the file states relative to the parent's frame. */
nb_status expt_read_frame(const struct expt *e, const cJSON *from, const char *what,
                          struct panel_pose *out);

/* Returns 1 if a frame is the laboratory's. */
int expt_is_laboratory(const struct panel_pose *pose);

#endif
