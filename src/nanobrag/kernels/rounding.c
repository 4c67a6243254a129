/*
 * rounding.c - see rounding.h.
 *
 * In a tile the Miller indices are a fraction and its change, h = f + a.s, |f| <= 1/2 and
 * |a.s| <= x, so float leaves an error of about 2^-24 (1/2 + x) in h; F^2 over its peak
 * changes by at most `reach` times that. Measured on scenes of every kind, the worst pixel
 * lies below the estimate (tests/kernels/test_rounding.c). SPDX-License-Identifier: MIT
 */
#include "kernels/rounding.h"

#include <math.h>

#include "physics/detector_plane.h"
#include "physics/displacement.h"

/* Steepest slopes: of (sin n x/(n sin x))^2 per n h, and of the round and the gaussian
 * profile, squared, per rho. In the tails of a gaussian the slope is 2.2 sqrt(L) times that
 * of what is left at e^-L of the peak: an image of tails alone is judged by its own peak,
 * and so the gaussian counts threefold. */
enum { AXES = 3 };
static const double slit_slope = 1.7, round_slope = 1.6, gauss_slope = 4.8;
static const double unit_single = 5.9604644775390625e-8,
                    unit_double = 2.220446049250313e-16;

static double shortest_wave(const struct phys_frame *frame)
{
    double most = 0;

    for (int i = 0; i < frame->nsource; i++)
        most = fmax(most, frame->source[i].inverse_wavelength);
    return most;
}

/* below this share of the brightest there can be, an image is taken for tails so far out
 * that float lost them */
static const double least_single = 1e-9;

/* the largest displacement factor: a negative B makes spots brighter */
static double displacement(const struct phys_frame *frame)
{
    return exp(fmin(phys_displacement_most(frame, 2 * shortest_wave(frame)), 80));
}

/* the largest F^2, which float must be able to add up */
static double largest(const struct phys_frame *frame, struct phys_spec spec)
{
    const double *n = frame->ncells;
    const double cells = spec.shape == PHYS_SQUARE ? n[0] * n[1] * n[2] : frame->peak;
    /* of the four weights on each axis of a tricubic look-up: at most 5/4 in sum */
    const double over = spec.lookup == PHYS_TRICUBIC ? 1.953125 : 1;
    const double f = over * frame->f_max * cells;

    return f * f * displacement(frame);
}

struct rounding rounding_of(const struct phys_frame *frame, struct phys_spec spec)
{
    const double waves = shortest_wave(frame);
    const double profile = spec.shape == PHYS_GAUSS ? gauss_slope : round_slope;
    struct rounding r;

    r.frame = frame;
    /* the edge of a top hat is sharper than any digit; nanoBragg's curved detector is only
     * known to double */
    r.never = spec.shape == PHYS_TOPHAT || frame->surface == PHYS_CURVED_QUIRK
              || largest(frame, spec) > 1e32;
    for (int i = 0; i < AXES; i++) {
        const double *a = frame->orientation[0].axes + (size_t)3 * (size_t)i;

        r.reach[i] = spec.shape == PHYS_SQUARE
                         ? slit_slope * frame->ncells[i]
                         : profile * sqrt(fabs(frame->fudge) * frame->metric[i]);
        r.edges[i] = waves * sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    }
    return r;
}

/* how far directions within a part of a tile, one of `parts` along each edge, turn from its
 * middle; wherever in the tile it lies */
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

static double estimate(const struct rounding *r, double unit, double width, double offset)
{
    double square = 0;

    for (int i = 0; i < AXES; i++) {
        const double error = r->reach[i] * unit * (offset + width * r->edges[i]);

        square += error * error;
    }
    /* what polynomials, products and sums round besides; a fifth of it only where products
     * are rounded before they are added */
    return 1.45 * sqrt(square) + 25 * unit;
}

double rounding_single(const struct rounding *rounding, const struct tile *tile, int parts)
{
    if (rounding->never) return 1;
    return estimate(rounding, unit_single, half_width(rounding->frame, tile, parts), 0.5);
}

double rounding_single_anywhere(const struct rounding *rounding, int width, int height)
{
    const struct phys_frame *f = rounding->frame;
    const double half = 0.5 * f->pixel * hypot(width, height);
    const double plane = phys_detector_plane(f, 0).distance;
    const double near = f->surface == PHYS_CURVED ? f->distance : plane;

    if (rounding->never) return 1;
    /* from a tile's middle, which is no nearer than the plane */
    return estimate(rounding, unit_single, near > 2 * half ? half / (near - half) : 2, 0.5);
}

double rounding_spot(const struct rounding *rounding, double radius)
{
    const double waves = shortest_wave(rounding->frame);

    if (rounding->never) return 1;
    /* indices start at 0; a patch is as wide as the spot */
    return estimate(rounding, unit_single, 2 * radius / waves, 0);
}

double rounding_double(const struct rounding *rounding)
{
    /* the whole index is rounded once, at the middle of the tile: |d - i| <= 2 */
    return estimate(rounding, unit_double, 2, 0.5);
}

/* ---- against the brightest spot ---- */

/* samples of a pixel, each orientation counted; layers share a photon, but without
 * absorption each counts it */
static double samples_of(const struct phys_frame *f)
{
    const double layers = f->layer_mu == 0 ? f->nlayers : 1;

    return (double)f->oversample * f->oversample * f->norientation * layers;
}

/* the solid angle of a pixel is at most area / near^2 */
static double near_of(const struct phys_frame *f)
{
    const double plane =
        phys_detector_plane(f, 0).distance; /* not so far as a false normal says */

    return f->surface == PHYS_CURVED ? f->distance : plane;
}

static double area_of(const struct phys_frame *f)
{
    const double plane = phys_detector_plane(f, 0).distance;
    const double slant = f->surface == PHYS_CURVED ? 1 : fmax(1, f->close_distance / plane);

    return f->point_pixel ? 1 : f->pixel * f->pixel * slant;
}

double rounding_brightest(const struct job *job)
{
    const struct phys_frame *f = job->frame;
    const double near = near_of(f);

    return largest(f, job->spec) * samples_of(f) * fabs(f->bragg_scale) * area_of(f)
           / (near * near);
}

double rounding_largest_sum(const struct job *job)
{
    const struct phys_frame *f = job->frame;
    const double near = near_of(f);

    return largest(f, job->spec) * samples_of(f)
           * (f->each_omega ? area_of(f) / (near * near) : 1);
}

int rounding_is_lost(const struct job *job, double peak)
{
    if (job->spec.shape != PHYS_GAUSS) return 0;
    return peak < least_single * rounding_brightest(job);
}
