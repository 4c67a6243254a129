/*
 * test_limits.c - bounds of fits, weights that leave nothing to fit, and degrees of
 * freedom.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/stills.h"
#include "support/renders.h"
#include "support/tap.h"

static struct stills stills;

/* A fit ends far before the limits of what can be computed. */
static int bounds(void)
{
    static const struct {
        const char *name;
        double lower, upper;
    } expected[] = {{"cell_a", 25, 100},
                    {"cell_beta", 60, 120},
                    {"misset_x", -170, 190},
                    {"mosaic", 0, 20},
                    {"rotation_y", -180, 180}};
    nb_context *ctx = renders_context(1);
    const nb_fit_options options = {.shared =
                                        "cell_a cell_beta misset_x mosaic rotation_y"};
    nb_fit_result r;
    nb_fit *fit;

    stills_make(&stills, ctx, 1, 1, 0);
    fit = stills_fit(&stills, ctx, &options);
    r = stills_run(fit, NB_OK);
    for (size_t i = 0; i < r.nvalue; i++)
        for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
            const nb_param *p = &r.value[i].param;

            if (strcmp(p->name, expected[k].name) != 0) continue;
            tap_close(p->name, p->lower, expected[k].lower, 1e-9);
            tap_close(p->name, p->upper, expected[k].upper, 1e-9);
        }
    tap_check(r.nvalue == sizeof expected / sizeof *expected, "%zu values", r.nvalue);
    tap_check(r.freedom == STILLS_PIXELS - 5, "%lld degrees of freedom",
              (long long)r.freedom);
    tap_close("chi^2 of one", 2 * r.loss / (double)r.freedom, 1, 0.1);
    nb_fit_free(fit);
    nb_context_free(ctx);
    return TAP_PASS;
}

static void refused(nb_context *ctx, const nb_array *weight, const char *word)
{
    const nb_fit_options options = {.shared = "scale"};
    nb_fit *fit = NULL;
    nb_status status;

    stills.shot[0].target.kind = NB_LOSS_GAUSS;
    stills.shot[0].target.weight = weight;
    status = nb_fit_create(ctx, 1, stills.shot, &options, &fit);
    tap_check(status == NB_ERR_ARGUMENT && !fit && strstr(nb_context_message(ctx), word),
              "status %d: %s", (int)status, nb_context_message(ctx));
    nb_fit_free(fit);
}

/* Weights that are no numbers, negative, or nothing are refused. */
static int weights(void)
{
    static float weight[STILLS_PIXELS];
    nb_context *ctx = renders_context(1);
    const nb_array w = nb_array_f32(weight, STILLS_SIDE, STILLS_SIDE);
    nb_array broken = w;

    stills_make(&stills, ctx, 1, 1, 0);
    refused(ctx, &w, "no pixel counts");
    for (int p = 0; p < STILLS_PIXELS; p++) weight[p] = 1;
    weight[STILLS_SIDE + 2] = NAN;
    refused(ctx, &w, "weight[1][2] is nan");
    weight[STILLS_SIDE + 2] = -1;
    refused(ctx, &w, "weight[1][2] is -1");
    broken.data = NULL;
    refused(ctx, &broken, "weight");
    broken = w;
    broken.bits = 16;
    refused(ctx, &broken, "weight");
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"bounds", bounds}, {"weights", weights}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
