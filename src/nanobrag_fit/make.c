/*
 * make.c - makes a fit: finds its parameters and their starts, and allocates its memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_fit/boxes/boxes.h"
#include "nanobrag_fit/eigen.h"
#include "nanobrag_fit/file/identity.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"

/* ---- checks ---- */

static nb_status check(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                       const nb_fit_options *options)
{
    if (!options || (!options->shared && !options->own))
        return fail(ctx, NB_ERR_ARGUMENT, "a fit needs free parameters");
    if (nshot < 1 || (!shot && !options->load))
        return fail(ctx, NB_ERR_ARGUMENT, "a fit needs shots");
    if (options->method < NB_FIT_AUTO || options->method > NB_FIT_LBFGS)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "method %d of a fit is none of enum nb_fit_method", options->method);
    if (options->coarse < NB_COARSE_AUTO || options->coarse > NB_COARSE_ON)
        return fail(ctx, NB_ERR_ARGUMENT, "coarse %d of a fit is none of enum nb_coarse",
                    options->coarse);
    if (options->scaling < NB_FIT_SCALING_AUTO || options->scaling > NB_FIT_SCALING_BOXES)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "scaling %d of a fit is none of enum nb_fit_scaling", options->scaling);
    if (options->passes < 0 || !(options->seconds >= 0) || !(options->enough >= 0))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "passes, seconds and enough of a fit are at least 0");
    if (options->holdout < 0 || options->holdout == 1 || options->holdout > nshot)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "holdout of a fit is 0, or from 2 to the number of shots, %lld",
                    (long long)nshot);
    if (options->holdout > 0 && options->own && *options->own)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "a shot that is held out has no values of its own: holdout and own "
                    "parameters exclude each other");
    if (options->nrestraint > 0 && !options->restraint)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "%zu restraints are announced, but there are none",
                    options->nrestraint);
    if (!eigen_is_available())
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "this build has no LAPACK, which fits need; install liblapacke-dev and "
                    "build again");
    return NB_OK;
}

/* ---- which parameters ---- */

/* Makes a simulator of a loaded shot; reports an error if the shot has no scene. */
static nb_status simulator(nb_fit *fit, const nb_shot *shot, const char *names,
                           nb_simulator **out)
{
    *out = NULL;
    if (!shot->scene) return fail(fit->ctx, NB_ERR_ARGUMENT, "a shot needs a scene");
    return nb_simulator_create(fit->ctx, shot->scene, names, shot->options, out);
}

static nb_status count_parameters(nb_fit *fit, const nb_shot *shot, const char *shared)
{
    struct fit_layout *l = &fit->layout;
    nb_simulator *sim;
    size_t ndense_shared;

    NB_TRY(simulator(fit, shot, shared, &sim));
    l->ns = nb_simulator_nparam(sim);
    ndense_shared = nb_simulator_ndense(sim);
    nb_simulator_free(sim);
    NB_TRY(simulator(fit, shot, fit->names, &sim));
    l->m = nb_simulator_nparam(sim);
    l->md = nb_simulator_ndense(sim);
    nb_simulator_free(sim);
    if (l->m == 0) return fail(fit->ctx, NB_ERR_ARGUMENT, "a fit needs free parameters");
    l->no = l->m - l->ns;
    l->nd = ndense_shared;
    l->nf = l->ns - l->nd;
    if (l->md - l->nd != l->no)
        return fail(fit->ctx, NB_ERR_UNSUPPORTED,
                    "structure factors belong to all shots and cannot have a value for "
                    "each shot");
    if (l->no > 0 && l->nshot > (SIZE_MAX / sizeof(double) - l->ns) / l->no)
        return fail_memory(fit->ctx, "the parameters of a fit");
    l->n = l->ns + l->nshot * l->no;
    return NB_OK;
}

static nb_status choose_method(nb_fit *fit)
{
    const struct fit_layout *l = &fit->layout;
    const size_t dense = l->nf > 0 ? l->n - l->nf : l->nd > l->no ? l->nd : l->no;
    const int wanted = fit->options.method;

    fit->method = wanted != NB_FIT_AUTO     ? wanted
                  : dense <= FIT_DENSE_MOST ? NB_FIT_LM
                                            : NB_FIT_LBFGS;
    if (fit->method == NB_FIT_LM && dense > FIT_DENSE_MOST)
        return fail(fit->ctx, NB_ERR_UNSUPPORTED,
                    "the method of Levenberg and Marquardt takes at most %d parameters "
                    "that are not structure factors, this fit has %zu; use L-BFGS",
                    FIT_DENSE_MOST, dense);
    if (fit->method == NB_FIT_LBFGS && !lbfgs_is_available())
        return fail(fit->ctx, NB_ERR_UNSUPPORTED,
                    "%zu parameters need L-BFGS, and this build has no NLopt; install "
                    "libnlopt-dev and build again",
                    l->n);
    return NB_OK;
}

static void set_offsets(nb_fit *fit)
{
    struct fit_layout *l = &fit->layout;
    struct fit_offsets *at = &fit->at;

    l->has_matrix = fit->method == NB_FIT_LM;
    at->gradient = 1;
    at->matrix = at->gradient + l->ns;
    at->diagonal = at->matrix + (l->has_matrix ? l->nd * l->nd : 0);
    at->coupling = at->diagonal + (l->has_matrix ? l->nf : l->ns);
    at->weighed = at->coupling + (l->has_matrix ? l->nd * l->nf : 0);
    at->end = at->weighed + sizeof(struct fit_weighed) / sizeof(double);
    at->own_gradient = 1;
    at->own_matrix = at->own_gradient + l->no;
    at->own_shared = at->own_matrix + (l->has_matrix ? l->no * l->no : l->no);
    at->own_f = at->own_shared + (l->has_matrix ? l->no * l->nd : 0);
    at->own_end = at->own_f + (l->has_matrix ? l->no * l->nf : 0);
}

/* ---- memory ---- */

static void take_point(struct arena *memory, const nb_fit *fit, struct fit_point *point)
{
    point->x = arena_take(memory, fit->layout.n, sizeof *point->x);
    point->sum = arena_take(memory, fit->at.end, sizeof *point->sum);
    point->own =
        arena_take(memory, fit->layout.nshot * fit->at.own_end, sizeof *point->own);
    point->status = arena_take(memory, fit->layout.nshot, 1);
}

static void take_worker(struct arena *memory, const nb_fit *fit, struct fit_worker *w)
{
    const struct fit_layout *l = &fit->layout;
    const size_t dense = l->has_matrix ? l->md : 0;

    w->x = arena_take(memory, l->m, sizeof *w->x);
    w->gradient = arena_take(memory, l->m, sizeof *w->gradient);
    w->diagonal = arena_take(memory, l->m, sizeof *w->diagonal);
    w->matrix = arena_take(memory, dense * dense, sizeof *w->matrix);
    w->coupling = arena_take(memory, dense * l->nf, sizeof *w->coupling);
    w->sum = arena_take(memory, fit->at.end, sizeof *w->sum);
    w->own = arena_take(memory, fit->at.own_end, sizeof *w->own);
}

static void list(struct arena *memory, void *user)
{
    nb_fit *fit = user;
    struct fit_layout *l = &fit->layout;
    const size_t dense = l->n - l->nf, folded = l->has_matrix && l->nf > 0 ? dense : 0;

    fit->value = arena_take(memory, l->n, sizeof *fit->value);
    fit->start = arena_take(memory, l->n, sizeof *fit->start);
    fit->lower = arena_take(memory, l->n, sizeof *fit->lower);
    fit->upper = arena_take(memory, l->n, sizeof *fit->upper);
    fit->centre = arena_take(memory, l->n, sizeof *fit->centre);
    fit->weight = arena_take(memory, l->n, sizeof *fit->weight);
    fit->is_width = arena_take(memory, l->n, 1);
    fit->is_scale = arena_take(memory, l->n, 1);
    fit->chart = arena_take(memory, l->n, 1);
    fit->fixed = arena_take(memory, l->n, 1);
    fit->weighed_x = arena_take(memory, l->n, sizeof *fit->weighed_x);
    fit->draws.x = arena_take(memory, l->n, sizeof *fit->draws.x);
    fit->draws.step = arena_take(memory, DRAWS * l->n, sizeof *fit->draws.step);
    fit->pixels = arena_take(memory, l->nshot, sizeof *fit->pixels);
    fit->name = arena_take(memory, l->nshot, sizeof *fit->name);
    fit->left_out = arena_take(memory, l->nshot, sizeof *fit->left_out);
    fit->is_held_out = arena_take(memory, l->nshot, 1);
    fit->failure = arena_take(memory, l->nshot, sizeof *fit->failure);
    fit->identity = arena_take(memory, l->nshot * identity_count(), sizeof *fit->identity);
    fit->outliers = arena_take(memory, l->nshot, sizeof *fit->outliers);
    fit->is_loaded = arena_take(memory, l->nshot, 1);
    fit->track = arena_take(memory, l->nshot, sizeof *fit->track);
    fit->kept_track = arena_take(memory, l->nshot, sizeof *fit->kept_track);
    l->dense = arena_take(memory, l->nd, sizeof *l->dense);
    l->f = arena_take(memory, l->nf, sizeof *l->f);
    l->row = arena_take(memory, l->ns, sizeof *l->row);
    l->is_f = arena_take(memory, l->ns, 1);
    take_point(memory, fit, &fit->best);
    take_point(memory, fit, &fit->trial);
    take_point(memory, fit, &fit->kept);
    fit->own = arena_take(memory, l->nshot, sizeof *fit->own);
    fit->cross = arena_take(memory, l->nshot, sizeof *fit->cross);
    fit->gradient = arena_take(memory, l->n, sizeof *fit->gradient);
    fit->step = arena_take(memory, l->n, sizeof *fit->step);
    fit->dense_step = arena_take(memory, dense, sizeof *fit->dense_step);
    fit->bounds = arena_take(memory, 3 * dense, sizeof *fit->bounds);
    fit->folded = arena_take(memory, folded * folded, sizeof *fit->folded);
    fit->diagonal = arena_take(memory, folded, sizeof *fit->diagonal);
    for (int i = 0; i < fit->nworker; i++) take_worker(memory, fit, fit->worker + i);
}

/* Makes the memory of threads that evaluate shots. Each of several shots is evaluated by
 * one thread; a single shot has all threads. */
static nb_status make_workers(nb_fit *fit)
{
    const int threads = fit->ctx->threads;
    const int n = (size_t)threads < fit->layout.nshot ? threads : (int)fit->layout.nshot;

    fit->worker = calloc((size_t)n, sizeof *fit->worker);
    if (!fit->worker) return fail_memory(fit->ctx, "the threads of a fit");
    fit->nworker = n;
    fit->worker[0].ctx = fit->ctx;
    for (int i = 0; i < n && n > 1; i++) {
        nb_context_options options = fit->ctx->options;
        nb_status status;

        options.threads = 1;
        options.device = fit->ctx->device;
        options.device_id = fit->ctx->device_id;
        status = nb_context_create(NB_API_VERSION, &options, &fit->worker[i].ctx);
        if (status != NB_OK)
            return fail(fit->ctx, status, "a context for thread %d of a fit: %s", i,
                        nb_status_text(status));
    }
    return NB_OK;
}

static nb_status make_solvers(nb_fit *fit)
{
    const struct fit_layout *l = &fit->layout;
    const int is_folded = l->nf > 0;

    if (!l->has_matrix) return NB_OK;
    fit->solver =
        is_folded ? solver_make(l->n - l->nf, 0, 0) : solver_make(l->nd, l->no, l->nshot);
    fit->solver_alone = solver_make(0, l->no, 1);
    return fit->solver && fit->solver_alone ? NB_OK
                                            : fail_memory(fit->ctx, "the matrix of a fit");
}

static void set_value(nb_fit *fit, size_t i, const nb_param *from, int64_t shot)
{
    const nb_param narrow = bounds_of_fit(from), *param = &narrow;

    fit->value[i] = (nb_fit_value){.param = *param, .shot = shot, .value = param->value};
    fit->start[i] = fit->best.x[i] = choices_start(fit, param);
    fit->chart[i] = (unsigned char)chart_of(param, fit->has_domains);
    fit->lower[i] = chart_least(fit->chart[i], param);
    fit->upper[i] = param->upper;
    fit->is_width[i] = (unsigned char)bounds_makes_broad(param);
    fit->is_scale[i] = !strcmp(param->name, "scale");
}

/* Takes the start of one shot's parameters from its scene. */
static nb_status take_start(nb_fit *fit, size_t shot, const nb_simulator *sim)
{
    struct fit_layout *l = &fit->layout;

    for (size_t i = 0; i < l->m; i++) {
        const size_t first = fit->named ? fit_index(l, fit->named - 1, i) : i;
        nb_param param;

        if (nb_simulator_nparam(sim) != l->m || nb_simulator_param(sim, i, &param) != NB_OK
            || (fit->named && strcmp(param.name, fit->value[first].param.name) != 0))
            return fail(fit->ctx, NB_ERR_ARGUMENT,
                        "the shot does not have the parameters of the shots before: %s is "
                        "missing, or there are more",
                        fit->named ? fit->value[first].param.name : "one");
        if (i >= l->ns || !fit->named)
            set_value(fit, fit_index(l, shot, i), &param, i < l->ns ? -1 : (int64_t)shot);
    }
    if (!fit->named) fit->named = shot + 1;
    return NB_OK;
}

static int is_likelihood(const nb_target *target)
{
    return target->kind == NB_LOSS_POISSON || target->kind == NB_LOSS_READOUT;
}

static int is_on_device(const nb_array *image)
{
    return image && image->device != NB_DEVICE_CPU;
}

static nb_status take_shot(nb_fit *fit, size_t shot, const nb_shot *loaded)
{
    nb_simulator *sim = NULL;
    nb_status status = simulator(fit, loaded, fit->names, &sim);
    nb_description d;

    if (status == NB_OK) status = nb_simulator_describe(sim, NULL, &d);
    if (status == NB_OK) {
        fit->outliers[shot] = (struct outliers_shot){.nfast = d.nfast, .nslow = d.nslow};
        fit->has_domains |= d.mosaic_model == NB_MOSAIC_DOMAINS;
        status = take_start(fit, shot, sim);
    }
    if (status == NB_OK) status = errors_check_weights(fit->ctx, &loaded->target);
    if (status == NB_OK)
        status = fit_count_pixels(fit->ctx, sim, &loaded->target, fit->pixels + shot);
    if (status == NB_OK)
        status = identity_take(fit, sim, loaded, fit->identity + shot * identity_count());
    if (status == NB_OK) status = boxes_note(fit, loaded->scene);
    if (status == NB_OK) {
        fit->is_loaded[shot] = 1;
        draws_note(&fit->draws, sim);
        fit->is_likelihood &= is_likelihood(&loaded->target);
        fit->needs_variance |= errors_need_variance(&loaded->target);
        fit->is_robust |=
            loaded->target.kind == NB_LOSS_HUBER || loaded->target.kind == NB_LOSS_CAUCHY;
        fit->on_device |= is_on_device(loaded->target.weight);
        fit->can_broaden &= loaded->scene->crystal.domain_weight == NULL;
    }
    nb_simulator_free(sim);
    return status;
}

static nb_status name_shot(nb_fit *fit, size_t shot, const nb_shot *loaded)
{
    char number[32];

    if (fit->name[shot]) return NB_OK;
    (void)snprintf(number, sizeof number, "shot %zu", shot);
    fit->name[shot] = strdup(loaded->name ? loaded->name : number);
    return fit->name[shot] ? NB_OK : fail_memory(fit->ctx, "the name of a shot");
}

/* Takes the name and the start of a shot that is in memory. */
static nb_status start_loaded(nb_fit *fit, size_t shot, const nb_shot *loaded)
{
    char message[CONTEXT_MESSAGE];
    nb_status status;

    NB_TRY(name_shot(fit, shot, loaded));
    status = take_shot(fit, shot, loaded);
    if (status == NB_OK || fit->layout.nshot == 1) return status;
    memcpy(message, fit->ctx->message, sizeof message);
    return fail(fit->ctx, status, "%s: %.900s", fit->name[shot], message);
}

static nb_status start_shot(nb_fit *fit, size_t shot)
{
    nb_shot loaded;
    nb_status status = fit_load(fit, fit->ctx, shot, &loaded);

    if (status != NB_OK) {
        NB_TRY(name_shot(fit, shot, &loaded));
        return status;
    }
    status = start_loaded(fit, shot, &loaded);
    fit_unload(fit, shot, &loaded);
    return status;
}

/* Gives a shot that could not be loaded the own parameters of shot `from`. */
static void copy_start(nb_fit *fit, size_t shot, size_t from)
{
    const struct fit_layout *l = &fit->layout;

    for (size_t i = l->ns; i < l->m; i++)
        set_value(fit, fit_index(l, shot, i), &fit->value[fit_index(l, from, i)].param,
                  (int64_t)shot);
}

/* Takes the starts of all shots. Shot `first` is in memory already (`loaded`). A shot that
 * cannot be loaded is left out, if another one can. */
static nb_status start_all(nb_fit *fit, size_t first, const nb_shot *loaded)
{
    size_t good = SIZE_MAX;
    nb_status status = NB_OK;
    char message[CONTEXT_MESSAGE];

    fit->is_likelihood = fit->can_broaden = 1;
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        status = shot == first ? start_loaded(fit, shot, loaded) : start_shot(fit, shot);
        if (status == NB_OK) {
            if (good == SIZE_MAX) good = shot;
            continue;
        }
        if (!fit->options.load || fit->layout.nshot == 1 || status == NB_ERR_MEMORY
            || status == NB_ERR_CANCELLED)
            return status;
        memcpy(message, fit->ctx->message, sizeof message);
        NB_TRY(fit_leave_out(fit, shot, message));
    }
    if (good == SIZE_MAX) return status;
    for (size_t shot = 0; shot < fit->layout.nshot; shot++)
        if (fit->left_out[shot]) copy_start(fit, shot, good);
    return NB_OK;
}

/* Refuses a start outside its bounds; the bounds of params.h enclose all sensible
 * numbers. */
static nb_status check_starts(const nb_fit *fit)
{
    for (size_t i = 0; i < fit->layout.n; i++) {
        const nb_fit_value *v = fit->value + i;

        if (fit->best.x[i] >= fit->lower[i] && fit->best.x[i] <= fit->upper[i]) continue;
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "%s starts at %g, outside its bounds %g and %g", v->param.name,
                    fit->best.x[i], fit->lower[i], fit->upper[i]);
    }
    return NB_OK;
}

/* ---- structure factors ---- */

static int is_f(const char *name)
{
    return !strncmp(name, "F[", 2);
}

/* Sorts the shared parameters into dense ones and structure factors. */
static nb_status sort_shared(nb_fit *fit, const nb_shot *shot, const char *shared)
{
    struct fit_layout *l = &fit->layout;
    size_t nd = 0, nf = 0;
    nb_simulator *sim;

    NB_TRY(simulator(fit, shot, shared, &sim));
    for (size_t i = 0; i < l->ns; i++) {
        nb_param param;

        if (nb_simulator_param(sim, i, &param) != NB_OK) continue;
        l->is_f[i] = (unsigned char)is_f(param.name);
        l->row[i] = l->is_f[i] ? nf : nd;
        if (l->is_f[i])
            l->f[nf++] = i;
        else
            l->dense[nd++] = i;
    }
    nb_simulator_free(sim);
    return NB_OK;
}

/* Sets fit->has_gauge if a scale and all structure factors that scatter are free. Together
 * they have one number too many, since a factor can move between them and changes no image.
 * L-BFGS needs no gauge: it solves no equations that this makes singular. */
static nb_status find_gauge(nb_fit *fit, const nb_shot *shot)
{
    const struct fit_layout *l = &fit->layout;
    nb_simulator *sim;
    size_t all;
    int has_scale = 0;

    for (size_t i = 0; i < l->n; i++) has_scale |= fit->is_scale[i];
    if (!has_scale || l->nf == 0 || fit->method != NB_FIT_LM
        || shot->scene->crystal.default_f != 0)
        return NB_OK;
    NB_TRY(simulator(fit, shot, "F", &sim));
    all = nb_simulator_nparam(sim);
    nb_simulator_free(sim);
    fit->has_gauge = l->nf == all;
    return NB_OK;
}

/* ---- the whole fit ---- */

static nb_status copy_options(nb_fit *fit, const nb_shot *shot,
                              const nb_fit_options *options)
{
    const char *shared = options->shared ? options->shared : "";
    const char *own = options->own ? options->own : "";
    const size_t size = strlen(shared) + strlen(own) + 2;

    fit->names = malloc(size);
    fit->shot = options->load ? NULL : calloc(fit->layout.nshot, sizeof *fit->shot);
    if (!fit->names || (!options->load && !fit->shot))
        return fail_memory(fit->ctx, "a fit");
    if (fit->shot) memcpy(fit->shot, shot, fit->layout.nshot * sizeof *fit->shot);
    (void)snprintf(fit->names, size, "%s%s%s", shared, *shared && *own ? " " : "", own);
    fit->options = *options;
    fit->options.shared = fit->options.own = NULL;
    fit->options.restraint = NULL;
    return NB_OK;
}

/* Makes all parts of a fit that depend on a shot, from the first shot that can be
 * loaded. */
static nb_status lay_out(nb_fit *fit, size_t first, const nb_shot *shot, const char *shared)
{
    NB_TRY(count_parameters(fit, shot, shared));
    NB_TRY(choose_method(fit));
    if (fit->options.passes == 0) fit->options.passes = fit->method == NB_FIT_LM ? 50 : 500;
    set_offsets(fit);
    NB_TRY(make_workers(fit));
    if (!arena_build(&fit->memory, list, fit)) return fail_memory(fit->ctx, "a fit");
    NB_TRY(sort_shared(fit, shot, shared));
    NB_TRY(make_solvers(fit));
    NB_TRY(start_all(fit, first, shot));
    for (size_t f = 0; f < fit->layout.nf; f++)
        fit->f_rms += pow(fit->start[fit->layout.f[f]], 2);
    fit->f_rms = sqrt(fit->f_rms / fmax((double)fit->layout.nf, 1));
    fit->shared_scale = fit->own_scale = SIZE_MAX;
    for (size_t i = 0; i < fit->layout.m; i++)
        if (fit->is_scale[i])
            *(i < fit->layout.ns ? &fit->shared_scale : &fit->own_scale) = i;
    return find_gauge(fit, shot);
}

static nb_status fill(nb_fit *fit, const nb_shot *shot, const nb_fit_options *options)
{
    const char *shared = options->shared ? options->shared : "";
    nb_shot loaded;
    nb_status status = NB_ERR_ARGUMENT;
    size_t first = 0;

    NB_TRY(copy_options(fit, shot, options));
    while (first < fit->layout.nshot
           && (status = fit_load(fit, fit->ctx, first, &loaded)) != NB_OK)
        first++;
    NB_TRY(status);
    status = lay_out(fit, first, &loaded, shared);
    fit_unload(fit, first, &loaded);
    NB_TRY(status);
    for (size_t i = 0; i < options->nrestraint; i++)
        NB_TRY(fit_set_restraint(fit, options->restraint + i));
    NB_TRY(check_starts(fit));
    NB_TRY(choices_hold_out(fit));
    fit->alone = fit_begins_alone(fit) && fit->shared_scale == SIZE_MAX;
    for (size_t shot_i = 0; shot_i < fit->layout.nshot; shot_i++) {
        track_begin(fit->track + shot_i);
        track_begin(fit->kept_track + shot_i);
    }
    return NB_OK;
}

nb_status nb_fit_create(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                        const nb_fit_options *options, nb_fit **out)
{
    STANDARD_FLOATS;

    return fit_create(ctx, nshot, shot, options, 0, out);
}

nb_status fit_create(nb_context *ctx, int64_t nshot, const nb_shot *shot,
                     const nb_fit_options *options, int is_expected, nb_fit **out)
{
    nb_fit *fit;
    nb_status status;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!out) return fail(ctx, NB_ERR_ARGUMENT, "a fit needs a place to go");
    *out = NULL;
    NB_TRY(check(ctx, nshot, shot, options));
    fit = calloc(1, sizeof *fit);
    if (!fit) return fail_memory(ctx, "a fit");
    fit->ctx = ctx;
    fit->is_expected = is_expected;
    fit->layout.nshot = (size_t)nshot;
    atomic_init(&fit->cancelled, 0);
    (void)pthread_mutex_init(&fit->loading, NULL);
    status = fill(fit, shot, options);
    if (status == NB_OK)
        *out = fit;
    else
        nb_fit_free(fit);
    return status;
}

void nb_fit_free(nb_fit *fit)
{
    if (!fit) return;
    for (size_t i = 0; fit->name && i < fit->layout.nshot; i++) {
        free(fit->name[i]);
        free(fit->left_out[i]);
        outliers_free(fit->outliers + i);
        free(fit->failure[i]);
    }
    for (int i = 0; i < fit->nworker; i++)
        if (fit->worker[i].ctx != fit->ctx) nb_context_free(fit->worker[i].ctx);
    solver_free(fit->solver);
    solver_free(fit->solver_alone);
    sums_free(&fit->sums);
    result_free(fit->result);
    arena_free(&fit->memory);
    free(fit->misfit);
    free(fit->sandwich);
    free(fit->boxes.at);
    free(fit->boxes.slot);
    free(fit->history);
    free(fit->worker);
    free(fit->shot);
    free(fit->names);
    free(fit->path);
    (void)pthread_mutex_destroy(&fit->loading);
    free(fit);
}
