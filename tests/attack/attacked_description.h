/*
 * attacked_description.h - calls that describe a simulator, for test_attacked_memory.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ATTACKED_DESCRIPTION_H
#define ATTACKED_DESCRIPTION_H

#include <nanobrag/nanobrag.h>

/* The simulator on which the calls work. */
extern nb_simulator *attacked_simulator;
extern const nb_array *attacked_image;

nb_status attacked_described(void);
nb_status attacked_boxed(void);
nb_status attacked_spotted(void);
nb_status attacked_cast(void);
nb_status attacked_predicted(void);
nb_status attacked_integrated(void);
nb_status attacked_traced(void);
nb_status attacked_placed(void);
nb_status attacked_oriented(void);
nb_status attacked_lit(void);
nb_status attacked_resolved(void);
nb_status attacked_parameter(void);

#endif
