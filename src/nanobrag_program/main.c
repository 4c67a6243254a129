/*
 * main.c - starts the program: reads its command line as nanobrag's or as nanoBragg's, then
 * prints help or another text, or starts a run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "nanobrag_command/message.h"
#include "nanobrag_command/options/command_line.h"
#include "nanobrag_command/options/options.h"
#include "nanobrag_program/help/generate.h"
#include "nanobrag_program/help/help.h"
#include "nanobrag_program/run.h"
#include "nanobrag_program/share/team.h"

/* Returns the index of the first argument that is an option by any of its names; 0 if there
 * is none. */
static int find_option(int argc, char **argv, int option)
{
    for (int i = 1; i < argc; i++)
        if (option_is(option, argv[i])) return i;
    return 0;
}

/* Prints the text that -generate names, in the process with `speaks` 1. Returns 1 if
 * -generate was given, else 0. */
static int generate(const struct event_list *events, int speaks)
{
    const char *what = NULL;
    for (size_t i = 0; i < events->n; i++)
        if (events->at[i].option == OPT_GENERATE) what = events->at[i].text;
    if (!what || !speaks) return what != NULL;
    if (strcmp(what, "man") == 0)
        generate_man();
    else if (strcmp(what, "bash") == 0)
        generate_bash();
    else
        generate_markdown();
    return 1;
}

static int printed(struct messages *messages)
{
    return fflush(stdout) == 0 ? EXIT_DONE
                               : message_failure(messages, "stdout cannot be written");
}

/* Prints help, version or parameters if an option asks for them instead of a run. Only the
 * process with `speaks` 1 prints. Returns the exit status, or -1 if a run is asked for. */
static int inform(struct messages *messages, int speaks, int argc, char **argv)
{
    const int help = find_option(argc, argv, OPT_HELP);
    const int version = find_option(argc, argv, OPT_VERSION);
    if (!help && !version && !find_option(argc, argv, OPT_LIST_PARAMS)) return -1;
    if (!speaks) return EXIT_DONE;
    if (help) {
        int code = 0;
        if (help + 1 < argc)
            code = help_word(messages, argv[help + 1]);
        else
            help_overview();
        return code ? code : printed(messages);
    }
    if (version) {
        printf("nanobrag %s (%s)\n", nb_version(), nb_features());
        return printed(messages);
    }
    generate_params();
    return printed(messages);
}

static int start(struct messages *messages, const struct team *team, int argc, char **argv)
{
    struct event_list events;
    const char *wrong;
    messages->compat = parse_profile(argc, argv, &wrong);
    const int informed = inform(messages, team_speaks(team), argc, argv);
    if (informed >= 0) return informed;
    if (wrong)
        return message_usage(messages,
                             "-compat or NANOBRAG_COMPAT is %s; expected nanobragg or none",
                             wrong);
    if (argc < 2)
        return message_usage(messages,
                             "no output was asked for; nanobrag -help lists the options");
    int code = parse_arguments(messages, argc, argv, &events);
    struct run run = {.command = {.messages = messages,
                                  .events = &events,
                                  .argc = argc,
                                  .argv = argv,
                                  .several = team_several(team),
                                  .threads = team ? team->threads : 0,
                                  .milliseconds = team ? team->milliseconds : 0},
                      .team = team};
    if (!code)
        code = generate(&events, team_speaks(team)) ? printed(messages) : run_program(&run);
    events_free(&events);
    return code;
}

int main(int argc, char **argv)
{
    struct messages messages = {0};
    const struct team *const team = team_begin(&argc, &argv, &messages);
    const int code = start(&messages, team, argc, argv);
    messages_free(&messages);
    team_end(team, code);
    return code;
}
