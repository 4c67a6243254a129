/*
 * test_worst.c - tests the comparator of all other tests (support/worst.h), and the errors
 * that are planted to prove those tests (support/plant.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/plant.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* One of four numbers that are compared with the truth, on a scale of 2. */
struct row {
    const char *name;
    double found[4], truth[4], error;
    size_t at;
};

static int not_finite(void)
{
    static const struct row rows[] = {
        {"NaN first", {NAN, 2, 3, 4}, {1, 2, 3, 4}, INFINITY, 0},
        {"NaN in the middle", {9, NAN, 3, 4}, {1, 2, 3, 4}, INFINITY, 1},
        {"NaN last", {1, 2, 3, NAN}, {1, 2, 3, 4}, INFINITY, 3},
        {"all NaN", {NAN, NAN, NAN, NAN}, {1, 2, 3, 4}, INFINITY, 0},
        {"NaN, and a large difference after it",
         {1, NAN, 99, 4},
         {1, 2, 3, 4},
         INFINITY,
         1},
        {"an infinity", {1, 2, INFINITY, 4}, {1, 2, 3, 4}, INFINITY, 2},
        {"-infinity", {1, 2, 3, -INFINITY}, {1, 2, 3, 4}, INFINITY, 3},
        {"a NaN of the other sign", {1, -NAN, 3, 4}, {1, 2, 3, 4}, INFINITY, 1},
        {"NaN as the truth", {1, 2, 3, 4}, {1, 2, NAN, 4}, INFINITY, 2},
        {"NaN in both", {1, 2, NAN, 4}, {1, 2, NAN, 4}, INFINITY, 2},
        {"an infinity in both", {1, INFINITY, 3, 4}, {1, INFINITY, 3, 4}, INFINITY, 1},
        {"an overflow", {DBL_MAX, 2, 3, 4}, {-DBL_MAX, 2, 3, 4}, INFINITY, 0},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct worst w = {0};

        worst_add_all(&w, rows[i].found, rows[i].truth, 4, 2);
        tap_check(w.error == rows[i].error && w.at == rows[i].at && w.count == 4
                      && !(w.error <= DBL_MAX),
                  "%s: error %g at %zu of %zu", rows[i].name, w.error, w.at, w.count);
    }
    return TAP_PASS;
}

static int finite(void)
{
    static const struct row rows[] = {
        {"equal", {1, 2, 3, 4}, {1, 2, 3, 4}, 0, 0},
        {"the first", {3, 2, 3, 4}, {1, 2, 3, 4}, 1, 0},
        {"below", {1, 2, 3, 1}, {1, 2, 3, 4}, 1.5, 3},
        {"the larger of two", {2, 2, -3, 4}, {1, 2, 3, 4}, 3, 2},
        {"0 of either sign", {0, -0.0, 3, 4}, {-0.0, 0, 3, 4}, 0, 0},
        {"the first of two alike", {1, 4, 5, 4}, {1, 2, 3, 4}, 1, 1},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct worst w = {0};

        worst_add_all(&w, rows[i].found, rows[i].truth, 4, 2);
        tap_check(w.error == rows[i].error && w.at == rows[i].at && w.count == 4,
                  "%s: error %g at %zu", rows[i].name, w.error, w.at);
    }
    return TAP_PASS;
}

/* Errors are measured in units of the scale. */
static int scales(void)
{
    static const struct {
        double found, truth, scale, error;
    } rows[] = {
        {2, 1, 0, INFINITY},   {1, 1, 0, 0},          {0, 0, 0, 0},
        {1, 1, NAN, INFINITY}, {2, 1, NAN, INFINITY}, {2, 1, INFINITY, INFINITY},
        {2, 1, -1, INFINITY},  {2, 1, 4, 0.25},       {1e-300, 0, 1e-300, 1},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct worst w = {0};

        worst_add(&w, rows[i].found, rows[i].truth, rows[i].scale);
        tap_check(w.error == rows[i].error, "%g and %g, scale %g: error %g", rows[i].found,
                  rows[i].truth, rows[i].scale, w.error);
    }
    return TAP_PASS;
}

static int joined(void)
{
    struct worst empty = {0}, one = {0}, two = {0}, all = {0};

    worst_add(&one, 1, 2, 1);
    worst_add(&two, 1, 1, 1);
    worst_add(&two, 1, 4, 1);
    worst_join(&all, &empty);
    tap_check(all.count == 0, "nothing and nothing: %zu numbers", all.count);
    worst_join(&all, &one);
    worst_join(&all, &two);
    worst_join(&all, &empty);
    tap_check(all.error == 3 && all.at == 2 && all.count == 3 && all.truth == 4,
              "three numbers: error %g at %zu of %zu", all.error, all.at, all.count);
    worst_fail(&two);
    worst_join(&all, &two);
    worst_join(&all, &one);
    tap_check(!(all.error <= DBL_MAX) && all.count == 7, "one failed: error %g of %zu",
              all.error, all.count);
    return TAP_PASS;
}

static int largest(void)
{
    static const double fine[] = {1, -3, 2}, last[] = {1, -3, NAN}, first[] = {NAN, 1, 2},
                        infinite[] = {1, -INFINITY, 2};

    tap_check(worst_largest(fine, 3) == 3, "the largest modulus");
    tap_check(worst_largest(fine, 0) == 0, "of no numbers: 0");
    tap_check(isnan(worst_largest(last, 3)) && isnan(worst_largest(first, 3))
                  && isnan(worst_largest(infinite, 3)),
              "none where a number is not finite");
    return TAP_PASS;
}

static int bits(void)
{
    static const double a[] = {1, 2, 0}, other[] = {1, 2, -0.0}, none[] = {0, 0, 0},
                        broken[] = {1, NAN, 0};

    tap_check(bits_same(a, a, 3) && bits_differ(a, a, 3) == 0, "the same");
    tap_check(!bits_same(a, other, 3) && bits_differ(a, other, 3) == 1, "0 and -0 differ");
    tap_check(!bits_same(none, none, 3), "zeros prove nothing");
    tap_check(bits_same_or_zeros(none, none, 3), "but where they are expected");
    tap_check(!bits_same(broken, broken, 3) && !bits_same_or_zeros(broken, broken, 3)
                  && bits_differ(broken, broken, 3) == 0,
              "NaN proves nothing");
    return TAP_PASS;
}

/* One number gets the error, another one in each call. */
static int plants(void)
{
    enum { N = 50 };
    double kept[N], one[N], two[N];
    char before[64] = "";
    const char *set = getenv("NANOBRAG_TEST_PLANT");
    int nan_one = 0, nan_two = 0, together = 0;

    if (set) (void)snprintf(before, sizeof before, "%s", set);
    for (int i = 0; i < N; i++) kept[i] = one[i] = two[i] = i % 7 - 2.5;
    (void)unsetenv("NANOBRAG_TEST_PLANT");
    plant_numbers("pixel", one, N);
    tap_check(bits_same(one, kept, N), "nothing unless it is asked for");
    (void)setenv("NANOBRAG_TEST_PLANT", "nan:loss", 1);
    plant_numbers("pixel", one, N);
    tap_check(bits_same(one, kept, N), "nothing in another result");
    (void)setenv("NANOBRAG_TEST_PLANT", "nan:pixel", 1);
    plant_numbers("pixel", one, N);
    plant_numbers("pixel", two, N);
    for (int i = 0; i < N; i++) {
        nan_one += isnan(one[i]) != 0;
        nan_two += isnan(two[i]) != 0;
        together += isnan(one[i]) && isnan(two[i]);
    }
    tap_check(nan_one == 1 && nan_two == 1 && together == 0, "one NaN in each, apart");
    memcpy(one, kept, sizeof one);
    memcpy(two, kept, sizeof two);
    (void)setenv("NANOBRAG_TEST_PLANT", "1e-5:pixel", 1);
    plant_numbers("pixel", one, N);
    plant_numbers("pixel", two, N);
    tap_check(bits_differ(one, kept, N) == 1 && bits_differ(two, kept, N) == 1
                  && bits_differ(one, two, N) == 1,
              "one error in each, of different size");
    (void)setenv("NANOBRAG_TEST_PLANT", before, 1);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"not_finite", not_finite}, {"finite", finite},   {"scales", scales},
        {"joined", joined},         {"largest", largest}, {"bits", bits},
        {"plants", plants},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
