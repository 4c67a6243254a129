/* both.c - see both.h. SPDX-License-Identifier: MIT */
#include "device/both.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/target.h"
#include "support/tap.h"
#include "support/worst.h"

enum { PIXELS = BOTH_PIXELS, MOST = BOTH_MOST };

struct both both;

/* ---- simulators ---- */

static double scale_of(size_t i)
{
    nb_param param;

    if (nb_simulator_param(both.sim[0], i, &param) != NB_OK) abort();
    return param.scale;
}

static void find_sizes(void)
{
    double dx[MOST];
    nb_array image = nb_array_f64(both.photons, COMPILED_SLOW, COMPILED_FAST);

    if (nb_forward(both.sim[0], NULL, &image) != NB_OK) {
        (void)fprintf(stderr, "%s\n", nb_context_message(both.ctx[0]));
        abort();
    }
    for (size_t i = 0; i < both.n; i++) {
        nb_array change = nb_array_f64(both.size[i], COMPILED_SLOW, COMPILED_FAST);

        memset(dx, 0, sizeof dx);
        dx[i] = 1;
        if (nb_jvp(both.sim[0], NULL, 1, dx, &change) != NB_OK) abort();
        for (int k = 0; k < PIXELS; k++)
            both.size[i][k] = fabs(both.size[i][k]) + both.photons[k] / scale_of(i);
    }
}

void both_open(nb_context *host, nb_context *device, const nb_scene *scene,
               const char *names, int precision)
{
    memset(&both, 0, sizeof both);
    both.ctx[0] = host;
    both.ctx[1] = device;
    for (int i = 0; i < 2; i++) {
        const nb_options options = {.precision = i ? precision : NB_PRECISION_DOUBLE,
                                    .strategy = NB_STRATEGY_LANES};

        if (nb_simulator_create(both.ctx[i], scene, names, &options, &both.sim[i])
            != NB_OK) {
            (void)fprintf(stderr, "%s\n", nb_context_message(both.ctx[i]));
            abort();
        }
    }
    both.n = nb_simulator_nparam(both.sim[0]);
    if (both.n > MOST) {
        (void)fprintf(stderr, "%zu parameters, room for %d\n", both.n, (int)MOST);
        abort();
    }
    find_sizes();
}

void both_close(void)
{
    for (int i = 0; i < 2; i++) {
        nb_simulator_free(both.sim[i]);
        nb_context_free(both.ctx[i]);
    }
}

/* ---- numbers ---- */

void both_fill(double *out, int n, double from)
{
    unsigned state = 12345;

    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = from + (1 - from) * (state >> 8) / 16777216.0;
    }
}

/* a call of simulator i that failed */
static double failed(int i)
{
    tap_note("%s", nb_context_message(both.ctx[i]));
    return INFINITY;
}

/* infinite when nothing was compared */
static double error_of(const struct worst *worst)
{
    return worst->count > 0 ? worst->error : INFINITY;
}

/* ---- gradients ---- */

static double worst_of(const double *found, const double *truth, const double *slope)
{
    struct worst worst = {0};

    for (size_t i = 0; i < both.n; i++) {
        double size = 0;

        for (int k = 0; k < PIXELS; k++) size += fabs(slope[k]) * both.size[i][k];
        worst_add(&worst, found[i], truth[i], size);
    }
    return error_of(&worst);
}

double both_vjp(int bits)
{
    static double bar[PIXELS];
    static float narrow[PIXELS];
    double x_bar[2][MOST] = {{0}};
    nb_array image = nb_array_f64(bar, COMPILED_SLOW, COMPILED_FAST);

    both_fill(bar, PIXELS, -1);
    for (int k = 0; k < PIXELS; k++) bar[k] = narrow[k] = (float)bar[k];
    if (bits == 32) image = nb_array_f32(narrow, COMPILED_SLOW, COMPILED_FAST);
    for (int i = 0; i < 2; i++)
        if (nb_vjp(both.sim[i], NULL, 1, &image, x_bar[i]) != NB_OK) return failed(i);
    return worst_of(x_bar[1], x_bar[0], bar);
}

nb_target both_target(int kind)
{
    nb_target target = {.kind = kind, .sigma_readout = 2, .gain = 0.7, .delta = 3};

    both_fill(both.observed, PIXELS, 0.5);
    both_fill(both.weight, PIXELS, 0);
    for (int k = 0; k < PIXELS; k++) both.observed[k] *= both.photons[k];
    for (int k = 0; k < PIXELS; k += 5) both.weight[k] = 0;
    both.images[0] = nb_array_f64(both.observed, COMPILED_SLOW, COMPILED_FAST);
    both.images[1] = nb_array_f64(both.weight, COMPILED_SLOW, COMPILED_FAST);
    target.observed = both.images;
    target.weight = both.images + 1;
    return target;
}

double both_loss(int kind, double *value)
{
    const nb_target target = both_target(kind);
    static double slope[PIXELS];
    double x_bar[2][MOST] = {{0}}, found[2];
    struct worst values = {0};

    for (int i = 0; i < 2; i++) {
        nb_normal out = {.gradient = x_bar[i]};

        if (nb_loss(both.sim[i], NULL, &target, &found[i], &out) != NB_OK) return failed(i);
    }
    for (int k = 0; k < PIXELS; k++)
        slope[k] = phys_loss(target_model(&target), both.photons[k], both.observed[k],
                             both.weight[k])
                       .slope;
    worst_add(&values, found[1], found[0], fabs(found[0]));
    *value = values.error;
    return worst_of(x_bar[1], x_bar[0], slope);
}

double both_value(int kind)
{
    const nb_target target = both_target(kind);
    double found[2];
    struct worst worst = {0};

    for (int i = 0; i < 2; i++)
        if (nb_loss(both.sim[i], NULL, &target, &found[i], NULL) != NB_OK) return failed(i);
    worst_add(&worst, found[1], found[0], fabs(found[0]));
    return worst.error;
}

/* ---- the normal matrix ---- */

double both_normal(int kind)
{
    const nb_target target = both_target(kind < 0 ? NB_LOSS_GAUSS : kind);
    static double matrix[2][MOST * MOST];
    double diagonal[2][MOST] = {{0}}, gradient[2][MOST] = {{0}}, value;
    struct worst worst = {0};
    const size_t n = both.n;

    memset(matrix, 0, sizeof matrix);
    for (int i = 0; i < 2; i++) {
        nb_normal out = {matrix[i], diagonal[i], NULL, kind < 0 ? NULL : gradient[i]};
        const nb_status status = kind < 0
                                     ? nb_jtj(both.sim[i], NULL, target.weight, NULL, &out)
                                     : nb_loss(both.sim[i], NULL, &target, &value, &out);

        if (status != NB_OK) return failed(i);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double size = 0;

            for (int k = 0; k < PIXELS; k++) {
                const struct phys_loss loss =
                    kind < 0 ? (struct phys_loss){0, 0, both.weight[k]}
                             : phys_loss(target_model(&target), both.photons[k],
                                         both.observed[k], both.weight[k]);

                size += loss.curvature * both.size[i][k] * both.size[j][k];
            }
            worst_add(&worst, matrix[1][i * n + j], matrix[0][i * n + j], size);
            worst_add(&worst, matrix[1][i * n + j], matrix[1][j * n + i], 0);
        }
    for (size_t i = 0; i < n; i++)
        worst_add(&worst, diagonal[1][i], matrix[1][i * (n + 1)], 0);
    return error_of(&worst);
}

/* ---- tangents ---- */

double both_jvp(int bits)
{
    static double change[2][BOTH_CHANGES][PIXELS];
    static float narrow[BOTH_CHANGES][PIXELS];
    struct worst worst = {0};
    double dx[BOTH_CHANGES * MOST];
    nb_array image[BOTH_CHANGES];

    both_fill(dx, BOTH_CHANGES * MOST, -1);
    for (size_t i = 0; i < BOTH_CHANGES * both.n; i++) dx[i] /= scale_of(i % both.n);
    for (int i = 0; i < 2; i++) {
        for (int d = 0; d < BOTH_CHANGES; d++)
            image[d] = i && bits == 32
                           ? nb_array_f32(narrow[d], COMPILED_SLOW, COMPILED_FAST)
                           : nb_array_f64(change[i][d], COMPILED_SLOW, COMPILED_FAST);
        if (nb_jvp(both.sim[i], NULL, BOTH_CHANGES, dx, image) != NB_OK) return failed(i);
    }
    for (int d = 0; d < BOTH_CHANGES; d++)
        for (int k = 0; k < PIXELS; k++) {
            double size = 0;

            if (bits == 32) change[1][d][k] = (double)narrow[d][k];
            for (size_t i = 0; i < both.n; i++)
                size += fabs(dx[(size_t)d * both.n + i]) * both.size[i][k];
            worst_add(&worst, change[1][d][k], change[0][d][k], size);
        }
    return error_of(&worst);
}
