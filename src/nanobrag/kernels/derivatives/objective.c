/* objective.c - asks the objective for the cotangents of the photons of a tile.
 * SPDX-License-Identifier: MIT */
#include "kernels/derivatives/objective.h"

#include <string.h>

#include "kernels/grid.h"

double objective_tile(const struct objective *objective, const struct job *job,
                      const struct tile *tile, const double *photons, double *bar,
                      double *weight)
{
    const size_t lanes = (size_t)grid_lanes(tile);
    size_t place = 0;
    double sum = 0;

    if (objective->given) {
        memcpy(bar, objective->given, sizeof *bar * lanes);
        return 0;
    }
    memset(bar, 0, sizeof *bar * lanes);
    if (weight) memset(weight, 0, sizeof *bar * lanes);
    for (int row = 0; row < tile->height; row++) {
        const uint64_t shown = tile->shown[row];
        const size_t start = window_pixel(job->window, tile->slow + row, tile->fast);

        for (int at = 0, n = 0; shown >> at; at += n + 1) {
            for (n = 0; shown >> (at + n) & 1; n++) continue;
            if (n > 0)
                sum +=
                    objective->row(objective->user, start + (size_t)at, n, photons + place,
                                   bar + place, weight ? weight + place : NULL);
            place += (size_t)n;
        }
    }
    return sum;
}

void objective_ahead(const struct objective *objective, const struct job *image,
                     const struct tile *tile)
{
    const struct window *panel = window_panel(image->window, tile->panel);

    for (int row = 0; objective->ahead && row < tile->height; row++)
        if (tile->shown[row])
            objective->ahead(objective->user,
                             window_pixel(panel, tile->slow + row, tile->fast),
                             tile->width);
}
