/*
 * parameter_names.c - names of parameters: lists of them, -param, and the parameters of a
 * simulator that they stand for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/options/parameter_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/options/options.h"

/* stands for all that apply, except structure factors */
static const char everything[] = "*";
static const char factors[] = "F";

/* ---- words ---- */

/* A set of names. A name of a list without an index stands for all of its elements. */
struct words {
    char **at;
    size_t n;
};

static void words_free(struct words *words)
{
    for (size_t i = 0; i < words->n; i++) free(words->at[i]);
    free(words->at);
}

/* the length of the name before an index */
static size_t stem(const char *word)
{
    return strcspn(word, "[");
}

static int has_stem(const char *word, const char *name)
{
    return stem(word) == strlen(name) && strncmp(word, name, strlen(name)) == 0;
}

/* 1 when freeing `word` frees `other` too. */
static int covers(const char *word, const char *other)
{
    if (strcmp(word, other) == 0) return 1;
    if (strcmp(word, everything) == 0) return !has_stem(other, factors);
    return has_stem(other, word);
}

/* Add a word to the set; returns 0 when out of memory. */
static int words_add(struct words *words, const char *word)
{
    size_t kept = 0;
    for (size_t i = 0; i < words->n; i++)
        if (covers(words->at[i], word)) return 1;
    for (size_t i = 0; i < words->n; i++) {
        if (covers(word, words->at[i]))
            free(words->at[i]);
        else
            words->at[kept++] = words->at[i];
    }
    words->n = kept;
    char **grown = realloc(words->at, (kept + 1) * sizeof *grown);
    if (!grown) return 0;
    words->at = grown;
    grown[kept] = strdup(word);
    words->n += grown[kept] != NULL;
    return grown[kept] != NULL;
}

/* ---- lists ---- */

enum { WORD_BYTES = 64 };

/* Copy the next name of a list to `word`, up to one of `ends` or a blank outside brackets.
 * Blanks around it and in brackets are dropped, and a name that is too long is cut, which
 * makes it unknown. Returns 0 at the end. */
static int next_word(const char **list, const char *ends, char word[WORD_BYTES])
{
    static const char blanks[] = " \t\n";
    const char *p = *list + strspn(*list, blanks);
    size_t n = 0;
    int inside = 0;
    if (!**list) return 0;
    for (; *p && (inside || (!strchr(ends, *p) && !strchr(blanks, *p))); p++) {
        inside = (inside || *p == '[') && *p != ']';
        if (!strchr(blanks, *p) && n + 1 < WORD_BYTES) word[n++] = *p;
    }
    p += strspn(p, blanks);
    word[n] = 0;
    *list = *p && strchr(ends, *p) ? p + 1 : p;
    if (strcmp(word, "all") == 0) memcpy(word, everything, sizeof everything);
    char *const open = strchr(word, '[');
    if (open && strcmp(open, "[*]") == 0) *open = 0;
    return 1;
}

void params_try_names(struct nearest *nearest)
{
    nb_param row;
    for (int i = 0; nb_param_registry(i, &row); i++) {
        row.name[stem(row.name)] = 0;
        nearest_try(nearest, row.name);
        nearest_try(nearest, row.group);
    }
}

static void describe_unknown(const char *word, char what[PARAMS_WHAT])
{
    struct nearest search;
    nearest_start(&search, word);
    params_try_names(&search);
    const char *const nearest = nearest_name(&search);
    (void)snprintf(what, PARAMS_WHAT, "there is no parameter \"%.60s\"; %s%.60s", word,
                   nearest ? "the nearest is " : "nanobrag -list_params lists them",
                   nearest ? nearest : "");
}

static int unknown(struct messages *messages, int option, const char *word)
{
    char what[PARAMS_WHAT];
    describe_unknown(word, what);
    return message_usage(messages, "%s: %s", option_at(option)->name, what);
}

/* Row i of the registry, with the name of a list without its index; returns 0 past the end.
 */
static int registry(int i, nb_param *row)
{
    if (!nb_param_registry(i, row)) return 0;
    row->name[stem(row->name)] = 0;
    return 1;
}

/* 1 when a word stands for a row of the registry. */
static int stands_for(const char *word, const nb_param *row)
{
    if (strcmp(word, everything) == 0) return strcmp(row->name, factors) != 0;
    if (strchr(word, '[')) return has_stem(word, row->name);
    if (strcmp(word, row->name) == 0 || strcmp(word, row->group) == 0) return 1;
    /* the library takes this name for two groups */
    return strcmp(word, "mosaic_tensor") == 0
           && (strcmp(row->group, "mosaic_axes") == 0
               || strcmp(row->group, "mosaic_off") == 0);
}

int params_known(const char *word, char what[PARAMS_WHAT])
{
    nb_param row;
    for (int i = 0; registry(i, &row); i++)
        if (stands_for(word, &row)) return 1;
    describe_unknown(word, what);
    return 0;
}

/* Add the names that a list stands for. Groups are resolved, so that no name covered by
 * another is freed twice. */
static int add_list(struct words *words, struct messages *messages, int option,
                    const char *list)
{
    char word[WORD_BYTES];
    while (next_word(&list, ",", word)) {
        nb_param row;
        int found = 0, added = 1;
        const int whole = strcmp(word, everything) != 0 && !strchr(word, '[');
        for (int i = 0; registry(i, &row); i++) {
            if (!stands_for(word, &row)) continue;
            found = 1;
            added = added && words_add(words, whole ? row.name : word);
        }
        if (!added) return message_failure(messages, "out of memory for the parameters");
        if (!found) return unknown(messages, option, word);
    }
    return 0;
}

static char *join(const struct words *words)
{
    size_t size = 1;
    for (size_t i = 0; i < words->n; i++) size += strlen(words->at[i]) + 1;
    char *const out = malloc(size);
    char *p = out;
    for (size_t i = 0; out && i < words->n; i++) {
        const size_t length = strlen(words->at[i]);
        memcpy(p, words->at[i], length);
        p[length] = ' ';
        p += length + 1;
    }
    if (out) *p = 0;
    return out;
}

/* ---- -param NAME=VALUE ---- */

static int split(struct messages *messages, const char *text, char name[WORD_BYTES],
                 double *value)
{
    const char *rest = text;
    if (!strchr(text, '=') || !next_word(&rest, "=", name) || !*name)
        return message_usage(messages, "-param %s: expected NAME=VALUE", text);
    if (!parse_real(rest, value))
        return message_usage(messages, "-param %s: expected a number after the =", text);
    return 0;
}

static int add_set(struct words *words, struct messages *messages, const char *text)
{
    char name[WORD_BYTES];
    double value = 0;
    nb_param row;
    const int code = split(messages, text, name, &value);
    if (code) return code;
    for (int i = 0; registry(i, &row); i++)
        if (has_stem(name, row.name))
            return words_add(words, name) ? 0 : message_failure(messages, "out of memory");
    for (int i = 0; registry(i, &row); i++)
        if (strcmp(name, row.group) == 0)
            return message_usage(messages,
                                 "-param %s: %s is a group; name one of it, such as %s",
                                 text, name, row.name);
    return unknown(messages, OPT_PARAM, name);
}

/* Join the words in *out unless there is an error already, and free them. */
static int join_and_free(struct words *words, struct messages *messages, int code,
                         char **out)
{
    *out = code ? NULL : join(words);
    words_free(words);
    if (!code && !*out)
        code = message_failure(messages, "out of memory for the parameters");
    return code;
}

int params_names(const struct settings *s, struct messages *messages,
                 const struct event_list *events, const char *shots, const char *changing,
                 char **out)
{
    struct words words = {0};
    int code = add_list(&words, messages, OPT_PARAM, "phi0");
    if (!code && shots) code = add_list(&words, messages, OPT_SHOTS, shots);
    if (!code) code = add_list(&words, messages, OPT_EXPT, changing);
    if (!code && s->spectra)
        code = add_list(&words, messages, OPT_SPECTRA, "source_weight");
    for (size_t i = 0; i < events->n && !code; i++)
        if (events->at[i].option == OPT_PARAM)
            code = add_set(&words, messages, events->at[i].text);
    if (!code && s->gradient) code = add_list(&words, messages, OPT_GRADIENT, s->gradient);
    if (!code && s->jacobian) code = add_list(&words, messages, OPT_JACOBIAN, s->jacobian);
    if (!code && s->hklgradfile)
        code = add_list(&words, messages, OPT_HKLGRADFILE, factors);
    if (!code && s->atomgradfile)
        code = add_list(&words, messages, OPT_ATOMGRADFILE, factors);
    /* gradcheck_run() makes a simulator of its own: here its names are only checked */
    if (!code && s->gradcheck) {
        struct words checked = {0};
        code = add_list(&checked, messages, OPT_GRADCHECK, s->gradcheck);
        words_free(&checked);
    }
    return join_and_free(&words, messages, code, out);
}

int params_list(struct messages *messages, int option, const char *list, char **out)
{
    struct words words = {0};
    const int code = add_list(&words, messages, option, list);
    return join_and_free(&words, messages, code, out);
}

void params_prepare(nb_scene *scene, const char *names)
{
    double *mosaic = scene->crystal.mosaic;
    const int axes = strstr(names, "mosaic_a") || strstr(names, "mosaic_b")
                     || strstr(names, "mosaic_c") || strstr(names, "mosaic_off")
                     || strstr(names, "mosaic_tensor");
    if (strstr(names, "mosaic") || strstr(names, "strain") || strstr(names, "crystal_size"))
        scene->given |= NB_GIVEN_WIDTH;
    if (!axes || (scene->given & NB_GIVEN_MOSAIC_AXES)) return;
    mosaic[1] = mosaic[2] = mosaic[0];
    scene->given |= NB_GIVEN_MOSAIC_AXES;
}

/* ---- in a simulator ---- */

static size_t place(const struct params *params, const char *name)
{
    for (size_t i = 0; i < params->n; i++)
        if (strcmp(params->at[i].name, name) == 0) return i;
    return params->n;
}

static int does_not_apply(struct messages *messages, int option, const char *name)
{
    return message_usage(messages, "%s %s: this scene has no such parameter",
                         option_at(option)->name, name);
}

static int set_one(struct params *params, struct messages *messages, const char *text)
{
    char name[WORD_BYTES];
    double value = 0;
    const int code = split(messages, text, name, &value);
    if (code) return code;
    const size_t i = place(params, name);
    if (i == params->n) return does_not_apply(messages, OPT_PARAM, text);
    const nb_param *p = &params->at[i];
    if (!(value >= p->lower && value <= p->upper))
        return message_usage(messages, "-param %s: expected %g to %g", text, p->lower,
                             p->upper);
    if (p->smooth == NB_SMOOTH_ZERO && value != p->value)
        message_warning(messages, "-param %s: %s has no influence in this scene", text,
                        name);
    params->x[i] = value;
    params->nset += !params->set[i];
    params->set[i] = 1;
    return 0;
}

int params_set(struct params *params, struct messages *messages, const nb_simulator *sim,
               const struct event_list *events)
{
    params->n = nb_simulator_nparam(sim);
    params->at = malloc(params->n * sizeof *params->at);
    params->x = malloc(params->n * sizeof *params->x);
    params->set = calloc(params->n, 1);
    if (!params->at || !params->x || !params->set)
        return message_failure(messages, "out of memory for %zu parameters", params->n);
    for (size_t i = 0; i < params->n; i++) {
        if (nb_simulator_param(sim, i, &params->at[i]) != NB_OK)
            return message_failure(messages, "parameter %zu is not known", i);
        params->x[i] = params->at[i].value;
    }
    for (size_t i = 0; i < events->n; i++) {
        if (events->at[i].option != OPT_PARAM) continue;
        const int code = set_one(params, messages, events->at[i].text);
        if (code) return code;
    }
    params->phi0 = place(params, "phi0");
    return 0;
}

/* Add the parameters of row `row` of the registry that are not selected yet. */
static size_t select_row(const struct params *params, const char *word, const nb_param *row,
                         unsigned char *taken, struct selection *out)
{
    size_t found = 0;
    for (size_t i = 0; i < params->n; i++) {
        const char *const name = params->at[i].name;
        if (!has_stem(name, row->name)) continue;
        if (strchr(word, '[') && strcmp(word, name) != 0) continue;
        found++;
        if (!taken[i]) out->at[out->n++] = i;
        taken[i] = 1;
    }
    return found;
}

int params_select(const struct params *params, struct messages *messages, int option,
                  const char *list, struct selection *out)
{
    char word[WORD_BYTES];
    int code = 0;
    unsigned char *const taken = calloc(params->n, 1);
    *out = (struct selection){0, calloc(params->n, sizeof *out->at)};
    if (!taken || !out->at)
        code = message_failure(messages, "out of memory for the parameters");
    while (!code && next_word(&list, ",", word)) {
        nb_param row;
        size_t found = 0;
        for (int i = 0; registry(i, &row); i++)
            if (stands_for(word, &row)) found += select_row(params, word, &row, taken, out);
        if (found == 0) code = does_not_apply(messages, option, word);
    }
    free(taken);
    return code;
}

int params_is_factor(const char *name, int hkl[3])
{
    return has_stem(name, factors)
           && sscanf(name, "F[%d,%d,%d]", &hkl[0], &hkl[1], &hkl[2]) == 3;
}

void params_free(struct params *params)
{
    free(params->at);
    free(params->x);
    free(params->set);
}
