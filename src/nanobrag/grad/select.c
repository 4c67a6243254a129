/*
 * select.c - finds the parameters that a list of names selects. A word is the name of a
 * parameter, of a group, or of a list, which may have an index in brackets ("[*]" for all
 * members). "*" or "all" alone selects all parameters that apply except structure factors.
 * nb_nearest_name() finds the name that is nearest to a misspelt one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "grad/grad.h"
#include "grad/reflections.h"
#include "grad/registry.h"
#include "scene/reflections/hkl_table.h"

/* A word of the list of names: "name" or "name[index]". */
struct word {
    const char *text, *index; /* index: the text behind "["; NULL: there is no "[" */
    size_t length, name_length, index_length;
    int again; /* 1: the word stands behind a semicolon */
};

/* Reads the next word. Returns 0 if there is none. Separators in brackets belong to the
 * word. `word` is all 0 before the first call. */
static int next_word(const char **names, struct word *word)
{
    static const char separators[] = " \t\n,;";
    const size_t gap = strspn(*names, separators);
    const char *const at = *names + gap;
    const char *open;

    if (!*at) return 0;
    if (memchr(*names, ';', gap)) word->again = 1;
    word->text = at;
    word->name_length = word->length = strcspn(at, " \t\n,;[");
    word->index = NULL;
    word->index_length = 0;
    open = at + word->length;
    if (*open == '[') {
        word->index = open + 1;
        word->index_length = strcspn(open + 1, "]");
        word->length += 1 + word->index_length;
        if (at[word->length] == ']') word->length++;
        word->length += strcspn(at + word->length, separators);
    }
    *names = at + word->length;
    return 1;
}

/* Parses the index of a word: n whole numbers separated by commas. Returns 0 for other
 * text. */
static int parse_index(const struct word *word, int n, long *out)
{
    const char *at = word->index, *end = word->index + word->index_length;

    for (int i = 0; i < n; i++) {
        char *behind;

        out[i] = strtol(at, &behind, 10);
        if (behind == at || behind > end) return 0;
        at = behind + strspn(behind, " \t");
        if (i < n - 1 && *at++ != ',') return 0;
    }
    return at == end && *end == ']' && end + 1 == word->text + word->length;
}

/* The state of a selection: its scene, and the parameters found so far. */
struct selection {
    nb_context *ctx;
    const nb_scene *scene;
    struct symmetry symmetry;
    struct params *out;
    size_t capacity; /* allocated length of out->at */
    size_t once; /* the first `once` parameters may be named only once */
};

static nb_status append(struct selection *s, int row, size_t index)
{
    struct params *out = s->out;

    if (out->n == s->capacity) {
        const size_t more = s->capacity > 0 ? 2 * s->capacity : 16;
        struct param *at = realloc(out->at, more * sizeof *at);

        if (!at) return fail_memory(s->ctx, "the list of parameters");
        out->at = at;
        s->capacity = more;
    }
    out->at[out->n].row = row;
    out->at[out->n++].index = (int)index;
    return NB_OK;
}

/* Returns the first place in the box that has the same structure factor as `place`. */
static size_t first_equivalent(const struct selection *s, size_t place)
{
    size_t list[48];

    (void)reflections_equivalent(s->scene->crystal.hkl, &s->symmetry, place, list);
    return list[0];
}

/* Appends the members of a row that apply, each structure factor once. */
static nb_status append_row(struct selection *s, int i)
{
    const struct registry_row *row = registry_row(i);
    const size_t length = registry_length(s->scene, row);

    for (size_t k = 0; k < length; k++) {
        if (registry_member_lacking(s->scene, row, k)
            || (row->list == REFLECTIONS && first_equivalent(s, k) != k))
            continue;
        NB_TRY(append(s, i, k));
    }
    return NB_OK;
}

/* Appends the member of a list that the index of a word names. */
static nb_status append_member(struct selection *s, int i, const struct word *word)
{
    const struct registry_row *row = registry_row(i);
    const nb_scene *scene = s->scene;
    nb_context *ctx = s->ctx;
    const int length = (int)word->length;
    const char *lacks;
    long at[3];

    if (row->list == NO_LIST)
        return fail(ctx, NB_ERR_ARGUMENT, "parameter %s has no index, but there is '%.*s'",
                    row->name, length, word->text);
    if (!parse_index(word, row->list == REFLECTIONS ? 3 : 1, at))
        return fail(ctx, NB_ERR_ARGUMENT, "'%.*s': expected %s[%s] or %s[*]", length,
                    word->text, row->name, row->list == REFLECTIONS ? "h,k,l" : "i",
                    row->name);
    if (row->list == REFLECTIONS) {
        const nb_hkl *hkl = scene->crystal.hkl;
        size_t place;

        for (int k = 0; k < 3; k++)
            if (labs(at[k]) > HKL_INDEX_MAX)
                at[k] = HKL_INDEX_MAX + 1; /* not in any list */
        if (!nb_hkl_get(hkl, (int)at[0], (int)at[1], (int)at[2], NULL))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "parameter %.*s is free, but that reflection is not listed", length,
                        word->text);
        place = (size_t)(hkl_box_at(hkl, (int)at[0], (int)at[1], (int)at[2]) - hkl->box);
        return append(s, i, first_equivalent(s, place));
    }
    if (at[0] < 0 || (size_t)at[0] >= registry_length(scene, row))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "there is no parameter %.*s: the indices end at %zu", length,
                    word->text, registry_length(scene, row) - 1);
    lacks = registry_member_lacking(scene, row, (size_t)at[0]);
    if (lacks)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "parameter %.*s does not apply: that lattice does not have %s", length,
                    word->text, lacks);
    return append(s, i, (size_t)at[0]);
}

static int matches(const char *name, const struct word *word)
{
    return strlen(name) == word->name_length
           && !strncmp(name, word->text, word->name_length);
}

int params_are_named(const char *names, const char *name)
{
    struct word word = {0};

    while (names && next_word(&names, &word))
        if (matches(name, &word)) return 1;
    return 0;
}

static int is_everything(const struct word *word)
{
    return !word->index && (matches("*", word) || matches("all", word));
}

/* Returns 1 if a word names the group of a row. The word mosaic_tensor names two groups. */
static int is_in_group(const struct registry_row *row, const struct word *word)
{
    if (word->index) return 0;
    return matches(row->group, word)
           || (matches("mosaic_tensor", word)
               && (!strcmp(row->group, "mosaic_axes")
                   || !strcmp(row->group, "mosaic_off")));
}

static int selects(const struct word *word, const struct registry_row *row)
{
    if (is_everything(word)) return row->list != REFLECTIONS;
    return matches(row->name, word) || is_in_group(row, word);
}

int params_name_width(const char *names)
{
    const struct registry_row *row;
    struct word word = {0};

    while (names && next_word(&names, &word))
        for (int i = 0; (row = registry_row(i)) != NULL; i++)
            if (registry_is_width(row) && !is_everything(&word) && selects(&word, row))
                return 1;
    return 0;
}

/* Sets *tied to 1 if the crystal system fixes the number of a row or ties it to another.
 * Such a row may not be named by itself (is_name is 1): that is an error. */
static nb_status check_tie(const struct selection *s, const struct registry_row *row,
                           int is_name, int *tied)
{
    const int member = registry_member_of_cell(row), system = s->scene->crystal.system;
    const int leader = member < 0 ? -1 : symmetry_leader(system, member);

    *tied = member >= 0 && leader != member;
    if (!*tied || !is_name) return NB_OK;
    return fail(s->ctx, NB_ERR_ARGUMENT, "parameter %s is free, but a %s crystal %s%s",
                row->name, symmetry_system_name(system),
                leader < 0 ? "fixes it" : "ties it to ",
                leader < 0    ? ""
                : leader == 0 ? "cell_a"
                              : "cell_alpha");
}

/* ---- the nearest name ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the number of edits from a to b; a swap of neighbours is one edit. b is shorter
 * than NB_NAME_BYTES. */
static size_t edits(const char *a, const char *b)
{
    size_t rows[3][NB_NAME_BYTES + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    const size_t na = strlen(a), nb = strlen(b);
    memset(rows, 0, sizeof rows);
    for (size_t j = 0; j <= nb; j++) last[j] = j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            const size_t change = a[i - 1] != b[j - 1];
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *const spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[nb];
}

struct nearest {
    const char *word;
    size_t distance;
    int kin; /* 1: `name` begins with `word`, or `word` with `name` */
    char name[NB_NAME_BYTES];
};

/* Copies a name of n bytes in lower case. */
static void copy_small(const char *name, size_t n, char small[NB_NAME_BYTES])
{
    for (size_t i = 0; i < n; i++) small[i] = (char)tolower((unsigned char)name[i]);
    small[n] = 0;
}

/* Takes a name of n bytes if it is nearer to the word than nearest->name. A name that
 * begins with the whole word (-hdivrange for the word -hdiv) counts as at most two edits
 * away. A name that is the beginning of the word (-water for -water_um) counts as at most
 * three. */
static void try_name(struct nearest *nearest, const char *name, size_t n)
{
    enum { LETTERS = 4 };
    char word[NB_NAME_BYTES] = "", small[NB_NAME_BYTES] = "";
    const size_t letters = strlen(nearest->word);

    if (n == 0 || n >= NB_NAME_BYTES || letters >= NB_NAME_BYTES) return;
    copy_small(nearest->word, letters, word);
    copy_small(name, n, small);
    const size_t common = letters < n ? letters : n;
    const int kin = common >= LETTERS && strncmp(small, word, common) == 0;
    const size_t changes = edits(word, small);
    const size_t distance = kin ? least(changes, letters <= n ? 2 : 3) : changes;
    /* If the word begins with two names, the longer one is meant. */
    const int better = kin && (!nearest->kin || (n < letters && n > strlen(nearest->name)));
    if (distance > nearest->distance || (distance == nearest->distance && !better)) return;
    nearest->distance = distance;
    nearest->kin = kin;
    memcpy(nearest->name, name, n);
    nearest->name[n] = 0;
}

int nb_nearest_name(const char *word, const char *names, char *out)
{
    struct nearest nearest = {.word = word ? word : "", .distance = SIZE_MAX};
    const struct registry_row *row;
    const size_t letters = strlen(nearest.word) - strspn(nearest.word, "-");

    for (int i = 0; !names && (row = registry_row(i)) != NULL; i++) {
        try_name(&nearest, row->name, strlen(row->name));
        try_name(&nearest, row->group, strlen(row->group));
    }
    while (names && *names) {
        const size_t n = strcspn(names, " ");

        try_name(&nearest, names, n);
        names += n + strspn(names + n, " ");
    }
    if (!out || !nearest.name[0]
        || !(nearest.kin
             || (letters > 1 && nearest.distance <= 2 && 2 * nearest.distance < letters)))
        return 0;
    memcpy(out, nearest.name, sizeof nearest.name);
    return 1;
}

static nb_status fail_unknown(nb_context *ctx, const struct word *word)
{
    char name[NB_NAME_BYTES] = "", nearest[NB_NAME_BYTES];

    if (word->name_length < sizeof name) memcpy(name, word->text, word->name_length);
    if (nb_nearest_name(name, NULL, nearest))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "there is no parameter \"%.*s\"; the nearest is %s", (int)word->length,
                    word->text, nearest);
    return fail(ctx, NB_ERR_ARGUMENT,
                "there is no parameter \"%.*s\"; nb_param_registry() and -list_params list "
                "them",
                (int)word->length, word->text);
}

/* Appends the parameters that one word selects. Unless the word is "all", each must
 * apply. */
static nb_status select_word(struct selection *s, const struct word *word)
{
    nb_context *ctx = s->ctx;
    const nb_scene *scene = s->scene;
    const int all = !word->index || (word->index_length == 1 && *word->index == '*');
    const size_t before = s->out->n;
    const struct registry_row *row;

    for (int i = 0; (row = registry_row(i)) != NULL; i++) {
        const int is_name = matches(row->name, word);
        const char *lacks;
        int tied;

        if (!selects(word, row)) continue;
        lacks = registry_lacking(scene, row);
        if (lacks && is_everything(word)) continue;
        if (lacks)
            return fail(ctx, NB_ERR_ARGUMENT,
                        "parameter %s does not apply: the scene does not have %s",
                        row->name, lacks);
        NB_TRY(check_tie(s, row, is_name, &tied));
        if (tied) continue;
        if (all && (!word->index || row->list != NO_LIST))
            NB_TRY(append_row(s, i));
        else
            NB_TRY(append_member(s, i, word));
    }
    return s->out->n == before ? fail_unknown(ctx, word) : NB_OK;
}

/* A parameter and its place in x. */
struct placed {
    struct param param;
    size_t place;
};

static int compare(const void *left, const void *right)
{
    const struct param *a = left, *b = right; /* the first member of a struct placed */

    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_places(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    const int order = compare(left, right);

    return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Returns the parameters sorted by row and index, or NULL if there is no memory; the caller
 * frees them. The index of a structure factor is here its first place in the box. */
static struct placed *sorted_params(const struct params *params)
{
    struct placed *const sorted = malloc((params->n + 1) * sizeof *sorted);
    const struct params_f *const f = &params->f;

    for (size_t i = 0; sorted && i < params->n; i++) {
        sorted[i] = (struct placed){params->at[i], i};
        if (f->start && params_is_f(params, i))
            sorted[i].param.index = (int)f->place[f->start[params->at[i].index]];
    }
    if (sorted) qsort(sorted, params->n, sizeof *sorted, compare_places);
    return sorted;
}

/* Removes repeated parameters. A repetition among the first s->once is an error. */
static nb_status keep_once(const struct selection *s)
{
    struct params *const out = s->out;
    struct placed *const sorted = sorted_params(out);
    nb_status status = NB_OK;
    size_t kept = 0;

    if (!sorted) return fail_memory(s->ctx, "the list of parameters");
    for (size_t i = 1; i < out->n && status == NB_OK; i++) {
        const struct param *const param = &sorted[i].param;
        char name[sizeof(((nb_param *)0)->name)];

        if (compare(sorted + i - 1, sorted + i) != 0) continue;
        registry_name(s->scene, registry_row(param->row), (size_t)param->index, name,
                      sizeof name);
        if (sorted[i].place < s->once)
            status = fail(s->ctx, NB_ERR_ARGUMENT, "parameter %s is named twice", name);
        out->at[sorted[i].place].row = -1;
    }
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i].row >= 0) out->at[kept++] = out->at[i];
    out->n = kept;
    free(sorted);
    return status;
}

/* Selects the parameters of `names`, but leaves params_f empty. If `merge` is 1, a
 * parameter may be named any number of times. */
static nb_status select_all(nb_context *ctx, const nb_scene *scene, const char *names,
                            int merge, struct selection *s)
{
    struct word word = {.again = merge};

    s->ctx = ctx;
    s->scene = scene;
    s->once = merge ? 0 : SIZE_MAX;
    symmetry_operators(scene->crystal.point_group, &s->symmetry);
    while (names && next_word(&names, &word)) {
        if (word.again && s->once > s->out->n) s->once = s->out->n;
        NB_TRY(select_word(s, &word));
    }
    return keep_once(s);
}

nb_status params_select(nb_context *ctx, const nb_scene *scene, const char *names,
                        struct params *out)
{
    struct selection s = {.out = out};

    memset(out, 0, sizeof *out);
    out->system = scene->crystal.system;
    NB_TRY(select_all(ctx, scene, names, 0, &s));
    return reflections_collect(ctx, scene, &s.symmetry, out);
}

nb_status params_find(nb_context *ctx, const nb_scene *scene, const struct params *params,
                      const char *names, size_t room, size_t *index, size_t *n)
{
    struct params found = {0};
    struct selection s = {.out = &found};
    struct placed *sorted = NULL;
    nb_status status = select_all(ctx, scene, names, 1, &s);

    if (status == NB_OK && !(sorted = sorted_params(params)))
        status = fail_memory(ctx, "the list of parameters");
    for (size_t i = 0; i < found.n && status == NB_OK; i++) {
        const struct param *const one = &found.at[i];
        const struct placed *const at =
            bsearch(one, sorted, params->n, sizeof *sorted, compare);
        char name[sizeof(((nb_param *)0)->name)];

        registry_name(scene, registry_row(one->row), (size_t)one->index, name, sizeof name);
        if (!at)
            status = fail(ctx, NB_ERR_ARGUMENT, "parameter %s is not free", name);
        else if (i < room)
            index[i] = at->place;
    }
    *n = status == NB_OK ? found.n : 0;
    free(sorted);
    free(found.at);
    return status;
}

void params_free(struct params *params)
{
    free(params->at);
    free(params->f.start);
    free(params->f.place);
    free(params->f.listed);
}
