/*
 * splat_pieces.h - the samples of spots, for splat.c and its adjoint. A spot is cut into
 * pieces of at most PIECE x PIECE samples; most spots are one piece. The numbers that the
 * samples of a piece need are found for a batch of pieces at a time. Each row of samples
 * meets the spot in a span, and the samples of all spans of a piece make one list.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_SPLAT_PIECES_H
#define NB_KERNELS_SPOTS_SPLAT_PIECES_H

#include <string.h>

#include "kernels/spots/splat_places.h"

/*
 * The form of a pair's spots on a layer. A sample lies within a spot where |w| <= most.
 * Here w = rows v, with v from the reflection to the scattering vector of the sample, 1/A.
 * If spots are narrow, |w|^2 is rho^2 of the profile, from which F^2 follows. Otherwise
 * `rows` is the unit matrix.
 */
struct form {
    int narrow;
    double unit, sub; /* wave number, 1/A; edge of a sub-pixel, m */
    double rows[9], most;
    double per_halving; /* how much most^2 falls if F^2 is halved, so that every spot ends
                           at the same share of the largest peak */
    double size; /* upper bound of |rows . d| times the wave number, for any direction d */
    double corner[3]; /* corner of the layer's first pixel, m */
    double fast[3], slow[3]; /* axes of the detector */
    double w_fast[3], w_slow[3]; /* rows . axis times the wave number */
    double fast_fast, fast_slow, slow_slow; /* scalar products of the axes */
};

/* Computes the upper triangular matrix R with R'R equal to the metric of rho^2. Returns 0
 * if rounding leaves no such matrix. */
static int root_of_metric(const double *m, double root[3][3])
{
    const double first = m[0] > 0 ? sqrt(m[0]) : 0;
    const double hk = first > 0 ? m[3] / 2 / first : 0;
    const double hl = first > 0 ? m[4] / 2 / first : 0;
    const double k2 = m[1] - hk * hk, second = k2 > 0 ? sqrt(k2) : 0;
    const double kl = second > 0 ? (m[5] / 2 - hk * hl) / second : 0;
    const double l2 = m[2] - hl * hl - kl * kl;
    const double rows[3][3] = {{first, hk, hl}, {0, second, kl}, {0, 0, sqrt(fabs(l2))}};

    memcpy(root, rows, sizeof rows);
    return first > 0 && second > 0 && l2 > 0;
}

/* Fills in `narrow`, `rows` and `most`. */
static void form_w(const struct phys_frame *frame, const struct pair *pair,
                   struct form *form)
{
    static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double root[3][3];

    memcpy(form->rows, one, sizeof one);
    form->most = pair->radius;
    form->narrow = pair->rho2 > 0 && root_of_metric(frame->metric, root);
    if (!form->narrow) return;
    form->most = sqrt(pair->rho2);
    for (int i = 0; i < 9; i++)
        form->rows[i] = root[i / 3][0] * pair->axes[i % 3]
                        + root[i / 3][1] * pair->axes[3 + i % 3]
                        + root[i / 3][2] * pair->axes[6 + i % 3];
}

static struct form form_of(const struct splat_layer *splat_layer, const struct pair *pair)
{
    const struct phys_frame *frame = splat_layer->frame;
    struct form form = {.unit = pair->source->inverse_wavelength,
                        .sub = frame->pixel / frame->oversample};
    double sum = 0;

    form_w(frame, pair, &form);
    for (int i = 0; i < 3; i++) {
        const double *row = form.rows + (size_t)3 * (size_t)i;
        const double f = frame->fast[i], s = frame->slow[i];

        form.corner[i] = frame->pix0[i] + splat_layer->depth * frame->normal[i];
        form.fast[i] = f, form.slow[i] = s;
        form.fast_fast += f * f, form.fast_slow += f * s, form.slow_slow += s * s;
        for (int j = 0; j < 3; j++) {
            form.w_fast[i] += form.unit * row[j] * frame->fast[j];
            form.w_slow[i] += form.unit * row[j] * frame->slow[j];
            sum += row[j] * row[j];
        }
    }
    form.size = sqrt(sum) * form.unit;
    return form;
}

/*
 * A batch of pieces of spots. Let f and t be samples and rows from the middle of a piece.
 * The step of the direction is s = f fast + t slow, and u = s.(s + 2 d), as in
 * physics/tile/patch.h. Then w = p + ((1 + u)^(-1/2) - 1) (p + e) with p = w(middle) + f
 * w_fast + t w_slow and e = rows v, v = q + k of the reflection.
 */
struct pieces {
    int n;
    _Alignas(64) double h[BATCH], k[BATCH], l[BATCH]; /* indices of the reflection */
    double x[BATCH], y[BATCH], z[BATCH]; /* v = q + k of the reflection, 1/A */
    double f[BATCH]; /* F of the reflection; 1 if F is one constant */
    int place[BATCH]; /* place of F in the box of structure factors */
    double halvings[BATCH]; /* how often the largest F^2 must be halved to reach this F^2 */
    double fast[BATCH], slow[BATCH], width[BATCH], height[BATCH]; /* rectangle of samples */
    /* place_pieces() computes the rest: */
    double wx[BATCH], wy[BATCH], wz[BATCH]; /* w at the middle */
    double ex[BATCH], ey[BATCH], ez[BATCH];
    double step[BATCH]; /* a sub-pixel over the distance of the middle from the crystal */
    /* d . step for one sample along either axis */
    double along_fast[BATCH], along_slow[BATCH];
    double small[BATCH]; /* 1 if phys_root_series() is precise enough on the piece */
    /* a sample with ff f^2 + 2 (f0 + ft t) f + tt t^2 + 2 t0 t + rest > 0 lies outside */
    double ff[BATCH], ft[BATCH], tt[BATCH], f0[BATCH], t0[BATCH], rest[BATCH];
};

/*
 * Finds which samples of each piece lie in the spot. To first order in s, w is linear in s,
 * and these samples fill an ellipse. On a small piece the factor (1 + u)^(-1/2) - 1 differs
 * from its first order, -d.s, by at most |s|^2 / 2 + 0.4 u^2, and its modulus is at most
 * 0.51 |u|; `most` is widened by the effect of these terms on w. A piece that is not small
 * takes all its samples. Unused places of the batch are filled from the first piece.
 */
static void place_pieces(const struct form *of, struct pieces *p)
{
    const struct form form = *of;
    const double *r = form.rows, k = form.unit;

    for (int i = p->n; i < BATCH; i++) {
        p->x[i] = p->x[0], p->y[i] = p->y[0], p->z[i] = p->z[0];
        p->fast[i] = p->fast[0], p->slow[i] = p->slow[0];
        p->halvings[i] = p->halvings[0];
        p->width[i] = p->width[0], p->height[i] = p->height[0];
    }
#pragma omp simd
    for (int i = 0; i < BATCH; i++) {
        const double f = form.sub * (p->fast[i] + 0.5 * p->width[i]);
        const double t = form.sub * (p->slow[i] + 0.5 * p->height[i]);
        const double x = form.corner[0] + f * form.fast[0] + t * form.slow[0];
        const double y = form.corner[1] + f * form.fast[1] + t * form.slow[1];
        const double z = form.corner[2] + f * form.fast[2] + t * form.slow[2];
        const double per_r = 1 / sqrt(x * x + y * y + z * z), step = form.sub * per_r;
        const double dx = per_r * x, dy = per_r * y, dz = per_r * z;
        const double vx = p->x[i], vy = p->y[i], vz = p->z[i];
        const double ox = k * dx - vx, oy = k * dy - vy, oz = k * dz - vz;
        const double wx = r[0] * ox + r[1] * oy + r[2] * oz;
        const double wy = r[3] * ox + r[4] * oy + r[5] * oz;
        const double wz = r[6] * ox + r[7] * oy + r[8] * oz;
        const double ex = r[0] * vx + r[1] * vy + r[2] * vz;
        const double ey = r[3] * vx + r[4] * vy + r[5] * vz;
        const double ez = r[6] * vx + r[7] * vy + r[8] * vz;
        const double df = dx * form.fast[0] + dy * form.fast[1] + dz * form.fast[2];
        const double dt = dx * form.slow[0] + dy * form.slow[1] + dz * form.slow[2];
        /* the slopes of w along the axes, to first order */
        const double fx = form.w_fast[0] - df * (wx + ex),
                     tx = form.w_slow[0] - dt * (wx + ex);
        const double fy = form.w_fast[1] - df * (wy + ey),
                     ty = form.w_slow[1] - dt * (wy + ey);
        const double fz = form.w_fast[2] - df * (wz + ez),
                     tz = form.w_slow[2] - dt * (wz + ez);
        const double hf = 0.5 * step * p->width[i], ht = 0.5 * step * p->height[i];
        const double s2 = hf * hf * form.fast_fast + ht * ht * form.slow_slow
                          + 2 * hf * ht * fabs(form.fast_slow);
        const double u = 2 * (hf * fabs(df) + ht * fabs(dt)) + s2;
        const double w2 =
            (wx + ex) * (wx + ex) + (wy + ey) * (wy + ey) + (wz + ez) * (wz + ez);
        const double beyond =
            (0.5 * s2 + 0.4 * u * u) * sqrt(w2) + 0.51 * u * form.size * sqrt(s2);
        const double most2 = form.most * form.most - form.per_halving * p->halvings[i];
        const double most = sqrt(most2 > 0 ? most2 : 0) * (1 + 1e-5) + beyond;
        const double small = u <= 1.0 / 64 ? 1 : 0;
        const double ff = step * step * (fx * fx + fy * fy + fz * fz);
        const double within = ff > 0 ? small : 0;

        p->wx[i] = wx, p->wy[i] = wy, p->wz[i] = wz;
        p->ex[i] = ex, p->ey[i] = ey, p->ez[i] = ez;
        p->step[i] = step, p->along_fast[i] = step * df, p->along_slow[i] = step * dt;
        p->small[i] = small;
        p->ff[i] = within != 0 ? ff : 1;
        p->ft[i] = within * step * step * (fx * tx + fy * ty + fz * tz);
        p->tt[i] = within * step * step * (tx * tx + ty * ty + tz * tz);
        p->f0[i] = within * step * (fx * wx + fy * wy + fz * wz);
        p->t0[i] = within * step * (tx * wx + ty * wy + tz * wz);
        p->rest[i] = within != 0 ? wx * wx + wy * wy + wz * wz - most * most : -1e30;
    }
}

/* The state of a walk over the spots of a pair, piece by piece. */
struct walk {
    const struct splat_layer *splat_layer;
    const struct pair *pair;
    const struct reflections *list;
    const int *hits;
    int n, own_f; /* n: number of hits; own_f: 1: each reflection has its own F */
    int next, count, i; /* next: first hit not yet located; count: spots in `at`; i: the
                           spot of `at` to visit next */
    struct located at; /* a batch of spots */
    struct outline spot; /* rectangle of the current spot */
    int fast, slow; /* where the next piece of the current spot begins */
    double f, halvings; /* of the current spot: its F, and how often the largest F^2 must be
                           halved to reach F^2 */
    int place;
};

static void start_walk(const struct splat_layer *splat_layer, const struct pair *pair,
                       const struct reflections *list, const int *hits, int n, int lookup,
                       struct walk *w)
{
    w->splat_layer = splat_layer, w->pair = pair, w->list = list, w->hits = hits, w->n = n;
    w->own_f = lookup == PHYS_NEAREST;
    w->next = w->count = w->i = w->fast = w->slow = w->place = 0;
    w->f = 1;
    w->halvings = 0;
    w->spot = (struct outline){{0, 0}, {0, 0}, 0}; /* the current spot has no row left */
}

/* Returns how many halvings take times^2 to 1 or below. */
static double halvings_of(double times)
{
    int exponent;

    (void)frexp(times * times, &exponent);
    return exponent > 1 ? exponent - 1 : 0;
}

/* Makes spot i of the batch the current one. Returns 0 if no part of it needs computing. */
static int start_spot(struct walk *w, int i)
{
    const struct located *at = &w->at;
    struct outline spot;

    if (at->seen[i] == 0 || !find_outline(w->splat_layer, at, i, &spot)) return 0;
    if (w->own_f) {
        const struct phys_box box = phys_box(w->splat_layer->frame);

        w->place = phys_f_place(0, &box,
                                phys_vec3((real)at->h[i], (real)at->k[i], (real)at->l[i]));
        w->f = (double)box.f[w->place];
        if (w->f == 0) return 0;
        w->halvings = halvings_of(w->splat_layer->frame->f_max / w->f);
    }
    w->spot = spot;
    w->fast = spot.fast[0];
    w->slow = spot.slow[0];
    return 1;
}

/* Makes the next spot the current one. Returns 0 if there is none. */
static int next_spot(struct walk *w)
{
    for (;;) {
        while (w->i < w->count)
            if (start_spot(w, w->i++)) return 1;
        if (w->next >= w->n) return 0;
        w->count = locate_batch(w->splat_layer, w->pair, w->list, w->hits + w->next,
                                w->n - w->next, &w->at);
        w->next += w->count;
        w->i = 0;
    }
}

/* Collects the next pieces, at most a batch, and returns their number. */
static int collect_pieces(struct walk *w, struct pieces *out)
{
    out->n = 0;
    while (out->n < BATCH && (w->slow < w->spot.slow[1] || next_spot(w))) {
        const struct located *at = &w->at;
        const int spot = w->i - 1, i = out->n++;

        out->h[i] = at->h[spot], out->k[i] = at->k[spot], out->l[i] = at->l[spot];
        out->x[i] = at->x[spot], out->y[i] = at->y[spot], out->z[i] = at->z[spot];
        out->f[i] = w->f, out->place[i] = w->place, out->halvings[i] = w->halvings;
        out->fast[i] = w->fast, out->slow[i] = w->slow;
        out->width[i] = min_int(PIECE, w->spot.fast[1] - w->fast);
        out->height[i] = min_int(PIECE, w->spot.slow[1] - w->slow);
        w->fast += PIECE;
        if (w->fast < w->spot.fast[1]) continue;
        w->fast = w->spot.fast[0];
        w->slow += PIECE;
    }
    return out->n;
}

static struct rectangle rectangle_of(const struct pieces *p, int i)
{
    const struct rectangle r = {(int)p->fast[i], (int)p->slow[i], (int)p->width[i],
                                (int)p->height[i]};

    return r;
}

/* A piece as a patch of the detector, with indices counted from its reflection. */
struct spot {
    struct rectangle r;
    struct phys_patch patch;
    struct phys_anchor anchor;
    real middle_fast, middle_slow;
};

static struct spot spot_of(const struct splat_layer *splat_layer, const struct pair *pair,
                           const struct pieces *p, int i)
{
    const double v[3] = {p->x[i], p->y[i], p->z[i]};
    struct spot s;

    s.r = rectangle_of(p, i);
    s.patch = phys_patch_at(splat_layer->frame, s.r.fast + 0.5 * s.r.width,
                            s.r.slow + 0.5 * s.r.height, splat_layer->depth);
    s.anchor = anchor_of(pair, v, &s.patch,
                         phys_vec3((real)p->h[i], (real)p->k[i], (real)p->l[i]));
    s.middle_fast = (real)(0.5 * (s.r.width - 1));
    s.middle_slow = (real)(0.5 * (s.r.height - 1));
    return s;
}

/* The numbers from which w is computed, in `real`; see struct pieces. */
struct piece_w {
    struct phys_vec3 middle, fast, slow, e;
    /* coefficients of u in f, t */
    real along_fast, along_slow, fast_fast, fast_slow, slow_slow;
};

PHYS_FN struct piece_w piece_w_of(const struct form *form, const struct pieces *p, int i)
{
    const double step = p->step[i], *f = form->w_fast, *t = form->w_slow;
    struct piece_w w;

    w.middle = phys_vec3((real)p->wx[i], (real)p->wy[i], (real)p->wz[i]);
    w.e = phys_vec3((real)p->ex[i], (real)p->ey[i], (real)p->ez[i]);
    w.fast = phys_vec3((real)(step * f[0]), (real)(step * f[1]), (real)(step * f[2]));
    w.slow = phys_vec3((real)(step * t[0]), (real)(step * t[1]), (real)(step * t[2]));
    w.along_fast = (real)(2 * p->along_fast[i]);
    w.along_slow = (real)(2 * p->along_slow[i]);
    w.fast_fast = (real)(step * step * form->fast_fast);
    w.fast_slow = (real)(2 * step * step * form->fast_slow);
    w.slow_slow = (real)(step * step * form->slow_slow);
    return w;
}

/* Returns w at f samples and t rows from the middle of a piece. `small` is the member of
 * struct pieces. */
PHYS_FN struct phys_vec3 w_of(int small, const struct piece_w *of, real f, real t)
{
    const real u = f * (of->along_fast + f * of->fast_fast + t * of->fast_slow)
                   + t * (of->along_slow + t * of->slow_slow);
    const real root = small ? 1 : sqrt(1 + u);
    const real less = small ? phys_root_series(u) : -u / (root * (1 + root));
    const struct phys_vec3 p = phys_axpy(f, of->fast, phys_axpy(t, of->slow, of->middle));

    return phys_axpy(less, phys_axpy(1, p, of->e), p);
}

/* The list of samples of some rows of a piece, row after row. */
enum { BLOCK = 64 / sizeof(real), PLACES = 2 * PIECE };

struct piece_samples {
    int begin, end; /* the rows of the piece, end excluded */
    int n, padded; /* number of samples; the same rounded up to whole blocks; the added
                      samples lie in the middle of the piece */
    /* offset from the middle */
    _Alignas(64) real fast[PLACES + BLOCK], slow[PLACES + BLOCK];
};

/* The spans of all rows of a piece: the first sample that is in the ROI and in the spot,
 * and the number of such samples. No sample depends on where its span begins, so the ROI
 * changes no bits. */
struct row_spans {
    int rows;
    int first[PIECE + BATCH], n[PIECE + BATCH];
};

enum { ROWS = 16 }; /* rows whose spans are found together */

/* Finds the spans of piece i. float is precise enough, because place_pieces() has widened
 * `most` by 1e-5 of itself. */
static void find_row_spans(const struct splat_layer *splat_layer, const struct pieces *p,
                           int i, struct row_spans *out)
{
    const struct rectangle rectangle = rectangle_of(p, i), *r = &rectangle;
    const int *roi = splat_layer->window->roi, over = splat_layer->frame->oversample;
    const float middle_fast = 0.5F * (float)(r->width - 1);
    const float middle_slow = 0.5F * (float)(r->height - 1);
    const int low = roi[0] * over - r->fast, high = roi[1] * over - r->fast;
    const int begin = roi[2] * over - r->slow, end = roi[3] * over - r->slow;
    const float least = (float)(low > 0 ? low : 0);
    const float most = (float)(high < r->width ? high : r->width);
    const float per_ff = 1 / (float)p->ff[i], ft = (float)p->ft[i] * per_ff;
    const float f0 = (float)p->f0[i] * per_ff, tt = (float)p->tt[i] * per_ff;
    const float t0 = (float)p->t0[i] * per_ff, rest = (float)p->rest[i] * per_ff;

    out->rows = r->height;
    for (int row = 0; row < out->rows; row += ROWS) {
        int *restrict out_first = out->first + row, *restrict out_n = out->n + row;

#pragma omp simd
        for (int j = 0; j < ROWS; j++) {
            const float t = (float)(row + j) - middle_slow, b = f0 + ft * t;
            const float inside = b * b - (rest + t * (2 * t0 + t * tt));
            const float half = sqrtf(inside > 0 ? inside : 0) + 1e-3F;
            const float from = ceilf(middle_fast - b - half);
            const float to = floorf(middle_fast - b + half) + 1;
            const float first = from > least ? from : least;
            const float last = to < most ? to : most;
            const float wanted = inside > 0 && last > first ? last - first : 0;

            out_first[j] = (int)(wanted > 0 ? first : 0);
            out_n[j] = row + j >= begin && row + j < end ? (int)wanted : 0;
        }
    }
}

/* Lists the samples of piece i from `row` on, as many whole rows as fit. Returns the row
 * after them. */
static int list_places(const struct pieces *p, int i, int row,
                       const struct row_spans *spans, struct piece_samples *out)
{
    const real middle_fast = (real)(0.5 * (p->width[i] - 1));
    const real middle_slow = (real)(0.5 * (p->height[i] - 1));
    int n = 0;

    out->begin = row;
    for (; row < spans->rows && n + spans->n[row] <= PLACES; row++) {
        const real first = (real)spans->first[row] - middle_fast;
        const real slow = (real)row - middle_slow;

        for (int done = 0; done < spans->n[row]; done += BLOCK) {
            real *restrict f = out->fast + n + done, *restrict s = out->slow + n + done;

            for (int j = 0; j < BLOCK; j++) {
                f[j] = first + (real)(done + j);
                s[j] = slow;
            }
        }
        n += spans->n[row];
    }
    out->end = row;
    out->n = n;
    out->padded = (n + BLOCK - 1) / BLOCK * BLOCK;
    for (int j = n; j < out->padded; j++) out->fast[j] = out->slow[j] = 0;
    return row;
}

#endif
