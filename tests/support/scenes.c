/* scenes.c - see scenes.h. SPDX-License-Identifier: MIT */
#include "support/scenes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

nb_scene scenes_base(void)
{
    static const double cell[6] = {31.4, 37.2, 43.9, 81, 96, 103};
    static const double misset[3] = {12, -33, 71};
    nb_scene s = {0};

    for (int i = 0; i < 6; i++) s.crystal.cell[i] = cell[i];
    for (int i = 0; i < 3; i++) {
        s.crystal.misset[i] = misset[i];
        s.crystal.ncells[i] = 5;
    }
    s.crystal.default_f = 80;
    s.crystal.mosaic[0] = 0.8;
    s.crystal.ndomains = 6;
    s.crystal.mosaic_seed = 7;
    s.beam.wavelength = 1.1;
    s.beam.polarization = 0.6;
    s.scan.phi0 = 2;
    s.scan.osc = 1.5;
    s.scan.nphi = 2;
    s.detector.distance = 80;
    s.detector.nfast = 40;
    s.detector.nslow = 37;
    s.detector.pixel = 0.44;
    s.detector.rotation[0] = 3;
    s.detector.rotation[1] = -4;
    s.detector.twotheta = 6;
    s.oversample = 1;
    return s;
}

const nb_hkl *scenes_reflections(void)
{
    enum { MOST = 8, SIDE = 2 * MOST + 1 };
    static nb_hkl *list;
    static int hkl[SIDE * SIDE * SIDE][3];
    static double f[SIDE * SIDE * SIDE];
    nb_context *ctx;
    size_t n = 0;

    if (list) return list;
    for (int h = -MOST; h <= MOST; h++)
        for (int k = -MOST; k <= MOST; k++)
            for (int l = -MOST; l <= MOST; l++) {
                if ((h + 2 * k + 3 * l) % 11 == 5) continue; /* missing */
                hkl[n][0] = h, hkl[n][1] = k, hkl[n][2] = l;
                f[n++] = 100 * (1 + cos(1.3 * h + 2.1 * k + 0.7 * l));
            }
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || nb_hkl_create(ctx, n, hkl[0], f, &list) != NB_OK)
        abort();
    nb_context_free(ctx);
    return list;
}

static void base(nb_scene *s)
{
    (void)s;
}

static void square_nearest(nb_scene *s)
{
    s->crystal.hkl = scenes_reflections();
    s->crystal.interpolate = 1;
}

static void square_tricubic(nb_scene *s)
{
    s->crystal.hkl = scenes_reflections();
    s->crystal.interpolate = 2;
}

static void square_real_cells(nb_scene *s)
{
    s->crystal.ncells[0] = 4.3;
    s->crystal.ncells[1] = 1;
    s->crystal.ncells[2] = 6.75;
}

static void round_constant(nb_scene *s)
{
    s->crystal.shape = NB_ROUND;
    s->crystal.fudge = 0.8;
}

static void round_nearest(nb_scene *s)
{
    round_constant(s);
    square_nearest(s);
}

static void round_tricubic(nb_scene *s)
{
    round_constant(s);
    square_tricubic(s);
}

static void gauss_constant(nb_scene *s)
{
    s->crystal.shape = NB_GAUSS;
}

static void gauss_nearest(nb_scene *s)
{
    gauss_constant(s);
    square_nearest(s);
}

static void gauss_tricubic(nb_scene *s)
{
    gauss_constant(s);
    square_tricubic(s);
}

static void gauss_star(nb_scene *s)
{
    s->crystal.shape = NB_GAUSS_STAR;
}

static void tophat_constant(nb_scene *s)
{
    s->crystal.shape = NB_TOPHAT;
    s->crystal.ncells[0] = s->crystal.ncells[1] = s->crystal.ncells[2] = 2;
}

static void tophat_nearest(nb_scene *s)
{
    tophat_constant(s);
    square_nearest(s);
}

static void tophat_tricubic(nb_scene *s)
{
    tophat_constant(s);
    square_tricubic(s);
}

static void layers(nb_scene *s)
{
    s->detector.thickness = 450;
    s->detector.attenuation = 300;
    s->detector.nlayers = 3;
    s->oversample = 2;
}

static void each_factor(nb_scene *s)
{
    layers(s);
    s->oversample_thick = s->oversample_polar = s->oversample_omega = 1;
}

static void curved(nb_scene *s)
{
    s->detector.curved = 1;
    s->oversample = 2;
}

static void point_pixel(nb_scene *s)
{
    s->detector.point_pixel = 1;
}

static void grid_of_sources(nb_scene *s)
{
    s->beam.dispersion = 0.02;
    s->beam.ndispersion = 3;
    s->beam.divergence[0] = 2;
    s->beam.divergence[1] = 3;
    s->beam.ndivergence[0] = 3;
    s->beam.ndivergence[1] = 4;
    s->beam.polarization = -0.4;
}

static void list_of_sources(nb_scene *s)
{
    static const nb_source source[] = {{{1, 0.001, 0.002}, 1.1, 2.5},
                                       {{2, -0.003, 0.001}, 1.09, 1},
                                       {{1, 0, 0}, 1.12, 0}};

    s->beam.source = source;
    s->beam.nsource = 3;
}

static void rotated(nb_scene *s)
{
    s->crystal.rotation[0] = 20;
    s->crystal.rotation[1] = -35;
    s->crystal.rotation[2] = 5;
}

static void tetragonal(nb_scene *s)
{
    static const double cell[6] = {37.2, 0, 43.9, 0, 0, 0};

    square_nearest(s);
    for (int i = 0; i < 6; i++) s->crystal.cell[i] = cell[i];
    s->crystal.system = NB_TETRAGONAL;
    s->crystal.point_group = "422";
}

static void sheared(nb_scene *s)
{
    gauss_constant(s);
    s->crystal.ncells_off[0] = 1.5;
    s->crystal.ncells_off[1] = -0.7;
    s->crystal.ncells_off[2] = 2;
}

static void anisotropic(nb_scene *s)
{
    round_nearest(s);
    s->crystal.mosaic[1] = 0.2;
    s->crystal.mosaic[2] = 1.5;
    s->crystal.ncells_off[1] = 1.2;
}

static void weighted_domains(nb_scene *s)
{
    static const double weight[6] = {1, 2.5, 0.3, 0, 1.2, 0.7};

    gauss_nearest(s);
    s->crystal.domain_weight = weight;
}

static void dmin_and_water(nb_scene *s)
{
    s->dmin = 7;
    s->background.water = 200;
    s->oversample = 2;
    s->oversample_polar = 1;
}

static void amorphous_table(nb_scene *s)
{
    static double pair[40];

    for (int i = 0; i < 20; i++) {
        pair[2 * i] = 0.01 * i + 0.0002 * i * i;
        pair[2 * i + 1] = 2.5 + 3 * exp(-(i - 9.0) * (i - 9.0) / 9);
    }
    s->background.water = 300;
    s->background.stol = pair;
    s->background.nstol = 20;
}

static void displacement(nb_scene *s)
{
    s->crystal.b_factor = 20;
    s->crystal.scale = 1.7;
    s->beam.unpolarised = 1;
}

static void xds_roi(nb_scene *s)
{
    s->detector.convention = NB_XDS;
    s->detector.roi[0] = 3;
    s->detector.roi[1] = 35;
    s->detector.roi[2] = 6;
    s->detector.roi[3] = 37;
}

#ifdef NANOBRAG_FFTW
static void point_spread(nb_scene *s)
{
    s->psf.kind = NB_PSF_GAUSS;
    s->psf.fwhm = 0.9;
}
#endif

static void quirks(nb_scene *s)
{
    each_factor(s);
    nb_scene_set_profile(s, NB_PROFILE_NANOBRAGG);
    s->oversample_thick = 0;
    s->background.water = 5;
    s->dmin = 6;
}

static void quirk_curved(nb_scene *s)
{
    s->detector.curved = 1;
    s->crystal.shape = NB_GAUSS;
    nb_scene_set_profile(s, NB_PROFILE_NANOBRAGG);
}

#define NAMED(name)                                                                        \
    {                                                                                      \
#name, name                                                                        \
    }

const struct named_scene scenes_list[] = {
    NAMED(base),
    NAMED(square_nearest),
    NAMED(square_tricubic),
    NAMED(square_real_cells),
    NAMED(round_constant),
    NAMED(round_nearest),
    NAMED(round_tricubic),
    NAMED(gauss_constant),
    NAMED(gauss_nearest),
    NAMED(gauss_tricubic),
    NAMED(gauss_star),
    NAMED(tophat_constant),
    NAMED(tophat_nearest),
    NAMED(tophat_tricubic),
    NAMED(layers),
    NAMED(each_factor),
    NAMED(curved),
    NAMED(point_pixel),
    NAMED(grid_of_sources),
    NAMED(list_of_sources),
    NAMED(rotated),
    NAMED(weighted_domains),
    NAMED(sheared),
    NAMED(anisotropic),
    NAMED(tetragonal),
    NAMED(dmin_and_water),
    NAMED(amorphous_table),
    NAMED(displacement),
    NAMED(xds_roi),
#ifdef NANOBRAG_FFTW
    NAMED(point_spread),
#endif
    NAMED(quirks),
    NAMED(quirk_curved),
};
const size_t scenes_count = sizeof scenes_list / sizeof *scenes_list;

nb_scene scenes_make(const struct named_scene *named)
{
    nb_scene s = scenes_base();

    named->change(&s);
    return s;
}

size_t scenes_parameters(nb_context *ctx, const nb_scene *scene, int row, nb_param *out,
                         size_t most)
{
    nb_param param;
    nb_simulator *sim;
    size_t n, count;

    if (!nb_param_registry(row, &param)) return 0;
    param.name[strcspn(param.name, "[")] = 0; /* all members of a list */
    if (nb_simulator_create(ctx, scene, param.name, NULL, &sim) != NB_OK) return 0;
    n = nb_nparam(sim);
    count = n < most ? n : most;
    for (size_t i = 0; i < count; i++)
        if (nb_param_at(sim, i * n / count, out + i) != NB_OK) abort();
    nb_simulator_free(sim);
    return count;
}
