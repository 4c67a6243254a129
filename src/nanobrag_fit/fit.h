/*
 * fit.h - the members of a fit, and the functions that its files share.
 *
 *   make.c        makes a fit: parameters, starts, memory
 *   restraints.c  bounds and priors of parameters
 *   ask.c         which x is evaluated next; hands the results to the tracks
 *   track.c       Levenberg-Marquardt on one set of parameters
 *   normal_equations.c  the equations of a step; system.c solves them, by eigen.c
 *   lbfgs.c       the minimiser for many parameters
 *   evaluate.c    the shots of a request, shared out among threads
 *   exchange.c    the shots of a request, shared out among processes
 *   one_shot.c    one shot: loaded, simulated, compared
 *   sums.c        the tree of sums over shots
 *   choices.c     choices that a fit makes for its user, each with a message
 *   result.c      values and how a fit ended; covariance.c finds their errors
 *   errors.c      errors of losses that are no likelihood; expected.c, before any data
 *   state/        the points of a fit, the stage of a track, a shot in memory
 *   residuals/    images compared with observed ones; the misfit
 *   chart/        curves along which a step moves parameters
 *   outliers/     shots, boxes and pixels that leave a fit
 *   boxes/        errors by the scatter among boxes
 *   draws/        other draws of the mosaic domains: the error of sampling
 *   file/         writes and reads the file of a fit
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_FIT_FIT_H
#define NB_FIT_FIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include <nanobrag/fit.h>

#include "base/arena.h"
#include "nanobrag_fit/boxes/boxes.h"
#include "nanobrag_fit/chart/chart.h"
#include "nanobrag_fit/draws/draws.h"
#include "nanobrag_fit/residuals/misfit.h"

struct phys_loss_model; /* declared in physics/loss.h */
struct outliers_shot; /* and in outliers/outliers.h */

enum { FIT_DENSE_MOST = 200 }; /* most parameters of a matrix, besides structure factors */

/* Correlations above this size are listed. */
#define FIT_CORRELATED 0.95

/*
 * The parameters of a fit. The simulator of one shot has m = ns + no of them: first ns
 * shared parameters, then no own ones. Of the shared parameters, nf are structure factors;
 * the other nd are called dense.
 */
struct fit_layout {
    size_t nshot, ns, nf, no, nd, m, n;
    size_t md; /* dense parameters of a shot: nd + no */
    size_t *dense; /* index of each dense one among the shared parameters          (nd) */
    size_t *f; /* index of each structure factor among them                    (nf) */
    size_t *row; /* place of each shared parameter among the dense ones, or among the
                    structure factors                                           (ns) */
    unsigned char *is_f; /* 1: a structure factor                               (ns) */
    int has_matrix; /* 1: sums hold matrices; 0: their diagonals (NB_FIT_LBFGS) */
};

/* Returns the index in x of parameter i of a shot's simulator. */
static inline size_t fit_index(const struct fit_layout *l, size_t shot, size_t i)
{
    return i < l->ns ? i : i + shot * l->no;
}

/*
 * Places in the results of an evaluation: `sum` is added up over shots, and `own` is kept
 * for each shot. With matrices:
 *
 *   sum  loss; gradient (ns); J^T W J of dense parameters (nd x nd); diagonal of structure
 *        factors (nf), and their coupling with dense parameters (nd x nf)
 *   own  loss; gradient (no); J^T W J of own parameters (no x no); their coupling with
 *        dense shared parameters (no x nd) and with structure factors (no x nf)
 *
 * Without matrices: loss, gradient and diagonal in each. A sum ends with the members of
 * struct fit_weighed, which are 0 except after FIT_WEIGH.
 */
struct fit_offsets {
    size_t gradient, matrix, diagonal, coupling, weighed, end; /* length of a sum */
    size_t own_gradient, own_matrix, own_shared, own_f, own_end;
};

/* a point in the space of parameters, with the results of its evaluation */
struct fit_point {
    double *x; /*                                                              (n) */
    double *sum; /*                                                          (end) */
    double *own; /*                                              (nshot x own_end) */
    unsigned char *status; /* NB_OK, FIT_SKIPPED, or an error of the shot      (nshot) */
};

/* ---- sums.c: sums over shots in the order of one binary tree ---- */

/* a node of the tree: the sum over shots [index, index + 1) 2^level; a leaf is one shot */
struct fit_node {
    int level;
    size_t index;
    double *sum;
};

struct fit_sums {
    size_t nshot, length;
    int root; /* level of the root */
    struct fit_node *node; /* nodes whose sibling is still missing */
    size_t nnode, room;
    double **spare; /* memory of nodes that were merged, to be used again */
    size_t nspare;
};

/* Most nodes of the tree of sums that together cover a range of shots: two on each of at
 * most 64 levels. */
enum { SUMS_NODES = 2 * 64 };

void sums_begin(struct fit_sums *sums, size_t nshot, size_t length);
void sums_free(struct fit_sums *sums);

/* Adds a node with a copy of its sum. If its sibling is there, merges both into their
 * parent, and so on up the tree. Returns 0 if there is no memory. */
int sums_add(struct fit_sums *sums, int level, size_t index, const double *sum);

/* Returns a node that waits for its sibling, or NULL. */
struct fit_node *sums_find(const struct fit_sums *sums, int level, size_t index);

/* Lists the nodes into which shots [first, end) are split, and returns their number. */
size_t sums_nodes(size_t nshot, size_t first, size_t end, struct fit_node *out);

/* Returns the sum over all shots, or NULL if shots are missing. */
const double *sums_total(const struct fit_sums *sums);

/* ---- system.c: the normal equations of a set of parameters ---- */

/* shared parameters, and blocks of own parameters that couple to the shared ones only */
struct fit_system {
    size_t ns, no, nblock;
    const double *gradient; /*                                   (ns + nblock x no) */
    const double *shared; /*                                             (ns x ns) */
    const double *const *own; /* each (no x no)                           (nblock) */
    const double *const *cross; /* each (no x ns)                         (nblock) */
    const double *diagonal; /* of the matrix before elimination; NULL: no elimination */
    size_t neliminated;
};

struct fit_bounds {
    const double *x, *lower, *upper; /*                          (ns + nblock x no) */
    const unsigned char *is_fixed; /* 1: the step is 0           (ns + nblock x no) */
};

struct fit_solver; /* workspace */

struct fit_solver *solver_make(size_t ns, size_t no, size_t nblock);
void solver_free(struct fit_solver *solver);

/*
 * Sets the step of Levenberg and Marquardt, in the units of the parameters. Returns the
 * loss that the step is predicted to gain; NAN, with a step of 0, if no eigenvalues of the
 * matrix are found. A parameter at a bound is held if the step would leave the bounds. With
 * `stops` 1 the step ends at any bound.
 */
double solver_step(struct fit_solver *solver, const struct fit_system *system,
                   const struct fit_bounds *bounds, double damping, int stops,
                   double *step);

/* the results of solver_errors(); a free direction is a row of coefficients of parameters,
 * each in units of 1/sqrt of its diagonal element */
struct fit_errors {
    double *error; /*                                            (ns + nblock x no) */
    double *covariance; /* NULL: not asked for                              (n x n) */
    double *directions; /* free directions, one in each row        (ndirection x n) */
    size_t ndirection, nfree; /* rows of `directions`; free directions found */
    double condition;
    /* called for each correlation above FIT_CORRELATED; returns 0 if there is no memory */
    int (*correlated)(void *user, size_t i, size_t j, double value);
    void *user;
};

/* Returns 0 if there is no memory. If no eigenvalues are found, errors are NAN. */
int solver_errors(struct fit_solver *solver, const struct fit_system *system,
                  const unsigned char *is_fixed, struct fit_errors *out);

/* ---- the fit ---- */

/* The state of one minimisation, called a track: it moves the own parameters of one shot
 * alone, or all parameters together. */
struct fit_track {
    int stage; /* index into the stages of an attempt */
    /* 0: the first; 1: the second, with broadened spots first, while the end of attempt 0
     * is kept; 2: the better of the two was chosen */
    int attempt;
    int fresh; /* 1: the next evaluation is at the best x itself, without a step */
    int end; /* enum nb_fit_end; NB_FIT_NOT_RUN: the track goes on */
    int passes; /* of this stage */
    /* loss: at the best point; gain: predicted for the undamped step; predicted: for the
     * trial step */
    double damping, loss, gain, predicted;
    double misfit; /* unit of the gain that ends the fit, at least 1; 0: not measured */
};

/* the parameters of a track, x[first] to x[first + n - 1], and its shots */
struct fit_values {
    size_t first, n, shot, nshot;
};

struct fit_stage {
    double broad; /* least mosaic spread, degree; 0: spots as they are */
    int kind; /* enum nb_fit_stage */
    int is_scale; /* 1: only the scale moves */
};

struct fit_worker { /* memory of a thread that evaluates shots */
    nb_context *ctx;
    double *x, *gradient, *matrix, *diagonal, *coupling, *sum, *own;
    struct fit_weighed weighed;
};

/* The point that is evaluated again after nb_fit_read(): the kept one, then the best. */
enum { RELOAD_NOTHING, RELOAD_BEST, RELOAD_KEPT };

struct nb_fit {
    nb_context *ctx;
    nb_fit_options options; /* copied; its names and restraints are NULL */
    nb_shot *shot; /* the caller's array; NULL: options.load brings each shot */
    char *names; /* names of shared, then of own parameters */
    char *path; /* of the file that nb_fit_read() read; NULL: none */
    struct fit_layout layout;
    struct fit_offsets at;
    struct arena memory;
    /* ---- of each shot ---- */
    char **name;
    char **left_out; /* why the shot is left out; NULL: it is not */
    unsigned char *is_held_out; /* 1: held out by options.holdout, and also left out */
    char **failure; /* message of the last evaluation that failed; NULL: none */
    int64_t *pixels; /* rendered pixels of weight above 0 */
    double *identity; /* numbers that identify a shot    (nshot x identity_count()) */
    struct outliers_shot *outliers; /* what left each shot by itself */
    unsigned char *is_loaded; /* 0: the shot could not be loaded, its identity is unknown */
    struct fit_track *track; /* one for each shot alone, or the first for all shots */
    struct fit_track *kept_track; /* ends of attempt 0 of tracks in attempt 1 */
    /* ---- of each parameter ---- */
    nb_fit_value *value;
    double *start, *lower, *upper;
    double *centre, *weight; /* of restraints, weight = 1/sigma^2; 0: no restraint */
    unsigned char *is_width, *is_scale, *chart; /* chart: enum fit_chart */
    size_t shared_scale, own_scale; /* index of the scale in a shot's x; SIZE_MAX: none */
    /* ---- the state ---- */
    int method, end;
    int is_expected; /* 1: images at x take the place of observed ones */
    int is_likelihood; /* 1: all losses are Poisson's, with or without read-out noise */
    int needs_variance; /* 1: a loss is no likelihood; errors need variances (errors.c) */
    int is_robust; /* 1: a loss spares outliers (Huber, Cauchy) */
    int on_device; /* 1: weights of a target lie on a device */
    int can_broaden; /* 1: spots can be broadened, as no scene has weights of its domains */
    int has_domains; /* 1: a shot has separate mosaic domains (NB_MOSAIC_DOMAINS) */
    /* 1 + number of the shot that was loaded first, whose parameter names hold for all; 0:
     * none yet */
    size_t named;
    int has_gauge; /* 1: all structure factors and the scales are free and unrestrained */
    double f_rms; /* rms of structure factors at the start */
    int alone, was_alone; /* 1: shots are being fitted alone; 1: they were before */
    int rounds; /* of judgement in this stage (outliers/outliers.h) */
    int passes, joint; /* passes so far, and how many of them were of all shots together */
    int run_passes; /* passes of all shots together in this run */
    int reload;
    int beside; /* FIT_WEIGH, FIT_JUDGE or FIT_DRAW if the request is no pass of the run;
                   else 0 */
    int is_weighed; /* 1: `weighed` holds for the images at weighed_x */
    int told_scale; /* 1: the user was told that a scale starts elsewhere */
    int told_choices; /* 1: the user was told of other choices of the fit */
    struct fit_boxes boxes;
    struct fit_draws draws;
    struct fit_weighed weighed; /* sums for the misfit; NAN: an image cannot be compared */
    double *weighed_x;
    double share; /* part of the bright pixels' expectation that values take */
    double restart; /* time at the start of a run, s (CLOCK_MONOTONIC) */
    double seconds; /* seconds that a run has taken at its last results */
    double deadline; /* time at which an evaluation is given up, s; 0: never */
    int is_late; /* 1: an evaluation was given up at the deadline */
    struct fit_point best, trial;
    struct fit_point kept; /* where the kept tracks ended */
    struct fit_sums sums;
    double *history;
    size_t history_room;
    /* ---- workspace ---- */
    const double **own, **cross;
    double *gradient, *step, *dense_step, *bounds, *folded, *diagonal;
    unsigned char *fixed;
    struct fit_solver *solver, *solver_alone;
    struct fit_worker *worker;
    int nworker;
    struct fit_result_memory *result;
    double *sandwich; /* x, with errors and covariance there (keep_sandwich()); or NULL */
    nb_misfit *misfit; /* results of nb_fit_misfit_get(), of shots and then of boxes */
    atomic_int cancelled;
    pthread_mutex_t loading; /* held while options.load or options.unload runs */
};

/* ---- state/point.c ---- */

/* What an evaluation computes: the request in progress; loss and derivatives of all shots
 * that are not left out; only the loss; the matrix B, or M, of errors.c; the misfit; the
 * outliers; loss and gradient of another draw of domains. */
enum fit_wants {
    FIT_ASKED,
    FIT_ALL,
    FIT_VALUE,
    FIT_BREAD,
    FIT_MEAT,
    FIT_WEIGH,
    FIT_JUDGE,
    FIT_DRAW
};

/* Return the diagonal element of J^T W J, and the gradient, of parameter i at a point. */
double fit_diagonal(const nb_fit *fit, const struct fit_point *point, size_t i);
double fit_gradient(const nb_fit *fit, const struct fit_point *point, size_t i);

/* Returns 1 if the data say nothing of parameter i, or too little of a structure factor. */
int normal_is_held(const nb_fit *fit, size_t i);

/* Returns the largest |F| expected of structure factor f, as far as the start tells. */
double normal_f_size(const nb_fit *fit, size_t f);

/* Returns 1 if the data tell too little of structure factor f to move it. */
int normal_f_is_held(const nb_fit *fit, size_t f);

/* Returns the index in x of parameter i of normal_joint(). */
size_t normal_at_x(const struct fit_layout *layout, size_t i);

/* Returns 1 + the number of structure factors that the data determine. The gain that ends a
 * fit is proportional to this number. */
double normal_units(const nb_fit *fit);

/* Returns -1 or 1 if the best x[i] is at its lower or upper bound, else 0. */
int covariance_bound(const nb_fit *fit, size_t i);

/* Returns 1 if each shot is fitted alone before all shots together. */
int fit_begins_alone(const nb_fit *fit);

/* Returns 1 while shared parameters still have their start: shots were fitted alone, but
 * not together yet. */
int fit_knows_own_only(const nb_fit *fit);

/* fit_wants() returns 1 if an evaluation (enum fit_wants) includes a shot; fit_broad() the
 * least mosaic spread in it, degree, where 0 leaves spots as they are. */
int fit_wants(const nb_fit *fit, size_t shot, int wants);
double fit_broad(const nb_fit *fit, size_t shot);

/* Return the number of tracks, and the parameters and shots of a track. */
size_t fit_ntrack(const nb_fit *fit);
struct fit_values fit_values_of(const nb_fit *fit, const struct fit_track *track);

/* Return the loss at a point, restraints included: of all shots, or of a track. */
double fit_total(const nb_fit *fit, const struct fit_point *point);
double fit_loss_at(const nb_fit *fit, const struct fit_track *track,
                   const struct fit_point *point);

/* Swaps a track, with its best point, with the kept end of its attempt 0. */
void fit_swap(nb_fit *fit, struct fit_track *track);

/* fit_show_kept() swaps tracks in attempt 1 with their kept ends, all or only where the
 * kept end is better; fit_hide_kept() swaps them back. */
void fit_show_kept(nb_fit *fit, int all);
void fit_hide_kept(nb_fit *fit);

/* Returns 1 while a shot's track has changed places with its kept end. */
int fit_shows_kept(const nb_fit *fit, size_t shot);

/* Returns the seconds since the start of the run. */
double fit_seconds(const nb_fit *fit);

/* Returns the time at which a run reaches its limit of seconds; 0: there is no limit. */
double fit_deadline(const nb_fit *fit);

/* Ends the run if status is not NB_OK. Returns status. */
nb_status fit_stopped(nb_fit *fit, nb_status status);

/* Returns the value of parameter i found so far, of the better attempt. */
double fit_value_now(const nb_fit *fit, size_t i);

nb_status fit_note_history(nb_fit *fit);

/* Refuses a file if its loss `there` is not the loss `here`; `of` names the shot, or "". */
nb_status fit_check_loss(nb_fit *fit, double there, double here, const char *of);

/* Copies a track's values, loss and derivatives from one point to another. */
void fit_copy_point(const nb_fit *fit, const struct fit_track *track,
                    const struct fit_point *from, struct fit_point *to);

/* ---- state/stage.c ---- */

struct fit_stage track_stage(const nb_fit *fit, const struct fit_track *track);

/* Returns the index in x of the scale that a track fits first; SIZE_MAX: none. */
size_t track_scale(const nb_fit *fit, const struct fit_track *track);

/* The prelude finds the shared scale before shots are fitted alone. The first function
 * returns 1 during the prelude, the second once the scale is found. */
int track_is_prelude(const nb_fit *fit);
int track_ended_prelude(const nb_fit *fit);

/* track_kept_is_better() returns 1 if attempt 0 of a track ended better than attempt 1 is
 * now; track_loss() returns the loss of the better attempt. */
int track_kept_is_better(const nb_fit *fit, const struct fit_track *track);
double track_loss(const nb_fit *fit, const struct fit_track *track);

/* ---- state/loaded.c ---- */

/* Loads a shot, under a lock; call fit_unload() afterwards. */
nb_status fit_load(nb_fit *fit, nb_context *ctx, size_t shot, nb_shot *out);
void fit_unload(nb_fit *fit, size_t shot, nb_shot *loaded);

/* Counts the pixels that a shot's simulator renders and whose weight is above 0. */
nb_status fit_count_pixels(nb_context *ctx, nb_simulator *sim, const nb_target *target,
                           int64_t *out);

/* ---- state/result_memory.c ---- */

/* Most free directions in a result, and most characters of one. */
enum { DIRECTIONS_MOST = 50, DIRECTION_TEXT = 400 };

struct fit_result_memory {
    double *error, *sampling, *covariance, *directions;
    char *text; /* texts of directions, DIRECTION_TEXT bytes each */
    const char **line;
    nb_fit_correlation *correlated;
    size_t ncorrelated, room;
    nb_fit_shot *shot;
    char why[256], errors_why[512], warning[4][512];
    const char *warnings[4];
};

void result_free(struct fit_result_memory *result);
struct fit_result_memory *result_make(const nb_fit *fit);

/* ---- make.c ---- */

nb_status fit_create(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                     const nb_fit_options *options, int is_expected, nb_fit **out);

/* ---- one_shot.c ---- */

/* Evaluates a shot at the worker's x with mosaic spreads of at least `broad` degrees; 0: as
 * they are. Sets worker->sum and worker->own. */
nb_status fit_evaluate_shot(nb_fit *fit, struct fit_worker *worker, size_t shot,
                            double broad, int wants);

/* ---- evaluate.c ---- */

/* fit_point.status of a shot that was not evaluated */
enum { FIT_SKIPPED = NB_STATUS_COUNT };

/* Evaluates a range of shots at x. Sums go to `sums`; own parts and status to `point`. */
nb_status fit_evaluate_shots(nb_fit *fit, const double *x, size_t first, size_t nshot,
                             int wants, struct fit_sums *sums, struct fit_point *point);

/* Evaluates all shots, and restraints, at point->x. *loss is INFINITY after an error. */
nb_status fit_evaluate_all(nb_fit *fit, struct fit_point *point, int wants, double *loss);

/* Returns NB_OK, or the error of the first shot that failed at a point. */
nb_status fit_shot_failed(nb_fit *fit, const struct fit_point *point);

/* Adds the matrices of the trial to members of `out`, as nb_fit_evaluate() does. */
void fit_deliver_matrix(const nb_fit *fit, const nb_normal *out);

/* ---- errors.c ---- */

/* Adds the matrix M (FIT_MEAT) or B (FIT_BREAD) of a shot at the worker's x. */
nb_status errors_normal(struct fit_worker *worker, nb_simulator *sim,
                        const nb_target *target, int wants, nb_normal *out);

/* ---- restraints.c ---- */

/* Returns 1 if a parameter makes spots broader. */
int bounds_makes_broad(const nb_param *param);

/* Returns a parameter with the narrower bounds that a fit sets around its start. */
nb_param bounds_of_fit(const nb_param *param);

/* Checks a restraint, and sets it for each parameter of its name. */
nb_status fit_set_restraint(nb_fit *fit, const nb_restraint *restraint);

/* Returns the loss of restraints on n parameters from `first` on. */
double fit_restraints(const nb_fit *fit, const double *x, size_t first, size_t n);

/* Adds the derivatives of the restraints to a point. */
void fit_restrain(const nb_fit *fit, struct fit_point *point);

/* ---- normal_equations.c ---- */

/* Returns 1 if no step of all shots together moves parameter i, whatever the data say: a
 * scale, where scale and structure factors are one number too many (fix_gauge()). */
int normal_stays(const nb_fit *fit, size_t i);

/* Given the covariance of the n dense parameters (n x n), these return the covariance of
 * structure factor f with dense parameter j, with structure factor g, and its error. If the
 * data tell too little of f, covariances are 0 and the error is infinite. */
double normal_f_dense(const nb_fit *fit, size_t f, const double *covariance, size_t n,
                      size_t j);
double normal_f_covariance(const nb_fit *fit, size_t f, size_t g, const double *covariance,
                           size_t n);
double normal_f_error(const nb_fit *fit, size_t f, const double *covariance, size_t n);

/* Return the normal equations at the best point, in workspace of the fit: for a shot's own
 * parameters, or for all. normal_joint() takes the gradient of `slopes`, and eliminates
 * structure factors with this damping. */
struct fit_system normal_alone(nb_fit *fit, size_t shot);
struct fit_system normal_joint(nb_fit *fit, const struct fit_point *slopes, double damping);

/* Sets the undamped step from the best point, with the gradient of `slopes`. */
void normal_step(nb_fit *fit, const struct fit_point *slopes, double *step);

/* Returns the predicted gain below which a fit ends. */
double normal_enough(const nb_fit *fit);

/* Sets the step of a track in its stage. Returns the predicted gain, as solver_step(). */
double fit_step(nb_fit *fit, const struct fit_track *track, double damping, int stops,
                double *step);

/* ---- track.c: the loop of Levenberg and Marquardt ---- */

void track_begin(struct fit_track *track);

/* Returns 1 if the misfit is to be measured now: the end of the fit is near, and the misfit
 * is not known yet. */
int track_wants_misfit(const nb_fit *fit, const struct fit_track *track);

/* Sets fit->step, unless the next evaluation is at the best x itself. Returns 0 if the
 * track has ended instead. */
int track_propose(nb_fit *fit, struct fit_track *track);

/* Takes the loss of a trial; INFINITY: a refused step. Returns 1 if it is the lowest. */
int track_judge(struct fit_track *track, double loss);

/* After nb_fit_read(): predicts the gain of the next step. A track that has not converged
 * here goes on, even if the file says that it has. */
void track_check_end(nb_fit *fit, struct fit_track *track);

/* Ends the stages of a track that are over, and the track after its last stage. */
void track_advance(nb_fit *fit, struct fit_track *track);

/* Begins a second attempt, with broadened spots first. Returns 0 if there may be none. */
int track_again(nb_fit *fit, struct fit_track *track);

/* ---- ask.c ---- */

/* Begins a run by NB_FIT_LM, which counts its passes and seconds from here. */
void fit_begin_run(nb_fit *fit);

/* Sets the trial, the point to evaluate next, or *is_done = 1 if the run has ended. */
nb_status fit_ask(nb_fit *fit, int *is_done);

/* After nb_fit_read(): evaluates again the results that the file does not hold. */
nb_status fit_reload(nb_fit *fit);

/* Takes the results of a request: fit->sums, and the trial's own parts and status. */
nb_status fit_take(nb_fit *fit);

/* ---- choices.c ---- */

/* Returns 1 if a shot is to be held out. */
int choices_holds_out(const nb_fit *fit, size_t shot);

/* Sets which shots are held out of the fit. */
nb_status choices_hold_out(nb_fit *fit);

/* Returns the start of a parameter in a fit: its value, or a width at which an image has a
 * slope. */
double choices_start(const nb_fit *fit, const nb_param *param);

/* Tells, before the first pass, the choices that the fit made for its user. */
void choices_tell(nb_fit *fit);

/* Tells that a fit which ended with this loss begins anew. */
void choices_tell_again(const nb_fit *fit, double loss);

/* ---- lbfgs.c ---- */

int lbfgs_is_available(void);

/* Returns the gain of a pass below which a fit ends. */
double lbfgs_enough(const nb_fit *fit);
nb_status fit_run_lbfgs(nb_fit *fit);

/* ---- covariance.c ---- */

/* Sets errors, covariance and free directions of all values from the curvature alone. */
nb_status covariance_joint(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out);

/* Sets all errors, covariance, correlations and free directions at the best point. */
nb_status covariance_set(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out);

#endif
