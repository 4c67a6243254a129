/*
 * select.c - finds the parameters that names select. A word is the name of a parameter, of
 * a group, or of a list with an index in brackets ("[*]" for all members). "*" alone
 * selects all that apply except structure factors. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "grad/grad.h"
#include "grad/reflections.h"
#include "grad/registry.h"
#include "scene/reflections/hkl_table.h"

/* A word of the names: "name" or "name[index]". */
struct word {
    const char *text, *index; /* index: the text after the bracket; NULL: no bracket */
    size_t length, name_length, index_length;
};

/* Reads the next word; returns 0 after the last. Separators in brackets belong to
 * the word. */
static int next_word(const char **names, struct word *word)
{
    static const char separators[] = " \t\n,";
    const char *at = *names + strspn(*names, separators);
    const char *open;

    if (!*at) return 0;
    word->text = at;
    word->name_length = word->length = strcspn(at, " \t\n,[");
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

/* A selection under way: its scene, and the parameters found so far. */
struct selection {
    nb_context *ctx;
    const nb_scene *scene;
    struct symmetry symmetry;
    struct params *out;
    size_t capacity; /* number of parameters that out->at has memory for */
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

/* Returns the first place of the box that shares its structure factor with `place`. */
static size_t first_equivalent(const struct selection *s, size_t place)
{
    size_t list[48];

    (void)reflections_equivalent(s->scene->crystal.hkl, &s->symmetry, place, list);
    return list[0];
}

/* Appends all members of a row. */
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
            if (labs(at[k]) > HKL_INDEX_MAX) at[k] = HKL_INDEX_MAX + 1; /* not listed */
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
                    "parameter %.*s does not apply: that lattice has not got %s", length,
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
    struct word word;

    while (names && next_word(&names, &word))
        if (matches(name, &word)) return 1;
    return 0;
}

static int is_everything(const struct word *word)
{
    return !word->index && matches("*", word);
}

/* Returns 1 if a row is in the group that a word names; mosaic_tensor is two groups. */
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
    struct word word;

    while (names && next_word(&names, &word))
        for (int i = 0; (row = registry_row(i)) != NULL; i++)
            if (registry_is_width(row) && !is_everything(&word) && selects(&word, row))
                return 1;
    return 0;
}

/* Sets *tied to 1 if the crystal system ties the row. A tied row that is named by itself is
 * an error. */
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

/* Appends the parameters that one word selects; all of them must apply. */
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
                        "parameter %s does not apply: the scene has not got %s", row->name,
                        lacks);
        NB_TRY(check_tie(s, row, is_name, &tied));
        if (tied) continue;
        if (all && (!word->index || row->list != NO_LIST))
            NB_TRY(append_row(s, i));
        else
            NB_TRY(append_member(s, i, word));
    }
    if (s->out->n == before)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "there is no parameter or group '%.*s'; nb_param_registry() lists them",
                    (int)word->length, word->text);
    return NB_OK;
}

static int compare(const void *left, const void *right)
{
    const struct param *a = left, *b = right;

    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static nb_status check_once(nb_context *ctx, const nb_scene *scene,
                            const struct params *params)
{
    const size_t bytes = params->n * sizeof *params->at;
    struct param *sorted;
    nb_status status = NB_OK;

    if (params->n == 0) return NB_OK;
    sorted = malloc(bytes);
    if (!sorted) return fail_memory(ctx, "the list of parameters");
    memcpy(sorted, params->at, bytes);
    qsort(sorted, params->n, sizeof *sorted, compare);
    for (size_t i = 1; i < params->n && status == NB_OK; i++) {
        char name[sizeof(((nb_param *)0)->name)];

        if (compare(sorted + i - 1, sorted + i) != 0) continue;
        registry_name(scene, registry_row(sorted[i].row), (size_t)sorted[i].index, name,
                      sizeof name);
        status = fail(ctx, NB_ERR_ARGUMENT, "parameter %s is named twice", name);
    }
    free(sorted);
    return status;
}

nb_status params_select(nb_context *ctx, const nb_scene *scene, const char *names,
                        struct params *out)
{
    struct selection s = {ctx, scene, {0}, out, 0};
    struct word word;

    memset(out, 0, sizeof *out);
    out->system = scene->crystal.system;
    symmetry_operators(scene->crystal.point_group, &s.symmetry);
    while (names && next_word(&names, &word)) NB_TRY(select_word(&s, &word));
    NB_TRY(check_once(ctx, scene, out));
    return reflections_collect(ctx, scene, &s.symmetry, out);
}

void params_free(struct params *params)
{
    free(params->at);
    free(params->f.start);
    free(params->f.place);
    free(params->f.listed);
}
