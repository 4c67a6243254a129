/* objective.c - see objective.h. SPDX-License-Identifier: MIT */
#include "kernels/derivatives/objective.h"

#include <string.h>

double objective_tile(const struct objective *objective, const struct job *job,
                      const struct tile *tile, const double *photons, double *bar,
                      double *weight)
{
    const size_t nfast = (size_t)job->frame->nfast;
    const int *roi = job->roi;
    double sum = 0;

    if (objective->given) {
        memcpy(bar, objective->given, sizeof *bar * (size_t)(tile->width * tile->height));
        return 0;
    }
    memset(bar, 0, sizeof *bar * (size_t)(tile->width * tile->height));
    if (weight) memset(weight, 0, sizeof *bar * (size_t)(tile->width * tile->height));
    for (int row = 0; row < tile->height; row++) {
        const int s = tile->slow + row;
        int at = roi[0] > tile->fast ? roi[0] - tile->fast : 0;
        const int end =
            roi[1] - tile->fast < tile->width ? roi[1] - tile->fast : tile->width;

        if (s < roi[2] || s >= roi[3]) continue;
        while (at < end) {
            const size_t first = (size_t)s * nfast + (size_t)(tile->fast + at);
            const size_t place = (size_t)row * (size_t)tile->width + (size_t)at;
            int n = 0;

            while (at + n < end && (!job->mask || job->mask[first + (size_t)n])) n++;
            if (n > 0)
                sum += objective->row(objective->user, first, n, photons + place,
                                      bar + place, weight ? weight + place : NULL);
            at += n + 1;
        }
    }
    return sum;
}
