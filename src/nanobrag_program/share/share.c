/*
 * share.c - finds the images that exist, and divides the missing ones among processes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/share/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nanobrag_command/shots/shots.h"
#include "nanobrag_program/fit/fit_run.h"

enum { FRAMES_MOST = 1000 }; /* frames in a data file, as many as detectors often write */

int team_agree(const struct team *team, struct messages *messages, int code)
{
    if (!team) return code;
    const int first = team->smallest(code ? team->rank : team->ranks);
    if (first == team->ranks) return 0;
    const char *const held = messages->user;
    if (first == team->rank && first > 0 && held[0])
        fprintf(stderr, "nanobrag: rank %d: %s\n", first, held);
    return code ? code : EXIT_RUN;
}

/* ---- options ---- */

/* Returns the number of processes that a launcher has started, by its environment; else
 * 1. */
static int started_together(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const text = getenv(names[i]);
        if (text && atoi(text) > 1) return atoi(text);
    }
    return 1;
}

void share_warn(const struct run *run)
{
    const int n = started_together();
    if (run->team || n < 2 || run->command.s->images < 2 || run->command.s->shots_range)
        return;
    message_warning(run->command.messages,
                    "this run is one of %d processes that all make every image; "
                    "nanobrag_mpi shares the images out",
                    n);
}

/* ---- all rows ---- */

double *share_rows(const struct run *run, int row, int n)
{
    if (run->command.shots) return shots_rows(&run->command, row, n);
    const nb_scan *const scan = &run->command.resolved.scan;
    const size_t m = run->command.params.n;
    double *const rows = malloc((size_t)n * m * sizeof *rows);
    for (int i = 0; rows && i < n; i++) {
        memcpy(rows + (size_t)i * m, run->command.params.x, m * sizeof *rows);
        rows[(size_t)i * m + run->command.params.phi0] = scan->phi0 + (row + i) * scan->osc;
        experiment_at(&run->command, rows + (size_t)i * m);
    }
    return rows;
}

/* ---- the images that exist ---- */

/* Returns 1 if all files of image i exist. `framed` is 1 if a data file has its frame. */
static int is_there(const struct run *run, int i, int framed)
{
    const struct settings *s = run->command.s;
    const int in_parts = run->share->in_parts;
    int any = 0;
    for (int kind = 0; kind < OUT_COUNT; kind++) {
        struct stat st;
        if (!s->out[kind]) continue;
        any = 1;
        if (in_parts && kind == OUT_IMAGE) {
            if (!framed) return 0;
            continue;
        }
        char *const name = output_name_of(s, kind, i);
        const int there = name && stat(name, &st) == 0 && S_ISREG(st.st_mode);
        free(name);
        if (!there) return 0;
    }
    return any;
}

/* Find the images that -resume keeps. Returns 0 or the exit status. */
static int find_kept(struct run *run)
{
    struct share *const share = run->share;
    const struct settings *s = run->command.s;
    struct parts parts = {0};
    int code = 0;
    if (!s->given[OPT_RESUME]) return 0;
    if (share->in_parts) code = parts_find(run, &parts);
    for (size_t k = 0; k < parts.n; k++)
        for (int i = 0; i < parts.at[k].n; i++) {
            const int at = parts.at[k].row + i - s->first;
            if (at >= 0 && at < s->images) share->state[at] |= SHARE_FRAMED;
        }
    for (int i = 0; i < s->images && !code; i++)
        if (progress_line_interrupted())
            code = EXIT_INTERRUPTED;
        else if (is_there(run, i, share->state[i] & SHARE_FRAMED))
            share->state[i] |= SHARE_KEPT;
    parts_free(&parts);
    return code;
}

/* Divide the missing images among the processes; each makes consecutive ones. */
static void divide(struct run *run)
{
    struct share *const share = run->share;
    const long long rank = run->team ? run->team->rank : 0;
    const long long ranks = run->team ? run->team->ranks : 1;
    long long missing = 0, k = 0;
    for (int i = 0; i < run->command.s->images; i++)
        missing += !(share->state[i] & SHARE_KEPT);
    const long long first = missing * rank / ranks, end = missing * (rank + 1) / ranks;
    for (int i = 0; i < run->command.s->images; i++) {
        if (share->state[i] & SHARE_KEPT) continue;
        if (k >= first && k < end) {
            share->state[i] |= SHARE_MINE;
            share->mine++;
        }
        k++;
    }
}

static int allocate(struct run *run)
{
    struct settings *const s = run->command.s;
    struct share *const share = run->share = calloc(1, sizeof *run->share);
    if (share) share->state = calloc((size_t)s->images, 1);
    if (!share || !share->state)
        return message_failure(run->command.messages, "out of memory for %d images",
                               s->images);
    share->in_parts = s->out[OUT_IMAGE] && image_format(s) == IMAGE_NXMX
                      && (team_several(run->team) || s->given[OPT_RESUME]
                          || !share_is_whole(run) || s->given[OPT_FRAMES_PER_FILE]);
    share->frames_most =
        s->given[OPT_FRAMES_PER_FILE] ? s->frames_per_file : (int)FRAMES_MOST;
    return 0;
}

int share_begin(struct run *run, int code)
{
    if (!code) code = allocate(run);
    if (!code && team_speaks(run->team)) code = find_kept(run);
    code = team_agree(run->team, run->command.messages, code);
    if (code) return code;
    if (run->team) run->team->share(run->share->state, (size_t)run->command.s->images);
    divide(run);
    return 0;
}

/* ---- the end ---- */

int share_end(struct run *run, int code)
{
    const size_t n = (size_t)run->command.s->images;
    struct result *const results = run->results;
    if (code == EXIT_INTERRUPTED) return code; /* other processes may not get here */
    code = team_agree(run->team, run->command.messages, code);
    if (code || !team_several(run->team)) return code;
    /* names are pointers of this process, so rank 0 makes them itself */
    for (size_t i = 0; i < n; i++)
        for (int kind = 0; kind < OUT_COUNT; kind++) {
            free(results[i].file[kind]);
            results[i].file[kind] = NULL;
        }
    run->team->merge(results, n * sizeof *results);
    run->done = run->command.s->images;
    if (!team_speaks(run->team)) return 0;
    for (int i = 0; i < run->command.s->images && !code; i++) code = outputs_name(run, i);
    return code;
}

void share_free(struct run *run)
{
    if (!run->share) return;
    free(run->share->state);
    free(run->share);
    run->share = NULL;
}
