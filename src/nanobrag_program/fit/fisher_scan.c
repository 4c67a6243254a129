/*
 * fisher_scan.c - -fisher_scan: expected errors of a fit for several values of a parameter.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

enum { STEPS_MOST = 1000, NAME = 64 };

/* Returns from the calling function if a call of the library fails. */
#define PASS(call)                                                                         \
    do {                                                                                   \
        const nb_status pass_status = (call);                                              \
        if (pass_status != NB_OK) return pass_status;                                      \
    } while (0)

struct scan {
    char name[NAME], unit[NAME];
    double from, to, step;
};

static int read_scan(const char *text, struct scan *out)
{
    char from[32], to[32], step[32], rest;
    const int n =
        sscanf(text, "%63[^=]=%31[^:]:%31[^:]:%31[^:]%c", out->name, from, to, step, &rest);
    return n == 4 && parse_real(from, &out->from) && parse_real(to, &out->to)
           && parse_real(step, &out->step) && out->step != 0
           && (out->to - out->from) / out->step >= 0
           && (out->to - out->from) / out->step < STEPS_MOST;
}

int fisher_scan_check(const struct settings *s, struct messages *messages)
{
    struct scan scan;
    if (read_scan(s->fit.fisher_scan, &scan)) return 0;
    return message_usage(messages,
                         "-fisher_scan %s: expected NAME=FROM:TO:STEP with a STEP that "
                         "leads from FROM to TO in at most %d steps",
                         s->fit.fisher_scan, STEPS_MOST);
}

/* Check that the name means one parameter of the scene, and that all values of the scan are
 * within its bounds. Returns 0 or the exit status. */
static int check_name(const struct run *run, struct scan *scan)
{
    const double last =
        scan->from + floor((scan->to - scan->from) / scan->step + 1e-9) * scan->step;
    nb_simulator *sim = NULL;
    nb_param p = {0};
    const nb_status status = nb_simulator_create(run->command.ctx, &run->command.resolved,
                                                 scan->name, &run->command.s->how, &sim);
    int code = 0;
    if (status != NB_OK)
        code = message_usage(run->command.messages, "-fisher_scan %s: %s", scan->name,
                             nb_context_message(run->command.ctx));
    else if (nb_simulator_nparam(sim) != 1 || nb_simulator_param(sim, 0, &p) != NB_OK) {
        (void)nb_simulator_param(sim, 0, &p);
        code = message_usage(run->command.messages,
                             "-fisher_scan %s: the name stands for %zu parameters; name "
                             "one, such as %s",
                             scan->name, nb_simulator_nparam(sim), p.name);
    } else if (!(fmin(scan->from, last) >= p.lower && fmax(scan->from, last) <= p.upper))
        code = message_usage(run->command.messages,
                             "-fisher_scan %s: expected values of %g to %g", scan->name,
                             p.lower, p.upper);
    if (!code) (void)snprintf(scan->unit, sizeof scan->unit, "%s", p.unit);
    nb_simulator_free(sim);
    return code;
}

/* ---- one point ---- */

/* a run like that of the command line, but with another value of the parameter */
struct point {
    struct run run;
    struct settings settings;
    nb_simulator *source; /* owns the arrays of the scene */
};

/* Resets the counts that the user did not state, so that the rules choose them again. */
static void reopen_counts(const nb_scene *user, nb_scene *scene)
{
    scene->oversample = user->oversample;
    scene->crystal.interpolate = user->crystal.interpolate;
    scene->psf.radius = user->psf.radius;
    if (user->crystal.ndomains == 0) scene->crystal.ndomains = 0;
    if (user->detector.nlayers == 0) scene->detector.nlayers = 0;
    if (user->beam.ndispersion == 0) scene->beam.ndispersion = 0;
    for (int i = 0; i < 2; i++) {
        if (user->beam.ndivergence[i] > 0) continue;
        scene->beam.ndivergence[i] = 0;
        scene->beam.divergence_step[i] = user->beam.divergence_step[i];
    }
    if (user->scan.nphi > 0) return;
    scene->scan.nphi = 0;
    scene->scan.step = user->scan.step;
    if (!(user->given & NB_GIVEN_PHI_STEP)) scene->given &= ~(uint64_t)NB_GIVEN_PHI_STEP;
}

/* Resets the origin of the detector to the user's statement, in pixels or by default. */
static void reopen_origin(const nb_detector *user, nb_detector *detector)
{
    detector->origin_kind = user->origin_kind;
    memcpy(detector->origin, user->origin, sizeof detector->origin);
    memcpy(detector->size, user->size, sizeof detector->size);
}

/* Makes the scene for one value of the scanned parameter. Counts that nanobrag chooses are
 * left open, and structure factors are left out. */
static nb_status set_scene(struct point *point, const char *name, double value)
{
    const nb_scene *const user = &point->settings.scene;
    const struct run *const run = &point->run;
    nb_scene scene = *user;
    int hkl[3];
    if (point->settings.boxes_most > 0) {
        scene.detector.box = NULL;
        scene.detector.nbox = 0;
    }
    PASS(nb_simulator_create(run->command.ctx, &scene, name, &run->command.s->how,
                             &point->source));
    PASS(nb_simulator_resolved(point->source, &value, &scene));
    reopen_counts(user, &scene);
    for (int i = 0; i < 3 && strncmp(name, "ncells", 6) != 0; i++)
        scene.crystal.size[i] = user->crystal.size[i];
    if (strncmp(name, "origin", 6) != 0) reopen_origin(&user->detector, &scene.detector);
    if (!params_is_factor(name, hkl)) scene.crystal.hkl = user->crystal.hkl;
    point->settings.scene = scene;
    return NB_OK;
}

/* Copies the options except -param for the scanned parameter. The caller frees out->at.
 * Returns 0 if there is no memory. */
static int other_events(const struct event_list *events, const char *name,
                        struct event_list *out)
{
    const size_t length = strlen(name);
    out->at = malloc((events->n + 1) * sizeof *out->at);
    if (!out->at) return 0;
    for (size_t i = 0; i < events->n; i++) {
        const char *const text = events->at[i].text;
        if (events->at[i].option == OPT_PARAM && strncmp(text, name, length) == 0
            && text[length] == '=')
            continue;
        out->at[out->n++] = events->at[i];
    }
    return 1;
}

/* Makes the run for one value of the scanned parameter, as if the command line had this
 * value: calculates structure factors to the resolution at the detector's corner, chooses
 * sub-pixels and boxes anew, and warns. Returns 0 or the exit status. */
static int point_start(struct point *point, struct run *run, const char *name, double value)
{
    struct event_list events = {0};
    int code = 0, hkl[3];
    memset(point, 0, sizeof *point);
    point->settings = *run->command.s;
    point->run = *run;
    point->run.command.s = &point->settings;
    point->run.command.sim = NULL;
    point->run.derivatives = NULL;
    point->run.command.inputs.hkl = NULL;
    memset(&point->run.command.params, 0, sizeof point->run.command.params);
    const nb_status status = set_scene(point, name, value);
    if (status != NB_OK)
        code = message_status(run->command.messages, status,
                              nb_context_message(run->command.ctx), 0);
    if (!code && run->command.s->pdb && !params_is_factor(name, hkl))
        code = factors_calculate(&point->run.command.inputs, &point->settings,
                                 run->command.messages, run->command.ctx);
    if (!code && !other_events(run->command.events, name, &events))
        code = message_failure(run->command.messages, "out of memory");
    if (!code) code = command_simulator(&point->run.command, &events);
    if (!code) checks_before(&point->run);
    free(events.at);
    return code;
}

static void point_free(struct point *point)
{
    nb_hkl_free(point->run.command.inputs.hkl);
    params_free(&point->run.command.params);
    nb_simulator_free(point->run.command.sim);
    nb_simulator_free(point->source);
}

/* ---- the table ---- */

/* Prints the names of the parameters, and their units below. */
static void print_head(const struct scan *scan, const nb_fit_result *r)
{
    int hkl[3];
    printf("%-14s", scan->name);
    for (size_t i = 0; i < r->nvalue; i++)
        if (r->value[i].shot <= 0 && !params_is_factor(r->value[i].param.name, hkl))
            printf(" %12s", r->value[i].param.name);
    printf("\n%-14s", strcmp(scan->unit, "1") == 0 ? "" : scan->unit);
    for (size_t i = 0; i < r->nvalue; i++) {
        const nb_param *const p = &r->value[i].param;
        if (r->value[i].shot <= 0 && !params_is_factor(p->name, hkl))
            printf(" %12s", strcmp(p->unit, "1") == 0 ? "" : p->unit);
    }
    printf("\n");
}

static void print_errors(double value, const nb_fit_result *r)
{
    int hkl[3];
    printf("%-14g", value);
    for (size_t i = 0; i < r->nvalue; i++)
        if (r->value[i].shot <= 0 && !params_is_factor(r->value[i].param.name, hkl))
            printf(" %12.4g", r->value[i].error);
    printf("\n");
    (void)fflush(stdout);
}

/* Computes and prints the expected errors of job->run. Returns 0 or the exit status. */
static int compute(struct fit_job *job, const struct scan *scan, double value)
{
    struct run *const run = job->run;
    const nb_fit_options options = fit_options_of(job);
    nb_fit_result result;
    nb_fit *fit = NULL;
    *job->why = 0;
    nb_status status = nb_fit_create_expected(run->command.ctx, (int64_t)job->sources.n,
                                              NULL, &options, &fit);
    if (status == NB_OK) status = nb_fit_result_get(fit, &result);
    for (size_t i = 0; job->kept && i < job->sources.n; i++) fit_image_free(&job->kept[i]);
    if (status != NB_OK) {
        nb_fit_free(fit);
        if (status == NB_ERR_CANCELLED) return EXIT_INTERRUPTED;
        return message_status(run->command.messages, status,
                              *job->why ? job->why : nb_context_message(run->command.ctx),
                              0);
    }
    if (!names_stdout(run->command.s->json)) {
        if (job->npoint == 0) print_head(scan, &result);
        print_errors(value, &result);
    }
    if (!run->command.s->json) {
        nb_fit_free(fit);
        fit = NULL;
    }
    job->point[job->npoint++] =
        (struct fisher_point){.value = value,
                              .fit = fit,
                              .oversample = run->command.resolved.oversample};
    return 0;
}

static int scan_one(struct fit_job *job, const struct scan *scan, int step)
{
    struct run *const run = job->run;
    const double value = scan->from + step * scan->step;
    struct point *const point = malloc(sizeof *point);
    if (!point) return message_failure(run->command.messages, "out of memory");
    int code = point_start(point, run, scan->name, value);
    job->run = &point->run;
    if (!code) code = compute(job, scan, value);
    job->run = run;
    point_free(point);
    free(point);
    return code;
}

int fisher_scan_run(struct fit_job *job)
{
    struct run *const run = job->run;
    struct scan scan;
    if (!read_scan(run->command.s->fit.fisher_scan, &scan)) return EXIT_USAGE;
    int code = check_name(run, &scan);
    if (code) return code;
    const int steps = (int)floor((scan.to - scan.from) / scan.step + 1e-9);
    job->point = calloc((size_t)steps + 1, sizeof *job->point);
    if (!job->point) return message_failure(run->command.messages, "out of memory");
    if (!run->command.s->quiet) printf("expected errors of a fit, against %s\n", scan.name);
    for (int i = 0; i <= steps && !code; i++) code = scan_one(job, &scan, i);
    if (code || !run->command.s->json) return code;
    run->fit = job;
    code = json_write(run, run->command.s->json);
    run->fit = NULL;
    return code;
}
