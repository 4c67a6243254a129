/*
 * experiment_list.c - the files of experiments and of reflections: those of -expt and
 * -refl, or those of a list of -shots, whose lines are "expt refl [spectrum] [number]".
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nanobrag_command/command.h"

enum { LINE_MOST = 8192, WORDS_MOST = 4, DIGITS_MOST = 8 };

static int no_memory(struct messages *messages)
{
    return message_failure(messages, "out of memory for a list of experiments");
}

/* Append an entry for copies of these names. Returns 0 or the exit status. */
static int add_entry(struct inputs *in, struct messages *messages, const char *file,
                     const char *refl, int number)
{
    struct expt_entry *const more = realloc(in->entry, (in->nentry + 1) * sizeof *more);
    if (more) in->entry = more;
    char *const copy = more ? strdup(file) : NULL;
    char *const table = copy && refl ? strdup(refl) : NULL;
    if (!copy || (refl && !table)) {
        free(copy);
        return no_memory(messages);
    }
    in->entry[in->nentry++] =
        (struct expt_entry){.file = copy, .refl = table, .number = number};
    return 0;
}

/* ---- lists of -shots ---- */

/* Split a line into its words, up to a #. Returns how many; WORDS_MOST + 1: more. */
static int split(char *line, char *word[WORDS_MOST])
{
    char *rest;
    int n = 0;
    line[strcspn(line, "#\r\n")] = 0;
    for (char *at = strtok_r(line, " \t", &rest); at; at = strtok_r(NULL, " \t", &rest)) {
        if (n == WORDS_MOST) return n + 1;
        word[n++] = at;
    }
    return n;
}

static int ends_in_expt(const char *name)
{
    const size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".expt") == 0;
}

static int is_number(const char *word)
{
    const size_t digits = strspn(word, "0123456789");
    return digits > 0 && digits <= DIGITS_MOST && !word[digits];
}

/* Take the words of a line. Returns 0 or the exit status. */
static int take_line(struct inputs *in, struct messages *messages, const char *list,
                     long line, int n, char *word[WORDS_MOST])
{
    int number = -1;
    if (n < 2 || n > WORDS_MOST || !ends_in_expt(word[0]))
        return message_usage(messages,
                             "%s, line %ld: expected FILE.expt FILE.refl and, for a file "
                             "of "
                             "several experiments, the number of one",
                             list, line);
    for (int i = 2; i < n; i++) {
        if (!is_number(word[i]) && strcmp(word[i], "None") != 0)
            return message_usage(messages,
                                 "%s, line %ld: the spectrum %s cannot be used, as all "
                                 "images of a fit have one spectrum; leave it out, and "
                                 "give "
                                 "-spectrum",
                                 list, line, word[i]);
        if (is_number(word[i])) number = atoi(word[i]);
    }
    return add_entry(in, messages, word[0], word[1], number);
}

/* Returns 1 if the first line of a file that is no pipe names an .expt. */
static int is_list(const char *path)
{
    char line[LINE_MOST], *word[WORDS_MOST];
    struct stat st;
    FILE *const file =
        stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    int n = 0;
    while (file && n == 0 && fgets(line, sizeof line, file)) n = split(line, word);
    if (file) (void)fclose(file);
    return n >= 1 && n <= WORDS_MOST && ends_in_expt(word[0]);
}

static int read_list(struct inputs *in, struct messages *messages, const char *path)
{
    enum { ENTRIES_MOST = 1000000 };
    char line[LINE_MOST], *word[WORDS_MOST];
    FILE *const file = fopen(path, "re");
    int code =
        file ? 0 : message_usage(messages, "-shots %s: the file cannot be read", path);
    for (long i = 1; !code && fgets(line, sizeof line, file); i++) {
        if (strlen(line) == LINE_MOST - 1 || in->nentry == ENTRIES_MOST)
            code = message_usage(messages,
                                 "%s, line %ld: expected at most %d lines of %d characters",
                                 path, i, ENTRIES_MOST, LINE_MOST - 2);
        const int n = code ? 0 : split(line, word);
        if (n > 0) code = take_line(in, messages, path, i, n, word);
    }
    if (file) (void)fclose(file);
    return code;
}

/* ---- -expt and -refl ---- */

static int count_of(const struct event_list *events, int option)
{
    int n = 0;
    for (size_t i = 0; i < events->n; i++) n += events->at[i].option == option;
    return n;
}

/* Returns the text of the nth event of an option; NULL: there are fewer. */
static const char *nth_text(const struct event_list *events, int option, int n)
{
    for (size_t i = 0; i < events->n; i++)
        if (events->at[i].option == option && n-- == 0) return events->at[i].text;
    return NULL;
}

/* Pair the files of -expt with the files of -refl, in their order. */
static int take_options(struct inputs *in, struct messages *messages,
                        const struct event_list *events)
{
    const int n = count_of(events, OPT_EXPT), tables = count_of(events, OPT_REFL);
    int code = 0;
    if (n > 1 && tables > 0 && tables != n)
        return message_usage(messages,
                             "-expt is given %d times, and -refl %d times; give the "
                             "reflections of each file in the same order",
                             n, tables);
    for (int i = 0; i < n && !code; i++) {
        const char *const text = nth_text(events, OPT_EXPT, i);
        char *file;
        int number;
        code = experiment_split(messages, text, &file, &number);
        if (!code && strcmp(file, text) == 0) number = -1;
        /* of one file, the last table counts, as of every option */
        if (!code)
            code = add_entry(in, messages, file,
                             nth_text(events, OPT_REFL, n > 1 ? i : tables - 1), number);
        free(file);
    }
    return code;
}

int experiments_list(struct settings *s, struct messages *messages,
                     const struct event_list *events, struct inputs *in)
{
    const char *const shots = events_text(events, OPT_SHOTS);
    const int is_fit = count_of(events, OPT_FIT) > 0 || count_of(events, OPT_FIT_EACH) > 0;
    if (!shots || !is_fit || !is_list(shots)) return take_options(in, messages, events);
    if (s->expt || s->xparm || count_of(events, OPT_REFL) > 0)
        return message_usage(messages,
                             "-shots %s lists experiments and reflections; leave out "
                             "-expt, -xparm and -refl",
                             shots);
    in->is_list = 1;
    s->expt = s->refl = shots;
    return read_list(in, messages, shots);
}

/* ---- reading ---- */

/* Returns the first entry of the same file; `entry` itself if there is none before it. */
static const struct expt_entry *same_file(const struct inputs *in,
                                          const struct expt_entry *entry)
{
    const struct expt_entry *at = in->entry;
    while (at != entry && strcmp(at->file, entry->file) != 0) at++;
    return at;
}

/* Check the number of an experiment. Returns 0 or the exit status. */
static int check_number(const struct inputs *in, const struct settings *s,
                        struct messages *messages, struct expt_entry *entry)
{
    if (in->is_list && entry->number < 0) {
        if (entry->count > 1)
            return message_usage(messages,
                                 "%s: %s holds %d experiments; add the number of one to "
                                 "its line",
                                 s->expt, entry->file, entry->count);
        entry->number = 0;
    }
    if (entry->number >= entry->count)
        return message_usage(messages,
                             "%s: there is no experiment %d; the file holds %d, counted "
                             "from 0",
                             entry->file, entry->number, entry->count);
    for (const struct expt_entry *at = in->entry; at != entry; at++)
        if (at->first == entry->first
            && (at->number < 0 || entry->number < 0 || at->number == entry->number))
            return message_usage(messages,
                                 "%s: %s names an experiment twice; leave it out once",
                                 in->is_list ? s->expt : "-expt", entry->file);
    return 0;
}

int experiments_open(const struct settings *s, struct messages *messages, nb_context *ctx,
                     struct inputs *in)
{
    for (size_t i = 0; i < in->nentry; i++) {
        struct expt_entry *const entry = in->entry + i;
        const struct expt_entry *const known = same_file(in, entry);
        entry->first = known == entry ? nb_expt_count(in->expt) : known->first;
        entry->count = known->count;
        const nb_status status = known != entry ? NB_OK
                                 : in->expt     ? nb_expt_add(ctx, in->expt, entry->file)
                                                : nb_expt_open(ctx, entry->file, &in->expt);
        if (status != NB_OK)
            return message_status(messages, status, nb_context_message(ctx), 0);
        if (known == entry) entry->count = nb_expt_count(in->expt) - entry->first;
        const int code = check_number(in, s, messages, entry);
        if (code) return code;
    }
    in->expt_number = in->entry[0].number < 0 ? 0 : in->entry[0].number;
    return 0;
}

int reflections_open(struct messages *messages, nb_context *ctx, struct inputs *in)
{
    for (size_t i = 0; i < in->nentry; i++) {
        struct expt_entry *const entry = in->entry + i, *at = in->entry;
        if (!entry->refl) continue;
        while (at != entry && !(at->refl && strcmp(at->refl, entry->refl) == 0)) at++;
        entry->table = at->table;
        if (at != entry) continue;
        entry->owns_table = 1;
        const nb_status status = nb_reflections_read(ctx, entry->refl, &entry->table);
        if (status != NB_OK)
            return message_status(messages, status, nb_context_message(ctx), 0);
    }
    return 0;
}

const struct expt_entry *experiment_entry(const struct inputs *in, int experiment)
{
    for (size_t i = 0; i < in->nentry; i++) {
        const struct expt_entry *const entry = in->entry + i;
        if (experiment >= entry->first && experiment < entry->first + entry->count
            && (entry->number < 0 || entry->first + entry->number == experiment))
            return entry;
    }
    return in->entry;
}

void experiments_free(struct inputs *in)
{
    for (size_t i = 0; i < in->nentry; i++) {
        if (in->entry[i].owns_table) nb_reflections_free(in->entry[i].table);
        free(in->entry[i].file);
        free(in->entry[i].refl);
    }
    free(in->entry);
    nb_expt_free(in->expt);
}
