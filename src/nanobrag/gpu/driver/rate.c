/*
 * rate.c - how fast a device is, estimated from its properties. The choice between host and
 * device and the size of launches are based on this.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/driver/driver.h"

/* Samples a second of a multiprocessor in float, and the speed in double over the speed in
 * float. Both are assumed, not measured. Devices of capability 6.0, 7.0, 8.0, 9.0 and 10.0
 * have half the speed in double. All other devices have 1/64 of the units for double. They
 * are slower by less than 64 times, because a sample in float is not all arithmetic: expect
 * 6.5e9 samples a second in double for 1.3e11 in float. */
static const double of_processor = 1e9;
static const double double_full = 0.5, double_rest = 1.0 / 20;

double gpu_rate(const struct gpu_properties *properties, int single)
{
    const int full =
        properties->minor == 0 && properties->major >= 6 && properties->major <= 10;
    const double rate = of_processor * properties->processors;

    if (single) return rate;
    return rate * (full ? double_full : double_rest);
}
