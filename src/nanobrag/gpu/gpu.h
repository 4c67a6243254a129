/*
 * gpu.h - the backend that computes on a device: what a context opens, what a simulator
 * keeps there, and its launches.
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
    nb_context *ctx; /* whose it is */
    const struct gpu_driver *driver;
    void *device;
    int id;
    struct gpu_properties properties;
    struct hot *hot; /* hot.c, kernels built at run time; NULL: nothing was counted */
    struct gpu_derivatives_kernels *rows; /* jacobian_kernels.h; NULL: none was asked for */
};

/* Device `id` of a driver. Errors: NB_ERR_UNSUPPORTED (there is none, or nothing that runs
 * on it), NB_ERR_DEVICE, NB_ERR_MEMORY. */
nb_status gpu_open(nb_context *ctx, const struct gpu_driver *driver, int id,
                   struct gpu **out);

/* After everything that was kept on it. Accepts NULL. */
void gpu_close(struct gpu *gpu);

/* ---- memory of the device ---- */

struct gpu_buffer {
    gpu_address address;
    size_t bytes;
};

/* At least so many bytes; what was in it is lost where it grows. */
nb_status gpu_reserve(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                      size_t bytes);

/* The same, filled. */
nb_status gpu_put(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                  const void *from, size_t bytes);

void gpu_drop(struct gpu *gpu, struct gpu_buffer *buffer);

/* ---- launches ---- */

enum { GPU_SEQUENCE = 8, GPU_RECORDINGS = 8 };

/* launches that belong together; where n is less than GPU_SEQUENCE the rest is 0 */
struct gpu_sequence {
    const char *name; /* for what is told of it */
    int n;
    struct gpu_launch launches[GPU_SEQUENCE];
};

/* what a scene has recorded: CUDA graphs. Kernels, blocks and the address of the parameters
 * are in them; all other numbers are read when they run. */
struct gpu_graphs {
    gpu_address parameters; /* of all of them */
    struct gpu_recording {
        void *handle; /* NULL: none */
        struct gpu_launch launches[GPU_SEQUENCE];
    } kept[GPU_RECORDINGS];
    int next; /* where the next goes, in place of the oldest */
    char why_not[200]; /* why nothing is recorded any more; "": it is */
    uint64_t captures, replays, skips; /* sequences recorded, replayed, launched plainly */
};

struct gpu_scene;

/*
 * Launch a sequence with scene->parameters. In compiled mode (job->planned) it is recorded
 * when it comes for the first time, and replayed; not so with NANOBRAG_GRAPHS=0, and for a
 * job with mutated inputs. Where recording fails, launches are plain from then on, counted
 * as one fallback.
 */
nb_status gpu_run(nb_context *ctx, struct gpu_scene *scene, const struct job *job,
                  const struct gpu_sequence *sequence);

/* Forget what was recorded. */
void gpu_forget(struct gpu_scene *scene);

/* ---- images ---- */

/* what came of kernels built at run time (hot.h) during a simulator's calls */
struct gpu_hot_counts {
    uint64_t builds, promotions; /* by NVRTC; taken into use */
    uint64_t hits, misses; /* found on disk, or not */
};

/* what a simulator knows of kernels built at run time */
struct gpu_verifications {
    uint64_t proven; /* bits: those that gave the same bits in its scene */
    int tried; /* rows of tiles */
};

/* what a simulator keeps on its device; zeroed but for the first three members */
struct gpu_scene {
    struct gpu *gpu; /* NULL: it computes on the host */
    void *stream; /* of the caller's, in which its work is ordered; NULL: the device's */
    int f_moves; /* structure factors differ from call to call */
    int f_sent; /* those there: 0 none, 1 in double, 2 in float */
    struct gpu_graphs graphs;
    struct gpu_hot_counts hot;
    struct gpu_verifications verifications;
    struct gpu_buffer parameters, sources, orientations, f, stol, mask, partial, photons;
    /* of derivatives and losses (rows.h, loss.h) */
    struct gpu_buffer tangents, totals, sums, change, sum_bar, f_counts, inputs[3];
    struct gpu_buffer counting, found, pixels, counts; /* of counts (count.h) */
};

/* Before the first work of a call, as simulators share the device: it is ordered in the
 * scene's stream. */
nb_status gpu_begin(nb_context *ctx, const struct gpu_scene *scene);

void gpu_scene_drop(struct gpu_scene *scene);
size_t gpu_scene_bytes(const struct gpu_scene *scene);

/* How a job is computed: in float where its rounding keeps to the tolerance, with one
 * anchor for each tile or (parts 2) for each of its quarters, else in double; and in how
 * many bands of so many rows of tiles, whose memory is bounded. */
struct gpu_layout {
    int single, parts;
    int first_fast, first_slow, across, down; /* tiles of the job, from this pixel on */
    int segments;
    int strip; /* rows of tiles in a launch */
};

/* `whole`: tiles of all the detector, not of the ROI alone */
struct gpu_layout gpu_layout_of(const struct gpu_properties *properties,
                                const struct job *job, int single, int whole);

/* Why a device is not to compute a job; NULL: it may. */
const char *gpu_refuses(const struct gpu_properties *properties, const struct job *job);

/* an image of the caller's on the device */
struct gpu_output {
    gpu_address address;
    int bits; /* 32 or 64 */
    int64_t stride[2]; /* elements: slow, fast */
};

/* an image that is read: of the host, or of the device, where it is dense */
struct gpu_input {
    const void *host; /* or NULL */
    gpu_address device; /* or 0; both: there is none */
    int bits; /* 32 or 64 */
    int64_t stride[2]; /* of the host's, elements: slow, fast */
};

/* 1 when the photons of a job are needed on the host, wherever they go: whether float lost
 * them is seen by their peak. */
int gpu_needs_photons(const struct job *job, int single);

/*
 * The photons of a job, as tiles_forward(): into job->photons on the host and, unless NULL,
 * `out`, with which job->photons may be NULL if they are not needed. `single`: float was
 * asked for. Errors: NB_ERR_DEVICE, NB_ERR_MEMORY (of the device), with nothing but photons
 * written; NB_ERR_CANCELLED.
 */
nb_status gpu_forward(struct progress *progress, struct gpu_scene *scene,
                      const struct job *job, int single, const struct gpu_output *out);

#endif
