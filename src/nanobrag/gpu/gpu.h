/*
 * gpu.h - the backend that computes on a device. A context opens the device, a simulator
 * keeps its memory there, and launches run its kernels.
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

/* launches that run as one sequence; launches[n] and later are 0 */
struct gpu_sequence {
    const char *name; /* for the log */
    int n;
    struct gpu_launch launches[GPU_SEQUENCE];
};

/*
 * Launch a sequence with scene->parameters. In compiled mode (job->planned) its first use
 * records it as a graph, and later uses replay the graph. Nothing is recorded with
 * NANOBRAG_GRAPHS=0, in a call that has paused recording (struct gpu_graphs), or for a job
 * with mutated inputs. If recording fails, later launches use no graph, which counts as one
 * fallback.
 */
nb_status gpu_run(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                  const struct gpu_sequence *sequence);

/* Drop all recordings of a scene. */
void gpu_forget(struct gpu_scene *scene);

/* ---- images ---- */

/* Free all that a simulator keeps on its device; its next job sends everything again. */
void gpu_scene_drop(struct gpu_scene *scene);
/* The memory of a simulator on its device, and on the host for the device, bytes. */
size_t gpu_scene_bytes(const struct gpu_scene *scene);

/* Send the mask of an image, or NULL, to the scene, once. */
nb_status gpu_send_mask(nb_context *ctx, struct gpu_scene *scene,
                        const struct window *image, const uint8_t *mask);

/* Lay out a job. */
struct gpu_layout gpu_layout_of(const struct gpu_properties *properties,
                                const struct job *job, int single);

/* Returns why the device cannot compute a job, in float if `single`; NULL: it can. */
const char *gpu_refuses(const struct gpu_properties *properties, const struct job *job,
                        int single);

/* an image to be read: on the host, or dense on the device */
struct gpu_input {
    const void *host; /* or NULL */
    gpu_address device; /* or 0; with both absent there is no image */
    int bits; /* 32 or 64 */
    int64_t stride[2]; /* of the image on the host, elements: slow, fast */
};

/* Returns 1 if float may lose the image of a job. The photons of its brightest pixel then
 * show whether it did (rounding_is_lost()). */
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
