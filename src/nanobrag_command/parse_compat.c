/*
 * parse_compat.c - parses a command line as nanoBragg does: every argument that begins with
 * '-' is compared with all patterns, several may match, and an argument that was used as a
 * value is looked at again.
 *
 * Some of its faults are mended: -misset_seed is not taken for -misset, nor -twotheta_axis
 * for -twotheta. An option at the end without its value is skipped. -curved_det works
 * anywhere. Unknown options cause a warning. Options that nanoBragg lacks are tested first;
 * their names must be exact, and their values are not looked at again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_command/options/command_line.h"
#include "nanobrag_command/options/options.h"

/* Returns the length of the pattern if the text begins with it, else 0. A pattern ends at a
 * blank. */
static size_t begins(const char *text, const char *pattern)
{
    size_t n = 0;
    while (pattern[n] && pattern[n] != ' ' && text[n] == pattern[n]) n++;
    return !pattern[n] || pattern[n] == ' ' ? n : 0;
}

/* Returns 1 if a pattern stands anywhere in an argument. Patterns begin with '-', so only
 * the places of '-' are compared. `later` is the second '-' of the argument, or NULL. */
static int stands_in(const char *argument, const char *later, const char *pattern)
{
    if (begins(argument, pattern)) return 1;
    for (; later; later = strchr(later + 1, '-'))
        if (begins(later, pattern)) return 1;
    return 0;
}

static int matches(int id, const char *argument, const char *later)
{
    if (id == OPT_MISSET && strstr(argument, "-misset_seed")) return 0;
    if (id == OPT_TWOTHETA && strstr(argument, "-twotheta_axis")) return 0;
    for (const char *p = option_at(id)->patterns; p && *p; p = strchr(p, ' ')) {
        p += *p == ' ';
        if (*p == '*' && stands_in(argument, later, p + 1)) return 1;
        const size_t n = begins(argument, p);
        if (n > 0 && !argument[n]) return 1;
    }
    return 0;
}

static int64_t leading_integer(const char *text, enum option_kind kind)
{
    const long long n = strtoll(text, NULL, 10);
    if (kind == KIND_SEED) return n;
    return n > INT_MAX ? INT_MAX : n < INT_MIN ? INT_MIN : n;
}

static void read_value(struct event *event, enum option_kind kind, const char *text)
{
    const int i = event->n++;
    if (i == 0) event->text = text;
    event->real[i] = strtod(text, NULL);
    event->integer[i] = leading_integer(text, kind);
    if (kind == KIND_DEPTH && (strstr(text, "inf") || event->real[i] == 0))
        event->real[i] = INFINITY;
}

/* Returns how many of the arguments that follow are values of the option; -1 if there are
 * too few. */
static int count_values(const struct option *option, int following, char **values)
{
    if (option->kind == KIND_CELL) {
        int n = 0;
        while (n < option->max && n < following && values[n][0] != '-') n++;
        return n ? n : -1;
    }
    if (option->kind == KIND_MISSET) {
        if (following > 0 && strstr(values[0], "rand")) return 1;
        return following >= 3 ? 3 : -1;
    }
    return following >= option->min ? option->min : -1;
}

/* Returns 1 if nanoBragg compares the argument with no further patterns after this
 * option. */
static int ends_scan(const struct option *option, int nvalues)
{
    if (!(option->flags & OPTION_LAST)) return 0;
    if (option->kind == KIND_CELL) return nvalues < option->max;
    if (option->kind == KIND_MISSET) return nvalues == 1;
    return 1;
}

/* Compare argument i with all patterns, and append the options that match. *used is the
 * last argument that was taken for a value. Returns 0 or the exit status. */
static int scan(struct messages *messages, int argc, char **argv, int i, int *used,
                struct event_list *out)
{
    const char *const later = strchr(argv[i] + 1, '-');
    int matched = 0;
    for (int id = 0; id < OPT_COUNT; id++) {
        if (!matches(id, argv[i], later)) continue;
        matched = 1;
        const struct option *option = option_at(id);
        const int n = count_values(option, argc - i - 1, argv + i + 1);
        if (n < 0) {
            message_warning(messages, "%s: too few values, the option is ignored", argv[i]);
            continue;
        }
        struct event *event = events_add(out, id);
        if (!event) return message_failure(messages, "out of memory");
        for (int k = 1; k <= n; k++) read_value(event, option->kind, argv[i + k]);
        if (i + n > *used) *used = i + n;
        if (ends_scan(option, n)) break;
    }
    if (!matched && i > *used && !parse_is_number(argv[i]))
        message_warning(messages, "unknown option %s is ignored", argv[i]);
    return 0;
}

int parse_compat(struct messages *messages, int argc, char **argv, struct event_list *out)
{
    int used = 0;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') continue;
        const int id = option_named(argv[i]);
        const int ours = id >= 0 && (option_at(id)->flags & OPTION_OURS);
        const int status = ours ? parse_option(messages, argc, argv, &i, id, out)
                                : scan(messages, argc, argv, i, &used, out);
        if (status) return status;
        if (ours && i > used) used = i;
    }
    return 0;
}
