/*
 * parameter_names.h - the free parameters of a run. -param sets them, and derivatives are
 * taken by them. Names are the library's, such as lattice_scale[0] with its index.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_PARAMETER_NAMES_H
#define NB_CLI_OPTIONS_PARAMETER_NAMES_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_command/message.h"
#include "nanobrag_command/options/command_line.h"
#include "nanobrag_command/options/settings.h"

struct params {
    /* number of free parameters; index of the parameter phi0 */
    size_t n, phi0;
    nb_param *at; /* (n), as the simulator orders them */
    double *x; /* (n), their values */
    unsigned char *set; /* (n), 1: set by -param */
    size_t nset;
};

/* Prepare a scene for free parameters `names`. If a width of the spots is named, tell the
 * library that it will change, because the mosaic model depends on it. If the spread about
 * one axis is named, give the three axes spreads of their own, equal at first. */
void params_prepare(nb_scene *scene, const char *names);

/* Some parameters: their indices in x, each once, in the order of a list of names. */
struct selection {
    size_t n, *at;
};

/* Makes the list of parameters that nb_simulator_create() has to free: phi0, all names that
 * options give, and the lists `shots` (or NULL) and `changing`. The caller frees *out.
 * Returns 0 or the exit status. */
int params_names(const struct settings *s, struct messages *messages,
                 const struct event_list *events, const char *shots, const char *changing,
                 char **out);

/* Get the free parameters of `sim` with their values in the scene, then apply -param.
 * Returns 0 or the exit status. */
int params_set(struct params *params, struct messages *messages, nb_context *ctx,
               const nb_simulator *sim, const struct event_list *events);

/* Find the indices of the parameters in a list of names. The caller frees out->at. Returns
 * 0 or the exit status. */
int params_select(const struct params *params, struct messages *messages, nb_context *ctx,
                  const nb_simulator *sim, const char *list, struct selection *out);

/* Returns 1 if `name` is a structure factor's, F[h,k,l], and writes its indices to hkl. */
int params_is_factor(const char *name, int hkl[3]);

void params_free(struct params *params);

#endif
