/*
 * judge.c - decides which boxes and single pixels leave a fit, over all shots at once.
 *
 * A box is judged by q, the sum of its squared residuals, where V is expected by noise. A
 * model that is not exact is off by a part of each spot, so strong boxes have a q far above
 * V although they are as well described as weak ones. So q is expected to be V + a E: E is
 * the energy of the spot in data and model, and a comes from the boxes themselves. The
 * part a E is one squared number rather than a sum over pixels, so its standard deviation
 * is a E sqrt(2).
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"

/* A box leaves if it is more than off_most robust deviations above the median of boxes, and
 * if its residuals hold more than share_least of the energy: a box that the model
 * describes this well never leaves, however bright it is. */
static const double off_most = 6, share_least = 0.005;

/* Least number of shots that tell how much shots differ. */
enum { SHOTS_LEAST = 5 };

/* Part of the boxes of a shot that may leave: one in so many. */
enum { ONE_IN = 4 };

/* A box has a spot if its energy is this many standard deviations of the noise. */
static const double spot_least = 10;

/* The mean of the square of a normal variable over its median. */
static const double mean_of_median = 2.2;

struct judged {
    size_t shot, number;
    struct outliers_box box;
    double off; /* robust deviations above the median */
    int stays;
};

struct judges {
    nb_fit *fit;
    size_t n;
    struct judged *at; /*                                                           (n) */
    double *value; /*                                                               (n) */
};

static size_t boxes_of(const struct outliers_shot *o)
{
    return o->nfound > 0 ? (size_t)o->found[0] : 0;
}

static struct outliers_box box_of(const struct outliers_shot *o, size_t b)
{
    return ((const struct outliers_box *)(o->found + 1))[b];
}

/* Returns 1 if a box is judged now. One that loses a pixel now waits for the next round, as
 * the pixel has spoilt its background. */
static int is_judged(const struct judged *j)
{
    return j->box.pixels > 0 && j->box.single == 0;
}

/* Returns the entry of a box that left before, or NULL. */
static const nb_fit_outlier *entry_of(const struct outliers_shot *o, size_t box)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->at[i].box == (int)box) return o->at + i;
    return NULL;
}

static int begin(struct judges *w)
{
    const nb_fit *fit = w->fit;
    size_t n = 0;

    for (size_t shot = 0; shot < fit->layout.nshot; shot++)
        n += boxes_of(fit->outliers + shot);
    w->at = calloc(n + 1, sizeof *w->at);
    w->value = calloc(n + 1, sizeof *w->value);
    if (!w->at || !w->value) return 0;
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        const struct outliers_shot *o = fit->outliers + shot;

        for (size_t b = 0; b < boxes_of(o); b++) {
            const nb_fit_outlier *before = entry_of(o, b);

            w->at[w->n++] = (struct judged){shot, b, box_of(o, b), before ? before->z : 0,
                                            before == NULL};
        }
    }
    return 1;
}

/* Returns the part a of the energy that residuals hold, from boxes that have a spot. */
static double part_of(const struct judges *w, int which)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const struct outliers_box *b = &w->at[i].box;

        if (is_judged(w->at + i) && b->energy[which] > spot_least * sqrt(b->variance))
            w->value[n++] = b->excess[which] / b->energy[which];
    }
    return n > 0 ? fmax(mean_of_median * outliers_median(w->value, n), 0) : 0;
}

static double z_of(const struct outliers_box *b, int which, double part)
{
    const double share = part * b->energy[which];

    return (b->excess[which] - share) / sqrt(b->variance + 2 * share * share);
}

/* Sets how far each box is off, and whether it would stay: by its residuals, and with a
 * factor on its spot. */
static void measure(const struct judges *w, int which)
{
    const double part = part_of(w, which);
    double middle, deviation;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++)
        if (is_judged(w->at + i)) w->value[n++] = z_of(&w->at[i].box, which, part);
    if (n == 0) return;
    middle = outliers_median(w->value, n);
    for (size_t i = 0; i < n; i++) w->value[i] = fabs(w->value[i] - middle);
    deviation = fmax(outliers_deviation * outliers_median(w->value, n), 1);
    for (size_t i = 0; i < w->n; i++) {
        struct judged *j = w->at + i;
        const double off = (z_of(&j->box, which, part) - middle) / deviation;
        const int leaves =
            off > off_most && j->box.excess[which] > share_least * j->box.energy[which];

        if (!is_judged(j)) continue;
        j->off = which == 0 ? off : fmax(j->off, off);
        j->stays = (which == 0 || j->stays) && !leaves;
    }
}

/* ---- one shot ---- */

static int worst_first(const void *a, const void *b)
{
    const struct judged *p = a, *q = b;

    if (p->stays != q->stays) return p->stays - q->stays;
    if (p->off != q->off) return p->off < q->off ? 1 : -1;
    return p->number < q->number ? -1 : 1;
}

/* Sorts the boxes of a shot, first those that leave, and returns how many leave. */
static size_t choose(struct judged *at, size_t n)
{
    size_t most = 0, leave = 0;

    for (size_t i = 0; i < n; i++) most += at[i].box.pixels > 0;
    qsort(at, n, sizeof *at, worst_first);
    while (leave < n && leave < most / ONE_IN && !at[leave].stays) leave++;
    return leave;
}

/* Returns 1 if other boxes leave than before, or further pixels do. */
static int has_changed(const struct outliers_shot *o, const struct judged *at, size_t leave,
                       size_t nsingle)
{
    size_t before = 0, same = 0;

    for (size_t i = 0; i < o->n; i++) before += o->at[i].box >= 0;
    for (size_t i = 0; i < leave; i++) same += entry_of(o, at[i].number) != NULL;
    return nsingle > 0 || before != leave || same != leave;
}

void outliers_replace(nb_fit *fit, size_t shot, nb_fit_outlier *at, size_t n, int64_t lost)
{
    struct outliers_shot *o = fit->outliers + shot;

    free(o->at);
    fit->pixels[shot] += o->lost - lost;
    o->at = at;
    o->n = n;
    o->lost = lost;
}

/* Lists what leaves a shot: boxes, pixels that left before, and further pixels. */
static int relist(nb_fit *fit, size_t shot, const struct judged *at, size_t leave)
{
    const struct outliers_shot *o = fit->outliers + shot;
    const size_t skip = 1 + boxes_of(o) * OUTLIERS_BOX;
    const size_t nsingle = (o->nfound - skip) / OUTLIERS_PIXEL;
    nb_fit_outlier *out = calloc(leave + o->n + nsingle + 1, sizeof *out);
    int64_t lost = 0;
    size_t n = 0;

    if (!out) return 0;
    for (size_t i = 0; i < leave; i++) {
        const struct outliers_box *b = &at[i].box;

        out[n++] =
            (nb_fit_outlier){(int)at[i].number, (int)b->fast, (int)b->slow, at[i].off};
        lost += (int64_t)b->pixels;
    }
    for (size_t i = 0; i < o->n; i++)
        if (o->at[i].box < 0) out[n++] = o->at[i];
    for (size_t i = 0; i < nsingle; i++) {
        const double *from = o->found + skip + i * OUTLIERS_PIXEL;

        out[n++] = (nb_fit_outlier){-1, (int)from[0], (int)from[1], from[2]};
    }
    lost += (int64_t)(n - leave);
    log_line(fit->ctx, NB_LOG_INFO, "fit", "%zu boxes and %zu pixels of %s leave", leave,
             n - leave, fit->name[shot]);
    outliers_replace(fit, shot, out, n, lost);
    return 1;
}

/* ---- all shots ---- */

/* Returns 1 if all tracks have come to the stage of a round: 0, the scales are known; 1,
 * widths are free; 2, the end. */
static int has_come(const nb_fit *fit, int round)
{
    for (size_t i = 0; i < fit_ntrack(fit); i++) {
        const struct fit_track *track = fit->track + i;
        const struct fit_stage stage = track_stage(fit, track);

        if (track->end != NB_FIT_NOT_RUN || (fit->alone && fit->left_out[i])) continue;
        if (round == 0 ? stage.is_scale : round > 1 || stage.kind != NB_FIT_ALL_FREE)
            return 0;
    }
    return 1;
}

int outliers_are_due(const nb_fit *fit)
{
    return fit->options.outliers && !fit->is_expected && fit->rounds < OUTLIERS_ROUNDS
           && fit->passes > 0 && !track_is_prelude(fit)
           && (fit->alone || fit->run_passes < fit->options.passes)
           && has_come(fit, fit->rounds);
}

/* Begins the last stage of a track anew, from where it ended. */
static void go_on(nb_fit *fit, struct fit_track *track)
{
    track->end = NB_FIT_NOT_RUN;
    track->fresh = 1;
    track->passes = 0;
    track->misfit = 0;
    track->damping = fmin(track->damping, 1);
    fit->is_weighed = 0;
    free(fit->sandwich);
    fit->sandwich = NULL;
}

/* Takes what leaves each shot. Returns the number of shots that have changed; *made is 0 if
 * there is no memory. */
static size_t take(const struct judges *w, int *made)
{
    nb_fit *fit = w->fit;
    struct judged *at = w->at;
    size_t changed = 0;

    *made = 1;
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        const struct outliers_shot *o = fit->outliers + shot;
        const size_t n = boxes_of(o), leave = choose(at, n);
        const size_t nsingle = o->nfound > 0 ? o->nfound - 1 - n * OUTLIERS_BOX : 0;

        if (o->nfound > 0 && has_changed(o, at, leave, nsingle)) {
            *made &= relist(fit, shot, at, leave);
            changed++;
            if (fit->alone) go_on(fit, fit->track + shot);
        }
        at += n;
    }
    return changed;
}

nb_status outliers_judge(nb_fit *fit)
{
    struct judges w = {.fit = fit};
    size_t changed = 0, shots = 0;
    int made = begin(&w);

    if (made) {
        for (int which = 0; which < 2; which++) measure(&w, which);
        changed = take(&w, &made);
    }
    free(w.at);
    free(w.value);
    for (size_t shot = 0; shot < fit->layout.nshot; shot++)
        (void)outliers_take_found(fit->outliers + shot, NULL, 0);
    if (!made) return fail_memory(fit->ctx, "the outliers of a fit");
    fit->rounds++;
    if (fit->alone) return NB_OK;
    if (fit->rounds == OUTLIERS_ROUNDS && fit->layout.nshot >= SHOTS_LEAST)
        NB_TRY(fit_judge_outliers(fit, &shots));
    if (changed + shots > 0) go_on(fit, fit->track);
    return NB_OK;
}
