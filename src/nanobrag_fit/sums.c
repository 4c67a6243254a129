/*
 * sums.c - sums over shots in the order of one binary tree. A sum has the same bits for any
 * threads or processes and any order of arrival: the same two nodes are always added to
 * each other, and a sum of two numbers does not depend on their order. Few nodes wait for
 * their sibling at any time, so memory grows with the logarithm of the number of shots.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "nanobrag_fit/fit.h"

void sums_begin(struct fit_sums *sums, size_t nshot, size_t length)
{
    if (sums->length != length)
        sums_free(sums);
    else
        while (sums->nnode > 0) sums->spare[sums->nspare++] = sums->node[--sums->nnode].sum;
    sums->nshot = nshot;
    sums->length = length;
    sums->root = 0;
    while (((size_t)1 << sums->root) < nshot) sums->root++;
}

void sums_free(struct fit_sums *sums)
{
    for (size_t i = 0; i < sums->nnode; i++) free(sums->node[i].sum);
    for (size_t i = 0; i < sums->nspare; i++) free(sums->spare[i]);
    free(sums->node);
    free(sums->spare);
    *sums = (struct fit_sums){0};
}

/* Makes room for one more node, both in use and spare. Returns 0 if there is no memory. */
static int make_room(struct fit_sums *sums)
{
    const size_t in_use = sums->nnode + sums->nspare, room = sums->room * 2 + 8;
    struct fit_node *node;
    double **spare;

    if (in_use < sums->room) return 1;
    node = realloc(sums->node, room * sizeof *node);
    if (node) sums->node = node;
    spare = realloc(sums->spare, room * sizeof *spare);
    if (spare) sums->spare = spare;
    if (!node || !spare) return 0;
    sums->room = room;
    return 1;
}

static double *take(struct fit_sums *sums)
{
    if (sums->nspare > 0) return sums->spare[--sums->nspare];
    return make_room(sums) ? malloc(sums->length * sizeof(double)) : NULL;
}

struct fit_node *sums_find(const struct fit_sums *sums, int level, size_t index)
{
    for (size_t i = 0; i < sums->nnode; i++)
        if (sums->node[i].level == level && sums->node[i].index == index)
            return sums->node + i;
    return NULL;
}

size_t sums_nodes(size_t nshot, size_t first, size_t end, struct fit_node *out)
{
    size_t n = 0;
    int level = 0;

    for (size_t all = nshot; first < end && all > 1; all = (all + 1) / 2, level++) {
        if (first % 2 == 1) out[n++] = (struct fit_node){level, first++, NULL};
        if (first < end && end % 2 == 1 && end < all)
            out[n++] = (struct fit_node){level, --end, NULL};
        first /= 2;
        end = (end + 1) / 2;
    }
    if (first < end) out[n++] = (struct fit_node){level, 0, NULL};
    return n;
}

int sums_add(struct fit_sums *sums, int level, size_t index, const double *sum)
{
    double *own = take(sums);

    if (!own) return 0;
    memcpy(own, sum, sums->length * sizeof *own);
    while (level < sums->root) {
        const int is_single = ((index ^ 1) << level) >= sums->nshot;
        struct fit_node *sibling = is_single ? NULL : sums_find(sums, level, index ^ 1);

        if (!is_single && !sibling) break;
        if (sibling) {
            for (size_t i = 0; i < sums->length; i++) own[i] += sibling->sum[i];
            sums->spare[sums->nspare++] = sibling->sum;
            *sibling = sums->node[--sums->nnode];
        }
        level++;
        index /= 2;
    }
    sums->node[sums->nnode++] = (struct fit_node){level, index, own};
    return 1;
}

const double *sums_total(const struct fit_sums *sums)
{
    return sums->nnode == 1 && sums->node[0].level == sums->root ? sums->node[0].sum : NULL;
}
