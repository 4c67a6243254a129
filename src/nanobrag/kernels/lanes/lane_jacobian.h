/*
 * lane_jacobian.h - the rows of the Jacobian of a tile. What the adjoint in lanes_vjp.c
 * sums over the lanes is stored lane by lane, and the photons of every pixel have the
 * cotangent 1. The file is compiled with lanes_vjp.c, once per instruction set and
 * precision.
 *
 * The cotangents of the frame's numbers are stored, one per lane, until the tile is done,
 * and multiplied by the tangents then. Those of its lists (sources, orientations) would
 * be as many as the samples, so they are multiplied by the tangents at once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_JACOBIAN_H
#define NB_KERNELS_LANES_LANE_JACOBIAN_H

#include "kernels/lanes/lane_back.h"
#include "kernels/lanes/lane_columns.h"

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

/* ---- a pair of source and orientation ---- */

/* Adds to the cotangent of the strain. A strain changes axis i by sum over j of
 * strain[i][j] axis j, so its derivative is that by index i, times index j. */
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

/* Computes the cotangent of a rotation of the orientation: dF^2/d(direction) x the
 * scattering vector. */
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

/* Adds the derivative along a tangent that comes from a change of the source itself. */
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

/* Adds to the rows of the crystal's numbers. */
static void crystal_jacobian(struct phys_spec spec, const struct lanes *l,
                             const struct cotangent *p, struct rows *r)
{
    if (spec.shape == PHYS_SQUARE) {
        for (int k = 0; k < 3; k++)
            lane_add_product(l->n, p->w, p->crystal[k], NUMBER(r, ncells)[k]);
        return;
    }
    lane_add_product(l->n, p->w, p->crystal[0], *NUMBER(r, fudge));
    for (int k = 0; k < 6; k++)
        lane_add_product(l->n, p->w, p->crystal[1 + k], NUMBER(r, metric)[k]);
}

/* Subtracts w F^2 q^2/2 from the rows of B. */
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

/* Completes a source whose pairs have all been processed. */
static void close_source_jacobian(struct phys_spec spec, const struct launch *a, int index,
                                  const struct lanes *restrict l,
                                  struct cotangent *restrict p,
                                  const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_source *source = frame->source + index;
    struct rows *r = to->rows;

    crystal_jacobian(spec, l, p, r);
    for (int k = 0; r->strained && k < 9; k++)
        lane_add_product(l->n, p->w, r->strain[k], NUMBER(r, strain)[k]);
    displacement_jacobian(source, l, p, *NUMBER(r, DISPLACEMENT));
    if (phys_is_displaced(frame)) displacement_back(frame, source, l, p);
    for (int d = 0; d < r->along->n; d++) {
        const struct phys_source *dot = r->along->dot[d].source + index;
        double *change = r->change + (size_t)d * TILE_PIXELS;

        if (r->along->turns[d])
            lane_add_product(l->n, p->w, r->own + (size_t)d * TILE_PIXELS, change);
        if (!source_is_still(dot)) along_source(source, dot, l, p, change);
    }
    source_to_sample(a, index, l, p, to);
}

static void start_source(struct phys_spec spec, struct lanes *l, struct cotangent *p,
                         struct rows *r)
{
    memcpy(p->w, l->share, sizeof(lane));
    lane_fill(l->n, l->sum, 0);
    lane_fill(l->n, p->x, 0);
    lane_fill(l->n, p->y, 0);
    lane_fill(l->n, p->z, 0);
    blank_crystal(spec, l->n, p);
    for (int k = 0; r->strained && k < 9; k++) lane_fill(l->n, r->strain[k], 0);
    for (int d = 0; d < r->along->n; d++)
        if (r->along->turns[d]) lane_fill(l->n, r->own + (size_t)d * TILE_PIXELS, 0);
}

/* ---- a pixel ---- */

/* Multiplies the rows computed so far by a factor of each lane. */
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

/* Multiplies the rows by the factors that are evaluated once per pixel, which they lack
 * so far, and adds the derivatives of these factors. */
static void factors_jacobian(const struct launch *a, double factor, struct lanes *l,
                             struct cotangent *p, const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    const double bragg = factor * frame->bragg_scale;
    _Alignas(64) lane product = {0};
    double of_lane[TILE_PIXELS];

    if (!frame->each_polar && frame->polarised) {
        for (int i = 0; i < l->n; i++) of_lane[i] = (double)l->polarization[i];
        scale_jacobian(l, of_lane, to->rows);
        for (int i = 0; i < l->n; i++) product[i] = (real)l->bragg[i];
        first_polarization_back(a, product, l, p, to);
    }
    if (!frame->each_omega) {
        for (int i = 0; i < l->n; i++)
            product[i] = (real)(l->bragg[i] * (double)l->polarization[i]);
        first_omega_back(a, product, l, p, to);
    }
    for (int i = 0; i < l->n; i++)
        of_lane[i] = bragg * (double)l->omega[i] * (double)l->capture[i];
    scale_jacobian(l, of_lane, to->rows);
}

/* Adds the rows of the scale factors before the sums. */
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

/* Adds the rows of the amorphous material, seen from the pixels' centres. They are
 * computed in double, as in the adjoint. */
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

/* Adds the rows of the frame's numbers times the tangents. */
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
