/*
 * update_places.c - keeps the names of images right in an .expt that is written to another
 * folder: a relative name begins in the folder of its .expt.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_io/experiment/update/update.h"

/* Finds the whole name of the folder of a file; NULL: there is no such folder. Returns 0 if
 * there is no memory. */
static int folder_of(const char *path, char **out)
{
    const char *const slash = strrchr(path, '/');
    const size_t n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    char *const name = malloc(n + 2);

    *out = NULL;
    if (!name) return 0;
    memcpy(name, n > 0 ? path : ".", n > 0 ? n : 1);
    name[n > 0 ? n : 1] = '\0';
    errno = 0;
    *out = realpath(name, NULL);
    free(name);
    return *out || errno != ENOMEM;
}

/* Returns a folder and a slash as characters of a text of JSON; NULL: no memory. */
static char *as_json(const char *folder)
{
    char *const out = malloc(6 * strlen(folder) + 2);
    size_t n = 0;

    for (; out && *folder; folder++) {
        if ((unsigned char)*folder < ' ') {
            n += (size_t)sprintf(out + n, "\\u%04x", (unsigned)*folder);
            continue;
        }
        if (*folder == '"' || *folder == '\\') out[n++] = '\\';
        out[n++] = *folder;
    }
    if (!out) return NULL;
    if (n == 0 || out[n - 1] != '/') out[n++] = '/';
    out[n] = '\0';
    return out;
}

/* Puts the folder before a text that is a relative name. */
static void put_folder(struct edits *edits, struct span text, const char *folder)
{
    if (text.n > 2 && *text.at == '"' && text.at[1] != '/')
        edits_replace(edits, (struct span){text.at + 1, 0}, folder, strlen(folder));
}

static void put_names(struct edits *edits, struct span root, const char *folder)
{
    static const char *const keys[] = {"template", "images", "mask", "gain",
                                       "pedestal", "dx",     "dy"};
    struct span sets, set, value, name;

    if (!edits_member(root, "imageset", &sets)) return;
    sets = edits_inside(sets);
    while (edits_next(&sets, &set))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            if (!edits_member(set, keys[i], &value)) continue;
            put_folder(edits, value, folder);
            if (*value.at != '[') continue;
            value = edits_inside(value);
            while (edits_next(&value, &name)) put_folder(edits, name, folder);
        }
}

int update_places(struct edits *edits, struct span root, const char *from, const char *to)
{
    char *before = NULL, *after = NULL, *folder = NULL;
    int done = folder_of(from, &before) && folder_of(to, &after);

    if (done && before && after && strcmp(before, after) != 0) {
        folder = as_json(before);
        done = folder != NULL;
        if (folder) put_names(edits, root, folder);
    }
    free(before);
    free(after);
    free(folder);
    return done;
}
