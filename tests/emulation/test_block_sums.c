/*
 * test_block_sums.c - what the threads of a block find together: sums of the cotangents of
 * structure factors, in which each warp adds once to each place, and the brightest pixel.
 * In every order of the threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/thread_order.h" /* before block.h */

static int adds; /* how often a number was added to a place */

#define BLOCK_ADD(to, n) (void)(adds++, *(to) += (n))
#include "gpu/text/derivatives/f_sums.h"
#include "gpu/text/derivatives/reductions.h"
#include "support/tap.h"
#include "support/worst.h"

enum { PLACES = 1000, ORDERS = THREADS_SHUFFLED_AGAIN + 1 };

/* ---- sums at places ---- */

/* what thread t gives to which place in one step; 0: nothing */
struct gifts {
    const char *name;
    int (*place)(int t);
    double (*value)(int t);
    int adds; /* at most */
};

static int one_place(int t)
{
    (void)t;
    return 7;
}

static int two_halves(int t)
{
    return t % 16 < 7 ? 3 : 999;
}

static int place_a_warp(int t)
{
    return t / WARP_THREADS;
}

static int all_places(int t)
{
    return 5 * t;
}

static double whole(int t)
{
    return t - 100;
}

static double of_some(int t)
{
    return t % 5 == 2 ? 0.25 * t : 0;
}

/* neighbours cancel */
static double in_pairs(int t)
{
    return t % 2 ? -1e6 : 1e6;
}

/* the first half of a warp cancels the second, but for the block's first thread */
static double in_halves(int t)
{
    return (t % WARP_THREADS < WARP_THREADS / 2 ? 1e6 : -1e6) + (t == 0 ? 0.125 : 0);
}

static double of_last(int t)
{
    return t == BLOCK_THREADS - 1 ? -3 : 0;
}

/* gives twice, so that what is left from the first time would show */
static void give(const struct gifts *gifts, struct f_shared *shared, long long *count)
{
    const struct gpu_f_parameters p = {.count = count, .unit = 0.125};

    memset(shared, 0xff, sizeof *shared);
    memset(count, 0, PLACES * sizeof *count);
    EACH_THREAD(t)
    {
        shared->gift[t].count = 0;
        if (t < BLOCK_WARPS) shared->to_places[t] = shared->to_nodes[t] = 0;
    }
    adds = 0;
    for (int time = 0; time < 2; time++) {
        EACH_IN_WARP(t)
        {
            struct f_waiting own = {gifts->value(t), gifts->place(t), t};

            give_waiting(&p, 0, &own, shared);
        }
        add_gifts(&p, shared);
    }
}

static int gifts(void)
{
    static const struct gifts list[] = {
        {"one place", one_place, whole, 2 * BLOCK_WARPS},
        {"two places", two_halves, whole, 2 * 3 * BLOCK_WARPS},
        {"a place a warp", place_a_warp, whole, 2 * BLOCK_WARPS},
        {"some threads", one_place, of_some, 2 * BLOCK_WARPS},
        {"the last thread", one_place, of_last, 2},
        {"signs in turn", one_place, in_pairs, 0},
        {"halves of a warp", one_place, in_halves, 2},
        {"signs in two places", two_halves, in_pairs, 2 * 3 * BLOCK_WARPS},
        {"all places", all_places, whole, 2 * (BLOCK_THREADS - 1)},
    };
    static struct f_shared shared;
    static long long count[PLACES], truth[PLACES];

    for (size_t i = 0; i < ORDERS * sizeof list / sizeof *list; i++) {
        const struct gifts *one = list + i / ORDERS;
        int wrong = 0;

        memset(truth, 0, sizeof truth);
        for (int t = 0; t < BLOCK_THREADS; t++)
            truth[one->place(t)] += 2 * (long long)(one->value(t) / 0.125);
        thread_order = (enum thread_order)(i % ORDERS);
        give(one, &shared, count);
        for (int at = 0; at < PLACES; at++) wrong += count[at] != truth[at];
        tap_check(wrong == 0 && adds <= one->adds,
                  "%s, order %d: %d places are wrong, added to %d times, at most %d",
                  one->name, (int)(i % ORDERS), wrong, adds, one->adds);
    }
    thread_order = THREADS_IN_ORDER;
    return TAP_PASS;
}

/* ---- sums at nodes ---- */

enum { ACROSS = 10 };

/* a box of 10 x 10 x 10 places, whose first is (-2, -2, -2) */
static struct phys_box box_of_ten(void)
{
    struct phys_box box = {0};

    box.first = phys_vec3(-2, -2, -2);
    box.last = phys_vec3(7, 7, 7);
    box.stride_h = ACROSS * ACROSS;
    box.stride_k = ACROSS;
    return box;
}

/* where the sample of thread t lies: the corner of the nodes changes once in a row of 16,
 * and some have left the box */
static struct phys_vec3 sample_of(int t)
{
    const double along = 2.4 + 0.1 * (t % 16);

    return phys_vec3(along, 1.7, t % 9 == 4 ? 40.2 : 0.01 * t);
}

static void nodes_truth(const struct phys_box *box, double unit, double *sum)
{
    memset(sum, 0, PLACES * sizeof *sum);
    for (int t = 0; t < BLOCK_THREADS; t++) {
        const struct phys_nodes at = phys_nodes(box, sample_of(t));
        const real h[4] = {at.h.w0, at.h.w1, at.h.w2, at.h.w3};
        const real k[4] = {at.k.w0, at.k.w1, at.k.w2, at.k.w3};
        const real l[4] = {at.l.w0, at.l.w1, at.l.w2, at.l.w3};

        for (int i = 0; i < 64 && at.corner >= 0; i++)
            sum[at.corner + i / 16 * box->stride_h + i / 4 % 4 * box->stride_k + i % 4] +=
                (1 + t) * h[i / 16] * k[i / 4 % 4] * l[i % 4] / unit;
    }
}

static int nodes(void)
{
    static struct f_shared shared;
    static struct f_nodes nodes[BLOCK_THREADS];
    static long long count[ORDERS][PLACES];
    static double truth[PLACES];
    const struct f_memory memory = {&shared, nodes};

    for (int order = 0; order < ORDERS; order++) {
        const struct gpu_f_parameters p = {.count = count[order], .unit = 1e-9};
        struct worst off = {0};
        int outside = 0;

        thread_order = (enum thread_order)order;
        memset(nodes, 0xff, sizeof nodes);
        memset(&shared, 0, sizeof shared);
        shared.tile.view.box = box_of_ten();
        adds = 0;
        nodes_truth(&shared.tile.view.box, p.unit, truth);
        EACH_IN_WARP(t)
        outside += !give_nodes(&shared.tile.view.box, sample_of(t), 1 + t, t, memory);
        add_nodes(&p, memory);
        add_nodes(&p, memory); /* nothing is left */
        for (int i = 0; i < PLACES; i++)
            worst_add(&off, (double)count[order][i], truth[i], 1);
        /* half a unit for each of the gifts to a place, of which there are 32 */
        worst_check(&off, 16, "order %d, in units", order);
        tap_check(outside == 14, "%d outside", outside);
        /* a warp has two rows of 16, each with two corners, and few at the ends */
        tap_check(adds < 64 * BLOCK_WARPS * 6, "added to nodes %d times", adds);
        tap_check(memcmp(count[order], count[0], sizeof *count) == 0,
                  "the same in order %d", order);
    }
    thread_order = THREADS_IN_ORDER;
    return TAP_PASS;
}

/* ---- the brightest pixel ---- */

static int brightest(void)
{
    struct jacobian_thread *own = calloc(BLOCK_THREADS, sizeof *own);
    double stage[STAGE * STAGE_ROW], found = NAN, peak;
    unsigned long long bits;
    int wrong = 0;

    if (!own) abort();
    for (int at = 0; at < BLOCK_THREADS; at++) {
        for (int t = 0; t < BLOCK_THREADS; t++)
            own[t].photons = t % 3 == 0 ? (double)NAN : 0.5;
        own[at].photons = 9;
        find_brightest(own, stage, &found);
        for (int t = 0; t < BLOCK_THREADS; t++) stage[t] = own[t].photons;
        bits = 0;
        raise_peak(stage, &bits);
        memcpy(&peak, &bits, sizeof peak);
        wrong += found != 9 || peak != 9;
    }
    tap_check(wrong == 0, "%d of %d brightest pixels lost beside what is no number", wrong,
              BLOCK_THREADS);
    for (int t = 0; t < BLOCK_THREADS; t++) own[t].photons = t % 2 ? (double)NAN : -1;
    find_brightest(own, stage, &found);
    tap_check(found == 0, "without photons: %g", found);
    free(own);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"gifts", gifts},
        {"nodes", nodes},
        {"brightest", brightest},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
