/*
 * expt_places.h - where the panels of an .expt lie in its images.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_PLACES_H
#define NB_IO_EXPERIMENT_EXPT_PLACES_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/geometry/geometry.h"

/* Places panels that the .expt places nowhere, and which are stacked: where they are those
 * of an NXmx file, each comes to where the file has it, and the image gets the file's size.
 * A warning tells where the file cannot be read. Errors: NB_ERR_FORMAT (the file has panels
 * of other sizes), NB_ERR_UNSUPPORTED (an image too large), NB_ERR_MEMORY. */
nb_status expt_place_panels(const struct expt *e, const cJSON *panels,
                            nb_geometry *geometry);

#endif
