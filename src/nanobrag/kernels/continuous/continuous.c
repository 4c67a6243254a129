/*
 * continuous.c - images and derivatives of a continuous crystal. Spots are drawn strip by
 * strip: one thread at a time works on a strip, spot by spot in the order of their list, so
 * that the sums have the same bits for any number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/continuous.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "kernels/continuous/spots_at.h"
#include "kernels/grid.h"
#include "kernels/spots/row_strips.h"

/* How many rows of samples are drawn together. */
enum { ROWS_AT_ONCE = 256 };

void continuous_free(struct continuous_work *work)
{
    list_free(&work->table);
    for (size_t i = 0; i < work->nspectra; i++) spectrum_free(work->spectrum + i);
    free(work->spectrum);
    free(work->view.crystal);
    free(work->view.group);
    free(work->strip);
    free(work->order);
    free(work->lit);
    free(work->pair);
    free(work->first);
    free(work->of_tile);
    free(work->change);
    memset(work, 0, sizeof *work);
}

size_t continuous_bytes(const struct continuous_work *work)
{
    return work->table.capacity * sizeof *work->table.spot
           + work->table.number_capacity * sizeof *work->table.numbers
           + work->ncrystals * sizeof *work->view.crystal
           + work->ngroups * (sizeof *work->view.group + sizeof *work->spectrum)
           + work->nstrips * sizeof *work->strip + work->norder * sizeof *work->order
           + work->ntiles + work->pairs * sizeof *work->pair
           + (work->nfirsts + work->nof_tile) * sizeof *work->first
           + work->nchanges * sizeof *work->change;
}

/* ---- memory ---- */

/* Enlarges an array to at least n elements; its contents are lost. */
static int grow(void **array, size_t *room, size_t n, size_t size)
{
    if (n <= *room && *array) return 1;
    free(*array);
    *room = 0;
    *array = malloc((n + n / 4 + 1) * size);
    if (*array) *room = n + n / 4 + 1;
    return *array != NULL;
}

static int grow_view(struct continuous_work *work, const struct phys_frame *frame)
{
    const size_t crystals = (size_t)frame->norientation, groups = (size_t)frame->nsource;

    if (crystals > work->ncrystals || groups > work->ngroups) {
        free(work->view.crystal);
        free(work->view.group);
        work->ncrystals = work->ngroups = 0;
        work->view.crystal = calloc(crystals, sizeof *work->view.crystal);
        work->view.group = calloc(groups, sizeof *work->view.group);
        if (!work->view.crystal || !work->view.group) return 0;
        work->ncrystals = crystals;
        work->ngroups = groups;
    }
    if (groups > work->nspectra) {
        struct spectral_lines *more = realloc(work->spectrum, groups * sizeof *more);

        if (!more) return 0;
        memset(more + work->nspectra, 0, (groups - work->nspectra) * sizeof *more);
        work->spectrum = more;
        work->nspectra = groups;
    }
    return 1;
}

/* ---- the spots ---- */

/* Finds the least and the largest width of the spots along the energy, for each group. */
static void find_widths(const struct continuous_work *work, double (*width)[2])
{
    for (int i = 0; i < work->view.ngroup; i++) width[i][0] = width[i][1] = 0;
    for (size_t s = 0; s < work->table.n; s++) {
        const struct listed_spot *spot = work->table.spot + s;
        double *of = width[spot->name.group];
        const double sd = sqrt(spot->variance);

        if (spot->name.along != ALONG_ENERGY) continue;
        of[0] = of[1] > 0 ? fmin(of[0], sd) : sd;
        of[1] = fmax(of[1], sd);
    }
}

static int make_spectra(struct continuous_work *work)
{
    const struct phys_frame *frame = work->view.frame;
    const size_t n = (size_t)frame->nsource;
    const double line = frame->broad.line;
    double(*width)[2] = malloc(n * sizeof *width), *e = malloc(n * 2 * sizeof *e);
    int good = e && width;

    if (good) find_widths(work, width);
    for (int i = 0; i < work->view.ngroup && good; i++) {
        const struct beam_group *g = work->view.group + i;

        for (int j = 0; j < g->n; j++) {
            const struct phys_source *source = frame->source + g->first + j;

            e[j] = log(source->inverse_wavelength / g->k);
            e[n + (size_t)j] = source->weight;
        }
        if (g->n > 1 && width[i][1] > 0)
            good = spectrum_make(work->spectrum + i, g->n, e, e + n, line * line,
                                 width[i][0], width[i][1]);
    }
    free(e);
    free(width);
    return good;
}

double spot_share(const struct view *view, const struct listed_spot *spot)
{
    return view->crystal[spot->name.crystal].share[spot->name.mosaic];
}

void spot_nodes_of(const struct continuous_work *work, const struct job *job,
                   const struct listed_spot *spot, struct spot_state *out)
{
    list_nodes(spot, &work->table, &work->pattern, &out->nodes);
    view_nodes(&work->view, job->frame + spot->name.panel, &spot->name, &out->of,
               &out->nodes);
}

void spot_fit(const struct continuous_work *work, const struct node_kernels *kernels,
              const struct job *job, struct listed_spot *spot, struct spot_state *out)
{
    spot_nodes_of(work, job, spot, out);
    kernels->values(&out->nodes, &out->values);
    spot_factors(job->frame + spot->name.panel, spot, &out->nodes,
                 out->values.output[NODE_L]);
    pattern_fit(&work->pattern, spot->name.along == ALONG_NOTHING ? 1 : NODE_OUTPUTS,
                out->values.output, spot->c);
}

/* Computes the polynomials and the scales of all spots. */
static void fit_all(const struct kernel_set *kernels, const struct job *job,
                    struct continuous_work *work)
{
    const int n = (int)work->table.n;
    const int threads = strips_threads(job, n * 100.0);

#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < n; i++) {
        STANDARD_FLOATS;
        struct listed_spot *spot = work->table.spot + i;
        const int hkl[3] = {spot->name.h, spot->name.k, spot->name.l};
        struct spot_state state;

        spot_fit(work, kernels->nodes, job, spot, &state);
        if (!work->held && spot->name.along == ALONG_ENERGY)
            spot->variance = 1 / fmax(spot->c[SPOT_H], 0.1 / (spot->step * spot->step));
        spot->square = view_square(&work->view, &job->spec, hkl, &spot->place);
        spot->scale = spot->square * spot->weight
                      * view_light(&work->view, &spot->name).weight
                      * spot_share(&work->view, spot);
    }
    (void)threads;
}

/* Numbers the strips of all panels. base[p] becomes the index of the first strip of panel
 * p, and base[number of panels] the number of all strips. Returns 0 if there is no
 * memory. */
static int make_strips(struct continuous_work *work, const struct window *image, int *base)
{
    const int panels = window_panels(image);
    void *array = work->strip;

    base[0] = 0;
    for (int p = 0; p < panels; p++)
        base[p + 1] =
            base[p] + (window_panel(image, p)->nslow + STRIP_ROWS - 1) / STRIP_ROWS;
    work->nstrip = base[panels];
    work->strip = NULL;
    if (!grow(&array, &work->nstrips, (size_t)work->nstrip + 1, sizeof *work->strip))
        return 0;
    work->strip = array;
    for (int p = 0; p < panels; p++)
        for (int i = base[p]; i < base[p + 1]; i++) {
            const int row = (i - base[p]) * STRIP_ROWS;

            work->strip[i] = (struct spot_strip){p, row,
                                                 min_int(row + STRIP_ROWS,
                                                         window_panel(image, p)->nslow),
                                                 0, 0};
        }
    return 1;
}

/* Counts the spots of each strip; if `order` is not NULL, also writes their indices to
 * it. */
static void fill_strips(struct continuous_work *work, const struct job *job,
                        const int *base, unsigned *order)
{
    const int over = job->frame->oversample, rows = STRIP_ROWS * over;

    for (size_t s = 0; s < work->table.n; s++) {
        const struct listed_spot *spot = work->table.spot + s;
        const int panel = spot->name.panel;
        int first, end;

        list_rows_of(spot, window_panel(job->window, panel)->nslow * over, &first, &end);
        for (int i = first / rows; first < end && i * rows < end; i++) {
            struct spot_strip *strip = work->strip + base[panel] + i;

            if (order) order[strip->first + strip->n] = (unsigned)s;
            strip->n++;
        }
    }
}

/* Lists the spots that reach each strip. */
static int list_strips(struct continuous_work *work, const struct job *job)
{
    int *base = malloc(((size_t)window_panels(job->window) + 1) * sizeof *base);
    int good = base && make_strips(work, job->window, base);
    size_t total = 0;

    if (good) {
        void *array = work->order;

        fill_strips(work, job, base, NULL);
        for (int i = 0; i < work->nstrip; i++) {
            work->strip[i].first = total;
            total += work->strip[i].n;
            work->strip[i].n = 0;
        }
        work->order = NULL;
        good = grow(&array, &work->norder, total + 1, sizeof *work->order);
        if (good) {
            work->order = array;
            fill_strips(work, job, base, work->order);
        }
    }
    free(base);
    return good;
}

/* The argument of mark_tile(), which notes that a spot reaches a tile. */
struct marking {
    struct continuous_work *work;
    unsigned spot;
};

static int mark_tile(void *user, int tile)
{
    const struct marking *m = user;
    struct continuous_work *work = m->work;

    if (work->npairs == work->pairs) {
        const size_t most = 2 * work->pairs + 256;
        struct spot_on_tile *more = realloc(work->pair, most * sizeof *more);

        if (!more) return 0;
        work->pair = more;
        work->pairs = most;
    }
    work->pair[work->npairs++] = (struct spot_on_tile){(unsigned)tile, m->spot};
    return 1;
}

/* Sorts the pairs of tile and spot by the n tiles, and sets `lit`. */
static int sort_by_tiles(struct continuous_work *work, size_t n)
{
    void *first = work->first, *of_tile = work->of_tile, *lit = work->lit;

    work->first = work->of_tile = NULL;
    work->lit = NULL;
    if (grow(&first, &work->nfirsts, n + 2, sizeof *work->first)) work->first = first;
    if (grow(&of_tile, &work->nof_tile, work->npairs + 1, sizeof *work->of_tile))
        work->of_tile = of_tile;
    if (grow(&lit, &work->ntiles, n + 1, 1)) work->lit = lit;
    if (!work->first || !work->of_tile || !work->lit) return 0;
    memset(work->first, 0, (n + 2) * sizeof *work->first);
    for (size_t i = 0; i < work->npairs; i++) work->first[work->pair[i].tile + 2]++;
    for (size_t t = 0; t < n; t++) {
        work->lit[t] = work->first[t + 2] > 0;
        work->first[t + 2] += work->first[t + 1];
    }
    for (size_t i = 0; i < work->npairs; i++)
        work->of_tile[work->first[work->pair[i].tile + 1]++] = work->pair[i].spot;
    return 1;
}

/* Finds which spots reach which tiles. */
static int mark_tiles(struct continuous_work *work, const struct job *job)
{
    struct marking m = {work, 0};

    work->npairs = 0;
    for (; m.spot < work->table.n; m.spot++) {
        const struct listed_spot *spot = work->table.spot + m.spot;
        const struct job panel = job_of_panel(job, spot->name.panel);

        if (!list_tiles(spot, &panel, mark_tile, &m)) return 0;
    }
    return sort_by_tiles(work, (size_t)grid_count(job));
}

/* Returns the cut: spots are followed to exp(-cut) of their peak. The cut is at least 12,
 * because the tails of many spots add up. */
static double cut_of(const struct job *job)
{
    return fmax(12, -log(job->tolerance) + 0.5);
}

nb_status continuous_list(struct progress *progress, const struct kernel_set *kernels,
                          const struct job *job, struct continuous_work *work)
{
    const int mosaics = work->tail || job->frame->broad.tail > 0 ? MOSAICS : 1;
    const struct list_settings settings = {cut_of(job), mosaics, job, &work->pattern};

    if (work->pattern.fit[0][0] == 0) pattern_make(&work->pattern);
    if (!grow_view(work, job->frame)) return fail_memory(progress->ctx, "spots");
    view_make(job->frame, work->held, &work->view);
    if (!work->held) {
        NB_TRY(list_spots(progress, &work->view, &settings, &work->table));
        if (!list_strips(work, job) || !mark_tiles(work, job))
            return fail_memory(progress->ctx, "spots");
    }
    fit_all(kernels, job, work);
    return make_spectra(work) ? NB_OK : fail_memory(progress->ctx, "a spectrum");
}

/* ---- the image ---- */

int spot_profile(const struct continuous_work *work, const struct listed_spot *spot,
                 struct spectrum_row *row, struct profile *out)
{
    out->kind = spot->name.along == ALONG_NOTHING ? PROFILE_STILL
                : spot->name.along == ALONG_PHI   ? PROFILE_RANGE
                                                  : PROFILE_TABLE;
    out->half = work->view.frame->broad.half_range;
    out->row = row;
    memcpy(out->c, spot->c, sizeof out->c);
    if (out->kind != PROFILE_TABLE) return 1;
    return spectrum_row(work->spectrum + spot->name.group, spot->variance, row);
}

/* Draws the spots of a strip; returns 0 if there is no memory. */
static int draw_strip(const struct continuous_kernels *kernels, const struct job *job,
                      const struct continuous_work *work, const struct spot_strip *strip,
                      struct spectrum_row *row)
{
    const struct job panel = job_of_panel(job, strip->panel);
    const int over = job->frame->oversample;
    struct sample_row rows[ROWS_AT_ONCE];

    for (size_t i = 0; i < strip->n; i++) {
        const struct listed_spot *spot = work->table.spot + work->order[strip->first + i];
        struct profile profile;
        int first, end, n;

        list_rows_of(spot, panel.window->nslow * over, &first, &end);
        first = max_int(first, strip->row * over);
        end = min_int(end, strip->end * over);
        if (!spot_profile(work, spot, row, &profile)) return 0;
        while ((n = list_samples(spot, &panel, &first, end, ROWS_AT_ONCE, rows)) > 0)
            kernels->draw(&profile, over, n, rows, spot->scale, job->photons);
    }
    return 1;
}

/* Sets the pixels of all tiles that will be drawn to 0. */
static void clear(const struct job *job, const struct continuous_work *work)
{
    static const double none[TILE_PIXELS];

    if (!job->packed) {
        grid_zero(job);
        return;
    }
    for (int t = 0; t < grid_count(job); t++)
        if (work->lit[t]) {
            const struct tile tile = grid_tile(job, t);
            const struct job panel = job_of_panel(job, tile.panel);

            (void)grid_write(&panel, &tile, none);
        }
}

nb_status continuous_draw(struct progress *progress, const struct kernel_set *kernels,
                          const struct job *job, const struct continuous_work *work)
{
    const struct continuous_kernels *draw =
        kernels->single ? kernels->continuous_single : kernels->continuous_precise;
    const int threads = strips_threads(job, (double)work->table.n * 400);
    int good = 1;

    clear(job, work);
#pragma omp parallel num_threads(threads) reduction(& : good)
    {
        struct spectrum_row row = {0};

#pragma omp for schedule(dynamic)
        for (int i = 0; i < work->nstrip; i++) {
            STANDARD_FLOATS;
            if (good && !progress_stopped(progress))
                good &= draw_strip(draw, job, work, work->strip + i, &row);
        }
        spectrum_row_free(&row);
    }
    (void)threads;
    if (!good) return fail_memory(progress->ctx, "a spectrum");
    return progress_check(progress);
}
