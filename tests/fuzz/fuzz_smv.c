/*
 * fuzz_smv.c - fuzzes the reader of SMV images, and the look-up in their headers.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include <nanobrag/experiment.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keywords[] = {"DISTANCE", "ORGX", "PHI", "", "=", "}"};
    nb_context *ctx = fuzz_context();
    double *pixels;
    int nfast = 0, nslow = 0, bits = 0, read;
    nb_experiment experiment;
    nb_status status;
    nb_smv *smv;

    status = smv_parse(ctx, "input", data, size, &smv);
    if (status != NB_ERR_UNSUPPORTED) fuzz_check(ctx, status);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        double value = 0;

        (void)nb_smv_number(smv, keywords[i], &value);
        fuzz_require(isfinite(value));
        (void)nb_smv_search(smv, keywords[i], &value);
        fuzz_require(isfinite(value));
    }
    nb_smv_image(smv, &nfast, &nslow, NULL, &bits);
    if (bits > 0) {
        pixels = malloc((size_t)nfast * (size_t)nslow * sizeof *pixels);
        read = nb_smv_pixels(smv, pixels);
        fuzz_require(!pixels || read);
        free(pixels);
    }
    if (smv && nb_smv_experiment(ctx, smv, "input", &experiment) == NB_OK)
        fuzz_require(!experiment.geometry);
    nb_smv_free(smv);
    return 0;
}
