/*
 * run.h - a run of the program: a command line, its images and its files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_RUN_H
#define NB_CLI_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_command/command.h"
#include "nanobrag_program/progress_line.h"

struct run;
struct share; /* declared in share/share.h */
struct team; /* declared in share/team.h */

/* ---- -truth and -geomout (output/geometry_out.c) ---- */

/* Choose the name of a -truth that is written beside -imagefile without being asked for.
 * Returns 0 or the exit status. */
int truth_default(struct run *run);

/* Refuse a detector that the file of -truth cannot state, or drop -truth if it was not
 * asked for. Returns 0 or the exit status. */
int truth_check(struct run *run);

/* Write the file of -truth for the images made so far. Returns 0 or the exit status. */
int truth_write(struct run *run);

/* Write the file of -truth for the image of a fit, with parameters x of `sim`. Returns 0 or
 * the exit status. */
int truth_write_fit(const struct run *run, nb_simulator *sim, const double *x);

/* Returns why formats for flat panels cannot state the detector, for a message; NULL if
 * they can. */
const char *experiment_not_flat(const struct run *run);

/* Refuse a detector that the file of -geomout cannot state; write that file. Each returns 0
 * or the exit status. */
int geometry_out_check(const struct run *run);
int geometry_out_write(struct run *run);

/* ---- -predict (output/predictions.c) ---- */

/* List the reflections of image i; write the reflections of all images. Each returns 0 or
 * the exit status. */
int predictions_add(struct run *run, int i);
int predictions_write(struct run *run);
void predictions_free(struct run *run);

/* an image that is made or kept */
struct result {
    double phi; /* phi at its start, degree */
    nb_statistics statistics;
    double int_scale, pgm_scale; /* counts per photon; 0: no such file */
    double photons; /* sum of the image with noise */
    int64_t saturated, overloads; /* pixels beyond the range of -intfile, of -noisefile */
    int64_t image_overloads; /* pixels beyond the range of -imagefile */
    double seconds; /* time that it took */
    int kept; /* 1: -resume found its files */
    char *file[OUT_COUNT];
};

/* a point in which nanobrag differs from nanoBragg, as two clauses of a message */
struct difference {
    const char *ours, *theirs;
};
enum { DIFFERENCES_MOST = 40 };

struct run {
    struct command command; /* first member, as show_progress() assumes */
    struct progress_line progress;
    const struct team *team; /* processes that share the run; NULL: only this one */
    struct share *share; /* which images this process makes */
    struct derivatives *derivatives; /* NULL: no derivatives are asked for */
    double *image; /* photons, nslow x nfast */
    double *added; /* sum of the images of -add; NULL: none */
    uint16_t *counts; /* pixels of an SMV file; NULL: none is written */
    struct image_file *image_file; /* state of -imagefile; NULL: not given */
    nb_reflections **predicted; /* tables of -predict, one for each image; or NULL */
    struct result *results;
    char *truth_name; /* made by truth_default(); else NULL */
    int done; /* number of images made or kept */
    int reached; /* results from this one on are unused; there may be 10^8 */
    double seconds_setup;
    struct difference difference[DIFFERENCES_MOST]; /* differences that matter here */
    int ndifference;
    const struct fit_job *fit; /* a finished fit for -json; else NULL */
};

/* From the options in run->command.events make settings and a simulator. Returns 0 or the
 * exit status; the caller calls run_free() in either case. */
int run_start(struct run *run);
void run_free(struct run *run);

/* Run a command line. The caller sets messages and options in run->command, and run->team.
 * Returns the exit status. */
int run_program(struct run *run);

/* ---- -add (shots/added_images.c) ---- */

/* Read the images of -add, once the number of pixels is known. Returns 0 or the exit
 * status. */
int added_read(struct run *run);

/* Add the sum of the images of -add to the image. */
void added_to_image(struct run *run);

/* ---- files (output/names.c, output/outputs.c) ---- */

/* Refuse outputs that could not be written. Returns 0 or the exit status. */
int outputs_check(const struct run *run);

/* Returns 1 if two names mean the same file, also through links and folders. */
int outputs_same_file(const char *a, const char *b);

/* Returns 1 if an option names this file as input. */
int outputs_are_input(const struct run *run, const char *name);

/* Refuse an output that would overwrite an input. Returns 0 or the exit status. */
int outputs_keep_inputs(const struct run *run, const char *name);

/* outputs_name() names the files of image i of the run, except data files; outputs_write()
 * writes them. Each returns 0 or the exit status. */
int outputs_name(struct run *run, int i);
int outputs_write(struct run *run, int i);

/* Returns the name of the first file of a kind (OUT_...) that this run has made or kept,
 * NULL if there is none; *last becomes the name of the last. */
const char *results_names(const struct run *run, int kind, const char **last);

/* Returns the name of the file of image i. In a sweep a number replaces a row of #, or
 * counts on from the digits before the extension, or else is inserted as in _00001. The
 * caller frees it; NULL: no memory. */
char *output_name(const char *pattern, int i, int sweep);

/* Return the end of a path: from behind the last slash; from the extension, "" if there is
 * none; from the digits before the extension, or from the extension if there are none. */
const char *output_base(const char *path);
const char *output_extension(const char *path);
const char *output_digits(const char *path);

/* Returns the name of image i of an output (OUT_...), which may be one file for all images.
 * The caller frees it; NULL: no memory. */
char *output_name_of(const struct settings *s, int kind, int i);

/* Digitise an image and write it as SMV. Returns 0 or the exit status. */
int outputs_write_smv(struct run *run, const struct result *result, const nb_digitizer *how,
                      const char *name);

/* Returns how photons become counts with noise for image i, in a file with this
 * pedestal. */
nb_digitizer outputs_noise(const struct run *run, int i, double pedestal);

/* ---- -imagefile (image_file.c) ---- */

/* Refuse an ending or a geometry before anything is computed. Each returns 0 or the exit
 * status. */
int image_file_check(const struct settings *s, struct messages *messages);
int image_file_begin(struct run *run);

int image_file_write(struct run *run, struct result *result, int i);

/* Complete the open file with the images it has. `code` is the exit status so far. Returns
 * `code`, or else the exit status of a failure. */
int image_file_end(struct run *run, int code);
void image_file_free(struct run *run);

/* Write the lines of an SMV header after HEADER_BYTES, for an image that starts at phi,
 * degree. */
enum { SMV_HEADER_BYTES = 2048 };
void smv_header(const struct run *run, double phi, char out[SMV_HEADER_BYTES]);

/* Write the picture of -pngfile. Returns 0 or the exit status. */
int picture_write(struct run *run, const char *path);

/* Write -json, all numbers of the run. Returns 0 or the exit status. */
int json_write(struct run *run, const char *path);

/* Write a JSON document to a file or, for "-", to stdout, and free it. The document may be
 * NULL, which means that memory ran out. Returns 0 or the exit status. */
struct cJSON;
int json_finish(struct run *run, struct cJSON *root, const char *path);

/* ---- text on stdout ---- */

/* Print the short report: before the first image, after each, and at the end. With -quiet
 * they print nothing. If the full report is asked for, report_start() prints that one
 * instead, and the other two print nothing. */
void report_start(struct run *run);
void report_image(const struct run *run, int i);
void report_end(const struct run *run);

/* Print nanoBragg's report, up to the line before the statistics. */
void full_report_start(struct run *run);
void full_report_summary(const struct run *run);
int report_printout(struct run *run);

/* Finds the origin for DIALS. With -compat nanobragg it is nanoBragg's number, which is
 * right only if the beam is along +x (-mosflm, -denzo). */
void report_dials_origin(const struct run *run, double out[3]);

/* Print -explain: the geometry in every convention, the sampling, and the work to do. */
void explain_run(struct run *run);

/* Run -gradcheck: print the report, and a table of derivatives and finite differences. A
 * run that cannot be checked is refused before. Returns the exit status. */
int gradcheck_run(struct run *run);

/* ---- compiled mode ---- */

/* Returns the word for the mode that is used if options ask for `mode` (NB_COMPILE_...). */
const char *compiling_word(int mode);

/* Returns the setting in the environment that turns compiled mode off; NULL if there is
 * none. */
const char *compiling_off_by(void);

/* Print a note if a setting in the environment overrules -compile. */
void compiling_note(struct run *run);

/* Return the words of -strategy and of -precision for the kernel that runs. */
const char *strategy_word(const nb_description *d);
const char *precision_word(const nb_description *d);

/* Returns 1 if -precision float was given but everything is computed in double. */
int float_is_idle(const struct run *run);

/* ---- warnings and notes on stderr ---- */

void checks_before(struct run *run);
void checks_after(struct run *run);

/* Measure small images if automatic oversampling may make the run too long (estimate.c).
 * Returns 0, or the exit status of a refusal with a message that says what to do. */
int estimate_check(struct run *run);

/* Find the points in which nanoBragg differs for this command line. Print one note about
 * them all or, with -verbose, one about each. */
void differences_note(struct run *run);

#endif
