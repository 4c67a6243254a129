/*
 * generate.c - prints --help, the man page, the bash completion and docs/cli.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/options/generate.h"

#include <stdio.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "cli/options/options.h"

static int is_shown(const struct option *option, int group)
{
    return (int)option->group == group && !(option->flags & OPTION_HIDDEN);
}

static const char *const summary =
    "X-ray diffraction images of small crystals, as nanoBragg makes them";

/* NANOBRAG_ISA is described in full: it is the only one that changes bits of an image */
static const struct {
    const char *name, *text;
} environment[] = {
    {"NANOBRAG_COMPAT", "nanobragg: the same as -compat nanobragg."},
    {"NANOBRAG_THREADS",
     "Number of threads, 1 to 1024, where -threads is not given. It never changes a bit of "
     "an image."},
    {"OMP_NUM_THREADS",
     "Number of threads where neither -threads nor NANOBRAG_THREADS is given. Without it, "
     "all cores are used that the process may use."},
    {"NANOBRAG_ISA",
     "Instruction set of the pixel loop; without it, the best that the machine has. On "
     "x86-64 v2 (SSE4.2), v3 (AVX2, FMA) or v4 (AVX-512), elsewhere base, which is what "
     "the compiler targets; scalar, everywhere, is not vectorised, for comparison. It "
     "changes the last bits of an image."},
    {"NANOBRAG_DEVICE", "auto, cpu, cuda or cuda:N, where -device is not given."},
    {"NANOBRAGG_DISABLE_COMPILE",
     "1: compiled mode is off, whatever -compile says. 0 or empty: no effect."},
    {"NANOBRAG_DISABLE_COMPILE", "The same as NANOBRAGG_DISABLE_COMPILE."},
    {"NANOBRAG_LOGS",
     "What compiled mode reports on stderr: any of recompiles, graph_breaks, cudagraphs, "
     "cache, hotpath, autotune, fallback, donation, separated by commas, or all."},
    {"NANOBRAG_CACHE_DIR",
     "Folder for the results of -compile tune and for kernels that NVRTC built. Without "
     "it, $XDG_CACHE_HOME/nanobrag, else ~/.cache/nanobrag."},
    {"NANOBRAG_COMPILE_TIMEOUT",
     "Seconds that FFTW's planner may take while tuning, and that NVRTC may take for a "
     "kernel: above 0, below 1e6. The default is 10, and 120 for a kernel that a call "
     "waits for."},
    {"NANOBRAG_HOT_THRESHOLD",
     "Number of uses, from 1 on, after which NVRTC builds in the background a GPU kernel "
     "that is specialised for the image. The default is 5; 0: none is built."},
    {"NANOBRAG_RECOMPILE_LIMIT",
     "How many such kernels NVRTC may build for a context, and how many for derivatives. "
     "The default is 8 of each."},
    {"NANOBRAG_GRAPHS",
     "0: launches on a CUDA device are made one by one instead of being recorded and "
     "replayed as graphs, which changes no bit. 1 or empty: no effect."},
    {"NANOBRAG_STRICT",
     "1: where compiled mode lacks something, or a device that was asked for (cuda, not "
     "auto) does not compute, the run fails with exit status 2; this includes -strategy "
     "spots or reference and a point spread, which keep work on the processor. 0 or "
     "empty: the program goes on and reports it under the topic fallback."},
};

enum { VARIABLES = sizeof environment / sizeof *environment };

/* ---- help ---- */

/* Print words wrapped between two columns; the cursor stands at `column`. */
static void wrap(const char *text, int column, int indent, int width)
{
    char word[256];
    while (option_word(&text, word, sizeof word)) {
        const int n = (int)strlen(word);
        if (column > indent && column + 1 + n > width) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            printf(" ");
            column++;
        }
        printf("%s", word);
        column += n;
    }
    printf("\n");
}

enum { INDENT = 30, WIDTH = 92 }; /* columns of the help's text */

static void help_option(const struct option *option)
{
    char text[1024];
    int column =
        printf("  %s%s%s", option->name, option->values[0] ? " " : "", option->values);
    if (column + 2 > INDENT) {
        printf("\n");
        column = 0;
    }
    printf("%*s", INDENT - column, "");
    size_t n = (size_t)snprintf(text, sizeof text, "%s", option->help);
    if (option->unit[0])
        n += (size_t)snprintf(text + n, sizeof text - n, " [%s]", option->unit);
    if (option->preset[0])
        n += (size_t)snprintf(text + n, sizeof text - n, " Default: %s.", option->preset);
    if (option->aliases[0])
        snprintf(text + n, sizeof text - n, " Also: %s.", option->aliases);
    wrap(text, INDENT, INDENT, WIDTH);
}

void generate_help(void)
{
    printf("nanobrag %s - %s\n\n", nb_version(), summary);
    printf("  nanobrag -cell 50 60 70 90 90 90 -hkl p1.hkl -N 10 -floatfile image.bin\n\n");
    printf("Numbers take no suffix; --x is -x; later options win.\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf("\n%s\n", option_group_title(group));
        for (int i = 0; i < OPT_COUNT; i++)
            if (is_shown(option_at(i), group)) help_option(option_at(i));
    }
    printf("\nEnvironment\n");
    for (int i = 0; i < VARIABLES; i++) {
        const int column = printf("  %s", environment[i].name);
        printf("%*s", INDENT - column, "");
        wrap(environment[i].text, INDENT, INDENT, WIDTH);
    }
    printf(
        "\nExit status: 0 done, 1 the run failed, 2 wrong usage or input, 130 interrupted "
        "(SIGTERM:\n143); 9 for every failure under -compat nanobragg.\n");
}

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

/* Print text for troff: hyphens can be copied, and no line becomes a request. */
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
    roff(summary);
    printf("\n.SH SYNOPSIS\n.B nanobrag\n.I option value ...\n");
    printf(
        ".SH DESCRIPTION\nRenders the diffraction of a small crystal on a detector, pixel "
        "by pixel, and writes\nthe files that options name. Nothing is written that was "
        "not asked for.\n.PP\nRun as\n.B nanoBragg\nor with\n.B \\-compat nanobragg\nit "
        "reads its command line as nanoBragg does and writes nanoBragg's files and "
        "numbers.\n");
    printf(".SH OPTIONS\nNames are exact; \\-\\-x is \\-x; later options win.\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf(".SS ");
        roff(option_group_title(group));
        printf("\n");
        for (int i = 0; i < OPT_COUNT; i++)
            if (is_shown(option_at(i), group)) man_option(option_at(i));
    }
    printf(".SH EXIT STATUS\n0 done, 1 the run failed, 2 wrong usage or input, 130 "
           "interrupted (SIGTERM: 143); 9 for every failure\nunder \\-compat nanobragg.\n");
    printf(".SH ENVIRONMENT\n");
    for (int i = 0; i < VARIABLES; i++) {
        printf(".TP\n.B %s\n", environment[i].name);
        roff(environment[i].text);
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

/* Print the words of a choice like "sample|beam". */
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
        if (option->kind == KIND_INPUT || option->kind == KIND_OUTPUT) {
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

/* Print a table cell, in which '|' is escaped. */
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
    wrap(text, 0, 0, MARKDOWN_WIDTH);
    printf("\n");
}

void generate_markdown(void)
{
    printf("# The command line\n\n");
    paragraph("Made by `nanobrag -generate markdown` from "
              "`src/nanobrag/cli/options/options.def`; do not edit.");
    paragraph(
        "In the default profile names are exact, `--x` is `-x`, and a value that an option "
        "has taken is never read as an option. An unknown option, a missing value or a "
        "number with text behind it is an error (exit status 2, nothing written). Under "
        "`-compat nanobragg` the command line is read as nanoBragg reads it: "
        "[from_nanobragg.md](from_nanobragg.md).");
    wrap("Exit status: 0 done, 1 the run failed, 2 wrong usage or input, 130 interrupted "
         "(SIGTERM: 143); 9 for every failure under `-compat nanobragg`.",
         0, 0, MARKDOWN_WIDTH);
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf("\n## %s\n\n", option_group_title(group));
        printf("| option | unit | default | meaning |\n|---|---|---|---|\n");
        for (int i = 0; i < OPT_COUNT; i++)
            if (is_shown(option_at(i), group)) markdown_option(option_at(i));
    }
    printf("\n## Environment\n\n| variable | meaning |\n|---|---|\n");
    for (int i = 0; i < VARIABLES; i++)
        printf("| `%s` | %s |\n", environment[i].name, environment[i].text);
}
