/*
 * command_line.c - parses a command line without -compat nanobragg: names must be exact,
 * and every value is checked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/options/command_line.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_command/options/options.h"

static int is_compat_name(const char *word, const char **wrong)
{
    if (strcmp(word, "nanobragg") == 0) return 1;
    if (*word && strcmp(word, "none") != 0) *wrong = word;
    return 0;
}

int parse_profile(int argc, char **argv, const char **wrong)
{
    *wrong = NULL;
    const char *word = NULL;
    for (int i = 1; i + 1 < argc; i++)
        if (option_is(OPT_COMPAT, argv[i])) word = argv[i + 1];
    if (!word) word = getenv("NANOBRAG_COMPAT");
    if (word) return is_compat_name(word, wrong);
    const char *name = argc > 0 ? argv[0] : "";
    const char *slash = strrchr(name, '/');
    return strcmp(slash ? slash + 1 : name, "nanoBragg") == 0;
}

struct event *events_add(struct event_list *events, int option)
{
    struct event *grown = realloc(events->at, (events->n + 1) * sizeof *grown);
    if (!grown) return NULL;
    events->at = grown;
    struct event *event = &grown[events->n++];
    memset(event, 0, sizeof *event);
    event->option = option;
    return event;
}

void events_free(struct event_list *events)
{
    free(events->at);
    *events = (struct event_list){0};
}

int parse_real(const char *text, double *value)
{
    if (!*text || strspn(text, "+-.0123456789eE") != strlen(text)) return 0;
    char *end;
    *value = strtod(text, &end);
    return *end == 0 && end != text && isfinite(*value);
}

static int read_integer(const char *text, int64_t *value)
{
    if (!*text || strspn(text, "+-0123456789") != strlen(text)) return 0;
    char *end;
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    *value = n;
    return *end == 0 && end != text && errno == 0;
}

int parse_is_number(const char *text)
{
    double value;
    return parse_real(text, &value);
}

static int check_range(struct messages *messages, const struct option *option,
                       const char *text, double value)
{
    const int above_0 = option->range != RANGE_ANY && option->range != RANGE_NONNEG;
    if (above_0 && !(value > 0))
        return message_usage(messages, "%s %s: must be greater than 0", option->name, text);
    if (option->range == RANGE_NONNEG && !(value >= 0))
        return message_usage(messages, "%s %s: must not be negative", option->name, text);
    if (option->range == RANGE_FRACTION && !(value < 1))
        return message_usage(messages, "%s %s: must be less than 1", option->name, text);
    if (option->range == RANGE_AT_LEAST_1 && !(value >= 1))
        return message_usage(messages, "%s %s: must be at least 1", option->name, text);
    return 0;
}

int parse_value(struct messages *messages, int id, const char *text, int i,
                struct event *event)
{
    const struct option *option = option_at(id);
    if (i == 0) event->text = text;
    event->n = i + 1;
    switch (option->kind) {
    case KIND_DEPTH:
        if (strcmp(text, "inf") == 0) {
            event->real[i] = INFINITY;
            return 0;
        }
        break;
    case KIND_INT:
    case KIND_SEED:
        if (!read_integer(text, &event->integer[i]))
            return message_usage(messages, "%s %s: expected a whole number", option->name,
                                 text);
        if (option->kind == KIND_INT && llabs(event->integer[i]) > 1000000000)
            return message_usage(messages, "%s %s: the number is too large", option->name,
                                 text);
        return check_range(messages, option, text, (double)event->integer[i]);
    case KIND_WORD:
        if (option_choice(option->values, text, strlen(text)) < 0)
            return message_usage(messages, "%s %s: expected %s", option->name, text,
                                 option->values);
        return 0;
    case KIND_INPUT:
    case KIND_OUTPUT:
        if (!*text)
            return message_usage(messages, "%s: the file name is empty", option->name);
        return 0;
    case KIND_ANOMALOUS:
        if (i == 0) return 0;
        break;
    case KIND_ADDED:
        if (i > 0) break;
        if (!*text)
            return message_usage(messages, "%s: the file name is empty", option->name);
        return 0;
    case KIND_TEXT:
        if (!*text) return message_usage(messages, "%s: the text is empty", option->name);
        return 0;
    default:
        break;
    }
    if (!parse_real(text, &event->real[i]))
        return message_usage(messages, "%s %s: expected a number", option->name, text);
    return check_range(messages, option, text, event->real[i]);
}

static int takes_numbers(enum option_kind kind)
{
    return kind != KIND_WORD && kind != KIND_INPUT && kind != KIND_OUTPUT
           && kind != KIND_TEXT;
}

static int starts_number(const char *text)
{
    if (text[0] == '-' || text[0] == '+') text++;
    return *text && strchr("0123456789.", *text);
}

/* Returns 1 if an argument can be a value of the option; 0 if it looks like the next
 * option. */
static int is_value(const struct option *option, const char *text)
{
    if (text[0] != '-') return 1;
    if (takes_numbers(option->kind)) return starts_number(text);
    return option_named(text) < 0;
}

/* Returns 1 if an argument can be a value that the option may lack. */
static int may_follow(const struct option *option, const char *text)
{
    return option->kind == KIND_WORD || option->kind == KIND_INPUT || starts_number(text);
}

int parse_option(struct messages *messages, int argc, char **argv, int *i, int id,
                 struct event_list *out)
{
    const struct option *option = option_at(id);
    struct event *event = events_add(out, id);
    if (!event) return message_failure(messages, "out of memory");
    int most = option->max, least = option->min;
    if (option->kind == KIND_MISSET && *i + 1 < argc) {
        if (strcmp(argv[*i + 1], "random") == 0) {
            event->text = argv[++*i];
            event->n = 1;
            return 0;
        }
        least = 3;
    }
    if (option->kind == KIND_ANOMALOUS && *i + 1 < argc)
        least = most =
            option_choice("on|off", argv[*i + 1], strlen(argv[*i + 1])) < 0 ? 3 : 1;
    for (int n = 0; n < most; n++) {
        const int present = *i + 1 < argc && is_value(option, argv[*i + 1]);
        if (n >= least && !(present && may_follow(option, argv[*i + 1]))) break;
        if (!present)
            return message_usage(messages, "%s: missing value (expected %s %s)",
                                 option->name, option->name, option->values);
        const int status = parse_value(messages, id, argv[++*i], n, event);
        if (status) return status;
    }
    return 0;
}

static int unknown_option(struct messages *messages, const char *argument)
{
    char nearest[NB_NAME_BYTES];
    if (!option_nearest(argument + (argument[0] == '-' && argument[1] == '-'), nearest))
        return message_usage(messages, "unknown option %s (nanobrag -help lists them)",
                             argument);
    return message_usage(messages, "unknown option %s; the nearest is %s", argument,
                         nearest);
}

static int parse_strict(struct messages *messages, int argc, char **argv,
                        struct event_list *out)
{
    for (int i = 1; i < argc; i++) {
        const int id = option_named(argv[i]);
        if (id < 0 && argv[i][0] != '-')
            return message_usage(messages,
                                 "unexpected \"%s\": no option takes this word (nanobrag "
                                 "-help lists them)",
                                 argv[i]);
        if (id < 0) return unknown_option(messages, argv[i]);
        const int status = parse_option(messages, argc, argv, &i, id, out);
        if (status) return status;
    }
    return 0;
}

int parse_arguments(struct messages *messages, int argc, char **argv,
                    struct event_list *out)
{
    *out = (struct event_list){0};
    if (messages->compat) return parse_compat(messages, argc, argv, out);
    return parse_strict(messages, argc, argv, out);
}

const char *events_text(const struct event_list *events, int option)
{
    const char *text = NULL;
    for (size_t i = 0; i < events->n; i++)
        if (events->at[i].option == option) text = events->at[i].text;
    return text;
}

int event_choice(const struct event *e)
{
    const char *const values = option_at(e->option)->values;
    const int found = e->text ? option_choice(values, e->text, strlen(e->text)) : 0;
    return found < 0 ? 0 : found;
}
