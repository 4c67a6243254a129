/*
 * expt_places.h - where the panels of an .expt lie in its images.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_PLACES_H
#define NB_IO_EXPERIMENT_EXPT_PLACES_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/geometry/geometry.h"

/* Places panels for which the .expt states no place, and which are stacked so far. If they
 * belong to an NXmx file, each takes its place from the file, and the image takes the
 * file's size. Warns if the file cannot be read. Errors: NB_ERR_FORMAT (the file has panels
 * of other sizes), NB_ERR_UNSUPPORTED (an image too large), NB_ERR_MEMORY. */
nb_status expt_place_panels(const struct expt *e, const cJSON *panels,
                            nb_geometry *geometry);

#endif
