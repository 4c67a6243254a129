/* tuning_text.c - see tuning_text.h. SPDX-License-Identifier: MIT */
#include "compile/tune/tuning_text.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/simulator.h>

static const char head[] = "nanobrag tuning, format 1\n", foot[] = "end\n";

/* ---- the list ---- */

const struct tuning_entry *tuning_find(const struct tuning_list *list, const char *name)
{
    const struct tuning_entry *best = NULL;

    for (const struct tuning_record *at = list->first; at; at = at->next)
        if (strcmp(at->name, name) == 0 && (!best || at->entry.effort > best->effort))
            best = &at->entry;
    return best;
}

int tuning_add(struct tuning_list *list, const char *name, const struct tuning_entry *entry)
{
    const size_t n = strlen(name) + 1;
    struct tuning_record *record = malloc(sizeof *record + n);

    if (!record) return 0;
    record->next = NULL;
    record->entry = *entry;
    memcpy(record->name, name, n);
    if (list->last)
        list->last->next = record;
    else
        list->first = record;
    list->last = record;
    return 1;
}

int tuning_merge(struct tuning_list *list, const char *name,
                 const struct tuning_entry *entry)
{
    const struct tuning_entry *found = tuning_find(list, name);
    struct tuning_record **link = &list->first;

    if (found && found->effort >= entry->effort) return 0;
    if (!tuning_add(list, name, entry)) return -1;
    while (*link && *link != list->last) {
        struct tuning_record *record = *link;

        if (strcmp(record->name, name) == 0) {
            *link = record->next;
            free(record);
        } else {
            link = &record->next;
        }
    }
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

/* ---- the text: "KEY = threads 4 block 8 ...", machine and build, separated by tabs ----
 */

/* The numbers of a line, in their order. */
static const struct number {
    const char *name;
    size_t offset;
    int most;
} numbers[] = {
    {"threads", offsetof(struct tuning_entry, threads), CONTEXT_THREADS_MOST},
    {"block", offsetof(struct tuning_entry, block), TUNING_BLOCK},
    {"strategy", offsetof(struct tuning_entry, strategy), NB_SPOTS},
    {"effort", offsetof(struct tuning_entry, effort), EFFORT_MOST},
    {"microseconds", offsetof(struct tuning_entry, microseconds), 999999999},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers, NUMBERS_TEXT = 80 };

static int *number_of(struct tuning_entry *entry, const struct number *number)
{
    return (int *)((char *)entry + number->offset);
}

/* Read " NAME DIGITS" at `at`. Returns where it ends, or NULL. */
static const char *parse_number(const char *at, const struct number *number, int *value)
{
    const size_t n = strlen(number->name);
    size_t digits;

    if (at[0] != ' ' || strncmp(at + 1, number->name, n) != 0 || at[n + 1] != ' ')
        return NULL;
    at += n + 2;
    digits = strspn(at, "0123456789");
    if (digits < 1 || digits > 9) return NULL;
    *value = 0;
    for (; digits > 0; digits--) *value = 10 * *value + (*at++ - '0');
    return *value <= number->most ? at : NULL;
}

/* Returns 1 if a part of a name, which a tab or NUL ends, has 1 to most - 1 printable
 * bytes. */
static int is_plain(const char *part, size_t most)
{
    const size_t n = strcspn(part, "\t");

    for (size_t i = 0; i < n; i++)
        if (part[i] < ' ' || part[i] > '~') return 0;
    return n > 0 && n < most;
}

/* Turn a line without its end into the name of its entry. Returns 0 if it is malformed,
 * with the reason in `why` unless it holds one already. */
static int parse_line(char *line, int place, struct tuning_entry *entry,
                      char why[STORE_WHY])
{
    char *tab = strchr(line, '\t'), *second = tab ? strchr(tab + 1, '\t') : NULL;
    size_t key = tab ? (size_t)(tab - line) : 0;
    const char *at = NULL;

    while (key > 0 && strncmp(line + key, " =", 2) != 0) key--;
    if (key > 0 && second && is_plain(tab + 1, IDENTITY) && is_plain(second + 1, IDENTITY)
        && !strchr(second + 1, '\t'))
        at = line + key + 2;
    for (int i = 0; at && i < NUMBERS; i++) {
        at = parse_number(at, &numbers[i], number_of(entry, &numbers[i]));
        if (!at && !why[0])
            (void)snprintf(why, STORE_WHY, "line %d: no %s from 0 to %d", place,
                           numbers[i].name, numbers[i].most);
    }
    if (at == tab && at) (void)memmove(line + key, tab, strlen(tab) + 1);
    if (at == tab && at && is_plain(line, TUNING_KEY)) return 1;
    if (!why[0])
        (void)snprintf(why, STORE_WHY,
                       "line %d: not KEY = NUMBERS, machine and build, with tabs between",
                       place);
    return 0;
}

int tuning_parse(char *text, size_t n, struct tuning_list *list, char why[STORE_WHY])
{
    const size_t first = sizeof head - 1;
    int place = 2;

    why[0] = '\0';
    if (strlen(text) != n || strncmp(text, head, first) != 0) {
        (void)snprintf(why, STORE_WHY, "not \"%.*s\"", (int)first - 1, head);
        return 1;
    }
    for (text += first; strcmp(text, foot) != 0; place++) {
        char *end = strchr(text, '\n');
        struct tuning_entry entry;

        if (!end) {
            if (!why[0]) (void)snprintf(why, STORE_WHY, "its last line is not \"end\"");
            break;
        }
        *end = '\0';
        if (parse_line(text, place, &entry, why) && !tuning_add(list, text, &entry))
            return 0;
        text = end + 1;
    }
    return 1;
}

/* Returns the greatest length that the line of an entry may have. */
static size_t size_of(const struct tuning_record *record)
{
    return strlen(record->name) + NUMBERS_TEXT;
}

static char *print_record(const struct tuning_record *record, char *out)
{
    const size_t key = strcspn(record->name, "\t");
    struct tuning_entry entry = record->entry;

    out += sprintf(out, "%.*s =", (int)key, record->name);
    for (int i = 0; i < NUMBERS; i++)
        out += sprintf(out, " %s %d", numbers[i].name, *number_of(&entry, &numbers[i]));
    return out + sprintf(out, "%s\n", record->name + key);
}

char *tuning_print(const struct tuning_list *list)
{
    const struct tuning_record *first = list->first;
    size_t n = sizeof head + sizeof foot;
    char *text, *end;

    for (const struct tuning_record *at = first; at; at = at->next) n += size_of(at);
    for (; first && n > TUNING_TEXT; first = first->next) n -= size_of(first);
    text = malloc(n);
    if (!text) return NULL;
    end = text + sprintf(text, "%s", head);
    for (; first; first = first->next) end = print_record(first, end);
    (void)sprintf(end, "%s", foot);
    return text;
}
