/*
 * generate.h - prints texts that are made from the table of options: lists, man page,
 * completion.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_GENERATE_H
#define NB_CLI_OPTIONS_GENERATE_H

void generate_params(void);
void generate_man(void);
void generate_bash(void);
void generate_markdown(void);

#endif
