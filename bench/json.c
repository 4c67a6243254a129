/* json.c - the report as JSON; what was not measured is null. SPDX-License-Identifier: MIT
 */
#include "bench.h"

#ifdef NANOBRAG_CJSON

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void add_real(cJSON *to, const char *key, double value)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.9g", value);
    (void)cJSON_AddRawToObject(to, key, isfinite(value) ? text : "null");
}

/* a figure that is positive where there is one */
static void add_figure(cJSON *to, const char *key, double value)
{
    add_real(to, key, value > 0 ? value : NAN);
}

static void add_text(cJSON *to, const char *key, const char *text)
{
    (void)cJSON_AddStringToObject(to, key, text);
}

static cJSON *add_entry(cJSON *array)
{
    cJSON *entry = cJSON_CreateObject();

    (void)cJSON_AddItemToArray(array, entry);
    return entry;
}

static void add_machine(cJSON *to, const struct machine *m)
{
    add_figure(to, "clock_hertz", m->hertz);
    add_figure(to, "sines_per_second", m->sines);
    add_text(to, "peak_isa", m->isa);
    add_figure(to, "peak_double_per_second", m->peak[NB_DOUBLE]);
    add_figure(to, "peak_float_per_second", m->peak[NB_SINGLE]);
}

static void add_case(cJSON *to, const struct bench_case *c)
{
    const char letter[2] = {c->letter, 0};

    add_text(to, "case", letter);
}

static void add_row(cJSON *array, const struct row *row, const struct report *report)
{
    const double core_seconds = row->library * report->options->threads;
    cJSON *to = add_entry(array);

    add_case(to, row->c);
    add_text(to, "what", row->c->what);
    add_text(to, "profile",
             row->profile == NB_PROFILE_NANOBRAGG ? "nanobragg" : "nanobrag");
    add_text(to, "precision", precision_word(row->precision));
    add_text(to, "strategy", strategy_word(row->strategy));
    (void)cJSON_AddBoolToObject(to, "auto", row->is_auto);
    add_text(to, "kernel", row->kernel);
    add_figure(to, "evaluations", row->evaluations);
    add_real(to, "tiles", row->tiles);
    add_real(to, "tiles_small", row->tiles_small);
    add_real(to, "tiles_double", row->tiles_double);
    add_figure(to, "part_computed", row->part);
    add_figure(to, "library_seconds", row->library);
    add_figure(to, "mevals_per_second", 1e-6 * row->evaluations / row->library);
    add_figure(to, "cycles_per_evaluation",
               core_seconds * row->machine.hertz / row->evaluations);
    add_figure(to, "scalar_seconds", row->scalar);
    add_figure(to, "times_scalar", row->scalar / row->library);
    add_figure(to, "fraction_of_roof", row->roof / row->library);
    add_figure(to, "program_seconds", row->program);
    add_figure(to, "library_evaluations_per_sine", row->library_per_sine);
    add_figure(to, "library_times_nanobragg", row->library_times);
    add_figure(to, "program_evaluations_per_sine", row->program_per_sine);
    add_figure(to, "program_times_nanobragg", row->program_times);
    add_figure(to, "target_times_nanobragg", row->target_times);
    add_figure(to, "target_seconds", row->target_seconds);
    add_machine(cJSON_AddObjectToObject(to, "machine"), &row->machine);
    if (*row->said) add_text(to, "not_run", row->said);
}

static void add_peer(cJSON *array, const struct peer *peer)
{
    const int ran = peer->runs > 0;
    cJSON *to = add_entry(array);

    add_case(to, peer->c);
    add_text(to, "precision", precision_word(peer->precision));
    add_real(to, "runs", peer->runs);
    add_figure(to, "peer_seconds", peer->theirs);
    add_figure(to, "seconds", peer->ours);
    add_figure(to, "ratio", peer->theirs / peer->ours);
    add_real(to, "largest_difference_over_peak", ran ? peer->worst : NAN);
    add_real(to, "pixels_that_differ", ran ? (double)peer->differ : NAN);
    add_real(to, "one_minus_correlation", ran ? peer->decorrelation : NAN);
    if (*peer->said) add_text(to, "not_run", peer->said);
}

static void add_series(cJSON *array, const struct series *series)
{
    cJSON *to = add_entry(array), *points;

    add_text(to, "axis", series->axis);
    add_text(to, "precision", precision_word(series->precision));
    add_figure(to, "spread", series->spread);
    if (series->flat >= 0)
        (void)cJSON_AddBoolToObject(to, "flat", series->flat);
    else
        add_real(to, "flat", NAN);
    points = cJSON_AddArrayToObject(to, "points");
    for (int i = 0; i < series->n; i++) {
        cJSON *point = add_entry(points);

        add_figure(point, "x", series->x[i]);
        add_figure(point, "evaluations", series->evaluations[i]);
        add_figure(point, "seconds", series->seconds[i]);
        add_real(point, "share_of_tiles_small", series->small[i]);
        add_real(point, "share_of_tiles_double", series->precise[i]);
    }
    if (*series->said) add_text(to, "not_run", series->said);
}

static void add_scale(cJSON *array, const struct scale *scale)
{
    cJSON *to = add_entry(array);

    add_text(to, "precision", precision_word(scale->precision));
    add_real(to, "threads", scale->threads);
    add_figure(to, "seconds", scale->seconds);
    add_figure(to, "speedup", scale->speedup);
    (void)cJSON_AddBoolToObject(to, "same_bits", scale->same);
}

static void add_shot(cJSON *array, const struct shot *shot)
{
    cJSON *to = add_entry(array);

    add_text(to, "precision", precision_word(shot->precision));
    add_real(to, "orientations", shot->orientations);
    add_figure(to, "one_pixel_seconds", shot->pixel);
    add_figure(to, "tile_seconds", shot->tile);
    add_real(to, "call_seconds", shot->overhead);
}

static void add_gradient(cJSON *array, const struct gradient *gradient)
{
    const char letter[] = {gradient->c->letter, 0};
    cJSON *to = add_entry(array);

    add_text(to, "case", letter);
    add_text(to, "precision", precision_word(gradient->precision));
    add_text(to, "strategy", strategy_word(gradient->strategy));
    add_real(to, "parameters", (double)gradient->parameters);
    add_figure(to, "forward_seconds", gradient->forward);
    add_figure(to, "adjoint_seconds", gradient->adjoint);
    add_figure(to, "loss_seconds", gradient->loss);
    add_real(to, "fitted_parameters", (double)gradient->fitted);
    add_figure(to, "fitted_forward_seconds", gradient->image);
    add_figure(to, "tangent_seconds", gradient->tangent);
    add_figure(to, "sixteen_tangents_seconds", gradient->tangents);
    add_figure(to, "normal_seconds", gradient->normal);
}

static void add_peak(cJSON *array, const struct peak *peak)
{
    cJSON *to = add_entry(array);

    add_text(to, "what", peak->what);
    add_text(to, "strategy", strategy_word(peak->strategy));
    add_figure(to, "seconds", peak->seconds);
    add_figure(to, "resident_bytes", peak->resident);
    if (*peak->said) add_text(to, "not_run", peak->said);
}

static cJSON *make_document(const struct report *report)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *cases, *peers, *ladder, *threads, *shots, *gradients, *memory;

    add_text(root, "program", "nanobrag_bench");
    add_text(root, "version", nb_version());
    add_text(root, "features", nb_features());
    add_real(root, "threads", report->options->threads);
    add_real(root, "cores", report->cores);
    add_real(root, "load", report->load);
    add_real(root, "repeat", report->options->repeat);
    add_machine(cJSON_AddObjectToObject(root, "machine"), &report->machine);
    cases = cJSON_AddArrayToObject(root, "cases");
    for (int i = 0; i < report->nrows; i++) add_row(cases, &report->rows[i], report);
    peers = cJSON_AddArrayToObject(root, "peer");
    for (int i = 0; i < report->npeers; i++) add_peer(peers, &report->peers[i]);
    ladder = cJSON_AddArrayToObject(root, "ladder");
    for (int i = 0; i < report->nseries; i++) add_series(ladder, &report->series[i]);
    threads = cJSON_AddArrayToObject(root, "thread_scaling");
    for (int i = 0; i < report->nscales; i++) add_scale(threads, &report->scales[i]);
    shots = cJSON_AddArrayToObject(root, "many_shots");
    for (int i = 0; i < report->nshots; i++) add_shot(shots, &report->shots[i]);
    gradients = cJSON_AddArrayToObject(root, "gradients");
    for (int i = 0; i < report->ngradients; i++)
        add_gradient(gradients, &report->gradients[i]);
    memory = cJSON_AddArrayToObject(root, "memory");
    for (int i = 0; i < report->npeaks; i++) add_peak(memory, &report->peaks[i]);
    return root;
}

int json_write(const struct report *report, const char *path)
{
    cJSON *root = make_document(report);
    char *text = cJSON_Print(root);
    FILE *file = fopen(path, "w");
    int ok = file && text && fputs(text, file) >= 0 && fputc('\n', file) >= 0;

    if (file) ok = fclose(file) == 0 && ok;
    cJSON_free(text);
    cJSON_Delete(root);
    return ok;
}

#else

int json_write(const struct report *report, const char *path)
{
    (void)report, (void)path;
    return 0; /* -json was refused */
}

#endif
