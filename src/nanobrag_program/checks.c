/*
 * checks.c - warns of images that will look wrong here or in other programs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/output/pixel_view.h"
#include "nanobrag_program/run.h"

#define RADIAN (3.14159265358979323846 / 180)

/* Returns the full width of the narrowest spot, pixels. */
static double spot_width(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const int shape = run->command.resolved.crystal.shape;
    const double *n = d->ncells;
    double edge = d->sample_max;
    if ((shape == NB_SHAPE_GAUSS || shape == NB_SHAPE_TOPHAT)
        && (run->command.resolved.quirks & NB_QUIRK_GAUSS_METRIC))
        edge = n[0] * n[1] * n[2];
    return edge > 0 ? fabs(d->pixel_reciprocal) / edge : INFINITY;
}

static void check_spots(struct run *run)
{
    const nb_description *d = &run->command.description;
    const double width = spot_width(run);
    /* the rule for sub-pixels has reached its limit and given a warning itself */
    if (width * d->oversample >= 1 || run->command.s->scene.oversample <= 0) return;
    message_warning(run->command.messages,
                    "the spots are %.3g pixels wide but the sub-pixels are 1/%d pixel "
                    "wide, so intensity is lost; use -oversample %d",
                    width, d->oversample, (int)fmin(ceil(3 / width), 10000));
}

/* Warn if a phi step is wider than the rocking curve, so that spots fall between steps. */
static void check_rocking(struct run *run)
{
    const nb_description *d = &run->command.description;
    const nb_scene *scene = &run->command.resolved;
    const double step = fabs(d->phi_step) * RADIAN;
    const double reach = scene->dmin > 0 ? fmin(d->qmax, 1 / scene->dmin) : d->qmax;
    const double divergence = fmax(d->divergence[0], d->divergence[1]);
    const double *const spread = scene->crystal.mosaic;
    const double widest = fmax(spread[0], fmax(spread[1], spread[2]));
    const double width =
        1 / (d->sample_max * reach) + 2 * widest * RADIAN + divergence + d->dispersion;
    if (d->integrated & NB_INTEGRATED_ROTATION || !(step > width)) return;
    const double rotation = fabs(scene->scan.osc) * RADIAN;
    message_warning(run->command.messages,
                    "the phi step of %.3g degrees is wider than the rocking width of %.3g "
                    "degrees: spots are missed; use -phisteps %.0f",
                    step / RADIAN, width / RADIAN, ceil(2 * rotation / width));
}

static int is_outside(const nb_hkl_info *info, const double axes[9], const double q[3])
{
    for (int k = 0; k < 3; k++) {
        const double *edge = axes + (size_t)k * 3;
        const double h = ceil(edge[0] * q[0] + edge[1] * q[1] + edge[2] * q[2] - 0.5);
        if (h < info->min[k] || h > info->max[k]) return 1;
    }
    return 0;
}

enum { GRID = 48 }; /* points along an edge of a coarse grid of pixels */

/* Returns at how many points of such a grid the nearest hkl is outside the bounds of the
 * list. The grid covers `part` of a panel: first and end fast, first and end slow. */
static int outside_points(const struct run *run, const nb_description *panel,
                          const int part[4], const double axes[9])
{
    const nb_scene *scene = &run->command.resolved;
    const struct view view = {panel, scene->beam.wavelength};
    const double step[2] = {(part[1] - part[0]) / (double)GRID,
                            (part[3] - part[2]) / (double)GRID};
    double q[3];
    int outside = 0;
    for (int slow = 0; slow < GRID; slow++)
        for (int fast = 0; fast < GRID; fast++) {
            view_q(&view, part[0] + (fast + 0.5) * step[0],
                   part[2] + (slow + 0.5) * step[1], q);
            const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
            if (!(scene->dmin > 0 && length * scene->dmin > 1))
                outside += is_outside(&run->command.inputs.hkl_info, axes, q);
        }
    return outside;
}

/* Finds the part of panel i that lies in the roi, in pixels of the panel, and a description
 * of the geometry with this panel in it. Returns the number of pixels of the part. */
static double part_of_panel(const struct run *run, int i, nb_description *seen, int part[4])
{
    const int *roi = run->command.resolved.detector.roi;
    nb_panel panel;
    memcpy(part, roi, 4 * sizeof *part);
    *seen = run->command.description;
    if (seen->npanel > 0) {
        if (nb_simulator_panel(run->command.sim, run->command.params.x, i, &panel) != NB_OK)
            return 0;
        const int first[2] = {panel.fast0, panel.slow0};
        const int size[2] = {panel.nfast, panel.nslow};
        for (int k = 0; k < 4; k++) {
            part[k] -= first[k / 2];
            if (part[k] < 0) part[k] = 0;
            if (part[k] > size[k / 2]) part[k] = size[k / 2];
        }
        memcpy(seen->origin, panel.origin, sizeof seen->origin);
        memcpy(seen->fast, panel.fast, sizeof seen->fast);
        memcpy(seen->slow, panel.slow, sizeof seen->slow);
        seen->pixel = panel.pixel;
    }
    return (double)(part[1] - part[0]) * (part[3] - part[2]);
}

/* Returns the share of the pixels whose nearest hkl is outside the bounds of the list. */
static double outside_share(const struct run *run, int phi)
{
    const int n = run->command.description.npanel > 0 ? run->command.description.npanel : 1;
    double axes[9], outside = 0, pixels = 0;
    if (nb_simulator_orientation(run->command.sim, run->command.params.x, phi, 0, axes)
        != NB_OK)
        return 0;
    for (int i = 0; i < n; i++) {
        nb_description seen;
        int part[4];
        const double held = part_of_panel(run, i, &seen, part);
        if (held > 0) outside += held * outside_points(run, &seen, part, axes);
        pixels += held;
    }
    return pixels > 0 ? outside / (pixels * GRID * GRID) : 0;
}

static void check_list(struct run *run)
{
    const nb_hkl_info *info = &run->command.inputs.hkl_info;
    if (!run->command.inputs.hkl) return;
    const double share =
        fmax(outside_share(run, 0), outside_share(run, run->command.description.nphi - 1));
    if (!(share > 0)) return;
    message_warning(run->command.messages,
                    "%.3g %% of the pixels need reflections outside the list (h %d to %d, "
                    "k %d to %d, l %d to %d), which get F = %g electrons; the detector "
                    "reaches %.3g A",
                    100 * share, info->min[0], info->max[0], info->min[1], info->max[1],
                    info->min[2], info->max[2], run->command.resolved.crystal.default_f,
                    1 / run->command.description.qmax);
}

/* Finds the reciprocal axes of three axes; both are rows. */
static void reciprocal_axes(const double axes[9], double out[9])
{
    double volume = 0;
    for (int i = 0; i < 3; i++) {
        const double *u = axes + 3 * (size_t)((i + 1) % 3);
        const double *v = axes + 3 * (size_t)((i + 2) % 3);
        for (int k = 0; k < 3; k++)
            out[3 * i + k] =
                u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    }
    for (int k = 0; k < 3; k++) volume += axes[k] * out[k];
    for (int i = 0; i < 9; i++) out[i] /= volume;
}

/* Returns the largest |q| of a pixel over all wavelengths and directions, 1/A.
 * description.qmax is for the mean wavelength and the central direction only. */
static double largest_q(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const nb_scene *scene = &run->command.resolved;
    double shortest = scene->beam.wavelength * (1 - d->dispersion / 2);
    for (int i = 0; i < run->command.inputs.nsource; i++)
        shortest = fmin(shortest, run->command.inputs.sources[i].wavelength);
    const double spread = fmax(d->divergence[0], d->divergence[1]);
    const double q = d->qmax * scene->beam.wavelength / shortest + spread / shortest;
    return scene->dmin > 0 ? fmin(q, 1 / scene->dmin) : q;
}

/* Returns 1 if a listed reflection other than 0 0 0 has |q| up to `reach`, 1/A. The search
 * uses |h| <= |q| a, and so for k and l. Returns 1 as well if the search would take too
 * long. */
static int list_reaches(const struct run *run, const double axes[9], double reach)
{
    enum { MOST = 4000000 };
    const nb_hkl_info *info = &run->command.inputs.hkl_info;
    int low[3], high[3];
    double cells = 1, inverse[9];
    for (int i = 0; i < 3; i++) {
        const double *a = axes + 3 * (size_t)i;
        const double most = floor(reach * sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]));
        low[i] = (int)fmax(info->min[i], -most);
        high[i] = (int)fmin(info->max[i], most);
        cells *= fmax(0, high[i] - low[i] + 1.0);
    }
    if (cells > MOST) return 1;
    reciprocal_axes(axes, inverse);
    for (int h = low[0]; h <= high[0]; h++)
        for (int k = low[1]; k <= high[1]; k++)
            for (int l = low[2]; l <= high[2]; l++) {
                double square = 0;
                for (int i = 0; i < 3; i++) {
                    const double q =
                        h * inverse[i] + k * inverse[3 + i] + l * inverse[6 + i];
                    square += q * q;
                }
                if (square > 0 && square <= reach * reach
                    && nb_hkl_get(run->command.inputs.hkl, h, k, l, NULL))
                    return 1;
            }
    return 0;
}

/* Warn if no reflection except 0 0 0 reaches the detector. Any other has |q| >= |h|/a, and
 * so for k and l, so its |q| is at least 1 over the longest edge of the cell. */
static void check_reach(struct run *run)
{
    const double *cell = run->command.description.cell;
    const double reach = largest_q(run), longest = fmax(fmax(cell[0], cell[1]), cell[2]);
    double axes[9];
    if (!(reach > 0)) return;
    if (reach * longest < 1)
        message_warning(run->command.messages,
                        "no reflection can reach the detector, which sees spacings above "
                        "%.3g A: the longest edge of the cell is %.3g A; check -energy or "
                        "-lambda, -distance and -cell",
                        1 / reach, longest);
    else if (run->command.inputs.hkl && run->command.resolved.crystal.default_f == 0
             && nb_simulator_orientation(run->command.sim, run->command.params.x, 0, 0,
                                         axes)
                    == NB_OK
             && !list_reaches(run, axes, reach))
        message_warning(run->command.messages,
                        "no listed reflection can reach the detector, which sees spacings "
                        "above %.3g A; check the list, -energy or -lambda, and -distance",
                        1 / reach);
}

/* Returns 1 if -tolerance decided the strategy, because that was auto and spots of this
 * shape have an end. */
static int tolerance_decides(const struct run *run)
{
    const int shape = run->command.resolved.crystal.shape;
    const int bent = run->command.resolved.detector.curved
                     && (run->command.resolved.quirks & NB_QUIRK_CURVED);
    return run->command.s->how.strategy == NB_STRATEGY_AUTO && shape != NB_SHAPE_SQUARE
           && shape != NB_SHAPE_ROUND && !bent;
}

/* Warn if -precision float or -tolerance has no effect. Only the strategy spots and float
 * use the tolerance; but the tolerance may also be the reason that neither was chosen. */
static void check_loop(struct run *run)
{
    const nb_description *d = &run->command.description;
    if (float_is_idle(run))
        message_warning(run->command.messages,
                        "-precision float has no effect: float would exceed -tolerance "
                        "%.3g, so the run computes in double",
                        d->tolerance);
    else if (run->command.s->given[OPT_TOLERANCE] && d->precision == NB_PRECISION_DOUBLE
             && d->strategy != NB_STRATEGY_SPOTS && !tolerance_decides(run))
        message_warning(run->command.messages,
                        "-tolerance has no effect: every sample is summed in double");
}

static int writes_smv(const struct settings *s)
{
    return s->out[OUT_INT] || s->out[OUT_NOISE]
           || (s->out[OUT_IMAGE] && image_format(s) == IMAGE_SMV);
}

/* Warn of geometry that dxtbx cannot read from an SMV header, because dxtbx takes the
 * detector for upright and flat, and the spindle for parallel to the fast axis. */
static void check_header(struct run *run)
{
    const nb_description *d = &run->command.description;
    double upright = 0, along = 0, facing = 0;
    if (!writes_smv(run->command.s)) return;
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        upright += d->beam[i] * d->normal[i];
        along += d->spindle[i] * d->fast[i];
        facing += d->beam[i] * (d->fast[j] * d->slow[k] - d->fast[k] * d->slow[j]);
    }
    const char *what = NULL;
    if (run->command.resolved.detector.curved)
        what = "a curved detector";
    else if (run->command.description.npanel > 1)
        what = "several panels";
    else if (upright < 1 - 1e-10)
        what = "a tilted detector";
    else if (fabs(fabs(along) - 1) > 1e-10 && run->command.resolved.scan.osc != 0)
        what = "a spindle that is not along the fast axis";
    else if (facing < 0 && run->command.resolved.scan.osc != 0)
        what = "a rotation on a detector whose axes are mirrored (fast x slow against the "
               "beam, as with -adxv)";
    else if (run->command.resolved.scan.osc < 0)
        what = "a negative oscillation";
    if (what)
        message_warning(run->command.messages,
                        "the SMV header cannot state %s: other programs will read a wrong "
                        "geometry; -truth writes the true geometry for DIALS",
                        what);
    if (run->command.s->adc != floor(run->command.s->adc))
        message_warning(run->command.messages,
                        "-adc %g is not a whole number: dxtbx may refuse ADC_OFFSET of the "
                        "header; give a whole number",
                        run->command.s->adc);
}

static void check_names(struct run *run)
{
    static const int kinds[] = {OUT_INT, OUT_NOISE, OUT_IMAGE};
    if (run->command.s->given[OPT_IMAGES]) return;
    for (int i = 0; i < 3; i++) {
        const char *const name = run->command.s->out[kinds[i]];
        if (kinds[i] == OUT_IMAGE && image_format(run->command.s) == IMAGE_NXMX) continue;
        if (name && !strpbrk(output_base(name), "0123456789")
            && strncmp(name, "/dev/", 5) != 0)
            message_note(run->command.messages,
                         "%s holds no number; dials.import refuses such names", name);
    }
}

static void check_seeds(struct run *run)
{
    const struct settings *s = run->command.s;
    if (settings_draw(s) && s->seed_from_clock)
        message_record(run->command.messages,
                       "noise seed from the clock: -seed %lld makes this image again",
                       (long long)s->seed);
    if (s->random_misset && s->misset_seed_from_clock)
        message_record(run->command.messages,
                       "orientation seed from the clock: -misset_seed %lld makes this "
                       "orientation again",
                       (long long)s->misset_seed);
}

/* Warn of a square crystal whose edges are no whole numbers of cells. */
static void check_whole(struct run *run)
{
    const double *n = run->command.description.ncells;
    int is_whole = 1;
    for (int i = 0; i < 3; i++) is_whole &= n[i] == floor(n[i]);
    if (run->command.resolved.crystal.shape != NB_SHAPE_SQUARE || is_whole) return;
    message_warning(run->command.messages,
                    "a square crystal of %g x %g x %g cells: the image jumps between "
                    "reflections unless the numbers are whole; -gauss_xtal and other "
                    "shapes take any number",
                    n[0], n[1], n[2]);
}

/* Returns 1 if a fit frees a parameter whose name begins with `begin` and does not continue
 * with `other`. */
static int is_fitted(const struct run *run, const char *begin, const char *other)
{
    const char *const lists[] = {run->command.s->fit.shared, run->command.s->fit.own};
    const size_t n = strlen(begin);
    for (int i = 0; i < 2; i++) {
        const char *at = lists[i];
        if (at && strcmp(at, "all") == 0) return 1;
        for (; at && (at = strstr(at, begin)); at += n)
            if (!other || strncmp(at + n, other, strlen(other)) != 0) return 1;
    }
    return 0;
}

/* Warn of options for a second mosaic spread if the crystal has no first one. */
static void check_tail(struct run *run)
{
    const nb_crystal *c = &run->command.resolved.crystal;
    const double *const spread = c->mosaic;
    const int has_spread = spread[0] > 0 || spread[1] > 0 || spread[2] > 0;
    if (run->command.s->given[OPT_SHOTS]) return; /* -shots may set the spreads */
    if (c->mosaic_tail > 0 && !has_spread && !is_fitted(run, "mosaic", "_tail"))
        message_warning(run->command.messages,
                        "-mosaic_tail has no effect without -mosaic or -mosaic_tensor");
    if (run->command.s->given[OPT_MOSAIC_TAIL_WIDTH] && c->mosaic_tail == 0
        && !is_fitted(run, "mosaic_tail", "_width"))
        message_warning(run->command.messages,
                        "-mosaic_tail_width has no effect without -mosaic_tail");
}

void checks_before(struct run *run)
{
    check_spots(run);
    check_rocking(run);
    check_list(run);
    check_loop(run);
    if (run->command.s->compat) return;
    check_whole(run);
    check_reach(run);
    check_header(run);
    check_names(run);
    check_seeds(run);
    check_tail(run);
}

/* Warn of pixels at the largest count of a kind of file, and name the first such images. */
static void check_overloads(struct run *run, int kind, const char *what)
{
    const int wide = kind == OUT_IMAGE && image_format(run->command.s) != IMAGE_SMV;
    enum { NAMED = 3 };
    char names[512] = "";
    long long pixels = 0;
    size_t length = 0;
    int files = 0;
    for (int i = 0; i < run->done; i++) {
        const struct result *result = &run->results[i];
        const int64_t n = kind == OUT_INT     ? result->saturated
                          : kind == OUT_NOISE ? result->overloads
                                              : result->image_overloads;
        pixels += n;
        if (n > 0 && files++ < NAMED && length < sizeof names)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       files > 1 ? ", " : "", result->file[kind]);
    }
    if (pixels == 0) return;
    message_warning(run->command.messages,
                    "%lld pixel%s of %s %s saturated at %d counts: %s%s", pixels,
                    pixels == 1 ? "" : "s", what, pixels == 1 ? "is" : "are",
                    wide ? INT32_MAX : UINT16_MAX, names,
                    files > NAMED ? ", and more" : "");
}

/* Warn of images that have less than one photon in all, most often because the fluence is
 * in other units. */
static void check_photons(struct run *run)
{
    for (int i = 0; i < run->done; i++) {
        const double sum = run->results[i].statistics.sum;
        if (!settings_draw(run->command.s) || run->results[i].kept || !(sum < 1)) continue;
        message_warning(run->command.messages,
                        "image %d holds %.3g photons in all, so the image with noise is "
                        "empty; raise -fluence (photons/m^2) or -N: a crystal of N^3 cells "
                        "scatters as N^3",
                        run->command.s->first + i + 1, sum);
        return;
    }
}

void checks_after(struct run *run)
{
    if (run->command.s->compat) return;
    check_photons(run);
    check_overloads(run, OUT_INT, "the scaled image");
    check_overloads(run, OUT_NOISE, "the image with noise");
    check_overloads(run, OUT_IMAGE, "the image of -imagefile");
}
