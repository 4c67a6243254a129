/*
 * mtz.c - reads reflections with a space group (MTZ, mmCIF) into a list of P1, and writes
 * the asymmetric unit of a list as an MTZ. gemmi does the formats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "io/mtz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "io/file.h"
#include "io/gemmi/gemmi.h"
#include "io/gzip.h"
#include "scene/reflections/hkl_table.h"

/* h k l times a rotation, which acts from the right. */
static void turn(const int hkl[3], const struct gemmi_operator *by, int out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = hkl[0] * by->rotation[0][k] + hkl[1] * by->rotation[1][k]
                 + hkl[2] * by->rotation[2][k];
}

/* ---- reading ---- */

/* Every equivalent of every value, and for F also its Friedel mate. */
struct expanded {
    size_t n;
    int *hkl;
    double *f;
};

static void add_mate(struct expanded *to, const int hkl[3], int sign, double f)
{
    for (int k = 0; k < 3; k++) to->hkl[3 * to->n + (size_t)k] = sign * hkl[k];
    to->f[to->n++] = f;
}

/* The first operators with different rotations: those without centring. */
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

static nb_status expand(nb_context *ctx, const char *name,
                        const struct gemmi_reflections *from, nb_hkl **out)
{
    const int rotations = count_rotations(&from->crystal);
    const size_t most = 2 * from->n * (size_t)rotations;
    struct expanded to = {0, malloc((most + 1) * 3 * sizeof *to.hkl),
                          malloc((most + 1) * sizeof *to.f)};
    nb_status status = NB_OK;

    if (!to.hkl || !to.f) {
        free(to.hkl);
        free(to.f);
        return fail_memory(ctx, name);
    }
    for (size_t i = 0; i < from->n; i++)
        for (int n = 0; n < rotations; n++) {
            int hkl[3];

            turn(from->hkl + 3 * i, &from->crystal.operator_of[n], hkl);
            for (size_t mate = 0; mate < 2; mate++)
                if (!isnan(from->f[2 * i + mate]))
                    add_mate(&to, hkl, mate ? -1 : 1, from->f[2 * i + mate]);
        }
    if (to.n == 0)
        status =
            fail(ctx, NB_ERR_FORMAT,
                 "%s: the column holds no value, all %zu are missing; name another one",
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

nb_status mtz_parse(nb_context *ctx, const char *name, const struct mtz_bytes *bytes,
                    nb_crystal_info *crystal, nb_hkl **out)
{
    struct gemmi_reflections *list = calloc(1, sizeof *list);
    char why[GEMMI_WHY];
    nb_status status;

    *out = NULL;
    if (!list) return fail_memory(ctx, name);
    status = gemmi_reflections_read(bytes->at, bytes->n, bytes->label, list, why);
    if (status != NB_OK)
        status = fail(ctx, status, "%s: %s", name, why);
    else
        status = expand(ctx, name, list, out);
    if (status == NB_OK && crystal) {
        memcpy(crystal->cell, list->crystal.cell, sizeof crystal->cell);
        memcpy(crystal->space_group, list->crystal.space_group,
               sizeof crystal->space_group);
        crystal->noperator = list->crystal.noperator;
    }
    gemmi_reflections_free(list);
    free(list);
    return status;
}

nb_status nb_mtz_read(nb_context *ctx, const char *path, const char *label,
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
    NB_TRY(gzip_read(ctx, path, BYTES_MOST, &bytes, &n));
    status =
        mtz_parse(ctx, path, &(struct mtz_bytes){(char *)bytes, n, label}, crystal, out);
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

/* What the rows are made of. */
struct rows {
    const nb_hkl *list;
    const int *place; /* number of each place of the box among the listed ones; -1: none */
    const struct gemmi_crystal *crystal;
    int friedel, columns;
    size_t n;
    int *hkl;
    float *value;
};

/* The number of a reflection in the order of the list; -1: it is not listed. */
static int number_of(const struct rows *rows, const int hkl[3])
{
    const nb_hkl *list = rows->list;

    if (!nb_hkl_get(list, hkl[0], hkl[1], hkl[2], NULL)) return -1;
    return rows->place[hkl_box_at(list, hkl[0], hkl[1], hkl[2]) - list->box];
}

/* 1 if an operator maps a reflection onto itself with another phase. */
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

/* F of a reflection and, if its phase is known, the phase in degree. */
static void put_value(struct rows *rows, const int hkl[3], float *amplitude, float *phase)
{
    const int i = number_of(rows, hkl);

    *amplitude = i < 0 ? NAN : (float)*hkl_box_at(rows->list, hkl[0], hkl[1], hkl[2]);
    if (!phase) return;
    *phase = i < 0 ? NAN
                   : (float)(atan2(rows->list->factor[i][1], rows->list->factor[i][0]) * 180
                             / acos(-1));
}

static void add_row(struct rows *rows, const int hkl[3])
{
    const int phases = rows->list->factor != NULL, mate[3] = {-hkl[0], -hkl[1], -hkl[2]};
    float *to = rows->value + rows->n * (size_t)rows->columns;

    memcpy(rows->hkl + 3 * rows->n, hkl, 3 * sizeof *hkl);
    put_value(rows, hkl, to, phases ? to + 1 : NULL);
    if (rows->friedel)
        put_value(rows, mate, to + 1 + phases, phases ? to + 2 + phases : NULL);
    rows->n++;
}

static void fill_rows(struct rows *rows)
{
    const size_t places = hkl_box_size(rows->list);

    for (size_t i = 0; i < places; i++) {
        int hkl[3];

        if (isnan(rows->list->box[i])) continue;
        hkl_box_indices(rows->list, i, hkl);
        if (hkl[0] == 0 && hkl[1] == 0 && hkl[2] == 0) continue;
        if (gemmi_in_asymmetric_unit(rows->crystal, hkl) && !is_absent(rows->crystal, hkl))
            add_row(rows, hkl);
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

/* Numbers the listed places of a box; NULL: no memory. */
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
