/*
 * generate.c - prints the list of parameters, the man page, the bash completion and
 * docs/cli.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/help/generate.h"

#include <stdio.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_command/options/options.h"
#include "nanobrag_program/help/help.h"

/* ---- -list_params ---- */

void generate_params(void)
{
    nb_param p;
    printf("%-20s %-18s %-10s %-8s %-8s %-8s %s\n", "name", "group", "unit", "scale",
           "from", "to", "meaning");
    for (int i = 0; nb_param_registry(i, &p); i++)
        printf("%-20s %-18s %-10s %-8g %-8g %-8g %s\n", p.name, p.group, p.unit, p.scale,
               p.lower, p.upper, p.doc);
}

/* ---- man ---- */

/* Prints text for troff, with hyphens that can be copied. */
static void roff(const char *text)
{
    for (; *text; text++) {
        if (*text == '-')
            printf("\\-");
        else if (*text == '\\')
            printf("\\e");
        else
            putchar(*text);
    }
}

static void man_option(const struct option *option)
{
    printf(".TP\n.B ");
    roff(option->name);
    if (option->values[0]) {
        printf("\\fR \\fI");
        roff(option->values);
    }
    printf("\\fR\n");
    roff(option->help);
    printf("\n");
    if (option->unit[0]) {
        printf("Unit: ");
        roff(option->unit);
        printf(".\n");
    }
    if (option->preset[0]) {
        printf("Default: ");
        roff(option->preset);
        printf(".\n");
    }
    if (option->aliases[0]) {
        printf("Also: ");
        roff(option->aliases);
        printf(".\n");
    }
}

void generate_man(void)
{
    printf(".TH NANOBRAG 1 \"\" \"nanobrag %s\" \"User Commands\"\n", nb_version());
    printf(".SH NAME\nnanobrag \\- ");
    roff(help_summary);
    printf("\n.SH SYNOPSIS\n.B nanobrag\n.I option value ...\n");
    printf(
        ".SH DESCRIPTION\nRenders the diffraction of a small crystal on a detector, pixel "
        "by pixel, and writes\nthe files that options name. Nothing is written that was "
        "not asked for.\n.PP\nRun as\n.B nanoBragg\nor with\n.B \\-compat nanobragg\nit "
        "reads its command line as nanoBragg does and writes nanoBragg's files and "
        "numbers.\n");
    printf(".SH OPTIONS\nNames are exact; \\-\\-x is \\-x; if an option is repeated,\nthe "
           "last one counts, but an output file has one name.\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf(".SS ");
        roff(option_group_title(group));
        printf("\n");
        for (int i = 0; i < OPT_COUNT; i++)
            if (help_shows(option_at(i), group)) man_option(option_at(i));
    }
    printf(".SH EXIT STATUS\n0 done, 1 the run failed, 2 wrong usage or input, 130 "
           "interrupted (SIGTERM: 143); 9 for every failure\nunder \\-compat nanobragg.\n");
    printf(".SH ENVIRONMENT\n");
    const char *name, *text;
    for (int i = 0; (name = help_variable(i, &text)); i++) {
        printf(".TP\n.B %s\n", name);
        roff(text);
        printf("\n");
    }
    printf(
        ".SH SEE ALSO\ndocs/cli.md, docs/from_nanobragg.md and docs/conventions.md of the "
        "project.\n");
}

/* ---- bash completion ---- */

static void bash_names(const struct option *option, const char *separator)
{
    printf("%s", option->name);
    char word[64];
    const char *list = option->aliases;
    while (option_word(&list, word, sizeof word)) printf("%s%s", separator, word);
}

/* Prints the choices of a text like "sample|beam", separated by blanks. */
static void bash_choices(const char *choices)
{
    for (; *choices; choices++) putchar(*choices == '|' ? ' ' : *choices);
}

void generate_bash(void)
{
    printf("# bash completion of nanobrag, made by nanobrag -generate bash\n");
    printf("_nanobrag()\n{\n    local word=${COMP_WORDS[COMP_CWORD]}\n");
    printf("    local last=${COMP_WORDS[COMP_CWORD-1]}\n    case $last in\n");
    for (int i = 0; i < OPT_COUNT; i++) {
        const struct option *option = option_at(i);
        if (option->flags & OPTION_HIDDEN) continue;
        if (option->kind == KIND_INPUT || option->kind == KIND_OUTPUT
            || option->kind == KIND_ADDED) {
            printf("    ");
            bash_names(option, "|");
            printf(") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n");
        } else if (option->kind == KIND_WORD) {
            printf("    %s) COMPREPLY=($(compgen -W \"", option->name);
            bash_choices(option->values);
            printf("\" -- \"$word\")); return ;;\n");
        }
    }
    printf("    esac\n    COMPREPLY=($(compgen -W \"\n");
    for (int i = 0; i < OPT_COUNT; i++) {
        if (option_at(i)->flags & OPTION_HIDDEN) continue;
        printf("        ");
        bash_names(option_at(i), " ");
        printf("\n");
    }
    printf("    \" -- \"$word\"))\n}\n");
    printf("complete -o filenames -F _nanobrag nanobrag nanoBragg\n");
}

/* ---- docs/cli.md ---- */

/* Prints the text of a table cell; a | has to be escaped. */
static void cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            printf("\\|");
        else
            putchar(*text);
    }
}

static void markdown_option(const struct option *option)
{
    printf("| `%s", option->name);
    if (option->values[0]) {
        printf(" ");
        cell(option->values);
    }
    printf("` | ");
    cell(option->unit);
    printf(" | ");
    cell(option->preset);
    printf(" | ");
    cell(option->help);
    if (option->flags & OPTION_OURS) printf(" *(not in nanoBragg)*");
    if (option->aliases[0]) {
        char word[64];
        const char *list = option->aliases, *separator = " Also ";
        while (option_word(&list, word, sizeof word)) {
            printf("%s`%s`", separator, word);
            separator = ", ";
        }
        printf(".");
    }
    printf(" |\n");
}

enum { MARKDOWN_WIDTH = 100 };

static void paragraph(const char *text)
{
    help_wrap(text, 0, 0, MARKDOWN_WIDTH);
    printf("\n");
}

void generate_markdown(void)
{
    printf("# The command line\n\n");
    paragraph("Made by `nanobrag -generate markdown` from "
              "`src/nanobrag_command/options/options.def`; do not edit.");
    paragraph("In the default profile names are exact, `--x` is `-x`, and a value that an "
              "option has taken is never read as an option. If an option is repeated, the "
              "last one counts, but an output file has one name. An unknown option, a "
              "missing value, a number followed by text or a second name is an error (exit "
              "status 2, nothing written). Under `-compat nanobragg` the command line is "
              "read as nanoBragg reads it: [from_nanobragg.md](from_nanobragg.md).");
    help_wrap("Exit status: 0 done, 1 the run failed, 2 wrong usage or input, 130 "
              "interrupted (SIGTERM: 143); 9 for every failure under `-compat nanobragg`. "
              "Files are whole or absent. A run that is killed (SIGKILL, a power cut) may "
              "leave an unfinished file .nanobrag-PID-N.tmp in the folder of the output, "
              "where PID is the number of the process; delete this file.",
              0, 0, MARKDOWN_WIDTH);
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf("\n## %s\n\n", option_group_title(group));
        printf("| option | unit | default | meaning |\n|---|---|---|---|\n");
        for (int i = 0; i < OPT_COUNT; i++)
            if (help_shows(option_at(i), group)) markdown_option(option_at(i));
    }
    printf("\n## Environment\n\n| variable | meaning |\n|---|---|\n");
    const char *name, *text;
    for (int i = 0; (name = help_variable(i, &text)); i++)
        printf("| `%s` | %s |\n", name, text);
}
