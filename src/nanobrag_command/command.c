/*
 * command.c - from a command line to its scene and simulator.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/command.h"

#include <stdlib.h>

#include <nanobrag/description.h>

#include "nanobrag_command/shots/shots.h"

static void on_log(void *user, int level, const char *topic, const char *line)
{
    const struct command *command = user;
    (void)topic;
    if (level == NB_LOG_WARNING) message_warning(command->messages, "%s", line);
    if (level == NB_LOG_NOTE) message_note(command->messages, "%s", line);
}

static int on_progress(void *user, double fraction)
{
    struct command *command = user;
    return command->show ? command->show(command, fraction) : 0;
}

nb_status command_context(struct command *command, int compile, nb_context **out)
{
    const struct settings *s = command->s;
    /* Several processes share the machine: each takes its share of the cores, unless an
     * option or the environment states the number of threads. */
    const int shares = !s->threads && command->several && !getenv("NANOBRAG_THREADS")
                       && !getenv("OMP_NUM_THREADS");
    const nb_context_options options = {.threads = shares ? command->threads : s->threads,
                                        .device = s->device,
                                        .device_id = s->device_id,
                                        .compile = compile,
                                        .log = on_log,
                                        .progress = on_progress,
                                        .user = command};
    return nb_context_create(NB_API_VERSION, &options, out);
}

static int library_failed(struct command *command, nb_status status)
{
    return message_status(command->messages, status, nb_context_message(command->ctx), 0);
}

/* The report in nanoBragg's words prints the beam centre and the nearest point as options
 * stated them. With -param or -shots the detector may have moved, so the report gets the
 * computed points. */
static void drop_statements(struct command *command)
{
    struct settings *s = command->s;
    if (command->params.nset == 0 && !command->shots) return;
    s->header_beam.given[0] = s->header_beam.given[1] = 0;
    s->report_close[0] = command->description.close_fast;
    s->report_close[1] = command->description.close_slow;
}

/* Find the boxes of -boxes auto, and create the simulator again with them. Returns 0 or the
 * exit status. */
static int find_boxes(struct command *command, const char *names)
{
    struct settings *s = command->s;
    struct nb_detector *detector = &s->scene.detector;
    int *box = command->inputs.box;
    if (s->boxes_most == 0) return 0;
    nb_status status = nb_simulator_boxes(command->sim, command->params.x, s->boxes_edge,
                                          (size_t)s->boxes_most, box, &detector->nbox);
    if (status != NB_OK) return library_failed(command, status);
    if (detector->nbox == 0)
        return message_usage(command->messages,
                             "-boxes %s: no reflection scatters onto the detector; check "
                             "-energy, -distance and -cell",
                             s->boxes);
    detector->box = box;
    nb_simulator_free(command->sim);
    command->sim = NULL;
    status = nb_simulator_create(command->ctx, &s->scene, names, &s->how, &command->sim);
    return status == NB_OK ? 0 : library_failed(command, status);
}

/* Make the middle of a sweep the phi at which the crystal's drift is 0, unless -drift_phi
 * states one. */
static void place_drift(struct settings *s)
{
    nb_scan *const scan = &s->scene.scan;
    if (s->images < 2 || s->scene.given & NB_GIVEN_DRIFT_PHI) return;
    scan->drift_phi = scan->phi0 + s->images * scan->osc / 2;
    s->scene.given |= NB_GIVEN_DRIFT_PHI;
}

/* Create the simulator with `names` as free parameters; apply -param, -shots and -boxes
 * auto. */
static int create_named(struct command *command, const struct event_list *events,
                        const char *names)
{
    params_prepare(&command->s->scene, names);
    const char *const lists[] = {command->s->gradcheck, command->s->fit.shared,
                                 command->s->fit.own};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i]) params_prepare(&command->s->scene, lists[i]);
    place_drift(command->s);
    const nb_status status = nb_simulator_create(command->ctx, &command->s->scene, names,
                                                 &command->s->how, &command->sim);
    if (status != NB_OK) return library_failed(command, status);
    int code =
        params_set(&command->params, command->messages, command->ctx, command->sim, events);
    if (!code) experiment_at(command, command->params.x);
    if (!code) code = shots_place(command);
    return code ? code : find_boxes(command, names);
}

int command_simulator(struct command *command, const struct event_list *events)
{
    char *names;
    int code = experiment_begin(command);
    if (!code)
        code = params_names(command->s, command->messages, events, shots_title(command),
                            command->changing, &names);
    if (code) return code;
    code = create_named(command, events, names);
    free(names);
    if (code) return code;
    nb_status status =
        nb_simulator_resolved(command->sim, command->params.x, &command->resolved);
    if (status == NB_OK)
        status =
            nb_simulator_describe(command->sim, command->params.x, &command->description);
    if (status != NB_OK) return library_failed(command, status);
    drop_statements(command);
    return 0;
}

static int create_context(struct command *command)
{
    enum { THREADS_MOST = 1024 }; /* the library's limit */
    const struct settings *s = command->s;
    if (s->threads > THREADS_MOST)
        return message_usage(command->messages, "-threads %d: must be at most %d",
                             s->threads, THREADS_MOST);
    if (s->wrong_device)
        return message_usage(command->messages,
                             "-device %s: expected auto, cpu, cuda or cuda:N",
                             s->wrong_device);
    const nb_status status = command_context(command, s->compile, &command->ctx);
    return status == NB_OK ? 0 : message_status(command->messages, status, "", 0);
}

/* Take the geometry from -mask, -img, -expt, -xparm and -geom, then apply all options. */
static int inherit(struct command *command)
{
    struct settings *const s = command->s;
    struct messages *const messages = command->messages;
    const struct event_list *const events = command->events;
    settings_start(s, messages->compat);
    int code = header_inherit(s, messages, command->ctx, events, &command->inputs.mask);
    if (!code)
        code = experiment_inherit(s, messages, command->ctx, events, &command->inputs);
    if (!code) code = geometry_inherit(s, messages, command->ctx, events, &command->inputs);
    if (!code) settings_apply(s, events);
    return code;
}

int command_settings(struct command *command)
{
    struct settings *const s = command->s;
    struct messages *const messages = command->messages;
    settings_start(s, messages->compat);
    settings_apply(s, command->events);
    int code = create_context(command);
    if (!code) code = inherit(command);
    if (code) return code;
    messages->quiet = s->quiet;
    s->full_report = !s->quiet && (s->compat || s->verbose);
    /* with -json - or -gradfile - only numbers go to stdout; notes go to stderr */
    if (names_stdout(s->json) || names_stdout(s->gradfile))
        s->quiet = 1, s->full_report = 0;
    code = constraints_check(command);
    if (!code && !s->compat) code = settings_check(s, messages);
    if (!code) code = geometry_check(s, messages, command->inputs.geometry);
    if (!code) code = shots_read(command);
    if (!code) code = settings_finish(s, messages);
    if (!code)
        lattices_say(s, messages, &command->inputs.experiment,
                     experiment_is_data(&command->inputs, command->events));
    if (!code && command->milliseconds)
        settings_reseed(s,
                        s->compat ? command->milliseconds / 1000 : command->milliseconds);
    return code;
}

int command_scene(struct command *command)
{
    int code = spectra_set(command);
    if (!code)
        code = inputs_read(&command->inputs, command->s, command->messages, command->ctx);
    if (!code) code = start_values_find(command);
    if (!code && command->s->pdb)
        code = factors_calculate(&command->inputs, command->s, command->messages,
                                 command->ctx);
    if (code) return code;
    crystal_system_set(command);
    return command_simulator(command, command->events);
}

void command_free(struct command *command)
{
    free(command->lattices);
    shots_free(command);
    params_free(&command->params);
    nb_simulator_free(command->sim);
    inputs_free(&command->inputs);
    nb_context_free(command->ctx);
}
