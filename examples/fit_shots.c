/*
 * fit_shots.c - several stills of one crystal form: one cell for all, an orientation and a
 * scale for each. Images are in memory while they are needed; one is missing, and left out.
 *
 *   cc fit_shots.c $(pkg-config --cflags --libs nanobrag) -lm && ./a.out
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <nanobrag/nanobrag.h>

enum { SIDE = 96, PIXELS = SIDE * SIDE, STILLS = 5, MISSING = 3 };

static const nb_scene scene = {
    .crystal = {.cell = {50, 60, 70, 90, 90, 90},
                .ncells = {8, 8, 8},
                .shape = NB_SHAPE_GAUSS,
                .default_f = 100},
    .beam = {.fluence = 1e28},
    .background = {.water = 0.02},
    .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 0.8},
    .oversample = 2,
};

static nb_scene start[STILLS];
static nb_array image[STILLS];
static char name[STILLS][16];

static nb_status load(void *user, int64_t still, nb_shot *out)
{
    nb_context *ctx; /* a thread that calls uses no context of another */
    nb_status status = nb_context_create(NB_API_VERSION, NULL, &ctx);

    (void)user;
    image[still] = nb_array_f64(malloc(PIXELS * sizeof(double)), SIDE, SIDE);
    if (status == NB_OK) status = nb_raw_read(ctx, name[still], image + still);
    if (status != NB_OK) free(image[still].data);
    nb_context_free(ctx);
    *out = (nb_shot){.scene = start + still,
                     .target = {.kind = NB_LOSS_POISSON, .observed = image + still},
                     .name = name[still]};
    return status;
}

static void unload(void *user, int64_t still, nb_shot *out)
{
    (void)user, (void)out;
    free(image[still].data);
}

/* Writes the image of each still but one, and sets a start that is a little off. */
static nb_status observe(nb_context *ctx)
{
    static double photons[PIXELS];
    nb_array truth = nb_array_f64(photons, SIDE, SIDE);
    nb_simulator *sim = NULL;
    nb_status status = NB_OK;

    for (int i = 0; i < STILLS && status == NB_OK; i++) {
        (void)snprintf(name[i], sizeof name[i], "still_%d.bin", i);
        start[i] = scene;
        start[i].crystal.misset[0] = 20 * i;
        status = nb_simulator_create(ctx, start + i, NULL, NULL, &sim);
        if (status == NB_OK) status = nb_forward(sim, NULL, &truth);
        if (i != MISSING && status == NB_OK)
            status = nb_raw_write(ctx, name[i], &truth, 64);
        nb_simulator_free(sim);
        start[i].crystal.misset[0] += 0.05;
        start[i].crystal.cell[0] += 0.05; /* A */
    }
    return status;
}

int main(void)
{
    const nb_fit_options options = {.shared = "cell_a",
                                    .own = "misset scale",
                                    .load = load,
                                    .unload = unload};
    nb_context *ctx = NULL;
    nb_fit *fit = NULL;
    nb_fit_result r = {0};
    nb_status status = nb_context_create(NB_API_VERSION, NULL, &ctx);

    if (status == NB_OK) status = observe(ctx);
    if (status == NB_OK) status = nb_fit_create(ctx, STILLS, NULL, &options, &fit);
    if (status == NB_OK) status = nb_fit_run(fit);
    if (status == NB_OK) status = nb_fit_result_get(fit, &r);
    if (status != NB_OK) (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
    if (r.nvalue) (void)printf("cell_a %.4f +- %.4f A\n", r.value->value, r.value->error);
    for (int64_t i = 0; i < r.nshot; i++)
        (void)printf("%s %s\n", r.shot[i].name,
                     r.shot[i].left_out ? r.shot[i].left_out : "fitted");
    if (r.nvalue == 0 || fabs(r.value->value - 50) > 1e-3) r.end = NB_FIT_FAILED;
    nb_fit_free(fit);
    nb_context_free(ctx);
    return r.end == NB_FIT_CONVERGED ? 0 : 1;
}
