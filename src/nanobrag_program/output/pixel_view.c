/*
 * pixel_view.c - the scattering vector of a pixel and the place of the direct beam.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/output/pixel_view.h"

#include <math.h>

#include <nanobrag/description.h>

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void view_q(const struct view *view, double fast, double slow, double q[3])
{
    const nb_description *d = view->description;
    double at[3];
    for (int i = 0; i < 3; i++)
        at[i] = d->origin[i] + d->pixel * (fast * d->fast[i] + slow * d->slow[i]);
    const double length = sqrt(dot(at, at));
    for (int i = 0; i < 3; i++)
        q[i] = (length > 0 ? at[i] / length - d->beam[i] : 0) / view->wavelength;
}

double view_q_length(const struct view *view, double fast, double slow)
{
    double q[3];
    view_q(view, fast, slow, q);
    return sqrt(dot(q, q));
}

int view_beam(const struct view *view, double at[2])
{
    const nb_description *d = view->description;
    double toward = dot(d->beam, d->normal), reach;
    if (fabs(toward) < 1e-9) return 0;
    reach = dot(d->origin, d->normal) / toward;
    if (reach < 0) return 0;
    double from_corner[3];
    for (int i = 0; i < 3; i++) from_corner[i] = reach * d->beam[i] - d->origin[i];
    const double fs = dot(d->fast, d->slow);
    const double f = dot(from_corner, d->fast), s = dot(from_corner, d->slow);
    at[0] = (f - fs * s) / (1 - fs * fs) / d->pixel;
    at[1] = (s - fs * f) / (1 - fs * fs) / d->pixel;
    return 1;
}
