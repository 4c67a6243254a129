/*
 * run_derivatives.c - computes gradient and derivatives of an image, prints them, and
 * writes their files.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/derivatives/run_derivatives.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct derivatives {
    struct selection gradient, jacobian; /* parameters of -gradient, of -jacobian */
    double *weight; /* (pixels), of -cotangent */
    double *bar; /* gradient by all free parameters */
    double sum; /* sum of weight times photons */
    double *columns; /* (jacobian.n x pixels) images of derivatives */
};

/* ---- setting up ---- */

static size_t pixels(const struct run *run)
{
    return (size_t)run->command.description.nslow * (size_t)run->command.description.nfast;
}

static nb_array image_of(const struct run *run, double *data)
{
    return nb_array_f64(data, run->command.description.nslow,
                        run->command.description.nfast);
}

static double *allocate(size_t n, size_t each)
{
    if (each > 0 && n > SIZE_MAX / sizeof(double) / each) return NULL;
    return calloc(n * each + 1, sizeof(double));
}

int derivatives_weight(struct run *run, double *weight)
{
    const char *const file = run->command.s->cotangent;
    nb_array array = image_of(run, weight);
    for (size_t i = 0; i < pixels(run); i++) weight[i] = 1;
    if (!file) return 0;
    array.name = "cotangent";
    const nb_status status = nb_raw_read(run->command.ctx, file, &array);
    if (status != NB_OK)
        return message_status(run->command.messages, status,
                              nb_context_message(run->command.ctx), 0);
    for (size_t i = 0; i < pixels(run); i++)
        if (!isfinite(weight[i]))
            return message_usage(run->command.messages,
                                 "%s: the weight of pixel %zu is no finite number; write "
                                 "raw 8-byte floats",
                                 file, i);
    return 0;
}

int derivatives_start(struct run *run)
{
    const struct settings *s = run->command.s;
    struct derivatives *d = calloc(1, sizeof *d);
    int code = 0;
    run->derivatives = d;
    if (!d) return message_failure(run->command.messages, "out of memory");
    if (run->command.resolved.detector.curved
        && (run->command.resolved.quirks & NB_QUIRK_CURVED))
        return message_usage(run->command.messages,
                             "nanoBragg's curved detector has no derivative; leave out "
                             "-curved_det or -compat");
    if (s->gradient)
        code = params_select(&run->command.params, run->command.messages, run->command.ctx,
                             run->command.sim, s->gradient, &d->gradient);
    if (!code && s->jacobian)
        code = params_select(&run->command.params, run->command.messages, run->command.ctx,
                             run->command.sim, s->jacobian, &d->jacobian);
    if (code) return code;
    if (s->gradient || s->hklgradfile || s->atomgradfile) {
        d->weight = allocate(1, pixels(run));
        d->bar = allocate(1, run->command.params.n);
        if (!d->weight || !d->bar)
            return message_failure(run->command.messages, "out of memory for the gradient");
        code = derivatives_weight(run, d->weight);
    }
    if (!code && s->jacobian) {
        d->columns = allocate(d->jacobian.n, pixels(run));
        if (!d->columns)
            code = message_failure(run->command.messages,
                                   "out of memory for %zu images of derivatives",
                                   d->jacobian.n);
    }
    return code;
}

/* ---- computing ---- */

/* A compensated sum of weight times image: rounding errors are added up, too. */
static double weighted_sum(const double *weight, const double *image, size_t n)
{
    double sum = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        const double term = weight[i] * image[i], next = sum + term;
        rest += fabs(sum) >= fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    return sum + rest;
}

static int library(struct run *run, nb_status status)
{
    progress_line_end(&run->progress);
    if (status == NB_OK) return 0;
    if (status == NB_ERR_CANCELLED) return EXIT_INTERRUPTED;
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 0);
}

static int make_gradient(struct run *run, struct derivatives *d)
{
    const nb_array weight = image_of(run, d->weight);
    if (!d->weight) return 0;
    d->sum = weighted_sum(d->weight, run->image, pixels(run));
    progress_line_part(&run->progress, "gradient", 0, 1);
    const int code =
        library(run, nb_vjp(run->command.sim, run->command.params.x, 1, &weight, d->bar));
    if (code) return code;
    for (size_t i = 0; i < run->command.params.n; i++)
        if (!isfinite(d->bar[i]))
            return message_failure(run->command.messages,
                                   "the gradient in %s is no finite number; nothing was "
                                   "written",
                                   run->command.params.at[i].name);
    return isfinite(d->sum) ? 0
                            : message_failure(run->command.messages,
                                              "the sum of weight times photons is no "
                                              "finite number; nothing was written");
}

/* directions of one call, which share a pass over the samples */
enum { AT_ONCE = 16 };

static int check_column(struct run *run, const struct derivatives *d, size_t i)
{
    const double *const column = d->columns + i * pixels(run);
    for (size_t k = 0; k < pixels(run); k++)
        if (!isfinite(column[k]))
            return message_failure(run->command.messages,
                                   "the derivative of pixel %zu in %s is no finite number; "
                                   "nothing was written",
                                   k, run->command.params.at[d->jacobian.at[i]].name);
    return 0;
}

static int make_jacobian(struct run *run, struct derivatives *d)
{
    const size_t n = d->jacobian.n, nparam = run->command.params.n;
    double *const direction = allocate(AT_ONCE, nparam);
    int code = 0;
    if (!direction) return message_failure(run->command.messages, "out of memory");
    for (size_t first = 0; first < n && !code; first += AT_ONCE) {
        const size_t some = n - first < AT_ONCE ? n - first : AT_ONCE;
        nb_array column[AT_ONCE];
        for (size_t i = 0; i < some; i++) {
            column[i] = image_of(run, d->columns + (first + i) * pixels(run));
            direction[i * nparam + d->jacobian.at[first + i]] = 1;
        }
        progress_line_part(&run->progress, "derivatives", (int)(first / AT_ONCE),
                           (int)((n + AT_ONCE - 1) / AT_ONCE));
        code = library(run, nb_jvp(run->command.sim, run->command.params.x, (int)some,
                                   direction, column));
        for (size_t i = 0; i < some && !code; i++) {
            direction[i * nparam + d->jacobian.at[first + i]] = 0;
            code = check_column(run, d, first + i);
        }
    }
    free(direction);
    return code;
}

int derivatives_make(struct run *run)
{
    struct derivatives *const d = run->derivatives;
    const int code = make_gradient(run, d);
    return code ? code : make_jacobian(run, d);
}

/* ---- writing ---- */

static int write_text(struct run *run, const char *path, FILE *stream, char **text)
{
    const size_t n = (size_t)ftell(stream);
    const int failed = ferror(stream) != 0 || fclose(stream) != 0;
    int code =
        failed ? message_failure(run->command.messages, "out of memory for %s", path) : 0;
    if (!code && names_stdout(path)) {
        if (fwrite(*text, 1, n, stdout) != n || fflush(stdout) != 0)
            code = message_failure(run->command.messages, "%s: stdout cannot be written",
                                   path);
    } else if (!code) {
        const nb_status status = nb_file_write(run->command.ctx, path, *text, n);
        if (status != NB_OK)
            code = message_status(run->command.messages, status,
                                  nb_context_message(run->command.ctx), 1);
        else if (run->command.s->full_report)
            printf("writing %s\n", path);
    }
    free(*text);
    return code;
}

static int write_gradient(struct run *run, const struct derivatives *d)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return message_failure(run->command.messages, "out of memory");
    fprintf(out, "{\n  \"weighted_sum\": %.17g,\n  \"gradient\": [", d->sum);
    for (size_t i = 0; i < d->gradient.n; i++) {
        const size_t at = d->gradient.at[i];
        const nb_param *p = &run->command.params.at[at];
        fprintf(out,
                "%s\n    {\"name\": \"%s\", \"unit\": \"%s\", \"value\": %.17g, "
                "\"gradient\": %.17g}",
                i ? "," : "", p->name, p->unit, run->command.params.x[at], d->bar[at]);
    }
    fprintf(out, "\n  ]\n}\n");
    return write_text(run, run->command.s->gradfile, out, &text);
}

static void print_gradient(const struct run *run, const struct derivatives *d)
{
    printf("\nsum of %sphotons = %.15g\n", run->command.s->cotangent ? "weight times " : "",
           d->sum);
    printf("%-20s %-12s %-22s %s\n", "parameter", "unit", "value", "photons per unit");
    for (size_t i = 0; i < d->gradient.n; i++) {
        const size_t at = d->gradient.at[i];
        printf("%-20s %-12s %-22.15g %.15g\n", run->command.params.at[at].name,
               run->command.params.at[at].unit, run->command.params.x[at], d->bar[at]);
    }
}

static int write_factors(struct run *run, const struct derivatives *d)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int hkl[3];
    if (!out) return message_failure(run->command.messages, "out of memory");
    for (size_t i = 0; i < run->command.params.n; i++)
        if (params_is_factor(run->command.params.at[i].name, hkl))
            fprintf(out, "%d %d %d %.17g\n", hkl[0], hkl[1], hkl[2], d->bar[i]);
    return write_text(run, run->command.s->hklgradfile, out, &text);
}

/* Returns dL/dF in the order of the list of reflections, which the caller frees; NULL: no
 * memory. */
static double *factor_gradient(const struct run *run, const struct derivatives *d)
{
    const size_t listed = nb_hkl_reflections(run->command.inputs.hkl, NULL, NULL);
    int *const hkl = malloc(listed * 3 * sizeof *hkl);
    double *const bar = allocate(1, listed);
    size_t n = 0;
    int at[3];
    if (hkl && bar) {
        (void)nb_hkl_reflections(run->command.inputs.hkl, hkl, NULL);
        for (size_t i = 0; i < run->command.params.n; i++) {
            if (!params_is_factor(run->command.params.at[i].name, at)) continue;
            while (n < listed && memcmp(hkl + 3 * n, at, sizeof at) != 0) n++;
            if (n < listed) bar[n] = d->bar[i];
        }
    }
    free(hkl);
    return bar;
}

static int write_atoms(struct run *run, const struct derivatives *d)
{
    char *text = NULL;
    size_t size = 0;
    double *const bar = factor_gradient(run, d);
    FILE *const out = bar ? open_memstream(&text, &size) : NULL;
    int code;
    if (!out) {
        free(bar);
        return message_failure(run->command.messages, "out of memory");
    }
    code = atoms_gradient(&run->command, bar, out);
    free(bar);
    if (!code) return write_text(run, run->command.s->atomgradfile, out, &text);
    (void)fclose(out);
    free(text);
    return code;
}

static int write_jacobian(struct run *run, const struct derivatives *d)
{
    const char *const path = run->command.s->jacobianfile;
    const nb_array columns =
        nb_array_f64(d->columns, (int64_t)d->jacobian.n * run->command.description.nslow,
                     run->command.description.nfast);
    const nb_status status = nb_raw_write(run->command.ctx, path, &columns, 64);
    if (status != NB_OK)
        return message_status(run->command.messages, status,
                              nb_context_message(run->command.ctx), 1);
    if (run->command.s->full_report) {
        printf("writing %s:", path);
        derivatives_print_names(run);
    }
    return 0;
}

void derivatives_print_names(const struct run *run)
{
    const struct derivatives *const d = run->derivatives;
    for (size_t i = 0; i < d->jacobian.n; i++)
        printf(" %s", run->command.params.at[d->jacobian.at[i]].name);
    printf("\n");
}

int derivatives_write(struct run *run)
{
    const struct settings *s = run->command.s;
    const struct derivatives *const d = run->derivatives;
    int code = 0;
    if (s->gradient && !s->gradfile) print_gradient(run, d);
    if (s->hklgradfile) code = write_factors(run, d);
    if (!code && s->atomgradfile) code = write_atoms(run, d);
    if (!code && s->jacobian) code = write_jacobian(run, d);
    if (!code && s->gradfile) code = write_gradient(run, d);
    return code;
}

void derivatives_free(struct run *run)
{
    struct derivatives *const d = run->derivatives;
    if (!d) return;
    free(d->gradient.at);
    free(d->jacobian.at);
    free(d->weight);
    free(d->bar);
    free(d->columns);
    free(d);
}
