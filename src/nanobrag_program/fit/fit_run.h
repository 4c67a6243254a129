/*
 * fit_run.h - fits of a run: -fit, -fit_each, -fisher and -fisher_scan.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_FIT_FIT_RUN_H
#define NB_CLI_FIT_FIT_RUN_H

#include <nanobrag/nanobrag.h>

#include "nanobrag_program/fit/steady_file.h"
#include "nanobrag_program/run.h"

/* One image of a fit: its file, and the values that its scene has in place of the command
 * line's. */
struct fit_source {
    char *file; /* as the user wrote it; NULL: -fisher without data */
    struct steady_file steady;
    char *names; /* parameters that are set, as nb_simulator_create() takes them */
    double *values; /* (nvalue), in the order of names */
    size_t nvalue;
    double phi0; /* degree */
};

struct fit_sources {
    size_t n;
    struct fit_source *at;
    struct steady_file mask; /* of -data_mask; its name is NULL without */
};

enum { FIT_MISMATCH = 200, FIT_WHY = 1024 };

/* An image in memory, and the scene that it is compared with. */
struct fit_image {
    nb_simulator *sim; /* owns the arrays of the scene */
    nb_scene scene;
    float *photons, *weight; /* weight: NULL without a mask */
    nb_array observed, weights;
    double saturation; /* photons; 0: none */
    /* pixels of the data: saturated, negative (left out), and all that remain */
    int64_t saturated, negative, counted;
    char mismatch[FIT_MISMATCH]; /* how the header contradicts the scene; "": it does not */
};

/* ---- fit_files.c ---- */

/* Writes -geomout and -truth at the values of a fit. If images have values of their own,
 * the first image's count. Returns 0 or the exit status. */
int fit_files_write(struct run *run, const nb_fit_result *result);

/* ---- fit_sources.c: -data and -shots ---- */

/* Gathers the images of a command line. Returns 0 or the exit status. */
int fit_sources_read(struct run *run, struct fit_sources *out);
void fit_sources_free(struct fit_sources *sources);

/* Refuses outputs that would overwrite an image or another input of the fit. Returns 0 or
 * the exit status. */
int fit_sources_check(const struct run *run, const struct fit_sources *sources);

/* ---- fit_frames.c ---- */

/* Gives each image of a rotation the start in its header, unless an option or a list states
 * one. Returns 0 or the exit status. */
int fit_frames_place(struct run *run, struct fit_sources *sources);

/* ---- fit_image.c ---- */

/* 1 for a file that begins as SMV images do. */
int fit_image_is_smv(const struct steady_file *image);

/* Reads where the rotation of an image begins, degree; 0: the header does not say. */
int fit_image_start(const nb_smv *smv, double *phi);

/* Reads an image and makes its scene. It needs a context of its own, since the fit's is in
 * use. Returns NB_OK, or a failure with its message in `why`. */
nb_status fit_image_read(const struct run *run, nb_context *ctx,
                         const struct fit_source *source, const struct steady_file *mask,
                         struct fit_image *out, char why[FIT_WHY]);
void fit_image_free(struct fit_image *image);

/* ---- fit_run.c ---- */

/* Runs it, from the report to the files. Returns the exit status. */
int fit_run(struct run *run);

/* What -fisher_scan has computed for a value of its parameter. */
struct fisher_point {
    double value;
    nb_fit *fit; /* for -json; NULL without */
    int oversample;
};

/* How far images are from their data: the fitted images, or the held out ones. */
struct fit_residuals {
    nb_misfit *image; /* of each; 0 pixels: it is not among them (result.nshot) */
    size_t nimage; /* that are among them */
    nb_misfit all, shell[NB_FIT_SHELLS]; /* of all of them */
    double r, r_expected; /* of boxes; by noise alone */
};

/* What the parts of a fit share. */
struct fit_job {
    struct run *run;
    nb_context *loading; /* of load(), which any thread may call */
    struct fit_sources sources;
    struct fit_image *kept; /* (sources.n) those that stay in memory; NULL: none do */
    char *shared, *own; /* names, as the library takes them */
    nb_restraint *restraint;
    size_t nrestraint;
    nb_fit *fit;
    struct fisher_point *point; /* (npoint) of -fisher_scan; NULL: it is not given */
    int npoint;
    /* pixels of the images as they are first read, and how many images have such */
    int64_t saturated, negative;
    size_t nsaturated, nnegative;
    /* the first image whose header contradicts its scene, and how many do */
    char mismatch[FIT_WHY];
    size_t nmismatch;
    struct fit_residuals fitted, held_out;
    int passes; /* reported so far */
    int code; /* exit status of a failure within a callback */
    char why[FIT_WHY];
};

/* ---- fit_residuals.c ---- */

/* Computes the images once more. Returns 0 or the exit status. The result has to be got
 * again. */
int fit_residuals_gather(struct fit_job *job);
void fit_residuals_free(struct fit_job *job);
void fit_residuals_print(const struct fit_job *job, const nb_fit_result *result);

/* A deviance over its expectation; NAN: none is known. */
double fit_ratio(double deviance, double expected);

/* Warns of a result that is not to be trusted. Returns 0, or the exit status of a fit that
 * has not converged. */
int fit_verdict(const struct fit_job *job, const nb_fit_result *result);

/* ---- fit_report.c ---- */

/* Print the result, without residuals; and with them. */
void fit_report_values(const struct fit_job *job, const nb_fit_result *result);
void fit_report(const struct fit_job *job, const nb_fit_result *result);

/* Writes VALUE(ERROR), both to two digits of the error, or VALUE if there is no error. */
enum { FIT_NUMBER = 48 };
void fit_number(double value, double error, char out[FIT_NUMBER]);

/* Writes the name of a value, as "scale of a.img" of one of several images. Returns `out`.
 */
enum { FIT_NAME = 200 };
const char *fit_name(const nb_fit_result *result, size_t i, char out[FIT_NAME]);

/* ---- fisher_scan.c ---- */

/* Checks NAME=FROM:TO:STEP. Returns 0 or the exit status. */
int fisher_scan_check(const struct settings *s, struct messages *messages);

/* Prints expected errors for each value. Returns the exit status. */
int fisher_scan_run(struct fit_job *job);

/* The options of the library for a job. */
nb_fit_options fit_options_of(struct fit_job *job);

/* ---- fit_json.c ---- */

struct cJSON;
/* Adds the result to the document of -json. */
void fit_json(struct cJSON *root, const struct fit_job *job);

#endif
