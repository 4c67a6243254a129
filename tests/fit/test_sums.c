/*
 * test_sums.c - sums over shots have the bits of one tree, in whatever order and parts the
 * shots come.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "api/allocations.h"
#include "nanobrag_fit/fit.h"
#include "support/tap.h"

enum { MOST = 9, LENGTH = 3 };

/* Numbers whose sum depends on the order. */
static const double leaves[MOST][LENGTH] = {
    {1e16, 0.1, 3},     {1, 0.2, -1e-17},  {-1e16, 0.3, 7e15},
    {3.14, 0.4, 1},     {2e16, 1e9, 1},    {-2.7, 0.6, -7e15},
    {1e-3, -1e9, 1e-8}, {-2e16, 0.8, 0.5}, {11, 0.9, -0.25},
};

static unsigned seed = 1;

static size_t draw(size_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

static void shuffle(size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n; i > 1; i--) {
        const size_t j = draw(i), was = order[i - 1];

        order[i - 1] = order[j];
        order[j] = was;
    }
}

/* The sum of shots [first, first + 2^level), as far as there are so many. */
static double tree(size_t nshot, int level, size_t first, size_t number)
{
    const size_t half = level > 0 ? (size_t)1 << (level - 1) : 0;

    if (level == 0) return leaves[first][number];
    if (first + half >= nshot) return tree(nshot, level - 1, first, number);
    return tree(nshot, level - 1, first, number)
           + tree(nshot, level - 1, first + half, number);
}

static void truth_of(size_t nshot, double *out)
{
    int level = 0;

    while (((size_t)1 << level) < nshot) level++;
    for (size_t i = 0; i < LENGTH; i++) out[i] = tree(nshot, level, 0, i);
}

static int is_truth(const struct fit_sums *sums, const double *truth)
{
    const double *total = sums_total(sums);

    return total && memcmp(total, truth, LENGTH * sizeof *truth) == 0;
}

static int any_order(void)
{
    struct fit_sums sums = {0};
    int differ = 0;

    for (size_t n = 1; n <= MOST; n++) {
        double truth[LENGTH], forward[LENGTH] = {0};
        int same = 0, most = 0;

        truth_of(n, truth);
        for (size_t i = 0; i < n * LENGTH; i++)
            forward[i % LENGTH] += leaves[i / LENGTH][i % LENGTH];
        differ += memcmp(forward, truth, sizeof truth) != 0;
        for (int trial = 0; trial < 200; trial++) {
            size_t order[MOST];

            shuffle(order, n);
            sums_begin(&sums, n, LENGTH);
            for (size_t i = 0; i < n; i++) {
                if (!sums_add(&sums, 0, order[i], leaves[order[i]])) abort();
                if ((int)sums.nnode > most) most = (int)sums.nnode;
                if (i + 1 < n && sums_total(&sums)) same = -1000;
            }
            same += is_truth(&sums, truth);
        }
        tap_check(same == 200, "%zu shots: in %d of 200 orders the same bits", n, same);
    }
    tap_check(differ > 3, "for %d numbers of shots a plain sum has others", differ);
    sums_free(&sums);
    return TAP_PASS;
}

/* Adds up each part by itself, then the nodes of all parts in any order. */
static int parts_are_truth(size_t n, unsigned cuts, const double *truth)
{
    struct fit_sums part = {0}, total = {0};
    struct fit_node nodes[4 * MOST];
    size_t nnode = 0, order[4 * MOST], first = 0;
    int is_same;

    for (size_t end = 1; end <= n; end++) {
        size_t shots[MOST];

        if (end < n && !(cuts >> (end - 1) & 1)) continue;
        shuffle(shots, end - first);
        sums_begin(&part, n, LENGTH);
        for (size_t i = 0; i < end - first; i++)
            if (!sums_add(&part, 0, first + shots[i], leaves[first + shots[i]])) abort();
        for (size_t i = 0; i < part.nnode; i++) {
            nodes[nnode] = part.node[i];
            nodes[nnode].sum = malloc(LENGTH * sizeof(double));
            if (!nodes[nnode].sum) abort();
            memcpy(nodes[nnode++].sum, part.node[i].sum, LENGTH * sizeof(double));
        }
        first = end;
    }
    shuffle(order, nnode);
    sums_begin(&total, n, LENGTH);
    for (size_t i = 0; i < nnode; i++) {
        const struct fit_node *node = nodes + order[i];

        if (!sums_add(&total, node->level, node->index, node->sum)) abort();
        free(node->sum);
    }
    is_same = is_truth(&total, truth);
    sums_free(&part);
    sums_free(&total);
    return is_same;
}

static int any_parts(void)
{
    for (size_t n = 1; n <= MOST; n++) {
        const unsigned all = 1u << (n - 1);
        double truth[LENGTH];
        unsigned same = 0;

        truth_of(n, truth);
        for (unsigned cuts = 0; cuts < all; cuts++) same += parts_are_truth(n, cuts, truth);
        tap_check(same == all, "%zu shots: in %u of %u divisions the same bits", n, same,
                  all);
    }
    return TAP_PASS;
}

/* A sum over all shots is there only if each was added once. */
static int once_each(void)
{
    struct fit_sums sums = {0};

    for (size_t n = 1; n <= MOST; n++) {
        int wrong = 0;

        for (size_t odd = 0; odd < n; odd++)
            for (int twice = 0; twice < 2; twice++) {
                sums_begin(&sums, n, LENGTH);
                for (size_t i = 0; i < n; i++)
                    for (int k = 0; k < (i != odd ? 1 : 2 * twice); k++)
                        if (!sums_add(&sums, 0, i, leaves[i])) abort();
                wrong += sums_total(&sums) != NULL;
            }
        tap_check(wrong == 0, "%zu shots: %d wrong sums", n, wrong);
    }
    sums_free(&sums);
    return TAP_PASS;
}

/* Few nodes wait at any time, and without memory a shot is refused. */
static int memory(void)
{
    struct fit_sums sums = {0};
    const size_t n = 5000;
    size_t most = 0;
    int refused = 0;

    sums_begin(&sums, n, LENGTH);
    for (size_t i = 0; i < n; i++) {
        if (!sums_add(&sums, 0, i, leaves[i % MOST])) abort();
        if (sums.nnode > most) most = sums.nnode;
    }
    tap_check(most <= 14 && sums_total(&sums), "at most %zu nodes wait of %zu", most, n);
    sums_free(&sums);
    if (!allocations_counted()) return TAP_PASS;
    for (int k = 1; k <= 3; k++) {
        const long held = allocations_held();

        sums_begin(&sums, 4, LENGTH);
        allocations_refuse(k);
        refused += !sums_add(&sums, 0, 0, leaves[0]);
        allocations_refuse(0);
        sums_free(&sums);
        tap_check(allocations_held() == held, "nothing is left behind");
    }
    tap_check(refused == 3, "%d of 3 refused", refused);
    return TAP_PASS;
}

/* The nodes that a range of shots comes to are those that are listed. */
static int listed_nodes(void)
{
    enum { SHOTS = 37 };
    struct fit_node node[SUMS_NODES];
    struct fit_sums sums = {0};
    int ranges = 0, wrong = 0;

    for (size_t n = 1; n <= SHOTS; n++)
        for (size_t first = 0; first < n; first++)
            for (size_t end = first; end <= n; end++) {
                const size_t listed = sums_nodes(n, first, end, node);

                sums_begin(&sums, n, LENGTH);
                for (size_t i = first; i < end; i++)
                    if (!sums_add(&sums, 0, i, leaves[i % MOST])) abort();
                wrong += listed != sums.nnode;
                for (size_t i = 0; i < listed; i++)
                    wrong += !sums_find(&sums, node[i].level, node[i].index);
                ranges++;
            }
    tap_check(wrong == 0, "of the nodes of %d ranges %d are other ones", ranges, wrong);
    sums_free(&sums);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"any_order", any_order},
                                            {"any_parts", any_parts},
                                            {"once_each", once_each},
                                            {"listed_nodes", listed_nodes},
                                            {"memory", memory}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
