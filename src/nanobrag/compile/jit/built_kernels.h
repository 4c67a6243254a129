/*
 * built_kernels.h - the kernels of one kind that were built at run time for a device: each
 * is found by its key, the properties that it was built for. NVRTC builds at most
 * env.recompile_limit of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_JIT_BUILT_KERNELS_H
#define NB_COMPILE_JIT_BUILT_KERNELS_H

#include "compile/jit/build.h"
#include "gpu/driver/gpu_scene.h"

/* the properties that a kernel is built for */
struct kernel_key {
    int shape, lookup, single;
    unsigned frame_flags; /* of an image kernel: enum gpu_frame_flags; else 0 */
    const char *class; /* of a derivative kernel, a text that stays; else NULL */
};

enum kernel_state {
    KERNEL_NEW, /* not built */
    KERNEL_BEING_BUILT,
    KERNEL_LOADED, /* built, but not verified in any scene (hot.c) */
    KERNEL_IN_USE,
    KERNEL_ABANDONED /* not built, or not used, for good */
};

enum {
    REGISTRY_NAME = 64, /* bytes of a kernel's name in the texts */
    REGISTRY_REASON = 96,
    REGISTRY_WHY = 384,
    REGISTRY_MOST = 160 /* all derivative kernels; hot.c uses fewer */
};

struct kernel_entry {
    struct kernel_key key;
    enum kernel_state state;
    int uses; /* counted until an image kernel is built */
    void *module; /* of the driver; NULL: not loaded */
    char why[REGISTRY_WHY]; /* why it was abandoned; "": no reason is known */
};

/* Kernels beyond REGISTRY_MOST are never built. */
struct kernel_registry {
    const char *kind; /* for messages: "image kernels" */
    struct kernel_entry entries[REGISTRY_MOST];
    int n;
    int builds; /* builds by NVRTC, which count towards the limit */
    int limit_reported;
    struct kernel_key last; /* of the kernel built last */
    char nvrtc_missing[REGISTRY_WHY]; /* why NVRTC cannot be opened; "": no failure is
                                         known */
    enum { NVRTC_UNKNOWN, NVRTC_THERE, NVRTC_ABSENT } nvrtc; /* as derivatives have found */
    struct kernel_entry *building; /* NULL: no build is running in the background */
    struct build build;
};

/* Get a registry, made when it is first asked for; NULL: there is no memory. */
struct kernel_registry *registry_open(struct kernel_registry **registry, const char *kind);

/* Stop a running build, unload all kernels and free the registry, which may be NULL. */
void registry_close(const struct gpu *gpu, struct kernel_registry **registry);

/* Find or add the entry of a kernel; NULL: there are `most` entries already. */
struct kernel_entry *registry_entry(struct kernel_registry *registry,
                                    const struct kernel_key *key, int most);

/* Describe the first property that differs between a kernel and the one built before it. */
const char *registry_change(const struct kernel_registry *registry,
                            const struct kernel_key *key, char out[REGISTRY_REASON]);

/* 1 when the limit of builds by NVRTC is reached, with one line in `why`; it is reported
 * once. */
int registry_is_full(const nb_context *ctx, struct kernel_registry *registry,
                     const struct kernel_key *key, char why[REGISTRY_WHY]);

/*
 * End the build of a kernel whose thread has ended: log it, count it, load its code to the
 * device under `name`, and free the code. The entry is then KERNEL_LOADED, or else
 * KERNEL_ABANDONED with a reason. Failures are reported by context_fall_back() and so give
 * NB_OK unless NANOBRAG_STRICT=1.
 */
nb_status registry_finish(nb_context *ctx, struct gpu_scene *scene,
                          struct kernel_registry *registry, struct kernel_entry *entry,
                          const char *name);

/* Unload a kernel, which may not be loaded. */
void registry_unload(const struct gpu *gpu, struct kernel_entry *entry);

#endif
