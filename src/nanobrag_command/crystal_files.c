/*
 * crystal_files.c - reads -pdb and -mtz, files with a crystal's cell and with atoms or
 * structure factors; writes -fmtz and -atomgradfile.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nanobrag/description.h>

#include "nanobrag_command/command.h"

static int failed(struct messages *messages, nb_context *ctx, nb_status status, int writing)
{
    return message_status(messages, status, nb_context_message(ctx), writing);
}

/* ---- reading ---- */

/* Compare the cell of a model or of reflections with the cell of -expt. Two percent of
 * difference are allowed, because the cell of -expt was refined against images and
 * structure factors go by their indices. More means that the files index the crystal
 * differently. */
static int check_experiment(const struct inputs *in, struct messages *messages,
                            const char *file)
{
    const double *from = in->crystal.cell, *cell = in->experiment.scene.crystal.cell;
    static const double most = 0.02;
    for (int i = 0; i < 6; i++)
        if (!(fabs(cell[i] - from[i]) <= most * from[i]))
            return message_usage(messages,
                                 "%s: the unit cell %g %g %g %g %g %g differs by more than "
                                 "2 %% from the cell %g %g %g %g %g %g of the experiment; "
                                 "bring both to one setting (dials.reindex)",
                                 file, from[0], from[1], from[2], from[3], from[4], from[5],
                                 cell[0], cell[1], cell[2], cell[3], cell[4], cell[5]);
    return 0;
}

/* Check that -cell agrees with the cell of the file within 0.1 %. Without -cell, take the
 * cell of the file. */
static int set_cell(const struct inputs *in, struct settings *s, struct messages *messages,
                    const char *file)
{
    const double *from = in->crystal.cell;
    double *cell = s->scene.crystal.cell;
    if (s->given[OPT_CELL]) {
        for (int i = 0; i < 6; i++) {
            const double preset = i < 3 ? cell[0] : 90;
            const double given = cell[i] != 0 ? cell[i] : preset;
            if (!(fabs(given - from[i]) <= 1e-3 * from[i]))
                return message_usage(messages,
                                     "%s: the unit cell %g %g %g %g %g %g differs by more "
                                     "than 0.1 %% from -cell; leave out -cell",
                                     file, from[0], from[1], from[2], from[3], from[4],
                                     from[5]);
        }
        return 0;
    }
    if ((s->stated & NB_FOUND_CRYSTAL) && !s->matrix)
        return check_experiment(in, messages, file);
    memcpy(cell, from, sizeof in->crystal.cell);
    return 0;
}

/* Split FILE:LABEL at the colon. Without a label, or if there is a file of that whole name,
 * all of `text` is the file. Returns the label or NULL. The caller frees *file; NULL there:
 * no memory. */
static const char *split_label(const char *text, char **file)
{
    struct stat st;
    const char *const colon = strrchr(text, ':');
    *file = strdup(text);
    if (!colon || !colon[1] || colon == text || stat(text, &st) == 0) return NULL;
    if (*file) (*file)[colon - text] = 0;
    return colon + 1;
}

static int read_mtz(struct inputs *in, struct settings *s, struct messages *messages,
                    nb_context *ctx)
{
    char *file;
    const char *const label = split_label(s->mtz, &file);
    if (!file) return message_failure(messages, "out of memory");
    const nb_status status =
        nb_mtz_read(ctx, file, label, s->merge, &in->crystal, &in->hkl);
    const int code = status != NB_OK ? failed(messages, ctx, status, 0)
                                     : set_cell(in, s, messages, file);
    free(file);
    if (!code) inputs_set_factors(in, s);
    return code;
}

int crystal_read(struct inputs *in, struct settings *s, struct messages *messages,
                 nb_context *ctx)
{
    if (s->mtz) return read_mtz(in, s, messages, ctx);
    if (!s->pdb) return 0;
    const nb_status status = nb_structure_read(ctx, s->pdb, &in->structure);
    if (status != NB_OK) return failed(messages, ctx, status, 0);
    nb_structure_crystal(in->structure, &in->crystal);
    return set_cell(in, s, messages, s->pdb);
}

/* ---- calculating ---- */

/* Returns |a*| + |b*| + |c*|, 1/A. */
static double sum_of_stars(const nb_description *d)
{
    return d->cell_star[0] + d->cell_star[1] + d->cell_star[2];
}

/*
 * Finds the spacing d, A, at which a list of reflections covers the detector, or the boxes
 * of a fit. This d is smaller than the d of the farthest corner, because a sample looks up
 * F up to half an index away along each axis, with interpolation up to two indices. A
 * simulator without reflections gives the geometry.
 */
static nb_status corner_spacing(struct settings *s, nb_context *ctx, double *dmin)
{
    const nb_options how = {0};
    nb_scene scene = s->scene;
    nb_simulator *sim = NULL;
    nb_description d;
    scene.crystal.hkl = NULL;
    if (scene.crystal.default_f == 0) scene.crystal.default_f = 1;
    nb_status status = nb_simulator_create(ctx, &scene, "", &how, &sim);
    if (status == NB_OK) status = nb_simulator_describe(sim, NULL, &d);
    if (status == NB_OK) {
        const double reach = d.interpolate == NB_LOOKUP_TRICUBIC ? 2 : 0.5;
        const double q = s->fit.boxes_q > 0 ? fmin(s->fit.boxes_q, d.qmax) : d.qmax;
        *dmin = 1 / (q + reach * sum_of_stars(&d));
    }
    nb_simulator_free(sim);
    return status;
}

/* Call corner_spacing() with a context of its own, because the caller's might open a device
 * or measure kernels. Returns 0 or the exit status. */
static int find_corner(struct settings *s, struct messages *messages, double *dmin)
{
    const nb_context_options options = {.threads = 1,
                                        .device = NB_DEVICE_CPU,
                                        .compile = NB_COMPILE_OFF};
    nb_context *ctx;
    nb_status status = nb_context_create(NB_API_VERSION, &options, &ctx);
    if (status != NB_OK) return message_status(messages, status, "", 0);
    status = corner_spacing(s, ctx, dmin);
    const int code = status == NB_OK ? 0 : failed(messages, ctx, status, 0);
    nb_context_free(ctx);
    return code;
}

/* Returns the wavelength, A, at which F are calculated: the weighted mean over the sources,
 * or else the wavelength of the beam. */
static double central_wavelength(const struct inputs *in, const struct settings *s)
{
    double sum = 0, weight = 0;
    for (int i = 0; i < in->nsource; i++) {
        sum += in->sources[i].weight * in->sources[i].wavelength;
        weight += in->sources[i].weight;
    }
    if (weight > 0) return sum / weight;
    return s->scene.beam.wavelength > 0 ? s->scene.beam.wavelength : 1;
}

int factors_calculate(struct inputs *in, struct settings *s, struct messages *messages,
                      nb_context *ctx)
{
    nb_fcalc *const how = &in->fcalc;
    *how = s->fcalc;
    how->dmin = s->scene.dmin;
    how->wavelength = s->anomalous_off ? 0 : central_wavelength(in, s);
    if (!s->anomalous_off) {
        how->anomalous = s->anomalous;
        how->nanomalous = (size_t)s->nanomalous;
    }
    if (how->dmin == 0) {
        const int code = find_corner(s, messages, &how->dmin);
        if (code) return code;
    }
    const nb_status status = nb_structure_fcalc(ctx, in->structure, how, NULL, &in->hkl);
    if (status != NB_OK) return failed(messages, ctx, status, 0);
    inputs_set_factors(in, s);
    return 0;
}

const char *factors_source(const struct command *command)
{
    const struct settings *s = command->s;
    return s->pdb ? s->pdb : s->mtz ? s->mtz : command->inputs.from_dump ? s->dump : s->hkl;
}

/* ---- writing ---- */

/* Returns 1 if F of two Friedel mates differ by more than 1e-6, the rounding of the file,
 * or if only one of two mates is listed. */
static int mates_differ(const struct inputs *in)
{
    const nb_hkl_info *info = &in->hkl_info;
    for (int h = info->min[0]; h <= info->max[0]; h++)
        for (int k = info->min[1]; k <= info->max[1]; k++)
            for (int l = info->min[2]; l <= info->max[2]; l++) {
                double f, mate;
                if (!nb_hkl_get(in->hkl, h, k, l, &f)) continue;
                if (!nb_hkl_get(in->hkl, -h, -k, -l, &mate)
                    || fabs(mate - f) > 1e-6 * fabs(f))
                    return 1;
            }
    return 0;
}

int factors_write(struct command *command)
{
    const struct inputs *in = &command->inputs;
    const int known = in->crystal.noperator > 0;
    nb_mtz mtz = {.wavelength = central_wavelength(in, command->s),
                  .space_group = known ? in->crystal.space_group : NULL,
                  .title = "structure factors of nanobrag",
                  .friedel = mates_differ(in)};
    memcpy(mtz.cell, known ? in->crystal.cell : command->description.cell, sizeof mtz.cell);
    const nb_status status = nb_mtz_write(command->ctx, command->s->fmtz, &mtz, in->hkl);
    return status == NB_OK ? 0 : failed(command->messages, command->ctx, status, 1);
}

int atoms_gradient(struct command *command, const double *bar_f, FILE *out)
{
    const struct inputs *in = &command->inputs;
    const size_t n = nb_structure_natom(in->structure);
    double(*bar)[NB_ATOM_NUMBERS] = calloc(n + 1, sizeof *bar);
    if (!bar) return message_failure(command->messages, "out of memory for %zu atoms", n);
    const nb_status status = nb_structure_vjp(command->ctx, in->structure, &in->fcalc, NULL,
                                              in->hkl, bar_f, *bar);
    for (size_t i = 0; i < n && status == NB_OK; i++) {
        nb_atom atom;
        (void)nb_structure_atom(in->structure, i, &atom);
        fprintf(out, "%zu %.17g %.17g %.17g %.17g %.17g %s\n", i + 1, bar[i][0], bar[i][1],
                bar[i][2], bar[i][3], bar[i][4], atom.name);
    }
    free(bar);
    return status == NB_OK ? 0 : failed(command->messages, command->ctx, status, 0);
}
