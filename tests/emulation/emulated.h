/*
 * emulated.h - a driver (gpu/driver/driver.h) whose device is the host: its memory is the
 * heap, its addresses are pointers, and a launch runs the source of the kernels block by
 * block. Whatever is requested is done when it is waited for and no earlier, and copies
 * beside kernels after all that was requested meanwhile: what reads or overwrites memory
 * too early shows in the results.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_EMULATED_H
#define NB_TESTS_EMULATED_H

#include "gpu/driver/driver.h"
#include "physics/spec.h"

extern const struct gpu_driver gpu_emulated;

enum emulated_order { EMULATED_IN_ORDER, EMULATED_REVERSED, EMULATED_SHUFFLED };

/* What a test sets and what it reads; there is one for the process. */
struct emulated {
    /* settings */
    int order; /* enum emulated_order: the order of the blocks of a launch */
    int threads; /* threads that share the blocks; 0: 1 */
    int devices; /* the devices that open() finds; initially 1 */
    size_t memory; /* bytes of a device; 0: as many as the heap has */
    /* The number of the call that fails, counted from 1 by `calls` over opens, allocations,
     * copies, launches and waits; 0: none. An allocation returns NB_ERR_MEMORY, an open
     * NB_ERR_UNSUPPORTED, any other NB_ERR_DEVICE. */
    uint64_t fail_at;
    int built; /* 1: the build has derivative kernels of class FEW */
    int bends; /* 1: kernels that load() loaded change the last bit */
    int early; /* 1: rounds as devices before 8.6 (physics/phys.h) */
    const void *of_host; /* an address that is not the device's */
    void *foreign; /* a stream that is not the device's */
    /* the number of the recording that fails, counted by `records`; 0: none */
    uint64_t fail_record;
    /* counters */
    uint64_t calls; /* calls that may fail */
    uint64_t opened, allocations, uploads, downloads, waits;
    uint64_t uploaded, downloaded, zeroed; /* bytes */
    /* own_launches: of kernels that load() loaded */
    uint64_t launches[GPU_WORKS], own_launches;
    int most_images; /* the most in one launch */
    uint64_t blocks[GPU_WORKS]; /* blocks of these launches */
    uint64_t records, replays;
    void *stream; /* the stream in use */
    void *seen[4]; /* the streams of the last upload, download, launch and wait */
    size_t bytes, most_bytes; /* allocated now, and at most at a time */
    /* devices that are open, blocks of memory that are not freed */
    int devices_open, blocks_held;
    int recordings_held, modules_held;
    int pinned; /* blocks of pinned memory */
    uint64_t lacks; /* calls that were made to fail for lack of memory */
    uint64_t overlaps; /* waits for a copy beside which a kernel ran */
    unsigned known; /* frame flags of the kernel loaded last */
};

extern struct emulated emulated;

/* The kernels of derivatives (jacobian_kernels.h), in double and in float. Tests that link
 * them set these; otherwise they are NULL, and their launches fail. */
struct jacobian_kernels;
extern const struct jacobian_kernels *emulated_jacobian[2];

/* Reset settings and counters, except those of what is open or not freed. */
void emulated_reset(void);

/* ---- the kernels' source, compiled in double and in float: emulated_kernels.c ---- */

/* The facts about the frame that a kernel is compiled for, as bits of enum gpu_frame_flags.
 * Kernels of the build have none; those of load() read them from the code that the fake
 * NVRTC wrote. */
extern unsigned emulated_known;

typedef void emulated_block(const void *parameters, int number);

struct emulated_kernels {
    emulated_block *image[PHYS_SHAPES][PHYS_LOOKUPS];
    emulated_block *finish, *loss, *sum;
};

/* `rounding` is in float by the instructions that round, `single` by sums. */
extern const struct emulated_kernels emulated_double, emulated_single, emulated_rounding;

/* The kernels of noise.cu, compiled without contraction (emulated_noise.c). */
extern emulated_block emulated_count, emulated_brightest;

#endif
