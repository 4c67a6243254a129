/*
 * solvent.c - adds the bulk solvent to structure factors: a mask by gemmi, 1 outside of the
 * atoms of the whole cell, with the density k_sol and the displacement b_sol. The mask
 * comes from the positions in the file, never from x (nanobrag/structure.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include "base/context.h"
#include "nanobrag_model/fourier.h"

/* Copies the mask, whose first index is fastest, to a grid whose last index is fastest. */
static void set_grid(const struct gemmi_mask *mask, const struct density_grid *grid)
{
    const int *n = mask->n;
    const float *from = mask->value;

    for (int w = 0; w < n[2]; w++)
        for (int v = 0; v < n[1]; v++)
            for (int u = 0; u < n[0]; u++)
                grid->value[((size_t)u * (size_t)n[1] + (size_t)v) * grid->row
                            + (size_t)w] = *from++;
}

static double volume_of(const struct gemmi_model *model)
{
    const double *m = model->orthogonal;

    return fabs(m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6])
                + m[2] * (m[3] * m[7] - m[4] * m[6]));
}

nb_status solvent_add(struct request *request, complex_pair *f)
{
    const struct gemmi_model *model = &request->structure->model;
    const struct sphere *sphere = &request->sphere;
    const nb_fcalc *how = request->how;
    struct gemmi_mask mask;
    struct fourier fourier;
    char why[GEMMI_WHY];
    double volume;
    /* to hold the indices -m to m, a transform needs 2 m + 1 points */
    const int least[3] = {2 * sphere->max[0] + 1, 2 * sphere->max[1] + 1,
                          2 * sphere->max[2] + 1};
    nb_status status = gemmi_solvent_mask(model, how->dmin, least, &mask, why);

    if (status == NB_ERR_FORMAT)
        return fail(request->ctx, NB_ERR_ARGUMENT,
                    "bulk solvent: gemmi makes no mask (%s); leave the solvent out, or "
                    "lower dmin",
                    why);
    if (status != NB_OK) return fail(request->ctx, status, "bulk solvent: %s", why);
    status = fourier_create(request->ctx, mask.n, &fourier);
    if (status == NB_OK) {
        set_grid(&mask, &fourier.grid);
        fourier_forward(&fourier);
        volume = volume_of(model) / ((double)mask.n[0] * mask.n[1] * mask.n[2]);
        for (size_t i = 0; i < sphere->n; i++) {
            const double by = how->k_sol * exp(-how->b_sol * sphere->s2[i] / 4) * volume;
            double m[2];

            fourier_get(&fourier, sphere->hkl[i], m);
            f[i][0] += by * m[0];
            f[i][1] += by * m[1];
        }
        fourier_free(&fourier);
    }
    free(mask.value);
    return status;
}
