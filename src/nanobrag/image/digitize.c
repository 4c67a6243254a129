/*
 * digitize.c - converts photons to counts: rounded as in nanoBragg, or with Poisson noise.
 * Sums are of whole numbers, so they do not depend on the number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "image/digitize.h"

#include <math.h>

#include "base/array.h"
#include "base/floats.h"
#include "image/noise.h"
#include "image/statistics.h"
#include "physics/noise/counts.h"

/* ROWS: largest number of rows that are converted at once, each with its own tally. PIECE:
 * pixels of a row that are converted at once. */
enum { ROWS = 1024, PIECE = 512 };

/* Numbers of pixels from which on several threads are faster than one: without noise, and
 * with noise. */
enum { SHARED_ROUNDED = 1 << 20, SHARED_DRAWN = 1 << 12 };

static const double largest_count = 65535;

static double automatic_scale(const struct window *window, const nb_array *image)
{
    nb_statistics statistics;
    int max_at[2];

    statistics_of(window, image, 0, &statistics, max_at);
    return statistics.max > 0 ? 55000 / statistics.max : 1;
}

static int is_wide(const nb_array *counts)
{
    return counts->bits == 32;
}

static uint16_t *counts_row(const nb_array *counts, int s, int64_t *step)
{
    *step = array_stride(counts, 1);
    return (uint16_t *)counts->data + s * array_stride(counts, 0);
}

static void set_count(const nb_array *counts, int s, int f, int count)
{
    const int64_t at = s * array_stride(counts, 0) + f * array_stride(counts, 1);

    if (is_wide(counts))
        ((int32_t *)counts->data)[at] = count;
    else
        ((uint16_t *)counts->data)[at] = (uint16_t)count;
}

/* Returns the largest value of a count. */
static int most_of(const nb_array *counts)
{
    return is_wide(counts) ? PHYS_COUNT32 : PHYS_COUNT16;
}

/* Sets the counts of row s to 0 outside the ROI. */
static void clear_outside(const struct window *window, const nb_array *counts, int s)
{
    const int inside = s >= window->roi[2] && s < window->roi[3];
    const int first = inside ? window->roi[0] : window->nfast;

    for (int f = 0; f < first; f++) set_count(counts, s, f, 0);
    for (int f = inside ? window->roi[1] : first; f < window->nfast; f++)
        set_count(counts, s, f, 0);
}

/* The inputs and the output of a conversion. */
struct rows {
    const struct window *window;
    const nb_digitizer *how;
    const nb_array *image;
    nb_array *counts;
    double scale;
};

/* Rounds n pixels to counts of 16 bits by way of float, as nanoBragg does. Returns the
 * number of overloads. Each loop holds at most one condition, so that compilers vectorise
 * it. */
static int64_t round_piece(const float *pixel, int n, double scale, double offset,
                           uint16_t *out)
{
    const float most = UINT16_MAX;
    float v[PIECE];
    int64_t overloads = 0;
    uint16_t full = 0;

    for (int i = 0; i < n; i++) v[i] = (float)((double)pixel[i] * scale + offset + 0.5);
    for (int i = 0; i < n; i++) v[i] = v[i] > 0 ? v[i] : 0; /* NaN becomes 0, too */
    for (int i = 0; i < n; i++) v[i] = v[i] < most ? v[i] : most;
    for (int i = 0; i < n; i++) out[i] = (uint16_t)(int32_t)v[i];
    for (int i = 0; i < n; i++) full |= out[i] == UINT16_MAX;
    for (int i = 0; full && i < n; i++)
        overloads += (double)pixel[i] * scale + offset > largest_count;
    return overloads;
}

static struct phys_tally round_row(const struct rows *rows, int s)
{
    const struct window *window = rows->window;
    struct phys_tally tally = {0};
    int64_t step;
    uint16_t *row = counts_row(rows->counts, s, &step);

    for (int f = window->roi[0]; f < window->roi[1]; f += PIECE) {
        const int left = window->roi[1] - f, n = left < PIECE ? left : PIECE;
        float pixel[PIECE];
        uint16_t count[PIECE];

        statistics_pixels(window, rows->image, s, f, n, pixel);
        tally.overloads += (uint64_t)round_piece(pixel, n, rows->scale, rows->how->offset,
                                                 step == 1 ? row + f : count);
        for (int i = 0; step != 1 && i < n; i++) row[(f + i) * step] = count[i];
    }
    return tally;
}

static struct phys_tally round_wide_row(const struct rows *rows, int s)
{
    const struct window *window = rows->window;
    const int hides = window_hides(window);
    struct phys_tally tally = {0};

    for (int f = window->roi[0]; f < window->roi[1]; f++) {
        const int shown = !hides || window_shows(window, s, f);
        const double photons = shown ? array_get(rows->image, s, f) : 0;

        set_count(rows->counts, s, f,
                  phys_rounded32(photons, rows->scale, rows->how->offset, &tally));
    }
    return tally;
}

static struct phys_tally draw_row(const struct rows *rows, int s)
{
    const struct window *window = rows->window;
    const nb_digitizer *how = rows->how;
    const int most = most_of(rows->counts), hides = window_hides(window);
    struct phys_tally tally = {0};

    for (int f = window->roi[0]; f < window->roi[1]; f++) {
        const int shown = !hides || window_shows(window, s, f);
        const double mean = shown ? array_get(rows->image, s, f) : 0;
        const uint64_t at = (uint64_t)s * (uint64_t)window->nfast + (uint64_t)f;
        const double photons = noise_poisson((uint64_t)how->seed, how->image, at, mean);

        phys_tally_add(&tally, photons);
        set_count(rows->counts, s, f, phys_clamped(photons + how->offset, most, &tally));
    }
    return tally;
}

static struct phys_tally digitize_row(const struct rows *rows, int s)
{
    const int *roi = rows->window->roi;
    struct phys_tally tally = {0};

    if (s >= roi[2] && s < roi[3])
        tally = rows->how->noise        ? draw_row(rows, s)
                : is_wide(rows->counts) ? round_wide_row(rows, s)
                                        : round_row(rows, s);
    clear_outside(rows->window, rows->counts, s);
    return tally;
}

/* Returns the end of the rows from `first` on that may be converted in parallel. If counts
 * are narrower than the pixels whose memory they take, the counts of a row overwrite pixels
 * of earlier rows, so a row must wait until those rows are converted. Row 0 overwrites only
 * itself, which is safe from left to right. */
static int wave_end(const struct rows *rows, int first)
{
    const int end = rows->window->nslow, most = end - first < ROWS ? end : first + ROWS;
    const int64_t ratio = rows->image->bits / rows->counts->bits;

    /* Counts as wide as pixels overwrite only their own pixel, after it was read. */
    if (rows->image->data != rows->counts->data || ratio == 1) return most;
    if (first == 0) return 1;
    return first * ratio < most ? (int)(first * ratio) : most;
}

static struct phys_tally digitize_rows(const struct rows *rows, int threads)
{
    const int *roi = rows->window->roi;
    const int64_t pixels = (int64_t)(roi[1] - roi[0]) * (roi[3] - roi[2]);
    const int shared = pixels >= (rows->how->noise ? SHARED_DRAWN : SHARED_ROUNDED);
    struct phys_tally total = {0};

    for (int first = 0, last; first < rows->window->nslow; first = last) {
        struct phys_tally tally[ROWS];

        last = wave_end(rows, first);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4) if (shared)
        for (int s = first; s < last; s++) {
            STANDARD_FLOATS;
            tally[s - first] = digitize_row(rows, s);
        }
        for (int s = first; s < last; s++) phys_tally_join(&total, &tally[s - first]);
    }
    (void)threads, (void)shared; /* not used without OpenMP */
    return total;
}

/* Draws nanoBragg's noise: one stream runs through the ROI row by row, masked pixels
 * included. Its numbers are floats that need not be whole, so *photons is their plain
 * sum. */
static struct phys_tally digitize_quirk(const struct rows *rows,
                                        struct random_stream random, double *photons)
{
    const struct window *window = rows->window;
    const int most = most_of(rows->counts);
    struct noise_spare spare = {0};
    struct phys_tally tally = {0};

    random_seed_quirk(&random, rows->how->seed);
    for (int s = 0; s < window->nslow; s++) {
        const int inside = s >= window->roi[2] && s < window->roi[3];

        for (int f = window->roi[0]; inside && f < window->roi[1]; f++) {
            const double p = window_shows(window, s, f) ? array_get(rows->image, s, f) : 0;
            const double n = (double)noise_poisson_quirk(&random, &spare, (float)p);

            *photons += n;
            set_count(rows->counts, s, f,
                      phys_clamped(n + rows->how->offset, most, &tally));
        }
        clear_outside(window, rows->counts, s);
    }
    return tally;
}

double digitize_photons(const struct phys_tally *tally)
{
    if (tally->beyond) return INFINITY;
    return (double)tally->high * 4294967296.0 + (double)tally->low;
}

void digitize(const struct window *window, const nb_digitizer *how, const nb_array *image,
              const struct random_stream *quirk, int threads, nb_array *counts)
{
    struct rows rows = {window, how, image, counts, how->scale};
    struct phys_tally tally;
    double photons = 0;

    if (!how->noise && !(how->scale > 0)) rows.scale = automatic_scale(window, image);
    if (how->noise && quirk) {
        tally = digitize_quirk(&rows, *quirk, &photons);
    } else {
        tally = digitize_rows(&rows, threads);
        photons = digitize_photons(&tally);
    }
    if (how->photons) *how->photons = photons;
    if (how->overloads) *how->overloads = (int64_t)tally.overloads;
}
