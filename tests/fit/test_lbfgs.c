/*
 * test_lbfgs.c - fits by L-BFGS: of stills, within bounds, of structure factors; stopped,
 * written and read.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

static struct stills stills;

/* L-BFGS ends where Levenberg and Marquardt do, with parameters of very different sizes. */
static int lbfgs(void)
{
    nb_context *ctx = renders_context(2);
    nb_fit_options options = {.shared = "cell_a mosaic", .own = "misset fluence"};
    double value[STILLS_VALUES] = {0}, error[STILLS_VALUES] = {0}, loss = 0;
    struct worst off = {0};
    nb_fit_result r;
    nb_fit *fit;

    stills_make(&stills, ctx, 2, 1, 0.5);
    for (int i = 0; i < 2; i++) {
        stills.scene[i].crystal.scale = stills_truth(STILLS_SHARED + STILLS_OWN * i + 3);
        stills.scene[i].beam.fluence = 0.9e28;
    }
    for (int k = 0; k < 2; k++) {
        options.method = k ? NB_FIT_LBFGS : NB_FIT_LM;
        options.enough = k ? 1e-7 : 0;
        if (k && nb_fit_create(ctx, 2, stills.shot, &options, &fit) == NB_ERR_UNSUPPORTED) {
            nb_context_free(ctx);
            return tap_skip("this build has no NLopt");
        }
        if (k) nb_fit_free(fit);
        fit = stills_fit(&stills, ctx, &options);
        r = stills_run(fit, NB_OK);
        tap_check(r.method == options.method && r.end == NB_FIT_CONVERGED && r.passes <= 30,
                  "end %d after %d passes", r.end, r.passes);
        for (size_t i = 0; i < r.nvalue; i++) {
            if (k)
                worst_add(&off, r.value[i].value, value[i], error[i]);
            else
                value[i] = r.value[i].value, error[i] = r.value[i].error;
            /* the error while all others are known is smaller */
            if (k && !(r.value[i].error > 0 && r.value[i].error < error[i] * (1 + 1e-6)))
                tap_check(0, "error %g, %g", r.value[i].error, error[i]);
        }
        if (k)
            tap_close("loss", r.loss, loss, 6e-5);
        else
            loss = r.loss;
        nb_fit_free(fit);
    }
    worst_check(&off, 0.02, "distance of the two minima, in errors");
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Within bounds, and with values that no data depend on left as they are, to the bit. */
static int lbfgs_bounds(void)
{
    int at_bound = 0, outside = 0, moved = 0;

    for (int k = 0; k < 8; k++) {
        const nb_restraint bound = {.name = "scale",
                                    .lower = 0.3,
                                    .upper = 0.81 + 0.013 * k};
        const nb_fit_options options = {.own = "misset scale",
                                        .shared = "density",
                                        .method = NB_FIT_LBFGS,
                                        .restraint = &bound,
                                        .nrestraint = 1};
        nb_context *ctx = renders_context(1);
        nb_fit_result r;
        nb_fit *fit;

        stills_make(&stills, ctx, 1, 0, 0);
        stills.scene[0].crystal.scale = 0.7;
        stills.scene[0].background.water = 0; /* whose density counts for nothing */
        stills.scene[0].background.density = 1.234567;
        stills.shot[0].target.kind = NB_LOSS_GAUSS;
        if (nb_fit_create(ctx, 1, stills.shot, &options, &fit) == NB_ERR_UNSUPPORTED) {
            tap_note("%s", nb_context_message(ctx));
            return tap_skip("this build has no NLopt");
        }
        r = stills_run(fit, NB_OK);
        for (size_t i = 0; i < r.nvalue; i++) {
            const nb_fit_value *v = r.value + i;

            outside += v->value < v->param.lower || v->value > v->param.upper;
            at_bound += v->bound == 1 && v->value == bound.upper;
            moved += v->is_held && v->value != v->param.value;
        }
        nb_fit_free(fit);
        nb_context_free(ctx);
    }
    tap_check(at_bound == 8 && outside == 0, "%d of 8 end at the bound, %d outside",
              at_bound, outside);
    tap_check(moved == 0, "%d of what is held has moved", moved);
    return TAP_PASS;
}

/* A fit by L-BFGS, or NULL in a build without NLopt. */
static nb_fit *made(nb_context *ctx, const nb_fit_options *options)
{
    nb_fit *fit = NULL;
    const nb_status status = nb_fit_create(ctx, stills.n, stills.shot, options, &fit);

    if (status != NB_OK && status != NB_ERR_UNSUPPORTED) {
        tap_check(0, "%s", nb_context_message(ctx));
        abort();
    }
    return fit;
}

/* What was written is there after reading, errors and losses of shots too; a fit by the
 * other method refuses it; and the next run goes on from there. */
static int written_and_read(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit_options options = {.shared = "cell_a mosaic",
                              .own = "misset scale",
                              .method = NB_FIT_LBFGS,
                              .passes = 6};
    double value[STILLS_VALUES] = {0}, error[STILLS_VALUES] = {0}, shot[2], loss;
    nb_fit_result r;
    nb_fit *fit;
    int wrong = 0;

    stills_make(&stills, ctx, 2, 1, 0.5);
    fit = made(ctx, &options);
    if (!fit) return tap_skip("this build has no NLopt");
    r = stills_run(fit, NB_OK);
    tap_check(r.end == NB_FIT_PASSES && r.passes == 6, "end %d after %d passes", r.end,
              r.passes);
    for (size_t i = 0; i < r.nvalue; i++)
        value[i] = r.value[i].value, error[i] = r.value[i].error;
    loss = r.loss, shot[0] = r.shot[0].loss, shot[1] = r.shot[1].loss;
    tap_check(nb_fit_write(fit, "lbfgs.json") == NB_OK, "written");
    nb_fit_free(fit);
    options.method = NB_FIT_LM;
    fit = made(ctx, &options);
    tap_check(nb_fit_read(fit, "lbfgs.json") == NB_ERR_SCENE
                  && strstr(nb_context_message(ctx), "by L-BFGS"),
              "refused: %s", nb_context_message(ctx));
    nb_fit_free(fit);
    options.method = NB_FIT_LBFGS;
    fit = made(ctx, &options);
    tap_check(nb_fit_read(fit, "lbfgs.json") == NB_OK, "read");
    if (nb_fit_result_get(fit, &r) != NB_OK) abort();
    tap_check(strstr(r.why, "limit of passes") != NULL, "%s", r.why);
    for (size_t i = 0; i < r.nvalue; i++)
        wrong += r.value[i].value != value[i] || r.value[i].error != error[i]
                 || r.value[i].is_held;
    tap_check(wrong == 0 && r.loss == loss && r.shot[0].loss == shot[0]
                  && r.shot[1].loss == shot[1],
              "%d other values or errors; losses %.17g, %.17g, %.17g", wrong, r.loss,
              r.shot[0].loss, r.shot[1].loss);
    r = stills_run(fit, NB_OK);
    tap_check(r.loss < loss && r.passes > 6, "loss %g after %g", r.loss, loss);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A run that is cancelled before its first evaluation has what the one before had. */
static int cancelled_again(void)
{
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.own = "misset scale",
                                    .method = NB_FIT_LBFGS,
                                    .passes = 4};
    nb_fit_result r;
    nb_fit *fit;
    double loss;

    stills_make(&stills, ctx, 1, 1, 0.5);
    fit = made(ctx, &options);
    if (!fit) return tap_skip("this build has no NLopt");
    r = stills_run(fit, NB_OK);
    loss = r.loss;
    nb_fit_cancel(fit);
    r = stills_run(fit, NB_ERR_CANCELLED);
    tap_check(r.end == NB_FIT_CANCELLED && r.loss == loss && r.passes == 4,
              "loss %.17g, after %.17g", r.loss, loss);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"lbfgs", lbfgs},
        {"within_bounds", lbfgs_bounds},
        {"written_and_read", written_and_read},
        {"cancelled_again", cancelled_again},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
