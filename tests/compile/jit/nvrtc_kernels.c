/*
 * nvrtc_kernels.c - the kernels of the GPU are compiled, each alone and all at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "compile/jit/nvrtc_cases.h"
#include "support/files.h"
#include "support/tap.h"

/* whether the code names it */
static int names(const struct cubin *cubin, const char *name)
{
    const size_t n = strlen(name) + 1;

    for (size_t i = 0; i + n <= cubin->size; i++)
        if (memcmp(cubin->bytes + i, name, n) == 0) return 1;
    return 0;
}

static const struct {
    const char *shape, *lookup;
} variants[] = {
#define VARIANT(shape, lookup) {#shape, #lookup},
#include "kernels/variants.def"
#undef VARIANT
};

/* variant `number` and no other; with the time it took */
static double check_variant(int number, int single, int device)
{
    struct nvrtc_request request = request_for(sources_find("gpu/text/kernels.cu"));
    struct nvrtc_target target;
    struct cubin cubin = {0};
    char name[64];
    double took;

    nvrtc_option(&request, "-DGPU_ONLY_SHAPE=%s", variants[number].shape);
    nvrtc_option(&request, "-DGPU_ONLY_LOOKUP=%s", variants[number].lookup);
    if (single) nvrtc_option(&request, "-DPHYS_SINGLE");
    check_ok(nvrtc_aim(&nvrtc, device / 10, device % 10, &target, why), "aim");
    if (!build(&request, &target, &cubin, &took)) return took;
    for (size_t i = 0; i < COUNT(variants); i++) {
        (void)snprintf(name, sizeof name, "image_%s_%s", variants[i].shape,
                       variants[i].lookup);
        if (names(&cubin, name) != ((int)i == number))
            tap_check(0, "%s: whether it is there", name);
    }
    tap_check(cubin.size > 1000, "%s %s in %s for %s: %zu bytes in %.2f s",
              variants[number].shape, variants[number].lookup, single ? "float" : "double",
              target.name, cubin.size, took);
    cubin_free(&cubin);
    return took;
}

int one_variant(void)
{
    if (no_library()) return tap_skip("%s", why);
    for (int single = 0; single < 2; single++) (void)check_variant(1, single, 90);
    return TAP_PASS;
}

/* every variant, and every architecture with one of them */
int every_variant(void)
{
    int numbers[64], n;
    double total = 0;

    if (no_library()) return tap_skip("%s", why);
    n = known_targets(numbers);
    for (int single = 0; single < 2; single++) {
        for (int i = 0; i < (int)COUNT(variants); i++)
            total += check_variant(i, single, 90);
        for (int i = 0; i < n; i++)
            total += check_variant(i % (int)COUNT(variants), single, numbers[i]);
    }
    tap_note("%.1f s in all", total);
    return TAP_PASS;
}

/* all in one, as nvcc compiles them */
int all_variants(void)
{
    struct nvrtc_request request = request_for(sources_find("gpu/text/kernels.cu"));
    struct nvrtc_target target;
    struct cubin cubin;
    char name[64];
    double took;

    if (no_library()) return tap_skip("%s", why);
    check_ok(nvrtc_aim(&nvrtc, 9, 0, &target, why), "aim");
    if (!build(&request, &target, &cubin, &took)) return TAP_PASS;
    for (size_t i = 0; i < COUNT(variants); i++) {
        (void)snprintf(name, sizeof name, "image_%s_%s", variants[i].shape,
                       variants[i].lookup);
        tap_check(names(&cubin, name), "%s is there", name);
    }
    tap_note("%zu bytes in %.2f s", cubin.size, took);
    cubin_free(&cubin);
    return TAP_PASS;
}
