/*
 * store_damage.c - files that are damaged, or that belong to other users.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/store/store_cases.h"
#include "support/files.h"
#include "support/tap.h"

enum { NOBODY = 65534 };

/* Save a file in an empty store, and return its bytes, to be freed. */
static char *saved_file(size_t *n)
{
    char *bytes;

    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    bytes = slurp(path_of(1), n);
    tap_check(*n == SIZE, "a file of %zu bytes", *n);
    return bytes;
}

int damaged_anywhere(void)
{
    size_t n, replaced = 0;
    char *bytes = saved_file(&n);

    for (size_t i = 0; i < n; i++) {
        const char whole = bytes[i];

        bytes[i] = (char)(whole ^ (int)(1U << i % 8));
        put(path_of(1), bytes, n);
        bytes[i] = whole;
        replaced += is_replaced(1, SIZE, "it is damaged") && holds(path_of(1), bytes, n);
    }
    tap_check(replaced == n, "%zu of %zu damaged files are removed", replaced, n);
    free(bytes);
    return TAP_PASS;
}

int truncated(void)
{
    size_t n, replaced = 0;
    char *bytes = saved_file(&n);

    for (size_t length = 0; length < n; length++) {
        put(path_of(1), bytes, length);
        replaced += (size_t)is_replaced(1, SIZE, "it is damaged");
    }
    tap_check(replaced == n, "%zu of %zu shortened files are removed", replaced, n);
    put(path_of(1), bytes, n + 1);
    tap_check(is_replaced(1, SIZE, "it is damaged"), "one byte more");
    free(bytes);
    return TAP_PASS;
}

/* whole, but that of another name */
int under_another_name(void)
{
    begin_anew();
    tap_check(saves(2, SIZE), "saved");
    (void)rename(path_of(2), path_of(1));
    tap_check(is_replaced(1, SIZE, "it is damaged"), "is not taken");
    return TAP_PASS;
}

int wrong_files(void)
{
    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    (void)chmod(path_of(1), 0620);
    tap_check(is_replaced(1, SIZE, "other users can write it"), "a file of a group");
    (void)chmod(path_of(1), 0602);
    tap_check(is_replaced(1, SIZE, "other users can write it"), "a file of everybody");
    (void)rename(path_of(1), in_folder("other"));
    (void)symlink(in_folder("other"), path_of(1));
    tap_check(is_replaced(1, SIZE, "it is not a regular file"), "a link");
    tap_check(access(in_folder("other"), F_OK) == 0, "what it led to is as it was");
    (void)remove(path_of(1));
    (void)mkfifo(path_of(1), 0600);
    tap_check(is_replaced(1, SIZE, "it is not a regular file"), "a pipe");
    store.file_limit = SIZE - 1;
    check_state(loads(1, SIZE), STORE_DAMAGED, "1.bin: removed, for it is too large");
    store.file_limit = SIZE;
    tap_check(saves(1, SIZE) && loads(1, SIZE) == STORE_FOUND, "the largest one");
    (void)remove(path_of(1));
    (void)mkdir(path_of(1), 0700);
    for (int i = 0; i < 2; i++) {
        check_state(loads(1, SIZE), STORE_DAMAGED,
                    "1.bin: ignored, for it is not a regular file");
        check_state(saves(1, SIZE), 0, "1.bin: cannot write: ");
    }
    tap_check(count_stored() == 1, "nothing unfinished is left");
    return TAP_PASS;
}

int file_of_another_user(void)
{
    if (geteuid() != 0) return tap_skip("only root can give files away");
    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    if (chown(path_of(1), NOBODY, (gid_t)-1) != 0)
        return tap_skip("cannot give a file away");
    tap_check(is_replaced(1, SIZE, "it belongs to another user"), "is not taken");
    return TAP_PASS;
}

/* who could as well change what the user runs */
int file_of_root(void)
{
    int state;

    if (geteuid() != 0) return tap_skip("only root has files of root");
    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    (void)chmod(in_folder("cache"), 0755);
    (void)chmod(in_folder("cache/store"), 0755);
    (void)chmod(path_of(1), 0644);
    if (seteuid(NOBODY) != 0) return tap_skip("cannot become an ordinary user");
    state = loads(1, SIZE);
    tap_check(seteuid(0) == 0 && state == STORE_FOUND, "is taken: state %d", state);
    return TAP_PASS;
}

/* puts a good file in the place of the one that is looked at, which is no good */
static const char *replace_and_refuse(const void *user, const struct store_bytes *file)
{
    (void)user, (void)file;
    return saves(1, SIZE) ? "it is no good" : NULL;
}

int replaced_meanwhile(void)
{
    struct store_bytes found;

    begin_anew();
    tap_check(saves(1, SIZE + 1), "saved");
    check_state((int)store_load(&store, name_of(1), replace_and_refuse, NULL, &found, why),
                STORE_DAMAGED, "1.bin: ignored, for it is no good");
    tap_check(loads(1, SIZE) == STORE_FOUND, "what another process saved since stays");
    return TAP_PASS;
}
