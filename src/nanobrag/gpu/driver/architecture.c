/*
 * architecture.c - reads the list of targets in the library, and chooses one for a device.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gpu/driver/architecture.h"

#include <ctype.h>
#include <string.h>

/* Returns the number in a word of n characters, if this is `prefix` followed by digits;
 * else returns 0. */
static int number_behind(const char *prefix, const char *word, size_t n)
{
    const size_t length = strlen(prefix);
    int number = 0;

    /* a version has at most four digits */
    if (n <= length || n > length + 4 || strncmp(word, prefix, length) != 0) return 0;
    for (size_t i = length; i < n; i++) {
        if (!isdigit((unsigned char)word[i])) return 0;
        number = 10 * number + (word[i] - '0');
    }
    return number;
}

int architecture_read(const char *names, struct gpu_code *targets, int most)
{
    int n = 0;

    while (n < most) {
        size_t length;
        int code, ptx;

        names += strspn(names, " ");
        length = strcspn(names, " ");
        if (length == 0) break;
        code = number_behind("sm_", names, length);
        ptx = number_behind("compute_", names, length);
        if (code > 0 || ptx > 0) {
            targets[n].compute = code > 0 ? code : ptx;
            targets[n].ptx = ptx > 0;
            n++;
        }
        names += length;
    }
    return n;
}

/* Returns 1 if a device can run the target at all. */
static int runs(const struct gpu_code *target, int compute)
{
    if (target->compute > compute) return 0;
    return target->ptx || target->compute / 10 == compute / 10;
}

/* Returns 1 if `a` is preferred to `b` on a device that runs both. */
static int goes_before(const struct gpu_code *a, const struct gpu_code *b)
{
    if (a->ptx != b->ptx) return b->ptx;
    return a->compute > b->compute;
}

int architecture_choose(const struct gpu_code *targets, int n, int compute)
{
    int best = -1;

    for (int i = 0; i < n; i++)
        if (runs(&targets[i], compute)
            && (best < 0 || goes_before(&targets[i], &targets[best])))
            best = i;
    return best;
}
