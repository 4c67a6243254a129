/*
 * attacked_description.c - the calls of description.h, for test_attacked_memory.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "attack/attacked_description.h"

nb_simulator *attacked_simulator;
const nb_array *attacked_image;

nb_status attacked_described(void)
{
    nb_description out;

    return nb_simulator_describe(attacked_simulator, NULL, &out);
}

nb_status attacked_boxed(void)
{
    int box[4];
    size_t n;

    return nb_simulator_boxes(attacked_simulator, NULL, 3, 1, box, &n);
}

nb_status attacked_spotted(void)
{
    nb_spot spot;
    size_t n;

    return nb_simulator_spots(attacked_simulator, NULL, 1, &spot, &n);
}

nb_status attacked_cast(void)
{
    nb_ray ray = {.hkl = {1, 2, 3}, .fast = 1, .slow = 2};

    return nb_rays(attacked_simulator, NULL, 1, &ray);
}

nb_status attacked_predicted(void)
{
    const nb_prediction all = {.least = 1e-300};
    nb_reflections *table;
    const nb_status status = nb_predict(attacked_simulator, NULL, &all, &table);

    nb_reflections_free(table);
    return status;
}

nb_status attacked_integrated(void)
{
    const nb_prediction all = {.least = 1e-300};
    const nb_target target = {.kind = NB_LOSS_POISSON,
                              .observed = attacked_image,
                              .background = NB_BACKGROUND_PLANES};
    nb_reflections *table;
    nb_status status = nb_predict(attacked_simulator, NULL, &all, &table);

    if (status == NB_OK)
        status = nb_integrate(attacked_simulator, NULL, &target, NULL, table);
    nb_reflections_free(table);
    return status;
}

nb_status attacked_traced(void)
{
    nb_pixel_trace out;

    return nb_simulator_trace(attacked_simulator, NULL, 0, 1, 1, &out);
}

nb_status attacked_placed(void)
{
    nb_panel out;

    return nb_simulator_panel(attacked_simulator, NULL, 0, &out);
}

nb_status attacked_oriented(void)
{
    double axes[9];

    return nb_simulator_orientation(attacked_simulator, NULL, 0, 0, axes);
}

nb_status attacked_lit(void)
{
    nb_source source;
    double deviation;

    return nb_simulator_source(attacked_simulator, NULL, 0, &source, &deviation);
}

nb_status attacked_resolved(void)
{
    nb_scene out;

    return nb_simulator_resolved(attacked_simulator, NULL, &out);
}

nb_status attacked_parameter(void)
{
    nb_param out;

    return nb_simulator_param(attacked_simulator, 0, &out);
}
