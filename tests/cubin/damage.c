/* damage.c - files that are no good, or not ours. SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cubin/cases.h"
#include "support/files.h"
#include "support/tap.h"

enum { SMALL = 100, NOBODY = 65534 };

/* what must happen to a file that is no good: said, counted, replaced */
static int is_replaced(int size)
{
    const uint64_t before = ctx->fallbacks, damaged = total.damaged;

    return obtains(1, size, 0) && ctx->fallbacks == before + 1
           && total.damaged == damaged + 1 && obtains(1, size, 1)
           && ctx->fallbacks == before + 1;
}

int damaged_anywhere(void)
{
    char path[400];
    size_t n, replaced = 0;
    char *bytes;

    begin_anew();
    tap_check(obtains(1, SMALL, 0), "made");
    (void)snprintf(path, sizeof path, "%s", in_folder(only_file()));
    bytes = slurp(path, &n);
    tap_check(n == CUBIN_HEADER + SMALL, "a file of %zu bytes", n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)(bytes[i] ^ (int)(1U << i % 8));
        put(path, bytes, n);
        bytes[i] = (char)(bytes[i] ^ (int)(1U << i % 8));
        replaced += (size_t)is_replaced(SMALL);
        replaced -= (size_t)!holds(path, bytes, n);
    }
    tap_check(replaced == n, "%zu of %zu damaged files are made anew", replaced, n);
    check_fallbacks((int)n, "cubin: removed, for it is damaged");
    free(bytes);
    return TAP_PASS;
}

int truncated(void)
{
    static const size_t lengths[] = {0, 1, 63, 64, 65, 100, CUBIN_HEADER + SMALL - 1};
    char path[400];
    size_t n;
    char *bytes;

    begin_anew();
    tap_check(obtains(1, SMALL, 0), "made");
    (void)snprintf(path, sizeof path, "%s", in_folder(only_file()));
    bytes = slurp(path, &n);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        put(path, bytes, lengths[i]);
        tap_check(is_replaced(SMALL), "%zu bytes are made anew", lengths[i]);
    }
    bytes[n] = 'x';
    put(path, bytes, n + 1);
    tap_check(is_replaced(SMALL), "one byte more");
    free(bytes);
    return TAP_PASS;
}

/* whole, but code of something else */
int under_another_key(void)
{
    char path[400];
    size_t n;
    char *bytes;

    begin_anew();
    tap_check(obtains(2, SMALL, 0), "made");
    bytes = slurp(in_folder(only_file()), &n);
    begin_anew();
    tap_check(obtains(1, SMALL, 0), "made");
    (void)snprintf(path, sizeof path, "%s", in_folder(only_file()));
    put(path, bytes, n);
    tap_check(is_replaced(SMALL), "is not taken");
    free(bytes);
    return TAP_PASS;
}

int wrong_files(void)
{
    char path[400];

    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    (void)snprintf(path, sizeof path, "%s", in_folder(only_file()));
    (void)chmod(path, 0620);
    tap_check(is_replaced(SIZE), "a file that others can write");
    check_fallbacks(1, "other users can write it");
    (void)rename(path, in_folder("other"));
    (void)symlink(in_folder("other"), path);
    tap_check(is_replaced(SIZE), "a link");
    check_fallbacks(2, "it is not a regular file");
    tap_check(access(in_folder("other"), F_OK) == 0, "what it led to is as it was");
    (void)remove(path);
    (void)mkfifo(path, 0600);
    tap_check(is_replaced(SIZE), "a pipe");
    check_fallbacks(3, "it is not a regular file");
    (void)remove(path);
    (void)mkdir(path, 0700);
    for (int i = 0; i < 2; i++) tap_check(obtains(1, SIZE, 0), "a folder: made each time");
    check_fallbacks(7, "cannot write a file of this folder: ");
    return TAP_PASS;
}

int file_of_another_user(void)
{
    if (geteuid() != 0) return tap_skip("only root can give files away");
    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    if (chown(in_folder(only_file()), NOBODY, (gid_t)-1) != 0)
        return tap_skip("cannot give a file away");
    tap_check(is_replaced(SIZE), "is not taken");
    check_fallbacks(1, "removed, for it belongs to another user");
    return TAP_PASS;
}
