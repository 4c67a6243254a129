/*
 * pixel_vjp.h - the adjoint of pixel.h: from photons_bar = dL/d(photons) of one pixel to
 * dL/d(member) for every member of the frame, where L is the objective, the scalar whose
 * gradient is computed. The adjoint of one sample is in step_vjp.h.
 *
 * The photons are computed first, because factors that are evaluated once per pixel need
 * their sum. Then the loops of pixel.h run again, and each line propagates the cotangent of
 * its result to its operands.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_PIXEL_VJP_H
#define NB_PHYSICS_PIXEL_VJP_H

#include "frame_tangent.h"
#include "pixel.h"
#include "step_vjp.h"

/* A pixel whose adjoint is computed, and the destination of its cotangents. */
struct phys_pixel_adjoint {
    struct phys_spec spec;
    const struct phys_frame *frame;
    const struct phys_view *view;
    int s, f;
    struct phys_frame_tangent *bar;
    real number[PHYS_NUMBERS]; /* added to the numbers of `bar` when the pixel is done */
};

PHYS_FN struct phys_pixel_adjoint phys_pixel_adjoint(struct phys_spec spec,
                                                     const struct phys_frame *frame,
                                                     const struct phys_view *view, int s,
                                                     int f, struct phys_frame_tangent *bar)
{
    struct phys_pixel_adjoint a;

    a.spec = spec;
    a.frame = frame;
    a.view = view;
    a.s = s;
    a.f = f;
    a.bar = bar;
    for (int i = 0; i < PHYS_NUMBERS; i++) a.number[i] = 0;
    return a;
}

PHYS_FN void phys_pixel_adjoint_end(const struct phys_pixel_adjoint *a)
{
    double *number = phys_numbers(a->bar);

    for (int i = 0; i < PHYS_NUMBERS; i++) number[i] += (double)a->number[i];
}

/* Adds v to the three doubles at `to`. */
PHYS_FN void phys_add_wide3(double *to, struct phys_vec3 v)
{
    to[0] += (double)v.x;
    to[1] += (double)v.y;
    to[2] += (double)v.z;
}

PHYS_FN void phys_add_source(const struct phys_source_bar *from, struct phys_source *to)
{
    phys_add_wide3(to->direction, from->direction);
    phys_add_wide3(to->e, from->e);
    phys_add_wide3(to->b, from->b);
    to->inverse_wavelength += (double)from->inverse_wavelength;
    to->weight += (double)from->weight;
}

/* The position of sub-pixel `sub` of a pixel in a layer; sub = -1 is the pixel's centre. */
struct phys_sample_at {
    int layer;
    struct phys_sub place;
    struct phys_point point;
};

PHYS_FN struct phys_sample_at phys_sample_at(const struct phys_pixel_adjoint *a, int layer,
                                             int sub)
{
    const struct phys_detector *det = &a->view->detector;
    struct phys_sample_at at;

    at.layer = layer;
    at.place = phys_sub(a->frame->oversample, a->s, a->f, sub);
    at.point = phys_point(det, at.place.fast, at.place.slow,
                          det->layer_offset + (real)layer * det->layer_step);
    return at;
}

/* Propagates the cotangents of a sample's direction and distance to the numbers of the
 * detector. */
PHYS_FN void phys_point_vjp(const struct phys_sample_at *at,
                            struct phys_point_bar point_bar, struct phys_pixel_adjoint *a)
{
    const struct phys_detector *det = &a->view->detector;
    const real depth = det->layer_offset + (real)at->layer * det->layer_step;
    const struct phys_vec3 flat = phys_flat(det, at->place.fast, at->place.slow, depth);
    const real per_length = 1 / sqrt(phys_dot(flat, flat));
    const struct phys_vec3 v =
        phys_place_vjp(det->surface == PHYS_CURVED, phys_scale(per_length, flat),
                       per_length, point_bar, a->number);
    struct phys_place_sums sums = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};

    phys_add_wide3(sums.place, v);
    phys_add_wide3(sums.fast, phys_scale(at->place.fast, v));
    phys_add_wide3(sums.slow, phys_scale(at->place.slow, v));
    phys_places_vjp(a->frame, at->layer, (double)depth, &sums, phys_numbers(a->bar), 1);
}

/* Propagates the cotangent of a sample's solid angle. */
PHYS_FN void phys_point_solid_angle_vjp(const struct phys_sample_at *at, real omega_bar,
                                        struct phys_point_bar *point_bar,
                                        struct phys_pixel_adjoint *a)
{
    const struct phys_detector *det = &a->view->detector;

    phys_solid_angle_vjp(a->frame, det, at->point.r,
                         omega_bar * phys_solid_angle(det, at->point), point_bar,
                         a->number);
}

/* Propagates the cotangent of the polarization of source `index` if the whole pixel uses
 * the polarization at one sample, `at`. */
PHYS_FN void phys_point_polarization_vjp(int index, const struct phys_sample_at *at,
                                         real polar_bar, struct phys_point_bar *point_bar,
                                         struct phys_pixel_adjoint *a)
{
    struct phys_source_bar source_bar = phys_source_bar_zero();

    phys_polarization_vjp(a->frame, index, at->point.d, polar_bar, 1, &point_bar->d,
                          a->number, &source_bar);
    phys_add_source(&source_bar, a->bar->source + index);
}

/* ---- the crystal ---- */

/* Propagates latt_bar, the cotangent of the lattice factor, to the numbers of the crystal;
 * s has the derivatives of the lattice factor by these numbers. */
PHYS_FN void phys_crystal_vjp(struct phys_crystal_slopes s, real latt_bar, real *number)
{
    phys_add_vec3(number + PHYS_AT_ncells, phys_scale(latt_bar, s.dn));
    number[PHYS_AT_peak] += latt_bar * s.dpeak;
    number[PHYS_AT_fudge] += latt_bar * s.dfudge;
    number[PHYS_AT_metric] += latt_bar * s.dhh;
    number[PHYS_AT_metric + 1] += latt_bar * s.dkk;
    number[PHYS_AT_metric + 2] += latt_bar * s.dll;
    number[PHYS_AT_metric + 3] += latt_bar * s.dhk;
    number[PHYS_AT_metric + 4] += latt_bar * s.dhl;
    number[PHYS_AT_metric + 5] += latt_bar * s.dkl;
}

/* Propagates f2_bar, the cotangent of F^2 of a sample, in orientation i. Adds the weighted
 * F^2 and its derivative by q to `sums`, the sums of the source. */
PHYS_FN void phys_step_vjp(int i, struct phys_vec3 q, real f2_bar,
                           struct phys_source_sums *sums, struct phys_pixel_adjoint *a)
{
    const struct phys_orientation *orientation = a->frame->orientation + i;
    const struct phys_view *view = a->view;
    const real domain = (real)orientation->weight, bar = domain * f2_bar;
    const struct phys_anchor anchor = phys_anchor_none(orientation->axes);
    const struct phys_site site = phys_site(a->spec, &view->box, &anchor, q);
    const struct phys_sample sample = phys_sample(a->spec, &view->crystal, site);
    const struct phys_vec3 x = phys_anchor_indices(&anchor, q);
    const struct phys_vec3 slopes = phys_vec3(sample.dh, sample.dk, sample.dl);
    const struct phys_vec3 slope = phys_indices_vjp(anchor.axes, slopes);
    const real latt = phys_lattice(a->spec, &view->crystal, site.d).f;
    const real f_bar = 2 * bar * site.cell.f * latt;

    sums->f2 += domain * sample.f2;
    sums->slope = phys_axpy(domain, slope, sums->slope);
    a->bar->rotation[i].weight += (double)(f2_bar * sample.f2);
    /* (rotation x axis).q = rotation.(axis x q) */
    phys_add_wide3(a->bar->rotation[i].by, phys_scale(bar, phys_cross(slope, q)));
    phys_strain_vjp(x, phys_scale(bar, slopes), a->number + PHYS_AT_strain);
    phys_crystal_vjp(phys_lattice_crystal(a->spec, &view->crystal, site.d),
                     f_bar * site.cell.f, a->number);
    phys_structure_factor_vjp(a->spec, &view->box, x, phys_lattice_point(a->spec, x),
                              f_bar * latt, a->bar);
}

/* ---- a sample ---- */

/* The cotangents of the members of struct phys_sums, and two numbers of the adjoint. */
struct phys_sums_bar {
    real bragg, amorphous, omega, polarization, capture;
    real weight; /* the weight of the current sub-pixel */
    int lit; /* 1 once the cotangent of the polarization has been propagated */
};

/* Propagates the cotangents of the sub-pixel `at` under source `index`. Adds the cotangent
 * of its direction to point_bar, and returns the cotangent of its weight. */
PHYS_FN real phys_pixel_source_vjp(const struct phys_sample_at *at, int index,
                                   struct phys_sums_bar *sums_bar,
                                   struct phys_point_bar *point_bar,
                                   struct phys_pixel_adjoint *a)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 d = at->point.d;
    const struct phys_vec3 way = phys_axpy(-1, phys_load(source->direction), d);
    const real unit = (real)source->inverse_wavelength;
    const struct phys_vec3 q = phys_scale(unit, way);
    const real q2 = phys_dot(q, q), weight = sums_bar->weight;
    const int passes = phys_passes_dmin((real)frame->dmin, q2);
    struct phys_source_sums sums = {0, {0, 0, 0}, 0, 1, sums_bar->bragg * weight};
    struct phys_source_bar source_bar = phys_source_bar_zero();
    struct phys_vec3 d_bar = phys_vec3(0, 0, 0);
    real weight_bar = 0;

    if (frame->amorphous_in_samples)
        weight_bar += sums_bar->amorphous
                      * phys_amorphous_vjp(frame, index, d, sums_bar->amorphous * weight,
                                           &point_bar->d, a->number, &source_bar);
    if (passes) {
        sums.fall = phys_displacement(phys_displacement_b(frame), q2);
        if (frame->each_polar) sums.polar = phys_source_polarization(frame, index, d);
        for (int i = 0; i < frame->norientation; i++)
            phys_step_vjp(i, q, sums.weight * (real)source->weight * sums.fall * sums.polar,
                          &sums, a);
        sums.slope = phys_scale(unit, sums.slope);
        weight_bar +=
            sums_bar->bragg
            * phys_source_vjp(frame, index, d, way, &sums, &d_bar, a->number, &source_bar);
        point_bar->d = phys_axpy(sums.weight, d_bar, point_bar->d);
    }
    if (!frame->each_polar && passes && !sums_bar->lit) {
        phys_point_polarization_vjp(index, at, sums_bar->polarization, point_bar, a);
        sums_bar->lit = 1;
    }
    phys_add_source(&source_bar, a->bar->source + index);
    return weight_bar;
}

/* ---- the amorphous material, seen from the centre of the pixel ---- */

/* Propagates the cotangents through one layer. `factor` is photons_bar times
 * amorphous_scale, times solid angle and polarization, each unless it is evaluated at every
 * sample. Returns the sum over the sources of the layer, without `factor`. */
PHYS_FN real phys_amorphous_layer_vjp(int layer, real factor, struct phys_pixel_adjoint *a)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_detector *det = &a->view->detector;
    const struct phys_sample_at at = phys_sample_at(a, layer, -1);
    const real capture = phys_capture(det, at.point, (real)layer);
    const real omega = frame->each_omega ? phys_solid_angle(det, at.point) : 1;
    struct phys_point_bar point_bar = {{0, 0, 0}, 0};
    real sum = 0;

    for (int i = 0; i < frame->nsource; i++) {
        struct phys_source_bar source_bar = phys_source_bar_zero();

        sum += phys_amorphous_vjp(frame, i, at.point.d, factor * omega * capture,
                                  &point_bar.d, a->number, &source_bar);
        phys_add_source(&source_bar, a->bar->source + i);
    }
    phys_capture_vjp(det, at.point, (real)layer, factor * omega * sum, &point_bar,
                     a->number);
    if (frame->each_omega)
        phys_point_solid_angle_vjp(&at, factor * capture * sum, &point_bar, a);
    phys_point_vjp(&at, point_bar, a);
    return omega * capture * sum;
}

/* The adjoint of phys_pixel_amorphous(). */
PHYS_FN void phys_amorphous_pixel_vjp(real photons_bar, struct phys_pixel_adjoint *a)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_sample_at front = phys_sample_at(a, 0, -1);
    const real omega =
        frame->each_omega ? 1 : phys_solid_angle(&a->view->detector, front.point);
    const real polar =
        frame->each_polar ? 1 : phys_source_polarization(frame, 0, front.point.d);
    const real scaled = photons_bar * (real)frame->amorphous_scale;
    struct phys_point_bar front_bar = {{0, 0, 0}, 0};
    real sum = 0;

    for (int layer = 0; layer < frame->nlayers; layer++)
        sum += phys_amorphous_layer_vjp(layer, scaled * omega * polar, a);
    a->number[PHYS_AT_amorphous_scale] += photons_bar * omega * polar * sum;
    if (!frame->each_polar)
        phys_point_polarization_vjp(0, &front, scaled * omega * sum, &front_bar, a);
    if (!frame->each_omega)
        phys_point_solid_angle_vjp(&front, scaled * polar * sum, &front_bar, a);
    phys_point_vjp(&front, front_bar, a);
}

/* ---- a pixel ---- */

/* The adjoint of phys_finish(). */
PHYS_FN struct phys_sums_bar phys_finish_vjp(const struct phys_frame *frame,
                                             struct phys_sums s, real photons_bar,
                                             real *number)
{
    const real bragg = (real)frame->bragg_scale, amorphous = (real)frame->amorphous_scale;
    const real samples = bragg * s.bragg + amorphous * s.amorphous;
    const real factors = s.omega * s.polarization * s.capture;
    struct phys_sums_bar r;

    number[PHYS_AT_bragg_scale] += photons_bar * s.bragg * factors;
    number[PHYS_AT_amorphous_scale] += photons_bar * s.amorphous * factors;
    r.bragg = photons_bar * bragg * factors;
    r.amorphous = photons_bar * amorphous * factors;
    r.omega = photons_bar * samples * s.polarization * s.capture;
    r.polarization = photons_bar * samples * s.omega * s.capture;
    r.capture = photons_bar * samples * s.omega * s.polarization;
    r.weight = 1;
    r.lit = 0;
    return r;
}

/* The adjoint of one layer of phys_pixel(). */
PHYS_FN void phys_pixel_layer_vjp(int layer, struct phys_sums_bar *sums_bar,
                                  struct phys_pixel_adjoint *a)
{
    const struct phys_frame *frame = a->frame;
    const struct phys_detector *det = &a->view->detector;
    const real t = (real)layer;
    const int subs = frame->oversample * frame->oversample;
    const int last_layer = layer == frame->nlayers - 1;
    const struct phys_sample_at front = phys_sample_at(a, layer, 0);
    struct phys_point_bar front_bar = {{0, 0, 0}, 0};
    real front_capture_bar = 0, capture = phys_capture(det, front.point, t);

    for (int sub = 0; sub < subs; sub++) {
        const struct phys_sample_at at = phys_sample_at(a, layer, sub);
        const real omega = frame->each_omega ? phys_solid_angle(det, at.point) : 1;
        struct phys_point_bar point_bar = {{0, 0, 0}, 0};
        real weight_bar = 0, capture_bar;

        if (frame->each_capture) capture = phys_capture(det, at.point, t);
        sums_bar->weight = omega * (frame->last_capture ? 1 : capture);
        if (layer == 0 && sub == 0 && !frame->each_omega)
            phys_point_solid_angle_vjp(&at, sums_bar->omega, &point_bar, a);
        for (int i = 0; i < frame->nsource; i++)
            weight_bar += phys_pixel_source_vjp(&at, i, sums_bar, &point_bar, a);
        if (frame->each_omega)
            phys_point_solid_angle_vjp(&at,
                                       weight_bar * (frame->last_capture ? 1 : capture),
                                       &point_bar, a);
        capture_bar = weight_bar * omega;
        if (frame->last_capture)
            capture_bar = last_layer && sub == subs - 1 ? sums_bar->capture : 0;
        if (frame->each_capture)
            phys_capture_vjp(det, at.point, t, capture_bar, &point_bar, a->number);
        else
            front_capture_bar += capture_bar;
        phys_point_vjp(&at, point_bar, a);
    }
    phys_capture_vjp(det, front.point, t, front_capture_bar, &front_bar, a->number);
    phys_point_vjp(&front, front_bar, a);
}

/* Adds the cotangents of the frame to `bar`, given photons_bar = dL/d(photons) of pixel
 * (f, s). */
PHYS_FN void phys_pixel_vjp(struct phys_spec spec, const struct phys_frame *frame,
                            const struct phys_view *view, int s, int f, real photons_bar,
                            struct phys_frame_tangent *bar)
{
    const struct phys_sums sums = phys_pixel(spec, frame, view, s, f);
    struct phys_pixel_adjoint a = phys_pixel_adjoint(spec, frame, view, s, f, bar);
    struct phys_sums_bar sums_bar = phys_finish_vjp(frame, sums, photons_bar, a.number);

    for (int layer = 0; layer < frame->nlayers; layer++)
        phys_pixel_layer_vjp(layer, &sums_bar, &a);
    if (!frame->each_polar && !sums_bar.lit && !frame->dark_polar) {
        const struct phys_sample_at at = phys_sample_at(&a, 0, 0);
        struct phys_point_bar point_bar = {{0, 0, 0}, 0};

        phys_point_polarization_vjp(0, &at, sums_bar.polarization, &point_bar, &a);
        phys_point_vjp(&at, point_bar, &a);
    }
    if (frame->amorphous_scale != 0 && !frame->amorphous_in_samples)
        phys_amorphous_pixel_vjp(photons_bar, &a);
    phys_pixel_adjoint_end(&a);
}

#endif
