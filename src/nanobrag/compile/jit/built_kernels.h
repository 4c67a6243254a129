/*
 * built_kernels.h - the kernels of one kind that were built at run time for a device. Each
 * is found by its key, the properties for which it was built. NVRTC builds at most
 * env.recompile_limit of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_BUILT_KERNELS_H
#define NB_COMPILE_JIT_BUILT_KERNELS_H

#include "compile/jit/build.h"
#include "gpu/driver/gpu_scene.h"

/* The properties for which a kernel is built. */
struct kernel_key {
    int shape, lookup, single;
    unsigned frame_flags; /* bits of enum gpu_frame_flags for an image kernel; else 0 */
    const char *class; /* name of the class of a derivative kernel, a constant; else NULL */
};

enum kernel_state {
    KERNEL_NEW, /* not built */
    KERNEL_BEING_BUILT,
    KERNEL_LOADED, /* built, but not verified in a scene yet (hot.c) */
    KERNEL_IN_USE,
    KERNEL_ABANDONED /* it cannot be built, or must not be used; this is final */
};

enum {
    REGISTRY_NAME = 64, /* bytes of a kernel's name in the texts */
    REGISTRY_REASON = 96,
    REGISTRY_WHY = 384,
    /* number of all derivative kernels; there are fewer image kernels */
    REGISTRY_MOST = 160
};

struct kernel_entry {
    struct kernel_key key;
    enum kernel_state state;
    int uses; /* uses of an image kernel, counted until it is built */
    void *module; /* handle from the driver; NULL: not loaded */
    char why[REGISTRY_WHY]; /* why it was abandoned; "": not known */
};

/* The kernels of one kind. Kernels beyond REGISTRY_MOST are never built. */
struct kernel_registry {
    const char *kind; /* for messages: "image kernels" */
    struct kernel_entry entries[REGISTRY_MOST];
    int n;
    int builds; /* builds by NVRTC, which count towards the limit */
    int limit_reported;
    struct kernel_key last; /* key of the kernel that was built last */
    /* why NVRTC cannot be opened; "": it can, or was not tried */
    char nvrtc_missing[REGISTRY_WHY];
    /* found by derivative_kernels.c */
    enum { NVRTC_UNKNOWN, NVRTC_THERE, NVRTC_ABSENT } nvrtc;
    /* kernel that is being built in the background; NULL: none */
    struct kernel_entry *building;
    struct build build;
};

/* Returns a registry, which the first call makes; NULL: there is no memory. */
struct kernel_registry *registry_open(struct kernel_registry **registry, const char *kind);

/* Stop a running build, unload all kernels and free the registry, which may be NULL. */
void registry_close(const struct gpu *gpu, struct kernel_registry **registry);

/* Returns the entry of a kernel, which is added if needed; NULL: there are `most` entries
 * already. */
struct kernel_entry *registry_entry(struct kernel_registry *registry,
                                    const struct kernel_key *key, int most);

/* Describe the first property that differs between a kernel and the kernel built before
 * it. */
const char *registry_change(const struct kernel_registry *registry,
                            const struct kernel_key *key, char out[REGISTRY_REASON]);

/* Returns 1 if the limit of builds by NVRTC is reached, with one line in `why`. This line
 * is logged once. */
int registry_is_full(const nb_context *ctx, struct kernel_registry *registry,
                     const struct kernel_key *key, char why[REGISTRY_WHY]);

/* End the build of a kernel whose thread has ended: log the result, count it, load the code
 * to the device under `name`, and free the code. The entry is then KERNEL_LOADED, or else
 * KERNEL_ABANDONED with a reason. Failures are reported by context_fall_back(), so that
 * they give NB_OK unless NANOBRAG_STRICT=1. */
nb_status registry_finish(nb_context *ctx, struct gpu_scene *scene,
                          struct kernel_registry *registry, struct kernel_entry *entry,
                          const char *name);

/* Unload a kernel if it is loaded. */
void registry_unload(const struct gpu *gpu, struct kernel_entry *entry);

#endif
