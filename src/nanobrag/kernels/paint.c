/*
 * paint.c - see paint.h. Compiled for each instruction set in double and in float, like
 * lanes.c, and by the same physics: a spot is a patch of the detector whose anchor is the
 * reflection itself. SPDX-License-Identifier: MIT
 */
#include "kernels/paint.h"

#include "physics/patch.h"
#include "physics/pixel.h"

/* samples of a patch that are computed at a time */
enum { STRIP = 16 };

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

static int clip(const struct phys_range *range, const int limits[2], int *first)
{
    const double low = ceil(range->low - 0.5), high = floor(range->high - 0.5) + 1;
    const int start = low > limits[0] ? (int)fmin(low, limits[1]) : limits[0];
    const int end = high < limits[1] ? (int)fmax(high, limits[0]) : limits[1];

    *first = start;
    return end - start;
}

/* samples whose direction lies within the radius of the reflection: those in the cone about
 * v = q + k in which |k d - v| <= radius; 0 when there is none */
static int samples_about(const struct canvas *canvas, const double *v, double k,
                         double radius, struct rectangle *out)
{
    const double length2 = phys_screen_dot(v, v), length = sqrt(length2);
    const double cosine = (k * k + length2 - radius * radius) / (2 * k * length);
    const double sine = cosine > 0 ? sqrt(fmax(0, 1 - cosine * cosine)) : 1;
    struct phys_range range;

    if (cosine > 1) return 0;
    range =
        phys_screen_range(&canvas->screen, &canvas->screen.slow, v, length, sine);
    out->height = clip(&range, canvas->slow, &out->slow);
    if (out->height <= 0) return 0;
    range =
        phys_screen_range(&canvas->screen, &canvas->screen.fast, v, length, sine);
    out->width = clip(&range, canvas->fast, &out->fast);
    return out->width > 0;
}

/* the anchor of a patch: steps of the direction from the patch's middle, indices from the
 * reflection */
static struct phys_anchor anchor_of(const struct pairing *pair, const double *v,
                                    const struct phys_patch *patch, const float hkl[3])
{
    const double unit = pair->source->inverse_wavelength;
    const double off[3] = {unit * patch->direction[0] - v[0],
                           unit * patch->direction[1] - v[1],
                           unit * patch->direction[2] - v[2]};
    struct phys_anchor a = phys_anchor_at(pair->axes, off, unit);

    /* off is short, but its indices may pass 1/2 */
    a.fraction = phys_axpy(1, a.whole, a.fraction);
    a.whole = phys_vec3((real)hkl[0], (real)hkl[1], (real)hkl[2]);
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

/* factor of a sample; `front`: the same place at the first sub-pixel of its pixel, where
 * the capture is taken unless each sample has its own */
PHYS_FN real weight_of(const struct canvas *canvas, const struct phys_source *source,
                       const struct phys_detector *det, struct weighing w,
                       struct phys_point point, struct phys_point front)
{
    const struct phys_frame *frame = canvas->frame;
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 q =
        phys_scattering(point.d, incident, (real)source->inverse_wavelength);
    const real q2 = phys_dot(q, q);
    real weight = 1;

    if (w.omega) weight *= phys_solid_angle(det, point);
    if (w.polar)
        weight *= phys_polarization((real)frame->kahn, incident, phys_load(source->e),
                                    phys_load(source->b), point.d);
    if (w.capture)
        weight *= phys_capture(det, frame->each_capture ? point : front,
                               (real)canvas->layer);
    if (w.dmin) weight *= phys_passes_dmin((real)frame->dmin, q2) ? 1 : 0;
    if (w.displacement) weight *= phys_displacement((real)frame->b_factor, q2);
    return weight;
}

/* a patch and all that its samples are computed from */
struct spot {
    struct rectangle r;
    struct phys_patch patch;
    struct phys_anchor anchor;
    real middle_fast, middle_slow, per_row;
    struct phys_detector detector;
    struct weighing weighing;
};

/* place of sample i of a rectangle, row after row */
PHYS_FN struct phys_place place_of(const struct spot *s, real i, real *fast, real *slow)
{
    const real row = floor((i + (real)0.5) * s->per_row);

    *slow = row;
    *fast = i - row * (real)s->r.width;
    return phys_patch_place(&s->patch, *fast - s->middle_fast, row - s->middle_slow);
}

/* f2[i] of samples first .. first + STRIP - 1; those of other reflections are 0 */
PHYS_FN void strip_of(struct phys_spec spec, const struct phys_crystal *c,
                      const struct phys_box *box, const struct spot *spot, int first,
                      real *restrict f2)
{
    const struct spot s = *spot;

#pragma omp simd
    for (int i = 0; i < STRIP; i++) {
        real fast, slow;
        const struct phys_place place = place_of(&s, (real)(first + i), &fast, &slow);
        const struct phys_vec3 x = phys_anchor_indices(&s.anchor, place.step);
        const struct phys_vec3 n = phys_lattice_point(spec, x);
        const real own = (n.x == 0) & (n.y == 0) & (n.z == 0) ? 1 : 0;
        struct phys_site site;

        site.d = x;
        site.cell.f = 1;
        if (spec.lookup == PHYS_TRICUBIC)
            site.cell = phys_structure_factor(spec, box, x, n);
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
            phys_patch_place(&s->patch, fast - (real)(f % over) - s->middle_fast,
                             slow - (real)(l % over) - s->middle_slow);

        f2[i] *= weight_of(
            canvas, source, &s->detector, s->weighing,
            phys_patch_point(&s->patch, &s->detector, place.step, place.ratio),
            phys_patch_point(&s->patch, &s->detector, front.step, front.ratio));
    }
}

/* add the samples of a strip to their pixels */
static void drop(const struct canvas *canvas, const struct rectangle *r, int first, int n,
                 double weight, const real *f2)
{
    const int over = canvas->frame->oversample;
    const size_t nfast = (size_t)canvas->frame->nfast;
    int row = first / r->width, column = first - row * r->width;

    for (int i = 0; i < n; i++) {
        const int s = (r->slow + row) / over, f = (r->fast + column) / over;

        canvas->bragg[(size_t)s * nfast + (size_t)f] += weight * (double)f2[i];
        if (++column == r->width) {
            column = 0;
            row++;
        }
    }
}

static struct spot spot_of(const struct canvas *canvas, const struct pairing *pair,
                           const double *v, const struct rectangle *r, const float hkl[3])
{
    const struct phys_frame *frame = canvas->frame;
    struct spot s;

    s.r = *r;
    s.patch = phys_patch_at(frame, r->fast + 0.5 * r->width, r->slow + 0.5 * r->height,
                            canvas->depth);
    s.anchor = anchor_of(pair, v, &s.patch, hkl);
    s.middle_fast = (real)(0.5 * (r->width - 1));
    s.middle_slow = (real)(0.5 * (r->height - 1));
    s.per_row = (real)1 / (real)r->width;
    s.weighing = weighing_of(frame);
    return s;
}

PHYS_FN void run(struct phys_spec spec, const struct canvas *canvas,
                 const struct pairing *pair, const float hkl[3])
{
    const struct phys_frame *frame = canvas->frame;
    const double unit = pair->source->inverse_wavelength, *stars = pair->stars;
    const struct phys_vec3 whole =
        phys_vec3((real)hkl[0], (real)hkl[1], (real)hkl[2]);
    struct phys_crystal crystal = phys_crystal(frame);
    struct phys_box box = phys_box(frame);
    double v[3], weight = pair->source->weight;
    struct rectangle r;
    struct spot s;
    real f2[STRIP];
    int weighed;

    for (int i = 0; i < 3; i++)
        v[i] = (double)hkl[0] * stars[i] + (double)hkl[1] * stars[3 + i]
               + (double)hkl[2] * stars[6 + i] + unit * pair->source->direction[i];
    if (!samples_about(canvas, v, unit, pair->radius, &r)) return;
    if (spec.lookup == PHYS_NEAREST) {
        const double f = (double)box.f[phys_f_place(0, &box, whole)];

        weight *= f * f;
        if (weight == 0) return;
    }
    s = spot_of(canvas, pair, v, &r, hkl);
    weighed = s.weighing.omega | s.weighing.polar | s.weighing.capture | s.weighing.dmin
              | s.weighing.displacement;
    if (weighed) s.detector = phys_detector(frame);
    crystal.peak = 1; /* see phys_constant_factor() */
    if (spec.lookup == PHYS_TRICUBIC) box = phys_box_from(box, whole);
    for (int first = 0; first < r.width * r.height; first += STRIP) {
        const int left = r.width * r.height - first, n = left < STRIP ? left : STRIP;

        strip_of(spec, &crystal, &box, &s, first, f2);
        if (weighed) weigh_strip(canvas, pair->source, &s, first, n, f2);
        drop(canvas, &r, first, n, weight, f2);
    }
}

#define VARIANT(shape, lookup)                                                             \
    static void shape##_##lookup(const struct canvas *canvas, const struct pairing *pair,  \
                                 const float hkl[3])                                       \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0};                    \
                                                                                           \
        run(spec, canvas, pair, hkl);                                                      \
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
