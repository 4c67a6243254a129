/*
 * update.c - updates an .expt: collects the changed models of its experiments, and writes
 * them between the bytes that stay.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/experiment/update/update.h"

#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_io/experiment/expt_crystals.h"
#include "nanobrag_io/experiment/mosaicity.h"
#include "nanobrag_io/file.h"
#include "scene/lattices/lattices.h"
#include "simulator.h"

enum { BEAM, DETECTOR, GONIOMETER, CRYSTAL, KINDS };

static const struct {
    const char *name;
    update_model *update;
} kinds[KINDS] = {{"beam", update_beam},
                  {"detector", update_detector},
                  {"goniometer", update_goniometer},
                  {"crystal", update_crystal}};

/* a changed model, which takes the place of a model of the file in some experiments */
struct variant {
    int of; /* number of the model that it replaces */
    int number; /* its number in the written file; -1: not yet known */
    char *text;
    size_t n;
};

/* a list of the file, of models of one kind or of experiments, and the changed models */
struct list {
    struct span *at; /* the text of each entry (n) */
    int n;
    struct variant *variant;
    int nvariant, room;
};

/* an experiment of the file, and which variant replaces each of its models; -1: none
 * does */
struct member {
    const cJSON *model;
    int variant[KINDS];
};

struct nb_expt_update {
    nb_context *ctx;
    char *path;
    char *bytes;
    size_t n;
    cJSON *root;
    struct list list[KINDS], experiments;
    struct member *member; /* (experiments.n) */
};

/* ---- the file ---- */

/* Finds the texts of the entries of the list `key` of the file; n = 0 if there is no such
 * list. */
static nb_status find_list(nb_expt_update *u, struct span root, const char *key,
                           struct list *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(u->root, key);
    const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    struct span value = {root.at, 0}, at;

    out->at = calloc((size_t)n + 1, sizeof *out->at);
    if (!out->at) return fail_memory(u->ctx, u->path);
    if (n > 0 && edits_member(root, key, &value)) value = edits_inside(value);
    while (out->n < n && edits_next(&value, &at)) out->at[out->n++] = at;
    if (out->n == n) return NB_OK;
    return fail(u->ctx, NB_ERR_FORMAT,
                "%s: \"%s\" is not written as DIALS writes it; give a file of DIALS",
                u->path, key);
}

/* Returns the text behind a byte order mark of UTF-8. */
static struct span root_of(const nb_expt_update *u)
{
    const size_t skip = u->n >= 3 && memcmp(u->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    return edits_value((struct span){u->bytes + skip, u->n - skip});
}

static nb_status index_file(nb_expt_update *u)
{
    const struct expt e = {u->ctx, u->path, u->root, 0};
    const struct span root = root_of(u);
    const cJSON *model;

    NB_TRY(expt_find(&e, &model));
    for (int k = 0; k < KINDS; k++) NB_TRY(find_list(u, root, kinds[k].name, u->list + k));
    NB_TRY(find_list(u, root, "experiment", &u->experiments));
    u->member = calloc((size_t)u->experiments.n + 1, sizeof *u->member);
    if (!u->member) return fail_memory(u->ctx, u->path);
    for (int i = 0; i < u->experiments.n; i++, model = model->next) {
        u->member[i].model = model;
        for (int k = 0; k < KINDS; k++) u->member[i].variant[k] = -1;
    }
    return NB_OK;
}

static nb_status begin(nb_expt_update *u, const char *path)
{
    enum { BYTES_MOST = 1 << 29 };
    const size_t length = strlen(path) + 1;
    unsigned char *bytes;

    u->path = malloc(length);
    if (!u->path) return fail_memory(u->ctx, path);
    memcpy(u->path, path, length);
    NB_TRY(file_read(u->ctx, path, BYTES_MOST, NULL, &bytes, &u->n));
    u->bytes = (char *)bytes;
    NB_TRY(expt_document(u->ctx, path, u->bytes, u->n, &u->root));
    return index_file(u);
}

nb_status nb_expt_update_begin(nb_context *ctx, const char *path, nb_expt_update **out)
{
    STANDARD_FLOATS;
    nb_expt_update *u;
    nb_status status;

    if (out) *out = NULL;
    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !out)
        return fail(ctx, NB_ERR_ARGUMENT, ".expt: %s is NULL", path ? "out" : "path");
    u = calloc(1, sizeof *u);
    if (!u) return fail_memory(ctx, path);
    u->ctx = ctx;
    status = begin(u, path);
    if (status == NB_OK)
        *out = u;
    else
        nb_expt_update_free(u);
    return status;
}

static void free_list(struct list *list)
{
    for (int i = 0; i < list->nvariant; i++) free(list->variant[i].text);
    free(list->variant);
    free(list->at);
}

void nb_expt_update_free(nb_expt_update *u)
{
    if (!u) return;
    for (int k = 0; k < KINDS; k++) free_list(u->list + k);
    free_list(&u->experiments);
    free(u->member);
    cJSON_Delete(u->root);
    free(u->bytes);
    free(u->path);
    free(u);
}

/* ---- the change of an image ---- */

/* Returns the number of the model of a kind that experiment i names; -1 if it names
 * none. */
static int number_of(const nb_expt_update *u, int i, int kind)
{
    const cJSON *which =
        cJSON_GetObjectItemCaseSensitive(u->member[i].model, kinds[kind].name);
    const double number = cJSON_IsNumber(which) ? which->valuedouble : -1;

    return number >= 0 && number < u->list[kind].n ? (int)number : -1;
}

/* Finds a variant with the same text, or adds one. Frees `text`, or takes it over. */
static nb_status add_variant(nb_expt_update *u, int kind, int of, char *text, size_t n,
                             int *out)
{
    struct list *list = u->list + kind;

    for (int i = 0; i < list->nvariant; i++) {
        const struct variant *v = list->variant + i;

        if (v->of != of || v->n != n || memcmp(v->text, text, n) != 0) continue;
        free(text);
        *out = i;
        return NB_OK;
    }
    if (list->nvariant == list->room) {
        const int room = 2 * list->room + 8;
        struct variant *longer = realloc(list->variant, (size_t)room * sizeof *longer);

        if (!longer) {
            free(text);
            return fail_memory(u->ctx, u->path);
        }
        list->variant = longer;
        list->room = room;
    }
    *out = list->nvariant;
    list->variant[list->nvariant++] = (struct variant){of, -1, text, n};
    return NB_OK;
}

/* Makes the variant of a model of experiment i that the scene in `s` asks for; none if the
 * model stays as it is. */
static nb_status put_model(nb_expt_update *u, const struct update_state *s, int kind, int i)
{
    const int of = number_of(u, i, kind);
    struct edits edits = {NULL, 0, 0, 0};
    const cJSON *model;
    char *text;
    size_t n = 0;
    nb_status status;

    u->member[i].variant[kind] = -1;
    NB_TRY(expt_model(&s->e, u->member[i].model, kinds[kind].name, &model));
    if (!model || of < 0) return NB_OK;
    status = kinds[kind].update(s, model, u->list[kind].at[of], &edits);
    if (edits.n == 0 && !edits.lost) return status;
    text = edits_apply(&edits, u->list[kind].at[of], &n);
    if (status == NB_OK && text)
        return add_variant(u, kind, of, text, n, u->member[i].variant + kind);
    free(text);
    return status != NB_OK ? status : fail_memory(u->ctx, u->path);
}

/* Returns the mosaicity of a scene that the file has to state, as a standard deviation in
 * degree; -1 if the stated one stays. */
static double mosaicity_to_state(const struct update_state *s)
{
    const nb_crystal *after = &s->after->crystal;
    const double before = MOSAIC_OF_SPREAD * s->before.crystal.mosaic[0];
    const double now = mosaicity_of(after);

    if (after->ndomains <= 1 && after->mosaic_model != NB_MOSAIC_GAUSS) return -1;
    return update_differs(&before, &now, 1, now) ? now : -1;
}

/* Returns the next experiment after `last` whose crystal is a lattice of the image of
 * experiment i. Returns the number of experiments if there is none. */
static int next_lattice(const nb_expt_update *u, const struct expt *e, int i, int last)
{
    const char *differs;
    int j = last + 1;

    while (j < u->experiments.n
           && !expt_is_lattice(e, u->member[i].model, u->member[j].model, &differs))
        j++;
    return j;
}

static nb_status check_lattices(const nb_expt_update *u, const struct update_state *s,
                                int expected)
{
    const int n = u->experiments.n;
    int found = 0;

    for (int j = next_lattice(u, &s->e, s->e.i, -1); j < n;
         j = next_lattice(u, &s->e, s->e.i, j))
        found++;
    if (expected == 0 || expected == found) return NB_OK;
    return fail(u->ctx, NB_ERR_SCENE,
                "%s: the image of experiment %d has %d further crystal%s, but the "
                "number of further lattices in the scene is %d; make the scene from this "
                "experiment",
                u->path, s->e.i, found, found == 1 ? "" : "s", expected);
}

/* Updates the crystal of experiment j, which is a lattice of the image of `own`. */
static nb_status put_lattice(nb_expt_update *u, const struct update_state *own, int j,
                             const nb_scene *scene, double phi)
{
    struct update_state s = {.e = own->e,
                             .experiment = u->member[j].model,
                             .after = scene,
                             .mosaicity = own->mosaicity};

    s.e.i = j;
    /* lattices change during the scan only if the crystal has scan points of its own */
    if (!own->source.list[SCAN_CRYSTAL] && !own->source.list[SCAN_SETTING])
        phi = own->m.phi0 + own->m.osc / 2;
    NB_TRY(update_read(&s, phi));
    return put_model(u, &s, CRYSTAL, j);
}

static nb_status put_image(nb_expt_update *u, struct update_state *s, const nb_scene *all)
{
    const double phi = all->scan.phi0 + all->scan.osc / 2;
    const int n = u->experiments.n;
    int lattice = 0;

    NB_TRY(update_read(s, phi));
    NB_TRY(check_lattices(u, s, all->crystal.nlattice));
    s->mosaicity = mosaicity_to_state(s);
    for (int k = 0; k < KINDS; k++) NB_TRY(put_model(u, s, k, s->e.i));
    for (int j = next_lattice(u, &s->e, s->e.i, -1); j < n;
         j = next_lattice(u, &s->e, s->e.i, j)) {
        nb_scene scene;

        for (int k = 0; k < CRYSTAL; k++) NB_TRY(put_model(u, s, k, j));
        if (lattice == all->crystal.nlattice) continue;
        lattices_scene(all, ++lattice, &scene);
        NB_TRY(put_lattice(u, s, j, &scene, phi));
    }
    return NB_OK;
}

nb_status nb_expt_update_add(nb_expt_update *u, int i, nb_simulator *sim, const double *x)
{
    STANDARD_FLOATS;
    struct update_state s = {.images = 0};
    nb_description d;
    nb_scene all, own;
    nb_status status;

    if (!u) return NB_ERR_ARGUMENT;
    if (!sim) return fail(u->ctx, NB_ERR_ARGUMENT, ".expt: sim is NULL");
    s.e = (struct expt){u->ctx, u->path, u->root, i};
    NB_TRY(expt_find(&s.e, &s.experiment));
    status = nb_simulator_describe(sim, x, &d);
    if (status == NB_OK) status = nb_simulator_resolved(sim, x, &all);
    if (status != NB_OK && sim->ctx != u->ctx)
        return fail(u->ctx, status, "%s", nb_context_message(sim->ctx));
    if (status != NB_OK) return status;
    if (all.detector.convention != NB_CONVENTION_DIALS)
        return fail(u->ctx, NB_ERR_ARGUMENT,
                    "%s: the scene is not in the frame of DIALS (NB_CONVENTION_DIALS), "
                    "which "
                    "the file keeps",
                    u->path);
    lattices_scene(&all, 0, &own);
    s.after = &own;
    s.mu = d.thickness > 0 ? d.mu / 1000 : 0;
    return put_image(u, &s, &all);
}

/* ---- writing ---- */

/* Numbers the variants that experiments use, and writes their texts. The first variant of a
 * model takes its place if no experiment keeps the model; any other is appended. */
static nb_status number_variants(nb_expt_update *u, int kind, struct edits *edits)
{
    struct list *list = u->list + kind;
    char *taken = calloc((size_t)list->n + 1, 1);
    int n = list->n;

    if (!taken) return fail_memory(u->ctx, u->path);
    for (int i = 0; i < u->experiments.n; i++) {
        const int of = number_of(u, i, kind);

        if (of >= 0 && u->member[i].variant[kind] < 0) taken[of] = 1;
    }
    for (int v = 0; v < list->nvariant; v++) list->variant[v].number = -1;
    for (int i = 0; i < u->experiments.n; i++) {
        const int at = u->member[i].variant[kind];
        struct variant *v = at < 0 ? NULL : list->variant + at;
        struct span end;

        if (!v || v->number >= 0) continue;
        v->number = taken[v->of] ? n++ : v->of;
        end = list->at[list->n - 1];
        end = (struct span){end.at + end.n, 0};
        if (v->number != v->of) edits_replace(edits, end, ",\n", 2);
        edits_replace(edits, v->number == v->of ? list->at[v->of] : end, v->text, v->n);
        taken[v->of] = 1;
    }
    free(taken);
    return NB_OK;
}

/* Writes the number of each model of experiment i that has changed its number. */
static void put_numbers(const nb_expt_update *u, int i, struct edits *edits)
{
    for (int k = 0; k < KINDS; k++) {
        const int at = u->member[i].variant[k];
        const struct variant *v = at < 0 ? NULL : u->list[k].variant + at;
        struct span value;

        if (v && v->number != v->of
            && edits_member(u->experiments.at[i], kinds[k].name, &value))
            edits_real(edits, value, v->number);
    }
}

nb_status nb_expt_update_write(nb_expt_update *u, const char *path)
{
    STANDARD_FLOATS;
    struct edits edits = {NULL, 0, 0, 0};
    struct file_out file;
    nb_status status = NB_OK;
    char *text;
    size_t n = 0;

    if (!u) return NB_ERR_ARGUMENT;
    if (!path) return fail(u->ctx, NB_ERR_ARGUMENT, "an .expt needs a path");
    for (int k = 0; k < KINDS && status == NB_OK; k++)
        status = number_variants(u, k, &edits);
    for (int i = 0; i < u->experiments.n; i++) put_numbers(u, i, &edits);
    if (!update_places(&edits, root_of(u), u->path, path)) edits.lost = 1;
    text = edits_apply(&edits, (struct span){u->bytes, u->n}, &n);
    if (status == NB_OK && !text) status = fail_memory(u->ctx, path);
    if (status == NB_OK) status = file_begin(u->ctx, path, &file);
    if (status == NB_OK) {
        file_put(&file, text, n);
        status = file_end(&file);
    }
    free(text);
    return status;
}
