/*
 * nanobrag.h - the whole of libnanobrag.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_NANOBRAG_H
#define NANOBRAG_NANOBRAG_H

#include <nanobrag/array.h>
#include <nanobrag/compile.h>
#include <nanobrag/context.h>
#include <nanobrag/gradcheck.h>
#include <nanobrag/image.h>
#include <nanobrag/io.h>
#include <nanobrag/params.h>
#include <nanobrag/scene.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

/* "0.1.0". */
NB_API const char *nb_version(void);

/* What this build can do, one line: "openmp fftw png". */
NB_API const char *nb_features(void);

NB_END_DECLS

#endif
