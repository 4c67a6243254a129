/*
 * emulated.h - a driver (gpu/driver/driver.h) whose device is this machine: its memory is
 * the heap's, addresses are pointers, and a launch runs the kernels' text block by block.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_EMULATED_H
#define NB_TESTS_EMULATED_H

#include "gpu/driver/driver.h"
#include "physics/spec.h"

extern const struct gpu_driver gpu_emulated;

enum emulated_order { EMULATED_IN_ORDER, EMULATED_REVERSED, EMULATED_SHUFFLED };

/* what a test turns and what it reads; one for the process */
struct emulated {
    /* knobs */
    int order; /* enum emulated_order, of the blocks of a launch */
    int threads; /* that share the blocks; 0: 1 */
    int devices; /* that open() finds; 1 at first */
    size_t memory; /* bytes of a device, 0: as many as the heap has */
    /* The call of this number, counted from 1 by `calls`, fails: opens, allocations,
     * copies, launches and waits. Allocations report NB_ERR_MEMORY, an open
     * NB_ERR_UNSUPPORTED, all others NB_ERR_DEVICE. 0: none does */
    uint64_t fail_at;
    int bends; /* 1: kernels of load() give another last bit */
    const void *of_host; /* an address that is none of the device's */
    void *foreign; /* a stream that is none of the device's */
    uint64_t fail_record; /* and so does the recording of this number, `records` */
    /* counters */
    uint64_t calls; /* of those that may fail */
    uint64_t opened, allocations, uploads, downloads, waits;
    uint64_t uploaded, downloaded; /* bytes */
    uint64_t launches[GPU_WORKS], own_launches; /* of load() */
    int most_images; /* of a launch */
    uint64_t blocks[GPU_WORKS]; /* of these launches */
    uint64_t records, replays;
    void *stream; /* in use */
    void *seen[4]; /* that of the last upload, download, launch and wait */
    size_t bytes, most_bytes; /* allocated: now, and at most at a time */
    int devices_open, blocks_held; /* of memory */
    int recordings_held, modules_held;
    unsigned known; /* of the last kernel that was loaded */
};

extern struct emulated emulated;

/* Kernels of derivatives (jacobian_kernels.h), in double and in float: set by tests that
 * link them, else NULL, and then their launches fail. */
struct jacobian_kernels;
extern const struct jacobian_kernels *emulated_rows[2];

/* Knobs and counters as at the start, but for what is open and held. */
void emulated_reset(void);

/* ---- the kernels' text, compiled in double and in float: emulated_kernels.c ---- */

/* What the kernels know of their frame: bits of enum gpu_frame_flags. Those of the build
 * know nothing; the code of load() says it, as a test's NVRTC wrote it. */
extern unsigned emulated_known;

typedef void emulated_block(const void *parameters, int number);

struct emulated_kernels {
    emulated_block *image[PHYS_SHAPES][PHYS_LOOKUPS];
    emulated_block *finish, *loss, *sum;
};

extern const struct emulated_kernels emulated_double, emulated_single;

/* those of noise.cu, without contraction: emulated_noise.c */
extern emulated_block emulated_count, emulated_brightest;

#endif
