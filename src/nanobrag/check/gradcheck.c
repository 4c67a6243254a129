/*
 * check/gradcheck.c - nb_gradcheck() from start to end. It selects the most exact settings
 * of the simulator, tests determinism and adjoint as a whole, then compares nb_vjp() and
 * nb_jvp() with the differences of check/parameter_check.c, parameter by parameter.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "check.h"
#include "check/verdict_text.h"

enum { LOSSES = NB_GRADCHECK_LOSSES };

/* The share of the peak that the strategy spots may drop here, far below rounding. */
static const double least_peak = 1e-16;

/* The largest error bar that allows a verdict, over S (struct check.sensitivity). */
static const double conclusive = 1e-8;
/* Errors of rounding that are allowed, over S. */
static const double adjoint_rounding = 1e-12, linearity_rounding = 1e-13;

/* A continuous crystal's spots are polynomials fitted to nodes. The adjoint of the fit adds
 * cotangents of both signs, up to ten times as large as their sum. */
static const double linearity_of_nodes = 1e-12;

static nb_gradcheck_options with_defaults(const nb_gradcheck_options *options)
{
    nb_gradcheck_options o = {0};

    if (options) o = *options;
    if (o.seed == 0) o.seed = 1;
    if (o.coverage == 0) o.coverage = 8;
    return o;
}

static size_t count_items(const nb_simulator *sim, const nb_gradcheck_options *o)
{
    return o->ndirection > 0 ? (size_t)o->ndirection : nb_simulator_nparam(sim);
}

size_t nb_gradcheck_rows(const nb_simulator *sim, const nb_gradcheck_options *options)
{
    const nb_gradcheck_options o = with_defaults(options);

    return sim ? count_items(sim, &o) * LOSSES : 0;
}

/* Draw a number in [-1, 1) by SplitMix64. */
static double draw_uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

/* ---- memory ---- */

static int allocate_zeros(void *pointer, size_t n, size_t size)
{
    void *memory = calloc(n > 0 ? n : 1, size);

    memcpy(pointer, &memory, sizeof memory); /* `pointer` may be of any type */
    return memory != NULL;
}

static nb_status allocate(struct check *c)
{
    const size_t ladder = (size_t)ROMBERG_ROWS * c->n, all = c->pixels, n = c->n;
    int ok =
        allocate_zeros(&c->x, c->nparam, sizeof *c->x)
        && allocate_zeros(&c->moved, c->nparam, sizeof *c->moved)
        && allocate_zeros(&c->param, c->nparam, sizeof *c->param)
        && allocate_zeros(&c->length, c->nparam, sizeof *c->length)
        && allocate_zeros(&c->sensitivity, LOSSES * c->nparam, sizeof *c->sensitivity)
        && allocate_zeros(&c->gradient, LOSSES * c->nparam, sizeof *c->gradient)
        && allocate_zeros(&c->direction, c->nparam, sizeof *c->direction)
        && allocate_zeros(&c->image, all, sizeof *c->image)
        && allocate_zeros(&c->tangent, all, sizeof *c->tangent)
        && allocate_zeros(&c->cotangent, LOSSES * all, sizeof *c->cotangent)
        && allocate_zeros(&c->signature, all, sizeof *c->signature)
        && allocate_zeros(&c->signature_at_x, all, sizeof *c->signature_at_x)
        && allocate_zeros(&c->differs, all, 1) && allocate_zeros(&c->row_differs, all, 1)
        && allocate_zeros(&c->at_x, n, sizeof *c->at_x)
        && allocate_zeros(&c->above, ladder, sizeof *c->above)
        && allocate_zeros(&c->below, ladder, sizeof *c->below)
        && allocate_zeros(&c->unsmooth, ladder, 1)
        && allocate_zeros(&c->noise_samples, ROMBERG_POINTS * n, sizeof *c->noise_samples)
        && allocate_zeros(&c->mask, n, 1) && allocate_zeros(&c->attempt, n, 1);

    for (int loss = 0; ok && loss < LOSSES; loss++)
        ok = allocate_zeros(&c->weight[loss], n, sizeof *c->weight[loss]);
    return ok ? NB_OK : fail_memory(c->ctx, "a check of derivatives");
}

static void release(struct check *c)
{
    void *const all[] = {c->rendered,    c->x,
                         c->moved,       c->param,
                         c->length,      c->image,
                         c->tangent,     c->cotangent,
                         c->signature,   c->differs,
                         c->at_x,        c->above,
                         c->below,       c->noise_samples,
                         c->unsmooth,    c->mask,
                         c->attempt,     c->gradient,
                         c->direction,   c->sensitivity,
                         c->row_differs, c->signature_at_x};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    for (int loss = 0; loss < LOSSES; loss++) free(c->weight[loss]);
}

static nb_status list_rendered(struct check *c)
{
    const struct window *w = &c->sim->window;

    c->pixels = (size_t)w->nslow * (size_t)w->nfast;
    if (!allocate_zeros(&c->rendered, c->pixels, sizeof *c->rendered))
        return fail_memory(c->ctx, "a check of derivatives");
    for (int s = w->roi[2]; s < w->roi[3]; s++)
        for (int f = w->roi[0]; f < w->roi[1]; f++)
            if (window_shows(w, s, f)) c->rendered[c->n++] = s * w->nfast + f;
    return NB_OK;
}

/* ---- the simulator as a whole ---- */

static void judge(nb_gradcheck_summary *summary, int verdict, const char *what)
{
    if (summary->verdict != NB_VERDICT_PASS || verdict == NB_VERDICT_PASS) return;
    summary->verdict = verdict;
    (void)snprintf(summary->message, sizeof summary->message, "%s", what);
}

static void judge_param(nb_gradcheck_summary *summary, int verdict, const char *what,
                        const nb_param *param)
{
    char text[120];

    (void)snprintf(text, sizeof text, "%s: %s", what, param->name);
    judge(summary, verdict, text);
}

static nb_status call_vjp(struct check *c, int ncot, double *bar_x)
{
    nb_array bar[LOSSES];

    for (int i = 0; i < ncot; i++)
        bar[i] = nb_array_f64(c->cotangent + (size_t)i * c->pixels, c->sim->window.nslow,
                              c->sim->window.nfast);
    memset(bar_x, 0, (size_t)ncot * c->nparam * sizeof *bar_x);
    return nb_vjp(c->sim, c->x, ncot, bar, bar_x);
}

/* Sets the cotangents of all losses; pixels outside the mask (NULL: none) become 0. */
static void set_cotangents(struct check *c, const unsigned char *mask)
{
    for (int loss = 0; loss < LOSSES; loss++)
        for (size_t i = 0; i < c->n; i++)
            c->cotangent[(size_t)loss * c->pixels + (size_t)c->rendered[i]] =
                !mask || mask[i] ? c->weight[loss][i] : 0;
}

static nb_status call_jvp(struct check *c, const double *d)
{
    nb_array image = nb_array_f64(c->tangent, c->sim->window.nslow, c->sim->window.nfast);

    return nb_jvp(c->sim, c->x, 1, d, &image);
}

static long double weighted_sum(const struct check *c, int loss, const unsigned char *mask,
                                const double *image)
{
    long double sum = 0;

    for (size_t i = 0; i < c->n; i++)
        if (!mask || mask[i])
            sum += (long double)c->weight[loss][i] * (long double)image[c->rendered[i]];
    return sum;
}

/* Choose a random direction that moves each parameter by a part of its length, away from
 * near bounds. */
static void choose_direction(struct check *c, uint64_t *state, struct check_item *item)
{
    item->d = c->direction;
    item->at = 0;
    item->length = 1;
    item->limit = HUGE_VAL;
    item->side = ROMBERG_CENTRAL;
    for (size_t p = 0; p < c->nparam; p++) {
        const double down = c->x[p] - c->param[p].lower, up = c->param[p].upper - c->x[p];
        const double near = 0.01 * c->length[p];
        double d = draw_uniform(state) * fmin(c->length[p], 30 * c->param[p].scale);

        if (down < near) d = fabs(d), item->side = ROMBERG_ABOVE;
        if (up < near) d = -fabs(d), item->side = ROMBERG_ABOVE;
        c->direction[p] = d;
    }
    for (size_t p = 0; p < c->nparam; p++) {
        const double d = c->direction[p];
        const double down = c->x[p] - c->param[p].lower, up = c->param[p].upper - c->x[p];
        const double room =
            item->side == ROMBERG_ABOVE ? (d > 0 ? up : down) : fmin(up, down);

        if (d != 0) item->limit = fmin(item->limit, room / fabs(d));
    }
    /* many parameters together change an image more than each alone */
    item->length /= sqrt((double)c->nparam);
}

/* Check that image and gradient have the same bits when computed again, with one, two and
 * all threads. */
static nb_status check_replay(struct check *c, nb_gradcheck_summary *summary)
{
    const int all = c->ctx->threads, count[] = {all, 1, all < 2 ? all : 2};
    double *again = c->sensitivity; /* filled later, by check_probe() */
    nb_status status = NB_OK;
    int usable;

    summary->threads = all;
    set_cotangents(c, NULL);
    NB_TRY(call_vjp(c, LOSSES, c->gradient));
    for (int i = 0; i < 3 && status == NB_OK; i++) {
        int same = 1;

        c->ctx->threads = count[i];
        status = check_image(c, NULL, 0, &usable);
        for (size_t k = 0; k < c->n; k++)
            same &= memcmp((const char *)(c->at_x + k),
                           (const char *)(c->image + c->rendered[k]), sizeof(double))
                    == 0;
        if (!same)
            judge(summary, NB_VERDICT_FAIL_NONDETERMINISTIC, "nb_forward, called again");
        if (status == NB_OK) status = call_vjp(c, LOSSES, again);
        if (memcmp((const char *)again, (const char *)c->gradient,
                   LOSSES * c->nparam * sizeof *again)
            != 0)
            judge(summary, NB_VERDICT_FAIL_NONDETERMINISTIC, "nb_vjp, called again");
    }
    c->ctx->threads = all;
    memset(again, 0, LOSSES * c->nparam * sizeof *again);
    return status;
}

/* Check <w, J d> = <J^T w, d> for a random direction d, and that J^T is linear. */
static nb_status check_adjoint(struct check *c, uint64_t seed,
                               nb_gradcheck_summary *summary)
{
    const double a = 0.75, b = -1.25;
    const double *first = c->gradient + NB_GRADCHECK_RANDOM * c->nparam;
    const double *second = c->gradient + NB_GRADCHECK_RANDOM_2 * c->nparam;
    uint64_t state = seed ^ 0x5555555555555555u;
    size_t worst = 0;
    struct check_item item;
    double *sum = calloc(c->nparam, sizeof *sum), scale = 0;
    long double off;
    nb_status status;

    if (!sum) return fail_memory(c->ctx, "a check of derivatives");
    choose_direction(c, &state, &item);
    status = call_jvp(c, item.d);
    off = weighted_sum(c, NB_GRADCHECK_RANDOM, NULL, c->tangent);
    for (size_t p = 0; p < c->nparam; p++) {
        off -= (long double)first[p] * (long double)item.d[p];
        scale += fabs(item.d[p]) * c->sensitivity[p * LOSSES + NB_GRADCHECK_RANDOM];
    }
    summary->dot = scale > 0 ? (double)fabsl(off) / scale : 0;
    if (!(summary->dot <= adjoint_rounding))
        judge(summary, NB_VERDICT_FAIL_DOT, "nb_vjp is not the transpose of nb_jvp");
    for (size_t i = 0; i < c->n; i++)
        c->cotangent[c->rendered[i]] =
            a * c->weight[NB_GRADCHECK_RANDOM][i] + b * c->weight[NB_GRADCHECK_RANDOM_2][i];
    if (status == NB_OK) status = call_vjp(c, 1, sum);
    for (size_t p = 0; p < c->nparam && status == NB_OK; p++) {
        const double *s = c->sensitivity + p * LOSSES;
        const double all =
            fabs(a) * s[NB_GRADCHECK_RANDOM] + fabs(b) * s[NB_GRADCHECK_RANDOM_2];
        const double miss = fabs(sum[p] - a * first[p] - b * second[p]);

        if (miss > 0 && c->length[p] > 0 && miss / all > summary->linearity) {
            summary->linearity = miss / all;
            worst = p;
        }
    }
    if (!(summary->linearity
          <= (c->sim->frames->continuous ? linearity_of_nodes : linearity_rounding)))
        judge_param(summary, NB_VERDICT_FAIL_DOT, "nb_vjp is not linear in its cotangent",
                    c->param + worst);
    free(sum);
    return status;
}

/* ---- the rows of one parameter or direction ---- */

/* Returns the exponent p of |I(x + h d) - I(x) - h J d| ~ h^p over the three smallest
 * halvings of h that are above rounding; 0 if there are fewer. The norm is taken over the
 * pixels, so that their curvatures cannot cancel. */
static double remainder_rate(const struct check *c, int side)
{
    const double *to = side == ROMBERG_BELOW ? c->below : c->above;
    long double size = 0, left[4], h[4];
    int found = 0;

    for (size_t i = 0; i < c->n; i++)
        if (c->mask[i]) size += (long double)c->at_x[i] * (long double)c->at_x[i];
    /* k counts the steps from the smallest up */
    for (int k = 0; k < ROMBERG_ROWS && found < 4; k++) {
        long double sum = 0;
        int at = 0;
        double step;

        for (int i = 0, below; i < ROMBERG_ROWS; i++) {
            below = 0;
            for (int m = 0; m < ROMBERG_ROWS; m++) below += c->step[m] < c->step[i];
            if (below == k) at = i;
        }
        step = side == ROMBERG_BELOW ? -c->step[at] : c->step[at];
        for (size_t i = 0; i < c->n; i++) {
            const size_t place = (size_t)at * c->n + i;
            const long double off =
                (long double)to[place] - (long double)c->at_x[i]
                - (long double)step * (long double)c->tangent[c->rendered[i]];

            if (c->mask[i] && !c->unsmooth[place]) sum += off * off;
        }
        if (sum < 1e-20L * size) continue;
        h[found] = (long double)c->step[at];
        left[found++] = sqrtl(sum);
    }
    if (found < 4) return 0;
    return (double)(logl(left[3] / left[0]) / logl(h[3] / h[0]));
}

static int verdict_of(const struct check_slopes *s, const nb_gradcheck_row *row)
{
    if (!isfinite(row->vjp) || !isfinite(row->jvp)) return NB_VERDICT_FAIL_NAN;
    if (row->param.smooth == NB_SMOOTH_ZERO)
        return s->zero && row->vjp == 0 && row->jvp == 0 ? NB_VERDICT_PASS
                                                         : NB_VERDICT_FAIL_STRUCTURAL_ZERO;
    if (s->zero) return NB_VERDICT_FAIL_VACUOUS;
    if (s->masked_out) return NB_VERDICT_FAIL_MASK;
    if (s->flat || !(row->scale > 0)) return NB_VERDICT_FAIL_VACUOUS;
    if (s->staircase[row->loss]) return NB_VERDICT_FAIL_STAIRCASE;
    if (!(row->bar <= conclusive * row->scale)) return NB_VERDICT_INCONCLUSIVE;
    if (!(fabs(row->vjp - row->fd) <= row->tolerance)
        || !(fabs(row->jvp - row->fd) <= row->tolerance))
        return NB_VERDICT_FAIL_VALUE;
    if (row->rate != 0 && !(fabs(row->rate - 2) <= 0.1)) return NB_VERDICT_FAIL_RATE;
    return NB_VERDICT_PASS;
}

static void fill_row(struct check *c, const struct check_item *item,
                     const struct check_slopes *s, const double *gradient,
                     nb_gradcheck_row *row)
{
    const int loss = row->loss;
    long double vjp = 0;

    for (size_t p = 0; p < c->nparam; p++)
        vjp +=
            (long double)gradient[(size_t)loss * c->nparam + p] * (long double)item->d[p];
    row->vjp = (double)vjp;
    row->jvp = (double)weighted_sum(c, loss, s->zero ? NULL : c->mask, c->tangent);
    row->side = item->side;
    row->length = item->length;
    row->evaluations = s->evaluations;
    row->kept = s->kept[loss];
    if (!s->zero && !s->masked_out) {
        row->fd = s->slope[loss].slope;
        row->bar = s->slope[loss].bar + check_unseen(c, loss);
        row->truncation = s->slope[loss].truncation;
        row->noise = s->noise[loss];
        row->step = s->slope[loss].h;
        row->order = (s->slope[loss].column + 1) * (item->side == 0 ? 2 : 1);
        row->scale = s->scale[loss];
        row->tolerance = c->coverage * row->bar + adjoint_rounding * row->scale;
    }
    row->verdict = verdict_of(s, row);
}

/* Fill the rows of one item, one for each loss. */
static nb_status check_item(struct check *c, const struct check_item *item,
                            const nb_param *param, nb_gradcheck_row *rows)
{
    double *gradient = c->gradient, *masked = NULL;
    struct check_slopes slopes;
    nb_status status = NB_OK;
    double rate = 0;
    int whole = 1;

    NB_TRY(check_differences(c, item, &slopes));
    NB_TRY(call_jvp(c, item->d));
    for (size_t i = 0; i < c->n; i++) whole &= slopes.zero || c->mask[i];
    if (!whole) {
        if (!allocate_zeros(&masked, LOSSES * c->nparam, sizeof *masked))
            return fail_memory(c->ctx, "a check of derivatives");
        set_cotangents(c, c->mask);
        status = call_vjp(c, LOSSES, masked);
        gradient = masked;
    }
    if (!slopes.zero && !slopes.masked_out) rate = remainder_rate(c, item->side);
    for (int loss = 0; loss < LOSSES && status == NB_OK; loss++) {
        memset(rows + loss, 0, sizeof *rows);
        rows[loss].param = *param;
        rows[loss].loss = loss;
        rows[loss].rate = rate;
        fill_row(c, item, &slopes, gradient, rows + loss);
        if (rows[loss].verdict == NB_VERDICT_FAIL_VALUE)
            gradcheck_hint(rows + loss, &c->sim->scene, c->param, c->nparam,
                           gradient + (size_t)loss * c->nparam);
    }
    free(masked);
    return status;
}

static struct check_item item_of(struct check *c, size_t p)
{
    const double down = c->x[p] - c->param[p].lower, up = c->param[p].upper - c->x[p];
    const double length = c->length[p] > 0 ? c->length[p] : c->param[p].scale;
    struct check_item item = {c->direction, c->x[p], length, fmin(down, up), 0};

    memset(c->direction, 0, c->nparam * sizeof *c->direction);
    c->direction[p] = 1;
    if (item.limit < 0.01 * length) {
        item.side = down < up ? ROMBERG_ABOVE : ROMBERG_BELOW;
        item.limit = fmax(down, up);
    }
    return item;
}

static nb_status check_items(struct check *c, const nb_gradcheck_options *o,
                             nb_gradcheck_row *rows, nb_gradcheck_summary *summary)
{
    const size_t count = count_items(c->sim, o);
    uint64_t state = o->seed ^ 0xaaaaaaaaaaaaaaaau;

    for (size_t i = 0; i < count; i++) {
        nb_gradcheck_row *row = rows + i * LOSSES;
        struct check_item item;
        nb_param param;
        char line[160];

        c->done = (double)i / (double)count;
        if (o->ndirection > 0) {
            memset(&param, 0, sizeof param);
            (void)snprintf(param.name, sizeof param.name, "direction[%zu]", i);
            param.unit = "1";
            param.doc = "all parameters together";
            param.scale = 1;
            choose_direction(c, &state, &item);
        } else {
            item = item_of(c, i);
            param = c->param[i];
        }
        NB_TRY(check_item(c, &item, &param, row));
        for (int loss = 0; loss < LOSSES; loss++) {
            (void)nb_gradcheck_line(row + loss, line, sizeof line);
            judge(summary, row[loss].verdict, line);
            summary->verdicts[row[loss].verdict]++;
        }
    }
    return NB_OK;
}

/* ---- the check from start to end ---- */

static nb_status first_image(struct check *c, const double *x, const nb_array *bar_image,
                             uint64_t seed, nb_gradcheck_summary *summary)
{
    const int nfast = c->sim->window.nfast;
    int usable, finite = 1;
    double peak = 0;

    for (size_t p = 0; p < c->nparam; p++) {
        NB_TRY(nb_simulator_param(c->sim, p, c->param + p));
        c->x[p] = x ? x[p] : c->param[p].value;
        c->param[p].value = c->x[p];
    }
    NB_TRY(check_image(c, NULL, 0, &usable));
    /* nb_forward() itself tells the caller why there is no image */
    if (!usable) {
        nb_array image = nb_array_f64(c->image, c->sim->window.nslow, nfast);

        return nb_forward(c->sim, c->x, &image);
    }
    for (size_t i = 0; i < c->n; i++) {
        c->at_x[i] = c->image[c->rendered[i]];
        finite &= isfinite(c->at_x[i]) != 0;
        peak = fmax(peak, fabs(c->at_x[i]));
    }
    if (!finite) judge(summary, NB_VERDICT_FAIL_NAN, "the image");
    if (peak == 0) judge(summary, NB_VERDICT_FAIL_VACUOUS, "the image is dark");
    for (size_t i = 0; i < c->n; i++) {
        const int at = c->rendered[i];

        c->weight[NB_GRADCHECK_GIVEN][i] =
            bar_image ? array_get(bar_image, at / nfast, at % nfast) : 1;
        c->weight[NB_GRADCHECK_RANDOM][i] = draw_uniform(&seed);
        c->weight[NB_GRADCHECK_RANDOM_2][i] = draw_uniform(&seed);
        c->weight[NB_GRADCHECK_BRIGHT][i] = peak > 0 ? c->at_x[i] / peak : 0;
    }
    return NB_OK;
}

static nb_status run_check(struct check *c, const double *x, const nb_array *bar_image,
                           const nb_gradcheck_options *o, nb_gradcheck_row *rows,
                           nb_gradcheck_summary *summary)
{
    c->coverage = o->coverage;
    c->repeating = -1;
    NB_TRY(list_rendered(c));
    NB_TRY(allocate(c));
    NB_TRY(first_image(c, x, bar_image, o->seed, summary));
    check_hold(c->sim, c->sim->frames->continuous);
    NB_TRY(check_replay(c, summary));
    NB_TRY(check_probe(c));
    NB_TRY(check_adjoint(c, o->seed, summary));
    return check_items(c, o, rows, summary);
}

static nb_status refuse(nb_simulator *sim, const nb_array *bar_image,
                        const nb_gradcheck_options *o, const nb_gradcheck_row *rows)
{
    const int off = context_compile(sim->ctx) == NB_COMPILE_OFF;
    const unsigned refused = off ? NB_DONATED : NB_DONATE | NB_DONATED;

    if (bar_image && (bar_image->flags & refused))
        return fail(
            sim->ctx, NB_ERR_DONATED,
            "Cannot call gradcheck on donated buffer '%s'; keep it (leave NB_DONATE "
            "out), or set NANOBRAGG_DISABLE_COMPILE=1, with which nothing is given away",
            bar_image->name ? bar_image->name : "bar_image");
    if (nb_simulator_nparam(sim) == 0 || !rows)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "gradcheck needs free parameters and rows for the results");
    if (!(o->coverage > 0) || !isfinite(o->coverage) || o->ndirection < 0)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "gradcheck: %d directions, %g error bars; expected 0 or more, and a "
                    "number above 0",
                    o->ndirection, o->coverage);
    if (!bar_image) return NB_OK;
    return array_check(sim->ctx, bar_image, "bar_image", sim->window.nslow,
                       sim->window.nfast, NB_TYPE_FLOAT, 32, 64);
}

nb_status nb_gradcheck(nb_simulator *sim, const double *x, const nb_array *bar_image,
                       const nb_gradcheck_options *options, nb_gradcheck_row *rows,
                       nb_gradcheck_summary *summary)
{
    STANDARD_FLOATS;
    const nb_gradcheck_options o = with_defaults(options);
    nb_gradcheck_summary unused;
    struct check check = {0};
    struct policy policy;
    struct gpu *gpu;
    nb_status status;

    if (!sim) return NB_ERR_ARGUMENT;
    NB_TRY(refuse(sim, bar_image, &o, rows));
    if (!summary) summary = &unused;
    memset(summary, 0, sizeof *summary);
    check.sim = sim;
    check.ctx = sim->ctx;
    check.nparam = nb_simulator_nparam(sim);
    policy = sim->policy;
    gpu = sim->device.scene.gpu;
    check_set_handlers(&check);
    sim->policy.kernels.single = NULL;
    if (!sim->frames->continuous) sim->policy.tolerance = least_peak;
    sim->device.scene.gpu = NULL; /* only the host's derivatives are checked */
    summary->launches = sim->ctx->launches;
    summary->compiled_launches = sim->ctx->compiled_launches;
    status = run_check(&check, x, bar_image, &o, rows, summary);
    summary->launches = sim->ctx->launches - summary->launches;
    summary->compiled_launches = sim->ctx->compiled_launches - summary->compiled_launches;
    if (summary->compiled_launches > 0 || (status == NB_OK && summary->launches == 0))
        judge(summary, NB_VERDICT_FAIL_GUARD, "launches of kernels");
    summary->evaluations = check.evaluations;
    sim->policy = policy;
    sim->device.scene.gpu = gpu;
    check_hold(sim, 0);
    check_restore_handlers(&check);
    release(&check);
    return status;
}
