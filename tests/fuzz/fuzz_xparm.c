/*
 * fuzz_xparm.c - fuzzes the reader of XPARM.XDS. SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "fuzz.h"
#include "nanobrag_io/experiment/models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    nb_experiment e;
    const nb_status status = xparm_parse(ctx, "input", data, size, &e);

    if (status != NB_ERR_UNSUPPORTED) fuzz_check(ctx, status);
    fuzz_require(status == NB_OK || e.found == 0);
    if (status != NB_OK) return 0;
    for (int i = 0; i < 9; i++) fuzz_require(isfinite(e.scene.crystal.matrix[i]));
    for (int i = 0; i < 3; i++) fuzz_require(isfinite(e.scene.detector.origin[i]));
    return 0;
}
