/*
 * state_file.c - writes where a fit stands, as JSON, and reads it: the results, for a
 * reader, and the state of the minimiser, from which another run goes on as if this one had
 * not stopped. Matrices are not written, because they can be computed again from the
 * values, with the same bits.
 *
 * Reals are written with 17 digits, which read back exactly, or with 12 if they only tell
 * one scene from another. Reals that are not finite are null.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_fit/file/identity.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"
#include "nanobrag_io/file.h"

#ifdef NANOBRAG_CJSON
#include "nanobrag_fit/file/findings.h"

enum { FORMAT = 4 };
static const size_t file_limit = (size_t)1 << 30;

/* ---- writing ---- */

/* Number of members of a track that put_tracks() writes, in its order. */
enum { TRACK_NUMBERS = 9 };

/* Writes the values of tracks, and the state of each track. */
static void put_tracks(struct document *d, cJSON *to, const nb_fit *fit, const double *x,
                       const struct fit_track *track)
{
    cJSON *rows;

    document_reals(d, to, "x", x, fit->layout.n);
    rows = document_array(d, to, "tracks");
    for (size_t i = 0; i < fit_ntrack(fit); i++) {
        const struct fit_track *t = track + i;
        const double numbers[TRACK_NUMBERS] = {t->stage, t->attempt, t->fresh,
                                               t->end,   t->passes,  t->damping,
                                               t->loss,  t->gain,    t->misfit};

        document_reals(d, rows, NULL, numbers, TRACK_NUMBERS);
    }
}

static void put_state(struct document *d, const nb_fit *fit)
{
    const struct fit_layout *l = &fit->layout;
    cJSON *state = document_object(d, d->root, "state");

    document_real(d, state, "alone", fit->alone);
    document_real(d, state, "was_alone", fit->was_alone);
    document_real(d, state, "rounds", fit->rounds);
    put_tracks(d, state, fit, fit->best.x, fit->track);
    put_tracks(d, document_object(d, state, "kept"), fit, fit->kept.x, fit->kept_track);
    document_reals(d, state, "lower", fit->lower, l->n);
    document_reals(d, state, "upper", fit->upper, l->n);
    document_reals(d, state, "centre", fit->centre, l->n);
    document_reals(d, state, "weight", fit->weight, l->n);
    document_reals(d, state, "history", fit->history, (size_t)fit->joint);
}

/* Makes the document. Items for which there is no memory are counted in it, and
 * document_write() then reports an error. */
static struct document compose(const nb_fit *fit, const nb_fit_result *r,
                               const nb_fit_misfit *misfit)
{
    struct document d = document_begin();

    document_real(&d, d.root, "nanobrag_fit", FORMAT);
    document_text(&d, d.root, "nanobrag", nb_version());
    document_text(&d, d.root, "names", fit->names);
    document_real(&d, d.root, "method", fit->method);
    document_real(&d, d.root, "end", fit->end);
    document_real(&d, d.root, "passes", fit->passes);
    findings_put(&d, fit, r, misfit);
    put_state(&d, fit);
    return d;
}

/* Compares images with observed data after a run has ended; otherwise *out is NULL. A
 * shot that cannot be compared gets zeros. */
static nb_status compare_all(nb_fit *fit, nb_fit_misfit **out)
{
    const size_t n = fit->layout.nshot;

    *out = NULL;
    if (fit->end == NB_FIT_NOT_RUN || fit->is_expected) return NB_OK;
    *out = calloc(n, sizeof **out);
    if (!*out) return fail_memory(fit->ctx, "the file of a fit");
    for (size_t i = 0; i < n; i++)
        if ((!fit->left_out[i] || fit->is_held_out[i])
            && nb_fit_misfit_get(fit, (int64_t)i, *out + i) != NB_OK)
            memset(*out + i, 0, sizeof **out);
    return NB_OK;
}

nb_status nb_fit_write(nb_fit *fit, const char *path)
{
    STANDARD_FLOATS;
    nb_fit_misfit *misfit;
    nb_fit_result r;
    struct document d;
    nb_status status;

    if (!fit) return NB_ERR_ARGUMENT;
    if (!path) return fail(fit->ctx, NB_ERR_ARGUMENT, "a fit needs the path of a file");
    NB_TRY(nb_fit_result_get(fit, &r));
    NB_TRY(compare_all(fit, &misfit));
    status = nb_fit_result_get(fit, &r);
    if (status == NB_OK) {
        d = compose(fit, &r, misfit);
        status = document_write(fit->ctx, &d, path, "the file of a fit");
    }
    free(misfit);
    return status;
}

/* ---- reading ---- */

static nb_status refuse(nb_fit *fit, const char *path, const char *what)
{
    return fail(fit->ctx, NB_ERR_FORMAT,
                "%s: %s is missing or wrong; expected the file of a fit", path, what);
}

/* Reads n numbers; null is infinite. Returns 0 if there are not n numbers. */
static int get_reals(const cJSON *from, const char *key, double *out, size_t n)
{
    const cJSON *array = key ? cJSON_GetObjectItemCaseSensitive(from, key) : from;
    const cJSON *item;
    size_t i = 0;

    if (!cJSON_IsArray(array) || (size_t)cJSON_GetArraySize(array) != n) return 0;
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item) && !cJSON_IsNull(item)) return 0;
        out[i++] = cJSON_IsNull(item) ? INFINITY : item->valuedouble;
    }
    return 1;
}

static int get_whole(const cJSON *from, const char *key, int least, int most, int *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);

    if (!cJSON_IsNumber(item) || !(item->valuedouble >= least)
        || !(item->valuedouble <= most))
        return 0;
    *out = (int)item->valuedouble;
    return 1;
}

/* the content of a file, which is read as a whole before the fit takes any of it */
struct stored {
    int passes, end, alone, was_alone, rounds, njoint;
    double *x[2], *history; /* x: of tracks, and of kept tracks */
    struct fit_track *track[2];
    char **left_out;
    struct outliers_shot *outliers;
    double *scratch; /*                                      (n + identity_count()) */
    unsigned char *is_known; /* 1: the shot was loaded then, and is now        (nshot) */
};

static void stored_free(struct stored *stored, size_t nshot)
{
    for (size_t i = 0; stored->left_out && i < nshot; i++) free(stored->left_out[i]);
    for (size_t i = 0; stored->outliers && i < nshot; i++)
        outliers_free(stored->outliers + i);
    free(stored->left_out);
    free(stored->outliers);
    for (int k = 0; k < 2; k++) {
        free(stored->x[k]);
        free(stored->track[k]);
    }
    free(stored->history);
    free(stored->scratch);
    free(stored->is_known);
}

static int stored_make(const nb_fit *fit, struct stored *stored)
{
    const struct fit_layout *l = &fit->layout;

    for (int k = 0; k < 2; k++) {
        stored->x[k] = calloc(l->n, sizeof *stored->x[k]);
        stored->track[k] = calloc(l->nshot, sizeof *stored->track[k]);
        if (!stored->x[k] || !stored->track[k]) return 0;
    }
    stored->left_out = calloc(l->nshot, sizeof *stored->left_out);
    stored->outliers = calloc(l->nshot, sizeof *stored->outliers);
    stored->scratch = calloc(l->n + identity_count(), sizeof *stored->scratch);
    stored->is_known = calloc(l->nshot, 1);
    return stored->left_out && stored->outliers && stored->scratch && stored->is_known;
}

/* ---- is it the same fit? ---- */

static nb_status check_names(nb_fit *fit, const char *path, const cJSON *root)
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(root, "names");

    if (!cJSON_IsString(names)) return refuse(fit, path, "\"names\"");
    if (!strcmp(names->valuestring, fit->names)) return NB_OK;
    return fail(fit->ctx, NB_ERR_SCENE,
                "%s: the file is of a fit of \"%.200s\", not of \"%.200s\"", path,
                names->valuestring, fit->names);
}

/* Reads what left a shot. Returns 0 if the file is wrong. Without memory out->at is
 * NULL. */
static int get_outliers(const cJSON *entry, int64_t pixels, struct outliers_shot *out)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(entry, "outliers"), *row;
    int lost;

    if (!cJSON_IsArray(rows)
        || !get_whole(entry, "outlying_pixels", 0, (int)fmin((double)pixels, INT_MAX),
                      &lost))
        return 0;
    out->lost = lost;
    out->at = calloc((size_t)cJSON_GetArraySize(rows) + 1, sizeof *out->at);
    cJSON_ArrayForEach(row, rows)
    {
        double n[4];

        if (!out->at) return 1;
        if (!get_reals(row, NULL, n, 4)) return 0;
        for (int i = 0; i < 3; i++)
            if (!(n[i] >= -1 && n[i] < INT_MAX)) return 0;
        out->at[out->n++] = (nb_fit_outlier){(int)n[0], (int)n[1], (int)n[2], n[3]};
    }
    return 1;
}

static nb_status check_shot(nb_fit *fit, const char *path, const cJSON *entry, size_t shot,
                            struct stored *stored)
{
    const cJSON *why = cJSON_GetObjectItemCaseSensitive(entry, "left_out");
    const cJSON *identity = cJSON_GetObjectItemCaseSensitive(entry, "identity");
    const double *own = fit->identity + shot * identity_count();
    char what[200];

    if (!cJSON_IsNull(identity)
        && !get_reals(identity, NULL, stored->scratch, identity_count()))
        return refuse(fit, path, "\"identity\" of a shot");
    if (!get_outliers(entry, fit->pixels[shot] + fit->outliers[shot].lost,
                      stored->outliers + shot))
        return refuse(fit, path, "\"outliers\" of a shot");
    if (!stored->outliers[shot].at) return fail_memory(fit->ctx, "the file of a fit");
    /* if a shot could not be loaded, in the run of the file or now, nothing is known of
     * it */
    stored->is_known[shot] = !cJSON_IsNull(identity) && fit->is_loaded[shot];
    if (stored->is_known[shot] && identity_differs(stored->scratch, own, what, sizeof what))
        return fail(fit->ctx, NB_ERR_SCENE,
                    "%s: the file is of a fit of another scene: of %s, %s", path,
                    fit->name[shot], what);
    if (!cJSON_IsString(why)) return NB_OK;
    stored->left_out[shot] = strdup(why->valuestring);
    return stored->left_out[shot] ? NB_OK : fail_memory(fit->ctx, "the file of a fit");
}

static nb_status check_shots(nb_fit *fit, const char *path, const cJSON *root,
                             struct stored *stored)
{
    const cJSON *shots = cJSON_GetObjectItemCaseSensitive(root, "images"), *entry;
    const cJSON *every = cJSON_GetObjectItemCaseSensitive(root, "holdout");
    const double holdout = cJSON_IsNumber(every) ? every->valuedouble : 0;
    size_t shot = 0;

    if (holdout != fit->options.holdout)
        return fail(fit->ctx, NB_ERR_SCENE, "%s: -holdout is %.10g in the file and %d here",
                    path, holdout, fit->options.holdout);
    if (!cJSON_IsArray(shots)) return refuse(fit, path, "\"images\"");
    if ((size_t)cJSON_GetArraySize(shots) != fit->layout.nshot)
        return fail(fit->ctx, NB_ERR_SCENE,
                    "%s: the number of shots in the fit is %d in the file and %zu here",
                    path, cJSON_GetArraySize(shots), fit->layout.nshot);
    cJSON_ArrayForEach(entry, shots) NB_TRY(check_shot(fit, path, entry, shot++, stored));
    for (shot = 0; shot < fit->layout.nshot; shot++)
        if (!stored->left_out[shot]) return NB_OK;
    return refuse(fit, path, "a shot that is not left out");
}

static nb_status check_numbers(nb_fit *fit, const char *path, const cJSON *state,
                               const char *key, const char *what, const double *own,
                               const struct stored *stored)
{
    double *scratch = stored->scratch;

    if (!get_reals(state, key, scratch, fit->layout.n)) return refuse(fit, path, key);
    for (size_t i = 0; i < fit->layout.n; i++) {
        const int64_t shot = fit->value[i].shot;

        if (shot >= 0 && !stored->is_known[shot]) continue;
        if (identity_same(scratch[i], own[i])) continue;
        return fail(fit->ctx, NB_ERR_SCENE,
                    "%s: the file is of another fit: the %s of %s is %.10g in the file and "
                    "%.10g here",
                    path, what, fit->value[i].param.name, scratch[i], own[i]);
    }
    return NB_OK;
}

static nb_status check_starts(nb_fit *fit, const char *path, const cJSON *root,
                              const struct stored *stored)
{
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(root, "values"), *entry;
    size_t i = 0;

    if (!cJSON_IsArray(values) || (size_t)cJSON_GetArraySize(values) != fit->layout.n)
        return refuse(fit, path, "\"values\"");
    cJSON_ArrayForEach(entry, values)
    {
        const cJSON *start = cJSON_GetObjectItemCaseSensitive(entry, "start");
        const int64_t shot = fit->value[i].shot;

        if (!cJSON_IsNumber(start)) return refuse(fit, path, "\"start\" of a value");
        if ((shot < 0 || stored->is_known[shot])
            && !identity_same(start->valuedouble, fit->start[i]))
            return fail(fit->ctx, NB_ERR_SCENE,
                        "%s: the file is of a fit from another start: %s is %.10g in the "
                        "file and %.10g here",
                        path, fit->value[i].param.name, start->valuedouble, fit->start[i]);
        i++;
    }
    return NB_OK;
}

/* ---- the state ---- */

static int get_track(const cJSON *row, struct fit_track *t)
{
    double n[TRACK_NUMBERS];

    if (!get_reals(row, NULL, n, TRACK_NUMBERS)) return 0;
    for (int i = 0; i < 5; i++)
        if (!(n[i] >= 0 && n[i] < 1e9)) return 0;
    if (n[0] > 8 || n[1] > 2 || n[2] > 1 || n[3] > NB_FIT_FAILED
        || !(n[5] > 0 && n[5] < 1e20) || !(n[8] >= 0 && n[8] < 1e30))
        return 0;
    *t = (struct fit_track){.stage = (int)n[0],
                            .attempt = (int)n[1],
                            .fresh = (int)n[2],
                            .end = (int)n[3],
                            .passes = (int)n[4],
                            .damping = n[5],
                            .loss = n[6],
                            .gain = n[7],
                            .misfit = n[8]};
    return 1;
}

/* Reads the tracks, or with is_kept the kept tracks. A kept track counts if its track is in
 * attempt 1, and must then be the end of an attempt 0. Returns 0 if the file is wrong. */
static int get_tracks(const nb_fit *fit, const cJSON *from, struct stored *stored,
                      int is_kept)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(from, "tracks"), *row;
    const size_t n = stored->alone ? fit->layout.nshot : 1;
    struct fit_track *track = stored->track[is_kept];
    size_t i = 0;

    if (!get_reals(from, "x", stored->x[is_kept], fit->layout.n) || !cJSON_IsArray(rows)
        || (size_t)cJSON_GetArraySize(rows) != n)
        return 0;
    cJSON_ArrayForEach(row, rows) if (!get_track(row, track + i++)) return 0;
    for (i = 0; is_kept && i < n; i++) {
        if (stored->track[0][i].attempt != 1)
            track[i].attempt = 0;
        else if (track[i].attempt > 0 || track[i].fresh || track[i].end == NB_FIT_NOT_RUN)
            return 0;
    }
    return 1;
}

static nb_status get_history(nb_fit *fit, const char *path, const cJSON *state,
                             struct stored *stored)
{
    const cJSON *history = cJSON_GetObjectItemCaseSensitive(state, "history");
    const size_t n = cJSON_IsArray(history) ? (size_t)cJSON_GetArraySize(history) : 0;

    stored->history = calloc(n + 1, sizeof *stored->history);
    if (!stored->history) return fail_memory(fit->ctx, "the file of a fit");
    if (!get_reals(state, "history", stored->history, n))
        return refuse(fit, path, "\"history\"");
    stored->njoint = (int)n;
    return NB_OK;
}

/* Refuses values outside their bounds. Kept values count only if their track is in attempt
 * 1. */
static nb_status check_values(nb_fit *fit, const char *path, const struct stored *stored,
                              int is_kept)
{
    for (size_t i = 0; i < fit->layout.n; i++) {
        const double x = stored->x[is_kept][i];
        const int64_t shot = fit->value[i].shot;
        const struct fit_track *track =
            stored->track[0] + (stored->alone && shot > 0 ? shot : 0);

        if (shot >= 0 && !stored->is_known[shot]) continue;
        if (is_kept && ((stored->alone && shot < 0) || track->attempt != 1)) continue;
        if (isfinite(x) && x >= fit->lower[i] && x <= fit->upper[i]) continue;
        return fail(fit->ctx, NB_ERR_FORMAT,
                    "%s: the file was changed: %s is %.10g, outside the bounds %.10g and "
                    "%.10g; run the fit again",
                    path, fit->value[i].param.name, x, fit->lower[i], fit->upper[i]);
    }
    return NB_OK;
}

/* Returns 1 if passes, losses and end of a file agree, as far as can be told before any
 * evaluation. */
static int is_consistent(const nb_fit *fit, const struct stored *stored)
{
    const struct fit_track *t = stored->track[0];
    const int n = stored->njoint, may_be_more = fit_begins_alone(fit);
    const int has_ended = stored->end == NB_FIT_CONVERGED || stored->end == NB_FIT_STUCK;

    for (int i = 0; i < n; i++)
        if (isnan(stored->history[i])) return 0;
    if (may_be_more ? stored->passes < n : stored->passes != n) return 0;
    if (stored->alone && (n > 0 || has_ended)) return 0;
    if (has_ended && fit->method == NB_FIT_LM && t->end != stored->end) return 0;
    return n == 0 || identity_same(stored->history[n - 1], t->loss)
           || identity_same(stored->history[n - 1], stored->track[1]->loss);
}

static nb_status get_state(nb_fit *fit, const char *path, const cJSON *root,
                           struct stored *stored)
{
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(root, "state");
    const cJSON *kept = cJSON_GetObjectItemCaseSensitive(state, "kept");

    if (!get_whole(root, "passes", 1, 1000000000, &stored->passes)
        || !get_whole(root, "end", NB_FIT_NOT_RUN, NB_FIT_FAILED, &stored->end)
        || !get_whole(state, "alone", 0, fit_begins_alone(fit), &stored->alone)
        || !get_whole(state, "was_alone", 0, fit_begins_alone(fit), &stored->was_alone)
        || !get_whole(state, "rounds", 0, OUTLIERS_ROUNDS, &stored->rounds)
        || !get_tracks(fit, state, stored, 0) || !get_tracks(fit, kept, stored, 1))
        return refuse(fit, path, "the state of the fit");
    NB_TRY(check_numbers(fit, path, state, "lower", "lower bound", fit->lower, stored));
    NB_TRY(check_numbers(fit, path, state, "upper", "upper bound", fit->upper, stored));
    NB_TRY(check_numbers(fit, path, state, "centre", "restraint", fit->centre, stored));
    NB_TRY(check_numbers(fit, path, state, "weight", "restraint's 1/sigma^2", fit->weight,
                         stored));
    for (int k = 0; k < 2; k++) NB_TRY(check_values(fit, path, stored, k));
    NB_TRY(get_history(fit, path, state, stored));
    if (is_consistent(fit, stored)) return NB_OK;
    return refuse(fit, path, "the passes, the losses or the end of the fit");
}

static const char *method_name(int method)
{
    return method == NB_FIT_LM ? "Levenberg and Marquardt" : "L-BFGS";
}

static nb_status take_all(nb_fit *fit, const char *path, const cJSON *root,
                          struct stored *stored)
{
    int format, method;

    if (!get_whole(root, "nanobrag_fit", 1, FORMAT, &format))
        return refuse(fit, path, "\"nanobrag_fit\": 4");
    if (format < FORMAT)
        return fail(fit->ctx, NB_ERR_FORMAT,
                    "%s: an older nanobrag wrote this file of a fit, in format %d; this "
                    "version reads format %d: run the fit again",
                    path, format, FORMAT);
    if (!get_whole(root, "method", NB_FIT_LM, NB_FIT_LBFGS, &method))
        return refuse(fit, path, "\"method\"");
    if (method != fit->method)
        return fail(fit->ctx, NB_ERR_SCENE, "%s: the file is of a fit by %s, not by %s",
                    path, method_name(method), method_name(fit->method));
    NB_TRY(check_names(fit, path, root));
    NB_TRY(check_shots(fit, path, root, stored));
    NB_TRY(check_starts(fit, path, root, stored));
    return get_state(fit, path, root, stored);
}

/* Makes the content of a file the state of the fit; nothing can fail here. */
static void become(nb_fit *fit, char *path, struct stored *stored)
{
    const struct fit_layout *l = &fit->layout;
    int has_kept = 0;

    free(fit->path);
    fit->path = path;

    memcpy(fit->best.x, stored->x[0], l->n * sizeof *fit->best.x);
    memcpy(fit->kept.x, stored->x[1], l->n * sizeof *fit->kept.x);
    memcpy(fit->track, stored->track[0], l->nshot * sizeof *fit->track);
    memcpy(fit->kept_track, stored->track[1], l->nshot * sizeof *fit->kept_track);
    for (size_t i = 0; i < l->nshot; i++) {
        char *before = fit->left_out[i];

        has_kept |= stored->track[0][i].attempt == 1;
        outliers_replace(fit, i, stored->outliers[i].at, stored->outliers[i].n,
                         stored->outliers[i].lost);
        stored->outliers[i].at = NULL;
        if (choices_holds_out(fit, i)) continue; /* the present reason stays */
        fit->left_out[i] = stored->left_out[i];
        stored->left_out[i] = before;
    }
    free(fit->history);
    fit->history = stored->history;
    fit->history_room = (size_t)stored->njoint + 1;
    stored->history = NULL;
    fit->joint = stored->njoint;
    fit->passes = stored->passes;
    fit->run_passes = 0; /* this fit has not run yet */
    fit->end = stored->end;
    fit->alone = stored->alone;
    fit->was_alone = stored->was_alone;
    fit->rounds = stored->rounds;
    fit->reload = has_kept ? RELOAD_KEPT : RELOAD_BEST;
}

nb_status nb_fit_read(nb_fit *fit, const char *path)
{
    STANDARD_FLOATS;
    struct stored stored = {0};
    unsigned char *bytes = NULL;
    char *own_path;
    size_t n;
    cJSON *root;
    nb_status status;

    if (!fit) return NB_ERR_ARGUMENT;
    if (!path) return fail(fit->ctx, NB_ERR_ARGUMENT, "a fit needs the path of a file");
    NB_TRY(file_read(fit->ctx, path, file_limit, NULL, &bytes, &n));
    errno = 0;
    root = cJSON_ParseWithLength((const char *)bytes, n);
    free(bytes);
    if (!root && errno == ENOMEM) return fail_memory(fit->ctx, "the file of a fit");
    if (!root) return refuse(fit, path, "JSON");
    if (stored_make(fit, &stored)) {
        status = take_all(fit, path, root, &stored);
        own_path = status == NB_OK ? strdup(path) : NULL;
        if (own_path)
            become(fit, own_path, &stored);
        else if (status == NB_OK)
            status = fail_memory(fit->ctx, "the file of a fit");
    } else
        status = fail_memory(fit->ctx, "the file of a fit");
    cJSON_Delete(root);
    stored_free(&stored, fit->layout.nshot);
    return status;
}

#else

static nb_status unsupported(nb_fit *fit)
{
    if (!fit) return NB_ERR_ARGUMENT;
    return fail(fit->ctx, NB_ERR_UNSUPPORTED,
                "this build has no cJSON, which files of fits need; install libcjson-dev "
                "and build again");
}

nb_status nb_fit_write(nb_fit *fit, const char *path)
{
    (void)path;
    return unsupported(fit);
}

nb_status nb_fit_read(nb_fit *fit, const char *path)
{
    (void)path;
    return unsupported(fit);
}

#endif
