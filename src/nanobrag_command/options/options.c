/*
 * options.c - look-ups in the table of options.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/options/options.h"

#include <stdio.h>
#include <string.h>

enum { OURS = OPTION_OURS, HIDDEN = OPTION_HIDDEN, LAST = OPTION_LAST };

#define OPTION(id, name, aliases, patterns, min, max, kind, range, values, unit, preset,   \
               group, flags, sets, help)                                                   \
    {name,   aliases, patterns, min,           max,   KIND_##kind, RANGE_##range,          \
     values, unit,    preset,   GROUP_##group, flags, help},
static const struct option table[OPT_COUNT] = {
#include "nanobrag_command/options/options.def"
};
#undef OPTION

static const char *const titles[GROUP_COUNT] = {
    [GROUP_CRYSTAL] = "Crystal",    [GROUP_FACTORS] = "Structure factors",
    [GROUP_BEAM] = "Beam",          [GROUP_DETECTOR] = "Detector geometry",
    [GROUP_SENSOR] = "Sensor",      [GROUP_SCAN] = "Scan",
    [GROUP_SAMPLING] = "Sampling",  [GROUP_BACKGROUND] = "Background",
    [GROUP_FILES] = "Output files", [GROUP_DERIVATIVES] = "Parameters and derivatives",
    [GROUP_FITS] = "Fits",          [GROUP_PROGRAM] = "Program",
};

const struct option *option_at(int id)
{
    return &table[id];
}

const char *option_group_title(int group)
{
    return titles[group];
}

int option_word(const char **list, char *word, size_t size)
{
    const char *p = *list;
    while (*p == ' ') p++;
    if (!*p) return 0;
    size_t n = 0;
    for (; *p && *p != ' '; p++)
        if (n + 1 < size) word[n++] = *p;
    word[n] = 0;
    *list = p;
    return 1;
}

int option_listed(const char *list, const char *word)
{
    for (const char *p = list; *p;) {
        const char *w = word;
        for (; *w && *p == *w; w++) p++;
        if (!*w && w != word && (*p == ' ' || !*p)) return 1;
        while (*p && *p != ' ') p++;
        while (*p == ' ') p++;
    }
    return 0;
}

int option_choice(const char *values, const char *word, size_t n)
{
    int i = 0;
    for (const char *p = values; n > 0 && p; p = strchr(p, '|'), i++) {
        if (*p == '|') p++;
        if (strncmp(p, word, n) == 0 && (p[n] == 0 || p[n] == '|')) return i;
    }
    return -1;
}

static int is_name(const struct option *option, const char *argument)
{
    return (option->name[1] == argument[1] && strcmp(option->name, argument) == 0)
           || option_listed(option->aliases, argument);
}

int option_is(int id, const char *argument)
{
    if (argument[0] != '-') return 0;
    return is_name(&table[id], argument + (argument[1] == '-'));
}

int option_named(const char *argument)
{
    if (argument[0] != '-') return -1;
    if (argument[1] == '-') argument++;
    for (int i = 0; i < OPT_COUNT; i++)
        if (is_name(&table[i], argument)) return i;
    return -1;
}

int option_nearest(const char *word, char out[NB_NAME_BYTES])
{
    enum { NAMES = 8192 };
    char names[NAMES];
    size_t n = 0;
    for (int i = 0; i < OPT_COUNT && n < NAMES; i++)
        if (!(table[i].flags & OPTION_HIDDEN))
            n += (size_t)snprintf(names + n, NAMES - n, "%s %s ", table[i].name,
                                  table[i].aliases);
    return nb_nearest_name(word, names, out);
}
