/*
 * mtz.c - reads reflections with a space group (MTZ, mmCIF) and expands them to P1. Writes
 * the asymmetric unit of a list as an MTZ. gemmi reads and writes the formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/mtz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "base/log.h"
#include "nanobrag_io/expand.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/gemmi/gemmi.h"
#include "scene/reflections/hkl_table.h"

/* Multiplies the row h k l by the rotation of an operator. */
static void turn(const int hkl[3], const struct gemmi_operator *by, int out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = hkl[0] * by->rotation[0][k] + hkl[1] * by->rotation[1][k]
                 + hkl[2] * by->rotation[2][k];
}

/* ---- reading: values ---- */

/* F of one reflection in one row of the file */
struct value {
    int key[3]; /* of its equivalents, the one with the largest h, then k, l */
    int hkl[3];
    size_t order; /* 2 x row, from 0, plus 1 for the mate in the same row */
    double f;
};

/* all values of a file, sorted by key */
struct values {
    const struct gemmi_crystal *crystal;
    /* number of operators with different rotations, which come first in the list */
    int rotations;
    int mates; /* 1: Friedel mates count as one reflection */
    size_t n;
    struct value *at;
};

/* Counts the operators with different rotations, which come first: others only add
 * centring. */
static int count_rotations(const struct gemmi_crystal *crystal)
{
    int n = 1;

    while (n < crystal->noperator
           && memcmp(crystal->operator_of[n].rotation, crystal->operator_of[0].rotation,
                     sizeof crystal->operator_of[0].rotation)
                  != 0)
        n++;
    return n;
}

static int compare_indices(const int a[3], const int b[3])
{
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_values(const void *a, const void *b)
{
    const struct value *one = a, *two = b;
    const int by_key = compare_indices(one->key, two->key);

    if (by_key != 0) return by_key;
    return one->order < two->order ? -1 : one->order > two->order;
}

/* Finds the key of a reflection. With `mates`, its Friedel mate has the same key. */
static void find_key(const struct values *values, int mates, const int hkl[3], int key[3])
{
    memcpy(key, hkl, 3 * sizeof *key);
    for (int n = 0; n < values->rotations; n++)
        for (int sign = mates ? -1 : 1; sign <= 1; sign += 2) {
            int to[3];

            turn(hkl, &values->crystal->operator_of[n], to);
            for (int k = 0; k < 3; k++) to[k] *= sign;
            if (compare_indices(to, key) > 0) memcpy(key, to, sizeof to);
        }
}

static void add_value(struct values *values, const int hkl[3], size_t order, double f)
{
    struct value *value = &values->at[values->n++];

    memcpy(value->hkl, hkl, sizeof value->hkl);
    value->order = order;
    value->f = f;
    find_key(values, values->mates, hkl, value->key);
}

/* Collects all values that are not missing, sorted by key. Without columns for Friedel
 * mates, the F of a row counts for both. Returns 0 if there is no memory. */
static int collect(const struct gemmi_reflections *from, int merge, struct values *out)
{
    *out = (struct values){.crystal = &from->crystal,
                           .rotations = count_rotations(&from->crystal),
                           .mates = !from->apart && merge != NB_MERGE_MATES,
                           .at = malloc((2 * from->n + 1) * sizeof *out->at)};
    if (!out->at) return 0;
    for (size_t i = 0; i < from->n; i++) {
        const int *hkl = from->hkl + 3 * i, mate[3] = {-hkl[0], -hkl[1], -hkl[2]};

        if (!isnan(from->f[2 * i])) add_value(out, hkl, 2 * i, from->f[2 * i]);
        if (from->apart && !isnan(from->f[2 * i + 1]))
            add_value(out, mate, 2 * i + 1, from->f[2 * i + 1]);
    }
    qsort(out->at, out->n, sizeof *out->at, compare_values);
    return 1;
}

static int agree(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b)); /* rounding of float32 */
}

/* ---- reading: merging ---- */

/* Refuses two values that disagree about a reflection; `others` counts further such
 * reflections. */
static nb_status refuse_values(nb_context *ctx, const char *name,
                               const struct values *values, const struct value *one,
                               const struct value *two, size_t others)
{
    int key[2][3], mates;
    char more[64] = "";

    find_key(values, 0, one->hkl, key[0]);
    find_key(values, 0, two->hkl, key[1]);
    mates = memcmp(key[0], key[1], sizeof key[0]) != 0;
    if (others > 0)
        (void)snprintf(more, sizeof more, " (likewise for %zu more reflections)", others);
    return fail(ctx, NB_ERR_FORMAT,
                "%s: F of %d %d %d in row %zu is %.7g, but F of %d %d %d in row %zu is "
                "%.7g: both are %s, but differ%s; choose by -merge mean, first or last%s",
                name, one->hkl[0], one->hkl[1], one->hkl[2], one->order / 2 + 1, one->f,
                two->hkl[0], two->hkl[1], two->hkl[2], two->order / 2 + 1, two->f,
                mates ? "Friedel mates" : "one reflection by the space group", more,
                mates ? ", or keep them apart by -merge mates" : "");
}

/* Merges the values of each reflection into one; the order stays. If values disagree,
 * `merge` (NB_MERGE_...) decides. */
static nb_status merge_values(nb_context *ctx, const char *name, int merge,
                              struct values *values)
{
    const struct value *first = NULL, *second = NULL;
    size_t merged = 0, disagree = 0, i = 0;

    while (i < values->n) {
        const size_t start = i;
        struct value one = values->at[start];
        const struct value *other = NULL;
        double sum = 0;

        for (; i < values->n && compare_indices(values->at[i].key, one.key) == 0; i++) {
            sum += values->at[i].f;
            if (!other && !agree(values->at[i].f, one.f)) other = &values->at[i];
        }
        if (other && (merge == NB_MERGE_NONE || merge == NB_MERGE_MATES)) {
            if (!first || one.order < first->order) {
                first = &values->at[start];
                second = other;
            }
            disagree++;
            continue;
        }
        if (other && merge == NB_MERGE_MEAN) one.f = sum / (double)(i - start);
        if (other && merge == NB_MERGE_LAST) one.f = values->at[i - 1].f;
        disagree += other != NULL;
        if (!first) values->at[merged++] = one;
    }
    if (first) return refuse_values(ctx, name, values, first, second, disagree - 1);
    if (disagree > 0)
        log_line(ctx, NB_LOG_NOTE, "reflections",
                 "%s: reflections whose rows differ in F: %zu; %s of the rows is taken",
                 name, disagree,
                 merge == NB_MERGE_MEAN    ? "the mean"
                 : merge == NB_MERGE_FIRST ? "the first"
                                           : "the last");
    values->n = merged;
    return NB_OK;
}

/* ---- reading: expanding ---- */

/* the equivalents of all values, with their F */
struct expanded {
    size_t n;
    int *hkl;
    double *f;
};

/* Returns 1 if the Friedel mate of a value has the same F: because the two are one
 * reflection, or because the mate is not listed although rows may list it. */
static int shares_f(const struct values *values, const struct gemmi_reflections *from,
                    const struct value *value)
{
    const int mate[3] = {-value->hkl[0], -value->hkl[1], -value->hkl[2]};
    size_t low = 0, high = values->n;
    int key[3];

    if (from->apart) return 0;
    if (values->mates) return 1;
    find_key(values, 0, mate, key);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_indices(values->at[middle].key, key);

        if (order == 0) return 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 1;
}

static void add_equivalents(struct expanded *to, const struct values *values,
                            const struct value *value, int sign)
{
    for (int n = 0; n < values->rotations; n++) {
        int hkl[3];

        turn(value->hkl, &values->crystal->operator_of[n], hkl);
        for (int k = 0; k < 3; k++) to->hkl[3 * to->n + (size_t)k] = sign * hkl[k];
        to->f[to->n++] = value->f;
    }
}

static nb_status expand(nb_context *ctx, const char *name,
                        const struct gemmi_reflections *from, const struct values *values,
                        nb_hkl **out)
{
    const size_t most = 2 * values->n * (size_t)values->rotations;
    struct expanded to = {0, malloc((most + 1) * 3 * sizeof *to.hkl),
                          malloc((most + 1) * sizeof *to.f)};
    nb_status status = NB_OK;

    if (!to.hkl || !to.f) {
        free(to.hkl);
        free(to.f);
        return fail_memory(ctx, name);
    }
    for (size_t i = 0; i < values->n; i++) {
        add_equivalents(&to, values, &values->at[i], 1);
        if (shares_f(values, from, &values->at[i]))
            add_equivalents(&to, values, &values->at[i], -1);
    }
    if (to.n == 0)
        status =
            fail(ctx, NB_ERR_FORMAT,
                 "%s: the column holds no value, all %zu are missing; name another column",
                 name, from->n);
    if (status == NB_OK) {
        status = nb_hkl_create(ctx, to.n, to.hkl, to.f, out);
        if (status != NB_OK)
            status =
                file_fail(ctx, status == NB_ERR_ARGUMENT ? NB_ERR_FORMAT : status, name);
    }
    free(to.hkl);
    free(to.f);
    return status;
}

/* Reports the choice of columns, and values that are doubtful. */
static void tell(nb_context *ctx, const char *name, const struct gemmi_reflections *list)
{
    const char *column = list->column;

    if (list->squares)
        log_line(ctx, NB_LOG_WARNING, "reflections",
                 "%s: F is the square root of the intensities in column %s%s%s%s", name,
                 column, list->calculated[0] ? ", not the calculated " : "",
                 list->calculated,
                 list->calculated[0] ? ", which FILE:LABEL would name" : "");
    if (list->negative > 0)
        log_line(ctx, NB_LOG_WARNING, "reflections",
                 "%s: negative %s in column %s: %zu; %s", name,
                 list->squares ? "intensities" : "F", column, list->negative,
                 list->squares ? "F is 0 there" : "the image uses F squared");
    if (list->unmeasured > 0)
        log_line(ctx, NB_LOG_WARNING, "reflections",
                 "%s: values in column %s with a sigma of 0 or less, which some programs "
                 "write for unmeasured reflections: %zu; the run uses them",
                 name, column, list->unmeasured);
    if (list->mateless)
        log_line(ctx, NB_LOG_WARNING, "reflections",
                 "%s: column %s is for one Friedel mate, and the other mate has no column: "
                 "both get the same F",
                 name, column);
    if (list->blocks > 0)
        log_line(ctx, NB_LOG_WARNING, "reflections",
                 "%s: only the first of %d blocks with reflections is read", name,
                 list->blocks + 1);
}

nb_status mtz_parse(nb_context *ctx, const char *name, const struct mtz_bytes *bytes,
                    nb_crystal_info *crystal, nb_hkl **out)
{
    struct gemmi_reflections *list = calloc(1, sizeof *list);
    struct values values = {0};
    char why[GEMMI_WHY];
    nb_status status;

    *out = NULL;
    if (!list) return fail_memory(ctx, name);
    status = gemmi_reflections_read(bytes->at, bytes->n, bytes->label, list, why);
    if (status != NB_OK) status = fail(ctx, status, "%s: %s", name, why);
    if (status == NB_OK && !collect(list, bytes->merge, &values))
        status = fail_memory(ctx, name);
    if (status == NB_OK) status = merge_values(ctx, name, bytes->merge, &values);
    if (status == NB_OK) status = expand(ctx, name, list, &values, out);
    if (status == NB_OK) tell(ctx, name, list);
    if (status == NB_OK && crystal) {
        memcpy(crystal->cell, list->crystal.cell, sizeof crystal->cell);
        memcpy(crystal->space_group, list->crystal.space_group,
               sizeof crystal->space_group);
        crystal->noperator = list->crystal.noperator;
    }
    free(values.at);
    gemmi_reflections_free(list);
    free(list);
    return status;
}

nb_status nb_mtz_read(nb_context *ctx, const char *path, const char *label, int merge,
                      nb_crystal_info *crystal, nb_hkl **out)
{
    STANDARD_FLOATS;
    enum { BYTES_MOST = 1 << 30 };
    unsigned char *bytes;
    size_t n;
    nb_status status;

    if (out) *out = NULL;
    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !out)
        return fail(ctx, NB_ERR_ARGUMENT, "nb_mtz_read: %s is NULL", path ? "out" : "path");
    if (merge < NB_MERGE_NONE || merge > NB_MERGE_MATES)
        return fail(ctx, NB_ERR_ARGUMENT, "nb_mtz_read: merge is %d, expected 0 to %d",
                    merge, (int)NB_MERGE_MATES);
    NB_TRY(expand_read(ctx, path, BYTES_MOST, &bytes, &n));
    status = mtz_parse(ctx, path, &(struct mtz_bytes){(char *)bytes, n, label, merge},
                       crystal, out);
    free(bytes);
    return status;
}

/* ---- writing ---- */

static int is_label(const char *label, size_t most)
{
    const size_t n = strlen(label);

    for (size_t i = 0; i < n; i++)
        if (label[i] <= ' ' || label[i] > '~') return 0;
    return n > 0 && n <= most;
}

static nb_status check_mtz(nb_context *ctx, const char *path, const nb_mtz *mtz)
{
    enum { LABEL_MOST = 24, TITLE_MOST = 70 };

    if (mtz->label && !is_label(mtz->label, LABEL_MOST))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "%s: the label is '%.40s', expected 1 to %d letters without blanks",
                    path, mtz->label, (int)LABEL_MOST);
    if (mtz->title && strlen(mtz->title) > TITLE_MOST)
        return fail(ctx, NB_ERR_ARGUMENT, "%s: the title has more than %d letters", path,
                    (int)TITLE_MOST);
    for (const char *at = mtz->title ? mtz->title : ""; *at; at++)
        if ((unsigned char)*at < ' ')
            return fail(ctx, NB_ERR_ARGUMENT, "%s: the title has several lines", path);
    if (!(mtz->wavelength >= 0 && mtz->wavelength < 1000))
        return fail(ctx, NB_ERR_ARGUMENT, "%s: the wavelength is %g A", path,
                    mtz->wavelength);
    for (int i = 0; i < 6; i++)
        if (!(mtz->cell[i] > 0 && mtz->cell[i] < 1e5))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "%s: number %d of the cell is %g; expected a b c in A, then three "
                        "angles in degree",
                        path, i + 1, mtz->cell[i]);
    return NB_OK;
}

/* the rows of an MTZ, and the list and crystal from which they are made */
struct rows {
    const nb_hkl *list;
    const int *place; /* (box) number of each place among the listed; -1: not listed */
    const struct gemmi_crystal *crystal;
    int friedel, columns;
    size_t n, forbidden; /* rows written; reflections with an F that are forbidden */
    int *hkl;
    float *value;
};

/* Returns the number of a reflection in the order of the list; -1 if it is not listed. */
static int number_of(const struct rows *rows, const int hkl[3])
{
    const nb_hkl *list = rows->list;

    if (!nb_hkl_get(list, hkl[0], hkl[1], hkl[2], NULL)) return -1;
    return rows->place[hkl_box_at(list, hkl[0], hkl[1], hkl[2]) - list->box];
}

/* Returns 1 if an operator maps a reflection onto itself but changes its phase, so that F
 * is 0 by the space group. */
static int is_absent(const struct gemmi_crystal *crystal, const int hkl[3])
{
    for (int n = 0; n < crystal->noperator; n++) {
        const struct gemmi_operator *op = &crystal->operator_of[n];
        const int turns =
            hkl[0] * op->shift[0] + hkl[1] * op->shift[1] + hkl[2] * op->shift[2];
        int to[3];

        turn(hkl, op, to);
        if (memcmp(to, hkl, sizeof to) == 0 && turns % GEMMI_SHIFT != 0) return 1;
    }
    return 0;
}

/* Sets F of a reflection and, unless `phase` is NULL, its phase, degree. NaN if not
 * listed. */
static void put_value(struct rows *rows, const int hkl[3], float *amplitude, float *phase)
{
    const int i = number_of(rows, hkl);

    *amplitude = i < 0 ? NAN : (float)*hkl_box_at(rows->list, hkl[0], hkl[1], hkl[2]);
    if (!phase) return;
    *phase = i < 0 ? NAN
                   : (float)(atan2(rows->list->factor[i][1], rows->list->factor[i][0]) * 180
                             / acos(-1));
}

/* Returns 1 for a listed F other than 0. In a list from a model (with phases) a forbidden F
 * is 0 except for rounding, so it does not count. */
static int has_value(const struct rows *rows, const int hkl[3])
{
    return !rows->list->factor && number_of(rows, hkl) >= 0
           && *hkl_box_at(rows->list, hkl[0], hkl[1], hkl[2]) != 0;
}

static void add_row(struct rows *rows, const int hkl[3])
{
    const int phases = rows->list->factor != NULL, mate[3] = {-hkl[0], -hkl[1], -hkl[2]};
    float *to = rows->value + rows->n * (size_t)rows->columns;

    const int *of = rows->friedel || number_of(rows, hkl) >= 0 ? hkl : mate;

    memcpy(rows->hkl + 3 * rows->n, hkl, 3 * sizeof *hkl);
    put_value(rows, of, to, phases ? to + 1 : NULL);
    if (rows->friedel)
        put_value(rows, mate, to + 1 + phases, phases ? to + 2 + phases : NULL);
    rows->n++;
}

/* Adds rows in the order of h, k, l. A reflection has a row also if only its Friedel mate
 * is listed. */
static void fill_rows(struct rows *rows)
{
    int most[3], at[3];

    for (int i = 0; i < 3; i++) {
        const int low = -rows->list->min[i], high = rows->list->size[i] - 1 - low;

        most[i] = low > high ? low : high;
    }
    for (at[0] = -most[0]; at[0] <= most[0]; at[0]++)
        for (at[1] = -most[1]; at[1] <= most[1]; at[1]++)
            for (at[2] = -most[2]; at[2] <= most[2]; at[2]++) {
                const int mate[3] = {-at[0], -at[1], -at[2]};

                if (number_of(rows, at) < 0 && number_of(rows, mate) < 0) continue;
                if ((at[0] == 0 && at[1] == 0 && at[2] == 0)
                    || !gemmi_in_asymmetric_unit(rows->crystal, at))
                    continue;
                if (is_absent(rows->crystal, at))
                    rows->forbidden += has_value(rows, at) || has_value(rows, mate);
                else
                    add_row(rows, at);
            }
}

static void name_columns(const nb_mtz *mtz, int phases, struct gemmi_mtz *out)
{
    const char *label = mtz->label ? mtz->label : "FC";
    const int mates = mtz->friedel ? 2 : 1;
    int n = 0;

    for (int mate = 0; mate < mates; mate++) {
        const char *end = !mtz->friedel ? "" : mate ? "(-)" : "(+)";

        (void)snprintf(out->label[n], sizeof out->label[n], "%s%s", label, end);
        out->type[n++] = mtz->friedel ? 'G' : 'F';
        if (!phases) continue;
        (void)snprintf(out->label[n], sizeof out->label[n], "PHI%s%s", label, end);
        out->type[n++] = 'P';
    }
    out->ncolumn = n;
}

static nb_status write_rows(nb_context *ctx, const char *path, const nb_mtz *mtz,
                            struct rows *rows)
{
    struct gemmi_mtz out = {.title = mtz->title ? mtz->title : "structure factors",
                            .space_group = rows->crystal->space_group,
                            .wavelength = mtz->wavelength};
    char *bytes, why[GEMMI_WHY];
    size_t n;
    nb_status status;

    memcpy(out.cell, mtz->cell, sizeof out.cell);
    name_columns(mtz, rows->list->factor != NULL, &out);
    rows->columns = out.ncolumn;
    rows->value =
        malloc((rows->list->count + 1) * (size_t)out.ncolumn * sizeof *rows->value);
    if (!rows->value) return fail_memory(ctx, path);
    fill_rows(rows);
    if (rows->forbidden > 0)
        log_line(ctx, NB_LOG_WARNING, "reflections",
                 "%s: reflections that the space group %s forbids are not written, though "
                 "the list has their F: %zu",
                 path, rows->crystal->space_group, rows->forbidden);
    if (rows->n == 0)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: no reflection of the list is in the asymmetric unit of %s; list "
                    "all equivalents",
                    path, rows->crystal->space_group);
    out.n = rows->n;
    out.hkl = rows->hkl;
    out.value = rows->value;
    status = gemmi_mtz_make(&out, &bytes, &n, why);
    if (status != NB_OK) return fail(ctx, status, "%s: %s", path, why);
    status = nb_file_write(ctx, path, bytes, n);
    free(bytes);
    return status;
}

/* Numbers the listed places of the box in their order. The caller frees the result; NULL:
 * no memory. */
static int *number_places(const nb_hkl *list)
{
    const size_t places = hkl_box_size(list);
    int *place = malloc(places * sizeof *place), n = 0;

    for (size_t i = 0; place && i < places; i++) place[i] = isnan(list->box[i]) ? -1 : n++;
    return place;
}

nb_status nb_mtz_write(nb_context *ctx, const char *path, const nb_mtz *mtz,
                       const nb_hkl *hkl)
{
    STANDARD_FLOATS;
    struct gemmi_crystal *crystal;
    struct rows rows = {.list = hkl};
    char why[GEMMI_WHY];
    nb_status status;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !mtz || !hkl)
        return fail(ctx, NB_ERR_ARGUMENT, "nb_mtz_write: %s is NULL",
                    !path  ? "path"
                    : !mtz ? "mtz"
                           : "hkl");
    NB_TRY(check_mtz(ctx, path, mtz));
    rows.friedel = mtz->friedel != 0;
    crystal = calloc(1, sizeof *crystal);
    if (!crystal) return fail_memory(ctx, path);
    rows.crystal = crystal;
    status = gemmi_space_group(mtz->space_group ? mtz->space_group : "P 1", mtz->cell,
                               crystal, why);
    if (status != NB_OK) status = fail(ctx, status, "%s: %s", path, why);
    if (status == NB_OK) {
        int *const place = number_places(hkl);

        rows.place = place;
        rows.hkl = malloc((hkl->count + 1) * 3 * sizeof *rows.hkl);
        status =
            place && rows.hkl ? write_rows(ctx, path, mtz, &rows) : fail_memory(ctx, path);
        free(place);
    }
    free(rows.hkl);
    free(rows.value);
    free(crystal);
    return status;
}
