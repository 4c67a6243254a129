/*
 * main.c - the program: which profile, which action.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "cli/generate.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/run.h"
#include "cli/say.h"

/* 1 when an argument is this option by one of its names */
static int asks(int argc, char **argv, int option)
{
    for (int i = 1; i < argc; i++)
        if (option_is(option, argv[i])) return 1;
    return 0;
}

/* the text that -generate names; returns 0 when there is none */
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

static int printed(struct say *say)
{
    return fflush(stdout) == 0 ? EXIT_DONE : say_failure(say, "stdout cannot be written");
}

int main(int argc, char **argv)
{
    struct say say = {0};
    struct event_list events;
    const char *wrong;
    say.compat = parse_profile(argc, argv, &wrong);
    if (asks(argc, argv, OPT_HELP)) {
        generate_help();
        return printed(&say);
    }
    if (asks(argc, argv, OPT_VERSION)) {
        printf("nanobrag %s (%s)\n", nb_version(), nb_features());
        return printed(&say);
    }
    if (asks(argc, argv, OPT_LIST_PARAMS)) {
        generate_params();
        return printed(&say);
    }
    if (wrong)
        return say_usage(&say,
                         "-compat or NANOBRAG_COMPAT is %s; expected nanobragg or none",
                         wrong);
    if (argc < 2)
        return say_usage(&say, "nothing asked for; nanobrag -help lists the options");
    int code = parse_arguments(&say, argc, argv, &events);
    if (!code)
        code = generate(&events) ? printed(&say) : run_program(&say, argc, argv, &events);
    events_free(&events);
    say_free(&say);
    return code;
}
