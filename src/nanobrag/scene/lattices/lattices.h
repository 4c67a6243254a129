/*
 * lattices.h - the lattices of a crystal. The image is a sum over the lattices: for each
 * one the scene is computed with that lattice in place of the crystal's own lattice.
 * Amorphous material is computed with the crystal's own lattice only.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_LATTICES_LATTICES_H
#define NB_SCENE_LATTICES_LATTICES_H

#include <nanobrag/context.h>
#include <nanobrag/scene.h>

enum { LATTICES_MOST = 1000 };

/* Returns the number of lattices, the crystal's own one included. */
static inline int lattices_count(const nb_scene *scene)
{
    return 1 + scene->crystal.nlattice;
}

/* Returns 1 if a further lattice has a cell of its own. */
static inline int lattices_has_cell(const nb_lattice *lattice)
{
    return lattice->cell[0] != 0;
}

/* Checks the list of further lattices and its numbers. Errors: NB_ERR_ARGUMENT,
 * NB_ERR_UNIT_CELL. */
nb_status lattices_validate(nb_context *ctx, const nb_crystal *crystal);

/* Fills the defaults of the further lattices, whose list belongs to the simulator. Errors:
 * NB_ERR_SCENE for a cell that contradicts the crystal system. */
nb_status lattices_resolve(nb_context *ctx, nb_scene *scene);

/* Writes the scene whose crystal has lattice i alone; 0 is the crystal's own lattice. */
void lattices_scene(const nb_scene *scene, int i, nb_scene *out);

/* Writes the tangent of lattices_scene() along `dot`, a tangent of the scene. If `dot` has
 * no list of lattices (NULL), their tangent is 0. */
void lattices_scene_tangent(const nb_scene *scene, const nb_scene *dot, int i,
                            nb_scene *out);

#endif
