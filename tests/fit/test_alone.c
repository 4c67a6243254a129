/*
 * test_alone.c - what is known of a fit before all shots were evaluated together, and files
 * of fits that lack a shot.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"

static struct stills stills;

/* What a fit knows after each pass, until all stills were evaluated together. */
struct known {
    nb_fit *fit;
    int alone, joint, loads, cancels_at;
};

static int check_known(void *user, const nb_fit_state *state)
{
    struct known *k = user;
    nb_fit_result r;

    (void)state;
    if (k->joint) return 0;
    if (nb_fit_result_get(k->fit, &r) != NB_OK) abort();
    k->joint = r.joint > 0;
    k->alone += !k->joint;
    for (size_t i = 0; i < STILLS_SHARED + STILLS_OWN; i++)
        tap_check(isnan(r.value[i].error) == (i < STILLS_SHARED && !k->joint),
                  "after %d passes, %d together: error of %s %g", r.passes, r.joint,
                  r.value[i].param.name, r.value[i].error);
    tap_check(isfinite(r.loss) && r.loss > 0 && isnan(r.gain) == !k->joint,
              "loss %g, gain %g", r.loss, r.gain);
    return 0;
}

/* Cancels at one of the loads; 0: at none. */
static nb_status load_known(void *user, int64_t shot, nb_shot *out)
{
    struct known *k = user;

    *out = stills.shot[shot];
    k->loads += !k->joint;
    if (k->loads == k->cancels_at) nb_fit_cancel(k->fit);
    return NB_OK;
}

/* Until all stills were evaluated together, shared values have no errors; nor have they
 * where the first such evaluation is cancelled. */
static int nothing_shared_yet(void)
{
    nb_context *ctx = renders_context(1);
    struct known known = {.alone = 0};
    nb_fit_options options = stills_options;
    nb_fit_result r;

    options.progress = check_known, options.load = load_known, options.user = &known;
    stills_make(&stills, ctx, 3, 1, 0.3);
    known.fit = stills_fit(&stills, ctx, &options);
    if (nb_fit_run(known.fit) != NB_OK) abort();
    tap_check(known.alone > 0 && known.joint, "%d results alone", known.alone);
    nb_fit_free(known.fit);
    known = (struct known){.cancels_at = known.loads};
    known.fit = stills_fit(&stills, ctx, &options);
    r = stills_run(known.fit, NB_ERR_CANCELLED);
    tap_check(known.alone > 0 && !known.joint && r.joint == 0 && !isnan(r.gain),
              "%d results alone, %d together, gain %g", known.alone, r.joint, r.gain);
    for (size_t i = 0; i < STILLS_SHARED + STILLS_OWN; i++)
        tap_check(isnan(r.value[i].error) == (i < STILLS_SHARED), "error of %s %g",
                  r.value[i].param.name, r.value[i].error);
    nb_fit_free(known.fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Loads a still, but not number 1 if `user` says so. */
static nb_status load(void *user, int64_t shot, nb_shot *out)
{
    if (shot == 1 && *(const int *)user) return NB_ERR_FILE;
    *out = stills.shot[shot];
    return NB_OK;
}

/* A still that could not be loaded when the file was written, or cannot be when it is read,
 * is no other scene; one that could, both times, is compared. */
static int read_without_one(void)
{
    nb_context *ctx = renders_context(1);

    for (int fails_there = 0; fails_there <= 1; fails_there++) {
        int fails = fails_there;
        nb_fit_options options = stills_options;
        nb_fit *first, *second;
        nb_fit_result r;

        options.load = load, options.user = &fails;
        options.passes = 1;
        stills_make(&stills, ctx, 3, 1, 0.5);
        first = stills_fit(&stills, ctx, &options);
        (void)stills_run(first, NB_OK);
        if (nb_fit_write(first, "one.json") != NB_OK) abort();
        fails = !fails_there;
        second = stills_fit(&stills, ctx, &options);
        tap_check(nb_fit_read(second, "one.json") == NB_OK, "fails %s: %s",
                  fails_there ? "there" : "here", nb_context_message(ctx));
        nb_fit_free(second);
        stills.photons[2][5] += 1;
        second = stills_fit(&stills, ctx, &options);
        tap_check(nb_fit_read(second, "one.json") == NB_ERR_SCENE
                      && strstr(nb_context_message(ctx),
                                "of shot 2, the observed image differs"),
                  "one photon more: %s", nb_context_message(ctx));
        if (nb_fit_result_get(first, &r) != NB_OK) abort();
        tap_check(!r.shot[1].left_out == !fails_there, "left out: %s",
                  r.shot[1].left_out ? r.shot[1].left_out : "nothing");
        nb_fit_free(first);
        nb_fit_free(second);
    }
    (void)remove("one.json");
    nb_context_free(ctx);
    return TAP_PASS;
}

struct stopping {
    nb_fit *fit;
    int at, coarse; /* pass that ends the run, 0: none; first one with broadened spots */
};

static int stop(void *user, const nb_fit_state *state)
{
    struct stopping *s = user;

    if (s->coarse == 0 && state->stage == NB_FIT_COARSE) s->coarse = state->passes;
    if (state->passes != s->at) return 0;
    if (nb_fit_write(s->fit, "again.json") != NB_OK) abort();
    return 1;
}

/* A run that ends while a still is fitted again alone, with broadened spots, goes on from
 * its file as if it had not. */
static int stopped_again(void)
{
    enum { STOPS = 4 };
    nb_context *ctx = renders_context(1);
    struct stopping stopping = {.at = 0};
    nb_fit_options options = stills_options;
    nb_fit_result r, whole;
    nb_fit *first;

    options.progress = stop, options.user = &stopping;
    stills_make(&stills, ctx, STILLS_MOST, 1, 0.3);
    memcpy(stills.photons[2], stills.photons[4], sizeof stills.photons[2]);
    first = stills_fit(&stills, ctx, &options);
    whole = stills_run(first, NB_OK);
    tap_check(stopping.coarse > 0 && whole.shot[2].left_out, "again after %d passes",
              stopping.coarse);
    for (int k = 0; k < STOPS; k++) {
        int wrong = 0;
        nb_fit *fit;

        stopping.at = stopping.coarse + 4 * k;
        fit = stopping.fit = stills_fit(&stills, ctx, &options);
        if (nb_fit_run(fit) != NB_ERR_CANCELLED) abort();
        nb_fit_free(fit);
        fit = stills_fit(&stills, ctx, &options);
        if (nb_fit_read(fit, "again.json") != NB_OK) abort();
        r = stills_run(fit, NB_OK);
        for (size_t i = 0; i < r.nvalue; i++)
            wrong += r.value[i].value != whole.value[i].value;
        tap_check(wrong == 0 && r.loss == whole.loss && r.passes == whole.passes,
                  "stopped after %d of %d passes: %d other values", stopping.at, r.passes,
                  wrong);
        nb_fit_free(fit);
    }
    nb_fit_free(first);
    (void)remove("again.json");
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"nothing_shared_yet", nothing_shared_yet},
        {"read_without_one", read_without_one},
        {"stopped_again", stopped_again},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
