/*
 * refl_out.c - writes -reflout: the table of -refl, with what the model of a fit says of
 * the reflections in its boxes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/fit/fit_run.h"

/* What the images say of a row of the table. */
struct row {
    double photons, fast, slow, frame; /* sums over pixels, by photons of the spot alone */
    double n, z2, y, m, yy, mm,
        ym; /* of pixels with data: count, sums of z^2, data, model */
    double most; /* photons in the image that has most */
    size_t image; /* its number */
    int lattice; /* of that image */
};

/* The columns that are written. */
enum { PX, MM, S1, D, PSI, Z, CORRELATION, COLUMNS };
static const struct {
    const char *name;
    int n; /* numbers of a row */
} columns[COLUMNS] = {{"xyzcal.px", 3},
                      {"xyzcal.mm", 3},
                      {"s1", 3},
                      {"d", 1},
                      {"delpsical.rad", 1},
                      {"nanobrag.z", 1},
                      {"nanobrag.correlation", 1}};

struct refl_out {
    struct fit_job *job;
    nb_reflections *table;
    size_t rows, pixels;
    struct row *row; /* (rows) */
    double *image[4]; /* (pixels) the spots alone, the model, the residual, z */
    double *column[COLUMNS];
    unsigned char *used; /* (rows) */
    const uint64_t *panel; /* NULL: all are on the first */
    const int32_t *hkl; /* NULL: none are indexed */
};

static int failed(const struct refl_out *out, nb_status status)
{
    const struct run *const run = out->job->run;
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 0);
}

/* ---- the sums ---- */

static void add_pixel(const struct refl_out *out, size_t at, double fast, double slow,
                      double frame, struct row *row)
{
    const double spot = out->image[0][at], model = out->image[1][at];
    const double residual = out->image[2][at], z = out->image[3][at];
    const double data = model + residual;
    row->photons += spot;
    row->fast += spot * fast;
    row->slow += spot * slow;
    row->frame += spot * frame;
    if (residual == 0 && z == 0) return; /* masked, or not rendered */
    row->n++;
    row->z2 += z * z;
    row->y += data;
    row->m += model;
    row->yy += data * data;
    row->mm += model * model;
    row->ym += data * model;
}

/* Returns where the middle of an image lies along the scan, as xyzcal.px has it; 0 for a
 * still. */
static double middle_of(const struct fit_source *source)
{
    return source->boxes.array < 0 ? 0 : source->boxes.array + 0.5;
}

/* Adds the boxes of an image; its spots are in out->image[0]. */
static int add_boxes(struct refl_out *out, size_t i)
{
    const struct fit_source *const source = &out->job->sources.at[i];
    const nb_description *const d = &out->job->run->command.description;
    static const int kinds[] = {NB_FIT_MODEL, NB_FIT_RESIDUAL, NB_FIT_Z};
    for (int k = 0; k < 3; k++) {
        nb_array array = nb_array_f64(out->image[k + 1], d->nslow, d->nfast);
        const nb_status status = nb_fit_image(out->job->fit, (int64_t)i, kinds[k], &array);
        if (status != NB_OK) return failed(out, status);
    }
    for (size_t k = 0; k < source->boxes.n; k++) {
        const int *const box = source->boxes.box + 4 * k;
        struct row *const row = &out->row[source->boxes.row[k]];
        const double before = row->photons;
        for (int slow = box[2]; slow < box[3]; slow++)
            for (int fast = box[0]; fast < box[1]; fast++)
                add_pixel(out, (size_t)slow * (size_t)d->nfast + (size_t)fast, fast + 0.5,
                          slow + 0.5, middle_of(source), row);
        if (!(row->photons - before > row->most)) continue;
        row->most = row->photons - before;
        row->image = i;
        row->lattice = source->boxes.lattice[k];
    }
    return 0;
}

/* ---- geometry of a reflection ---- */

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *out)
{
    for (int i = 0; i < 3; i++)
        out[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static void unit(double *v)
{
    const double n = sqrt(dot(v, v));
    for (int i = 0; i < 3; i++) v[i] /= n;
}

/* The panel of a row, and the reciprocal axes of its crystal. */
struct place {
    nb_panel panel;
    nb_description d;
    double star[3][3]; /* a*, b*, c* in the middle of the image, 1/A */
};

/* Writes the reciprocal axes of a lattice of an image, in the middle of its rotation. */
static nb_status find_axes(const struct fit_model *model, nb_context *ctx, int lattice,
                           double star[3][3])
{
    nb_simulator *sim = NULL;
    nb_scene scene;
    double real[9];
    nb_status status = nb_simulator_resolved(model->sim, model->x, &scene);
    if (status != NB_OK) return status;
    nb_crystal *const c = &scene.crystal;
    if (lattice > 0 && lattice <= c->nlattice) {
        const nb_lattice *const l = c->lattice + lattice - 1;
        memcpy(c->matrix, l->matrix, sizeof c->matrix);
        memcpy(c->misset, l->misset, sizeof c->misset);
        memcpy(c->rotation, l->rotation, sizeof c->rotation);
        if (l->cell[0] != 0) memcpy(c->cell, l->cell, sizeof c->cell);
    }
    c->nlattice = 0;
    c->lattice = NULL;
    scene.scan.phi0 += scene.scan.osc / 2;
    scene.scan.osc = 0;
    scene.scan.nphi = 1;
    memset(c->mosaic, 0, sizeof c->mosaic);
    memset(c->mosaic_off, 0, sizeof c->mosaic_off);
    c->ndomains = 1;
    status = nb_simulator_create(ctx, &scene, NULL, NULL, &sim);
    if (status == NB_OK) status = nb_simulator_orientation(sim, NULL, 0, 0, real);
    nb_simulator_free(sim);
    for (size_t i = 0; status == NB_OK && i < 3; i++) {
        cross(real + 3 * ((i + 1) % 3), real + 3 * ((i + 2) % 3), star[i]);
        const double volume = dot(real + 3 * i, star[i]);
        for (int k = 0; k < 3; k++) star[i][k] /= volume;
    }
    return status;
}

/* Returns the point of a panel, mm, as a vector from the crystal. */
static void point_of(const nb_panel *p, const double mm[2], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = p->origin[i] + mm[0] * p->fast[i] + mm[1] * p->slow[i];
}

/* Takes off how far spots are shifted along the ray by the depth at which the sensor
 * absorbs them, as DIALS does. */
static void correct_depth(const struct place *at, double mm[2])
{
    const double mu = at->d.mu / 1000, thickness = at->d.thickness / 1000;
    double ray[3], normal[3];
    if (!(mu > 0) || !(thickness > 0)) return;
    point_of(&at->panel, mm, ray);
    unit(ray);
    cross(at->panel.fast, at->panel.slow, normal);
    const double path = thickness / fabs(dot(ray, normal));
    const double depth = 1 / mu - (path + 1 / mu) * exp(-mu * path);
    mm[0] -= depth * dot(ray, at->panel.fast);
    mm[1] -= depth * dot(ray, at->panel.slow);
}

/* Returns the angle by which a reflection of a still turns to the Ewald sphere, as DIALS
 * defines it, radian. */
static double delta_psi(const double q[3], const double beam[3], double wavelength)
{
    const double qq = dot(q, q), along = -0.5 * qq * wavelength;
    double axis[3], across[3], first[3] = {q[0], q[1], q[2]}, second[3], on[3];
    cross(q, beam, axis);
    unit(axis);
    cross(beam, axis, across);
    unit(across);
    for (int i = 0; i < 3; i++)
        on[i] = along * beam[i] + sqrt(fmax(qq - along * along, 0)) * across[i];
    unit(first);
    cross(first, axis, second);
    return -atan2(dot(on, second), dot(on, first));
}

static void set_row(struct refl_out *out, size_t i, const struct place *at,
                    const nb_scene *scene)
{
    const struct row *const row = out->row + i;
    const double pixel = at->panel.pixel > 0 ? at->panel.pixel : at->d.pixel;
    const double px[3] = {row->fast / row->photons - at->panel.fast0,
                          row->slow / row->photons - at->panel.slow0,
                          row->frame / row->photons};
    const double middle = middle_of(&out->job->sources.at[row->image]);
    const double phi = scene->scan.phi0 + scene->scan.osc * (0.5 + px[2] - middle);
    double mm[2] = {px[0] * pixel, px[1] * pixel}, ray[3], q[3] = {0, 0, 0};
    correct_depth(at, mm);
    point_of(&at->panel, mm, ray);
    unit(ray);
    memcpy(out->column[PX] + 3 * i, px, sizeof px);
    memcpy(out->column[MM] + 3 * i,
           (const double[]){mm[0], mm[1], phi * (3.14159265358979323846 / 180)}, sizeof px);
    for (int k = 0; k < 3; k++) /* of our frame to that of DIALS */
        out->column[S1][3 * i + (size_t)k] =
            (k == 1 ? 1 : -1) * ray[k] / scene->beam.wavelength;
    for (int k = 0; out->hkl && k < 3; k++)
        for (int j = 0; j < 3; j++) q[j] += out->hkl[3 * i + (size_t)k] * at->star[k][j];
    if (dot(q, q) > 0) {
        out->column[D][i] = 1 / sqrt(dot(q, q));
        if (scene->scan.osc == 0)
            out->column[PSI][i] = delta_psi(q, at->d.beam, scene->beam.wavelength);
    }
    if (!(row->n > 0)) return;
    const double yy = row->yy - row->y * row->y / row->n;
    const double mm_sum = row->mm - row->m * row->m / row->n;
    out->column[Z][i] = sqrt(row->z2 / row->n);
    out->column[CORRELATION][i] =
        yy > 0 && mm_sum > 0 ? (row->ym - row->y * row->m / row->n) / sqrt(yy * mm_sum) : 0;
    out->used[i] = 1;
}

/* Sets the rows that have most of their photons in image i. */
static int set_rows(struct refl_out *out, size_t i, const struct fit_model *model)
{
    nb_context *const ctx = out->job->run->command.ctx;
    struct place at;
    nb_scene scene;
    int lattice = -1;
    nb_status status = nb_simulator_describe(model->sim, model->x, &at.d);
    if (status == NB_OK) status = nb_simulator_resolved(model->sim, model->x, &scene);
    for (size_t k = 0; status == NB_OK && k < out->rows; k++) {
        if (!(out->row[k].most > 0) || out->row[k].image != i) continue;
        if (out->row[k].lattice != lattice)
            status = find_axes(model, ctx, lattice = out->row[k].lattice, at.star);
        if (status == NB_OK)
            status = nb_simulator_panel(model->sim, model->x,
                                        out->panel ? (int)out->panel[k] : 0, &at.panel);
        if (status == NB_OK) set_row(out, k, &at, &scene);
    }
    return status == NB_OK ? 0 : failed(out, status);
}

/* ---- the table ---- */

/* Computes the spots of an image alone, without amorphous material. */
static int make_spots(struct refl_out *out, const struct fit_model *model)
{
    const struct run *const run = out->job->run;
    const nb_description *const d = &run->command.description;
    nb_array array = nb_array_f64(out->image[0], d->nslow, d->nfast);
    nb_simulator *sim = NULL;
    nb_scene scene;
    nb_status status = nb_simulator_resolved(model->sim, model->x, &scene);
    scene.background.water = 0;
    if (status == NB_OK)
        status =
            nb_simulator_create(run->command.ctx, &scene, NULL, &run->command.s->how, &sim);
    if (status == NB_OK) status = nb_forward(sim, NULL, &array);
    nb_simulator_free(sim);
    return status == NB_OK ? 0 : failed(out, status);
}

/* Does one of two passes over the images that were fitted: sums, or the rows. */
static int pass(struct refl_out *out, int is_last)
{
    for (size_t i = 0; i < out->job->sources.n; i++) {
        struct fit_model model;
        nb_fit_result result; /* no longer valid after images of the fit */
        const nb_status status = nb_fit_result_get(out->job->fit, &result);
        if (status != NB_OK) return failed(out, status);
        if (result.shot[i].left_out && !result.shot[i].is_held_out) continue;
        int code = fit_model_make(out->job, i, &result, &model);
        if (!code && is_last) code = set_rows(out, i, &model);
        if (!code && !is_last) code = make_spots(out, &model);
        if (!code && !is_last) code = add_boxes(out, i);
        fit_model_free(&model);
        if (code) return code;
    }
    return 0;
}

/* Begins with the columns that the table has. Returns 0 without memory. */
static int begin(struct refl_out *out)
{
    const nb_description *const d = &out->job->run->command.description;
    out->rows = nb_reflections_rows(out->table);
    out->pixels = (size_t)d->nfast * (size_t)d->nslow;
    out->panel = nb_reflections_find(out->table, "panel", NB_COLUMN_SIZE);
    out->hkl = nb_reflections_find(out->table, "miller_index", NB_COLUMN_MILLER);
    out->row = calloc(out->rows + 1, sizeof *out->row);
    out->used = calloc(out->rows + 1, sizeof *out->used);
    int made = out->row && out->used;
    for (int k = 0; k < 4; k++)
        made &= (out->image[k] = calloc(out->pixels, sizeof *out->image[k])) != NULL;
    for (int k = 0; k < COLUMNS; k++) {
        const size_t n = (size_t)columns[k].n;
        const void *const old =
            nb_reflections_find(out->table, columns[k].name,
                                n == 3 ? NB_COLUMN_VEC3 : NB_COLUMN_DOUBLE);
        out->column[k] = calloc(out->rows + 1, n * sizeof **out->column);
        made &= out->column[k] != NULL;
        if (old && out->column[k])
            memcpy(out->column[k], old, out->rows * n * sizeof **out->column);
    }
    return made;
}

static int write_table(struct refl_out *out)
{
    const struct run *const run = out->job->run;
    nb_context *const ctx = run->command.ctx;
    nb_status status =
        nb_reflections_set(ctx, out->table, "nanobrag.used", NB_COLUMN_BOOL, out->used);
    for (int k = 0; k < COLUMNS && status == NB_OK; k++)
        status = nb_reflections_set(ctx, out->table, columns[k].name,
                                    columns[k].n == 3 ? NB_COLUMN_VEC3 : NB_COLUMN_DOUBLE,
                                    out->column[k]);
    if (status == NB_OK)
        status = nb_reflections_write(ctx, run->command.s->reflout, out->table);
    if (status == NB_OK) return 0;
    return message_status(run->command.messages, status, nb_context_message(ctx), 1);
}

int refl_out_write(struct fit_job *job)
{
    struct run *const run = job->run;
    struct refl_out out = {.job = job, .table = run->command.inputs.entry->table};
    int code = begin(&out) ? 0
                           : message_failure(run->command.messages, "out of memory for %s",
                                             run->command.s->reflout);
    if (!code) code = pass(&out, 0);
    if (!code) code = pass(&out, 1);
    if (!code) code = write_table(&out);
    free(out.row);
    free(out.used);
    for (int k = 0; k < 4; k++) free(out.image[k]);
    for (int k = 0; k < COLUMNS; k++) free(out.column[k]);
    return code;
}
