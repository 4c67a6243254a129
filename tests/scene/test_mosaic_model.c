/*
 * test_mosaic_model.c - which scenes have the continuous model, by rule or because they say
 * so, and which cannot.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "scene/probe.h"
#include "support/tap.h"

static void no_change(nb_scene *s)
{
    (void)s;
}

static void with_mosaic(nb_scene *s)
{
    s->crystal.mosaic[0] = 0.5;
}

static void with_element(nb_scene *s)
{
    s->crystal.mosaic[0] = 0.5;
    s->crystal.mosaic_off[1] = 0.5;
}

static void with_osc(nb_scene *s)
{
    s->scan.osc = 1;
}

static void with_dispersion(nb_scene *s)
{
    s->beam.dispersion = 0.01;
}

static void with_divergence(nb_scene *s)
{
    s->beam.divergence[1] = 1;
}

static void with_strain(nb_scene *s)
{
    s->crystal.strain = 1e-3;
}

static void with_size(nb_scene *s)
{
    s->crystal.crystal_size = 0.1;
}

static void with_tail(nb_scene *s)
{
    s->crystal.mosaic_tail = 0.1;
}

static void with_steps(nb_scene *s)
{
    s->scan.osc = 1;
    s->scan.nphi = 2;
}

static void with_wavelengths(nb_scene *s)
{
    s->beam.dispersion = 0.01;
    s->beam.ndispersion = 3;
}

static void with_list(nb_scene *s, int n)
{
    static nb_source list[10];

    for (int i = 0; i < n; i++) list[i] = (nb_source){{1, 0, 0}, 1 + 1e-3 * i, 1};
    s->beam.source = list;
    s->beam.nsource = n;
}

static void with_few_sources(nb_scene *s)
{
    with_list(s, 9);
}

static void with_many_sources(nb_scene *s)
{
    with_list(s, 10);
}

static void with_directions(nb_scene *s)
{
    s->beam.divergence[0] = 1;
    s->beam.divergence_step[0] = 0.5;
}

static void with_number(nb_scene *s)
{
    with_mosaic(s);
    s->crystal.ndomains = 5;
}

static void with_one(nb_scene *s)
{
    with_mosaic(s);
    s->crystal.ndomains = 1;
}

static void with_seed(nb_scene *s)
{
    with_mosaic(s);
    s->crystal.mosaic_seed = 3;
}

static void with_seed_0(nb_scene *s)
{
    with_mosaic(s);
    s->given |= NB_GIVEN_MOSAIC_SEED;
}

static void square(nb_scene *s)
{
    with_mosaic(s);
    s->crystal.shape = NB_SHAPE_SQUARE;
}

static void star(nb_scene *s)
{
    with_mosaic(s);
    s->crystal.shape = NB_SHAPE_GAUSS_STAR;
}

static void few_cells(nb_scene *s)
{
    with_mosaic(s);
    s->crystal.ncells[1] = 2;
}

static void few_cells_nearest(nb_scene *s)
{
    few_cells(s);
    s->crystal.interpolate = NB_LOOKUP_NEAREST;
}

static void profile(nb_scene *s)
{
    with_mosaic(s);
    s->quirks = NB_QUIRK_ALL;
}

static const struct {
    const char *what;
    void (*change)(nb_scene *);
    const char *names;
    int gauss;
} rules[] = {
    {"nothing to integrate", no_change, NULL, 0},
    {"a spread", with_mosaic, NULL, 1},
    {"an element off the diagonal", with_element, NULL, 1},
    {"a rotation", with_osc, NULL, 1},
    {"a dispersion", with_dispersion, NULL, 1},
    {"a divergence", with_divergence, NULL, 1},
    {"phi steps", with_steps, NULL, 0},
    {"a number of wavelengths", with_wavelengths, NULL, 0},
    {"a step of the divergence", with_directions, NULL, 0},
    {"a number of domains", with_number, NULL, 0},
    {"one domain", with_one, NULL, 0},
    {"a seed", with_seed, NULL, 0},
    {"a seed of 0", with_seed_0, NULL, 0},
    {"a square crystal", square, NULL, 0},
    {"gauss_star", star, NULL, 1},
    {"tricubic F", few_cells, NULL, 0},
    {"few cells, nearest F", few_cells_nearest, NULL, 1},
    {"the profile of nanoBragg", profile, NULL, 0},
    {"nine sources", with_few_sources, NULL, 0},
    {"ten sources", with_many_sources, NULL, 1},
    {"a free spread", no_change, "misset mosaic", 1},
    {"other free parameters", no_change, "misset scale", 0},
};

static int model_of(nb_simulator *sim)
{
    nb_scene resolved;

    if (nb_simulator_resolved(sim, NULL, &resolved) != NB_OK) abort();
    return resolved.crystal.mosaic_model;
}

static int chosen_by_rule(void)
{
    for (size_t i = 0; i < COUNT(rules); i++) {
        const int wanted = rules[i].gauss ? NB_MOSAIC_GAUSS : NB_MOSAIC_DOMAINS;
        nb_scene s = probe_gauss(NB_MOSAIC_AUTO);
        nb_simulator *sim;

        rules[i].change(&s);
        sim = probe_make(&s, rules[i].names);
        tap_check(model_of(sim) == wanted, "%s: model %d, expected %d", rules[i].what,
                  model_of(sim), wanted);
        nb_simulator_free(sim);
    }
    return TAP_PASS;
}

/* numbers that only the continuous model has, starting from 0, where they are free */
static int free_widths(void)
{
    static const char *const names[] = {"strain", "crystal_size", "mosaic_tail"};

    for (size_t i = 0; i < COUNT(names); i++) {
        const nb_scene s = probe_gauss(NB_MOSAIC_AUTO);
        nb_simulator *sim = probe_make(&s, names[i]);

        tap_check(model_of(sim) == NB_MOSAIC_GAUSS, "%s", names[i]);
        nb_simulator_free(sim);
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        const nb_scene s = probe_gauss(NB_MOSAIC_GAUSS);

        nb_simulator_free(probe_make(&s, names[i]));
        tap_check(1, "%s can be free", names[i]);
    }
    return TAP_PASS;
}

static void refused(nb_scene s, void (*change)(nb_scene *), const char *part)
{
    change(&s);
    probe_refused(&s, NB_ERR_SCENE, part);
}

static int refusals(void)
{
    nb_scene s = probe_gauss(NB_MOSAIC_GAUSS);
    nb_simulator *sim;

    refused(s, square, "-mosaic_model gauss needs a gaussian crystal");
    refused(s, with_number, "-mosaic_model gauss needs no number of domains");
    refused(s, profile, "-mosaic_model gauss needs the library's own profile");
    refused(s, few_cells, "-mosaic_model gauss needs F of the nearest reflection");
    s.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
    refused(s, with_tail, "-mosaic_tail needs -mosaic_model gauss");
    refused(s, with_strain, "-strain needs -mosaic_model gauss");
    refused(s, with_size, "-crystal_size needs -mosaic_model gauss");
    s.crystal.shape = NB_SHAPE_SQUARE;
    refused(s, with_strain, "which needs a gaussian crystal, -gauss_xtal or -gauss_star");
    s = probe_gauss(NB_MOSAIC_AUTO);
    s.crystal.mosaic_model = NB_MOSAIC_DOMAINS;
    tap_check(nb_simulator_create(probe_context(), &s, "strain", NULL, &sim)
                  == NB_ERR_ARGUMENT,
              "%s", nb_context_message(probe_context()));
    s = probe_gauss(NB_MOSAIC_GAUSS);
    s.crystal.mosaic[0] = 0.5;
    tap_check(nb_simulator_create(probe_context(), &s, "domain_weight", NULL, &sim)
                  == NB_ERR_ARGUMENT,
              "%s", nb_context_message(probe_context()));
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"chosen_by_rule", chosen_by_rule},
        {"free_widths", free_widths},
        {"refusals", refusals},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
