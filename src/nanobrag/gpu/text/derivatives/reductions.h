/*
 * reductions.h - uses the Jacobian of a tile. The Jacobian is written out as derivatives of
 * the photons, or reduced to a normal matrix or to a gradient. A gradient is a sum over
 * pixels, weighted with given cotangents of the photons or with the cotangents of a loss.
 *
 * Sums over pixels have a fixed order of the threads, and sums over tiles are a tree of
 * fixed shape. Nothing else affects their bits.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_REDUCTIONS_H
#define NB_GPU_TEXT_DERIVATIVES_REDUCTIONS_H

#include "gpu/text/derivatives/jacobian_back.h"
#include "gpu/text/peak_block.h"

enum {
    STAGE = 16, /* numbers of each thread that are summed at once */
    /* number of threads that sum one of these numbers */
    STAGE_PARTS = BLOCK_THREADS / STAGE,
    /* length of a row; its last elements hold partial sums */
    STAGE_ROW = BLOCK_THREADS + STAGE_PARTS
};

/* ---- the cotangent of a pixel's photons ---- */

PHYS_FN struct phys_loss objective_at(const struct gpu_derivatives_parameters *p,
                                      const struct jacobian_thread *own)
{
    const long long at = pixel_number(&p->image, own->pixel.s, own->pixel.f);
    struct phys_loss r = {0, 0, 0};

    if (!own->pixel.on) return r;
    if (p->end == REDUCE_LOSS || p->end == REDUCE_NORMAL)
        return target_loss(&p->target, own->photons, at);
    if (p->end == REDUCE_SQUARES) {
        r.curvature = image_at(&p->target.weight, at, 1);
        r.slope = r.curvature * image_at(&p->target.observed, at, 0);
        return r;
    }
    r.slope = image_at(&p->cotangent, at, 0);
    r.value = r.slope * own->photons;
    return r;
}

/* ---- sums over the threads of a block ---- */

/* Sums stage[i][t] over all threads t for each i < n, and writes the sums to out[i], in two
 * steps. The step after them may not write the last elements of the rows, which may still
 * be read. */
PHYS_FN void sum_stage(int n, double *stage, double *out)
{
    EACH_THREAD(t)
    {
        double *row = stage + t / STAGE_PARTS * STAGE_ROW;
        double sum = 0;

        if (t / STAGE_PARTS < n) {
            for (int i = t % STAGE_PARTS; i < BLOCK_THREADS; i += STAGE_PARTS)
                sum += row[i];
            row[BLOCK_THREADS + t % STAGE_PARTS] = sum;
        }
    }
    EACH_ALONE(t)
    {
        const double *part = stage + t * STAGE_ROW + BLOCK_THREADS;

        if (t < n) {
            double sum = 0;

            for (int i = 0; i < STAGE_PARTS; i++) sum += part[i];
            out[t] = sum;
        }
    }
}

/* Sums the totals number `first` to `first` + n - 1 over all threads. */
PHYS_FN void sum_totals(int first, int n, const struct jacobian_thread *own, double *stage,
                        double *out)
{
    BLOCK_ROLLED
    for (int from = 0; from < n; from += STAGE) {
        const int some = n - from < STAGE ? n - from : STAGE;

        EACH_THREAD(t)
        for (int i = 0; i < some; i++)
            stage[i * STAGE_ROW + t] = own[OWN(t)].total[first + from + i];
        sum_stage(some, stage, out + from);
    }
}

/* ---- the Jacobian ---- */

/* Returns the derivative of a pixel's photons along tangent d. */
PHYS_FN double change_along(const struct gpu_derivatives_parameters *p, int d,
                            const struct jacobian_thread *own)
{
    const double *dot = (const double *)(const void *)(p->dot + d);
    double sum = own->total[SUM_LIST + d];

    BLOCK_ROLLED
    for (int i = 0; i < PHYS_NUMBERS; i++)
        if (dot[i] != 0) sum += dot[i] * own->total[SUM_NUMBERS + i];
    return sum;
}

/* Writes all outputs that have one number per pixel. */
PHYS_FN void write_pixel(const struct gpu_derivatives_parameters *p,
                         const struct jacobian_thread *own)
{
    const struct gpu_parameters *image = &p->image;
    const long long nfast = image->frame.nfast, rows = (long long)image->down * GPU_SLOW;
    const int f = own->pixel.f, s = own->pixel.s;
    const long long at = (s - image->first_slow) * nfast + f;

    if (f >= image->frame.nfast || s >= image->frame.nslow) return;
    if (p->sum_bar) p->sum_bar[at] = objective_at(p, own).slope * own->factor;
    if (p->end != REDUCE_NOTHING) return;
    for (int d = 0; d < p->n; d++)
        p->change[d * rows * nfast + at] = own->pixel.on ? change_along(p, d, own) : 0;
}

/* ---- the gradient ---- */

PHYS_FN void weigh_totals(const struct gpu_derivatives_parameters *p,
                          struct jacobian_thread *own)
{
    const struct phys_loss cotangent = objective_at(p, own);

    own->total[SUM_VALUE] = cotangent.value;
    BLOCK_ROLLED
    for (int i = SUM_NUMBERS; i < SUM_LIST + p->n; i++)
        own->total[i] = own->pixel.on ? cotangent.slope * own->total[i] : 0;
}

/* ---- the normal matrix ---- */

/* For a normal matrix a thread's totals are: the value, slope and curvature of the loss,
 * and, from SUM_LIST on, the derivatives along the tangents. */
enum { NORMAL_SLOPE = SUM_NUMBERS, NORMAL_CURVATURE };

PHYS_FN void find_changes(const struct gpu_derivatives_parameters *p,
                          struct jacobian_thread *own)
{
    const struct phys_loss cotangent = objective_at(p, own);

    for (int d = 0; d < p->n; d++)
        own->total[SUM_LIST + d] = own->pixel.on ? change_along(p, d, own) : 0;
    own->total[SUM_VALUE] = cotangent.value;
    own->total[NORMAL_SLOPE] = cotangent.slope;
    own->total[NORMAL_CURVATURE] = cotangent.curvature;
}

/* Returns a pixel's contribution to number i of the totals of a normal matrix: value,
 * gradient, matrix. */
PHYS_FN double normal_number(const struct jacobian_thread *own, int n, int i)
{
    const double *change = own->total + SUM_LIST;
    int row = 0, column = i - 1 - n;

    if (i == 0) return own->total[SUM_VALUE];
    if (i <= n) return own->total[NORMAL_SLOPE] * change[i - 1];
    for (; column > row; row++) column -= row + 1;
    return own->total[NORMAL_CURVATURE] * change[row] * change[column];
}

PHYS_FN void sum_normal(int n, const struct jacobian_thread *own, double *stage,
                        double *out)
{
    const int all = jacobian_normal_length(n) - 1;

    BLOCK_ROLLED
    for (int from = 0; from < all; from += STAGE) {
        const int some = all - from < STAGE ? all - from : STAGE;

        EACH_THREAD(t)
        for (int i = 0; i < some; i++)
            stage[i * STAGE_ROW + t] = normal_number(own + OWN(t), n, from + i);
        sum_stage(some, stage, out + from);
    }
}

/* ---- all reductions ---- */

/* Finds the photons of the brightest pixel of a block. The next step may not write `stage`,
 * which may still be read. */
PHYS_FN void find_brightest(const struct jacobian_thread *own, double *stage, double *out)
{
    EACH_THREAD(t) stage[t] = own[OWN(t)].photons;
    find_largest(stage);
    EACH_ALONE(t)
    if (t == 0) *out = largest_photons(stage, 0, 1, PEAK_SEARCHERS);
}

/* Uses the Jacobian of tile `number` of a launch as p->end requires. */
PHYS_FN void jacobian_end(const struct gpu_derivatives_parameters *p, int number,
                          double *stage, struct jacobian_thread *own)
{
    double *totals = p->totals + (long long)number * p->length;
    const int normal = p->end == REDUCE_NORMAL || p->end == REDUCE_SQUARES;

    EACH_ALONE(t)
    {
        write_pixel(p, own + OWN(t));
        if (normal)
            find_changes(p, own + OWN(t));
        else if (p->end != REDUCE_NOTHING)
            weigh_totals(p, own + OWN(t));
    }
    if (normal)
        sum_normal(p->n, own, stage, totals);
    else if (p->end != REDUCE_NOTHING)
        sum_totals(SUM_VALUE, SUM_LIST + p->n, own, stage, totals);
    if (p->end != REDUCE_NOTHING) {
        find_brightest(own, stage, totals + p->length - 1);
    } else if (p->image.peak) {
        EACH_THREAD(t) stage[t] = own[OWN(t)].photons;
        raise_peak(stage, p->image.peak);
    }
}

#endif
