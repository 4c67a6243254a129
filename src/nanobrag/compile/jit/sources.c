/*
 * sources.c - finds embedded texts by their names.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/jit/sources.h"

#include <string.h>

const struct source *sources_find(const char *name)
{
    for (size_t i = 0; i < sources_count; i++)
        if (strcmp(sources[i].name, name) == 0) return &sources[i];
    return NULL;
}

const char *sources_short_name(const struct source *source)
{
    const char *slash = strrchr(source->name, '/');

    return slash ? slash + 1 : source->name;
}
