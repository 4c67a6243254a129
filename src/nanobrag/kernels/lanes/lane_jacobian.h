/*
 * lane_jacobian.h - rows of the Jacobian of a tile: what the adjoint of lanes_vjp.c sums
 * over the lanes stays apart here, lane by lane, as if each pulled with 1. Compiled with
 * it, once per instruction set and precision.
 *
 * Cotangents of the numbers of a frame wait, one lane each, until the tile is done, and are
 * multiplied by the tangents then. Those of its lists (sources, orientations) are as many
 * as the samples, and meet the tangents at once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_JACOBIAN_H
#define NB_KERNELS_LANES_LANE_JACOBIAN_H

#include "kernels/lanes/lane_back.h"
#include "kernels/lanes/lane_columns.h"

struct rows {
    const struct tangents *along;
    struct columns *columns; /* NULL: nobody asks for structure factors */
    real *own; /* of the source at hand, from its orientations (n x TILE_PIXELS) */
    double *change; /* (n x TILE_PIXELS) */
    int strained; /* 1: a tangent strains the cell */
    _Alignas(64) wide number[PHYS_NUMBERS]; /* cotangents of the frame's numbers */
    _Alignas(64) wide place[3], fast[3],
        slow[3]; /* struct phys_place_sums of the layer at hand */
    _Alignas(64) lane strain[9]; /* of the source at hand */
    _Alignas(64) lane rotation_bar[3]; /* of the pair at hand */
};

/* the lanes of a member, or of each of its elements */
#define NUMBER(rows, member) ((rows)->number + PHYS_AT_##member)

static int strains(const struct tangents *along)
{
    for (int d = 0; d < along->n; d++)
        for (int i = 0; i < 9; i++)
            if (along->dot[d].strain[i] != 0) return 1;
    return 0;
}

static void start_jacobian(const struct tangents *along, void *workspace,
                           struct columns *columns, double *change, struct rows *r)
{
    r->along = along;
    r->columns = columns;
    r->own = workspace;
    r->change = change;
    r->strained = strains(along);
    memset(r->number, 0, sizeof r->number);
    memset(change, 0, (size_t)along->n * TILE_PIXELS * sizeof *change);
}

/* to[i] += s a[i] */
static void gain(int n, double s, const real *restrict a, double *restrict to)
{
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] += s * (double)a[i];
}

/* to[i] += a[i] b[i] */
static void gain_product(int n, const real *restrict a, const real *restrict b,
                         double *restrict to)
{
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] += (double)(a[i] * b[i]);
}

/* ---- a pair of source and orientation ---- */

/* an axis changes by strain times the axes, and its slope is that of its index */
static void add_strain(const struct phys_anchor *of, real weight,
                       const struct lanes *restrict l, const struct cotangent *restrict p,
                       struct rows *restrict r)
{
    const struct phys_anchor at = *of;
    const real *restrict gh = p->gh, *restrict gk = p->gk, *restrict gl = p->gl;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 x =
            phys_axpy(1, at.whole, phys_anchor_indices(&at, step_of(l, i)));
        const real h = weight * gh[i], k = weight * gk[i], m = weight * gl[i];

        r->strain[0][i] += h * x.x, r->strain[1][i] += h * x.y, r->strain[2][i] += h * x.z;
        r->strain[3][i] += k * x.x, r->strain[4][i] += k * x.y, r->strain[5][i] += k * x.z;
        r->strain[6][i] += m * x.x, r->strain[7][i] += m * x.y, r->strain[8][i] += m * x.z;
    }
}

/* slopes in a turn of the orientation: those in the direction x scattering vector */
static void find_rotation_bar(const struct phys_axes *of, const struct phys_source *source,
                              const struct lanes *restrict l,
                              const struct cotangent *restrict p, struct rows *restrict r)
{
    const struct phys_axes axes = *of;
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);
    const real *restrict gh = p->gh, *restrict gk = p->gk, *restrict gl = p->gl;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 slope =
            phys_axpy(gh[i], axes.a, phys_axpy(gk[i], axes.b, phys_scale(gl[i], axes.c)));
        const struct phys_vec3 rotation_bar =
            phys_cross(slope, phys_axpy(1, mid, step_of(l, i)));

        r->rotation_bar[0][i] = rotation_bar.x;
        r->rotation_bar[1][i] = rotation_bar.y;
        r->rotation_bar[2][i] = rotation_bar.z;
    }
}

static void add_turn(const struct phys_rotation *rotation, real weight, int n,
                     const struct cotangent *restrict p, const struct rows *restrict r,
                     real *restrict own)
{
    const struct phys_vec3 by = phys_scale(weight, phys_load(rotation->by));
    const real more = (real)rotation->weight;
    const real *restrict f2 = p->f2;

#pragma omp simd
    for (int i = 0; i < n; i++)
        own[i] += by.x * r->rotation_bar[0][i] + by.y * r->rotation_bar[1][i]
                  + by.z * r->rotation_bar[2][i] + more * f2[i];
}

static int is_still(const struct phys_rotation *t)
{
    return t->by[0] == 0 && t->by[1] == 0 && t->by[2] == 0 && t->weight == 0;
}

static void pair_jacobian(const struct phys_frame *frame, const struct aim *aim, int k,
                          const struct phys_anchor *anchor, const struct lanes *l,
                          struct cotangent *p, struct rows *r)
{
    const real weight = (real)frame->orientation[k].weight;
    int known = 0;

    add_direction(&anchor->axes, weight, l->n, p);
    if (r->strained) add_strain(anchor, weight, l, p, r);
    for (int d = 0; d < r->along->n; d++) {
        const struct phys_rotation *rotation = r->along->dot[d].rotation + k;

        if (!r->along->turns[d] || is_still(rotation)) continue;
        if (!known) find_rotation_bar(&anchor->axes, aim->source, l, p, r);
        known = 1;
        add_turn(rotation, weight, l->n, p, r, r->own + (size_t)d * TILE_PIXELS);
    }
}

/* ---- a source ---- */

static int source_is_still(const struct phys_source *dot)
{
    return phys_source_inner(dot, dot) == 0;
}

/* cotangents of the polarization of a source, whose own are polar_bar */
static void polarization_jacobian(const struct phys_frame *frame, int index,
                                  const real *restrict polar_bar,
                                  const struct lanes *restrict l,
                                  struct cotangent *restrict p, struct rows *restrict r)
{
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 incident = phys_load(source->direction), mid = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real kahn = (real)frame->kahn;
    double *restrict kahn_bar = *NUMBER(r, kahn);

    if (!frame->polarised) return;
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_polarization_slopes s =
            phys_polarization_slopes(kahn, incident, e, b,
                                     phys_axpy(1, mid, step_of(l, i)));
        const real v = polar_bar[i];

        p->dx[i] += v * s.dd.x, p->dy[i] += v * s.dd.y, p->dz[i] += v * s.dd.z;
        kahn_bar[i] += (double)(v * s.dkahn);
    }
    for (int d = 0; d < r->along->n; d++) {
        const struct phys_source *dot = r->along->dot[d].source + index;
        const struct phys_vec3 rotation = phys_load(dot->direction);
        const struct phys_vec3 e_dot = phys_load(dot->e), b_dot = phys_load(dot->b);
        double *restrict change = r->change + (size_t)d * TILE_PIXELS;

        if (source_is_still(dot)) continue;
#pragma omp simd
        for (int i = 0; i < l->n; i++) {
            const struct phys_polarization_slopes s =
                phys_polarization_slopes(kahn, incident, e, b,
                                         phys_axpy(1, mid, step_of(l, i)));

            change[i] += (double)(polar_bar[i]
                                  * (phys_dot(s.dincident, rotation) + phys_dot(s.de, e_dot)
                                     + phys_dot(s.db, b_dot)));
        }
    }
}

/* what a source's own change along a tangent adds */
static void along_source(const struct phys_source *source, const struct phys_source *dot,
                         const struct lanes *restrict l, const struct cotangent *restrict p,
                         double *restrict change)
{
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);
    const struct phys_vec3 rotation = phys_load(dot->direction);
    const real stretch = (real)(dot->inverse_wavelength / source->inverse_wavelength);
    const real more = (real)dot->weight;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 slope = phys_vec3(p->x[i], p->y[i], p->z[i]);
        const struct phys_vec3 way = phys_axpy(1, mid, step_of(l, i));
        const real along = stretch * phys_dot(slope, way) - phys_dot(slope, rotation);

        change[i] += (double)(p->w[i] * along
                              + more * p->fall[i] * l->sum[i] * p->polar[i] * l->weight[i]);
    }
}

/* slopes in the crystal of a source's sum */
static void crystal_jacobian(struct phys_spec spec, const struct lanes *l,
                             const struct cotangent *p, struct rows *r)
{
    if (spec.shape == PHYS_SQUARE) {
        for (int k = 0; k < 3; k++)
            gain_product(l->n, p->w, p->crystal[k], NUMBER(r, ncells)[k]);
        return;
    }
    gain_product(l->n, p->w, p->crystal[0], *NUMBER(r, fudge));
    for (int k = 0; k < 6; k++)
        gain_product(l->n, p->w, p->crystal[1 + k], NUMBER(r, metric)[k]);
}

/* lanes of dL/dB -= w F^2 q^2/2 */
static void displacement_jacobian(const struct phys_source *source,
                                  const struct lanes *restrict l,
                                  const struct cotangent *restrict p,
                                  double *restrict b_bar)
{
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);
    const real half = (real)(source->inverse_wavelength * source->inverse_wavelength / 2);

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 way = phys_axpy(1, mid, step_of(l, i));

        b_bar[i] -= (double)(half * p->w[i] * l->sum[i] * phys_dot(way, way));
    }
}

/* all pairs of a source are done */
static void close_source_jacobian(struct phys_spec spec, const struct launch *a, int index,
                                  const struct lanes *restrict l,
                                  struct cotangent *restrict p, struct rows *r)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_source *source = frame->source + index;
    const real own = (real)source->weight;

    crystal_jacobian(spec, l, p, r);
    for (int k = 0; r->strained && k < 9; k++)
        gain_product(l->n, p->w, r->strain[k], NUMBER(r, strain)[k]);
    displacement_jacobian(source, l, p, *NUMBER(r, DISPLACEMENT));
    if (phys_is_displaced(frame)) displacement_back(frame, source, l, p);
    for (int d = 0; d < r->along->n; d++) {
        const struct phys_source *dot = r->along->dot[d].source + index;
        double *change = r->change + (size_t)d * TILE_PIXELS;

        if (r->along->turns[d])
            gain_product(l->n, p->w, r->own + (size_t)d * TILE_PIXELS, change);
        if (!source_is_still(dot)) along_source(source, dot, l, p, change);
    }
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        p->dx[i] += p->w[i] * p->x[i];
        p->dy[i] += p->w[i] * p->y[i];
        p->dz[i] += p->w[i] * p->z[i];
        p->weight_bar[i] += p->fall[i] * l->sum[i] * p->polar[i] * own;
    }
    if (frame->each_polar && frame->polarised) {
        _Alignas(64) lane polar_bar = {0};

#pragma omp simd
        for (int i = 0; i < l->n; i++)
            polar_bar[i] = p->fall[i] * l->sum[i] * own * l->weight[i];
        polarization_jacobian(frame, index, polar_bar, l, p, r);
    }
}

static void start_source(struct phys_spec spec, struct lanes *l, struct cotangent *p,
                         struct rows *r)
{
    memcpy(p->w, l->share, sizeof(lane));
    fill(l->n, l->sum, 0);
    fill(l->n, p->x, 0);
    fill(l->n, p->y, 0);
    fill(l->n, p->z, 0);
    blank_crystal(spec, l->n, p);
    for (int k = 0; r->strained && k < 9; k++) fill(l->n, r->strain[k], 0);
    for (int d = 0; d < r->along->n; d++)
        if (r->along->turns[d]) fill(l->n, r->own + (size_t)d * TILE_PIXELS, 0);
}

/* ---- a sample ---- */

/* cotangents of the solid angle, times it */
static void omega_jacobian(const struct launch *a, const real *restrict omega_bar,
                           const struct lanes *restrict l, struct cotangent *restrict p,
                           struct rows *r)
{
    const struct phys_frame *frame = a->frame;

    omega_to_distance(a, omega_bar, l, p);
    if (!omega_is_square(frame))
        gain(l->n, 1 / frame->close_distance, omega_bar, *NUMBER(r, close_distance));
    if (!frame->point_pixel) gain(l->n, 2 / frame->pixel, omega_bar, *NUMBER(r, pixel));
}

static void capture_jacobian(const struct launch *a, int layer,
                             const real *restrict capture_bar,
                             const struct lanes *restrict l, struct cotangent *restrict p,
                             struct rows *r)
{
    const struct phys_detector det = a->view.detector;
    const struct phys_patch patch = l->patch;
    const struct phys_vec3 normal = det.normal;
    double *restrict x = NUMBER(r, normal)[0], *restrict y = NUMBER(r, normal)[1];
    double *restrict z = NUMBER(r, normal)[2], *restrict mu = *NUMBER(r, layer_mu);

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_point point =
            phys_patch_point(&patch, &det, step_of(l, i), l->ratio[i]);
        const struct phys_capture_slopes s = phys_capture_slopes(&det, point, (real)layer);
        const real v = capture_bar[i] * s.dcosine;

        p->dx[i] += v * normal.x, p->dy[i] += v * normal.y, p->dz[i] += v * normal.z;
        x[i] += (double)(v * point.d.x);
        y[i] += (double)(v * point.d.y);
        z[i] += (double)(v * point.d.z);
        mu[i] += (double)(capture_bar[i] * s.dmu);
    }
}

/* direction and distance of the sample at hand to the places of its layer */
static void place_jacobian(const struct launch *a, const struct lanes *restrict l,
                           const struct cotangent *restrict p, struct rows *restrict r)
{
    const int curved = a->frame->surface == PHYS_CURVED;
    const real radial = curved ? 0 : 1;
    const struct phys_vec3 mid = l->patch.d;
    const real per_r = (real)(1 / l->patch.distance);
    const real sub_fast = l->sub_fast, sub_slow = l->sub_slow;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 v = lane_place_bar(l, p, i, mid, per_r, radial);
        const real fast = sub_fast + l->fast[i], slow = sub_slow + l->slow[i];

        r->place[0][i] += (double)v.x, r->place[1][i] += (double)v.y;
        r->place[2][i] += (double)v.z;
        r->fast[0][i] += (double)(fast * v.x), r->fast[1][i] += (double)(fast * v.y);
        r->fast[2][i] += (double)(fast * v.z);
        r->slow[0][i] += (double)(slow * v.x), r->slow[1][i] += (double)(slow * v.y);
        r->slow[2][i] += (double)(slow * v.z);
    }
    if (curved) gain(l->n, 1, p->r, *NUMBER(r, distance));
}

/* ---- a layer ---- */

static void start_places(struct rows *r)
{
    memset(r->place, 0, sizeof r->place);
    memset(r->fast, 0, sizeof r->fast);
    memset(r->slow, 0, sizeof r->slow);
}

/* the places of a layer to the numbers of the detector, as frame_adjoint_places() */
static void close_places(const struct launch *a, int layer, const struct lanes *l,
                         struct rows *restrict r)
{
    const struct phys_frame *frame = a->frame;
    const double over = frame->oversample, sub = frame->pixel / over, depth = l->depth;
    const double fast = over * (a->tile->fast + 0.5 * a->tile->width);
    const double slow = over * (a->tile->slow + 0.5 * a->tile->height);
    double *restrict pixel = *NUMBER(r, pixel), *restrict step = *NUMBER(r, layer_step);
    double *restrict offset = *NUMBER(r, layer_offset);

    for (int k = 0; k < 3; k++) {
        const double normal = frame->normal[k], f = frame->fast[k], s = frame->slow[k];
        double *restrict pix0 = NUMBER(r, pix0)[k], *restrict to_f = NUMBER(r, fast)[k];
        double *restrict to_s = NUMBER(r, slow)[k], *restrict to_n = NUMBER(r, normal)[k];

#pragma omp simd
        for (int i = 0; i < l->n; i++) {
            const double at = r->place[k][i];
            const double along = r->fast[k][i] + fast * at,
                         down = r->slow[k][i] + slow * at;

            pix0[i] += at;
            to_f[i] += sub * along;
            to_s[i] += sub * down;
            to_n[i] += depth * at;
            pixel[i] += (f * along + s * down) / over;
            offset[i] += normal * at;
            step[i] += layer * (normal * at);
        }
    }
}

static void close_sample_jacobian(const struct launch *a, int layer, const struct lanes *l,
                                  struct cotangent *p, struct rows *r)
{
    _Alignas(64) lane product = {0};

    if (a->frame->each_omega) { /* as in close_sample() */
        times(l->n, p->weight_bar, l->weight, product);
        omega_jacobian(a, product, l, p, r);
    }
    if (capture_bars(a, l, p, product)) capture_jacobian(a, layer, product, l, p, r);
    place_jacobian(a, l, p, r);
}

static void close_layer_jacobian(const struct launch *a, int layer, struct lanes *l,
                                 struct cotangent *p, struct rows *r)
{
    if (a->frame->layer_mu != 0 && !a->frame->each_capture) {
        places(a, 0, depth_of(a, layer), l);
        start_sample(l->n, p);
        capture_jacobian(a, layer, p->capture_bar, l, p, r);
        place_jacobian(a, l, p, r);
    }
    close_places(a, layer, l, r);
}

/* ---- a pixel ---- */

/* all that was found so far, times a factor of each lane */
static void scale_jacobian(const struct lanes *l, const double *restrict factor,
                           struct rows *r)
{
    for (int m = 0; m < PHYS_NUMBERS; m++)
        for (int i = 0; i < l->n; i++) r->number[m][i] *= factor[i];
    for (int d = 0; d < r->along->n; d++)
        for (int i = 0; i < l->n; i++) r->change[d * TILE_PIXELS + i] *= factor[i];
    for (int c = 0; r->columns && c < r->columns->n; c++)
        for (int i = 0; i < l->n; i++)
            r->columns->slope[(size_t)c * (size_t)l->n + (size_t)i] *= factor[i];
}

/* the polarization that a pixel keeps, as first_polarization_back() */
static void first_polarization_jacobian(const struct launch *a, const real *polar_bar,
                                        struct lanes *l, struct cotangent *p,
                                        struct rows *r)
{
    const struct phys_frame *frame = a->frame;
    const int all = frame->dmin > 0, over = frame->oversample;
    _Alignas(64) lane own = {0};

    fill(l->n, l->lit, 0);
    for (int layer = 0; layer < (all ? frame->nlayers : 1); layer++) {
        place_patch(a, depth_of(a, layer), l);
        start_places(r);
        for (int sub = 0; sub < (all ? over * over : 1); sub++) {
            places(a, sub, depth_of(a, layer), l);
            start_sample(l->n, p);
            for (int i = 0; i < (all ? frame->nsource : 1); i++) {
                take_first(frame, i, polar_bar, l, own);
                polarization_jacobian(frame, i, own, l, p, r);
            }
            place_jacobian(a, l, p, r);
        }
        close_places(a, layer, l, r);
    }
}

/* the factors that a pixel takes once, and those of all its samples. What is found so far
 * lacks them all. */
static void factors_jacobian(const struct launch *a, double factor, struct lanes *l,
                             struct cotangent *p, struct rows *r)
{
    const struct phys_frame *frame = a->frame;
    const double bragg = factor * frame->bragg_scale;
    _Alignas(64) lane product = {0};
    double of_lane[TILE_PIXELS];

    if (!frame->each_polar && frame->polarised) {
        for (int i = 0; i < l->n; i++) of_lane[i] = (double)l->polarization[i];
        scale_jacobian(l, of_lane, r);
        for (int i = 0; i < l->n; i++) product[i] = (real)l->bragg[i];
        first_polarization_jacobian(a, product, l, p, r);
    }
    if (!frame->each_omega) {
        place_patch(a, depth_of(a, 0), l);
        places(a, 0, depth_of(a, 0), l);
        start_places(r);
        start_sample(l->n, p);
        for (int i = 0; i < l->n; i++)
            product[i] = (real)(l->bragg[i] * (double)l->polarization[i]);
        omega_jacobian(a, product, l, p, r);
        place_jacobian(a, l, p, r);
        close_places(a, 0, l, r);
    }
    for (int i = 0; i < l->n; i++)
        of_lane[i] = bragg * (double)l->omega[i] * (double)l->capture[i];
    scale_jacobian(l, of_lane, r);
}

/* the numbers that stand before all samples */
static void numbers_jacobian(struct phys_spec spec, const struct phys_frame *frame,
                             double factor, const struct lanes *l, struct rows *r)
{
    double *bragg_scale = *NUMBER(r, bragg_scale), *peak = *NUMBER(r, peak);
    double *default_f = *NUMBER(r, default_f);

    for (int i = 0; i < l->n; i++) {
        const double bragg = factor * l->bragg[i] * (double)l->omega[i]
                             * (double)l->polarization[i] * (double)l->capture[i];
        const double photons = bragg * frame->bragg_scale;

        bragg_scale[i] += bragg;
        if (spec.shape != PHYS_SQUARE) peak[i] += 2 * photons / frame->peak;
        if (spec.lookup == PHYS_CONSTANT && frame->default_f != 0)
            default_f[i] += 2 * photons / frame->default_f;
    }
}

/* the amorphous material, seen from the pixels' centres: in double, as in the adjoint */
static void amorphous_jacobian(const struct launch *a, struct phys_source *source,
                               const struct lanes *l, struct rows *r)
{
    const size_t nsource = (size_t)a->frame->nsource;

    for (int i = 0; i < l->n; i++) {
        struct phys_frame_tangent bar = {0};
        const double *numbers = phys_numbers(&bar);

        bar.source = source;
        memset(source, 0, nsource * sizeof *source);
        reference_amorphous_pixel_vjp(a->frame, a->tile, i, 1, &bar);
        for (int m = 0; m < PHYS_NUMBERS; m++) r->number[m][i] += numbers[m];
        for (int d = 0; d < r->along->n; d++)
            for (size_t s = 0; s < nsource; s++)
                r->change[d * TILE_PIXELS + i] +=
                    phys_source_inner(source + s, r->along->dot[d].source + s);
    }
}

/* numbers times tangents */
static void close_jacobian(const struct lanes *l, struct rows *r)
{
    for (int d = 0; d < r->along->n; d++) {
        const double *dot = (const double *)(const void *)(r->along->dot + d);
        double *restrict change = r->change + (size_t)d * TILE_PIXELS;

        for (int m = 0; m < PHYS_NUMBERS; m++) {
            const double along = dot[m];
            const double *restrict number = r->number[m];

            if (along == 0) continue;
#pragma omp simd
            for (int i = 0; i < l->n; i++) change[i] += along * number[i];
        }
    }
}

#endif
