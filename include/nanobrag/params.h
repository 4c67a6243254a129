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
 * The registry has one row for each number or list. The name of a row selects one parameter
 * ("cell_a"). The name of a group selects several ("cell", "misset"), in the order of the
 * registry. A row whose name ends in brackets is a list, and each member is a parameter:
 *
 *   source_weight[i]   source_weight[3] is the weight of the fourth source;
 *                      source_weight[*] or source_weight alone selects all of them.
 *   lattice_misset_x[i]   and other numbers of further lattices; 0 is the second lattice of
 *                      the crystal. Numbers of its cell only where it has a cell of its
 *                      own.
 *   domain_weight[i]   weights of the mosaic domains, selected in the same way.
 *   F[h,k,l]           F[1,-2,3] is the structure factor of one listed reflection; F[*]
 *                      or F alone selects all listed ones, l fastest, then k, then h.
 *
 * The name "*" or "all" selects every parameter that applies to the scene except structure
 * factors. Names are separated by blanks or commas, and it is an error to name a parameter
 * twice. Behind a semicolon it is not: "cell; cell_a" is the cell.
 *
 * Ties. With crystal.system set, the group "cell" holds the numbers that the system leaves
 * free; the rest of the cell follows them. With crystal.point_group set, F[h,k,l] is one
 * parameter for all listed equivalents of that reflection. It has the name of the first
 * equivalent in the order of F[*], and its value is their mean. F[*] selects one parameter
 * for each set of equivalents. x = NULL uses each structure factor as it was listed; a
 * number in x is used for every equivalent.
 *
 * Values have the units of the scene. They are read from the resolved scene
 * (nb_simulator_resolved()), so x = 0 is the number 0 and never a default. Counts, seeds
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
    NB_SMOOTH_ZERO = 4 /* the image does not depend on it in this scene */
};

typedef struct nb_param {
    char name[32]; /* such as "cell_a" or "F[1,-2,3]" */
    const char *unit, *doc; /* static strings; doc: one phrase that describes it */
    const char *group; /* name of its group; its own name if it is in no group */
    double value; /* in the resolved scene, 0 in a row of the registry; in `unit` */
    double scale; /* a typical change that matters; in `unit` */
    double lower, upper; /* bounds, both allowed; in `unit` */
    unsigned smooth; /* NB_SMOOTH_... */
} nb_param;

/*
 * Read a row of the registry.
 *
 *   i    [in]   index of the row, from 0
 *   out  [out]  the row; a list has its name as spelled above
 *
 * Returns 1, or 0 if there is no row i (out is then not changed).
 */
NB_API int nb_param_registry(int i, nb_param *out);

#define NB_NAME_BYTES 64 /* of a name, with its NUL */

/*
 * Find the name that is most like a word, to propose it for one that is misspelt. Capitals
 * do not matter.
 *
 *   word   [in]   the word
 *   names  [in]   names to choose from, separated by blanks. NULL: all parameters and
 *                 groups
 *   out    [out]  (NB_NAME_BYTES): the name
 *
 * Returns 1, or 0 if none is near (out is then not changed). A name is near if it begins
 * with the word, if the word begins with it, or if at most two edits, fewer than half of
 * the word's letters, turn the word into it.
 */
NB_API int nb_nearest_name(const char *word, const char *names, char *out);

NB_END_DECLS

#endif
