/*
 * plane_solve.c - the planes of a loss, box by box, by Newton's method in three unknowns.
 *
 * The losses of Gauss, Poisson and Huber are convex, so a box has one minimum. A step is
 * halved until the loss, or the slope along the step, has fallen enough. NB_LOSS_READOUT is
 * not convex far from the data; there the solver finds the first minimum downhill from the
 * plane of least squares. Cauchy's loss may have several minima. The solver compares two
 * and takes the lower: the minimum reached while the width of the loss falls from the
 * spread of the data to delta, and the minimum next to Huber's plane.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/floats.h"
#include "base/threads.h"
#include "kernels/planes/planes.h"

enum { MOST_STEPS = 200, MOST_HALVINGS = 40 };

/* A pixel whose loss has no second derivative gets this fraction of a typical one, so that
 * a step has a length. If no pixel has one, each step leaves this fraction of the error. */
static const double least_curvature = 1e-6;
/* The curvature of a pixel beyond Huber's delta, as a fraction of its curvature in
 * reweighted least squares. */
static const double beyond_huber = 1e-2;

/* Sums over the pixels of a box, found before its plane; w is a weight, y observed
 * photons. */
struct survey {
    /* sums of 1, u, v, ... over pixels that are not saturated */
    double n, u, v, uu, uv, vv;
    double all, weight, observed; /* sums of 1, w and w y over all pixels */
};

/* The loss of a box for one plane. */
struct box_loss {
    double value;
    double size, noise; /* rounding errors in units of eps: of the slopes; of `value` */
    struct plane_model model;
};

/* The state of the solver for one box. */
struct box_at_work {
    const struct planes *planes;
    const struct plane_target *target;
    struct plane_pixels *pixels;
    int number;
    double level; /* weighted mean of the observed photons */
    int kept[PLANE_TERMS]; /* 0: this term of the plane stays 0 */
    int positive; /* 1: the plane may not be negative in its box */
    int reweighted; /* 1: steps of reweighted least squares are taken */
    struct plane *out;
};

/* ---- pixels ---- */

static int limits_planes(const struct phys_loss_model *model)
{
    return model->kind == PHYS_LOSS_POISSON || model->kind == PHYS_LOSS_POISSON_READOUT;
}

/* Returns the photons of a row of pixels from pixel (s, f) on, whose packed place is
 * `place`. */
static const double *photons_at(const struct box_at_work *w, int s, int f, size_t place)
{
    const struct plane_target *t = w->target;

    return t->photons
           + (t->packed ? place : (size_t)s * (size_t)w->planes->window->nfast + (size_t)f);
}

static void read_row(const struct plane_target *t, int s, int f, int n, double *observed,
                     double *share)
{
    array_row(t->observed, s, f, n, observed);
    for (int i = 0; i < n; i++) share[i] = 1;
    if (t->weight) array_row(t->weight, s, f, n, share);
}

static void blame(const struct box_at_work *w, int fault, int s, int f)
{
    struct plane *out = w->out;

    if (out->fault != PLANE_FITS) return;
    out->fault = fault;
    out->slow = s;
    out->fast = f;
}

/* Looks at n <= TILE_FAST pixels from (s, f) on, and appends each that belongs to the box
 * and has a weight. */
static void load_row(const struct box_at_work *w, int s, int f, int n, size_t place)
{
    const struct phys_loss_model *model = &w->target->model;
    const int *box = w->planes->box[w->number], *owner = w->planes->owner + place;
    const double *photons = photons_at(w, s, f, place);
    struct plane_pixels *p = w->pixels;
    double observed[TILE_FAST], share[TILE_FAST];

    read_row(w->target, s, f, n, observed, share);
    for (int i = 0; i < n; i++) {
        const int at = p->n;

        if (owner[i] != w->number || share[i] == 0) continue;
        if (share[i] < 0) blame(w, PLANE_NEGATIVE_WEIGHT, s, f + i);
        if (model->kind == PHYS_LOSS_POISSON && observed[i] < 0)
            blame(w, PLANE_NEGATIVE_COUNT, s, f + i);
        p->photons[at] = photons[i];
        p->observed[at] = observed[i] > model->saturation ? model->saturation : observed[i];
        p->share[at] = share[i];
        p->u[at] = plane_across(box[0], box[1], f + i);
        p->v[at] = plane_across(box[2], box[3], s);
        p->n++;
    }
}

static void load_first(const struct box_at_work *w)
{
    const int *box = w->planes->box[w->number];

    w->pixels->whole = 0;
    w->pixels->slow = box[2];
    w->pixels->fast = box[0];
}

/* Loads the next block of the box's pixels. Returns 0 if none was left. */
static int load_next(const struct box_at_work *w)
{
    const struct window *window = w->planes->window;
    const int *box = w->planes->box[w->number];
    struct plane_pixels *p = w->pixels;
    const int begins = p->slow == box[2] && p->fast == box[0];
    struct pixel_span t;

    p->n = 0;
    for (; p->slow < box[3]; p->slow++, p->fast = box[0])
        while (window_next_span(window, p->slow, p->fast, box[1], &t)) {
            const int left = t.end - t.fast, n = left < TILE_FAST ? left : TILE_FAST;

            if (n > PLANE_BLOCK - p->n) return 1;
            load_row(w, p->slow, t.fast, n, t.place);
            p->fast = t.fast + n;
        }
    p->whole = begins;
    return p->n > 0;
}

/* start_blocks() and next_block() go through the pixels of a box, block by block.
 * next_block() returns 0 at the end. A box that fits into one block stays loaded. */
static void start_blocks(const struct box_at_work *w, int *done)
{
    *done = 0;
    if (!w->pixels->whole) load_first(w);
}

static int next_block(const struct box_at_work *w, int *done)
{
    if (*done || !(w->pixels->whole || load_next(w))) return 0;
    *done = w->pixels->whole;
    return w->pixels->n > 0;
}

/* ---- the loss ---- */

/* At most TILE_FAST pixels, with the slopes and curvatures of their losses for a plane. */
struct row_at {
    int n;
    const double *observed, *share, *u, *v;
    double photons[TILE_FAST], slope[TILE_FAST], curvature[TILE_FAST];
    double bend[TILE_FAST]; /* second derivatives of the losses, for Newton's steps */
};

/* Sets r->bend to the second derivatives of the losses. If they are negative or too small,
 * it sets a curvature that makes a step of sensible length. */
static void bend(const struct box_at_work *w, struct row_at *r)
{
    const struct phys_loss_model *model = &w->target->model;
    const double gain = model->gain, least = least_curvature / w->level;
    const double sigma = model->sigma_readout * model->sigma_readout;

    for (int i = 0; i < r->n; i++) {
        const double m = r->photons[i], off = m - r->observed[i], c = r->curvature[i];
        const double v = m / gain + sigma, t = 1 - off / (v * gain);

        switch (model->kind) {
        case PHYS_LOSS_POISSON:
            r->bend[i] = (c > 0 ? c * r->observed[i] / m : 0) + least * r->share[i];
            break;
        case PHYS_LOSS_POISSON_READOUT:
            r->bend[i] = c * fmax(t * t - 1 / (2 * v * gain * gain), least_curvature);
            break;
        case PHYS_LOSS_CAUCHY:
            r->bend[i] = w->reweighted || c == 0 ? c : c * (2 * c / r->share[i] - 1);
            break;
        case PHYS_LOSS_HUBER:
            r->bend[i] = fabs(off) < model->delta ? c : beyond_huber * c;
            break;
        default:
            r->bend[i] = c;
        }
    }
}

/* Adds the slopes and second derivatives of some pixels to the loss of a box. */
static void add_row(const struct row_at *r, struct box_loss *sum)
{
    const double *u = r->u, *v = r->v;
    double *g = sum->model.slope, (*h)[PLANE_TERMS] = sum->model.curvature;
    double s0 = 0, su = 0, sv = 0, b0 = 0, bu = 0, bv = 0, buu = 0, buv = 0, bvv = 0;
    double size = 0, noise = 0;

#pragma omp simd reduction(+ : s0, su, sv, b0, bu, bv, buu, buv, bvv, size, noise)
    for (int i = 0; i < r->n; i++) {
        const double s = r->slope[i], b = r->bend[i], m = fabs(r->photons[i]);
        const double terms = fabs(s) + r->curvature[i] * m;

        s0 += s, su += s * u[i], sv += s * v[i];
        b0 += b, bu += b * u[i], bv += b * v[i];
        buu += b * u[i] * u[i], buv += b * u[i] * v[i], bvv += b * v[i] * v[i];
        size += terms, noise += terms * m;
    }
    g[0] += s0, g[1] += su, g[2] += sv;
    h[0][0] += b0, h[1][0] += bu, h[2][0] += bv;
    h[1][1] += buu, h[2][1] += buv, h[2][2] += bvv;
    sum->size += size, sum->noise += noise;
}

/* Adds n <= TILE_FAST pixels, from `first` on, to the loss for the plane `at`. */
static void add_pixels(const struct box_at_work *w, const double *at, int first, int n,
                       struct box_loss *sum)
{
    const struct plane_pixels *p = w->pixels;
    struct row_at r;

    r.n = n;
    r.observed = p->observed + first, r.share = p->share + first;
    r.u = p->u + first, r.v = p->v + first;
    for (int i = 0; i < n; i++)
        r.photons[i] = p->photons[first + i] + plane_value(at, w->positive, r.u[i], r.v[i]);
    sum->value += w->target->loss(&w->target->model, n, r.photons, r.observed, r.share,
                                  r.slope, r.curvature);
    bend(w, &r);
    add_row(&r, sum);
}

static void mirror(double m[PLANE_TERMS][PLANE_TERMS])
{
    m[0][1] = m[1][0], m[0][2] = m[2][0], m[1][2] = m[2][1];
}

static void find_loss(const struct box_at_work *w, const double *at, struct box_loss *out)
{
    int done;

    memset(out, 0, sizeof *out);
    memcpy(out->model.kept, w->kept, sizeof w->kept);
    out->model.positive = w->positive;
    start_blocks(w, &done);
    while (next_block(w, &done))
        for (int i = 0; i < w->pixels->n; i += TILE_FAST) {
            const int left = w->pixels->n - i;

            add_pixels(w, at, i, left < TILE_FAST ? left : TILE_FAST, out);
        }
    mirror(out->model.curvature);
}

/* Returns the fraction of a step from `at` that keeps the photons positive in pixels where
 * photons were observed; Poisson's loss needs this. */
static double part_of_step(const struct box_at_work *w, const double *at,
                           const double *step)
{
    const struct plane_pixels *p = w->pixels;
    double part = 1;
    int done;

    if (w->target->model.kind != PHYS_LOSS_POISSON) return 1;
    /* the photons are at least as large as the plane, so they stay positive if the plane
     * does */
    if (fabs(step[0]) + fabs(step[1]) + fabs(step[2])
        < 0.99 * (at[0] - fabs(at[1]) - fabs(at[2])))
        return 1;
    start_blocks(w, &done);
    while (next_block(w, &done))
        for (int i = 0; i < p->n; i++) {
            const double change = step[0] + p->u[i] * step[1] + p->v[i] * step[2];
            const double photons =
                p->photons[i] + plane_value(at, w->positive, p->u[i], p->v[i]);

            if (p->observed[i] > 0 && photons + part * change < 0.01 * photons)
                part = 0.99 * photons / -change;
        }
    return part;
}

/* ---- the start ---- */

static struct survey survey_box(const struct box_at_work *w)
{
    const struct plane_pixels *p = w->pixels;
    struct survey s = {0};
    int done;

    load_first(w);
    start_blocks(w, &done);
    while (next_block(w, &done))
        for (int i = 0; i < p->n; i++) {
            const double u = p->u[i], v = p->v[i];

            s.all++;
            s.weight += p->share[i];
            s.observed += p->share[i] * p->observed[i];
            if (p->observed[i] >= w->target->model.saturation) continue;
            s.n++;
            s.u += u, s.v += v;
            s.uu += u * u, s.uv += u * v, s.vv += v * v;
        }
    return s;
}

/* Keeps the term a, and those slopes b and c that the unsaturated pixels determine; if they
 * determine only one combination, b is kept. */
static void keep_terms(struct box_at_work *w, const struct survey *s)
{
    const double n = s->n > 0 ? s->n : 1, least = 1e-12 * n;
    const double uu = s->uu - s->u * s->u / n, uv = s->uv - s->u * s->v / n;
    const double vv = s->vv - s->v * s->v / n;

    w->kept[0] = s->all > 0;
    w->kept[1] = uu > least;
    w->kept[2] = vv - (w->kept[1] ? uv * uv / uu : 0) > least;
}

/* Sets `at` to the least-squares plane, or to a constant if that plane is not positive
 * everywhere but must be. */
static void guess(const struct box_at_work *w, double *at)
{
    const struct plane_target *target = w->target;
    struct plane_target squares = *target;
    struct box_at_work copy = *w;
    struct box_loss loss;
    double zero[PLANE_TERMS] = {0};

    squares.model.kind = PHYS_LOSS_GAUSSIAN;
    copy.target = &squares;
    copy.positive = 0;
    find_loss(&copy, zero, &loss);
    (void)plane_step(&loss.model, zero, at);
    if (!w->positive || at[0] - fabs(at[1]) - fabs(at[2]) > 0.1 * w->level) return;
    at[0] = at[1] = at[2] = 0;
    if (loss.model.curvature[0][0] > 0)
        at[0] = fmax(-loss.model.slope[0] / loss.model.curvature[0][0], 0.1 * w->level);
    if (!(at[0] > 0)) at[0] = 0;
}

/* ---- Newton's method ---- */

static double along(const double *slope, const double *step)
{
    return slope[0] * step[0] + slope[1] * step[1] + slope[2] * step[2];
}

/* Goes from the plane `at` towards the plane `to` as far as the loss falls. Returns 0 if it
 * does not fall. */
static int search(const struct box_at_work *w, const double *to, double *at,
                  struct box_loss *loss)
{
    double step[PLANE_TERMS], part, down;

    for (int k = 0; k < PLANE_TERMS; k++) step[k] = to[k] - at[k];
    down = -along(loss->model.slope, step);
    /* a smaller fall of the loss would be rounding of the slopes */
    if (!(down
          > 4 * DBL_EPSILON * loss->size * (fabs(step[0]) + fabs(step[1]) + fabs(step[2]))))
        return 0;
    part = part_of_step(w, at, step);
    for (int i = 0; i < MOST_HALVINGS; i++) {
        double trial[PLANE_TERMS];
        struct box_loss there;

        for (int k = 0; k < PLANE_TERMS; k++)
            trial[k] = part < 1 ? at[k] + part * step[k] : to[k];
        find_loss(w, trial, &there);
        if (there.value <= loss->value - 1e-4 * part * down
            || (fabs(along(there.model.slope, step)) <= 0.5 * down
                && there.value <= loss->value + 4 * DBL_EPSILON * loss->noise)) {
            memcpy(at, trial, sizeof trial);
            *loss = there;
            return 1;
        }
        part /= 2;
    }
    return 0;
}

/* Goes downhill from the plane `at` to a minimum; returns the minimum's face. If Newton's
 * steps fail for Cauchy's loss, steps of reweighted least squares find a way down if there
 * is one. */
static int descend(struct box_at_work *w, double *at, struct box_loss *loss)
{
    const int may_reweigh = w->target->model.kind == PHYS_LOSS_CAUCHY;
    double to[PLANE_TERMS];
    int face = 0;

    find_loss(w, at, loss);
    for (int i = 0; i < MOST_STEPS; i++) {
        int moves;

        face = plane_step(&loss->model, at, to);
        moves = search(w, to, at, loss);
        if (!moves && (w->reweighted || !may_reweigh)) break;
        if (!may_reweigh || (moves && !w->reweighted)) continue;
        w->reweighted = !moves;
        find_loss(w, at, loss);
    }
    w->reweighted = 0;
    return face;
}

/* Does what descend() does, for a loss of another kind and delta. */
static void descend_by(const struct box_at_work *w, int kind, double delta, double *at,
                       struct box_loss *loss)
{
    struct plane_target other = *w->target;
    struct box_at_work copy = *w;

    other.model.kind = kind;
    other.model.delta = delta;
    copy.target = &other;
    (void)descend(&copy, at, loss);
}

/* Replaces a least-squares plane by the lower of two minima of Cauchy's loss. */
static void choose_minimum(struct box_at_work *w, const struct survey *survey, double *at)
{
    const double delta = w->target->model.delta;
    double other[PLANE_TERMS], width;
    struct box_loss loss, far;

    memcpy(other, at, sizeof other);
    descend_by(w, PHYS_LOSS_HUBER, delta, other, &far);
    (void)descend(w, other, &far);
    descend_by(w, PHYS_LOSS_GAUSSIAN, delta, at, &loss);
    width = sqrt(2 * loss.value / survey->weight);
    while (width > delta) {
        descend_by(w, PHYS_LOSS_CAUCHY, width, at, &loss);
        width /= 2;
    }
    (void)descend(w, at, &loss);
    if (far.value < loss.value) memcpy(at, other, sizeof other);
}

/* Finds the plane of a box, and returns the face on which it lies. */
static int find_plane(struct box_at_work *w)
{
    struct plane *out = w->out;
    const struct survey survey = survey_box(w);
    const int kind = w->target->model.kind;
    struct box_loss loss;

    keep_terms(w, &survey);
    w->level = survey.weight > 0 ? survey.observed / survey.weight : 0;
    if (out->fault != PLANE_FITS || !w->kept[0]) return 0;
    if (kind == PHYS_LOSS_POISSON && !(w->level > 0)) {
        w->kept[0] = w->kept[1] = w->kept[2] =
            0; /* no photon was observed: 0 is the best plane */
        return 0;
    }
    guess(w, out->at);
    if (kind == PHYS_LOSS_CAUCHY) choose_minimum(w, &survey, out->at);
    return descend(w, out->at, &loss);
}

/* ---- the result ---- */

/* Writes the slopes and curvatures of n <= TILE_FAST pixels from (s, f) on to the arrays of
 * `planes`. Adds their loss to the plane's value, and P^T W P to `sum`. */
static void write_row(const struct box_at_work *w, int s, int f, int n, size_t place,
                      struct plane_model *sum)
{
    const struct planes *planes = w->planes;
    const int *box = planes->box[w->number], *owner = planes->owner + place;
    const double v = plane_across(box[2], box[3], s),
                 *computed = photons_at(w, s, f, place);
    double observed[TILE_FAST], share[TILE_FAST], photons[TILE_FAST], plane[TILE_FAST];
    double slope[TILE_FAST], curvature[TILE_FAST], u[TILE_FAST], c0 = 0, cu = 0, cuu = 0;
    double(*h)[PLANE_TERMS] = sum->curvature;

    read_row(w->target, s, f, n, observed, share);
    for (int i = 0; i < n; i++) {
        u[i] = plane_across(box[0], box[1], f + i);
        plane[i] = plane_value(w->out->at, w->positive, u[i], v);
        photons[i] = computed[i] + plane[i];
        if (owner[i] != w->number) share[i] = 0;
    }
    w->out->value +=
        w->target->loss(&w->target->model, n, photons, observed, share, slope, curvature);
    for (int i = 0; i < n; i++) {
        const double c = plane_moves(w->out, u[i], v) ? curvature[i] : 0;

        if (owner[i] != w->number) continue;
        planes->bar[place + (size_t)i] = slope[i];
        planes->weight[place + (size_t)i] = curvature[i];
        c0 += c, cu += c * u[i], cuu += c * u[i] * u[i];
    }
    h[0][0] += c0, h[1][0] += cu, h[1][1] += cuu;
    h[2][0] += c0 * v, h[2][1] += cu * v, h[2][2] += c0 * v * v;
}

static void write_box(const struct box_at_work *w, int face)
{
    const int *box = w->planes->box[w->number];
    struct plane_model sum = {.positive = w->positive};
    struct pixel_span t;

    memcpy(sum.kept, w->kept, sizeof w->kept);
    for (int s = box[2]; s < box[3]; s++)
        for (int f = box[0]; window_next_span(w->planes->window, s, f, box[1], &t);) {
            const int left = t.end - t.fast, n = left < TILE_FAST ? left : TILE_FAST;

            write_row(w, s, t.fast, n, t.place, &sum);
            f = t.fast + n;
        }
    mirror(sum.curvature);
    plane_inverse(&sum, face, w->out->inverse);
}

static void solve_box(const struct planes *planes, const struct plane_target *target,
                      int number, struct plane_pixels *pixels)
{
    struct plane *out = planes->plane + number;
    struct box_at_work w = {.planes = planes,
                            .target = target,
                            .pixels = pixels,
                            .number = number,
                            .positive = limits_planes(&target->model),
                            .out = out};

    memset(out->at, 0, sizeof out->at);
    out->positive = w.positive;
    out->value = 0;
    out->fault = PLANE_FITS;
    write_box(&w, find_plane(&w));
}

void planes_solve(const struct planes *planes, const struct plane_target *target)
{
    const int n = (int)planes->nbox, threads = (int)planes->threads;

#pragma omp parallel for schedule(dynamic) num_threads(threads < n ? threads : n)
    for (int i = 0; i < n; i++) {
        STANDARD_FLOATS;

        solve_box(planes, target, i, planes->pixels + threads_index());
    }
    (void)threads; /* unused without OpenMP */
}

double planes_loss(const struct planes *planes)
{
    double sum = 0;

    for (size_t i = 0; i < planes->nbox; i++) sum += planes->plane[i].value;
    return sum;
}

const struct plane *planes_fault(const struct planes *planes)
{
    for (size_t i = 0; i < planes->nbox; i++)
        if (planes->plane[i].fault != PLANE_FITS) return planes->plane + i;
    return NULL;
}
