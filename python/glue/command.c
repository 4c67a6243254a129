/* command.c - see glue.h. SPDX-License-Identifier: MIT */
#include "nanobrag_command/command.h"

#include <stdlib.h>
#include <string.h>

#include "glue.h"

struct nbpy_command {
    struct command command;
    struct settings settings;
    struct messages messages;
    struct event_list events;
    nb_scene scene;
    char *lines;
    size_t size; /* of lines, without the NUL */
    int code;
};

static void take_line(void *user, const char *line)
{
    nbpy_command *const command = user;
    const size_t length = strlen(line);
    char *const grown = realloc(command->lines, command->size + length + 2);

    if (!grown) return;
    memcpy(grown + command->size, line, length);
    command->size += length + 1;
    grown[command->size - 1] = '\n';
    grown[command->size] = '\0';
    command->lines = grown;
}

/* The scene of the first image. Values of -param are not in the settings. */
static void take_scene(nbpy_command *command)
{
    nb_status status = NB_OK;

    command->scene = command->settings.scene;
    if (command->command.params.nset == 0) return;
    status = nb_simulator_resolved(command->command.sim, command->command.params.x,
                                   &command->scene);
    if (status != NB_OK)
        command->code = message_status(&command->messages, status,
                                       nb_context_message(command->command.ctx), 0);
}

nbpy_command *nbpy_command_read(int argc, char **argv)
{
    nbpy_command *const command = calloc(1, sizeof *command);
    const char *wrong = NULL;

    if (!command) return NULL;
    command->messages.take = take_line;
    command->messages.user = command;
    command->messages.compat = parse_profile(argc, argv, &wrong);
    command->command = (struct command){.s = &command->settings,
                                        .messages = &command->messages,
                                        .events = &command->events,
                                        .scene_only = 1,
                                        .argc = argc,
                                        .argv = argv};
    if (wrong)
        command->code =
            message_usage(&command->messages,
                          "-compat or NANOBRAG_COMPAT is %s; expected nanobragg or none",
                          wrong);
    else
        command->code = parse_arguments(&command->messages, argc, argv, &command->events);
    if (!command->code) command->code = command_settings(&command->command);
    if (!command->code) command->code = command_scene(&command->command);
    if (!command->code && !command->command.sim)
        command->code =
            message_usage(&command->messages, "the options describe no scene: give -cell");
    if (!command->code) take_scene(command);
    return command;
}

int nbpy_command_code(const nbpy_command *command)
{
    return command->code;
}

const char *nbpy_command_lines(const nbpy_command *command)
{
    return command->lines ? command->lines : "";
}

const nb_scene *nbpy_command_scene(const nbpy_command *command)
{
    return &command->scene;
}

const nb_options *nbpy_command_options(const nbpy_command *command)
{
    return &command->settings.how;
}

int nbpy_command_keep_atoms(nbpy_command *command)
{
    nb_simulator_free(command->command.sim);
    command->command.sim = NULL;
    return command->command.inputs.structure != NULL;
}

nb_hkl *nbpy_command_factors(nbpy_command *command, const nb_scene *scene)
{
    struct settings settings = command->settings;
    struct inputs inputs = command->command.inputs;

    settings.scene = *scene;
    inputs.hkl = NULL;
    inputs.sources = (nb_source *)(uintptr_t)scene->beam.source;
    inputs.nsource = scene->beam.nsource;
    (void)factors_calculate(&inputs, &settings, &command->messages, command->command.ctx);
    return inputs.hkl;
}

void nbpy_command_free(nbpy_command *command)
{
    if (!command) return;
    command_free(&command->command);
    events_free(&command->events);
    messages_free(&command->messages);
    free(command->lines);
    free(command);
}
