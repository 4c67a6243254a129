/*
 * command.h - turns a command line into a scene and its simulator: settings by the options,
 * the contents of the files that they name, and the free parameters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMMAND_COMMAND_H
#define NB_COMMAND_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_command/inherited_header.h"
#include "nanobrag_command/message.h"
#include "nanobrag_command/options/parameter_names.h"
#include "nanobrag_command/options/settings.h"

struct command;
struct shots; /* declared in shots/shots.h */

/* a file of experiments, of -expt or a line of -shots, and its reflections */
struct expt_entry {
    char *file, *refl; /* refl is NULL: none are given */
    int number; /* of the experiment that is taken, counted in the file; -1: all */
    int first, count; /* of the file: number of its first experiment in inputs.expt */
    int owns_table; /* 1: another entry may have the same table */
    nb_reflections *table;
};

/* what was read from files */
struct inputs {
    struct mask mask;
    nb_hkl *hkl;
    nb_hkl_info hkl_info;
    nb_structure *structure; /* the model of -pdb, or NULL */
    nb_crystal_info crystal; /* from -pdb or -mtz; without both, noperator is 0 */
    nb_fcalc fcalc; /* how `hkl` was calculated from the model of -pdb */
    nb_expt *expt; /* of all entries, or NULL */
    struct expt_entry *entry; /* (nentry) */
    size_t nentry;
    int is_list; /* 1: the entries are lines of -shots */
    int expt_number, expt_image; /* of the first experiment that is taken, and of its image
                                    in the scan, from 0 */
    nb_experiment experiment; /* from -expt or -xparm; without both, found is 0 */
    nb_geometry *geometry; /* panels of -geom, or of an -expt with several; else NULL */
    int from_dump; /* 1: the reflections were read from the file of -dump */
    nb_source *sources; /* from -sourcefile, -spectrum or -spectra */
    int *box; /* four numbers a box, laid out as nb_detector.box */
    double (*positions)[3]; /* places of the sources, seen from the crystal */
    int nsource;
    double *stol; /* pairs of sin(theta)/lambda in 1/A and F in electrons */
    size_t nstol;
};

/* Read the files that `s` names and put their contents into s->scene. Returns 0 or the exit
 * status. */
int inputs_read(struct inputs *in, struct settings *s, struct messages *messages,
                nb_context *ctx);
void inputs_free(struct inputs *in);

/* Exclude the pixels where `bad` is 0, besides the pixels that -mask excludes. `bad` has
 * one byte for each pixel of the image, or is NULL. */
void inputs_add_mask(struct inputs *in, struct settings *s, const uint8_t *bad);

/* Read the file of -spectrum into the sources (shots/spectrum_table.c). Returns 0 or the
 * exit status. */
int spectrum_read(struct inputs *in, struct settings *s, struct messages *messages,
                  nb_context *ctx);

/* Put the structure factors in->hkl into the scene. */
void inputs_set_factors(struct inputs *in, struct settings *s);

/* the boxes of reflections on an image, in the order of the table */
struct reflection_boxes {
    size_t n;
    int *box; /* (n x 4), as nb_detector has them */
    size_t *row; /* (n) of the table */
    int *lattice; /* (n) lattice of the image; 0: the crystal of the experiment itself */
    int array; /* number of the image along the scan, as in a bbox; -1: a still */
};

/* Find the boxes of -boxes refl on an image of an experiment of -expt, or on all images of
 * its file (reflection_boxes.c). Returns 0 or the exit status; the caller frees *out in
 * either case. */
enum { ANY_IMAGE = -2 };
int reflection_boxes(const struct inputs *in, const struct settings *s,
                     struct messages *messages, int experiment, int image,
                     struct reflection_boxes *out);
void reflection_boxes_free(struct reflection_boxes *boxes);

/* Find start values of a fit in the boxes of -refl, where no option gives them
 * (start_values.c). Returns 0 or the exit status. */
int start_values_find(struct command *command);

/* ---- -pdb and -mtz (crystal_files.c) ---- */

/* Read the model of -pdb or the reflections of -mtz, and the cell. Returns 0 or the exit
 * status. */
int crystal_read(struct inputs *in, struct settings *s, struct messages *messages,
                 nb_context *ctx);

/* Set the crystal system, which ties numbers of the cell to each other, from
 * -crystal_system. Without the option the space group decides, in a fit and with
 * command->scene_only (crystal_system.c). */
void crystal_system_set(struct command *command);

/* Calculate the structure factors from the model of -pdb. The rest of the scene must be set
 * before, because the detector decides the resolution. Returns 0 or the exit status. */
int factors_calculate(struct inputs *in, struct settings *s, struct messages *messages,
                      nb_context *ctx);

/* Returns the name of the file that gave the structure factors, or NULL. */
const char *factors_source(const struct command *command);

/* Write the structure factors to the file of -fmtz. Returns 0 or the exit status. */
int factors_write(struct command *command);

/* Write -atomgradfile to `out`: a line for each atom with dL/dx, dL/dy, dL/dz, dL/dB and
 * dL/d occupancy. bar_f is dL/dF in the order of in->hkl. Returns 0 or the exit status. */
int atoms_gradient(struct command *command, const double *bar_f, FILE *out);

/* ---- -expt, -xparm and -truth (experiment_files.c) ---- */

/* Find the files of -expt and -refl, or of a list of -shots. Read the files of experiments,
 * and of reflections (experiment_list.c). Return 0 or the exit status. */
int experiments_list(struct settings *s, struct messages *messages,
                     const struct event_list *events, struct inputs *in);
int experiments_open(const struct settings *s, struct messages *messages, nb_context *ctx,
                     struct inputs *in);
int reflections_open(struct messages *messages, nb_context *ctx, struct inputs *in);
void experiments_free(struct inputs *in);

/* Returns the entry that takes an experiment of inputs.expt; NULL: there are no entries. */
const struct expt_entry *experiment_entry(const struct inputs *in, int experiment);

/* Copy beam, detector, scan and crystal of an experiment to the settings. Options that are
 * applied later override them. */
void experiment_take(struct settings *s, const nb_experiment *from);

/* Split FILE:N of -expt, N being the number of an experiment, at the colon. If there is a
 * file of the whole name, all of `text` is the file and *number is 0. The caller frees
 * *file. Returns 0 or the exit status. */
int experiment_split(struct messages *messages, const char *text, char **file, int *number);

/* Read the file of -expt or -xparm into in->experiment and copy its numbers to the
 * settings, before any option is applied. Returns 0 or the exit status. */
int experiment_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                       const struct event_list *events, struct inputs *in);

/* Returns the number, from 0, of the image of a scan that begins at phi, degree, or a whole
 * turn from it; -1 if phi lies outside the scan. */
int experiment_image_at(const nb_experiment *from, double phi);

/* Returns 1 if the images that experiments name are the data of a fit. */
int experiment_is_data(const struct inputs *in, const struct event_list *events);

/* Find the quantities (orientation, cell, beam, spindle axis) that change during the scan
 * of -expt and that no option states. List their groups of parameters in
 * command->changing, and set them in the scene as they are in the first image. Returns 0
 * or the exit status. */
int experiment_begin(struct command *command);

/* Set the quantities that change during the scan to their values in the middle of an image
 * that starts at phi, degree. Of another experiment than inputs.experiment, set its crystal
 * and beam too. Returns 0 if nothing changes, else 1. */
int experiment_set(const struct command *command, const nb_experiment *from, double phi,
                   nb_scene *scene);

/* Do the same as experiment_set(), but in the parameters x. The image starts at the phi0 of
 * x. */
void experiment_at(const struct command *command, double *x);

/* ---- the crystals of -expt that share an image (experiment_lattices.c) ---- */

/* If the file has several experiments, print which of them are used, and which options
 * change their crystals. is_data: 1 if all its images are fitted. */
void lattices_say(const struct settings *s, struct messages *messages,
                  const nb_experiment *from, int is_data);

/* Returns the angle between the orientations of the first crystal and of lattice i,
 * degree. */
double lattices_angle(const nb_crystal *crystal, int i);

/* Set the lattices of the file as they are in the first image. Add the groups of their
 * parameters that change in later images to command->changing. Returns 0 or the exit
 * status. */
int lattices_begin(struct command *command);

/* Set the lattices in x as they are in the middle of an image that starts at phi,
 * degree. */
void lattices_in_x(const struct command *command, double phi, double *x);

/* Give the scene the lattices of an experiment as they are in the middle of an image that
 * starts at phi, degree. Returns their list, which the caller frees after its last use of
 * the scene; NULL: no memory. */
nb_lattice *lattices_at(const struct command *command, const nb_experiment *from,
                        double phi, nb_scene *scene);

/* Print a note if the lattices differ in brightness at x, because a file of -truth cannot
 * state brightness. */
void lattices_warn(const struct command *command, nb_simulator *sim, const double *x);

/* Returns the space group of -pdb or -mtz, else of -expt; "" if none states it. */
const char *inputs_space_group(const struct inputs *in);

/* ---- -geom and the panels of -expt (geometry_file.c) ---- */

/* Read the panels of -geom, or take the panels of -expt. Set pixels and wavelength by them,
 * before any option is applied. Returns 0 or the exit status, as all functions of
 * geometry_file.c do. */
int geometry_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                     const struct event_list *events, struct inputs *in);

/* Refuse a geometry file that leaves distance or photon energy to the data files, unless an
 * option states the number. `geometry` may be NULL. */
int geometry_check(const struct settings *s, struct messages *messages,
                   const nb_geometry *geometry);

/* Replace the detector of the finished scene by the panels in->geometry, if there are
 * any. */
int geometry_apply(struct inputs *in, struct settings *s, struct messages *messages);

/* A command line. The caller sets the members of the first group. */
struct command {
    struct messages *messages;
    struct settings *s; /* filled by command_settings() */
    const struct event_list *events; /* the options in their order */
    int argc;
    char **argv;
    int scene_only; /* 1: only the scene is wanted; nothing is computed */
    int several; /* 1: one of several processes that run together */
    int threads; /* of each process that shares the machine; 0: all cores */
    int64_t milliseconds; /* start of random seeds, ms since 1970; 0: read the clock */
    /* Shows progress, `fraction` from 0 to 1. A result other than 0 ends the run. */
    int (*show)(struct command *command, double fraction);

    nb_context *ctx;
    struct inputs inputs;
    char changing[96]; /* groups of parameters that change during the scan of -expt */
    nb_lattice *lattices; /* lattices at the present phi; NULL: they do not change */
    nb_simulator *sim;
    nb_description description; /* of the first image, or of the present row of -shots */
    nb_scene resolved; /* the scene that `description` describes, with all defaults */
    struct shots *shots; /* of -shots; NULL: not given */
    struct params params; /* the free parameters, and their values for the present image */
};

/* Apply the options and read the files that state the geometry. Afterwards every setting is
 * known, and nothing is computed yet. Returns 0 or the exit status; the caller calls
 * command_free() in either case. */
int command_settings(struct command *command);

/* Read the other files, and create the simulator. Returns 0 or the exit status. */
int command_scene(struct command *command);
void command_free(struct command *command);

/* Create a context with the threads and the device of the options, but with the compiled
 * mode `compile` (enum nb_compile) in place of the option -compile. */
nb_status command_context(struct command *command, int compile, nb_context **out);

/* Create one simulator from command->s->scene, and apply -param. One simulator serves all
 * images of a sweep, because only parameters such as phi differ. Returns 0 or the exit
 * status. */
int command_simulator(struct command *command, const struct event_list *events);

/* Refuse options that exclude each other or that need an option which is missing. Warn of
 * options without effect (options/constraints.c). Returns 0 or the exit status. */
int constraints_check(const struct command *command);

#endif
