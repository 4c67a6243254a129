/*
 * help.h - prints -help, and declares functions for other texts made from the options.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_HELP_H
#define NB_CLI_OPTIONS_HELP_H

#include "nanobrag_command/message.h"
#include "nanobrag_command/options/options.h"

/* Prints the options that are used most, on one screen. */
void help_overview(void);

/* Prints the help on a word: an option, a section, a parameter or group of parameters, an
 * environment variable, "all" or "environment". Returns 0 or the exit status. */
int help_word(struct messages *messages, const char *word);

/* a line that describes the program */
extern const char *const help_summary;

/* Returns 1 if an option belongs to a section and is not hidden. */
int help_shows(const struct option *option, int group);

/* Returns the name of environment variable i and its text; NULL behind the last. */
const char *help_variable(int i, const char **text);

/* Prints words in columns `indent` to `width`; the first line continues at `column`. */
void help_wrap(const char *text, int column, int indent, int width);

#endif
