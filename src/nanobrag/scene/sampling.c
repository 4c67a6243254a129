/*
 * sampling.c - the rules for steps (docs/theory.md, 11).
 *
 * A sampled quantity has a range, a step and a count; the user gives some of the three. The
 * rules here use every given number and refuse contradictions. The functions named *_quirk
 * and quirk_* are the rules of nanoBragg, used with NB_QUIRK_STEP_RULES.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/sampling.h"

#include <math.h>

#include "base/context.h"
#include "base/log.h"
#include "scene/beam.h"
#include "scene/continuous/continuous.h"
#include "scene/detector/layers.h"
#include "scene/linear.h"
#include "scene/mosaic.h"

/* A count is cut to COUNT_MOST, so that it fits an int; later checks refuse such totals. */
enum { COUNT_MOST = 2000000000, PHI_STEPS_MOST = 1000, PHI_STEPS_PER_ROCKING_WIDTH = 5 };

/* The largest part of a rotation that the continuous model integrates at once, degree. */
enum { PHI_PART_MOST = 5 };

/* The largest number of sub-pixels along an edge of the detector. Up to here a float
 * represents every whole number. */
enum { SUB_PIXELS_MOST = 1 << 24 };

static struct scene_steps steps_of(double range, double step)
{
    struct scene_steps s = {0, 0};

    if (range != 0)
        s.ratio = step / range;
    else
        s.absolute = step;
    return s;
}

/* Returns the number of steps that cover a range. A quotient that rounding leaves just
 * above a whole number counts as that number. */
static int steps_over(double range, double step)
{
    const double n = ceil(fabs(range / step) * (1 - 1e-12));

    return !(n >= 1) ? 1 : n > COUNT_MOST ? COUNT_MOST : (int)n;
}

/* Returns nanoBragg's number of steps that cover a range; it is 0 for a range of 0. */
static int quirk_steps_over(double range, double step)
{
    const double n = ceil(range / step);

    return !(n >= 0) ? 0 : n > COUNT_MOST ? COUNT_MOST : (int)n;
}

/* Applies nanoBragg's rules to a divergence or dispersion. `assumed` is the range that a
 * count without a range stands for. */
static void range_quirk(struct scene_range *r, double assumed)
{
    const int stepped = r->step_given && r->step > 0;

    if (r->count <= 0) {
        if (r->range_given && stepped)
            r->count = quirk_steps_over(r->range, r->step);
        else if (r->range_given) {
            r->step = r->range;
            r->count = 2;
        } else if (stepped) {
            r->range = r->step;
            r->count = 2;
        }
    } else if (!r->range_given && stepped) {
        r->range = r->step;
        r->count = 2;
    } else if (!r->range_given) {
        r->range = assumed;
        r->step = r->range / r->count;
    } else if (!stepped) {
        if (r->count < 2) r->count = 2;
        r->step = r->range / (r->count - 1);
    }
    if (!(r->range > 0) || !(r->step > 0) || r->count <= 0) {
        r->count = 1;
        r->range = r->step = 0;
    }
}

static nb_status range_resolve(nb_context *ctx, struct scene_range *r, const char *what,
                               const char *option)
{
    if (r->count > 1 && !r->range_given && !r->step_given)
        return fail(ctx, NB_ERR_SCENE, "%d steps of %s need a range; give %s", r->count,
                    what, option);
    if (r->count > 0 && r->range_given && r->step_given && r->range > 0
        && r->count != steps_over(r->range, r->step)
        && fabs(r->step * (r->count - 1) - r->range) > 1e-9 * r->range)
        return fail(ctx, NB_ERR_SCENE,
                    "%d steps of %g do not make a %s of %g; leave one of the three out",
                    r->count, r->step, what, r->range);
    if (r->count == 0) {
        if (r->range_given && r->step_given && r->step > 0)
            r->count = steps_over(r->range, r->step);
        else
            r->count = r->range_given || r->step_given ? 2 : 1;
        if (!r->range_given) r->range = r->step;
    } else if (!r->range_given)
        r->range = r->step * (r->count - 1);
    if (!(r->range > 0)) r->count = 1;
    if (r->count == 1)
        r->step = 0;
    else if (!r->step_given || !(r->step > 0))
        r->step = r->range / (r->count - 1);
    return NB_OK;
}

/* Sets the count to 1 for a range that the continuous model integrates. */
static void integrate(const nb_scene *scene, struct scene_range *r)
{
    if (continuous_is_on(scene) && r->count == 0 && !r->step_given) r->count = 1;
}

static nb_status resolve_divergence(nb_context *ctx, nb_scene *scene,
                                    struct scene_fixed *fixed)
{
    static const char *const what[] = {"horizontal divergence", "vertical divergence"};
    static const char *const option[] = {"-hdivrange", "-vdivrange"};
    static const uint64_t given[] = {NB_GIVEN_DIVERGENCE_H, NB_GIVEN_DIVERGENCE_V};
    nb_beam *b = &scene->beam;

    for (int i = 0; i < 2; i++) {
        struct scene_range r = {.range = b->divergence[i],
                                .step = b->divergence_step[i],
                                .count = b->ndivergence[i],
                                .count_given = b->ndivergence[i] > 0};

        r.range_given = r.range > 0 || (scene->given & given[i]);
        r.step_given = r.step > 0;
        integrate(scene, &r);
        if (scene->quirks & NB_QUIRK_STEP_RULES)
            range_quirk(&r, 1000); /* mrad */
        else
            NB_TRY(range_resolve(ctx, &r, what[i], option[i]));
        b->divergence[i] = r.range;
        b->divergence_step[i] = r.step;
        b->ndivergence[i] = r.count;
        fixed->divergence[i] = steps_of(r.range, r.step);
        scene->given |= given[i];
    }
    for (int i = 0; i < 2; i++)
        fixed->divergence_variance[i] = continuous_divergence_variance(scene, i);
    return NB_OK;
}

static nb_status resolve_dispersion(nb_context *ctx, nb_scene *scene,
                                    struct scene_fixed *fixed)
{
    nb_beam *b = &scene->beam;
    struct scene_range r = {.range = b->dispersion,
                            .count = b->ndispersion,
                            .count_given = b->ndispersion > 0};

    r.range_given = b->dispersion > 0 || (scene->given & NB_GIVEN_DISPERSION);
    integrate(scene, &r);
    if (scene->quirks & NB_QUIRK_STEP_RULES) {
        r.range_given = 1; /* nanoBragg takes a range of 0 as given */
        range_quirk(&r, 0);
    } else
        NB_TRY(range_resolve(ctx, &r, "dispersion", "-dispersion"));
    b->dispersion = r.range;
    b->ndispersion = r.count;
    fixed->dispersion = steps_of(r.range, r.step);
    scene->given |= NB_GIVEN_DISPERSION;
    return NB_OK;
}

static nb_status resolve_mosaic(nb_context *ctx, nb_scene *scene)
{
    nb_crystal *c = &scene->crystal;
    const int quirk = (scene->quirks & NB_QUIRK_STEP_RULES) != 0;
    const double spread = fmax(fmax(c->mosaic[0], fmax(c->mosaic[1], c->mosaic[2])),
                               linear_norm(c->mosaic_off));
    const int given = spread > 0 || (!quirk && (scene->given & NB_GIVEN_MOSAIC));

    if (c->ndomains > 1 && !given && !quirk)
        return fail(ctx, NB_ERR_SCENE, "%d mosaic domains need a spread; give -mosaic",
                    c->ndomains);
    if (continuous_is_on(scene) || (c->ndomains != 0 && !given))
        c->ndomains = 1;
    else if (c->ndomains == 0) {
        c->ndomains = spread > 0 ? 10 : 1;
        if (spread > 0)
            log_line(ctx, NB_LOG_NOTE, "crystal",
                     "a mosaic spread without -mosaic_dom: 10 domains");
    }
    scene->given |= NB_GIVEN_MOSAIC;
    mosaic_resolve(scene);
    NB_TRY(mosaic_check(ctx, &scene->crystal, NB_ERR_SCENE));
    if (c->mosaic[1] != 0 || c->mosaic[2] != 0) scene->given |= NB_GIVEN_MOSAIC_AXES;
    return NB_OK;
}

nb_status sampling_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed)
{
    NB_TRY(continuous_resolve(ctx, scene, fixed));
    NB_TRY(resolve_divergence(ctx, scene, fixed));
    NB_TRY(resolve_dispersion(ctx, scene, fixed));
    return resolve_mosaic(ctx, scene);
}

static void phi_quirk(struct scene_range *r)
{
    const int ranged = r->range_given && r->range >= 0;
    const int stepped = r->step_given && r->step > 0;

    if (!ranged && stepped) {
        r->range = r->step;
        r->count = 2;
    } else if (!r->count_given) {
        if (!ranged) {
            r->count = 1;
            r->range = r->step = 0;
        } else if (stepped)
            r->count = quirk_steps_over(r->range, r->step);
        else {
            r->count = 2;
            r->step = r->range / 2;
        }
    } else if (!ranged) {
        r->range = 1;
        r->step = r->range / r->count;
    } else if (!r->step_given || r->step < 0)
        r->step = r->range / r->count;
    if (r->count < 1) r->count = 1;
}

/* Returns the number of phi steps for a rotation of `osc` degrees: enough to sample the
 * rocking width 1/(L q) of the narrowest reflection. L is the largest edge of the crystal,
 * A; q is qmax, 1/A. */
static int phi_count(nb_context *ctx, double osc, double edge, double qmax)
{
    const double rotation = fabs(osc) * (3.14159265358979323846 / 180);
    const double wanted = ceil(PHI_STEPS_PER_ROCKING_WIDTH * rotation * edge * qmax);
    const int n = wanted < 1 ? 1 : wanted > PHI_STEPS_MOST ? PHI_STEPS_MOST : (int)wanted;

    if (wanted > PHI_STEPS_MOST)
        log_line(ctx, NB_LOG_WARNING, "scan",
                 "%g degrees would need %.0f phi steps; %d are used (-phisteps)", osc,
                 wanted, PHI_STEPS_MOST);
    else
        log_line(ctx, NB_LOG_NOTE, "scan", "%d phi step%s for %g degree%s (-phisteps)", n,
                 n == 1 ? "" : "s", osc, fabs(osc) == 1 ? "" : "s");
    return n;
}

static nb_status phi_resolve(nb_context *ctx, struct scene_range *r, double edge,
                             double qmax)
{
    if (r->count > 1 && !r->range_given && !r->step_given)
        return fail(ctx, NB_ERR_SCENE, "%d phi steps need an oscillation range; give -osc",
                    r->count);
    if (r->count > 0 && r->range_given && r->step_given && r->range != 0
        && r->count != steps_over(r->range, r->step))
        return fail(ctx, NB_ERR_SCENE,
                    "%d phi steps of %g degrees do not make %g degrees; leave one of "
                    "-phisteps, -phistep, -osc out",
                    r->count, r->step, r->range);
    if (r->count > 0 && !r->range_given)
        r->range = r->step * r->count;
    else if (r->count == 0 && r->range_given)
        r->count = r->range == 0                   ? 1
                   : r->step_given && r->step != 0 ? steps_over(r->range, r->step)
                                                   : phi_count(ctx, r->range, edge, qmax);
    else if (r->count == 0) {
        r->range = r->step;
        r->count = r->step_given ? 2 : 1;
    }
    if (r->step_given && r->count > 1
        && fabs(fabs(r->step) - fabs(r->range) / r->count) > 1e-9 * fabs(r->step))
        log_line(ctx, NB_LOG_WARNING, "scan",
                 "%d phi steps of %g degrees are used, not of %g: they fill a range of %g",
                 r->count, r->range / r->count, r->step, r->range);
    r->step = r->range / r->count;
    return NB_OK;
}

static nb_status resolve_phi(nb_context *ctx, nb_scene *scene, double edge, double qmax,
                             struct scene_fixed *fixed)
{
    nb_scan *scan = &scene->scan;
    struct scene_range r = {.range = scan->osc,
                            .step = scan->step,
                            .count = scan->nphi,
                            .count_given = scan->nphi > 0};
    int parts; /* 1: the continuous model integrates phi, in r.count parts */

    r.range_given = r.range != 0 || (scene->given & NB_GIVEN_OSC);
    r.step_given = r.step != 0 || (scene->given & NB_GIVEN_PHI_STEP);
    parts = continuous_is_on(scene) && r.step == 0 && r.range != 0
            && (r.count == 0 || r.step_given);
    if (parts) {
        if (r.count == 0) r.count = steps_over(r.range, PHI_PART_MOST);
        r.step = r.range / r.count;
    } else if (scene->quirks & NB_QUIRK_STEP_RULES)
        phi_quirk(&r);
    else
        NB_TRY(phi_resolve(ctx, &r, edge, qmax));
    scan->osc = r.range;
    scan->step = parts ? 0 : r.step;
    scan->nphi = r.count;
    fixed->phi = steps_of(r.range, r.step);
    if (scan->drift_phi == 0 && !(scene->given & NB_GIVEN_DRIFT_PHI))
        scan->drift_phi = scan->phi0 + scan->osc / 2;
    scene->given |= NB_GIVEN_OSC | NB_GIVEN_PHI_STEP | NB_GIVEN_DRIFT_PHI;
    return NB_OK;
}

nb_status sampling_resolve_placed(nb_context *ctx, nb_scene *scene,
                                  const struct crystal_axes *axes,
                                  const struct detector_scale *scale,
                                  struct scene_fixed *fixed)
{
    const nb_detector *d = &scene->detector;
    const double edge = crystal_largest_edge(scene, axes);
    const double wanted = ceil(3 * edge / scale->reciprocal_pixel);

    fixed->oversample_wanted = !(wanted >= 1) ? 1 : wanted > 10000 ? 10000 : (int)wanted;
    if (scene->oversample <= 0) {
        scene->oversample = fixed->oversample_wanted;
        if (wanted > 100)
            log_line(ctx, NB_LOG_WARNING, "sampling",
                     "%d-fold oversampling was chosen, as spots are 1/%.3g pixel wide: "
                     "%.3g samples per pixel; use a smaller crystal%s, or -oversample",
                     scene->oversample, wanted / 3,
                     (double)scene->oversample * scene->oversample,
                     scene->crystal.shape == NB_SHAPE_SQUARE ? ", -gauss_xtal" : "");
    }
    if ((double)scene->oversample * (d->nfast > d->nslow ? d->nfast : d->nslow)
        > SUB_PIXELS_MOST)
        return fail(ctx, NB_ERR_SCENE,
                    "%d x %d pixels with %d x %d sub-pixels each are too many; at most %d "
                    "sub-pixels along an edge (-oversample)",
                    d->nfast, d->nslow, scene->oversample, scene->oversample,
                    SUB_PIXELS_MOST);
    fixed->interpolate_auto = scene->crystal.interpolate == NB_LOOKUP_AUTO;
    fixed->interpolate = sampling_interpolation(scene, fixed);
    scene->crystal.interpolate = fixed->interpolate;
    NB_TRY(layers_resolve(ctx, scene, scale, &fixed->layer));
    return resolve_phi(ctx, scene, edge, scale->qmax, fixed);
}

double sampling_phi(const nb_scene *scene, const struct scene_fixed *fixed, int i)
{
    const double step = sampling_step(&fixed->phi, scene->scan.osc);
    const double start = scene->quirks & NB_QUIRK_STEP_RULES ? i : i + 0.5;

    return scene->scan.phi0 + step * start;
}

void sampling_drift(const nb_scene *scene, const struct scene_fixed *fixed, int i,
                    double drift[3])
{
    const nb_scan *scan = &scene->scan;
    const double away = sampling_phi(scene, fixed, i) - scan->drift_phi;

    linear_scale(linear_radian(away), scan->drift, drift);
}
