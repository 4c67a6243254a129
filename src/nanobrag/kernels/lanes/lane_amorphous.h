/*
 * lane_amorphous.h - the adjoint and the Jacobian of the photons of the amorphous material,
 * seen from the pixels' centres: amorphous_at_centre() in lane_sums.h, backward. Its
 * functions are compiled with lanes_vjp.c in double only, and the lanes in float call them:
 * if the material is brighter than the crystal, a sum in float would lose the crystal's
 * gradient by rounding.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_AMORPHOUS_H
#define NB_KERNELS_LANES_LANE_AMORPHOUS_H

#include "kernels/lanes/lane_jacobian.h"

struct amorphous_lanes {
    /* Adds the cotangent of the frame to `bar`, given the cotangents of the photons of a
     * tile's pixels. */
    void (*vjp)(const struct job *job, const struct tile *tile, const double *photons_bar,
                struct phys_frame_tangent *bar);
    /* Adds the derivatives of the pixels along tangents (n x TILE_PIXELS). */
    void (*jacobian)(const struct job *job, const struct tile *tile,
                     const struct tangents *along, double *change);
};

#define AMORPHOUS_JOINED(kernels) kernels##_amorphous
#define AMORPHOUS_OF(kernels)     AMORPHOUS_JOINED(kernels)
#define AMORPHOUS                 AMORPHOUS_OF(KERNELS_IN_DOUBLE)
extern const struct amorphous_lanes AMORPHOUS;

#ifndef PHYS_SINGLE

/* ---- a source ---- */

/* Sets per_length[i] to the derivative of F^2 by v, the length of the difference between
 * the directions of sample and light, over v. A table is looked up lane by lane. */
static void table_slopes(const struct phys_frame *frame, const struct phys_source *source,
                         const struct lanes *l, real *restrict per_length)
{
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);
    const real half = (real)source->inverse_wavelength / 2;

    lane_fill(l->n, per_length, 0);
    for (int i = 0; frame->nstol && i < l->n; i++) {
        /* the vectors are written out, so that compiler reports on this scalar loop name
         * this line */
        const struct phys_vec3 step = phys_vec3(l->x[i], l->y[i], l->z[i]);
        const struct phys_vec3 way = phys_axpy(1, mid, step);
        const real length = sqrt(phys_dot(way, way)), stol = length * half;

        if (length > 0) /* straight ahead the slope of the table is 0 */
            per_length[i] = 2 * phys_amorphous(frame, stol)
                            * phys_amorphous_slope(frame, stol) * half / length;
    }
}

/* Computes the weights of the samples under a source: l->share, and p->w with
 * cotangents. */
static void amorphous_weights(const struct phys_frame *frame,
                              const struct phys_source *source, struct lanes *l,
                              struct cotangent *p)
{
    const struct phys_vec3 incident = phys_load(source->direction), d = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real kahn = (real)frame->kahn;

    lane_fill(l->n, p->fall, 1);
    lane_fill(l->n, p->polar, 1);
    weigh_source(source, l);
    if (frame->each_polar && frame->polarised) {
#pragma omp simd
        for (int i = 0; i < l->n; i++)
            p->polar[i] =
                phys_polarization(kahn, incident, e, b, phys_axpy(1, d, step_of(l, i)));
        lane_multiply(l->n, l->share, p->polar);
    }
    lane_multiply_to(l->n, p->objective, l->share, p->w);
}

/* Sets p->x, y, z to the derivatives of F^2 by the directions of the samples. */
static void amorphous_slopes(const struct phys_frame *frame,
                             const struct phys_source *source, const struct lanes *l,
                             struct cotangent *p)
{
    const struct phys_vec3 mid = phys_axpy(-1, phys_load(source->direction), l->patch.d);

    table_slopes(frame, source, l, p->x);
    lane_fill(l->n, p->y, 0);
    lane_fill(l->n, p->z, 0);
    if (!frame->nstol) return;
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 way = phys_axpy(1, mid, step_of(l, i));
        const struct phys_vec3 slope = phys_scale(p->x[i], way);

        p->x[i] = slope.x, p->y[i] = slope.y, p->z[i] = slope.z;
    }
}

/* ---- a layer ---- */

/* Places the samples of one layer at the pixels' centres and computes their weights. */
static void amorphous_samples(const struct launch *a, int layer, struct lanes *l)
{
    place_patch(a, phys_layer_depth(a->frame, layer), l);
    lane_place_samples(a, -1, phys_layer_depth(a->frame, layer), l);
    lane_fill(l->n, l->weight, 1);
    if (a->frame->each_omega) times_omega(a, l, l->weight);
    times_capture(a, l, layer, l->weight);
}

/* Propagates the cotangents through one layer, and adds its F^2 to l->amorphous. */
static void amorphous_layer(const struct launch *a, int layer, struct lanes *l,
                            struct cotangent *p, const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    _Alignas(64) lane product = {0};

    amorphous_samples(a, layer, l);
    start_places(to);
    start_sample(l->n, p);
    for (int i = 0; i < frame->nsource; i++) {
        amorphous_squares(frame, frame->source + i, l, l->sum);
        amorphous_slopes(frame, frame->source + i, l, p);
        amorphous_weights(frame, frame->source + i, l, p);
        lane_add_weighted(l->n, l->share, l->sum, l->amorphous);
        if (lane_source_counts(to, i)) { /* term[5] is left out, because B belongs to the
                                            crystal */
            lane_terms(frame->source + i, l, p);
            lane_add_source(to, i, SOURCE_DIRECTION, 5, l->n, p);
        }
        source_to_sample(a, i, l, p, to);
    }
    if (frame->each_omega) {
        lane_multiply_to(l->n, p->weight_bar, l->weight, product);
        omega_back(a, product, l, p, to);
    }
    if (frame->layer_mu != 0) {
        lane_fill(l->n, product, 1);
        if (frame->each_omega) times_omega(a, l, product);
        lane_multiply(l->n, product, p->weight_bar);
        capture_back(a, layer, product, l, p, to);
    }
    place_back(a, layer, l, p, to);
    close_places(a, layer, l, to);
}

/* ---- a pixel ---- */

/* Computes the factors that are evaluated once per pixel, at the front of the sensor. Sets
 * p->objective to the cotangents of the sums over layers and sources. */
static void amorphous_factors(const struct launch *a, struct lanes *l, struct cotangent *p)
{
    const struct phys_frame *frame = a->frame;
    const double scale = frame->amorphous_scale;

    place_patch(a, phys_layer_depth(frame, 0), l);
    lane_place_samples(a, -1, phys_layer_depth(frame, 0), l);
    first_polarization(frame, l);
    lane_fill(l->n, l->omega, 1);
    if (!frame->each_omega) times_omega(a, l, l->omega);
    p->scale = 1;
#pragma omp simd
    for (int i = 0; i < l->n; i++)
        p->objective[i] = p->photons_bar[i] * scale * l->omega[i] * l->polarization[i];
}

/* Propagates the cotangents of the scale and of the factors that are evaluated once per
 * pixel. */
static void amorphous_factors_back(const struct launch *a, struct lanes *l,
                                   struct cotangent *p, const struct accumulator *to)
{
    const struct phys_frame *frame = a->frame;
    const double scale = frame->amorphous_scale;
    _Alignas(64) lane omega_bar = {0}, polar_bar = {0};
    double photons[TILE_PIXELS];

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        photons[i] = l->amorphous[i] * l->omega[i] * l->polarization[i];
        omega_bar[i] = p->objective[i] * l->amorphous[i];
        polar_bar[i] = p->photons_bar[i] * scale * l->omega[i] * l->amorphous[i];
    }
    lane_add_wide(to, p, l->n, PHYS_AT_amorphous_scale, 1, photons);
    place_patch(a, phys_layer_depth(frame, 0), l);
    lane_place_samples(a, -1, phys_layer_depth(frame, 0), l);
    start_places(to);
    start_sample(l->n, p);
    if (!frame->each_omega) omega_back(a, omega_bar, l, p, to);
    if (!frame->each_polar) polarization_back(frame, 0, polar_bar, l, p, to);
    place_back(a, 0, l, p, to);
    close_places(a, 0, l, to);
}

/* Adds the cotangent of amorphous_scale alone. */
static void amorphous_scale_back(const struct launch *a, struct lanes *l,
                                 const struct cotangent *p, const struct accumulator *to)
{
    double photons[TILE_PIXELS];

    amorphous_at_centre(a, l);
#pragma omp simd
    for (int i = 0; i < l->n; i++)
        photons[i] = l->amorphous[i] * l->omega[i] * l->polarization[i];
    lane_add_wide(to, p, l->n, PHYS_AT_amorphous_scale, 1, photons);
}

/* Propagates p->photons_bar to all that the amorphous photons depend on. */
static void amorphous_back(const struct job *job, const struct launch *a, struct lanes *l,
                           struct cotangent *p, const struct accumulator *to)
{
    take_tile(a, l);
    if (job->fixed & PHYS_FIXED_PIXELS) {
        amorphous_scale_back(a, l, p, to);
        return;
    }
    lane_fill_wide(l->n, l->amorphous, 0);
    amorphous_factors(a, l, p);
    for (int layer = 0; layer < a->frame->nlayers; layer++)
        amorphous_layer(a, layer, l, p, to);
    amorphous_factors_back(a, l, p, to);
}

/* Returns 1 if no free parameter changes the amorphous photons. */
static int amorphous_is_fixed(const struct job *job)
{
    return job->frame->amorphous_scale == 0
           || job->fixed == (PHYS_FIXED_PIXELS | PHYS_FIXED_SCALE);
}

/* The state of a tile, stored after the TILE_SCRATCH_BRAGG bytes of its Bragg photons. */
struct amorphous_scratch {
    struct lanes l;
    struct cotangent p;
    struct rows r; /* used by a Jacobian */
};
_Static_assert(sizeof(struct amorphous_scratch) <= TILE_SCRATCH - TILE_SCRATCH_BRAGG,
               "scratch memory of a tile");

static struct amorphous_scratch *amorphous_scratch_of(const struct job *job)
{
    return (void *)((char *)job->scratch + TILE_SCRATCH_BRAGG);
}

static void amorphous_vjp(const struct job *job, const struct tile *tile,
                          const double *photons_bar, struct phys_frame_tangent *bar)
{
    const struct launch a = launch_of(job->frame, tile);
    const struct accumulator to = {bar, NULL};
    struct amorphous_scratch *const scratch = amorphous_scratch_of(job);

    if (amorphous_is_fixed(job)) return;
    memcpy(scratch->p.photons_bar, photons_bar,
           sizeof *photons_bar * (size_t)a.shown.lanes);
    amorphous_back(job, &a, &scratch->l, &scratch->p, &to);
}

static void amorphous_jacobian(const struct job *job, const struct tile *tile,
                               const struct tangents *along, double *change)
{
    const struct launch a = launch_of(job->frame, tile);
    struct amorphous_scratch *const scratch = amorphous_scratch_of(job);
    struct lanes *const l = &scratch->l;
    struct cotangent *const p = &scratch->p;
    struct rows *const r = &scratch->r;
    const struct accumulator to = {NULL, r};

    if (amorphous_is_fixed(job)) return;
    clear_numbers(along, r);
    r->columns = NULL;
    r->change = change;
    for (int i = 0; i < a.shown.lanes; i++) p->photons_bar[i] = 1;
    amorphous_back(job, &a, l, p, &to);
    close_jacobian(l, r);
}

#endif

#endif
