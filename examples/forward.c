/*
 * forward.c - an image from C: describe a crystal, make a simulator, ask for photons.
 *
 *   cc forward.c $(pkg-config --cflags --libs nanobrag) && ./a.out
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include <nanobrag/nanobrag.h>

enum { NFAST = 256, NSLOW = 256 };

static float photons[NSLOW * NFAST];

static void print_line(void *user, int level, const char *topic, const char *line)
{
    (void)user;
    (void)level;
    (void)fprintf(stderr, "%s: %s\n", topic, line);
}

/* 0 when the image was made and printed */
static int make_image(nb_context *ctx, nb_simulator **sim)
{
    nb_array image = nb_array_f32(photons, NSLOW, NFAST);
    nb_statistics statistics;
    nb_scene scene = {0}; /* every member 0: its default */

    scene.crystal.cell[0] = 70; /* A */
    scene.crystal.cell[1] = 80;
    scene.crystal.cell[2] = 90;
    scene.crystal.misset[0] = 10; /* degree */
    scene.crystal.misset[1] = 20;
    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 10;
    scene.crystal.default_f = 100; /* electron */
    scene.detector.nfast = NFAST;
    scene.detector.nslow = NSLOW;
    scene.detector.distance = 100; /* mm */
    scene.detector.pixel = 0.2; /* mm */

    if (nb_simulator_create(ctx, &scene, NULL, NULL, sim) != NB_OK) return 1;
    if (nb_forward(*sim, NULL, &image) != NB_OK) return 1;
    if (nb_statistics_get(*sim, NULL, &image, &statistics) != NB_OK) return 1;
    (void)printf("brightest pixel %g photons, mean %g\n", statistics.max, statistics.mean);
    return statistics.max > 0 ? 0 : 1;
}

int main(void)
{
    nb_context_options options = {0};
    nb_context *ctx;
    nb_simulator *sim = NULL;
    int failed;

    options.log = print_line;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) return 1;
    failed = make_image(ctx, &sim);
    if (failed) (void)fprintf(stderr, "forward: %s\n", nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return failed;
}
