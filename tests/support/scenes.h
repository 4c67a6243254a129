/*
 * scenes.h - named scenes that together use every feature of the simulator; shared by the
 * tests of kernels, of the interface and of gradients.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_SCENES_H
#define NB_TESTS_SCENES_H

#include <nanobrag/nanobrag.h>

struct named_scene {
    const char *name;
    void (*change)(nb_scene *scene); /* applied to scenes_base() */
};

extern const struct named_scene scenes_list[];
extern const size_t scenes_count;

/* A small triclinic crystal on a tilted 40 x 37 pixel detector, two phi steps, six mosaic
 * domains, quirk free. */
nb_scene scenes_base(void);

/* The base scene after one of the changes. */
nb_scene scenes_make(const struct named_scene *named);

/* The parameters that a row of the registry stands for in a scene, at most `most` of a list
 * and spread over it. Returns how many; 0 where the row does not apply. */
size_t scenes_parameters(nb_context *ctx, const nb_scene *scene, int row, nb_param *out,
                         size_t most);

/* Reflections with -8 <= h, k, l <= 8, some of them left out; made once per process and
 * never freed. */
const nb_hkl *scenes_reflections(void);

#endif
