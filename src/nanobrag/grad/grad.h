/*
 * grad.h - parameters: the vector x against the numbers of the resolved scene.
 *
 *   registry.c     the rows: which numbers there are
 *   select.c       names to rows and places in lists
 *   params.c       x into a scene, its lists and the box of structure factors, and back
 *   reflections.c  which places of the box a structure factor stands for
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GRAD_GRAD_H
#define NB_GRAD_GRAD_H

#include <stddef.h>

#include <nanobrag/params.h>
#include <nanobrag/scene.h>
#include <nanobrag/status.h>

/* A free parameter: a row of the registry and, where that row is a list, which of it. For a
 * structure factor the index is that of params_f. */
struct param {
    int row, index;
};

/* Free structure factors: number p stands for place[start[p]] .. place[start[p + 1] - 1] of
 * the box, in ascending order. */
struct params_f {
    size_t n;
    size_t *start; /* (n + 1) */
    size_t *place; /* (start[n]) */
    double *listed; /* what the list has there */
};

struct params {
    size_t n;
    struct param *at; /* (n), in the order of x */
    struct params_f f;
    int system; /* enum nb_system: what ties the cell */
};

/* Memory for what a scene keeps in lists, so that x need not be written into the scene's
 * own. NULL where the scene has no such list. */
struct params_lists {
    nb_source *source; /* (nsource) */
    double *domain_weight; /* (ndomains); NULL unless one of them is free */
};

/* The parameters chosen by `names`, in `out`, which params_free() takes. Each must exist,
 * apply to the resolved scene and occur once. */
nb_status params_select(nb_context *ctx, const nb_scene *scene, const char *names,
                        struct params *out);

/* Of all that params_select() made; accepts zeros. */
void params_free(struct params *params);

/* Parameter i with its value in a scene. */
void params_describe(const struct params *params, const nb_scene *scene, size_t i,
                     nb_param *out);

/* NB_ERR_ARGUMENT unless every x is a number within the bounds of its row. */
nb_status params_check(nb_context *ctx, const struct params *params, const nb_scene *scene,
                       const double *x);

/* scene := scene with x in it; its lists, changed, go to `lists`. Structure factors are
 * left to params_write_f(). */
void params_unpack(const struct params *params, const double *x,
                   const struct params_lists *lists, nb_scene *scene);

/* dot := the change of `scene` along dx, the change of n parameters from `first` on, all
 * else of it 0; its lists go to `lists`. */
void params_unpack_change(const struct params *params, size_t first, size_t n,
                          const double *dx, const nb_scene *scene,
                          const struct params_lists *lists, nb_scene *dot);

/* The structure factors of x (NULL: the listed ones) into the places of `box` and, unless
 * NULL, `single`. Returns the largest of them, as a modulus. */
double params_write_f(const struct params *params, const double *x, double *box,
                      float *single);

/* bar_x += what the cotangents `f_bar` of the box come to in the structure factors. */
void params_gather_f(const struct params *params, const double *f_bar, double *bar_x);

/* 1 when parameter i is a structure factor. */
int params_is_f(const struct params *params, size_t i);

/* 1 when a parameter of this name, which has no index, is among them. */
int params_has(const struct params *params, const char *name);

#endif
