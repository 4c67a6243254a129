/*
 * fit_sources.c - lists the images of a fit: the files of -data, or a list of -shots in
 * JSON,
 *
 * [ {"data": "a.img", "misset": [10, 20, 30], "scale": 0.8}, ... ]
 *
 * whose members besides "data" set parameters of the image's scene, or a group of
 * parameters by an array.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#ifdef NANOBRAG_CJSON
#include <cjson/cJSON.h>
#endif

#include "nanobrag_program/fit/fit_run.h"

void fit_sources_free(struct fit_sources *sources)
{
    for (size_t i = 0; i < sources->n; i++) {
        steady_file_end(&sources->at[i].steady);
        free(sources->at[i].file);
        free(sources->at[i].names);
        free(sources->at[i].values);
        reflection_boxes_free(&sources->at[i].boxes);
    }
    steady_file_end(&sources->mask);
    free(sources->at);
    memset(sources, 0, sizeof *sources);
}

/* Begins with a file, an image or a mask. Of a pipe no more is copied than a header and an
 * image of doubles. Returns 0 or the exit status. */
static int begin(struct run *run, const char *file, struct steady_file *out)
{
    enum { HEADER_MOST = 1 << 20 };
    const nb_description *d = &run->command.description;
    const size_t pixels = (size_t)d->nfast * (size_t)d->nslow;
    return steady_file_begin(run->command.messages, file,
                             HEADER_MOST + pixels * sizeof(double), out);
}

int fit_sources_add(struct run *run, struct fit_sources *out, const char *file)
{
    struct fit_source *at = realloc(out->at, (out->n + 1) * sizeof *at);
    if (at) out->at = at;
    char *const copy = at && file ? strdup(file) : NULL;
    if (!at || (file && !copy))
        return message_failure(run->command.messages,
                               "out of memory for the images of a fit");
    at += out->n++;
    *at = (struct fit_source){.file = copy,
                              .phi0 = run->command.resolved.scan.phi0,
                              .experiment = run->command.inputs.expt_number,
                              .image = -1};
    return copy ? begin(run, copy, &at->steady) : 0;
}

#ifdef NANOBRAG_CJSON

/* ---- -shots ---- */

static int wrong(struct run *run, size_t entry, const char *what)
{
    return message_usage(run->command.messages, "%s: entry %zu: %s",
                         run->command.s->fit.shots, entry + 1, what);
}

/* Reads a member: a number, or an array of numbers. Returns how many; 0 if it is
 * neither. */
static size_t numbers_of(const cJSON *member, double *values, size_t room)
{
    const cJSON *item;
    size_t n = 0;
    if (cJSON_IsNumber(member)) {
        values[0] = member->valuedouble;
        return 1;
    }
    if (!cJSON_IsArray(member)) return 0;
    cJSON_ArrayForEach(item, member)
    {
        if (!cJSON_IsNumber(item) || n == room) return 0;
        values[n++] = item->valuedouble;
    }
    return n;
}

/* Adds the name and the numbers of a member to the parameters of an image. Returns 0 or the
 * exit status. */
static int add_member(struct run *run, size_t entry, const cJSON *member,
                      struct fit_source *source)
{
    enum { MOST = 10000 };
    const size_t length = source->names ? strlen(source->names) : 0;
    double *numbers = malloc(MOST * sizeof *numbers);
    char *names = realloc(source->names, length + strlen(member->string) + 2);
    if (names) source->names = names;
    const size_t n = numbers ? numbers_of(member, numbers, MOST) : 0;
    double *values = realloc(source->values, (source->nvalue + n + 1) * sizeof *values);
    if (values) source->values = values;
    int code = 0;
    if (!numbers || !names || !values)
        code = message_failure(run->command.messages, "out of memory for %s",
                               run->command.s->fit.shots);
    else if (n == 0) {
        char what[200];
        (void)snprintf(what, sizeof what,
                       "\"%.100s\": expected a number or an array of numbers",
                       member->string);
        code = wrong(run, entry, what);
    } else {
        (void)sprintf(names + length, "%s ", member->string);
        memcpy(values + source->nvalue, numbers, n * sizeof *values);
        source->nvalue += n;
    }
    free(numbers);
    return code;
}

/* Checks that all numbers are within the bounds of their parameters. Also sets
 * source->phi0. Returns 0 or the exit status. */
static int check_bounds(struct run *run, size_t entry, struct fit_source *source,
                        const nb_simulator *sim)
{
    nb_param p;
    char what[300];
    for (size_t i = 0; i < source->nvalue && nb_simulator_param(sim, i, &p) == NB_OK; i++) {
        const double value = source->values[i];
        if (strcmp(p.name, "phi0") == 0) source->phi0 = value;
        if (value >= p.lower && value <= p.upper) continue;
        (void)snprintf(what, sizeof what, "%.64s is %.12g, expected %g to %g", p.name,
                       value, p.lower, p.upper);
        return wrong(run, entry, what);
    }
    return 0;
}

/* Checks by a simulator that the names are parameters and that each has its number. Returns
 * 0 or the exit status. */
static int check_names(struct run *run, size_t entry, struct fit_source *source)
{
    nb_simulator *sim = NULL;
    if (!source->names) return 0;
    const nb_status status = nb_simulator_create(run->command.ctx, &run->command.resolved,
                                                 source->names, &run->command.s->how, &sim);
    const size_t n = nb_simulator_nparam(sim);
    int code = 0;
    if (status != NB_OK)
        code = wrong(run, entry, nb_context_message(run->command.ctx));
    else if (n == source->nvalue)
        code = check_bounds(run, entry, source, sim);
    else {
        const int length =
            (int)strlen(source->names) - 1; /* without the blank at its end */
        char what[300];
        (void)snprintf(what, sizeof what,
                       "%.*s: expected %zu number%s, but the file gives %zu",
                       length < 150 ? length : 150, source->names, n, n == 1 ? "" : "s",
                       source->nvalue);
        code = wrong(run, entry, what);
    }
    nb_simulator_free(sim);
    return code;
}

static int add_entry(struct run *run, size_t entry, const cJSON *from,
                     struct fit_sources *out)
{
    const cJSON *const data = cJSON_GetObjectItemCaseSensitive(from, "data");
    const cJSON *member;
    if (!cJSON_IsObject(from)) return wrong(run, entry, "expected an object in braces");
    if (!cJSON_IsString(data) && !run->command.s->fit.fisher)
        return wrong(run, entry, "expected \"data\": \"FILE\"");
    int code = fit_sources_add(run, out, cJSON_IsString(data) ? data->valuestring : NULL);
    if (code) return code;
    cJSON_ArrayForEach(member, from)
    {
        if (strcmp(member->string, "data") == 0) continue;
        code = add_member(run, entry, member, &out->at[out->n - 1]);
        if (code) return code;
    }
    return check_names(run, entry, &out->at[out->n - 1]);
}

static char *read_text(const char *path)
{
    enum { MOST = 1 << 28 };
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0, room = 0;
    errno = file ? 0 : errno;
    while (file && n < MOST) {
        if (n + 1 >= room) {
            room = 2 * room + 65536;
            char *more = realloc(text, room);
            if (!more) break;
            text = more;
        }
        const size_t got = fread(text + n, 1, room - n - 1, file);
        n += got;
        text[n] = 0;
        if (got == 0) break;
    }
    if (file) (void)fclose(file);
    return text;
}

static int read_shots(struct run *run, struct fit_sources *out)
{
    const char *const path = run->command.s->fit.shots;
    char *const text = read_text(path);
    if (!text)
        return message_usage(run->command.messages, "-shots %s: cannot be read: %s", path,
                             strerror(errno ? errno : ENOMEM));
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithOpts(text, &end, 0);
    int code = 0;
    if (!root) {
        int line = 1;
        for (const char *p = text; p < end; p++) line += *p == '\n';
        code =
            message_usage(run->command.messages, "%s, line %d: expected JSON", path, line);
    } else if (!cJSON_IsArray(root) || cJSON_GetArraySize(root) == 0)
        code = message_usage(run->command.messages,
                             "%s: expected an array of images, [{\"data\": \"FILE\"}, ...]",
                             path);
    size_t entry = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, root)
    {
        if (code) break;
        code = add_entry(run, entry++, item, out);
    }
    cJSON_Delete(root);
    free(text);
    return code;
}

#else

static int read_shots(struct run *run, struct fit_sources *out)
{
    (void)out;
    return message_usage(run->command.messages, "-shots %s: this build lacks cJSON",
                         run->command.s->fit.shots);
}

#endif

/* ---- outputs that would overwrite inputs ---- */

/* Refuses an output that is an image or another input. -fitfile may be the file of -resume,
 * which it replaces. Returns 0 or the exit status. */
static int keep_images(const struct run *run, const struct fit_sources *sources,
                       const char *name)
{
    const char *const resume = run->command.s->fit.resume, *input = NULL;
    if (resume && name != run->command.s->fit.fitfile && outputs_same_file(name, resume))
        input = resume;
    for (size_t i = 0; i < sources->n; i++)
        if (sources->at[i].file
            && outputs_same_file(name, sources->at[i].steady.copy
                                           ? sources->at[i].file
                                           : steady_file_path(&sources->at[i].steady)))
            input = sources->at[i].file;
    if (input)
        return message_usage(run->command.messages,
                             "%s is an input and would be overwritten", input);
    return outputs_keep_inputs(run, name);
}

/* Checks the files of -fitimage, whose number and names are known only now. Returns 0 or
 * the exit status. */
static int check_fitimages(const struct run *run, const struct fit_sources *sources)
{
    const char *const others[] = {run->command.s->fit.fitfile, run->command.s->json};
    int code = 0;
    for (size_t i = 0; run->command.s->fit.fitimage && i < sources->n && !code; i++) {
        char *const name =
            output_name(run->command.s->fit.fitimage, (int)i, sources->n > 1);
        if (!name) return message_failure(run->command.messages, "out of memory");
        code = keep_images(run, sources, name);
        for (int k = 0; k < 2 && !code; k++)
            if (others[k] && outputs_same_file(name, others[k]))
                code = message_usage(run->command.messages,
                                     "two outputs have the same name %s; change one", name);
        free(name);
    }
    return code;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Warns of a file that is listed twice, because it counts as two images. */
static int warn_of_twins(const struct run *run, const struct fit_sources *sources)
{
    const char **names = malloc((sources->n + 1) * sizeof *names);
    size_t n = 0;
    if (!names) return message_failure(run->command.messages, "out of memory");
    for (size_t i = 0; i < sources->n; i++)
        if (sources->at[i].file) names[n++] = sources->at[i].file;
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp(names[i], names[i - 1]) == 0)
            message_warning(run->command.messages,
                            "%s is given more than once and counts as several images",
                            names[i]);
    free(names);
    return 0;
}

int fit_sources_check(const struct run *run, const struct fit_sources *sources)
{
    const struct settings *const s = run->command.s;
    const char *const names[] = {s->fit.fitfile, s->fit.fittable, s->json,  s->reflout,
                                 s->exptout,     s->geomout,      s->truth, s->integrate};
    int code = warn_of_twins(run, sources);
    for (size_t i = 0; i < sizeof names / sizeof *names && !code; i++)
        if (names[i] && !names_stdout(names[i])) code = keep_images(run, sources, names[i]);
    return code ? code : check_fitimages(run, sources);
}

/* Makes the middle of all images the phi at which the crystal's drift is 0, unless
 * -drift_phi states one. */
static void place_drift(struct run *run, const struct fit_sources *sources)
{
    nb_scan *const scan = &run->command.resolved.scan;
    double low = INFINITY, high = -INFINITY;
    if (run->command.s->given[OPT_DRIFT_PHI]) return;
    for (size_t i = 0; i < sources->n; i++) {
        low = fmin(low, sources->at[i].phi0);
        high = fmax(high, sources->at[i].phi0);
    }
    scan->drift_phi = (low + high + scan->osc) / 2;
    if (run->command.s->fit.shared && strstr(run->command.s->fit.shared, "rotation_drift"))
        message_note(run->command.messages,
                     "the drift is 0 in the middle of all images, at phi %.10g degrees; "
                     "-drift_phi sets another phi",
                     scan->drift_phi);
}

static int read_all(struct run *run, struct fit_sources *out)
{
    const struct event_list *const events = run->command.events;
    const char *const mask = run->command.s->fit.data_mask;
    const int refused = mask ? begin(run, mask, &out->mask) : 0;
    if (refused) return refused;
    if (run->command.s->fit.shots && !run->command.inputs.is_list)
        return read_shots(run, out);
    for (size_t i = 0; i < events->n; i++) {
        if (events->at[i].option != OPT_DATA) continue;
        const int code = fit_sources_add(run, out, events->at[i].text);
        if (code) return code;
    }
    if (out->n > 0) return 0;
    return run->command.s->fit.fisher || run->command.s->fit.fisher_scan
               ? fit_sources_add(run, out, NULL)
               : fit_experiments_add(run, out);
}

int fit_sources_read(struct run *run, struct fit_sources *out)
{
    int code = read_all(run, out);
    if (!code) code = fit_experiments_place(run, out);
    if (!code) code = fit_frames_place(run, out);
    if (!code) code = fit_experiments_boxes(run, out);
    if (!code) place_drift(run, out);
    return code;
}
