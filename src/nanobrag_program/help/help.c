/*
 * help.c - prints -help: the first screen, all options, or the entry of a word.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/help/help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_command/options/options.h"
#include "nanobrag_command/options/parameter_names.h"

const char *const help_summary =
    "diffraction images of small crystals, with exact derivatives";

int help_shows(const struct option *option, int group)
{
    return (int)option->group == group && !(option->flags & OPTION_HIDDEN);
}

/* NANOBRAG_ISA is explained in full, because no other variable changes bits of an image. */
static const struct {
    const char *name, *text;
} environment[] = {
    {"NANOBRAG_COMPAT", "nanobragg: the same as -compat nanobragg."},
    {"NANOBRAG_THREADS", "Number of threads, 1 to 1024, if -threads is not given. Images "
                         "do not depend on this number."},
    {"OMP_NUM_THREADS", "Number of threads if neither -threads nor NANOBRAG_THREADS is "
                        "given. The default is all cores that the process may use."},
    {"NANOBRAG_ISA",
     "Instruction set of the pixel loop. The default is the best of this machine. On "
     "x86-64: v2 (SSE4.2), v3 (AVX2, FMA) or v4 (AVX-512). Elsewhere: base, the target of "
     "the compiler. Everywhere: scalar, without vectors, for comparison. The choice "
     "changes the last bits of an image."},
    {"NANOBRAG_DEVICE", "Device if -device is not given: auto, cpu, cuda or cuda:N."},
    {"NANOBRAGG_DISABLE_COMPILE",
     "1: compiled mode is off, whatever -compile says. 0 or empty: no effect."},
    {"NANOBRAG_DISABLE_COMPILE", "The same as NANOBRAGG_DISABLE_COMPILE."},
    {"NANOBRAG_LOGS", "Topics that compiled mode reports on stderr: any of recompiles, "
                      "graph_breaks, cudagraphs, cache, hotpath, autotune, fallback, "
                      "donation, separated by commas, or all."},
    {"NANOBRAG_CACHE_DIR", "Folder for kernels that NVRTC built. The default is "
                           "$XDG_CACHE_HOME/nanobrag, or else ~/.cache/nanobrag."},
    {"NANOBRAG_COMPILE_TIMEOUT",
     "Seconds that NVRTC may take for a kernel: above 0, below 1e6. The default is 10, and "
     "120 for a kernel that a call waits for."},
    {"NANOBRAG_HOT_THRESHOLD",
     "Number of uses after which NVRTC builds, in the background, a GPU kernel that is "
     "specialised for the image. The default is 5; 0: none is built."},
    {"NANOBRAG_RECOMPILE_LIMIT",
     "Largest number of specialised kernels that NVRTC builds for a context, and of "
     "kernels for derivatives. The default is 8 for each."},
    {"NANOBRAG_GRAPHS",
     "0: kernels on a CUDA device are launched one by one, not recorded and replayed as "
     "graphs. Images do not change. 1 or empty: no effect."},
    {"NANOBRAG_STRICT",
     "1: the run fails with exit status 2 if compiled mode cannot do a call, or if the "
     "requested device (cuda, not auto) does not compute. This includes -strategy spots or "
     "reference and a point spread, which keep work on the processor. 0 or empty: the "
     "program continues and reports under the topic fallback."},
};

enum { VARIABLES = sizeof environment / sizeof *environment };

const char *help_variable(int i, const char **text)
{
    if (i >= VARIABLES) return NULL;
    *text = environment[i].text;
    return environment[i].name;
}

void help_wrap(const char *text, int column, int indent, int width)
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

enum { INDENT = 30, WIDTH = 92 }; /* columns of the text; of the screen */

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
    help_wrap(text, INDENT, INDENT, WIDTH);
}

static void help_parameter(const nb_param *p)
{
    char text[1024];
    int column = printf("  %s", p->name);
    if (column + 2 > INDENT) {
        printf("\n");
        column = 0;
    }
    printf("%*s", INDENT - column, "");
    snprintf(text, sizeof text,
             "Parameter of the group %s: %s%s%s%s, from %g to %g. The step of a fit is "
             "scaled by %g.",
             p->group, p->doc, p->unit[0] ? " [" : "", p->unit, p->unit[0] ? "]" : "",
             p->lower, p->upper, p->scale);
    help_wrap(text, INDENT, INDENT, WIDTH);
}

static void help_section(int group)
{
    printf("%s\n", option_group_title(group));
    for (int i = 0; i < OPT_COUNT; i++)
        if (help_shows(option_at(i), group)) help_option(option_at(i));
}

static void help_environment(int i)
{
    const int column = printf("  %s", environment[i].name);
    printf("%*s", INDENT - column, "");
    help_wrap(environment[i].text, INDENT, INDENT, WIDTH);
}

static void print_status(void)
{
    printf("\nExit status: 0 done, 1 the run failed, 2 wrong usage or input, 130 "
           "interrupted (SIGTERM:\n143); 9 for every failure under -compat nanobragg.\n");
}

static void help_everything(void)
{
    printf("nanobrag %s - %s\n\n", nb_version(), help_summary);
    printf("Write numbers without a unit. --x means -x. If an option is repeated, the last "
           "one counts.\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        printf("\n");
        help_section(group);
    }
    printf("\nEnvironment\n");
    for (int i = 0; i < VARIABLES; i++) help_environment(i);
    print_status();
}

/* The options of the first screen, which has two columns, with a few words each. `values`
 * replaces the values of options.def where those are too long. */
static const struct common {
    int option;
    const char *values, *text;
} common[] = {
    {OPT_CELL, "a b c ...", "unit cell [A, deg]"},
    {OPT_PDB, NULL, "model of atoms"},
    {OPT_MTZ, "FILE", "reflections"},
    {OPT_HKL, NULL, "list: h k l F"},
    {OPT_DEFAULT_F, NULL, "F if not listed"},
    {OPT_MISSET, "x y z", "rotation [degree]"},
    {OPT_N, NULL, "cells along a, b, c"},
    {OPT_GAUSS_XTAL, NULL, "Gaussian spots"},
    {OPT_MOSAIC, NULL, "spread [degree]"},
    {OPT_MOSAIC_DOM, NULL, "number of domains"},
    {OPT_LAMBDA, NULL, "wavelength [A]"},
    {OPT_ENERGY, NULL, "photon energy [eV]"},
    {OPT_FLUENCE, NULL, "photons/m^2"},
    {OPT_DISPERSION, NULL, "bandwidth [%]"},
    {OPT_WATER, NULL, "background [um]"},
    {OPT_OSC, NULL, "degrees per image"},
    {OPT_IMAGES, NULL, "sweep of n images"},
    {OPT_SHOTS, NULL, "table of stills"},
    {OPT_EXPT, "FILE", "DIALS experiment"},
    {OPT_GEOM, NULL, "CrystFEL detector"},
    {OPT_DISTANCE, NULL, "to the detector, mm"},
    {OPT_DETPIXELS, NULL, "pixels per edge"},
    {OPT_PIXEL, NULL, "pixel edge [mm]"},
    {OPT_XBEAM, NULL, "beam centre x [mm]"},
    {OPT_MASK, NULL, "image, 0 is masked"},
    {OPT_OVERSAMPLE, NULL, "sub-pixels per edge"},
    {OPT_IMAGEFILE, NULL, ".nxs, .cbf or .img"},
    {OPT_FLOATFILE, NULL, "photons, float32"},
    {OPT_PNGFILE, NULL, "picture"},
    {OPT_JSON, NULL, "all numbers"},
    {OPT_GRADIENT, "NAME,...", "derivatives"},
    {OPT_FIT, NULL, "fit NAME to -data"},
    {OPT_EXPLAIN, NULL, "plan and geometry"},
    {OPT_COMPAT, "nanobragg", "works as nanoBragg"},
};

enum { COMMON = sizeof common / sizeof *common, ROWS = (COMMON + 1) / 2 };

/* Prints an option of the first screen, padded to `width` columns. */
static void print_common(const struct common *c, int width)
{
    enum { NAME = 20 };
    const struct option *option = option_at(c->option);
    int column = printf("%s %s ", option->name, c->values ? c->values : option->values);
    if (column < NAME) column += printf("%*s", NAME - column, "");
    column += printf("%s", c->text);
    printf("%*s", column < width ? width - column : 0, "");
}

void help_overview(void)
{
    enum { LEFT = 40 };
    printf("nanobrag %s - %s\n", nb_version(), help_summary);
    printf("  nanobrag -cell 50 60 70 90 90 90 -hkl p1.hkl -N 10 -pngfile image.png\n\n");
    for (int i = 0; i < ROWS; i++) {
        print_common(&common[i], i + ROWS < COMMON ? LEFT : 0);
        if (i + ROWS < COMMON) print_common(&common[i + ROWS], 0);
        printf("\n");
    }
    printf("\n-help WORD: an option, a parameter or a section (crystal, factors, beam,\n"
           "detector, sensor, scan, sampling, background, files, derivatives, fits,\n"
           "program, environment); -help all: everything\n");
}

/* Returns 1 if a word is a title, or its first or last word, in capitals or not. */
static int names_section(const char *word, const char *title)
{
    const char *last = strrchr(title, ' ');
    const size_t n = strlen(word);
    const char *starts[] = {title, last ? last + 1 : title};
    for (int i = 0; i < 2; i++) {
        size_t same = 0;
        while (same < n
               && tolower((unsigned char)word[same])
                      == tolower((unsigned char)starts[i][same]))
            same++;
        if (n && same == n && (starts[i][n] == 0 || starts[i][n] == ' ')) return 1;
    }
    return 0;
}

static int parameters_named(const char *word)
{
    nb_param p;
    const size_t n = strcspn(word, "[");
    int found = 0;
    for (int i = 0; n && nb_param_registry(i, &p); i++) {
        const int named = strcspn(p.name, "[") == n && strncmp(p.name, word, n) == 0;
        if (!named && strcmp(p.group, word) != 0) continue;
        help_parameter(&p);
        found++;
    }
    return found;
}

static int option_of_word(const char *word)
{
    char name[NB_NAME_BYTES];
    if (word[0] == '-') return option_named(word);
    snprintf(name, sizeof name, "-%s", word);
    return option_named(name);
}

int help_word(struct messages *messages, const char *word)
{
    int found = 1;
    if (strcmp(word, "all") == 0) {
        help_everything();
        return 0;
    }
    if (strcmp(word, "environment") == 0) {
        for (int i = 0; i < VARIABLES; i++) help_environment(i);
        return 0;
    }
    const int id = option_of_word(word);
    if (id >= 0) help_option(option_at(id));
    found = id >= 0;
    for (int group = 0; group < GROUP_COUNT; group++) {
        if (!names_section(word, option_group_title(group))) continue;
        help_section(group);
        found = 1;
    }
    for (int i = 0; i < VARIABLES; i++) {
        if (strcmp(word, environment[i].name) != 0) continue;
        help_environment(i);
        found = 1;
    }
    if (parameters_named(word) || found) return 0;
    char dashed[NB_NAME_BYTES];
    snprintf(dashed, sizeof dashed, "%s%s", word[0] == '-' ? "" : "-", word);
    char nearest[NB_NAME_BYTES];
    found = option_nearest(dashed, nearest) || nb_nearest_name(word, NULL, nearest);
    return message_usage(messages,
                         "-help %s: there is no option, section, parameter or variable of "
                         "this name%s%s",
                         word, found ? "; the nearest is " : "", found ? nearest : "");
}
