/*
 * nanobrag.h - includes every public header of libnanobrag.
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
