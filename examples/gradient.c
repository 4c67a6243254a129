/*
 * gradient.c - find two parameters again from an image, by Gauss and Newton's method: the
 * gradient of half the sum of squared differences from nb_vjp(), the derivatives of every
 * pixel from nb_jvp().
 *
 *   cc gradient.c $(pkg-config --cflags --libs nanobrag) -lm && ./a.out
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>

#include <nanobrag/nanobrag.h>

enum { SIDE = 64, PIXELS = SIDE * SIDE, STEPS = 8 };

static const double truth[2] = {50.06, 0.12}; /* edge a in A, turn about y in degrees */

static nb_scene describe_scene(void)
{
    nb_scene scene = {0};

    scene.crystal.cell[0] = 50;
    scene.crystal.cell[1] = 60;
    scene.crystal.cell[2] = 70;
    scene.crystal.misset[0] = 12;
    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 5;
    scene.crystal.default_f = 100;
    scene.detector.nfast = scene.detector.nslow = SIDE;
    scene.detector.pixel = 0.8; /* mm */
    scene.oversample = 2;
    return scene;
}

/* the image at x less the observed one; returns half the sum of squares */
static double residual_at(nb_simulator *sim, const double *x, const double *observed,
                          double *residual)
{
    nb_array image = nb_array_f64(residual, SIDE, SIDE);
    double sum = 0;

    if (nb_forward(sim, x, &image) != NB_OK) return NAN;
    for (int i = 0; i < PIXELS; i++) {
        residual[i] -= observed[i];
        sum += residual[i] * residual[i] / 2;
    }
    return sum;
}

/* x := x - (J^T J)^-1 gradient */
static nb_status newton_step(nb_simulator *sim, double *x, double *residual)
{
    static const double directions[2][2] = {{1, 0}, {0, 1}};
    static double a[PIXELS], b[PIXELS];
    nb_array columns[2] = {nb_array_f64(a, SIDE, SIDE), nb_array_f64(b, SIDE, SIDE)};
    const nb_array cotangent = nb_array_f64(residual, SIDE, SIDE);
    double g[2] = {0, 0}, aa = 0, ab = 0, bb = 0; /* nb_vjp() adds to the gradient */
    nb_status status = nb_vjp(sim, x, 1, &cotangent, g);

    if (status == NB_OK) status = nb_jvp(sim, x, 2, directions[0], columns);
    if (status != NB_OK) return status;
    for (int i = 0; i < PIXELS; i++) {
        aa += a[i] * a[i];
        ab += a[i] * b[i];
        bb += b[i] * b[i];
    }
    x[0] -= (bb * g[0] - ab * g[1]) / (aa * bb - ab * ab);
    x[1] -= (aa * g[1] - ab * g[0]) / (aa * bb - ab * ab);
    return NB_OK;
}

int main(void)
{
    static double observed[PIXELS], residual[PIXELS];
    const nb_scene scene = describe_scene();
    nb_array image = nb_array_f64(observed, SIDE, SIDE);
    double x[2] = {50, 0};
    nb_context *ctx;
    nb_simulator *sim = NULL;
    nb_status status;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 1;
    status = nb_simulator_create(ctx, &scene, "cell_a misset_y", NULL, &sim);
    if (status == NB_OK) status = nb_forward(sim, truth, &image);
    for (int i = 0; i < STEPS && status == NB_OK; i++) {
        const double loss = residual_at(sim, x, observed, residual);

        (void)printf("a = %.9f A, misset_y = %.9f degree: loss %.3g\n", x[0], x[1], loss);
        status = newton_step(sim, x, residual);
    }
    if (status != NB_OK) (void)fprintf(stderr, "gradient: %s\n", nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return fabs(x[0] - truth[0]) < 1e-9 && fabs(x[1] - truth[1]) < 1e-9 ? 0 : 1;
}
