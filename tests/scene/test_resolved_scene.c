/*
 * test_resolved_scene.c - a resolved scene gives the image of the scene it came from, and x
 * that of the resolved scene with other numbers.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "scene/probe.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { PIXELS = 40 * 37 };

static void forward(nb_simulator *sim, const double *x, double *image)
{
    nb_array array = nb_array_f64(image, 37, 40);

    if (nb_forward(sim, x, &array) != NB_OK) {
        tap_check(0, "%s", nb_context_message(probe_context()));
        exit(1);
    }
}

/* image of the resolved scene at x, made afresh, against the simulator's own */
static void check_round_trip(const char *what, const nb_scene *scene, const char *names,
                             const double *x)
{
    static double own[PIXELS], again[PIXELS];
    nb_simulator *sim = probe_make(scene, names), *second;
    nb_scene resolved;
    nb_status status;

    forward(sim, x, own);
    if (nb_simulator_resolved(sim, x, &resolved) != NB_OK) abort();
    status = nb_simulator_create(probe_context(), &resolved, NULL, NULL, &second);
    if (tap_check(status == NB_OK, "%s: accepted%s%s", what, status ? ": " : "",
                  status ? nb_context_message(probe_context()) : "")) {
        forward(second, NULL, again);
        tap_check(probe_peak(own, PIXELS) > 0
                      && bits_same(own, again, sizeof own / sizeof *own),
                  "%s: the same bits (%.2g apart)", what, probe_off(again, own, PIXELS));
    }
    nb_simulator_free(second);
    nb_simulator_free(sim);
}

static int round_trips(void)
{
    nb_scene s;
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        if (!named.scene.quirks) check_round_trip(named.name, &named.scene, NULL, NULL);
    }
    s = scenes_base();
    s.crystal.random_misset = 1;
    s.crystal.misset_seed = 3;
    s.crystal.size[0] = 3e-5;
    s.beam.flux = 1e10;
    s.detector.convention = NB_CONVENTION_ADXV;
    s.scan.nphi = 0; /* by rule */
    s.oversample = 0;
    check_round_trip("drawn and decided by rule", &s, NULL, NULL);
    s.detector.nfast = s.detector.nslow = 0;
    s.detector.size[0] = 17.5, s.detector.size[1] = 16.4; /* 40 x 37 pixels and a bit */
    check_round_trip("detector by size", &s, NULL, NULL);
    s.scan.nphi = 0;
    s.scan.step = 0.4; /* does not divide 1.5 */
    check_round_trip("phi by step", &s, NULL, NULL);
    s.beam.divergence[0] = 3.5;
    s.beam.divergence_step[0] = 1;
    check_round_trip("divergence by step", &s, NULL, NULL);
    return TAP_PASS;
}

/* ranges that change take their steps with them */
static int round_trips_at_x(void)
{
    const double osc[] = {2.3, 0}, ranges[] = {2.7, 3.3, 0.013};
    nb_scene s = scenes_base();

    check_round_trip("osc", &s, "osc", osc);
    check_round_trip("osc of 0", &s, "osc", osc + 1);
    s.scan.nphi = 0;
    s.scan.step = 0.5;
    check_round_trip("osc with a step", &s, "osc", osc);
    s = scenes_named(SCENES_FEATURES, "grid_of_sources");
    check_round_trip("beam ranges", &s, "hdivrange vdivrange dispersion", ranges);
    s.beam.ndivergence[0] = 0;
    s.beam.divergence_step[0] = 0.8;
    check_round_trip("beam ranges with a step", &s, "hdivrange vdivrange dispersion",
                     ranges);
    s = scenes_base();
    scenes_lattices(&s);
    check_round_trip("lattices", &s, "lattice_scale", ranges);
    s = probe_gauss(NB_MOSAIC_GAUSS);
    s.crystal.mosaic[0] = 0.3;
    s.scan.osc = 1.5;
    check_round_trip("integrated phi", &s, NULL, NULL);
    check_round_trip("integrated phi at x", &s, "osc", osc);
    s.scan.osc = 6;
    s.scan.nphi = 3;
    check_round_trip("a sum over phi at x", &s, "osc", osc);
    s.beam.divergence[0] = s.beam.divergence[1] = 1;
    s.beam.dispersion = 0.02;
    check_round_trip("integrated beam", &s, "hdivrange vdivrange dispersion", ranges);
    return TAP_PASS;
}

/* of the second source, in a list that may be written to */
static double *number_of_source(nb_scene *s, const char *name)
{
    static nb_source sources[3];
    static const struct {
        const char *name;
        size_t offset;
    } of_source[] = {
        {"source_x[1]", offsetof(nb_source, direction[0])},
        {"source_y[1]", offsetof(nb_source, direction[1])},
        {"source_z[1]", offsetof(nb_source, direction[2])},
        {"source_wavelength[1]", offsetof(nb_source, wavelength)},
        {"source_weight[1]", offsetof(nb_source, weight)},
    };

    memcpy(sources, s->beam.source, sizeof sources);
    s->beam.source = sources;
    for (size_t i = 0; i < COUNT(of_source); i++)
        if (strcmp(of_source[i].name, name) == 0)
            return (double *)(void *)((char *)(sources + 1) + of_source[i].offset);
    tap_check(0, "parameter %s is not known to this test", name);
    exit(1); /* abort() would lose the message */
}

/* of the second panel or group, in lists that may be written to */
static double *number_of_move(nb_scene *s, const char *name)
{
    static const char *const axes[] = {"fast[1]", "slow[1]", "normal[1]"};
    static nb_panel panels[2];
    static nb_panel_group groups[2];
    const int shift = strstr(name, "shift") != NULL;

    memcpy(panels, s->detector.panel, sizeof panels);
    memcpy(groups, s->detector.group, sizeof groups);
    s->detector.panel = panels;
    s->detector.group = groups;
    for (int i = 0; i < 3; i++) {
        if (!strstr(name, axes[i])) continue;
        if (strncmp(name, "panel", 5) == 0)
            return (shift ? panels[1].shift : panels[1].rotation) + i;
        return (shift ? groups[1].shift : groups[1].rotation) + i;
    }
    tap_check(0, "parameter %s is not known to this test", name);
    exit(1);
}

/* of the second mosaic domain */
static double *number_of_domain(nb_scene *s)
{
    static double weights[1000];

    for (int i = 0; i < s->crystal.ndomains; i++)
        weights[i] = s->crystal.domain_weight ? s->crystal.domain_weight[i] : 1;
    s->crystal.domain_weight = weights;
    return weights + 1;
}

/* of the second further lattice */
static double *number_of_lattice(nb_scene *s, const char *name)
{
    static const char *const names[] = {"cell_a",     "cell_b",     "cell_c",
                                        "cell_alpha", "cell_beta",  "cell_gamma",
                                        "misset_x",   "misset_y",   "misset_z",
                                        "rotation_x", "rotation_y", "rotation_z",
                                        "scale"};
    static nb_lattice lattices[2];
    nb_lattice *l = lattices + 1;

    memcpy(lattices, s->crystal.lattice, sizeof lattices);
    s->crystal.lattice = lattices;
    for (int i = 0; i < 13; i++)
        if (strncmp(name, names[i], strcspn(name, "[")) == 0)
            return i < 6    ? l->cell + i
                   : i < 9  ? l->misset + i - 6
                   : i < 12 ? l->rotation + i - 9
                            : &l->scale;
    tap_check(0, "parameter lattice_%s is not known to this test", name);
    exit(1);
}

static double *number_of_list(nb_scene *s, const char *name)
{
    if (strncmp(name, "lattice_", 8) == 0) return number_of_lattice(s, name + 8);
    if (strcmp(name, "domain_weight[1]") == 0) return number_of_domain(s);
    if (strncmp(name, "panel_", 6) == 0 || strncmp(name, "group_", 6) == 0)
        return number_of_move(s, name);
    return number_of_source(s, name);
}

/* where a parameter lives: written by hand, not from the registry's table */
struct named_number {
    const char *name;
    double *at;
};

static double *number_of_width(nb_scene *s, const char *name)
{
    const struct named_number numbers[] = {
        {"mosaic_a", s->crystal.mosaic},          {"mosaic_b", s->crystal.mosaic + 1},
        {"mosaic_c", s->crystal.mosaic + 2},      {"mosaic_ab", s->crystal.mosaic_off},
        {"mosaic_ac", s->crystal.mosaic_off + 1}, {"mosaic_bc", s->crystal.mosaic_off + 2},
        {"rotation_drift_x", s->scan.drift},      {"rotation_drift_y", s->scan.drift + 1},
        {"rotation_drift_z", s->scan.drift + 2},
    };

    for (size_t i = 0; i < COUNT(numbers); i++)
        if (strcmp(numbers[i].name, name) == 0) return numbers[i].at;
    return number_of_list(s, name);
}

static double *number(nb_scene *s, const char *name)
{
    const struct named_number numbers[] = {
        {"cell_a", s->crystal.cell},
        {"cell_b", s->crystal.cell + 1},
        {"cell_c", s->crystal.cell + 2},
        {"cell_alpha", s->crystal.cell + 3},
        {"cell_beta", s->crystal.cell + 4},
        {"cell_gamma", s->crystal.cell + 5},
        {"a_star_x", s->crystal.matrix},
        {"b_star_x", s->crystal.matrix + 1},
        {"c_star_x", s->crystal.matrix + 2},
        {"a_star_y", s->crystal.matrix + 3},
        {"b_star_y", s->crystal.matrix + 4},
        {"c_star_y", s->crystal.matrix + 5},
        {"a_star_z", s->crystal.matrix + 6},
        {"b_star_z", s->crystal.matrix + 7},
        {"c_star_z", s->crystal.matrix + 8},
        {"misset_x", s->crystal.misset},
        {"misset_y", s->crystal.misset + 1},
        {"misset_z", s->crystal.misset + 2},
        {"ncells_a", s->crystal.ncells},
        {"ncells_b", s->crystal.ncells + 1},
        {"ncells_c", s->crystal.ncells + 2},
        {"mosaic", s->crystal.mosaic},
        {"fudge", &s->crystal.fudge},
        {"b_factor", &s->crystal.b_factor},
        {"scale", &s->crystal.scale},
        {"default_f", &s->crystal.default_f},
        {"origin_x", s->detector.origin},
        {"origin_y", s->detector.origin + 1},
        {"origin_z", s->detector.origin + 2},
        {"distance", &s->detector.distance},
        {"close_distance", &s->detector.close_distance},
        {"pixel", &s->detector.pixel},
        {"detector_rotx", s->detector.rotation},
        {"detector_roty", s->detector.rotation + 1},
        {"detector_rotz", s->detector.rotation + 2},
        {"twotheta", &s->detector.twotheta},
        {"thickness", &s->detector.thickness},
        {"attenuation", &s->detector.attenuation},
        {"wavelength", &s->beam.wavelength},
        {"fluence", &s->beam.fluence},
        {"polarization", &s->beam.polarization},
        {"dispersion", &s->beam.dispersion},
        {"hdivrange", s->beam.divergence},
        {"vdivrange", s->beam.divergence + 1},
        {"phi0", &s->scan.phi0},
        {"osc", &s->scan.osc},
        {"water", &s->background.water},
        {"psf_fwhm", &s->psf.fwhm},
        {"ncells_ab", s->crystal.ncells_off},
        {"ncells_ac", s->crystal.ncells_off + 1},
        {"ncells_bc", s->crystal.ncells_off + 2},
        {"rotation_x", s->crystal.rotation},
        {"rotation_y", s->crystal.rotation + 1},
        {"rotation_z", s->crystal.rotation + 2},
        {"beam_x", s->beam.direction},
        {"beam_y", s->beam.direction + 1},
        {"beam_z", s->beam.direction + 2},
        {"polarization_x", s->beam.polarization_axis},
        {"polarization_y", s->beam.polarization_axis + 1},
        {"polarization_z", s->beam.polarization_axis + 2},
        {"spindle_x", s->scan.axis},
        {"spindle_y", s->scan.axis + 1},
        {"spindle_z", s->scan.axis + 2},
        {"density", &s->background.density},
        {"molecular_weight", &s->background.molecular_weight},
    };

    for (size_t i = 0; i < COUNT(numbers); i++)
        if (strcmp(numbers[i].name, name) == 0) return numbers[i].at;
    return number_of_width(s, name);
}

/* scenes in which each parameter means something and shows */
static size_t scenes_of_all(nb_scene scenes[7])
{
    nb_description d;

    scenes[0] = scenes_named(SCENES_FEATURES, "each_factor");
    scenes[0].crystal.shape = NB_SHAPE_GAUSS;
    scenes[0].crystal.ndomains = 2;
    scenes[0].beam.polarization_axis[1] = 0.3;
    scenes[0].beam.polarization_axis[2] = 1;
    scenes[0].beam.dispersion = 0.02;
    scenes[0].beam.ndispersion = 2;
    scenes[0].beam.divergence[0] = scenes[0].beam.divergence[1] = 2;
    scenes[0].beam.ndivergence[0] = scenes[0].beam.ndivergence[1] = 2;
    scenes[0].background.water = 100;
#ifdef NANOBRAG_FFTW
    scenes[0].psf.kind = NB_PSF_GAUSS;
    scenes[0].psf.fwhm = 0.9;
#endif
    scenes[1] = scenes_named(SCENES_FEATURES, "square_tricubic");
    d = probe_describe(&scenes[1]);
    memset(scenes[1].crystal.cell, 0, sizeof scenes[1].crystal.cell);
    memset(scenes[1].crystal.misset, 0, sizeof scenes[1].crystal.misset);
    for (int i = 0; i < 9; i++) scenes[1].crystal.matrix[i] = d.star_axes[i % 3][i / 3];
    scenes[1].detector.origin_kind = NB_ORIGIN_PIX0;
    memcpy(scenes[1].detector.origin, d.origin, sizeof d.origin);
    scenes[2] = scenes_named(SCENES_FEATURES, "round_nearest");
    scenes[2].detector.close_distance = 78;
    scenes[2].detector.convention = NB_CONVENTION_DIALS;
    scenes[3] = scenes_named(SCENES_FEATURES, "list_of_sources");
    scenes[4] = scenes_named(SCENES_FEATURES, "anisotropic");
    scenes[5] = scenes_named(SCENES_FEATURES, "gauss_constant");
    scenes_panels(&scenes[5]);
    scenes[6] = scenes_named(SCENES_FEATURES, "square_nearest");
    scenes_lattices(&scenes[6]);
    return 7;
}

/* "name[i]" stands for the list in general; its second member is looked at */
static void name_one(nb_param *p)
{
    char *bracket = strchr(p->name, '[');

    if (bracket) memcpy(bracket, "[1]", sizeof "[1]");
}

/* nb_forward at a changed x is the image of a fresh scene with that number */
static int forward_at_x(void)
{
    static double changed[PIXELS], fresh[PIXELS], before[PIXELS];
    nb_scene scenes[7];
    const size_t n = scenes_of_all(scenes);
    nb_param p;

    for (int row = 0; nb_param_registry(row, &p); row++) {
        int applied = 0, moved = 0;

        if (strncmp(p.name, "F[", 2) == 0) continue; /* test_parameters.c */
        if (scenes_is_width(p.name)) continue;
        name_one(&p);
        for (size_t i = 0; i < n; i++) {
            nb_simulator *sim, *second;
            nb_scene s;
            double x;

            if (nb_simulator_create(probe_context(), &scenes[i], p.name, NULL, &sim)
                != NB_OK)
                continue;
            applied++;
            if (nb_simulator_resolved(sim, NULL, &s) != NB_OK
                || nb_simulator_param(sim, 0, &p) != NB_OK)
                abort();
            tap_check(p.value == *number(&s, p.name), "%s is %g", p.name, p.value);
            x = p.value + p.scale * (p.value + p.scale <= p.upper ? 1 : -1);
            forward(sim, NULL, before);
            forward(sim, &x, changed);
            *number(&s, p.name) = x;
            s.scan.step = 0; /* counts stay, steps follow */
            s.given &= ~(uint64_t)NB_GIVEN_PHI_STEP;
            s.beam.divergence_step[0] = s.beam.divergence_step[1] = 0;
            second = probe_make(&s, NULL);
            forward(second, NULL, fresh);
            tap_close(p.name, probe_off(changed, fresh, PIXELS), 0, 1e-13);
            moved += bits_differ(before, changed, PIXELS) > 0;
            forward(sim, NULL, changed);
            tap_check(bits_same(before, changed, sizeof before / sizeof *before),
                      "nothing is remembered");
            nb_simulator_free(sim);
            nb_simulator_free(second);
        }
#ifndef NANOBRAG_FFTW
        if (strcmp(p.name, "psf_fwhm") == 0) continue;
#endif
        tap_check(applied > 0, "%s applies to %d scenes", p.name, applied);
        tap_check(moved > 0, "%s moves the image", p.name);
    }
    return TAP_PASS;
}

/* default_f stands at x for what the list leaves out */
static int default_f_of_gaps(void)
{
    static double at_x[PIXELS], fresh[PIXELS], before[PIXELS];

    for (int interpolate = 1; interpolate <= 2; interpolate++) {
        nb_scene s = scenes_named(SCENES_FEATURES, "square_nearest");
        const double x = 230;
        nb_simulator *sim;

        s.crystal.interpolate = interpolate;
        sim = probe_make(&s, "default_f");
        forward(sim, NULL, before);
        forward(sim, &x, at_x);
        s.crystal.default_f = x;
        probe_image(&s, fresh);
        tap_check(bits_same(at_x, fresh, sizeof fresh / sizeof *fresh),
                  "as a scene with that default");
        tap_check(probe_off(before, fresh, PIXELS) > 1e-3, "it shows");
        forward(sim, NULL, at_x);
        tap_check(bits_same(at_x, before, sizeof before / sizeof *before), "and back");
        nb_simulator_free(sim);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"round_trips", round_trips},
        {"round_trips_at_x", round_trips_at_x},
        {"forward_at_x", forward_at_x},
        {"default_f_of_gaps", default_f_of_gaps},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
