/*
 * derivatives.h - derivatives of an image on a device: sums over its pixels of the rows of
 * the Jacobian, or the rows themselves. The kernels come from NVRTC, or from its cache.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DERIVATIVES_H
#define NB_GPU_DERIVATIVES_H

#include "gpu/loss_launch.h"
#include "gpu/text/derivatives/derivatives_parameters.h"

/* what is asked for */
struct gpu_derivatives_job {
    int n; /* tangents of the frame; any number of them but for a normal matrix */
    const struct phys_frame_tangent *dot; /* (n), lists of the host, without boxes of F */
    enum gpu_reduction end;
    struct gpu_input cotangent; /* REDUCE_COTANGENT: cotangents of the photons */
    /* REDUCE_LOSS and REDUCE_NORMAL; of REDUCE_SQUARES the observed are residuals, or none:
     * 0 */
    struct gpu_loss_job target;
};

/* where it goes; written, not added to */
struct gpu_derivatives_sums {
    double value;
    double *gradient; /* (n) */
    double *matrix; /* (n x n) of a normal matrix, both triangles; else NULL */
    /* Cotangents of the box and its default (places) by REDUCE_COTANGENT or REDUCE_LOSS, or
     * NULL. 0 of a constant F, which is a number of the frame; none a number where a slope
     * is not.
     */
    double *f;
    /* REDUCE_NOTHING: (n) images of the host, dense (nslow x nfast), 0 where a pixel is not
     * rendered; else NULL */
    double *const *change;
};

/* Why a device is not to compute this; NULL: it may. */
const char *gpu_derivatives_refuses(const struct gpu *gpu, const struct job *job,
                                    int single, const struct gpu_derivatives_job *rows);

/* Give back the memory of the device that derivatives and losses alone need. */
void gpu_derivatives_drop(struct gpu_scene *scene);

/*
 * Run a job. `single`: float was asked for, and is used as for an image. Kernels that are
 * not there yet are built while the call waits. Errors: NB_ERR_UNSUPPORTED where they can
 * not be had, with the reason in the context's message, and from then on at once;
 * NB_ERR_DEVICE, NB_ERR_MEMORY (of the device); NB_ERR_CANCELLED.
 */
nb_status gpu_derivatives(struct progress *progress, struct gpu_scene *scene,
                          const struct job *job, int single,
                          const struct gpu_derivatives_job *rows,
                          struct gpu_derivatives_sums *out);

#endif
