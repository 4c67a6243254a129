/*
 * plant.h - errors that are put into results on purpose, to prove that a test notices them.
 *
 * NANOBRAG_TEST_PLANT=WHAT:RESULT. WHAT is nan, or a number: the largest of the numbers is
 * then off by so much of itself. RESULT is the name below of what is spoilt. Test programs
 * are linked so that their calls of the public functions come by here (--wrap in
 * tests/CMakeLists.txt); support code that calls kernels spoils what it hands out itself.
 * The product knows nothing of this. tests/meta/planted.sh runs the programs.
 *
 *   pixel     images of nb_forward(), nb_forward_batch() and of kernels
 *   jacobian  images of nb_jvp() and of kernels
 *   gradient  of nb_vjp(), nb_loss(), nb_jtj() and of kernels
 *   matrix, diagonal, coupling   of nb_loss(), nb_jtj() and of kernels
 *   factors   cotangents of structure factors by kernels
 *   loss      the value of nb_loss() and of kernels
 *   trace     numbers of nb_trace_pixel(), a different one in each call
 *   geometry  numbers of nb_describe(), nb_source_at(), nb_orientation_at(): each of them
 *
 * Every call is spoilt, each in another place or by another amount, so that two results
 * that are compared with one another never agree on it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_PLANT_H
#define NB_TESTS_PLANT_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

/* Spoils one of n numbers when `result` is what the environment asks for. */
void plant_numbers(const char *result, double *numbers, size_t n);

/* the same of an image of the host */
void plant_array(const char *result, nb_array *a);

#endif
