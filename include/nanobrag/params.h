/*
 * params.h - the numbers of a scene that may be free parameters: names, units, scales.
 *
 *   nb_param param;
 *
 *   for (int i = 0; nb_param_registry(i, &param); i++)
 *       printf("%-20s %-10s %s\n", param.name, param.unit, param.doc);
 *   if (nb_simulator_create(ctx, &scene, "cell_a misset scale", NULL, &sim) != NB_OK)
 *       return;
 *   for (size_t i = 0; i < nb_simulator_nparam(sim); i++)
 *       if (nb_simulator_param(sim, i, &param) == NB_OK)
 *           printf("x[%d] is %s = %g %s\n", (int)i, param.name, param.value, param.unit);
 *
 * The registry has one row for each number or list.
 *
 *   "cell_a"           the name of a row selects one parameter.
 *   "cell", "misset"   the name of a group selects several, in the order of the registry.
 *   "*" or "all"       selects every parameter of the scene except structure factors.
 *
 * A row whose name ends in brackets is a list, and each member is a parameter:
 *
 *   source_weight[i]   source_weight[3] is the weight of the fourth source.
 *                      source_weight[*] or source_weight alone selects all weights.
 *   lattice_misset_x[i]   and other numbers of further lattices; 0 is the second lattice of
 *                      the crystal. Numbers of its cell exist only if the lattice has a
 *                      cell of its own.
 *   domain_weight[i]   weights of the mosaic domains, selected in the same way.
 *   F[h,k,l]           F[1,-2,3] is the structure factor of one listed reflection. F[*] or
 *                      F alone selects all listed reflections: l changes fastest, then k,
 *                      then h.
 *
 * Separate names by blanks or commas. You may not name a parameter twice, except after a
 * semicolon: "cell; cell_a" is the cell.
 *
 * Ties. If crystal.system is set, the group "cell" holds the numbers that the system leaves
 * free. The other numbers of the cell follow these numbers. If crystal.point_group is set,
 * F[h,k,l] is one parameter for all listed equivalents of the reflection. It has the name
 * of the first equivalent in the order of F[*], and its value is the mean of the
 * equivalents. F[*] selects one parameter for each set of equivalents. With x = NULL each
 * structure factor has its listed value. A number in x replaces all equivalents.
 *
 * Values have the units of the scene. They come from the resolved scene
 * (nb_simulator_resolved()), so a 0 in x is the number 0 and never a default. Counts, seeds
 * and steps are not parameters: nb_simulator_create() fixes them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_PARAMS_H
#define NANOBRAG_PARAMS_H

#include <nanobrag/export.h>

NB_BEGIN_DECLS

/* Values of nb_param.smooth: how the image depends on a parameter. */
enum {
    NB_SMOOTH_EVERYWHERE = 1,
    NB_SMOOTH_ALMOST = 2, /* jumps where a sample changes its nearest hkl or passes dmin */
    NB_SMOOTH_ZERO = 4 /* the image of this scene does not depend on the parameter */
};

typedef struct nb_param {
    char name[32]; /* such as "cell_a" or "F[1,-2,3]" */
    const char *unit, *doc; /* static strings; doc: a phrase that describes the parameter */
    const char *group; /* name of its group; its own name if it has no group */
    double value; /* in the resolved scene, 0 in a row of the registry; in `unit` */
    double scale; /* a typical change that matters; in `unit` */
    double lower, upper; /* bounds, both allowed; in `unit` */
    unsigned smooth; /* NB_SMOOTH_... */
} nb_param;

/*
 * Read a row of the registry.
 *
 *   i    [in]   index of the row, from 0
 *   out  [out]  the row; the name of a list is spelled as above
 *
 * Returns 1, or 0 if there is no row i (out is then not changed).
 */
NB_API int nb_param_registry(int i, nb_param *out);

#define NB_NAME_BYTES 64 /* of a name, with its NUL */

/*
 * Find the name that is most like a misspelt word. Capitals do not matter.
 *
 *   word   [in]   the word
 *   names  [in]   names to choose from, separated by blanks. NULL: all parameters and
 *                 groups
 *   out    [out]  (NB_NAME_BYTES): the name
 *
 * Returns 1, or 0 if no name is near (out is then not changed). A name is near if
 *
 *   - the name begins with the word,
 *   - the word begins with the name, or
 *   - at most two edits, fewer than half of the word's letters, turn the word into the
 *     name.
 */
NB_API int nb_nearest_name(const char *word, const char *names, char *out);

NB_END_DECLS

#endif
