/*
 * create_simulator.c - the context and the simulator of a run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include <nanobrag/description.h>

#include "nanobrag_program/derivatives/run_derivatives.h"
#include "nanobrag_program/run.h"
#include "nanobrag_program/share/share.h"
#include "nanobrag_program/shots/shots.h"

static void on_log(void *user, int level, const char *topic, const char *line)
{
    const struct run *run = user;
    (void)topic;
    if (level == NB_LOG_WARNING) message_warning(run->messages, "%s", line);
    if (level == NB_LOG_NOTE) message_note(run->messages, "%s", line);
}

static int on_progress(void *user, double fraction)
{
    struct run *run = user;
    return progress_line_show(&run->progress, fraction);
}

nb_status run_context(struct run *run, int compile, nb_context **out)
{
    const struct settings *s = run->s;
    /* as many as asked for by the options or the environment, or a share of the machine */
    const int shares = !s->threads && team_several(run->team) && !getenv("NANOBRAG_THREADS")
                       && !getenv("OMP_NUM_THREADS");
    const nb_context_options options = {.threads = shares ? run->team->threads : s->threads,
                                        .device = s->device,
                                        .device_id = s->device_id,
                                        .compile = compile,
                                        .log = on_log,
                                        .progress = on_progress,
                                        .user = run};
    return nb_context_create(NB_API_VERSION, &options, out);
}

static int library_failed(struct run *run, nb_status status)
{
    return message_status(run->messages, status, nb_context_message(run->ctx), 0);
}

/* Drop what the options stated for nanoBragg's report, since -param has changed it. */
static void drop_statements(struct run *run)
{
    struct settings *s = run->s;
    if (run->params.nset == 0 && !run->shots) return;
    s->header_beam.given[0] = s->header_beam.given[1] = 0;
    s->report_close[0] = run->description.close_fast;
    s->report_close[1] = run->description.close_slow;
}

/* Find the boxes of -boxes auto, and create the simulator again with them. */
static int find_boxes(struct run *run, const char *names)
{
    struct settings *s = run->s;
    struct nb_detector *detector = &s->scene.detector;
    int *box = run->inputs.box;
    if (s->boxes_most == 0) return 0;
    nb_status status = nb_simulator_boxes(run->sim, run->params.x, s->boxes_edge,
                                          (size_t)s->boxes_most, box, &detector->nbox);
    if (status != NB_OK) return library_failed(run, status);
    if (detector->nbox == 0)
        return message_usage(run->messages,
                             "-boxes %s: no reflection scatters onto the detector",
                             s->boxes);
    detector->box = box;
    nb_simulator_free(run->sim);
    run->sim = NULL;
    status = nb_simulator_create(run->ctx, &s->scene, names, &s->how, &run->sim);
    return status == NB_OK ? 0 : library_failed(run, status);
}

/* Let the images of a sweep drift about their middle. */
static void place_drift(struct settings *s)
{
    nb_scan *const scan = &s->scene.scan;
    if (s->images < 2 || s->scene.given & NB_GIVEN_DRIFT_PHI) return;
    scan->drift_phi = scan->phi0 + s->images * scan->osc / 2;
    s->scene.given |= NB_GIVEN_DRIFT_PHI;
}

/* Create the simulator of parameters `names`, and apply -param. */
static int create_named(struct run *run, const struct event_list *events, const char *names)
{
    params_prepare(&run->s->scene, names);
    const char *const lists[] = {run->s->gradcheck, run->s->fit.shared, run->s->fit.own};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i]) params_prepare(&run->s->scene, lists[i]);
    place_drift(run->s);
    const nb_status status =
        nb_simulator_create(run->ctx, &run->s->scene, names, &run->s->how, &run->sim);
    if (status != NB_OK) return library_failed(run, status);
    int code = params_set(&run->params, run->messages, run->ctx, run->sim, events);
    if (!code) experiment_at(run, run->params.x);
    if (!code) code = shots_place(run);
    return code ? code : find_boxes(run, names);
}

int run_simulator(struct run *run, const struct event_list *events)
{
    char *names;
    int code = experiment_begin(run);
    if (!code)
        code = params_names(run->s, run->messages, events, shots_title(run), run->changing,
                            &names);
    if (code) return code;
    code = create_named(run, events, names);
    free(names);
    if (code) return code;
    nb_status status = nb_simulator_resolved(run->sim, run->params.x, &run->resolved);
    if (status == NB_OK)
        status = nb_simulator_describe(run->sim, run->params.x, &run->description);
    if (status != NB_OK) return library_failed(run, status);
    drop_statements(run);
    return derivatives_asked(run->s) ? derivatives_start(run) : 0;
}
