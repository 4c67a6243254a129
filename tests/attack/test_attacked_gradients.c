/*
 * test_attacked_gradients.c - gradients of random scenes against extrapolated differences
 * of images. A difference that is taken across a jump of the image, or from one spot to
 * another, is wrong itself, and so is one within a step of the rounding of indices. So a
 * derivative is suspected only if it disagrees over all steps, and if two of them, of
 * different lengths, agree with each other. nb_gradcheck() then decides: it leaves out the
 * pixels that jump.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/attack.h"
#include "attack/drawn_scene.h"
#include "support/compiled.h"
#include "support/files.h"
#include "support/ladder.h"

enum { MOST_PARAMETERS = 80, TRIED_OF_SCENE = 6, LONG = 3, LENGTHS = 6 };

/* A weighted sum over an image, along one parameter. */
struct weighted_sum {
    nb_simulator *sim;
    const double *weight;
    double *x, *image;
    size_t at;
    int nslow, nfast;
};

static long double sum_at(const void *context, double value)
{
    const struct weighted_sum *s = context;
    const double kept = s->x[s->at];
    nb_array array = nb_array_f64(s->image, s->nslow, s->nfast);
    long double sum = 0;
    nb_status status;

    s->x[s->at] = value;
    status = nb_forward(s->sim, s->x, &array);
    s->x[s->at] = kept;
    if (status != NB_OK) return NAN;
    for (int i = 0; i < s->nslow * s->nfast; i++)
        sum += (long double)s->weight[i] * (long double)s->image[i];
    return sum;
}

static int is_same(const struct ladder_slope *a, const struct ladder_slope *b)
{
    return fabs(a->slope - b->slope) <= 8 * (a->bar + b->bar) + 1e-12 * a->scale;
}

/* Returns 1 if differences agree with the derivative, 0 if all of them that are conclusive
 * disagree and two agree with each other, and -1 otherwise. Very short steps are heard only
 * where they are precise: else they would agree with anything. They are not heard either
 * where they change nothing: they end on one stair of rounding. */
static int compare(const struct weighted_sum *sum, const nb_param *p, double derivative,
                   double size, struct ladder_slope *found)
{
    struct ladder ladder = {sum_at, sum, sum->x[sum->at], p->scale, 0, size};
    const double room = fmin(ladder.x - p->lower, p->upper - ladder.x);
    int verdict = -1;

    if (room <= 0) return -1;
    if (room < p->scale) ladder.limit = room;
    for (int i = 0; i < LENGTHS; i++, ladder.length /= 30) {
        struct ladder_slope slope = ladder_run(&ladder);
        double off = 0;

        /* the step passes over the whole spot */
        if (fabs(derivative) * slope.h > size) continue;
        if (i >= LONG && (slope.bar > 1e-9 * fabs(derivative) || slope.slope == 0))
            continue;
        if (i >= LONG) slope.scale = fabs(derivative);
        if (ladder_agrees(&slope, derivative, &off)) return 1;
        if (slope.verdict != LADDER_OK || slope.h == found->h) continue;
        if (found->h > 0 && is_same(&slope, found)) verdict = 0;
        *found = slope;
    }
    return verdict;
}

struct tally {
    long agreed, inconclusive;
};

/* Returns 1 for a verdict that no random scene excuses. Those of hundreds of cells
 * oscillate within the steps of other checks. */
static int is_wrong(int verdict)
{
    return verdict == NB_VERDICT_FAIL_VALUE || verdict == NB_VERDICT_FAIL_NAN
           || verdict == NB_VERDICT_FAIL_STRUCTURAL_ZERO
           || verdict == NB_VERDICT_FAIL_NONDETERMINISTIC;
}

/* Judge the rows of one parameter. */
static void judge_losses(struct attack *attack, const struct drawn_scene *drawn,
                         const nb_gradcheck_row *rows, struct tally *tally)
{
    for (int i = 0; i < NB_GRADCHECK_LOSSES; i++) {
        const int verdict = rows[i].verdict;
        char line[400];

        tally->agreed += verdict == NB_VERDICT_PASS;
        tally->inconclusive += !is_wrong(verdict) && verdict != NB_VERDICT_PASS;
        (void)nb_gradcheck_line(&rows[i], line, sizeof line);
        attack_expect(attack, !is_wrong(verdict), "%s (%s)", line, drawn->text);
    }
}

/* Compare derivatives pixel by pixel: nb_gradcheck() leaves out pixels that jump within its
 * steps. */
static void check_parameter(struct attack *attack, const struct drawn_scene *drawn,
                            const char *name, struct tally *tally)
{
    static const nb_options how = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    nb_gradcheck_row rows[3 * NB_GRADCHECK_LOSSES] = {0};
    nb_simulator *sim = NULL;
    size_t n;

    if (!attack_expect(attack,
                       nb_simulator_create(ctx, &drawn->scene, name, &how, &sim) == NB_OK,
                       "refused: %s (%s)", nb_context_message(ctx), drawn->text))
        return;
    n = nb_gradcheck_rows(sim, NULL);
    if (attack_expect(attack,
                      n <= sizeof rows / sizeof *rows
                          && nb_gradcheck(sim, NULL, NULL, NULL, rows, NULL) == NB_OK,
                      "no check of %s: %s (%s)", name, nb_context_message(ctx),
                      drawn->text))
        for (size_t i = 0; i < n; i += NB_GRADCHECK_LOSSES)
            judge_losses(attack, drawn, rows + i, tally);
    nb_simulator_free(sim);
}

static void try_parameters(struct attack *attack, nb_simulator *sim,
                           const struct drawn_scene *drawn, struct tally *tally)
{
    static double weight[DRAWN_PIXELS], image[DRAWN_PIXELS];
    double x[MOST_PARAMETERS] = {0}, gradient[MOST_PARAMETERS] = {0}, size = 0;
    const int n = (int)nb_simulator_nparam(sim);
    const int nslow = drawn->scene.detector.nslow, nfast = drawn->scene.detector.nfast;
    const nb_array bar = nb_array_f64(weight, nslow, nfast);
    struct weighted_sum sum = {sim, weight, x, image, 0, nslow, nfast};
    nb_param p;

    if (n < 1 || n > MOST_PARAMETERS) return;
    for (int i = 0; i < drawn->npixel; i++) weight[i] = attack_between(attack, 0.5, 1.5);
    for (size_t i = 0; i < (size_t)n; i++)
        if (nb_simulator_param(sim, i, &p) == NB_OK) x[i] = p.value;
    if (!attack_expect(attack, nb_vjp(sim, x, 1, &bar, gradient) == NB_OK,
                       "no gradient: %s", drawn->text))
        return;
    size = (double)sum_at(&sum, x[0]);
    for (int k = 0; k < TRIED_OF_SCENE; k++) {
        struct ladder_slope found = {0};
        int verdict;

        sum.at = (size_t)attack_below(attack, n);
        if (nb_simulator_param(sim, sum.at, &p) != NB_OK) continue;
        verdict = compare(&sum, &p, gradient[sum.at], size, &found);
        tally->agreed += verdict == 1;
        tally->inconclusive += verdict < 0;
        if (verdict != 0) continue;
        tap_note("d/d%s is %.12g, differences %.12g +- %.2g with step %.2g (%s)", p.name,
                 gradient[sum.at], found.slope, found.bar, found.h, drawn->text);
        check_parameter(attack, drawn, p.name, tally);
    }
}

/* A top hat has no slope but jumps: it cannot be differentiated. Nor can the factor of a
 * negative B, which is cut off at e^80: from B = -40 lambda^2 on that may happen. */
static int is_smooth(const nb_scene *scene)
{
    const double lambda = scene->beam.wavelength;

    return scene->crystal.shape != NB_SHAPE_TOPHAT
           && scene->crystal.b_factor > -20 * lambda * lambda;
}

static int is_tricubic(const nb_crystal *crystal)
{
    return crystal->hkl && crystal->interpolate == NB_LOOKUP_TRICUBIC;
}

static void draw_scene(struct attack *attack, struct drawn_scene *drawn, int tricubic)
{
    do {
        drawn_scene_free(drawn);
        drawn_scene(attack, drawn);
    } while (!is_smooth(&drawn->scene) || is_tricubic(&drawn->scene.crystal) != tricubic);
}

static int gradients(void)
{
    static const nb_options how = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    static struct drawn_scene drawn;
    struct attack attack = attack_begin(40);
    struct tally tally = {0, 0};

    while (attack_next(&attack)) {
        nb_simulator *sim = NULL;

        draw_scene(&attack, &drawn, 0);
        if (attack_expect(&attack,
                          nb_simulator_create(ctx, &drawn.scene, "*", &how, &sim) == NB_OK,
                          "refused: %s (%s)", nb_context_message(ctx), drawn.text))
            try_parameters(&attack, sim, &drawn, &tally);
        nb_simulator_free(sim);
        drawn_scene_free(&drawn);
    }
    tap_check(tally.agreed > tally.inconclusive || attack.alone,
              "%ld derivatives agree, %ld could not be judged", tally.agreed,
              tally.inconclusive);
    attack_end(&attack, "scenes with 6 derivatives each");
    return TAP_PASS;
}

static int tricubic(void)
{
    static const char *const names[] = {"misset",       "rotation_x", "ncells_b",
                                        "polarization", "distance",   "twotheta",
                                        "b_factor",     "scale"};
    static struct drawn_scene drawn;
    struct attack attack = attack_begin(20);
    struct tally tally = {0, 0};

    while (attack_next(&attack)) {
        draw_scene(&attack, &drawn, 1);
        check_parameter(&attack, &drawn,
                        names[attack_below(&attack, sizeof names / sizeof *names)], &tally);
        drawn_scene_free(&drawn);
    }
    tap_check(4 * tally.agreed > tally.inconclusive || attack.alone,
              "%ld derivatives agree, %ld could not be judged", tally.agreed,
              tally.inconclusive);
    attack_end(&attack, "scenes with tricubic F and one parameter each");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"gradients", gradients},
                                            {"tricubic", tricubic}};

    compiled_environment();
    return attack_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
