/*
 * check.c - is the JSON of `nanobrag_bench -quick -ladder -peer ...` complete, and is every
 * figure in it positive? SPDX-License-Identifier: MIT
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/tap.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *path;

static cJSON *load(void)
{
    enum { MOST = 1 << 20 };
    char *text = calloc(1, MOST);
    FILE *file = fopen(path, "r");
    cJSON *root = NULL;

    if (file && text) {
        (void)fread(text, 1, MOST - 1, file);
        root = cJSON_Parse(text);
    }
    if (file) (void)fclose(file);
    free(text);
    (void)tap_check(root != NULL, "%s is JSON", path);
    return root;
}

static double number_of(const cJSON *entry, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(entry, key);

    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static const char *word_of(const cJSON *entry, const char *key)
{
    const char *word = cJSON_GetStringValue(cJSON_GetObjectItem(entry, key));

    return word ? word : "";
}

/* every key of an entry holds a positive number */
static void check_positive(const cJSON *entry, const char *what, const char *const *keys,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double value = number_of(entry, keys[i]);

        (void)tap_check(value > 0, "%s %s: measured %g allowed > 0", what, keys[i], value);
    }
    (void)tap_check(!*word_of(entry, "not_run"), "%s ran: '%s'", what,
                    word_of(entry, "not_run"));
}

/* a list of the document, of at least `least` entries */
static const cJSON *list_of(const cJSON *root, const char *key, int least)
{
    const cJSON *list = cJSON_GetObjectItem(root, key);

    (void)tap_check(cJSON_GetArraySize(list) >= least, "%s: %d entries, allowed >= %d", key,
                    cJSON_GetArraySize(list), least);
    return list;
}

static int machine(void)
{
    static const char *const keys[] = {"clock_hertz", "sines_per_second",
                                       "peak_double_per_second", "peak_float_per_second"};
    cJSON *root = load();

    check_positive(cJSON_GetObjectItem(root, "machine"), "machine", keys, COUNT(keys));
    cJSON_Delete(root);
    return TAP_PASS;
}

static int cases(void)
{
    static const char *const keys[] = {"evaluations",       "library_seconds",
                                       "mevals_per_second", "cycles_per_evaluation",
                                       "scalar_seconds",    "times_scalar",
                                       "program_seconds",   "program_evaluations_per_sine"};
    static const char *const roof[] = {"fraction_of_roof"};
    cJSON *root = load();
    const cJSON *entry;

    /* A, B, E in two precisions; C in two precisions, strategies and profiles */
    cJSON_ArrayForEach(entry, list_of(root, "cases", 3 * 2 + 8))
    {
        char what[80];

        (void)snprintf(what, sizeof what, "%s %s %s %s", word_of(entry, "case"),
                       word_of(entry, "profile"), word_of(entry, "precision"),
                       word_of(entry, "strategy"));
        check_positive(entry, what, keys, COUNT(keys));
        if (strcmp(word_of(entry, "strategy"), "lanes") == 0)
            check_positive(entry, what, roof, COUNT(roof));
    }
    cJSON_Delete(root);
    return TAP_PASS;
}

/* the peer of the test is our own program: the double images agree to the bit */
static int peer(void)
{
    static const char *const keys[] = {"runs", "peer_seconds", "seconds", "ratio"};
    cJSON *root = load();
    const cJSON *entry;

    cJSON_ArrayForEach(entry, list_of(root, "peer", 4 * 2))
    {
        const int is_double = strcmp(word_of(entry, "precision"), "double") == 0;
        const double worst = number_of(entry, "largest_difference_over_peak");
        const double allowed = is_double ? 0 : 2e-5; /* float: tolerance, on both sides */
        char what[80];

        (void)snprintf(what, sizeof what, "%s %s", word_of(entry, "case"),
                       word_of(entry, "precision"));
        check_positive(entry, what, keys, COUNT(keys));
        (void)tap_check(worst >= 0 && worst <= allowed,
                        "%s images: measured %g allowed %g of the peak", what, worst,
                        allowed);
    }
    cJSON_Delete(root);
    return TAP_PASS;
}

static int ladder(void)
{
    static const char *const keys[] = {"spread"};
    static const char *const point_keys[] = {"x", "evaluations", "seconds"};
    static const char *const scale_keys[] = {"threads", "seconds", "speedup"};
    cJSON *root = load();
    const cJSON *entry, *point;

    cJSON_ArrayForEach(entry, list_of(root, "ladder", 4 * 2))
    {
        const char *axis = word_of(entry, "axis");

        check_positive(entry, axis, keys, COUNT(keys));
        cJSON_ArrayForEach(point, list_of(entry, "points", 2))
            check_positive(point, axis, point_keys, COUNT(point_keys));
    }
    cJSON_ArrayForEach(entry, list_of(root, "thread_scaling", 2))
    {
        check_positive(entry, "threads", scale_keys, COUNT(scale_keys));
        (void)tap_check(cJSON_IsTrue(cJSON_GetObjectItem(entry, "same_bits")),
                        "%g threads give the bits of one", number_of(entry, "threads"));
    }
    cJSON_Delete(root);
    return TAP_PASS;
}

static int calls(void)
{
    static const char *const shot[] = {"orientations", "one_pixel_seconds", "tile_seconds"};
    static const char *const gradient[] = {"parameters", "forward_seconds",
                                           "adjoint_seconds", "loss_seconds"};
    static const char *const continuous[] = {"seconds", "domains_seconds", "unit_seconds"};
    static const char *const memory[] = {"seconds", "resident_bytes"};
    cJSON *root = load();
    const cJSON *entry;

    cJSON_ArrayForEach(entry, list_of(root, "many_shots", 3 * 2))
        check_positive(entry, "many shots", shot, COUNT(shot));
    cJSON_ArrayForEach(entry, list_of(root, "gradients", 4 * 2))
        check_positive(entry, word_of(entry, "case"), gradient, COUNT(gradient));
    cJSON_ArrayForEach(entry, list_of(root, "continuous", 12))
        check_positive(entry, word_of(entry, "what"), continuous, COUNT(continuous));
    cJSON_ArrayForEach(entry, list_of(root, "memory", 1))
        check_positive(entry, word_of(entry, "what"), memory, COUNT(memory));
    cJSON_Delete(root);
    return TAP_PASS;
}

static const struct tap_case list[] = {
    {"machine", machine}, {"cases", cases}, {"peer", peer},
    {"ladder", ladder},   {"calls", calls},
};

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench_check FILE\n");
        return 2;
    }
    path = argv[1];
    return tap_main(1, argv, list, COUNT(list));
}
