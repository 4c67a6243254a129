/*
 * fit_report.c - prints the report of a fit: values with errors, correlated parameters,
 * parameters that the data do not determine, and residuals.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

/* more structure factors than this are summed up in a line */
enum { FACTORS_MOST = 20 };

static int is_factor(const nb_fit_value *v)
{
    int hkl[3];
    return params_is_factor(v->param.name, hkl);
}

static size_t count_factors(const nb_fit_result *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->nvalue; i++) n += is_factor(&r->value[i]);
    return n;
}

void fit_number(double value, double error, char out[FIT_NUMBER])
{
    if (!(error > 0) || !isfinite(error)) {
        (void)snprintf(out, FIT_NUMBER, "%.6g", value);
        return;
    }
    int power = (int)floor(log10(error));
    int digits = 1 - power; /* decimals, for two digits of the error */
    if (rint(error * pow(10, digits)) >= 100) digits--;
    if (digits > 12) digits = 12;
    if (digits >= 0)
        (void)snprintf(out, FIT_NUMBER, "%.*f(%.0f)", digits, value,
                       error * pow(10, digits));
    else
        (void)snprintf(out, FIT_NUMBER, "%.6g(%.2g)", value, error);
}

const char *fit_name(const nb_fit_result *r, size_t i, char out[FIT_NAME])
{
    const nb_fit_value *const v = &r->value[i];
    (void)snprintf(out, FIT_NAME, "%.60s%s%.120s", v->param.name, v->shot < 0 ? "" : " of ",
                   v->shot < 0 ? "" : r->shot[v->shot].name);
    return out;
}

static void print_value(const nb_fit_result *r, size_t i)
{
    const nb_fit_value *const v = &r->value[i];
    char number[FIT_NUMBER], name[FIT_NAME];
    fit_number(v->value, v->error, number);
    printf("  %-28s %-22s %-10s from %.7g%s%s\n", fit_name(r, i, name), number,
           strcmp(v->param.unit, "1") ? v->param.unit : "", v->param.value,
           *v->remark ? ", " : "", v->remark);
}

static void print_factors(const nb_fit_result *r)
{
    size_t n = 0, known = 0;
    double change = 0;
    for (size_t i = 0; i < r->nvalue; i++) {
        const nb_fit_value *v = &r->value[i];
        if (!is_factor(v) || v->is_held) continue;
        n++;
        known += v->error < 0.1 * fabs(v->value);
        change += fabs(v->value - v->param.value) / fmax(fabs(v->param.value), 1e-300);
    }
    if (n > 0)
        printf("  F: the data determine %zu structure factors, %zu of them to 10 %%; the "
               "factors changed by %.1f %% on average\n",
               n, known, 100 * change / (double)n);
}

/* Prints on which scale fitted structure factors are: as for square blocks, or a
 * multiple. */
static void print_scale_of_factors(const struct fit_job *job, const nb_fit_result *r)
{
    const double sum = job->run->command.description.spot_sum;
    int has_factors = 0, has_scale = 0;
    for (size_t i = 0; i < r->nvalue; i++) {
        const nb_fit_value *v = &r->value[i];
        has_factors |= is_factor(v) && !v->is_held;
        has_scale |= strcmp(v->param.name, "scale") == 0 && !v->is_held;
    }
    if (!has_factors) return;
    if (has_scale)
        printf("scale of F   as at the start, because scale is free too\n");
    else if (fabs(sum - 1) <= 1e-9)
        printf("scale of F   as for square blocks\n");
    else
        printf("scale of F   %.4g times the scale for square blocks, as spots sum to %.4g "
               "of spots of square blocks; -normalise on makes both the same\n",
               1 / sqrt(sum), sum);
}

static void print_values(const struct fit_job *job, const nb_fit_result *r)
{
    const size_t own_most = job->run->command.s->verbose ? SIZE_MAX : 100;
    const int lists_factors = count_factors(r) <= FACTORS_MOST;
    size_t own = 0;
    for (size_t i = 0; i < r->nvalue; i++) {
        const nb_fit_value *v = &r->value[i];
        if (v->shot >= 0 && r->shot[v->shot].left_out) continue;
        own += v->shot >= 0;
        if ((is_factor(v) && !lists_factors) || (own > own_most && v->shot >= 0)) continue;
        print_value(r, i);
    }
    if (own > own_most)
        printf("  further values of single images: %zu%s\n", own - own_most,
               job->run->command.s->fit.fitfile ? ", in the file"
                                                : "; -fitfile writes all of them");
    if (!lists_factors) print_factors(r);
}

static void print_correlated(const nb_fit_result *r)
{
    enum { MOST = 5 };
    for (size_t i = 0; i < r->ncorrelated && i < MOST; i++) {
        const nb_fit_correlation *c = &r->correlated[i];
        char first[FIT_NAME], second[FIT_NAME];
        printf("%s %s with %s %.3f", i == 0 ? "correlated  " : ",",
               fit_name(r, c->i, first), fit_name(r, c->j, second), c->value);
    }
    if (r->ncorrelated > MOST) printf(", further pairs: %zu", r->ncorrelated - MOST);
    if (r->ncorrelated > 0) printf("\n");
    for (size_t i = 0; i < r->nfree; i++)
        printf("free         the data do not determine %s\n", r->free[i]);
}

/* Prints how errors were found, unless by the curvature of the loss alone, and that they
 * hold for one draw of mosaic domains. */
static void print_errors(const struct fit_job *job, const nb_fit_result *r)
{
    const nb_crystal *const crystal = &job->run->command.resolved.crystal;
    const int spreads =
        crystal->mosaic[0] > 0 || crystal->mosaic[1] > 0 || crystal->mosaic[2] > 0;
    if (r->errors != NB_FIT_ERRORS_CURVATURE || r->error_factor > 1 || r->draws > 0)
        printf("errors       %s\n", r->errors_why);
    if (r->errors != NB_FIT_ERRORS_NONE && r->draws == 0 && crystal->ndomains > 1
        && spreads)
        printf("domains      values and errors hold for the %d mosaic domains drawn by "
               "seed "
               "%lld; -mosaic_seed draws others\n",
               crystal->ndomains, (long long)crystal->mosaic_seed);
}

static void print_left_out(const nb_fit_result *r)
{
    for (int64_t i = 0; i < r->nshot; i++) {
        const char *const why = r->shot[i].left_out, *const name = r->shot[i].name;
        /* messages about a file begin with its name, which is then not printed again */
        const int begins = why && strncmp(why, name, strlen(name)) == 0;
        if (why && !r->shot[i].is_held_out)
            printf("left out     %s%s%s\n", begins ? "" : r->shot[i].name,
                   begins ? "" : ": ", why);
    }
}

static int64_t pixels_of(const nb_fit_result *r, int64_t *images)
{
    int64_t n = 0;
    *images = 0;
    for (int64_t i = 0; i < r->nshot; i++) {
        if (r->shot[i].left_out) continue;
        n += r->shot[i].pixels;
        ++*images;
    }
    return n;
}

void fit_report_values(const struct fit_job *job, const nb_fit_result *r)
{
    if (job->run->command.s->quiet) return;
    int64_t images;
    const int64_t pixels = pixels_of(r, &images);
    if (job->run->command.s->fit.fisher)
        printf("expected     errors of a fit to %lld pixel%s\n", (long long)pixels,
               pixels == 1 ? "" : "s");
    else {
        printf("fit          %s\n"
               "             %d pass%s, loss %.8g for %lld pixels of ",
               r->why, r->passes, r->passes == 1 ? "" : "es", r->loss, (long long)pixels);
        if (images < r->nshot) printf("%lld of ", (long long)images);
        printf("%lld image%s\n", (long long)r->nshot, r->nshot == 1 ? "" : "s");
    }
    print_values(job, r);
    print_scale_of_factors(job, r);
    print_errors(job, r);
    print_correlated(r);
    print_left_out(r);
    fit_outliers_print(r);
    (void)fflush(stdout);
}

void fit_report(const struct fit_job *job, const nb_fit_result *r)
{
    if (job->run->command.s->quiet) return;
    fit_report_values(job, r);
    fit_residuals_print(job, r);
    (void)fflush(stdout);
}
