/*
 * test_sums_round.c - how kernels on a GPU round and convert in float, by sums (phys.h),
 * against the instructions that the CPU uses.
 *
 * SPDX-License-Identifier: MIT
 */
#define PHYS_SINGLE
#define PHYS_BY_SUMS 1
#include <math.h>

#include "physics/phys.h"
#include "support/tap.h"

enum { MOST = 1 << 22 };

/* floats of either sign from 0 to 2^22, every 61st */
static int rounds_as_rint(void)
{
    int wrong = 0, tried = 0;

    for (unsigned bits = 0; bits <= 0x4a800000u; bits += 61) {
        float x;

        memcpy(&x, &bits, sizeof x);
        wrong += RINT(x) != rintf(x);
        wrong += RINT(-x) != rintf(-x);
        tried += 2;
    }
    tap_check(wrong == 0 && tried > 40000000, "%d of %d numbers differ", wrong, tried);
    return TAP_PASS;
}

/* halfway between two whole numbers, and the floats beside that */
static int halves(void)
{
    int wrong = 0;

    for (int i = -MOST; i < MOST; i++) {
        const float half = (float)i + 0.5f;

        wrong += RINT(half) != rintf(half);
        wrong += RINT(nextafterf(half, -1e9f)) != rintf(nextafterf(half, -1e9f));
        wrong += RINT(nextafterf(half, 1e9f)) != rintf(nextafterf(half, 1e9f));
    }
    tap_check(wrong == 0, "%d halves are rounded in another way", wrong);
    return TAP_PASS;
}

static int whole_numbers(void)
{
    int wrong = 0;

    for (int i = -MOST; i <= MOST; i++) wrong += PHYS_WHOLE((float)i) != i;
    tap_check(wrong == 0, "%d whole numbers become others", wrong);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"rounds_as_rint", rounds_as_rint},
        {"halves", halves},
        {"whole_numbers", whole_numbers},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
