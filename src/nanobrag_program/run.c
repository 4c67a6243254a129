/*
 * run.c - a run from start to end: settings, inputs, simulator, images, files.
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

#include "nanobrag_program/derivatives/run_derivatives.h"
#include "nanobrag_program/fit/fit_run.h"
#include "nanobrag_program/share/share.h"
#include "nanobrag_program/shots/shots.h"
#include "nanobrag_program/timing.h"

static int create_context(struct run *run)
{
    enum { THREADS_MOST = 1024 }; /* the library's limit */
    const struct settings *s = run->s;
    if (s->threads > THREADS_MOST)
        return message_usage(run->messages, "-threads %d: must be at most %d", s->threads,
                             THREADS_MOST);
    if (s->wrong_device)
        return message_usage(run->messages, "-device %s: expected auto|cpu|cuda|cuda:N",
                             s->wrong_device);
    const nb_status status = run_context(run, s->compile, &run->ctx);
    if (status != NB_OK) return message_status(run->messages, status, "", 0);
    return 0;
}

static int write_dump(struct run *run)
{
    const struct settings *s = run->s;
    if (!run->inputs.hkl || run->inputs.from_dump || !s->dump) return 0;
    const nb_status status =
        nb_fdump_write(run->ctx, s->dump, run->inputs.hkl, run->resolved.crystal.default_f,
                       s->compat ? NB_PROFILE_NANOBRAGG : NB_PROFILE_NANOBRAG);
    if (status == NB_OK) return 0;
    if (!s->compat || status == NB_ERR_CANCELLED)
        return message_status(run->messages, status, nb_context_message(run->ctx), 1);
    message_warning(run->messages, "%s", nb_context_message(run->ctx));
    return 0;
}

/* Allocate an image on large pages where the system has them: the first touch in steps of 4
 * KiB would take longer than the work on the image. */
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
    const struct settings *s = run->s;
    const int counted = s->out[OUT_INT] || s->out[OUT_NOISE]
                        || (s->out[OUT_IMAGE] && image_format(s) == IMAGE_SMV);
    const size_t n = (size_t)run->description.nslow * (size_t)run->description.nfast;
    run->image = allocate_image(n * sizeof *run->image);
    run->counts = counted ? allocate_image(n * sizeof *run->counts) : NULL;
    run->results = calloc((size_t)s->images, sizeof *run->results);
    if (run->image && (run->counts || !counted) && run->results) return 0;
    return message_failure(run->messages, "out of memory for an image of %d x %d pixels",
                           run->description.nfast, run->description.nslow);
}

static int progress_kind(const struct run *run)
{
    const struct settings *s = run->s;
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
    fprintf(stderr, "%d of %d images are finished and kept", run->done, run->s->images);
    for (int kind = 0; kind < OUT_COUNT; kind++) {
        const char *last, *const first = results_names(run, kind, &last);
        if (!first) continue;
        fprintf(stderr, ", %s", first);
        if (strcmp(first, last) != 0) fprintf(stderr, " to %s", last);
    }
    fprintf(stderr, "\n");
}

/* Set x to that of image i. Returns 0 or the exit status. */
static int set_x(struct run *run, int i)
{
    const nb_scan *scan = &run->resolved.scan;
    double *const phi = &run->params.x[run->params.phi0];
    const int code = run->shots ? shots_set(run, i) : 0;
    if (!run->shots) {
        *phi = scan->phi0 + i * scan->osc;
        experiment_at(run, run->params.x);
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
    if (i > 0 && run->s->full_report)
        printf("\nimage %d: phi0 = %g\n", run->s->first + i + 1, result->phi);
    progress_line_image(&run->progress, i);
    nb_array image =
        nb_array_f64(run->image, run->description.nslow, run->description.nfast);
    image.name = "image";
    const nb_status status = nb_forward(run->sim, run->params.x, &image);
    if (status == NB_OK) (void)progress_line_show(&run->progress, 1);
    progress_line_end(&run->progress);
    if (status == NB_ERR_CANCELLED) return EXIT_INTERRUPTED;
    if (status != NB_OK)
        return message_status(run->messages, status, nb_context_message(run->ctx), 0);
    added_to_image(run);
    result->seconds = timing_seconds() - start;
    const int code = run->derivatives ? derivatives_make(run) : 0;
    if (code) return code;
    if (run->s->full_report) printf("\n");
    const int written = outputs_write(run, i);
    if (!written) report_image(run, i);
    return written;
}

static int make_images(struct run *run)
{
    progress_line_start(&run->progress, progress_kind(run), run->s->images);
    for (int i = 0; i < run->s->images; i++) {
        if (!share_is_mine(run, i) && !share_is_kept(run, i)) continue;
        if (progress_line_interrupted()) return EXIT_INTERRUPTED;
        const int code = make_image(run, i);
        if (code) return code;
        run->done++;
    }
    return 0;
}

/* Do all steps from the command line to a simulator that is ready. */
static int prepare(struct run *run, const struct event_list *events)
{
    struct settings *s = run->s;
    struct messages *messages = run->messages;
    settings_start(s, messages->compat);
    int code = header_inherit(s, messages, run->ctx, events, &run->inputs.mask);
    if (!code)
        code = experiment_inherit(s, messages, run->ctx, events, &run->inputs.experiment);
    if (!code) code = geometry_inherit(s, messages, run->ctx, events, &run->inputs);
    if (code) return code;
    settings_apply(s, events);
    messages->quiet = s->quiet;
    s->full_report = !s->quiet && (s->compat || s->verbose);
    /* stdout has only the numbers of -json; notes go to stderr */
    if (outputs_to_stdout(s->json) || outputs_to_stdout(s->gradfile))
        s->quiet = 1, s->full_report = 0;
    code = constraints_check(run);
    if (!code && !s->compat) code = settings_check(s, messages);
    if (!code) code = geometry_check(s, messages, run->inputs.geometry);
    if (!code) code = shots_read(run);
    if (!code) share_warn(run);
    if (!code) code = settings_finish(s, messages);
    if (!code) lattices_say(s, messages, &run->inputs.experiment);
    if (!code) share_seeds(run);
    if (!code && !run->scene_only) code = truth_default(run);
    if (!code && !run->scene_only) code = outputs_check(run);
    if (!code) code = spectra_set(run);
    if (!code) code = inputs_read(&run->inputs, s, messages, run->ctx);
    if (!code) crystal_system_set(run);
    if (!code) code = run_simulator(run, events);
    return code;
}

static int check_printout(const struct run *run)
{
    const int *pixel = run->s->printout_pixel;
    const nb_description *d = &run->description;
    if (run->s->compat || (pixel[0] < d->nfast && pixel[1] < d->nslow)) return 0;
    return message_usage(run->messages,
                         "-printout_pixel %d %d lies outside the %d x %d detector",
                         pixel[0], pixel[1], d->nfast, d->nslow);
}

/* Write what is of all images, in the process that speaks. */
static int finish(struct run *run, int code)
{
    if (code == EXIT_INTERRUPTED && (run->done == 0 || team_several(run->team)))
        return code;
    if (!code && run->share->in_parts) code = parts_write_master(run);
    if ((!code || code == EXIT_INTERRUPTED) && run->s->truth) {
        const int written = truth_write(run);
        if (!code) code = written;
    }
    if (!code && run->s->geomout) code = geometry_out_write(run);
    if (!code && run->derivatives) code = derivatives_write(run);
    /* the numbers of the finished images are worth saving too */
    if (code == EXIT_INTERRUPTED && run->s->json) (void)json_write(run, run->s->json);
    if (code) return code;
    checks_after(run);
    if (run->s->json) code = json_write(run, run->s->json);
    if (!code) report_end(run);
    return code;
}

/* Do all that can be refused before images are made. */
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
    return team_agree(run->team, run->messages, code);
}

static int make(struct run *run)
{
    int code = make_ready(run);
    const int speaks = team_speaks(run->team);
    if (code) return code;
    if (speaks) {
        report_start(run);
        code = write_dump(run);
        if (!code && run->s->fmtz) code = factors_write(run);
        if (!code && run->s->printout) code = report_printout(run);
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
    if (!run->s->explain && !run->s->gradcheck && !fit_asked(run->s)) return make(run);
    const int code = check_printout(run);
    if (code) return code;
    if (run->s->gradcheck && !run->s->explain) return gradcheck_run(run);
    report_start(run);
    if (run->s->explain) {
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
    free(run->lattices);
    free(run->image);
    free(run->added);
    free(run->counts);
    derivatives_free(run);
    image_file_free(run);
    shots_free(run);
    share_free(run);
    params_free(&run->params);
    nb_simulator_free(run->sim);
    inputs_free(&run->inputs);
    nb_context_free(run->ctx);
}

int run_start(struct run *run)
{
    const double start = timing_seconds();
    settings_start(run->s, run->messages->compat);
    settings_apply(run->s, run->events);
    int code = create_context(run);
    if (!code) code = prepare(run, run->events);
    run->seconds_setup = timing_seconds() - start;
    return code;
}

int run_program(struct run *run)
{
    struct settings settings;
    struct messages *const messages = run->messages;
    run->s = &settings;
    progress_line_catch_interrupt();
    int code = team_agree(run->team, messages, run_start(run));
    if (!code) code = execute(run);
    if (fflush(stdout) != 0 && !code)
        code = message_failure(messages, "the report could not be written to stdout");
    if (code == EXIT_INTERRUPTED) {
        /* a fit has told how far it came */
        if (!fit_asked(&settings)) report_interrupt(run);
        code = progress_line_status();
    }
    run_free(run);
    return code;
}
