/*
 * test_loss_calls.c - calls of nb_loss() and nb_jtj() that are refused or stopped, and
 * steps of a fit that lead to where the loss is infinite.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { FAST = 40, SLOW = 37, PIXELS = FAST * SLOW };

static nb_simulator *simulator_for(nb_context *ctx, const nb_scene *scene,
                                   const char *names)
{
    const nb_options options = {NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0};
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, names, &options, &sim) != NB_OK) abort();
    return sim;
}

static void check_refused(nb_context *ctx, nb_status status, nb_status expected,
                          const char *word)
{
    tap_check(status == expected && strstr(nb_context_message(ctx), word),
              "status %d, expected %d; \"%s\" says %s", (int)status, (int)expected,
              nb_context_message(ctx), word);
}

static int misuse(void)
{
    static double data[PIXELS];
    nb_context *ctx = renders_context(1);
    const nb_scene scene = scenes_base();
    nb_simulator *sim = simulator_for(ctx, &scene, "scale");
    nb_simulator *fixed = simulator_for(ctx, &scene, NULL);
    nb_array y = nb_array_f64(data, SLOW, FAST), small = nb_array_f64(data, 3, 3);
    nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &y}, wrong = target;
    const double bad[1] = {NAN};
    double value, one[1] = {0}, zero[1] = {0};
    nb_normal out = {one, NULL, NULL, one};

    tap_check(nb_loss(NULL, NULL, &target, &value, NULL) == NB_ERR_ARGUMENT,
              "no simulator");
    tap_check(nb_jtj(NULL, NULL, NULL, NULL, &out) == NB_ERR_ARGUMENT, "no simulator");
    check_refused(ctx, nb_loss(sim, NULL, &target, NULL, NULL), NB_ERR_ARGUMENT, "place");
    check_refused(ctx, nb_loss(sim, NULL, NULL, &value, NULL), NB_ERR_ARGUMENT, "observed");
    wrong.kind = 9;
    check_refused(ctx, nb_loss(sim, NULL, &wrong, &value, NULL), NB_ERR_ARGUMENT, "kind 9");
    wrong = target;
    wrong.sigma_readout = -1;
    check_refused(ctx, nb_loss(sim, NULL, &wrong, &value, NULL), NB_ERR_ARGUMENT, "-1");
    wrong = target;
    wrong.saturation = -5;
    check_refused(ctx, nb_loss(sim, NULL, &wrong, &value, NULL), NB_ERR_ARGUMENT, "-5");
    wrong = target;
    wrong.weight = &small;
    check_refused(ctx, nb_loss(sim, NULL, &wrong, &value, NULL), NB_ERR_SHAPE, "weight");
    check_refused(ctx, nb_loss(fixed, NULL, &target, &value, &out), NB_ERR_ARGUMENT,
                  "free");
    check_refused(ctx, nb_jtj(sim, NULL, NULL, NULL, NULL), NB_ERR_ARGUMENT, "place");
    check_refused(ctx, nb_jtj(sim, NULL, NULL, NULL, &out), NB_ERR_ARGUMENT, "residual");
    check_refused(ctx, nb_jtj(sim, NULL, &small, &y, &out), NB_ERR_SHAPE, "weight");
    check_refused(ctx, nb_jtj(sim, NULL, NULL, &small, &out), NB_ERR_SHAPE, "residual");
    tap_check(nb_vjp(NULL, NULL, 1, &y, one) == NB_ERR_ARGUMENT, "no simulator");
    check_refused(ctx, nb_vjp(fixed, NULL, 1, &y, one), NB_ERR_ARGUMENT, "free");
    check_refused(ctx, nb_vjp(sim, NULL, 0, &y, one), NB_ERR_ARGUMENT, "cotangent");
    check_refused(ctx, nb_vjp(sim, NULL, 1, NULL, one), NB_ERR_ARGUMENT, "cotangent");
    check_refused(ctx, nb_vjp(sim, NULL, 1, &y, NULL), NB_ERR_ARGUMENT, "cotangent");
    check_refused(ctx, nb_vjp(sim, NULL, 1, &small, one), NB_ERR_SHAPE, "bar_image");
    check_refused(ctx, nb_vjp(sim, bad, 1, &y, one), NB_ERR_ARGUMENT, "scale");
    for (int i = 0; i < PIXELS; i++) data[i] = 1;
    target.kind = NB_LOSS_POISSON;
    check_refused(ctx, nb_loss(sim, zero, &target, &value, &out), NB_ERR_DOMAIN,
                  "observed");
    check_refused(ctx, nb_loss(sim, bad, &target, &value, &out), NB_ERR_ARGUMENT, "scale");
    for (int i = FAST; i < PIXELS; i++) data[i] = NAN;
    target.kind = NB_LOSS_GAUSS;
    check_refused(ctx, nb_loss(sim, NULL, &target, &value, &out), NB_ERR_ARGUMENT,
                  "] is nan, expected a number of photons");
    tap_check(one[0] == 0, "nothing was added by calls that failed: %g", one[0]);
    nb_simulator_free(fixed);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* a step of a fit that leads nowhere: the loss is infinite, and nothing is added */
static int outside(void)
{
    static const struct {
        double scale, alpha, beta;
        const char *word;
    } steps[] = {{-1, 90, 90, "scale"}, {1, 5, 150, "no volume"}, {0, 90, 90, "expected"}};
    static double data[PIXELS];
    nb_context *ctx = renders_context(1);
    const nb_scene scene = scenes_base();
    nb_simulator *sim = simulator_for(ctx, &scene, "scale cell_alpha cell_beta");
    nb_array y = nb_array_f64(data, SLOW, FAST);
    const nb_target target = {.kind = NB_LOSS_POISSON, .observed = &y};
    double matrix[9] = {0}, gradient[3] = {0};
    int added = 0;
    nb_normal full = {matrix, NULL, NULL, gradient}, slope = {NULL, NULL, NULL, gradient};
    nb_normal *const wanted[] = {NULL, &slope, &full};

    for (int i = 0; i < PIXELS; i++) data[i] = 1;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        for (int w = 0; w < 3; w++) {
            const double x[3] = {steps[k].scale, steps[k].alpha, steps[k].beta};
            double value = 0;

            check_refused(ctx, nb_loss(sim, x, &target, &value, wanted[w]), NB_ERR_DOMAIN,
                          steps[k].word);
            tap_check(value == INFINITY, "the loss is %g", value);
        }
    for (int i = 0; i < 9; i++) added += matrix[i] != 0 || gradient[i % 3] != 0;
    tap_check(added == 0, "%d numbers were added to", added);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

static int stop_soon(void *user, double fraction)
{
    (void)fraction;
    return ++*(int *)user > 3;
}

/* a pass that is stopped says so, and adds nothing */
static int cancelled(void)
{
    static double data[PIXELS];
    int told = 0;
    nb_context_options options = {0};
    nb_scene scene = scenes_base();
    nb_context *ctx;
    nb_simulator *sim;
    nb_array y = nb_array_f64(data, SLOW, FAST);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &y};
    double value, gradient[3] = {0}, matrix[9] = {0};
    nb_normal out = {matrix, NULL, NULL, gradient};

    options.threads = 1;
    options.progress = stop_soon;
    options.user = &told;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    sim = simulator_for(ctx, &scene, "misset");
    for (int i = 0; i < PIXELS; i++) data[i] = 1;
    tap_check(nb_vjp(sim, NULL, 1, &y, gradient) == NB_ERR_CANCELLED, "nb_vjp is stopped");
    told = 0;
    tap_check(nb_loss(sim, NULL, &target, &value, &out) == NB_ERR_CANCELLED,
              "nb_loss is stopped");
    for (int i = 0; i < 3; i++)
        tap_check(gradient[i] == 0 && matrix[4 * i] == 0, "nothing was added");
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"misuse", misuse},
        {"outside", outside},
        {"cancelled", cancelled},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
