/*
 * test_scale.c - a free scale that starts far off is found first: of one shot, of each, of
 * all, within its bounds, in parts and after a stop.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fit/among.h"
#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

static struct stills stills;

enum { SHOTS = 3, VALUES_MOST = STILLS_VALUES };

static const nb_fit_options choices[] = {
    {.shared = "cell_a mosaic misset scale"}, /* of one shot */
    {.shared = "cell_a mosaic", .own = "misset scale"},
    {.shared = "cell_a mosaic scale", .own = "misset"},
};
enum { CHOICES = sizeof choices / sizeof *choices };

static int is_of_one(int choice)
{
    return choices[choice].own == NULL;
}

/* Starts that are easily found, but for scales `factor` times as high. Where all shots have
 * one scale, so have their images. */
static void start(nb_context *ctx, int choice, double factor)
{
    stills_make(&stills, ctx, is_of_one(choice) ? 1 : SHOTS, 1, 0.5);
    for (int i = 0; i < stills.n; i++) {
        nb_crystal *crystal = &stills.scene[i].crystal;

        if (choice == 2)
            stills.scene[i].beam.fluence *= stills_truth(STILLS_SHARED + 4 * (size_t)i + 3);
        if (choice == 2) crystal->scale = 1.1;
        crystal->scale *= factor;
    }
}

/* Finds what a start near the truth finds. */
static int far_off(void)
{
    static const double factors[] = {1, 1. / 700, 700, 1e-6, 1e6, 1e15};
    nb_context *ctx = renders_context(1);

    for (int c = 0; c < CHOICES; c++)
        for (int k = 0; k < 6; k++) {
            const int most = factors[k] > 1e6 ? 16 : 8; /* a step divides it by 20 */
            static double near[VALUES_MOST];
            struct worst off = {0};
            static int passes;
            nb_fit *fit;
            nb_fit_result r;

            start(ctx, c, factors[k]);
            fit = stills_fit(&stills, ctx, choices + c);
            r = stills_run(fit, NB_OK);
            if (k == 0) passes = r.passes;
            tap_note("start %g times the scale: %d passes, of which %d joint", factors[k],
                     r.passes, r.joint);
            tap_check(r.end == NB_FIT_CONVERGED, "%s", r.why);
            tap_check(r.passes <= passes + most, "%d passes, %d from near", r.passes,
                      passes);
            for (size_t i = 0; i < r.nvalue; i++) {
                if (k == 0) near[i] = r.value[i].value;
                worst_add(&off, r.value[i].value, near[i], r.value[i].error);
            }
            /* a fit ends with a step of less than 0.05 errors ahead */
            worst_check(&off, 0.1, "values, in errors");
            for (size_t i = 0; i < r.nvalue; i++)
                if (!strcmp(r.value[i].param.name, "scale") && k > 0)
                    tap_check(fabs(r.value[i].param.value / factors[k] - 1) < 0.6,
                              "its start is said to be %g", r.value[i].param.value);
            nb_fit_free(fit);
        }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A scale that is nearly right is left to the others: the first step moves all. */
static int near_enough(void)
{
    nb_context *ctx = renders_context(1);

    for (int k = 0; k < 2; k++) {
        const nb_fit_options options = {.shared = "scale misset", .passes = 2};
        nb_fit_result r;
        nb_fit *fit;

        start(ctx, 0, k ? 1.7 : 0.55);
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.value[1].value != r.value[1].param.value, "misset_x is %.17g",
                  r.value[1].value);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A bound on the way is where it stays, and a restraint pulls as much as it says. */
static int within_bounds(void)
{
    static const nb_restraint limits[] = {
        {.name = "scale", .lower = 1e-3, .upper = 0.5},
        {.name = "scale", .lower = 2, .upper = 1e3},
        {.name = "scale", .centre = 0.01, .sigma = 1e-7},
    };
    static const double factors[] = {1 / 500., 500, 1 / 500.};
    static const double ends[] = {0.5, 2, 0.01};
    nb_context *ctx = renders_context(1);

    for (int k = 0; k < 3; k++) {
        nb_fit_options options = {.shared = "scale",
                                  .restraint = limits + k,
                                  .nrestraint = 1};
        nb_fit_result r;
        nb_fit *fit;

        start(ctx, 0, factors[k]);
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED, "%s", r.why);
        /* the data pull by sigma times their own precision, a part in a thousand of it */
        tap_close("scale", r.value[0].value, ends[k], k < 2 ? 0 : 1e-3 * ends[k]);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* With planes of background, which take up what scale leaves. */
static int with_planes(void)
{
    enum { BOXES = 4 };
    int box[4 * BOXES];
    nb_context *ctx = renders_context(1);
    double found[3];

    for (int b = 0; b < BOXES; b++) {
        const int corner[4] = {32 * (b % 2), 32 * (b % 2) + 32, 32 * (b / 2),
                               32 * (b / 2) + 32};

        memcpy(box + 4 * b, corner, sizeof corner);
    }
    for (int k = 0; k < 3; k++) {
        const nb_fit_options options = {.shared = "scale misset"};
        nb_fit_result r;
        nb_fit *fit;

        start(ctx, 0, k == 0 ? 1 : k == 1 ? 1 / 700. : 700);
        stills.scene[0].background.water = 0;
        stills.scene[0].detector.box = box;
        stills.scene[0].detector.nbox = BOXES;
        stills.shot[0].target.background = NB_BACKGROUND_PLANES;
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.end == NB_FIT_CONVERGED, "%s", r.why);
        found[k] = r.value[0].value;
        tap_close("scale, in errors", (found[k] - found[0]) / r.value[0].error, 0, 0.1);
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- the same bits ---- */

/* As the first of two processes. */
static void run_in_two(nb_fit *fit, const nb_fit_options *options)
{
    struct among among = {.n = 2, .fit = {fit}};
    nb_context *ctx = renders_context(1);

    among.fit[1] = stills_fit(&stills, ctx, options);
    among_run(&among);
    if (among.status[0] != NB_OK || among.status[1] != NB_OK) abort();
    nb_fit_free(among.fit[1]);
    nb_context_free(ctx);
}

struct stopping {
    nb_fit *fit;
    const char *path;
    int at; /* pass at which to write, and stop */
};

static int stop(void *user, const nb_fit_state *state)
{
    struct stopping *s = user;

    if (state->passes != s->at) return 0;
    if (nb_fit_write(s->fit, s->path) != NB_OK) abort();
    return 1;
}

/* Runs in one of several ways, and keeps values, errors and loss. */
static void run_way(int choice, int way, double *out)
{
    char path[] = "scale_XXXXXX";
    nb_context *ctx = renders_context(way == 1 ? 3 : 1);
    nb_fit_options options = choices[choice];
    nb_fit_result r;
    nb_fit *fit;

    start(ctx, choice, choice == 2 ? 700 : 1. / 700);
    fit = stills_fit(&stills, ctx, &options);
    if (way == 2 && stills.n > 1)
        run_in_two(fit, &options);
    else if (way >= 3) {
        struct stopping stopping = {.path = path, .at = way - 2};

        nb_fit_free(fit);
        if (close(mkstemp(path)) != 0) abort();
        options.progress = stop;
        options.user = &stopping;
        stopping.fit = fit = stills_fit(&stills, ctx, &options);
        if (nb_fit_run(fit) != NB_ERR_CANCELLED) abort();
        nb_fit_free(fit);
        options.progress = NULL;
        fit = stills_fit(&stills, ctx, &options);
        if (nb_fit_read(fit, path) != NB_OK) {
            tap_check(0, "%s", nb_context_message(ctx));
            abort();
        }
        (void)remove(path);
        if (nb_fit_run(fit) != NB_OK) abort();
    } else if (nb_fit_run(fit) != NB_OK)
        abort();
    if (nb_fit_result_get(fit, &r) != NB_OK) abort();
    for (size_t i = 0; i < r.nvalue; i++) {
        out[2 * i] = r.value[i].value;
        out[2 * i + 1] = r.value[i].error;
    }
    out[2 * r.nvalue] = r.loss;
    out[2 * r.nvalue + 1] = r.misfit + r.passes;
    nb_fit_free(fit);
    nb_context_free(ctx);
}

/* Any number of threads, two processes, and a stop at any pass leave the bits as they are.
 */
static int same_bits(void)
{
    enum { WAYS = 9, N = 2 * VALUES_MOST + 2 };

    for (int c = 0; c < CHOICES; c++) {
        double first[N] = {0};

        for (int way = 0; way < WAYS; way++) {
            double other[N] = {0};

            run_way(c, way, way ? other : first);
            if (way > 0)
                tap_check(!memcmp(first, other, sizeof first), "choice %d, way %d", c, way);
        }
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"far_off", far_off},
        {"near_enough", near_enough},
        {"within_bounds", within_bounds},
        {"with_planes", with_planes},
        {"same_bits", same_bits},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
