/*
 * fit.h - the members of a fit, and what its files share.
 *
 *   make.c        parameters, starts and memory
 *   restraints.c  bounds and priors of parameters
 *   ask.c         which x is evaluated next; what comes back goes to the tracks
 *   track.c       Levenberg-Marquardt on one set of parameters
 *   normal_equations.c  the equations of a step; system.c solves them, by eigen.c
 *   lbfgs.c       the other minimiser
 *   evaluate.c    the shots of a request, shared out among threads
 *   exchange.c    the same, shared out among processes
 *   one_shot.c    one shot: loaded, simulated, compared
 *   sums.c        the tree of sums over shots
 *   leave_out.c   shots that fail or stand out
 *   choices.c     choices of a fit for its user, each with a message
 *   result.c      values and how a fit ended; covariance.c their errors
 *   errors.c      errors of losses that are no likelihood; expected.c errors before
 *                 the experiment
 *   state/        the points a fit stands at, the stage of a track, a shot in memory
 *   residuals/    images beside the observed ones, and their differences relative to the
 *                 model's expectation
 *   chart/        along which curves a step moves the parameters
 *   boxes/        errors by the scatter among boxes
 *   draws/        other draws of the mosaic domains: the error of sampling
 *   file/         a fit in a file
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
#include "nanobrag_fit/chart/chart.h"
#include "nanobrag_fit/draws/draws.h"
#include "nanobrag_fit/residuals/misfit.h"

struct phys_loss_model; /* physics/loss.h */

enum { FIT_DENSE_MOST = 200 };

/* Correlations above this are listed. */
#define FIT_CORRELATED 0.95

/*
 * The parameters of a fit. The simulator of one shot has m = ns + no of them, "shared,
 * own". Of the ns shared ones, nf are structure factors; the other nd are called dense.
 */
struct fit_layout {
    size_t nshot, ns, nf, no, nd, m, n;
    size_t md; /* dense ones of a shot: nd + no */
    size_t *dense; /* index among the shared ones of each dense one             (nd) */
    size_t *f; /* and of each structure factor                                  (nf) */
    size_t *row; /* of each shared one, its place among the dense ones or the
                    structure factors                                           (ns) */
    unsigned char *is_f; /*                                                     (ns) */
    int has_matrix; /* 1: records hold matrices; 0: their diagonals (NB_FIT_LBFGS) */
};

/* Returns the index in the fit of parameter i of a shot's simulator. */
static inline size_t fit_index(const struct fit_layout *l, size_t shot, size_t i)
{
    return i < l->ns ? i : i + shot * l->no;
}

/*
 * The results of an evaluation: `sum` is added up over shots, and `own` is kept for each
 * shot. With matrices:
 *
 *   sum  loss; gradient (ns); J^T W J of the dense ones (nd x nd); of the structure factors
 *        its diagonal (nf) and its coupling (nd x nf)
 *   own  loss; gradient (no); J^T W J (no x no), with the dense shared ones (no x nd) and
 *        with the structure factors (no x nf)
 *
 * and without them: loss, gradient and diagonal of each. A sum ends with the members of
 * struct fit_weighed, which are 0 but after FIT_WEIGH.
 */
struct fit_offsets {
    size_t gradient, matrix, diagonal, coupling, weighed,
        end; /* of a sum; diagonal: of F */
    size_t own_gradient, own_matrix, own_shared, own_f, own_end;
};

struct fit_point {
    double *x; /*                                                              (n) */
    double *sum; /*                                                          (end) */
    double *own; /*                                              (nshot x own_end) */
    /* what became of each shot: NB_OK, NB_ERR_DOMAIN, or why it failed    (nshot) */
    unsigned char *status;
};

/* ---- sums.c: sums over shots in the order of one binary tree ---- */

/* A node of the tree stands for shots [index, index + 1) 2^level; a leaf is one shot. */
struct fit_node {
    int level;
    size_t index;
    double *sum;
};

struct fit_sums {
    size_t nshot, length;
    int root; /* level of the root */
    struct fit_node *node; /* those whose sibling is still missing */
    size_t nnode, room;
    double **spare; /* memory of nodes that were merged */
    size_t nspare;
};

/* Nodes that the sums of neighbouring shots come to, at most. */
enum { SUMS_NODES = 2 * 64 };

void sums_begin(struct fit_sums *sums, size_t nshot, size_t length);
void sums_free(struct fit_sums *sums);

/* Adds a node with a copy of its sum, and merges it with siblings as far as they are there.
 * Returns 0 if there is no memory. */
int sums_add(struct fit_sums *sums, int level, size_t index, const double *sum);

/* Returns a node that waits for its sibling, or NULL. */
struct fit_node *sums_find(const struct fit_sums *sums, int level, size_t index);

/* Lists the nodes, without sums, that shots [first, end) come to. Returns how many. */
size_t sums_nodes(size_t nshot, size_t first, size_t end, struct fit_node *out);

/* Returns the sum over all shots, or NULL if some are missing. */
const double *sums_total(const struct fit_sums *sums);

/* ---- system.c: the normal equations of a set of parameters ---- */

/* Shared parameters and blocks of own ones, which meet only the shared ones. */
struct fit_system {
    size_t ns, no, nblock;
    const double *gradient; /*                                   (ns + nblock x no) */
    const double *shared; /*                                             (ns x ns) */
    const double *const *own; /* each (no x no)                           (nblock) */
    const double *const *cross; /* each (no x ns)                         (nblock) */
    /* of the matrix before parameters were eliminated; NULL: none were
                                                                  (ns + nblock x no) */
    const double *diagonal;
    size_t neliminated;
};

struct fit_bounds {
    const double *x, *lower, *upper; /*                          (ns + nblock x no) */
    const unsigned char *is_fixed; /* 1: not a parameter         (ns + nblock x no) */
};

struct fit_solver; /* workspace */

struct fit_solver *solver_make(size_t ns, size_t no, size_t nblock);
void solver_free(struct fit_solver *solver);

/*
 * Sets the step of Levenberg and Marquardt, in the units of the parameters, and returns the
 * loss that it is predicted to gain: NAN, with a step of 0, for a matrix whose eigenvalues
 * are not found. A parameter at a bound is held if the step would leave the bounds. With
 * `stops` a step ends at the bounds.
 */
double solver_step(struct fit_solver *solver, const struct fit_system *system,
                   const struct fit_bounds *bounds, double damping, int stops,
                   double *step);

/* The results of solver_errors(). A free direction is a row of coefficients of the scaled
 * parameters. */
struct fit_errors {
    double *error; /*                                            (ns + nblock x no) */
    double *covariance; /* NULL: not asked for                              (n x n) */
    double *directions; /* first ones                                (ndirection x n) */
    size_t ndirection, nfree; /* room; how many there are */
    double condition;
    /* receives each correlation over 0.95 */
    int (*correlated)(void *user, size_t i, size_t j, double value);
    void *user;
};

/* Returns 0 if there is no memory. Where no eigenvalues are found, errors are NAN. */
int solver_errors(struct fit_solver *solver, const struct fit_system *system,
                  const unsigned char *is_fixed, struct fit_errors *out);

/* ---- the fit ---- */

/* The state of a track. A track fits the parameters of one shot alone, or all together. */
struct fit_track {
    int stage; /* index into the stages of an attempt */
    /* 0: as asked for; 1: again, with broadened spots first, while the end of 0 is kept; 2:
     * the better of the two */
    int attempt;
    int fresh; /* 1: the next evaluation is at the best x itself */
    int end; /* enum nb_fit_end; NB_FIT_NOT_RUN: it goes on */
    int passes; /* in this stage */
    double damping, loss, gain, predicted;
    double misfit; /* unit that judges the end, at least 1; 0: not measured yet */
};

/* The parameters and shots of a track. */
struct fit_values {
    size_t first, n, shot, nshot;
};

struct fit_stage {
    double broad; /* degree; 0: spots as they are */
    int kind; /* enum nb_fit_stage */
    int is_scale; /* 1: the scale alone moves */
};

struct fit_worker { /* memory of a thread that evaluates shots */
    nb_context *ctx;
    double *x, *gradient, *matrix, *diagonal, *coupling, *sum, *own;
    struct fit_weighed weighed;
};

/* After nb_fit_read(): the point to evaluate again next, RELOAD_KEPT before RELOAD_BEST. */
enum { RELOAD_NOTHING, RELOAD_BEST, RELOAD_KEPT };

struct nb_fit {
    nb_context *ctx;
    nb_fit_options options; /* its names and restraints are not used */
    nb_shot *shot; /* NULL: they are loaded */
    char *names; /* shared and own ones */
    char *path; /* of the file that was read, or NULL */
    struct fit_layout layout;
    struct fit_offsets at;
    struct arena memory;
    /* ---- of each shot ---- */
    char **name;
    char **left_out; /* why; NULL: it is not */
    unsigned char *is_held_out; /* 1: left out, only compared */
    char **failure; /* message of the last evaluation that failed; NULL: none */
    int64_t *pixels; /* rendered ones of weight above 0 */
    double *identity; /*                               (nshot x identity_count()) */
    unsigned char *is_loaded; /* 0: it could not be, and its identity is unknown */
    struct fit_track *track; /* while they are fitted alone; else the first is of all */
    struct fit_track *kept_track; /* where attempt 0 of each ended, in attempt 1 */
    /* ---- of each parameter ---- */
    nb_fit_value *value;
    double *start, *lower, *upper;
    double *centre, *weight; /* of its restraint, with 1/sigma^2; 0: none */
    unsigned char *is_width, *is_scale, *chart; /* enum fit_chart */
    size_t shared_scale, own_scale; /* parameter of a shot; SIZE_MAX: there is none */
    /* ---- the state ---- */
    int method, end;
    int is_expected; /* 1: images at x stand for observed ones */
    int is_likelihood; /* 1: the loss of a right model is known */
    int needs_variance; /* 1: of a loss that is no likelihood (errors.c) */
    int is_robust; /* 1: of a loss for pixels that no model explains */
    int on_device; /* 1: the weights of a target lie on a device */
    int can_broaden; /* 1: a mosaic spread can be widened */
    int has_domains; /* 1: a shot has no continuous crystal */
    size_t named; /* 1 + the shot that gave the names; 0: none yet */
    int has_gauge; /* 1: all structure factors are free, and scales without restraint */
    double f_rms; /* of structure factors at the start */
    int alone, was_alone; /* 1: shots are being fitted alone, or were before */
    int passes, joint; /* so far; joint: passes of all shots together */
    int run_passes; /* of all shots together, in this run */
    int reload;
    int beside; /* FIT_WEIGH or FIT_DRAW: a request beside the passes of the run; else 0 */
    int is_weighed; /* 1: `weighed` holds for the images at weighed_x */
    int told_scale; /* 1: it was said that a scale starts elsewhere */
    int told_choices; /* 1: likewise of widths and other choices of the fit */
    size_t nbox; /* of each shot; 0: they differ, or have none */
    int has_noted_boxes; /* 1: nbox was set by a shot */
    struct fit_draws draws;
    struct fit_weighed weighed; /* NAN: of images that cannot be compared */
    double *weighed_x;
    double share; /* of its bright pixels' expectation, taken by fitted values */
    double restart; /* clock at the start of a run, s */
    double seconds; /* that a run has taken, as of the last answer */
    double deadline; /* clock at which an evaluation is given up, s; 0: none */
    int is_late; /* 1: one was */
    struct fit_point best, trial;
    struct fit_point kept; /* of kept tracks */
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
    double *sandwich; /* where errors were found, errors, covariance; NULL: nowhere yet */
    nb_misfit *misfit; /* of shots, and of boxes */
    atomic_int cancelled;
    pthread_mutex_t loading; /* held while load or unload runs */
};

/* ---- state/point.c ---- */

/* What to evaluate: shots of the request in progress; all shots that are not left out; only
 * the loss of all; matrices B and M of all (errors.c); their misfit; or loss and gradient
 * of another draw. */
enum fit_wants { FIT_ASKED, FIT_ALL, FIT_VALUE, FIT_BREAD, FIT_MEAT, FIT_WEIGH, FIT_DRAW };

/* Returns the diagonal element of J^T W J of parameter i; and the gradient by it. */
double fit_diagonal(const nb_fit *fit, const struct fit_point *point, size_t i);
double fit_gradient(const nb_fit *fit, const struct fit_point *point, size_t i);

/* Returns 1 if the data do not depend on parameter i. */
int normal_is_held(const nb_fit *fit, size_t i);

/* Returns the size that structure factor f may have, as far as the start tells. */
double normal_f_size(const nb_fit *fit, size_t f);

/* Returns 1 if the data tell too little of structure factor f to move it. */
int normal_f_is_held(const nb_fit *fit, size_t f);

/* Returns the parameter of x that is parameter i of a joint system. */
size_t normal_at_x(const struct fit_layout *layout, size_t i);

/* Returns 1, and 1 more for each structure factor that the data tell of: the gain that ends
 * a fit is in units of it. */
double normal_units(const nb_fit *fit);

/* Returns -1 or 1 for a value of the best point at its lower or upper bound, else 0. */
int covariance_bound(const nb_fit *fit, size_t i);

/* Returns 1 if shots are fitted alone first. */
int fit_begins_alone(const nb_fit *fit);

/* Returns 1 while nothing is known of shared parameters: shots were fitted alone, and all
 * together not yet. */
int fit_knows_own_only(const nb_fit *fit);

/* Returns whether a shot is evaluated (enum fit_wants), and with spots how broad. */
int fit_wants(const nb_fit *fit, size_t shot, int wants);
double fit_broad(const nb_fit *fit, size_t shot);

/* Return the number of tracks, and the values that a track moves. */
size_t fit_ntrack(const nb_fit *fit);
struct fit_values fit_values_of(const nb_fit *fit, const struct fit_track *track);

/* Returns the loss of all shots at a point, or of a track, and of their restraints. */
double fit_total(const nb_fit *fit, const struct fit_point *point);
double fit_loss_at(const nb_fit *fit, const struct fit_track *track,
                   const struct fit_point *point);

/* Swaps a track with the kept end of its attempt 0. */
void fit_swap(nb_fit *fit, struct fit_track *track);

/* Puts kept tracks in place of the present ones, all or only the better ones; and back. */
void fit_show_kept(nb_fit *fit, int all);
void fit_hide_kept(nb_fit *fit);

/* Returns 1 while the kept track of a shot is in place. */
int fit_shows_kept(const nb_fit *fit, size_t shot);

/* Returns the seconds since the start of the run. */
double fit_seconds(const nb_fit *fit);

/* Returns the clock at which the seconds of a run are over; 0: they have no limit. */
double fit_deadline(const nb_fit *fit);

/* Ends the run if status is not NB_OK; returns it. */
nb_status fit_stopped(nb_fit *fit, nb_status status);

/* Returns the value of parameter i found so far. */
double fit_value_now(const nb_fit *fit, size_t i);

nb_status fit_note_history(nb_fit *fit);

/* Refuses a loss of a file that is not the loss of the data (`of`: which shot, or ""). */
nb_status fit_check_loss(nb_fit *fit, double there, double here, const char *of);

/* Copies a track's values, loss and derivatives from one point to another. */
void fit_copy_point(const nb_fit *fit, const struct fit_track *track,
                    const struct fit_point *from, struct fit_point *to);

/* ---- state/stage.c ---- */

struct fit_stage track_stage(const nb_fit *fit, const struct fit_track *track);

/* Returns the index of the scale that a track finds first; SIZE_MAX: none. */
size_t track_scale(const nb_fit *fit, const struct fit_track *track);

/* Whether the shared scale is being found, before shots are fitted alone; and whether that
 * has ended. */
int track_is_prelude(const nb_fit *fit);
int track_ended_prelude(const nb_fit *fit);

/* Whether attempt 0 of a track ended better than attempt 1 stands now; and the loss of the
 * better one, which is the track's result. */
int track_kept_is_better(const nb_fit *fit, const struct fit_track *track);
double track_loss(const nb_fit *fit, const struct fit_track *track);

/* ---- state/loaded.c ---- */

/* Loads a shot, under a lock; unload it afterwards. */
nb_status fit_load(nb_fit *fit, nb_context *ctx, size_t shot, nb_shot *out);
void fit_unload(nb_fit *fit, size_t shot, nb_shot *loaded);

/* Counts the pixels that a shot's simulator renders and whose weight is above 0. */
nb_status fit_count_pixels(nb_context *ctx, nb_simulator *sim, const nb_target *target,
                           int64_t *out);

/* ---- state/result_memory.c ---- */

/* Free directions that are reported at most. */
enum { DIRECTIONS_MOST = 50, DIRECTION_TEXT = 400 };

struct fit_result_memory {
    double *error, *sampling, *covariance, *directions;
    char *text; /* DIRECTION_TEXT for each direction */
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

/* Evaluates a shot at the worker's x with spots at least `broad` degrees wide; 0: as they
 * are. Sets worker->sum and worker->own. */
nb_status fit_evaluate_shot(nb_fit *fit, struct fit_worker *worker, size_t shot,
                            double broad, int wants);

/* ---- evaluate.c ---- */

/* fit_point.status of a shot that was not evaluated. */
enum { FIT_SKIPPED = NB_STATUS_COUNT };

/* Evaluates shots at x and adds the sums to `sums`; own parts and status go to `point`. */
nb_status fit_evaluate_shots(nb_fit *fit, const double *x, size_t first, size_t nshot,
                             int wants, struct fit_sums *sums, struct fit_point *point);

/* Evaluates all shots, and restraints, at point->x. *loss is INFINITY after an error. */
nb_status fit_evaluate_all(nb_fit *fit, struct fit_point *point, int wants, double *loss);

/* Returns the failure of the first shot that failed at a point. */
nb_status fit_shot_failed(nb_fit *fit, const struct fit_point *point);

/* Adds the matrices of the trial to members of `out`, as nb_fit_evaluate(). */
void fit_deliver_matrix(const nb_fit *fit, const nb_normal *out);

/* ---- errors.c ---- */

/* Adds the matrix M (FIT_MEAT) or B (FIT_BREAD) of a shot at the worker's x. */
nb_status errors_normal(struct fit_worker *worker, nb_simulator *sim,
                        const nb_target *target, int wants, nb_normal *out);

/* ---- restraints.c ---- */

/* Whether a parameter makes spots broader. */
int bounds_makes_broad(const nb_param *param);

/* Returns a parameter with the bounds of a fit, at its start. */
nb_param bounds_of_fit(const nb_param *param);

/* Checks a restraint, and sets it for each parameter of its name. */
nb_status fit_set_restraint(nb_fit *fit, const nb_restraint *restraint);

/* Returns the loss of restraints on n parameters from `first` on. */
double fit_restraints(const nb_fit *fit, const double *x, size_t first, size_t n);

/* Adds the derivatives of the restraints to a point. */
void fit_restrain(const nb_fit *fit, struct fit_point *point);

/* ---- normal_equations.c ---- */

/* Returns 1 if parameter i of a fit of all shots takes part in no step, whatever the data
 * tell of it. */
int normal_stays(const nb_fit *fit, size_t i);

/* Given the covariance of the n dense parameters, these return the covariance of structure
 * factor f with dense parameter j, its covariance with structure factor g, and its error.
 * If f is held, covariances are 0 and the error is infinite. */
double normal_f_dense(const nb_fit *fit, size_t f, const double *covariance, size_t n,
                      size_t j);
double normal_f_covariance(const nb_fit *fit, size_t f, size_t g, const double *covariance,
                           size_t n);
double normal_f_error(const nb_fit *fit, size_t f, const double *covariance, size_t n);

/* Returns the normal equations at the best point of a shot's own parameters, or of all, in
 * workspace of the fit, with the gradient of a point. Structure factors are eliminated,
 * with this damping. */
struct fit_system normal_alone(nb_fit *fit, size_t shot);
struct fit_system normal_joint(nb_fit *fit, const struct fit_point *slopes, double damping);

/* Sets the undamped step from the best point that the gradient of another asks for. */
void normal_step(nb_fit *fit, const struct fit_point *slopes, double *step);

/* Returns the predicted gain that ends a fit. */
double normal_enough(const nb_fit *fit);

/* Sets the step of a track, as solver_step(). */
double fit_step(nb_fit *fit, const struct fit_track *track, double damping, int stops,
                double *step);

/* ---- track.c: the loop of Levenberg and Marquardt ---- */

void track_begin(struct fit_track *track);

/* Whether to measure the misfit now: the end of the fit is near, and it was not measured
 * before. */
int track_wants_misfit(const nb_fit *fit, const struct fit_track *track);

/* Sets fit->step, unless the next evaluation is at the best x itself. Returns 0 if the
 * track has ended instead. */
int track_propose(nb_fit *fit, struct fit_track *track);

/* Takes the loss of a trial; infinite: refused. Returns 1 if it is the best now. */
int track_judge(struct fit_track *track, double loss);

/* After nb_fit_read(): finds the gain of a track, which goes on if a file says that it has
 * converged and it has not. */
void track_check_end(nb_fit *fit, struct fit_track *track);

/* Ends stages, and the track, as far as they have come to their end. */
void track_advance(nb_fit *fit, struct fit_track *track);

/* Begins a second attempt, with broadened spots first, if there may be one. */
int track_again(nb_fit *fit, struct fit_track *track);

/* ---- ask.c ---- */

/* Begins a run by NB_FIT_LM, with all limits anew. */
void fit_begin_run(nb_fit *fit);

/* Sets the trial, the point to evaluate next; or *is_done if the run has ended. */
nb_status fit_ask(nb_fit *fit, int *is_done);

/* After nb_fit_read(): evaluates again the parts that the file does not hold. */
nb_status fit_reload(nb_fit *fit);

/* Takes the results of the request: fit->sums, and the trial's own parts. */
nb_status fit_take(nb_fit *fit);

/* ---- leave_out.c ---- */

nb_status fit_leave_out(nb_fit *fit, size_t shot, const char *why);

/* Leaves out shots whose loss stands out, or has them fitted again alone, with broadened
 * spots first (*again of them). */
nb_status fit_judge_outliers(nb_fit *fit, size_t *again);
void fit_warn_of_held(nb_fit *fit);

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

/* Says that a fit which ended with this loss begins anew. */
void choices_tell_again(const nb_fit *fit, double loss);

/* ---- lbfgs.c ---- */

int lbfgs_is_available(void);

/* Returns the gain of a pass that ends a fit. */
double lbfgs_enough(const nb_fit *fit);
nb_status fit_run_lbfgs(nb_fit *fit);

/* ---- residuals/compare.c ---- */

/* Compares a shot with its data at the worker's x, and adds to `matrices` the normal matrix
 * of the same loss with each pixel times its photons; NULL: not. */
nb_status compare_weigh(struct fit_worker *worker, nb_simulator *sim, const nb_shot *shot,
                        const nb_normal *matrices, struct fit_weighed *out);

/* ---- covariance.c ---- */

/* Sets errors, covariance and free directions of all values together at the best point,
 * from the curvature alone. */
nb_status covariance_joint(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out);

/* Sets errors, covariance, correlations and free directions at the best point. */
nb_status covariance_set(nb_fit *fit, struct fit_result_memory *r, nb_fit_result *out);

#endif
