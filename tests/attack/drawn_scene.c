/* drawn_scene.c - see drawn_scene.h. SPDX-License-Identifier: MIT */
#include "attack/drawn_scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/renders.h"

static void draw_crystal(struct attack *a, nb_crystal *c)
{
    const double cell = attack_decades(a, 2, 1000), count = attack_decades(a, 1, 1000);

    c->shape = attack_below(a, NB_SHAPE_GAUSS_STAR + 1);
    for (int i = 0; i < 3; i++) {
        c->cell[i] = fmin(1000, fmax(2, cell * attack_decades(a, 0.4, 2.5)));
        c->cell[3 + i] = attack_once_in(a, 3) ? 90 : attack_between(a, 72, 115);
        c->ncells[i] = fmin(1000, fmax(1, count * attack_decades(a, 0.5, 2)));
        if (attack_once_in(a, 2)) c->ncells[i] = rint(c->ncells[i]);
        c->misset[i] = attack_between(a, -180, 180);
    }
    c->default_f = attack_once_in(a, 4) ? -30 : 100;
    if (attack_once_in(a, 3)) {
        c->mosaic[0] = attack_decades(a, 1e-3, 3);
        c->ndomains = 1 + attack_below(a, 6);
        if (attack_once_in(a, 2)) c->mosaic[1] = c->mosaic[2] = c->mosaic[0] / 3;
    }
    if (attack_once_in(a, 4)) {
        c->fudge = attack_decades(a, 0.3, 3);
        c->normalise = c->fudge > 1;
    }
    if (attack_once_in(a, 4)) c->b_factor = attack_between(a, -1, 40);
    if (attack_once_in(a, 6)) c->scale = attack_decades(a, 1e-3, 1e3);
}

static void draw_beam(struct attack *a, nb_scene *s, nb_source *source)
{
    s->beam.wavelength = attack_decades(a, 0.1, 10);
    s->beam.polarization = attack_between(a, -1, 1);
    s->beam.unpolarised = attack_once_in(a, 8);
    if (attack_once_in(a, 6)) {
        s->beam.dispersion = attack_decades(a, 1e-4, 0.2);
        s->beam.ndispersion = 1 + attack_below(a, 3);
    }
    if (attack_once_in(a, 6)) {
        s->beam.divergence[0] = attack_decades(a, 1e-2, 30);
        s->beam.ndivergence[0] = 1 + attack_below(a, 3);
    }
    if (attack_once_in(a, 8)) {
        s->beam.source = source;
        s->beam.nsource = 1 + attack_below(a, 3);
        for (int i = 0; i < s->beam.nsource; i++) {
            source[i].direction[0] = s->detector.convention == NB_CONVENTION_DIALS ? 0 : 1;
            source[i].direction[2] = s->detector.convention == NB_CONVENTION_DIALS ? -1 : 0;
            source[i].direction[1] = attack_between(a, -0.01, 0.01);
            source[i].wavelength = s->beam.wavelength * attack_between(a, 0.98, 1.02);
            source[i].weight = attack_between(a, 0.1, 2);
        }
    }
    if (attack_once_in(a, 3)) {
        s->scan.phi0 = attack_between(a, -180, 180);
        s->scan.osc = attack_decades(a, 1e-3, 5);
        s->scan.nphi = 1 + attack_below(a, 3);
    }
}

static void draw_detector(struct attack *a, struct drawn_scene *out)
{
    nb_detector *d = &out->scene.detector;

    d->convention = attack_below(a, NB_CONVENTION_DIALS + 1);
    d->nfast = 4 + attack_below(a, DRAWN_EDGE - 3);
    d->nslow = 4 + attack_below(a, DRAWN_EDGE - 3);
    d->distance = attack_decades(a, 20, 2000);
    d->pixel = attack_decades(a, 1e-5, 2e-2) * d->distance;
    if (attack_once_in(a, 2))
        for (int i = 0; i < 3; i++) d->rotation[i] = attack_between(a, -40, 40);
    if (attack_once_in(a, 2)) d->twotheta = attack_between(a, -60, 60);
    if (attack_once_in(a, 4)) {
        d->thickness = attack_decades(a, 1, 1000);
        d->attenuation = attack_decades(a, 10, 1e4);
        d->nlayers = 1 + attack_below(a, 3);
    }
    d->curved = attack_once_in(a, 10);
    d->point_pixel = attack_once_in(a, 10);
    if (attack_once_in(a, 6)) {
        d->mask = out->mask;
        for (int i = 0; i < DRAWN_PIXELS; i++) out->mask[i] = attack_once_in(a, 3) ? 0 : 1;
    }
    if (attack_once_in(a, 6)) {
        d->roi[0] = attack_below(a, d->nfast - 2);
        d->roi[1] = d->roi[0] + 2;
        d->roi[2] = attack_below(a, 2);
        d->roi[3] = d->nslow - attack_below(a, 2);
    }
    out->npixel = d->nfast * d->nslow;
}

static void draw_sampling(struct attack *a, nb_scene *s)
{
    s->oversample = 1 + attack_below(a, 3);
    s->oversample_thick = attack_once_in(a, 5);
    s->oversample_polar = attack_once_in(a, 5);
    s->oversample_omega = attack_once_in(a, 5);
    if (attack_once_in(a, 6)) s->background.water = attack_decades(a, 1e-3, 100);
    if (attack_once_in(a, 8)) s->dmin = attack_decades(a, 0.5, 20);
    if (attack_once_in(a, 8)) {
        s->psf.kind = attack_once_in(a, 2) ? NB_PSF_GAUSS : NB_PSF_FIBER;
        s->psf.fwhm = s->detector.pixel * attack_decades(a, 0.1, 4);
        s->psf.radius = 1 + attack_below(a, 6);
    }
}

/* Lists reflections about one, some of them missing. */
static nb_hkl *list_about(struct attack *a, const int at[3])
{
    enum { MOST = 4, SIDE = 2 * MOST + 1 };
    int hkl[SIDE * SIDE * SIDE][3];
    double f[SIDE * SIDE * SIDE];
    nb_context *ctx = renders_context(1);
    nb_hkl *made;
    size_t n = 0;

    for (int i = 0; i < SIDE * SIDE * SIDE; i++) {
        if (i > 0 && attack_once_in(a, 9)) continue;
        hkl[n][0] = at[0] + i % SIDE - MOST;
        hkl[n][1] = at[1] + i / SIDE % SIDE - MOST;
        hkl[n][2] = at[2] + i / SIDE / SIDE - MOST;
        f[n++] = attack_between(a, -20, 200);
    }
    if (nb_hkl_create(ctx, n, hkl[0], f, &made) != NB_OK) abort();
    nb_context_free(ctx);
    return made;
}

static void describe(struct drawn_scene *out)
{
    const nb_scene *s = &out->scene;
    const nb_crystal *c = &s->crystal;

    (void)snprintf(out->text, sizeof out->text,
                   "shape %d, cell %.3g %.3g %.3g, N %.4g %.4g %.4g, %.3g A, %d x %d of "
                   "%.3g mm at %.4g mm, %s, %d sources, %d phi, %d domains, oversample %d",
                   c->shape, c->cell[0], c->cell[1], c->cell[2], c->ncells[0], c->ncells[1],
                   c->ncells[2], s->beam.wavelength, s->detector.nfast, s->detector.nslow,
                   s->detector.pixel, s->detector.distance,
                   !c->hkl                                ? "constant"
                   : c->interpolate == NB_LOOKUP_TRICUBIC ? "tricubic"
                                                          : "list",
                   s->beam.nsource, s->scan.nphi, c->ndomains, s->oversample);
}

/* Returns 1 unless the scene is refused. Some are: of a detector turned edge-on, or one in
 * the beam. */
static int is_possible(const nb_scene *scene)
{
    const nb_options how = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    nb_context *ctx = renders_context(1);
    nb_simulator *sim = NULL;
    const nb_status status = nb_simulator_create(ctx, scene, NULL, &how, &sim);

    nb_simulator_free(sim);
    nb_context_free(ctx);
    return status == NB_OK;
}

static void draw_once(struct attack *attack, struct drawn_scene *out)
{
    nb_scene *s = &out->scene;
    int at[3] = {0, 0, 0};

    memset(out, 0, sizeof *out);
    draw_crystal(attack, &s->crystal);
    draw_detector(attack, out);
    draw_beam(attack, s, out->source);
    draw_sampling(attack, s);
    if (s->crystal.ndomains > 0 && attack_once_in(attack, 3)) {
        s->crystal.domain_weight = out->domain_weight;
        for (int i = 0; i < s->crystal.ndomains; i++)
            out->domain_weight[i] = attack_between(attack, 0.1, 2);
    }
    describe(out);
    if (s->beam.nsource == 0 && s->crystal.ndomains <= 1 && s->scan.nphi <= 1
        && !attack_once_in(attack, 3))
        (void)renders_aim(s, attack_below(attack, s->detector.nslow),
                          attack_below(attack, s->detector.nfast),
                          attack_between(attack, 0, 0.6), at);
    if (attack_once_in(attack, 2)) {
        s->crystal.hkl = out->hkl = list_about(attack, at);
        s->crystal.interpolate =
            attack_once_in(attack, 2) ? NB_LOOKUP_NEAREST : NB_LOOKUP_TRICUBIC;
        describe(out);
    }
}

void drawn_scene(struct attack *attack, struct drawn_scene *out)
{
    int tries = 0;

    for (draw_once(attack, out); !is_possible(&out->scene); draw_once(attack, out)) {
        drawn_scene_free(out);
        if (++tries > 20) abort();
    }
}

void drawn_scene_free(struct drawn_scene *drawn)
{
    nb_hkl_free(drawn->hkl);
    drawn->hkl = NULL;
}
