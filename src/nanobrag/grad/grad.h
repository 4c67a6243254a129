/*
 * grad.h - parameters: how the vector x and the numbers of the resolved scene correspond.
 *
 *   registry.c     lists the numbers that can be parameters
 *   select.c       finds the parameters that names select
 *   params.c       writes x into a scene, its lists and the box of structure factors, and
 *                  adds up cotangents of the box
 *   reflections.c  finds the places of the box that share a structure factor
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_GRAD_H
#define NB_GRAD_GRAD_H

#include <stddef.h>

#include <nanobrag/params.h>
#include <nanobrag/scene.h>
#include <nanobrag/status.h>

/* A free parameter: a row of the registry and, if the row is a list, an index in that list.
 * The index of a structure factor is its number in params_f. */
struct param {
    int row, index;
};

/* Free structure factors. Structure factor p has the places place[start[p]] to
 * place[start[p + 1] - 1] of the box, in ascending order. */
struct params_f {
    size_t n;
    size_t *start; /* (n + 1) */
    size_t *place; /* (start[n]) */
    double *listed; /* (start[n]) F of each place as it is listed, electron */
};

struct params {
    size_t n;
    struct param *at; /* (n), in the order of x */
    struct params_f f;
    int system; /* crystal system (enum nb_system), which ties numbers of the cell */
};

/* Returns the number of dense parameters: all but the structure factors. */
static inline size_t params_dense(const struct params *params)
{
    return params->n - params->f.n;
}

/* Memory for the lists of a scene at x, so that the resolved scene keeps its own lists. A
 * member is NULL if the scene has no such list. */
struct params_lists {
    nb_source *source; /* (nsource) */
    double *domain_weight; /* (ndomains); NULL unless a weight is free */
    nb_panel *panel; /* (npanel); NULL unless a move of a panel or group is free */
    nb_panel_group *group; /* (ngroup); NULL unless a move of a panel or group is free */
    nb_lattice *lattice; /* (nlattice); NULL unless a number of a further lattice is free */
};

/* Finds the parameters that `names` selects. Each must exist, apply to the resolved scene,
 * and be named only once, unless a semicolon stands before the name; else the result is
 * NB_ERR_ARGUMENT. Free `out` with params_free(), also after a failure. */
nb_status params_select(nb_context *ctx, const nb_scene *scene, const char *names,
                        struct params *out);

/* Finds the places in x of the free parameters that `names` selects, each once, in the
 * order of the names. *n becomes their number, and the first `room` places go to
 * `index`. */
nb_status params_find(nb_context *ctx, const nb_scene *scene, const struct params *params,
                      const char *names, size_t room, size_t *index, size_t *n);

/* Returns 1 if a list of names contains exactly this name. */
int params_are_named(const char *names, const char *name);

/* Returns 1 if a list of names contains a width that the continuous model integrates, by
 * its own name or by its group's name. */
int params_name_width(const char *names);

/* Frees the lists that params_select() made; a struct of zeros is allowed. */
void params_free(struct params *params);

/* Describes parameter i, with its value in the scene. */
void params_describe(const struct params *params, const nb_scene *scene, size_t i,
                     nb_param *out);

/* Returns NB_ERR_ARGUMENT unless every number of x lies within the bounds of its
 * parameter. */
nb_status params_check(nb_context *ctx, const struct params *params, const nb_scene *scene,
                       const double *x);

/* Writes x into the scene; the lists that change are first copied to `lists`. Structure
 * factors are left to params_write_f(). */
void params_unpack(const struct params *params, const double *x,
                   const struct params_lists *lists, nb_scene *scene);

/* Computes the tangent `dot` of the scene along dx, which holds the changes of n parameters
 * from number `first` on. All other parameters stay fixed. The lists of `dot` are stored in
 * `lists`. */
void params_unpack_change(const struct params *params, size_t first, size_t n,
                          const double *dx, const nb_scene *scene,
                          const struct params_lists *lists, nb_scene *dot);

/* Writes the free structure factors of x (NULL: as they are listed) to `box` and, unless
 * NULL, to `single`. Returns the largest |F| among them. */
double params_write_f(const struct params *params, const double *x, double *box,
                      float *single);

/* Adds the cotangents f_bar (box) at the places of each free structure factor to bar_x. */
void params_gather_f(const struct params *params, const double *f_bar, double *bar_x);

/* Returns 1 if parameter i may change the numbers of a panel. */
int params_move_panel(const struct params *params, const nb_scene *scene, size_t i,
                      int panel);

/* Returns 1 if a move of a panel or of a group of panels is free. */
int params_have_moves(const struct params *params);

/* Returns 1 if a number of a further lattice is free. */
int params_have_lattices(const struct params *params);

/* Returns 1 if parameter i is a structure factor. */
int params_is_f(const struct params *params, size_t i);

/* Returns 1 if a parameter of the registry's row `name` is free. */
int params_has(const struct params *params, const char *name);

#endif
