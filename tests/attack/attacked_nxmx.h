/*
 * attacked_nxmx.h - the calls of NXmx files that test_attacked_memory.c refuses memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ATTACKED_NXMX_H
#define ATTACKED_NXMX_H

#include <nanobrag/nanobrag.h>

/* What the calls work on; sim is NULL for those that make one. */
extern struct attacked_nxmx {
    nb_context *ctx;
    nb_simulator *sim;
    const nb_array *counts; /* of 16 bits */
} attacked_nxmx;

nb_status attacked_nxmx_written(void);
nb_status attacked_nxmx_master(void);
nb_status attacked_nxmx_checked(void);
nb_status attacked_nxmx_counted(void);
nb_status attacked_nxmx_read(void);

#endif
