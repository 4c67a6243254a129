/*
 * step_vjp.h - the adjoint of one sample: from the cotangent of F^2 back to the source, the
 * direction, the place on the detector and the numbers of the frame. The reference kernel
 * and the kernels of a device share it.
 *
 * A name x_bar stands for the cotangent of x: dL/dx, where L is the objective, the scalar
 * whose gradient is computed. The caller owns the destinations: number[PHYS_AT_x] is the
 * cotangent of the number x of the frame, in `real`, and a struct phys_source_bar holds the
 * cotangents of one source. The cotangent of a direction omits the weight of the sample,
 * because the caller multiplies by it; all others include the parameter `weight`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_STEP_VJP_H
#define NB_PHYSICS_STEP_VJP_H

#include "amorphous.h"
#include "displacement.h"
#include "frame_tangent.h"
#include "pixel_position.h"
#include "polarization.h"
#include "scattering.h"
#include "spec.h"

/* The cotangents of a sample's direction and distance. */
struct phys_point_bar {
    struct phys_vec3 d;
    real r;
};

/* The cotangents of a source's members. */
struct phys_source_bar {
    struct phys_vec3 direction, e, b;
    real inverse_wavelength, weight;
};

PHYS_ASSERT(sizeof(struct phys_source_bar) == PHYS_SOURCE_NUMBERS * sizeof(real),
            "every member of a source has a cotangent");

PHYS_FN struct phys_source_bar phys_source_bar_zero(void)
{
    struct phys_source_bar bar;

    bar.direction = bar.e = bar.b = phys_vec3(0, 0, 0);
    bar.inverse_wavelength = bar.weight = 0;
    return bar;
}

/* Returns the inner product of a source's cotangent and its tangent. */
PHYS_FN real phys_source_bar_inner(const struct phys_source_bar *bar,
                                   const struct phys_source *dot)
{
    return phys_dot(bar->direction, phys_load(dot->direction))
           + phys_dot(bar->e, phys_load(dot->e)) + phys_dot(bar->b, phys_load(dot->b))
           + bar->inverse_wavelength * (real)dot->inverse_wavelength
           + bar->weight * (real)dot->weight;
}

/* Adds v to the three numbers at `to`. */
PHYS_FN void phys_add_vec3(real *to, struct phys_vec3 v)
{
    to[0] += v.x;
    to[1] += v.y;
    to[2] += v.z;
}

/* ---- the factors of a sample ---- */

/* Propagates the cotangent of the solid angle of a place at distance r. solid_angle_bar is
 * that cotangent times the solid angle. */
PHYS_FN void phys_solid_angle_vjp(const struct phys_frame *frame,
                                  const struct phys_detector *det, real r,
                                  real solid_angle_bar, struct phys_point_bar *point_bar,
                                  real *number)
{
    const struct phys_omega_slopes s = phys_solid_angle_scaled(det, r, solid_angle_bar);

    point_bar->r += s.dr;
    number[PHYS_AT_close_distance] += s.dclose;
    if (!frame->point_pixel) number[PHYS_AT_pixel] += s.darea * (2 * (real)frame->pixel);
}

/* Propagates the cotangent of the fraction captured in layer t of the sensor. */
PHYS_FN void phys_capture_vjp(const struct phys_detector *det, struct phys_point point,
                              real t, real capture_bar, struct phys_point_bar *point_bar,
                              real *number)
{
    const struct phys_capture_slopes s = phys_capture_slopes(det, point, t);
    const real cosine_bar = capture_bar * s.dcosine;

    point_bar->d = phys_axpy(cosine_bar, det->normal, point_bar->d);
    phys_add_vec3(number + PHYS_AT_normal, phys_scale(cosine_bar, point.d));
    number[PHYS_AT_layer_mu] += capture_bar * s.dmu;
}

/* Propagates the cotangent of the polarization of source `index` in direction d. */
PHYS_FN void phys_polarization_vjp(const struct phys_frame *frame, int index,
                                   struct phys_vec3 d, real polar_bar, real weight,
                                   struct phys_vec3 *d_bar, real *number,
                                   struct phys_source_bar *source_bar)
{
    const struct phys_source *source = frame->source + index;
    const real weighted = weight * polar_bar;
    struct phys_polarization_slopes s;

    if (!frame->polarised) return;
    s = phys_polarization_slopes((real)frame->kahn, phys_load(source->direction),
                                 phys_load(source->e), phys_load(source->b), d);
    *d_bar = phys_axpy(polar_bar, s.dd, *d_bar);
    number[PHYS_AT_kahn] += weighted * s.dkahn;
    source_bar->direction = phys_axpy(weighted, s.dincident, source_bar->direction);
    source_bar->e = phys_axpy(weighted, s.de, source_bar->e);
    source_bar->b = phys_axpy(weighted, s.db, source_bar->b);
}

/* ---- the sample and its source ---- */

/* Propagates `slope`, dL/d(direction of the sample), to the source. F depends only on
 * `way`, the sample's direction less the direction of the light. */
PHYS_FN void phys_scattering_vjp(const struct phys_source *source, struct phys_vec3 way,
                                 struct phys_vec3 slope, real weight,
                                 struct phys_source_bar *source_bar)
{
    source_bar->direction = phys_axpy(-weight, slope, source_bar->direction);
    source_bar->inverse_wavelength +=
        weight * phys_dot(slope, way) / (real)source->inverse_wavelength;
}

/* The sums of a sample over all orientations under one source. */
struct phys_source_sums {
    real f2; /* sum of F^2 over all orientations, with their weights */
    struct phys_vec3 slope; /* dF^2/d(direction of the sample) */
    real fall, polar; /* displacement factor, 0 beyond dmin; polarization, 1 if per pixel */
    real weight; /* weight of the sample without the factors that differ between sources */
};

/* Propagates the cotangents of a sample in direction d under source `index`. The part added
 * to d_bar lacks the weight of the sample; all other cotangents contain it. Returns
 * dL/d(weight). */
PHYS_FN real phys_source_vjp(const struct phys_frame *frame, int index, struct phys_vec3 d,
                             struct phys_vec3 way, const struct phys_source_sums *sums,
                             struct phys_vec3 *d_bar, real *number,
                             struct phys_source_bar *source_bar)
{
    const struct phys_source *source = frame->source + index;
    const real source_weight = (real)source->weight,
               unit = (real)source->inverse_wavelength;
    const real part = sums->fall * sums->polar, share = source_weight * part,
               weight = sums->weight;
    const struct phys_vec3 slope = phys_displacement_slope(phys_displacement_b(frame), unit,
                                                           way, sums->f2, sums->slope);

    number[PHYS_AT_DISPLACEMENT] +=
        phys_displacement_vjp(weight * share * sums->f2 * unit * unit * phys_dot(way, way));
    *d_bar = phys_axpy(share, slope, *d_bar);
    source_bar->weight += weight * part * sums->f2;
    phys_scattering_vjp(source, way, slope, weight * share, source_bar);
    if (frame->each_polar)
        phys_polarization_vjp(frame, index, d, sums->fall * sums->f2 * source_weight,
                              weight, d_bar, number, source_bar);
    return share * sums->f2;
}

/* Propagates the cotangent of F^2 of the amorphous material under source `index` in
 * direction d. `factor` is the product of everything that multiplies F^2, except the weight
 * of the source and, if every sample has its own, the polarization. Returns F^2 times these
 * two. */
PHYS_FN real phys_amorphous_vjp(const struct phys_frame *frame, int index,
                                struct phys_vec3 d, real factor, struct phys_vec3 *d_bar,
                                real *number, struct phys_source_bar *source_bar)
{
    const struct phys_source *source = frame->source + index;
    const struct phys_vec3 way = phys_axpy(-1, phys_load(source->direction), d);
    const real length = sqrt(phys_dot(way, way)),
               half = (real)source->inverse_wavelength / 2;
    const real f = phys_amorphous(frame, length * half),
               source_weight = (real)source->weight;
    const real slope = 2 * f * phys_amorphous_slope(frame, length * half);
    const real polar =
        frame->each_polar && frame->polarised
            ? phys_polarization((real)frame->kahn, phys_load(source->direction),
                                phys_load(source->e), phys_load(source->b), d)
            : 1;
    /* at q = 0 the slope of F is 0, and the direction of `way` is undefined */
    const real per_way =
        length > 0 ? factor * source_weight * polar * slope * half / length : 0;
    const struct phys_vec3 slope_bar = phys_scale(per_way, way);

    *d_bar = phys_axpy(1, slope_bar, *d_bar);
    source_bar->weight += factor * polar * f * f;
    phys_scattering_vjp(source, way, slope_bar, 1, source_bar);
    if (frame->each_polar)
        phys_polarization_vjp(frame, index, d, factor * source_weight * f * f, 1, d_bar,
                              number, source_bar);
    return source_weight * polar * f * f;
}

/* ---- the crystal ---- */

/* Returns dL/dv from the cotangents of h, k, l, where (h, k, l) = axes v. For axes in A, v
 * is the scattering vector, 1/A; for axes divided by the wavelength, v is the direction of
 * the sample. */
PHYS_FN struct phys_vec3 phys_indices_vjp(struct phys_axes axes, struct phys_vec3 x_bar)
{
    return phys_axpy(x_bar.x, axes.a,
                     phys_axpy(x_bar.y, axes.b, phys_scale(x_bar.z, axes.c)));
}

/* Adds the cotangent of the strain. Axis i changes by the sum over j of strain[3 i + j]
 * times axis j, so this cotangent is x_bar[i] x[j], x = (h, k, l). */
PHYS_FN void phys_strain_vjp(struct phys_vec3 x, struct phys_vec3 x_bar, real strain[9])
{
    phys_add_vec3(strain, phys_scale(x_bar.x, x));
    phys_add_vec3(strain + 3, phys_scale(x_bar.y, x));
    phys_add_vec3(strain + 6, phys_scale(x_bar.z, x));
}

/* ---- the place on the detector ---- */

/* Returns dL/d(place), 1/m, from the cotangents of the direction d and of the distance of
 * a sample. per_length is one over the distance of its place on the flat detector, 1/m. */
PHYS_FN struct phys_vec3 phys_place_vjp(int curved, struct phys_vec3 d, real per_length,
                                        struct phys_point_bar point_bar, real *number)
{
    const real along = (curved ? 0 : point_bar.r) - per_length * phys_dot(d, point_bar.d);

    if (curved) number[PHYS_AT_distance] += point_bar.r;
    return phys_axpy(along, d, phys_scale(per_length, point_bar.d));
}

/* Sums over the samples of one layer. `place` is the sum of the cotangents of their
 * places. `fast` and `slow` are the sums of these cotangents times the sample's offset from
 * the outer corner of the detector along the fast and slow axis, in sub-pixels. */
struct phys_place_sums {
    double place[3], fast[3], slow[3];
};

/* Adds dL/d(number) for the numbers of the detector to number[PHYS_AT_x * stride], from the
 * sums of a layer at `depth`, m. The numbers are in double, because the sums are over many
 * samples. */
PHYS_FN void phys_places_vjp(const struct phys_frame *frame, int layer, double depth,
                             const struct phys_place_sums *sums, double *number,
                             long long stride)
{
    const double over = frame->oversample, sub = frame->pixel / over;

    for (int k = 0; k < 3; k++) {
        const double place = sums->place[k], fast = sums->fast[k], slow = sums->slow[k];
        const double into = frame->normal[k] * place;

        number[(PHYS_AT_pix0 + k) * stride] += place;
        number[(PHYS_AT_fast + k) * stride] += sub * fast;
        number[(PHYS_AT_slow + k) * stride] += sub * slow;
        number[(PHYS_AT_normal + k) * stride] += depth * place;
        number[PHYS_AT_pixel * stride] +=
            (frame->fast[k] * fast + frame->slow[k] * slow) / over;
        number[PHYS_AT_layer_offset * stride] += into;
        number[PHYS_AT_layer_step * stride] += layer * into;
    }
}

/* ---- the pixel ---- */

/* Adds dL/d(number), for the numbers that multiply the sum over all samples, to
 * number[PHYS_AT_x * stride]. `sum` is the cotangent of a pixel's photons times these
 * photons over bragg_scale, or the sum of these products over pixels. */
PHYS_FN void phys_scales_vjp(struct phys_spec spec, const struct phys_frame *frame,
                             double sum, double *number, long long stride)
{
    const double photons = sum * frame->bragg_scale;

    number[PHYS_AT_bragg_scale * stride] += sum;
    if (spec.shape != PHYS_SQUARE)
        number[PHYS_AT_peak * stride] += 2 * photons / frame->peak;
    if (spec.lookup == PHYS_CONSTANT && frame->default_f != 0)
        number[PHYS_AT_default_f * stride] += 2 * photons / frame->default_f;
}

#endif
