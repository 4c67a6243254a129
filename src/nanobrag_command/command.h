/*
 * command.h - a command line as a scene and its simulator: the settings of the options, the
 * files that they name, and the free parameters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMMAND_COMMAND_H
#define NB_COMMAND_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_command/message.h"
#include "nanobrag_command/options/inherited_header.h"
#include "nanobrag_command/options/parameter_names.h"
#include "nanobrag_command/options/settings.h"

struct command;
struct shots; /* shots/shots.h */

/* everything that was read from files */
struct inputs {
    struct mask mask;
    nb_hkl *hkl;
    nb_hkl_info hkl_info;
    nb_structure *structure; /* of -pdb, or NULL */
    nb_crystal_info crystal; /* of -pdb and -mtz; no operator: neither */
    nb_fcalc fcalc; /* what `hkl` was calculated with, of -pdb */
    nb_experiment experiment; /* of -expt or -xparm; found 0: neither */
    nb_geometry *geometry; /* of -geom, or of -expt with several panels; or NULL */
    int from_dump; /* 1: the reflections came from a dump */
    nb_source *sources; /* of -sourcefile or -spectrum */
    int *box; /* four numbers each, as in nb_detector */
    double (*positions)[3]; /* of the sources, as in the file */
    int nsource;
    double *stol; /* pairs of sin(theta)/lambda and F */
    size_t nstol;
};

/* Read the files that `s` names and put them into s->scene. Returns 0 or the exit status.
 */
int inputs_read(struct inputs *in, struct settings *s, struct messages *messages,
                nb_context *ctx);
void inputs_free(struct inputs *in);

/* Skip the pixels that a file calls bad (0 in `bad`), and the pixels of -mask as before.
 * `bad` has the size of the image, or is NULL. */
void inputs_add_mask(struct inputs *in, struct settings *s, const uint8_t *bad);

/* Read -spectrum into the sources (shots/spectrum.c). Returns 0 or the exit
 * status. */
int spectrum_read(struct inputs *in, struct settings *s, struct messages *messages,
                  nb_context *ctx);

/* Put the structure factors into the scene. */
void inputs_set_factors(struct inputs *in, struct settings *s);

/* ---- -pdb and -mtz (crystal_files.c) ---- */

/* Read the model of -pdb or the reflections of -mtz, and the cell. Returns 0 or the exit
 * status. */
int crystal_read(struct inputs *in, struct settings *s, struct messages *messages,
                 nb_context *ctx);

/* Set the crystal system, by -crystal_system, or of a fit and of a scene for the library's
 * callers by the space group (crystal_system.c). */
void crystal_system_set(struct command *command);

/* Calculate the structure factors of -pdb, once the scene is set otherwise. */
int factors_calculate(struct inputs *in, struct settings *s, struct messages *messages,
                      nb_context *ctx);

/* The file of the structure factors, or NULL. */
const char *factors_source(const struct command *command);

/* Write -fmtz. */
int factors_write(struct command *command);

/* Print the lines of -atomgradfile: the gradient by the atoms, from dL/dF in the order of
 * the list. */
int atoms_gradient(struct command *command, const double *bar_f, FILE *out);

/* ---- -expt, -xparm and -truth (experiment_files.c) ---- */

/* Set the numbers that an experiment states; the options are applied later. */
void experiment_take(struct settings *s, const nb_experiment *from);

/* Read the experiment and set the numbers that it states, before any option is applied.
 * Returns 0 or the exit status. */
int experiment_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                       const struct event_list *events, nb_experiment *out);

/* Find the numbers that change during the scan of the experiment, unless an option states
 * them. Name their parameters in command->changing, and set them in the scene to their
 * values in the first image. Returns 0 or the exit status. */
int experiment_begin(struct command *command);

/* Set the numbers that change to their values in the middle of an image that starts at phi.
 * Returns 0 if nothing changes. */
int experiment_set(const struct command *command, double phi, nb_scene *scene);

/* Do as experiment_set() does, but in the parameters x; x holds phi0, where the image
 * starts. */
void experiment_at(const struct command *command, double *x);

/* ---- the crystals of -expt that share an image (experiment_lattices.c) ---- */

/* If the file has several experiments, tell which are taken, and how options change
 * them. */
void lattices_say(const struct settings *s, struct messages *messages,
                  const nb_experiment *from);

/* The angle from a crystal to its lattice i, degree. */
double lattices_angle(const nb_crystal *crystal, int i);

/* Set the lattices of the file as they are in the first image, and add to command->changing
 * the groups that change later. Returns 0 or the exit status. */
int lattices_begin(struct command *command);

/* Set the lattices in x as they are in an image that starts at phi. */
void lattices_in_x(const struct command *command, double phi, double *x);

/* Give the scene lattices as they are at an angle of the scan. Returns its new list, to be
 * released with free() when the scene is used up; NULL: no memory. */
nb_lattice *lattices_at(const struct command *command, double phi, nb_scene *scene);

/* Note that -truth does not hold the brightness of lattices, if they differ in it at x of a
 * simulator. */
void lattices_warn(const struct command *command, nb_simulator *sim, const double *x);

/* Returns the space group of -pdb or -mtz, else the one of -expt; "": not known. */
const char *inputs_space_group(const struct inputs *in);

/* ---- -geom and -geomout (panels/geometry_file.c) ---- */

/* Read the geometry, or take it from -expt, and set the numbers that it states, before any
 * option is applied. Returns 0 or the exit status, as all functions of geometry_file.c
 * do. */
int geometry_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                     const struct event_list *events, struct inputs *in);

/* Refuse a command line without options that the geometry (NULL: none) does not state
 * either. */
int geometry_check(const struct settings *s, struct messages *messages,
                   const nb_geometry *geometry);

/* Put the panels into the finished scene. */
int geometry_apply(struct inputs *in, struct settings *s, struct messages *messages);

/* A command line. The caller sets the members of the first group. */
struct command {
    struct messages *messages;
    struct settings *s; /* filled by command_settings() */
    const struct event_list *events; /* the options in their order */
    int argc;
    char **argv;
    int scene_only; /* 1: the scene is wanted and nothing is computed or written */
    int several; /* 1: one of several processes that run together */
    int threads; /* of each process, where several share the machine; 0: all */
    int64_t milliseconds; /* of the clock that random seeds start from; 0: this one's */
    int (*show)(struct command *command, double fraction); /* progress; NULL: none */

    nb_context *ctx;
    struct inputs inputs;
    char changing[96]; /* groups of parameters that change during the scan of -expt */
    nb_lattice *lattices; /* as they are at an angle; NULL: they do not change */
    nb_simulator *sim;
    nb_description description; /* of the first image */
    nb_scene resolved; /* of the first image, at its parameters */
    struct shots *shots; /* of -shots; NULL: not given */
    struct params params; /* the free parameters, and their values for the present image */
};

/* Take the options and the files that state the geometry. After it every setting is known,
 * and nothing is computed yet. Returns 0 or the exit status; command_free() follows in
 * either case. */
int command_settings(struct command *command);

/* Read the other files, and create the simulator. Returns 0 or the exit status. */
int command_scene(struct command *command);
void command_free(struct command *command);

/* Make a context as the options ask for. Its compiled mode is the argument `compile` (enum
 * nb_compile), not the option. */
nb_status command_context(struct command *command, int compile, nb_context **out);

/* Create one simulator from command->s->scene, and apply -param. It serves the whole sweep,
 * as only phi changes. Returns 0 or the exit status. */
int command_simulator(struct command *command, const struct event_list *events);

/* Refuse options that exclude each other or lack what they need, and warn of those that
 * have no effect (options/constraints.c). Returns 0 or the exit status. */
int constraints_check(const struct command *command);

#endif
