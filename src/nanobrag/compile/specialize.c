/*
 * specialize.c - finds the variant of the kernels (struct phys_spec) that a scene needs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <nanobrag/io.h>

#include "compile/policy.h"

/* Returns 1 if the box of reflections has at least five indices along each axis. Tricubic
 * interpolation needs them: four nodes and a neighbour. */
static int is_wide(const nb_hkl *hkl)
{
    nb_hkl_info info;

    nb_hkl_info_get(hkl, &info);
    for (int i = 0; i < 3; i++)
        if (info.max[i] - info.min[i] < 4) return 0;
    return 1;
}

struct phys_spec specialize_scene(const nb_scene *scene)
{
    static const int shape[] = {
        [NB_SHAPE_SQUARE] = PHYS_SQUARE,    [NB_SHAPE_ROUND] = PHYS_ROUND,
        [NB_SHAPE_GAUSS] = PHYS_GAUSS,      [NB_SHAPE_TOPHAT] = PHYS_TOPHAT,
        [NB_SHAPE_GAUSS_STAR] = PHYS_GAUSS,
    };
    const nb_crystal *c = &scene->crystal;
    struct phys_spec spec;

    spec.shape = shape[c->shape];
    spec.inside = spec.single_orientation = 0;
    spec.lookup = PHYS_CONSTANT;
    if (c->hkl)
        spec.lookup = c->interpolate == NB_LOOKUP_TRICUBIC && is_wide(c->hkl)
                          ? PHYS_TRICUBIC
                          : PHYS_NEAREST;
    return spec;
}
