/*
 * architecture.h - which of the kernels' binary forms a device can run.
 *
 * Machine code (sm_86) runs on devices of the same major version and the same or a later
 * minor one; PTX (compute_86) is compiled by the driver for every device of its own version
 * or later. A name with a letter (sm_90a) is only for that device and is never taken for
 * the number without the letter.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_ARCHITECTURE_H
#define NB_GPU_DRIVER_ARCHITECTURE_H

struct gpu_code {
    int compute; /* 10 major + minor */
    int ptx; /* 1: PTX, 0: machine code */
};

/* Read the targets that `names` lists ("sm_86 sm_90 compute_90"), at most `most` of them;
 * returns how many. */
int architecture_read(const char *names, struct gpu_code *targets, int most);

/*
 * Choose the target for a device of 10 major + minor `compute`; returns its index, or -1
 * when the device can run none. First choice: machine code of exactly this device. Then the
 * newest machine code of its major version below it. Then the newest PTX that is not newer
 * than the device.
 */
int architecture_choose(const struct gpu_code *targets, int n, int compute);

#endif
