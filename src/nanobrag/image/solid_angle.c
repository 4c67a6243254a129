/* solid_angle.c - see solid_angle.h. SPDX-License-Identifier: MIT */
#include "image/solid_angle.h"

#include "physics/pixel_position.h"

/* of one pixel: what its samples were weighted with, on average */
static double pixel_omega(const struct phys_frame *frame, const struct phys_detector *det,
                          int s, int f)
{
    const int n = frame->oversample;
    const int layers = frame->each_omega ? frame->nlayers : 1;
    const int subs = frame->each_omega ? n * n : 1;
    double sum = 0;

    for (int layer = 0; layer < layers; layer++)
        for (int sub = 0; sub < subs; sub++)
            sum += phys_solid_angle(det, phys_sub_pixel(det, n, s, f, sub,
                                                        det->layer_offset
                                                            + layer * det->layer_step));
    return sum / ((double)layers * subs);
}

double solid_angle_of(const struct window *window, const struct phys_frame *frame,
                      int quirk, int threads, double *row)
{
    const struct phys_detector det = phys_detector(frame);
    double sum = 0;

    (void)threads; /* unused without OpenMP */
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int s = window->roi[2]; s < window->roi[3]; s++) {
        row[s] = 0;
        for (int f = window->roi[0]; f < window->roi[1]; f++)
            if (window_shows(window, s, f)) row[s] += pixel_omega(frame, &det, s, f);
    }
    for (int s = window->roi[2]; s < window->roi[3]; s++) sum += row[s];
    /* nanoBragg divides by sources x phi steps x domains, but not by layers */
    if (quirk) sum *= frame->nlayers / ((double)frame->nsource * frame->norientation);
    return sum;
}
