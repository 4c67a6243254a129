/*
 * derivatives.h - derivatives of an image on a device: the Jacobian itself, or sums over
 * its pixels. The kernels are built by NVRTC or come from the cache on disk.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DERIVATIVES_DERIVATIVES_H
#define NB_GPU_DERIVATIVES_DERIVATIVES_H

#include "gpu/launch/loss_launch.h"
#include "gpu/text/derivatives/derivatives_parameters.h"

struct panel_tangents; /* kernels/derivatives/jacobian.h */

/* The derivatives to compute. */
struct gpu_derivatives_job {
    /* number of tangents of the frame; for a normal matrix at most TANGENTS_MOST of them
     * may change a panel */
    int n;
    /* (n) with lists on the host, without boxes of F */
    const struct phys_frame_tangent *dot;
    /* (panels) for several panels: the tangents along which each panel changes, with the
     * numbers of that panel; used instead of `dot`. Else NULL. */
    const struct panel_tangents *panel;
    enum gpu_reduction end;
    int no_value; /* 1: the value is not needed */
    struct gpu_input cotangent; /* for REDUCE_COTANGENT: dL/dphotons */
    /* For REDUCE_LOSS and REDUCE_NORMAL, the target of the loss. For REDUCE_SQUARES,
     * target.observed holds residuals (no image: 0) and target.weight weights. */
    struct gpu_loss_job target;
};

/* Where the results go. Their old contents are overwritten. */
struct gpu_derivatives_sums {
    double value;
    double *gradient; /* (n) */
    double *matrix; /* (n x n), both triangles, for a normal matrix; else NULL */
    /* (places) cotangents of the structure factors in the box, and of default_f behind
     * them, for REDUCE_COTANGENT or REDUCE_LOSS; or NULL. All are 0 if F is constant, since
     * it is then a number of the frame. All are NaN if dL/dphotons of a pixel is not
     * finite. */
    double *f;
    /* For REDUCE_NOTHING: (n) images on the host, dense (nslow x nfast), 0 where a pixel is
     * not rendered; else NULL. */
    double *const *change;
};

/* Returns why the device cannot compute these derivatives of a job; NULL: it can. */
const char *gpu_derivatives_refuses(struct gpu *gpu, const struct job *job, int single,
                                    const struct gpu_derivatives_job *request);

/* Free the device memory that only derivatives and losses need. */
void gpu_derivatives_drop(struct gpu_scene *scene);

/* Compute derivatives of a job. `single` asks for float, which is used where it is accurate
 * enough for the image. A kernel that does not exist yet is built while the call waits.
 * Errors: NB_ERR_UNSUPPORTED if a kernel cannot be built, with the reason in the context's
 * message (later calls return it at once); NB_ERR_DEVICE, NB_ERR_MEMORY (of the device);
 * NB_ERR_CANCELLED. */
nb_status gpu_derivatives(struct progress *progress, struct gpu_scene *scene,
                          const struct job *job, int single,
                          const struct gpu_derivatives_job *request,
                          struct gpu_derivatives_sums *out);

#endif
