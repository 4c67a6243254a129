/*
 * test_attacked_program.c - command lines drawn from the program's own table of options
 * with absurd values, in both profiles; and runs that are killed, interrupted or find the
 * disk full. Whatever happens, no signal but the one sent, no report of a sanitizer, an
 * exit status that is documented, one line that says why, and no file but whole ones.
 *
 * SPDX-License-Identifier: MIT
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "attack/attack.h"
#include "attack/program_run.h"
#include "support/files.h"

enum { LINE = 8000 };

/* ---- the options ---- */
enum kind {
    NONE,
    REAL,
    INT,
    SEED,
    WORD,
    INPUT,
    OUTPUT,
    TEXT,
    CELL,
    MISSET,
    DEPTH,
    ANOMALOUS,
    ADDED
};
static const struct row {
    const char *name;
    int min, max, kind;
    const char *values;
} options[] = {
#define OPTION(id, name, aliases, nanoBragg, min, max, kind, range, values, ...)           \
    {name, min, max, kind, values},
#include "nanobrag_command/options/options.def"
#undef OPTION
};

static const char *draw_number(struct attack *a)
{
    static const char *const numbers[] =
        {"nan",    "-nan",   "inf",        "-inf",        "1e308",
         "-1e308", "1e-320", "2147483648", "-2147483649", "9223372036854775808",
         "",       "%s%n%s", "ten",        "-1",          "0",
         "-0",     "1e9",    "1e-9",       "0x10",        "1e",
         "1,5",    "1 2",    "+-3",        "1e99999",     "3.5.7",
         "--",     "-"};

    return numbers[attack_below(a, (int)COUNT(numbers))];
}

static const char *draw_word(struct attack *a, const char *values)
{
    static char word[64];
    const char *end, *at = values;

    if (attack_once_in(a, 3)) return draw_number(a);
    for (int skip = attack_below(a, 4); skip > 0 && strchr(at, '|'); skip--)
        at = strchr(at, '|') + 1;
    end = strchr(at, '|');
    (void)snprintf(word, sizeof word, "%.*s", end ? (int)(end - at) : 40, at);
    return word;
}

static const char *draw_text(struct attack *a)
{
    static const char *const texts[] = {"cell",       "misset",        "all",
                                        "cell_a=nan", "cell_a=1e308",  "wavelength=0",
                                        "F",          "F[1,2,3]=-inf", "cpu",
                                        "cuda:-1",    "auto",          ",,,",
                                        "*",          "distance=%s",   ""};

    return texts[attack_below(a, (int)COUNT(texts))];
}

static void add_value(struct attack *a, struct program_run *run, const struct row *row)
{
    static const char *const inputs[] = {"missing", ".", "empty", "junk", "/dev/null", ""};
    static const char *const outputs[] = {"out.bin", "out.img", ".",
                                          "none/x",  "",        "/dev/full"};

    if (row->kind == WORD)
        program_add(run, "%s", draw_word(a, row->values));
    else if (row->kind == INPUT || (row->kind == ADDED && attack_once_in(a, 2)))
        program_add(run, "%s", inputs[attack_below(a, (int)COUNT(inputs))]);
    else if (row->kind == OUTPUT)
        program_add(run, "%s", outputs[attack_below(a, (int)COUNT(outputs))]);
    else if (row->kind == TEXT)
        program_add(run, "%s", draw_text(a));
    else if (attack_once_in(a, 2))
        program_add(run, "%.4g", attack_decades(a, 0.01, 200));
    else
        program_add(run, "%s", draw_number(a));
}

static void draw_command(struct attack *a, struct program_run *run)
{
    program_clear(run);
    if (attack_once_in(a, 2)) {
        program_add(run, "-compat");
        program_add(run, "nanobragg");
    }
    for (const char *word = "-cell 30 40 50 80 90 100 -N 4 -default_F 10 -detpixels 16 "
                            "-pixel 1 -oversample 1 -floatfile f.bin -json j.json";
         word; word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL)
        program_add(run, "%.*s", (int)strcspn(word, " "), word);
    for (int i = 1 + attack_below(a, 3); i > 0; i--) {
        const struct row *row = options + attack_below(a, (int)COUNT(options));
        int n = row->min;

        if (row->max > row->min) n += attack_below(a, row->max - row->min + 1);
        if (attack_once_in(a, 20)) n -= 1;
        program_add(run, "%s", row->name);
        for (; n > 0; n--) add_value(a, run, row);
    }
}

/* Returns 1 if the text holds, outside its strings, no word but true, false and null. */
static int is_json(const char *text)
{
    static const char *const words[] = {"true", "false", "null"};
    const char *at = text;

    while (*at) {
        int known = 0;

        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                if (*at == '\\' && at[1]) at++;
            if (!*at++) return 0;
            continue;
        }
        for (size_t i = 0; i < COUNT(words) && !known; i++)
            if (strncmp(at, words[i], strlen(words[i])) == 0) {
                at += strlen(words[i]);
                known = 1;
            }
        if (known) continue;
        /* the letter of an exponent stands after a digit */
        if (strchr("abcdfghijklmnopqrstuvwxyz", *at)) return 0;
        if (*at == 'e' && (at == text || !strchr("0123456789", at[-1]))) return 0;
        at++;
    }
    return at > text;
}

static void check_json(struct attack *a, const char *line)
{
    size_t n = 0;
    char *text = slurp("j.json", &n);

    if (text && n > 0)
        attack_expect(a, strlen(text) == n && is_json(text),
                      "-json is no JSON: a word, a NUL or an open string: %s", line);
    free(text);
}

/* whether -compat nanobragg makes pixels negative: by a Kahn factor, which has no bounds
 * there, or by a detector behind the crystal */
static int is_negative_there(const char *line)
{
    size_t n = 0;
    char *text = slurp("j.json", &n);
    const int behind = text && strstr(text, "\"close_distance_mm\":\t-");

    free(text);
    return strstr(line, "nanobragg") && (behind || strstr(line, "-polar"));
}

/* Check that no pixel of the image is negative or not a number. */
static void check_pixels(struct attack *a, const char *line)
{
    size_t n = 0;
    float least = 0, value;
    char *bytes = slurp("f.bin", &n);
    int wrong = 0;

    for (size_t i = 0; bytes && i + sizeof value <= n; i += sizeof value) {
        memcpy(&value, bytes + i, sizeof value);
        if (!(value >= least)) wrong = 1, least = value;
    }
    attack_expect(a, !wrong || is_negative_there(line), "a pixel of %g: %s", (double)least,
                  line);
    free(bytes);
}

static void check_run(struct attack *a, const struct program_run *run)
{
    static char line[LINE];
    const int s = run->status, left = count_files(".");

    program_line(run, line, sizeof line);
    attack_expect(a, run->late || s == 0 || s == 1 || s == 2 || s == 9 || s == 130,
                  "ended with %d, stderr \"%s\": %s", s, run->errors, line);
    attack_expect(a,
                  !strstr(run->errors, "Sanitizer")
                      && !strstr(run->errors, "runtime error"),
                  "a sanitizer reports \"%s\": %s", run->errors, line);
    if (run->late || s == 130) return;
    if (s == 0) {
        check_json(a, line);
        check_pixels(a, line);
        return;
    }
    attack_expect(a, program_complaints(run) == 1, "%d lines say why, \"%s\": %s",
                  program_complaints(run), run->errors, line);
    attack_expect(a, s != 2 || left == 2, "refused, but %d files are left: %s", left - 2,
                  line);
}

/* files that are no input */
static void put_inputs(void)
{
    put("empty", "", 0);
    put("junk", "1 2 x\n\377\376{", 9);
}

static int command_lines(void)
{
    struct program_run run = {0};
    struct attack attack = attack_begin(60);
    long done = 0, late = 0;

    program_enter();
    while (attack_next(&attack)) {
        program_clean();
        put_inputs();
        draw_command(&attack, &run);
        program_run(&run, 10);
        done += run.status == 0;
        late += run.late;
        check_run(&attack, &run);
    }
    program_free(&run);
    program_leave();
    tap_note("%ld of %ld runs were done, %ld stopped after 10 s", done, attack.tried, late);
    attack_end(&attack, "command lines");
    return TAP_PASS;
}

/* ---- runs that end early ---- */
enum { EDGE = 64, IMAGES = 200 };

static void long_run(struct program_run *run)
{
    program_clear(run);
    for (const char *word = "-cell 30 40 50 80 90 100 -N 4 -default_F 10 -detpixels 64 "
                            "-pixel 1 -oversample 1 -osc 0.1 -images 200 -seed 1 "
                            "-floatfile f.bin -doublefile d.bin -intfile i.img "
                            "-noisefile n.img -pgmfile p.pgm -quiet";
         word; word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL)
        program_add(run, "%.*s", (int)strcspn(word, " "), word);
}

/* Check that all files are whole and that at most `unfinished` others are left; return how
 * many there are. */
static int check_files(struct attack *a, int unfinished)
{
    static const struct {
        const char *format;
        long size; /* 0: whatever a header makes of it, but the same in all */
    } kinds[] = {{"f_%05d.bin", 4L * EDGE * EDGE},
                 {"d_%05d.bin", 8L * EDGE * EDGE},
                 {"i_%05d.img", 512 + 2L * EDGE * EDGE},
                 {"n_%05d.img", 512 + 2L * EDGE * EDGE},
                 {"p_%05d.pgm", 0}};
    int found = 0;

    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int i = 0; i <= IMAGES + 1; i++) {
            struct stat about;
            char name[40];

            (void)snprintf(name, sizeof name, kinds[k].format, i);
            if (stat(name, &about) != 0) continue;
            found++;
            attack_expect(a,
                          kinds[k].size ? about.st_size == kinds[k].size
                                        : about.st_size > (long)EDGE * EDGE,
                          "%s has %ld bytes", name, (long)about.st_size);
        }
    attack_expect(a, count_files(".") - found <= unfinished,
                  "%d files are left beside %d whole ones", count_files(".") - found,
                  found);
    return found;
}

static int ended_early(void)
{
    static const int signals[] = {SIGKILL, SIGINT, SIGTERM};
    struct program_run run = {0};
    struct attack attack = attack_begin(20);
    long whole = 0;

    program_enter();
    while (attack_next(&attack)) {
        const int signal = signals[attack_below(&attack, (int)COUNT(signals))];
        const double moment = attack_between(&attack, 0, 1);
        const struct timespec nap = {0, (long)(0.99e9 * moment * moment)};
        pid_t child;
        int expected = signal == SIGINT ? 130 : 128 + signal;

        program_clean();
        long_run(&run);
        child = program_start(&run);
        (void)nanosleep(&nap, NULL);
        (void)kill(child, signal);
        program_wait(&run, child, 60);
        attack_expect(&attack, run.status == expected || run.status == 0,
                      "signal %d after %.3f s: ended with %d, \"%s\"", signal,
                      1e-9 * (double)nap.tv_nsec, run.status, run.errors);
        /* nobody removes the file that was being written, under a name of its own */
        whole += check_files(&attack, signal == SIGKILL);
    }
    program_free(&run);
    program_leave();
    tap_note("%ld files, all whole", whole);
    attack_end(&attack, "runs of 200 images killed, interrupted or terminated");
    return TAP_PASS;
}

static int full_disk(void)
{
    struct program_run run = {0};
    struct attack attack = attack_begin(10);

    program_enter();
    while (attack_next(&attack)) {
        program_clean();
        long_run(&run);
        /* but room for the messages */
        run.file_limit = 1000 + attack_below(&attack, 8 * EDGE * EDGE - 1000);
        program_run(&run, 60);
        attack_expect(&attack, run.status == 1 && program_complaints(&run) == 1,
                      "files of at most %ld bytes: ended with %d, \"%s\"", run.file_limit,
                      run.status, run.errors);
        (void)check_files(&attack, 0);
    }
    program_free(&run);
    program_leave();
    attack_end(&attack, "runs whose disk was full");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"command_lines", command_lines},
                                            {"ended_early", ended_early},
                                            {"full_disk", full_disk}};

    return attack_main(argc, argv, cases, COUNT(cases));
}
