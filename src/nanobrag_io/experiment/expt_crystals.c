/* expt_crystals.c - reads the crystals of an .expt. SPDX-License-Identifier: MIT */
#include "nanobrag_io/experiment/expt_crystals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_io/experiment/mosaicity.h"
#include "scene/crystal.h"
#include "scene/lattices/lattices.h"

/* ---- one crystal ---- */

static nb_status read_mosaicity(const struct expt *e, const cJSON *crystal,
                                struct models *m)
{
    double half = 0, sigma = 0;

    NB_TRY(expt_optional(e, crystal, "crystal", "ML_half_mosaicity_deg", &half, 1));
    NB_TRY(expt_optional(e, crystal, "crystal", "mosaicity", &sigma, 1));
    if (half > 0) sigma = half / sqrt(3); /* standard deviation of a top hat */
    if (!(sigma > 0 && sigma < 180)) return NB_OK;
    m->mosaic = sigma / MOSAIC_OF_SPREAD;
    m->found |= NB_FOUND_MOSAIC;
    return NB_OK;
}

nb_status expt_read_crystal(const struct expt *e, const cJSON *crystal, struct models *m,
                            char space_group[GEMMI_NAME])
{
    const cJSON *hall =
        cJSON_GetObjectItemCaseSensitive(crystal, "space_group_hall_symbol");
    char symbol[GEMMI_NAME], other[GEMMI_NAME];

    NB_TRY(expt_reals(e, crystal, "crystal", "real_space_a", m->real_axes[0], 3));
    NB_TRY(expt_reals(e, crystal, "crystal", "real_space_b", m->real_axes[1], 3));
    NB_TRY(expt_reals(e, crystal, "crystal", "real_space_c", m->real_axes[2], 3));
    if (cJSON_IsString(hall)) {
        const nb_status status =
            gemmi_symbols(GEMMI_HALL, hall->valuestring, symbol, other);

        if (status == NB_ERR_MEMORY) return fail_memory(e->ctx, e->name);
        if (status == NB_OK) memcpy(space_group, symbol, sizeof symbol);
    }
    m->found |= NB_FOUND_CRYSTAL;
    return read_mosaicity(e, crystal, m);
}

nb_status expt_read_profile(const struct expt *e, const cJSON *experiment, struct models *m)
{
    const cJSON *which = cJSON_GetObjectItemCaseSensitive(experiment, "profile");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(e->root, "profile"), *item;
    const cJSON *sigma;
    double sum = 0;
    int n = 0;

    if (m->found & NB_FOUND_MOSAIC || !cJSON_IsNumber(which)) return NB_OK;
    sigma = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, which->valueint),
                                             "sigma_m");
    if (!sigma) return NB_OK;
    if (cJSON_IsNumber(sigma)) {
        sum = sigma->valuedouble;
        n = 1;
    }
    cJSON_ArrayForEach(item, sigma)
    {
        if (!cJSON_IsNumber(item)) return expt_wrong(e, "profile", "sigma_m", "numbers");
        sum += item->valuedouble;
        n++;
    }
    if (n == 0) return expt_wrong(e, "profile", "sigma_m", "a number");
    if (!(sum / n > 0 && sum / n < 180)) return NB_OK;
    m->mosaic = sum / n / MOSAIC_OF_SPREAD;
    m->found |= NB_FOUND_MOSAIC;
    return NB_OK;
}

/* ---- experiments that share an image ---- */

/* Returns the number of the model of this kind that an experiment names; NULL if it names
 * none. */
static const cJSON *named(const cJSON *experiment, const char *kind)
{
    const cJSON *which = cJSON_GetObjectItemCaseSensitive(experiment, kind);

    return cJSON_IsNull(which) ? NULL : which;
}

/* Returns 1 if two experiments name the same number of a model, or if both name none. */
static int same_number(const cJSON *a, const cJSON *b, const char *kind)
{
    const cJSON *p = named(a, kind), *q = named(b, kind);

    return p && q ? cJSON_Compare(p, q, 1) : p == q;
}

/* Returns 1 if two experiments name the same model, or two models with equal contents. */
static int same_model(const struct expt *e, const cJSON *a, const cJSON *b,
                      const char *kind)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(e->root, kind);
    const cJSON *p = named(a, kind), *q = named(b, kind);

    if (same_number(a, b, kind)) return 1;
    if (!cJSON_IsNumber(p) || !cJSON_IsNumber(q)) return 0;
    p = cJSON_GetArrayItem(list, p->valueint);
    q = cJSON_GetArrayItem(list, q->valueint);
    return p && q && cJSON_Compare(p, q, 1);
}

/* Returns 1 if two experiments describe one image: they name the same image file and scan
 * or, if no file is named, the same scan. */
static int same_image(const struct expt *e, const cJSON *a, const cJSON *b)
{
    if (!same_number(a, b, "imageset")) return 0;
    if (!named(a, "imageset")) return named(a, "scan") && same_number(a, b, "scan");
    return same_model(e, a, b, "scan");
}

/* Returns which kind of model, beam, detector or goniometer, differs first between two
 * experiments; NULL if all three are the same. */
static const char *other_model(const struct expt *e, const cJSON *a, const cJSON *b)
{
    static const char *const kinds[] = {"beam", "detector", "goniometer"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!same_model(e, a, b, kinds[i])) return kinds[i];
    return NULL;
}

int expt_is_lattice(const struct expt *e, const cJSON *own, const cJSON *other,
                    const char **differs)
{
    const int shares =
        other != own && same_image(e, own, other) && !same_number(own, other, "crystal");

    *differs = shares ? other_model(e, own, other) : NULL;
    return shares && !*differs && named(other, "crystal");
}

/* ---- the lattices ---- */

/* the lattices of an image while they are read */
struct lattices {
    const struct models *m; /* the image's models, with the crystal of the experiment asked
                               for */
    const struct scan_source *source;
    /* the rotation from the frame of the file to the frame of the scene */
    const double (*turn)[3];
    nb_experiment *out;
    nb_scan_points **points; /* scan points of each lattice; NULL: it does not change in the
                                scan */
    int most, changing; /* number of lattices with space in the lists; that change in the
                           scan */
    double mosaic[2]; /* smallest and largest mosaic spread of all crystals, degree */
};

/* Clears the cell of a lattice if it is the crystal's, so that the two share one cell. */
static void share_cell(const struct models *crystal, nb_lattice *l)
{
    static const double rounding = 1e-12;
    double cell[6];

    crystal_cell_of(crystal->real_axes, cell);
    for (int i = 0; i < 6; i++)
        if (!(fabs(l->cell[i] - cell[i]) <= rounding * cell[i])) return;
    memset(l->cell, 0, sizeof l->cell);
}

static nb_status check_lattice(const struct expt *other, const struct expt *e,
                               const struct lattices *s, const char *space_group)
{
    const nb_experiment *out = s->out;

    if (strcmp(space_group, out->space_group) != 0)
        return fail(e->ctx, NB_ERR_UNSUPPORTED,
                    "%s: experiments %d and %d have crystals of one image, but the space "
                    "groups are %s and %s; lattices share structure factors, so bring both "
                    "to one space group and setting (dials.reindex), or take one crystal "
                    "alone",
                    e->name, e->i, other->i, *out->space_group ? out->space_group : "?",
                    *space_group ? space_group : "?");
    if (out->scene.crystal.nlattice == LATTICES_MOST)
        return fail(e->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the image of experiment %d has more than %d crystals; keep fewer",
                    e->name, e->i, LATTICES_MOST + 1);
    return NB_OK;
}

/* Reads the crystal of another experiment of the image as a lattice. */
static nb_status read_lattice(const struct expt *e, const struct expt *other,
                              const cJSON *experiment, struct lattices *s)
{
    struct models m = *s->m;
    struct scan_source source = *s->source;
    char space_group[GEMMI_NAME] = "";
    int *const n = &s->out->scene.crystal.nlattice;
    nb_lattice *l = s->out->lattice + *n;
    const cJSON *crystal;

    NB_TRY(expt_model(other, experiment, "crystal", &crystal));
    m.mosaic = 0;
    NB_TRY(expt_read_crystal(other, crystal, &m, space_group));
    NB_TRY(check_lattice(other, e, s, space_group));
    memcpy(source.real_axes, m.real_axes, sizeof source.real_axes);
    source.list[SCAN_CRYSTAL] =
        cJSON_GetObjectItemCaseSensitive(crystal, "A_at_scan_points");
    source.list[SCAN_BEAM] = NULL; /* a scan of the beam belongs to the whole image */
    source.quiet = 1;
    NB_TRY(scan_points_read(other, &source, &m, s->out->images, s->turn, s->points + *n));
    goniometer_turn(&source.g, m.real_axes);
    NB_TRY(models_to_axes(e->ctx, e->name, (const double(*)[3])m.real_axes, s->turn,
                          l->matrix, l->cell));
    if (!scan_points_have_cells(s->out->points) && !scan_points_have_cells(s->points[*n]))
        share_cell(s->m, l);
    l->scale = 1;
    s->mosaic[0] = fmin(s->mosaic[0], m.mosaic);
    s->mosaic[1] = fmax(s->mosaic[1], m.mosaic);
    s->changing += s->points[*n] != NULL;
    ++*n;
    return NB_OK;
}

static nb_status read_all(const struct expt *e, const cJSON *list, struct lattices *s)
{
    const cJSON *own = cJSON_GetArrayItem(list, e->i), *experiment;
    struct expt other = *e;

    other.i = 0;
    cJSON_ArrayForEach(experiment, list)
    {
        const char *differs;
        const int shares = expt_is_lattice(e, own, experiment, &differs);

        if (differs)
            log_line(e->ctx, NB_LOG_WARNING, "expt",
                     "%s: experiments %d and %d have the same image, but not the same %s: "
                     "the second does not become a lattice",
                     e->name, e->i, other.i, differs);
        else if (shares)
            NB_TRY(read_lattice(e, &other, experiment, s));
        other.i++;
    }
    return NB_OK;
}

/* Warns if the cell of a lattice differs from the crystal's by more than 2 %: the two may
 * be indexed in different settings. */
static void check_cells(const struct expt *e, const struct lattices *s)
{
    static const double alike = 0.02;
    const double *own = s->out->scene.crystal.cell;
    int other = 0;

    for (int l = 0; l < s->out->scene.crystal.nlattice; l++)
        for (int i = 0; i < 6 && s->out->lattice[l].cell[0] != 0; i++)
            other |= fabs(s->out->lattice[l].cell[i] - own[i]) > alike * own[i];
    if (other)
        log_line(e->ctx, NB_LOG_WARNING, "expt",
                 "%s: the unit cells of the lattices differ by more than 2 %% from the "
                 "cell of experiment %d; lattices share structure factors, so bring all to "
                 "one setting (dials.reindex)",
                 e->name, e->i);
}

/* Sets the lattices as they are in the first image. If the crystal changes during the scan,
 * adds the scan points of the lattices to the crystal's; otherwise warns that the lattices
 * do not change. */
static void take_points(const struct expt *e, struct lattices *s)
{
    nb_experiment *out = s->out;
    const int n = out->scene.crystal.nlattice;
    nb_scene unused = {0};

    for (int i = 0; i < n; i++)
        scan_points_set_lattice(s->points[i], s->m->phi0 + s->m->osc / 2, out->lattice + i);
    if (nb_scan_points_set(out->points, 0, NB_FOUND_CRYSTAL, &unused, NULL)) {
        scan_points_adopt(out->points, s->points, n);
        s->points = NULL;
    } else if (s->changing > 0) {
        log_line(e->ctx, NB_LOG_WARNING, "expt",
                 "%s: the number of lattices that change during the scan is %d, but the "
                 "crystal of experiment %d does not change; all are taken as in the first "
                 "image",
                 e->name, s->changing, e->i);
    }
    check_cells(e, s);
}

static void free_points(struct lattices *s)
{
    for (int i = 0; s->points && i < s->most; i++) nb_scan_points_free(s->points[i]);
    free(s->points);
}

nb_status expt_read_lattices(const struct expt *e, const cJSON *list,
                             const struct models *m, const struct scan_source *source,
                             const double turn[3][3], nb_experiment *out)
{
    const int others = out->count - 1;
    struct lattices s = {.m = m,
                         .source = source,
                         .turn = turn,
                         .out = out,
                         .most = others < LATTICES_MOST ? others : LATTICES_MOST,
                         .mosaic = {m->mosaic, m->mosaic}};
    nb_status status;

    if (others == 0) return NB_OK;
    out->lattice = calloc((size_t)s.most + 1, sizeof *out->lattice);
    s.points = calloc((size_t)s.most + 1, sizeof(nb_scan_points *));
    if (!out->lattice || !s.points) {
        free_points(&s);
        return fail_memory(e->ctx, e->name);
    }
    status = read_all(e, list, &s);
    if (status == NB_OK) take_points(e, &s);
    free_points(&s);
    if (status != NB_OK) return status;
    out->scene.crystal.lattice = out->scene.crystal.nlattice > 0 ? out->lattice : NULL;
    if (s.mosaic[1] - s.mosaic[0] > 0.01 * s.mosaic[1])
        log_line(e->ctx, NB_LOG_WARNING, "expt",
                 "%s: the lattices have mosaic spreads of %.3g to %.3g degrees; all get "
                 "the spread of experiment %d, %.3g degrees",
                 e->name, s.mosaic[0], s.mosaic[1], e->i, m->mosaic);
    return NB_OK;
}
