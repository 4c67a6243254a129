/*
 * help.h - prints -help to stdout, and declares the functions that it shares with other
 * generated texts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_HELP_H
#define NB_CLI_OPTIONS_HELP_H

#include "nanobrag_command/message.h"
#include "nanobrag_command/options/options.h"

/* Print the options most used, on one screen. */
void help_overview(void);

/* Print the help on a word: an option, a section, a parameter or a group of them, an
 * environment variable, "all" or "environment". Returns 0 or the exit status. */
int help_word(struct messages *messages, const char *word);

/* One line that describes the program. */
extern const char *const help_summary;

/* 1 when an option belongs to a section and is not hidden. */
int help_shows(const struct option *option, int group);

/* The name of environment variable i, with its text; NULL past the end. */
const char *help_variable(int i, const char **text);

/* Print words wrapped between two columns; the cursor stands at `column`. */
void help_wrap(const char *text, int column, int indent, int width);

#endif
