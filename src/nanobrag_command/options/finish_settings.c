/*
 * finish_settings.c - completes the scene from the settings, and refuses values that only
 * -compat nanobragg allows.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "nanobrag_command/options/settings.h"

static double at_least_0(double value)
{
    return value > 0 ? value : 0;
}

static int count_or_rule(int count)
{
    return count > 0 ? count : 0;
}

/* Replace negative numbers by defaults, because for nanoBragg a negative number is not
 * given. */
static void clear_negatives(nb_scene *scene, int phisteps_given)
{
    nb_crystal *crystal = &scene->crystal;
    nb_beam *beam = &scene->beam;
    for (int i = 0; i < 3; i++) crystal->size[i] = at_least_0(crystal->size[i]);
    for (int i = 1; i < 3; i++)
        if (crystal->cell[i] == 0) crystal->cell[i] = crystal->cell[0];
    for (int i = 3; i < 6; i++)
        if (!(crystal->cell[i] > 0)) crystal->cell[i] = 90;
    crystal->mosaic[0] = at_least_0(crystal->mosaic[0]);
    crystal->ndomains = count_or_rule(crystal->ndomains);
    for (int i = 0; i < 2; i++) {
        beam->divergence[i] = at_least_0(beam->divergence[i]);
        beam->divergence_step[i] = at_least_0(beam->divergence_step[i]);
        beam->ndivergence[i] = count_or_rule(beam->ndivergence[i]);
    }
    beam->dispersion = at_least_0(beam->dispersion);
    beam->ndispersion = count_or_rule(beam->ndispersion);
    scene->scan.osc = at_least_0(scene->scan.osc);
    scene->scan.step = at_least_0(scene->scan.step);
    scene->scan.nphi =
        phisteps_given && scene->scan.nphi == 0 ? 1 : count_or_rule(scene->scan.nphi);
    scene->detector.nlayers = count_or_rule(scene->detector.nlayers);
    scene->oversample = count_or_rule(scene->oversample);
    scene->dmin = at_least_0(scene->dmin);
    scene->background.water = at_least_0(scene->background.water);
    /* nanoBragg accepts -density and -MW without effect */
    scene->background.density = scene->background.molecular_weight = 0;
}

/* Mark the numbers that options state, so that the library takes 0 for a value and not
 * for a request for the default. With -compat nanobragg a negative number counts as not
 * given. */
static void mark_given(struct settings *s)
{
    const nb_scene *scene = &s->scene;
    const int *given = s->given;
    const int divergence = given[OPT_DIVERGENCE];
    uint64_t bits = 0;
    if (given[OPT_MOSAIC_SEED]) bits |= NB_GIVEN_MOSAIC_SEED;
    if (given[OPT_FUDGE]) bits |= NB_GIVEN_FUDGE;
    if (given[OPT_FLUENCE]) bits |= NB_GIVEN_FLUENCE;
    if (given[OPT_MOSAIC] || given[OPT_MOSAIC_TENSOR]) bits |= NB_GIVEN_MOSAIC;
    if (given[OPT_DRIFT_PHI]) bits |= NB_GIVEN_DRIFT_PHI;
    if (given[OPT_DISPERSION]) bits |= NB_GIVEN_DISPERSION;
    if (scene->scan.osc >= 0 && given[OPT_OSC]) bits |= NB_GIVEN_OSC;
    if (scene->scan.osc < 0 && !s->compat) bits |= NB_GIVEN_OSC;
    if (scene->scan.step >= 0 && given[OPT_PHISTEP]) bits |= NB_GIVEN_PHI_STEP;
    if (scene->beam.divergence[0] >= 0 && (divergence || given[OPT_HDIVRANGE]))
        bits |= NB_GIVEN_DIVERGENCE_H;
    if (scene->beam.divergence[1] >= 0 && (divergence || given[OPT_VDIVRANGE]))
        bits |= NB_GIVEN_DIVERGENCE_V;
    s->scene.given |= bits;
    if (s->compat && scene->scan.osc < 0) s->scene.given &= ~(uint64_t)NB_GIVEN_OSC;
}

static int64_t clock_seed(int compat)
{
    struct timespec now = {0, 0};
    (void)timespec_get(&now, TIME_UTC);
    return compat ? (int64_t)now.tv_sec
                  : (int64_t)now.tv_sec * 1000 + (int64_t)now.tv_nsec / 1000000;
}

static void finish_seeds(struct settings *s)
{
    if (!s->given[OPT_SEED]) {
        s->seed = clock_seed(s->compat);
        s->seed_from_clock = 1;
    }
    if (!s->given[OPT_MISSET_SEED]) {
        s->misset_seed = s->seed;
        s->misset_seed_from_clock = s->seed_from_clock;
    }
    s->scene.crystal.random_misset = s->random_misset;
    s->scene.crystal.misset_seed = s->misset_seed;
}

void settings_reseed(struct settings *s, int64_t seed)
{
    if (s->seed_from_clock) s->seed = seed;
    if (!s->misset_seed_from_clock) return;
    s->misset_seed = s->seed;
    s->scene.crystal.misset_seed = s->misset_seed;
}

static int finish_beam(struct settings *s, struct messages *messages)
{
    nb_beam *beam = &s->scene.beam;
    beam->exposure = s->exposure;
    beam->size = s->beamsize;
    if (!(s->exposure > 0)) {
        beam->flux = 0;
        beam->exposure = 0;
    }
    if (s->beamsize != 0) return 0;
    if (beam->flux != 0)
        return message_usage(messages, "-beamsize 0 with -flux makes the fluence infinite; "
                                       "give a size above 0");
    /* nanoBragg clips the crystal by the beam; a beam of width 0 leaves no size along b and
     * c */
    beam->size = -1;
    s->scene.crystal.size[1] = s->scene.crystal.size[2] = 0;
    return 0;
}

static void finish_outputs(struct settings *s)
{
    const char *const noise = s->compat ? "noiseimage.img" : "noise_00001.img";
    const char *const pgm = s->compat ? "image.pgm" : "image_00001.pgm";
    if (!s->out[OUT_NOISE]) s->out[OUT_NOISE] = noise;
    if (!s->out[OUT_PGM]) s->out[OUT_PGM] = pgm;
    if (!s->noise) s->out[OUT_NOISE] = NULL;
    if (!s->pgm) s->out[OUT_PGM] = NULL;
}

int settings_finish(struct settings *s, struct messages *messages)
{
    nb_scene *scene = &s->scene;
    mark_given(s);
    if (s->compat) {
        clear_negatives(scene, s->given[OPT_PHISTEPS]);
        s->thickness = at_least_0(s->thickness);
        s->depth = at_least_0(s->depth);
    }
    for (int i = 0; i < 3; i++) {
        if (s->compat) s->ncells[i] = trunc(s->ncells[i]);
        scene->crystal.ncells[i] = s->ncells[i] < 1 ? 1 : s->ncells[i];
    }
    scene->detector.thickness = s->thickness;
    scene->detector.attenuation = s->depth;
    if (s->given[OPT_DETECTOR_ABS]) scene->detector.attenuation_wavelength = 0;
    finish_seeds(s);
    finish_outputs(s);
    if (scene->beam.wavelength == 0 && (s->given[OPT_LAMBDA] || s->given[OPT_ENERGY]))
        return message_usage(messages,
                             "the wavelength is 0; give -lambda in A or -energy in eV");
    if (s->wrong_anomalous)
        return message_usage(messages,
                             "-anomalous %s: expected on, off or up to %d elements as SE "
                             "-8 "
                             "4.5",
                             s->wrong_anomalous, (int)ANOMALOUS_MOST);
    if (s->anomalous_twice)
        return message_usage(messages, "-anomalous %s is given twice; leave out one",
                             s->anomalous_twice);
    if (s->wrong_scale)
        return message_usage(messages,
                             "-png_scale %s: expected auto, linear, sqrt or log, or with "
                             "the photons for white and for black, as linear:0:500",
                             s->wrong_scale);
    if (s->nadded > ADDED_MOST)
        return message_usage(messages,
                             "-add is given %d times; expected up to %d: add some "
                             "of the files beforehand",
                             s->nadded, (int)ADDED_MOST);
    if (s->nlattice > LATTICES_OF_OPTIONS)
        return message_usage(messages, "-lattice is given %d times; expected up to %d",
                             s->nlattice, (int)LATTICES_OF_OPTIONS);
    /* -mat or -lattice replaces the crystal of -expt, and so its lattices as well */
    if (s->nlattice > 0 || s->matrix) {
        s->scene.crystal.nlattice = s->nlattice;
        s->scene.crystal.lattice = s->nlattice > 0 ? s->lattice : NULL;
    }
    const int status = finish_beam(s, messages);
    return status ? status : geometry_finish(s, messages);
}

int settings_check(const struct settings *s, struct messages *messages)
{
    static const double ev_angstrom =
        12398.42; /* wavelength in A times energy in eV, as in options.def */
    const nb_crystal *const crystal = &s->scene.crystal;
    const double wavelength = s->scene.beam.wavelength, kahn = s->scene.beam.polarization;
    const double energy = wavelength > 0 ? ev_angstrom / wavelength : 0;
    if (s->given[OPT_ENERGY] && energy > 0 && energy < 100)
        message_warning(messages,
                        "-energy is in eV: %g eV is a wavelength of %g A; if you mean keV, "
                        "give -energy %g",
                        energy, wavelength, 1000 * energy);
    if ((s->given[OPT_MOSAIC] || s->given[OPT_MOSAIC_TENSOR]) && crystal->ndomains == 1
        && (crystal->mosaic[0] > 0 || s->scene.given & NB_GIVEN_MOSAIC_AXES)
        && crystal->mosaic_model != NB_MOSAIC_GAUSS)
        message_warning(messages,
                        "%s has no effect with one domain; give -mosaic_domains 10 or more",
                        s->given[OPT_MOSAIC_TENSOR] ? "-mosaic_tensor" : "-mosaic");
    if (kahn >= -1 && kahn <= 1) return 0;
    return message_usage(messages, "-polar %g: expected -1 to 1", kahn);
}
