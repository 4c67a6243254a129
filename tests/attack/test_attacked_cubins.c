/*
 * test_attacked_cubins.c - stored machine code of kernels with random damage: it is never
 * taken for what was stored, and is made anew. Code comes from a stand-in of NVRTC; the
 * cases that are no matter of chance are in compile/jit/test_cubin.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack/attack.h"
#include "compile/jit/cubin_cases.h"
#include "support/files.h"

enum { NUMBERS = 5, MOST = 4000 };

/* Change, cut or lengthen the only file of the folder; returns 0 when that left its bytes
 * as they were. */
static int damage(struct attack *a)
{
    char path[400];
    size_t n;
    char *bytes, *spoilt;
    size_t size;
    int differs;

    (void)snprintf(path, sizeof path, "%s", in_folder(only_file()));
    bytes = slurp(path, &n);
    spoilt = malloc(2 * n + 1);
    if (!spoilt || n == 0) abort();
    size = attack_once_in(a, 3) ? (size_t)attack_below(a, (int)(2 * n)) : n;
    memcpy(spoilt, bytes, n);
    memcpy(spoilt + n, bytes, n);
    for (int flips = attack_below(a, 12); flips > 0; flips--)
        spoilt[attack_below(a, (int)n)] = (char)attack_below(a, 256);
    differs = size != n || memcmp(spoilt, bytes, n) != 0;
    put(path, spoilt, size);
    free(spoilt);
    free(bytes);
    return differs;
}

static int machine_code(void)
{
    struct attack attack = attack_begin(10);

    while (attack_next(&attack)) {
        const int size = 1 + attack_below(&attack, MOST);
        const int number = attack_below(&attack, NUMBERS);
        int damaged, found;

        begin_anew();
        if (!obtains(number, size, 0)) abort();
        damaged = damage(&attack);
        found = obtains(number, size, !damaged);
        attack_expect(&attack, found, "%d bytes of code, %s: not as it was made", size,
                      damaged ? "damaged" : "whole");
        attack_expect(&attack, obtains(number, size, 1),
                      "%d bytes of code: not kept after they were made anew", size);
    }
    attack_end(&attack, "files of machine code");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"machine_code", machine_code}};

    return attack_main(argc, argv, cases, COUNT(cases));
}
