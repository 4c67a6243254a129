/*
 * files.c - see files.h. SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include "support/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

nb_context *ctx;
static char folder[256];

const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;

    next = (next + 1) % 4;
    (void)snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

int count_files(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    while (dir && readdir(dir)) n++;
    if (dir) (void)closedir(dir);
    return n - 2;
}

/* Remove the contents of a folder, its folders too. A link is removed, not its target. */
static void empty(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char name[1024];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        (void)snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (unlink(name) == 0) continue;
        empty(name);
        (void)rmdir(name);
    }
    if (dir) (void)closedir(dir);
}

void empty_folder(void)
{
    empty(folder);
}

void put(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(bytes, 1, n, file) != n || fclose(file) != 0) abort();
}

char *slurp(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    char *bytes = calloc(1, 1 << 22);

    *n = 0;
    if (!bytes) abort();
    if (!file) return bytes;
    *n = fread(bytes, 1, (1 << 22) - 1, file);
    (void)fclose(file);
    return bytes;
}

int holds(const char *path, const void *bytes, size_t n)
{
    size_t found;
    char *there = slurp(path, &found);
    const int same = found == n && memcmp(there, bytes, n) == 0;

    free(there);
    return same;
}

void check_ok(nb_status status, const char *what)
{
    tap_check(status == NB_OK, "%s: %s%s%s", what, nb_status_text(status),
              status == NB_OK ? "" : ": ", status == NB_OK ? "" : nb_context_message(ctx));
}

void check_refused(nb_status status, nb_status expected, const char *part,
                   const char *other)
{
    const char *message = nb_context_message(ctx);

    tap_check(status == expected && strstr(message, part) && strstr(message, other)
                  && !strchr(message, '\n'),
              "status %d expected %d, '%s' names '%s' and '%s'", (int)status, (int)expected,
              message, part, other);
}

int files_main(int argc, char **argv, const struct tap_case *cases, size_t n)
{
    const char *place = getenv("TMPDIR");
    int status;

    (void)snprintf(folder, sizeof folder, "%s/nanobrag-test-XXXXXX",
                   place && *place ? place : "/tmp");
    if (!mkdtemp(folder) || chmod(folder, 0755) != 0
        || nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) {
        perror(folder);
        return 1;
    }
    status = tap_main(argc, argv, cases, n);
    empty_folder();
    (void)rmdir(folder);
    nb_context_free(ctx);
    return status;
}

void put_refused(const char *path, const struct refused_file *file)
{
    put(path, file->text, file->n ? file->n : strlen(file->text));
}
