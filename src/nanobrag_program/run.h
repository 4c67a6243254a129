/*
 * run.h - a run of the program: a command, its images and files.
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
struct share; /* nanobrag_program/share/share.h */
struct team; /* nanobrag_program/share/team.h */

/* ---- -truth and -geomout (output/geometry_out.c) ---- */

/* Name the -truth that is written beside -imagefile without being asked for. Returns 0 or
 * the exit status. */
int truth_default(struct run *run);

/* Refuse a detector that -truth cannot hold, or leave out a -truth that nobody asked for.
 * Returns 0 or the exit status. */
int truth_check(struct run *run);

/* Write -truth for the images that are done. Returns 0 or the exit status. */
int truth_write(struct run *run);

/* Write it for the image of a fit, at its values x of a simulator. */
int truth_write_fit(const struct run *run, nb_simulator *sim, const double *x);

/* Why formats of flat panels cannot state the detector, as a clause; NULL: they can. */
const char *experiment_not_flat(const struct run *run);

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

/* a difference of the default profile from nanoBragg, as two clauses */
struct difference {
    const char *ours, *theirs;
};
enum { DIFFERENCES_MOST = 40 };

struct run {
    struct command command; /* the scene, and its simulator */
    struct progress_line progress;
    const struct team *team; /* the processes that run together; NULL: this one is alone */
    struct share *share; /* the images that this process makes */
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
    struct difference difference[DIFFERENCES_MOST]; /* that matter for this command line */
    int ndifference;
    const struct fit_job *fit; /* a fit that is done, for -json; NULL: none */
};

/* Do all steps from the options run->command.events, whose settings become
 * run->command.s, to a simulator that is ready. Returns 0 or the exit status; run_free()
 * follows in either case. */
int run_start(struct run *run);
void run_free(struct run *run);

/* Run a command line. The caller sets its messages and options in `run`, and the processes
 * that run together. Returns the exit status. */
int run_program(struct run *run);

/* ---- -add (shots/added_images.c) ---- */

/* Read the files, once the size of the image is known. Returns 0 or the exit status. */
int added_read(struct run *run);

/* Add their sum to the image. */
void added_to_image(struct run *run);

/* ---- files (output/names.c, output/outputs.c) ---- */

/* Refuse outputs that could not be written at the end. Returns 0 or the exit status. */
int outputs_check(const struct run *run);

/* Returns 1 if two names mean the same file, directly, through its folder or through a
 * link. */
int outputs_same_file(const char *a, const char *b);

/* 1 when a file is one that an option names as input. */
int outputs_are_input(const struct run *run, const char *name);

/* Refuse an output that would overwrite a file that an option names as input. Returns 0 or
 * the exit status. */
int outputs_keep_inputs(const struct run *run, const char *name);

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

/* Print the report of a few lines (report.c): before the first image, after each, and at
 * the end. With -quiet they print nothing. If the full report is asked for, report_start()
 * prints that, and the other two print nothing. */
void report_start(struct run *run);
void report_image(const struct run *run, int i);
void report_end(const struct run *run);

/* nanoBragg's report, from the banner to the line before the statistics. */
void full_report_start(struct run *run);
void full_report_summary(const struct run *run);
int report_printout(struct run *run);

/* The origin of DIALS. Under compatibility it is nanoBragg's number, which is right only if
 * the beam is along +x (-mosflm, -denzo). */
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
