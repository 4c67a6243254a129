/*
 * attacked_fits.c - the calls of fits that test_attacked_memory.c refuses memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "attack/attacked_fits.h"

#include <stdlib.h>
#include <string.h>

#include "support/files.h"

struct attacked_fits attacked_fits;

enum { FIT = 5 }; /* misset, and a scale of each of two shots */
static double fit_gradient[FIT], fit_matrix[FIT * FIT], value;

/* Make a fit of two shots of the scene, and call. */
static nb_status fitted(nb_status (*call)(nb_fit *))
{
    const nb_shot shot = {.scene = attacked_fits.scene,
                          .target = {.observed = attacked_fits.observed,
                                     .kind = NB_LOSS_GAUSS}};
    const nb_shot shots[2] = {shot, shot};
    const nb_fit_options options = {.shared = "misset",
                                    .own = "scale",
                                    .passes = 2,
                                    .outliers = 1};
    nb_fit *fit;
    nb_status status = nb_fit_create(attacked_fits.ctx, 2, shots, &options, &fit);

    if (status != NB_OK) return status;
    status = call ? call(fit) : NB_OK;
    nb_fit_free(fit);
    return status;
}
static nb_status evaluate_fit(nb_fit *fit)
{
    nb_normal normal = {.matrix = fit_matrix, .gradient = fit_gradient};

    return nb_fit_evaluate(fit, NULL, &value, &normal);
}
static nb_status result_of_fit(nb_fit *fit)
{
    const nb_status status = nb_fit_run(fit);
    nb_fit_result result;

    return status == NB_OK ? nb_fit_result_get(fit, &result) : status;
}
static int add_up_one(void *user, double *numbers, size_t n)
{
    (void)user;
    for (size_t i = 0; i < n; i++) numbers[i] *= 1;
    return 0;
}
static nb_status run_among(nb_fit *fit)
{
    return nb_fit_run_among(fit, 0, 1, add_up_one, NULL);
}
static nb_status image_of_fit(nb_fit *fit)
{
    return nb_fit_image(fit, 0, NB_FIT_RESIDUAL, attacked_fits.image);
}
static nb_status misfit_of_fit(nb_fit *fit)
{
    nb_fit_misfit misfit;

    return nb_fit_misfit_get(fit, 1, &misfit);
}
static nb_status file_of_fit(nb_fit *fit)
{
    nb_status status = nb_fit_run(fit);

    if (status == NB_OK) status = nb_fit_write(fit, in_folder("fit.json"));
    return status == NB_OK ? nb_fit_read(fit, in_folder("fit.json")) : status;
}
nb_status attacked_fit_made(void)
{
    return fitted(NULL);
}
nb_status attacked_fit_run(void)
{
    return fitted(nb_fit_run);
}
nb_status attacked_fit_evaluated(void)
{
    return fitted(evaluate_fit);
}
nb_status attacked_fit_result(void)
{
    return fitted(result_of_fit);
}
nb_status attacked_fit_run_among(void)
{
    return fitted(run_among);
}
nb_status attacked_fit_imaged(void)
{
    return fitted(image_of_fit);
}
nb_status attacked_fit_compared(void)
{
    return fitted(misfit_of_fit);
}
nb_status attacked_fit_filed(void)
{
    return fitted(file_of_fit);
}
nb_status attacked_fit_expected(void)
{
    const nb_shot shot = {.scene = attacked_fits.scene, .target = {.kind = NB_LOSS_GAUSS}};
    const nb_fit_options options = {.shared = "misset"};
    nb_fit *fit = NULL;
    const nb_status status =
        nb_fit_create_expected(attacked_fits.ctx, 1, &shot, &options, &fit);

    nb_fit_free(fit);
    return status;
}
nb_status attacked_spots(void)
{
    static int box[8] = {0, 8, 0, 8, 1, 9, 2, 10};
    nb_scene scene = *attacked_fits.scene;
    const nb_target target = {.observed = attacked_fits.observed};
    nb_spot_size spot[2];
    nb_start start;
    nb_status status;

    scene.detector.box = box;
    scene.detector.nbox = 2;
    status = nb_spot_sizes_measure(attacked_fits.ctx, &scene, &target, spot);
    return status == NB_OK ? nb_spot_sizes_start(attacked_fits.ctx, 2, spot, &start)
                           : status;
}

/* The sizes of the spots in two boxes. */
nb_status attacked_fit_sizes(void)
{
    static const int box[2][4] = {{0, 3, 0, 4}, {1, 4, 1, 4}};
    const nb_target target = {.observed = attacked_fits.observed};
    nb_scene scene = *attacked_fits.scene;
    nb_spot_size spot[2];
    nb_start start;
    nb_status status;

    memset(scene.detector.roi, 0, sizeof scene.detector.roi);
    scene.detector.box = box[0];
    scene.detector.nbox = 2;
    status = nb_spot_sizes_measure(attacked_fits.ctx, &scene, &target, spot);
    if (status == NB_OK) status = nb_spot_sizes_start(attacked_fits.ctx, 2, spot, &start);
    return status;
}
