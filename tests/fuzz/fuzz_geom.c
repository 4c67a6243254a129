/*
 * fuzz_geom.c - fuzzes the reader of geometry files of CrystFEL. SPDX-License-Identifier:
 * MIT
 */
#include <ctype.h>
#include <math.h>

#include <nanobrag/geometry.h>

#include "fuzz.h"
#include "nanobrag_io/geometry/geom.h"

/* Returns 1 if no number has four digits in a row: an image of more pixels takes its time
 * to mask, and finds nothing new. */
static int is_small(const uint8_t *data, size_t size)
{
    int digits = 0;

    for (size_t i = 0; i < size; i++) {
        digits = isdigit(data[i]) ? digits + 1 : 0;
        if (digits > 3) return 0;
    }
    return 1;
}

static void check_scene(const nb_geometry *g, int convention)
{
    nb_scene s = {.beam = {.wavelength = 1},
                  .detector = {.convention = convention, .distance = 100}};
    const nb_detector *d = &s.detector;

    fuzz_require(nb_geometry_apply(g, &s) == NB_OK);
    fuzz_require(d->npanel > 0 && d->nslow > 0 && d->nfast > 0);
    for (int i = 0; i < d->npanel; i++) {
        const nb_panel *p = d->panel + i;

        fuzz_require(p->group >= 0 && p->group <= d->ngroup);
        fuzz_require(p->fast0 >= 0 && p->fast0 + p->nfast <= d->nfast);
        fuzz_require(p->slow0 >= 0 && p->slow0 + p->nslow <= d->nslow);
        for (int k = 0; k < 3; k++)
            fuzz_require(isfinite(p->fast[k]) && isfinite(p->slow[k]));
    }
    for (int i = 0; i < d->ngroup; i++)
        fuzz_require(d->group[i].parent >= 0 && d->group[i].parent <= i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    nb_geometry *g;
    nb_status status;

    if (!is_small(data, size)) return 0;
    status = geom_parse(ctx, "input", data, size, &g);
    if (status != NB_ERR_UNSUPPORTED) fuzz_check(ctx, status);
    fuzz_require((status == NB_OK) == (g != NULL));
    if (status != NB_OK) return 0;
    check_scene(g, NB_CONVENTION_MOSFLM);
    check_scene(g, NB_CONVENTION_XDS);
    nb_geometry_free(g);
    return 0;
}
