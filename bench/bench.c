/*
 * bench.c - how fast nanobrag is on this machine: options, and the sections in order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/process.h"

enum { PATH = 4096, USAGE = 2 };

static const char help[] =
    "usage: nanobrag_bench [OPTION]...\n"
    "How fast nanobrag is on this machine, beside what the machine can do.\n"
    "  -cases A,B      of A to I, also as AB or a,b (default: all)\n"
    "  -ladder         also time against pixels, domains, sources, cells and threads,\n"
    "                  10^6 to 10^9 evaluations\n"
    "  -long           the ladder to 10^10 evaluations, and no part of an image for a "
    "whole\n"
    "  -peer PATH      also another program with nanoBragg's command line, in turn with "
    "ours\n"
    "  -program PATH   ours (default: nanobrag beside this program)\n"
    "  -threads N      of the library and of the programs (default: 1)\n"
    "  -repeat N       runs of which a median is taken (default: 5)\n"
    "  -json FILE      everything that was found\n"
    "  -plot FILE      the ladder as SVG; implies -ladder\n"
    "  -quick          small sizes, cases A,B,C,E: seconds, for tests\n"
    "  -fits           only what a pass of a fit costs\n"
    "  -continuous     only crystals in closed form, beside domains\n"
    "  -floor          only a test: are the loops vectorised? Exit status 0 yes, 1 no,\n"
    "                  77 cannot be told here\n"
    "  -help           this text; --x is -x\n"
    "Exit status: 0 done, 1 a program could not be run or a file not written, 2 wrong "
    "usage.\n";

const char *seconds_text(double seconds, char *text, size_t room)
{
    if (seconds <= 0)
        (void)snprintf(text, room, "-");
    else if (seconds < 1e-3)
        (void)snprintf(text, room, "%.3g us", 1e6 * seconds);
    else if (seconds < 1)
        (void)snprintf(text, room, "%.3g ms", 1e3 * seconds);
    else
        (void)snprintf(text, room, "%.3g s", seconds);
    return text;
}

const char *verdict_text(int reached, const char *yes, const char *no)
{
    if (reached) return yes;
    return machine_is_busy() ? TOO_BUSY : no;
}

void report_failure(struct report *report, const char *who, const char *why)
{
    if (!*report->failure)
        (void)snprintf(report->failure, sizeof report->failure, "%.70s: %.80s", who, why);
}

/* ---- options ---- */

static void refuse(const char *what, const char *word)
{
    (void)fprintf(stderr, "nanobrag_bench: %s%s%s; -help lists the options\n", what,
                  *word ? " " : "", word);
    exit(USAGE);
}

static int count_of(const char *option, const char *word)
{
    char *end;
    const long count = strtol(word, &end, 10);

    if (end == word || *end || count < 1 || count > 1024)
        refuse(option, "expects 1 to 1024");
    return (int)count;
}

/* "A,B" or "AB", also in lower case; a comma stands between two letters */
static const char *letters_of(const char *word)
{
    static const char known[] = "ABCDEFGHIabcdefghi";
    static char letters[32];
    size_t n = 0;

    for (const char *p = word; *p; p++) {
        const char *at = strchr(known, *p);

        if (!at || n + 1 == sizeof letters)
            refuse("-cases expects letters of A to I, not", word);
        letters[n++] = known[(at - known) % 9];
        if (p[1] == ',' && p[2]) p++;
    }
    if (n == 0) refuse("-cases expects letters of A to I", "");
    return letters;
}

static void read_words(struct options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        const struct {
            const char *name;
            int *flag;
        } flags[] = {{"-ladder", &o->ladder},        {"-long", &o->longer},
                     {"-quick", &o->quick},          {"-fits", &o->fits},
                     {"-floor", &o->floor},          {"-help", &o->help},
                     {"-continuous", &o->continuous}};
        const struct {
            const char *name, **text;
        } texts[] = {{"-cases", &o->letters},     {"-peer", &o->peer},
                     {"-json", &o->json},         {"-plot", &o->plot},
                     {"-program", &o->program},   {"-threads", &o->threads_word},
                     {"-repeat", &o->repeat_word}};
        int known = 0;

        if (word[0] == '-' && word[1] == '-') word++;
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++)
            if (strcmp(word, flags[k].name) == 0) known = *flags[k].flag = 1;
        for (size_t k = 0; !known && k < sizeof texts / sizeof *texts; k++) {
            if (strcmp(word, texts[k].name) != 0) continue;
            if (!value) refuse(word, "expects a value");
            *texts[k].text = value;
            known = 1;
            i++;
        }
        if (!known) refuse("unknown option", word);
    }
}

/* A path that stays good in another folder; a word without '/' is looked up in PATH. */
static const char *absolute(const char *path)
{
    char *resolved;

    if (!strchr(path, '/')) return path;
    resolved = realpath(path, NULL);
    if (!resolved) refuse("no such program:", path);
    return resolved; /* until the end */
}

/* refuse now what could not be written after minutes */
static void check_place(const char *option, const char *path)
{
    static char folder[PATH];
    const char *slash = strrchr(path, '/');
    struct stat st;
    int ok;

    if (stat(path, &st) == 0) {
        ok = !S_ISDIR(st.st_mode) && access(path, W_OK) == 0;
    } else {
        (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                       slash ? path : ".");
        ok = *path && (!slash || slash[1]) && access(folder, W_OK | X_OK) == 0;
    }
    if (ok) return;
    (void)snprintf(folder, sizeof folder, "%s: cannot write", option);
    refuse(folder, path);
}

static const char *program_beside(const char *self)
{
    static char path[PATH];
    const char *slash = strrchr(self, '/');

    (void)snprintf(path, sizeof path, "%.*snanobrag", slash ? (int)(slash - self) + 1 : 0,
                   self);
    return path;
}

static struct options options_read(int argc, char **argv)
{
    struct options o = {.letters = NULL, .threads_word = "1", .repeat_word = "5"};

    read_words(&o, argc, argv);
    if (o.help || o.floor) return o;
    o.threads = count_of("-threads", o.threads_word);
    o.repeat = count_of("-repeat", o.repeat_word);
    o.letters = letters_of(o.letters ? o.letters : o.quick ? "ABCE" : "ABCDEFGHI");
    o.program = absolute(o.program ? o.program : program_beside(argv[0]));
    if (o.peer) o.peer = absolute(o.peer);
    if (o.plot) o.ladder = 1;
#ifndef NANOBRAG_CJSON
    if (o.json) refuse("-json: this build lacks cJSON", "");
#endif
    if (o.json) check_place("-json", o.json);
    if (o.plot) check_place("-plot", o.plot);
    return o;
}

/* ---- the sections ---- */

static int cores_of_process(void)
{
    nb_context *ctx;
    int cores;

    (void)unsetenv("NANOBRAG_THREADS");
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 1;
    cores = nb_context_threads(ctx);
    nb_context_free(ctx);
    return cores;
}

static void run_all(struct report *report)
{
    const struct options *options = report->options;
    const struct machine *m = &report->machine;

    report->cores = cores_of_process();
    report->load = machine_load();
    report->machine = machine_measure(options->quick);
    (void)printf("nanobrag %s (%s)\n"
                 "core: %.2f GHz, %s; %.1f double, %.1f float multiply-adds a cycle; "
                 "%.1f million sin() a second\n"
                 "threads %d (%s), cores that this process may use %d, medians of %d, "
                 "load %.1f%s\n",
                 nb_version(), nb_features(), 1e-9 * m->hertz, m->isa,
                 m->peak[NB_DOUBLE] / m->hertz, m->peak[NB_SINGLE] / m->hertz,
                 1e-6 * m->sines, options->threads,
                 options->threads == 1 ? "CPU time" : "wall time", report->cores,
                 options->repeat, report->load,
                 machine_is_busy() ? "\nothers are at work: times mean little" : "");
    if (options->continuous) continuous_run(report);
    if (options->fits) {
        fits_run(report);
        fits_compare(report);
    }
    if (options->continuous || options->fits) return;
    memory_run(report); /* first: see there */
    figures_run(report);
    if (options->peer) peers_run(report);
    shots_run(report);
    gradients_run(report);
    fits_run(report);
    fits_compare(report);
    continuous_run(report);
    if (options->ladder) ladder_run(report);
}

static int write_files(const struct report *report)
{
    const struct options *options = report->options;

    if (options->json && !json_write(report, options->json)) {
        (void)fprintf(stderr, "nanobrag_bench: cannot write %s\n", options->json);
        return 1;
    }
    if (options->plot && !plot_write(report, options->plot)) {
        (void)fprintf(stderr, "nanobrag_bench: cannot write %s\n", options->plot);
        return 1;
    }
    return 0;
}

/* the files, and what went wrong: an exit status */
static int end_of(const struct report *report)
{
    const int status = write_files(report);

    if (!*report->failure) return status;
    (void)fprintf(stderr, "nanobrag_bench: %s\n", report->failure);
    return 1;
}

int main(int argc, char **argv)
{
    static struct report report;
    static struct options options;
    static char folder[FOLDER], hkl[FOLDER + 8];

    options = options_read(argc, argv);
    if (options.help) {
        (void)fputs(help, stdout);
        return 0;
    }
    if (options.floor) return floor_run();
    if (!folder_make(folder)) {
        (void)fprintf(stderr, "nanobrag_bench: no temporary folder\n");
        return 1;
    }
    (void)snprintf(hkl, sizeof hkl, "%s/e.hkl", folder);
    options.hkl = hkl;
    report.options = &options;
    if (cases_write_hkl(hkl))
        run_all(&report);
    else
        report_failure(&report, hkl, "cannot be written");
    folder_remove(folder);
    return end_of(&report);
}
