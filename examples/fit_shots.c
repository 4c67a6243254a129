/*
 * fit_shots.c - several stills of one crystal form: one cell for all, an orientation and a
 * scale for each. Images are read from their files when they are needed, so that memory
 * follows the number of threads, not of stills; one file is missing, and left out.
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
                .misset = {0, 20, 30},
                .ncells = {8, 8, 8},
                .shape = NB_GAUSS,
                .default_f = 100},
    .beam = {.fluence = 1e28},
    .background = {.water = 0.02},
    .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 0.8},
    .oversample = 2,
};

static nb_scene start[STILLS];
static char name[STILLS][16];

struct loaded { /* what belongs to a still while it is in memory */
    nb_array image;
    double photons[PIXELS];
};

/* Nothing is shared but by the thread that calls: it makes a context of its own. */
static nb_status load(void *user, int64_t still, nb_shot *out)
{
    struct loaded *m = malloc(sizeof *m);
    nb_context *ctx;
    nb_status status = nb_context_create(NB_API_VERSION, NULL, &ctx);

    (void)user;
    if (!m || status != NB_OK) return NB_ERR_MEMORY;
    m->image = nb_array_f64(m->photons, SIDE, SIDE);
    status = nb_raw_read(ctx, name[still], &m->image);
    nb_context_free(ctx);
    out->scene = start + still;
    out->target = (nb_target){.kind = NB_POISSON, .observed = &m->image};
    out->name = name[still];
    if (status != NB_OK) free(m);
    return status;
}

static void unload(void *user, int64_t still, nb_shot *out)
{
    (void)user, (void)still;
    free((void *)out->target.observed); /* the first member of what load() allocated */
}

/* Writes the image of each still but one, and sets a start that is a little off. */
static nb_status observe(nb_context *ctx)
{
    static struct loaded m;
    nb_status status = NB_OK;

    m.image = nb_array_f64(m.photons, SIDE, SIDE);
    for (int i = 0; i < STILLS && status == NB_OK; i++) {
        nb_simulator *sim = NULL;

        (void)snprintf(name[i], sizeof name[i], "still_%d.bin", i);
        start[i] = scene;
        start[i].crystal.misset[0] = 20 * i; /* degree */
        status = nb_simulator_create(ctx, start + i, NULL, NULL, &sim);
        if (status == NB_OK) status = nb_forward(sim, NULL, &m.image);
        if (status == NB_OK && i != MISSING)
            status = nb_raw_write(ctx, name[i], &m.image, 64);
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
    nb_context *ctx;
    nb_fit *fit = NULL;
    nb_fit_result r = {0};
    nb_status status = nb_context_create(NB_API_VERSION, NULL, &ctx);

    if (status == NB_OK) status = observe(ctx);
    if (status == NB_OK) status = nb_fit_create(ctx, STILLS, NULL, &options, &fit);
    if (status == NB_OK) status = nb_fit_run(fit);
    if (status == NB_OK) status = nb_fit_result_get(fit, &r);
    if (status != NB_OK) (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
    if (r.nvalue) (void)printf("cell_a %.4f +- %.4f A\n", r.value->value, r.value->error);
    for (int64_t i = 0; i < r.nshot; i++) /* the own values of a still lie side by side */
        (void)printf("%s: scale %.4f %s\n", r.shot[i].name, r.value[1 + 4 * i + 3].value,
                     r.shot[i].left_out ? r.shot[i].left_out : "");
    status = r.nvalue > 0 && fabs(r.value->value - 50) < 1e-3 ? NB_OK : NB_ERR_DOMAIN;
    nb_fit_free(fit);
    nb_context_free(ctx);
    return status == NB_OK ? 0 : 1;
}
