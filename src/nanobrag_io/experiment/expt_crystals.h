/*
 * expt_crystals.h - reads the crystals of an .expt: the crystal of one experiment, and the
 * crystals of other experiments of the same image, which become lattices.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_EXPT_CRYSTALS_H
#define NB_IO_EXPERIMENT_EXPT_CRYSTALS_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/experiment/scan_points.h"
#include "nanobrag_io/gemmi/gemmi.h"

/* Reads the axes at phi = 0, the mosaicity and the space group. space_group stays unchanged
 * if the group is not known. Returns NB_ERR_FORMAT, NB_ERR_MEMORY. */
nb_status expt_read_crystal(const struct expt *e, const cJSON *crystal, struct models *m,
                            char space_group[GEMMI_NAME]);

/* Takes the mosaicity from the profile model of an experiment, sigma_m of dials.integrate,
 * in degrees, if its crystal states none. Of a list, one for each image, the mean counts.
 */
nb_status expt_read_profile(const struct expt *e, const cJSON *experiment,
                            struct models *m);

/* Returns 1 if the crystal of experiment `other` is a lattice of the image of experiment
 * `own`. If both have the same image and different crystals, but not the same beam,
 * detector or goniometer, *differs becomes the name of the first of these that differs;
 * otherwise NULL. */
int expt_is_lattice(const struct expt *e, const cJSON *own, const cJSON *other,
                    const char **differs);

/* Reads the crystals of all other experiments in `list` that share image, beam, detector
 * and goniometer with experiment e->i. These crystals become lattices of *out, whose
 * crystal is that experiment's. `m` and `source` are the experiment's models. Returns
 * NB_ERR_UNSUPPORTED if a space group differs or there are too many lattices. */
nb_status expt_read_lattices(const struct expt *e, const cJSON *list,
                             const struct models *m, const struct scan_source *source,
                             const double turn[3][3], nb_experiment *out);

#endif
