/*
 * derivatives.h - derivatives of an image on a device: the Jacobian itself,
 * or their sums over pixels. The kernels come from NVRTC, or from its cache.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DERIVATIVES_DERIVATIVES_H
#define NB_GPU_DERIVATIVES_DERIVATIVES_H

#include "gpu/launch/loss_launch.h"
#include "gpu/text/derivatives/derivatives_parameters.h"

struct panel_tangents; /* kernels/derivatives/jacobian.h */

/* the derivatives to compute */
struct gpu_derivatives_job {
    /* number of tangents of the frame; a normal matrix limits the tangents of each panel */
    int n;
    const struct phys_frame_tangent *dot; /* (n), lists on the host, without boxes of F */
    /* (panels) For several panels, the tangents along which each panel changes, with its
     * numbers; used instead of `dot`. Else NULL. */
    const struct panel_tangents *panel;
    enum gpu_reduction end;
    int no_value; /* 1: the value is not needed */
    struct gpu_input cotangent; /* for REDUCE_COTANGENT: dL/dphotons */
    /* For REDUCE_LOSS and REDUCE_NORMAL. For REDUCE_SQUARES the observed image holds
     * residuals, or is absent for residuals of 0. */
    struct gpu_loss_job target;
};

/* where the results go; old contents are overwritten */
struct gpu_derivatives_sums {
    double value;
    double *gradient; /* (n) */
    double *matrix; /* (n x n), both triangles, for a normal matrix; else NULL */
    /* Cotangents of the structure factors in the box and of default_f (places), for
     * REDUCE_COTANGENT or REDUCE_LOSS, or NULL. All are 0 for a constant F, which is a
     * member of the frame; all are NaN if dL/dphotons of any pixel is not finite. */
    double *f;
    /* For REDUCE_NOTHING: (n) images on the host, dense (nslow x nfast), 0 where a pixel is
     * not rendered; else NULL. */
    double *const *change;
};

/* The reason why the device cannot compute this job; NULL: it can. */
const char *gpu_derivatives_refuses(struct gpu *gpu, const struct job *job, int single,
                                    const struct gpu_derivatives_job *request);

/* Free the device memory that only derivatives and losses need. */
void gpu_derivatives_drop(struct gpu_scene *scene);

/*
 * Run a job. `single` asks for float, which is used under the same rule as for an image. A
 * kernel that does not exist yet is built while the call waits. Errors: NB_ERR_UNSUPPORTED
 * where a kernel cannot be built, with the reason in the context's message, and at once in
 * later calls; NB_ERR_DEVICE, NB_ERR_MEMORY (of the device); NB_ERR_CANCELLED.
 */
nb_status gpu_derivatives(struct progress *progress, struct gpu_scene *scene,
                          const struct job *job, int single,
                          const struct gpu_derivatives_job *request,
                          struct gpu_derivatives_sums *out);

#endif
