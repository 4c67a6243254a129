/* still.c - see fits.h. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fits.h"

const char still_names[] = "cell misset ncells mosaic scale water origin";

void must(nb_context *ctx, nb_status status)
{
    if (status == NB_OK) return;
    (void)fprintf(stderr, "nanobrag_fits: %s\n", nb_context_message(ctx));
    exit(1);
}

double draw(uint64_t *state)
{
    /* xorshift64 (Marsaglia, J. Stat. Softw. 8, 2003, 14) */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

nb_scene still_scene(const struct still *still, const nb_hkl *list)
{
    nb_scene scene = {
        .crystal = {.cell = {53.91, 23.1, 23.1, 90, 110.4, 90},
                    .system = NB_SYSTEM_MONOCLINIC,
                    .misset = {10, 20, 30},
                    .shape = still->shape,
                    .mosaic = {0.1},
                    .ndomains = still->ndomains,
                    .hkl = list},
        .beam = {.wavelength = 1, .fluence = still->fluence},
        .background = {.water = still->water},
        .detector = {.distance = 100,
                     .nfast = still->side,
                     .nslow = still->side,
                     .pixel = 176. / still->side},
        .oversample = 1,
    };

    memcpy(scene.crystal.ncells, still->ncells, sizeof still->ncells);
    return scene;
}

void still_observe(nb_context *ctx, const nb_scene *scene, int64_t seed, double *photons)
{
    const int side = scene->detector.nfast;
    const size_t pixels = (size_t)side * (size_t)side;
    const nb_digitizer how = {.scale = 1, .noise = 1, .seed = seed};
    uint16_t *counts = malloc(pixels * sizeof *counts);
    nb_array image = nb_array_f64(photons, side, side);
    nb_array counted = nb_array_u16(counts, side, side);
    nb_simulator *sim;

    if (!counts) exit(1);
    must(ctx, nb_simulator_create(ctx, scene, NULL, NULL, &sim));
    must(ctx, nb_forward(sim, NULL, &image));
    must(ctx, nb_digitize(sim, &how, &image, &counted));
    nb_simulator_free(sim);
    for (size_t i = 0; i < pixels; i++) photons[i] = counts[i];
    free(counts);
}

void still_open(struct campaign *c, const struct still *still, struct truth *out)
{
    const nb_scene scene = still_scene(still, c->list);

    must(c->ctx, nb_simulator_create(c->ctx, &scene, still_names, NULL, &out->sim));
    for (size_t i = 0; i < STILL_PARAMETERS; i++) {
        nb_param param;

        must(c->ctx, nb_simulator_param(out->sim, i, &param));
        out->values[i] = param.value;
    }
}

nb_scene still_at(struct campaign *c, const struct truth *truth, const double *values)
{
    nb_scene scene;

    must(c->ctx, nb_simulator_resolved(truth->sim, values, &scene));
    return scene;
}

static double sign(uint64_t *state)
{
    return draw(state) < 0.5 ? -1 : 1;
}

void still_start(int k, double factor, double angle, double *v)
{
    uint64_t state = 88172645463325252ULL + 1000003ULL * ((uint64_t)k + 1);

    for (int i = 0; i < 10; i++) (void)draw(&state);
    for (int i = 0; i < 3; i++) v[i] *= 1 + sign(&state) * 0.003 * factor;
    v[3] += sign(&state) * 0.2 * angle;
    for (int i = 4; i < 7; i++) v[i] += sign(&state) * 0.15 * factor;
    for (int i = 7; i < 10; i++) v[i] *= 0.85;
    v[10] *= 1.4;
    v[11] *= 0.7;
    v[12] *= 1.4;
    for (int i = 13; i < 15; i++) v[i] += sign(&state) * 0.1;
}
