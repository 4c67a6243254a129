/*
 * scan.c - one simulator, many images: turn the crystal through a degree and watch a
 * reflection pass. Scene numbers that change from image to image are named when the
 * simulator is made; their values are then the vector x of every call.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include <nanobrag/nanobrag.h>

enum { NFAST = 256, NSLOW = 256, STEPS = 21 };

static double photons[NSLOW * NFAST];

static double sum_of_image(void)
{
    double sum = 0;

    for (int i = 0; i < NSLOW * NFAST; i++) sum += photons[i];
    return sum;
}

static nb_scene describe_scene(void)
{
    nb_scene scene = {0};

    scene.crystal.cell[0] = scene.crystal.cell[1] = scene.crystal.cell[2] = 40; /* A */
    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 20;
    scene.crystal.default_f = 50;
    scene.crystal.misset[0] = 3; /* degree */
    scene.crystal.misset[2] = -7;
    scene.detector.nfast = NFAST;
    scene.detector.nslow = NSLOW;
    scene.detector.pixel = 0.3; /* mm */
    return scene;
}

/* the images, and how much their sums differ */
static nb_status scan(nb_simulator *sim)
{
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);
    double x[3], least = 0, most = 0;
    nb_param param;

    /* start from the values that the scene holds */
    for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
        const nb_status status = nb_simulator_param(sim, i, &param);

        if (status != NB_OK) return status;
        x[i] = param.value;
        (void)printf("%s = %g %s: %s\n", param.name, param.value, param.unit, param.doc);
    }
    for (int step = 0; step < STEPS; step++) {
        nb_status status;
        double sum;

        x[1] = -0.5 + (double)step / (STEPS - 1); /* misset_y */
        status = nb_forward(sim, x, &image);
        if (status != NB_OK) return status;
        sum = sum_of_image();
        (void)printf("misset_y %6.3f degree: %.6g photons\n", x[1], sum);
        if (step == 0 || sum < least) least = sum;
        if (step == 0 || sum > most) most = sum;
    }
    (void)printf("the brightest image has %.3g times the light of the darkest\n",
                 most / least);
    return NB_OK;
}

int main(void)
{
    const nb_scene scene = describe_scene();
    nb_context *ctx;
    nb_simulator *sim = NULL;
    nb_status status;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 1;
    status = nb_simulator_create(ctx, &scene, "misset", NULL, &sim);
    if (status == NB_OK) status = scan(sim);
    if (status != NB_OK) (void)fprintf(stderr, "scan: %s\n", nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return status == NB_OK ? 0 : 1;
}
