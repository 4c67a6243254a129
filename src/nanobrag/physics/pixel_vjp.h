/*
 * pixel_vjp.h - the adjoint of pixel.h: what a number changes by with every member of the
 * frame, when it changes by `bar` with the photons of a pixel.
 *
 * The name x_bar is what the number changes by with x. The photons are computed first, for
 * the factors that wait until a pixel's end; then the loops of pixel.h run again, and each
 * line hands the cotangent of its result to what it was made from.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_PIXEL_VJP_H
#define NB_PHYSICS_PIXEL_VJP_H

#include "frame_tangent.h"
#include "pixel.h"

/* to[i] += s v */
PHYS_FN void phys_give(double *to, real s, struct phys_vec3 v)
{
    to[0] += (double)(s * v.x);
    to[1] += (double)(s * v.y);
    to[2] += (double)(s * v.z);
}

/* of a sample's direction and distance */
struct phys_point_bar {
    struct phys_vec3 d;
    real r;
};

/* at the depth of layer t */
PHYS_FN void phys_point_vjp(const struct phys_frame *frame, const struct phys_detector *det,
                            struct phys_sub place, real t, struct phys_point_bar point_bar,
                            struct phys_frame_tangent *bar)
{
    const real fast = place.fast, slow = place.slow;
    const real depth = det->layer_offset + t * det->layer_step;
    const struct phys_vec3 flat = phys_flat(det, fast, slow, depth);
    const real per_length = 1 / sqrt(phys_dot(flat, flat));
    const struct phys_vec3 d = phys_scale(per_length, flat);
    const int curved = det->surface == PHYS_CURVED;
    const real along = (curved ? 0 : point_bar.r) - per_length * phys_dot(d, point_bar.d);
    const struct phys_vec3 p_bar = phys_axpy(along, d, phys_scale(per_length, point_bar.d));
    const real into = phys_dot(det->normal, p_bar);

    if (curved) bar->distance += (double)point_bar.r;
    phys_give(bar->pix0, 1, p_bar);
    phys_give(bar->fast, det->sub * fast, p_bar);
    phys_give(bar->slow, det->sub * slow, p_bar);
    phys_give(bar->normal, depth, p_bar);
    bar->pixel +=
        (double)(fast * phys_dot(det->fast, p_bar) + slow * phys_dot(det->slow, p_bar))
        / frame->oversample;
    bar->layer_offset += (double)into;
    bar->layer_step += (double)(t * into);
}

/* in layer t */
PHYS_FN struct phys_point phys_point_of(const struct phys_detector *det,
                                        struct phys_sub place, real t)
{
    return phys_point(det, place.fast, place.slow, det->layer_offset + t * det->layer_step);
}

PHYS_FN void phys_solid_angle_vjp(const struct phys_frame *frame,
                                  const struct phys_detector *det, struct phys_point point,
                                  real omega_bar, struct phys_point_bar *point_bar,
                                  struct phys_frame_tangent *bar)
{
    const struct phys_omega_slopes s = phys_solid_angle_slopes(det, point);

    point_bar->r += omega_bar * s.dr;
    bar->close_distance += (double)(omega_bar * s.dclose);
    if (!frame->point_pixel) bar->pixel += (double)(omega_bar * s.darea) * 2 * frame->pixel;
}

PHYS_FN void phys_capture_vjp(const struct phys_detector *det, struct phys_point point,
                              real t, real capture_bar, struct phys_point_bar *point_bar,
                              struct phys_frame_tangent *bar)
{
    const struct phys_capture_slopes s = phys_capture_slopes(det, point, t);

    point_bar->d = phys_axpy(capture_bar * s.dcosine, det->normal, point_bar->d);
    phys_give(bar->normal, capture_bar * s.dcosine, point.d);
    bar->layer_mu += (double)(capture_bar * s.dmu);
}

PHYS_FN void phys_polarization_vjp(const struct phys_frame *frame, int index,
                                   struct phys_vec3 d, real polar_bar,
                                   struct phys_vec3 *d_bar, struct phys_frame_tangent *bar)
{
    const struct phys_source *a = frame->source + index;
    struct phys_source *v = bar->source + index;
    struct phys_polarization_slopes s;

    if (!frame->polarised) return;
    s = phys_polarization_slopes((real)frame->kahn, phys_load(a->direction),
                                 phys_load(a->e), phys_load(a->b), d);
    *d_bar = phys_axpy(polar_bar, s.dd, *d_bar);
    phys_give(v->direction, polar_bar, s.dincident);
    phys_give(v->e, polar_bar, s.de);
    phys_give(v->b, polar_bar, s.db);
    bar->kahn += (double)(polar_bar * s.dkahn);
}

PHYS_FN void phys_scattering_vjp(const struct phys_frame *frame, int index,
                                 struct phys_vec3 d, struct phys_vec3 q_bar,
                                 struct phys_vec3 *d_bar, struct phys_frame_tangent *bar)
{
    const struct phys_source *a = frame->source + index;
    struct phys_source *v = bar->source + index;
    const real unit = (real)a->inverse_wavelength;
    const struct phys_vec3 way = phys_axpy(-1, phys_load(a->direction), d);

    v->inverse_wavelength += (double)phys_dot(q_bar, way);
    *d_bar = phys_axpy(unit, q_bar, *d_bar);
    phys_give(v->direction, -unit, q_bar);
}

PHYS_FN void phys_displacement_vjp(const struct phys_frame *frame, struct phys_vec3 q,
                                   real f_bar, struct phys_vec3 *q_bar,
                                   struct phys_frame_tangent *bar)
{
    const real b = (real)frame->b_factor, q2 = phys_dot(q, q);
    const real f = phys_displacement(b, q2);

    bar->b_factor -= (double)(f_bar * f * q2 / 2);
    *q_bar = phys_axpy(-f_bar * f * b, q, *q_bar);
}

/* what the lattice factor changes by with the numbers of the crystal */
PHYS_FN void phys_crystal_vjp(struct phys_crystal_slopes s, real latt_bar,
                              struct phys_frame_tangent *bar)
{
    phys_give(bar->ncells, latt_bar, s.dn);
    bar->peak += (double)(latt_bar * s.dpeak);
    bar->fudge += (double)(latt_bar * s.dfudge);
    bar->metric[0] += (double)(latt_bar * s.dhh);
    bar->metric[1] += (double)(latt_bar * s.dkk);
    bar->metric[2] += (double)(latt_bar * s.dll);
    bar->metric[3] += (double)(latt_bar * s.dhk);
    bar->metric[4] += (double)(latt_bar * s.dhl);
    bar->metric[5] += (double)(latt_bar * s.dkl);
}

/* a sample in one orientation: x = axes . q, with slopes x_bar; axes and q share them */
PHYS_FN void phys_indices_vjp(struct phys_axes axes, struct phys_vec3 q, struct phys_vec3 x,
                              struct phys_vec3 x_bar, double *strain, double *rotation,
                              struct phys_vec3 *q_bar)
{
    const struct phys_vec3 own =
        phys_axpy(x_bar.x, axes.a, phys_axpy(x_bar.y, axes.b, phys_scale(x_bar.z, axes.c)));

    *q_bar = phys_axpy(1, own, *q_bar);
    phys_give(rotation, 1, phys_cross(own, q)); /* (turn x a).q = turn.(a x q) */
    phys_give(strain, x_bar.x, x);
    phys_give(strain + 3, x_bar.y, x);
    phys_give(strain + 6, x_bar.z, x);
}

/* F^2 of a sample in orientation i */
PHYS_FN void phys_step_vjp(struct phys_spec spec, const struct phys_frame *frame,
                           const struct phys_view *view, int i, struct phys_vec3 q,
                           real f2_bar, struct phys_vec3 *q_bar,
                           struct phys_frame_tangent *bar)
{
    const struct phys_anchor anchor = phys_anchor_none(frame->orientation[i].axes);
    const struct phys_site site = phys_site(spec, &view->box, &anchor, q);
    const struct phys_sample sample = phys_sample(spec, &view->crystal, site);
    const struct phys_vec3 x = phys_anchor_indices(&anchor, q);
    const struct phys_vec3 x_bar =
        phys_vec3(f2_bar * sample.dh, f2_bar * sample.dk, f2_bar * sample.dl);
    const real latt = phys_lattice(spec, &view->crystal, site.d).f;
    const real f_bar = 2 * f2_bar * site.cell.f * latt;

    phys_indices_vjp(anchor.axes, q, x, x_bar, bar->strain, bar->rotation[i].by, q_bar);
    phys_crystal_vjp(phys_lattice_crystal(spec, &view->crystal, site.d),
                     f_bar * site.cell.f, bar);
    phys_structure_factor_vjp(spec, &view->box, x, phys_lattice_point(spec, x),
                              f_bar * latt, bar);
}

/* F^2 of the amorphous material */
PHYS_FN void phys_amorphous_vjp(const struct phys_frame *frame, struct phys_vec3 q,
                                real f2_bar, struct phys_vec3 *q_bar)
{
    const real length = sqrt(phys_dot(q, q));
    const real f = phys_amorphous(frame, length / 2);
    const real slope = phys_amorphous_slope(frame, length / 2);

    /* straight ahead the table is flat */
    if (length > 0) *q_bar = phys_axpy(f2_bar * f * slope / length, q, *q_bar);
}

/* cotangents of the sums of a pixel and of the factors that wait until its end */
struct phys_sums_bar {
    real bragg, amorphous, omega, polarization, capture;
    real weight; /* no cotangent: that of the sub-pixel at hand */
    int lit;
};

/* returns the cotangent of the weight, and adds that of the direction d */
PHYS_FN real phys_pixel_source_vjp(struct phys_spec spec, const struct phys_frame *frame,
                                   const struct phys_view *view, struct phys_vec3 d,
                                   int index, struct phys_sums_bar *sums_bar,
                                   struct phys_point_bar *point_bar,
                                   struct phys_frame_tangent *bar)
{
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 q =
        phys_scattering(d, phys_load(source->direction), (real)source->inverse_wavelength);
    const real q2 = phys_dot(q, q), own = (real)source->weight;
    const int passes = phys_passes_dmin((real)frame->dmin, q2);
    const real polar = frame->each_polar ? phys_source_polarization(frame, index, d) : 1;
    const real weight = sums_bar->weight, share = weight * polar * own;
    struct phys_vec3 q_bar = phys_vec3(0, 0, 0);
    real share_bar = 0;

    if (frame->amorphous_in_samples) {
        const real f = phys_amorphous(frame, sqrt(q2) / 2);

        share_bar += sums_bar->amorphous * f * f;
        phys_amorphous_vjp(frame, q, sums_bar->amorphous * share, &q_bar);
    }
    if (passes) {
        const real displaced = phys_displacement((real)frame->b_factor, q2);
        const real each = sums_bar->bragg * share * displaced;
        real sum = 0;

        for (int i = 0; i < frame->norientation; i++) {
            const struct phys_anchor anchor = phys_anchor_none(frame->orientation[i].axes);

            const real domain = (real)frame->orientation[i].weight;
            const real f2 = phys_step(spec, &view->crystal, &view->box, &anchor, q).f2;

            sum += domain * f2;
            bar->rotation[i].weight += (double)(each * f2);
            phys_step_vjp(spec, frame, view, i, q, each * domain, &q_bar, bar);
        }
        share_bar += sums_bar->bragg * displaced * sum;
        phys_displacement_vjp(frame, q, sums_bar->bragg * share * sum, &q_bar, bar);
    }
    bar->source[index].weight += (double)(share_bar * weight * polar);
    phys_scattering_vjp(frame, index, d, q_bar, &point_bar->d, bar);
    if (frame->each_polar)
        phys_polarization_vjp(frame, index, d, share_bar * weight * own, &point_bar->d,
                              bar);
    else if (passes && !sums_bar->lit) {
        phys_polarization_vjp(frame, index, d, sums_bar->polarization, &point_bar->d, bar);
        sums_bar->lit = 1;
    }
    return share_bar * polar * own;
}

/* of phys_pixel_amorphous() */
PHYS_FN void phys_pixel_amorphous_vjp(const struct phys_frame *frame,
                                      const struct phys_detector *det, int s, int f,
                                      real photons_bar, struct phys_frame_tangent *bar)
{
    const struct phys_sub front_place = phys_sub(frame->oversample, s, f, -1);
    const struct phys_point front = phys_point_of(det, front_place, 0);
    const real omega = phys_solid_angle(det, front);
    const real polar = phys_source_polarization(frame, 0, front.d);
    const real scale = (real)frame->amorphous_scale;
    struct phys_point_bar front_bar = {{0, 0, 0}, 0};
    real sum = 0, omega_bar = 0, polar_bar = 0;

    for (int layer = 0; layer < frame->nlayers; layer++) {
        const real t = (real)layer;
        const struct phys_sub place = front_place;
        const struct phys_point point = phys_point_of(det, place, t);
        const real capture = phys_capture(det, point, t);
        const real each = frame->each_omega ? phys_solid_angle(det, point) : omega;
        struct phys_point_bar point_bar = {{0, 0, 0}, 0};
        real weight_bar = 0;

        for (int i = 0; i < frame->nsource; i++) {
            const struct phys_source *source = frame->source + i;
            const struct phys_vec3 q =
                phys_scattering(point.d, phys_load(source->direction),
                                (real)source->inverse_wavelength);
            const real amplitude = phys_amorphous(frame, sqrt(phys_dot(q, q)) / 2);
            const real f2 = amplitude * amplitude, own = (real)source->weight;
            const real p =
                frame->each_polar ? phys_source_polarization(frame, i, point.d) : polar;
            const real p_bar = photons_bar * scale * capture * each * own * f2;
            struct phys_vec3 q_bar = phys_vec3(0, 0, 0);

            sum += capture * each * own * f2 * p;
            weight_bar += photons_bar * scale * own * f2 * p;
            bar->source[i].weight +=
                (double)(photons_bar * scale * capture * each * f2 * p);
            phys_amorphous_vjp(frame, q, photons_bar * scale * capture * each * own * p,
                               &q_bar);
            phys_scattering_vjp(frame, i, point.d, q_bar, &point_bar.d, bar);
            if (frame->each_polar)
                phys_polarization_vjp(frame, i, point.d, p_bar, &point_bar.d, bar);
            else
                polar_bar += p_bar;
        }
        phys_capture_vjp(det, point, t, weight_bar * each, &point_bar, bar);
        if (frame->each_omega)
            phys_solid_angle_vjp(frame, det, point, weight_bar * capture, &point_bar, bar);
        else
            omega_bar += weight_bar * capture;
        phys_point_vjp(frame, det, place, t, point_bar, bar);
    }
    bar->amorphous_scale += (double)(photons_bar * sum);
    phys_polarization_vjp(frame, 0, front.d, polar_bar, &front_bar.d, bar);
    phys_solid_angle_vjp(frame, det, front, omega_bar, &front_bar, bar);
    phys_point_vjp(frame, det, front_place, 0, front_bar, bar);
}

/* of phys_finish() */
PHYS_FN struct phys_sums_bar phys_finish_vjp(const struct phys_frame *frame,
                                             struct phys_sums s, real photons_bar,
                                             struct phys_frame_tangent *bar)
{
    const real bragg = (real)frame->bragg_scale, amorphous = (real)frame->amorphous_scale;
    const real samples = bragg * s.bragg + amorphous * s.amorphous;
    const real factors = s.omega * s.polarization * s.capture;
    struct phys_sums_bar r;

    bar->bragg_scale += (double)(photons_bar * s.bragg * factors);
    bar->amorphous_scale += (double)(photons_bar * s.amorphous * factors);
    r.bragg = photons_bar * bragg * factors;
    r.amorphous = photons_bar * amorphous * factors;
    r.omega = photons_bar * samples * s.polarization * s.capture;
    r.polarization = photons_bar * samples * s.omega * s.capture;
    r.capture = photons_bar * samples * s.omega * s.polarization;
    r.weight = 1;
    r.lit = 0;
    return r;
}

/* one layer of phys_pixel() */
PHYS_FN void phys_pixel_layer_vjp(struct phys_spec spec, const struct phys_frame *frame,
                                  const struct phys_view *view, int s, int f, int layer,
                                  struct phys_sums_bar *sums_bar,
                                  struct phys_frame_tangent *bar)
{
    const struct phys_detector *det = &view->detector;
    const real t = (real)layer;
    const int subs = frame->oversample * frame->oversample;
    const int last_layer = layer == frame->nlayers - 1;
    const struct phys_sub first = phys_sub(frame->oversample, s, f, 0);
    const struct phys_point front = phys_point_of(det, first, t);
    struct phys_point_bar front_bar = {{0, 0, 0}, 0};
    real front_capture_bar = 0, capture = phys_capture(det, front, t);

    for (int sub = 0; sub < subs; sub++) {
        const struct phys_sub place = phys_sub(frame->oversample, s, f, sub);
        const struct phys_point point = phys_point_of(det, place, t);
        const real omega = frame->each_omega ? phys_solid_angle(det, point) : 1;
        struct phys_point_bar point_bar = {{0, 0, 0}, 0};
        real weight_bar = 0, capture_bar;

        if (frame->each_capture) capture = phys_capture(det, point, t);
        sums_bar->weight = omega * (frame->last_capture ? 1 : capture);
        if (layer == 0 && sub == 0 && !frame->each_omega)
            phys_solid_angle_vjp(frame, det, point, sums_bar->omega, &point_bar, bar);
        for (int i = 0; i < frame->nsource; i++)
            weight_bar += phys_pixel_source_vjp(spec, frame, view, point.d, i, sums_bar,
                                                &point_bar, bar);
        if (frame->each_omega)
            phys_solid_angle_vjp(frame, det, point,
                                 weight_bar * (frame->last_capture ? 1 : capture),
                                 &point_bar, bar);
        capture_bar = weight_bar * omega;
        if (frame->last_capture)
            capture_bar = last_layer && sub == subs - 1 ? sums_bar->capture : 0;
        if (frame->each_capture)
            phys_capture_vjp(det, point, t, capture_bar, &point_bar, bar);
        else
            front_capture_bar += capture_bar;
        phys_point_vjp(frame, det, place, t, point_bar, bar);
    }
    phys_capture_vjp(det, front, t, front_capture_bar, &front_bar, bar);
    phys_point_vjp(frame, det, first, t, front_bar, bar);
}

/* adds to `bar` what photons_bar times the photons of pixel (f, s) change by */
PHYS_FN void phys_pixel_vjp(struct phys_spec spec, const struct phys_frame *frame,
                            const struct phys_view *view, int s, int f, real photons_bar,
                            struct phys_frame_tangent *bar)
{
    const struct phys_sums sums = phys_pixel(spec, frame, view, s, f);
    struct phys_sums_bar sums_bar = phys_finish_vjp(frame, sums, photons_bar, bar);

    for (int layer = 0; layer < frame->nlayers; layer++)
        phys_pixel_layer_vjp(spec, frame, view, s, f, layer, &sums_bar, bar);
    if (!frame->each_polar && !sums_bar.lit && !frame->dark_polar) {
        const struct phys_sub place = phys_sub(frame->oversample, s, f, 0);
        struct phys_point_bar point_bar = {{0, 0, 0}, 0};

        phys_polarization_vjp(frame, 0, phys_point_of(&view->detector, place, 0).d,
                              sums_bar.polarization, &point_bar.d, bar);
        phys_point_vjp(frame, &view->detector, place, 0, point_bar, bar);
    }
    if (frame->amorphous_scale != 0 && !frame->amorphous_in_samples)
        phys_pixel_amorphous_vjp(frame, &view->detector, s, f, photons_bar, bar);
}

#endif
