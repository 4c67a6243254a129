/*
 * fuzz_fdump.c - fuzzes the reader of binary dumps of reflections.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    nb_hkl *hkl;
    const nb_status status = fdump_parse(ctx, "input", data, size, &hkl);

    fuzz_check(ctx, status);
    if (status == NB_OK) {
        nb_hkl_info info;
        double f;
        size_t cells = 1;

        nb_hkl_info_get(hkl, &info);
        for (int i = 0; i < 3; i++) cells *= (size_t)(info.max[i] - info.min[i] + 1);
        fuzz_require(info.count == cells);
        fuzz_require(nb_hkl_get(hkl, info.min[0], info.min[1], info.min[2], &f));
        fuzz_require(nb_hkl_get(hkl, info.max[0], info.max[1], info.max[2], &f));
    }
    nb_hkl_free(hkl);
    return 0;
}
