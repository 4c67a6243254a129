/*
 * gradients.h - what the parts of test_gradients share: a tally of slopes, and the cases
 * that its table names.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_GRADIENTS_H
#define NB_TESTS_GRADIENTS_H

#include <stdint.h>

#include "physics/phys.h"
#include "support/ladder.h"
#include "support/tap.h"
#include "support/worst.h"

#define LENGTH(list) (sizeof(list) / sizeof *(list))

/* the slopes of one case */
struct tally {
    int checks, failures;
    double steepest; /* largest slope over its scale */
    double worst; /* largest difference over what is allowed */
    double bar; /* largest bar over its scale */
};

void tally_slope(struct tally *tally, const char *what, const struct ladder *ladder,
                 double slope);

/* The checks of a case: none failed, and the slopes were not all 0. Returns TAP_PASS. */
int tally_finish(const struct tally *tally);

/* Reproducible numbers in [0, 1). */
double random_number(uint64_t *state);

/* ladder.c: the instrument itself */
int ladder_known_slopes(void);
int ladder_wrong_slopes(void);
int ladder_staircase(void);
int ladder_noise(void);
int ladder_kinks(void);

/* values.c: values against closed forms */
int values_sinpi(void);
int values_sinpi_slope(void);
int values_exp(void);
int values_sphere(void);
int values_slit(void);
int values_slit_slope(void);
int values_tricubic(void);

/* primitives.c */
int slit_peak(void);
int slit_zeros(void);
int slit_between(void);
int sphere_series(void);
int sphere_switch(void);
int sphere_far(void);
int profile_round(void);
int profile_gauss(void);
int profile_tophat(void);

/* factors.c */
int factor_solid_angle(void);
int factor_capture(void);
int factor_polarization(void);
int crystal_square(void);
int crystal_round(void);
int crystal_gauss(void);

/* frame.c */
int frame_tangents(void);
int continuous_tangents(void);

/* scenes.c: what the scenes of modes.def cover, and a fast and a full case of each */
int modes_pairs(void);
int coverage_complete(void);
int coverage_modes(void);
#define MODES(name, ...)                                                                   \
    int scene_##name##_fast(void);                                                         \
    int scene_##name##_full(void);
#include "gradients/modes.def"
#undef MODES

/* continuous.c */
#define CONTINUOUS_LIST(X)                                                                 \
    X(still)                                                                               \
    X(axes)                                                                                \
    X(tensor)                                                                              \
    X(rotation)                                                                            \
    X(slices)                                                                              \
    X(wide_rotation)                                                                       \
    X(dmin)                                                                                \
    X(beam)                                                                                \
    X(wide_beam)                                                                           \
    X(wide_beam_rotation)                                                                  \
    X(large_crystal)                                                                       \
    X(all)                                                                                 \
    X(spectrum)                                                                            \
    X(spectrum_rotation)                                                                   \
    X(panels)                                                                              \
    X(lattices)                                                                            \
    X(spread)
#define CONTINUOUS(name) int continuous_##name(void);
CONTINUOUS_LIST(CONTINUOUS)
#undef CONTINUOUS

/* points.c */
int base_full(void);
int base_figures(void);
int float_gradients(void);
#define POINT_LIST(X)                                                                      \
    X(forward_scattering)                                                                  \
    X(lattice_points)                                                                      \
    X(right_angles)                                                                        \
    X(no_mosaic)                                                                           \
    X(one_cell)                                                                            \
    X(no_rotations)                                                                        \
    X(unpolarised)                                                                         \
    X(unpolarised_light)                                                                   \
    X(one_source)                                                                          \
    X(further_lattices)                                                                    \
    X(no_spread)                                                                           \
    X(some_water)                                                                          \
    X(point_spread)                                                                        \
    X(fibre)                                                                               \
    X(painted)                                                                             \
    X(painted_list)                                                                        \
    X(painted_round)                                                                       \
    X(painted_tophat)                                                                      \
    X(painted_star)
#define POINT(name) int point_##name(void);
POINT_LIST(POINT)
#undef POINT

/* verdicts.c: the harness itself */
int verdict_vacuous(void);
int verdict_staircase(void);
int verdict_rounding(void);
int verdict_mask(void);
int verdict_replay(void);
int verdict_stopped(void);
int replay_threads(void);
int cotangents(void);
int guard(void);
int donated(void);
int refused(void);
int hints(void);
int report_is_json(void);

/* wrong.c: derivatives that are wrong on purpose */
int verdict_dot(void);
int verdict_rate(void);
int verdict_structural_zero(void);

/* step.c */
int lattice_square(void);
int lattice_real_cells(void);
int lattice_round(void);
int lattice_gauss(void);
int tricubic_inside(void);
int tricubic_at_integers(void);
int tricubic_outside(void);
int step_square_constant(void);
int step_square_nearest(void);
int step_square_tricubic(void);
int step_round_constant(void);
int step_round_nearest(void);
int step_round_tricubic(void);
int step_gauss_constant(void);
int step_gauss_nearest(void);
int step_gauss_tricubic(void);
int step_tophat_tricubic(void);
int step_tophat_flat(void);
int step_along_q(void);

#endif
