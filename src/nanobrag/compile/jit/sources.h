/*
 * sources.h - the kernels' texts and the headers they include, as they were when the
 * library was built: what NVRTC compiles where there is no source tree.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_SOURCES_H
#define NB_COMPILE_JIT_SOURCES_H

#include <stddef.h>

struct source {
    const char *name; /* as it is included: "physics/vec3.h" */
    const char *text; /* a NUL follows it */
    size_t size; /* without that */
};

/* All of them, made by cmake/embed.cmake; no two have the same name behind the folder. */
extern const struct source sources[];
extern const size_t sources_count;

/* NULL: there is none of this name. */
const struct source *sources_find(const char *name);

/* The name without its folder, by which files of the same folder include it. */
const char *sources_short_name(const struct source *source);

#endif
