/*
 * registry.h - the rows of the registry of parameters; private to grad/.
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
    /* where the number begins in nb_scene, or in a member of the list, bytes */
    size_t offset;
    int applies; /* enum applies: what the scene must have */
    int list; /* enum registry_list */
    double scale, lower, upper;
    unsigned smooth;
};

/* Returns row i, or NULL if there is none. */
const struct registry_row *registry_row(int i);

/* Returns NULL if the row applies to the scene, else a part that the scene lacks, in
 * words. */
const char *registry_lacking(const nb_scene *scene, const struct registry_row *row);

/* Returns NULL if member `index` of the row applies, else a part that this member lacks, in
 * words. */
const char *registry_member_lacking(const nb_scene *scene, const struct registry_row *row,
                                    size_t index);

/* Returns the index of a row's number in a unit cell (of the crystal or of a further
 * lattice), or -1 if the row is not part of a cell. */
int registry_member_of_cell(const struct registry_row *row);

/* Returns 1 if the row belongs to a width that the continuous model integrates. */
int registry_is_width(const struct registry_row *row);

/* Returns the number of members of a row: the length of its list (places of the box for
 * structure factors), or 1. */
size_t registry_length(const nb_scene *scene, const struct registry_row *row);

/* Fills *out for a row in this scene, apart from name and value. */
void registry_describe(const nb_scene *scene, const struct registry_row *row,
                       nb_param *out);

/* Writes "name", "name[index]" or "F[h,k,l]". The index of a structure factor is its place
 * in the box. */
void registry_name(const nb_scene *scene, const struct registry_row *row, size_t index,
                   char *out, size_t size);

/* Returns the value of member `index` of a row; NAN for a reflection that is not listed. */
double registry_value(const nb_scene *scene, const struct registry_row *row, size_t index);

#endif
