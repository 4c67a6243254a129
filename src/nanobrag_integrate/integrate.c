/*
 * integrate.c - nb_integrate(): fits the intensities of reflections to an image, box by
 * box. Any thread may fit any box, and no box depends on another's result.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>
#include <nanobrag/reflections.h>

#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_integrate/box_fit.h"
#include "nanobrag_integrate/profiles.h"
#include "simulator.h"

enum { MARGIN = 4, MARGIN_MOST = 1000 };

/* A neighbour whose share in the box is smaller is left out. */
static const double least_share = 1e-4;

/* Bits of "flags" of DIALS. */
enum { PREDICTED = 1, SUMMED = 256, FITTED = 512, OVERLOADED = 1024 };

/* The columns that are set. */
enum { PRF, PRF_VARIANCE, SUM, SUM_VARIANCE, MEAN, PHOTONS, LP, COLUMNS };
static const char *const columns[COLUMNS] = {"intensity.prf.value",
                                             "intensity.prf.variance",
                                             "intensity.sum.value",
                                             "intensity.sum.variance",
                                             "background.mean",
                                             "nanobrag.photons",
                                             "lp"};

struct integration {
    nb_context *ctx;
    nb_simulator *sim;
    const double *x;
    const nb_target *target;
    nb_integration how;
    nb_reflections *table;
    nb_description d;
    int lattices; /* number of further lattices */
    size_t n;
    const int32_t *id, *hkl, *bbox;
    const uint64_t *panel;
    int (*inner)[4]; /* (n) bboxes, in pixels of the image */
    struct profiles profiles; /* (n) their boxes have a margin */
    double *total; /* (n) photons of each profile for F = 1 */
    struct profile_of **order; /* (n) profiles sorted by the first row of their boxes */
    int tallest; /* rows of the tallest box */
    double *known; /* (pixels) expected background; NULL: none */
    const uint8_t *mask; /* (pixels) NULL: none */
    int roi[4];
    double *column[COLUMNS]; /* (n) */
    uint64_t *flags; /* (n) */
    int32_t *used; /* (n) */
};

static nb_status no_memory(const struct integration *in)
{
    (void)fail_memory(in->ctx, "intensities");
    return NB_ERR_MEMORY;
}

/* ---- boxes ---- */

/* Sets the boxes of row i: its bbox, and the bbox with a margin, cut to the panel. */
static nb_status place_row(struct integration *in, size_t i)
{
    const int margin = in->how.margin > 0 ? in->how.margin : MARGIN;
    const int panels = in->d.npanel > 0 ? in->d.npanel : 1;
    const int32_t *const bbox = in->bbox + 6 * i;
    struct profile_of *const profile = in->profiles.of + i;
    nb_panel panel;

    if (in->panel[i] >= (uint64_t)panels)
        return fail(in->ctx, NB_ERR_ARGUMENT, "row %zu is on panel %llu of %d", i,
                    (unsigned long long)in->panel[i], panels);
    NB_TRY(nb_simulator_panel(in->sim, in->x, (int)in->panel[i], &panel));
    if (bbox[0] < 0 || bbox[1] > panel.nfast || bbox[2] < 0 || bbox[3] > panel.nslow
        || bbox[0] >= bbox[1] || bbox[2] >= bbox[3])
        return fail(in->ctx, NB_ERR_ARGUMENT,
                    "row %zu has the bbox %d %d %d %d on a panel of %d x %d pixels", i,
                    bbox[0], bbox[1], bbox[2], bbox[3], panel.nfast, panel.nslow);
    for (size_t k = 0; k < 2; k++) {
        const int first = k ? panel.slow0 : panel.fast0;
        const int n = k ? panel.nslow : panel.nfast;
        const int low = bbox[2 * k] - margin, end = bbox[2 * k + 1] + margin;

        in->inner[i][2 * k] = first + bbox[2 * k];
        in->inner[i][2 * k + 1] = first + bbox[2 * k + 1];
        profile->box[2 * k] = first + (low > 0 ? low : 0);
        profile->box[2 * k + 1] = first + (end < n ? end : n);
    }
    for (int k = 0; k < 3; k++) profile->hkl[k] = in->hkl[3 * i + (size_t)k];
    profile->lattice = in->id[i] - in->how.id;
    if (profile->lattice < 0 || profile->lattice > in->lattices)
        return fail(in->ctx, NB_ERR_ARGUMENT, "row %zu has the id %d, expected %d to %d", i,
                    in->id[i], in->how.id, in->how.id + in->lattices);
    if (profile->box[3] - profile->box[2] > in->tallest)
        in->tallest = profile->box[3] - profile->box[2];
    return NB_OK;
}

static int by_first_row(const void *a, const void *b)
{
    const struct profile_of *const p = *(struct profile_of *const *)a;
    const struct profile_of *const q = *(struct profile_of *const *)b;

    if (p->box[2] != q->box[2]) return p->box[2] < q->box[2] ? -1 : 1;
    return (p > q) - (p < q);
}

static nb_status place_all(struct integration *in)
{
    nb_scene scene;

    NB_TRY(nb_simulator_resolved(in->sim, in->x, &scene));
    in->lattices = scene.crystal.nlattice;
    for (size_t i = 0; i < in->n; i++) NB_TRY(place_row(in, i));
    NB_TRY(profiles_render(in->ctx, in->sim, in->x, &in->profiles));
    for (size_t i = 0; i < in->n; i++) {
        const struct profile_of *const p = in->profiles.of + i;

        for (size_t k = 0; k < profile_pixels(p); k++) in->total[i] += p->photons[k];
        in->order[i] = in->profiles.of + i;
    }
    qsort(in->order, in->n, sizeof(struct profile_of *), by_first_row);
    return NB_OK;
}

/* Computes the image of amorphous material alone. */
static nb_status find_known(struct integration *in)
{
    nb_simulator *alone = NULL;
    nb_scene scene;
    nb_status status;
    nb_array image;

    NB_TRY(nb_simulator_resolved(in->sim, in->x, &scene));
    memcpy(in->roi, scene.detector.roi, sizeof in->roi);
    in->mask = scene.detector.mask;
    if (!(scene.background.water > 0)) return NB_OK;
    in->known = malloc((size_t)in->d.nslow * (size_t)in->d.nfast * sizeof *in->known);
    if (!in->known) return no_memory(in);
    image = nb_array_f64(in->known, in->d.nslow, in->d.nfast);
    scene.crystal.hkl = NULL;
    scene.crystal.default_f = 0;
    scene.detector.nbox = 0;
    status = nb_simulator_create(in->ctx, &scene, NULL, NULL, &alone);
    if (status == NB_OK) status = nb_forward(alone, NULL, &image);
    nb_simulator_free(alone);
    return status;
}

/* ---- one box ---- */

/* The memory of a thread for the fit of a box. */
struct work {
    size_t pixels; /* for so many pixels */
    double *numbers; /* ((BOX_TERMS + 3) x pixels) */
    int *at; /* (2 x pixels) fast and slow of each used pixel */
};

static int make_room(struct work *w, size_t pixels)
{
    if (w->numbers && w->at && pixels <= w->pixels) return 1;
    free(w->numbers);
    free(w->at);
    w->pixels = 0;
    w->numbers = malloc((BOX_TERMS + 3) * pixels * sizeof *w->numbers);
    w->at = calloc(2 * pixels, sizeof *w->at);
    if (!w->numbers || !w->at) return 0;
    w->pixels = pixels;
    return 1;
}

static int holds(const int box[4], int fast, int slow)
{
    return fast >= box[0] && fast < box[1] && slow >= box[2] && slow < box[3];
}

static double profile_at(const struct profile_of *p, int fast, int slow)
{
    if (!holds(p->box, fast, slow)) return 0;
    return p->photons[(size_t)(slow - p->box[2]) * (size_t)profile_width(p)
                      + (size_t)(fast - p->box[0])];
}

/* Returns 1 if a pixel may be used. Sets *full if it is full. */
static int is_used(const struct integration *in, int fast, int slow, int *full)
{
    const nb_target *const t = in->target;
    const size_t at = (size_t)slow * (size_t)in->d.nfast + (size_t)fast;

    if (!holds(in->roi, fast, slow) || (in->mask && !in->mask[at])) return 0;
    if (!isfinite(array_get(t->observed, slow, fast))) return 0;
    if (t->weight && !(array_get(t->weight, slow, fast) > 0)) return 0;
    *full = t->saturation > 0 && array_get(t->observed, slow, fast) >= t->saturation;
    return !*full;
}

/* Lists the used pixels of row i, and sets its flags and its number of pixels. */
static void list_pixels(struct integration *in, size_t i, struct work *w,
                        struct box_fit *fit)
{
    const int *const box = in->profiles.of[i].box, *const inner = in->inner[i];
    double *const observed = w->numbers, *const known = w->numbers + w->pixels;
    int all = 1;

    fit->observed = observed;
    fit->known = known;
    in->flags[i] = PREDICTED;
    for (int s = box[2]; s < box[3]; s++)
        for (int f = box[0]; f < box[1]; f++) {
            const int is_inner = holds(inner, f, s);
            int full = 0;

            if (!is_used(in, f, s, &full)) {
                if (is_inner) all = 0;
                if (is_inner && full) in->flags[i] |= OVERLOADED;
                continue;
            }
            in->used[i] += is_inner;
            known[fit->n] =
                in->known ? in->known[(size_t)s * (size_t)in->d.nfast + (size_t)f] : 0;
            observed[fit->n] = array_get(in->target->observed, s, f) - known[fit->n];
            w->at[2 * fit->n] = f;
            w->at[2 * fit->n + 1] = s;
            fit->n++;
        }
    if (all) in->flags[i] |= SUMMED;
}

/* Writes a profile as a term, in units of its own photons; returns its share in the used
 * pixels. */
static double write_term(const struct integration *in, size_t k, const struct work *w,
                         const struct box_fit *fit, double *term)
{
    double share = 0;

    for (size_t p = 0; p < fit->n; p++) {
        term[p] =
            profile_at(in->profiles.of + k, w->at[2 * p], w->at[2 * p + 1]) / in->total[k];
        share += term[p];
    }
    return share;
}

/* Returns 1 if two rows name the same reflection of the same lattice on the same panel. */
static int is_copy(const struct integration *in, size_t i, size_t k)
{
    return in->id[i] == in->id[k] && in->panel[i] == in->panel[k]
           && memcmp(in->hkl + 3 * i, in->hkl + 3 * k, 3 * sizeof *in->hkl) == 0;
}

/* Adds the profiles that reach into the box of row i, the row itself first. Returns 0 if
 * they are too many. */
static int add_profiles(const struct integration *in, size_t i, const struct work *w,
                        struct box_fit *fit, double *term)
{
    const int *const box = in->profiles.of[i].box;
    size_t low = 0, high = in->n;

    (void)write_term(in, i, w, fit, term);
    fit->profiles = 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (in->order[middle]->box[2] + in->tallest > box[2])
            high = middle;
        else
            low = middle + 1;
    }
    for (; low < in->n; low++) {
        const size_t k = (size_t)(in->order[low] - in->profiles.of);
        const int *const other = in->order[low]->box;

        if (other[2] >= box[3]) break;
        if (k == i || other[3] <= box[2] || other[0] >= box[1] || other[1] <= box[0]
            || !(in->total[k] > 0) || is_copy(in, i, k))
            continue;
        if (fit->profiles == BOX_PROFILES) return 0;
        if (write_term(in, k, w, fit, term + (size_t)fit->profiles * fit->n) > least_share)
            fit->profiles++;
    }
    fit->terms = fit->profiles;
    return 1;
}

static void add_plane(const struct integration *in, size_t i, const struct work *w,
                      struct box_fit *fit, double *term)
{
    const int *const box = in->profiles.of[i].box;
    double *const plane = term + (size_t)fit->profiles * fit->n;

    for (size_t p = 0; p < fit->n; p++) {
        plane[p] = 1;
        plane[fit->n + p] = (2.0 * w->at[2 * p] + 1 - box[0] - box[1]) / (box[1] - box[0]);
        plane[2 * fit->n + p] =
            (2.0 * w->at[2 * p + 1] + 1 - box[2] - box[3]) / (box[3] - box[2]);
    }
    fit->terms = fit->profiles + 3;
}

/* Sums the bbox of row i without neighbours and background. */
static void sum_bbox(struct integration *in, size_t i, const struct work *w,
                     const struct box_fit *fit)
{
    double sum = 0, variance = 0, background = 0, all[BOX_TERMS] = {0};

    for (size_t p = 0; p < fit->n; p++) {
        if (!holds(in->inner[i], w->at[2 * p], w->at[2 * p + 1])) continue;
        sum += fit->observed[p];
        variance += fit->variance[p];
        background += fit->known[p];
        for (int t = 0; t < fit->terms; t++) {
            const double some = fit->term[(size_t)t * fit->n + p];

            all[t] += some;
            if (t > 0) sum -= fit->value[t] * some;
            if (t >= fit->profiles) background += fit->value[t] * some;
        }
    }
    /* Neighbours and background were fitted to the same pixels. With weights 1/variance the
     * sum of pixels and the factors have the covariance C a; a: sums of the terms */
    for (int t = 1; t < fit->terms; t++)
        for (int u = 0; u < fit->terms; u++)
            variance += (u > 0 ? -1 : -2) * all[t] * fit->covariance[t][u] * all[u];
    in->column[MEAN][i] = in->used[i] > 0 ? background / in->used[i] : 0;
    if (!(in->flags[i] & SUMMED)) return;
    in->column[SUM][i] = sum;
    in->column[SUM_VARIANCE][i] = variance;
}

/* Integrates row i. Returns 0 if there is no memory. */
static int fit_row(struct integration *in, size_t i, struct work *w)
{
    const nb_target *const t = in->target;
    const int readout = t->kind == NB_LOSS_READOUT;
    struct box_fit fit = {.gain = readout && t->gain > 0 ? t->gain : 1,
                          .readout = readout ? t->sigma_readout : 0};
    double *term;

    in->column[PRF_VARIANCE][i] = in->column[SUM_VARIANCE][i] = -1;
    in->column[PHOTONS][i] = in->total[i];
    in->column[LP][i] = 1;
    if (!make_room(w, profile_pixels(in->profiles.of + i))) return 0;
    list_pixels(in, i, w, &fit);
    if (!(in->total[i] > 0)) return 1;
    fit.variance = w->numbers + 2 * w->pixels;
    fit.term = term = w->numbers + 3 * w->pixels;
    const int few = add_profiles(in, i, w, &fit, term);
    if (few && t->background) add_plane(in, i, w, &fit, term);
    if (!few || !box_fit_solve(&fit)) {
        in->flags[i] &= ~(uint64_t)SUMMED;
        return 1;
    }
    in->flags[i] |= FITTED;
    in->column[PRF][i] = fit.value[0] / in->total[i];
    in->column[PRF_VARIANCE][i] = fit.covariance[0][0] / (in->total[i] * in->total[i]);
    sum_bbox(in, i, w, &fit);
    return 1;
}

static nb_status fit_rows(struct integration *in)
{
    const int n = (int)in->n, threads = in->ctx->threads;
    int good = 1;

#pragma omp parallel num_threads(threads) reduction(& : good)
    {
        struct work work = {0};

#pragma omp for schedule(dynamic, 16)
        for (int i = 0; i < n; i++) {
            STANDARD_FLOATS;
            if (good) good &= fit_row(in, (size_t)i, &work);
        }
        free(work.numbers);
        free(work.at);
    }
    (void)threads;
    return good ? NB_OK : no_memory(in);
}

/* ---- the call ---- */

static nb_status check(struct integration *in)
{
    const nb_target *const t = in->target;
    const struct {
        const void *data;
        const char *name;
    } needed[] = {{in->id, "id"},
                  {in->hkl, "miller_index"},
                  {in->panel, "panel"},
                  {in->bbox, "bbox"}};

    if (t->kind != NB_LOSS_POISSON && t->kind != NB_LOSS_READOUT)
        return fail(in->ctx, NB_ERR_ARGUMENT,
                    "intensities need the loss poisson or readout, which have variances");
    if (!(t->gain >= 0) || !(t->saturation >= 0) || in->how.margin < 0
        || in->how.margin > MARGIN_MOST)
        return fail(in->ctx, NB_ERR_ARGUMENT,
                    "gain %g, saturation %g, margin %d; expected 0 or more, margin up to "
                    "%d",
                    t->gain, t->saturation, in->how.margin, MARGIN_MOST);
    if (t->kind == NB_LOSS_READOUT && !(t->sigma_readout > 0))
        return fail(in->ctx, NB_ERR_ARGUMENT, "the loss readout without sigma_readout");
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!needed[i].data)
            return fail(in->ctx, NB_ERR_ARGUMENT,
                        "reflections to integrate lack the column %s", needed[i].name);
    NB_TRY(array_check(in->ctx, t->observed, "observed", in->d.nslow, in->d.nfast,
                       NB_TYPE_FLOAT, 32, 64));
    if (t->weight)
        NB_TRY(array_check(in->ctx, t->weight, "weight", in->d.nslow, in->d.nfast,
                           NB_TYPE_FLOAT, 32, 64));
    return NB_OK;
}

static nb_status make_memory(struct integration *in)
{
    int good = 1;

    in->profiles.of = calloc(in->n + 1, sizeof *in->profiles.of);
    in->profiles.n = in->profiles.of ? in->n : 0;
    in->inner = calloc(in->n + 1, sizeof *in->inner);
    in->total = calloc(in->n + 1, sizeof *in->total);
    in->order = calloc(in->n + 1, sizeof(struct profile_of *));
    in->flags = calloc(in->n + 1, sizeof *in->flags);
    in->used = calloc(in->n + 1, sizeof *in->used);
    for (int k = 0; k < COLUMNS; k++)
        good &= (in->column[k] = calloc(in->n + 1, sizeof(double))) != NULL;
    good &= in->profiles.of && in->inner && in->total && in->order && in->flags && in->used;
    return good ? NB_OK : no_memory(in);
}

static nb_status set_columns(const struct integration *in)
{
    for (int k = 0; k < COLUMNS; k++)
        NB_TRY(nb_reflections_set(in->ctx, in->table, columns[k], NB_COLUMN_DOUBLE,
                                  in->column[k]));
    NB_TRY(nb_reflections_set(in->ctx, in->table, "flags", NB_COLUMN_SIZE, in->flags));
    return nb_reflections_set(in->ctx, in->table, "num_pixels.foreground", NB_COLUMN_INT,
                              in->used);
}

static void put_away(struct integration *in)
{
    profiles_free(&in->profiles);
    free(in->inner);
    free(in->total);
    free(in->order);
    free(in->known);
    free(in->flags);
    free(in->used);
    for (int k = 0; k < COLUMNS; k++) free(in->column[k]);
}

nb_status nb_integrate(nb_simulator *sim, const double *x, const nb_target *target,
                       const nb_integration *how, nb_reflections *table)
{
    struct integration in = {.sim = sim, .x = x, .target = target, .table = table};
    nb_status status;

    if (!sim || !target || !target->observed || !table) return NB_ERR_ARGUMENT;
    in.ctx = sim->ctx;
    if (how) in.how = *how;
    in.n = nb_reflections_rows(table);
    in.id = nb_reflections_find(table, "id", NB_COLUMN_INT);
    in.hkl = nb_reflections_find(table, "miller_index", NB_COLUMN_MILLER);
    in.bbox = nb_reflections_find(table, "bbox", NB_COLUMN_INT6);
    in.panel = nb_reflections_find(table, "panel", NB_COLUMN_SIZE);
    NB_TRY(nb_simulator_describe(sim, x, &in.d));
    NB_TRY(check(&in));
    status = make_memory(&in);
    if (status == NB_OK) status = place_all(&in);
    if (status == NB_OK) status = find_known(&in);
    if (status == NB_OK) status = fit_rows(&in);
    if (status == NB_OK) status = set_columns(&in);
    put_away(&in);
    return status;
}
