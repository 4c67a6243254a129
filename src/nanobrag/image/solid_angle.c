/*
 * solid_angle.c - the solid angle of a detector, row by row. Along a row it is a smooth
 * function, so its sum over the pixels is an integral plus, by the formula of Euler and
 * Maclaurin, two terms for each end of the row.
 *
 * SPDX-License-Identifier: MIT
 */
#include "image/solid_angle.h"

#include <math.h>

#include "physics/pixel_position.h"

/* The least width of a row and distance of the detector, in pixels. The first omitted term
 * is 0.02 (pixel/distance)^5/width of the sum, which is then below 1e-14. */
enum { LEAST_WIDTH = 32, LEAST_DISTANCE = 200 };

/* Returns the terms of one end of a row for the sum of g = r^-3 over the centres of pixels
 * of width h: 7 h^3/5760 g''' - h/24 g'. r is the distance of the end from the crystal, and
 * u its distance from the point of the row's line that is nearest to the crystal. */
static double end_term(double u, double r, double h)
{
    const double r2 = 1 / (r * r), per_r5 = r2 * r2 / r;
    const double first = -3 * u * per_r5;
    const double third = (45 - 105 * u * u * r2) * u * per_r5 * r2;

    return h * (7.0 / 5760 * h * h * third - first / 24);
}

/* Returns the solid angle of row s, steradian. */
static double row_sum(const struct window *window, const struct phys_frame *frame,
                      const struct phys_detector *det, int s)
{
    const double h = frame->pixel, length = h * (window->roi[1] - window->roi[0]);
    const double sample = 0.5 * det->sub; /* from a pixel's corner to its first sample */
    const struct phys_vec3 start =
        phys_axpy(h * window->roi[0] + sample - 0.5 * h, det->fast,
                  phys_axpy(h * s + sample, det->slow,
                            phys_axpy(det->layer_offset, det->normal, det->pix0)));
    const double a = phys_dot(start, det->fast), b = a + length;
    const double d2 = phys_dot(start, start) - a * a;
    const double ra = sqrt(d2 + a * a), rb = sqrt(d2 + b * b);
    /* Integral of r^-3. If the row lies on one side of the point nearest to the crystal,
     * the first form avoids the difference of two nearly equal numbers. */
    const double integral = a * b > 0 ? length * (a + b) / (ra * rb * (b * ra + a * rb))
                                      : (b / rb - a / ra) / d2;

    return det->area * det->close_distance
           * (integral / h + end_term(b, rb, h) - end_term(a, ra, h));
}

int solid_angle_of_rows(const struct window *window, const struct phys_frame *frame,
                        double *out)
{
    const struct phys_detector det = phys_detector(frame);
    double sum = 0;

    if (window->mask || window->boxed || det.surface != PHYS_FLAT || det.point_pixel
        || frame->each_omega || window->roi[1] - window->roi[0] < LEAST_WIDTH
        || det.close_distance < LEAST_DISTANCE * frame->pixel)
        return 0;
    for (int s = window->roi[2]; s < window->roi[3]; s++)
        sum += row_sum(window, frame, &det, s);
    *out = sum;
    return 1;
}
