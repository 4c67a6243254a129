/*
 * generate.h - prints texts made from the table of options to stdout.
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
