/*
 * splat_places.h - the places of spots and of their samples on the detector, for splat.c
 * and its adjoint. It is compiled with both of them, once per instruction set and
 * precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_SPOTS_SPLAT_PLACES_H
#define NB_KERNELS_SPOTS_SPLAT_PLACES_H

#include "kernels/spots/splat.h"
#include "physics/pixel.h"
#include "physics/tile/patch.h"

/* BATCH reflections are located together. A spot is cut into pieces of at most PIECE x
 * PIECE samples. */
enum { BATCH = SPLAT_PAD, PIECE = 64 };

/* A rectangle of samples: a spot or a piece of one. */
struct rectangle {
    int fast, slow, width, height;
};

/* A batch of reflections: their indices, v = q + k as x, y, z (1/A), and the samples of the
 * detector plane that their spots cover. The arrays are aligned. Otherwise compilers would
 * compute half of the batch one by one, up to an address where a vector may begin. */
struct located {
    _Alignas(64) double h[BATCH], k[BATCH], l[BATCH];
    double x[BATCH], y[BATCH], z[BATCH];
    double first_fast[BATCH], last_fast[BATCH], first_slow[BATCH], last_slow[BATCH];
    double seen[BATCH]; /* above 0 if the spot may contain a sample of the layer */
};

/* first_in() returns the first sample whose middle is at or above `low`, last_in() the last
 * one whose middle is at or below `high`. `limit` is the layer's first or last sample. */
PHYS_FN double first_in(double low, double limit)
{
    const double sample = ceil(low - 0.5);

    return sample > limit ? sample : limit;
}

PHYS_FN double last_in(double high, double limit)
{
    const double sample = floor(high - 0.5);

    return sample < limit ? sample : limit;
}

/*
 * Finds the samples whose direction d lies within the radius of a reflection, that is where
 * |k d - v| <= radius, v = q + k. Let a be the angle between d and v. Because |k d - v|^2 =
 * (|v| - k)^2 + 4 k |v| sin(a/2)^2, 2 |v| sin(a/2) is at most `reach`. The loop runs in
 * double over a whole batch. Most spots of a large crystal fall between the samples and
 * need no further work.
 */
static void locate(const struct splat_layer *splat_layer, const struct pair *pair,
                   struct located *at)
{
    const struct phys_detector_plane plane = splat_layer->plane;
    const double *s = pair->stars, k = pair->source->inverse_wavelength;
    const double a0 = s[0], a1 = s[1], a2 = s[2], b0 = s[3], b1 = s[4], b2 = s[5];
    const double c0 = s[6], c1 = s[7], c2 = s[8];
    const double k0 = k * pair->source->direction[0], k1 = k * pair->source->direction[1];
    const double k2 = k * pair->source->direction[2];
    const double radius2 = pair->radius * pair->radius, per_k = 1 / k;
    const double fast0 = splat_layer->fast[0], fast1 = splat_layer->fast[1] - 1;
    const double slow0 = splat_layer->slow[0], slow1 = splat_layer->slow[1] - 1;

#pragma omp simd
    for (int i = 0; i < BATCH; i++) {
        const double h = at->h[i], m = at->k[i], l = at->l[i];
        const struct phys_wide3 v =
            phys_wide3(h * a0 + m * b0 + l * c0 + k0, h * a1 + m * b1 + l * c1 + k1,
                       h * a2 + m * b2 + l * c2 + k2);
        const double length = sqrt(phys_wide_dot(v, v)), off = length - k;
        const double left = radius2 - off * off;
        const double positive = left > 0 ? left : 0;
        const double reach = sqrt(positive * length * per_k);
        const double n = phys_wide_dot(v, plane.normal);
        const double all =
            n > reach ? 0 : 1e30; /* no limit if some directions miss the plane */
        const double per_normal = 1 / (n > reach ? n : 1);
        const struct phys_range f =
            phys_detector_plane_range(&plane, &plane.fast, v, per_normal, reach);
        const struct phys_range t =
            phys_detector_plane_range(&plane, &plane.slow, v, per_normal, reach);
        const double fast_low = first_in(f.low - all, fast0);
        const double fast_high = last_in(f.high + all, fast1);
        const double slow_low = first_in(t.low - all, slow0);
        const double slow_high = last_in(t.high + all, slow1);
        const double ahead = n > -reach ? positive : 0;
        const double wide = fast_low <= fast_high ? ahead : 0;

        at->x[i] = v.x, at->y[i] = v.y, at->z[i] = v.z;
        at->first_fast[i] = fast_low, at->last_fast[i] = fast_high;
        at->first_slow[i] = slow_low, at->last_slow[i] = slow_high;
        at->seen[i] = slow_low <= slow_high ? wide : 0;
    }
}

/* Returns the anchor (physics/tile/anchor.h) at the middle of a patch. A step from it is
 * the change of the direction since the middle. Indices are counted from the reflection
 * `whole`, for which v = q + k. */
static struct phys_anchor anchor_of(const struct pair *pair, const double *v,
                                    const struct phys_patch *patch, struct phys_vec3 whole)
{
    const double unit = pair->source->inverse_wavelength;
    const double off[3] = {unit * patch->direction[0] - v[0],
                           unit * patch->direction[1] - v[1],
                           unit * patch->direction[2] - v[2]};
    struct phys_anchor a = phys_anchor_at(pair->axes, off, unit);

    /* the indices of `off` may be above 1/2, but all of them is the fraction counted from
     * `whole` */
    a.fraction = phys_axpy(1, a.whole, a.fraction);
    a.whole = whole;
    return a;
}

/* Returns the pixel of a sample along an axis, for `over` sub-pixels per pixel. With one
 * sub-pixel there is no division, which would take longer than the other work per
 * sample. */
static inline int pixel_of(int over, int sample)
{
    return over == 1 ? sample : sample / over;
}

/* Finds the rectangle of samples of spot i of a batch; at->seen[i] must be above 0. If the
 * window has boxes, the rectangle is cut to the rendered pixels. Returns 0 if the spot
 * overlaps no rendered pixel. */
static int find_outline(const struct splat_layer *splat_layer, const struct located *at,
                        int i, struct outline *out)
{
    const struct window *w = splat_layer->window;
    const int n = splat_layer->frame->oversample, *roi = w->roi;
    const struct outline all = {{(int)at->first_fast[i], (int)at->last_fast[i] + 1},
                                {(int)at->first_slow[i], (int)at->last_slow[i] + 1},
                                i};
    int pixels[4];

    *out = all;
    if (all.fast[1] <= roi[0] * n || all.fast[0] >= roi[1] * n || all.slow[1] <= roi[2] * n
        || all.slow[0] >= roi[3] * n)
        return 0;
    if (!window_hides(w)) return 1;
    for (int k = 0; k < 2; k++) {
        pixels[k] = (all.fast[k] - k) / n + k;
        pixels[2 + k] = (all.slow[k] - k) / n + k;
    }
    if (!w->boxed) return window_overlaps(w, pixels);
    if (!window_shrink(w, pixels)) return 0;
    for (int k = 0; k < 2; k++) {
        out->fast[k] = max_int(all.fast[0], min_int(all.fast[1], pixels[k] * n));
        out->slow[k] = max_int(all.slow[0], min_int(all.slow[1], pixels[2 + k] * n));
    }
    return 1;
}

/* Pixels first .. end - 1 of a row of pixels. The pixels lie side by side in the window's
 * tiles and in the layer's sums, the first at `place`. From there on, `room` numbers belong
 * to the same row. `span` is the span of tiles that holds the pixels; NULL before the first
 * call. */
struct painted_span {
    int first, end, room;
    ptrdiff_t place;
    const struct tile_span *span;
    int row; /* row of tiles */
};

/* Finds the first span of pixels among pixels f .. end - 1 of row s. Returns 0 if there is
 * none; t->end then is `end`. */
static inline int next_span(const struct splat_layer *splat_layer, int s, int f, int end,
                            struct painted_span *t)
{
    const int known =
        t->span && t->row == s / TILE_SLOW && f >= t->span->fast && f < t->span->end;
    const int nfast = splat_layer->frame->nfast;
    int last;

    if (!known) t->span = tile_span_of(splat_layer->window, s, f);
    t->row = s / TILE_SLOW;
    t->end = end;
    if (!t->span || t->span->fast >= end) return 0;
    last = splat_layer->packed ? t->span->end : min_int(t->span->end, nfast);
    t->first = f > t->span->fast ? f : t->span->fast;
    t->end = min_int(end, last);
    t->room = last - t->first;
    t->place = splat_layer->packed
                   ? (ptrdiff_t)window_place(t->span, s, t->first)
                   : (ptrdiff_t)window_pixel(splat_layer->window, s, t->first);
    return t->end > t->first;
}

/* Locates the spots of the reflections list[hits[i]], i < n, at most a batch. Returns their
 * number. */
static int locate_batch(const struct splat_layer *splat_layer, const struct pair *pair,
                        const struct reflections *list, const int *hits, int n,
                        struct located *at)
{
    const int count = n < BATCH ? n : BATCH;

    for (int i = 0; i < BATCH; i++) {
        const int hit = hits[i < count ? i : 0];

        at->h[i] = (double)list->h[hit];
        at->k[i] = (double)list->k[hit];
        at->l[i] = (double)list->l[hit];
    }
    locate(splat_layer, pair, at);
    return count;
}

/* Returns 1 if a sample belongs to a reflection and not to a neighbour; x are its indices
 * counted from the reflection. A sample halfway between two reflections belongs to exactly
 * one of them. */
PHYS_FN real is_nearest(struct phys_vec3 x)
{
    const real off =
        fabs(phys_nearest(x.x)) + fabs(phys_nearest(x.y)) + fabs(phys_nearest(x.z));

    return off == 0 ? 1 : 0;
}

#endif
