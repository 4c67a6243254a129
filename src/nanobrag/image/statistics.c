/*
 * statistics.c - sums in raster order, in double, of pixels rounded to float: the same for
 * any thread count because one thread makes them. SPDX-License-Identifier: MIT
 */
#include "image/statistics.h"

#include <math.h>

#include "base/array.h"

static double pixel(const nb_array *image, int s, int f)
{
    return (double)(float)array_get(image, s, f);
}

/* sqrt(sum/(n - 1)); one pixel or none counts as two */
static double sample_root(double sum, int64_t n)
{
    return sqrt(sum / (double)(n > 1 ? n - 1 : 1));
}

static double deviation(const struct window *window, const nb_array *image, double mean,
                        int masked_too)
{
    double squares = 0;
    int64_t n = 0;

    for (int s = window->roi[2]; s < window->roi[3]; s++)
        for (int f = window->roi[0]; f < window->roi[1]; f++) {
            const int seen = window_shows(window, s, f);
            double d;

            if (!seen && !masked_too) continue;
            d = (seen ? pixel(image, s, f) : 0) - mean;
            squares += d * d;
            n++;
        }
    return sample_root(squares, n);
}

void statistics_of(const struct window *window, const nb_array *image, int quirk_rmsd,
                   nb_statistics *out, int max_at[2])
{
    double squares = 0;

    out->count = 0;
    out->max = out->sum = 0;
    out->nonfinite = 0;
    max_at[0] = max_at[1] = -1;
    for (int s = window->roi[2]; s < window->roi[3]; s++)
        for (int f = window->roi[0]; f < window->roi[1]; f++) {
            double p;

            if (!window_shows(window, s, f)) continue;
            p = pixel(image, s, f);
            out->count++;
            out->nonfinite += !isfinite(p);
            out->sum += p;
            squares += p * p;
            if (p > out->max) {
                out->max = p;
                max_at[0] = s;
                max_at[1] = f;
            }
        }
    out->mean = out->sum / (double)(out->count > 1 ? out->count : 1);
    out->rms = sample_root(squares, out->count);
    out->rmsd = deviation(window, image, out->mean, quirk_rmsd);
}
