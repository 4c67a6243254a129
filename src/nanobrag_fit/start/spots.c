/*
 * spots.c - measures the spot in each box of an observed image: background, photons, and
 * widths in reciprocal space.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>
#include <nanobrag/image.h>

#include "base/array.h"
#include "base/context.h"
#include "scene/linear.h"

/* BORDER: pixels of background on either side of the edge of a box. Larger boxes than
 * EDGE_MOST hold no single spot. LEAST: pixels that a plane of background needs. */
enum { BORDER = 2, EDGE_MOST = 400, LEAST = 12, CLIPS = 6, STEPS = 60 };

/* Pixels above the plane by more than this many deviations are no background. */
static const double clip = 4;

/* The least variance of a spot, a little more than a pixel's own, and of the weight,
 * pixel^2: under a narrower weight the sum over pixels is no integral. */
static const double narrow = 0.1, smooth = 2;

enum kind { BAD, SPOT, BACKGROUND };

/* A box with its border, cut to its panel. */
struct cut {
    int fast0, slow0, nfast, nslow; /* its pixels in the image */
    int box[4]; /* the box in it */
    int is_full; /* 1: a pixel of the box is full */
    double *photons; /* (nslow x nfast) later above the background */
    unsigned char *kind; /* (nslow x nfast) enum kind */
};

/* a spot in its cut: middle, in pixels from the outer corner, and second moments, pixel^2
 */
struct moments {
    double at[2], m[3]; /* m: fast fast, fast slow, slow slow */
};

/* what all spots of an image share */
struct measured {
    nb_context *ctx;
    const nb_target *target;
    nb_description d;
    nb_scene scene;
    nb_panel *panel; /* (npanel) */
    int npanel;
    double beam[3], wavelength;
    double blur; /* variance of pixel, point spread and crystal size, pixel^2 */
    double turn; /* variance of the direction of the beam, radian^2 */
};

/* ---- the pixels ---- */

static enum kind kind_of(const struct measured *m, const struct cut *cut, int s, int f,
                         double photons)
{
    const int inside =
        f >= cut->box[0] && f < cut->box[1] && s >= cut->box[2] && s < cut->box[3];
    const size_t at =
        (size_t)(cut->slow0 + s) * (size_t)m->d.nfast + (size_t)(cut->fast0 + f);
    const double weight = m->target->weight
                              ? array_get(m->target->weight, cut->slow0 + s, cut->fast0 + f)
                              : 1;

    if (!(weight > 0) || !isfinite(photons)
        || (m->scene.detector.mask && !m->scene.detector.mask[at]))
        return BAD;
    if (!inside) return BACKGROUND;
    /* of a narrow box no more than the outermost pixels */
    for (size_t k = 0; k < 2; k++) {
        const int edge = cut->box[2 * k + 1] - cut->box[2 * k];
        const int border = edge < 4 * BORDER ? edge / 6 : BORDER;
        const int i = k == 0 ? f : s;

        if (i < cut->box[2 * k] + border || i >= cut->box[2 * k + 1] - border)
            return BACKGROUND;
    }
    return SPOT;
}

/* Finds the panel of a box; NULL: the box is on none. */
static const nb_panel *panel_of(const struct measured *m, const int *box)
{
    for (int i = 0; i < m->npanel; i++) {
        const nb_panel *const p = m->panel + i;

        if (box[0] >= p->fast0 && box[1] <= p->fast0 + p->nfast && box[2] >= p->slow0
            && box[3] <= p->slow0 + p->nslow)
            return p;
    }
    return NULL;
}

/* Reads the pixels of a box and its border; the arrays of `cut` have room for them. */
static void read_cut(const struct measured *m, const int *box, const nb_panel *panel,
                     struct cut *cut)
{
    const int first[2] = {panel->fast0, panel->slow0};
    const int end[2] = {panel->fast0 + panel->nfast, panel->slow0 + panel->nslow};
    int from[2], to[2];
    size_t i = 0;

    for (size_t k = 0; k < 2; k++) {
        from[k] = box[2 * k] - BORDER < first[k] ? first[k] : box[2 * k] - BORDER;
        to[k] = box[2 * k + 1] + BORDER > end[k] ? end[k] : box[2 * k + 1] + BORDER;
        cut->box[2 * k] = box[2 * k] - from[k];
        cut->box[2 * k + 1] = box[2 * k + 1] - from[k];
    }
    cut->fast0 = from[0];
    cut->slow0 = from[1];
    cut->nfast = to[0] - from[0];
    cut->nslow = to[1] - from[1];
    cut->is_full = 0;
    for (int s = 0; s < cut->nslow; s++)
        for (int f = 0; f < cut->nfast; f++, i++) {
            cut->photons[i] =
                array_get(m->target->observed, cut->slow0 + s, cut->fast0 + f);
            cut->kind[i] = (unsigned char)kind_of(m, cut, s, f, cut->photons[i]);
            cut->is_full |= cut->kind[i] == SPOT && m->target->saturation > 0
                            && cut->photons[i] >= m->target->saturation;
        }
}

/* ---- the background ---- */

/* Solves the normal equations of n terms in place, row by row; returns 0 if they are
 * singular. */
static int solve(double a[3][4])
{
    for (int i = 0; i < 3; i++) {
        if (!(a[i][i] > 1e-9 * a[0][0])) return 0;
        for (int k = 0; k < 3; k++) {
            const double factor = k == i ? 0 : a[k][i] / a[i][i];

            for (int j = i; j < 4; j++) a[k][j] -= factor * a[i][j];
        }
    }
    for (int i = 0; i < 3; i++) a[i][3] /= a[i][i];
    return 1;
}

static double plane_at(const struct cut *cut, const double *plane, size_t i)
{
    const size_t f = i % (size_t)cut->nfast, s = i / (size_t)cut->nfast;

    return plane[0] + plane[1] * ((double)f - (cut->nfast - 1) / 2.)
           + plane[2] * ((double)s - (cut->nslow - 1) / 2.);
}

/* Fits a plane to the pixels of background up to `most` above the plane before. Returns
 * their number, or 0 if they determine no plane. */
static int64_t fit_plane(const struct cut *cut, double most, double plane[3],
                         nb_spot_size *spot)
{
    const double before[3] = {plane[0], plane[1], plane[2]};
    const size_t n = (size_t)cut->nfast * (size_t)cut->nslow;
    double a[3][4] = {{0}}, sum = 0, squares = 0;
    int64_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t fast = i % (size_t)cut->nfast, slow = i / (size_t)cut->nfast;
        const double x[3] = {1, (double)fast - (cut->nfast - 1) / 2.,
                             (double)slow - (cut->nslow - 1) / 2.};

        if (cut->kind[i] != BACKGROUND
            || !(cut->photons[i] - plane_at(cut, before, i) <= most))
            continue;
        used++;
        sum += cut->photons[i];
        for (int k = 0; k < 3; k++) {
            for (int j = 0; j < 3; j++) a[k][j] += x[k] * x[j];
            a[k][3] += x[k] * cut->photons[i];
        }
    }
    if (used < LEAST || !solve(a)) return 0;
    for (int k = 0; k < 3; k++) plane[k] = a[k][3];
    for (size_t i = 0; i < n; i++) {
        const double off = cut->photons[i] - plane_at(cut, plane, i);

        if (cut->kind[i] == BACKGROUND
            && cut->photons[i] - plane_at(cut, before, i) <= most)
            squares += off * off;
    }
    spot->background = sum / (double)used;
    spot->variance = squares / (double)(used - 3);
    return used;
}

/* Returns half the mean square of the difference of two pixels of background up to `most`
 * above the plane, two pixels apart: tails of spots make no difference there, and a point
 * spread hardly any. NAN: there are none. */
static double variance_of(const struct cut *cut, double most, const double plane[3])
{
    const int apart = 2, width = cut->nfast;
    double squares = 0;
    int64_t pairs = 0;

    for (int s = 0; s < cut->nslow; s++)
        for (int f = 0; f < width; f++)
            for (int k = 0; k < 2; k++) {
                const size_t i = (size_t)s * (size_t)width + (size_t)f;
                const size_t j = i + (size_t)(k == 0 ? apart : apart * width);
                const int is_out = k == 0 ? f + apart >= width : s + apart >= cut->nslow;

                if (is_out || cut->kind[i] != BACKGROUND || cut->kind[j] != BACKGROUND)
                    continue;
                const double a = cut->photons[i] - plane_at(cut, plane, i);
                const double b = cut->photons[j] - plane_at(cut, plane, j);

                if (a > most || b > most) continue;
                squares += (a - b) * (a - b) / 2;
                pairs++;
            }
    return pairs > 0 ? squares / (double)pairs : NAN;
}

/* Takes the background off all pixels. Returns 0 if it is not known. */
static int subtract(struct cut *cut, nb_spot_size *spot)
{
    const size_t n = (size_t)cut->nfast * (size_t)cut->nslow;
    double plane[3] = {0}, most = INFINITY;
    int64_t used = 0;

    for (int k = 0; k < CLIPS; k++) {
        const int64_t before = used;

        used = fit_plane(cut, most, plane, spot);
        if (used == 0) return 0;
        if (used == before) break;
        /* of few photons, one more is no outlier */
        most = clip * sqrt(spot->variance) + 1;
    }
    spot->pixels = used;
    spot->variance = variance_of(cut, most, plane);
    for (size_t i = 0; i < n; i++)
        cut->photons[i] =
            cut->kind[i] == BAD ? 0 : cut->photons[i] - plane_at(cut, plane, i);
    return 1;
}

/* ---- moments ---- */

/* Makes the principal variances of moments at least `least` and at most `wide`. */
static void bound(double m[3], double least, double wide)
{
    const double mean = (m[0] + m[2]) / 2, half = (m[0] - m[2]) / 2;
    const double off = hypot(half, m[1]);
    const double large = fmin(fmax(mean + off, least), wide);
    const double small = fmin(fmax(mean - off, least), wide);
    const double c = off > 0 ? half / off : 1, s = off > 0 ? m[1] / off : 0;

    m[0] = (large + small) / 2 + c * (large - small) / 2;
    m[2] = (large + small) / 2 - c * (large - small) / 2;
    m[1] = s * (large - small) / 2;
}

/* Replaces the moments of a product by the moments of a spot that under a gaussian weight
 * of moments w gives the product: of gaussians, the inverse matrices add up. */
static void divide(const double w[3], double wide, double m[3])
{
    const double dw = w[0] * w[2] - w[1] * w[1], dm = m[0] * m[2] - m[1] * m[1];
    const double a = m[2] / dm - w[2] / dw, b = -m[1] / dm + w[1] / dw,
                 c = m[0] / dm - w[0] / dw;
    const double det = a * c - b * b;

    if (dm > 0 && a > 0 && det > 0) {
        m[0] = c / det;
        m[1] = -b / det;
        m[2] = a / det;
    } else if (dm > 0) {
        m[0] = m[2] = wide; /* wider than the weight shows */
        m[1] = 0;
    }
    bound(m, narrow, wide);
}

/* One step of the weighted moments. Returns 0 if there is no spot. *lost becomes the share
 * of the weight that lies on bad pixels. */
static int step(const struct cut *cut, double wide, struct moments *spot, double *lost)
{
    double w[3] = {spot->m[0], spot->m[1], spot->m[2]};
    double sum = 0, first[2] = {0}, second[3] = {0}, weight = 0, bad = 0;

    bound(w, fmin(smooth, wide), wide);
    for (int s = cut->box[2]; s < cut->box[3]; s++)
        for (int f = cut->box[0]; f < cut->box[1]; f++) {
            const size_t i = (size_t)s * (size_t)cut->nfast + (size_t)f;
            const double x = f + 0.5 - spot->at[0], y = s + 0.5 - spot->at[1];
            const double g = exp(-(w[2] * x * x - 2 * w[1] * x * y + w[0] * y * y)
                                 / (2 * (w[0] * w[2] - w[1] * w[1])));
            const double part = g * cut->photons[i];

            weight += g;
            if (cut->kind[i] == BAD) bad += g;
            sum += part;
            first[0] += part * x;
            first[1] += part * y;
            second[0] += part * x * x;
            second[1] += part * x * y;
            second[2] += part * y * y;
        }
    *lost = bad / weight;
    if (!(sum > 0)) return 0;
    for (int k = 0; k < 2; k++) first[k] /= sum;
    spot->m[0] = second[0] / sum - first[0] * first[0];
    spot->m[1] = second[1] / sum - first[0] * first[1];
    spot->m[2] = second[2] / sum - first[1] * first[1];
    divide(w, wide, spot->m);
    for (int k = 0; k < 2; k++) spot->at[k] += first[k];
    return spot->at[0] > cut->box[0] && spot->at[0] < cut->box[1]
           && spot->at[1] > cut->box[2] && spot->at[1] < cut->box[3];
}

/* Finds middle and moments of the brightest spot of the box. Returns 0 if there is none. */
static int find_moments(const struct cut *cut, struct moments *out)
{
    const int edge[2] = {cut->box[1] - cut->box[0], cut->box[3] - cut->box[2]};
    const double shorter = edge[0] < edge[1] ? edge[0] : edge[1];
    const double wide = shorter * shorter / 12;
    double most = -INFINITY, lost = 0;

    *out = (struct moments){.m = {smooth, 0, smooth}};
    for (int s = cut->box[2]; s < cut->box[3]; s++)
        for (int f = cut->box[0]; f < cut->box[1]; f++) {
            double sum = 0;

            for (int i = s > 0 ? s - 1 : 0; i <= s + 1 && i < cut->nslow; i++)
                for (int k = f > 0 ? f - 1 : 0; k <= f + 1 && k < cut->nfast; k++)
                    sum += cut->photons[(size_t)i * (size_t)cut->nfast + (size_t)k];
            if (!(sum > most)) continue;
            most = sum;
            out->at[0] = f + 0.5;
            out->at[1] = s + 0.5;
        }
    for (int k = 0; k < STEPS; k++) {
        const struct moments before = *out;

        if (!step(cut, wide, out, &lost)) return 0;
        if (fabs(out->m[0] - before.m[0]) + fabs(out->m[2] - before.m[2])
                + hypot(out->at[0] - before.at[0], out->at[1] - before.at[1])
            < 1e-4 * (out->m[0] + out->m[2]))
            break;
    }
    return lost < 0.01 && out->m[0] + out->m[2] < 1.9 * wide;
}

/* ---- reciprocal space ---- */

/* Sets q and the angle at the middle of the spot, and with `is_wide` its widths. */
static void convert(const struct measured *m, const struct cut *cut, const nb_panel *panel,
                    const struct moments *w, int is_wide, nb_spot_size *spot)
{
    const double pixel = panel->pixel > 0 ? panel->pixel : m->d.pixel;
    const double *const axis[2] = {panel->fast, panel->slow};
    const double place[2] = {pixel * (w->at[0] + cut->fast0 - panel->fast0),
                             pixel * (w->at[1] + cut->slow0 - panel->slow0)};
    double ray[3], across[3], along[3], distance, sine;
    double t[2], r[2];

    linear_copy(panel->origin, ray);
    for (int k = 0; k < 2; k++) linear_add(place[k], axis[k], ray);
    distance = linear_norm(ray);
    linear_unit(ray, ray);
    linear_cross(m->beam, ray, across);
    sine = linear_norm(across);
    spot->two_theta = linear_degree(atan2(sine, linear_dot(m->beam, ray)));
    spot->q = 2 * sin(linear_radian(spot->two_theta) / 2) / m->wavelength;
    if (!is_wide || !(sine > 1e-6)) return;
    linear_unit(across, across);
    linear_cross(across, ray, along);
    /* a pixel turns the ray by its edge across the ray, divided by the distance */
    for (int k = 0; k < 2; k++) {
        t[k] = pixel * linear_dot(axis[k], across) / (distance * m->wavelength);
        r[k] = pixel * linear_dot(axis[k], along) / (distance * m->wavelength);
    }
    spot->tangential = t[0] * t[0] * (w->m[0] - m->blur) + 2 * t[0] * t[1] * w->m[1]
                       + t[1] * t[1] * (w->m[2] - m->blur)
                       - m->turn / (m->wavelength * m->wavelength);
    spot->radial = r[0] * r[0] * (w->m[0] - m->blur) + 2 * r[0] * r[1] * w->m[1]
                   + r[1] * r[1] * (w->m[2] - m->blur);
}

static void measure_box(const struct measured *m, const int *box, struct cut *cut,
                        nb_spot_size *spot)
{
    const nb_panel *const panel = panel_of(m, box);
    double noise = 0;
    struct moments w;

    *spot = (nb_spot_size){NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN, NAN};
    if (!panel || box[1] - box[0] > EDGE_MOST || box[3] - box[2] > EDGE_MOST) return;
    read_cut(m, box, panel, cut);
    if (!subtract(cut, spot)) return;
    spot->photons = 0;
    for (int s = cut->box[2]; s < cut->box[3]; s++)
        for (int f = cut->box[0]; f < cut->box[1]; f++) {
            const double net = cut->photons[(size_t)s * (size_t)cut->nfast + (size_t)f];

            spot->photons += net;
            noise += spot->variance;
        }
    spot->error = sqrt(noise + fmax(spot->photons, 0));
    if (!find_moments(cut, &w)) return;
    convert(m, cut, panel, &w, !cut->is_full, spot);
}

/* ---- the image ---- */

/* Finds what all spots share. Memory of the simulator stays in use. */
static nb_status begin(nb_simulator *sim, struct measured *m)
{
    const nb_target *const target = m->target;
    double fwhm;
    nb_source source;

    NB_TRY(nb_simulator_describe(sim, NULL, &m->d));
    NB_TRY(nb_simulator_resolved(sim, NULL, &m->scene));
    NB_TRY(array_check(m->ctx, target->observed, "observed", m->d.nslow, m->d.nfast,
                       NB_TYPE_FLOAT, 32, 64));
    if (target->weight)
        NB_TRY(array_check(m->ctx, target->weight, "weight", m->d.nslow, m->d.nfast,
                           NB_TYPE_FLOAT, 32, 64));
    NB_TRY(nb_simulator_source(sim, NULL, 0, &source, NULL));
    linear_unit(source.direction, m->beam);
    m->wavelength = source.wavelength;
    m->npanel = m->d.npanel > 0 ? m->d.npanel : 1;
    m->panel = calloc((size_t)m->npanel, sizeof *m->panel);
    if (!m->panel) return fail_memory(m->ctx, "the panels of spots");
    for (int i = 0; i < m->npanel; i++)
        NB_TRY(nb_simulator_panel(sim, NULL, i, m->panel + i));
    fwhm = m->scene.psf.kind == NB_PSF_NONE ? 0 : m->scene.psf.fwhm / m->d.pixel;
    m->blur = 1. / 12 + fwhm * fwhm / (8 * log(2))
              + pow(m->scene.crystal.crystal_size / m->d.pixel, 2);
    /* of an ellipse of directions, filled evenly; mrad */
    m->turn = (pow(m->scene.beam.divergence[0] / 4000, 2)
               + pow(m->scene.beam.divergence[1] / 4000, 2))
              / 2;
    return NB_OK;
}

static nb_status measure(nb_simulator *sim, struct measured *m, nb_spot_size *spot)
{
    const size_t room = (size_t)(EDGE_MOST + 2 * BORDER) * (EDGE_MOST + 2 * BORDER);
    struct cut cut = {0};
    nb_status status = begin(sim, m);

    cut.photons = malloc(room * sizeof *cut.photons);
    cut.kind = calloc(room, 1);
    if (status == NB_OK && (!cut.photons || !cut.kind))
        status = fail_memory(m->ctx, "the pixels of a spot");
    for (size_t i = 0; status == NB_OK && i < m->scene.detector.nbox; i++)
        measure_box(m, m->scene.detector.box + 4 * i, &cut, spot + i);
    free(cut.photons);
    free(cut.kind);
    free(m->panel);
    return status;
}

nb_status nb_spot_sizes_measure(nb_context *ctx, const nb_scene *scene,
                                const nb_target *target, nb_spot_size *spot)
{
    struct measured m = {.ctx = ctx, .target = target};
    nb_simulator *sim = NULL;
    nb_status status;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!scene || !target || !target->observed || !spot)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "the scene, the observed image or the list of "
                    "spots is NULL");
    NB_TRY(nb_simulator_create(ctx, scene, "", NULL, &sim));
    status = measure(sim, &m, spot);
    nb_simulator_free(sim);
    return status;
}
