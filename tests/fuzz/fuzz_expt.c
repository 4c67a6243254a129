/*
 * fuzz_expt.c - fuzzes the reader of experiments of DIALS. SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "fuzz.h"
#include "io/experiment/models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    nb_experiment e;
    const nb_status status =
        expt_parse(ctx, "input", data, size, &(struct expt_request){0, &e});

    /* several panels are a right file that is not supported */
    if (status != NB_ERR_UNSUPPORTED) fuzz_check(ctx, status);
    fuzz_require(status == NB_OK || e.found == 0);
    if (status != NB_OK) return 0;
    fuzz_require(e.count >= 1 && e.images >= 0);
    for (int i = 0; i < 9; i++) fuzz_require(isfinite(e.scene.crystal.matrix[i]));
    for (int i = 0; i < 3; i++) {
        fuzz_require(isfinite(e.scene.detector.origin[i]));
        fuzz_require(isfinite(e.scene.beam.direction[i]));
        fuzz_require(isfinite(e.scene.scan.axis[i]));
    }
    return 0;
}
