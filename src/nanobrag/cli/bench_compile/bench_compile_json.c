/*
 * bench_compile_json.c - writes the table of -bench_compile as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "cli/bench_compile/bench_compile.h"
#include "cli/output/json_writer.h"

/* Read the name of the processor as Linux reports it; "" on other systems. */
static void read_processor(char *out, size_t size)
{
    static const char key[] = "model name";
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    out[0] = 0;
    while (file && !out[0] && fgets(line, sizeof line, file)) {
        const char *const colon = strchr(line, ':');
        if (strncmp(line, key, sizeof key - 1) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(out, size, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
    }
    if (file) (void)fclose(file);
}

static void add_machine(cJSON *root, const struct run *run)
{
    char processor[256];
    cJSON *to = json_object(root, "machine");
    read_processor(processor, sizeof processor);
    json_text(to, "processor", processor[0] ? processor : NULL);
    json_whole(to, "threads", nb_context_threads(run->ctx));
}

static void add_side(cJSON *to, const struct bench *bench, const struct bench_row *row,
                     int side)
{
    const nb_description *const d = &row->about[side];
    json_text(to, "strategy", strategy_word(d));
    json_text(to, "kernel", d->kernel);
    json_text(to, "precision", precision_word(d));
    json_flag(to, "repeats", row->repeats[side]);
    if (bench->effort.most > 0) {
        json_real(to, "first_ms", row->first[side]);
        json_real(to, "steady_ms", row->steady[side]);
        json_real(to, "least_ms", row->least[side]);
        if (row->fixed[side] >= 0) json_real(to, "fixed_ms", row->fixed[side]);
    }
    json_stats(to, &row->stats[side]);
}

static void add_row(cJSON *array, const struct bench *bench, const struct bench_row *row)
{
    cJSON *to = json_entry(array);
    json_text(to, "case", row->name);
    json_text(to, "operation", bench_operation_word(row->operation));
    json_text(to, "precision", bench_precision_word(row->precision));
    json_whole(to, "values", (long long)row->values);
    json_real(to, "mean", row->mean);
    json_flag(to, "moves", row->moves);
    json_real(to, "mean_absolute_difference", row->difference);
    json_real(to, "relative_difference", row->relative);
    json_real(to, "relative_allowed", row->allowed);
    json_flag(to, "equal_bits", row->equal);
    json_flag(to, "passes", !row->fails);
    json_text(to, "plan", row->plan[0] ? row->plan : NULL);
    if (bench->effort.most > 0) {
        json_real(to, "speedup", bench_speedup(row));
        json_flag(to, "disturbed", bench_disturbed(row));
        json_real(to, "processor_share", row->share);
    }
    add_side(json_object(to, "eager"), bench, row, SIDE_EAGER);
    add_side(json_object(to, "compiled"), bench, row, SIDE_COMPILED);
}

int bench_json_write(const struct bench *bench, const char *path)
{
    struct run *const run = bench->run;
    cJSON *root = cJSON_CreateObject();
    json_text(root, "program", "nanobrag");
    json_text(root, "version", nb_version());
    json_text(root, "features", nb_features());
    json_texts(root, "command", run->argv, (size_t)run->argc);
    add_machine(root, run);
    json_text(root, "mode", compiling_word(run->s->compile));
    json_text(root, "off_by", compiling_off_by());
    json_text(root, "effort", bench->effort.word);
    json_real(root, "seconds", bench->seconds);
    json_whole(root, "failures", bench->failures);
    cJSON *array = json_array(root, "comparisons");
    for (int i = 0; i < bench->nrow; i++) add_row(array, bench, &bench->rows[i]);
    json_texts(root, "warnings", run->messages->warnings, run->messages->nwarnings);
    return json_finish(run, root, path);
}
