/*
 * forward.c - an image from C: describe a crystal, make a simulator, ask for photons.
 *
 *   cc forward.c $(pkg-config --cflags --libs nanobrag) && ./a.out
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include <nanobrag/nanobrag.h>

enum { NFAST = 512, NSLOW = 512 };

static float photons[NSLOW * NFAST];

/* where the library's own words go; without a handler it is silent */
static void print_line(void *user, int level, const char *topic, const char *line)
{
    (void)user;
    (void)level;
    (void)fprintf(stderr, "%s: %s\n", topic, line);
}

/* Members left 0 take their defaults: wavelength 1 A, one oriented crystal, no noise. */
static nb_scene describe_scene(void)
{
    nb_scene scene = {0};

    scene.crystal.cell[0] = 70; /* a b c in A; the angles default to 90 degrees */
    scene.crystal.cell[1] = 80;
    scene.crystal.cell[2] = 90;
    scene.crystal.misset[0] = 10; /* turned out of alignment, degrees about x, y, z */
    scene.crystal.misset[1] = 20;
    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 10; /* unit cells a side */
    scene.crystal.default_f = 100; /* every reflection has this amplitude, electrons */
    scene.detector.nfast = NFAST;
    scene.detector.nslow = NSLOW;
    scene.detector.pixel = 0.1; /* mm */
    scene.detector.distance = 100; /* mm */
    return scene;
}

static void print_brightest(void)
{
    int at = 0;

    for (int i = 1; i < NSLOW * NFAST; i++)
        if (photons[i] > photons[at]) at = i;
    (void)printf("brightest pixel: %g photons at fast %d, slow %d\n", photons[at],
                 at % NFAST, at / NFAST);
}

/* Each call returns a status; the first failure ends the work. */
static nb_status make_image(nb_context *ctx, nb_simulator **sim)
{
    const nb_scene scene = describe_scene();
    nb_array image = nb_array_f32(photons, NSLOW, NFAST); /* a view, not a copy */
    nb_status status;

    /* no free parameters, default options */
    status = nb_simulator_create(ctx, &scene, NULL, NULL, sim);
    if (status == NB_OK) status = nb_forward(*sim, NULL, &image);
    if (status != NB_OK) return status;
    print_brightest();
    return nb_raw_write(ctx, "floatimage.bin", &image, 32); /* 512 x 512 floats */
}

int main(void)
{
    nb_context_options options = {0};
    nb_context *ctx;
    nb_simulator *sim = NULL;
    nb_status status;

    options.log = print_line;
    status = nb_context_create(NB_API_VERSION, &options, &ctx);
    if (status != NB_OK) {
        (void)fprintf(stderr, "forward: %s\n", nb_status_text(status));
        return 1;
    }
    status = make_image(ctx, &sim);
    if (status != NB_OK)
        (void)fprintf(stderr, "forward: %s: %s\n", nb_status_text(status),
                      nb_context_message(ctx));
    nb_simulator_free(sim); /* what was made from a context goes before it */
    nb_context_free(ctx);
    return status == NB_OK ? 0 : 1;
}
