/*
 * fuzz_hkl.c - fuzzes the reader of reflection lists in text.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "fuzz.h"

static void read_list(file_parser *parse, const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    nb_hkl *hkl;
    const nb_status status = parse(ctx, "input", data, size, &hkl);

    fuzz_check(ctx, status);
    if (status == NB_OK) {
        nb_hkl_info info;
        double f = 0;

        nb_hkl_info_get(hkl, &info);
        fuzz_require(info.count >= 1);
        if (nb_hkl_get(hkl, info.min[0], info.min[1], info.min[2], &f))
            fuzz_require(isfinite(f));
        fuzz_require(!nb_hkl_get(hkl, info.max[0] + 1, info.max[1], info.max[2], &f));
    }
    nb_hkl_free(hkl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_list(hkl_parse, data, size);
    read_list(hkl_parse_groups, data, size);
    return 0;
}
