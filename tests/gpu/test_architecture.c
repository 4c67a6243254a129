/*
 * test_architecture.c - the choice of the kernels' machine code or PTX for a device.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

#include "gpu/driver/architecture.h"
#include "support/tap.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define EVERY "sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 compute_75 compute_120"

static int rungs(void)
{
    static const struct {
        const char *names;
        int compute, expected, ptx; /* expected 0: none */
    } cases[] = {
        {EVERY, 75, 75, 0}, /* just this */
        {EVERY, 86, 86, 0},
        {EVERY, 90, 90, 0},
        {EVERY, 87, 86, 0}, /* the newest of its major version below */
        {EVERY, 88, 86, 0},
        {EVERY, 103, 100, 0},
        {EVERY, 121, 120, 0},
        {"sm_80 sm_86", 82, 80, 0}, /* and not above */
        {EVERY, 110, 75, 1}, /* the newest PTX that is not newer */
        {EVERY, 130, 120, 1},
        {"sm_90 compute_75 compute_80", 89, 80, 1},
        {"sm_90 compute_80", 80, 80, 1},
        {"sm_86 compute_80", 80, 80, 1},
        {"sm_80 compute_86", 86, 80, 0}, /* machine code before PTX, if newer */
        {EVERY, 72, 0, 0}, /* older than all */
        {EVERY, 35, 0, 0},
        {"sm_80 sm_90", 120, 0, 0}, /* no PTX */
        {"sm_86", 80, 0, 0},
        {"compute_90", 89, 0, 0},
        {"sm_90a compute_90a", 90, 0, 0}, /* a letter is for one device alone */
        {"sm_90a sm_90 compute_100f", 90, 90, 0},
        {"sm_100f compute_90", 100, 90, 1},
        {"", 90, 0, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gpu_code targets[16];
        const int n = architecture_read(cases[i].names, targets, (int)COUNT(targets));
        const int at = architecture_choose(targets, n, cases[i].compute);
        const int got = at < 0 ? 0 : targets[at].compute;
        const int ptx = at < 0 ? 0 : targets[at].ptx;

        tap_check(got == cases[i].expected && ptx == cases[i].ptx,
                  "%d of '%s': %s %d expected %s %d", cases[i].compute, cases[i].names,
                  ptx ? "PTX" : "code", got, cases[i].ptx ? "PTX" : "code",
                  cases[i].expected);
    }
    return TAP_PASS;
}

static int names(void)
{
    static const struct {
        const char *names;
        int n;
    } cases[] = {{"", 0},
                 {"  sm_75   compute_75 ", 2},
                 {"sm_ sm compute_ 75 lto_90", 0},
                 {"sm_90a sm_9O sm_0 sm_-5 SM_90", 0},
                 {"sm_12345 sm_99999999999999999999", 0},
                 {"sm_1 sm_2 sm_3 sm_4 sm_5", 4}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gpu_code targets[4];
        const int n = architecture_read(cases[i].names, targets, (int)COUNT(targets));

        tap_check(n == cases[i].n, "'%s': %d targets expected %d", cases[i].names, n,
                  cases[i].n);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"rungs", rungs},
        {"names", names},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
