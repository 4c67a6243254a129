/* json.c - the report as JSON; what was not measured is null. SPDX-License-Identifier: MIT
 */
#include "bench.h"

#ifdef NANOBRAG_CJSON

#include <math.h>
#include <stdio.h>

#include "cli/output/json_writer.h"

/* a figure that is positive where there is one */
static void add_figure(cJSON *to, const char *key, double value)
{
    json_figure(to, key, value > 0 ? value : NAN);
}

static void add_machine(cJSON *to, const struct machine *m)
{
    add_figure(to, "clock_hertz", m->hertz);
    add_figure(to, "sines_per_second", m->sines);
    json_text(to, "peak_isa", m->isa);
    add_figure(to, "peak_double_per_second", m->peak[NB_DOUBLE]);
    add_figure(to, "peak_float_per_second", m->peak[NB_SINGLE]);
}

static void add_case(cJSON *to, const struct bench_case *c)
{
    const char letter[2] = {c->letter, 0};

    json_text(to, "case", letter);
}

static void add_row(cJSON *array, const struct row *row, const struct report *report)
{
    const double core_seconds = row->library * report->options->threads;
    cJSON *to = json_entry(array);

    add_case(to, row->c);
    json_text(to, "what", row->c->what);
    json_text(to, "profile",
              row->profile == NB_PROFILE_NANOBRAGG ? "nanobragg" : "nanobrag");
    json_text(to, "precision", precision_word(row->precision));
    json_text(to, "strategy", strategy_word(row->strategy));
    json_flag(to, "auto", row->is_auto);
    json_text(to, "kernel", row->kernel);
    add_figure(to, "evaluations", row->evaluations);
    json_figure(to, "tiles", row->tiles);
    json_figure(to, "tiles_small", row->tiles_small);
    json_figure(to, "tiles_double", row->tiles_double);
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
    add_machine(json_object(to, "machine"), &row->machine);
    if (*row->said) json_text(to, "not_run", row->said);
}

static void add_peer(cJSON *array, const struct peer *peer)
{
    const int ran = peer->runs > 0;
    cJSON *to = json_entry(array);

    add_case(to, peer->c);
    json_text(to, "precision", precision_word(peer->precision));
    json_figure(to, "runs", peer->runs);
    add_figure(to, "peer_seconds", peer->theirs);
    add_figure(to, "seconds", peer->ours);
    add_figure(to, "ratio", peer->theirs / peer->ours);
    json_figure(to, "largest_difference_over_peak", ran ? peer->worst : NAN);
    json_figure(to, "pixels_that_differ", ran ? (double)peer->differ : NAN);
    json_figure(to, "one_minus_correlation", ran ? peer->decorrelation : NAN);
    if (*peer->said) json_text(to, "not_run", peer->said);
}

static void add_series(cJSON *array, const struct series *series)
{
    cJSON *to = json_entry(array), *points;

    json_text(to, "axis", series->axis);
    json_text(to, "precision", precision_word(series->precision));
    add_figure(to, "spread", series->spread);
    if (series->flat >= 0)
        json_flag(to, "flat", series->flat);
    else
        json_null(to, "flat");
    points = json_array(to, "points");
    for (int i = 0; i < series->n; i++) {
        cJSON *point = json_entry(points);

        add_figure(point, "x", series->x[i]);
        add_figure(point, "evaluations", series->evaluations[i]);
        add_figure(point, "seconds", series->seconds[i]);
        json_figure(point, "share_of_tiles_small", series->small[i]);
        json_figure(point, "share_of_tiles_double", series->precise[i]);
    }
    if (*series->said) json_text(to, "not_run", series->said);
}

static void add_scale(cJSON *array, const struct scale *scale)
{
    cJSON *to = json_entry(array);

    json_text(to, "precision", precision_word(scale->precision));
    json_figure(to, "threads", scale->threads);
    add_figure(to, "seconds", scale->seconds);
    add_figure(to, "speedup", scale->speedup);
    json_flag(to, "same_bits", scale->same);
}

static void add_shot(cJSON *array, const struct shot *shot)
{
    cJSON *to = json_entry(array);

    json_text(to, "precision", precision_word(shot->precision));
    json_figure(to, "orientations", shot->orientations);
    add_figure(to, "one_pixel_seconds", shot->pixel);
    add_figure(to, "tile_seconds", shot->tile);
    json_figure(to, "call_seconds", shot->overhead);
}

static void add_gradient(cJSON *array, const struct gradient *gradient)
{
    cJSON *to = json_entry(array);

    add_case(to, gradient->c);
    json_text(to, "precision", precision_word(gradient->precision));
    json_text(to, "strategy", strategy_word(gradient->strategy));
    json_figure(to, "parameters", (double)gradient->parameters);
    add_figure(to, "forward_seconds", gradient->forward);
    add_figure(to, "adjoint_seconds", gradient->adjoint);
    add_figure(to, "loss_seconds", gradient->loss);
    json_figure(to, "fitted_parameters", (double)gradient->fitted);
    add_figure(to, "fitted_forward_seconds", gradient->image);
    add_figure(to, "tangent_seconds", gradient->tangent);
    add_figure(to, "sixteen_tangents_seconds", gradient->tangents);
    add_figure(to, "normal_seconds", gradient->normal);
}

static void add_fit(cJSON *array, const struct fit *fit)
{
    static const char *const names[FIT_CALLS] = {"image_seconds", "value_seconds",
                                                 "gradient_seconds", "normal_seconds"};
    cJSON *to = json_entry(array);

    json_text(to, "what", fit->what);
    add_figure(to, "unit_seconds", fit->unit);
    for (int i = 0; i < FIT_CALLS; i++) add_figure(to, names[i], fit->seconds[i]);
}

static void add_continuous(cJSON *array, const struct continuous *c)
{
    cJSON *to = json_entry(array);

    json_text(to, "what", c->what);
    json_text(to, "part", c->part);
    json_text(to, "precision", precision_word(c->precision));
    add_figure(to, "seconds", c->seconds);
    add_figure(to, "domains_seconds", c->domains);
    add_figure(to, "unit_seconds", c->unit);
    add_figure(to, "wanted", c->wanted);
}

static void add_peak(cJSON *array, const struct peak *peak)
{
    cJSON *to = json_entry(array);

    json_text(to, "what", peak->what);
    json_text(to, "strategy", strategy_word(peak->strategy));
    add_figure(to, "seconds", peak->seconds);
    add_figure(to, "resident_bytes", peak->resident);
    if (*peak->said) json_text(to, "not_run", peak->said);
}

static cJSON *make_document(const struct report *report)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *cases, *peers, *ladder, *threads, *shots, *gradients, *fits, *memory;
    cJSON *continuous;

    json_text(root, "program", "nanobrag_bench");
    json_text(root, "version", nb_version());
    json_text(root, "features", nb_features());
    json_figure(root, "threads", report->options->threads);
    json_figure(root, "cores", report->cores);
    json_figure(root, "load", report->load);
    json_figure(root, "repeat", report->options->repeat);
    add_machine(json_object(root, "machine"), &report->machine);
    cases = json_array(root, "cases");
    for (int i = 0; i < report->nrows; i++) add_row(cases, &report->rows[i], report);
    peers = json_array(root, "peer");
    for (int i = 0; i < report->npeers; i++) add_peer(peers, &report->peers[i]);
    ladder = json_array(root, "ladder");
    for (int i = 0; i < report->nseries; i++) add_series(ladder, &report->series[i]);
    threads = json_array(root, "thread_scaling");
    for (int i = 0; i < report->nscales; i++) add_scale(threads, &report->scales[i]);
    shots = json_array(root, "many_shots");
    for (int i = 0; i < report->nshots; i++) add_shot(shots, &report->shots[i]);
    gradients = json_array(root, "gradients");
    for (int i = 0; i < report->ngradients; i++)
        add_gradient(gradients, &report->gradients[i]);
    fits = json_array(root, "fits");
    for (int i = 0; i < report->nfits; i++) add_fit(fits, &report->fits[i]);
    continuous = json_array(root, "continuous");
    for (int i = 0; i < report->ncontinuous; i++)
        add_continuous(continuous, &report->continuous[i]);
    memory = json_array(root, "memory");
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
