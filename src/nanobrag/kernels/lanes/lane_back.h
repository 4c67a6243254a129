/*
 * lane_back.h - the backward steps from the cotangents of F^2 under a source to the source,
 * the sample, the pixel and the frame. It is compiled with lanes_vjp.c, once per
 * instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_BACK_H
#define NB_KERNELS_LANES_LANE_BACK_H

#include "kernels/lanes/lane_accumulator.h"

/* ---- a source ---- */

/* Computes p->fall and p->polar of a source, and sets share[i] to the weight of its sample
 * in lane i. */
static void lane_source_weights(const struct launch *a, int index, struct lanes *l,
                                struct cotangent *p)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 incident = phys_load(source->direction), d = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const struct phys_square square = phys_patch_square(&l->patch, source, frame->dmin);
    const real kahn = (real)frame->kahn, displacement = phys_displacement_b(frame);
    const real source_weight = (real)source->weight;
    const real each = frame->each_polar && frame->polarised ? 1 : 0;
    const real cut = frame->dmin > 0 ? 1 : 0;

    if (!a->per_source) {
        lane_fill(l->n, p->fall, 1);
        lane_fill(l->n, p->polar, 1);
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
        l->share[i] = source_weight * p->fall[i] * p->polar[i] * l->weight[i];
    }
}

/* Computes the cotangents of the source's three vectors from the cotangent of its
 * polarization (docs/theory.md, 10). They go to p->term in the order of struct
 * phys_source. */
static void lane_polarization_source(const struct phys_frame *frame, int index,
                                     const real *restrict polar_bar,
                                     const struct lanes *restrict l,
                                     struct cotangent *restrict p)
{
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 incident = phys_load(source->direction), mid = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real kahn = (real)frame->kahn;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_polarization_slopes s =
            phys_polarization_slopes(kahn, incident, e, b,
                                     phys_axpy(1, mid, step_of(l, i)));
        const real v = polar_bar[i];

        p->term[0][i] = v * s.dincident.x, p->term[1][i] = v * s.dincident.y;
        p->term[2][i] = v * s.dincident.z;
        p->term[5][i] = v * s.de.x, p->term[6][i] = v * s.de.y, p->term[7][i] = v * s.de.z;
        p->term[8][i] = v * s.db.x, p->term[9][i] = v * s.db.y;
        p->term[10][i] = v * s.db.z;
    }
}

/* Propagates the cotangents of a source's polarization to its vectors, to Kahn's factor K
 * and to the direction of the sample. */
static void polarization_back(const struct phys_frame *frame, int index,
                              const real *restrict polar_bar,
                              const struct lanes *restrict l, struct cotangent *restrict p,
                              const struct accumulator *to)
{
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 incident = phys_load(source->direction), mid = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real kahn = (real)frame->kahn;

    if (!frame->polarised) return;
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_polarization_slopes s =
            phys_polarization_slopes(kahn, incident, e, b,
                                     phys_axpy(1, mid, step_of(l, i)));
        const real v = polar_bar[i];

        p->dx[i] += v * s.dd.x, p->dy[i] += v * s.dd.y, p->dz[i] += v * s.dd.z;
        p->term[0][i] = v * s.dkahn;
    }
    lane_add_number(to, p, l->n, PHYS_AT_kahn, 1, p->term[0]);
    if (!lane_source_counts(to, index)) return;
    lane_polarization_source(frame, index, polar_bar, l, p);
    lane_add_source(to, index, SOURCE_DIRECTION, 3, l->n, p);
    lane_add_source(to, index, SOURCE_E, 6, l->n, p);
}

/* Adds the derivative of the displacement factor by the direction to p->x, y, z. */
static void displacement_back(const struct phys_frame *frame,
                              const struct phys_source *source,
                              const struct lanes *restrict l, struct cotangent *restrict p)
{
    const real unit = (real)source->inverse_wavelength, b = phys_displacement_b(frame);
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 slope =
            phys_displacement_slope(b, unit, phys_axpy(1, mid, step_of(l, i)), l->sum[i],
                                    phys_vec3(p->x[i], p->y[i], p->z[i]));

        p->x[i] = slope.x, p->y[i] = slope.y, p->z[i] = slope.z;
    }
}

/* Adds one source's contribution to the cotangents of the numbers of frame_crystal(). */
static void crystal_back(struct phys_spec spec, const struct lanes *l,
                         const struct cotangent *p, const struct accumulator *to)
{
    const struct frame_crystal crystal = frame_crystal(spec);

    lane_add_products(to, p, l, crystal.first, crystal.count, p->crystal);
}

/* Sets p->term[0 ... 4] to what each lane adds to the cotangents of a source, and
 * p->term[5] to what it adds to the cotangent of B. */
static void lane_terms(const struct phys_source *source, const struct lanes *restrict l,
                       struct cotangent *restrict p)
{
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);
    const real unit = (real)source->inverse_wavelength;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct source_terms t = lane_source_terms(l, p, i, mid, unit);

        p->term[0][i] = t.direction.x, p->term[1][i] = t.direction.y;
        p->term[2][i] = t.direction.z;
        p->term[3][i] = t.inverse_wavelength, p->term[4][i] = t.weight;
        p->term[5][i] = t.displacement;
    }
}

/* Adds the sums over the orientations to the rows of source `index` and of B. */
static void source_rows(const struct phys_source *source, int index, const struct lanes *l,
                        struct cotangent *p, const struct accumulator *to)
{
    lane_terms(source, l, p);
    lane_add_number(to, p, l->n, PHYS_AT_DISPLACEMENT, 1, p->term[5]);
    if (lane_source_counts(to, index))
        lane_add_source(to, index, SOURCE_DIRECTION, 5, l->n, p);
}

/* Adds the sums over the orientations and lanes to the cotangents of source `index` and of
 * B. */
static void source_sums(const struct phys_source *of, int index, const struct lanes *l,
                        const struct cotangent *p, struct phys_frame_tangent *bar)
{
    const struct source_terms sums = MOMENTS.source(l, p, of);
    struct phys_source *source = bar->source + index;

    source->direction[0] += p->scale * (double)sums.direction.x;
    source->direction[1] += p->scale * (double)sums.direction.y;
    source->direction[2] += p->scale * (double)sums.direction.z;
    source->inverse_wavelength += p->scale * (double)sums.inverse_wavelength;
    source->weight += p->scale * (double)sums.weight;
    phys_numbers(bar)[PHYS_AT_DISPLACEMENT] += p->scale * (double)sums.displacement;
}

/* Propagates the sums over the orientations under a source to the direction of the sample,
 * its weight and its polarization. The cotangents of the source itself are added
 * elsewhere. */
static void source_to_sample(const struct launch *a, int index,
                             const struct lanes *restrict l, struct cotangent *restrict p,
                             const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    const real weight = (real)frame->source[index].weight;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        p->dx[i] += p->w[i] * p->x[i];
        p->dy[i] += p->w[i] * p->y[i];
        p->dz[i] += p->w[i] * p->z[i];
        p->weight_bar[i] += p->objective[i] * p->fall[i] * l->sum[i] * p->polar[i] * weight;
    }
    if (frame->each_polar && frame->polarised) {
        _Alignas(64) lane polar_bar = {0};

#pragma omp simd
        for (int i = 0; i < l->n; i++)
            polar_bar[i] = p->objective[i] * p->fall[i] * l->sum[i] * weight * l->weight[i];
        polarization_back(frame, index, polar_bar, l, p, to);
    }
}

/* Completes a source after all its orientations have been processed. */
static void close_source(struct phys_spec spec, const struct launch *a, int index,
                         const struct lanes *l, struct cotangent *p,
                         const struct accumulator *to)
{
    const struct phys_source *source = a->frame->source + index;

    crystal_back(spec, l, p, to);
    if (phys_is_displaced(a->frame)) displacement_back(a->frame, source, l, p);
    if (to->rows)
        source_rows(source, index, l, p, to);
    else
        source_sums(source, index, l, p, to->bar);
    source_to_sample(a, index, l, p, to);
}

/* ---- a sample ---- */

/* Sets the cotangents of a sample to 0. */
static void start_sample(int n, struct cotangent *p)
{
    lane_fill(n, p->dx, 0);
    lane_fill(n, p->dy, 0);
    lane_fill(n, p->dz, 0);
    lane_fill(n, p->r, 0);
    lane_fill(n, p->weight_bar, 0);
}

/* Returns 1 if the solid angle decreases as 1/r^2, and 0 if as 1/r^3 (docs/theory.md,
 * 3). */
static int omega_is_square(const struct phys_frame *frame)
{
    return frame->surface == PHYS_CURVED || frame->point_pixel;
}

/* Propagates omega_bar, the cotangents of the solid angle times the solid angle, to the
 * distance of the sample. */
static void omega_to_distance(const struct launch *a, const real *restrict omega_bar,
                              const struct lanes *restrict l, struct cotangent *restrict p)
{
    const struct phys_frame *frame = a->frame;
    const int curved = frame->surface == PHYS_CURVED;
    const real power = omega_is_square(frame) ? -2 : -3;
    const real distance = (real)(curved ? frame->distance : l->patch.distance);
    const real per_r = power / distance, flat = curved ? 0 : 1;

#pragma omp simd
    for (int i = 0; i < l->n; i++) /* a conditional load would prevent vectorisation */
        p->r[i] += per_r * omega_bar[i] / (flat * l->ratio[i] + (1 - flat));
}

static void omega_back(const struct launch *a, const real *omega_bar, const struct lanes *l,
                       struct cotangent *p, const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;

    omega_to_distance(a, omega_bar, l, p);
    if (!omega_is_square(frame))
        lane_add_number(to, p, l->n, PHYS_AT_close_distance, 1 / frame->close_distance,
                        omega_bar);
    if (!frame->point_pixel)
        lane_add_number(to, p, l->n, PHYS_AT_pixel, 2 / frame->pixel, omega_bar);
}

static void capture_back(const struct launch *a, int layer,
                         const real *restrict capture_bar, const struct lanes *restrict l,
                         struct cotangent *restrict p, const struct accumulator *to)
{
    const struct phys_detector det = a->view.detector;
    const struct phys_patch patch = l->patch;
    const struct phys_vec3 normal = det.normal;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_point point =
            phys_patch_point(&patch, &det, step_of(l, i), l->ratio[i]);
        const struct phys_capture_slopes s = phys_capture_slopes(&det, point, (real)layer);
        const real v = capture_bar[i] * s.dcosine;

        p->dx[i] += v * normal.x, p->dy[i] += v * normal.y, p->dz[i] += v * normal.z;
        p->term[0][i] = v * point.d.x, p->term[1][i] = v * point.d.y;
        p->term[2][i] = v * point.d.z;
        p->term[3][i] = capture_bar[i] * s.dmu;
    }
    for (int k = 0; k < 3; k++)
        lane_add_number(to, p, l->n, PHYS_AT_normal + k, 1, p->term[k]);
    lane_add_number(to, p, l->n, PHYS_AT_layer_mu, 1, p->term[3]);
}

/* Converts the sums over the places of the tile's samples: the offsets counted from the
 * tile's middle become offsets from the corner of the detector. */
static void lane_place_sums(const struct launch *a, const struct lanes *l,
                            const real *place, const real *of_fast, const real *of_slow,
                            struct phys_place_sums *out)
{
    const double over = a->frame->oversample;
    const double fast = over * (a->tile->fast + 0.5 * a->tile->width) + (double)l->sub_fast;
    const double slow =
        over * (a->tile->slow + 0.5 * a->tile->height) + (double)l->sub_slow;

    for (int i = 0; i < 3; i++) {
        out->place[i] = (double)place[i];
        out->fast[i] = (double)of_fast[i] + fast * out->place[i];
        out->slow[i] = (double)of_slow[i] + slow * out->place[i];
    }
}

/* Propagates the cotangents of the samples' directions and distances, summed over the
 * lanes, to the numbers of the detector. */
static void place_sums(const struct launch *a, int layer, const struct lanes *l,
                       const struct cotangent *p, struct phys_frame_tangent *bar)
{
    const struct phys_frame *frame = a->frame;
    const int curved = frame->surface == PHYS_CURVED;
    const struct place_moments sums = MOMENTS.place(l, p, curved ? 0 : 1);
    struct phys_place_sums at;

    lane_place_sums(a, l, sums.place, sums.fast, sums.slow, &at);
    frame_adjoint_places(frame, layer, l->depth, p->scale, &at, bar);
    if (curved) bar->distance += p->scale * (double)sums.r;
}

/* Propagates the cotangents of each lane's direction and distance to the place of its
 * sample, and adds the result to the sums of the layer in that lane. */
static void place_lanes(const struct launch *a, const struct lanes *restrict l,
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
    if (curved && row_counts(r, PHYS_AT_distance))
        lane_add_scaled(l->n, 1, p->r, r->number[PHYS_AT_distance]);
}

static void place_back(const struct launch *a, int layer, const struct lanes *l,
                       const struct cotangent *p, const struct accumulator *to)
{
    if (to->rows)
        place_lanes(a, l, p, to->rows);
    else
        place_sums(a, layer, l, p, to->bar);
}

/* ---- a layer ---- */

static void start_places(const struct accumulator *to)
{
    struct rows *r = to->rows;

    if (!r) return;
    memset(r->place, 0, sizeof r->place);
    memset(r->fast, 0, sizeof r->fast);
    memset(r->slow, 0, sizeof r->slow);
}

/* Adds s a[i] + t b[i] of each lane to the row of a number. */
static void add_row(struct rows *restrict r, int n, int at, double s,
                    const double *restrict a, double t, const double *restrict b)
{
    double *restrict to = r->number[at];

    if (!row_counts(r, at)) return;
#pragma omp simd
    for (int i = 0; i < n; i++) to[i] += s * a[i] + t * b[i];
}

/* Propagates the sums of a layer to the rows of the detector's numbers. phys_places_vjp()
 * has the same formulas for one pixel. */
static void close_place_lanes(const struct launch *a, int layer, const struct lanes *l,
                              struct rows *restrict r)
{
    const struct phys_frame *frame = a->frame;
    const double over = frame->oversample, sub = frame->pixel / over, depth = l->depth;
    const double fast = over * (a->tile->fast + 0.5 * a->tile->width);
    const double slow = over * (a->tile->slow + 0.5 * a->tile->height);

    for (int k = 0; k < 3; k++) {
        const double normal = frame->normal[k], f = frame->fast[k], s = frame->slow[k];
        const double *place = r->place[k];

        add_row(r, l->n, PHYS_AT_pix0 + k, 1, place, 0, place);
        add_row(r, l->n, PHYS_AT_fast + k, sub, r->fast[k], sub * fast, place);
        add_row(r, l->n, PHYS_AT_slow + k, sub, r->slow[k], sub * slow, place);
        add_row(r, l->n, PHYS_AT_normal + k, depth, place, 0, place);
        add_row(r, l->n, PHYS_AT_pixel, f / over, r->fast[k], f * fast / over, place);
        add_row(r, l->n, PHYS_AT_pixel, s / over, r->slow[k], s * slow / over, place);
        add_row(r, l->n, PHYS_AT_layer_offset, normal, place, 0, place);
        add_row(r, l->n, PHYS_AT_layer_step, layer * normal, place, 0, place);
    }
}

static void close_places(const struct launch *a, int layer, const struct lanes *l,
                         const struct accumulator *to)
{
    if (to->rows) close_place_lanes(a, layer, l, to->rows);
}

/* Sets `product` to the cotangents of the sample's capture and returns 1 if every sample
 * has its own. If all samples of the layer share one capture, it adds them to
 * p->capture_bar and returns 0. Without a sensor it returns 0. */
static int capture_bars(const struct launch *a, const struct lanes *l, struct cotangent *p,
                        real *product)
{
    const struct phys_frame *frame = a->frame;

    if (frame->layer_mu == 0) return 0;
    lane_fill(l->n, product, 1);
    if (frame->each_omega) times_omega(a, l, product);
    lane_multiply(l->n, product, p->weight_bar);
    if (frame->each_capture) return 1;
    lane_add(l->n, product, p->capture_bar);
    return 0;
}

/* Completes a sample after all its sources have been processed. */
static void close_sample(const struct launch *a, int layer, const struct lanes *l,
                         struct cotangent *p, const struct accumulator *to)
{
    _Alignas(64) lane product = {0};

    if (a->frame->each_omega) { /* l->weight is solid angle times capture */
        lane_multiply_to(l->n, p->weight_bar, l->weight, product);
        omega_back(a, product, l, p, to);
    }
    if (capture_bars(a, l, p, product)) capture_back(a, layer, product, l, p, to);
    place_back(a, layer, l, p, to);
}

/* Completes a layer. Unless every sample has its own capture, all samples use the capture
 * at the first sub-pixel, and its cotangent is propagated here. */
static void close_layer(const struct launch *a, int layer, struct lanes *l,
                        struct cotangent *p, const struct accumulator *to)
{
    if (a->frame->layer_mu != 0 && !a->frame->each_capture) {
        lane_place_samples(a, 0, phys_layer_depth(a->frame, layer), l);
        start_sample(l->n, p);
        capture_back(a, layer, p->capture_bar, l, p, to);
        place_back(a, layer, l, p, to);
    }
    close_places(a, layer, l, to);
}

/* ---- a pixel ---- */

/* Returns the cotangent of the Bragg sum of lane i, given the cotangent of its photons. */
PHYS_FN double bragg_bar(const struct launch *a, double factor, const struct lanes *l,
                         int i, double photons_bar)
{
    return photons_bar * (factor * a->frame->bragg_scale) * (double)l->omega[i]
           * (double)l->polarization[i] * (double)l->capture[i];
}

/* Sets p->scale to the largest cotangent of a Bragg sum, and p->objective to all of these
 * cotangents over p->scale. Returns 0 if all are 0. */
static int lane_scale_cotangents(const struct launch *a, double factor,
                                 const struct lanes *l, struct cotangent *p)
{
    double most = 0, value[TILE_PIXELS];

#pragma omp simd
    for (int i = 0; i < l->n; i++) value[i] = bragg_bar(a, factor, l, i, p->photons_bar[i]);
    for (int i = 0; i < l->n; i++) most = fabs(value[i]) > most ? fabs(value[i]) : most;
    p->scale = most > 0 ? most : 1;
    for (int i = 0; i < l->n; i++) p->objective[i] = (real)(value[i] / p->scale);
    return most > 0;
}

/* Sets first_bar[i] to polar_bar[i] if the sample under this source is the first of pixel i
 * that dmin lets through; else to 0. */
static void lane_first_sample(const struct phys_frame *frame, int index,
                              const real *polar_bar, struct lanes *l, real *first_bar)
{
    const struct phys_square square =
        phys_patch_square(&l->patch, frame->source + index, frame->dmin);

    for (int i = 0; i < l->n; i++) {
        const real change = phys_square_change(&square, step_of(l, i));
        const real first =
            frame->dmin > 0 && square.beyond + change > 0 ? 0 : 1 - l->lit[i];

        first_bar[i] = first * polar_bar[i];
        l->lit[i] += first;
    }
}

/* Propagates the cotangent of the pixel's polarization, which is evaluated at the first
 * sample that dmin lets through. */
static void first_polarization_back(const struct launch *a, const real *polar_bar,
                                    struct lanes *l, struct cotangent *p,
                                    const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    const int all = frame->dmin > 0, over = frame->oversample;
    _Alignas(64) lane first_bar = {0};

    lane_fill(l->n, l->lit, 0);
    for (int layer = 0; layer < (all ? frame->nlayers : 1); layer++) {
        place_patch(a, phys_layer_depth(a->frame, layer), l);
        start_places(to);
        for (int sub = 0; sub < (all ? over * over : 1); sub++) {
            lane_place_samples(a, sub, phys_layer_depth(a->frame, layer), l);
            start_sample(l->n, p);
            for (int i = 0; i < (all ? frame->nsource : 1); i++) {
                lane_first_sample(frame, i, polar_bar, l, first_bar);
                polarization_back(frame, i, first_bar, l, p, to);
            }
            place_back(a, layer, l, p, to);
        }
        close_places(a, layer, l, to);
    }
}

/* Propagates the cotangent of the pixel's solid angle, which is evaluated at its first
 * sample. */
static void first_omega_back(const struct launch *a, const real *omega_bar, struct lanes *l,
                             struct cotangent *p, const struct accumulator *to)
{
    place_patch(a, phys_layer_depth(a->frame, 0), l);
    lane_place_samples(a, 0, phys_layer_depth(a->frame, 0), l);
    start_places(to);
    start_sample(l->n, p);
    omega_back(a, omega_bar, l, p, to);
    place_back(a, 0, l, p, to);
    close_places(a, 0, l, to);
}

/* Propagates the cotangents of the factors that are evaluated once per pixel. */
static void factors_back(const struct launch *a, double factor, struct lanes *l,
                         struct cotangent *p, const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    const double bragg = factor * frame->bragg_scale;
    _Alignas(64) lane product = {0};

    if (!frame->each_omega) {
        for (int i = 0; i < l->n; i++)
            product[i] = (real)((double)p->objective[i] * l->bragg[i]);
        first_omega_back(a, product, l, p, to);
    }
    if (frame->each_polar || !frame->polarised) return;
    for (int i = 0; i < l->n; i++)
        product[i] = (real)(p->photons_bar[i] * bragg * l->bragg[i] * (double)l->omega[i]
                            * (double)l->capture[i] / p->scale);
    first_polarization_back(a, product, l, p, to);
}

/* Adds the cotangents of the scale factors before the sums; `bragg` is the Bragg part of
 * the photons without these factors. */
static void lane_scales(struct phys_spec spec, const struct phys_frame *frame,
                        double factor, int n, const struct cotangent *p,
                        const double *bragg, const struct accumulator *to)
{
    const double scale = factor * frame->bragg_scale;

    lane_add_wide(to, p, n, PHYS_AT_bragg_scale, factor, bragg);
    if (spec.shape != PHYS_SQUARE)
        lane_add_wide(to, p, n, PHYS_AT_peak, 2 * scale / frame->peak, bragg);
    if (spec.lookup == PHYS_CONSTANT && frame->default_f != 0)
        lane_add_wide(to, p, n, PHYS_AT_default_f, 2 * scale / frame->default_f, bragg);
}

static void scales_back(struct phys_spec spec, const struct phys_frame *frame,
                        double factor, const struct lanes *l, const struct cotangent *p,
                        const struct accumulator *to)
{
    double bragg[TILE_PIXELS];

    for (int i = 0; i < l->n; i++)
        bragg[i] = l->bragg[i] * (double)l->omega[i] * (double)l->polarization[i]
                   * (double)l->capture[i];
    lane_scales(spec, frame, factor, l->n, p, bragg, to);
}

#endif
