/*
 * trace.h - the intermediate results of the last sample of one pixel, computed with the
 * arithmetic of the reference kernel.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_TRACE_H
#define NB_KERNELS_TRACE_H

#include "kernels/job.h"

/* stol is sin(theta)/lambda, 1/A; position is in m, axes in A. The members from stol to hkl
 * belong to the last sample of the pixel, all others to the whole pixel. */
struct trace {
    double stol, position[3], h[3], f_cell, f_latt, axes[9];
    int hkl[3];
    double sum; /* sum of F^2 over the samples of the pixel */
    double polarization, omega, capture, photons;
};

/* Traces pixel (s, f): s is its slow index, f its fast one. */
void trace_pixel(const struct phys_frame *frame, struct phys_spec spec, int s, int f,
                 struct trace *out);

#endif
