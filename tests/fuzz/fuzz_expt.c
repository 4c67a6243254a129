/*
 * fuzz_expt.c - fuzzes the reader of experiments of DIALS. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "nanobrag_io/experiment/models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    nb_experiment e;
    nb_expt *expt;
    const nb_status opened = expt_open_parse(ctx, "input", data, size, &expt);
    size_t n;
    const nb_expt_image *list = nb_expt_images(expt, &n);

    if (opened != NB_ERR_UNSUPPORTED) fuzz_check(ctx, opened);
    for (size_t i = 0; i < n; i++)
        fuzz_require(list[i].first <= list[i].experiment && list[i].file
                     && list[i].image >= 0);
    nb_expt_free(expt);
    const nb_status status =
        expt_parse(ctx, "input", data, size, &(struct expt_request){0, &e, 1});

    /* so are pixels that are not square: a right file that is not supported */
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
    for (int i = 0; e.geometry && i < e.scene.detector.npanel; i++) {
        const nb_panel *panel = e.scene.detector.panel + i;

        fuzz_require(panel->group >= 0 && panel->group <= e.scene.detector.ngroup);
        fuzz_require(memchr(panel->name, 0, sizeof panel->name) != NULL);
        for (int k = 0; k < 3; k++)
            fuzz_require(isfinite(panel->fast[k]) && isfinite(panel->slow[k])
                         && isfinite(panel->origin[k]));
    }
    for (int g = 0; e.geometry && g < e.scene.detector.ngroup; g++)
        fuzz_require(e.scene.detector.group[g].parent <= g);
    fuzz_require(e.scene.crystal.nlattice >= 0 && e.scene.crystal.nlattice <= 1000);
    for (int l = 0; l < e.scene.crystal.nlattice; l++)
        for (int i = 0; i < 9; i++) fuzz_require(isfinite(e.lattice[l].matrix[i]));
    nb_experiment_clear(&e);
    return 0;
}
