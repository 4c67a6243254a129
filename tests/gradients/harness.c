/* harness.c - see harness.h. SPDX-License-Identifier: MIT */
#include "gradients/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradients/gradients.h"

static const uint64_t seed = 20;

nb_context *harness_context(void)
{
    nb_context_options options = {0};
    nb_context *ctx;

    options.threads = 1;
    options.compile = NB_COMPILE_OFF;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    return ctx;
}

static void append(char **names, const char *name)
{
    const size_t before = *names ? strlen(*names) : 0, more = strlen(name) + 2;
    char *longer = realloc(*names, before + more);

    if (!longer) abort();
    (void)snprintf(longer + before, more, "%s%s", before > 0 ? " " : "", name);
    *names = longer;
}

static int applies(nb_context *ctx, const nb_scene *scene, const char *name)
{
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, name, NULL, &sim) != NB_OK) return 0;
    nb_simulator_free(sim);
    return 1;
}

/* of a long list, the three members with the steepest image */
static void append_steepest(nb_context *ctx, const nb_scene *scene, const char *list,
                            char **names)
{
    const int nslow = scene->detector.nslow, nfast = scene->detector.nfast;
    double *ones, *gradient;
    nb_simulator *sim;
    nb_array bar;
    size_t n;

    if (nb_simulator_create(ctx, scene, list, NULL, &sim) != NB_OK) abort();
    n = nb_simulator_nparam(sim);
    ones = calloc((size_t)nslow * (size_t)nfast, sizeof *ones);
    gradient = calloc(n, sizeof *gradient);
    if (!ones || !gradient) abort();
    for (int i = 0; i < nslow * nfast; i++) ones[i] = 1;
    bar = nb_array_f64(ones, nslow, nfast);
    if (nb_vjp(sim, NULL, 1, &bar, gradient) != NB_OK) abort();
    for (int k = 0; k < 3; k++) {
        size_t best = 0;
        nb_param param;

        for (size_t i = 0; i < n; i++)
            if (fabs(gradient[i]) > fabs(gradient[best])) best = i;
        if (nb_simulator_param(sim, best, &param) != NB_OK || gradient[best] == 0) break;
        append(names, param.name);
        gradient[best] = 0;
    }
    free(gradient);
    free(ones);
    nb_simulator_free(sim);
}

char *harness_names(nb_context *ctx, const nb_scene *scene)
{
    char *names = NULL;
    nb_param row;

    for (int i = 0; nb_param_registry(i, &row); i++) {
        char name[sizeof row.name];
        const int is_list = strchr(row.name, '[') != NULL;

        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(row.name, "["), row.name);
        if (!applies(ctx, scene, name)) continue;
        /* weights that add up, of the same thing: rounding is all that is left */
        if (strcmp(name, "domain_weight") == 0 && modes_zero(scene, name)) continue;
        if (is_list && strcmp(name, "F") == 0)
            append_steepest(ctx, scene, name, &names);
        else
            append(&names, name);
    }
    return names;
}

/* 1 when the row is as it should be; says so in the report */
static int judge(const char *name, const nb_scene *scene, const char *strategy,
                 const nb_gradcheck_row *row)
{
    const char *reason = modes_zero(scene, row->param.name);
    const int zero = row->vjp == 0 && row->jvp == 0;
    const int declared = row->param.smooth == NB_SMOOTH_ZERO;
    char line[400];

    report_row(name, strategy, seed, row);
    if (row->verdict == NB_VERDICT_PASS) {
        report_state(name, row->param.name, declared ? REPORT_ZERO : REPORT_CHECKED, "");
        return 1;
    }
    if (row->verdict == NB_VERDICT_FAIL_VACUOUS && reason && zero) {
        report_state(name, row->param.name, REPORT_ZERO, reason);
        return 1;
    }
    (void)nb_gradcheck_line(row, line, sizeof line);
    tap_note("%s, %s: %s (S %.1e, bar/S %.1e, rate %.3f)", name, strategy, line, row->scale,
             row->bar / row->scale, row->rate);
    return 0;
}

static void check_strategy(nb_context *ctx, const char *name, const nb_scene *scene,
                           const char *names, int strategy, int ndirection)
{
    static const char *const strategy_name[] = {"auto", "reference", "lanes", "spots"};
    const nb_options options = {NB_PRECISION_DOUBLE, strategy, 0};
    const nb_gradcheck_options how = {seed, ndirection, 0};
    nb_gradcheck_summary summary;
    nb_gradcheck_row *rows;
    nb_simulator *sim;
    nb_status status;
    struct worst worst = {0};
    size_t n, bad = 0;
    double linear;

    if (nb_simulator_create(ctx, scene, names, &options, &sim) != NB_OK) {
        tap_check(0, "%s: %s", name, nb_context_message(ctx));
        return;
    }
    n = nb_gradcheck_rows(sim, &how);
    rows = calloc(n, sizeof *rows);
    if (!rows) abort();
    status = nb_gradcheck(sim, NULL, NULL, &how, rows, &summary);
    tap_check(status == NB_OK, "%s by %s: %s %s", name, strategy_name[strategy],
              nb_status_text(status), status == NB_OK ? "" : nb_context_message(ctx));
    for (size_t i = 0; i < n && status == NB_OK; i++) {
        bad += !judge(name, scene, strategy_name[strategy], rows + i);
        if (!(rows[i].tolerance > 0) || rows[i].verdict != NB_VERDICT_PASS) continue;
        worst_add(&worst, rows[i].vjp, rows[i].fd, rows[i].tolerance);
        worst_add(&worst, rows[i].jvp, rows[i].fd, rows[i].tolerance);
    }
    if (status == NB_OK) {
        tap_check(bad == 0, "%zu of %zu derivatives fail", bad, n);
        worst_check(&worst, 1, "of what is allowed to each that passes");
        tap_check(summary.verdict == NB_VERDICT_PASS
                      || summary.verdicts[summary.verdict] > 0,
                  "as a whole: %s %s", nb_verdict_name(summary.verdict), summary.message);
        tap_check(summary.dot <= 1e-12, "dot test %.1e of S, 1e-12 allowed", summary.dot);
        /* through the nodes of a continuous crystal (docs/development/gradients.md, 6) */
        linear = scene->crystal.mosaic_model == NB_MOSAIC_GAUSS ? 1e-12 : 1e-13;
        tap_check(summary.linearity <= linear, "linearity %.1e of S, %.0e allowed",
                  summary.linearity, linear);
        tap_check(summary.launches > 0 && summary.compiled_launches == 0,
                  "%llu launches, compiled %llu", (unsigned long long)summary.launches,
                  (unsigned long long)summary.compiled_launches);
    }
    free(rows);
    nb_simulator_free(sim);
}

void harness_check(const char *name, const nb_scene *scene, int strategies, int ndirection)
{
    nb_context *ctx = harness_context();
    char *names = harness_names(ctx, scene);

    for (int s = NB_STRATEGY_REFERENCE; s <= NB_STRATEGY_SPOTS; s++)
        if (strategies & (1 << s)) check_strategy(ctx, name, scene, names, s, ndirection);
    free(names);
    nb_context_free(ctx);
}
