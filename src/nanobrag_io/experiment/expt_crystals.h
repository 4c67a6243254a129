/*
 * expt_crystals.h - the crystals of an .expt: the crystal of one experiment, and the
 * crystals of the other experiments of its image, which are further lattices.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_CRYSTALS_H
#define NB_IO_EXPERIMENT_EXPT_CRYSTALS_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/experiment/scan_points.h"
#include "nanobrag_io/gemmi/gemmi.h"

/* Reads the static axes, the mosaicity and, where it is known, the space group. */
nb_status expt_read_crystal(const struct expt *e, const cJSON *crystal, struct models *m,
                            char space_group[GEMMI_NAME]);

/* Reads the crystals of all other experiments of the list that share the image and its
 * models, as lattices of *out, which has the crystal of e->i; `m` and `source` are its
 * models. Returns NB_ERR_UNSUPPORTED for other space groups and for too many. */
nb_status expt_read_lattices(const struct expt *e, const cJSON *list,
                             const struct models *m, const struct scan_source *source,
                             const double turn[3][3], nb_experiment *out);

#endif
