/*
 * run.c - runs a command line from start to end: settings, inputs, simulator, images,
 * files.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE // NOLINT(readability-identifier-naming): madvise

#include "nanobrag_program/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nanobrag_command/shots/shots.h"
#include "nanobrag_program/derivatives/run_derivatives.h"
#include "nanobrag_program/fit/fit_run.h"
#include "nanobrag_program/share/share.h"
#include "nanobrag_program/timing.h"

static int write_dump(struct run *run)
{
    const struct settings *s = run->command.s;
    if (!run->command.inputs.hkl || run->command.inputs.from_dump || !s->dump) return 0;
    const nb_status status =
        nb_fdump_write(run->command.ctx, s->dump, run->command.inputs.hkl,
                       run->command.resolved.crystal.default_f,
                       s->compat ? NB_PROFILE_NANOBRAGG : NB_PROFILE_NANOBRAG);
    if (status == NB_OK) return 0;
    if (!s->compat || status == NB_ERR_CANCELLED)
        return message_status(run->command.messages, status,
                              nb_context_message(run->command.ctx), 1);
    message_warning(run->command.messages, "%s", nb_context_message(run->command.ctx));
    return 0;
}

/* Allocate an image on large pages if the system has them. The first access to pages of 4
 * KiB would take longer than the computation. */
static void *allocate_image(size_t n)
{
    enum { PAGE = 1 << 21 };
    if (n < PAGE / 4) return malloc(n);
    n = (n + PAGE - 1) / PAGE * PAGE;
    void *const memory = aligned_alloc(PAGE, n);
#ifdef MADV_HUGEPAGE
    if (memory) (void)madvise(memory, n, MADV_HUGEPAGE);
#endif
    return memory;
}

static int allocate(struct run *run)
{
    const struct settings *s = run->command.s;
    const int counted = s->out[OUT_INT] || s->out[OUT_NOISE]
                        || (s->out[OUT_IMAGE] && image_format(s) == IMAGE_SMV);
    const size_t n =
        (size_t)run->command.description.nslow * (size_t)run->command.description.nfast;
    run->image = allocate_image(n * sizeof *run->image);
    run->counts = counted ? allocate_image(n * sizeof *run->counts) : NULL;
    run->results = calloc((size_t)s->images, sizeof *run->results);
    if (run->image && (run->counts || !counted) && run->results) return 0;
    return message_failure(run->command.messages,
                           "out of memory for an image of %d x %d pixels",
                           run->command.description.nfast, run->command.description.nslow);
}

static int progress_kind(const struct run *run)
{
    const struct settings *s = run->command.s;
    const int *roi = s->roi;
    if (!s->progress || s->printout || s->quiet) return PROGRESS_NONE;
    if (!s->compat) return isatty(STDERR_FILENO) ? PROGRESS_TERMINAL : PROGRESS_NONE;
    const double pixels = (roi[1] - roi[0] + 1.0) * (roi[3] - roi[2] + 1.0);
    return pixels >= 100 ? PROGRESS_LINES : PROGRESS_NONE;
}

static void report_interrupt(const struct run *run)
{
    fflush(stdout);
    fprintf(stderr, "nanobrag: interrupted; ");
    if (run->done == 0) {
        fprintf(stderr, "no image was finished, no image file was written\n");
        return;
    }
    fprintf(stderr, "%d of %d images finished; the run keeps", run->done,
            run->command.s->images);
    for (int kind = 0, listed = 0; kind < OUT_COUNT; kind++) {
        const char *last, *const first = results_names(run, kind, &last);
        if (!first) continue;
        fprintf(stderr, "%s %s", listed++ ? "," : "", first);
        if (strcmp(first, last) != 0) fprintf(stderr, " to %s", last);
    }
    fprintf(stderr, "\n");
}

/* Set the parameters x for image i. Returns 0 or the exit status. */
static int set_x(struct run *run, int i)
{
    const nb_scan *scan = &run->command.resolved.scan;
    double *const phi = &run->command.params.x[run->command.params.phi0];
    const int code = run->command.shots ? shots_set(&run->command, i) : 0;
    if (!run->command.shots) {
        *phi = scan->phi0 + i * scan->osc;
        experiment_at(&run->command, run->command.params.x);
    }
    run->results[i].phi = *phi;
    return code;
}

static int make_image(struct run *run, int i)
{
    struct result *result = &run->results[i];
    const double start = timing_seconds();
    result->kept = share_is_kept(run, i);
    const int named = outputs_name(run, i);
    if (named || result->kept) return named;
    const int wrong = set_x(run, i);
    if (wrong) return wrong;
    if (i > 0 && run->command.s->full_report)
        printf("\nimage %d: phi0 = %g\n", run->command.s->first + i + 1, result->phi);
    progress_line_image(&run->progress, i);
    nb_array image = nb_array_f64(run->image, run->command.description.nslow,
                                  run->command.description.nfast);
    image.name = "image";
    const nb_status status = nb_forward(run->command.sim, run->command.params.x, &image);
    if (status == NB_OK) (void)progress_line_show(&run->progress, 1);
    progress_line_end(&run->progress);
    if (status == NB_ERR_CANCELLED) return EXIT_INTERRUPTED;
    if (status != NB_OK)
        return message_status(run->command.messages, status,
                              nb_context_message(run->command.ctx), 0);
    added_to_image(run);
    result->seconds = timing_seconds() - start;
    int code = run->derivatives ? derivatives_make(run) : 0;
    if (!code) code = predictions_add(run, i);
    if (code) return code;
    if (run->command.s->full_report) printf("\n");
    const int written = outputs_write(run, i);
    if (!written) report_image(run, i);
    return written;
}

static int make_images(struct run *run)
{
    progress_line_start(&run->progress, progress_kind(run), run->command.s->images);
    for (int i = 0; i < run->command.s->images; i++) {
        if (!share_is_mine(run, i) && !share_is_kept(run, i)) continue;
        if (progress_line_interrupted()) return EXIT_INTERRUPTED;
        const int code = make_image(run, i);
        if (code) return code;
        run->done++;
    }
    return 0;
}

static int check_printout(const struct run *run)
{
    const int *pixel = run->command.s->printout_pixel;
    const nb_description *d = &run->command.description;
    if (run->command.s->compat || (pixel[0] < d->nfast && pixel[1] < d->nslow)) return 0;
    return message_usage(run->command.messages,
                         "-printout_pixel %d %d lies outside the detector of %d x %d "
                         "pixels",
                         pixel[0], pixel[1], d->nfast, d->nslow);
}

/* Write files that are for all images together; only the process that reports calls this.
 * Returns 0 or the exit status. */
static int finish(struct run *run, int code)
{
    if (code == EXIT_INTERRUPTED && (run->done == 0 || team_several(run->team)))
        return code;
    if (!code && run->share->in_parts) code = parts_write_master(run);
    if ((!code || code == EXIT_INTERRUPTED) && run->command.s->truth) {
        const int written = truth_write(run);
        if (!code) code = written;
    }
    if (!code && run->command.s->geomout) code = geometry_out_write(run);
    if (!code && run->derivatives) code = derivatives_write(run);
    if (!code || code == EXIT_INTERRUPTED) {
        const int written = predictions_write(run);
        if (!code) code = written;
    }
    /* the numbers of finished images are saved even after an interrupt */
    if (code == EXIT_INTERRUPTED && run->command.s->json)
        (void)json_write(run, run->command.s->json);
    if (code) return code;
    checks_after(run);
    if (run->command.s->json) code = json_write(run, run->command.s->json);
    if (!code) report_end(run);
    return code;
}

/* Do everything that can refuse a run before images are made. Returns 0 or the exit
 * status. */
static int make_ready(struct run *run)
{
    int code = check_printout(run);
    if (!code) code = allocate(run);
    if (!code) code = added_read(run);
    if (!code) code = estimate_check(run);
    if (!code) code = truth_check(run);
    if (!code) code = geometry_out_check(run);
    code = share_begin(run, code);
    if (!code) code = image_file_begin(run);
    return team_agree(run->team, run->command.messages, code);
}

static int make(struct run *run)
{
    int code = make_ready(run);
    const int speaks = team_speaks(run->team);
    if (code) return code;
    if (speaks) {
        report_start(run);
        code = write_dump(run);
        if (!code && run->command.s->fmtz) code = factors_write(&run->command);
        if (!code && run->command.s->printout) code = report_printout(run);
    }
    if (!code) code = image_file_end(run, make_images(run));
    code = share_end(run, code);
    return speaks && (!code || code == EXIT_INTERRUPTED) ? finish(run, code) : code;
}

static int execute(struct run *run)
{
    compiling_note(run);
    differences_note(run);
    checks_before(run);
    if (!run->command.s->explain && !run->command.s->gradcheck
        && !fit_asked(run->command.s))
        return make(run);
    const int code = check_printout(run);
    if (code) return code;
    if (run->command.s->gradcheck && !run->command.s->explain) return gradcheck_run(run);
    report_start(run);
    if (run->command.s->explain) {
        explain_run(run);
        return 0;
    }
    int refused = truth_check(run);
    if (!refused) refused = geometry_out_check(run);
    if (refused) return refused;
    progress_line_start(&run->progress, progress_kind(run), 1);
    return fit_run(run);
}

void run_free(struct run *run)
{
    for (int i = 0; i < run->reached; i++)
        for (int kind = 0; kind < OUT_COUNT; kind++) free(run->results[i].file[kind]);
    free(run->results);
    free(run->truth_name);
    free(run->image);
    free(run->added);
    free(run->counts);
    derivatives_free(run);
    predictions_free(run);
    image_file_free(run);
    share_free(run);
    command_free(&run->command);
}

int run_start(struct run *run)
{
    const double start = timing_seconds();
    struct command *const command = &run->command;
    int code = command_settings(command);
    if (!code) share_warn(run);
    if (!code) code = truth_default(run);
    if (!code) code = outputs_check(run);
    if (!code) code = command_scene(command);
    if (!code && derivatives_asked(command->s)) code = derivatives_start(run);
    run->seconds_setup = timing_seconds() - start;
    return code;
}

/* Show progress; `command` is the first member of a struct run. */
static int show_progress(struct command *command, double fraction)
{
    struct run *const run = (struct run *)command;
    return progress_line_show(&run->progress, fraction);
}

int run_program(struct run *run)
{
    struct settings settings;
    struct messages *const messages = run->command.messages;
    run->command.s = &settings;
    run->command.show = show_progress;
    progress_line_catch_interrupt();
    int code = team_agree(run->team, messages, run_start(run));
    if (!code) code = execute(run);
    if (fflush(stdout) != 0 && !code)
        code = message_failure(messages, "the report could not be written to stdout");
    if (code == EXIT_INTERRUPTED) {
        /* a fit has printed how far it came */
        if (!fit_asked(&settings)) report_interrupt(run);
        code = progress_line_status();
    }
    run_free(run);
    return code;
}
