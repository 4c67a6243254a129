/*
 * registry.c - the rows of the registry, and the conditions under which they apply to a
 * scene.
 *
 * SPDX-License-Identifier: MIT
 */
#include "grad/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/continuous/continuous.h"
#include "scene/lattices/lattices.h"
#include "scene/mosaic.h"
#include "scene/reflections/hkl_table.h"

/* The condition that a scene must meet for a parameter. */
enum applies {
    ALWAYS,
    CELL,
    MATRIX,
    PIX0,
    DISTANCE,
    CLOSE,
    RECTANGLE,
    SENSOR,
    BEAM,
    SPECTRUM,
    HDIV,
    VDIV,
    PHI,
    PSF,
    SHEAR,
    ISOTROPIC,
    ANISOTROPIC,
    CONTINUOUS,
    LIST
};

/* Values of `smooth` in params.def. */
enum { EVERYWHERE = NB_SMOOTH_EVERYWHERE, MOVES = NB_SMOOTH_ALMOST };

static const struct registry_row rows[] = {
#define PARAM(name, group, member, applies, unit, scale, lower, upper, smooth, doc)        \
    {#name, #group, unit,  doc,   offsetof(nb_scene, member), applies, NO_LIST,            \
     scale, lower,  upper, smooth},
#define LISTED(name, group, list, offset, unit, scale, lower, upper, smooth, doc)          \
    {#name, #group, unit, doc, offset, LIST, list, scale, lower, upper, smooth},
#include "grad/params.def"
#undef PARAM
#undef LISTED
};

enum { ROWS = sizeof rows / sizeof *rows };

const struct registry_row *registry_row(int i)
{
    return i >= 0 && i < ROWS ? rows + i : NULL;
}

int registry_member_of_cell(const struct registry_row *row)
{
    const size_t first = row->list == LATTICES ? offsetof(nb_lattice, cell)
                                               : offsetof(nb_scene, crystal.cell);

    if ((row->list != LATTICES && row->list != NO_LIST) || row->offset < first
        || row->offset >= first + sizeof((nb_crystal *)0)->cell)
        return -1;
    return (int)((row->offset - first) / sizeof(double));
}

const char *registry_member_lacking(const nb_scene *scene, const struct registry_row *row,
                                    size_t index)
{
    if (row->list == REFLECTIONS)
        return isnan(scene->crystal.hkl->box[index]) ? "a structure factor" : NULL;
    if (row->list != LATTICES || registry_member_of_cell(row) < 0) return NULL;
    return lattices_has_cell(scene->crystal.lattice + index) ? NULL : "a cell of its own";
}

/* Returns a part that the scene lacks for a row of further lattices, in words, or NULL. */
static const char *lacking_lattices(const nb_scene *scene, const struct registry_row *row)
{
    int any = 0;

    for (int i = 0; i < scene->crystal.nlattice; i++)
        any |= registry_member_lacking(scene, row, (size_t)i) == NULL;
    if (any) return NULL;
    return scene->crystal.nlattice > 0 ? "a further lattice with a cell of its own"
                                       : "further lattices";
}

static const char *lacking_list(const nb_scene *scene, const struct registry_row *row)
{
    const int list = row->list;

    if (list == LATTICES) return lacking_lattices(scene, row);
    if (list == SOURCES) return scene->beam.nsource > 0 ? NULL : "a list of sources";
    if (list == DOMAINS) return scene->crystal.ndomains > 1 ? NULL : "mosaic domains";
    if (list == PANELS) return scene->detector.npanel > 0 ? NULL : "panels";
    if (list == GROUPS)
        return scene->detector.npanel > 0 && scene->detector.ngroup > 0
                   ? NULL
                   : "groups of panels";
    return scene->crystal.hkl ? NULL : "a list of reflections";
}

/* Returns 1 if direction i of the divergence has steps or is integrated. */
static int has_divergence(const nb_scene *scene, int i)
{
    const nb_beam *b = &scene->beam;

    if (b->nsource > 0) return 0;
    return b->ndivergence[i] > 1 || (continuous_is_on(scene) && b->divergence[i] > 0);
}

const char *registry_lacking(const nb_scene *scene, const struct registry_row *row)
{
    const nb_detector *d = &scene->detector;
    const nb_beam *b = &scene->beam;
    const int gauss = continuous_is_on(scene), sampled = gauss ? 0 : 1;
    int matrix = 0;

    for (int i = 0; i < 9; i++) matrix |= scene->crystal.matrix[i] != 0;
    switch (row->applies) {
    case CELL:
        return scene->crystal.cell[0] != 0 ? NULL : "a cell";
    case MATRIX:
        return matrix ? NULL : "a matrix";
    case PIX0:
        return d->origin_kind == NB_ORIGIN_PIX0 ? NULL : "a pix0 vector";
    case DISTANCE:
        return d->close_distance == 0 && d->npanel == 0 ? NULL
                                                        : "a distance along the beam";
    case CLOSE:
        return d->close_distance != 0 ? NULL : "a close distance";
    case RECTANGLE:
        return d->npanel == 0 ? NULL : "a detector that is one rectangle";
    case SENSOR:
        return d->thickness > 0 ? NULL : "a sensor thickness";
    case BEAM:
        return b->nsource == 0 ? NULL : "a wavelength (its sources have their own)";
    case SPECTRUM:
        return b->nsource == 0 && b->ndispersion > sampled ? NULL : "dispersion steps";
    case HDIV:
        return has_divergence(scene, 0) ? NULL : "horizontal divergence";
    case VDIV:
        return has_divergence(scene, 1) ? NULL : "vertical divergence";
    case PHI:
        return scene->scan.osc != 0 ? NULL : "an oscillation range";
    case PSF:
        return scene->psf.kind != NB_PSF_NONE ? NULL : "a point spread";
    case SHEAR:
        return scene->crystal.shape != NB_SHAPE_SQUARE ? NULL : "a shape other than square";
    case ISOTROPIC:
        return !mosaic_is_anisotropic(scene) ? NULL : "one spread in all directions";
    case ANISOTROPIC:
        return mosaic_is_anisotropic(scene) ? NULL : "spreads about three axes";
    case CONTINUOUS:
        return gauss ? NULL : "the continuous model (-mosaic_model gauss)";
    case LIST:
        return lacking_list(scene, row);
    default:
        return NULL;
    }
}

int registry_is_width(const struct registry_row *row)
{
    return row->applies == CONTINUOUS || row->applies == ISOTROPIC
           || row->applies == ANISOTROPIC;
}

size_t registry_length(const nb_scene *scene, const struct registry_row *row)
{
    if (row->list == SOURCES) return (size_t)scene->beam.nsource;
    if (row->list == DOMAINS) return (size_t)scene->crystal.ndomains;
    if (row->list == PANELS) return (size_t)scene->detector.npanel;
    if (row->list == GROUPS) return (size_t)scene->detector.ngroup;
    if (row->list == LATTICES) return (size_t)scene->crystal.nlattice;
    if (row->list == REFLECTIONS) return hkl_box_size(scene->crystal.hkl);
    return 1;
}

static void describe(const struct registry_row *row, nb_param *out)
{
    memset(out, 0, sizeof *out);
    out->unit = row->unit;
    out->doc = row->doc;
    out->group = row->group;
    out->scale = row->scale;
    out->lower = row->lower;
    out->upper = row->upper;
    out->smooth = row->smooth;
}

int nb_param_registry(int i, nb_param *out)
{
    /* indexed by enum registry_list */
    static const char *const index[] = {"", "[i]", "[i]", "[i]", "[i]", "[i]", "[h,k,l]"};

    if (i < 0 || i >= ROWS || !out) return 0;
    describe(&rows[i], out);
    (void)snprintf(out->name, sizeof out->name, "%s%s", rows[i].name, index[rows[i].list]);
    return 1;
}

/* Returns 1 if the image depends on which reflection is nearest to a sample. The image does
 * not for a square crystal with whole numbers of cells and one structure factor, because
 * its fringes are periodic, nor for a continuous crystal, where each reflection has a spot
 * of its own. */
static int has_jumps(const nb_scene *scene)
{
    const nb_crystal *c = &scene->crystal;
    int jumps = c->shape != NB_SHAPE_SQUARE || c->hkl != NULL || scene->dmin > 0;

    if (continuous_is_on(scene)) return scene->dmin > 0;
    for (int i = 0; i < 3; i++) jumps |= c->ncells[i] != floor(c->ncells[i]);
    return jumps;
}

static int has_name(const struct registry_row *row, const char *name)
{
    return strcmp(row->name, name) == 0;
}

/* Returns 1 if the parameter moves samples in reciprocal space. Layers at the mean depth of
 * capture move with each parameter that decides this depth. */
static int moves_samples(const nb_scene *scene, const struct registry_row *row)
{
    const nb_detector *d = &scene->detector;

    if (has_name(row, "attenuation")) return d->layer_cosine > 0;
    if (has_name(row, "source_weight"))
        return d->layer_cosine > 0 && d->attenuation_wavelength > 0;
    return row->smooth == MOVES;
}

/* Returns 1 if all panels have a pixel size of their own, so that detector.pixel is not
 * used. */
static int all_have_pixels(const nb_scene *scene)
{
    const nb_detector *d = &scene->detector;

    for (int i = 0; i < d->npanel; i++)
        if (d->panel[i].pixel == 0) return 0;
    return d->npanel > 0;
}

/* Returns 1 if there is only one orientation, at the phi where the drift is 0. */
static int is_without_drift(const nb_scene *scene)
{
    const nb_scan *scan = &scene->scan;
    const int first = (scene->quirks & NB_QUIRK_STEP_RULES) != 0;

    return scan->nphi == 1 && scan->phi0 + (first ? 0 : scan->osc / 2) == scan->drift_phi
           && !(continuous_integrates(scene) & NB_INTEGRATED_ROTATION);
}

/* Returns 1 if the image of this scene does not depend on the parameter. */
static int has_no_influence(const nb_scene *scene, const struct registry_row *row)
{
    const nb_beam *b = &scene->beam;

    return (has_name(row, "fudge") && scene->crystal.shape == NB_SHAPE_SQUARE)
           || (!strncmp(row->group, "mosaic", 6) && scene->crystal.ndomains == 1
               && !continuous_is_on(scene))
           || (has_name(row, "polarization") && b->unpolarised)
           || (!strcmp(row->group, "polarization_axis") && b->unpolarised
               && (b->nsource > 0 || b->ndivergence[0] * b->ndivergence[1] == 1))
           || (!strcmp(row->group, "rotation_drift") && is_without_drift(scene))
           || (!strcmp(row->group, "spindle") && scene->scan.phi0 == 0
               && scene->scan.osc == 0)
           || (!strcmp(row->group, "amorphous")
               && (scene->background.water == 0 || (scene->quirks & NB_QUIRK_WATER)))
           || (has_name(row, "pixel") && all_have_pixels(scene))
           || (has_name(row, "source_weight")
               && (b->nsource == 1 || (scene->quirks & NB_QUIRK_UNIT_WEIGHTS)));
}

void registry_describe(const nb_scene *scene, const struct registry_row *row, nb_param *out)
{
    describe(row, out);
    out->smooth = moves_samples(scene, row) && has_jumps(scene) ? MOVES : EVERYWHERE;
    if (has_no_influence(scene, row)) out->smooth = NB_SMOOTH_ZERO;
}

void registry_name(const nb_scene *scene, const struct registry_row *row, size_t index,
                   char *out, size_t size)
{
    if (row->list == REFLECTIONS) {
        int at[3];

        hkl_box_indices(scene->crystal.hkl, index, at);
        (void)snprintf(out, size, "%s[%d,%d,%d]", row->name, at[0], at[1], at[2]);
    } else if (row->list != NO_LIST)
        (void)snprintf(out, size, "%s[%zu]", row->name, index);
    else
        (void)snprintf(out, size, "%s", row->name);
}

double registry_value(const nb_scene *scene, const struct registry_row *row, size_t index)
{
    const void *from = scene;

    if (row->list == REFLECTIONS) return scene->crystal.hkl->box[index];
    if (row->list == SOURCES) from = scene->beam.source + index;
    if (row->list == PANELS) from = scene->detector.panel + index;
    if (row->list == GROUPS) from = scene->detector.group + index;
    if (row->list == LATTICES) from = scene->crystal.lattice + index;
    if (row->list == DOMAINS && !scene->crystal.domain_weight) return 1;
    if (row->list == DOMAINS) from = scene->crystal.domain_weight + index;
    return *(const double *)(const void *)((const char *)from + row->offset);
}
