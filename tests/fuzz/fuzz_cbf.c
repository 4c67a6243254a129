/*
 * fuzz_cbf.c - fuzzes the reader of CBF. SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "fuzz.h"
#include "nanobrag_io/measured/measured.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    nb_measured *image;
    const nb_status status = cbf_parse(ctx, "input", data, size, &image);

    if (status != NB_ERR_UNSUPPORTED) fuzz_check(ctx, status);
    fuzz_require((status == NB_OK) == (image != NULL));
    for (int i = 0; image && i < image->nfast * image->nslow; i++)
        fuzz_require(!image->mask || image->mask[i] <= 1);
    if (image)
        fuzz_require(image->gain > 0 && image->npanel > 0 && !isinf(image->wavelength)
                     && !isinf(image->osc_start));
    nb_measured_free(image);
    return 0;
}
