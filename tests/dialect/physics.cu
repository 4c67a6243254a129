/*
 * physics.cu - the pixel physics as GPU kernels, one per shape and lookup: shows that
 * physics/ stays inside what nvcc and NVRTC take. Nothing runs it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "physics/noise/counts.h"
#include "physics/noise/poisson.h"
#include "physics/pixel.h"
#include "physics/pixel_vjp.h"
#include "physics/tile/detector_plane.h"
#include "physics/tile/patch.h"

#define KERNEL(name, shape, lookup)                                                        \
    extern "C" __global__ void name(struct phys_frame frame, real *image)                  \
    {                                                                                      \
        const struct phys_spec spec = {shape, lookup, 0, 0};                               \
        const struct phys_view view = phys_view(&frame);                                   \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                               \
                                                                                           \
        if (i >= frame.nfast * frame.nslow) return;                                        \
        image[i] = phys_finish(&frame, phys_pixel(spec, &frame, &view, i / frame.nfast,    \
                                                  i % frame.nfast));                       \
    }

KERNEL(square_constant, PHYS_SQUARE, PHYS_CONSTANT)
KERNEL(square_nearest, PHYS_SQUARE, PHYS_NEAREST)
KERNEL(square_tricubic, PHYS_SQUARE, PHYS_TRICUBIC)
KERNEL(round_nearest, PHYS_ROUND, PHYS_NEAREST)
KERNEL(gauss_nearest, PHYS_GAUSS, PHYS_NEAREST)
KERNEL(tophat_nearest, PHYS_TOPHAT, PHYS_NEAREST)

/* a sample counted from the middle of a patch: the arithmetic of the lanes */
extern "C" __global__ void anchored(struct phys_frame frame, real *image)
{
    const struct phys_spec spec = {PHYS_SQUARE, PHYS_NEAREST, 0, 0};
    const struct phys_view view = phys_view(&frame);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const struct phys_patch patch =
        phys_patch_at(&frame, blockIdx.x, blockIdx.y, frame.layer_offset);
    const struct phys_place place =
        phys_patch_place(phys_patch_is_small(&patch, 32, 8), &patch, (real)threadIdx.x,
                         (real)threadIdx.y);
    double q[3];
    real sum = 0;

    for (int s = 0; s < frame.nsource; s++) {
        phys_patch_scattering(&patch, frame.source + s, q);
        for (int k = 0; k < frame.norientation; k++) {
            const struct phys_anchor anchor =
                phys_anchor_at(frame.orientation[k].axes, q,
                               frame.source[s].inverse_wavelength);
            const struct phys_box box = phys_box_from(0, view.box, anchor.whole);

            sum += phys_step(spec, &view.crystal, &box, &anchor, place.step).f2;
        }
    }
    image[i] = sum;
}

/* where a cone meets the detector */
extern "C" __global__ void on_screen(struct phys_frame frame, double *ranges)
{
    const struct phys_detector_plane plane =
        phys_detector_plane(&frame, frame.layer_offset);
    const struct phys_wide3 v = phys_wide3(threadIdx.x, threadIdx.y, 1);
    const struct phys_range range =
        phys_detector_plane_range(&plane, &plane.fast, v,
                                  1 / phys_wide_dot(v, plane.normal), 1e-3);

    ranges[2 * threadIdx.x] = range.low;
    ranges[2 * threadIdx.x + 1] = range.high;
}

/* photons to counts */
extern "C" __global__ void counts(const double *image, unsigned short *out,
                                  struct phys_tally *tally)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    struct phys_stream stream = {1, 0, 0};
    double photons;

    stream.pixel = i;
    photons = phys_poisson(stream, image[i]);
    phys_tally_add(tally + i, photons);
    out[i] = phys_clamped(photons, 65535, tally + i)
             + phys_rounded32(photons, 1, 0, tally + i)
             + phys_rounded((float)photons, 1, 0, tally + i);
}
