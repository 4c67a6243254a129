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

/* One image of a fit: its file, and parameters that differ from the command line's
 * scene. */
struct fit_source {
    char *file; /* as the user wrote it; NULL: -fisher needs no data */
    struct steady_file steady;
    char *names; /* parameters, as nb_simulator_create() takes them */
    double *values; /* (nvalue), in the order of `names` */
    size_t nvalue;
    double phi0; /* phi at which the image begins, degree */
    int experiment; /* number of its experiment in the file of -expt */
    int image; /* its number in the scan of the experiment; -1: not from -expt */
    int has_detector; /* 1: the detector of its experiment is another than the first's */
    struct reflection_boxes boxes; /* of -boxes refl; box is NULL: those of the scene */
};

struct fit_sources {
    size_t n;
    struct fit_source *at;
    struct steady_file mask; /* of -data_mask; without it, mask.name is NULL */
};

enum { FIT_MISMATCH = 200, FIT_WHY = 1024 };

/* an image in memory, and the scene that it is compared with */
struct fit_image {
    nb_simulator *sim; /* owns the arrays of `scene` */
    nb_scene scene;
    float *photons, *weight; /* weight is NULL without a mask */
    nb_array observed, weights;
    double saturation; /* photons of a full pixel; 0: not known */
    int is_counts; /* 1: the file has counts; 0: photons */
    nb_experiment
        own; /* its experiment, if another than inputs.experiment; while it is read */
    /* numbers of rendered pixels: full; left out as negative, and as outside the limits of
     * -expt; all others with weight */
    int64_t saturated, negative, untrusted, counted;
    char mismatch[FIT_MISMATCH]; /* how the header contradicts the scene; "": it does not */
};

struct fit_job;

/* ---- fit_files.c ---- */

/* Writes -geomout and -truth with the values of a fit; of values that each image has, the
 * first image's. Returns 0 or the exit status. */
int fit_files_write(struct run *run, const nb_fit_result *result);

/* Returns the names of the values that hold for an image, without structure factors,
 * separated by commas, and stores the values in *x. The caller frees both; NULL: no
 * memory. */
char *fit_names_of(const nb_fit_result *result, int64_t shot, double **x);

/* ---- expt_out.c ---- */

/* Finds the experiment of each image. For -exptout reads the file of -expt, and refuses a
 * scene that this file cannot state. Returns 0 or the exit status. */
int expt_out_begin(struct fit_job *job);

/* Writes -exptout. Returns 0 or the exit status. */
int expt_out_write(struct fit_job *job, const nb_fit_result *result);

/* Makes a simulator of image i, with x at the values of a fit; NULL: at its start. The
 * caller frees it, also after a failure. Returns 0 or the exit status. */
struct fit_model {
    struct fit_image image; /* without its pixels */
    nb_simulator *sim;
    double *x;
};
int fit_model_make(struct fit_job *job, size_t i, const nb_fit_result *result,
                   struct fit_model *out);
void fit_model_free(struct fit_model *model);

/* ---- refl_out.c ---- */

/* Writes -reflout. Returns 0 or the exit status. */
int refl_out_write(struct fit_job *job);

/* ---- integrate_out.c ---- */

/* Writes -integrate, by the values of the fit; of the command line if there was none.
 * Returns 0 or the exit status. */
int integrate_out_write(struct fit_job *job);

/* ---- fit_table.c ---- */

/* Writes -fittable. Returns 0 or the exit status. */
int fit_table_write(const struct fit_job *job, const nb_fit_result *result);

/* ---- fit_sources.c: -data and -shots ---- */

/* Lists the images of -data or -shots. Returns 0 or the exit status. */
int fit_sources_read(struct run *run, struct fit_sources *out);
void fit_sources_free(struct fit_sources *sources);

/* Refuses outputs that would overwrite an input of the fit. Returns 0 or the exit
 * status. */
int fit_sources_check(const struct run *run, const struct fit_sources *sources);

/* Adds an image; `file` is NULL for -fisher without data. Returns 0 or the exit status. */
int fit_sources_add(struct run *run, struct fit_sources *out, const char *file);

/* ---- fit_experiments.c ---- */

/* Adds the images that -expt names. Gives each the start of its rotation. Finds the boxes
 * of each by -refl. Return 0 or the exit status. */
int fit_experiments_add(struct run *run, struct fit_sources *out);
int fit_experiments_place(struct run *run, struct fit_sources *sources);
int fit_experiments_boxes(struct run *run, struct fit_sources *sources);

/* ---- fit_detectors.c ---- */

/* Sets source->has_detector. Refuses a detector with other pixels than the first. Returns 0
 * or the exit status. */
int fit_detector_compare(struct run *run, struct fit_source *source,
                         const nb_experiment *own);

/* Clears has_detector of all images if they have to share a detector, and says so. */
void fit_detectors_say(struct run *run, struct fit_sources *sources);

/* Puts the detector of an experiment in the place of another with the same pixels, whose
 * sensor, mask and boxes stay. */
void fit_detector_take(const nb_experiment *from, nb_detector *to);

/* ---- fit_frames.c ---- */

/* Returns 1 if -phi or -param states one angle for all images. */
int fit_frames_are_stated(const struct run *run);

/* Sets the phi at which an image begins, degree. Returns 0 if there is no memory. */
int fit_source_begins(struct fit_source *source, double phi);

/* If images are rotations, sets the phi at which each begins by its header, unless an
 * option or the list of -shots states it. Returns 0 or the exit status. */
int fit_frames_place(struct run *run, struct fit_sources *sources);

/* ---- fit_image.c ---- */

/* Reads an image and makes its scene. `ctx` is not the context of the fit, which is in use.
 * Returns NB_OK, or a failure with its message in `why`. */
nb_status fit_image_read(const struct run *run, nb_context *ctx,
                         const struct fit_source *source, const struct steady_file *mask,
                         struct fit_image *out, char why[FIT_WHY]);
void fit_image_free(struct fit_image *image);

/* Returns the image whose scene a loaded shot has. */
struct fit_image *fit_image_of(const nb_shot *loaded);

/* ---- start_scale.c ---- */

/* Finds the scale at which a fit with boxes of -refl starts, if it is free and no option
 * states it. The callbacks of `by` load the images. Returns 0 or the exit status. */
int start_scale_find(struct fit_job *job, const nb_fit_options *by);

/* ---- fit_run.c ---- */

/* Runs the fit of a command line, up to its report and files. Returns the exit status. */
int fit_run(struct run *run);

/* the result of -fisher_scan for one value of its parameter */
struct fisher_point {
    double value;
    nb_fit *fit; /* for -json; else NULL */
    int oversample;
};

/* the residuals of fitted images, or of held-out images */
struct fit_residuals {
    int64_t nshot;
    nb_misfit *image; /* (result.nshot) of each image; 0 pixels: not included */
    size_t nimage; /* number of images that are included */
    nb_misfit all, shell[NB_FIT_SHELLS]; /* of all included images together */
    double r, r_expected; /* R between photons of boxes; R by noise alone */
};

/* the state of a fit that the files of this folder share */
struct fit_job {
    struct run *run;
    nb_context *loading; /* context of load(), which any thread may call */
    struct fit_sources sources;
    struct fit_image *kept; /* (sources.n) images in memory; NULL: none stay there */
    char *shared, *own; /* parameters, as nb_fit_options takes them */
    nb_restraint *restraint;
    size_t nrestraint;
    nb_fit *fit;
    nb_expt_update *update; /* of -exptout; NULL without it */
    struct fisher_point *point; /* (npoint) of -fisher_scan; NULL without it */
    int npoint;
    /* pixels of images when they are first read; and numbers of images with such pixels */
    int64_t saturated, negative, untrusted;
    size_t nsaturated, nnegative, nuntrusted, ncounts;
    /* the first header that contradicts its scene; and how many headers do */
    char mismatch[FIT_WHY];
    size_t nmismatch;
    struct fit_residuals fitted, held_out;
    double scale; /* at which images start; 0: as their scenes do */
    int passes; /* number of passes so far */
    int code; /* exit status of a failure in a callback */
    char why[FIT_WHY];
};

/* ---- fit_residuals.c ---- */

/* Computes the residuals of fitted and held-out images. Returns 0 or the exit status.
 * Afterwards the caller gets the result of the fit again, which has changed. */
int fit_residuals_gather(struct fit_job *job);
void fit_residuals_free(struct fit_job *job);
void fit_residuals_print(const struct fit_job *job, const nb_fit_result *result);

/* Returns a deviance divided by its expectation; NAN if there is none. */
double fit_ratio(double deviance, double expected);

/* Warns of doubts about the result. Returns 0, or EXIT_RUN if the fit has not converged. */
int fit_verdict(const struct fit_job *job, const nb_fit_result *result);

/* ---- fit_report.c ---- */

/* Print the result of a fit: the first without residuals, the second with them. */
void fit_report_values(const struct fit_job *job, const nb_fit_result *result);
void fit_report(const struct fit_job *job, const nb_fit_result *result);

/* Writes VALUE(ERROR) with two digits of the error, or VALUE if there is no error. */
enum { FIT_NUMBER = 48 };
void fit_number(double value, double error, char out[FIT_NUMBER]);

/* Writes the name of value i, such as "scale of a.img" if each image has its own. Returns
 * `out`. */
enum { FIT_NAME = 200 };
const char *fit_name(const nb_fit_result *result, size_t i, char out[FIT_NAME]);

/* ---- fit_outliers.c ---- */

/* Writes which box or pixel left a fit, and why. Returns `out`. */
enum { FIT_OUTLIER = 160 };
const char *fit_outlier(const nb_fit_outlier *outlier, char out[FIT_OUTLIER]);

/* Prints which boxes and pixels left the fit. */
void fit_outliers_print(const nb_fit_result *result);

/* ---- fisher_scan.c ---- */

/* Checks the text of -fisher_scan, NAME=FROM:TO:STEP. Returns 0 or the exit status. */
int fisher_scan_check(const struct settings *s, struct messages *messages);

/* Prints the expected errors for each value of the parameter. Returns the exit status. */
int fisher_scan_run(struct fit_job *job);

/* Notes saturated and negative pixels and a contradictory header of an image; warns of
 * these, once for all images. */
void fit_note_image(struct fit_job *job, const struct fit_image *image, const char *file);
void fit_warn_of_images(const struct fit_job *job);

/* Returns image i as the library takes it. */
nb_shot fit_shot_of(const struct fit_job *job, size_t i, const struct fit_image *image);

/* Makes the options of the library for a job. */
nb_fit_options fit_options_of(struct fit_job *job);

/* ---- fit_json.c ---- */

struct cJSON;
/* Adds the result of a fit to the document of -json. */
void fit_json(struct cJSON *root, const struct fit_job *job);

#endif
