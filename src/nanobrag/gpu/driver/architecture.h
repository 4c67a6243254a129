/*
 * architecture.h - chooses the binary form of the kernels that a device can run.
 *
 * Machine code (sm_86) runs on devices of the same major version and the same or a later
 * minor version. PTX (compute_86) is compiled by the driver, for every device of its
 * version or a later one. A name with a letter (sm_90a) is only for that device and is
 * never taken for the number without the letter.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_ARCHITECTURE_H
#define NB_GPU_DRIVER_ARCHITECTURE_H

struct gpu_code {
    int compute; /* 10 major + minor */
    int ptx; /* 1: PTX, 0: machine code */
};

/* Read the targets that `names` lists ("sm_86 sm_90 compute_90"), at most `most` of them.
 * Returns their number. */
int architecture_read(const char *names, struct gpu_code *targets, int most);

/* Returns the index of the best target for a device whose compute capability times 10 is
 * `compute`, or -1 if the device can run none. First choice is machine code of exactly this
 * device, then the newest machine code of its major version below it, then the newest PTX
 * that is not newer than the device. */
int architecture_choose(const struct gpu_code *targets, int n, int compute);

#endif
