/*
 * run.h - a run of the program: its inputs, its results and what they are computed with.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_RUN_H
#define NB_CLI_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_program/message.h"
#include "nanobrag_program/options/inherited_header.h"
#include "nanobrag_program/options/parameter_names.h"
#include "nanobrag_program/options/settings.h"
#include "nanobrag_program/progress_line.h"

struct run;
struct shots; /* nanobrag_program/shots/shots.h */
struct share; /* nanobrag_program/share/share.h */
struct team; /* nanobrag_program/share/team.h */

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

/* Skip the pixels that a file calls bad, 0 in `bad`, beside those of -mask. `bad`, which
 * may be NULL, has the size of the image. */
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
void crystal_system_set(struct run *run);

/* Calculate the structure factors of -pdb, once the scene is set otherwise. */
int factors_calculate(struct inputs *in, struct settings *s, struct messages *messages,
                      nb_context *ctx);

/* The file of the structure factors, or NULL. */
const char *factors_source(const struct run *run);

/* Write -fmtz. */
int factors_write(struct run *run);

/* Print the lines of -atomgradfile: the gradient by the atoms, from dL/dF in the order of
 * the list. */
int atoms_gradient(struct run *run, const double *bar_f, FILE *out);

/* ---- -expt, -xparm and -truth (experiment_files.c) ---- */

/* Set what an experiment states; the options are applied later. */
void experiment_take(struct settings *s, const nb_experiment *from);

/* Read the experiment and set what it states, before any option is applied. Returns 0 or
 * the exit status. */
int experiment_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                       const struct event_list *events, nb_experiment *out);

/* Find what changes during the scan of the experiment and no option states, name its
 * parameters in run->changing, and set the scene to what it is in the first image. Returns
 * 0 or the exit status. */
int experiment_begin(struct run *run);

/* Set in a scene what changes to what it is in the middle of an image that starts at phi.
 * Returns 0 where nothing changes. */
int experiment_set(const struct run *run, double phi, nb_scene *scene);

/* The same in x, of which phi0 is the start. */
void experiment_at(const struct run *run, double *x);

/* ---- the crystals of -expt that share an image (experiment_lattices.c) ---- */

/* Tell which experiments of the file are taken, where it has several, and what options do
 * to them. */
void lattices_say(const struct settings *s, struct messages *messages,
                  const nb_experiment *from);

/* The angle from a crystal to its lattice i, degree. */
double lattices_angle(const nb_crystal *crystal, int i);

/* Set the lattices of the file to what they are in the first image, and add to
 * run->changing what changes of them later. Returns 0 or the exit status. */
int lattices_begin(struct run *run);

/* Set in x what they are in an image that starts at phi. */
void lattices_in_x(const struct run *run, double phi, double *x);

/* Give the scene lattices as they are at an angle of the scan. Returns its new list, to be
 * released with free() when the scene is used up; NULL: no memory. */
nb_lattice *lattices_at(const struct run *run, double phi, nb_scene *scene);

/* Tell that -truth, at x of a simulator, does not say how bright lattices are. */
void lattices_warn(const struct run *run, nb_simulator *sim, const double *x);

/* Name the -truth that is written beside -imagefile without being asked for. Returns 0 or
 * the exit status. */
int truth_default(struct run *run);

/* Refuse a detector that -truth cannot hold, or leave out a -truth that nobody asked for.
 * Returns 0 or the exit status. */
int truth_check(struct run *run);

/* The space group of -pdb or -mtz, else that of -expt; "": not known. */
const char *inputs_space_group(const struct inputs *in);

/* Write -truth for the images that are done. Returns 0 or the exit status. */
int truth_write(struct run *run);

/* Write it for the image of a fit, at its values x of a simulator. */
int truth_write_fit(const struct run *run, nb_simulator *sim, const double *x);

/* Why formats of flat panels cannot state the detector, as a clause; NULL: they can. */
const char *experiment_not_flat(const struct run *run);

/* ---- -geom and -geomout (panels/geometry_file.c) ---- */

/* Read the geometry, or take that of -expt, and set what it states, before any option is
 * applied. Returns 0 or the exit status, as all of these do. */
int geometry_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                     const struct event_list *events, struct inputs *in);

/* Refuse to go without the options that the geometry, which may be NULL, lacks. */
int geometry_check(const struct settings *s, struct messages *messages,
                   const nb_geometry *geometry);

/* Put the panels into the finished scene. */
int geometry_apply(struct inputs *in, struct settings *s, struct messages *messages);

/* Refuse a detector that -geomout cannot hold; write it. */
int geometry_out_check(const struct run *run);
int geometry_out_write(struct run *run);

/* one finished image */
struct result {
    double phi; /* start, degree */
    nb_statistics statistics;
    double int_scale, pgm_scale; /* 0: there is no such file */
    double photons;
    int64_t saturated, overloads; /* of the scaled and of the noisy image */
    int64_t image_overloads; /* of -imagefile */
    double seconds;
    int kept; /* 1: its files were there, by -resume */
    char *file[OUT_COUNT];
};

/* what the default profile does otherwise than nanoBragg, as clauses */
struct difference {
    const char *ours, *theirs;
};
enum { DIFFERENCES_MOST = 40 };

struct run {
    struct settings *s;
    struct messages *messages;
    nb_context *ctx;
    struct inputs inputs;
    struct progress_line progress;
    char changing[96]; /* groups of parameters that change during the scan of -expt */
    nb_lattice *lattices; /* as they are at an angle; NULL: they do not change */
    nb_simulator *sim;
    nb_description description; /* of the first image */
    nb_scene resolved; /* of the first image, at its parameters */
    struct shots *shots; /* of -shots; NULL: not given */
    const struct team *team; /* the processes that run together; NULL: this one is alone */
    struct share *share; /* the images that this process makes */
    struct params params; /* the free parameters, and their values for the present image */
    struct derivatives *derivatives; /* NULL: none are wanted */
    double *image; /* photons, nslow x nfast */
    double *added; /* the sum of the images of -add; NULL: none */
    uint16_t *counts; /* NULL: no SMV file is written */
    struct image_file *image_file; /* what -imagefile needs; NULL: not given */
    struct result *results;
    char *truth_name; /* of truth_default(), or NULL */
    int done; /* number of finished images */
    int reached; /* results from here on are blank: they may be 10^8 */
    double seconds_setup;
    int scene_only; /* 1: the scene is wanted and nothing is computed or written */
    struct difference difference[DIFFERENCES_MOST]; /* that matter for this command line */
    int ndifference;
    const struct event_list *events; /* the options in their order */
    const struct fit_job *fit; /* a fit that is done, for -json; NULL: none */
    int argc;
    char **argv;
};

/* Make a context as the options ask for, compiled mode apart. */
nb_status run_context(struct run *run, int compile, nb_context **out);

/* Do all steps from the options run->events, whose settings become run->s, to a simulator
 * that is ready. Returns 0 or the exit status; run_free() follows in either case. */
int run_start(struct run *run);
void run_free(struct run *run);

/* Refuse options that exclude each other or lack what they need, and warn of those that
 * have no effect (options/constraints.c). Returns 0 or the exit status. */
int constraints_check(const struct run *run);

/* Create one simulator for the whole sweep, in which only phi changes, from run->s->scene,
 * and apply -param. Returns 0 or the exit status. */
int run_simulator(struct run *run, const struct event_list *events);

/* Run a command line, of which `run` has the messages, the options, and the processes that
 * run together; returns the exit status. */
int run_program(struct run *run);

/* ---- -add (shots/added_images.c) ---- */

/* Read the files, once the size of the image is known. Returns 0 or the exit status. */
int added_read(struct run *run);

/* Add their sum to the image. */
void added_to_image(struct run *run);

/* ---- files (output/names.c, output/outputs.c) ---- */

/* Refuse outputs that could not be written at the end. Returns 0 or the exit status. */
int outputs_check(const struct run *run);

/* 1 when two names mean one file, directly, through its folder or through a link. */
int outputs_same_file(const char *a, const char *b);

/* 1 when a file is one that an option names as input. */
int outputs_are_input(const struct run *run, const char *name);

/* Refuse an output that would overwrite a file that an option names as input. Returns 0 or
 * the exit status. */
int outputs_keep_inputs(const struct run *run, const char *name);

/* 1 for the name "-". */
int outputs_to_stdout(const char *path);

/* Name the files of image `i` of the run but for data files, then write them. Each returns
 * 0 or the exit status. */
int outputs_name(struct run *run, int i);
int outputs_write(struct run *run, int i);

/* The names of the first and the last file of a kind that this run has made or kept; NULL:
 * none. */
const char *results_names(const struct run *run, int kind, const char **last);

/* The name of the file of image i, to be freed; NULL: out of memory. In a sweep a run of #
 * or the digits before the extension are counted up, and else _00001 is inserted. */
char *output_name(const char *pattern, int i, int sweep);

/* The part of a path behind the last slash; its extension, or its end; and the digits
 * before that, which count the images of a sweep: there are none where both are the same.
 */
const char *output_base(const char *path);
const char *output_extension(const char *path);
const char *output_digits(const char *path);

/* The same for image i of an output, which may be one file for all. */
char *output_name_of(const struct settings *s, int kind, int i);

/* Digitise an image and write it as SMV. Returns 0 or the exit status. */
int outputs_write_smv(struct run *run, const struct result *result, const nb_digitizer *how,
                      const char *name);

/* How photons become the counts of image i with noise, of a file with this pedestal. */
nb_digitizer outputs_noise(const struct run *run, int i, double pedestal);

/* ---- -imagefile (image_file.c) ---- */
enum image_format { IMAGE_SMV, IMAGE_CBF, IMAGE_NXMX, IMAGE_UNKNOWN };

/* The format of -imagefile by the ending of its name; IMAGE_UNKNOWN without one. */
enum image_format image_format(const struct settings *s);

/* Refuse what cannot be written, before anything is computed. Each returns 0 or the exit
 * status. */
int image_file_check(const struct settings *s, struct messages *messages);
int image_file_begin(struct run *run);

int image_file_write(struct run *run, struct result *result, int i);

/* Complete the file of a sweep, or the data file that is open, with the images it has;
 * `code` is how the run ended. Returns it or the exit status of a failure. */
int image_file_end(struct run *run, int code);
void image_file_free(struct run *run);

/* The lines of the SMV header after HEADER_BYTES, for an image that starts at phi. */
enum { SMV_HEADER_BYTES = 2048 };
void smv_header(const struct run *run, double phi, char out[SMV_HEADER_BYTES]);

/* Write a picture for viewing. Returns 0 or the exit status. */
int picture_write(struct run *run, const char *path);

/* Write every number of the run. Returns 0 or the exit status. */
int json_write(struct run *run, const char *path);

/* Write a JSON document and free it; NULL: there was no memory for it. "-": to stdout.
 * Returns 0 or the exit status. */
struct cJSON;
int json_finish(struct run *run, struct cJSON *root, const char *path);

/* ---- text on stdout ---- */

/* The report of a few lines (report.c), before the first image, after each, and at the end.
 * Each prints nothing with -quiet; report_start() gives way to the full report where that
 * is wanted, the other two are silent then. */
void report_start(struct run *run);
void report_image(const struct run *run, int i);
void report_end(const struct run *run);

/* nanoBragg's report, from the banner to the line before the statistics. */
void full_report_start(struct run *run);
void full_report_summary(const struct run *run);
int report_printout(struct run *run);

/* The origin of DIALS; under compatibility as nanoBragg states it, which is right where
 * the beam is +x (-mosflm, -denzo). */
void report_dials_origin(const struct run *run, double out[3]);

/* Print -explain: geometry in every convention, sampling, work. */
void explain_run(struct run *run);

/* Run -gradcheck: print the report and a table of derivatives against finite differences.
 * What cannot be checked is refused before anything is printed. Returns the exit status. */
int gradcheck_run(struct run *run);

/* ---- compiled mode ---- */

/* The word for the mode that is used where the options ask for `mode`. */
const char *compiling_word(int mode);

/* The environment variable that turns compiled mode off, with its value; NULL: none. */
const char *compiling_off_by(void);

/* Print a note when that variable overrules an option. */
void compiling_note(struct run *run);

/* The words of -strategy and -precision for the kernels that run. */
const char *strategy_word(const nb_description *d);
const char *precision_word(const nb_description *d);

/* 1 when -precision float was given but nothing is computed in float. */
int float_is_idle(const struct run *run);

/* ---- warnings and notes on stderr ---- */

void checks_before(struct run *run);
void checks_after(struct run *run);

/* Measure how long the images will take where automatic oversampling has made them long
 * (estimate.c). Returns 0, or the exit status of a refusal that names the ways out. */
int estimate_check(struct run *run);

/* Find where the default profile differs from nanoBragg for this command line, and print
 * one line about it, or with -verbose one for each. */
void differences_note(struct run *run);

#endif
