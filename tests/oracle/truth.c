/* truth.c - see truth.h: the numbers of a scene. SPDX-License-Identifier: MIT */
#include "oracle/truth.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

static const struct place {
    const char *name;
    size_t dual, member; /* in truth_numbers, in nb_scene */
} places[] = {
#define PLACE(name, ours, theirs)                                                          \
    {                                                                                      \
        name, offsetof(struct truth_numbers, ours), offsetof(nb_scene, theirs)             \
    }
    PLACE("cell_a", cell[0], crystal.cell[0]),
    PLACE("cell_b", cell[1], crystal.cell[1]),
    PLACE("cell_c", cell[2], crystal.cell[2]),
    PLACE("cell_alpha", cell[3], crystal.cell[3]),
    PLACE("cell_beta", cell[4], crystal.cell[4]),
    PLACE("cell_gamma", cell[5], crystal.cell[5]),
    PLACE("a_star_x", matrix[0], crystal.matrix[0]),
    PLACE("b_star_x", matrix[1], crystal.matrix[1]),
    PLACE("c_star_x", matrix[2], crystal.matrix[2]),
    PLACE("a_star_y", matrix[3], crystal.matrix[3]),
    PLACE("b_star_y", matrix[4], crystal.matrix[4]),
    PLACE("c_star_y", matrix[5], crystal.matrix[5]),
    PLACE("a_star_z", matrix[6], crystal.matrix[6]),
    PLACE("b_star_z", matrix[7], crystal.matrix[7]),
    PLACE("c_star_z", matrix[8], crystal.matrix[8]),
    PLACE("misset_x", misset[0], crystal.misset[0]),
    PLACE("misset_y", misset[1], crystal.misset[1]),
    PLACE("misset_z", misset[2], crystal.misset[2]),
    PLACE("ncells_a", ncells[0], crystal.ncells[0]),
    PLACE("ncells_b", ncells[1], crystal.ncells[1]),
    PLACE("ncells_c", ncells[2], crystal.ncells[2]),
    PLACE("mosaic", mosaic, crystal.mosaic[0]),
    PLACE("mosaic_a", mosaic_axes[0], crystal.mosaic[0]),
    PLACE("mosaic_b", mosaic_axes[1], crystal.mosaic[1]),
    PLACE("mosaic_c", mosaic_axes[2], crystal.mosaic[2]),
    PLACE("mosaic_ab", mosaic_off[0], crystal.mosaic_off[0]),
    PLACE("mosaic_ac", mosaic_off[1], crystal.mosaic_off[1]),
    PLACE("mosaic_bc", mosaic_off[2], crystal.mosaic_off[2]),
    PLACE("rotation_drift_x", drift[0], scan.drift[0]),
    PLACE("rotation_drift_y", drift[1], scan.drift[1]),
    PLACE("rotation_drift_z", drift[2], scan.drift[2]),
    PLACE("ncells_ab", ncells_off[0], crystal.ncells_off[0]),
    PLACE("ncells_ac", ncells_off[1], crystal.ncells_off[1]),
    PLACE("ncells_bc", ncells_off[2], crystal.ncells_off[2]),
    PLACE("fudge", fudge, crystal.fudge),
    PLACE("b_factor", b_factor, crystal.b_factor),
    PLACE("scale", scale, crystal.scale),
    PLACE("default_f", default_f, crystal.default_f),
    PLACE("origin_x", origin[0], detector.origin[0]),
    PLACE("origin_y", origin[1], detector.origin[1]),
    PLACE("origin_z", origin[2], detector.origin[2]),
    PLACE("distance", distance, detector.distance),
    PLACE("close_distance", close_distance, detector.close_distance),
    PLACE("pixel", pixel, detector.pixel),
    PLACE("detector_rotx", rotation[0], detector.rotation[0]),
    PLACE("detector_roty", rotation[1], detector.rotation[1]),
    PLACE("detector_rotz", rotation[2], detector.rotation[2]),
    PLACE("twotheta", twotheta, detector.twotheta),
    PLACE("thickness", thickness, detector.thickness),
    PLACE("attenuation", attenuation, detector.attenuation),
    PLACE("wavelength", wavelength, beam.wavelength),
    PLACE("fluence", fluence, beam.fluence),
    PLACE("polarization", polarization, beam.polarization),
    PLACE("dispersion", dispersion, beam.dispersion),
    PLACE("hdivrange", divergence[0], beam.divergence[0]),
    PLACE("vdivrange", divergence[1], beam.divergence[1]),
    PLACE("phi0", phi0, scan.phi0),
    PLACE("osc", osc, scan.osc),
    PLACE("water", water, background.water),
    PLACE("density", density, background.density),
    PLACE("molecular_weight", molecular_weight, background.molecular_weight),
    PLACE("beam_x", beam[0], beam.direction[0]),
    PLACE("beam_y", beam[1], beam.direction[1]),
    PLACE("beam_z", beam[2], beam.direction[2]),
    PLACE("polarization_x", polarization_axis[0], beam.polarization_axis[0]),
    PLACE("polarization_y", polarization_axis[1], beam.polarization_axis[1]),
    PLACE("polarization_z", polarization_axis[2], beam.polarization_axis[2]),
    PLACE("spindle_x", spindle[0], scan.axis[0]),
    PLACE("spindle_y", spindle[1], scan.axis[1]),
    PLACE("spindle_z", spindle[2], scan.axis[2]),
#undef PLACE
};

enum { PLACES = sizeof places / sizeof *places };

/* names before a bracket */
static const char *const lists[] = {"source_x",
                                    "source_y",
                                    "source_z",
                                    "source_weight",
                                    "domain_weight",
                                    "source_wavelength",
                                    "F",
                                    "panel_shift_fast",
                                    "panel_shift_slow",
                                    "panel_shift_normal",
                                    "panel_rot_fast",
                                    "panel_rot_slow",
                                    "panel_rot_normal",
                                    "group_shift_fast",
                                    "group_shift_slow",
                                    "group_shift_normal",
                                    "group_rot_fast",
                                    "group_rot_slow",
                                    "group_rot_normal"};
static const char *const rotation_vector[] = {"rotation_x", "rotation_y", "rotation_z"};

int truth_knows(const char *name)
{
    const size_t length = strcspn(name, "[");

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (name[length] && strlen(lists[i]) == length
            && strncmp(lists[i], name, length) == 0)
            return 1;
    for (int i = 0; i < 3; i++)
        if (strcmp(rotation_vector[i], name) == 0) return 1;
    for (int i = 0; i < PLACES; i++)
        if (strcmp(places[i].name, name) == 0) return 1;
    return 0;
}

/* which free parameter has this name, or -1 */
static int seed_of(nb_simulator *sim, const char *name, double *value)
{
    for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
        nb_param param;

        if (nb_simulator_param(sim, i, &param) != NB_OK) abort();
        if (strcmp(param.name, name) != 0) continue;
        *value = param.value;
        return (int)i;
    }
    return -1;
}

struct dual truth_listed(const struct truth *t, const char *name, double value)
{
    const int seed = seed_of(t->sim, name, &value);

    return dual_seed(value, seed);
}

struct truth *truth_create(const nb_scene *scene, nb_simulator *sim)
{
    struct truth *t = calloc(1, sizeof *t);

    if (!t || nb_simulator_resolved(sim, NULL, &t->scene) != NB_OK
        || nb_simulator_describe(sim, NULL, &t->counts) != NB_OK
        || nb_simulator_nparam(sim) > DUAL_MOST)
        abort();
    t->scene.crystal.hkl = scene->crystal.hkl;
    t->sim = sim;
    dual_carry((int)nb_simulator_nparam(sim));
    for (int i = 0; i < PLACES; i++) {
        double value;

        memcpy(&value, (const char *)&t->scene + places[i].member, sizeof value);
        *(struct dual *)(void *)((char *)&t->x + places[i].dual) =
            truth_listed(t, places[i].name, value);
    }
    for (int i = 0; i < 3; i++)
        t->x.rotation_vector[i] = truth_listed(t, rotation_vector[i], 0);
    truth_crystal(t);
    truth_beam(t);
    if (t->scene.detector.npanel > 0)
        truth_panels(t);
    else
        truth_detector(t);
    return t;
}

void truth_free(struct truth *t)
{
    free(t->axes);
    free(t->share);
    free(t->source);
    free(t->panel);
    free(t->at_panel);
    free(t);
}

struct dual_vec truth_vector(const struct truth *t, enum truth_vector which)
{
    static const double table[][7][3] = {
        [NB_CONVENTION_MOSFLM] =
            {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0}, {0, 0, -1}, {0, 0, 1}, {0, 0, 1}},
        [NB_CONVENTION_DENZO] =
            {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0}, {0, 0, -1}, {0, 0, 1}, {0, 0, 1}},
        [NB_CONVENTION_ADXV] =
            {{0, 0, 1}, {1, 0, 0}, {0, -1, 0}, {0, 0, 1}, {-1, 0, 0}, {1, 0, 0}, {1, 0, 0}},
        [NB_CONVENTION_XDS] =
            {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}},
        [NB_CONVENTION_DIALS] =
            {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 0}, {0, 1, 0}},
        [NB_CONVENTION_CUSTOM] =
            {{1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 1}},
    };
    const nb_scene *scene = &t->scene;
    const struct dual *from = t->x.beam;
    struct dual_vec given;

    if (which == TRUTH_POLARIZATION) from = t->x.polarization_axis;
    if (which == TRUTH_SPINDLE) from = t->x.spindle;
    for (int i = 0; i < 3; i++) given.at[i] = from[i];
    if (which >= TRUTH_FAST && which <= TRUTH_TWOTHETA)
        given = vec_of(scene->detector.vectors[which - TRUTH_FAST]);
    if (given.at[0].v == 0 && given.at[1].v == 0 && given.at[2].v == 0)
        given = vec_of(table[scene->detector.convention][which]);
    return vec_unit(given);
}
