/*
 * rounding.c - estimates of the rounding error in a tile, for float and for double.
 *
 * In a tile the Miller indices are a fraction and its change, h = f + a.s, |f| <= 1/2 and
 * |a.s| <= x, so float leaves an error of about 2^-24 (1/2 + x) in h. F^2 over its peak
 * then changes by at most `reach` times this error. On the scenes of
 * tests/kernels/test_rounding.c the error of the worst pixel lies below the estimate.
 * SPDX-License-Identifier: MIT
 */
#include "kernels/rounding.h"

#include <math.h>

#include "physics/displacement.h"
#include "physics/tile/detector_plane.h"

/* Bounds of |d(F^2)/dx| for a peak of 1. For the square shape x = n h; for the round and
 * the gaussian shape x = rho. If a gaussian has fallen to e^-L, its relative slope is 2.2
 * sqrt(L) times as steep. An image that holds only tails is compared with its own peak, so
 * the slope of the gaussian is tripled. */
enum { AXES = 3 };
static const double slit_slope = 1.7, round_slope = 1.6, gauss_slope = 4.8;

/* An interpolated F changes with an index, too. The moduli of the derivatives of the four
 * weights along one axis sum to at most 7/3, the moduli of the weights on each other axis
 * to 5/4. So F^2 changes by at most 2 (7/3) (5/4)^2 of the largest listed F^2. This matters
 * for a crystal of few cells, whose spots are as wide as the distance of the nodes. The
 * rounding of the three cubics is below three units of F: in 20,000 blocks of random F the
 * worst error was 2.7 units. */
static const double tricubic_slope = 7.3, tricubic_units = 6;

/* The square shape has poles if a count of cells is not whole. Beside a pole the slope is
 * 2/|h|, without bound. Among a thousand pixels, the one nearest to a pole may have a slope
 * this many times the bound of the square shape without poles. */
static const double pole_slope = 1000;
static const double unit_single = 5.9604644775390625e-8,
                    unit_double = 2.220446049250313e-16;

/* Returns the largest 1/wavelength of the sources, 1/A. */
static double shortest_wave(const struct phys_frame *frame)
{
    double most = 0;

    for (int i = 0; i < frame->nsource; i++)
        most = fmax(most, frame->source[i].inverse_wavelength);
    return most;
}

/* If the peak of an image lies below this share of the brightest possible pixel, the image
 * holds only tails of spots. Float may have lost them: gaussian tails below least_gauss,
 * tails of other shapes below least_other, where the lattice factor times the displacement
 * factor nears the smallest float, 1e-38. */
static const double least_gauss = 1e-9, least_other = 1e-31;

/* Returns the largest displacement factor of F^2. The factor exceeds 1 if B is negative,
 * which makes spots brighter. */
static double displacement(const struct phys_frame *frame)
{
    return exp(fmin(phys_displacement_most(frame, 2 * shortest_wave(frame)), 80));
}

/* Returns the largest possible F^2 of a sample; float must be able to sum such numbers. */
static double largest_f2(const struct phys_frame *frame, struct phys_spec spec)
{
    const double *n = frame->ncells;
    const double cells = spec.shape == PHYS_SQUARE ? n[0] * n[1] * n[2] : frame->peak;
    /* the moduli of the four weights of interpolation sum to at most 5/4 along each axis */
    const double over = spec.lookup == PHYS_TRICUBIC ? 1.953125 : 1;
    const double f = over * frame->f_max * cells;

    return f * f * displacement(frame);
}

/* Returns 1 if each edge of the crystal is a whole number of cells. Otherwise the square
 * shape sin(pi n h)/sin(pi h) has poles at whole h other than 0. */
static int is_whole(const double ncells[3])
{
    return ncells[0] == rint(ncells[0]) && ncells[1] == rint(ncells[1])
           && ncells[2] == rint(ncells[2]);
}

struct rounding rounding_of(const struct phys_frame *frame, struct phys_spec spec)
{
    const double waves = shortest_wave(frame);
    const double profile = spec.shape == PHYS_GAUSS ? gauss_slope : round_slope;
    const int interpolated = spec.lookup == PHYS_TRICUBIC;
    struct rounding r;

    r.frame = frame;
    r.units = 25 + (interpolated ? tricubic_units : 0);
    /* No precision resolves the edge of a tophat or a pole. The curved detector of
     * nanoBragg is always computed in double. */
    r.poles = spec.shape == PHYS_SQUARE && !is_whole(frame->ncells);
    r.never = spec.shape == PHYS_TOPHAT || frame->surface == PHYS_CURVED_QUIRK || r.poles
              || largest_f2(frame, spec) > 1e32;
    for (int i = 0; i < AXES; i++) {
        const double *a = frame->orientation[0].axes + (size_t)3 * (size_t)i;

        r.reach[i] = spec.shape == PHYS_SQUARE
                         ? slit_slope * frame->ncells[i]
                         : profile * sqrt(fabs(frame->fudge) * frame->metric[i]);
        r.reach[i] += interpolated ? tricubic_slope : 0;
        r.edges[i] = waves * sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    }
    return r;
}

/* Returns a bound of the angle between any direction in a part of a tile and the middle of
 * that part, radian, if each edge of the tile is cut into `parts`. */
static double half_width(const struct phys_frame *frame, const struct tile *tile, int parts)
{
    const double fast = tile->fast + 0.5 * tile->width;
    const double slow = tile->slow + 0.5 * tile->height;
    const double half = 0.5 * frame->pixel * hypot(tile->width, tile->height);
    double square = 0, distance;

    for (int i = 0; i < AXES; i++) {
        const double p =
            frame->pix0[i] + frame->pixel * (fast * frame->fast[i] + slow * frame->slow[i]);

        square += p * p;
    }
    distance = sqrt(square) - half;
    return distance > half ? half / parts / distance : 2;
}

/* Returns the estimated rounding error for unit roundoff `unit`. The indices are numbers up
 * to `offset` plus their change over directions that differ by `width`, radian. */
static double estimate(const struct rounding *r, double unit, double width, double offset)
{
    double square = 0;

    for (int i = 0; i < AXES; i++) {
        const double error = r->reach[i] * unit * (offset + width * r->edges[i]);

        square += error * error;
    }
    /* The second term is the rounding of polynomials, products and sums. Fused
     * multiply-adds would remove a fifth of it. */
    return 1.45 * sqrt(square) + r->units * unit;
}

double rounding_single(const struct rounding *rounding, const struct tile *tile, int parts)
{
    if (rounding->never) return 1;
    return estimate(rounding, unit_single,
                    half_width(rounding->frame + tile->panel, tile, parts), 0.5);
}

double rounding_single_anywhere(const struct rounding *rounding, int width, int height)
{
    const struct phys_frame *f = rounding->frame;
    const double half = 0.5 * f->pixel * hypot(width, height);
    const double plane = phys_detector_plane(f, 0).distance;
    const double near = f->surface == PHYS_CURVED ? f->distance : plane;

    if (rounding->never) return 1;
    /* no tile is nearer to the crystal than the plane of the detector, or nanoBragg's
     * curved detector */
    return estimate(rounding, unit_single, near > 2 * half ? half / (near - half) : 2, 0.5);
}

double rounding_spot(const struct rounding *rounding, double radius)
{
    const double waves = shortest_wave(rounding->frame);

    if (rounding->never) return 1;
    /* the indices are counted from the reflection, and a patch is as wide as the spot */
    return estimate(rounding, unit_single, 2 * radius / waves, 0);
}

double rounding_double(const struct rounding *rounding)
{
    /* an index is rounded once, at the middle of the tile, where |d - i| <= 2 */
    return (rounding->poles ? pole_slope : 1) * estimate(rounding, unit_double, 2, 0.5);
}

/* ---- the brightest possible pixel ---- */

/* Returns the largest number of times that a pixel counts a reflection: its sub-pixels
 * times the orientations. With absorption the layers share the photons; without absorption
 * each layer counts them again. */
static double samples_of_pixel(const struct phys_frame *f)
{
    const double layers = f->layer_mu == 0 ? f->nlayers : 1;

    return (double)f->oversample * f->oversample * f->norientation * layers;
}

/* Returns the shortest distance of a pixel from the crystal, m. The solid angle of a pixel
 * is at most pixel_area() over the square of this distance. */
static double nearest_distance(const struct phys_frame *f)
{
    const double plane =
        phys_detector_plane(f, 0)
            .distance; /* along the normal of the plane; frame->normal may be wrong */

    return f->surface == PHYS_CURVED ? f->distance : plane;
}

/* Returns an upper bound of a pixel's area as seen from the crystal, m^2. */
static double pixel_area(const struct phys_frame *f)
{
    const double plane = phys_detector_plane(f, 0).distance;
    const double slant = f->surface == PHYS_CURVED ? 1 : fmax(1, f->close_distance / plane);

    return f->point_pixel ? 1 : f->pixel * f->pixel * slant;
}

/* Returns the largest solid angle of a pixel, sr. */
static double largest_angle(const struct job *job)
{
    double largest = 0;

    for (int i = 0; i < window_panels(job->window); i++) {
        const double near = nearest_distance(job->frame + i);

        largest = fmax(largest, pixel_area(job->frame + i) / (near * near));
    }
    return largest;
}

double rounding_brightest(const struct job *job)
{
    const struct phys_frame *f = job->frame;

    return largest_f2(f, job->spec) * samples_of_pixel(f) * fabs(f->bragg_scale)
           * largest_angle(job);
}

double rounding_largest_sum(const struct job *job)
{
    const struct phys_frame *f = job->frame;

    return largest_f2(f, job->spec) * samples_of_pixel(f)
           * (f->each_omega ? largest_angle(job) : 1);
}

int rounding_is_lost(const struct job *job, double peak)
{
    const double least = job->spec.shape == PHYS_GAUSS ? least_gauss : least_other;

    return peak < least * rounding_brightest(job);
}
