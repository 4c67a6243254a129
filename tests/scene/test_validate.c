/*
 * test_validate.c - invalid scenes: every number out of its range, lists with gaps, members
 * that contradict each other, and features that this version lacks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "scene/scene.h"
#include "support/files.h"
#include "support/scenes.h"

static void refuse(const nb_scene *scene, nb_status expected, const char *part,
                   const char *other)
{
    nb_simulator *sim = NULL;

    check_refused(nb_simulator_create(ctx, scene, NULL, NULL, &sim), expected, part, other);
    nb_simulator_free(sim);
}

/* ---- ranges: the documented ones, said again ---- */
static const struct number {
    const char *name;
    size_t offset;
    int first, count;
    double lower, upper;
} numbers[] = {
#define NUMBER(member, first, count, lower, upper)                                         \
    {#member, offsetof(nb_scene, member) + (first) * sizeof(double), first, count, lower,  \
     upper},
#include "scene/scene_numbers.def"
#undef NUMBER
};

static double *number_of(nb_scene *scene, const struct number *n, int i)
{
    return (double *)(void *)((char *)scene + n->offset) + i;
}

/* The name of a number as messages write it: "crystal.cell[5]" or "dmin". */
static const char *member_of(const struct number *n, int i)
{
    static char name[64];

    if (n->count > 1 || n->first > 0)
        (void)snprintf(name, sizeof name, "%s[%d]", n->name, n->first + i);
    else
        (void)snprintf(name, sizeof name, "%s", n->name);
    return name;
}

static int numbers_out_of_range(void)
{
    for (size_t k = 0; k < COUNT(numbers); k++) {
        const struct number *n = numbers + k;
        const double below = n->lower < 0 ? 1.001 * n->lower : -1e-9;
        const double bad[] = {NAN, -HUGE_VAL, below,
                              n->upper < HUGE_VAL ? 1.001 * n->upper : NAN,
                              n->upper < HUGE_VAL ? HUGE_VAL : NAN};

        for (size_t b = 0; b < COUNT(bad); b++) {
            nb_scene scene = scenes_base();

            /* the last of a vector, the others are in range */
            *number_of(&scene, n, n->count - 1) = bad[b];
            refuse(&scene, NB_ERR_ARGUMENT, member_of(n, n->count - 1), "expected");
        }
    }
    return TAP_PASS;
}

static int every_component(void)
{
    for (size_t k = 0; k < COUNT(numbers); k++)
        for (int i = 0; i < numbers[k].count; i++) {
            nb_scene scene = scenes_base();

            *number_of(&scene, numbers + k, i) = NAN;
            refuse(&scene, NB_ERR_ARGUMENT, member_of(numbers + k, i), "nan");
        }
    return TAP_PASS;
}

/* What a beamline scientist reads: the option as it was typed, and the name of the number.
 * Sizes that no detector or molecule has, and that are no default, are refused too. */
static int what_is_said(void)
{
    static const struct {
        size_t offset;
        double value;
        const char *message;
    } cases[] = {
        {offsetof(nb_scene, crystal.cell[5]), 200,
         "-cell: gamma is 200, expected between 0 and 180 (crystal.cell[5])"},
        {offsetof(nb_scene, crystal.cell[2]), -7,
         "-cell: c is -7, expected between 0 and 1e+06 (crystal.cell[2])"},
        {offsetof(nb_scene, crystal.scale), -1, "crystal.scale is -1, expected between 0"},
        {offsetof(nb_scene, detector.attenuation), -1,
         "-detector_abs is -1, expected 0 or more (detector.attenuation)"},
        {offsetof(nb_scene, detector.pixel), 1e-308,
         "-pixel is 1e-308, expected at least 1e-06 (detector.pixel)"},
        {offsetof(nb_scene, background.molecular_weight), 1e-308,
         "-MW is 1e-308, expected at least 0.001"},
        {offsetof(nb_scene, beam.wavelength), 1e-9,
         "-lambda or -energy is 1e-09, expected "},
        {offsetof(nb_scene, detector.vectors[3][2]), NAN, "_axis: number 12 is nan"},
        {offsetof(nb_scene, crystal.cell[0]), 0, "-cell: a is 0, expected more than 0"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        nb_scene scene = scenes_base();

        *(double *)(void *)((char *)&scene + cases[i].offset) = cases[i].value;
        refuse(&scene, cases[i].value == 0 ? NB_ERR_UNIT_CELL : NB_ERR_ARGUMENT,
               cases[i].message, "expected");
    }
    return TAP_PASS;
}

static const struct count {
    const char *name;
    size_t offset;
    int lower, upper;
} counts[] = {
#define INTEGER(member, lower, upper) {#member, offsetof(nb_scene, member), lower, upper},
#include "scene/scene_numbers.def"
#undef INTEGER
};

static int counts_out_of_range(void)
{
    for (size_t k = 0; k < COUNT(counts); k++)
        for (int above = 0; above < 2; above++) {
            const struct count *c = counts + k;
            nb_scene scene = scenes_base();

            *(int *)(void *)((char *)&scene + c->offset) =
                above ? c->upper + 1 : c->lower - 1;
            refuse(&scene, NB_ERR_ARGUMENT, c->name, "expected");
        }
    return TAP_PASS;
}

/* what is just allowed passes, or is refused for another reason */
static int ends_of_ranges(void)
{
    static const nb_source source[1] = {{{1, 0, 0}, 1, 1}};

    for (size_t k = 0; k < COUNT(numbers); k++)
        for (int above = 0; above < 2; above++) {
            nb_scene scene = scenes_base();
            const double end = above ? numbers[k].upper : numbers[k].lower;

            *number_of(&scene, numbers + k, 0) = end;
            if (strncmp(numbers[k].name, "psf", 3) == 0) scene.psf.kind = NB_PSF_GAUSS;
            tap_check(scene_validate(ctx, &scene) != NB_ERR_ARGUMENT, "%s may be %g",
                      numbers[k].name, end);
        }
    for (size_t k = 0; k < COUNT(counts); k++)
        for (int above = 0; above < 2; above++) {
            nb_scene scene = scenes_base();
            const int end = above ? counts[k].upper : counts[k].lower;

            *(int *)(void *)((char *)&scene + counts[k].offset) = end;
            scene.beam.source = source;
            if (scene.beam.nsource > 1) scene.beam.nsource = 1;
            tap_check(scene_validate(ctx, &scene) != NB_ERR_ARGUMENT, "%s may be %d",
                      counts[k].name, end);
        }
    return TAP_PASS;
}

/* ---- the rest: a change of the base scene, and what is said about it ---- */
#define CHANGE(name, statements)                                                           \
    static void name(nb_scene *s)                                                          \
    {                                                                                      \
        statements;                                                                        \
    }

static nb_source sources[2];
static double table[10];

static void set_sources(nb_scene *s)
{
    sources[0] = sources[1] = (nb_source){{1, 0, 0}, 1, 1};
    s->beam.source = sources;
    s->beam.nsource = 2;
}

static void set_table(nb_scene *s)
{
    for (int i = 0; i < 10; i++) table[i] = i;
    s->background.water = 10;
    s->background.stol = table;
    s->background.nstol = 5;
}

CHANGE(no_sources, s->beam.nsource = 2)
CHANGE(source_nan, set_sources(s); sources[1].weight = NAN)
CHANGE(source_infinite, set_sources(s); sources[0].direction[2] = HUGE_VAL)
CHANGE(no_table, s->background.nstol = 5)
CHANGE(long_table, set_table(s); s->background.nstol = 1000001)
CHANGE(table_nan, set_table(s); table[7] = NAN)
CHANGE(kahn, s->beam.polarization = 1.5)
CHANGE(many_pixels, s->detector.nslow = s->detector.nfast = 1000000)

CHANGE(panels, s->detector.npanel = 2)
CHANGE(negative_panels, s->detector.npanel = -1)
CHANGE(sheared, s->crystal.ncells_off[2] = 0.1)
CHANGE(sheared_nan, s->crystal.ncells_off[0] = NAN)
CHANGE(sheared_too_far,
       (s->crystal.shape = NB_SHAPE_GAUSS, s->crystal.ncells_off[0] = 5.01))
CHANGE(anisotropic_nan, s->crystal.mosaic[2] = NAN)

CHANGE(no_cell, memset(s->crystal.cell, 0, sizeof s->crystal.cell))
CHANGE(flat_cell, s->crystal.cell[5] = 177)
CHANGE(parallel, s->crystal.matrix[0] = s->crystal.matrix[1] = 1)
CHANGE(in_a_plane, no_cell(s); s->crystal.matrix[0] = s->crystal.matrix[4] = 0.1)

CHANGE(two_origins, s->detector.origin_kind = NB_ORIGIN_BEAM;
       s->detector.also_kind = NB_ORIGIN_NEAR; s->detector.also[0] = 3)
CHANGE(pix0_and_beam, s->detector.origin_kind = NB_ORIGIN_PIX0;
       s->detector.also_kind = NB_ORIGIN_BEAM)
CHANGE(behind, s->detector.twotheta = 150)
CHANGE(source_nowhere, set_sources(s); sources[1].direction[0] = 0)
CHANGE(source_dark, set_sources(s); sources[1].wavelength = 0)
CHANGE(source_negative, set_sources(s); sources[1].weight = -1)
CHANGE(source_weights, set_sources(s); sources[0].weight = sources[1].weight = 0)
CHANGE(many_sources, s->beam.ndivergence[0] = s->beam.ndivergence[1] = 100000;
       s->beam.divergence[0] = s->beam.divergence[1] = 1)
CHANGE(dispersion, s->beam.dispersion = 2; s->beam.ndispersion = 3)
CHANGE(no_range, s->beam.ndivergence[0] = 3)
CHANGE(step_and_count, s->beam.ndivergence[1] = 3; s->beam.divergence[1] = 10;
       s->beam.divergence_step[1] = 1)
CHANGE(no_depth, s->detector.thickness = 100)
CHANGE(no_spread, s->crystal.mosaic[0] = 0)
CHANGE(no_oscillation, s->scan.osc = 0)
CHANGE(phi_three_ways, s->scan.step = 0.1)
CHANGE(many_orientations, s->scan.nphi = s->crystal.ndomains = 20000)
CHANGE(dry_table, set_table(s); s->background.water = 0)
CHANGE(short_table, set_table(s); s->background.nstol = 3)
CHANGE(falling_table, set_table(s); table[4] = 1)
CHANGE(psf_without_width, s->psf.kind = NB_PSF_FIBER)
CHANGE(psf_without_kind, s->psf.fwhm = 0.1)
CHANGE(psf_radius_alone, s->psf.radius = 3)

struct refusal {
    void (*change)(nb_scene *scene);
    nb_status expected;
    const char *part, *other;
};

static void refuse_each(const struct refusal *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        nb_scene scene = scenes_base();

        list[i].change(&scene);
        refuse(&scene, list[i].expected, list[i].part, list[i].other);
    }
}

static int lists_and_limits(void)
{
    static const struct refusal list[] = {
        {no_sources, NB_ERR_ARGUMENT, "beam.source", "NULL"},
        {source_nan, NB_ERR_ARGUMENT, "source 2", "finite"},
        {source_infinite, NB_ERR_ARGUMENT, "source 1", "finite"},
        {no_table, NB_ERR_ARGUMENT, "background.stol", "NULL"},
        {long_table, NB_ERR_ARGUMENT, "background.nstol", "1000001"},
        {table_nan, NB_ERR_ARGUMENT, "row 4", "background.stol"},
        {kahn, NB_ERR_ARGUMENT, "1.5", "-1 to 1"},
        {many_pixels, NB_ERR_ARGUMENT, "1000000 x 1000000", "2^31"},
    };

    refuse_each(list, COUNT(list));
    return TAP_PASS;
}

static int unsupported(void)
{
    static const struct refusal list[] = {
        {panels, NB_ERR_ARGUMENT, "panel is NULL", "2"},
        {negative_panels, NB_ERR_ARGUMENT, "npanel", "-1"},
        {sheared, NB_ERR_SCENE, "square", "ncells_off"},
        {sheared_too_far, NB_ERR_SCENE, "matrix N", "positive definite"},
        {sheared_nan, NB_ERR_ARGUMENT, "crystal.ncells_off", "nan"},
        {anisotropic_nan, NB_ERR_ARGUMENT, "crystal.mosaic", "nan"},
    };

    refuse_each(list, COUNT(list));
    return TAP_PASS;
}

static int cells(void)
{
    static const struct refusal list[] = {
        {no_cell, NB_ERR_UNIT_CELL, "crystal.cell", "crystal.matrix"},
        {flat_cell, NB_ERR_UNIT_CELL, "177", "no volume"},
        {parallel, NB_ERR_UNIT_CELL, "a* and b*", "parallel"},
        {in_a_plane, NB_ERR_UNIT_CELL, "reciprocal axes", "plane"},
    };

    refuse_each(list, COUNT(list));
    return TAP_PASS;
}

static int contradictions(void)
{
    static const struct refusal list[] = {
        {two_origins, NB_ERR_SCENE, "beam centre", "differ"},
        {pix0_and_beam, NB_ERR_SCENE, "pix0", "beam centre"},
        {behind, NB_ERR_SCENE, "behind the crystal", "two theta"},
        {source_nowhere, NB_ERR_SCENE, "source 2", "direction"},
        {source_dark, NB_ERR_SCENE, "source 2", "wavelength"},
        {source_negative, NB_ERR_SCENE, "source 2", "weight"},
        {source_weights, NB_ERR_SCENE, "weights", "0"},
        {many_sources, NB_ERR_SCENE, "100000", "sources"},
        {dispersion, NB_ERR_SCENE, "dispersion", "wavelength"},
        {no_range, NB_ERR_SCENE, "3 steps", "range"},
        {step_and_count, NB_ERR_SCENE, "3 steps", "leave one"},
        {no_depth, NB_ERR_SCENE, "100 um", "attenuation"},
        {no_spread, NB_ERR_SCENE, "6 mosaic domains", "spread"},
        {no_oscillation, NB_ERR_SCENE, "2 phi steps", "oscillation"},
        {phi_three_ways, NB_ERR_SCENE, "2 phi steps", "leave one"},
        {many_orientations, NB_ERR_SCENE, "20000 phi steps", "20000 mosaic"},
        {dry_table, NB_ERR_SCENE, "table", "thickness"},
        {short_table, NB_ERR_SCENE, "scattering is 3", "4"},
        {falling_table, NB_ERR_SCENE, "row 3", "rise"},
        {psf_without_width, NB_ERR_SCENE, "point spread", "width"},
        {psf_without_kind, NB_ERR_SCENE, "point-spread", "kind"},
        {psf_radius_alone, NB_ERR_SCENE, "point-spread", "kind"},
    };

    refuse_each(list, COUNT(list));
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"numbers_out_of_range", numbers_out_of_range},
        {"every_component", every_component},
        {"what_is_said", what_is_said},
        {"counts_out_of_range", counts_out_of_range},
        {"ends_of_ranges", ends_of_ranges},
        {"lists_and_limits", lists_and_limits},
        {"unsupported", unsupported},
        {"cells", cells},
        {"contradictions", contradictions},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
