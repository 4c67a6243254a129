/*
 * model.c - decides which scenes have the continuous model.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/context.h"
#include "scene/continuous/continuous.h"
#include "scene/linear.h"
#include "scene/sampling.h"

int continuous_is_on(const nb_scene *scene)
{
    return scene->crystal.mosaic_model == NB_MOSAIC_GAUSS;
}

/* Returns 1 if a list, a number or a seed of domains was given. */
static int has_domains(const nb_scene *scene)
{
    const nb_crystal *c = &scene->crystal;

    return c->ndomains != 0 || c->domain_weight || c->mosaic_seed != 0
           || (scene->given & NB_GIVEN_MOSAIC_SEED);
}

void continuous_leave_domains(nb_scene *scene)
{
    if (scene->crystal.mosaic_model == NB_MOSAIC_AUTO && has_domains(scene))
        scene->crystal.mosaic_model = NB_MOSAIC_DOMAINS;
}

/* Returns a property, in words, that the continuous model needs and the scene lacks, or
 * NULL if there is none. */
static const char *hindrance(const nb_scene *scene, const struct scene_fixed *fixed)
{
    const nb_crystal *c = &scene->crystal;

    if (scene->quirks) return "the library's own profile, not -compat nanobragg";
    if (c->shape != NB_SHAPE_GAUSS && c->shape != NB_SHAPE_GAUSS_STAR)
        return "a gaussian crystal, -gauss_xtal or -gauss_star";
    if (c->ndomains > 1) return "no number of domains (-mosaic_domains)";
    if (scene->oversample_omega || scene->oversample_polar)
        return "factors once a pixel, not -oversample_omega or -oversample_polar";
    if (c->domain_weight) return "no weights of domains (crystal.domain_weight)";
    if (sampling_interpolation(scene, fixed) == NB_LOOKUP_TRICUBIC)
        return "F of the nearest reflection, -nointerpolate";
    return NULL;
}

/* Returns the option of a width that the scene sets and that only the continuous model has,
 * or NULL. */
static const char *own_number(const nb_crystal *c)
{
    if (c->mosaic_tail > 0) return "-mosaic_tail";
    if (c->strain > 0) return "-strain";
    return c->crystal_size > 0 ? "-crystal_size" : NULL;
}

static int has_spread(const nb_crystal *c)
{
    return !linear_is_zero(c->mosaic) || !linear_is_zero(c->mosaic_off);
}

/* Returns 1 if the dispersion or a divergence has a width but no steps. */
static int has_wide_beam(const nb_beam *b)
{
    int wide = b->dispersion > 0 && b->ndispersion == 0;

    for (int i = 0; i < 2; i++)
        wide |=
            b->divergence[i] > 0 && b->ndivergence[i] == 0 && b->divergence_step[i] == 0;
    return wide && b->nsource == 0;
}

/* From this number of listed sources on, the closed form costs less than the sum. */
enum { MANY_SOURCES = 10 };

/* Returns 1 if the scene has a width that can be integrated. */
static int has_width(const nb_scene *scene)
{
    const nb_scan *scan = &scene->scan;

    return (scene->given & NB_GIVEN_WIDTH) || has_spread(&scene->crystal)
           || own_number(&scene->crystal)
           || (scan->osc != 0 && scan->nphi == 0 && scan->step == 0)
           || has_wide_beam(&scene->beam) || scene->beam.nsource >= MANY_SOURCES;
}

nb_status continuous_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed)
{
    nb_crystal *c = &scene->crystal;
    const char *const needs = hindrance(scene, fixed), *const own = own_number(c);

    if (c->mosaic_model == NB_MOSAIC_GAUSS && needs)
        return fail(ctx, NB_ERR_SCENE, "-mosaic_model gauss needs %s", needs);
    if (c->mosaic_model == NB_MOSAIC_AUTO)
        c->mosaic_model = !needs && has_width(scene) ? NB_MOSAIC_GAUSS : NB_MOSAIC_DOMAINS;
    if (c->mosaic_model == NB_MOSAIC_DOMAINS && own)
        return fail(ctx, NB_ERR_SCENE, "%s needs -mosaic_model gauss%s%s", own,
                    needs ? ", which needs " : "", needs ? needs : "");
    if (c->mosaic_tail_width == 0) c->mosaic_tail_width = 5;
    return NB_OK;
}

int continuous_integrates(const nb_scene *scene)
{
    const nb_crystal *c = &scene->crystal;
    const nb_beam *b = &scene->beam;
    int what = 0;

    if (!continuous_is_on(scene)) return 0;
    if (has_spread(c)) what |= NB_INTEGRATED_MOSAIC;
    if (scene->scan.osc != 0 && scene->scan.step == 0) what |= NB_INTEGRATED_ROTATION;
    if (b->nsource > 0) return what;
    if (b->dispersion > 0 && b->ndispersion == 1) what |= NB_INTEGRATED_ENERGIES;
    for (int i = 0; i < 2; i++)
        if (b->divergence[i] > 0 && b->ndivergence[i] == 1)
            what |= NB_INTEGRATED_DIRECTIONS;
    return what;
}
