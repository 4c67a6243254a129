/*
 * fit_nlopt.c - a minimiser of your own: NLopt's L-BFGS drives nb_fit_evaluate(), which
 * gives loss and gradient of all shots and restraints. Its variables are the parameters
 * over 1/sqrt of their diagonal element of J^T W J; unscaled, degrees and photons do not
 * mix.
 *
 *   cc fit_nlopt.c $(pkg-config --cflags --libs nanobrag) -lnlopt -lm && ./a.out
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <nlopt.h>
#include <stdio.h>

#include <nanobrag/nanobrag.h>

enum { SIDE = 96, PIXELS = SIDE * SIDE, N = 5 };

static const nb_scene truth = {
    .crystal = {.cell = {50, 60, 70, 90, 90, 90},
                .misset = {10, 20, 30},
                .ncells = {8, 8, 8},
                .mosaic = {0.3},
                .ndomains = 20,
                .shape = NB_SHAPE_GAUSS,
                .default_f = 100},
    .beam = {.fluence = 1e28},
    .background = {.water = 0.02},
    .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 0.8},
    .oversample = 2,
};

struct problem {
    nb_fit *fit;
    double scale[N];
    int passes;
};

/* The loss at u. An impossible x has a large one, so that the line search steps back. */
static double loss_at(unsigned n, const double *u, double *gradient, void *user)
{
    struct problem *p = user;
    double x[N], g[N] = {0}, loss;
    nb_normal out = {.gradient = g};

    for (unsigned i = 0; i < n; i++) x[i] = u[i] * p->scale[i];
    if (nb_fit_evaluate(p->fit, x, &loss, gradient ? &out : NULL) != NB_OK) loss = 1e12;
    for (unsigned i = 0; gradient && i < n; i++) gradient[i] = g[i] * p->scale[i];
    (void)printf("pass %2d: loss %.6g\n", ++p->passes, loss);
    return loss;
}

static nlopt_result minimise(struct problem *p, double *x)
{
    nlopt_opt opt = nlopt_create(NLOPT_LD_LBFGS, N);
    double u[N], loss;
    nlopt_result result;

    for (int i = 0; i < N; i++) u[i] = x[i] / p->scale[i];
    (void)nlopt_set_min_objective(opt, loss_at, p);
    (void)nlopt_set_ftol_abs(opt, 1e-4);
    (void)nlopt_set_maxeval(opt, 100);
    result = nlopt_optimize(opt, u, &loss);
    nlopt_destroy(opt);
    for (int i = 0; i < N; i++) x[i] = u[i] * p->scale[i];
    return result;
}

int main(void)
{
    static const double true_values[N] = {10, 20, 30, 50, 1};
    static double photons[PIXELS];
    nb_array image = nb_array_f64(photons, SIDE, SIDE);
    const nb_shot shot = {.scene = &truth,
                          .target = {.kind = NB_LOSS_POISSON, .observed = &image}};
    const nb_fit_options options = {.shared = "misset cell_a scale"};
    double x[N] = {10.02, 19.98, 30.02, 50.03, 0.9}, diagonal[N] = {0}, loss, worst = 0;
    nb_normal out = {.diagonal = diagonal};
    struct problem p = {.passes = 0};
    nb_simulator *sim;
    nb_context *ctx;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || nb_simulator_create(ctx, &truth, NULL, NULL, &sim) != NB_OK
        || nb_forward(sim, NULL, &image) != NB_OK
        || nb_fit_create(ctx, 1, &shot, &options, &p.fit) != NB_OK
        || nb_fit_evaluate(p.fit, x, &loss, &out) != NB_OK)
        return 1;
    for (int i = 0; i < N; i++) p.scale[i] = 1 / sqrt(diagonal[i]);
    (void)printf("NLopt ended with %d\n", minimise(&p, x));
    for (int i = 0; i < N; i++) { /* in standard deviations */
        (void)printf("%.5f, true %g\n", x[i], true_values[i]);
        worst = fmax(worst, fabs(x[i] - true_values[i]) / p.scale[i]);
    }
    nb_fit_free(p.fit);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return worst < 0.5 ? 0 : 1;
}
