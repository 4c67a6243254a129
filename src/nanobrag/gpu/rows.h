/*
 * rows.h - derivatives of an image on a device: sums over its pixels of the rows of the
 * Jacobian, or the rows themselves. The kernels come from NVRTC, or from its cache.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_ROWS_H
#define NB_GPU_ROWS_H

#include "gpu/loss.h"
#include "gpu/rows_parameters.h"

/* what is asked for */
struct gpu_rows_job {
    int n; /* tangents of the frame; any number of them but for a normal matrix */
    const struct phys_slope *dot; /* (n), lists of the host, without boxes of F */
    enum gpu_rows_end end;
    struct gpu_input pull; /* ROWS_PULL: cotangents of the photons */
    /* ROWS_LOSS and ROWS_NORMAL; of ROWS_SQUARES the observed are residuals, or none: 0 */
    struct gpu_loss_job target;
};

/* where it goes; written, not added to */
struct gpu_rows_sums {
    double value;
    double *gradient; /* (n) */
    double *matrix; /* (n x n) of a normal matrix, both triangles; else NULL */
    /* Cotangents of the box and its default (places) by ROWS_PULL or ROWS_LOSS, or NULL. 0
     * of a constant F, which is a number of the frame; none a number where a slope is not.
     */
    double *f;
    /* ROWS_CHANGES: (n) images of the host, dense (nslow x nfast), 0 where a pixel is not
     * rendered; else NULL */
    double *const *change;
};

/* Why a device is not to compute this; NULL: it may. */
const char *gpu_rows_refuses(const struct gpu *gpu, const struct job *job, int single,
                             const struct gpu_rows_job *rows);

/* Give back the memory of the device that derivatives and losses alone need. */
void gpu_rows_drop(struct gpu_scene *scene);

/*
 * Run a job. `single`: float was asked for, and is used as for an image. Kernels that are
 * not there yet are built while the call waits. Errors: NB_ERR_UNSUPPORTED where they can
 * not be had, with the reason in the context's message, and from then on at once;
 * NB_ERR_DEVICE, NB_ERR_MEMORY (of the device); NB_ERR_CANCELLED.
 */
nb_status gpu_rows(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                   int single, const struct gpu_rows_job *rows, struct gpu_rows_sums *out);

#endif
