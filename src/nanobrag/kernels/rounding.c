/*
 * rounding.c - see rounding.h.
 *
 * In a tile the Miller indices are a fraction and its change, h = f + a.s, |f| <= 1/2 and
 * |a.s| <= x, so float leaves an error of about 2^-24 (1/2 + x) in h; F^2 over its peak
 * changes by at most `reach` times that. Measured on scenes of every kind, the worst pixel
 * lies below the estimate (tests/test_precision.c). SPDX-License-Identifier: MIT
 */
#include "kernels/rounding.h"

#include <math.h>
#include <stddef.h>

#include "physics/screen.h"

/* steepest slopes: of (sin n x/(n sin x))^2 per n h, and of the round and the gaussian
 * profile, squared, per rho */
enum { AXES = 3 };
static const double SLIT_SLOPE = 1.7, PROFILE_SLOPE = 1.6;
static const double SINGLE = 5.9604644775390625e-8, DOUBLE = 2.220446049250313e-16;

static double shortest_wave(const struct phys_frame *frame)
{
    double most = 0;

    for (int i = 0; i < frame->nsource; i++)
        most = fmax(most, frame->source[i].inverse_wavelength);
    return most;
}

/* in float F^2 over its peak is known down to about this; below it tails end in 0 */
static const double LEAST_SINGLE = 1e-24;

/* the largest amplitude, which float must be able to square and to add up */
static double amplitude(const struct phys_frame *frame, struct phys_spec spec)
{
    if (spec.shape != PHYS_SQUARE) return frame->peak * frame->f_max;
    return frame->ncells[0] * frame->ncells[1] * frame->ncells[2] * frame->f_max;
}

struct rounding rounding_of(const struct phys_frame *frame, struct phys_spec spec)
{
    const double waves = shortest_wave(frame);
    const double *axes = frame->norientation ? frame->orientation[0].axes : NULL;
    struct rounding r;

    r.frame = frame;
    /* the edge of a top hat is sharper than any digit; nanoBragg's curved detector is only
     * known to double */
    r.never = spec.shape == PHYS_TOPHAT || frame->surface == PHYS_CURVED_QUIRK
              || amplitude(frame, spec) > 1e16;
    for (int i = 0; i < AXES; i++) {
        const double *a = axes + 3 * i;

        r.reach[i] = spec.shape == PHYS_SQUARE
                         ? SLIT_SLOPE * frame->ncells[i]
                         : PROFILE_SLOPE * sqrt(fabs(frame->fudge) * frame->metric[i]);
        r.edges[i] = axes ? waves * sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) : 0;
    }
    return r;
}

/* half the diagonal of a tile, as an angle seen from the crystal */
static double half_width(const struct phys_frame *frame, const struct tile *tile)
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
    return distance > half ? half / distance : 1;
}

static double estimate(const struct rounding *r, double unit, double width, double offset)
{
    double square = 0;

    for (int i = 0; i < AXES; i++) {
        const double error = r->reach[i] * unit * (offset + width * r->edges[i]);

        square += error * error;
    }
    /* what polynomials, products and sums round besides */
    return 1.2 * sqrt(square) + 25 * unit;
}

double rounding_single(const struct rounding *rounding, const struct tile *tile)
{
    if (rounding->never) return 1;
    return estimate(rounding, SINGLE, half_width(rounding->frame, tile), 0.5);
}

double rounding_spot(const struct rounding *rounding, double radius)
{
    const double waves = shortest_wave(rounding->frame);

    if (rounding->never) return 1;
    /* indices start at 0; a patch is as wide as the spot */
    return estimate(rounding, SINGLE, 2 * radius / waves, 0);
}

double rounding_double(const struct rounding *rounding)
{
    /* the whole index is rounded once, at the middle of the tile: |d - i| <= 2 */
    return estimate(rounding, DOUBLE, 2, 0.5);
}

/* ---- against the brightest spot ---- */

double rounding_brightest(const struct job *job)
{
    const struct phys_frame *f = job->frame;
    const double samples = (double)f->oversample * f->oversample * f->norientation;
    const double plane = phys_screen(f, 0).distance; /* not so far as a false normal says */
    const double near = f->surface == PHYS_CURVED ? f->distance : plane;
    const double slant = f->surface == PHYS_CURVED ? 1 : fmax(1, f->close_distance / plane);
    const double area = f->point_pixel ? 1 : f->pixel * f->pixel * slant;
    /* of the four weights on each axis of a tricubic look-up: at most 5/4 in sum */
    const double over = job->spec.lookup == PHYS_TRICUBIC ? 1.953125 : 1;
    const double largest = over * amplitude(f, job->spec);
    double bright = 0;

    for (int i = 0; i < f->nsource && f->b_factor < 0; i++) {
        const double wave = f->source[i].inverse_wavelength;

        bright = fmax(bright, -2 * f->b_factor * wave * wave);
    }
    return largest * largest * exp(bright) * samples * f->bragg_scale * area
           / (near * near);
}

int rounding_is_lost(const struct job *job, double peak)
{
    if (job->spec.shape != PHYS_GAUSS) return 0;
    return LEAST_SINGLE * rounding_brightest(job) > job->tolerance * peak;
}
