/*
 * scenes.h - small scenes that between them use every formula, at ordinary and at
 * degenerate points. SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ORACLE_SCENES_H
#define NB_TESTS_ORACLE_SCENES_H

#include <nanobrag/nanobrag.h>

/* X(name): the scenes; each has a function oracle_scene_<name> that changes the base */
#define ORACLE_SCENES(X)                                                                   \
    X(base)                                                                                \
    X(real_cells)                                                                          \
    X(one_cell)                                                                            \
    X(nearest)                                                                             \
    X(tricubic)                                                                            \
    X(round_ball)                                                                          \
    X(round_tricubic)                                                                      \
    X(wide_balls)                                                                          \
    X(gauss)                                                                               \
    X(gauss_star)                                                                          \
    X(tophat)                                                                              \
    X(layers)                                                                              \
    X(each_sample)                                                                         \
    X(curved)                                                                              \
    X(point_pixel)                                                                         \
    X(curved_point)                                                                        \
    X(grid_of_sources)                                                                     \
    X(divergence_step)                                                                     \
    X(list_of_sources)                                                                     \
    X(water)                                                                               \
    X(displacement)                                                                        \
    X(matrix)                                                                              \
    X(matrix_and_cell)                                                                     \
    X(left_handed)                                                                         \
    X(left_handed_cell)                                                                    \
    X(xds)                                                                                 \
    X(xds_beam)                                                                            \
    X(dials)                                                                               \
    X(adxv)                                                                                \
    X(denzo)                                                                               \
    X(mosflm_sample)                                                                       \
    X(mosflm_near)                                                                         \
    X(custom)                                                                              \
    X(corner_given)                                                                        \
    X(close_given)                                                                         \
    X(right_angles)                                                                        \
    X(lattice_points)                                                                      \
    X(forward)                                                                             \
    X(no_mosaic)                                                                           \
    X(sheared)                                                                             \
    X(anisotropic)                                                                         \
    X(still)

#define ORACLE_DECLARE(name) void oracle_scene_##name(nb_scene *scene);
ORACLE_SCENES(ORACLE_DECLARE)
#undef ORACLE_DECLARE

/* What they change: a triclinic crystal on a tilted detector of 8 x 8 pixels, 17 mm wide,
 * two phi steps, three mosaic domains. */
nb_scene oracle_scene_start(void);

#endif
