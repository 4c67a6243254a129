/*
 * registry.h - the rows of the registry; private to grad/.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_REGISTRY_H
#define NB_GRAD_REGISTRY_H

#include <stddef.h>

#include <nanobrag/params.h>
#include <nanobrag/scene.h>

/* The list that the index of a parameter refers to. */
enum registry_list { NO_LIST, SOURCES, DOMAINS, PANELS, GROUPS, LATTICES, REFLECTIONS };

struct registry_row {
    const char *name, *group, *unit, *doc;
    size_t offset; /* of the number in nb_scene, or in a member of the list */
    int applies; /* enum applies: the scene must have this */
    int list; /* enum registry_list */
    double scale, lower, upper;
    unsigned smooth;
};

/* Returns row i, or NULL if there is none. */
const struct registry_row *registry_row(int i);

/* Returns NULL if the row applies to the scene, else names the lacking part of the
 * scene. */
const char *registry_lacking(const nb_scene *scene, const struct registry_row *row);

/* Returns NULL if member `index` of the row applies, else names the part that it lacks. */
const char *registry_member_lacking(const nb_scene *scene, const struct registry_row *row,
                                    size_t index);

/* Returns which number of a cell (of the crystal or of a lattice) a row is; -1: none. */
int registry_member_of_cell(const struct registry_row *row);

/* Returns 1 if the continuous model integrates a width that the row is or belongs to. */
int registry_is_width(const struct registry_row *row);

/* Returns the number of members of the row: places of the box for structure factors. */
size_t registry_length(const nb_scene *scene, const struct registry_row *row);

/* Describes the row, without name and value, with its smoothness in this scene. */
void registry_describe(const nb_scene *scene, const struct registry_row *row,
                       nb_param *out);

/* Writes "name", "name[index]" or "F[h,k,l]". The index of a structure factor is its place
 * in the box. */
void registry_name(const nb_scene *scene, const struct registry_row *row, size_t index,
                   char *out, size_t size);

/* Returns the value of a member of the row; NAN for an unlisted structure factor. */
double registry_value(const nb_scene *scene, const struct registry_row *row, size_t index);

#endif
