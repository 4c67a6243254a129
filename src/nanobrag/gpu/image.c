/*
 * image.c - the kernels as nvcc made them, inside the library. The build names the two
 * files, what they hold and the version of the toolkit (cmake/cuda.cmake).
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/image.h"

#include <stddef.h>

#ifdef GPU_IMAGE_TARGETS

/* the bytes of a file, at an address that loads of 16 bytes may take */
#define INCLUDE_BYTES(symbol, path)                                                        \
    __asm__(".section .rodata,\"a\"\n"                                                     \
            ".balign 16\n"                                                                 \
            ".globl " symbol "\n"                                                          \
            ".hidden " symbol "\n" symbol ":\n"                                            \
            ".incbin \"" path "\"\n"                                                       \
            ".previous\n")

INCLUDE_BYTES("gpu_image_double", GPU_IMAGE_DOUBLE);
INCLUDE_BYTES("gpu_image_single", GPU_IMAGE_SINGLE);

extern const char gpu_image_double[] __attribute__((visibility("hidden")));
extern const char gpu_image_single[] __attribute__((visibility("hidden")));

const struct gpu_image gpu_image = {{gpu_image_double, gpu_image_single},
                                    GPU_IMAGE_TARGETS,
                                    GPU_IMAGE_TOOLKIT};

#else

const struct gpu_image gpu_image = {{NULL, NULL}, "", 0};

#endif
