/*
 * list.c - lists the spots of a continuous crystal. Reflections near the Ewald sphere are
 * found row by row of l, by one bound for all of them; place.c decides on each by itself.
 *
 * A reflection q scatters where |q + k s| = k, that is where T(q) = q^2 + 2 k q.s is 0. It
 * may scatter at a distance up to r from the sphere if |T| <= r (2 k + r).
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "kernels/continuous/place.h"
#include "kernels/spots/ewald.h"

void list_free(struct spot_table *table)
{
    free(table->spot);
    free(table->numbers);
    memset(table, 0, sizeof *table);
}

int list_grow(struct spot_table *table, size_t spots, size_t numbers)
{
    if (table->n + spots > table->capacity) {
        const size_t most = 2 * (table->n + spots) + 64;
        struct listed_spot *more = realloc(table->spot, most * sizeof *more);

        if (!more) return 0;
        table->spot = more;
        table->capacity = most;
    }
    if (table->nnumber + numbers > table->number_capacity) {
        const size_t most = 2 * (table->nnumber + numbers) + 64;
        double *more = realloc(table->numbers, most * sizeof *more);

        if (!more) return 0;
        table->numbers = more;
        table->number_capacity = most;
    }
    return 1;
}

/* A search for the reflections of one crystal, with the core or the tail of its mosaic
 * spread, and one group of sources. */
struct search {
    struct progress *progress;
    const struct view *view;
    const struct list_settings *settings;
    struct spot_name name;
    double qmax; /* largest |q|, 1/A */
    double far; /* largest |T| (see the head of the file), 1/A^2 */
    int low[3], high[3];
    struct spot_table *out;
    int full; /* 1: there was no memory for a spot */
};

/* Returns a bound of the largest eigenvalue of a positive semidefinite matrix: its
 * trace. */
static double largest(const double m[6])
{
    return m[0] + m[1] + m[2];
}

double list_widest_size(const struct job *job, double k)
{
    double least = INFINITY;

    for (int i = 0; i < window_panels(job->window); i++)
        least = fmin(least, fabs(job->frame[i].close_distance));
    k *= job->frame->broad.size / fmax(least, 1e-6);
    return k * k;
}

/* Sets the bounds `far`, `low` and `high` of a search. */
static void start_search(struct search *s)
{
    const struct view *view = s->view;
    const struct phys_frame *frame = view->frame;
    const struct phys_broad *b = &frame->broad;
    const struct crystal_at *c = view->crystal + s->name.crystal;
    const struct beam_group *g = view->group + s->name.group;
    const double sd = sqrt(2 * s->settings->cut), q = s->qmax;
    const double spindle = form_dot(form_load(b->spindle), form_load(b->spindle));
    const double energies = fmax(fabs(g->low), fabs(g->high)) + sd * b->line;
    double wide = largest(c->block) + q * q * largest(c->spread[s->name.mosaic]);
    double r;

    wide += b->spacing * b->spacing * q * q;
    wide += g->k * g->k * (b->divergence[0] + b->divergence[1] + b->divergence[2]);
    wide += q * q * b->line * b->line;
    if (b->size != 0) wide += list_widest_size(s->settings->job, g->k);
    r = sd * sqrt(wide) + b->half_range * sqrt(spindle) * q + 0.5 * energies * q * q / g->k;
    s->far = r * (2 * g->k + r);
    for (int i = 0; i < 3; i++) {
        const struct form_vector axis = form_load(c->axes + (size_t)3 * (size_t)i);
        const double most = floor(s->qmax * sqrt(form_dot(axis, axis)));

        s->low[i] = most > 1e8 ? -100000000 : -(int)most;
        s->high[i] = -s->low[i];
        if (frame->default_f == 0 && frame->f) {
            s->low[i] = max_int(s->low[i], frame->hkl_min[i]);
            s->high[i] = min_int(s->high[i], frame->hkl_min[i] + frame->hkl_size[i] - 1);
        }
    }
}

/* Lists the reflections h k l of a row with l from `low` to `high`. */
static void search_range(struct search *s, double low, double high)
{
    const int first = low < s->low[2] ? s->low[2] : (int)ceil(low);
    const int last = high > s->high[2] ? s->high[2] : (int)floor(high);

    for (s->name.l = first; s->name.l <= last && !s->full; s->name.l++)
        s->full = !place_reflection(s->view, s->settings, &s->name, s->out);
}

/* Lists the reflections of row (h, k). T is a parabola in l, and |T| is small in one range
 * of l or in two. */
static void search_row(struct search *s)
{
    const double *stars = s->view->crystal[s->name.crystal].stars;
    const struct beam_group *g = s->view->group + s->name.group;
    const struct form_vector a = form_load(stars), b = form_load(stars + 3);
    const struct form_vector star = form_load(stars + 6), light = form_load(g->s);
    const struct form_vector q = form_axpy(s->name.h, a, form_scale(s->name.k, b));
    const double square = form_dot(star, star);
    const double middle = -(form_dot(star, q) + g->k * form_dot(star, light)) / square;
    const double least =
        form_dot(q, q) + 2 * g->k * form_dot(q, light) - square * middle * middle;
    const double along = form_dot(star, q) / square;
    const double ball =
        along * along + (s->qmax * s->qmax - form_dot(q, q)) / square; /* |q| <= qmax */
    const double outer = (s->far - least) / square, inner = (-s->far - least) / square;
    double low, high;

    if (ball < 0 || outer < 0) return;
    low = fmax(-along - sqrt(ball), middle - sqrt(outer));
    high = fmin(-along + sqrt(ball), middle + sqrt(outer));
    if (inner <= 0) {
        search_range(s, low, high);
        return;
    }
    search_range(s, low, fmin(high, middle - sqrt(inner)));
    search_range(s, fmax(low, middle + sqrt(inner)), high);
}

static nb_status search(struct search *s)
{
    start_search(s);
    for (s->name.h = s->low[0]; s->name.h <= s->high[0]; s->name.h++) {
        for (s->name.k = s->low[1]; s->name.k <= s->high[1]; s->name.k++) search_row(s);
        if (s->full) return fail_memory(s->progress->ctx, "the spots of an image");
        if (progress_stopped(s->progress)) return progress_check(s->progress);
    }
    return NB_OK;
}

/* Returns the largest |q| to search, 1/A: at most 1/least_d, and no larger than scattering
 * to the detector allows. */
static double largest_q(const struct view *view, const struct list_settings *settings)
{
    const struct job *job = settings->job;
    const struct phys_frame *frame = view->frame;
    const double *divergence = frame->broad.divergence, sd = sqrt(2 * settings->cut);
    struct ewald e = ewald_of(frame, window_panels(job->window), job->spec, 0);
    double wave = 0, wide, most;

    (void)ewald_sources(&e, frame, 0, 1e9);
    for (int i = 0; i < view->ngroup; i++) wave = fmax(wave, view->group[i].k);
    /* the spread of the directions of light and of the places in the crystal */
    wide = wave * wave * (divergence[0] + divergence[1] + divergence[2]);
    if (frame->broad.size != 0) wide += list_widest_size(job, wave);
    most = e.qmax * (1 + sd * frame->broad.line) + sd * sqrt(wide);
    most = fmin(most, 2 * wave) * (1 + 1e-6);
    return frame->least_d > 0 ? fmin(most, 1 / frame->least_d) : most;
}

nb_status list_spots(struct progress *progress, const struct view *view,
                     const struct list_settings *settings, struct spot_table *out)
{
    struct search s = {.progress = progress, .view = view, .settings = settings};

    out->n = out->nnumber = 0;
    s.qmax = largest_q(view, settings);
    s.out = out;
    for (s.name.crystal = 0; s.name.crystal < view->ncrystal; s.name.crystal++)
        for (s.name.mosaic = 0; s.name.mosaic < settings->mosaics; s.name.mosaic++)
            for (s.name.group = 0; s.name.group < view->ngroup; s.name.group++)
                NB_TRY(search(&s));
    return NB_OK;
}

void list_nodes(const struct listed_spot *spot, const struct spot_table *table,
                const struct pattern *pattern, struct spot_nodes *nodes)
{
    const struct spot_ellipse *e = &spot->part;

    for (int i = 0; i < NODES; i++) {
        nodes->x[i] = e->x + e->xa * pattern->a[i] + e->xb * pattern->b[i];
        nodes->y[i] = e->y + e->yb * pattern->b[i];
    }
    nodes->at = spot->at;
    nodes->line_at = (const double(*)[NODES])(table->numbers + spot->line_at);
    nodes->star = spot->name.star ? &spot->star : NULL;
    nodes->star_at = (const double(*)[NODES])(table->numbers + spot->star_at);
    nodes->step = spot->step;
    nodes->line_step = spot->line_step;
}

/* ---- the samples of a spot ---- */

void list_rows_of(const struct listed_spot *spot, int nrows, int *first, int *end)
{
    const struct spot_ellipse *e = &spot->spot;
    const double low = floor(e->y + e->yb * fmax(-1, spot->cell[2]) - 0.5);
    const double high = ceil(e->y + e->yb * fmin(1, spot->cell[3]) + 0.5);

    *first = low < 0 ? 0 : low > nrows ? nrows : (int)low;
    *end = high < 0 ? 0 : high > nrows ? nrows : (int)high;
}

/* Pixels first .. last - 1 of a row. */
struct sample_span {
    int first, last;
};

/* Finds the pixels that a spot's part covers in the row of sub-pixels at Y. A pixel on the
 * border of two parts belongs to the right one. Returns 0 if there are none. */
static int samples_of(const struct listed_spot *spot, int over, int nfast, double y,
                      struct sample_span *out)
{
    const struct spot_ellipse *e = &spot->spot;
    const double *g = spot->conic, *m = spot->maximum, down = y - spot->name.y;
    const double b = (y - e->y) / e->yb, half = 0.5 * (g[3] + g[1] * down);
    const double rest = g[5] + g[4] * down + g[2] * down * down - 1;
    const double root = half * half - g[0] * rest, middle = e->x + e->xb * b;
    double low, high;

    if (!(root > 0) || b < spot->cell[2] || b >= spot->cell[3]) return 0;
    low = spot->name.x + (-half - sqrt(root)) / g[0];
    high = spot->name.x + (-half + sqrt(root)) / g[0];
    if (spot->reach > 0 && m[1] != 0) {
        const double off = spot->middle - m[0] - m[2] * down;
        const double one = (off - spot->reach) / m[1], other = (off + spot->reach) / m[1];

        low = fmax(low, fmin(one, other) + spot->name.x);
        high = fmin(high, fmax(one, other) + spot->name.x);
    }
    low = floor(low / over), high = ceil(high / over);
    if (spot->cell[0] > -1) low = fmax(low, ceil((middle + e->xa * spot->cell[0]) / over));
    if (spot->cell[1] < 1) high = fmin(high, ceil((middle + e->xa * spot->cell[1]) / over));
    if (!(fmin(high, nfast) > fmax(low, 0))) return 0;
    out->first = (int)fmax(low, 0);
    out->last = (int)fmin(high, nfast);
    return 1;
}

/* Returns the samples of pixels from .. to - 1 in the row of sub-pixels at Y. */
static struct sample_row samples_at(const struct listed_spot *spot, int over, int from,
                                    int to, double y)
{
    const struct spot_ellipse *e = &spot->part;
    const double b = (y - e->y) / e->yb;
    const struct sample_row out = {(from * over + 0.5 - e->x - e->xb * b) / e->xa,
                                   1 / e->xa, b, (to - from) * over, 0};

    return out;
}

int list_samples(const struct listed_spot *spot, const struct job *panel, int *row, int end,
                 int most, struct sample_row *out)
{
    const struct window *w = panel->window;
    const int over = panel->frame->oversample;
    int n = 0;

    for (; *row < end; (*row)++) {
        const double y = *row + 0.5;
        const int s = *row / over, tiles = s / TILE_SLOW - w->first_row;
        const int begin = n;
        struct sample_span all;

        if (tiles < 0 || tiles >= w->nrow || !samples_of(spot, over, w->nfast, y, &all))
            continue;
        for (int r = w->row[tiles]; r < w->row[tiles + 1]; r++) {
            const struct tile_span *span = w->span + r;
            const int from = max_int(all.first, span->fast);
            const int to = min_int(all.last, min_int(span->end, w->nfast));

            if (from >= to) continue;
            if (n == most) return begin; /* no room: the next call begins with this row */
            out[n] = samples_at(spot, over, from, to, y);
            out[n++].pixel =
                panel->packed ? window_place(span, s, from) : window_pixel(w, s, from);
        }
    }
    return n;
}

/* Returns a mask of the bits from .. to - 1. */
static uint32_t bits_of(int from, int to)
{
    return (to < 32 ? ((uint32_t)1 << to) - 1 : UINT32_MAX) & UINT32_MAX << from;
}

/* Returns how many consecutive bits are 1, from the lowest on. */
static int ones_of(uint32_t bits)
{
    return bits == UINT32_MAX ? 32 : __builtin_ctz(~bits);
}

/* Returns how many of the lowest `end` bits are 1. */
static size_t ones_before(uint32_t bits, int end)
{
    return (size_t)__builtin_popcount(bits & bits_of(0, end));
}

int list_shown(const struct listed_spot *spot, int over, int nfast, const struct tile *part,
               int *row, int end, int most, struct sample_row *out)
{
    size_t before[TILE_SLOW + 1] = {0};
    int n = 0;

    for (int r = 0; r < part->height; r++)
        before[r + 1] = before[r] + ones_before(part->shown[r], 32);
    for (; *row < end; (*row)++) {
        const double y = *row + 0.5;
        const int r = *row / over - part->slow, begin = n;
        struct sample_span all;
        uint32_t left;
        int from, to;

        if (!samples_of(spot, over, nfast, y, &all)) continue;
        from = max_int(all.first - part->fast, 0);
        to = min_int(all.last - part->fast, part->width);
        left = from < to ? part->shown[r] & bits_of(from, to) : 0;
        for (; left; left &= ~bits_of(0, to)) {
            if (n == most) return begin; /* no room: the next call begins with this row */
            from = __builtin_ctz(left);
            to = from + ones_of(left >> from);
            out[n] = samples_at(spot, over, part->fast + from, part->fast + to, y);
            out[n++].pixel = before[r] + ones_before(part->shown[r], from);
        }
    }
    return n;
}

/* Widens a span so that it holds another span. */
static void join(const struct sample_span *more, struct sample_span *to)
{
    to->first = min_int(to->first, more->first);
    to->last = max_int(to->last, more->last);
}

int list_tiles(const struct listed_spot *spot, const struct job *panel,
               int (*visit)(void *user, int tile), void *user)
{
    const struct window *w = panel->window;
    const int over = panel->frame->oversample, each = TILE_SLOW * over;
    int row, end;

    list_rows_of(spot, w->nslow * over, &row, &end);
    for (int at = row / each - w->first_row; row < end && at < w->nrow; at++) {
        const int next = min_int((at + 1 + w->first_row) * each, end);
        struct sample_span all = {w->nfast, 0};

        for (; row < next; row++) {
            struct sample_span one;

            if (at >= 0 && samples_of(spot, over, w->nfast, row + 0.5, &one))
                join(&one, &all);
        }
        for (int r = at < 0 ? 0 : w->row[at]; at >= 0 && r < w->row[at + 1]; r++) {
            const struct tile_span *span = w->span + r;
            const int from = max_int(all.first, span->fast) - span->fast;
            const int to = min_int(all.last, span->end) - span->fast;

            for (int t = from / TILE_FAST; from < to && t * TILE_FAST < to; t++)
                if (!visit(user, span->first + t)) return 0;
        }
    }
    return 1;
}
