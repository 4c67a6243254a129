/*
 * fatbin.c - the kernels compiled by nvcc, embedded in the library. The build
 * (cmake/cuda.cmake) defines the folder of the files, their contents, the version of the
 * toolkit, and FATBIN_VARIANTS, the list of kernels/variants.def. This file also has the
 * names of the kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/driver/fatbin.h"

#include <stddef.h>

#include "gpu/driver/driver.h"

#ifdef FATBIN_TARGETS

/* Embed the bytes of a file at an address aligned for loads of 16 bytes. */
#define INCLUDE_BYTES(name)                                                                \
    __asm__(".section .rodata,\"a\"\n"                                                     \
            ".balign 16\n"                                                                 \
            ".globl gpu_fatbin_" #name "\n"                                                \
            ".hidden gpu_fatbin_" #name "\n"                                               \
            "gpu_fatbin_" #name ":\n"                                                      \
            ".incbin \"" FATBIN_FOLDER "/kernels_" #name ".fatbin\"\n"                     \
            ".previous\n");                                                                \
    extern const char gpu_fatbin_##name[] __attribute__((visibility("hidden")))

INCLUDE_BYTES(double);
INCLUDE_BYTES(single);
INCLUDE_BYTES(noise);
#define VARIANT(shape, lookup)                                                             \
    INCLUDE_BYTES(few_double_##shape##_##lookup);                                          \
    INCLUDE_BYTES(few_single_##shape##_##lookup);
FATBIN_VARIANTS
#undef VARIANT

const struct gpu_fatbin gpu_fatbin = {
    {gpu_fatbin_double, gpu_fatbin_single, gpu_fatbin_noise},
    FATBIN_TARGETS,
    FATBIN_TOOLKIT,
    {
        {
#define VARIANT(shape, lookup)                                                             \
    [PHYS_##shape][PHYS_##lookup] = gpu_fatbin_few_double_##shape##_##lookup,
            FATBIN_VARIANTS
#undef VARIANT
        },
        {
#define VARIANT(shape, lookup)                                                             \
    [PHYS_##shape][PHYS_##lookup] = gpu_fatbin_few_single_##shape##_##lookup,
            FATBIN_VARIANTS
#undef VARIANT
        },
    },
};

#else

const struct gpu_fatbin gpu_fatbin = {{NULL, NULL, NULL}, "", 0, {{{NULL}}}};

#endif

const char *gpu_kernel_name(const struct gpu_kernel *kernel)
{
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = "image_" #shape "_" #lookup,
    static const char *const images[PHYS_SHAPES][PHYS_LOOKUPS] = {
#include "kernels/variants.def"
    };
#undef VARIANT

    if (kernel->work == GPU_FINISH) return "finish";
    if (kernel->work == GPU_LOSS) return "finish_loss";
    if (kernel->work == GPU_SUM) return "sum";
    if (kernel->work == GPU_BRIGHTEST) return "brightest";
    if (kernel->work == GPU_COUNT) return "count";
    /* for messages; the kernels are built at run time */
    if (kernel->work == GPU_DERIVATIVES) return "derivatives";
    if (kernel->work == GPU_F) return "structure factors";
    return images[kernel->shape][kernel->lookup];
}
