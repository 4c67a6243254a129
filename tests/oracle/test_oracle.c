/*
 * test_oracle.c - the image and every derivative of small scenes compared with an
 * independent calculation with dual numbers in 128-bit floating point (oracle/).
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "oracle/slopes.h"
#include "oracle/truth.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { MOST_PIXELS = 400, NAMES = 4096 };

/* what the library and the oracle say, pixel by pixel, and the derivatives */
struct both {
    int n, nslow, nfast;
    int flat[DUAL_MOST]; /* parameters without influence */
    double value[DUAL_MOST]; /* of the parameters */
    double natural[DUAL_MOST]; /* peak of the image over the size of a parameter */
    double image[MOST_PIXELS], jacobian[DUAL_MOST][MOST_PIXELS];
    quad truth[MOST_PIXELS], slopes[DUAL_MOST][MOST_PIXELS];
};

/* appends a name to those before it, if it applies */
static void append(nb_context *ctx, const nb_scene *scene, const char *name, char *names)
{
    const size_t length = strlen(names);
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, name, NULL, &sim) != NB_OK) return;
    nb_simulator_free(sim);
    if (snprintf(names + length, NAMES - length, " %s", name) >= (int)(NAMES - length))
        abort();
}

/* reflections that some pixels are nearest to */
static void append_reflections(nb_context *ctx, const nb_scene *scene, char *names)
{
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, NULL, NULL, &sim) != NB_OK) abort();
    for (int i = 0; i < 8; i += 2) {
        const int slow = scene->detector.npanel > 0 ? i / 2 : i; /* few rows */
        nb_pixel_trace trace;
        char name[40], whole[48];

        if (nb_simulator_trace(sim, NULL, 0, slow, i, &trace) != NB_OK) abort();
        (void)snprintf(name, sizeof name, "F[%d,%d,%d]", trace.hkl[0], trace.hkl[1],
                       trace.hkl[2]);
        (void)snprintf(whole, sizeof whole, "%s ", name);
        if (!strstr(names, whole)) append(ctx, scene, name, names);
    }
    nb_simulator_free(sim);
}

/* the names of all parameters that apply to the scene, separated by blanks; of lists all
 * members, but of reflections some */
static void free_names(nb_context *ctx, const nb_scene *scene, char *names)
{
    nb_param param;

    names[0] = 0;
    for (int i = 0; nb_param_registry(i, &param); i++) {
        if (strncmp(param.name, "F[", 2) == 0) {
            append_reflections(ctx, scene, names);
            continue;
        }
        /* it would take the place of the close distance that the scene states */
        if (strcmp(param.name, "distance") == 0 && scene->detector.close_distance != 0)
            continue;
        param.name[strcspn(param.name, "[")] = 0;
        append(ctx, scene, param.name, names);
    }
}

static void library_side(nb_simulator *sim, struct both *out)
{
    nb_array image = nb_array_f64(out->image, out->nslow, out->nfast);
    nb_array changes[DUAL_MOST];
    double *directions = calloc((size_t)out->n * (size_t)out->n, sizeof *directions);

    if (!directions) abort();
    for (int i = 0; i < out->n; i++) {
        directions[i * out->n + i] = 1;
        changes[i] = nb_array_f64(out->jacobian[i], out->nslow, out->nfast);
    }
    if (nb_forward(sim, NULL, &image) != NB_OK
        || nb_jvp(sim, NULL, out->n, directions, changes) != NB_OK)
        abort();
    free(directions);
}

static void oracle_side(const nb_scene *scene, nb_simulator *sim, struct both *out)
{
    struct truth *truth = truth_create(scene, sim);

    for (int i = 0; i < out->nslow * out->nfast; i++) {
        const struct dual pixel = truth_pixel(truth, i / out->nfast, i % out->nfast);

        out->truth[i] = pixel.v;
        for (int p = 0; p < out->n; p++) out->slopes[p][i] = pixel.d[p];
    }
    truth_free(truth);
}

/* largest difference over the largest true value and 0.1 of `natural`, the change that
 * matters: columns in which nearly all cancels are as good as the image is; and the largest
 * true value, 0 where it is rounding */
static struct worst off(const double *ours, const quad *truth, int n, double natural,
                        double *largest)
{
    struct worst worst = {0};
    quad most = 0;

    for (int i = 0; i < n; i++)
        if (fabsq(truth[i]) > most) most = fabsq(truth[i]);
    *largest = most > (quad)1e-20 * natural ? (double)most : 0;
    for (int i = 0; i < n; i++)
        worst_add(&worst, (double)(ours[i] - truth[i]), 0, *largest + 0.1 * natural);
    return worst;
}

/* The image in units of what one rounding of each parameter changes in a pixel, eps (|I| +
 * sum |x dI/dx|): 0.4 to 6.1 are measured. */
static const double image_allowed = 15;

static void check_image(const struct both *both)
{
    struct worst worst = {0};

    for (int i = 0; i < both->nslow * both->nfast; i++) {
        double size = (double)fabsq(both->truth[i]);

        for (int p = 0; p < both->n; p++)
            size += fabs((double)both->slopes[p][i] * both->value[p]);
        worst_add(&worst, (double)(both->image[i] - both->truth[i]), 0, DBL_EPSILON * size);
    }
    worst_check(&worst, image_allowed, "image, of one rounding of its parameters");
}

/* Derivatives in units of the rounding of the phase, and the largest of their column or of
 * their terms: 0.3 to 7.8 are measured, and 0.1 to 3.1 in sums. */
static double column_allowed(const nb_scene *scene)
{
    return 20 * DBL_EPSILON * renders_phase(scene);
}

static double sum_allowed(const nb_scene *scene)
{
    return 8 * DBL_EPSILON * renders_phase(scene);
}

/* gradients of two sums with random weights, of the sum of |weight x derivative| */
static void check_adjoint(nb_simulator *sim, const struct both *both, double allowed)
{
    static double weight[2][MOST_PIXELS], gradient[2 * DUAL_MOST];
    const int pixels = both->nslow * both->nfast;
    nb_array cotangent[2];
    struct worst worst = {0};
    int moved = 0;

    for (int i = 0; i < 2 * pixels; i++)
        weight[i / pixels][i % pixels] = cos(1 + 1.7 * i + 0.003 * i * i);
    for (int i = 0; i < 2; i++)
        cotangent[i] = nb_array_f64(weight[i], both->nslow, both->nfast);
    memset(gradient, 0, sizeof gradient);
    if (nb_vjp(sim, NULL, 2, cotangent, gradient) != NB_OK) abort();
    for (int k = 0; k < 2 * both->n; k++) {
        const quad *slopes = both->slopes[k % both->n];
        quad sum = 0, size = 1e-3 * both->natural[k % both->n];

        for (int i = 0; i < pixels; i++) {
            sum += weight[k / both->n][i] * slopes[i];
            size += fabsq(weight[k / both->n][i] * slopes[i]);
        }
        if (both->flat[k % both->n]) continue;
        worst_add(&worst, (double)(gradient[k] - sum), 0, (double)size);
        moved++;
    }
    tap_check(moved > 0, "%d gradients are not 0", moved);
    worst_check(&worst, allowed, "gradients of weighted sums, of the sum of sizes");
}

static int compare(const char *name, const nb_scene *scene)
{
    static struct both both;
    static char names[NAMES];
    const nb_options options = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    nb_context *ctx;
    nb_simulator *sim;
    const double allowed = column_allowed(scene);
    struct worst worst = {0};
    double peak;
    char worst_name[32] = "none";
    size_t before;
    int flat = 0, pixels;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    free_names(ctx, scene, names);
    if (nb_simulator_create(ctx, scene, names, &options, &sim) != NB_OK)
        return tap_check(0, "%s: %s", name, nb_context_message(ctx));
    both.n = (int)nb_simulator_nparam(sim);
    both.nslow = scene->detector.nslow, both.nfast = scene->detector.nfast;
    pixels = both.nslow * both.nfast;
    if (both.n > DUAL_MOST || pixels > MOST_PIXELS) abort();
    library_side(sim, &both);
    oracle_side(scene, sim, &both);

    (void)off(both.image, both.truth, pixels, 0, &peak);
    tap_check(peak > 0, "the image is not empty: peak %.4g photons", peak);
    for (int p = 0; p < both.n; p++) {
        struct worst away;
        nb_param param;
        double largest;

        if (nb_simulator_param(sim, (size_t)p, &param) != NB_OK) abort();
        both.value[p] = param.value;
        both.natural[p] = peak / fmax(fabs(param.value), param.scale);
        away = off(both.jacobian[p], both.slopes[p], pixels, both.natural[p], &largest);
        both.flat[p] = largest == 0;
        flat += both.flat[p];
        if (!(away.error <= allowed))
            tap_check(0, "%s: off by %.3g of the column's largest, %.6g", param.name,
                      away.error, largest);
        before = worst.count;
        worst_join(&worst, &away);
        if (worst.at < before || worst.error == 0) continue;
        (void)snprintf(worst_name, sizeof worst_name, "%s", param.name);
    }
    tap_note("%d parameters, %d of them without influence; worst: %s", both.n, flat,
             worst_name);
    worst_check(&worst, allowed, "derivatives, of the largest of a column");
    check_image(&both);
    check_adjoint(sim, &both, sum_allowed(scene));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* a parameter that the oracle does not know would pass untested */
static int every_parameter(void)
{
    nb_param param;
    int n = 0;

    for (; nb_param_registry(n, &param); n++) {
        if (strcmp(param.name, "psf_fwhm") == 0) continue; /* no pixel by itself */
        if (!truth_knows(param.name) && !scenes_is_width(param.name)
            && !scenes_is_lattice(param.name)) /* a sum of images (lattices/) */
            tap_check(0, "%s is unknown to the oracle", param.name);
    }
    tap_check(n > 40, "%d parameters", n);
    return TAP_PASS;
}

/* the scene that the running case is named after */
static int run_scene(void)
{
    const char *name = tap_running() + strlen("scene.");
    const nb_scene scene = scenes_named(SCENES_ORACLE, name);

    return compare(name, &scene);
}

int main(int argc, char **argv)
{
    enum { MOST = 100 };
    static char names[MOST][40];
    struct tap_case cases[MOST] = {{"slopes.double", oracle_slopes_double},
                                   {"slopes.single", oracle_slopes_single},
                                   {"every_parameter", every_parameter}};
    struct named_scene named;
    size_t n = 3;

    for (size_t i = 0; scenes_at(SCENES_ORACLE, i, &named); i++, n++) {
        if (n == MOST) abort();
        (void)snprintf(names[n], sizeof names[n], "scene.%s", named.name);
        cases[n] = (struct tap_case){names[n], run_scene};
    }
    return tap_main(argc, argv, cases, n);
}
