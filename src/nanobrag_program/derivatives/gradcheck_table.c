/*
 * gradcheck_table.c - -gradcheck: compares derivatives with finite differences in a window
 * of the image, and prints a table.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/derivatives/run_derivatives.h"

/* larger images are checked only in their brightest window of EDGE x EDGE pixels */
enum { EDGE = 32 };

static int failed(struct run *run, nb_status status)
{
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 0);
}

/* Find the corner of the brightest window of EDGE x EDGE pixels in an roi. Returns 0, or
 * EXIT_INTERRUPTED. */
static int brightest(const double *image, int nfast, const int roi[4], int corner[2])
{
    double best = -1;
    for (int s = roi[2]; s + EDGE <= roi[3]; s += EDGE / 4) {
        if (progress_line_interrupted()) return EXIT_INTERRUPTED;
        for (int f = roi[0]; f + EDGE <= roi[1]; f += EDGE / 4) {
            double sum = 0;
            for (int i = 0; i < EDGE * EDGE; i++)
                sum +=
                    image[(size_t)(s + i / EDGE) * (size_t)nfast + (size_t)(f + i % EDGE)];
            if (sum > best) best = sum, corner[0] = f, corner[1] = s;
        }
    }
    return 0;
}

/* Shrink the roi of a scene to a window that takes a reasonable time to check. Returns 0 or
 * the exit status. */
static int choose_window(struct run *run, nb_scene *scene)
{
    const nb_detector *d = &run->command.resolved.detector;
    const size_t n = (size_t)d->nslow * (size_t)d->nfast;
    int roi[4], corner[2];
    memcpy(roi, d->roi, sizeof roi);
    if (roi[1] - roi[0] <= 2 * EDGE && roi[3] - roi[2] <= 2 * EDGE) return 0;
    double *image = calloc(n, sizeof *image);
    if (!image) return message_failure(run->command.messages, "out of memory for an image");
    nb_array array = nb_array_f64(image, d->nslow, d->nfast);
    nb_simulator *sim;
    nb_status status =
        nb_simulator_create(run->command.ctx, scene, NULL, &run->command.s->how, &sim);
    if (status == NB_OK) {
        status = nb_forward(sim, NULL, &array);
        nb_simulator_free(sim);
    }
    corner[0] = roi[0], corner[1] = roi[2];
    const int stopped = status == NB_OK ? brightest(image, d->nfast, roi, corner)
                        : status == NB_ERR_CANCELLED ? EXIT_INTERRUPTED
                                                     : 0;
    free(image);
    if (stopped) return stopped;
    if (status != NB_OK) return failed(run, status);
    for (int i = 0; i < 2; i++) {
        int *ends = scene->detector.roi + (size_t)2 * (size_t)i;

        ends[0] = corner[i];
        if (ends[1] > corner[i] + EDGE) ends[1] = corner[i] + EDGE;
    }
    return 0;
}

static double tolerance_ratio(const nb_gradcheck_row *r)
{
    const double most = fmax(fabs(r->vjp - r->fd), fabs(r->jvp - r->fd));
    return r->tolerance > 0 ? most / r->tolerance : 0;
}

/* Choose, of the losses that were checked for a parameter, one that fails, or else the one
 * that comes nearest to failing. */
static const nb_gradcheck_row *worst(const nb_gradcheck_row *rows)
{
    const nb_gradcheck_row *w = rows;
    for (int i = 1; i < NB_GRADCHECK_LOSSES; i++)
        if ((rows[i].verdict != NB_VERDICT_PASS && w->verdict == NB_VERDICT_PASS)
            || (rows[i].verdict == w->verdict
                && tolerance_ratio(rows + i) > tolerance_ratio(w)))
            w = rows + i;
    return w;
}

/* Returns 1 if derivative and finite difference are both 0. The check calls this a failure,
 * because a dark image gives 0 as well. But 0 is right at a thickness of 0 if the image
 * goes with a power of the thickness. So it is no failure if all parameters are checked and
 * one of them has an influence. */
static int is_zero(const nb_gradcheck_row *r)
{
    return r->verdict == NB_VERDICT_FAIL_VACUOUS && r->vjp == 0 && r->jvp == 0;
}

static int any_influence(const nb_gradcheck_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].verdict == NB_VERDICT_PASS && rows[i].fd != 0) return 1;
    return 0;
}

/* Print the table. A parameter has the row of the loss with the given weights, unless
 * another loss fails; "of tol." is the largest of all its losses. Returns the number of
 * parameters that fail. */
static int print_table(const nb_gradcheck_row *rows, size_t n, int all)
{
    int bad = 0;
    printf("%-16s %-9s %14s %22s %22s %8s %8s %5s  %s\n", "parameter", "unit", "value",
           "gradient", "finite difference", "+-", "of tol.", "kept", "verdict");
    for (size_t i = 0; i < n; i += NB_GRADCHECK_LOSSES) {
        const nb_gradcheck_row *w = worst(rows + i);
        const nb_gradcheck_row *r =
            w->verdict == rows[i].verdict ? rows + i + NB_GRADCHECK_GIVEN : w;
        const int flat = r->param.smooth == NB_SMOOTH_ZERO && r->verdict == NB_VERDICT_PASS;
        const int skipped = all && is_zero(r);
        bad += r->verdict != NB_VERDICT_PASS && !skipped;
        printf("%-16s %-9s %14.8g %22.14g %22.14g %8.1e %8.2g %4.0f%%  %s%s\n",
               r->param.name, r->param.unit, r->param.value, r->vjp, r->fd, r->bar,
               tolerance_ratio(w), 100 * r->kept,
               skipped ? "- (no influence here)" : nb_verdict_name(r->verdict),
               flat ? " (no influence)" : "");
    }
    for (size_t i = 0; i < n; i += NB_GRADCHECK_LOSSES) {
        const nb_gradcheck_row *r = worst(rows + i);
        if (r->verdict == NB_VERDICT_PASS || (all && is_zero(r))) continue;
        printf("%s: %s%s%s\n", r->param.name, nb_verdict_text(r->verdict),
               r->hint[0] ? "; the ratio looks like " : "", r->hint);
    }
    return bad;
}

static const char legend[] =
    "gradient of the sum of weight times photons; +-: error bar of the difference;\nof "
    "tol.: largest difference over the allowed difference, for four sets of "
    "weights;\nkept: share of the change in pixels that do not jump";

/* Compute the rows of all parameters. The caller frees *out. Returns 0 or the exit
 * status. */
static int make_rows(struct run *run, nb_simulator *sim, nb_gradcheck_row **out,
                     nb_gradcheck_summary *summary)
{
    const nb_description *d = &run->command.description;
    nb_gradcheck_row *const rows = calloc(nb_gradcheck_rows(sim, NULL), sizeof *rows);
    double *const weight = calloc((size_t)d->nslow * (size_t)d->nfast, sizeof *weight);
    const nb_array bar = nb_array_f64(weight, d->nslow, d->nfast);
    nb_status status = NB_OK;
    int code = 0;
    *out = rows;
    if (!rows || !weight)
        code = message_failure(run->command.messages, "out of memory for a check");
    else
        code = derivatives_weight(run, weight);
    if (!code) status = nb_gradcheck(sim, NULL, &bar, NULL, rows, summary);
    free(weight);
    progress_line_end(&run->progress);
    if (status == NB_OK) return code;
    return status == NB_ERR_CANCELLED ? EXIT_INTERRUPTED : failed(run, status);
}

static int run_check(struct run *run, nb_simulator *sim, int everything)
{
    const size_t n = nb_gradcheck_rows(sim, NULL);
    nb_gradcheck_row *rows;
    nb_gradcheck_summary summary;
    const int code = make_rows(run, sim, &rows, &summary);
    if (code) {
        free(rows);
        return code;
    }
    const int all = everything && any_influence(rows, n);
    const int bad = print_table(rows, n, all);
    free(rows);
    printf("%s\n", legend);
    printf("dot test %.1e of 1e-12, linearity %.1e of %s, the same bits with 1 to %d "
           "threads, %llu images\n",
           summary.dot, summary.linearity, summary.linearity > 1e-13 ? "1e-12" : "1e-13",
           summary.threads, (unsigned long long)summary.evaluations);
    const int vacuous = summary.verdict == NB_VERDICT_FAIL_VACUOUS;
    if (bad == 0 && (summary.verdict == NB_VERDICT_PASS || (all && vacuous))) {
        printf("every derivative is right\n");
        return EXIT_DONE;
    }
    if (bad == 0) printf("%s\n", summary.message);
    (void)fflush(stdout);
    return message_failure(run->command.messages, "%s: %d of %zu parameters failed",
                           nb_verdict_name(summary.verdict), bad, n / NB_GRADCHECK_LOSSES);
}

/* Create a simulator with the parameters of -gradcheck. Fails if the scene lacks one of
 * them. */
static nb_status create(struct run *run, const nb_scene *scene, nb_simulator **out)
{
    const size_t size = strlen(run->command.s->gradcheck) + 2;
    char *const names = malloc(size); /* a ; in front allows names to be repeated */
    if (!names) return NB_ERR_MEMORY;
    (void)snprintf(names, size, ";%s", run->command.s->gradcheck);
    const nb_status status =
        nb_simulator_create(run->command.ctx, scene, names, &run->command.s->how, out);
    free(names);
    return status;
}

/* Check the derivatives in a window of the image. Returns 0 or the exit status. */
static int check_window(struct run *run)
{
    nb_scene scene = run->command.resolved;
    const int *roi = scene.detector.roi;
    nb_simulator *sim;
    int code = choose_window(run, &scene);
    if (code) return code;
    const nb_status status = create(run, &scene, &sim);
    if (status != NB_OK) return failed(run, status);
    printf("\ngradcheck of pixels %d to %d (fast), %d to %d (slow), in double, nothing "
           "compiled\n",
           roi[0], roi[1] - 1, roi[2], roi[3] - 1);
    code = run_check(run, sim, strstr(run->command.s->gradcheck, "all") != NULL);
    nb_simulator_free(sim);
    return code;
}

int gradcheck_run(struct run *run)
{
    nb_simulator *sim;
    const nb_status status = create(run, &run->command.resolved, &sim);
    if (status != NB_OK) return failed(run, status);
    nb_simulator_free(sim);
    report_start(run);
    return check_window(run);
}
