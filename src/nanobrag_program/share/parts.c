/*
 * parts.c - the NXmx files of a run that several processes share, or that makes only some
 * images: data files x_data_00001.nxs, each named by its first image, and the master x.nxs.
 * A data file is whole or not there. Its number of frames stands in the file, because after
 * an interrupt it has fewer than planned.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nanobrag_program/share/share.h"

static const char infix[] = "_data_";
enum { WIDTH = 5, DIGITS_MOST = 9 };

/* ---- names ---- */

static char *name_of_row(const struct settings *s, int row)
{
    char *const whole = output_name_of(s, OUT_IMAGE, 0);
    const size_t size = whole ? strlen(whole) + sizeof infix + 16 : 0;
    char *const out = whole ? malloc(size) : NULL;
    const char *const end = whole ? output_extension(whole) : NULL;
    if (out)
        snprintf(out, size, "%.*s%s%0*d%s", (int)(end - whole), whole, infix, (int)WIDTH,
                 row + 1, end);
    free(whole);
    return out;
}

char *part_name(const struct settings *s, int i)
{
    return name_of_row(s, s->first + i);
}

/* Returns the number in the name of a data file of this -imagefile; 0 for any other
 * name. */
static int number_in(const char *name, const char *whole)
{
    const char *const base = output_base(whole), *const end = output_extension(whole);
    const size_t stem = (size_t)(end - base);
    if (strncmp(name, base, stem) != 0) return 0;
    name += stem;
    if (strncmp(name, infix, sizeof infix - 1) != 0) return 0;
    name += sizeof infix - 1;
    const size_t digits = strspn(name, "0123456789");
    if (digits < WIDTH || digits > DIGITS_MOST || strcmp(name + digits, end) != 0) return 0;
    return atoi(name);
}

/* ---- the data files that exist ---- */

static int library_failed(struct run *run, nb_status status)
{
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 1);
}

static int append(struct run *run, struct parts *parts, int row, int64_t n)
{
    struct part *const larger = realloc(parts->at, (parts->n + 1) * sizeof *larger);
    if (!larger)
        return message_failure(run->command.messages, "out of memory for data files");
    parts->at = larger;
    parts->at[parts->n++] = (struct part){row, (int)n};
    return 0;
}

/* Refuse a file whose frames are of another scene or have other parameters. Returns 0 or
 * the exit status. */
static int check_frames(struct run *run, const char *path, int row, int n)
{
    double *const rows = share_rows(run, row, n);
    const nb_status status =
        rows ? nb_nxmx_check(run->command.sim, path, n, rows) : NB_ERR_MEMORY;
    free(rows);
    if (status == NB_OK) return 0;
    return message_status(run->command.messages, status,
                          rows ? nb_context_message(run->command.ctx) : "out of memory", 0);
}

/* Append the data file that begins with row `row` to the list, with its number of frames.
 * Returns 0 or the exit status. */
static int append_file(struct run *run, struct parts *parts, int row)
{
    char *const path = name_of_row(run->command.s, row);
    int64_t n = 0;
    if (!path)
        return message_failure(run->command.messages, "out of memory for data files");
    const nb_status status = nb_nxmx_count(run->command.ctx, path, &n, NULL);
    int code = status == NB_OK ? 0 : library_failed(run, status);
    if (!code && n > share_total(run) - row)
        code = message_usage(run->command.messages,
                             "the number of frames in %s is %lld, from number %d on, but "
                             "the number of images is %d; remove the file",
                             path, (long long)n, row + 1, share_total(run));
    free(path);
    return code ? code : append(run, parts, row, n);
}

static int by_row(const void *a, const void *b)
{
    const int x = ((const struct part *)a)->row, y = ((const struct part *)b)->row;
    return (x > y) - (x < y);
}

/* List the data files in the folder of -imagefile. Returns 0 or the exit status. */
static int list_files(struct run *run, const char *whole, struct parts *out)
{
    const char *const base = output_base(whole);
    char *const folder = base > whole ? strdup(whole) : strdup(".");
    int code = 0;
    if (!folder)
        return message_failure(run->command.messages, "out of memory for data files");
    if (base > whole) folder[base - whole] = 0;
    DIR *const list = opendir(folder);
    if (!list)
        code = message_failure(run->command.messages, "%s: cannot be listed: %s", folder,
                               strerror(errno));
    free(folder);
    if (!list) return code;
    for (const struct dirent *entry = readdir(list); entry && !code;
         entry = readdir(list)) {
        const int number = number_in(entry->d_name, whole);
        if (number > 0 && number <= share_total(run))
            code = append_file(run, out, number - 1);
    }
    (void)closedir(list);
    return code;
}

/* Leave out each file whose first frame is also in an earlier file. */
static void drop_covered(struct parts *parts)
{
    size_t kept = 0;
    int end = 0;
    if (parts->n > 1) qsort(parts->at, parts->n, sizeof *parts->at, by_row);
    for (size_t k = 0; k < parts->n; k++) {
        if (parts->at[k].row < end) continue;
        end = parts->at[k].row + parts->at[k].n;
        parts->at[kept++] = parts->at[k];
    }
    parts->n = kept;
}

/* Call check_frames() for each file. Returns 0 or the exit status. */
static int check_all(struct run *run, const struct parts *parts)
{
    int code = 0;
    for (size_t k = 0; k < parts->n && !code; k++) {
        char *const path = name_of_row(run->command.s, parts->at[k].row);
        code = path
                   ? check_frames(run, path, parts->at[k].row, parts->at[k].n)
                   : message_failure(run->command.messages, "out of memory for data files");
        free(path);
    }
    return code;
}

/* If an earlier run wrote -imagefile without data files, use its frames. A file with all
 * frames becomes the only part. Another file is renamed to the first data file, if there
 * are none. Returns 0 or the exit status. */
static int take_whole(struct run *run, const char *whole, struct parts *out)
{
    struct stat st;
    int64_t n = 0;
    int master = 0;
    if (stat(whole, &st) != 0) return 0;
    if (nb_nxmx_count(run->command.ctx, whole, &n, &master) != NB_OK || master) return 0;
    if (n > 0 && n <= share_total(run)) {
        const int refused = check_frames(run, whole, 0, (int)n);
        if (refused) return refused;
    }
    if (n == share_total(run)) {
        parts_free(out);
        return append(run, out, 0, n);
    }
    if (n > share_total(run) || out->n > 0) return 0;
    char *const first = name_of_row(run->command.s, 0);
    if (!first)
        return message_failure(run->command.messages, "out of memory for data files");
    const int renamed = rename(whole, first) == 0;
    /* another job may have renamed it */
    const int code =
        renamed || errno == ENOENT
            ? 0
            : message_failure(run->command.messages, "%s: cannot be renamed to %s: %s",
                              whole, first, strerror(errno));
    free(first);
    return renamed ? append(run, out, 0, n) : code;
}

/* List the data files, and call take_whole() if `from_one` is 1. Returns 0 or the exit
 * status. */
static int find(struct run *run, int from_one, struct parts *out)
{
    char *const whole = output_name_of(run->command.s, OUT_IMAGE, 0);
    *out = (struct parts){0};
    if (!whole)
        return message_failure(run->command.messages, "out of memory for data files");
    int code = list_files(run, whole, out);
    if (!code) drop_covered(out);
    if (!code) code = check_all(run, out);
    if (!code && from_one) code = take_whole(run, whole, out);
    free(whole);
    return code;
}

int parts_find(struct run *run, struct parts *out)
{
    return find(run, 1, out);
}

void parts_free(struct parts *parts)
{
    free(parts->at);
    *parts = (struct parts){0};
}

/* ---- the master ---- */

static int has_all(const struct run *run, const struct parts *parts)
{
    int end = 0;
    for (size_t k = 0; k < parts->n; k++) {
        if (parts->at[k].row != end) return 0;
        end += parts->at[k].n;
    }
    return end == share_total(run);
}

static nb_status append_part(struct run *run, nb_nxmx *nxmx, const struct part *part)
{
    char *const path = name_of_row(run->command.s, part->row);
    double *const rows = share_rows(run, part->row, part->n);
    const nb_status status =
        path && rows ? nb_nxmx_append_file(nxmx, output_base(path), part->n, rows)
                     : NB_ERR_MEMORY;
    free(rows);
    free(path);
    return status;
}

/* Name the master as the file of every image. Returns 0 or the exit status. */
static int name_all(struct run *run, const char *path)
{
    run->reached = run->command.s->images;
    for (int i = 0; i < run->command.s->images; i++) {
        char **const name = &run->results[i].file[OUT_IMAGE];
        free(*name);
        *name = strdup(path);
        if (!*name)
            return message_failure(run->command.messages, "out of memory for %s", path);
    }
    return 0;
}

static int write_master(struct run *run, const struct parts *parts)
{
    const nb_nxmx_options options = {.master = 1,
                                     .type = run->command.s->plain ? NB_TYPE_FLOAT
                                                                   : NB_TYPE_INT,
                                     .bits = 32,
                                     .stills = run->command.shots != NULL};
    char *const path = output_name_of(run->command.s, OUT_IMAGE, 0);
    nb_nxmx *nxmx = NULL;
    nb_status status =
        path ? nb_nxmx_create(run->command.sim, path, &options, &nxmx) : NB_ERR_MEMORY;
    for (size_t k = 0; k < parts->n && status == NB_OK; k++)
        status = append_part(run, nxmx, parts->at + k);
    if (status == NB_OK)
        status = nb_nxmx_close(nxmx);
    else
        nb_nxmx_free(nxmx);
    const int code = status == NB_OK ? name_all(run, path) : library_failed(run, status);
    free(path);
    return code;
}

int parts_write_master(struct run *run)
{
    struct parts parts;
    int code = find(run, 0, &parts);
    if (!code && has_all(run, &parts)) code = write_master(run, &parts);
    parts_free(&parts);
    return code;
}
