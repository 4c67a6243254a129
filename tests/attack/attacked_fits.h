/*
 * attacked_fits.h - the calls of fits that test_attacked_memory.c refuses memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ATTACKED_FITS_H
#define ATTACKED_FITS_H

#include <nanobrag/nanobrag.h>

/* What the calls work on. */
extern struct attacked_fits {
    nb_context *ctx;
    const nb_scene *scene;
    const nb_array *observed;
    nb_array *image;
} attacked_fits;

nb_status attacked_fit_made(void);
nb_status attacked_fit_run(void);
nb_status attacked_fit_evaluated(void);
nb_status attacked_fit_result(void);
nb_status attacked_fit_run_among(void);
nb_status attacked_fit_imaged(void);
nb_status attacked_fit_compared(void);
nb_status attacked_fit_filed(void);
nb_status attacked_fit_expected(void);
nb_status attacked_spots(void);
nb_status attacked_fit_sizes(void);

#endif
