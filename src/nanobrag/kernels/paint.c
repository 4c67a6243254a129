/*
 * paint.c - see paint.h. Compiled for each instruction set in double and in float, like
 * lanes.c, and by the same physics: a spot is a patch of the detector whose anchor is the
 * reflection itself. SPDX-License-Identifier: MIT
 */
#include "kernels/paint.h"

#include "physics/patch.h"
#include "physics/pixel.h"

/* reflections that are looked at, and samples of a spot that are computed, at a time; the
 * widest piece of a spot whose samples are numbered in one go: a float counts them */
enum { STRIP = 16, SAMPLES = 8, PIECE = 512 };

_Static_assert(PAINT_PAD % STRIP == 0, "scan() reads whole strips");

static int scan(const struct pairing *pair, const struct reflections *list, int *hits)
{
    const double *s = pair->stars;
    const double unit = pair->source->inverse_wavelength;
    const float a0 = (float)s[0], a1 = (float)s[1], a2 = (float)s[2];
    const float b0 = (float)s[3], b1 = (float)s[4], b2 = (float)s[5];
    const float c0 = (float)s[6], c1 = (float)s[7], c2 = (float)s[8];
    const float k0 = (float)(2 * unit * pair->source->direction[0]);
    const float k1 = (float)(2 * unit * pair->source->direction[1]);
    const float k2 = (float)(2 * unit * pair->source->direction[2]);
    /* |q + k| - |k| within the radius, squared */
    const float limit = (float)(pair->radius * (2 * unit + pair->radius)) + pair->margin;
    int n = 0;

    for (int first = 0; first < list->n; first += STRIP) {
        const float *restrict h = list->h + first;
        const float *restrict k = list->k + first;
        const float *restrict l = list->l + first;
        int near[STRIP], any = 0;

#pragma omp simd reduction(| : any)
        for (int i = 0; i < STRIP; i++) {
            const float x = h[i] * a0 + k[i] * b0 + l[i] * c0;
            const float y = h[i] * a1 + k[i] * b1 + l[i] * c1;
            const float z = h[i] * a2 + k[i] * b2 + l[i] * c2;
            const float off = x * (x + k0) + y * (y + k1) + z * (z + k2);

            near[i] = fabsf(off) <= limit ? 1 : 0;
            any |= near[i];
        }
        if (!any) continue;
        for (int i = 0; i < STRIP && first + i < list->n; i++) {
            hits[n] = first + i;
            n += near[i];
        }
    }
    return n;
}

/* a rectangle of samples about a spot */
struct rectangle {
    int fast, slow, width, height;
};

/* some reflections: v = q + k, and where their spots lie on the screen */
struct located {
    double h[STRIP], k[STRIP], l[STRIP];
    double x[STRIP], y[STRIP], z[STRIP];
    double first_fast[STRIP], last_fast[STRIP], first_slow[STRIP], last_slow[STRIP];
    double seen[STRIP]; /* above 0 where the spot may hold a sample of the canvas */
};

/* the first sample at or above an end of a range, and the last below, within a limit */
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
 * Samples whose direction d lies within the radius of a reflection, |k d - v| <= radius
 * with v = q + k: |k d - v|^2 = (|v| - k)^2 + 4 k |v| sin(a/2)^2, a the angle between d and
 * v, so that 2 |v| sin(a/2) is at most `reach`. In double and many at a time: most spots of
 * a large crystal fall between the samples, and this is all that is done about them.
 */
static void locate(const struct canvas *canvas, const struct pairing *pair,
                   struct located *at)
{
    const struct phys_screen screen = canvas->screen;
    const double *s = pair->stars, k = pair->source->inverse_wavelength;
    const double a0 = s[0], a1 = s[1], a2 = s[2], b0 = s[3], b1 = s[4], b2 = s[5];
    const double c0 = s[6], c1 = s[7], c2 = s[8];
    const double k0 = k * pair->source->direction[0], k1 = k * pair->source->direction[1];
    const double k2 = k * pair->source->direction[2];
    const double radius2 = pair->radius * pair->radius, per_k = 1 / k;
    const double fast0 = canvas->fast[0], fast1 = canvas->fast[1] - 1;
    const double slow0 = canvas->slow[0], slow1 = canvas->slow[1] - 1;

#pragma omp simd
    for (int i = 0; i < STRIP; i++) {
        const double h = at->h[i], m = at->k[i], l = at->l[i];
        const struct phys_wide3 v =
            phys_wide3(h * a0 + m * b0 + l * c0 + k0, h * a1 + m * b1 + l * c1 + k1,
                       h * a2 + m * b2 + l * c2 + k2);
        const double length = sqrt(phys_wide_dot(v, v)), off = length - k;
        const double left = radius2 - off * off;
        const double positive = left > 0 ? left : 0;
        const double reach = sqrt(positive * length * per_k);
        const double n = phys_wide_dot(v, screen.normal);
        const double all = n > reach ? 0 : 1e30; /* the cone reaches the horizon */
        const double per_normal = 1 / (n > reach ? n : 1);
        const struct phys_range f =
            phys_screen_range(&screen, &screen.fast, v, per_normal, reach);
        const struct phys_range t =
            phys_screen_range(&screen, &screen.slow, v, per_normal, reach);
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

/* the anchor of a patch: steps of the direction from the patch's middle, indices from the
 * reflection */
static struct phys_anchor anchor_of(const struct pairing *pair, const double *v,
                                    const struct phys_patch *patch, struct phys_vec3 whole)
{
    const double unit = pair->source->inverse_wavelength;
    const double off[3] = {unit * patch->direction[0] - v[0],
                           unit * patch->direction[1] - v[1],
                           unit * patch->direction[2] - v[2]};
    struct phys_anchor a = phys_anchor_at(pair->axes, off, unit);

    /* off is short, but its indices may pass 1/2 */
    a.fraction = phys_axpy(1, a.whole, a.fraction);
    a.whole = whole;
    return a;
}

/* what weighs the samples of a spot one by one */
struct weighing {
    int omega, polar, capture, dmin, displacement;
};

static struct weighing weighing_of(const struct phys_frame *frame)
{
    struct weighing w;

    w.omega = frame->each_omega;
    w.polar = frame->each_polar && frame->polarised;
    w.capture = frame->layer_mu != 0 && !frame->last_capture;
    w.dmin = frame->dmin > 0;
    w.displacement = frame->b_factor != 0;
    return w;
}

/* a patch and all that its samples are computed from */
struct spot {
    struct rectangle r;
    struct phys_patch patch;
    struct phys_anchor anchor;
    real middle_fast, middle_slow, per_row;
    struct phys_detector detector;
    struct phys_square square;
    struct weighing weighing;
};

/* factor of a sample; `front`: the same place at the first sub-pixel of its pixel, where
 * the capture is taken unless each sample has its own */
PHYS_FN real weight_of(const struct canvas *canvas, const struct phys_source *source,
                       const struct spot *s, struct phys_place place,
                       struct phys_place front)
{
    const struct phys_frame *frame = canvas->frame;
    const struct phys_detector *det = &s->detector;
    const struct phys_point point =
        phys_patch_point(&s->patch, det, place.step, place.ratio);
    const real change = phys_square_change(&s->square, place.step);
    real weight = 1;

    if (s->weighing.omega) weight *= phys_solid_angle(det, point);
    if (s->weighing.polar)
        weight *= phys_polarization((real)frame->kahn, phys_load(source->direction),
                                    phys_load(source->e), phys_load(source->b), point.d);
    if (s->weighing.capture) {
        if (!frame->each_capture) place = front;
        weight *=
            phys_capture(det, phys_patch_point(&s->patch, det, place.step, place.ratio),
                         (real)canvas->layer);
    }
    if (s->weighing.dmin) weight *= s->square.beyond + change > 0 ? 0 : 1;
    if (s->weighing.displacement)
        weight *= phys_displacement((real)frame->b_factor, s->square.at_middle + change);
    return weight;
}

/* place of sample i of a rectangle, row after row */
PHYS_FN struct phys_place place_of(const struct spot *s, real i, real *fast, real *slow)
{
    const real row = floor((i + (real)0.5) * s->per_row);

    *slow = row;
    *fast = i - row * (real)s->r.width;
    return phys_patch_place(0, &s->patch, *fast - s->middle_fast, row - s->middle_slow);
}

/* F at samples first .. first + SAMPLES - 1; 64 loads each, which lanes do not speed up */
static void interpolate(struct phys_spec spec, const struct phys_box *box,
                        const struct spot *s, int first, real *cell)
{
    for (int i = 0; i < SAMPLES; i++) {
        real fast, slow;
        const struct phys_place place = place_of(s, (real)(first + i), &fast, &slow);
        const struct phys_vec3 x = phys_anchor_indices(&s->anchor, place.step);

        cell[i] = phys_structure_factor(spec, box, x, phys_vec3(0, 0, 0)).f;
    }
}

/* f2[i] of those samples, times cell[i]^2; samples of other reflections are 0 */
PHYS_FN void strip_of(struct phys_spec spec, const struct phys_crystal *c,
                      const struct spot *spot, int first, const real *restrict cell,
                      real *restrict f2)
{
    const struct spot s = *spot;

#pragma omp simd
    for (int i = 0; i < SAMPLES; i++) {
        real fast, slow;
        const struct phys_place place = place_of(&s, (real)(first + i), &fast, &slow);
        const struct phys_vec3 x = phys_anchor_indices(&s.anchor, place.step);
        /* half open: a sample halfway between two reflections is painted once */
        const real off =
            fabs(phys_nearest(x.x)) + fabs(phys_nearest(x.y)) + fabs(phys_nearest(x.z));
        const real own = off == 0 ? 1 : 0;
        struct phys_site site;

        site.d = x;
        site.cell.f = spec.lookup == PHYS_TRICUBIC ? cell[i] : 1;
        site.cell.dh = site.cell.dk = site.cell.dl = 0;
        f2[i] = own * phys_sample(spec, c, site).f2;
    }
}

/* f2[i] *= factor of the sample */
static void weigh_strip(const struct canvas *canvas, const struct phys_source *source,
                        const struct spot *s, int first, int n, real *f2)
{
    const int over = canvas->frame->oversample;

    for (int i = 0; i < n; i++) {
        real fast, slow;
        const struct phys_place place = place_of(s, (real)(first + i), &fast, &slow);
        const int f = s->r.fast + (int)fast, l = s->r.slow + (int)slow;
        const struct phys_place front =
            phys_patch_place(0, &s->patch, fast - (real)(f % over) - s->middle_fast,
                             slow - (real)(l % over) - s->middle_slow);

        f2[i] *= weight_of(canvas, source, s, place, front);
    }
}

/* add the samples of a strip to their pixels */
static void drop(const struct canvas *canvas, const struct rectangle *r, int first, int n,
                 double weight, const real *f2)
{
    const int over = canvas->frame->oversample;
    const int *roi = canvas->roi;
    const size_t nfast = (size_t)canvas->frame->nfast;
    int row = first / r->width, column = first - row * r->width;

    for (int i = 0; i < n; i++) {
        const int s = (r->slow + row) / over, f = (r->fast + column) / over;

        if (f >= roi[0] && f < roi[1] && s >= roi[2] && s < roi[3])
            canvas->bragg[(size_t)s * nfast + (size_t)f] += weight * (double)f2[i];
        if (++column == r->width) {
            column = 0;
            row++;
        }
    }
}

static struct spot spot_of(const struct canvas *canvas, const struct pairing *pair,
                           const double *v, const struct rectangle *r,
                           struct phys_vec3 whole)
{
    const struct phys_frame *frame = canvas->frame;
    struct spot s;

    s.r = *r;
    s.patch = phys_patch_at(frame, r->fast + 0.5 * r->width, r->slow + 0.5 * r->height,
                            canvas->depth);
    s.anchor = anchor_of(pair, v, &s.patch, whole);
    s.middle_fast = (real)(0.5 * (r->width - 1));
    s.middle_slow = (real)(0.5 * (r->height - 1));
    s.per_row = (real)1 / (real)r->width;
    s.weighing = weighing_of(frame);
    return s;
}

/* add the samples of a rectangle to reflection i of a strip */
PHYS_FN void paint_piece(struct phys_spec spec, const struct canvas *canvas,
                         const struct pairing *pair, const struct located *at, int i,
                         struct rectangle r, double weight)
{
    const struct phys_frame *frame = canvas->frame;
    const double v[3] = {at->x[i], at->y[i], at->z[i]};
    const struct phys_vec3 whole =
        phys_vec3((real)at->h[i], (real)at->k[i], (real)at->l[i]);
    struct phys_crystal crystal = phys_crystal(frame);
    struct phys_box box = phys_box(frame);
    struct spot s = spot_of(canvas, pair, v, &r, whole);
    const int weighed = s.weighing.omega | s.weighing.polar | s.weighing.capture
                        | s.weighing.dmin | s.weighing.displacement;
    real f2[SAMPLES], cell[SAMPLES];

    if (weighed) {
        s.detector = phys_detector(frame);
        s.square = phys_patch_square(&s.patch, pair->source, frame->dmin);
    }
    crystal.peak = 1; /* see phys_constant_factor() */
    if (spec.lookup == PHYS_TRICUBIC) box = phys_box_from(0, box, whole);
    for (int first = 0; first < r.width * r.height; first += SAMPLES) {
        const int left = r.width * r.height - first, n = left < SAMPLES ? left : SAMPLES;

        if (spec.lookup == PHYS_TRICUBIC) interpolate(spec, &box, &s, first, cell);
        strip_of(spec, &crystal, &s, first, cell, f2);
        if (weighed) weigh_strip(canvas, pair->source, &s, first, n, f2);
        drop(canvas, &r, first, n, weight, f2);
    }
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* add reflection i of a strip */
PHYS_FN void paint_one(struct phys_spec spec, const struct canvas *canvas,
                       const struct pairing *pair, const struct located *at, int i)
{
    const int fast = (int)at->first_fast[i], slow = (int)at->first_slow[i];
    const int end_fast = (int)at->last_fast[i] + 1, end_slow = (int)at->last_slow[i] + 1;
    double weight = pair->weight;

    if (spec.lookup == PHYS_NEAREST) {
        const struct phys_box box = phys_box(canvas->frame);
        const struct phys_vec3 whole =
            phys_vec3((real)at->h[i], (real)at->k[i], (real)at->l[i]);
        const double f = (double)box.f[phys_f_place(0, &box, whole)];

        weight *= f * f;
        if (weight == 0) return;
    }
    for (int s = slow; s < end_slow; s += PIECE)
        for (int f = fast; f < end_fast; f += PIECE) {
            const struct rectangle r = {f, s, min_int(PIECE, end_fast - f),
                                        min_int(PIECE, end_slow - s)};

            paint_piece(spec, canvas, pair, at, i, r, weight);
        }
}

/* does a spot reach into the ROI? */
static int is_wanted(const struct canvas *canvas, const struct located *at, int i)
{
    const int *roi = canvas->roi, n = canvas->frame->oversample;

    return at->last_fast[i] >= roi[0] * n && at->first_fast[i] < roi[1] * n
           && at->last_slow[i] >= roi[2] * n && at->first_slow[i] < roi[3] * n;
}

PHYS_FN void run(struct phys_spec spec, const struct canvas *canvas,
                 const struct pairing *pair, const struct reflections *list,
                 const int *hits, int n)
{
    struct located at;

    for (int first = 0; first < n; first += STRIP) {
        const int left = n - first, strip = left < STRIP ? left : STRIP;

        for (int i = 0; i < STRIP; i++) {
            const int hit = hits[first + (i < strip ? i : 0)];

            at.h[i] = (double)list->h[hit];
            at.k[i] = (double)list->k[hit];
            at.l[i] = (double)list->l[hit];
        }
        locate(canvas, pair, &at);
        for (int i = 0; i < strip; i++)
            if (at.seen[i] != 0 && is_wanted(canvas, &at, i))
                paint_one(spec, canvas, pair, &at, i);
    }
}

#define VARIANT(shape, lookup)                                                             \
    static void shape##_##lookup(const struct canvas *canvas, const struct pairing *pair,  \
                                 const struct reflections *list, const int *hits, int n)   \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0};                    \
                                                                                           \
        run(spec, canvas, pair, list, hits, n);                                            \
    }
#include "kernels/variants.def"
#undef VARIANT

extern const struct painter KERNELS;
const struct painter KERNELS = {
    scan,
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup,
#include "kernels/variants.def"
#undef VARIANT
    },
};
