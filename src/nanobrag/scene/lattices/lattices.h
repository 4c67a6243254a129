/*
 * lattices.h - the lattices of a crystal. The image is the sum over the lattices. For each
 * lattice the scene of the user is computed with that lattice in place of the crystal's
 * own. Amorphous material belongs to the first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_LATTICES_LATTICES_H
#define NB_SCENE_LATTICES_LATTICES_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

enum { LATTICES_MOST = 1000 };

/* Returns how many lattices there are, with the crystal's own. */
static inline int lattices_count(const nb_scene *scene)
{
    return 1 + scene->crystal.nlattice;
}

/* Returns 1 if a further lattice has a cell of its own. */
static inline int lattices_has_cell(const nb_lattice *lattice)
{
    return lattice->cell[0] != 0;
}

/* Checks the list and its numbers. Errors: NB_ERR_ARGUMENT, NB_ERR_UNIT_CELL. */
nb_status lattices_validate(nb_context *ctx, const nb_crystal *crystal);

/* Fills the defaults of the further lattices, whose list belongs to the simulator. Errors:
 * NB_ERR_SCENE for a cell that contradicts the crystal system. */
nb_status lattices_resolve(nb_context *ctx, nb_scene *scene);

/* Writes the scene of lattice i; 0 is the crystal's own. */
void lattices_scene(const nb_scene *scene, int i, nb_scene *out);

/* Writes the tangent of lattices_scene(); `dot` is the tangent of the scene. If the list of
 * lattices in `dot` is NULL, its tangent is 0. */
void lattices_scene_tangent(const nb_scene *scene, const nb_scene *dot, int i,
                            nb_scene *out);

#endif
