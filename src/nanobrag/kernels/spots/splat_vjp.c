/*
 * splat_vjp.c - the adjoint of splat.c. It visits the same samples of the same spots, and
 * sums the cotangents of the pair and of the detector from the cotangents of the pixels. It
 * is compiled like splat.c.
 *
 * All samples of a spot belong to one reflection, and the scattering vector times an axis
 * of the cell is an index. So the cotangents of the axes follow from sums of slope times
 * index, and a spot passes no other sums to the next.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/spots/splat_pieces.h"

enum { SAMPLES = PLACES + BLOCK };

typedef real block[SAMPLES];

/* Some samples of a piece of a spot, padded to whole blocks with samples of weight 0. */
struct samples {
    struct piece_samples at;
    ptrdiff_t pixel[SAMPLES]; /* place of its pixel in the sums; -1: outside the window */
    _Alignas(64) block w; /* weight of the pixel */
    _Alignas(64) block f2; /* F^2 of the lattice alone */
    _Alignas(64) block wf2; /* w times f2 */
    _Alignas(64) block gh, gk, gl; /* slopes of wf2 in h, k, l; for shapes but the square,
                                      still to be multiplied by the metric */
    _Alignas(64) block h, k, l; /* indices counted from the reflection */
    /* members of struct phys_place: step, per_ratio */
    _Alignas(64) block x, y, z, per_ratio;
};

/* Sums over the samples of a spot; see struct splat_sums. */
struct piece_sums {
    double f2, square, slope[3], moment[3][3], crystal[FRAME_CRYSTAL];
    struct phys_place_sums at;
};

/* Copies n weights, whole blocks as long as `room`, the rest of the row, allows. The
 * weights of the next row overwrite the excess. */
static inline void copy_weights(const double *restrict from, int n, int room, real scale,
                                real *restrict to)
{
    int done = 0;

    for (; done < n && done + BLOCK <= room; done += BLOCK)
        for (int i = 0; i < BLOCK; i++) to[done + i] = (real)(from[done + i] * scale);
    for (; done < n; done++) to[done] = (real)(from[done] * scale);
}

/* Copies the weights of n samples from sample `first` on; all lie in the span t. */
static inline void find_weights(const struct splat_weights *weights, int over, int first,
                                int n, const struct painted_span *t, real *restrict to)
{
    const double *from = weights->weight + t->place - t->first;
    const real scale = (real)weights->per_scale;

    if (over == 1) {
        copy_weights(from + first, n, t->room - (first - t->first), scale, to);
        return;
    }
    for (int i = 0; i < n; i++) to[i] = (real)(from[(first + i) / over] * scale);
}

/* Finds the weights of n samples of row s, from sample `first` on, and writes them to `in`
 * from element i on. If F^2 is added to pixels, it writes the pixels of the samples,
 * too. */
static void find_row(const struct splat_layer *splat_layer, int s, int first, int n,
                     const struct splat_weights *weights, int i, struct painted_span *t,
                     struct samples *in)
{
    const int over = splat_layer->frame->oversample;
    const int end = pixel_of(over, first + n - 1) + 1;

    for (int j = 0; j < n;) {
        const int known = next_span(splat_layer, s, pixel_of(over, first + j), end, t);
        const int begin = known ? min_int(n, t->first * over - first) : n;
        const int stop = known ? min_int(n, t->end * over - first) : n;

        for (; j < begin; j++) {
            in->pixel[i + j] = -1;
            in->w[i + j] = 0;
        }
        if (j < stop) find_weights(weights, over, first + j, stop - j, t, in->w + i + j);
        for (int k = j; splat_layer->bragg && k < stop; k++)
            in->pixel[i + k] = t->place + pixel_of(over, first + k) - t->first;
        j = stop > j ? stop : j;
    }
}

static int any_weight(const struct samples *restrict in)
{
    real size[BLOCK] = {0};
    int any = 0;

    for (int i = 0; i < in->at.padded; i += BLOCK)
        for (int j = 0; j < BLOCK; j++) size[j] += fabs(in->w[i + j]);
    for (int j = 0; j < BLOCK; j++) any |= size[j] > 0;
    return any;
}

/* Finds the weights of the listed samples, and their pixels if F^2 is added to pixels.
 * Returns 1 if a weight is not 0. */
static int find_pixels(const struct splat_layer *splat_layer, const struct rectangle *r,
                       const struct row_spans *spans, const struct splat_weights *weights,
                       struct samples *in)
{
    const int over = splat_layer->frame->oversample;
    struct painted_span t = {.span = NULL};
    int i = 0;

    for (int row = in->at.begin; row < in->at.end; row++) {
        find_row(splat_layer, pixel_of(over, r->slow + row), r->fast + spans->first[row],
                 spans->n[row], weights, i, &t, in);
        i += spans->n[row];
    }
    for (; i < in->at.padded; i++) in->w[i] = 0;
    return any_weight(in);
}

/* Computes the places and the indices of the samples. This loop is apart from the loop in
 * bumps() or gratings(): in one loop the chain of dependent operations would be too long
 * for the processor to overlap two iterations. */
PHYS_FN void find_places(int small, const struct spot *restrict s,
                         struct samples *restrict in)
{
    const int n = in->at.padded / BLOCK * BLOCK;

#pragma omp simd
    for (int i = 0; i < n; i++) {
        const struct phys_place place =
            phys_patch_place(small, &s->patch, in->at.fast[i], in->at.slow[i]);
        const struct phys_vec3 x = phys_anchor_indices(&s->anchor, place.step);

        in->h[i] = x.x, in->k[i] = x.y, in->l[i] = x.z;
        in->x[i] = place.step.x, in->y[i] = place.step.y, in->z[i] = place.step.z;
        in->per_ratio[i] = place.per_ratio;
    }
}

/* Computes F^2 of a round, gaussian or tophat shape and its slopes in h, k, l, which are
 * still to be multiplied by the metric. */
PHYS_FN void bumps(int shape, const struct phys_crystal *of, struct samples *restrict in,
                   struct piece_sums *out)
{
    const struct phys_crystal crystal = *of;
    const int n = in->at.padded / BLOCK * BLOCK;
    real f2 = 0, fudge = 0;

#pragma omp simd reduction(+ : f2, fudge)
    for (int i = 0; i < n; i++) {
        const struct phys_vec3 x = phys_vec3(in->h[i], in->k[i], in->l[i]);
        const struct phys_bump g = phys_bump(shape, &crystal, x);
        const real nearest = is_nearest(x), w = nearest * in->w[i], wf2 = w * g.sample.f2;
        const real bend = w * g.bend;

        in->f2[i] = nearest * g.sample.f2;
        in->wf2[i] = wf2;
        in->gh[i] = bend * x.x, in->gk[i] = bend * x.y, in->gl[i] = bend * x.z;
        f2 += wf2;
        fudge += w * g.dfudge;
    }
    out->f2 = f2;
    out->crystal[FRAME_CRYSTAL - 1] = fudge;
}

/* Computes the moments of the slopes for the shapes of bumps(). The moments are also the
 * slopes by the metric, the first six numbers of frame_crystal(). */
static void bump_moments(const struct samples *restrict in, struct piece_sums *out)
{
    const int n = in->at.padded / BLOCK * BLOCK;
    real hh = 0, kk = 0, ll = 0, hk = 0, hl = 0, kl = 0;
    double *c = out->crystal;

#pragma omp simd reduction(+ : hh, kk, ll, hk, hl, kl)
    for (int i = 0; i < n; i++) {
        const real gh = in->gh[i], gk = in->gk[i];

        hh += gh * in->h[i], hk += gh * in->k[i], hl += gh * in->l[i];
        kk += gk * in->k[i], kl += gk * in->l[i];
        ll += in->gl[i] * in->l[i];
    }
    c[0] = out->moment[0][0] = hh;
    c[1] = out->moment[1][1] = kk;
    c[2] = out->moment[2][2] = ll;
    c[3] = out->moment[0][1] = out->moment[1][0] = hk;
    c[4] = out->moment[0][2] = out->moment[2][0] = hl;
    c[5] = out->moment[1][2] = out->moment[2][1] = kl;
}

/* Computes F^2 of the square shape and its slopes in h, k, l. */
PHYS_FN void gratings(const struct phys_crystal *of, struct samples *restrict in,
                      struct piece_sums *out)
{
    const struct phys_crystal crystal = *of;
    const int n = in->at.padded / BLOCK * BLOCK;
    real f2 = 0, na = 0, nb = 0, nc = 0;

#pragma omp simd reduction(+ : f2, na, nb, nc)
    for (int i = 0; i < n; i++) {
        const struct phys_vec3 x = phys_vec3(in->h[i], in->k[i], in->l[i]);
        const struct phys_grating g = phys_grating(&crystal, x);
        const real nearest = is_nearest(x), w = nearest * in->w[i], wf2 = w * g.sample.f2;

        in->f2[i] = nearest * g.sample.f2;
        in->wf2[i] = wf2;
        in->gh[i] = w * g.sample.dh, in->gk[i] = w * g.sample.dk;
        in->gl[i] = w * g.sample.dl;
        f2 += wf2;
        na += w * g.dn.x, nb += w * g.dn.y, nc += w * g.dn.z;
    }
    out->f2 = f2;
    out->crystal[0] = na, out->crystal[1] = nb, out->crystal[2] = nc;
    for (int i = 3; i < FRAME_CRYSTAL; i++) out->crystal[i] = 0;
}

/* Computes the moments of the slopes for the square shape. */
static void grating_moments(const struct samples *restrict in, struct piece_sums *out)
{
    const int n = in->at.padded / BLOCK * BLOCK;
    real hh = 0, hk = 0, hl = 0, kh = 0, kk = 0, kl = 0, lh = 0, lk = 0, ll = 0;

#pragma omp simd reduction(+ : hh, hk, hl, kh, kk, kl, lh, lk, ll)
    for (int i = 0; i < n; i++) {
        const real gh = in->gh[i], gk = in->gk[i], gl = in->gl[i];

        hh += gh * in->h[i], hk += gh * in->k[i], hl += gh * in->l[i];
        kh += gk * in->h[i], kk += gk * in->k[i], kl += gk * in->l[i];
        lh += gl * in->h[i], lk += gl * in->k[i], ll += gl * in->l[i];
    }
    out->moment[0][0] = hh, out->moment[0][1] = hk, out->moment[0][2] = hl;
    out->moment[1][0] = kh, out->moment[1][1] = kk, out->moment[1][2] = kl;
    out->moment[2][0] = lh, out->moment[2][1] = lk, out->moment[2][2] = ll;
}

/* Computes the sums of the slopes, of F^2 times (q / k)^2, and of the cotangents of the
 * samples' places. This loop is apart from the other loops, because there are too few
 * registers for all sums. */
static void place_cotangents(const struct spot *s, const struct phys_source *source,
                             const struct phys_axes *of, const struct samples *restrict in,
                             struct piece_sums *out)
{
    const struct phys_axes axes = *of;
    const struct phys_vec3 mid = s->patch.d;
    const struct phys_vec3 way = phys_axpy(-1, phys_load(source->direction), mid);
    const double per_r = 1 / s->patch.distance;
    const int n = in->at.padded / BLOCK * BLOCK;
    real h = 0, k = 0, l = 0, x = 0, y = 0, z = 0, fx = 0, fy = 0, fz = 0, sx = 0, sy = 0,
         sz = 0, square = 0;

#pragma omp simd reduction(+ : h, k, l, x, y, z, fx, fy, fz, sx, sy, sz, square)
    for (int i = 0; i < n; i++) {
        const real gh = in->gh[i], gk = in->gk[i], gl = in->gl[i];
        const struct phys_vec3 step = phys_vec3(in->x[i], in->y[i], in->z[i]);
        const struct phys_vec3 d = phys_axpy(1, mid, step), q = phys_axpy(1, way, step);
        const struct phys_vec3 d_bar =
            phys_axpy(gh, axes.a, phys_axpy(gk, axes.b, phys_scale(gl, axes.c)));
        const struct phys_vec3 v =
            phys_scale(in->per_ratio[i], phys_axpy(-phys_dot(d, d_bar), d, d_bar));
        const real fast = in->at.fast[i], slow = in->at.slow[i];

        square += in->wf2[i] * phys_dot(q, q);
        h += gh, k += gk, l += gl;
        x += v.x, y += v.y, z += v.z;
        fx += fast * v.x, fy += fast * v.y, fz += fast * v.z;
        sx += slow * v.x, sy += slow * v.y, sz += slow * v.z;
    }
    out->square = square;
    out->slope[0] = h, out->slope[1] = k, out->slope[2] = l;
    out->at.place[0] = per_r * x, out->at.place[1] = per_r * y,
    out->at.place[2] = per_r * z;
    out->at.fast[0] = per_r * fx, out->at.fast[1] = per_r * fy,
    out->at.fast[2] = per_r * fz;
    out->at.slow[0] = per_r * sx, out->at.slow[1] = per_r * sy,
    out->at.slow[2] = per_r * sz;
}

/* Computes only the sums of the slopes; sets all other sums of place_cotangents() to 0. */
static void slope_sums(const struct samples *restrict in, struct piece_sums *out)
{
    const int n = in->at.padded / BLOCK * BLOCK;
    real h = 0, k = 0, l = 0;

#pragma omp simd reduction(+ : h, k, l)
    for (int i = 0; i < n; i++) h += in->gh[i], k += in->gk[i], l += in->gl[i];
    out->slope[0] = h, out->slope[1] = k, out->slope[2] = l;
    out->square = 0;
    memset(&out->at, 0, sizeof out->at);
}

/* Adds the sums of a piece to the sums of the pair. Indices and places of a piece are
 * counted from its reflection and its middle, but from 0 in the sums of the pair. */
static void add_piece(const struct rectangle *r, const double whole[3], double weight,
                      const struct piece_sums *from, struct splat_sums *to)
{
    const double fast = r->fast + 0.5 * r->width, slow = r->slow + 0.5 * r->height;

    for (int i = 0; i < 3; i++) {
        const double slope = weight * from->slope[i], place = weight * from->at.place[i];

        to->slope[i] += slope;
        for (int j = 0; j < 3; j++)
            to->moment[i][j] += slope * whole[j] + weight * from->moment[i][j];
        to->at.place[i] += place;
        to->at.fast[i] += weight * from->at.fast[i] + fast * place;
        to->at.slow[i] += weight * from->at.slow[i] + slow * place;
    }
    to->square += weight * from->square;
    for (int i = 0; i < FRAME_CRYSTAL; i++) to->crystal[i] += weight * from->crystal[i];
}

/* The numbers that all pieces of a pair share. */
struct pair_vjp {
    const struct splat_layer *splat_layer;
    const struct pair *pair;
    const struct splat_weights *weights;
    struct form form;
    struct phys_crystal crystal;
    double metric[3][3]; /* what multiply_metric() multiplies slopes by; for the square
                            shape the unit matrix */
    struct phys_axes axes; /* `metric` times the axes over the wavelength */
};

static struct pair_vjp pair_vjp_of(int shape, const struct splat_layer *splat_layer,
                                   const struct pair *pair,
                                   const struct splat_weights *weights)
{
    const double *m =
        splat_layer->frame->metric; /* hh kk ll hk hl kl; the last three count twice */
    const double metric[3][3] = {{2 * m[0], m[3], m[4]},
                                 {m[3], 2 * m[1], m[5]},
                                 {m[4], m[5], 2 * m[2]}};
    const double unit = pair->source->inverse_wavelength;
    struct pair_vjp t = {.splat_layer = splat_layer,
                         .pair = pair,
                         .weights = weights,
                         .form = form_of(splat_layer, pair),
                         .crystal = phys_crystal(splat_layer->frame),
                         .metric = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    double rows[9] = {0};

    if (shape != PHYS_SQUARE) memcpy(t.metric, metric, sizeof metric);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                rows[3 * i + k] += unit * t.metric[i][j] * pair->axes[3 * j + k];
    t.axes = phys_axes(rows);
    return t;
}

/* Adds the F^2 of the samples to the Bragg sums of their pixels. */
static void add_to_pixels(const struct pair_vjp *t, double weight, const struct samples *in)
{
    for (int i = 0; i < in->at.n; i++)
        if (in->pixel[i] >= 0)
            t->splat_layer->bragg[in->pixel[i]] += weight * (double)in->f2[i];
}

/* Adds the sums of piece i to the sums of the pair and to the cotangent of its F. If the
 * layer has Bragg sums, it splats the samples, too. */
PHYS_FN void piece_vjp(int shape, const struct pair_vjp *t, const struct pieces *pieces,
                       int i, struct splat_sums *sums)
{
    const struct splat_layer *splat_layer = t->splat_layer;
    const struct rectangle r = rectangle_of(pieces, i);
    const struct spot s = spot_of(splat_layer, t->pair, pieces, i);
    const double whole[3] = {pieces->h[i], pieces->k[i], pieces->l[i]};
    const double f = pieces->f[i], own = f * f, weight = t->pair->weight;
    struct row_spans spans;
    struct piece_sums piece;
    struct samples in;
    double f2 = 0;

    find_row_spans(splat_layer, pieces, i, &spans);
    for (int row = 0; row < spans.rows;) {
        int weighted;

        row = list_places(pieces, i, row, &spans, &in.at);
        if (in.at.n == 0) continue;
        weighted = find_pixels(splat_layer, &r, &spans, t->weights, &in);
        if (!weighted && !splat_layer->bragg) continue;
        if (pieces->small[i] != 0)
            find_places(1, &s, &in);
        else
            find_places(0, &s, &in);
        if (shape == PHYS_SQUARE)
            gratings(&t->crystal, &in, &piece);
        else
            bumps(shape, &t->crystal, &in, &piece);
        if (splat_layer->bragg) add_to_pixels(t, weight * own, &in);
        if (!weighted) continue;
        f2 += piece.f2;
        if (shape == PHYS_SQUARE)
            grating_moments(&in, &piece);
        else
            bump_moments(&in, &piece);
        if (t->weights->fixed)
            slope_sums(&in, &piece);
        else
            place_cotangents(&s, t->pair->source, &t->axes, &in, &piece);
        add_piece(&r, whole, own, &piece, sums);
    }
    sums->f2 += own * f2;
    if (t->weights->lookup == PHYS_NEAREST && t->weights->f)
        t->weights->f[pieces->place[i]] += t->weights->scale * weight * 2 * f * f2;
}

/* Multiplies the sums of slopes by the metric, which the loops over samples leave out. */
static void multiply_metric(const struct pair_vjp *t, struct splat_sums *sums)
{
    const struct splat_sums less = *sums;

    for (int i = 0; i < 3; i++) {
        const double *m = t->metric[i];

        sums->slope[i] = m[0] * less.slope[0] + m[1] * less.slope[1] + m[2] * less.slope[2];
        for (int j = 0; j < 3; j++)
            sums->moment[i][j] = m[0] * less.moment[0][j] + m[1] * less.moment[1][j]
                                 + m[2] * less.moment[2][j];
    }
}

PHYS_FN void list_vjp(int shape, const struct splat_layer *splat_layer,
                      const struct pair *pair, const struct reflections *list,
                      const int *hits, int n, const struct splat_weights *weights,
                      struct splat_sums *sums)
{
    const struct pair_vjp t = pair_vjp_of(shape, splat_layer, pair, weights);
    struct splat_sums total = {0};
    struct walk walk;
    struct pieces pieces;

    start_walk(splat_layer, pair, list, hits, n, weights->lookup, &walk);
    while (collect_pieces(&walk, &pieces)) {
        place_pieces(&t.form, &pieces);
        for (int i = 0; i < pieces.n; i++) piece_vjp(shape, &t, &pieces, i, &total);
    }
    multiply_metric(&t, &total);
    *sums = total;
}

#define SHAPE(name)                                                                        \
    static void name##_vjp(const struct splat_layer *splat_layer, const struct pair *pair, \
                           const struct reflections *list, const int *hits, int n,         \
                           const struct splat_weights *weights, struct splat_sums *sums)   \
    {                                                                                      \
        list_vjp(PHYS_##name, splat_layer, pair, list, hits, n, weights, sums);            \
    }
SHAPE(SQUARE)
SHAPE(ROUND)
SHAPE(GAUSS)
SHAPE(TOPHAT)
#undef SHAPE

extern const struct splat_vjp_kernels KERNELS;
const struct splat_vjp_kernels KERNELS = {
    {
        [PHYS_SQUARE] = SQUARE_vjp,
        [PHYS_ROUND] = ROUND_vjp,
        [PHYS_GAUSS] = GAUSS_vjp,
        [PHYS_TOPHAT] = TOPHAT_vjp,
    },
};
