/*
 * expt_places.h - finds where the panels of an .expt lie in its images.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_PLACES_H
#define NB_IO_EXPERIMENT_EXPT_PLACES_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/geometry/geometry.h"

/* Places panels for which the .expt states no place; before the call they are stacked. If
 * their images are NXmx, the NXmx file gives the place of each panel and the size of the
 * image. Only warns if the file cannot be read. Errors: NB_ERR_FORMAT (a panel has another
 * size in the file), NB_ERR_UNSUPPORTED (the image is too large), NB_ERR_MEMORY. */
nb_status expt_place_panels(const struct expt *e, const cJSON *panels,
                            nb_geometry *geometry);

#endif
