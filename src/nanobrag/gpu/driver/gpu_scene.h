/*
 * gpu_scene.h - a device that is open, its memory, and what a simulator keeps there: what
 * both the launches (gpu/) and the kernels built at run time (compile/jit/) need of a
 * device.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_GPU_SCENE_H
#define NB_GPU_DRIVER_GPU_SCENE_H

#include "gpu/driver/driver.h"

struct kernel_registry;

struct gpu {
    nb_context *ctx; /* the context that opened it */
    const struct gpu_driver *driver;
    void *device;
    int id;
    struct gpu_properties properties;
    /* The kernels built at run time (compile/jit/registry.h), of images and derivatives;
     * NULL: none was requested. */
    struct kernel_registry *hot, *derivative_kernels;
};

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

/* ---- memory of the host ---- */

struct gpu_workspace {
    void *memory; /* or NULL */
    size_t bytes;
};

/* Returns a workspace of at least so many bytes, or NULL if there is no memory, which is
 * recorded in the context unless `what` is NULL. One that grows loses its contents. */
void *gpu_workspace(nb_context *ctx, struct gpu_workspace *workspace, size_t bytes,
                    const char *what);

void gpu_workspace_drop(struct gpu_workspace *workspace);

/* ---- what a simulator keeps ---- */

enum { GPU_SEQUENCE = 8, GPU_RECORDINGS = 8 };

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
    void
        *stream; /* of the caller, in which the work is ordered; NULL: that of the device */
    int f_varies; /* 1: structure factors differ from call to call */
    int f_sent; /* precision of those on the device: 0 none, 1 double, 2 float */
    struct gpu_graphs graphs;
    struct gpu_hot_counts hot;
    struct gpu_verifications verifications;
    struct gpu_buffer parameters, sources, orientations, f, stol, mask, partial, photons;
    struct gpu_buffer peaks; /* photons of the brightest pixel of each image of a launch */
    /* of derivatives and losses (derivatives.h, loss_launch.h) */
    struct gpu_buffer tangents, totals, change, sum_bar, f_counts, inputs[3];
    struct gpu_buffer count_parameters, tallies, pixels, counts; /* of counts (count.h) */
    /* On the host: copies on their way to the device or back, the order of a job's tangents
     * and its sums of structure factors. They carry nothing from one call to the next. */
    struct gpu_workspace staged, order, counted;
};

/* Begin a call: order its work in the scene's stream. Simulators share the device, so every
 * call does this first. */
nb_status gpu_begin(nb_context *ctx, const struct gpu_scene *scene);

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

#endif
