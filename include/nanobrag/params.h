/*
 * params.h - the scene's numbers that may be free: names, units, scales.
 *
 * One registry. A name stands for one number ("cell_a"); a group name ("cell",
 * "misset") for several, in the order of the registry. A row whose name ends in brackets is
 * a list, and each of its members a parameter:
 *
 *   source_weight[i]   source_weight[3] is that of the fourth source, source_weight[*] or
 *                      source_weight alone those of all
 *   domain_weight[i]   the same for mosaic domains
 *   F[h,k,l]           F[1,-2,3] is one listed reflection, F[*] or F alone all that are
 *                      listed, l fastest, then k, then h
 *
 * "*" stands for all that apply to a scene but the structure factors.
 *
 * Ties: with crystal.system set, the group "cell" is what that system leaves free and the
 * rest of the cell follows. With crystal.point_group set, F[h,k,l] stands for all listed
 * equivalents of that reflection, is called by the first of them in the order of F[*], and
 * F[*] gives one parameter for each set of equivalents. Its value is the mean of theirs;
 * x = NULL leaves each as it is listed, a number in x goes to all of them.
 *
 * Values are those of the RESOLVED scene, in the scene's units, so x = 0 is the number 0.
 * Counts, seeds and steps are no parameters: they are fixed by nb_simulator_create().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_PARAMS_H
#define NANOBRAG_PARAMS_H

#include <nanobrag/export.h>

NB_BEGIN_DECLS

/* how the image depends on a parameter */
enum {
    NB_SMOOTH_EVERYWHERE = 1,
    NB_SMOOTH_ALMOST = 2, /* jumps where a sample changes its nearest hkl, or passes dmin */
    NB_SMOOTH_ZERO = 4 /* no influence in this scene */
};

typedef struct nb_param {
    char name[32];
    const char *unit, *doc;
    const char *group; /* name of its group; its own where it is alone */
    double value; /* in the resolved scene; the default in the registry */
    double scale; /* a change of this size matters */
    double lower, upper; /* bounds, both allowed */
    unsigned smooth; /* NB_SMOOTH_... */
} nb_param;

/*
 * Row i of the registry; the name of a list as it is spelled above.
 *
 *   i    [in]   0, 1, ...
 *   out  [out]  the row
 *
 * Returns 1, or 0 past the end (out is then untouched).
 */
NB_API int nb_param_registry(int i, nb_param *out);

NB_END_DECLS

#endif
