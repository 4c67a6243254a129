/*
 * expt_images.c - an .expt in memory, and the images that its experiments name.
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_io/experiment/expt_crystals.h"
#include "nanobrag_io/experiment/expt_read.h"
#include "nanobrag_io/experiment/models.h"

enum { IMAGES_MOST = 1000000, EXPERIMENTS_MOST = 1 << 30 };

/* one of the files of an nb_expt */
struct part {
    char *name;
    cJSON *root;
    int n; /* number of experiments */
};

struct nb_expt {
    struct part *part; /* (npart) */
    size_t npart, n;
    nb_expt_image *image; /* (n), with files of their own */
};

/* The experiments of a file while their images are listed. */
struct image_list {
    struct expt e;
    nb_expt *out;
    size_t room;
    int n;
    const cJSON **experiment; /* (n) */
    int *first; /* (n) the first experiment that has the same image */
    int way; /* of the files of a set of images; -1: to be found */
};

/* ---- files ---- */

/* Where a file of images is looked for: as it is named, beside the .expt, or beside it by
 * the last part of its name; and with one of the endings. */
enum { AS_NAMED, BESIDE, BESIDE_BY_LAST, PLACES };
static const char *const endings[] = {"", ".gz", ".bz2"};
enum { ENDINGS = sizeof endings / sizeof *endings };

/* Returns the path of an image that the .expt calls `name` by way `way` of PLACES x
 * ENDINGS, to be freed; NULL: no memory. */
static char *path_by(const char *expt, const char *name, int way)
{
    const char *const slash = strrchr(name, '/'), *const end = endings[way % ENDINGS];
    const int place = way / ENDINGS;
    char *const path = place == AS_NAMED                  ? strdup(name)
                       : place == BESIDE_BY_LAST && slash ? file_sibling(expt, slash + 1)
                                                          : file_sibling(expt, name);
    char *const whole = path ? realloc(path, strlen(path) + strlen(end) + 1) : NULL;

    if (whole)
        memcpy(whole + strlen(whole), end, strlen(end) + 1);
    else
        free(path);
    return whole;
}

/* Finds by which way there is a file; the first way if there is none by any. -1: no memory.
 */
static int find_way(const char *expt, const char *name)
{
    for (int way = 0; way < PLACES * ENDINGS; way++) {
        char *const path = path_by(expt, name, way);
        struct stat st;
        const int exists = path && stat(path, &st) == 0;

        if (!path) return -1;
        free(path);
        if (exists) return way;
    }
    return 0;
}

/* Writes the number of an image in place of the last '#' of a template, with as many digits
 * as there are. Returns the name, to be freed; NULL: no memory. */
static char *number_template(const char *template, long number)
{
    const char *end = strrchr(template, '#') + 1, *begin = end;
    const size_t room = strlen(template) + 24;
    char *name = malloc(room);

    while (begin > template && begin[-1] == '#') begin--;
    if (name)
        (void)snprintf(name, room, "%.*s%0*ld%s", (int)(begin - template), template,
                       (int)(end - begin), number, end);
    return name;
}

/* ---- one experiment ---- */

static nb_status add_image(struct image_list *l, const nb_expt_image *image,
                           const char *name)
{
    nb_expt *const out = l->out;
    nb_expt_image *more;
    char *file;

    if (out->n == IMAGES_MOST)
        return fail(l->e.ctx, NB_ERR_UNSUPPORTED, "%s: the file names more than %d images",
                    l->e.name, IMAGES_MOST);
    if (out->n == l->room) {
        l->room = 2 * l->room + 16;
        more = realloc(out->image, l->room * sizeof *more);
        if (!more) return fail_memory(l->e.ctx, l->e.name);
        out->image = more;
    }
    if (l->way < 0 && *name) l->way = find_way(l->e.name, name);
    file = !*name ? strdup("") : l->way < 0 ? NULL : path_by(l->e.name, name, l->way);
    if (!file) return fail_memory(l->e.ctx, l->e.name);
    out->image[out->n] = *image;
    out->image[out->n++].file = file;
    return NB_OK;
}

/* The images of a scan: the numbers of the first one and of the last one. */
static nb_status scan_range(const struct expt *e, const cJSON *experiment, int range[2])
{
    const cJSON *scan;
    double numbers[2];

    range[0] = 1;
    range[1] = 0;
    NB_TRY(expt_model(e, experiment, "scan", &scan));
    if (!scan) return NB_OK;
    NB_TRY(expt_reals(e, scan, "scan", "image_range", numbers, 2));
    if (!(fabs(numbers[0]) < 1e9 && numbers[1] >= numbers[0]
          && numbers[1] - numbers[0] < IMAGES_MOST))
        return expt_wrong(e, "scan", "image_range", "the first and the last image");
    for (int k = 0; k < 2; k++) range[k] = (int)numbers[k];
    return NB_OK;
}

/* The place in its file of image i of a set; `otherwise` if the set does not say. */
static int64_t frame_of(const cJSON *set, int i, int64_t otherwise)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(set, "single_file_indices");
    const cJSON *index = cJSON_GetArrayItem(list, i);

    return cJSON_IsNumber(index) && index->valuedouble >= 0 && index->valuedouble < 1e15
               ? (int64_t)index->valuedouble
               : otherwise;
}

/* Lists the images of a template, which stands for the images of the scan. */
static nb_status list_template(struct image_list *l, const cJSON *set, const char *template,
                               const int range[2], nb_expt_image *image)
{
    const int is_one_file = !strchr(template, '#');
    const int n = range[1] < range[0] ? 1 : range[1] - range[0] + 1;
    nb_status status = NB_OK;

    for (int i = 0; i < n && status == NB_OK; i++) {
        const int number = range[0] + i;
        char *name = is_one_file ? NULL : number_template(template, number);

        if (!is_one_file && !name) return fail_memory(l->e.ctx, l->e.name);
        image->image = i;
        image->array = number - 1;
        image->frame = is_one_file ? frame_of(set, i, number - 1) : -1;
        status = add_image(l, image, is_one_file ? template : name);
        free(name);
    }
    return status;
}

static nb_status list_files(struct image_list *l, const cJSON *set, const int range[2],
                            nb_expt_image *image)
{
    const cJSON *const files = cJSON_GetObjectItemCaseSensitive(set, "images");
    const int has_scan = range[1] >= range[0];
    const cJSON *file;
    int i = 0;

    cJSON_ArrayForEach(file, files)
    {
        if (has_scan && i > range[1] - range[0]) break;
        if (!cJSON_IsString(file))
            return expt_wrong(&l->e, "imageset", "images", "a list of files");
        image->image = i;
        image->array = has_scan ? range[0] + i - 1 : i;
        image->frame = frame_of(set, i, -1);
        NB_TRY(add_image(l, image, file->valuestring));
        i++;
    }
    return NB_OK;
}

static nb_status list_experiment(struct image_list *l, int i)
{
    const cJSON *const experiment = l->experiment[i];
    const cJSON *const id = cJSON_GetObjectItemCaseSensitive(experiment, "identifier");
    nb_expt_image image = {.experiment = i,
                           .first = l->first[i],
                           .identifier = cJSON_IsString(id) ? id->valuestring : ""};
    const cJSON *set, *template;
    int range[2];

    l->e.i = i;
    l->way = -1; /* all files of a set lie as its first one does */
    NB_TRY(expt_model(&l->e, experiment, "imageset", &set));
    NB_TRY(scan_range(&l->e, experiment, range));
    if (!set) return list_template(l, NULL, "", range, &image);
    template = cJSON_GetObjectItemCaseSensitive(set, "template");
    return cJSON_IsString(template)
               ? list_template(l, set, template->valuestring, range, &image)
               : list_files(l, set, range, &image);
}

/* ---- the file ---- */

/* what experiments of one image have in common, and which experiment it is */
struct key {
    double set; /* number of the set of images; -1: none */
    int range[2]; /* of the scan, as scan_range() gives it */
    int i;
};

static int by_image(const void *a, const void *b)
{
    const struct key *p = a, *q = b;

    if (p->set != q->set) return p->set < q->set ? -1 : 1;
    for (int k = 0; k < 2; k++)
        if (p->range[k] != q->range[k]) return p->range[k] < q->range[k] ? -1 : 1;
    return p->i < q->i ? -1 : p->i > q->i;
}

/* Finds the first experiment among keys that differ in nothing but i. */
static void find_first_of(struct image_list *l, const struct key *key, int n)
{
    const char *differs;

    for (int j = 1; j < n; j++)
        for (int k = 0; k < j && l->first[key[j].i] == key[j].i; k++)
            if (l->first[key[k].i] == key[k].i
                && expt_is_lattice(&l->e, l->experiment[key[k].i], l->experiment[key[j].i],
                                   &differs))
                l->first[key[j].i] = key[k].i;
}

/* Finds, for each experiment, the first one of which it is a lattice. */
static nb_status find_first(struct image_list *l, struct key *key)
{
    for (int i = 0; i < l->n; i++) {
        const cJSON *const set =
            cJSON_GetObjectItemCaseSensitive(l->experiment[i], "imageset");

        l->first[i] = l->e.i = key[i].i = i;
        key[i].set = cJSON_IsNumber(set) ? set->valuedouble : -1;
        NB_TRY(scan_range(&l->e, l->experiment[i], key[i].range));
    }
    qsort(key, (size_t)l->n, sizeof *key, by_image);
    for (int i = 0, end = 0; i < l->n; i = end) {
        const struct key *const k = key + i;

        while (end < l->n && k->set == key[end].set && k->range[0] == key[end].range[0]
               && k->range[1] == key[end].range[1])
            end++;
        /* without images and scan nothing says that an image is shared */
        if (k->set >= 0 || k->range[0] <= k->range[1]) find_first_of(l, k, end - i);
    }
    return NB_OK;
}

static nb_status list_all(struct image_list *l)
{
    const cJSON *const list = cJSON_GetObjectItemCaseSensitive(l->e.root, "experiment");
    const cJSON *experiment;
    struct key *key;
    nb_status status;
    int i = 0;

    NB_TRY(expt_find(&l->e, &experiment));
    l->n = cJSON_GetArraySize(list);

    l->experiment = calloc((size_t)l->n, sizeof(const cJSON *));
    l->first = calloc((size_t)l->n, sizeof *l->first);
    if (!l->experiment || !l->first) return fail_memory(l->e.ctx, l->e.name);
    cJSON_ArrayForEach(experiment, list) l->experiment[i++] = experiment;
    key = calloc((size_t)l->n, sizeof *key);
    status = key ? find_first(l, key) : fail_memory(l->e.ctx, l->e.name);
    free(key);
    NB_TRY(status);
    for (i = 0; i < l->n; i++) NB_TRY(list_experiment(l, i));
    return NB_OK;
}

void nb_expt_free(nb_expt *expt)
{
    if (!expt) return;
    for (size_t i = 0; i < expt->n; i++) free((char *)(uintptr_t)expt->image[i].file);
    for (size_t i = 0; i < expt->npart; i++) {
        cJSON_Delete(expt->part[i].root);
        free(expt->part[i].name);
    }
    free(expt->image);
    free(expt->part);
    free(expt);
}

/* Parses n bytes of an .expt into an nb_expt. */
nb_status expt_open_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                          void *to)
{
    nb_expt *expt = calloc(1, sizeof *expt), **const out = to;
    struct part *const part = calloc(1, sizeof *part);
    struct image_list l = {.e = {.ctx = ctx}, .out = expt};
    nb_status status;

    *out = NULL;
    if (part) part->name = strdup(name);
    if (expt) expt->part = part;
    if (!expt || !part || !part->name) {
        if (!expt && part) free(part->name), free(part);
        nb_expt_free(expt);
        return fail_memory(ctx, name);
    }
    expt->npart = 1;
    status = expt_document(ctx, name, bytes, n, &part->root);
    l.e.name = part->name;
    l.e.root = part->root;
    if (status == NB_OK) status = list_all(&l);
    part->n = l.n;
    free(l.experiment);
    free(l.first);
    if (status == NB_OK)
        *out = expt;
    else
        nb_expt_free(expt);
    return status;
}

nb_status nb_expt_open(nb_context *ctx, const char *path, nb_expt **out)
{
    static const struct file_format format = {".expt", (size_t)1 << 29, NULL,
                                              expt_open_parse};
    STANDARD_FLOATS;

    if (ctx && !out) return fail(ctx, NB_ERR_ARGUMENT, ".expt: out is NULL");
    if (out) *out = NULL;
    return file_parse(ctx, path, &format, out);
}

int nb_expt_count(const nb_expt *expt)
{
    int n = 0;

    for (size_t i = 0; expt && i < expt->npart; i++) n += expt->part[i].n;
    return n;
}

/* Moves the file of `from` behind the files of `to`. Returns 0 without memory. */
static int append(nb_expt *to, nb_expt *from)
{
    const int before = nb_expt_count(to);
    struct part *const part = realloc(to->part, (to->npart + 1) * sizeof *part);
    nb_expt_image *const image = realloc(to->image, (to->n + from->n + 1) * sizeof *image);

    if (part) to->part = part;
    if (image) to->image = image;
    if (!part || !image) return 0;
    part[to->npart++] = from->part[0];
    for (size_t i = 0; i < from->n; i++) {
        image[to->n] = from->image[i];
        image[to->n].experiment += before;
        image[to->n++].first += before;
    }
    from->n = from->npart = 0;
    return 1;
}

nb_status nb_expt_add(nb_context *ctx, nb_expt *expt, const char *path)
{
    nb_expt *more;
    nb_status status = NB_OK;

    if (ctx && !expt) return fail(ctx, NB_ERR_ARGUMENT, ".expt: expt is NULL");
    NB_TRY(nb_expt_open(ctx, path, &more));
    if (nb_expt_count(expt) > EXPERIMENTS_MOST - nb_expt_count(more)
        || expt->n + more->n > IMAGES_MOST)
        status = fail(ctx, NB_ERR_UNSUPPORTED,
                      "%s: the files before it and this one name more than %d images", path,
                      IMAGES_MOST);
    else if (!append(expt, more))
        status = fail_memory(ctx, path);
    nb_expt_free(more);
    return status;
}

nb_status nb_expt_get(nb_context *ctx, const nb_expt *expt, int i, int lattices,
                      nb_experiment *out)
{
    STANDARD_FLOATS;
    const struct part *part;

    if (!ctx) return NB_ERR_ARGUMENT;
    if (out) memset(out, 0, sizeof *out);
    if (!expt || !out)
        return fail(ctx, NB_ERR_ARGUMENT, ".expt: %s is NULL", expt ? "out" : "expt");
    part = expt->part;
    while (part + 1 < expt->part + expt->npart && i >= part->n) i -= part++->n;
    return expt_read_root(ctx, part->name, part->root,
                          &(struct expt_request){i, out, lattices});
}

const nb_expt_image *nb_expt_images(const nb_expt *expt, size_t *n)
{
    if (n) *n = expt ? expt->n : 0;
    return expt ? expt->image : NULL;
}
