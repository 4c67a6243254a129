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
#include <nanobrag/reflections.h>

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

/* ---- the rows ---- */

static void set_row(struct refl_out *out, size_t i, const nb_ray *ray,
                    const nb_scene *scene)
{
    const struct row *const row = out->row + i;
    const double frame = row->frame / row->photons;
    const double middle = middle_of(&out->job->sources.at[row->image]);
    const double phi = scene->scan.phi0 + scene->scan.osc * (0.5 + frame - middle);
    const double px[3] = {ray->fast, ray->slow, frame};
    const double mm[3] = {ray->mm[0], ray->mm[1], phi * (3.14159265358979323846 / 180)};
    memcpy(out->column[PX] + 3 * i, px, sizeof px);
    memcpy(out->column[MM] + 3 * i, mm, sizeof mm);
    memcpy(out->column[S1] + 3 * i, ray->s1, sizeof ray->s1);
    if (ray->d > 0) out->column[D][i] = ray->d;
    if (ray->d > 0 && scene->scan.osc == 0) out->column[PSI][i] = ray->delta_psi;
    if (!(row->n > 0)) return;
    const double yy = row->yy - row->y * row->y / row->n;
    const double mm_sum = row->mm - row->m * row->m / row->n;
    out->column[Z][i] = sqrt(row->z2 / row->n);
    out->column[CORRELATION][i] =
        yy > 0 && mm_sum > 0 ? (row->ym - row->y * row->m / row->n) / sqrt(yy * mm_sum) : 0;
    out->used[i] = 1;
}

/* Returns the ray to the middle of the photons of row k; its panel begins at `origin`. */
static nb_ray ray_of(const struct refl_out *out, size_t k, const int origin[2])
{
    const struct row *const row = out->row + k;
    nb_ray ray = {.lattice = row->lattice,
                  .panel = out->panel ? (int)out->panel[k] : 0,
                  .fast = row->fast / row->photons - origin[0],
                  .slow = row->slow / row->photons - origin[1]};
    for (size_t j = 0; out->hkl && j < 3; j++) ray.hkl[j] = out->hkl[3 * k + j];
    return ray;
}

/* Sets the rows that have most of their photons in image i. */
static int set_rows(struct refl_out *out, size_t i, const struct fit_model *model)
{
    nb_ray *const ray = calloc(out->rows + 1, sizeof *ray);
    nb_scene scene;
    nb_status status = NB_OK;
    size_t n = 0;
    if (!ray)
        return message_failure(out->job->run->command.messages, "out of memory for %s",
                               out->job->run->command.s->reflout);
    for (size_t k = 0; status == NB_OK && k < out->rows; k++) {
        nb_panel panel = {.fast0 = 0};
        if (!(out->row[k].most > 0) || out->row[k].image != i) continue;
        status = nb_simulator_panel(model->sim, model->x,
                                    out->panel ? (int)out->panel[k] : 0, &panel);
        ray[n++] = ray_of(out, k, (const int[]){panel.fast0, panel.slow0});
    }
    if (status == NB_OK) status = nb_rays(model->sim, model->x, n, ray);
    if (status == NB_OK) status = nb_simulator_resolved(model->sim, model->x, &scene);
    n = 0;
    for (size_t k = 0; status == NB_OK && k < out->rows; k++)
        if (out->row[k].most > 0 && out->row[k].image == i)
            set_row(out, k, ray + n++, &scene);
    free(ray);
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
