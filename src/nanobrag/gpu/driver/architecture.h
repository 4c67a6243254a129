/*
 * architecture.h - which of the kernels' forms a device takes.
 *
 * Machine code (sm_86) runs on devices of the same major version from its own minor on;
 * PTX (compute_86) is compiled by the driver for every device from its own version on.
 * Names with a letter (sm_90a) promise nothing to another device and are never taken for
 * the number without it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_DRIVER_ARCHITECTURE_H
#define NB_GPU_DRIVER_ARCHITECTURE_H

struct gpu_target {
    int compute; /* 10 major + minor */
    int ptx; /* 1: PTX, 0: machine code */
};

/* The targets that `names` lists ("sm_86 sm_90 compute_90"), at most `most` of them;
 * returns how many. */
int architecture_read(const char *names, struct gpu_target *targets, int most);

/*
 * The target for a device of 10 major + minor `compute`, as its place, or -1 when the
 * device can run none: machine code of just this device, else the newest of its major
 * version below, else the newest PTX that is not newer than the device.
 */
int architecture_choose(const struct gpu_target *targets, int n, int compute);

#endif
