/*
 * lane_sums.h - code that lanes.c and lanes_vjp.c share, besides lane_places.h: the weights
 * of the samples, and their Miller indices in each orientation. It is compiled with both,
 * once per instruction set and precision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_LANES_LANE_SUMS_H
#define NB_KERNELS_LANES_LANE_SUMS_H

#include <string.h>

#include "kernels/lanes/lane_tricubic.h"

/* Sets share[i] to the weight of the sample under a source, without the factors of
 * weigh_samples(). */
static void weigh_source(const struct phys_source *source, struct lanes *l)
{
    const real weight = (real)source->weight;

#pragma omp simd
    for (int i = 0; i < l->n; i++) l->share[i] = weight * l->weight[i];
}

/* Multiplies share[i] by the polarization under the source if every sample has its own, by
 * the displacement factor, and by 0 if dmin removes the sample. Sets the polarization of a
 * pixel at the first of its samples that dmin lets through. */
static void weigh_samples(const struct phys_frame *frame, const struct phys_source *source,
                          struct lanes *l)
{
    const struct phys_vec3 incident = phys_load(source->direction);
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const struct phys_vec3 d = l->patch.d;
    const struct phys_square square = phys_patch_square(&l->patch, source, frame->dmin);
    const real kahn = (real)frame->kahn, displacement = phys_displacement_b(frame);
    const real each = frame->each_polar ? 1 : 0, polarised = frame->polarised ? 1 : 0;
    const real cut = frame->dmin > 0 ? 1 : 0;

#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const real change = phys_square_change(&square, step_of(l, i));
        const real passes = cut * (square.beyond + change) > 0 ? 0 : 1;
        const real kahns =
            phys_polarization(kahn, incident, e, b, phys_axpy(1, d, step_of(l, i)));
        const real polar = polarised != 0 ? kahns : 1;
        const real first = passes * (1 - l->lit[i]) * (1 - each);

        /* sums with factors 1 and 0: a conditional would become a masked store and make the
         * loop slow */
        l->polarization[i] = first * polar + (1 - first) * l->polarization[i];
        l->lit[i] += first;
        l->share[i] *= passes * phys_displacement(displacement, square.at_middle + change)
                       * (each != 0 ? polar : 1);
    }
}

/* Sets share[i] to the full weight of the sample in lane i under a source. */
static void lane_source_share(const struct launch *a, const struct phys_source *source,
                              struct lanes *l)
{
    weigh_source(source, l);
    if (a->per_source) weigh_samples(a->frame, source, l);
}

/* Returns the photons of the amorphous material in a pixel, divided by solid angle,
 * polarization and amorphous_scale. */
PHYS_FN double amorphous_of_sources(const struct phys_frame *frame)
{
    double sum = 0;

    for (int i = 0; i < frame->nsource; i++) sum += frame->source[i].weight;
    return sum * frame->amorphous_f * frame->amorphous_f;
}

/* Sets f2[i] to F^2 of the amorphous material under a source. A table is looked up lane by
 * lane. */
static void amorphous_squares(const struct phys_frame *frame,
                              const struct phys_source *source,
                              const struct lanes *restrict l, real *restrict f2)
{
    const struct phys_vec3 incident = phys_load(source->direction);
    const real unit = (real)source->inverse_wavelength;

    lane_fill(l->n, f2, (real)(frame->amorphous_f * frame->amorphous_f));
    for (int i = 0; frame->nstol && i < l->n; i++) {
        /* the vectors are written out, so that compiler reports on this scalar loop name
         * this line */
        const struct phys_vec3 step = phys_vec3(l->x[i], l->y[i], l->z[i]);
        const struct phys_vec3 d = phys_axpy(1, l->patch.d, step);
        const struct phys_vec3 q = phys_scattering(d, incident, unit);
        const real f = phys_amorphous(frame, sqrt(phys_dot(q, q)) / 2);

        f2[i] = f * f;
    }
}

/* Adds the amorphous scattering under one source to l->amorphous. Neither dmin nor the
 * displacement affects it (docs/theory.md, 7). */
static void add_amorphous(const struct launch *a, const struct phys_source *source,
                          struct lanes *restrict l)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_vec3 incident = phys_load(source->direction), d = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real kahn = (real)frame->kahn, weight = (real)source->weight;
    _Alignas(64) lane f2;

    amorphous_squares(frame, source, l, f2);
    if (!frame->each_polar || !frame->polarised) {
#pragma omp simd
        for (int i = 0; i < l->n; i++)
            l->amorphous[i] += (double)(weight * l->weight[i] * f2[i]);
        return;
    }
#pragma omp simd
    for (int i = 0; i < l->n; i++) {
        const real polar =
            phys_polarization(kahn, incident, e, b, phys_axpy(1, d, step_of(l, i)));

        l->amorphous[i] += (double)(weight * l->weight[i] * polar * f2[i]);
    }
}

/* Returns the largest distance of the lanes' indices from the indices of the anchor, plus a
 * margin of four. All orientations have this distance, because a rotation keeps the lengths
 * of the axes. */
static struct phys_vec3 reach_of(const struct phys_frame *frame, double unit,
                                 const struct lanes *l)
{
    const struct phys_axes axes = phys_axes(frame->orientation[0].axes);
    const real most = l->radius * (real)unit;

    return phys_vec3(4 + most * sqrt(phys_dot(axes.a, axes.a)),
                     4 + most * sqrt(phys_dot(axes.b, axes.b)),
                     4 + most * sqrt(phys_dot(axes.c, axes.c)));
}

/* Computes the nearest lattice point and the distance from it in every lane in one
 * orientation, and F there. For F of the nearest reflection the main loop computes only
 * places in f, because a load from a place just computed would stall it. The parameters are
 * `restrict`, or clang could not prove that the loads from f do not alias the results. */
PHYS_FN void find_sites(struct phys_spec spec, int slopes, const struct phys_view *view,
                        const struct phys_anchor *at, const real *restrict f, real halfway,
                        const struct lanes *restrict l, struct sites *restrict out)
{
    const struct phys_anchor anchor = *at;
    struct phys_box box = phys_box_from(spec.inside, view->box, anchor.whole);
    int any = 0;

    box.f = f;
#pragma omp simd reduction(| : any)
    for (int i = 0; i < l->n; i++) {
        const struct phys_vec3 x = phys_anchor_indices(&anchor, step_of(l, i));
        const struct phys_vec3 n = phys_lattice_point(spec, x);
        const struct phys_vec3 d = phys_axpy(-1, n, x);
        const real h = fabs(d.x), k = fabs(d.y), m = fabs(d.z);
        const real hk = h > k ? h : k, off = hk > m ? hk : m;

        any |= phys_jumps_halfway(spec) && off > halfway ? 1 : 0;
        out->h[i] = d.x;
        out->k[i] = d.y;
        out->l[i] = d.z;
        if (spec.lookup == PHYS_NEAREST)
            out->place[i] = phys_f_place(spec.inside, &box, n);
        else if (spec.lookup != PHYS_CONSTANT) {
            const struct phys_f cell = phys_structure_factor(spec, &box, x, n);

            out->cell.f[i] = cell.f;
            if (slopes) {
                out->cell.dh[i] = cell.dh;
                out->cell.dk[i] = cell.dk;
                out->cell.dl[i] = cell.dl;
            }
        }
    }
    out->any_halfway = any;
    if (spec.lookup == PHYS_NEAREST)
        for (int i = 0; i < l->n; i++) out->cell.f[i] = f[out->place[i]];
}

#ifdef PHYS_SINGLE
/* Computes again, in double, the few lanes that lie so nearly halfway between two
 * reflections that float cannot tell the nearer one. */
static void place_again(struct phys_spec spec, const struct launch *a,
                        const struct phys_source *source, const double *rows,
                        const struct phys_anchor *anchor, const struct lanes *l, real limit,
                        struct sites *out)
{
    const struct tile *tile = a->tile;
    const struct phys_box box = phys_box_from(0, a->view.box, anchor->whole);
    const double n = a->frame->oversample;

    for (int i = 0; i < l->n; i++) {
        struct phys_patch at;
        struct phys_anchor exact;

        if (fabs(out->h[i]) < limit && fabs(out->k[i]) < limit && fabs(out->l[i]) < limit)
            continue;
        at = phys_patch_at(a->frame,
                           n * (tile->fast + 0.5 * tile->width) + l->fast[i] + l->sub_fast,
                           n * (tile->slow + 0.5 * tile->height) + l->slow[i] + l->sub_slow,
                           l->depth);
        exact = phys_patch_anchor(&at, source, rows);
        out->h[i] = exact.fraction.x;
        out->k[i] = exact.fraction.y;
        out->l[i] = exact.fraction.z;
        if (spec.lookup == PHYS_NEAREST) {
            out->place[i] =
                phys_f_place(0, &box, phys_axpy(-1, anchor->whole, exact.whole));
            out->cell.f[i] = box.f[out->place[i]];
        }
    }
}
#endif

/* The numbers that all orientations share under one source: q, the scattering vector of the
 * tile's middle (1/A), and reach, how far the lanes' indices extend around it. */
struct aim {
    const struct phys_source *source;
    double q[3];
    struct phys_vec3 reach;
    real halfway; /* distance of an index where float cannot tell the nearest reflection */
};

static struct aim aim_of(const struct phys_frame *frame, const struct phys_source *source,
                         const struct lanes *l)
{
    struct aim aim;

    aim.source = source;
    phys_patch_scattering(&l->patch, source, aim.q);
    aim.reach = reach_of(frame, source->inverse_wavelength, l);
    aim.halfway = phys_anchor_halfway(aim.reach.x + aim.reach.y + aim.reach.z);
    return aim;
}

/* Returns 1 if F is looked up and no look-up of an orientation's samples leaves the box.
 * Returns 0 on nanoBragg's curved detector, whose samples need not lie near the patch. */
PHYS_FN int lies_in_box(struct phys_spec spec, const struct launch *a,
                        const struct aim *aim, const struct phys_anchor *anchor)
{
    return spec.lookup != PHYS_CONSTANT && a->frame->surface != PHYS_CURVED_QUIRK
           && phys_box_surrounds(&a->view.box, anchor->whole, aim->reach);
}

/* Returns 1 if F is interpolated by polynomials, one for each cell (lane_tricubic.h). */
PHYS_FN int goes_by_cell(struct phys_spec spec, const struct launch *a,
                         const struct aim *aim, const struct phys_anchor *anchor,
                         const struct lanes *l)
{
    return spec.lookup == PHYS_TRICUBIC && lies_in_box(spec, a, aim, anchor)
           && few_cells(a, l, &anchor->axes);
}

/* Computes the sites of the lanes in orientation k. Returns the anchor, the point from
 * which their indices are counted (physics/tile/anchor.h). If `slopes` is 1, the
 * derivatives of an interpolated F are computed, too. */
PHYS_FN struct phys_anchor sites_of(struct phys_spec spec, int slopes,
                                    const struct launch *a, const struct aim *aim, int k,
                                    const struct lanes *l, struct sites *out)
{
    const double *rows = a->frame->orientation[k].axes;
    const struct phys_anchor anchor =
        phys_anchor_at(rows, aim->q, aim->source->inverse_wavelength);
    const real *f = a->view.box.f;
    struct phys_spec inside = spec;

    inside.inside = 1;
    out->by_cell = goes_by_cell(spec, a, aim, &anchor, l);
    if (out->by_cell)
        find_sites_by_cell(spec, slopes, a, &anchor, aim->halfway, l, out);
    else if (lies_in_box(spec, a, aim, &anchor))
        find_sites(inside, slopes, &a->view, &anchor, f, aim->halfway, l, out);
    else
        find_sites(spec, slopes, &a->view, &anchor, f, aim->halfway, l, out);
#ifdef PHYS_SINGLE
    if (out->any_halfway)
        place_again(spec, a, aim->source, rows, &anchor, l, aim->halfway, out);
#endif
    return anchor;
}

/* Adds share[i] sum[i] to bragg[i]. */
static void lane_add_weighted(int n, const real *restrict share, const real *restrict sum,
                              double *restrict bragg)
{
#pragma omp simd
    for (int i = 0; i < n; i++) bragg[i] += (double)(share[i] * sum[i]);
}

/* Sets the polarization of the pixels to the first source's, or to 1 if every sample has
 * its own. */
static void first_polarization(const struct phys_frame *frame, struct lanes *l)
{
    const struct phys_source *source = frame->source;
    const struct phys_vec3 incident = phys_load(source->direction), d = l->patch.d;
    const struct phys_vec3 e = phys_load(source->e), b = phys_load(source->b);
    const real kahn = (real)frame->kahn;

    lane_fill(l->n, l->polarization, 1);
    if (frame->each_polar || !frame->polarised) return;
#pragma omp simd
    for (int i = 0; i < l->n; i++)
        l->polarization[i] =
            phys_polarization(kahn, incident, e, b, phys_axpy(1, d, step_of(l, i)));
}

/* Sets l->centre to the photons of the amorphous material seen from the pixels' centres.
 * Other members of l are overwritten, so call this function before the loops over
 * samples. */
static void amorphous_at_centre(const struct launch *a, struct lanes *l)
{
    const struct phys_frame *frame = a->frame;

    lane_fill_wide(l->n, l->amorphous, 0);
    lane_fill(l->n, l->omega, 1);
    lane_fill(l->n, l->polarization, 1);
    for (int layer = 0; layer < frame->nlayers; layer++) {
        place_patch(a, phys_layer_depth(a->frame, layer), l);
        lane_place_samples(a, -1, phys_layer_depth(a->frame, layer), l);
        if (layer == 0) {
            first_polarization(frame, l);
            if (!frame->each_omega) times_omega(a, l, l->omega);
        }
        lane_fill(l->n, l->weight, 1);
        if (frame->each_omega) times_omega(a, l, l->weight);
        times_capture(a, l, layer, l->weight);
        for (int i = 0; i < frame->nsource; i++) add_amorphous(a, frame->source + i, l);
    }
#pragma omp simd
    for (int i = 0; i < l->n; i++)
        l->centre[i] = (real)(frame->amorphous_scale * l->amorphous[i]) * l->omega[i]
                       * l->polarization[i];
}

/* Computes the weights of sub-pixel `sub`, and the capture of the layer if it is new. */
static void lane_sample_weights(const struct launch *a, int layer, int sub, struct lanes *l,
                                real *restrict capture)
{
    const struct phys_frame *frame = a->frame;

    if (a->weighted || (layer == 0 && sub == 0)) lane_fill(l->n, l->weight, 1);
    if (frame->each_omega) times_omega(a, l, l->weight);
    if (frame->layer_mu == 0) return;
    if (sub == 0 || frame->each_capture) captures(a, l, layer, capture);
    if (!frame->last_capture)
        lane_multiply(l->n, l->weight, capture);
    else
        memcpy(l->capture, capture, sizeof l->capture);
}

/* Computes the weights of a sub-pixel and, at the first one, the factors that are
 * evaluated once per pixel. */
static void lane_sample_factors(const struct launch *a, int layer, int sub, struct lanes *l,
                                real *restrict capture)
{
    const struct phys_frame *frame = a->frame;

    if (layer == 0 && sub == 0) {
        first_polarization(frame, l);
        if (frame->dmin > 0 && frame->dark_polar && !frame->each_polar)
            lane_fill(l->n, l->polarization, 0);
        if (!frame->each_omega) times_omega(a, l, l->omega);
    }
    lane_sample_weights(a, layer, sub, l, capture);
}

/* Assigns the pixels of a tile to the lanes and clears their sums. */
static void lane_clear_sums(const struct launch *a, struct lanes *l)
{
    take_tile(a, l);
    lane_fill(l->n, l->centre, 0);
    if (a->frame->amorphous_scale != 0 && !a->frame->amorphous_in_samples)
        amorphous_at_centre(a, l);
    lane_fill_wide(l->n, l->bragg, 0);
    lane_fill_wide(l->n, l->amorphous, 0);
    lane_fill(l->n, l->omega, 1);
    lane_fill(l->n, l->capture, 1);
    lane_fill(l->n, l->lit, 0);
}

/* Computes the photons from the sums (docs/theory.md, 1). `factor` multiplies the Bragg
 * part. */
static void finish(const struct launch *a, double factor, const struct lanes *l,
                   double *restrict photons)
{
    const double bragg = factor * a->frame->bragg_scale;
    const double amorphous = a->frame->amorphous_scale;

#pragma omp simd
    for (int i = 0; i < l->n; i++)
        photons[i] = (bragg * l->bragg[i] + amorphous * l->amorphous[i])
                         * (double)l->omega[i] * (double)l->polarization[i]
                         * (double)l->capture[i]
                     + (double)l->centre[i];
}

/* Returns 1 if the factors of a pixel depend on samples other than its first one. */
static int needs_all_samples(const struct phys_frame *frame)
{
    return frame->amorphous_in_samples || frame->dmin > 0
           || (frame->last_capture && frame->layer_mu != 0);
}

#endif
