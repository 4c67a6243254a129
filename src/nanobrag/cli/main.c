/*
 * main.c - the entry of the program: chooses the profile, nanobrag's own or nanoBragg's,
 * and the action: help, a generated text, or a run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "cli/message.h"
#include "cli/options/command_line.h"
#include "cli/options/generate.h"
#include "cli/options/help.h"
#include "cli/options/options.h"
#include "cli/run.h"

/* The place of the first argument that is this option, by one of its names; 0: none is. */
static int find_option(int argc, char **argv, int option)
{
    for (int i = 1; i < argc; i++)
        if (option_is(option, argv[i])) return i;
    return 0;
}

/* Print the text that -generate names; returns 0 when there is no such text. */
static int generate(const struct event_list *events)
{
    const char *what = NULL;
    for (size_t i = 0; i < events->n; i++)
        if (events->at[i].option == OPT_GENERATE) what = events->at[i].text;
    if (!what) return 0;
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

int main(int argc, char **argv)
{
    struct messages messages = {0};
    struct event_list events;
    const char *wrong;
    messages.compat = parse_profile(argc, argv, &wrong);
    const int help = find_option(argc, argv, OPT_HELP);
    if (help) {
        int code = 0;
        if (help + 1 < argc)
            code = help_word(&messages, argv[help + 1]);
        else
            help_overview();
        return code ? code : printed(&messages);
    }
    if (find_option(argc, argv, OPT_VERSION)) {
        printf("nanobrag %s (%s)\n", nb_version(), nb_features());
        return printed(&messages);
    }
    if (find_option(argc, argv, OPT_LIST_PARAMS)) {
        generate_params();
        return printed(&messages);
    }
    if (wrong)
        return message_usage(&messages,
                             "-compat or NANOBRAG_COMPAT is %s; expected nanobragg or none",
                             wrong);
    if (argc < 2)
        return message_usage(&messages,
                             "nothing asked for; nanobrag -help lists the options");
    int code = parse_arguments(&messages, argc, argv, &events);
    if (!code)
        code = generate(&events) ? printed(&messages)
                                 : run_program(&messages, argc, argv, &events);
    events_free(&events);
    messages_free(&messages);
    return code;
}
