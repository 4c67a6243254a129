/*
 * continuous.c - nb_gradcheck() of scenes of the continuous model: every parameter by
 * itself, whatever is integrated.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "gradients/gradients.h"
#include "gradients/harness.h"
#include "support/scenes.h"

/* A still of one wavelength, with an isotropic spread. */
static nb_scene still(void)
{
    nb_scene s = scenes_base();

    s.crystal.mosaic_model = NB_MOSAIC_GAUSS;
    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.interpolate = NB_LOOKUP_NEAREST;
    s.crystal.ndomains = 0;
    s.crystal.mosaic_seed = 0;
    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 12 + i;
    s.crystal.b_factor = 8;
    s.crystal.scale = 1.3;
    s.scan.osc = 0;
    s.scan.nphi = 0;
    s.oversample = 2;
    return s;
}

static void set3(double *to, double x, double y, double z)
{
    to[0] = x, to[1] = y, to[2] = z;
}

/* Checks random directions of a scene with a spectrum, whose rows are piecewise
 * polynomials: their differences tell seven digits. */
static int check_pieces(const char *name, const nb_scene *scene)
{
    enum { ROWS = 64 };
    const nb_options options = {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0};
    const nb_gradcheck_options how = {20, 4, 0};
    nb_context *ctx = harness_context();
    char *names = harness_names(ctx, scene);
    struct worst adjoint = {0}, difference = {0};
    nb_gradcheck_summary summary;
    nb_gradcheck_row rows[ROWS];
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, names, &options, &sim) != NB_OK
        || nb_gradcheck_rows(sim, &how) > ROWS
        || nb_gradcheck(sim, NULL, NULL, &how, rows, &summary) != NB_OK) {
        tap_check(0, "%s: %s", name, nb_context_message(ctx));
        return TAP_PASS;
    }
    for (size_t i = 0; i < nb_gradcheck_rows(sim, &how); i++) {
        worst_add(&adjoint, rows[i].vjp, rows[i].jvp, rows[i].scale);
        worst_add(&difference, rows[i].fd, rows[i].jvp, rows[i].scale);
    }
    worst_check(&adjoint, 1e-12, "%s: the adjoint against the tangent", name);
    worst_check(&difference, 1e-7, "differences against the tangent");
    nb_simulator_free(sim);
    free(names);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A mosaic tensor with a tail, a strain and a crystal of some size. */
static void widen(nb_scene *s)
{
    set3(s->crystal.mosaic, 0.6, 0.3, 0.2);
    set3(s->crystal.mosaic_off, 0.1, -0.05, 0.02);
    s->crystal.mosaic_tail = 0.1;
    s->crystal.mosaic_tail_width = 3;
    s->crystal.strain = 2e-3;
    s->crystal.crystal_size = 0.03;
}

static void rotate(nb_scene *s, double osc)
{
    s->scan.phi0 = 20;
    s->scan.osc = osc;
    set3(s->scan.axis, 0.2, -0.1, 2);
    set3(s->scan.drift, 0.01, -0.02, 0.03);
    s->scan.drift_phi = 3;
}

/* Checks every parameter by itself. */
static int check(const char *name, const nb_scene *scene)
{
    harness_check(name, scene, HARNESS_SPOTS, 0);
    return TAP_PASS;
}

/* Checks all of them along random directions, where images take longer. */
static int check_directions(const char *name, const nb_scene *scene)
{
    harness_check(name, scene, HARNESS_SPOTS, 4);
    return TAP_PASS;
}

int continuous_still(void)
{
    const nb_scene s = still();

    return check("continuous still", &s);
}

int continuous_axes(void)
{
    nb_scene s = still();

    set3(s.crystal.mosaic, 0.8, 0.2, 0.4);
    set3(s.crystal.ncells_off, 1.5, -0.7, 2);
    s.crystal.hkl = scenes_reflections();
    s.crystal.fudge = 0.8;
    return check("continuous axes", &s);
}

int continuous_tensor(void)
{
    nb_scene s = still();

    s.crystal.shape = NB_SHAPE_GAUSS_STAR;
    s.crystal.normalise = 1;
    widen(&s);
    return check("continuous tensor", &s);
}

int continuous_rotation(void)
{
    nb_scene s = still();

    widen(&s);
    rotate(&s, 1.5);
    s.background.water = 0.06;
    return check("continuous rotation", &s);
}

int continuous_slices(void)
{
    nb_scene s = still();

    rotate(&s, 0.1);
    s.crystal.mosaic[0] = 0.2;
    return check("continuous slice", &s);
}

int continuous_wide_rotation(void)
{
    nb_scene s = still();

    rotate(&s, -14);
    return check_directions("continuous rotation of 14 degrees", &s);
}

int continuous_beam(void)
{
    nb_scene s = still();

    widen(&s);
    s.beam.dispersion = 0.01;
    s.beam.divergence[0] = 1;
    s.beam.divergence[1] = 0.7;
    return check("continuous beam", &s);
}

/* Light and a crystal so wide that their spots have stars. */
static void widen_much(nb_scene *s)
{
    s->beam.divergence[0] = 6;
    s->beam.divergence[1] = 4;
    s->crystal.crystal_size = 0.15;
}

int continuous_wide_beam(void)
{
    nb_scene s = still();

    widen_much(&s);
    s.beam.dispersion = 0.004;
    return check_directions("continuous wide beam", &s);
}

int continuous_wide_beam_rotation(void)
{
    nb_scene s = still();

    widen(&s);
    widen_much(&s);
    rotate(&s, 0.8);
    return check_directions("continuous wide beam and rotation", &s);
}

/* A crystal that is wide beside its spots. */
int continuous_large_crystal(void)
{
    nb_scene s = still();

    for (int i = 0; i < 3; i++) s.crystal.ncells[i] = 30 + i;
    s.crystal.crystal_size = 0.5;
    return check_directions("continuous large crystal", &s);
}

/* Bright reflections stand at the largest q, where samples beyond it show their spots. */
int continuous_dmin(void)
{
    nb_scene s = still();

    s.dmin = 10;
    return check_directions("continuous dmin", &s);
}

int continuous_all(void)
{
    nb_scene s = still();

    widen(&s);
    rotate(&s, 1);
    s.beam.dispersion = 0.006;
    s.beam.divergence[0] = 1;
    s.beam.divergence[1] = 0.7;
    s.detector.thickness = 450;
    s.detector.attenuation = 300;
    s.detector.nlayers = 2;
    return check_directions("continuous all", &s);
}

/* Light of one direction in three lines, and one line beside it. */
static void light(nb_scene *s)
{
    static nb_source lines[4];

    for (int i = 0; i < 4; i++) {
        lines[i].direction[0] = 1;
        lines[i].wavelength = 1.1 * (1 + 6e-3 * (i - 0.8));
        lines[i].weight = 1 + 0.2 * i - 0.03 * i * i;
    }
    lines[3].direction[1] = 2e-3;
    s->beam.source = lines;
    s->beam.nsource = 4;
    s->detector.nfast = s->detector.nslow = 16;
    s->detector.pixel = 1.1;
}

int continuous_spectrum(void)
{
    nb_scene s = still();

    light(&s);
    s.crystal.hkl = scenes_reflections();
    return check_pieces("spectrum", &s);
}

int continuous_spectrum_rotation(void)
{
    nb_scene s = still();

    light(&s);
    rotate(&s, 0.4);
    widen(&s);
    return check_pieces("spectrum and rotation", &s);
}

int continuous_panels(void)
{
    nb_scene s = still();

    rotate(&s, 1);
    scenes_panels(&s);
    s.background.water = 0.06;
    return check_directions("continuous panels", &s);
}

int continuous_lattices(void)
{
    nb_scene s = still();

    scenes_lattices(&s);
    s.crystal.hkl = scenes_reflections();
    return check("continuous lattices", &s);
}

int continuous_spread(void)
{
    nb_scene s = still();

    rotate(&s, 1);
    s.psf.kind = NB_PSF_GAUSS;
    s.psf.fwhm = 0.9;
    return check("continuous point spread", &s);
}
