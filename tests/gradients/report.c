/*
 * report.c - the results of a run of the harness, as JSON. It is written with printf(), so
 * that the report does not depend on a library.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradients/harness.h"

struct entry {
    char scene[48];
    const char *strategy;
    uint64_t seed;
    nb_gradcheck_row row;
};

struct state {
    char scene[48], parameter[32], reason[96];
    int state;
};

static struct {
    struct entry *entry;
    struct state *state;
    size_t entries, states, entry_room, state_room;
} report;

static void *grow(void *list, size_t n, size_t *workspace, size_t size)
{
    if (n < *workspace) return list;
    *workspace = *workspace > 0 ? 2 * *workspace : 256;
    list = realloc(list, *workspace * size);
    if (!list) abort();
    return list;
}

void report_row(const char *scene, const char *strategy, uint64_t seed,
                const nb_gradcheck_row *row)
{
    struct entry *e;

    report.entry =
        grow(report.entry, report.entries, &report.entry_room, sizeof *report.entry);
    e = report.entry + report.entries++;
    (void)snprintf(e->scene, sizeof e->scene, "%s", scene);
    e->strategy = strategy;
    e->seed = seed;
    e->row = *row;
}

static struct state *find_state(const char *scene, const char *parameter)
{
    for (size_t i = 0; i < report.states; i++)
        if (strcmp(report.state[i].scene, scene) == 0
            && strcmp(report.state[i].parameter, parameter) == 0)
            return report.state + i;
    return NULL;
}

void report_state(const char *scene, const char *parameter, int state, const char *reason)
{
    struct state *s = find_state(scene, parameter);

    if (!s) {
        report.state =
            grow(report.state, report.states, &report.state_room, sizeof *report.state);
        s = report.state + report.states++;
    }
    (void)snprintf(s->scene, sizeof s->scene, "%s", scene);
    (void)snprintf(s->parameter, sizeof s->parameter, "%s", parameter);
    (void)snprintf(s->reason, sizeof s->reason, "%s", reason);
    s->state = state;
}

int report_find(const char *scene, const char *parameter)
{
    const struct state *s = find_state(scene, parameter);

    return s ? s->state : REPORT_MISSING;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void report_errors(size_t *count, double *median, double *high)
{
    double *off = calloc(report.entries + 1, sizeof *off);
    size_t n = 0;

    if (!off) abort();
    for (size_t i = 0; i < report.entries; i++) {
        const nb_gradcheck_row *r = &report.entry[i].row;

        if (r->verdict == NB_VERDICT_PASS && r->scale > 0)
            off[n++] = fabs(r->vjp - r->fd) / r->scale;
    }
    qsort(off, n, sizeof *off, ascending);
    *count = n;
    *median = n > 0 ? off[n / 2] : 0;
    *high = n > 0 ? off[n - 1 - n / 100] : 0;
    free(off);
}

/* JSON has no word for what is not finite */
static void put(FILE *file, const char *name, double value)
{
    if (isfinite(value))
        (void)fprintf(file, ",\"%s\":%.17g", name, value);
    else
        (void)fprintf(file, ",\"%s\":null", name);
}

static void write_entry(FILE *file, const struct entry *e)
{
    const nb_gradcheck_row *r = &e->row;

    (void)fprintf(file,
                  "{\"param\":\"%s\",\"unit\":\"%s\",\"scene\":\"%s\",\"path\":\"%s\","
                  "\"loss\":\"%s\",\"seed\":%llu,\"verdict\":\"%s\",\"order\":%d,"
                  "\"side\":%d,\"evals\":%d",
                  r->param.name, r->param.unit, e->scene, e->strategy,
                  nb_gradcheck_loss_name(r->loss), (unsigned long long)e->seed,
                  nb_verdict_name(r->verdict), r->order, r->side, r->evaluations);
    put(file, "value", r->param.value);
    put(file, "g_vjp", r->vjp);
    put(file, "g_jvp", r->jvp);
    put(file, "g_fd", r->fd);
    put(file, "bar", r->bar);
    put(file, "trunc", r->truncation);
    put(file, "eps_f", r->noise);
    put(file, "h", r->step);
    put(file, "S", r->scale);
    put(file, "kept", r->kept);
    put(file, "tol", r->tolerance);
    put(file, "ratio", r->fd != 0 ? r->vjp / r->fd : NAN);
    put(file, "rate", r->rate);
    (void)fputc('}', file);
}

static void write_matrix(FILE *file)
{
    static const char *const name[] = {"checked", "zero", "not applicable", "missing"};

    (void)fputs(",\n\"coverage\":[", file);
    for (size_t i = 0; i < report.states; i++) {
        const struct state *s = report.state + i;

        (void)fprintf(file,
                      "%s\n{\"scene\":\"%s\",\"param\":\"%s\",\"state\":\"%s\","
                      "\"reason\":\"%s\"}",
                      i > 0 ? "," : "", s->scene, s->parameter, name[s->state], s->reason);
    }
    (void)fputs("]", file);
}

int report_write(const char *path)
{
    int total[NB_VERDICTS] = {0};
    FILE *file = fopen(path, "w");

    if (!file) return 0;
    for (size_t i = 0; i < report.entries; i++) total[report.entry[i].row.verdict]++;
    (void)fprintf(file,
                  "{\"schema\":1,\n\"version\":\"%s\",\n\"features\":\"%s\",\n"
                  "\"totals\":{\"checks\":%zu",
                  nb_version(), nb_features(), report.entries);
    for (int i = 0; i < NB_VERDICTS; i++)
        (void)fprintf(file, ",\"%s\":%d", nb_verdict_name(i), total[i]);
    (void)fputs("}", file);
    write_matrix(file);
    (void)fputs(",\n\"checks\":[", file);
    for (size_t i = 0; i < report.entries; i++) {
        (void)fputs(i > 0 ? ",\n" : "\n", file);
        write_entry(file, report.entry + i);
    }
    (void)fputs("]}\n", file);
    return fclose(file) == 0;
}
