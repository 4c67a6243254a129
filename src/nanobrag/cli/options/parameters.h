/*
 * parameters.h - the free parameters of a run: what -param sets and what derivatives are
 * taken in. Names are the library's; an index in brackets belongs to the name.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_PARAMETERS_H
#define NB_CLI_OPTIONS_PARAMETERS_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

#include "cli/message.h"
#include "cli/options/command_line.h"
#include "cli/options/settings.h"

struct params {
    size_t n, phi0; /* free ones; which of them is the start of the rotation */
    nb_param *at; /* (n), in the order of the simulator */
    double *x; /* (n) */
    unsigned char *set; /* (n) by -param */
    size_t nset;
};

/* What a list of an option stands for, as names for nb_simulator_create(). Sets *out, which
 * is to be freed. Returns 0 or the exit status. */
int params_list(struct messages *messages, int option, const char *list, char **out);

/* Names of spreads about three axes make the mosaic spread one about three axes, equal
 * until they are set. */
void params_prepare(nb_scene *scene, const char *names);

/* Places in x of the parameters that a list names, in its order, each once. */
struct selection {
    size_t n, *at;
};

/* The names that a simulator has to free: phi0 and all that the options name. Sets *out,
 * which is to be freed. Returns 0 or the exit status. */
int params_names(const struct settings *s, struct messages *messages,
                 const struct event_list *events, char **out);

/* What `sim` has free, at the values of its scene and then of -param. */
int params_set(struct params *params, struct messages *messages, const nb_simulator *sim,
               const struct event_list *events);

/* The parameters of a list that `option` was given. */
int params_select(const struct params *params, struct messages *messages, int option,
                  const char *list, struct selection *out);

/* 1 for the name of a structure factor, whose indices it gives. */
int params_is_factor(const char *name, int hkl[3]);

void params_free(struct params *params);

#endif
