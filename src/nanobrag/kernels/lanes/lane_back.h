/*
 * lane_back.h - the second half of lanes_vjp.c: the way back from a lane's cotangents to
 * source, sample, pixel and so to the frame. Compiled with it, once per instruction set and
 * precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_BACK_H
#define NB_KERNELS_LANES_LANE_BACK_H

#include "kernels/lanes/lane_slopes.h"

/* ---- a source ---- */

/* fall and polar of the source, and share[i] = weight of its samples */
static void weigh_rest(const struct launch *a, int index, struct lanes *l,
                       struct cotangent *p)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 incident = phys_load(source->direction), d = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const struct phys_square square = phys_patch_square(&l->patch, source, frame->dmin);
    const real kahn = (real)frame->kahn, displacement = phys_displacement_b(frame);
    const real own = (real)source->weight;
    const real each = frame->each_polar && frame->polarised ? 1 : 0;
    const real cut = frame->dmin > 0 ? 1 : 0;

    if (!a->per_source) {
        fill(l->n, p->fall, 1);
        fill(l->n, p->polar, 1);
        weigh_source(source, l);
        return;
    }
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const real change = phys_square_change(&square, step_of(l, i));
        const real passes = cut * (square.beyond + change) > 0 ? 0 : 1;
        const real kahns =
            phys_polarization(kahn, incident, e, b, phys_axpy(1, d, step_of(l, i)));

        p->fall[i] = passes * phys_displacement(displacement, square.at_middle + change);
        p->polar[i] = each != 0 ? kahns : 1;
        l->share[i] = own * p->fall[i] * p->polar[i] * l->weight[i];
    }
}

/* s += v */
static void give(double *to, double s, double x, double y, double z)
{
    to[0] += s * x;
    to[1] += s * y;
    to[2] += s * z;
}

/* cotangents of the polarization of a source back to its vectors and the direction */
static void polarization_back(const struct phys_frame *frame, int index,
                              const real *restrict polar_bar,
                              const struct lanes *restrict l, struct cotangent *restrict p,
                              struct phys_frame_tangent *bar)
{
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 incident = phys_load(source->direction), mid = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real kahn = (real)frame->kahn;
    struct phys_source *to = bar->source + index;
    real ix = 0, iy = 0, iz = 0, ex = 0, ey = 0, ez = 0, bx = 0, by = 0, bz = 0, k = 0;

    if (!frame->polarised) return;
#pragma omp simd reduction(+ : ix, iy, iz, ex, ey, ez, bx, by, bz, k)
    for (int i = 0; i < l->n; i++) {
        const struct phys_polarization_slopes s =
            phys_polarization_slopes(kahn, incident, e, b,
                                     phys_axpy(1, mid, step_of(l, i)));
        const real v = polar_bar[i];

        p->dx[i] += v * s.dd.x, p->dy[i] += v * s.dd.y, p->dz[i] += v * s.dd.z;
        ix += v * s.dincident.x, iy += v * s.dincident.y, iz += v * s.dincident.z;
        ex += v * s.de.x, ey += v * s.de.y, ez += v * s.de.z;
        bx += v * s.db.x, by += v * s.db.y, bz += v * s.db.z;
        k += v * s.dkahn;
    }
    give(to->direction, p->scale, ix, iy, iz);
    give(to->e, p->scale, ex, ey, ez);
    give(to->b, p->scale, bx, by, bz);
    bar->kahn += p->scale * (double)k;
}

/* x, y, z of the displacement */
static void displacement_back(const struct phys_frame *frame,
                              const struct phys_source *source,
                              const struct lanes *restrict l, struct cotangent *restrict p)
{
    const real unit = (real)source->inverse_wavelength;
    const real b_unit2 = phys_displacement_b(frame) * unit * unit;
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 way = phys_axpy(1, mid, step_of(l, i));

        p->x[i] -= b_unit2 * l->sum[i] * way.x;
        p->y[i] -= b_unit2 * l->sum[i] * way.y;
        p->z[i] -= b_unit2 * l->sum[i] * way.z;
    }
}

static void close_crystal(struct phys_spec spec, const struct lanes *l,
                          const struct cotangent *p, struct phys_frame_tangent *bar)
{
    double sums[FRAME_CRYSTAL] = {0};

    MOMENTS.crystal(l, p, crystal_slopes(spec), sums);
    frame_adjoint_crystal(spec, p->scale, sums, bar);
}

/* all pairs of a source are done: sums over them go to source, direction and weight */
static void close_source(const struct launch *a, int index, const struct lanes *restrict l,
                         struct cotangent *restrict p, struct phys_frame_tangent *bar)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);
    const real own = (real)source->weight;
    struct phys_source *to = bar->source + index;
    const double unit = source->inverse_wavelength, scale = p->scale;
    struct source_moments sums;

    if (phys_is_displaced(frame)) displacement_back(frame, source, l, p);
    sums = MOMENTS.source(l, p, mid);
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        p->dx[i] += p->w[i] * p->x[i];
        p->dy[i] += p->w[i] * p->y[i];
        p->dz[i] += p->w[i] * p->z[i];
        p->weight_bar[i] += p->objective[i] * p->fall[i] * l->sum[i] * p->polar[i] * own;
    }
    to->inverse_wavelength += scale * (double)sums.along / unit;
    give(to->direction, -scale, sums.x, sums.y, sums.z);
    to->weight += scale * (double)sums.share;
    phys_numbers(bar)[PHYS_AT_DISPLACEMENT] -=
        scale * unit * unit * (double)sums.square / 2;
    if (frame->each_polar && frame->polarised) {
        _Alignas(64) lane polar_bar = {0};

#pragma omp simd
        for (int i = 0; i < l->n; i++)
            polar_bar[i] = p->objective[i] * p->fall[i] * l->sum[i] * own * l->weight[i];
        polarization_back(frame, index, polar_bar, l, p, bar);
    }
}

/* ---- a sample ---- */

static void start_sample(int n, struct cotangent *p)
{
    fill(n, p->dx, 0);
    fill(n, p->dy, 0);
    fill(n, p->dz, 0);
    fill(n, p->r, 0);
    fill(n, p->weight_bar, 0);
}

/* the solid angle falls off with 1/r^2, else with 1/r^3 */
static int omega_is_square(const struct phys_frame *frame)
{
    return frame->surface == PHYS_CURVED || frame->point_pixel;
}

/* cotangents of the solid angle, times it, to the distance of the sample */
static void omega_to_distance(const struct launch *a, const real *restrict omega_bar,
                              const struct lanes *restrict l, struct cotangent *restrict p)
{
    const struct phys_frame *frame = a->frame;
    const int curved = frame->surface == PHYS_CURVED;
    const real power = omega_is_square(frame) ? -2 : -3;
    const real distance = (real)(curved ? frame->distance : l->patch.distance);
    const real per_r = power / distance, flat = curved ? 0 : 1;

#pragma omp simd
    for (int i = 0; i < l->n; i++) /* a sum, as no choice of loads is vectorised */
        p->r[i] += per_r * omega_bar[i] / (flat * l->ratio[i] + (1 - flat));
}

static void omega_back(const struct launch *a, const real *omega_bar, const struct lanes *l,
                       struct cotangent *p, struct phys_frame_tangent *bar)
{
    const struct phys_frame *frame = a->frame;
    const double sum = MOMENTS.total(l->n, omega_bar);

    omega_to_distance(a, omega_bar, l, p);
    if (!omega_is_square(frame))
        bar->close_distance += p->scale * sum / frame->close_distance;
    if (!frame->point_pixel) bar->pixel += 2 * p->scale * sum / frame->pixel;
}

static void capture_back(const struct launch *a, int layer,
                         const real *restrict capture_bar, const struct lanes *restrict l,
                         struct cotangent *restrict p, struct phys_frame_tangent *bar)
{
    const struct phys_detector det = a->view.detector;
    const struct phys_patch patch = l->patch;
    const struct phys_vec3 normal = det.normal;
    real x = 0, y = 0, z = 0, mu = 0;

#pragma omp simd reduction(+ : x, y, z, mu)
    for (int i = 0; i < l->n; i++) {
        const struct phys_point point =
            phys_patch_point(&patch, &det, step_of(l, i), l->ratio[i]);
        const struct phys_capture_slopes s = phys_capture_slopes(&det, point, (real)layer);
        const real v = capture_bar[i] * s.dcosine;

        p->dx[i] += v * normal.x, p->dy[i] += v * normal.y, p->dz[i] += v * normal.z;
        x += v * point.d.x, y += v * point.d.y, z += v * point.d.z;
        mu += capture_bar[i] * s.dmu;
    }
    give(bar->normal, p->scale, x, y, z);
    bar->layer_mu += p->scale * (double)mu;
}

/* direction and distance of the sample at hand back to the detector */
static void place_back(const struct launch *a, int layer, const struct lanes *l,
                       const struct cotangent *p, struct phys_frame_tangent *bar)
{
    const struct phys_frame *frame = a->frame;
    const int curved = frame->surface == PHYS_CURVED;
    const struct place_moments sums = MOMENTS.place(l, p, curved ? 0 : 1);
    const double over = frame->oversample;
    const double fast = over * (a->tile->fast + 0.5 * a->tile->width) + (double)l->sub_fast;
    const double slow =
        over * (a->tile->slow + 0.5 * a->tile->height) + (double)l->sub_slow;
    struct phys_place_sums at;

    for (int i = 0; i < 3; i++) {
        at.place[i] = (double)sums.place[i];
        at.fast[i] = (double)sums.fast[i] + fast * at.place[i];
        at.slow[i] = (double)sums.slow[i] + slow * at.place[i];
    }
    frame_adjoint_places(frame, layer, l->depth, p->scale, &at, bar);
    if (curved) bar->distance += p->scale * (double)sums.r;
}

/* product = cotangents of the sample's capture; 0 where its layer has one for all, which
 * waits in p->capture_bar */
static int capture_bars(const struct launch *a, const struct lanes *l, struct cotangent *p,
                        real *product)
{
    const struct phys_frame *frame = a->frame;

    if (frame->layer_mu == 0) return 0;
    fill(l->n, product, 1);
    if (frame->each_omega) times_omega(a, l, product);
    multiply(l->n, product, p->weight_bar);
    if (frame->each_capture) return 1;
    add(l->n, product, p->capture_bar);
    return 0;
}

/* all sources of a sample are done */
static void close_sample(const struct launch *a, int layer, const struct lanes *l,
                         struct cotangent *p, struct phys_frame_tangent *bar)
{
    _Alignas(64) lane product = {0};

    if (a->frame->each_omega) { /* the weight is its solid angle times its capture */
        times(l->n, p->weight_bar, l->weight, product);
        omega_back(a, product, l, p, bar);
    }
    if (capture_bars(a, l, p, product)) capture_back(a, layer, product, l, p, bar);
    place_back(a, layer, l, p, bar);
}

/* the capture of a layer was taken at its first sub-pixels */
static void close_layer(const struct launch *a, int layer, struct lanes *l,
                        struct cotangent *p, struct phys_frame_tangent *bar)
{
    if (a->frame->layer_mu == 0 || a->frame->each_capture) return;
    places(a, 0, depth_of(a, layer), l);
    start_sample(l->n, p);
    capture_back(a, layer, p->capture_bar, l, p, bar);
    place_back(a, layer, l, p, bar);
}

/* ---- a pixel ---- */

/* cotangent of the sum of lane i, whose photons have photons_bar */
PHYS_FN double bragg_bar(const struct launch *a, double factor, const struct lanes *l,
                         int i, double photons_bar)
{
    return photons_bar * (factor * a->frame->bragg_scale) * (double)l->omega[i]
           * (double)l->polarization[i] * (double)l->capture[i];
}

/* the lanes divided by the largest of them; 0 when none pulls */
static int scale_pull(const struct launch *a, double factor, const struct lanes *l,
                      struct cotangent *p)
{
    double most = 0, value[TILE_PIXELS];

#pragma omp simd
    for (int i = 0; i < l->n; i++) value[i] = bragg_bar(a, factor, l, i, p->photons_bar[i]);
    for (int i = 0; i < l->n; i++) most = fabs(value[i]) > most ? fabs(value[i]) : most;
    p->scale = most > 0 ? most : 1;
    for (int i = 0; i < l->n; i++) p->objective[i] = (real)(value[i] / p->scale);
    return most > 0;
}

/* own[i] = polar_bar[i] where this source's sample is the first that dmin lets through */
static void take_first(const struct phys_frame *frame, int index, const real *polar_bar,
                       struct lanes *l, real *own)
{
    const struct phys_square square =
        phys_patch_square(&l->patch, frame->source + index, frame->dmin);

    for (int i = 0; i < l->n; i++) {
        const real change = phys_square_change(&square, step_of(l, i));
        const real first =
            frame->dmin > 0 && square.beyond + change > 0 ? 0 : 1 - l->lit[i];

        own[i] = first * polar_bar[i];
        l->lit[i] += first;
    }
}

/* the polarization that a pixel keeps is that of the first sample that dmin lets through */
static void first_polarization_back(const struct launch *a, const real *polar_bar,
                                    struct lanes *l, struct cotangent *p,
                                    struct phys_frame_tangent *bar)
{
    const struct phys_frame *frame = a->frame;
    const int all = frame->dmin > 0, over = frame->oversample;
    _Alignas(64) lane own = {0};

    fill(l->n, l->lit, 0);
    for (int layer = 0; layer < (all ? frame->nlayers : 1); layer++) {
        place_patch(a, depth_of(a, layer), l);
        for (int sub = 0; sub < (all ? over * over : 1); sub++) {
            places(a, sub, depth_of(a, layer), l);
            start_sample(l->n, p);
            for (int i = 0; i < (all ? frame->nsource : 1); i++) {
                take_first(frame, i, polar_bar, l, own);
                polarization_back(frame, i, own, l, p, bar);
            }
            place_back(a, layer, l, p, bar);
        }
    }
}

/* the factors that a pixel takes once */
static void factors_back(const struct launch *a, double factor, struct lanes *l,
                         struct cotangent *p, struct phys_frame_tangent *bar)
{
    const struct phys_frame *frame = a->frame;
    const double bragg = factor * frame->bragg_scale;
    _Alignas(64) lane product = {0};

    if (!frame->each_omega) {
        place_patch(a, depth_of(a, 0), l);
        places(a, 0, depth_of(a, 0), l);
        start_sample(l->n, p);
        for (int i = 0; i < l->n; i++)
            product[i] = (real)((double)p->objective[i] * l->bragg[i]);
        omega_back(a, product, l, p, bar);
        place_back(a, 0, l, p, bar);
    }
    if (frame->each_polar || !frame->polarised) return;
    for (int i = 0; i < l->n; i++)
        product[i] = (real)(p->photons_bar[i] * bragg * l->bragg[i] * (double)l->omega[i]
                            * (double)l->capture[i] / p->scale);
    first_polarization_back(a, product, l, p, bar);
}

/* the numbers that stand before all samples */
static void numbers_back(struct phys_spec spec, const struct phys_frame *frame,
                         double factor, const struct lanes *l, const struct cotangent *p,
                         struct phys_frame_tangent *bar)
{
    double photons = factor * MOMENTS.photons(l, p);

    bar->bragg_scale += photons;
    photons *= frame->bragg_scale;
    if (spec.shape != PHYS_SQUARE) bar->peak += 2 * photons / frame->peak;
    if (spec.lookup == PHYS_CONSTANT && frame->default_f != 0)
        bar->default_f += 2 * photons / frame->default_f;
}

#endif
