/*
 * gpu.h - computing on a device: a context opens the device, a simulator keeps data there,
 * and launches run its kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_GPU_H
#define NB_GPU_GPU_H

#include "base/array.h"
#include "base/progress.h"
#include "gpu/driver/gpu_scene.h"
#include "kernels/job.h"

/* Open device `id` of a driver. Errors: NB_ERR_UNSUPPORTED (there is no such device, or no
 * kernel runs on it), NB_ERR_DEVICE, NB_ERR_MEMORY. */
nb_status gpu_open(nb_context *ctx, const struct gpu_driver *driver, int id,
                   struct gpu **out);

/* Close a device, after all scenes on it were dropped. Accepts NULL. */
void gpu_close(struct gpu *gpu);

/* ---- launches ---- */

/* Launches that run one after the other. launches[n] and later are all 0. */
struct gpu_sequence {
    const char *name; /* for the log */
    int n;
    struct gpu_launch launches[GPU_SEQUENCE];
};

/* Run a sequence, whose kernels read scene->parameters. In compiled mode (job->planned) the
 * first use records it as a CUDA graph, and later uses replay the graph. Nothing is
 * recorded with NANOBRAG_GRAPHS=0, in a call that has paused recording (struct gpu_graphs),
 * or for a job that overwrites an input (job->mutated). If recording fails, graphs are used
 * no more, which counts as one fallback. */
nb_status gpu_run(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                  const struct gpu_sequence *sequence);

/* Drop all graphs that a scene has recorded. */
void gpu_forget(struct gpu_scene *scene);

/* ---- images ---- */

/* Free all memory that a simulator has on its device; its next job uploads everything
 * again. */
void gpu_scene_drop(struct gpu_scene *scene);
/* Returns the bytes that a simulator has on its device, and on the host for the device. */
size_t gpu_scene_bytes(const struct gpu_scene *scene);

/* Upload the mask of an image (NULL: there is none), unless it was uploaded before. */
nb_status gpu_send_mask(nb_context *ctx, struct gpu_scene *scene,
                        const struct window *image, const uint8_t *mask);

/* Returns the layout of a job: its tiles, its precision and its strips. */
struct gpu_layout gpu_layout_of(const struct gpu_properties *properties,
                                const struct job *job, int single);

/* Returns why the device cannot compute a job, in float if `single`; NULL: it can. */
const char *gpu_refuses(const struct gpu_properties *properties, const struct job *job,
                        int single);

/* An image to be read: on the host, or dense on the device. */
struct gpu_input {
    const void *host; /* or NULL */
    gpu_address device; /* or 0; with both absent there is no image */
    int bits; /* 32 or 64 */
    int64_t stride[2]; /* distances of pixels on the host, elements: slow, fast */
};

/* Returns 1 if float may lose the image of a job. Whether it did is known from the photons
 * of the brightest pixel (rounding_is_lost()). */
int gpu_may_lose(const struct job *job, int single);

/*
 * Compute the photons of a job, as tiles_forward() does: into `out` on the device or, if
 * that is NULL, into job->photons on the host. `single` asks for float. Errors:
 * NB_ERR_DEVICE, NB_ERR_MEMORY (of the device), with nothing but photons written;
 * NB_ERR_CANCELLED.
 */
nb_status gpu_forward(struct progress *progress, struct gpu_scene *scene,
                      const struct job *job, int single, const nb_array *out);

#endif
