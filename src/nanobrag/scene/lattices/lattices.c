/*
 * lattices.c - checks further lattices, and makes the scene of one lattice.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/lattices/lattices.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "scene/crystal.h"
#include "scene/reflections/symmetry.h"

/* ---- the list ---- */

/* Checks that n numbers of lattice i lie between `lower` and `upper`; `member` is their
 * name in nb_lattice. */
static nb_status check_range(nb_context *ctx, int i, const char *member, int n,
                             const double *v, double lower, double upper)
{
    const int is_option = !strcmp(member, "misset") || !strcmp(member, "scale");

    for (int k = 0; k < n; k++)
        if (!(v[k] >= lower && v[k] <= upper))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "%s%s %d: %s, number %d, is %g, expected between %g and %g "
                        "(crystal.lattice[%d].%s)",
                        is_option ? "-lattice" : "lattice", is_option ? " number" : "",
                        i + 1, member, k + 1, v[k], lower, upper, i, member);
    return NB_OK;
}

static nb_status check_lattice(nb_context *ctx, int i, const nb_lattice *l)
{
    NB_TRY(check_range(ctx, i, "cell", 3, l->cell, 0, 1e6));
    NB_TRY(check_range(ctx, i, "cell", 6, l->cell, 0, 1e6));
    NB_TRY(check_range(ctx, i, "matrix", 9, l->matrix, -1e6, 1e6));
    NB_TRY(check_range(ctx, i, "misset", 3, l->misset, -1e6, 1e6));
    NB_TRY(check_range(ctx, i, "rotation", 3, l->rotation, -1e6, 1e6));
    NB_TRY(check_range(ctx, i, "scale", 1, &l->scale, 0, 1e30));
    for (int k = 1; k < 6 && !lattices_has_cell(l); k++)
        if (l->cell[k] != 0)
            return fail(ctx, NB_ERR_UNIT_CELL,
                        "lattice %d: a of its cell is 0, expected more than 0 "
                        "(crystal.lattice[%d].cell[0])",
                        i + 1, i);
    return NB_OK;
}

nb_status lattices_validate(nb_context *ctx, const nb_crystal *crystal)
{
    if (crystal->nlattice < 0 || crystal->nlattice > LATTICES_MOST)
        return fail(ctx, NB_ERR_ARGUMENT, "crystal.nlattice is %d, expected 0 to %d",
                    crystal->nlattice, LATTICES_MOST);
    if (crystal->nlattice > 0 && !crystal->lattice)
        return fail(ctx, NB_ERR_ARGUMENT, "crystal.lattice is NULL but nlattice is %d",
                    crystal->nlattice);
    for (int i = 0; i < crystal->nlattice; i++)
        NB_TRY(check_lattice(ctx, i, crystal->lattice + i));
    return NB_OK;
}

nb_status lattices_resolve(nb_context *ctx, nb_scene *scene)
{
    nb_crystal *c = &scene->crystal;
    nb_lattice *list = (nb_lattice *)c->lattice;

    for (int i = 0; i < c->nlattice; i++) {
        nb_lattice *l = list + i;
        nb_crystal own = *c; /* symmetry_resolve() completes the cell of this copy */

        if (l->scale == 0 && !(scene->given & NB_GIVEN_SCALE)) l->scale = 1;
        if (!lattices_has_cell(l)) continue;
        memcpy(own.cell, l->cell, sizeof own.cell);
        NB_TRY(symmetry_resolve(ctx, &own));
        crystal_complete_cell(own.cell);
        memcpy(l->cell, own.cell, sizeof l->cell);
    }
    return NB_OK;
}

/* ---- one lattice ---- */

static int has_matrix(const nb_lattice *l)
{
    int any = 0;

    for (int i = 0; i < 9; i++) any |= l->matrix[i] != 0;
    return any;
}

/* Copies numbers of `from` to the crystal of a scene: cell and matrix if `own` has them,
 * misset and rotation always. Removes the amorphous material. */
static void put(const nb_lattice *own, const nb_lattice *from, nb_scene *to)
{
    nb_crystal *c = &to->crystal;

    if (lattices_has_cell(own)) memcpy(c->cell, from->cell, sizeof c->cell);
    if (has_matrix(own)) memcpy(c->matrix, from->matrix, sizeof c->matrix);
    memcpy(c->misset, from->misset, sizeof c->misset);
    memcpy(c->rotation, from->rotation, sizeof c->rotation);
    to->background.water = 0;
}

void lattices_scene(const nb_scene *scene, int i, nb_scene *out)
{
    const nb_lattice *l;

    *out = *scene;
    if (i == 0) return;
    l = scene->crystal.lattice + i - 1;
    put(l, l, out);
    out->crystal.scale *= l->scale;
}

void lattices_scene_tangent(const nb_scene *scene, const nb_scene *dot, int i,
                            nb_scene *out)
{
    static const nb_lattice none;
    const nb_lattice *l, *change;

    *out = *dot;
    if (i == 0) return;
    l = scene->crystal.lattice + i - 1;
    change = dot->crystal.lattice ? dot->crystal.lattice + i - 1 : &none;
    put(l, change, out);
    out->crystal.scale =
        dot->crystal.scale * l->scale + scene->crystal.scale * change->scale;
}
