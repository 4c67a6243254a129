/*
 * emulated_noise.c - the source of noise.cu as C functions for one block each: see
 * emulated_kernels.c. It is compiled without contraction, as the library is.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "emulation/emulated.h"
#include "gpu/text/count_block.h"

void emulated_count(const void *parameters, int number)
{
    struct count_shared shared;

    memset(&shared, 0xff, sizeof shared);
    count_block(parameters, number, &shared);
}

void emulated_brightest(const void *parameters, int number)
{
    struct count_shared shared;

    memset(&shared, 0xff, sizeof shared);
    brightest_block(parameters, number, &shared);
}
