/*
 * lattice.h - what a crystal scatters into one direction. SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ORACLE_LATTICE_H
#define NB_TESTS_ORACLE_LATTICE_H

#include "oracle/truth.h"

/* (F_cell F_latt)^2 of the orientation with the axes a, b, c at scattering vector q */
struct dual lattice_square(const struct truth *truth, const struct dual_vec axes[3],
                           struct dual_vec q);

/* sin(pi n v)/sin(pi v) for |v| <= 1/2 and any real n, with the slopes in v and n */
void lattice_slit(quad v, quad n, quad *value, quad *slope_v, quad *slope_n);

#endif
