/*
 * parameter_names.h - the free parameters of a run, which -param sets and derivatives refer
 * to. The names are the library's; an index in brackets belongs to the name.
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
    /* number of free parameters; index of the rotation's start */
    size_t n, phi0;
    nb_param *at; /* (n), in the order of the simulator */
    double *x; /* (n) */
    unsigned char *set; /* 1: set by -param (n) */
    size_t nset;
};

/* Tell the rule of the mosaic model which widths change. If `names` has a spread about one
 * of three axes, make the mosaic spread one about each axis; the three are equal until they
 * are set. */
void params_prepare(nb_scene *scene, const char *names);

/* The places in x of the parameters that a list names, in its order, each once. */
struct selection {
    size_t n, *at;
};

/* Collects the names of parameters that a simulator has to free, as nb_simulator_create()
 * takes them: phi0, all names in options, and the names in the lists `shots` (or NULL) and
 * `changing`. The caller frees *out. Returns 0 or the exit status. */
int params_names(const struct settings *s, struct messages *messages,
                 const struct event_list *events, const char *shots, const char *changing,
                 char **out);

/* Read the free parameters of `sim`, at the values of its scene and then of -param. Returns
 * 0 or the exit status. */
int params_set(struct params *params, struct messages *messages, nb_context *ctx,
               const nb_simulator *sim, const struct event_list *events);

/* Select the parameters of a list. Returns 0 or the exit status. */
int params_select(const struct params *params, struct messages *messages, nb_context *ctx,
                  const nb_simulator *sim, const char *list, struct selection *out);

/* 1 for the name of a structure factor, whose indices are returned in hkl. */
int params_is_factor(const char *name, int hkl[3]);

void params_free(struct params *params);

#endif
