/* tuning_text.c - see tuning_text.h. SPDX-License-Identifier: MIT */
#include "compile/tune/tuning_text.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/simulator.h>

static const char format[] = "nanobrag tuning, format ", foot[] = "end\n";
static const char head[] = "nanobrag tuning, format 2\n";

/* ---- the list ---- */

const struct tuning_entry *tuning_find(const struct tuning_list *list, const char *name)
{
    for (const struct tuning_record *at = list->first; at; at = at->next)
        if (strcmp(at->name, name) == 0) return &at->entry;
    return NULL;
}

void tuning_move(struct tuning_list *to, struct tuning_list *from)
{
    if (!from->first) return;
    if (to->last)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    *from = (struct tuning_list){0};
}

int tuning_add(struct tuning_list *list, const char *name, const struct tuning_entry *entry)
{
    const size_t n = strlen(name) + 1;
    struct tuning_record *record = calloc(1, sizeof *record + n);
    struct tuning_list one = {record, record};

    if (!record) return 0;
    record->entry = *entry;
    memcpy(record->name, name, n);
    tuning_move(list, &one);
    return 1;
}

void tuning_clear(struct tuning_list *list)
{
    while (list->first) {
        struct tuning_record *record = list->first;

        list->first = record->next;
        free(record);
    }
    list->last = NULL;
}

/* ---- the text ---- */

/* The numbers of a line, in whose place a name has nothing. */
#define NUMBERS " = threads %9d block %9d strategy %9d microseconds %9d"
enum { NUMBERS_TEXT = 80 };

/* Write the line of an entry. Returns its length. */
static int print_line(const char *name, const struct tuning_entry *e, char *out)
{
    const int key = (int)strcspn(name, "\t");

    return sprintf(out, "%.*s = threads %d block %d strategy %d microseconds %d%s\n", key,
                   name, e->threads, e->block, e->strategy, e->microseconds, name + key);
}

static int is_within_limits(const struct tuning_entry *e)
{
    return e->threads >= 0 && e->threads <= CONTEXT_THREADS_MOST && e->block >= 0
           && e->block <= TUNING_BLOCK && e->strategy >= 0 && e->strategy <= NB_SPOTS
           && e->microseconds >= 0;
}

/* Returns 1 if a name has three parts of printable bytes, with tabs between. */
static int is_name(const char *name)
{
    int parts = 1;

    for (const char *at = name; *at; at++) {
        if (*at == '\t' ? at == name || at[-1] == '\t' : *at < ' ' || *at > '~') return 0;
        parts += *at == '\t';
    }
    return parts == 3 && name[strlen(name) - 1] != '\t';
}

/* Read the name and the numbers of a line. Returns 0 unless they are printed as this very
 * line. */
static int parse_line(const char *line, char name[TUNING_NAME], struct tuning_entry *e)
{
    const char *const tab = strchr(line, '\t');
    const char *numbers = NULL;
    char again[TUNING_NAME + NUMBERS_TEXT];
    size_t n;

    for (const char *at = line; tab && (at = strstr(at, " = threads ")) && at < tab; at++)
        numbers = at;
    if (!numbers || (size_t)(numbers - line) + strlen(tab) >= TUNING_NAME) return 0;
    if (sscanf(numbers, NUMBERS, &e->threads, &e->block, &e->strategy, &e->microseconds)
        != 4)
        return 0;
    (void)sprintf(name, "%.*s%s", (int)(numbers - line), line, tab);
    if (!is_name(name) || !is_within_limits(e)) return 0;
    n = (size_t)print_line(name, e, again) - 1;
    return strlen(line) == n && memcmp(line, again, n) == 0;
}

/* Returns 1 if the first line is that of this format or of another version of it. */
static int is_any_format(const char *text)
{
    const size_t n = sizeof format - 1;
    size_t digits;

    if (strncmp(text, format, n) != 0) return 0;
    digits = strspn(text + n, "0123456789");
    return digits > 0 && text[n + digits] == '\n';
}

int tuning_parse(char *text, size_t n, struct tuning_list *list, char why[STORE_WHY])
{
    const size_t first = sizeof head - 1;
    int place = 2;

    why[0] = '\0';
    if (strlen(text) != n || strncmp(text, head, first) != 0) {
        if (strlen(text) != n || !is_any_format(text))
            (void)snprintf(why, STORE_WHY, "not \"%.*s\"", (int)first - 1, head);
        return 1;
    }
    for (text += first; strcmp(text, foot) != 0; place++) {
        char *end = strchr(text, '\n');
        char name[TUNING_NAME];
        struct tuning_entry entry;

        if (!end) {
            if (!why[0]) (void)snprintf(why, STORE_WHY, "its last line is not \"end\"");
            break;
        }
        *end = '\0';
        if (!parse_line(text, name, &entry)) {
            if (!why[0])
                (void)snprintf(why, STORE_WHY,
                               "line %d: not KEY = NUMBERS, machine and build, with tabs "
                               "between",
                               place);
        } else if (!tuning_add(list, name, &entry)) {
            return 0;
        }
        text = end + 1;
    }
    return 1;
}

char *tuning_print(const struct tuning_list *list)
{
    const struct tuning_record *first = list->first;
    size_t n = sizeof head + sizeof foot;
    char *text, *end;

    for (const struct tuning_record *at = first; at; at = at->next)
        n += strlen(at->name) + NUMBERS_TEXT;
    for (; first && n > TUNING_TEXT; first = first->next)
        n -= strlen(first->name) + NUMBERS_TEXT;
    text = malloc(n);
    if (!text) return NULL;
    end = text + sprintf(text, "%s", head);
    for (; first; first = first->next) end += print_line(first->name, &first->entry, end);
    (void)sprintf(end, "%s", foot);
    return text;
}
