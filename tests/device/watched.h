/*
 * watched.h - a driver (gpu/driver/driver.h) that hands everything on to that of CUDA, and
 * counts. Calls fail and memory runs out as a test asks. The device behind it is the
 * interpreter of tests/ptx, which stays open for the process.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_DEVICE_WATCHED_H
#define NB_TESTS_DEVICE_WATCHED_H

#include "gpu/driver/driver.h"

extern const struct gpu_driver gpu_watched;

/* What a test sets and what it reads; there is one for the process. */
struct watched {
    /* settings */
    int devices; /* the devices that open() finds; initially 1 */
    size_t memory; /* bytes of a device; 0: as many as it has */
    /* The number of the call that fails, counted from 1 by `calls` over opens, allocations,
     * copies, launches and waits; 0: none. An allocation returns NB_ERR_MEMORY, an open
     * NB_ERR_UNSUPPORTED, any other NB_ERR_DEVICE. */
    uint64_t fail_at;
    int built; /* 1: the derivative kernels of class FEW of the build are there */
    int bends; /* 1: kernels that load() loaded change the last bit */
    const void *of_host; /* an address that is not the device's */
    void *foreign; /* a stream that is not the device's */
    /* the number of the recording that fails, counted by `records`; 0: none */
    uint64_t fail_record;
    /* counters */
    uint64_t calls; /* calls that may fail */
    uint64_t uploads, downloads, waits;
    uint64_t uploaded, downloaded; /* bytes */
    /* own_launches: of kernels that load() loaded */
    uint64_t launches[GPU_WORKS], own_launches;
    int most_images; /* the most in one launch */
    uint64_t blocks[GPU_WORKS]; /* blocks of these launches */
    uint64_t records, replays;
    void *stream; /* the stream that was asked for; the work is done in the device's own */
    void *seen[4]; /* the streams of the last upload, download, launch and wait */
    size_t bytes, most_bytes; /* allocated now, and at most at a time */
    /* devices that are open, blocks of memory that are not freed */
    int devices_open, blocks_held;
    int recordings_held, modules_held;
    int pinned; /* blocks of pinned memory */
    uint64_t lacks; /* calls that were made to fail for lack of memory */
    uint64_t overlaps; /* waits for a copy beside which a kernel ran */
    unsigned known; /* frame flags of the kernel loaded last, from its text */
};

extern struct watched watched;

/* Reset settings and counters, except those of what is open or not freed. */
void watched_reset(void);

/* Returns 1 where the interpreter is the device; otherwise a line in `why` says what is. */
int watched_found(char why[256]);

#endif
