/*
 * fatbin.c - the kernels compiled by nvcc, embedded in the library. The build names the
 * files, their contents and the version of the toolkit (cmake/cuda.cmake).
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/driver/fatbin.h"

#include <stddef.h>

#ifdef FATBIN_TARGETS

/* Embed the bytes of a file at an address aligned for loads of 16 bytes. */
#define INCLUDE_BYTES(symbol, path)                                                        \
    __asm__(".section .rodata,\"a\"\n"                                                     \
            ".balign 16\n"                                                                 \
            ".globl " symbol "\n"                                                          \
            ".hidden " symbol "\n" symbol ":\n"                                            \
            ".incbin \"" path "\"\n"                                                       \
            ".previous\n")

INCLUDE_BYTES("gpu_fatbin_double", FATBIN_DOUBLE);
INCLUDE_BYTES("gpu_fatbin_single", FATBIN_SINGLE);
INCLUDE_BYTES("gpu_fatbin_noise", FATBIN_NOISE);

extern const char gpu_fatbin_double[] __attribute__((visibility("hidden")));
extern const char gpu_fatbin_single[] __attribute__((visibility("hidden")));
extern const char gpu_fatbin_noise[] __attribute__((visibility("hidden")));

const struct gpu_fatbin gpu_fatbin = {{gpu_fatbin_double, gpu_fatbin_single,
                                       gpu_fatbin_noise},
                                      FATBIN_TARGETS,
                                      FATBIN_TOOLKIT};

#else

const struct gpu_fatbin gpu_fatbin = {{NULL, NULL, NULL}, "", 0};

#endif
