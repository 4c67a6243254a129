/* pass.c - see pass.h. SPDX-License-Identifier: MIT */
#include "pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

void pass_close(struct pass *pass)
{
    nb_simulator_free(pass->sim);
    free(pass->photons);
    free(pass->observed);
    free(pass->slopes);
    free(pass->matrix);
}

int pass_open(nb_context *ctx, const struct pass_scene *of, struct pass *pass)
{
    const int single = of->options.precision == NB_SINGLE;
    const int64_t side = of->scene.detector.nfast;
    const size_t pixels = (size_t)side * (size_t)side;
    size_t n, dense;

    memset(pass, 0, sizeof *pass);
    pass->created = timing_seconds();
    if (nb_simulator_create(ctx, &of->scene, of->free_names, &of->options, &pass->sim)
        != NB_OK)
        return 0;
    pass->created = timing_seconds() - pass->created;
    n = nb_nparam(pass->sim);
    dense = nb_ndense(pass->sim);
    pass->photons = malloc(pixels * sizeof *pass->photons);
    pass->observed = malloc(pixels * sizeof *pass->observed);
    pass->slopes = calloc(n + 1, sizeof *pass->slopes);
    pass->matrix = calloc(dense * dense + 1, sizeof *pass->matrix);
    if (!pass->photons || !pass->observed || !pass->slopes || !pass->matrix) return 0;
    pass->data = nb_array_f64(pass->observed, side, side);
    pass->image = single ? nb_array_f32((float *)(void *)pass->photons, side, side)
                         : nb_array_f64(pass->photons, side, side);
    if (nb_forward(pass->sim, NULL, &pass->data) != NB_OK) return 0;
    for (size_t i = 0; i < pixels; i++)
        pass->observed[i] = rint(pass->observed[i] + of->planes);
    pass->background = of->planes > 0 ? NB_PLANES : 0;
    return 1;
}

double pass_time(struct pass *pass, enum pass_part part, double (*clock)(void))
{
    const nb_target target = {.kind = NB_POISSON,
                              .observed = &pass->data,
                              .background = pass->background};
    nb_normal normal = {part == PASS_MATRIX ? pass->matrix : NULL, NULL, NULL,
                        pass->slopes};
    const double start = clock();
    double value;
    nb_status status;

    if (part == PASS_IMAGE)
        status = nb_forward(pass->sim, NULL, &pass->image);
    else if (part == PASS_ADJOINT)
        status = nb_vjp(pass->sim, NULL, 1, &pass->data, pass->slopes);
    else
        status =
            nb_loss(pass->sim, NULL, &target, &value, part == PASS_VALUE ? NULL : &normal);
    return status == NB_OK ? clock() - start : 0;
}

int pass_boxes(nb_context *ctx, int size, int n, nb_scene *scene, int (*box)[4])
{
    nb_simulator *sim = NULL;
    size_t found = 0;
    const int good = nb_simulator_create(ctx, scene, NULL, NULL, &sim) == NB_OK
                     && nb_boxes(sim, NULL, size, (size_t)n, *box, &found) == NB_OK
                     && found > 0;

    nb_simulator_free(sim);
    scene->detector.box = *box;
    scene->detector.nbox = found;
    return good;
}
