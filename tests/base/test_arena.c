/*
 * test_arena.c - the arrays of an arena: what one function takes twice, first to add up the
 * sizes, lies apart, aligned and all 0, and sizes that overflow are refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "support/tap.h"

enum { NUMBERS = 5, ALIGNMENT = 64 };

struct arrays {
    int calls;
    char *first;
    double *second;
    int *empty, *copied;
};

static const int source[NUMBERS] = {3, 1, 4, 1, 5};

static void take(struct arena *arena, void *user)
{
    struct arrays *a = user;
    const struct arena_part parts[] = {
        {&a->empty, 0, sizeof *a->empty, NULL},
        {&a->copied, NUMBERS, sizeof *a->copied, a->copied},
    };

    a->calls++;
    a->first = arena_take(arena, 3, 1);
    a->second = arena_take(arena, NUMBERS, sizeof *a->second);
    arena_take_parts(arena, parts, sizeof parts / sizeof *parts);
}

static int arrays(void)
{
    int copy[NUMBERS], nothing;
    struct arrays a = {.empty = &nothing, .copied = copy};
    struct arena arena = {0};
    double sum = 0;

    memcpy(copy, source, sizeof copy);
    if (!tap_check(arena_build(&arena, take, &a), "there is memory")) return TAP_PASS;
    tap_check(a.calls == 2, "the arrays are taken %d times", a.calls);
    for (int i = 0; i < NUMBERS; i++) sum += a.second[i];
    tap_check(sum == 0 && a.first[2] == 0, "the sum of new arrays is %g", sum);
    tap_check(!a.empty && a.copied != copy && !memcmp(a.copied, source, sizeof source),
              "an empty array is NULL, and one with contents is copied");
    tap_check((uintptr_t)a.second % ALIGNMENT == 0 && (uintptr_t)a.copied % ALIGNMENT == 0
                  && (char *)a.second >= a.first + 3
                  && (void *)a.copied >= (void *)(a.second + NUMBERS),
              "arrays are aligned and lie apart");
    tap_check(arena.used == arena.size, "%zu of %zu bytes are given out", arena.used,
              arena.size);
    arena_free(&arena);
    tap_check(!arena.block && arena.size == 0, "an arena that was freed is empty");
    return TAP_PASS;
}

static int overflow(void)
{
    static const size_t sizes[][2] = {{SIZE_MAX, 1}, {SIZE_MAX / 2, 4}, {SIZE_MAX / 2, 1}};
    double *huge = NULL;
    int *small = NULL;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct arena_part parts[] = {{&huge, sizes[i][0], sizes[i][1], NULL},
                                           {&huge, sizes[i][0], sizes[i][1], NULL},
                                           {&small, 1, sizeof *small, NULL}};
        struct arena arena = {0};

        tap_check(!arena_build_parts(&arena, parts, 3) && !arena.block && arena.size == 0
                      && !huge && !small,
                  "twice %zu items of %zu bytes are refused", sizes[i][0], sizes[i][1]);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"arrays", arrays}, {"overflow", overflow}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
