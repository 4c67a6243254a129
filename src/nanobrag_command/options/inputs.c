/*
 * inputs.c - reads the input files of a run and puts their contents into the scene.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nanobrag_command/command.h"

static int input_failed(struct messages *messages, nb_context *ctx, nb_status status)
{
    return message_status(messages, status, nb_context_message(ctx), 0);
}

static double wavelength(const struct settings *s)
{
    return s->scene.beam.wavelength > 0 ? s->scene.beam.wavelength : 1;
}

/* Read the file of -mat. Its reciprocal axes are multiplied by the wavelength, so they are
 * divided by it here. Returns 0 or the exit status. */
static int read_matrix(struct settings *s, struct messages *messages, nb_context *ctx)
{
    if (!s->matrix) return 0;
    double *const matrix = s->scene.crystal.matrix, *const cell = s->scene.crystal.cell;
    const nb_status status = nb_matrix_read(ctx, s->matrix, matrix);
    if (status != NB_OK) return input_failed(messages, ctx, status);
    int any = 0;
    for (int i = 0; i < 9; i++) {
        any |= matrix[i] != 0;
        matrix[i] /= wavelength(s);
    }
    if (!any)
        return message_usage(messages,
                             "%s: all numbers of the matrix are 0; correct the file",
                             s->matrix);
    /* the matrix of -mat replaces the crystal of -expt, whose cell must not remain */
    if ((s->stated & NB_FOUND_CRYSTAL) && !s->given[OPT_CELL] && !s->pdb && !s->mtz)
        memset(cell, 0, sizeof s->scene.crystal.cell);
    return 0;
}

static int file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 || errno != ENOENT;
}

void inputs_set_factors(struct inputs *in, struct settings *s)
{
    if (in->hkl) nb_hkl_info_get(in->hkl, &in->hkl_info);
    s->scene.crystal.hkl = in->hkl;
}

static int read_factors(struct inputs *in, struct settings *s, struct messages *messages,
                        nb_context *ctx)
{
    nb_status status = NB_OK;
    if (in->hkl || s->pdb) return 0; /* -mtz is read by now; -pdb is read last */
    if (s->hkl) {
        status = s->compat ? nb_hkl_read_nanobragg(ctx, s->hkl, &in->hkl)
                           : nb_hkl_read(ctx, s->hkl, &in->hkl);
    } else if (s->dump && (!s->compat || file_exists(s->dump))) {
        status = nb_fdump_read(ctx, s->dump, &in->hkl);
        in->from_dump = 1;
    }
    if (status != NB_OK) return input_failed(messages, ctx, status);
    inputs_set_factors(in, s);
    return 0;
}

/* Set source i from a row of -sourcefile: three numbers of its position seen from the
 * crystal, a weight, and a wavelength in m. A NaN stands for a missing number. Returns 0 or
 * the exit status. */
static int set_source(struct inputs *in, const struct settings *s,
                      struct messages *messages, int i, const double *row)
{
    nb_source *source = &in->sources[i];
    double beam[3];
    settings_beam_direction(s, beam);
    double length = 0;
    for (int k = 0; k < 3; k++) {
        in->positions[i][k] = isnan(row[k]) ? -10 * beam[k] : row[k];
        source->direction[k] = -in->positions[i][k];
        length += fabs(in->positions[i][k]);
    }
    source->weight = isnan(row[3]) ? 1 : row[3];
    source->wavelength = isnan(row[4]) ? wavelength(s) : row[4] * 1e10;
    if (!(length > 0))
        return message_usage(messages,
                             "%s: source %d lies at 0 0 0, the crystal; give another "
                             "position",
                             s->sources, i + 1);
    if (!(source->wavelength > 0))
        return message_usage(messages,
                             "%s: source %d has wavelength %g m; expected more than 0",
                             s->sources, i + 1, row[4]);
    if (source->weight < 0 && !s->compat)
        return message_usage(messages, "%s: source %d has weight %g; expected 0 or more",
                             s->sources, i + 1, row[3]);
    return 0;
}

static int read_sources(struct inputs *in, struct settings *s, struct messages *messages,
                        nb_context *ctx)
{
    enum { COLUMNS = 5, MOST = 10000000 };
    if (!s->sources) return 0;
    nb_table *table;
    const nb_status status = nb_table_read(ctx, s->sources, COLUMNS, &table);
    if (status != NB_OK) return input_failed(messages, ctx, status);
    const size_t n = nb_table_rows(table);
    const double *rows = nb_table_data(table);
    int code = 0;
    if (n > MOST) {
        nb_table_free(table);
        return message_usage(messages, "%s: the file has %zu sources, which are too many",
                             s->sources, n);
    }
    in->sources = calloc(n, sizeof *in->sources);
    in->positions = calloc(n, sizeof *in->positions);
    if (!in->sources || !in->positions) {
        nb_table_free(table);
        return message_failure(messages, "out of memory for %zu sources", n);
    }
    double sum = 0;
    for (size_t i = 0; i < n && !code; i++) {
        code = set_source(in, s, messages, (int)i, rows + i * COLUMNS);
        sum += in->sources[i].weight;
    }
    nb_table_free(table);
    if (!code && !(sum > 0) && !s->compat)
        code = message_usage(messages, "%s: the weights add up to %g; expected more than 0",
                             s->sources, sum);
    in->nsource = s->scene.beam.nsource = (int)n;
    s->scene.beam.source = in->sources;
    return code;
}

static int read_stol(struct inputs *in, struct settings *s, struct messages *messages,
                     nb_context *ctx)
{
    if (!s->stol) return 0;
    nb_table *table;
    const nb_status status = nb_table_read(ctx, s->stol, 2, &table);
    if (status != NB_OK) return input_failed(messages, ctx, status);
    const size_t n = nb_table_rows(table);
    const double *rows = nb_table_data(table);
    int code = 0;
    if (s->compat) {
        message_warning(messages, "%s is read but has no effect (as in nanoBragg)",
                        s->stol);
        nb_table_free(table);
        return 0;
    }
    in->stol = malloc(2 * n * sizeof *in->stol);
    if (!in->stol) {
        nb_table_free(table);
        return message_failure(messages, "out of memory for %zu rows", n);
    }
    for (size_t i = 0; i < n && !code; i++) {
        in->stol[2 * i] = rows[2 * i] * s->stol_factor;
        in->stol[2 * i + 1] = rows[2 * i + 1];
        if (isnan(rows[2 * i]) || isnan(rows[2 * i + 1]))
            code = message_usage(messages, "%s: row %zu: expected two numbers", s->stol,
                                 i + 1);
        else if (i > 0 && !(rows[2 * i] > rows[2 * i - 2]))
            code =
                message_usage(messages,
                              "%s: row %zu: the first column must increase from row to row",
                              s->stol, i + 1);
    }
    nb_table_free(table);
    in->nstol = n;
    s->scene.background.stol = in->stol;
    s->scene.background.nstol = n;
    return code;
}

void inputs_add_mask(struct inputs *in, struct settings *s, const uint8_t *bad)
{
    int count[2];
    settings_pixels(s, count);
    const size_t n = (size_t)count[0] * (size_t)count[1];
    for (size_t i = 0; in->mask.pixels && bad && i < n; i++) in->mask.pixels[i] &= bad[i];
    s->scene.detector.mask = in->mask.pixels ? in->mask.pixels : bad;
}

/* Exclude the untrusted rectangles of -expt, unless options have changed the number of
 * pixels. */
static void add_untrusted(struct inputs *in, struct settings *s, struct messages *messages)
{
    const nb_detector *const from = &in->experiment.scene.detector;
    int count[2];
    settings_pixels(s, count);
    if (!in->experiment.mask) return;
    if (count[0] == from->nfast && count[1] == from->nslow)
        inputs_add_mask(in, s, in->experiment.mask);
    else
        message_warning(messages,
                        "%s: the untrusted rectangles are ignored: they belong to a "
                        "detector of %d x %d pixels, but this detector has %d x %d",
                        s->expt, from->nfast, from->nslow, count[0], count[1]);
}

/* Use -mask and the untrusted rectangles of -expt. Returns 0 or the exit status. */
static int set_mask(struct inputs *in, struct settings *s, struct messages *messages)
{
    int count[2];
    if (!in->mask.pixels) {
        add_untrusted(in, s, messages);
        return 0;
    }
    settings_pixels(s, count);
    if (in->mask.nfast != count[0] || in->mask.nslow != count[1])
        return message_usage(messages,
                             "%s: the mask has %d x %d pixels but the detector has %d x "
                             "%d; make both the same",
                             s->mask, in->mask.nfast, in->mask.nslow, count[0], count[1]);
    s->scene.detector.mask = in->mask.pixels;
    add_untrusted(in, s, messages);
    return 0;
}

/* Set a box from row i: first and last pixel fast, first and last slow. Returns 0 or the
 * exit status. */
static int set_box(const struct settings *s, struct messages *messages, size_t i,
                   const double *row, int *box)
{
    int count[2];
    settings_pixels(s, count);
    for (int k = 0; k < 4; k++) {
        const int last = k % 2;
        const double least = last ? row[k - 1] : 0;
        if (!(row[k] >= least && row[k] < count[k >= 2] && row[k] == floor(row[k])))
            return message_usage(messages,
                                 "%s: row %zu: expected four whole numbers, first and last "
                                 "pixel fast, first and last slow, in the %d x %d detector",
                                 s->boxes, i + 1, count[0], count[1]);
        box[k] = (int)row[k] + last;
    }
    return 0;
}

/* Read N and EDGE of -boxes auto:N:EDGE. The boxes are found later, by the simulator.
 * Returns 0 or the exit status. */
static int ask_for_boxes(struct inputs *in, struct settings *s, struct messages *messages)
{
    enum { MOST = 1000000, EDGE = 1000 };
    const char *const boxes = strcmp(s->boxes, "auto") == 0 ? "auto:200:12" : s->boxes;
    int end = 0;
    const int read = sscanf(boxes, "auto:%7d:%4d%n", &s->boxes_most, &s->boxes_edge, &end);
    if (read != 2 || boxes[end] != '\0' || s->boxes_most < 1 || s->boxes_most > MOST
        || s->boxes_edge < 1 || s->boxes_edge > EDGE)
        return message_usage(messages,
                             "-boxes %s: expected auto:N:EDGE, as auto:200:12 for 12 x 12 "
                             "pixels around each of the 200 brightest reflections, with N "
                             "up to %d and EDGE up to %d",
                             s->boxes, MOST, EDGE);
    in->box = calloc((size_t)s->boxes_most, 4 * sizeof *in->box);
    if (in->box) return 0;
    return message_failure(messages, "out of memory for %d boxes", s->boxes_most);
}

/* Take the boxes of -boxes refl[:EDGE] from the table of -refl. */
static int take_reflections(struct inputs *in, struct settings *s,
                            struct messages *messages)
{
    enum { EDGE = 1000 };
    nb_detector *const d = &s->scene.detector;
    int end = 0;
    s->boxes_edge = 12;
    if (s->boxes && strcmp(s->boxes, "refl") != 0
        && (sscanf(s->boxes, "refl:%4d%n", &s->boxes_edge, &end) != 1
            || s->boxes[end] != '\0' || s->boxes_edge < 1 || s->boxes_edge > EDGE))
        return message_usage(messages,
                             "-boxes %s: expected refl:EDGE, as refl:12 for boxes of at "
                             "least 12 x 12 pixels, with EDGE up to %d",
                             s->boxes, EDGE);
    struct reflection_boxes boxes;
    const int code =
        reflection_boxes(in, s, messages, in->expt_number, in->expt_image, &boxes);
    in->box = boxes.box;
    d->nbox = boxes.n;
    boxes.box = NULL;
    reflection_boxes_free(&boxes);
    return code;
}

static int read_boxes(struct inputs *in, struct settings *s, struct messages *messages,
                      nb_context *ctx)
{
    if (uses_reflections(s)) {
        const int code = take_reflections(in, s, messages);
        s->scene.detector.box = in->box;
        /* each image of a fit has boxes of its own */
        if (code || s->scene.detector.nbox > 0 || fit_asked(s)) return code;
        return message_usage(messages,
                             "%s: no reflection of experiment %d is indexed on this image; "
                             "give the .refl that belongs to %s",
                             s->refl, in->expt_number, s->expt);
    }
    if (!s->boxes) return 0;
    if (strcmp(s->boxes, "auto") == 0 || strncmp(s->boxes, "auto:", 5) == 0)
        return ask_for_boxes(in, s, messages);
    nb_table *table;
    const nb_status status = nb_table_read(ctx, s->boxes, 4, &table);
    if (status != NB_OK) return input_failed(messages, ctx, status);
    const size_t n = nb_table_rows(table);
    const double *rows = nb_table_data(table);
    int code = 0;
    in->box = calloc(n, 4 * sizeof *in->box);
    if (!in->box) code = message_failure(messages, "out of memory for %zu boxes", n);
    for (size_t i = 0; i < n && !code; i++)
        code = set_box(s, messages, i, rows + 4 * i, in->box + 4 * i);
    nb_table_free(table);
    s->scene.detector.box = in->box;
    s->scene.detector.nbox = n;
    return code;
}

int inputs_read(struct inputs *in, struct settings *s, struct messages *messages,
                nb_context *ctx)
{
    int code = crystal_read(in, s, messages, ctx);
    if (code) return code;
    if (!s->matrix && !s->given[OPT_CELL] && !s->pdb && !s->mtz
        && !(s->stated & NB_FOUND_CRYSTAL))
        return message_usage(messages,
                             "no unit cell: give -cell, -mat, -pdb, -mtz or -expt");
    code = set_mask(in, s, messages);
    if (!code) code = spectrum_read(in, s, messages, ctx);
    if (!code) code = read_matrix(s, messages, ctx);
    if (!code) code = read_factors(in, s, messages, ctx);
    if (!code && !in->hkl && !s->pdb && s->scene.crystal.default_f == 0)
        code = message_usage(messages, "no structure factors: give -pdb, -mtz, -hkl, -dump "
                                       "or -default_F");
    if (!code) code = read_stol(in, s, messages, ctx);
    if (!code) code = read_sources(in, s, messages, ctx);
    if (!code) code = reflections_open(messages, ctx, in);
    if (!code) code = geometry_apply(in, s, messages);
    if (!code) code = read_boxes(in, s, messages, ctx);
    return code;
}

void inputs_free(struct inputs *in)
{
    nb_hkl_free(in->hkl);
    nb_geometry_free(in->geometry);
    nb_experiment_clear(&in->experiment);
    experiments_free(in);
    nb_structure_free(in->structure);
    free(in->mask.pixels);
    free(in->sources);
    free(in->positions);
    free(in->stol);
    free(in->box);
}
