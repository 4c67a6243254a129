/*
 * truth.h - the image of a small scene and its derivatives, once more: the formulas of
 * docs/theory.md and docs/conventions.md written as they stand with the numbers of dual.h.
 * Nothing is shared with the library but its public headers.
 *
 * Counts, defaults and the vectors of the scene are taken from nb_simulator_resolved() and
 * nb_simulator_describe(); no quirks, no point spread, no table of amorphous scattering.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ORACLE_TRUTH_H
#define NB_TESTS_ORACLE_TRUTH_H

#include <nanobrag/nanobrag.h>

#include "oracle/dual.h"

/* the numbers of a scene, in its units */
struct truth_numbers {
    struct dual cell[6], matrix[9], misset[3], ncells[3], mosaic, fudge, b_factor, scale;
    struct dual default_f;
    struct dual origin[3], distance, close_distance, pixel, rotation[3], twotheta;
    struct dual thickness, attenuation;
    struct dual wavelength, fluence, polarization, dispersion, divergence[2];
    struct dual phi0, osc, water, density, molecular_weight;
    struct dual beam[3], polarization_axis[3], spindle[3]; /* any length */
    struct dual rotation_vector[3]; /* of the crystal, after its misset */
    struct dual ncells_off[3]; /* ab, ac, bc */
    struct dual mosaic_axes[3]; /* spread about a, c* x a, c* */
    struct dual mosaic_off[3]; /* ab, ac, bc */
    struct dual drift[3];
};

struct truth_detector {
    struct dual_vec fast, slow, normal, corner; /* mm */
    struct dual close, distance;
};

struct truth_source {
    struct dual_vec direction; /* of length 1 */
    struct dual_vec magnetic, electric; /* axes of polarization, of length 1 */
    struct dual wavelength, weight;
};

struct truth {
    nb_scene scene; /* resolved; hkl is that of the original */
    nb_description counts;
    nb_simulator *sim; /* whose free parameters are seeded */
    struct truth_numbers x;
    struct dual_vec star[3]; /* after misset */
    struct dual_vec *axes; /* a, b, c of each orientation (norientation x 3) */
    struct dual *share; /* of each orientation, 1 on average (norientation) */
    int norientation, nsource;
    struct truth_source *source;
    struct truth_detector detector; /* one rectangle, or the panel at hand */
    struct truth_detector *panel; /* (npanel), NULL for one rectangle */
    struct truth *at_panel; /* the same truth, for the panel at hand */
};

/* Whether the registry's name is one of truth_numbers or of a list that is known. */
int truth_knows(const char *name);

/* A scene with the free parameters of `sim` seeded in their order, at the scene's values.
 * Ends the program on failure. */
struct truth *truth_create(const nb_scene *scene, nb_simulator *sim);
void truth_free(struct truth *truth);

/* Photons in a pixel. */
struct dual truth_pixel(const struct truth *truth, int slow, int fast);

/* parts of truth_create() */
void truth_crystal(struct truth *truth);
void truth_beam(struct truth *truth);
void truth_detector(struct truth *truth);
void truth_panels(struct truth *truth);

/* Edge of a pixel of panel i, mm. */
struct dual truth_panel_pixel(const struct truth *truth, int i);

/* The vectors of a convention, by docs/conventions.md: those that the scene leaves at 0. */
enum truth_vector {
    TRUTH_BEAM,
    TRUTH_FAST,
    TRUTH_SLOW,
    TRUTH_NORMAL,
    TRUTH_TWOTHETA,
    TRUTH_POLARIZATION,
    TRUTH_SPINDLE
};
struct dual_vec truth_vector(const struct truth *truth, enum truth_vector which);

/* Member `name` of a list, seeded if it is free, else `value`. */
struct dual truth_listed(const struct truth *truth, const char *name, double value);

#endif
