/*
 * choices.c - makes choices that a user leaves to the fit: which shots are held out, and
 * where a width starts if the image has no slope there. Logs these and other choices once
 * each.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_fit/boxes/boxes.h"
#include "nanobrag_fit/fit.h"

int choices_holds_out(const nb_fit *fit, size_t shot)
{
    const size_t every = (size_t)fit->options.holdout;

    return every > 0 && shot % every == every - 1;
}

nb_status choices_hold_out(nb_fit *fit)
{
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        if (!choices_holds_out(fit, shot) || fit->left_out[shot]) continue;
        fit->left_out[shot] = strdup("it is held out");
        if (!fit->left_out[shot]) return fail_memory(fit->ctx, "a shot that is held out");
        fit->is_held_out[shot] = 1;
    }
    return NB_OK;
}

double choices_start(const nb_fit *fit, const nb_param *param)
{
    const int is_even = param->lower == 0 && bounds_makes_broad(param);

    if (!is_even || fit->has_domains) return param->value;
    if (param->value > chart_least(CHART_SQUARE, param)) return param->value;
    return fmin(param->scale / 4, param->upper);
}

/* ---- messages ---- */

/* Lists the widths that start elsewhere than in their scene; of own parameters only the
 * first shot's. */
static void tell_widths(const nb_fit *fit)
{
    const size_t m = fit->layout.m;
    char text[600] = "";
    size_t n = 0;

    for (size_t i = 0; i < m; i++) {
        const nb_param *p = &fit->value[i].param;
        const size_t used = strlen(text);

        if (fit->start[i] == p->value || !fit->is_width[i]) continue;
        (void)snprintf(text + used, sizeof text - used, "%s%s at %.4g %s", n++ ? ", " : "",
                       p->name, fit->start[i], strcmp(p->unit, "1") ? p->unit : "");
        for (size_t end = strlen(text); end > 0 && text[end - 1] == ' ';) text[--end] = 0;
    }
    if (n > 0)
        log_line(fit->ctx, NB_LOG_NOTE, "fit",
                 "the loss has no slope at a width of 0, so %s at another value: %s",
                 n == 1 ? "one width starts" : "these widths start", text);
}

static void tell_method(const nb_fit *fit)
{
    if (fit->options.method == NB_FIT_AUTO && fit->method == NB_FIT_LBFGS)
        log_line(fit->ctx, NB_LOG_NOTE, "fit",
                 "more than %d parameters: the fit uses L-BFGS, which takes about ten "
                 "times as many passes and gives errors without correlations",
                 FIT_DENSE_MOST);
}

static void tell_boxes(const nb_fit *fit)
{
    const char *why = boxes_why_not(fit);

    if (fit->options.scaling == NB_FIT_SCALING_BOXES && why)
        log_line(fit->ctx, NB_LOG_WARNING, "fit",
                 "errors are not from boxes: %s (boxes: %zu, values: %zu)", why,
                 fit->boxes.n, fit->layout.n);
}

void choices_tell_again(const nb_fit *fit, double loss)
{
    if (fit->alone) return;
    log_line(fit->ctx, NB_LOG_NOTE, "fit",
             "the fit ended with a loss of %.6g, too large for a right model: it starts "
             "again with broadened spots, and the better end counts",
             loss);
}

void choices_tell(nb_fit *fit)
{
    if (fit->told_choices || fit->passes > 0 || fit->is_expected) return;
    fit->told_choices = 1;
    tell_method(fit);
    tell_widths(fit);
    tell_boxes(fit);
}
