/*
 * options.c - look-ups in the table of options.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/options/options.h"

#include <ctype.h>
#include <string.h>

enum { OURS = OPTION_OURS, HIDDEN = OPTION_HIDDEN, LAST = OPTION_LAST };

#define OPTION(id, name, aliases, patterns, min, max, kind, range, values, unit, preset,   \
               group, flags, sets, help)                                                   \
    {name,   aliases, patterns, min,           max,   KIND_##kind, RANGE_##range,          \
     values, unit,    preset,   GROUP_##group, flags, help},
static const struct option table[OPT_COUNT] = {
#include "nanobrag_program/options/options.def"
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

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The edit distance, in which a swap of neighbours is one edit; b is shorter than
 * NAME_BYTES. */
static size_t edits(const char *a, const char *b)
{
    size_t rows[3][NAME_BYTES + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    const size_t na = strlen(a), nb = strlen(b);
    memset(rows, 0, sizeof rows);
    for (size_t j = 0; j <= nb; j++) last[j] = j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            const size_t change = a[i - 1] != b[j - 1];
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *const spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[nb];
}

void nearest_start(struct nearest *nearest, const char *word)
{
    *nearest = (struct nearest){.word = word, .distance = (size_t)-1};
}

/* Copy a name in small letters, as far as there is room. */
static void copy_small(const char *name, char small[NAME_BYTES])
{
    size_t n = 0;
    for (; name[n] && n + 1 < NAME_BYTES; n++)
        small[n] = (char)tolower((unsigned char)name[n]);
    small[n] = 0;
}

/* A name that the word begins, as -hdiv, is as near as two edits; one that begins the word,
 * as that of -water_um, as three. */
void nearest_try(struct nearest *nearest, const char *name)
{
    enum { LETTERS = 4 };
    char word[NAME_BYTES] = "", small[NAME_BYTES] = "";
    const size_t n = strlen(name), letters = strlen(nearest->word);
    if (n >= NAME_BYTES || letters >= NAME_BYTES) return;
    copy_small(nearest->word, word);
    copy_small(name, small);
    const size_t common = letters < n ? letters : n;
    const int kin = common >= LETTERS && strncmp(small, word, common) == 0;
    const size_t changes = edits(word, small);
    const size_t distance = kin ? least(changes, letters <= n ? 2 : 3) : changes;
    /* of two names that begin the word the longer one is meant */
    const int better = kin && (!nearest->kin || (n < letters && n > strlen(nearest->name)));
    if (distance > nearest->distance || (distance == nearest->distance && !better)) return;
    nearest->distance = distance;
    nearest->kin = kin;
    memcpy(nearest->name, name, n + 1);
}

const char *nearest_name(const struct nearest *nearest)
{
    const size_t letters = strlen(nearest->word) - strspn(nearest->word, "-");
    if (nearest->kin) return nearest->name;
    return letters > 1 && nearest->distance <= 2 && 2 * nearest->distance < letters
               ? nearest->name
               : NULL;
}

void option_try_names(struct nearest *nearest)
{
    char word[NAME_BYTES];
    for (int i = 0; i < OPT_COUNT; i++) {
        const char *list = table[i].aliases;
        if (table[i].flags & OPTION_HIDDEN) continue;
        nearest_try(nearest, table[i].name);
        while (option_word(&list, word, sizeof word)) nearest_try(nearest, word);
    }
}
