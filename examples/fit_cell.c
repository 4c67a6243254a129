/*
 * fit_cell.c - cell, orientation, mosaic spread and scale from one noisy image by
 * nb_fit_run(), with errors. The "observed" image is simulated here; yours comes from
 * nb_smv_read() or from memory.
 *
 *   cc fit_cell.c $(pkg-config --cflags --libs nanobrag) -lm && ./a.out
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>

#include <nanobrag/nanobrag.h>

enum { SIDE = 128, PIXELS = SIDE * SIDE };

static double photons[PIXELS];
static uint16_t counts[PIXELS];

static const nb_scene truth = {
    .crystal = {.cell = {50, 60, 70, 90, 90, 90},
                .system = NB_SYSTEM_ORTHORHOMBIC, /* "cell" is cell_a, cell_b and cell_c */
                .misset = {10, 20, 30},
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

/* Photons counted in an experiment with the true scene. */
static nb_status observe(nb_context *ctx, nb_array *image)
{
    const nb_digitizer counting = {.scale = 1, .noise = 1, .seed = 7};
    nb_array counted = nb_array_u16(counts, SIDE, SIDE);
    nb_simulator *sim;
    nb_status status = nb_simulator_create(ctx, &truth, NULL, NULL, &sim);

    if (status != NB_OK) return status;
    status = nb_forward(sim, NULL, image);
    if (status == NB_OK) status = nb_digitize(sim, &counting, image, &counted);
    nb_simulator_free(sim);
    for (int i = 0; i < PIXELS; i++) photons[i] = counts[i];
    return status;
}

/* Called after each pass; to return 1 would stop the fit. */
static int show(void *user, const nb_fit_state *state)
{
    (void)user;
    (void)printf("pass %2d: loss %.3f\n", state->passes, state->loss);
    return 0;
}

int main(void)
{
    static const double true_values[8] = {50, 60, 70, 10, 20, 30, 0.3, 1};
    nb_array image = nb_array_f64(photons, SIDE, SIDE);
    nb_scene start = truth; /* as indexing would give it */
    const nb_shot shot = {.scene = &start,
                          .target = {.kind = NB_LOSS_POISSON, .observed = &image}};
    const nb_fit_options options = {.shared = "cell misset mosaic scale", .progress = show};
    nb_context *ctx;
    nb_fit *fit = NULL;
    nb_fit_result r;
    nb_status status;
    size_t good = 0; /* values within four of their errors */

    start.crystal.cell[0] += 0.05, start.crystal.cell[1] -= 0.06; /* A */
    start.crystal.misset[0] += 0.05, start.crystal.misset[2] -= 0.04; /* degree */
    start.crystal.mosaic[0] = 0.2;
    start.crystal.scale = 0.8;
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 1;
    status = observe(ctx, &image);
    if (status == NB_OK) status = nb_fit_create(ctx, 1, &shot, &options, &fit);
    if (status == NB_OK) status = nb_fit_run(fit);
    if (status == NB_OK) status = nb_fit_result_get(fit, &r);
    if (status != NB_OK) {
        (void)fprintf(stderr, "fit_cell: %s\n", nb_context_message(ctx));
        return 1;
    }
    (void)printf("%s\n", r.why);
    for (size_t i = 0; i < r.nvalue; i++) {
        const nb_fit_value *v = r.value + i;

        (void)printf("%-8s %9.5f +- %.5f %s, true %g\n", v->param.name, v->value, v->error,
                     v->param.unit, true_values[i]);
        good += fabs(v->value - true_values[i]) < 4 * v->error;
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
    return r.end == NB_FIT_CONVERGED && good == 8 ? 0 : 1;
}
