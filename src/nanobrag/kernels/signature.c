/* signature.c - which branches the samples of every pixel take. SPDX-License-Identifier:
 * MIT */
#include "kernels/signature.h"

#include <stddef.h>

#include "base/floats.h"
#include "kernels/grid.h"
#include "physics/pixel_signature.h"

void signature_of(const struct job *job, int repeats, int threads, uint64_t *signature)
{
    (void)threads; /* unused without OpenMP */
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int t = 0; t < grid_count(job); t++) {
        STANDARD_FLOATS;
        const struct tile tile = grid_tile(job, t);
        const struct phys_frame *frame = job->frame + tile.panel;
        const struct window *window = window_panel(job->window, tile.panel);
        const struct phys_view view = phys_view(frame);
        struct shown_pixels shown;

        grid_list(&tile, &shown);
        for (int i = 0; i < shown.n; i++) {
            const int s = tile.slow + shown.pixel[i] / TILE_FAST;
            const int f = tile.fast + shown.pixel[i] % TILE_FAST;

            uint64_t *at = signature + window_pixel(window, s, f);

            *at = *at * 0x9e3779b97f4a7c15U
                  + phys_pixel_signature(job->spec, repeats, frame, &view, s, f);
        }
    }
}
