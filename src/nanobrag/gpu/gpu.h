/*
 * gpu.h - the backend that computes on a device: what a context opens, what a simulator
 * keeps on the device, and how its kernels are launched.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_GPU_H
#define NB_GPU_GPU_H

#include "base/progress.h"
#include "gpu/driver/driver.h"
#include "kernels/job.h"

struct gpu_derivatives_kernels;

struct gpu {
    nb_context *ctx; /* the context that opened it */
    const struct gpu_driver *driver;
    void *device;
    int id;
    struct gpu_properties properties;
    struct hot *hot; /* compile/jit/hot.c; NULL: no kernel was counted yet */
    /* compile/jit/derivative_kernels.h; NULL: none was requested */
    struct gpu_derivatives_kernels *derivative_kernels;
};

/* Open device `id` of a driver. Errors: NB_ERR_UNSUPPORTED (there is no such device, or no
 * kernel runs on it), NB_ERR_DEVICE, NB_ERR_MEMORY. */
nb_status gpu_open(nb_context *ctx, const struct gpu_driver *driver, int id,
                   struct gpu **out);

/* Close a device, after all scenes on it were dropped. Accepts NULL. */
void gpu_close(struct gpu *gpu);

/* ---- memory of the device ---- */

struct gpu_buffer {
    gpu_address address;
    size_t bytes;
};

/* Make a buffer at least so large. A buffer that grows loses its contents. */
nb_status gpu_reserve(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                      size_t bytes);

/* Make a buffer large enough, and fill it from the host. */
nb_status gpu_put(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                  const void *from, size_t bytes);

/* Free the memory of a buffer, which may be empty. */
void gpu_drop(struct gpu *gpu, struct gpu_buffer *buffer);

/* ---- launches ---- */

enum { GPU_SEQUENCE = 8, GPU_RECORDINGS = 8 };

/* launches that belong together; the places from n on are 0 */
struct gpu_sequence {
    const char *name; /* for the log */
    int n;
    struct gpu_launch launches[GPU_SEQUENCE];
};

/* The CUDA graphs that a scene has recorded. A graph fixes kernels, blocks and the address
 * of the parameters; all other numbers are read when it runs. */
struct gpu_graphs {
    gpu_address parameters; /* of all recordings */
    struct gpu_recording {
        void *handle; /* NULL: none */
        struct gpu_launch launches[GPU_SEQUENCE];
    } recordings[GPU_RECORDINGS];
    int next; /* the next recording goes here, in place of the oldest */
    char failure[200]; /* why recording was given up; "": it was not */
    /* sequences recorded, replayed, launched without a graph */
    uint64_t captures, replays, skips;
};

struct gpu_scene;

/*
 * Launch a sequence with scene->parameters. In compiled mode (job->planned) it is recorded
 * on its first use, and replayed later; not so with NANOBRAG_GRAPHS=0, nor for a job with
 * mutated inputs. Where recording fails, later launches use no graph, which counts as one
 * fallback.
 */
nb_status gpu_run(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                  const struct gpu_sequence *sequence);

/* Drop all recordings of a scene. */
void gpu_forget(struct gpu_scene *scene);

/* ---- images ---- */

/* counts of kernels built at run time (compile/jit/hot.h) during a simulator's calls */
struct gpu_hot_counts {
    uint64_t builds, promotions; /* kernels built by NVRTC; kernels taken into use */
    uint64_t hits, misses; /* kernels found on disk, or not */
};

/* which kernels built at run time were verified in a simulator's scene */
struct gpu_verifications {
    /* a bit for each kernel that gave the same bits here as the one of the build */
    uint64_t verified;
    int compared; /* how many rows of tiles were compared */
};

/* the device memory of a simulator; zeroed but for the first three members */
struct gpu_scene {
    struct gpu *gpu; /* NULL: the simulator computes on the host */
    void *stream; /* of the caller, in which the work is ordered; NULL: the device's own */
    int f_varies; /* 1: structure factors differ from call to call */
    int f_sent; /* precision of those on the device: 0 none, 1 double, 2 float */
    struct gpu_graphs graphs;
    struct gpu_hot_counts hot;
    struct gpu_verifications verifications;
    struct gpu_buffer parameters, sources, orientations, f, stol, mask, partial, photons;
    /* of derivatives and losses (derivatives.h, loss_launch.h) */
    struct gpu_buffer tangents, totals, sums, change, sum_bar, f_counts, inputs[3];
    struct gpu_buffer count_parameters, tallies, pixels, counts; /* of counts (count.h) */
};

/* Begin a call: order its work in the scene's stream. Simulators share the device, so every
 * call does this first. */
nb_status gpu_begin(nb_context *ctx, const struct gpu_scene *scene);

/* Free all that a simulator keeps on its device; its next job sends everything again. */
void gpu_scene_drop(struct gpu_scene *scene);
/* The device memory of a simulator, bytes. */
size_t gpu_scene_bytes(const struct gpu_scene *scene);

/* How a job is laid out on a device. It is computed in float where the rounding stays
 * within the tolerance, with one anchor for each tile or (parts 2) for each quarter of a
 * tile; else in double. Launches cover strips of rows of tiles, so that their memory is
 * bounded. */
struct gpu_layout {
    int single, parts;
    /* the tiles of the job: their first pixel and their numbers */
    int first_fast, first_slow, across, down;
    int segments;
    int strip; /* how many rows of tiles one launch covers */
};

/* Lay out a job. `whole` covers the whole detector, not the ROI alone. */
struct gpu_layout gpu_layout_of(const struct gpu_properties *properties,
                                const struct job *job, int single, int whole);

/* The reason why the device cannot compute a job; NULL: it can. */
const char *gpu_refuses(const struct gpu_properties *properties, const struct job *job);

/* an image of the caller's on the device, to be written */
struct gpu_output {
    gpu_address address;
    int bits; /* 32 or 64 */
    int64_t stride[2]; /* elements: slow, fast */
};

/* an image to be read: on the host, or dense on the device */
struct gpu_input {
    const void *host; /* or NULL */
    gpu_address device; /* or 0; with both absent there is no image */
    int bits; /* 32 or 64 */
    int64_t stride[2]; /* of the image on the host, elements: slow, fast */
};

/* 1 when the host needs the photons of a job wherever they go: their peak shows whether
 * float lost the image. */
int gpu_needs_photons(const struct job *job, int single);

/*
 * Compute the photons of a job, as tiles_forward() does: into job->photons on the host and,
 * unless NULL, into `out`. With `out`, job->photons may be NULL if gpu_needs_photons() is
 * 0. `single` asks for float. Errors: NB_ERR_DEVICE, NB_ERR_MEMORY (of the device), with
 * nothing but photons written; NB_ERR_CANCELLED.
 */
nb_status gpu_forward(struct progress *progress, struct gpu_scene *scene,
                      const struct job *job, int single, const struct gpu_output *out);

#endif
