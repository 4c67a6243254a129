/*
 * fit_run.c - runs a fit to observed images: options, callbacks of the library, and files.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/fit/fit_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

/* Images and weights stay in memory if all take no more than this, bytes. Otherwise they
 * are read again in each pass. */
enum { KEPT_BYTES = 1 << 30 };

/* ---- restraints ---- */

/* Reads NAME=CENTRE:SIGMA or NAME=LOWER..UPPER. `name` needs room for NAME. Returns 0 or
 * the exit status. */
static int read_restraint(struct messages *messages, const char *text, char *name,
                          nb_restraint *out)
{
    const char *const equals = strchr(text, '=');
    const char *const range = equals ? strstr(equals, "..") : NULL;
    const char *const colon = equals ? strchr(equals, ':') : NULL;
    const char *const middle = range ? range : colon;
    char first[64];
    double a, b;
    if (!equals || !middle || equals == text || middle - equals - 1 >= (int)sizeof first)
        return message_usage(messages,
                             "-restrain %s: expected NAME=CENTRE:SIGMA or "
                             "NAME=LOWER..UPPER",
                             text);
    memcpy(first, equals + 1, (size_t)(middle - equals - 1));
    first[middle - equals - 1] = 0;
    if (!parse_real(first, &a) || !parse_real(middle + (range ? 2 : 1), &b))
        return message_usage(messages,
                             "-restrain %s: expected two numbers after the =", text);
    if (!range && !(b > 0))
        return message_usage(messages, "-restrain %s: expected a sigma above 0", text);
    if (range && !(a < b))
        return message_usage(messages, "-restrain %s: expected the lower bound first",
                             text);
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = 0;
    if (range)
        out->lower = a, out->upper = b;
    else
        out->centre = a, out->sigma = b;
    return 0;
}

static int read_restraints(struct fit_job *job)
{
    const struct event_list *const events = job->run->command.events;
    job->restraint = calloc(events->n + 1, sizeof *job->restraint);
    if (!job->restraint)
        return message_failure(job->run->command.messages, "out of memory");
    for (size_t i = 0; i < events->n; i++) {
        const char *const text = events->at[i].text;
        if (events->at[i].option != OPT_RESTRAIN) continue;
        char *const name = malloc(strlen(text) + 1);
        if (!name) return message_failure(job->run->command.messages, "out of memory");
        nb_restraint *const r = &job->restraint[job->nrestraint];
        r->name = name;
        job->nrestraint++;
        const int code = read_restraint(job->run->command.messages, text, name, r);
        if (code) return code;
    }
    return 0;
}

/* ---- callbacks ---- */

/* Notes saturated and negative pixels and a contradictory header of an image, for
 * warnings. */
void fit_note_image(struct fit_job *job, const struct fit_image *image, const char *file)
{
    job->saturated += image->saturated;
    job->nsaturated += image->saturated > 0;
    job->negative += image->negative;
    job->nnegative += image->negative > 0;
    job->untrusted += image->untrusted;
    job->nuntrusted += image->untrusted > 0;
    job->ncounts += (size_t)image->is_counts;
    if (*image->mismatch && job->nmismatch++ == 0)
        (void)snprintf(job->mismatch, sizeof job->mismatch, "%.800s: the header has %s",
                       file, image->mismatch);
}

nb_shot fit_shot_of(const struct fit_job *job, size_t i, const struct fit_image *image)
{
    const struct settings *const s = job->run->command.s;
    const char *const file = job->sources.at[i].file;
    return (nb_shot){.scene = &image->scene,
                     .options = &s->how,
                     .name = file ? file : "the scene",
                     .target = {.kind = s->fit.loss,
                                .observed = file ? &image->observed : NULL,
                                .weight = image->weight ? &image->weights : NULL,
                                .background = s->fit.planes ? NB_BACKGROUND_PLANES : 0,
                                .sigma_readout = s->fit.readout,
                                .delta = s->fit.delta,
                                .saturation = file ? image->saturation : 0}};
}

/* Loads an image for the library, which calls this from any thread, but one call at a
 * time. */
static nb_status load(void *user, int64_t shot, nb_shot *out)
{
    struct fit_job *const job = user;
    const size_t i = (size_t)shot;
    struct fit_image *image = job->kept ? &job->kept[i] : malloc(sizeof *image);
    out->name = job->sources.at[i].file;
    if (!image) return NB_ERR_MEMORY;
    if (!job->kept || !image->sim) {
        const nb_status status = fit_image_read(job->run, job->loading, &job->sources.at[i],
                                                &job->sources.mask, image, job->why);
        if (status != NB_OK) {
            fit_image_free(image);
            if (!job->kept) free(image);
            out->failure = job->why;
            return status;
        }
        if (!job->fit && job->sources.at[i].file)
            fit_note_image(job, image, job->sources.at[i].file);
    }
    if (job->scale > 0) image->scene.crystal.scale = job->scale;
    *out = fit_shot_of(job, i, image);
    return NB_OK;
}

static void unload(void *user, int64_t shot, nb_shot *loaded)
{
    struct fit_job *const job = user;
    (void)shot;
    if (job->kept) return;
    struct fit_image *const image = fit_image_of(loaded);
    fit_image_free(image);
    free(image);
}

static void print_pass(const struct fit_job *job, const nb_fit_state *state)
{
    static const char *const stages[] = {"broad spots", "widths held", "all free"};
    struct progress_line *const line = &job->run->progress;
    progress_line_end(line);
    if (line->kind != PROGRESS_TERMINAL) return;
    (void)fprintf(stderr, "pass %3d  %-11s  loss %.8g, to gain %.3g", state->passes,
                  stages[state->stage], state->loss, state->gain);
    if (state->alone > 0)
        (void)fprintf(stderr, ", %lld images fitted alone", (long long)state->alone);
    (void)fprintf(stderr, "\n");
}

static int on_pass(void *user, const nb_fit_state *state)
{
    struct fit_job *const job = user;
    const char *const path = job->run->command.s->fit.fitfile;
    job->passes = state->passes;
    print_pass(job, state);
    const nb_status status = path ? nb_fit_write(job->fit, path) : NB_OK;
    if (status != NB_OK) {
        job->code = message_status(job->run->command.messages, status,
                                   nb_context_message(job->run->command.ctx), 1);
        return 1;
    }
    progress_line_part(&job->run->progress, "pass", 0, 1);
    return progress_line_interrupted();
}

nb_fit_options fit_options_of(struct fit_job *job)
{
    const struct settings *const s = job->run->command.s;
    return (nb_fit_options){.shared = job->shared,
                            .own = job->own,
                            .coarse = s->fit.coarse,
                            .scaling = s->fit.scaling,
                            .holdout =
                                s->fit.fisher || s->fit.fisher_scan ? 0 : s->fit.holdout,
                            .outliers = s->given[OPT_OUTLIERS] ? s->fit.outliers
                                                               : s->boxes || s->refl,
                            .passes = s->fit.passes,
                            .seconds = s->fit.seconds,
                            .restraint = job->restraint,
                            .nrestraint = job->nrestraint,
                            .load = load,
                            .unload = unload,
                            .progress = on_pass,
                            .user = job};
}

/* ---- the steps ---- */

static int failed(struct fit_job *job, nb_status status)
{
    struct run *const run = job->run;
    progress_line_end(&run->progress);
    if (job->code) return job->code;
    if (status == NB_ERR_CANCELLED) return EXIT_INTERRUPTED;
    const char *const message = nb_context_message(run->command.ctx);
    if (strstr(message, "named twice"))
        return message_usage(run->command.messages, "%s: %s",
                             run->command.s->fit.own ? "-fit and -fit_each" : "-fit",
                             message);
    const int is_loader = *job->why && (job->sources.n == 1 || strstr(message, job->why));
    return message_status(run->command.messages, status, is_loader ? job->why : message, 0);
}

/* Returns the names of a list in the form of nb_fit_options: separated by blanks, without
 * blanks in brackets. The caller frees it; NULL if `list` is NULL or without memory. */
static char *separated(const char *list)
{
    if (list && strcmp(list, "all") == 0) list = "*";
    char *const out = list ? malloc(strlen(list) + 1) : NULL;
    char *to = out;
    int inside = 0;
    for (; out && *list; list++) {
        inside = (inside || *list == '[') && *list != ']';
        if (inside && *list == ' ') continue;
        *to++ = *list == ',' && !inside ? ' ' : *list;
    }
    if (out) *to = 0;
    return out;
}

static int prepare(struct fit_job *job)
{
    struct run *const run = job->run;
    const struct fit_settings *const asked = &run->command.s->fit;
    job->shared = separated(asked->shared);
    job->own = separated(asked->own);
    if ((asked->shared && !job->shared) || (asked->own && !job->own))
        return message_failure(run->command.messages, "out of memory for a fit");
    int code = read_restraints(job);
    if (!code) code = fit_sources_read(run, &job->sources);
    if (!code) code = fit_sources_check(run, &job->sources);
    if (!code && fit_options_of(job).holdout > (int)job->sources.n)
        code = message_usage(run->command.messages,
                             "-holdout %d holds out no image: there %s %zu to fit; give a "
                             "smaller number",
                             run->command.s->fit.holdout,
                             job->sources.n == 1 ? "is" : "are", job->sources.n);
    if (code) return code;
    const nb_description *d = &run->command.description;
    const double bytes = 2. * sizeof(float) * (double)d->nfast * (double)d->nslow;
    if (bytes * (double)job->sources.n <= KEPT_BYTES)
        job->kept = calloc(job->sources.n, sizeof *job->kept);
    const nb_context_options options = {.threads = 1};
    if (nb_context_create(NB_API_VERSION, &options, &job->loading) != NB_OK)
        return message_failure(run->command.messages, "out of memory for a fit");
    return 0;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* Says by what the panels of -expt convert the counts of images. */
static void say_counts(const struct fit_job *job)
{
    const struct command *const command = &job->run->command;
    const nb_panel_counts *const counts = command->inputs.experiment.counts;
    const int n = command->inputs.experiment.scene.detector.npanel;
    double gain[2] = {INFINITY, 0}, pedestal[2] = {INFINITY, -INFINITY};
    if (!counts || command->s->geom || job->ncounts == 0) return;
    for (int i = 0; i < (n > 0 ? n : 1); i++) {
        gain[0] = fmin(gain[0], counts[i].gain), gain[1] = fmax(gain[1], counts[i].gain);
        pedestal[0] = fmin(pedestal[0], counts[i].pedestal);
        pedestal[1] = fmax(pedestal[1], counts[i].pedestal);
    }
    if (gain[0] == 1 && gain[1] == 1 && pedestal[0] == 0 && pedestal[1] == 0) return;
    message_note(command->messages,
                 "%s states how its panels count: gain %g to %g counts/photon, pedestal %g "
                 "to %g counts; -gain and -pedestal override",
                 command->s->expt, gain[0], gain[1], pedestal[0], pedestal[1]);
}

void fit_warn_of_images(const struct fit_job *job)
{
    struct messages *const messages = job->run->command.messages;
    char others[60] = "";
    say_counts(job);
    if (job->untrusted > 0)
        message_note(messages,
                     "left out: %lld pixel%s of %zu image%s outside the trusted_range of "
                     "%s; -saturation overrides its upper limit",
                     (long long)job->untrusted, plural((size_t)job->untrusted),
                     job->nuntrusted, plural(job->nuntrusted), job->run->command.s->expt);
    if (job->saturated > 0)
        message_warning(messages,
                        "%lld saturated pixel%s of %zu image%s: each counts as \"at least "
                        "so many photons\"",
                        (long long)job->saturated, plural((size_t)job->saturated),
                        job->nsaturated, plural(job->nsaturated));
    if (job->negative > 0)
        message_warning(messages,
                        "left out: %lld pixel%s of %zu image%s with fewer photons than "
                        "noise can explain; check -pedestal, unless these pixels are gaps "
                        "of the detector",
                        (long long)job->negative, plural((size_t)job->negative),
                        job->nnegative, plural(job->nnegative));
    if (job->nmismatch > 1)
        (void)snprintf(others, sizeof others, " (%zu images differ from the scene)",
                       job->nmismatch);
    if (job->nmismatch > 0)
        message_warning(messages, "%s%s; check which is right", job->mismatch, others);
}

static int create(struct fit_job *job)
{
    struct run *const run = job->run;
    const nb_fit_options options = fit_options_of(job);
    const int64_t n = (int64_t)job->sources.n;
    const nb_status status =
        run->command.s->fit.fisher
            ? nb_fit_create_expected(run->command.ctx, n, NULL, &options, &job->fit)
            : nb_fit_create(run->command.ctx, n, NULL, &options, &job->fit);
    if (status != NB_OK) return failed(job, status);
    fit_warn_of_images(job);
    if (!run->command.s->fit.resume) return 0;
    const nb_status read = nb_fit_read(job->fit, run->command.s->fit.resume);
    return read == NB_OK ? 0 : failed(job, read);
}

/* Writes image `shot` to the file of -fitimage. Returns 0 or the exit status. */
static int write_image(struct fit_job *job, int64_t shot, float *pixels)
{
    struct run *const run = job->run;
    const nb_description *const d = &run->command.description;
    const char *const pattern = run->command.s->fit.fitimage;
    char *const path = output_name(pattern, (int)shot, job->sources.n > 1);
    nb_array image = nb_array_f32(pixels, d->nslow, d->nfast);
    if (!path) return message_failure(run->command.messages, "out of memory");
    nb_status status =
        nb_fit_image(job->fit, shot, run->command.s->fit.fitimage_kind, &image);
    const int computed = status == NB_OK;
    if (computed) status = nb_raw_write(run->command.ctx, path, &image, 32);
    free(path);
    if (status == NB_OK) return 0;
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), computed);
}

static int write_images(struct fit_job *job)
{
    struct run *const run = job->run;
    nb_fit_result result;
    const size_t pixels =
        (size_t)run->command.description.nfast * (size_t)run->command.description.nslow;
    if (!run->command.s->fit.fitimage) return 0;
    const nb_status status = nb_fit_result_get(job->fit, &result);
    if (status != NB_OK) return failed(job, status);
    float *const memory = malloc(pixels * sizeof *memory);
    int code =
        memory ? 0 : message_failure(run->command.messages, "out of memory for an image");
    for (int64_t shot = 0; shot < result.nshot && !code; shot++)
        if (!result.shot[shot].left_out || result.shot[shot].is_held_out)
            code = write_image(job, shot, memory);
    free(memory);
    return code;
}

static int write_files(struct fit_job *job)
{
    nb_fit_result result;
    const struct settings *const s = job->run->command.s;
    if (!s->geomout && !s->truth && !s->exptout && !s->reflout && !s->fit.fittable)
        return 0;
    const nb_status status = nb_fit_result_get(job->fit, &result);
    if (status != NB_OK) return failed(job, status);
    int code = s->geomout || s->truth ? fit_files_write(job->run, &result) : 0;
    if (!code && s->exptout) code = expt_out_write(job, &result);
    if (!code && s->fit.fittable) code = fit_table_write(job, &result);
    if (!code && s->reflout) code = refl_out_write(job);
    return code;
}

/* Prints the line of the report that names the files written. Returns 0 or the exit
 * status. */
static int report_files(const struct fit_job *job)
{
    const struct settings *const s = job->run->command.s;
    const int several = job->sources.n > 1;
    const char *const singles[] = {s->fit.fitfile, s->geomout,      s->truth, s->exptout,
                                   s->reflout,     s->fit.fittable, s->json};
    int listed = 0;
    if (s->quiet) return 0;
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
        if (singles[i] && !names_stdout(singles[i]))
            printf("%s%s", listed++ ? ", " : "files        ", singles[i]);
    if (s->fit.fitimage) {
        char *const first = output_name(s->fit.fitimage, 0, several);
        char *const last = output_name(s->fit.fitimage, (int)job->sources.n - 1, several);
        const int code = first && last
                             ? 0
                             : message_failure(job->run->command.messages, "out of memory");
        if (!code) printf("%s%s", listed++ ? ", " : "files        ", first);
        if (!code && several) printf(" to %s", last);
        free(first);
        free(last);
        if (code) return code;
    }
    if (listed) printf("\n");
    return 0;
}

/* Prints the values so far of an interrupted fit, and the file to continue from. */
static void tell_interrupt(const struct fit_job *job)
{
    const char *const path = job->run->command.s->fit.fitfile;
    nb_fit_result result;
    if (job->passes > 0 && nb_fit_result_get(job->fit, &result) == NB_OK)
        fit_report_values(job, &result);
    (void)fflush(stdout);
    (void)fprintf(stderr, "nanobrag: interrupted after %d pass%s", job->passes,
                  job->passes == 1 ? "" : "es");
    if (path && job->passes > 0)
        (void)fprintf(stderr, "; %s holds the fit, and -resume %s continues it\n", path,
                      path);
    else
        (void)fprintf(stderr, "; no file was written\n");
}

static int finish(struct fit_job *job)
{
    struct run *const run = job->run;
    nb_fit_result result;
    nb_status status = nb_fit_result_get(job->fit, &result);
    if (status != NB_OK) return failed(job, status);
    int code = fit_residuals_gather(job);
    progress_line_end(&run->progress);
    if (code) return code;
    status = nb_fit_result_get(job->fit, &result);
    if (status == NB_OK) fit_report(job, &result);
    const int verdict = status == NB_OK ? fit_verdict(job, &result) : 0;
    if (status != NB_OK) return failed(job, status);
    if (run->command.s->fit.fitfile) {
        const nb_status written = nb_fit_write(job->fit, run->command.s->fit.fitfile);
        if (written != NB_OK)
            code = message_status(run->command.messages, written,
                                  nb_context_message(run->command.ctx), 1);
    }
    if (!code) code = write_images(job);
    if (!code) code = write_files(job);
    if (!code) code = integrate_out_write(job);
    run->fit = job;
    if (!code && run->command.s->json) code = json_write(run, run->command.s->json);
    run->fit = NULL;
    if (!code) code = report_files(job);
    return code ? code : verdict;
}

static int minimise(struct fit_job *job)
{
    if (job->run->command.s->fit.fisher) return 0;
    progress_line_part(&job->run->progress, "pass", 0, 1);
    *job->why = 0;
    const nb_status status = nb_fit_run(job->fit);
    progress_line_end(&job->run->progress);
    return status == NB_OK ? 0 : failed(job, status);
}

static void free_job(struct fit_job *job)
{
    fit_residuals_free(job);
    nb_fit_free(job->fit);
    nb_expt_update_free(job->update);
    for (int i = 0; i < job->npoint; i++) nb_fit_free(job->point[i].fit);
    free(job->point);
    for (size_t i = 0; job->kept && i < job->sources.n; i++) fit_image_free(&job->kept[i]);
    for (size_t i = 0; i < job->nrestraint; i++)
        free((void *)(uintptr_t)job->restraint[i].name);
    free(job->restraint);
    free(job->kept);
    free(job->shared);
    free(job->own);
    fit_sources_free(&job->sources);
    nb_context_free(job->loading);
}

int fit_run(struct run *run)
{
    struct fit_job job = {.run = run};
    int code = prepare(&job);
    if (!code && run->command.s->fit.fisher_scan) {
        code = fisher_scan_run(&job);
        free_job(&job);
        return code;
    }
    if (!code && !job.shared && !job.own && !run->command.s->fit.fisher) {
        code = integrate_out_write(&job);
        free_job(&job);
        return code;
    }
    if (!code) code = expt_out_begin(&job);
    const nb_fit_options options = fit_options_of(&job);
    if (!code) code = start_scale_find(&job, &options);
    if (!code) code = create(&job);
    if (!code) code = minimise(&job);
    if (code == EXIT_INTERRUPTED) tell_interrupt(&job);
    if (!code) code = finish(&job);
    free_job(&job);
    return code;
}
