/*
 * fit.c - orientation, cell and scale from a noisy image by the Gauss-Newton method, damped
 * at first: nb_loss() gives loss, gradient and normal matrix, whose inverse holds the
 * errors.
 *
 *   cc fit.c $(pkg-config --cflags --libs nanobrag) -lm && ./a.out
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

enum { SIDE = 128, PIXELS = SIDE * SIDE, N = 5, STEPS = 12 };
static const char *const names = "misset cell_a scale"; /* five numbers: misset is three */
static const double truth[N] = {10, 20, 30, 50, 1}; /* degree, A */

static const nb_scene scene = {
    .crystal = {.cell = {50, 60, 70, 90, 90, 90},
                .ncells = {8, 8, 8},
                .mosaic = {0.3},
                .ndomains = 30,
                .shape = NB_SHAPE_GAUSS,
                .default_f = 100},
    .beam = {.fluence = 1e28},
    .background = {.water =
                       0.02}, /* um: some photons everywhere, as NB_LOSS_POISSON expects */
    .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 0.6},
    .oversample = 2,
};

/* Adds diag(a) damping to a, then inverts it in place. */
static void invert(double a[N][N], double damping)
{
    for (int i = 0; i < N; i++) a[i][i] *= 1 + damping;
    for (int k = 0; k < N; k++) {
        const double pivot = 1 / a[k][k];

        a[k][k] = 1;
        for (int j = 0; j < N; j++) a[k][j] *= pivot;
        for (int i = 0; i < N; i++) {
            const double factor = i == k ? 0 : a[i][k];

            if (i != k) a[i][k] = 0;
            for (int j = 0; j < N; j++) a[i][j] -= factor * a[k][j];
        }
    }
}

/* Returns the loss at x, the inverse of the damped normal matrix, and the Gauss-Newton
 * step. */
static nb_status evaluate(nb_simulator *sim, const double *x, const nb_target *target,
                          double damping, double *loss, double inverse[N][N], double *step)
{
    double gradient[N] = {0};
    nb_normal out = {inverse[0], NULL, NULL, gradient};
    nb_status status;

    memset(inverse, 0, N * sizeof *inverse); /* nb_loss() adds to both */
    status = nb_loss(sim, x, target, loss, &out);
    invert(inverse, damping);
    memset(step, 0, N * sizeof *step);
    for (int i = 0; i < N * N; i++) step[i / N] -= inverse[i / N][i % N] * gradient[i % N];
    return status;
}

int main(void)
{
    static double photons[PIXELS];
    static uint16_t counts[PIXELS];
    double x[N] = {10.04, 19.97, 30.05, 50.04, 1.1}, inverse[N][N], step[N], loss;
    nb_array observed = nb_array_f64(photons, SIDE, SIDE), counted = observed;
    const nb_target target = {.kind = NB_LOSS_POISSON, .observed = &observed};
    const nb_digitizer counting = {.scale = 1, .noise = 1, .seed = 7};
    nb_context *ctx;
    nb_simulator *sim;
    int good = 0; /* values within four of their errors */

    counted.data = counts, counted.type = NB_TYPE_UINT, counted.bits = 16;
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || nb_simulator_create(ctx, &scene, names, NULL, &sim) != NB_OK
        || nb_forward(sim, truth, &observed) != NB_OK
        || nb_digitize(sim, &counting, &observed, &counted) != NB_OK)
        return 1;
    for (int i = 0; i < PIXELS; i++) photons[i] = counts[i];
    for (int n = 0; n < STEPS; n++) { /* ever less damped */
        if (evaluate(sim, x, &target, pow(0.3, n), &loss, inverse, step) != NB_OK) return 1;
        (void)printf("loss %.3f\n", loss);
        for (int i = 0; i < N; i++) x[i] += step[i];
    }
    if (evaluate(sim, x, &target, 0, &loss, inverse, step) != NB_OK) return 1;
    for (int i = 0; i < N; i++) {
        (void)printf("%.5f +- %.5f, true %g\n", x[i], sqrt(inverse[i][i]), truth[i]);
        good += fabs(x[i] - truth[i]) < 4 * sqrt(inverse[i][i]);
    }
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return good == N ? 0 : 1;
}
