/*
 * test_outliers.c - boxes and pixels that stand out leave a fit: those that were planted,
 * with the same bits for any number of threads and processes, and after a stop.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/among.h"
#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

enum { ROW = 5, NBOX = ROW * ROW, SIDE = 12, SHOTS = 3, PLANTED = 2, SINGLE = 3 };

static struct stills stills;
static int boxes[4 * NBOX];
static int moved[SHOTS][PLANTED]; /* boxes whose data lie elsewhere */
static int single[SHOTS][SINGLE]; /* pixels with too many photons */
static const nb_fit_options leave = {.shared = "cell_a mosaic",
                                     .own = "misset scale",
                                     .outliers = 1};

static void make(nb_context *ctx, int n)
{
    stills_make(&stills, ctx, n, 1, 0.2);
    for (int b = 0; b < NBOX; b++) {
        int *r = boxes + 4 * b;

        r[0] = SIDE * (b % ROW), r[1] = r[0] + SIDE;
        r[2] = SIDE * (b / ROW), r[3] = r[2] + SIDE;
    }
    for (int i = 0; i < n; i++) {
        stills.scene[i].detector.box = boxes;
        stills.scene[i].detector.nbox = NBOX;
    }
}

static double photons_of(int shot, int b)
{
    double sum = 0;

    for (int k = 0; k < SIDE * SIDE; k++)
        sum += stills.photons[shot][(boxes[4 * b + 2] + k / SIDE) * STILLS_SIDE
                                    + boxes[4 * b] + k % SIDE];
    return sum;
}

/* Moves the data of the two brightest boxes by 4 pixels, and adds photons to three pixels
 * of the darkest box. */
static void plant(int shot)
{
    double was[SIDE][SIDE];
    int dark = 0;

    for (int k = 0; k < PLANTED; k++) {
        int best = -1;

        for (int b = 0; b < NBOX; b++)
            if (!(k && b == moved[shot][0])
                && (best < 0 || photons_of(shot, b) > photons_of(shot, best)))
                best = b;
        moved[shot][k] = best;
    }
    for (int b = 1; b < NBOX; b++)
        if (photons_of(shot, b) < photons_of(shot, dark)) dark = b;
    for (int k = 0; k < PLANTED; k++) {
        double *at = stills.photons[shot] + boxes[4 * moved[shot][k] + 2] * STILLS_SIDE
                     + boxes[4 * moved[shot][k]];

        for (int i = 0; i < SIDE * SIDE; i++)
            was[i / SIDE][i % SIDE] = at[i / SIDE * STILLS_SIDE + i % SIDE];
        for (int i = 0; i < SIDE * SIDE; i++)
            at[i / SIDE * STILLS_SIDE + i % SIDE] =
                was[(i / SIDE + 4) % SIDE][(i % SIDE + 4) % SIDE];
    }
    for (int k = 0; k < SINGLE; k++) {
        single[shot][k] =
            (boxes[4 * dark + 2] + 2 + 4 * k) * STILLS_SIDE + boxes[4 * dark] + 2 + 3 * k;
        stills.photons[shot][single[shot][k]] += 300 * (k + 1);
    }
}

/* Marks the pixels that left a shot, and returns how many there are. */
static int mark(const nb_fit_shot *shot, char gone[STILLS_PIXELS])
{
    int n = 0;

    memset(gone, 0, STILLS_PIXELS);
    for (size_t i = 0; i < shot->noutlier; i++) {
        const nb_fit_outlier *o = shot->outlier + i;
        const int side = o->box < 0 ? 1 : SIDE;

        for (int k = 0; k < side * side; k++)
            gone[(o->slow + k / side) * STILLS_SIDE + o->fast + k % side] = 1;
    }
    for (int p = 0; p < STILLS_PIXELS; p++) n += gone[p];
    return n;
}

/* Checks that what was planted in a shot has left. */
static void check_gone(const nb_fit_shot *shot, int i)
{
    static char gone[STILLS_PIXELS];
    const int n = mark(shot, gone);

    for (int k = 0; k < PLANTED; k++) {
        const int *r = boxes + 4 * moved[i][k];

        tap_check(gone[r[2] * STILLS_SIDE + r[0]]
                      && gone[(r[3] - 1) * STILLS_SIDE + r[1] - 1],
                  "box %d of %s left", moved[i][k], shot->name);
    }
    for (int k = 0; k < SINGLE; k++)
        tap_check(gone[single[i][k]], "pixel %d of %s left", single[i][k], shot->name);
    tap_check(shot->pixels == NBOX * SIDE * SIDE - n && n < NBOX * SIDE * SIDE / 4,
              "%d pixels left, %lld stay", n, (long long)shot->pixels);
}

/* What was planted leaves; the values are those without it. */
static int planted(void)
{
    static double value[STILLS_VALUES];
    nb_context *ctx = renders_context(1);
    nb_fit_options keep = leave;
    struct worst off = {0};
    nb_fit_result r;
    nb_fit *fit;

    keep.outliers = 0;
    make(ctx, SHOTS);
    fit = stills_fit(&stills, ctx, &keep);
    r = stills_run(fit, NB_OK);
    tap_check(r.shot[0].noutlier == 0, "nothing leaves unless it may");
    for (size_t i = 0; i < r.nvalue; i++) value[i] = r.value[i].value;
    nb_fit_free(fit);
    for (int shot = 0; shot < SHOTS; shot++) plant(shot);
    fit = stills_fit(&stills, ctx, &leave);
    r = stills_run(fit, NB_OK);
    tap_check(r.end == NB_FIT_CONVERGED, "%s", r.why);
    for (size_t i = 0; i < r.nvalue; i++)
        worst_add(&off, r.value[i].value, value[i], r.value[i].error);
    worst_check(&off, 3, "errors from the fit of what was not planted");
    for (int shot = 0; shot < SHOTS; shot++) check_gone(r.shot + shot, shot);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int same(const nb_fit_result *a, const nb_fit_result *b)
{
    int is_same = a->loss == b->loss && a->passes == b->passes && a->nvalue == b->nvalue;

    for (size_t i = 0; is_same && i < a->nvalue; i++)
        is_same = a->value[i].value == b->value[i].value
                  && a->value[i].error == b->value[i].error;
    for (int64_t i = 0; is_same && i < a->nshot; i++) {
        is_same = a->shot[i].noutlier == b->shot[i].noutlier
                  && a->shot[i].pixels == b->shot[i].pixels;
        for (size_t k = 0; is_same && k < a->shot[i].noutlier; k++) {
            const nb_fit_outlier *p = a->shot[i].outlier + k, *q = b->shot[i].outlier + k;

            is_same = p->box == q->box && p->fast == q->fast && p->slow == q->slow
                      && p->z == q->z;
        }
    }
    return is_same;
}

/* Any number of threads and processes gives the same bits. */
static int bits(void)
{
    nb_context *ctx = renders_context(1), *other[2];
    struct among among = {.n = 2};
    nb_fit_result r, q;
    nb_fit *fit;

    make(ctx, SHOTS);
    for (int shot = 0; shot < SHOTS; shot++) plant(shot);
    fit = stills_fit(&stills, ctx, &leave);
    r = stills_run(fit, NB_OK);
    for (int i = 0; i < 2; i++) {
        other[i] = renders_context(3 - i);
        among.fit[i] = stills_fit(&stills, other[i], &leave);
    }
    q = stills_run(among.fit[0], NB_OK);
    tap_check(same(&r, &q), "the same bits by three threads");
    nb_fit_free(among.fit[0]);
    among.fit[0] = stills_fit(&stills, other[0], &leave);
    among_run(&among);
    for (int i = 0; i < 2; i++) {
        renders_require(other[i], among.status[i]);
        renders_require(other[i], nb_fit_result_get(among.fit[i], &q));
        tap_check(same(&r, &q), "the same bits by process %d of 2", i);
        nb_fit_free(among.fit[i]);
        nb_context_free(other[i]);
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int passes_left;
static int stop(void *user, const nb_fit_state *state)
{
    (void)user;
    (void)state;
    return --passes_left == 0;
}

/* A fit that stops after any pass goes on from its file to the same bits. */
static int resumed(void)
{
    nb_context *ctx = renders_context(1);
    nb_fit_options stopped = leave;
    nb_fit_result r, q;
    nb_fit *fit, *again;
    int n;

    stopped.progress = stop;
    make(ctx, SHOTS);
    for (int shot = 0; shot < SHOTS; shot++) plant(shot);
    fit = stills_fit(&stills, ctx, &leave);
    r = stills_run(fit, NB_OK);
    n = r.passes;
    for (int at = 1; at < n; at++) {
        again = stills_fit(&stills, ctx, &stopped);
        passes_left = at;
        tap_check(nb_fit_run(again) == NB_ERR_CANCELLED, "stopped after pass %d of %d", at,
                  n);
        renders_require(ctx, nb_fit_write(again, "outliers.json"));
        nb_fit_free(again);
        again = stills_fit(&stills, ctx, &leave);
        renders_require(ctx, nb_fit_read(again, "outliers.json"));
        renders_require(ctx, nb_fit_run(again));
        renders_require(ctx, nb_fit_result_get(again, &q));
        tap_check(same(&r, &q), "the same bits");
        nb_fit_free(again);
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* A file that leaves out what there is not is refused, or its fit cannot be evaluated. */
static int tampered(void)
{
    static const char *const wrong[] = {"[[99, 0, 0, 7]]", "[[-1, 64, 0, 9]]",
                                        "[[-1, 0, -1, 9]]", "[[0, 0, 0]]", "7"};
    static char text[1 << 20];
    nb_context *ctx = renders_context(1);
    nb_fit_result r;
    nb_fit *fit;
    char *at;
    size_t n;
    FILE *file;

    make(ctx, 1);
    fit = stills_fit(&stills, ctx, &leave);
    r = stills_run(fit, NB_OK);
    tap_check(r.shot[0].noutlier == 0, "nothing leaves");
    renders_require(ctx, nb_fit_write(fit, "outliers.json"));
    nb_fit_free(fit);
    file = fopen("outliers.json", "rb");
    n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    (void)fclose(file);
    at = strstr(text, "\"outliers\":");
    tap_check(at != NULL, "the file has outliers");
    for (size_t i = 0; at && i < sizeof wrong / sizeof *wrong; i++) {
        nb_status status;

        file = fopen("wrong.json", "wb");
        (void)fprintf(file, "%.*s\"outliers\": %s%s", (int)(at - text), text, wrong[i],
                      strchr(at, ']') + 1);
        (void)fclose(file);
        fit = stills_fit(&stills, ctx, &leave);
        status = nb_fit_read(fit, "wrong.json");
        if (status == NB_OK) status = nb_fit_run(fit);
        tap_check(status == NB_ERR_FORMAT && strstr(nb_context_message(ctx), "wrong.json"),
                  "%s: %s", wrong[i], nb_context_message(ctx));
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* Of shots that have no values of their own, one that is of another crystal leaves. */
static int shot(void)
{
    const nb_fit_options shared = {.shared = "cell_a mosaic", .outliers = 1};
    nb_context *ctx = renders_context(1);
    nb_fit_result r;
    nb_fit *fit;

    make(ctx, STILLS_MOST);
    for (int p = 0; p < STILLS_PIXELS / 2; p++) {
        double *image = stills.photons[2];
        const double was = image[p];

        image[p] = image[STILLS_PIXELS - 1 - p];
        image[STILLS_PIXELS - 1 - p] = was;
    }
    fit = stills_fit(&stills, ctx, &shared);
    r = stills_run(fit, NB_OK);
    for (int64_t i = 0; i < r.nshot; i++)
        tap_check(!r.shot[i].left_out == (i != 2), "%s: %s", r.shot[i].name,
                  r.shot[i].left_out ? r.shot[i].left_out : "stays");
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"planted", planted},
                                            {"bits", bits},
                                            {"resumed", resumed},
                                            {"tampered", tampered},
                                            {"shot", shot}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
