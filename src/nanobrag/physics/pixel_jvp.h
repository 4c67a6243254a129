/*
 * pixel_jvp.h - the tangent of pixel.h: what the photons of a pixel change by along a
 * change of the frame. The loops are those of pixel.h, line by line; each value stands
 * beside its own change.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_PIXEL_JVP_H
#define NB_PHYSICS_PIXEL_JVP_H

#include "frame_tangent.h"
#include "pixel.h"

/* a number and its change along the direction */
struct phys_moving {
    real f, dot;
};

PHYS_FN struct phys_moving phys_moving(real f, real dot)
{
    struct phys_moving m;

    m.f = f;
    m.dot = dot;
    return m;
}

PHYS_FN struct phys_moving phys_times(struct phys_moving a, struct phys_moving b)
{
    return phys_moving(a.f * b.f, a.dot * b.f + a.f * b.dot);
}

/* a += b */
PHYS_FN void phys_gather(struct phys_moving *a, struct phys_moving b)
{
    a->f += b.f;
    a->dot += b.dot;
}

/* a sample, and how its direction and distance change */
struct phys_point_moving {
    struct phys_point at;
    struct phys_vec3 d;
    real r;
};

/* fast, slow: as in phys_point(); `depth` of layer t */
PHYS_FN struct phys_point_moving phys_point_jvp(const struct phys_frame *frame,
                                                const struct phys_detector *det,
                                                const struct phys_frame_tangent *dot,
                                                real fast, real slow, real t)
{
    const real depth = det->layer_offset + t * det->layer_step;
    const real depth_dot = (real)dot->layer_offset + t * (real)dot->layer_step;
    const real sub_dot = (real)(dot->pixel / frame->oversample);
    const struct phys_vec3 flat = phys_flat(det, fast, slow, depth);
    const struct phys_vec3 axes_dot =
        phys_axpy(det->sub * fast, phys_load(dot->fast),
                  phys_axpy(det->sub * slow, phys_load(dot->slow),
                            phys_axpy(depth, phys_load(dot->normal),
                                      phys_load(dot->pix0))));
    const struct phys_vec3 p_dot =
        phys_axpy(sub_dot * fast, det->fast,
                  phys_axpy(sub_dot * slow, det->slow,
                            phys_axpy(depth_dot, det->normal, axes_dot)));
    const real per_length = 1 / sqrt(phys_dot(flat, flat));
    struct phys_point_moving m;
    real along;

    m.at = phys_point(det, fast, slow, depth);
    along = phys_dot(m.at.d, p_dot);
    m.d = phys_scale(per_length, phys_axpy(-along, m.at.d, p_dot));
    m.r = det->surface == PHYS_CURVED ? (real)dot->distance : along;
    return m;
}

/* sub-pixel `sub` of pixel (f, s) in layer t; -1: its centre */
PHYS_FN struct phys_point_moving phys_sub_pixel_jvp(const struct phys_frame *frame,
                                                    const struct phys_detector *det,
                                                    const struct phys_frame_tangent *dot,
                                                    int s, int f, int sub, real t)
{
    const struct phys_sub place = phys_sub(frame->oversample, s, f, sub);

    return phys_point_jvp(frame, det, dot, place.fast, place.slow, t);
}

PHYS_FN struct phys_moving phys_solid_angle_jvp(const struct phys_frame *frame,
                                                const struct phys_detector *det,
                                                const struct phys_frame_tangent *dot,
                                                struct phys_point_moving p)
{
    const struct phys_omega_slopes s = phys_solid_angle_slopes(det, p.at);
    const real area_dot = frame->point_pixel ? 0 : (real)(2 * frame->pixel * dot->pixel);

    return phys_moving(phys_solid_angle(det, p.at),
                       s.dr * p.r + s.dclose * (real)dot->close_distance
                           + s.darea * area_dot);
}

PHYS_FN struct phys_moving phys_capture_jvp(const struct phys_detector *det,
                                            const struct phys_frame_tangent *dot,
                                            struct phys_point_moving p, real t)
{
    const struct phys_capture_slopes s = phys_capture_slopes(det, p.at, t);
    const real cosine_dot =
        phys_dot(p.d, det->normal) + phys_dot(p.at.d, phys_load(dot->normal));

    return phys_moving(phys_capture(det, p.at, t),
                       s.dcosine * cosine_dot + s.dmu * (real)dot->layer_mu);
}

PHYS_FN struct phys_moving phys_polarization_jvp(const struct phys_frame *frame,
                                                 const struct phys_frame_tangent *dot,
                                                 int index, struct phys_point_moving p)
{
    const struct phys_source *a = frame->source + index, *v = dot->source + index;
    const struct phys_polarization_slopes s =
        phys_polarization_slopes((real)frame->kahn, phys_load(a->direction),
                                 phys_load(a->e), phys_load(a->b), p.at.d);

    if (!frame->polarised) return phys_moving(1, 0);
    return phys_moving(phys_source_polarization(frame, index, p.at.d),
                       phys_dot(s.dincident, phys_load(v->direction))
                           + phys_dot(s.de, phys_load(v->e))
                           + phys_dot(s.db, phys_load(v->b)) + phys_dot(s.dd, p.d)
                           + s.dkahn * (real)dot->kahn);
}

/* a scattering vector and its change */
struct phys_vec3_moving {
    struct phys_vec3 at, dot;
};

PHYS_FN struct phys_vec3_moving phys_scattering_jvp(const struct phys_frame *frame,
                                                    const struct phys_frame_tangent *dot,
                                                    int index, struct phys_point_moving p)
{
    const struct phys_source *a = frame->source + index, *v = dot->source + index;
    const struct phys_vec3 incident = phys_load(a->direction);
    const real unit = (real)a->inverse_wavelength;
    struct phys_vec3_moving q;

    q.at = phys_scattering(p.at.d, incident, unit);
    q.dot = phys_axpy((real)v->inverse_wavelength, phys_axpy(-1, incident, p.at.d),
                      phys_scale(unit, phys_axpy(-1, phys_load(v->direction), p.d)));
    return q;
}

PHYS_FN struct phys_moving phys_displacement_jvp(const struct phys_frame *frame,
                                                 const struct phys_frame_tangent *dot,
                                                 struct phys_vec3_moving q)
{
    const real b = (real)frame->b_factor, q2 = phys_dot(q.at, q.at);
    const real f = phys_displacement(b, q2);

    return phys_moving(f, -f
                              * ((real)0.5 * (real)dot->b_factor * q2
                                 + b * phys_dot(q.at, q.dot)));
}

/* what the lattice factor changes by with the numbers of the crystal */
PHYS_FN real phys_crystal_jvp(struct phys_crystal_slopes s,
                              const struct phys_frame_tangent *dot)
{
    return phys_dot(s.dn, phys_load(dot->ncells)) + s.dpeak * (real)dot->peak
           + s.dfudge * (real)dot->fudge + s.dhh * (real)dot->metric[0]
           + s.dkk * (real)dot->metric[1] + s.dll * (real)dot->metric[2]
           + s.dhk * (real)dot->metric[3] + s.dhl * (real)dot->metric[4]
           + s.dkl * (real)dot->metric[5];
}

/* F^2 of a sample in orientation i */
PHYS_FN struct phys_moving phys_step_jvp(struct phys_spec spec,
                                         const struct phys_frame *frame,
                                         const struct phys_view *view,
                                         const struct phys_frame_tangent *dot, int i,
                                         struct phys_vec3_moving q)
{
    const struct phys_anchor anchor = phys_anchor_none(frame->orientation[i].axes);
    const struct phys_site site = phys_site(spec, &view->box, &anchor, q.at);
    const struct phys_sample sample = phys_sample(spec, &view->crystal, site);
    const struct phys_vec3 x = phys_anchor_indices(&anchor, q.at);
    const struct phys_vec3 n = phys_lattice_point(spec, x);
    const struct phys_vec3 turned = /* (turn x a).q = a.(q x turn) */
        phys_axpy(1, q.dot, phys_cross(q.at, phys_load(dot->rotation[i].by)));
    const struct phys_vec3 moved = phys_anchor_indices(&anchor, turned);
    const struct phys_vec3 h = phys_load(dot->strain), k = phys_load(dot->strain + 3),
                           l = phys_load(dot->strain + 6);
    const real latt = phys_lattice(spec, &view->crystal, site.d).f;
    const real latt_dot =
        phys_crystal_jvp(phys_lattice_crystal(spec, &view->crystal, site.d), dot);
    struct phys_box change = view->box;
    real f_dot;

    change.f = (const real *)dot->f;
    change.outside = (real)dot->default_f;
    /* no box: those that are looked up stay */
    f_dot = spec.lookup == PHYS_CONSTANT || dot->f
                ? phys_structure_factor(spec, &change, x, n).f
                : 0;
    return phys_moving(sample.f2, sample.dh * (moved.x + phys_dot(h, x))
                                      + sample.dk * (moved.y + phys_dot(k, x))
                                      + sample.dl * (moved.z + phys_dot(l, x))
                                      + 2 * site.cell.f * latt
                                            * (site.cell.f * latt_dot + f_dot * latt));
}

/* F^2 of the amorphous material */
PHYS_FN struct phys_moving phys_amorphous_jvp(const struct phys_frame *frame,
                                              struct phys_vec3_moving q)
{
    const real length = sqrt(phys_dot(q.at, q.at));
    const real f = phys_amorphous(frame, length / 2);
    const real slope = phys_amorphous_slope(frame, length / 2);
    /* straight ahead the table is flat */
    const real f_dot = length > 0 ? slope * phys_dot(q.at, q.dot) / (2 * length) : 0;

    return phys_moving(f * f, 2 * f * f_dot);
}

/* phys_sums and their changes */
struct phys_sums_moving {
    struct phys_moving bragg, amorphous, centre, omega, polarization, capture;
    int lit;
};

PHYS_FN void phys_pixel_source_jvp(struct phys_spec spec, const struct phys_frame *frame,
                                   const struct phys_view *view,
                                   const struct phys_frame_tangent *dot,
                                   struct phys_point_moving p, int index,
                                   struct phys_moving weight, struct phys_sums_moving *sums)
{
    const struct phys_vec3_moving q = phys_scattering_jvp(frame, dot, index, p);
    const int passes = phys_passes_dmin((real)frame->dmin, phys_dot(q.at, q.at));
    const struct phys_moving polar = phys_polarization_jvp(frame, dot, index, p);
    struct phys_moving sum = phys_moving(0, 0);

    if (frame->each_polar)
        weight = phys_times(weight, polar);
    else if (passes && !sums->lit) {
        sums->polarization = polar;
        sums->lit = 1;
    }
    weight = phys_times(weight, phys_moving((real)frame->source[index].weight,
                                            (real)dot->source[index].weight));
    if (frame->amorphous_in_samples)
        phys_gather(&sums->amorphous, phys_times(weight, phys_amorphous_jvp(frame, q)));
    if (!passes) return;
    for (int i = 0; i < frame->norientation; i++) {
        const struct phys_moving own =
            phys_moving((real)frame->orientation[i].weight, (real)dot->rotation[i].weight);

        phys_gather(&sum, phys_times(own, phys_step_jvp(spec, frame, view, dot, i, q)));
    }
    weight = phys_times(weight, phys_displacement_jvp(frame, dot, q));
    phys_gather(&sums->bragg, phys_times(weight, sum));
}

PHYS_FN struct phys_moving phys_pixel_amorphous_jvp(const struct phys_frame *frame,
                                                    const struct phys_detector *det,
                                                    const struct phys_frame_tangent *dot,
                                                    int s, int f)
{
    const struct phys_point_moving front = phys_sub_pixel_jvp(frame, det, dot, s, f, -1, 0);
    const struct phys_moving omega = phys_solid_angle_jvp(frame, det, dot, front);
    const struct phys_moving polar = phys_polarization_jvp(frame, dot, 0, front);
    struct phys_moving sum = phys_moving(0, 0);

    for (int layer = 0; layer < frame->nlayers; layer++) {
        const struct phys_point_moving p =
            phys_sub_pixel_jvp(frame, det, dot, s, f, -1, (real)layer);
        const struct phys_moving weight =
            phys_times(phys_capture_jvp(det, dot, p, (real)layer),
                       frame->each_omega ? phys_solid_angle_jvp(frame, det, dot, p)
                                         : omega);

        for (int i = 0; i < frame->nsource; i++) {
            const struct phys_moving source =
                phys_moving((real)frame->source[i].weight, (real)dot->source[i].weight);
            const struct phys_moving f2 =
                phys_amorphous_jvp(frame, phys_scattering_jvp(frame, dot, i, p));

            phys_gather(&sum,
                        phys_times(phys_times(weight, source),
                                   phys_times(f2,
                                              frame->each_polar
                                                  ? phys_polarization_jvp(frame, dot, i, p)
                                                  : polar)));
        }
    }
    return phys_times(phys_moving((real)frame->amorphous_scale, (real)dot->amorphous_scale),
                      sum);
}

/* photons from the sums */
PHYS_FN struct phys_moving phys_finish_jvp(const struct phys_frame *frame,
                                           const struct phys_frame_tangent *dot,
                                           struct phys_sums_moving s)
{
    struct phys_moving photons =
        phys_times(phys_moving((real)frame->bragg_scale, (real)dot->bragg_scale), s.bragg);

    phys_gather(&photons, phys_times(phys_moving((real)frame->amorphous_scale,
                                                 (real)dot->amorphous_scale),
                                     s.amorphous));
    photons =
        phys_times(phys_times(photons, s.omega), phys_times(s.polarization, s.capture));
    phys_gather(&photons, s.centre);
    return photons;
}

PHYS_FN struct phys_sums_moving phys_sums_moving_start(void)
{
    struct phys_sums_moving s;

    s.bragg = s.amorphous = s.centre = phys_moving(0, 0);
    s.omega = s.polarization = s.capture = phys_moving(1, 0);
    s.lit = 0;
    return s;
}

/* photons of pixel (f, s) and their change */
PHYS_FN struct phys_moving phys_pixel_jvp(struct phys_spec spec,
                                          const struct phys_frame *frame,
                                          const struct phys_view *view,
                                          const struct phys_frame_tangent *dot, int s,
                                          int f)
{
    const int n = frame->oversample;
    const struct phys_detector *det = &view->detector;
    struct phys_sums_moving sums = phys_sums_moving_start();
    struct phys_moving first_polar = phys_moving(1, 0);

    for (int layer = 0; layer < frame->nlayers; layer++) {
        struct phys_moving capture = phys_moving(1, 0);

        for (int sub = 0; sub < n * n; sub++) {
            const struct phys_point_moving p =
                phys_sub_pixel_jvp(frame, det, dot, s, f, sub, (real)layer);
            struct phys_moving weight = phys_moving(1, 0);

            if (layer == 0 && sub == 0) {
                first_polar = phys_polarization_jvp(frame, dot, 0, p);
                if (!frame->each_omega)
                    sums.omega = phys_solid_angle_jvp(frame, det, dot, p);
            }
            if (frame->each_omega) weight = phys_solid_angle_jvp(frame, det, dot, p);
            if (sub == 0 || frame->each_capture)
                capture = phys_capture_jvp(det, dot, p, (real)layer);
            if (frame->last_capture)
                sums.capture = capture;
            else
                weight = phys_times(weight, capture);
            for (int i = 0; i < frame->nsource; i++)
                phys_pixel_source_jvp(spec, frame, view, dot, p, i, weight, &sums);
        }
    }
    if (!frame->each_polar && !sums.lit)
        sums.polarization = frame->dark_polar ? phys_moving(0, 0) : first_polar;
    if (frame->amorphous_scale != 0 && !frame->amorphous_in_samples)
        sums.centre = phys_pixel_amorphous_jvp(frame, det, dot, s, f);
    return phys_finish_jvp(frame, dot, sums);
}

#endif
