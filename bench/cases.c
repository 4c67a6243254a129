/* cases.c - see cases.h. SPDX-License-Identifier: MIT */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char letter;
    const char *what, *words;
} all[] = {
#define CASE(letter, what, words) {letter, what, words},
#include "cases.def"
#undef CASE
};

#define AT(member) offsetof(struct cases_scene, member)
static const struct key {
    const char *name;
    size_t offset;
    int reals, whole; /* how many of a kind; both 0: a word of `words` */
    const char *words;
} keys[] = {
    {"cell", AT(scene.crystal.cell), 6, 0, NULL},
    {"n", AT(scene.crystal.ncells), 3, 0, NULL},
    {"misset", AT(scene.crystal.misset), 3, 0, NULL},
    {"mosaic", AT(scene.crystal.mosaic), 1, 0, NULL},
    {"f", AT(scene.crystal.default_f), 1, 0, NULL},
    {"ndomains", AT(scene.crystal.ndomains), 0, 1, NULL},
    {"shape", AT(scene.crystal.shape), 0, 0, "square|round|gauss|tophat|gauss_star"},
    {"model", AT(scene.crystal.mosaic_model), 0, 0, "auto|domains|gauss"},
    {"list", AT(list), 0, 0, "none|nearest|tricubic|2erl"},
    {"wavelength", AT(scene.beam.wavelength), 1, 0, NULL},
    {"fluence", AT(scene.beam.fluence), 1, 0, NULL},
    {"dispersion", AT(scene.beam.dispersion), 1, 0, NULL},
    {"nsource", AT(scene.beam.ndispersion), 0, 1, NULL},
    {"phi", AT(scene.scan.phi0), 1, 0, NULL},
    {"osc", AT(scene.scan.osc), 1, 0, NULL},
    {"nphi", AT(scene.scan.nphi), 0, 1, NULL},
    {"water", AT(scene.background.water), 1, 0, NULL},
    {"nfast", AT(scene.detector.nfast), 0, 1, NULL},
    {"nslow", AT(scene.detector.nslow), 0, 1, NULL},
    {"pixel", AT(scene.detector.pixel), 1, 0, NULL},
    {"distance", AT(scene.detector.distance), 1, 0, NULL},
    {"roi", AT(scene.detector.roi), 0, 4, NULL},
    {"oversample", AT(scene.oversample), 0, 1, NULL},
};

int cases_place(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (int at = 0;; at++) {
        const size_t n = strcspn(list, "|");

        if (n == length && strncmp(list, word, n) == 0) return at;
        if (!list[n]) return -1;
        list += n + 1;
    }
}

/* Read the values of a key. Returns 1 if they are what it expects. */
static int read_values(const struct key *key, const char *text, void *to)
{
    const int n = key->reals + key->whole;

    if (key->words) return (*(int *)to = cases_place(key->words, text)) >= 0;
    for (int i = 0; i < n; i++) {
        char *end;
        const double value = strtod(text, &end);

        if (end == text || *end != (i + 1 < n ? ',' : 0)) return 0;
        if (key->reals)
            ((double *)to)[i] = value;
        else
            ((int *)to)[i] = (int)value;
        text = end + 1;
    }
    return 1;
}

int cases_word(const char *word, struct cases_scene *to)
{
    const char *const equals = strchr(word, '=');

    if (!equals) return 0;
    if (strncmp(word, "side=", 5) == 0) {
        to->scene.detector.nfast = to->scene.detector.nslow = atoi(equals + 1);
        return 1;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].name) == (size_t)(equals - word)
            && strncmp(keys[i].name, word, (size_t)(equals - word)) == 0)
            return read_values(keys + i, equals + 1, (char *)to + keys[i].offset);
    return 0;
}

void cases_words(const char *words, struct cases_scene *to)
{
    char word[NAME];
    int n;

    for (; sscanf(words, "%159s%n", word, &n) == 1; words += n) (void)cases_word(word, to);
}

static void make(size_t i, struct bench_case *out)
{
    memset(out, 0, sizeof *out);
    out->letter = all[i].letter;
    out->what = all[i].what;
    cases_words(all[0].words, &out->is);
    cases_words(all[i].words, &out->is);
}

int cases_of(char letter, struct bench_case *out)
{
    for (size_t i = 1; i < sizeof all / sizeof *all; i++)
        if (all[i].letter == letter) {
            make(i, out);
            return 1;
        }
    return 0;
}

int cases_at(size_t i, struct bench_case *out)
{
    if (i + 1 >= sizeof all / sizeof *all || all[i + 1].letter > 'I') return 0;
    make(i + 1, out);
    return 1;
}

/* Make every h k l of a box that reaches 2 A of the cell of case B, with
 * F = 100 (1 + cos(1.3 h + 2.1 k + 0.7 l)). bench.py writes the same list for programs. */
static nb_status make_list(nb_context *ctx, nb_hkl **out)
{
    enum { H = 35, K = 40, L = 45, COUNT = (2 * H + 1) * (2 * K + 1) * (2 * L + 1) };
    int(*hkl)[3] = malloc(COUNT * sizeof *hkl);
    double *f = malloc(COUNT * sizeof *f);
    nb_status status = NB_ERR_MEMORY;
    size_t n = 0;

    for (int h = -H; hkl && f && h <= H; h++)
        for (int k = -K; k <= K; k++)
            for (int l = -L; l <= L; l++, n++) {
                hkl[n][0] = h, hkl[n][1] = k, hkl[n][2] = l;
                f[n] = 100 * (1 + cos(1.3 * h + 2.1 * k + 0.7 * l));
            }
    if (n > 0) status = nb_hkl_create(ctx, n, hkl[0], f, out);
    free(hkl);
    free(f);
    return status;
}

nb_status cases_hkl(nb_context *ctx, struct cases_scene *of, nb_hkl **hkl)
{
    nb_crystal *const c = &of->scene.crystal;
    nb_status status = NB_OK;

    *hkl = NULL;
    if (of->list == CASES_NO_LIST) return NB_OK;
    status =
        of->list == CASES_2ERL ? nb_hkl_read(ctx, BENCH_LIST, hkl) : make_list(ctx, hkl);
    c->hkl = *hkl;
    c->default_f = 0;
    if (of->list == CASES_NEAREST) c->interpolate = NB_LOOKUP_NEAREST;
    if (of->list == CASES_TRICUBIC) c->interpolate = NB_LOOKUP_TRICUBIC;
    return status;
}

const char *precision_word(int precision)
{
    return precision == NB_PRECISION_SINGLE ? "float" : "double";
}

const char *strategy_word(int strategy)
{
    static const char *const words[] = {[NB_STRATEGY_AUTO] = "auto",
                                        [NB_STRATEGY_REFERENCE] = "reference",
                                        [NB_STRATEGY_LANES] = "lanes",
                                        [NB_STRATEGY_SPOTS] = "spots"};

    return words[strategy];
}
