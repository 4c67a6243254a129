/*
 * fit_table.c - writes -fittable: a table of text (CSV) with a row for each image of a fit.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

/* Returns the word for how a fit ended. */
static const char *end_word(int end)
{
    static const char *const words[] = {"not run", "converged", "stuck", "passes",
                                        "seconds", "cancelled", "failed"};
    return words[end];
}

/* Writes a field as RFC 4180 has it: in quotes, where it holds a quote, a comma or the end
 * of a line. */
static void put_text(FILE *out, const char *text)
{
    if (!strpbrk(text, "\",\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* Writes a comma and a number; nothing behind the comma where there is no number. */
static void put_real(FILE *out, double value)
{
    fputc(',', out);
    if (!isnan(value)) fprintf(out, "%.17g", value);
}

static void put_name(FILE *out, const nb_param *param, const char *what)
{
    const int has_unit = strcmp(param->unit, "1") != 0;
    char name[300];
    (void)snprintf(name, sizeof name, "%s%s%s%s%s", param->name, what, has_unit ? " [" : "",
                   has_unit ? param->unit : "", has_unit ? "]" : "");
    fputc(',', out);
    put_text(out, name);
}

/* Returns 1 for a value that has columns: no structure factor, and of own values those of
 * image i. */
static int has_columns(const nb_fit_value *value, int64_t i)
{
    return (value->shot < 0 || value->shot == i) && strcmp(value->param.group, "F") != 0;
}

/* All images have own values of the same names. */
static void put_header(FILE *out, const nb_fit_result *result)
{
    fputs("name,exp_name,exp_idx,left_out,held_out,outliers,end,passes,pixels,loss,"
          "deviance_over_expected,rms_z",
          out);
    for (size_t i = 0; i < result->nvalue; i++) {
        if (!has_columns(&result->value[i], 0)) continue;
        put_name(out, &result->value[i].param, "");
        put_name(out, &result->value[i].param, " error");
    }
    fputs("\r\n", out);
}

/* Writes which boxes and pixels left an image, separated by semicolons, in quotes. */
static void put_outliers(FILE *out, const nb_fit_shot *shot)
{
    char why[FIT_OUTLIER];
    if (shot->noutlier > 0) fputc('"', out);
    for (size_t i = 0; i < shot->noutlier; i++)
        fprintf(out, "%s%s", i > 0 ? "; " : "", fit_outlier(&shot->outlier[i], why));
    if (shot->noutlier > 0) fputc('"', out);
}

static void put_row(FILE *out, const struct fit_job *job, const nb_fit_result *result,
                    int64_t i)
{
    static const nb_misfit unknown = {.rms = NAN};
    const struct expt_entry *const entry =
        experiment_entry(&job->run->command.inputs, job->sources.at[i].experiment);
    const struct fit_residuals *from =
        result->shot[i].is_held_out ? &job->held_out : &job->fitted;
    const int is_fitted = !result->shot[i].left_out;
    const int is_known = from->image && from->image[i].pixels > 0;
    const nb_misfit *const misfit = is_known ? &from->image[i] : &unknown;
    put_text(out, result->shot[i].name);
    fputc(',', out);
    put_text(out, entry ? entry->file : "");
    fputc(',', out);
    if (entry) fprintf(out, "%d", job->sources.at[i].experiment - entry->first);
    fputc(',', out);
    put_text(out, result->shot[i].left_out ? result->shot[i].left_out : "");
    fprintf(out, ",%d,", result->shot[i].is_held_out);
    put_outliers(out, &result->shot[i]);
    fprintf(out, ",%s,%d,%lld", end_word(result->end), result->passes,
            (long long)result->shot[i].pixels);
    put_real(out, is_known ? misfit->loss : result->shot[i].loss);
    put_real(out, fit_ratio(misfit->deviance, misfit->expected));
    put_real(out, misfit->rms);
    for (size_t k = 0; k < result->nvalue; k++) {
        const nb_fit_value *const value = &result->value[k];
        if (!has_columns(value, i)) continue;
        put_real(out, is_fitted || value->shot < 0 ? value->value : NAN);
        put_real(out, is_fitted || value->shot < 0 ? value->error : NAN);
    }
    fputs("\r\n", out);
}

int fit_table_write(const struct fit_job *job, const nb_fit_result *result)
{
    const struct run *const run = job->run;
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    if (out) {
        put_header(out, result);
        for (int64_t i = 0; i < result->nshot; i++) put_row(out, job, result, i);
    }
    const int lost = !out || ferror(out);
    if ((out && fclose(out) != 0) || lost || !text) {
        free(text);
        return message_failure(run->command.messages, "out of memory for %s",
                               run->command.s->fit.fittable);
    }
    const nb_status status =
        nb_file_write(run->command.ctx, run->command.s->fit.fittable, text, size);
    free(text);
    if (status == NB_OK) return 0;
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 1);
}
