/*
 * registry.h - the rows of the registry, for the files of grad/ that read them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_REGISTRY_H
#define NB_GRAD_REGISTRY_H

#include <stddef.h>

#include <nanobrag/params.h>
#include <nanobrag/scene.h>

/* what the index of a parameter counts */
enum registry_list { NO_LIST, SOURCES, DOMAINS, REFLECTIONS };

struct registry_row {
    const char *name, *group, *unit, *doc;
    size_t offset; /* in nb_scene; in a list: in one member of it */
    int applies; /* what the scene must have, see registry_lacking() */
    int list; /* enum registry_list */
    double scale, lower, upper;
    unsigned smooth;
};

/* Row i; NULL past the end. */
const struct registry_row *registry_row(int i);

/* NULL when the row means something in the scene, else what the scene lacks. */
const char *registry_lacking(const nb_scene *scene, const struct registry_row *row);

/* How many numbers the row stands for: places of the box for structure factors. */
size_t registry_length(const nb_scene *scene, const struct registry_row *row);

/* The row without an index and a value; smoothness is that in this scene. */
void registry_describe(const nb_scene *scene, const struct registry_row *row,
                       nb_param *out);

/* "name", "name[index]" or "F[h,k,l]"; the index of a structure factor is its place in
 * the box. */
void registry_name(const nb_scene *scene, const struct registry_row *row, size_t index,
                   char *out, size_t size);

/* Its value; NAN for a structure factor that is not listed. */
double registry_value(const nb_scene *scene, const struct registry_row *row, size_t index);

#endif
