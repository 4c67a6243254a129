/*
 * scenes.h - named scenes that together use every feature of the simulator, shared by the
 * tests of kernels, of the public interface and of gradients.
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

/* Returns the base scene: a small triclinic crystal, a tilted detector of 40 x 37 pixels,
 * two phi steps, six mosaic domains, no quirks. */
nb_scene scenes_base(void);

/* Returns the base scene after one of the changes. */
nb_scene scenes_make(const struct named_scene *named);

/* Write the parameters that a row of the registry stands for in a scene; of a list at most
 * `most`, spread over it. Returns how many, or 0 if the row does not apply. */
size_t scenes_parameters(nb_context *ctx, const nb_scene *scene, int row, nb_param *out,
                         size_t most);

/* Returns reflections with -8 <= h, k, l <= 8, some of them missing; they are made once per
 * process and never freed. */
const nb_hkl *scenes_reflections(void);

#endif
