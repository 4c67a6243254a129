/*
 * fisher_scan.c - expected errors of a fit against a number of the experiment.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fit/fit_run.h"

enum { STEPS_MOST = 1000, NAME = 64 };

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
    if (s->json)
        return message_usage(messages,
                             "-fisher_scan prints a table, no -json; leave one out");
    if (read_scan(s->fit.fisher_scan, &scan)) return 0;
    return message_usage(messages,
                         "-fisher_scan %s: expected NAME=FROM:TO:STEP, a step that leads "
                         "from one to the other in at most %d steps",
                         s->fit.fisher_scan, STEPS_MOST);
}

/* The name is that of one parameter of the scene, and all values lie within its bounds. */
static int check_name(const struct run *run, struct scan *scan)
{
    const double last =
        scan->from + floor((scan->to - scan->from) / scan->step + 1e-9) * scan->step;
    char what[PARAMS_WHAT];
    nb_simulator *sim = NULL;
    nb_param p = {0};
    if (!params_known(scan->name, what))
        return message_usage(run->messages, "-fisher_scan: %s", what);
    const nb_status status =
        nb_simulator_create(run->ctx, &run->resolved, scan->name, &run->s->how, &sim);
    int code = 0;
    if (status != NB_OK)
        code = message_usage(run->messages, "-fisher_scan %s: %s", scan->name,
                             nb_context_message(run->ctx));
    else if (nb_nparam(sim) != 1 || nb_param_at(sim, 0, &p) != NB_OK) {
        (void)nb_param_at(sim, 0, &p);
        code = message_usage(run->messages,
                             "-fisher_scan %s: it is %zu parameters; name one, as %s",
                             scan->name, nb_nparam(sim), p.name);
    } else if (!(fmin(scan->from, last) >= p.lower && fmax(scan->from, last) <= p.upper))
        code = message_usage(run->messages, "-fisher_scan %s: expected values of %g to %g",
                             scan->name, p.lower, p.upper);
    if (!code) (void)snprintf(scan->unit, sizeof scan->unit, "%s", p.unit);
    nb_simulator_free(sim);
    return code;
}

/* Sets the parameter for every image, besides what -shots sets. */
static int set_value(struct fit_job *job, const char *name, double value, int first)
{
    for (size_t i = 0; i < job->sources.n; i++) {
        struct fit_source *const source = &job->sources.at[i];
        if (first) {
            const size_t length = source->names ? strlen(source->names) : 0;
            char *names = realloc(source->names, length + strlen(name) + 2);
            double *values = realloc(source->values, (source->nvalue + 1) * sizeof *values);
            if (names) source->names = names;
            if (values) source->values = values;
            if (!names || !values)
                return message_failure(job->run->messages, "out of memory");
            (void)sprintf(names + length, "%s ", name);
            source->nvalue++;
        }
        source->values[source->nvalue - 1] = value;
        if (job->kept) fit_image_free(&job->kept[i]);
    }
    return 0;
}

/* Names, and below them units. */
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

static int scan_one(struct fit_job *job, const struct scan *scan, int step)
{
    struct run *const run = job->run;
    const double value = scan->from + step * scan->step;
    const nb_fit_options options = fit_options_of(job);
    nb_fit_result result;
    nb_fit *fit = NULL;
    int code = set_value(job, scan->name, value, step == 0);
    if (code) return code;
    nb_status status = nb_fisher(run->ctx, (int64_t)job->sources.n, NULL, &options, &fit);
    if (status == NB_OK) status = nb_fit_result_get(fit, &result);
    if (status == NB_ERR_CANCELLED)
        code = EXIT_INTERRUPTED;
    else if (status != NB_OK)
        code = message_status(run->messages, status,
                              *job->why ? job->why : nb_context_message(run->ctx), 0);
    else {
        if (step == 0) print_head(scan, &result);
        print_errors(value, &result);
    }
    nb_fit_free(fit);
    return code;
}

int fisher_scan_run(struct fit_job *job)
{
    struct scan scan;
    if (!read_scan(job->run->s->fit.fisher_scan, &scan)) return EXIT_USAGE;
    int code = check_name(job->run, &scan);
    if (code) return code;
    if (!job->run->s->quiet) printf("expected errors of a fit, against %s\n", scan.name);
    const int steps = (int)floor((scan.to - scan.from) / scan.step + 1e-9);
    for (int i = 0; i <= steps && !code; i++) code = scan_one(job, &scan, i);
    return code;
}
