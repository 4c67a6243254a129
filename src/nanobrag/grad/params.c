/*
 * params.c - the registry, and the vector x in and out of the resolved scene.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "grad/grad.h"

/* what a scene must have for a parameter to mean something in it */
enum applies {
    ALWAYS,
    CELL,
    MATRIX,
    PIX0,
    DISTANCE,
    CLOSE,
    SENSOR,
    BEAM,
    SPECTRUM,
    HDIV,
    VDIV,
    PHI,
    PSF
};

/* how a parameter acts */
enum { EVERYWHERE = NB_SMOOTH_EVERYWHERE, MOVES = NB_SMOOTH_ALMOST };

struct row {
    const char *name, *group, *unit, *doc;
    size_t offset;
    int applies;
    double scale, lower, upper;
    unsigned smooth;
};

static const struct row registry[] = {
#define PARAM(name, group, member, applies, unit, scale, lower, upper, smooth, doc)        \
    {#name,   #group, unit,  doc,   offsetof(nb_scene, member),                            \
     applies, scale,  lower, upper, smooth},
#include "grad/params.def"
#undef PARAM
};

enum { ROWS = sizeof registry / sizeof *registry };

static double *member(nb_scene *scene, int row)
{
    return (double *)(void *)((char *)scene + registry[row].offset);
}

/* NULL when the row applies, else what the scene lacks */
static const char *lacking(const nb_scene *scene, int applies)
{
    const nb_detector *d = &scene->detector;
    const nb_beam *b = &scene->beam;
    int matrix = 0;

    for (int i = 0; i < 9; i++) matrix |= scene->crystal.matrix[i] != 0;
    switch (applies) {
    case CELL:
        return scene->crystal.cell[0] != 0 ? NULL : "a cell";
    case MATRIX:
        return matrix ? NULL : "a matrix";
    case PIX0:
        return d->origin_kind == NB_ORIGIN_PIX0 ? NULL : "a pix0 vector";
    case DISTANCE:
        return d->close_distance == 0 ? NULL : "a distance along the beam";
    case CLOSE:
        return d->close_distance != 0 ? NULL : "a close distance";
    case SENSOR:
        return d->thickness > 0 ? NULL : "a sensor thickness";
    case BEAM:
        return b->nsource == 0 ? NULL : "a wavelength (its sources have their own)";
    case SPECTRUM:
        return b->nsource == 0 && b->ndispersion > 1 ? NULL : "dispersion steps";
    case HDIV:
        return b->nsource == 0 && b->ndivergence[0] > 1 ? NULL : "horizontal divergence";
    case VDIV:
        return b->nsource == 0 && b->ndivergence[1] > 1 ? NULL : "vertical divergence";
    case PHI:
        return scene->scan.osc != 0 ? NULL : "an oscillation range";
    case PSF:
        return scene->psf.kind != NB_PSF_NONE ? NULL : "a point spread";
    default:
        return NULL;
    }
}

static void describe(const struct row *row, nb_param *out)
{
    memset(out, 0, sizeof *out);
    (void)snprintf(out->name, sizeof out->name, "%s", row->name);
    out->unit = row->unit;
    out->doc = row->doc;
    out->scale = row->scale;
    out->lower = row->lower;
    out->upper = row->upper;
    out->smooth = row->smooth;
}

int nb_param_registry(int i, nb_param *out)
{
    if (i < 0 || i >= ROWS || !out) return 0;
    describe(&registry[i], out);
    return 1;
}

/* whether the image depends on which reflection is nearest to a sample: not for a grating
 * of whole cells with one structure factor, whose fringes repeat */
static int has_jumps(const nb_scene *scene)
{
    const nb_crystal *c = &scene->crystal;
    int jumps = c->shape != NB_SQUARE || c->hkl != NULL || scene->dmin > 0;

    for (int i = 0; i < 3; i++) jumps |= c->ncells[i] != floor(c->ncells[i]);
    return jumps;
}

/* parameters that this scene does not listen to */
static int has_no_influence(nb_scene *scene, int row)
{
    const double *member_of_row = member(scene, row);

    return (member_of_row == &scene->crystal.fudge && scene->crystal.shape == NB_SQUARE)
           || (member_of_row == scene->crystal.mosaic && scene->crystal.ndomains == 1)
           || (member_of_row == &scene->beam.polarization && scene->beam.unpolarised);
}

void params_describe(const nb_scene *scene, int row, nb_param *out)
{
    nb_scene copy = *scene;

    describe(&registry[row], out);
    if (registry[row].smooth == MOVES && !has_jumps(scene)) out->smooth = EVERYWHERE;
    if (has_no_influence(&copy, row)) out->smooth = NB_SMOOTH_ZERO;
    out->value = *member(&copy, row);
}

int params_row(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(registry[i].name, name) == 0) return i;
    return -1;
}

nb_status params_check(nb_context *ctx, const int *rows, size_t nparam, const double *x)
{
    for (size_t i = 0; i < nparam; i++) {
        const struct row *r = &registry[rows[i]];

        if (!(x[i] >= r->lower && x[i] <= r->upper))
            return fail(ctx, NB_ERR_ARGUMENT, "x[%zu] (%s) is %g, expected %g to %g", i,
                        r->name, x[i], r->lower, r->upper);
    }
    return NB_OK;
}

void params_unpack(const int *rows, size_t nparam, const double *x, nb_scene *scene)
{
    for (size_t i = 0; i < nparam; i++) *member(scene, rows[i]) = x[i];
}

/* append the rows of one word, all of which must apply */
static nb_status select_word(nb_context *ctx, const nb_scene *scene, const char *word,
                             size_t length, size_t *n, int *rows)
{
    const size_t before = *n;
    const char *lacks = NULL;

    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &registry[i];
        const int is_name = strlen(r->name) == length && !strncmp(r->name, word, length);
        const int is_group = strlen(r->group) == length && !strncmp(r->group, word, length);

        if (!is_name && !is_group) continue;
        lacks = lacking(scene, r->applies);
        if (lacks)
            return fail(ctx, NB_ERR_ARGUMENT,
                        "parameter %s is free, but the scene has not got %s", r->name,
                        lacks);
        if (rows) {
            for (size_t k = 0; k < *n; k++)
                if (rows[k] == i)
                    return fail(ctx, NB_ERR_ARGUMENT, "parameter %s is named twice",
                                r->name);
            rows[*n] = i;
        }
        (*n)++;
    }
    if (*n == before)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "there is no parameter or group '%.*s'; nb_param_registry() lists them",
                    (int)length, word);
    return NB_OK;
}

nb_status params_select(nb_context *ctx, const nb_scene *scene, const char *names,
                        size_t *nparam, int *rows)
{
    static const char blank[] = " \t\n,";

    *nparam = 0;
    if (!names) return NB_OK;
    for (names += strspn(names, blank); *names; names += strspn(names, blank)) {
        const size_t length = strcspn(names, blank);

        NB_TRY(select_word(ctx, scene, names, length, nparam, rows));
        names += length;
    }
    return NB_OK;
}
