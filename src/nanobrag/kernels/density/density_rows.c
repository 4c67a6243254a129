/*
 * density_rows.c - the loops of density_rows.h over the points of a plane inside an atom's
 * sphere. The points of all rows form one list, because most rows are shorter than a vector
 * register. Compiled once for each instruction set.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/density/density_rows.h"

#include <math.h>
#include <string.h>

#include "physics/phys.h"
#include "physics/trig.h"

enum { POINTS = 256 }; /* points that are listed at a time */

/* Points inside the sphere, in a plane of the grid, row after row. Point k lies at (x,
 * y[k], z[k]) from the centre of the atom, in steps of the grid. */
struct points {
    int n;
    double x, y[POINTS], z[POINTS];
    double *at[POINTS]; /* where the grid holds the points' values */
};

/* The points of plane i that are not listed yet: in row j, n points from `first` on; then
 * the rows after j. */
struct cursor {
    int i, j, first, n;
};

static int wrap(int i, int n)
{
    const int rest = i % n;

    return rest < 0 ? rest + n : rest;
}

/* Sets `first` and n to the points of row (i, j) inside the sphere. */
static void find_run(const struct density_atom *atom, struct cursor *at)
{
    const double *m = atom->metric;
    const double x = at->i - atom->middle[0], y = at->j - atom->middle[1];
    const double half = (m[4] * x + m[5] * y) / m[2];
    const double rest = x * (m[0] * x + 2 * m[3] * y) + m[1] * y * y - atom->radius2;
    const double room = half * half - rest / m[2];

    at->n = at->first = 0;
    if (!(room >= 0)) return;
    at->first = (int)ceil(atom->middle[2] - half - sqrt(room));
    at->n = (int)floor(atom->middle[2] - half + sqrt(room)) - at->first + 1;
}

static void start(const struct density_atom *atom, int i, struct cursor *at)
{
    at->i = i;
    at->j = (int)ceil(atom->middle[1] - atom->reach[1]);
    find_run(atom, at);
}

/* Lists the next points of a plane; returns their number, 0 at the end of the plane. */
static int list_points(const struct density_grid *grid, const struct density_atom *atom,
                       struct cursor *at, struct points *out)
{
    const int last = (int)floor(atom->middle[1] + atom->reach[1]);
    const size_t plane = (size_t)wrap(at->i, grid->n[0]) * (size_t)grid->n[1];

    out->n = 0;
    out->x = at->i - atom->centre[0];
    while (at->j <= last && out->n < POINTS) {
        const int room = POINTS - out->n, n = at->n < room ? at->n : room;
        double *row = grid->value + (plane + (size_t)wrap(at->j, grid->n[1])) * grid->row;
        double *const y = out->y + out->n, *const z = out->z + out->n;
        int to = n > 0 ? wrap(at->first, grid->n[2]) : 0;

        for (int k = 0; k < n; k++) {
            y[k] = at->j - atom->centre[1];
            z[k] = at->first + k - atom->centre[2];
            out->at[out->n + k] = row + to;
            if (++to == grid->n[2]) to = 0;
        }
        out->n += n > 0 ? n : 0;
        at->first += n;
        at->n -= n;
        if (at->n > 0) continue;
        at->j++;
        find_run(atom, at);
    }
    return out->n;
}

/* The coefficients of d.m d, d = (x, y, z), in a plane of constant x. */
struct plane_form {
    double c, y, z, yy, yz, zz;
};

static struct plane_form in_plane(const double m[DENSITY_SYMMETRIC], double x)
{
    return (struct plane_form){m[0] * x * x, 2 * m[3] * x, 2 * m[4] * x,
                               m[1],         2 * m[5],     m[2]};
}

#define FORM_AT(f, y_, z_)                                                                 \
    ((f).c + (y_) * ((f).y + (f).yy * (y_) + (f).yz * (z_))                                \
     + (z_) * ((f).z + (f).zz * (z_)))

/* Adds the Gaussian of a term to the sums of the points. */
static void add_term(const struct density_term *term, const struct points *at, double *sum)
{
    const struct plane_form e = in_plane(term->form, at->x);
    const double *y = at->y, *z = at->z, scale = term->scale;

#pragma omp simd
    for (int k = 0; k < at->n; k++) sum[k] += scale * phys_exp(-FORM_AT(e, y[k], z[k]));
}

/* Adds the change of a Gaussian, with `linear` and `square`, to the sums of the points. */
static void add_change(const struct density_term *term, const struct points *at,
                       double *sum)
{
    const struct plane_form e = in_plane(term->form, at->x);
    struct plane_form p = in_plane(term->square, at->x);
    const double *y = at->y, *z = at->z;

    p.c += term->scale + term->linear[0] * at->x;
    p.y += term->linear[1];
    p.z += term->linear[2];
#pragma omp simd
    for (int k = 0; k < at->n; k++)
        sum[k] += FORM_AT(p, y[k], z[k]) * phys_exp(-FORM_AT(e, y[k], z[k]));
}

static void add(const struct density_grid *grid, const struct density_atom *atom, int i)
{
    struct points points;
    struct cursor at;
    double sum[POINTS];

    start(atom, i, &at);
    while (list_points(grid, atom, &at, &points) > 0) {
        memset(sum, 0, (size_t)points.n * sizeof *sum);
        for (int t = 0; t < atom->nterm; t++)
            if (atom->changes)
                add_change(&atom->term[t], &points, sum);
            else
                add_term(&atom->term[t], &points, sum);
        for (int k = 0; k < points.n; k++) *points.at[k] += sum[k];
    }
}

/* Adds the moments of a term over the points; `value` has their values in the grid. */
static void gather_term(const struct density_term *term, const struct points *at,
                        const double *value, double moments[DENSITY_MOMENTS])
{
    const struct plane_form e = in_plane(term->form, at->x);
    const double *y = at->y, *z = at->z, x = at->x;
    double s = 0, sy = 0, sz = 0, syy = 0, syz = 0, szz = 0;

#pragma omp simd reduction(+ : s, sy, sz, syy, syz, szz)
    for (int k = 0; k < at->n; k++) {
        const double w = value[k] * phys_exp(-FORM_AT(e, y[k], z[k]));
        const double wy = w * y[k], wz = w * z[k];

        s += w;
        sy += wy;
        sz += wz;
        syy += wy * y[k];
        syz += wy * z[k];
        szz += wz * z[k];
    }
    const double part[DENSITY_MOMENTS] = {s,   x * s, sy,     sz,     x * x * s,
                                          syy, szz,   x * sy, x * sz, syz};
    for (int i = 0; i < DENSITY_MOMENTS; i++) moments[i] += part[i];
}

static void gather(const struct density_grid *grid, const struct density_atom *atom,
                   double moments[DENSITY_TERMS][DENSITY_MOMENTS])
{
    const int last = (int)floor(atom->middle[0] + atom->reach[0]);
    struct points points;
    struct cursor at;
    double value[POINTS];

    memset(moments, 0, DENSITY_TERMS * sizeof *moments);
    for (int i = (int)ceil(atom->middle[0] - atom->reach[0]); i <= last; i++) {
        start(atom, i, &at);
        while (list_points(grid, atom, &at, &points) > 0) {
            for (int k = 0; k < points.n; k++) value[k] = *points.at[k];
            for (int t = 0; t < atom->nterm; t++)
                gather_term(&atom->term[t], &points, value, moments[t]);
        }
    }
}

extern const struct density_kernels KERNELS;
const struct density_kernels KERNELS = {add, gather};
