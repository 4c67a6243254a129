/*
 * digitize.c - photons to counts, by nanoBragg's rounding, its noise or ours. Sums are
 * folded row by row in one order, so the thread count does not show.
 * SPDX-License-Identifier: MIT
 */
#include "image/digitize.h"

#include "base/array.h"
#include "image/noise.h"
#include "image/statistics.h"

/* rows whose sums are kept until they are folded */
enum { ROWS = 128 };

static const double largest_count = 65535;

struct tally {
    double photons;
    int64_t overloads;
};

/* 16 bits of v; NaN and what is negative become 0 */
static uint16_t clamped(double v, int64_t *overloads)
{
    if (!(v > 0)) return 0;
    if (v > largest_count) {
        (*overloads)++;
        return (uint16_t)largest_count;
    }
    return (uint16_t)v;
}

/* the value whose integer part is the count, rounded up to a float as nanoBragg does */
static uint16_t rounded(float pixel, double scale, double offset, int64_t *overloads)
{
    double v = (double)pixel * scale + offset;

    if (v > largest_count) {
        (*overloads)++;
        v = largest_count;
    }
    if (!(v > 0)) v = 0;
    return (uint16_t)(float)(v + 0.5);
}

static double automatic_scale(const struct window *window, const nb_array *image)
{
    nb_statistics statistics;
    int max_at[2];

    statistics_of(window, image, 0, &statistics, max_at);
    return statistics.max > 0 ? 55000 / statistics.max : 1;
}

static uint16_t *row_of(const nb_array *counts, int s, int64_t *step)
{
    const int dense = counts->stride[0] == 0 && counts->stride[1] == 0;
    const int64_t row = dense ? counts->shape[1] : counts->stride[0];

    *step = dense ? 1 : counts->stride[1];
    return (uint16_t *)counts->data + s * row;
}

static void clear_row(const nb_array *counts, int s)
{
    int64_t step;
    uint16_t *row = row_of(counts, s, &step);

    for (int64_t f = 0; f < counts->shape[1]; f++) row[f * step] = 0;
}

/* what a row does not draw from a stream */
struct rows {
    const struct window *window;
    const nb_digitizer *how;
    const nb_array *image;
    nb_array *counts;
    double scale;
};

static struct tally digitize_row(const struct rows *rows, int s)
{
    const struct window *window = rows->window;
    const nb_digitizer *how = rows->how;
    struct tally tally = {0};
    int64_t step;
    uint16_t *row = row_of(rows->counts, s, &step);

    for (int f = window->roi[0]; f < window->roi[1]; f++) {
        const double mean = window_shows(window, s, f) ? array_get(rows->image, s, f) : 0;
        const uint64_t at = (uint64_t)s * (uint64_t)window->nfast + (uint64_t)f;
        double photons;

        if (!how->noise) {
            row[f * step] =
                rounded((float)mean, rows->scale, how->offset, &tally.overloads);
            continue;
        }
        photons = noise_poisson((uint64_t)how->seed, how->image, at, mean);
        tally.photons += photons;
        row[f * step] = clamped(photons + how->offset, &tally.overloads);
    }
    return tally;
}

static struct tally digitize_rows(const struct rows *rows, int threads)
{
    const int end = rows->window->roi[3];
    struct tally total = {0};

    for (int first = rows->window->roi[2]; first < end; first += ROWS) {
        const int last = end - first < ROWS ? end : first + ROWS;
        struct tally tally[ROWS];

#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
        for (int s = first; s < last; s++) tally[s - first] = digitize_row(rows, s);
        for (int s = first; s < last; s++) {
            total.photons += tally[s - first].photons;
            total.overloads += tally[s - first].overloads;
        }
    }
    (void)threads; /* without OpenMP */
    return total;
}

/* One stream runs through the ROI in raster order; masked pixels draw from it too. */
static struct tally digitize_quirk(const struct rows *rows, struct random_stream random)
{
    const struct window *window = rows->window;
    struct noise_spare spare = {0};
    struct tally tally = {0};

    random_seed_quirk(&random, rows->how->seed);
    for (int s = window->roi[2]; s < window->roi[3]; s++) {
        int64_t step;
        uint16_t *row = row_of(rows->counts, s, &step);

        for (int f = window->roi[0]; f < window->roi[1]; f++) {
            const double p = window_shows(window, s, f) ? array_get(rows->image, s, f) : 0;
            const double n = (double)noise_poisson_quirk(&random, &spare, (float)p);

            tally.photons += n;
            row[f * step] = clamped(n + rows->how->offset, &tally.overloads);
        }
    }
    return tally;
}

void digitize(const struct window *window, const nb_digitizer *how, const nb_array *image,
              const struct random_stream *quirk, int threads, nb_array *counts)
{
    struct rows rows = {window, how, image, counts, how->scale};
    struct tally tally;

    for (int s = 0; s < window->nslow; s++) clear_row(counts, s);
    if (!how->noise && !(how->scale > 0)) rows.scale = automatic_scale(window, image);
    if (how->noise && quirk)
        tally = digitize_quirk(&rows, *quirk);
    else
        tally = digitize_rows(&rows, threads);
    if (how->photons) *how->photons = tally.photons;
    if (how->overloads) *how->overloads = tally.overloads;
}
