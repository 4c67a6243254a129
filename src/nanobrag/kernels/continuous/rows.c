/* rows.c - the derivatives of a tile's pixels (rows of the Jacobian) from the spots of a
 * continuous crystal.
 * SPDX-License-Identifier: MIT */
#include "kernels/continuous/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "kernels/continuous/forms/changes.h"
#include "kernels/continuous/spots_at.h"
#include "kernels/spots/row_strips.h"

void continuous_rows_free(struct continuous_rows *rows)
{
    free(rows->grid);
    rows->grid = NULL;
}

/* ---- the derivatives of spots ---- */

/* Returns 1 if a line of the group's spectrum changes along a tangent. */
static int lines_change(const struct beam_group *g, const struct phys_frame_tangent *dot)
{
    int any = 0;

    for (int i = 0; i < g->n && g->n > 1; i++)
        any |= dot->source[g->first + i].inverse_wavelength != 0
               || dot->source[g->first + i].weight != 0;
    return any;
}

/* Counts the numbers in a spot's row of the spectrum, 0 without a spectrum. Returns 0 if
 * there is no memory. */
static int row_numbers(const struct continuous_work *work, const struct listed_spot *s,
                       struct spectrum_row *row, size_t *n)
{
    struct profile profile;

    *n = 0;
    if (s->name.along != ALONG_ENERGY) return 1;
    if (!spot_profile(work, s, row, &profile)) return 0;
    *n = SPECTRUM_NUMBERS * (size_t)row->n;
    return 1;
}

/* Returns the relative change of the factors that multiply a whole spot. */
static double change_of_scale(const struct view *view, const struct listed_spot *s,
                              const struct phys_frame_tangent *dot,
                              const struct crystal_change *crystal)
{
    const double share = spot_share(view, s);
    const double light = view_light(view, &s->name).weight;
    double sum = crystal->share[s->name.mosaic] / share;

    if (light != 0) sum += view_light_tangent(view, &s->name, dot->source).weight / light;
    return sum;
}

/* The tangents of all panels, and the changes of the crystals along them. */
struct all_changes {
    const struct continuous_rows *rows;
    const struct tangents *const *of_panel;
    const struct crystal_change *crystal; /* (tangents of all panels x crystals) */
    /* index of each panel's first tangent among the tangents of all panels */
    const size_t *first;
};

enum { MOST = DIRECTION_LANES * DIRECTION_BATCHES };

/* The current spot, and some of the tangents along which it changes. */
struct changing {
    const struct all_changes *all;
    const struct listed_spot *spot;
    struct spot_state state;
    struct form_known known;
    struct seen_node seen[NODES];
    int n, which[MOST];
    struct nodes_change moved[MOST];
    struct form_of made[MOST];
    _Alignas(64) on_directions output[DIRECTION_BATCHES][NODE_OUTPUTS][NODES];
};

static int any_number(const void *of, size_t bytes)
{
    const double *number = of;

    for (size_t i = 0; i < bytes / sizeof *number; i++)
        if (number[i] != 0) return 1;
    return 0;
}

static const struct crystal_change *crystal_along(const struct all_changes *a,
                                                  const struct listed_spot *spot, int d)
{
    const size_t number = a->first[spot->name.panel] + (size_t)d;

    return a->crystal + number * (size_t)a->rows->work->view.ncrystal + spot->name.crystal;
}

/* Finds the changes of the polynomials of a spot along the chosen tangents c->which. */
static void change_polynomials(struct changing *c, struct profile_change *to)
{
    const struct continuous_rows *rows = c->all->rows;
    const struct change_kernels *kernels = rows->kernels->changes;
    const struct phys_frame *frame = rows->job->frame + c->spot->name.panel;
    const struct tangents *tangents = c->all->of_panel[c->spot->name.panel];
    const int outputs = c->spot->name.along == ALONG_NOTHING ? 1 : NODE_OUTPUTS;
    const int made = any_number(c->made, sizeof *c->made * (size_t)c->n);
    const struct change_along along = {c->n, c->moved, made ? c->made : NULL, &c->known};

    kernels->outputs(rows->kernels->nodes, &c->state.nodes, &c->state.values, &along,
                     c->output);
    for (int first = 0; first < c->n; first += DIRECTION_LANES) {
        const int *which = c->which + first, n = min_int(c->n - first, DIRECTION_LANES);
        on_directions(*output)[NODES] = c->output[first / DIRECTION_LANES];
        const struct phys_frame_tangent *dot[DIRECTION_LANES];
        _Alignas(64) on_directions coefficient[SPOT_COEFFICIENTS];

        for (int d = 0; d < n; d++) dot[d] = tangents->dot + which[d];
        spot_factors_tangent(frame, c->spot, c->seen, n, dot, output[NODE_L]);
        kernels->fit(&rows->work->pattern, outputs, output, coefficient);
        for (int d = 0; d < n; d++)
            for (int k = 0; k < SPOT_COEFFICIENTS; k++)
                to[which[d]].c[k] += coefficient[k][d];
    }
    c->n = 0;
}

/* Finds the changes of a spot's polynomials along all tangents of its panel. */
static void change_spot(struct changing *c, struct profile_change *to)
{
    const struct continuous_rows *rows = c->all->rows;
    const struct view *view = &rows->work->view;
    const struct phys_frame *frame = rows->job->frame + c->spot->name.panel;
    const struct tangents *along = c->all->of_panel[c->spot->name.panel];

    spot_nodes_of(rows->work, rows->job, c->spot, &c->state);
    rows->kernels->nodes->slopes(&c->state.nodes, &c->state.values);
    form_make_known(&c->state.of, &c->state.nodes.form, &c->known);
    spot_seen(frame, c->spot, &c->state.nodes, c->seen);
    c->n = 0;
    for (int d = 0; d < along->n; d++) {
        struct nodes_change *moved = c->moved + c->n;
        struct form_of *made = c->made + c->n;

        view_nodes_tangent(view, frame, &c->spot->name, &c->state.nodes, along->dot + d,
                           crystal_along(c->all, c->spot, d), moved, made);
        if (frame->layer_mu == 0 && !any_number(moved, sizeof *moved)
            && !any_number(made, sizeof *made))
            continue;
        c->which[c->n++] = d;
        if (c->n == MOST) change_polynomials(c, to);
    }
    if (c->n > 0) change_polynomials(c, to);
}

/* Finds the change of a spot's row of the spectrum along a tangent. Returns 0 if there is
 * no memory. */
static int change_lines(const struct continuous_work *work, const struct listed_spot *spot,
                        const struct phys_frame_tangent *dot, double *grid)
{
    const struct beam_group *g = work->view.group + spot->name.group;
    double *e = malloc(2 * (size_t)g->n * sizeof *e), *w;

    if (!e) return 0;
    w = e + g->n;
    for (int i = 0; i < g->n; i++) {
        e[i] = dot->source[g->first + i].inverse_wavelength
               / work->view.frame->source[g->first + i].inverse_wavelength;
        w[i] = dot->source[g->first + i].weight;
    }
    spectrum_row_change(work->spectrum + spot->name.group, spot->variance, e, w, grid);
    free(e);
    return 1;
}

/* Finds all changes of a spot along the tangents of its panel. Returns 0 if there is no
 * memory. */
static int change_all_of(struct changing *c, struct profile_change *to, double *grid)
{
    const struct continuous_work *work = c->all->rows->work;
    const struct tangents *along = c->all->of_panel[c->spot->name.panel];
    const struct beam_group *g = work->view.group + c->spot->name.group;
    const int mosaic = c->spot->name.mosaic, dark = spot_share(&work->view, c->spot) == 0;
    struct spectrum_row row = {0};
    size_t numbers = 0;
    int good = !grid || row_numbers(work, c->spot, &row, &numbers);

    spectrum_row_free(&row);
    if (!good) return 0;
    memset(to, 0, sizeof *to * (size_t)along->n);
    if (!dark) change_spot(c, to);
    for (int d = 0; d < along->n && good; d++, to++) {
        const struct phys_frame_tangent *dot = along->dot + d;
        const struct crystal_change *crystal = crystal_along(c->all, c->spot, d);

        if (dark) { /* the share of its core or tail is 0, but may grow along a tangent */
            to->c[SPOT_L] = crystal->share[mosaic];
        } else {
            to->c[SPOT_L] += change_of_scale(&work->view, c->spot, dot, crystal);
            to->half = dot->broad.half_range;
            if (numbers > 0 && lines_change(g, dot)) {
                good = change_lines(work, c->spot, dot, grid);
                to->grid = grid;
                grid += numbers;
            }
        }
        to->none = !to->grid && to->half == 0 && !any_number(to->c, sizeof to->c);
    }
    return good;
}

/* Finds where in the memory `grid` the changes of each spot's spectrum begin, first[spot].
 * *total becomes the length of that memory. Returns 0 if there is no memory. */
static int find_grids(const struct all_changes *a, size_t *first, size_t *total)
{
    const struct continuous_work *work = a->rows->work;
    struct spectrum_row row = {0};
    int good = 1;

    *total = 0;
    for (size_t s = 0; s < work->table.n && good; s++) {
        const struct listed_spot *spot = work->table.spot + s;
        const struct tangents *along = a->of_panel[spot->name.panel];
        size_t changing = 0, numbers = 0;

        first[s] = *total;
        for (int d = 0; d < along->n; d++)
            changing +=
                (size_t)lines_change(work->view.group + spot->name.group, along->dot + d);
        if (changing > 0) good = row_numbers(work, spot, &row, &numbers);
        *total += changing * numbers;
    }
    spectrum_row_free(&row);
    return good;
}

/* Finds the changes of all spots. Returns 0 if there is no memory. */
static int change_all(const struct all_changes *a, const size_t *first)
{
    const struct continuous_rows *rows = a->rows;
    const int n = (int)rows->work->table.n;
    const int threads = strips_threads(rows->job, n * 2000.0);
    int good = 1;

#pragma omp parallel for schedule(dynamic, 4) num_threads(threads) reduction(& : good)
    for (int i = 0; i < n; i++) {
        STANDARD_FLOATS;
        struct changing changing;

        changing.all = a;
        changing.spot = rows->work->table.spot + i;
        good &= change_all_of(&changing, rows->change + (size_t)i * (size_t)rows->most,
                              rows->grid ? rows->grid + first[i] : NULL);
    }
    (void)threads;
    return good;
}

/* Returns memory for n changes of spots, or NULL. */
static struct profile_change *take_changes(struct continuous_work *work, size_t n)
{
    if (n > work->nchanges || !work->change) {
        free(work->change);
        work->nchanges = 0;
        work->change = malloc((n + n / 4 + 1) * sizeof *work->change);
        if (work->change) work->nchanges = n + n / 4 + 1;
    }
    return work->change;
}

nb_status continuous_rows_find(struct progress *progress, const struct kernel_set *kernels,
                               const struct job *job, const struct tangents *const *along,
                               struct continuous_work *work, struct continuous_rows *out)
{
    const int panels = window_panels(job->window);
    size_t *begin, *first = NULL, tangents = 0, grids = 0;
    struct crystal_change *crystal = NULL;
    struct all_changes a = {.rows = out, .of_panel = along};
    nb_status status = continuous_list(progress, kernels, job, work);

    memset(out, 0, sizeof *out);
    if (status) return status;
    out->kernels = kernels;
    out->job = job;
    out->work = work;
    out->no_memory = &work->no_memory;
    work->no_memory = 0;
    begin = malloc(((size_t)panels + 1) * sizeof *begin);
    for (int p = 0; p < panels && begin; p++) {
        begin[p] = tangents;
        tangents += (size_t)along[p]->n;
        out->most = max_int(out->most, along[p]->n);
    }
    crystal = malloc((tangents * (size_t)work->view.ncrystal + 1) * sizeof *crystal);
    first = malloc((work->table.n + 1) * sizeof *first);
    out->change = take_changes(work, work->table.n * (size_t)out->most);
    status = begin && crystal && first && out->change ? NB_OK : NB_ERR_MEMORY;
    if (status == NB_OK) {
        for (int p = 0; p < panels; p++)
            for (int d = 0; d < along[p]->n; d++)
                for (int o = 0; o < work->view.ncrystal; o++)
                    view_crystal_tangent(&work->view, o, along[p]->dot + d,
                                         crystal
                                             + (begin[p] + (size_t)d)
                                                   * (size_t)work->view.ncrystal
                                             + o);
        a.crystal = crystal;
        a.first = begin;
        if (!find_grids(&a, first, &grids)) status = NB_ERR_MEMORY;
        if (grids > 0) out->grid = malloc(grids * sizeof *out->grid);
        if (grids > 0 && !out->grid) status = NB_ERR_MEMORY;
    }
    if (status == NB_OK && !change_all(&a, first)) status = NB_ERR_MEMORY;
    free(begin);
    free(crystal);
    free(first);
    if (status) continuous_rows_free(out);
    return status ? fail_memory(progress->ctx, "the changes of spots")
                  : progress_check(progress);
}

/* ---- a tile ---- */

/* Adds the samples of a spot in rows first .. end - 1 to `own`, and their derivatives along
 * all tangents to where->change. Sets *rows->no_memory if there is no memory. */
static void add_spot(const struct continuous_rows *rows, const struct tile *part,
                     size_t number, int first, int end, const struct rows_of_part *where,
                     double *own) /* NOLINT(readability-non-const-parameter) */
{
    const struct continuous_work *work = rows->work;
    const struct continuous_kernels *kernels = rows->kernels->single
                                                   ? rows->kernels->continuous_single
                                                   : rows->kernels->continuous_precise;
    const struct listed_spot *spot = work->table.spot + number;
    const struct phys_frame *frame = rows->job->frame + part->panel;
    const double rest =
        spot->square * spot->weight * view_light(&work->view, &spot->name).weight;
    const double scale = spot_share(&work->view, spot) != 0 ? spot->scale : rest;
    const struct spot_changes to = {where->n, rows->change + number * (size_t)rows->most,
                                    own, where->change, TILE_PIXELS};
    struct sample_row samples[TILE_SLOW * 16];
    struct spectrum_row row = {0};
    struct profile profile;
    int count;

    if (!spot_profile(work, spot, &row, &profile)) {
#pragma omp atomic write
        *rows->no_memory = 1;
        return;
    }
    while ((count = list_shown(spot, frame->oversample, frame->nfast, part, &first, end,
                               (int)(sizeof samples / sizeof *samples), samples))
           > 0)
        kernels->changes(&profile, frame->oversample, count, samples, scale, &to);
    spectrum_row_free(&row);
}

/* Adds a spot to the sums of a part of a tile and, unless to->columns is NULL, to its
 * derivatives by structure factors. Returns 0 if to->columns is full. */
static int add_to_part(const struct continuous_rows *rows, const struct tile *part,
                       size_t number, const struct rows_of_part *to)
{
    const struct continuous_work *work = rows->work;
    const struct listed_spot *spot = work->table.spot + number;
    const int over = rows->job->frame->oversample;
    const int low = part->slow * over, high = low + part->height * over;
    const int apart = to->columns || spot_share(&work->view, spot) == 0;
    double own[TILE_PIXELS], *column = NULL, by_f = 0;
    int first, end;

    list_rows_of(spot, high, &first, &end);
    first = max_int(first, low);
    if (first >= end) return 1;
    if (apart) memset(own, 0, (size_t)to->lanes * sizeof *own);
    add_spot(rows, part, number, first, end, to, apart ? own : to->sums);
    if (!to->columns || spot_share(&work->view, spot) == 0) return 1;
    column = columns_take(to->columns, spot->place, to->lanes);
    if (to->columns->full) return 0;
    if (column && spot->square != 0) by_f = 2 / work->view.frame->f[spot->place];
    for (int i = 0; i < to->lanes; i++) {
        to->sums[i] += own[i];
        if (column) column[i] += by_f * own[i];
    }
    return 1;
}

size_t continuous_rows_count(const struct continuous_rows *rows, const struct tile *tile)
{
    const unsigned *first = rows->work->first + tile->number;

    return first[1] - first[0];
}

void continuous_rows_of(const struct continuous_rows *rows, const struct tile *part,
                        const struct rows_of_part *to)
{
    const struct continuous_work *work = rows->work;
    const unsigned *first = work->first + part->number;

    for (unsigned i = first[0]; i < first[1]; i++)
        if (!add_to_part(rows, part, work->of_tile[i], to)) return;
}
