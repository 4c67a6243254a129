/*
 * fuzz_mtz.c - fuzzes the readers of reflections with a space group, MTZ and mmCIF.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "fuzz.h"
#include "nanobrag_io/mtz.h"

static void read_reflections(const uint8_t *data, size_t size, const char *label)
{
    nb_context *ctx = fuzz_context();
    const struct mtz_bytes bytes = {(const char *)data, size, label, (int)(size % 5)};
    nb_crystal_info crystal;
    nb_hkl *list = NULL;
    const nb_status status = mtz_parse(ctx, "input", &bytes, &crystal, &list);

    fuzz_check(ctx, status);
    fuzz_require((status == NB_OK) == (list != NULL));
    if (list) {
        nb_hkl_info info;

        nb_hkl_info_get(list, &info);
        fuzz_require(info.count >= 1 && crystal.noperator >= 1);
        for (int i = 0; i < 6; i++) fuzz_require(isfinite(crystal.cell[i]));
    }
    nb_hkl_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_reflections(data, size, NULL);
    read_reflections(data, size, "F");
    return 0;
}
