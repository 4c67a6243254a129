/*
 * nanobrag.h - includes every public header of libnanobrag, except mpi.h.
 *
 *   static float photons[1024 * 1024];
 *   nb_array image = nb_array_f32(photons, 1024, 1024);
 *
 *   scene.crystal.cell[0] = 70, scene.crystal.cell[1] = 80, scene.crystal.cell[2] = 90;
 *   scene.crystal.default_f = 100;
 *   if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return;
 *   if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK
 *       || nb_forward(sim, NULL, &image) != NB_OK)
 *       puts(nb_context_message(ctx));
 *   nb_simulator_free(sim);
 *   nb_context_free(ctx);
 *
 * Read these headers first: scene.h (describe an experiment), simulator.h (images and
 * derivatives) and fit.h (fits). `nb_scene scene = {0};` gives every member its default.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_NANOBRAG_H
#define NANOBRAG_NANOBRAG_H

#include <nanobrag/array.h>
#include <nanobrag/compile.h>
#include <nanobrag/context.h>
#include <nanobrag/description.h>
#include <nanobrag/experiment.h>
#include <nanobrag/fit.h>
#include <nanobrag/formats.h>
#include <nanobrag/geometry.h>
#include <nanobrag/gradcheck.h>
#include <nanobrag/image.h>
#include <nanobrag/io.h>
#include <nanobrag/params.h>
#include <nanobrag/reflections.h>
#include <nanobrag/scene.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>
#include <nanobrag/structure.h>

NB_BEGIN_DECLS

/* The version of the library, such as "0.1.0"; a static string. */
NB_API const char *nb_version(void);

/* The optional parts of this build as words on one line, such as "openmp fftw png double
 * single"; a static string. */
NB_API const char *nb_features(void);

NB_END_DECLS

#endif
