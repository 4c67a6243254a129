/*
 * statistics.c - the statistics of an image in one pass over the pixels, in pieces of rows
 * that stay in the cache. The mean and the squared deviations of the pieces are merged by
 * the rule of Chan, Golub and LeVeque (COMPSTAT 1982), row by row.
 *
 * SPDX-License-Identifier: MIT
 */
#include "image/statistics.h"

#include <math.h>
#include <string.h>

#include "base/array.h"

/* PIECE: largest number of pixels in a piece. LANES: number of partial sums, for SIMD. */
enum { PIECE = STATISTICS_PIECE, LANES = 8 };

void statistics_pixels(const struct window *window, const nb_array *image, int s, int f,
                       int n, float *out)
{
    const int plain = array_is_dense(image);
    const int64_t at = (int64_t)s * array_extent(image, 1) + f;

    if (plain && image->bits == 64) {
        const double *from = (const double *)image->data + at;

        for (int i = 0; i < n; i++) out[i] = (float)from[i];
    } else if (plain) {
        memcpy(out, (const float *)image->data + at, (size_t)n * sizeof *out);
    } else {
        for (int i = 0; i < n; i++) out[i] = (float)array_get(image, s, f + i);
    }
    if (window_hides(window)) {
        uint8_t shown[PIECE];

        window_shown(window, s, f, n, shown);
        for (int i = 0; i < n; i++)
            if (!shown[i]) out[i] = 0;
    }
}

/* The sums of a piece, or of all pieces so far. */
struct sums {
    int64_t count, nonfinite;
    double sum, mean, spread; /* spread: sum of squared deviations from the mean */
    float max;
};

static double sum_lanes(const double lane[LANES])
{
    return ((lane[0] + lane[4]) + (lane[1] + lane[5]))
           + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

static void summarize(const float *p, int n, struct sums *part)
{
    double sum[LANES] = {0};
    float max[LANES] = {0};
    int i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            sum[k] += (double)p[i + k];
            max[k] = p[i + k] > max[k] ? p[i + k] : max[k];
        }
    for (int k = 0; i < n; i++, k++) {
        sum[k] += (double)p[i];
        max[k] = p[i] > max[k] ? p[i] : max[k];
    }
    part->count = n;
    part->sum = sum_lanes(sum);
    part->mean = part->sum / (n > 1 ? n : 1);
    part->max = 0;
    for (int k = 0; k < LANES; k++)
        if (max[k] > part->max) part->max = max[k];
    /* A sum of finite floats is finite in double. */
    part->nonfinite = 0;
    if (!isfinite(part->sum))
        for (i = 0; i < n; i++) part->nonfinite += !isfinite(p[i]);
}

static double spread_of(const float *p, int n, double mean)
{
    double squares[LANES] = {0};
    int i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            const double d = (double)p[i + k] - mean;

            squares[k] += d * d;
        }
    for (int k = 0; i < n; i++, k++) {
        const double d = (double)p[i] - mean;

        squares[k] += d * d;
    }
    return sum_lanes(squares);
}

/* Removes the pixels of a piece that are not rendered; n is at most PIECE. Returns the
 * number of pixels left. */
static int remove_masked(const struct window *window, int s, int f, int n, float *p)
{
    uint8_t shown[PIECE];
    int left = 0;

    if (!window_hides(window)) return n;
    window_shown(window, s, f, n, shown);
    for (int i = 0; i < n; i++)
        if (shown[i]) p[left++] = p[i];
    return left;
}

static void merge(struct sums *all, const struct sums *part)
{
    const double n = (double)all->count, m = (double)part->count;
    const double apart = part->mean - all->mean;

    if (part->count == 0) return;
    all->spread += part->spread + apart * apart * (n * m / (n + m));
    all->count += part->count;
    all->nonfinite += part->nonfinite;
    all->sum += part->sum;
    all->mean = all->sum / (double)all->count;
}

/* Returns the fast index of the first of the pixels f .. f + n - 1 that has this value. */
static int find_value(const struct window *window, const nb_array *image, int s, int f,
                      int n, float value)
{
    float p[PIECE];
    int i = 0;

    statistics_pixels(window, image, s, f, n, p);
    while (i < n - 1 && p[i] != value) i++;
    return f + i;
}

/* Returns sqrt(sum/(n - 1)) for a sum of n squares, or sqrt(sum) if n is less than 2. */
static double sample_root(double sum, int64_t n)
{
    return sqrt(sum / (double)(n > 1 ? n - 1 : 1));
}

void statistics_of(const struct window *window, const nb_array *image, int quirk_rmsd,
                   nb_statistics *out, int max_at[2])
{
    struct sums all = {0};
    int64_t masked = 0;

    max_at[0] = max_at[1] = -1;
    for (int s = window->roi[2]; s < window->roi[3]; s++)
        for (int f = window->roi[0]; f < window->roi[1]; f += PIECE) {
            const int left = window->roi[1] - f, n = left < PIECE ? left : PIECE;
            struct sums part;
            const int piece[4] = {f, f + n, s, s + 1};
            float p[PIECE];
            int shown;

            if (!window_overlaps(window, piece)) {
                masked += n;
                continue;
            }
            statistics_pixels(window, image, s, f, n, p);
            shown = remove_masked(window, s, f, n, p);
            summarize(p, shown, &part);
            part.spread = spread_of(p, shown, part.mean);
            masked += n - shown;
            if (part.max > all.max) {
                all.max = part.max;
                max_at[0] = s;
                max_at[1] = find_value(window, image, s, f, n, part.max);
            }
            merge(&all, &part);
        }
    out->count = all.count;
    out->nonfinite = all.nonfinite;
    out->max = (double)all.max;
    out->sum = all.sum;
    out->mean = all.mean;
    out->rms = sample_root(all.spread + all.sum * all.mean, all.count);
    out->rmsd = sample_root(all.spread, all.count);
    if (quirk_rmsd)
        out->rmsd = sample_root(all.spread + (double)masked * all.mean * all.mean,
                                all.count + masked);
}
