/*
 * plant.h - puts errors into results on purpose, to prove that a test notices them.
 *
 * NANOBRAG_TEST_PLANT=WHAT:RESULT. WHAT is nan, or a number: the largest number of the
 * result is then wrong by that fraction of itself. RESULT is one of the names below. Test
 * programs are linked so that their calls of the public functions pass through plant.c
 * (--wrap in tests/CMakeLists.txt); support code that calls kernels plants errors in its
 * own results. The product does not contain any of this. tests/meta/planted.sh runs the
 * programs.
 *
 *   pixel     images of nb_forward(), nb_forward_batch(), nb_forward_add() and of kernels
 *   jacobian  images of nb_jvp() and of kernels
 *   gradient  of nb_vjp(), nb_loss(), nb_jtj() and of kernels
 *   matrix, diagonal, coupling   of nb_loss(), nb_jtj() and of kernels
 *   factors   cotangents of structure factors by kernels; structure factors of models
 *   loss      the value of nb_loss() and of kernels
 *   planes    the first plane of nb_planes()
 *   trace     numbers of nb_simulator_trace(), a different one in each call
 *   geometry  each number of nb_simulator_describe(), nb_simulator_source() and
 *             nb_simulator_orientation()
 *
 * Each call gets an error at another place or of another size, so that two results that are
 * compared with one another never agree on it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PLANT_H
#define NB_TESTS_PLANT_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

/* Put an error into one of n numbers if the environment names `result`. */
void plant_numbers(const char *result, double *numbers, size_t n);

/* Do the same to an image on the host. */
void plant_array(const char *result, nb_array *a);

#endif
