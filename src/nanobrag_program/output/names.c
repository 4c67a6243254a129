/*
 * names.c - names the files of a run, and finds out which of them are inputs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nanobrag_program/run.h"
#include "nanobrag_program/share/share.h"

const char *output_base(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *output_extension(const char *path)
{
    const char *const base = output_base(path), *const dot = strrchr(base, '.');
    return dot && dot > base ? dot : base + strlen(base);
}

const char *output_digits(const char *path)
{
    enum { DIGITS_MOST = 9 };
    const char *const base = output_base(path), *const end = output_extension(path);
    const char *digits = end;
    while (digits > base && digits[-1] >= '0' && digits[-1] <= '9'
           && end - digits < DIGITS_MOST)
        digits--;
    return digits;
}

/* Returns n bytes of `text`, then `number` with at least `width` digits, then `rest`. The
 * caller frees it; NULL: no memory. */
static char *join(const char *text, size_t n, int number, size_t width, const char *rest)
{
    const size_t size = n + width + strlen(rest) + 32;
    char *out = malloc(size);
    if (out) snprintf(out, size, "%.*s%0*d%s", (int)n, text, (int)width, number, rest);
    return out;
}

char *output_name(const char *pattern, int i, int sweep)
{
    enum { WIDTH = 5 };
    if (!sweep) return strdup(pattern);
    const char *base = output_base(pattern);
    const char *hash = strrchr(base, '#');
    if (hash) {
        const char *first = hash;
        while (first > base && first[-1] == '#') first--;
        return join(pattern, (size_t)(first - pattern), i + 1, (size_t)(hash - first) + 1,
                    hash + 1);
    }
    const char *end = output_extension(pattern);
    const char *digits = output_digits(pattern);
    if (digits < end)
        return join(pattern, (size_t)(digits - pattern), atoi(digits) + i,
                    (size_t)(end - digits), end);
    const size_t n = (size_t)(end - pattern);
    char *with_line = malloc(n + 2);
    if (!with_line) return NULL;
    memcpy(with_line, pattern, n);
    with_line[n] = '_';
    with_line[n + 1] = 0;
    char *out = join(with_line, n + 1, i + 1, WIDTH, end);
    free(with_line);
    return out;
}

char *output_name_of(const struct settings *s, int kind, int i)
{
    const int whole = kind == OUT_IMAGE && image_format(s) == IMAGE_NXMX;
    /* one file for all images, whose number, if it has any, is 1 */
    if (whole)
        return output_name(s->out[kind], 0, strchr(output_base(s->out[kind]), '#') != NULL);
    return output_name(s->out[kind], s->first + i, s->given[OPT_IMAGES]);
}

int outputs_name(struct run *run, int i)
{
    struct result *const result = &run->results[i];
    if (i >= run->reached) run->reached = i + 1;
    for (int kind = 0; kind < OUT_COUNT; kind++) {
        if (!run->command.s->out[kind]) continue;
        /* the name of a data file is known when it begins */
        if (kind == OUT_IMAGE && run->share->in_parts) continue;
        result->file[kind] = output_name_of(run->command.s, kind, i);
        if (!result->file[kind])
            return message_failure(run->command.messages, "out of memory");
    }
    return 0;
}

const char *results_names(const struct run *run, int kind, const char **last)
{
    const char *first = NULL;
    for (int i = 0; i < run->reached; i++) {
        const char *const name = run->results[i].file[kind];
        if (!name || (!run->results[i].kept && !(run->results[i].seconds > 0))) continue;
        if (!first) first = name;
        *last = name;
    }
    return first;
}

static int folder_of(const char *path, struct stat *out)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strdup(path) : strdup(".");
    if (!folder) return 0;
    if (slash) folder[slash == path ? 1 : slash - path] = 0;
    const int found = stat(folder, out) == 0;
    free(folder);
    return found;
}

int outputs_same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    if (strcmp(a, b) == 0) return 1;
    if (strcmp(output_base(a), output_base(b)) == 0 && folder_of(a, &sa)
        && folder_of(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino)
        return 1;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && S_ISREG(sa.st_mode)
           && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

int outputs_are_input(const struct run *run, const char *name)
{
    for (size_t i = 0; i < run->command.events->n; i++) {
        const struct event *const event = &run->command.events->at[i];
        const int kind = option_at(event->option)->kind;
        if ((kind != KIND_INPUT && kind != KIND_ADDED) || !event->text) continue;
        /* -dump and -resume may be outputs as well */
        if (event->option == OPT_DUMP || event->option == OPT_RESUME) continue;
        if (outputs_same_file(name, event->text)) return 1;
        /* FILE:N and FILE:LABEL */
        const char *const colon = strrchr(event->text, ':');
        char *const file = colon ? strdup(event->text) : NULL;
        if (file) file[colon - event->text] = 0;
        const int is_file = file && outputs_same_file(name, file);
        free(file);
        if (is_file) return 1;
    }
    return 0;
}

int outputs_keep_inputs(const struct run *run, const char *name)
{
    if (!outputs_are_input(run, name)) return 0;
    return message_usage(run->command.messages, "%s is an input and would be overwritten",
                         name);
}
