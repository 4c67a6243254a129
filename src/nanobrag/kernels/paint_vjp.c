/*
 * paint_vjp.c - the adjoint of paint.c: the same samples of the same spots, and what a
 * number changes by with the sum of each pixel handed back to the pair and the detector.
 * Compiled like paint.c.
 *
 * All samples of a spot belong to one reflection, and the scattering vector times an axis
 * of the cell is an index. So the axes get their share from sums of slope times index, with
 * nothing else to carry from a spot to the next.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/kernels.h"
#include "kernels/paint_places.h"

/* samples that are computed at a time, in whole vectors; the last are padded with others of
 * weight 0 */
enum { BLOCK = 8, SAMPLES = 8 * BLOCK };

typedef real block[SAMPLES];

/* samples of a spot */
struct samples {
    int first, n, padded; /* of the spot's; padded: to whole blocks */
    ptrdiff_t pixel[SAMPLES]; /* in the image; -1: outside the ROI */
    _Alignas(64) block w; /* weight of the pixel */
    _Alignas(64) block f2; /* over that of the unit cell */
    _Alignas(64) block wf2; /* times the weight */
    _Alignas(64) block gh, gk, gl; /* its slopes in h, k, l, times the weight */
    _Alignas(64) block x, y, z, ratio; /* struct phys_place in pieces */
    _Alignas(64) block fast, slow; /* offset from the middle of the patch, sub-pixels */
};

/* sums over the samples of a spot, of what is in `samples` */
struct piece_sums {
    double f2, square, slope[3], moment[3][3], crystal[PAINT_CRYSTAL];
    double place[3], fast[3], slow[3];
};

/* pixels of the samples and their weights; returns 1 when one of these is not 0 */
static int find_pixels(const struct canvas *canvas, const struct rectangle *r,
                       const struct paint_pull *pull, struct samples *in)
{
    const int over = canvas->frame->oversample;
    const int *roi = canvas->roi;
    const ptrdiff_t nfast = canvas->frame->nfast;
    int row = in->first / r->width, column = in->first - row * r->width, any = 0;

    for (int i = 0; i < in->padded; i++) {
        const int s = over == 1 ? r->slow + row : (r->slow + row) / over;
        const int f = over == 1 ? r->fast + column : (r->fast + column) / over;
        const int inside =
            i < in->n && f >= roi[0] && f < roi[1] && s >= roi[2] && s < roi[3];

        in->pixel[i] = inside ? s * nfast + f : -1;
        in->w[i] = inside ? (real)(pull->weight[in->pixel[i]] * pull->per_scale) : 0;
        any |= in->w[i] != 0;
        if (++column == r->width) {
            column = 0;
            row++;
        }
    }
    return any;
}

/* 1 where a sample is its reflection's own, as in paint.c */
PHYS_FN real own_of(struct phys_vec3 x)
{
    const real off =
        fabs(phys_nearest(x.x)) + fabs(phys_nearest(x.y)) + fabs(phys_nearest(x.z));

    return off == 0 ? 1 : 0;
}

/* sample i of `in`, its place kept */
PHYS_FN struct phys_vec3 site_of(const struct spot *s, int i, struct samples *restrict in)
{
    real fast, slow;
    const struct phys_place place = place_of(s, (real)(in->first + i), &fast, &slow);

    in->x[i] = place.step.x, in->y[i] = place.step.y, in->z[i] = place.step.z;
    in->ratio[i] = place.ratio;
    in->fast[i] = fast - s->middle_fast;
    in->slow[i] = slow - s->middle_slow;
    return phys_anchor_indices(&s->anchor, place.step);
}

/* F^2 and its slopes of profiles */
PHYS_FN void bumps(int shape, const struct phys_crystal *of, const struct spot *spot,
                   struct samples *restrict in, struct piece_sums *out)
{
    const struct phys_crystal crystal = *of;
    const struct spot s = *spot;
    const int n = in->padded / BLOCK * BLOCK;
    real f2 = 0, fudge = 0, hh = 0, kk = 0, ll = 0, hk = 0, hl = 0, kl = 0;

#pragma omp simd reduction(+ : f2, fudge, hh, kk, ll, hk, hl, kl)
    for (int i = 0; i < n; i++) {
        const struct phys_vec3 x = site_of(&s, i, in);
        const struct phys_bump g = phys_bump(shape, &crystal, x);
        const real own = own_of(x), w = own * in->w[i], wf2 = w * g.sample.f2;

        in->f2[i] = own * g.sample.f2;
        in->wf2[i] = wf2;
        in->gh[i] = w * g.sample.dh;
        in->gk[i] = w * g.sample.dk;
        in->gl[i] = w * g.sample.dl;
        f2 += wf2;
        fudge += w * g.dfudge;
        hh += w * g.dhh, kk += w * g.dkk, ll += w * g.dll;
        hk += w * g.dhk, hl += w * g.dhl, kl += w * g.dkl;
    }
    out->f2 = f2;
    out->crystal[0] = fudge;
    out->crystal[1] = hh, out->crystal[2] = kk, out->crystal[3] = ll;
    out->crystal[4] = hk, out->crystal[5] = hl, out->crystal[6] = kl;
}

/* the moments of profiles: their slopes are the metric times h, k, l, and so the moments
 * the metric times the slopes in it */
static void bump_moments(const struct phys_frame *frame, struct piece_sums *sums)
{
    const double *m = frame->metric, *c = sums->crystal;
    const double metric[3][3] = {{2 * m[0], m[3], m[4]},
                                 {m[3], 2 * m[1], m[5]},
                                 {m[4], m[5], 2 * m[2]}};
    const double square[3][3] = {{c[1], c[4], c[5]},
                                 {c[4], c[2], c[6]},
                                 {c[5], c[6], c[3]}};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sums->moment[i][j] = metric[i][0] * square[0][j] + metric[i][1] * square[1][j]
                                 + metric[i][2] * square[2][j];
}

/* F^2 and its slopes of a parallelepiped */
PHYS_FN void gratings(const struct phys_crystal *of, const struct spot *spot,
                      struct samples *restrict in, struct piece_sums *out)
{
    const struct phys_crystal crystal = *of;
    const struct spot s = *spot;
    const int n = in->padded / BLOCK * BLOCK;
    real f2 = 0, na = 0, nb = 0, nc = 0, hh = 0, hk = 0, hl = 0, kh = 0, kk = 0, kl = 0,
         lh = 0, lk = 0, ll = 0;

#pragma omp simd reduction(+ : f2, na, nb, nc, hh, hk, hl, kh, kk, kl, lh, lk, ll)
    for (int i = 0; i < n; i++) {
        const struct phys_vec3 x = site_of(&s, i, in);
        const struct phys_grating g = phys_grating(&crystal, x);
        const real own = own_of(x), w = own * in->w[i], wf2 = w * g.sample.f2;
        const real gh = w * g.sample.dh, gk = w * g.sample.dk, gl = w * g.sample.dl;

        in->f2[i] = own * g.sample.f2;
        in->wf2[i] = wf2;
        in->gh[i] = gh, in->gk[i] = gk, in->gl[i] = gl;
        f2 += wf2;
        na += w * g.dn.x, nb += w * g.dn.y, nc += w * g.dn.z;
        hh += gh * x.x, hk += gh * x.y, hl += gh * x.z;
        kh += gk * x.x, kk += gk * x.y, kl += gk * x.z;
        lh += gl * x.x, lk += gl * x.y, ll += gl * x.z;
    }
    out->f2 = f2;
    out->crystal[0] = na, out->crystal[1] = nb, out->crystal[2] = nc;
    for (int i = 3; i < PAINT_CRYSTAL; i++) out->crystal[i] = 0;
    out->moment[0][0] = hh, out->moment[0][1] = hk, out->moment[0][2] = hl;
    out->moment[1][0] = kh, out->moment[1][1] = kk, out->moment[1][2] = kl;
    out->moment[2][0] = lh, out->moment[2][1] = lk, out->moment[2][2] = ll;
}

/* the sums of slopes, of F^2 times the square of the scattering vector over that of the
 * wave vector, and what the slopes make of the places of the samples. A loop of its own:
 * there are not registers enough for all sums */
static void pull_places(const struct spot *s, const struct phys_source *source,
                        const struct samples *restrict in, struct piece_sums *out)
{
    const struct phys_axes axes = s->anchor.axes; /* of a step of the direction */
    const struct phys_vec3 mid = s->patch.d;
    const struct phys_vec3 way = phys_axpy(-1, phys_load(source->direction), mid);
    const double per_r = 1 / s->patch.distance;
    const int n = in->padded / BLOCK * BLOCK;
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
            phys_scale(1 / in->ratio[i], phys_axpy(-phys_dot(d, d_bar), d, d_bar));
        const real fast = in->fast[i], slow = in->slow[i];

        square += in->wf2[i] * phys_dot(q, q);
        h += gh, k += gk, l += gl;
        x += v.x, y += v.y, z += v.z;
        fx += fast * v.x, fy += fast * v.y, fz += fast * v.z;
        sx += slow * v.x, sy += slow * v.y, sz += slow * v.z;
    }
    out->square = square;
    out->slope[0] = h, out->slope[1] = k, out->slope[2] = l;
    out->place[0] = per_r * x, out->place[1] = per_r * y, out->place[2] = per_r * z;
    out->fast[0] = per_r * fx, out->fast[1] = per_r * fy, out->fast[2] = per_r * fz;
    out->slow[0] = per_r * sx, out->slow[1] = per_r * sy, out->slow[2] = per_r * sz;
}

/* sums of a piece, counted from its reflection and its middle, to those of the pair */
static void add_piece(const struct rectangle *r, const double whole[3], double weight,
                      const struct piece_sums *from, struct paint_sums *to)
{
    const double fast = r->fast + 0.5 * r->width, slow = r->slow + 0.5 * r->height;

    for (int i = 0; i < 3; i++) {
        const double slope = weight * from->slope[i], place = weight * from->place[i];

        to->slope[i] += slope;
        for (int j = 0; j < 3; j++)
            to->moment[i][j] += slope * whole[j] + weight * from->moment[i][j];
        to->place[i] += place;
        to->fast[i] += weight * from->fast[i] + fast * place;
        to->slow[i] += weight * from->slow[i] + slow * place;
    }
    to->square += weight * from->square;
    for (int i = 0; i < PAINT_CRYSTAL; i++) to->crystal[i] += weight * from->crystal[i];
}

/* a reflection and its samples */
struct touch {
    const struct canvas *canvas;
    const struct pairing *pair;
    const struct paint_pull *pull;
    double v[3], whole[3];
    double weight; /* F^2, where each reflection has its own */
};

static void drop(const struct touch *t, const struct samples *in)
{
    const double weight = t->pair->weight * t->weight;

    for (int i = 0; i < in->n; i++)
        if (in->pixel[i] >= 0) t->canvas->bragg[in->pixel[i]] += weight * (double)in->f2[i];
}

/* a rectangle of samples; returns the sum of w F^2 of the lattice alone */
PHYS_FN double piece_back(int shape, const struct touch *t, struct rectangle r,
                          struct paint_sums *sums)
{
    const struct spot s =
        spot_of(t->canvas, t->pair, t->v, &r,
                phys_vec3((real)t->whole[0], (real)t->whole[1], (real)t->whole[2]));
    const struct phys_crystal crystal = phys_crystal(t->canvas->frame);
    struct piece_sums own;
    struct samples in;
    double f2 = 0;

    for (in.first = 0; in.first < r.width * r.height; in.first += SAMPLES) {
        const int left = r.width * r.height - in.first;
        int pulled;

        in.n = left < SAMPLES ? left : SAMPLES;
        in.padded = (in.n + BLOCK - 1) / BLOCK * BLOCK;
        pulled = find_pixels(t->canvas, &r, t->pull, &in);
        if (!pulled && !t->canvas->bragg) continue;
        if (shape == PHYS_SQUARE)
            gratings(&crystal, &s, &in, &own);
        else
            bumps(shape, &crystal, &s, &in, &own);
        if (t->canvas->bragg) drop(t, &in);
        if (!pulled) continue;
        f2 += own.f2;
        if (shape != PHYS_SQUARE) bump_moments(t->canvas->frame, &own);
        pull_places(&s, t->pair->source, &in, &own);
        add_piece(&r, t->whole, t->weight, &own, sums);
    }
    return f2;
}

/* the reflection that `t` is about to be filled in with; 0 where its F is 0 */
static int touch_of(const struct located *at, int i, struct touch *t, int *place, double *f)
{
    t->v[0] = at->x[i], t->v[1] = at->y[i], t->v[2] = at->z[i];
    t->whole[0] = at->h[i], t->whole[1] = at->k[i], t->whole[2] = at->l[i];
    *f = 1;
    if (t->pull->lookup == PHYS_NEAREST) {
        const struct phys_box box = phys_box(t->canvas->frame);

        *place = phys_f_place(0, &box,
                              phys_vec3((real)at->h[i], (real)at->k[i], (real)at->l[i]));
        *f = (double)box.f[*place];
    }
    t->weight = *f * *f;
    return t->weight != 0;
}

/* reflection i of a strip */
PHYS_FN void one_back(int shape, const struct located *at, int i, struct touch *t,
                      struct paint_sums *sums)
{
    const int fast = (int)at->first_fast[i], slow = (int)at->first_slow[i];
    const int end_fast = (int)at->last_fast[i] + 1, end_slow = (int)at->last_slow[i] + 1;
    double f, f2 = 0;
    int place = 0;

    if (!touch_of(at, i, t, &place, &f)) return;
    for (int s = slow; s < end_slow; s += PIECE)
        for (int l = fast; l < end_fast; l += PIECE) {
            const struct rectangle r = {l, s, min_int(PIECE, end_fast - l),
                                        min_int(PIECE, end_slow - s)};

            f2 += piece_back(shape, t, r, sums);
        }
    sums->f2 += t->weight * f2;
    if (t->pull->lookup == PHYS_NEAREST && t->pull->f)
        t->pull->f[place] += t->pull->scale * t->pair->weight * 2 * f * f2;
}

PHYS_FN void run_back(int shape, const struct canvas *canvas, const struct pairing *pair,
                      const struct reflections *list, const int *hits, int n,
                      const struct paint_pull *pull, struct paint_sums *sums)
{
    struct touch t = {canvas, pair, pull, {0}, {0}, 0};
    struct located at;

    for (int first = 0; first < n; first += STRIP) {
        const int strip = locate_strip(canvas, pair, list, hits + first, n - first, &at);

        for (int i = 0; i < strip; i++)
            if (at.seen[i] != 0 && is_wanted(canvas, &at, i))
                one_back(shape, &at, i, &t, sums);
    }
}

#define SHAPE(name)                                                                        \
    static void name(const struct canvas *canvas, const struct pairing *pair,              \
                     const struct reflections *list, const int *hits, int n,               \
                     const struct paint_pull *pull, struct paint_sums *sums)               \
    {                                                                                      \
        run_back(PHYS_##name, canvas, pair, list, hits, n, pull, sums);                    \
    }
SHAPE(SQUARE)
SHAPE(ROUND)
SHAPE(GAUSS)
SHAPE(TOPHAT)
#undef SHAPE

extern const struct repainter KERNELS;
const struct repainter KERNELS = {
    {
        [PHYS_SQUARE] = SQUARE,
        [PHYS_ROUND] = ROUND,
        [PHYS_GAUSS] = GAUSS,
        [PHYS_TOPHAT] = TOPHAT,
    },
};
