/*
 * attacked_formats.h - the calls of images, experiments, geometries and tables of
 * reflections that test_attacked_memory.c refuses memory. SPDX-License-Identifier: MIT
 */
#ifndef ATTACKED_FORMATS_H
#define ATTACKED_FORMATS_H

#include <nanobrag/nanobrag.h>

/* What the calls work on. */
extern struct attacked_formats {
    nb_context *ctx;
    nb_simulator **sim;
    const nb_array *counts;
} attacked_formats;

nb_status attacked_image_read(void);
nb_status attacked_refl_read(void);
nb_status attacked_refl_created(void);
nb_status attacked_refl_joined(void);
nb_status attacked_refl_set(void);
nb_status attacked_refl_identifier(void);
nb_status attacked_refl_written(void);
nb_status attacked_expt_read(void);
nb_status attacked_panels_read(void);
nb_status attacked_expt_open(void);
nb_status attacked_lattices_read(void);
nb_status attacked_update_begun(void);
nb_status attacked_update_added(void);
nb_status attacked_update_written(void);
nb_status attacked_xparm_read(void);
nb_status attacked_expt_written(void);
nb_status attacked_geom_read(void);
nb_status attacked_geometry_applied(void);
nb_status attacked_geom_written(void);
nb_status attacked_cbf_checked(void);
nb_status attacked_cbf_written(void);

#endif
