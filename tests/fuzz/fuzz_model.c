/*
 * fuzz_model.c - fuzzes the readers of models of atoms, PDB and mmCIF, compressed or not;
 * of a small one also its structure factors and their gradient.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include <nanobrag/structure.h>

#include "fuzz.h"
#include "nanobrag_io/expand.h"
#include "nanobrag_model/read.h"

enum { ATOMS = 20, EXPANDED = 1 << 20 };

static void calculate(nb_context *ctx, const nb_structure *structure)
{
    const nb_fcalc how = {.dmin = 9, .wavelength = 1.1};
    static double f[1 << 14], bar[ATOMS * NB_ATOM_NUMBERS];
    nb_hkl *list;
    const nb_status status = nb_structure_fcalc(ctx, structure, &how, NULL, &list);
    size_t n;

    fuzz_require(status == NB_OK || status == NB_ERR_FORMAT || status == NB_ERR_ARGUMENT);
    if (status != NB_OK) return;
    n = nb_hkl_reflections(list, NULL, NULL);
    if (n <= sizeof f / sizeof *f) {
        memset(bar, 0, sizeof bar);
        (void)nb_hkl_reflections(list, NULL, f);
        for (size_t i = 0; i < n; i++) fuzz_require(isfinite(f[i]));
        fuzz_require(nb_structure_vjp(ctx, structure, &how, NULL, list, f, bar) == NB_OK);
        for (size_t i = 0; i < sizeof bar / sizeof *bar; i++)
            fuzz_require(isfinite(bar[i]));
    }
    nb_hkl_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nb_context *ctx = fuzz_context();
    const struct expand_limits limits = {EXPANDED, EXPANDED};
    unsigned char *expanded;
    size_t nexpanded;
    nb_structure *structure = NULL;
    nb_crystal_info crystal;
    nb_status status =
        expand_bytes(ctx, "input", data, size, limits, &expanded, &nexpanded);

    fuzz_check(ctx, status);
    if (status != NB_OK) return 0;
    status = structure_parse(ctx, "input", expanded ? expanded : data,
                             expanded ? nexpanded : size, &structure);
    fuzz_check(ctx, status);
    fuzz_require((status == NB_OK) == (structure != NULL));
    if (structure) {
        nb_structure_crystal(structure, &crystal);
        fuzz_require(nb_structure_natom(structure) > 0 && crystal.noperator > 0);
        /* the list of a large cell takes long */
        if (nb_structure_natom(structure) <= ATOMS && crystal.cell[0] < 100
            && crystal.cell[1] < 100 && crystal.cell[2] < 100)
            calculate(ctx, structure);
    }
    nb_structure_free(structure);
    free(expanded);
    return 0;
}
