/*
 * gpu_scene.h - an open device, its memory, and the data that a simulator keeps there. Both
 * the launches (gpu/) and the kernels built at run time (compile/jit/) use it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_GPU_SCENE_H
#define NB_GPU_DRIVER_GPU_SCENE_H

#include "gpu/driver/driver.h"

struct kernel_registry;

struct gpu {
    nb_context *ctx; /* the context that opened the device */
    const struct gpu_driver *driver;
    void *device;
    int id;
    struct gpu_properties properties;
    /* The kernels built at run time (compile/jit/built_kernels.h), for images and for
     * derivatives; NULL: none was requested. */
    struct kernel_registry *hot, *derivative_kernels;
};

/* ---- memory of the device ---- */

struct gpu_buffer {
    gpu_address address;
    size_t bytes;
    /* size and digest of the data that gpu_put_changed() put there; 0 bytes: not known */
    size_t sent;
    uint64_t digest[2];
};

/* Let a buffer have at least `bytes` bytes. A buffer that grows loses its contents. */
nb_status gpu_reserve(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                      size_t bytes);

/* Let a buffer have at least `bytes` bytes, and fill it from the host. */
nb_status gpu_put(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                  const void *from, size_t bytes);

/* Call gpu_put(), unless a digest of 128 bits shows that the buffer holds these bytes
 * already. Nothing else may write the buffer. */
nb_status gpu_put_changed(nb_context *ctx, struct gpu *gpu, struct gpu_buffer *buffer,
                          const void *from, size_t bytes);

/* Compute a digest of 128 bits. */
void gpu_digest(const void *bytes, size_t n, uint64_t out[2]);

/* Free the memory of a buffer, which may be empty. */
void gpu_drop(struct gpu *gpu, struct gpu_buffer *buffer);

/* ---- memory of the host ---- */

struct gpu_workspace {
    void *memory; /* or NULL */
    size_t bytes;
};

/* Returns a workspace of at least `bytes` bytes, or NULL if there is no memory; the failure
 * is recorded in the context unless `what` is NULL. A workspace that grows loses its
 * contents. */
void *gpu_workspace(nb_context *ctx, struct gpu_workspace *workspace, size_t bytes,
                    const char *what);

void gpu_workspace_drop(struct gpu_workspace *workspace);

/* Pinned memory of the host. If it grows, it loses its contents. */
struct gpu_pinned {
    unsigned char *memory; /* or NULL */
    size_t bytes;
};

nb_status gpu_pin(nb_context *ctx, struct gpu *gpu, struct gpu_pinned *pinned,
                  size_t bytes);
void gpu_unpin(struct gpu *gpu, struct gpu_pinned *pinned);

/* ---- data that a simulator keeps ---- */

/* The parameters of launches and, behind them, the lists of the frame go to the device in
 * one copy from pinned memory. The copy need not be waited for, because launches take turns
 * in FRONT_TURNS places of this memory. Lists are sent again only if they have changed. A
 * place has FRONT_BYTES bytes, or as many times more as a launch has needed. */
enum { FRONT_BYTES = 8192, FRONT_TURNS = 3, FRONT_LISTS = 2 };

struct gpu_front {
    struct gpu_pinned pinned; /* the first place, the lists, the other places */
    size_t room; /* bytes of a place */
    size_t lists[FRONT_LISTS]; /* bytes of each list */
    int turn;
    int pending; /* 1: the lists will be sent with the next parameters */
    int there; /* 1: the lists in pinned memory are on the device */
};

/* A list on the host. */
struct gpu_span {
    const void *at;
    size_t bytes;
};

enum { GPU_SEQUENCE = 8, GPU_RECORDINGS = 8 };

/* The CUDA graphs that a scene has recorded. A graph fixes kernels, blocks and the address
 * of the parameters; all other numbers are read when it runs. */
struct gpu_graphs {
    gpu_address parameters; /* address of the parameters in all recordings */
    struct gpu_recording {
        void *handle; /* NULL: none */
        struct gpu_launch launches[GPU_SEQUENCE];
    } recordings[GPU_RECORDINGS];
    int next; /* the next recording goes here, in place of the oldest */
    int paused; /* 1: the current call has too many kinds of launches, and records none */
    char failure[200]; /* why nothing is recorded any more; "": recording has not failed */
    /* numbers of sequences recorded, replayed, launched without a graph */
    uint64_t captures, replays, skips;
};

/* Counts of kernels built at run time (compile/jit/hot.h) during a simulator's calls. */
struct gpu_hot_counts {
    uint64_t builds, promotions; /* kernels built by NVRTC; kernels taken into use */
    uint64_t hits, misses; /* kernels found on disk, or not */
};

/* The kernels built at run time that were verified in a simulator's scene. */
struct gpu_verifications {
    /* a bit for each kernel that gave the same bits in this scene as the library's
     * kernel */
    uint64_t verified;
    int compared; /* how many rows of tiles were compared */
};

/* The data of a simulator on its device. In a new struct all members but the first three
 * are 0. */
struct gpu_scene {
    struct gpu *gpu; /* NULL: the simulator computes on the host */
    void *stream; /* the caller's stream for all work; NULL: the device's own */
    int f_varies; /* 1: structure factors can differ from call to call */
    unsigned f_sent; /* structure factors on the device: bit 0 in double, bit 1 in float */
    struct gpu_graphs graphs;
    struct gpu_hot_counts hot;
    struct gpu_verifications verifications;
    struct gpu_front front;
    /* parameters of launches, and the lists of the frame behind them */
    struct gpu_buffer parameters;
    struct gpu_buffer f, f_single, stol, mask, partial;
    struct gpu_buffer photons; /* photons of two launches, on their way to the host */
    struct gpu_buffer peaks; /* photons of the brightest pixel of each view in a call */
    /* for derivatives and losses (derivatives.h, loss_launch.h) */
    struct gpu_buffer tangents, totals, change, sum_bar, f_counts, inputs[3];
    struct gpu_buffer count_parameters, tallies, pixels, counts, shown; /* for count.h */
    /* On the host: copies on their way to the device or back, the order of tangents, and
     * sums of structure factors. These buffers carry nothing from one call to the next. */
    struct gpu_workspace staged, order, counted;
    struct gpu_workspace views, plan; /* views or panels of a call, and its plan */
    struct gpu_pinned strips; /* on the host: where photons of two launches arrive */
};

/* Begin a call: let its work go to the scene's stream. Every call does this first, because
 * simulators share the device. */
nb_status gpu_begin(nb_context *ctx, struct gpu_scene *scene);

/* gpu_front_lists() prepares lists for the next launch. The lists lie behind `room` bytes,
 * the space for the parameters of a launch. gpu_list() returns the address of list `which`
 * on the device. */
nb_status gpu_front_lists(nb_context *ctx, struct gpu_scene *scene, size_t room,
                          const struct gpu_span lists[FRONT_LISTS]);
gpu_address gpu_list(const struct gpu_scene *scene, int which);

/* Send the parameters of a launch, at most `room` bytes, with lists that were not sent yet.
 * At most FRONT_TURNS launches may be under way; the caller waits for any earlier one. */
nb_status gpu_send_parameters(nb_context *ctx, struct gpu_scene *scene,
                              const void *parameters, size_t bytes);

/* Let the lists be sent again, because their place on the device is used for something
 * else. */
void gpu_front_forget(struct gpu_scene *scene);

/* The layout of a job on a device. It is computed in float if the rounding stays within the
 * tolerance, else in double. In float the indices are counted from one anchor for each tile
 * or, with `parts` 2, for each quarter of a tile. Launches cover strips of rows of tiles,
 * so that their memory is bounded. */
struct gpu_layout {
    int single, parts;
    /* the tiles of the job: their first pixel, and their numbers along fast and slow */
    int first_fast, first_slow, across, down;
    int segments;
    int strip; /* how many rows of tiles one launch covers */
};

#endif
