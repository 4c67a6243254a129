/*
 * fuzz_smv.c - fuzzes the reader of SMV images, and the look-up in their headers.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keywords[] = {"DISTANCE", "ORGX", "PHI", "", "=", "}"};
    nb_context *ctx = fuzz_context();
    const uint16_t *pixels = NULL;
    unsigned sum = 0;
    int nfast = 0, nslow = 0;
    nb_smv *smv;

    fuzz_check(ctx, smv_parse(ctx, "input", data, size, &smv));
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        double value = 0;

        (void)nb_smv_number(smv, keywords[i], &value);
        fuzz_require(isfinite(value));
    }
    nb_smv_image(smv, &nfast, &nslow, &pixels);
    for (int i = 0; pixels && i < nfast * nslow; i++) sum += pixels[i];
    fuzz_require(pixels || sum == 0);
    nb_smv_free(smv);
    return 0;
}
