/*
 * fit_ask.c - a fit whose shots somebody else shares out: two fits that stand for two
 * processes evaluate half of the shots each, exchange their parts, and take the same steps.
 * mpi.h does this with the processes of MPI.
 *
 *   cc fit_ask.c $(pkg-config --cflags --libs nanobrag) -lm && ./a.out
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <nanobrag/nanobrag.h>

enum { SIDE = 64, PIXELS = SIDE * SIDE, SHOTS = 4, HALVES = 2 };

static double photons[SHOTS][PIXELS];
static nb_array observed[SHOTS];
static nb_scene scenes[SHOTS];
static nb_shot shots[SHOTS];

static const nb_scene scene = {
    .crystal = {.cell = {50, 60, 70, 90, 90, 90},
                .ncells = {8, 8, 8},
                .shape = NB_SHAPE_GAUSS,
                .default_f = 100},
    .beam = {.fluence = 1e28},
    .background = {.water = 0.02},
    .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 1.2},
    .oversample = 2,
};

static nb_status observe(nb_context *ctx)
{
    nb_status status = NB_OK;

    for (int i = 0; i < SHOTS && status == NB_OK; i++) {
        nb_simulator *sim = NULL;

        scenes[i] = scene;
        scenes[i].crystal.misset[0] = 10 + 25 * i;
        observed[i] = nb_array_f64(photons[i], SIDE, SIDE);
        shots[i] = (nb_shot){.scene = scenes + i,
                             .target = {.kind = NB_LOSS_POISSON, .observed = observed + i}};
        status = nb_simulator_create(ctx, scenes + i, NULL, NULL, &sim);
        if (status == NB_OK) status = nb_forward(sim, NULL, observed + i);
        nb_simulator_free(sim);
        scenes[i].crystal.cell[0] += 0.05; /* A */
        scenes[i].crystal.misset[0] += 0.05; /* degree */
    }
    return status;
}

/* One pass: both are asked and evaluate half of the shots, and both are told of both. */
static nb_status pass(nb_fit **half, int *done)
{
    const int64_t n = SHOTS / HALVES;
    double *part[HALVES] = {NULL, NULL};
    size_t size[HALVES];
    nb_fit_request request = {.done = 0};
    nb_status status = NB_OK;

    for (int i = 0; i < HALVES && status == NB_OK && !request.done; i++) {
        status = nb_fit_ask(half[i], &request); /* both ask for the same */
        if (status != NB_OK || request.done) continue;
        part[i] = malloc(request.most * sizeof **part);
        status =
            part[i] ? nb_fit_part(half[i], i * n, n, part[i], size + i) : NB_ERR_MEMORY;
    }
    for (int i = 0; i < HALVES && status == NB_OK && !request.done; i++)
        status = nb_fit_tell(half[i], HALVES, (const double *const *)part, size);
    for (int i = 0; i < HALVES; i++) free(part[i]);
    *done = request.done;
    return status;
}

int main(void)
{
    const nb_fit_options options = {.shared = "cell_a", .own = "misset scale"};
    nb_context *ctx;
    nb_fit *half[HALVES] = {NULL, NULL};
    nb_fit_result r[HALVES];
    nb_status status = nb_context_create(NB_API_VERSION, NULL, &ctx);
    int is_same = 1;

    if (status == NB_OK) status = observe(ctx);
    for (int i = 0; i < HALVES && status == NB_OK; i++)
        status = nb_fit_create(ctx, SHOTS, shots, &options, half + i);
    for (int done = 0; !done && status == NB_OK;) status = pass(half, &done);
    for (int i = 0; i < HALVES && status == NB_OK; i++)
        status = nb_fit_result_get(half[i], r + i);
    for (size_t i = 0; status == NB_OK && i < r->nvalue; i++)
        is_same &= r[0].value[i].value == r[1].value[i].value;
    is_same &= status == NB_OK && fabs(r->value->value - 50) < 1e-3;
    if (is_same) (void)printf("cell_a %.5f in both; %s\n", r->value->value, r->why);
    if (status != NB_OK) (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
    for (int i = 0; i < HALVES; i++) nb_fit_free(half[i]);
    nb_context_free(ctx);
    return is_same ? 0 : 1;
}
