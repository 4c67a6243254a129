/*
 * test_store.c - a file of a cache is whole or absent, whatever process is killed, whatever
 * is on the disk and however many processes share it; and no file is read that another user
 * can have written.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/allocations.h"
#include "base/store/store_cases.h"
#include "support/files.h"
#include "support/tap.h"

struct store store;
char why[STORE_WHY];

void begin_anew(void)
{
    empty_folder();
    store = store_in(in_folder("cache"), "store", ".bin", 1 << 20, 1 << 26);
    why[0] = '\0';
}

const char *name_of(int number)
{
    static char names[2][32];
    static int next;

    next = !next;
    (void)snprintf(names[next], sizeof names[next], "%d.bin", number);
    return names[next];
}

const char *path_of(int number)
{
    char path[64];

    (void)snprintf(path, sizeof path, "cache/store/%s", name_of(number));
    return in_folder(path);
}

unsigned char *contents_of(const struct file *file)
{
    unsigned char *bytes = malloc(file->size + 1);

    if (!bytes) abort();
    for (size_t i = 0; i < file->size; i++)
        bytes[i] = (unsigned char)(31 * file->number + 7 * (int)(i % 1000));
    return bytes;
}

const char *file_sound(const void *user, const struct store_bytes *file)
{
    const struct file *expected = user;
    unsigned char *bytes = contents_of(expected);
    const int same =
        file->size == expected->size && memcmp(bytes, file->bytes, file->size) == 0;

    free(bytes);
    return same ? NULL : "it is damaged";
}

int saves(int number, size_t size)
{
    const struct file file = {number, size};
    unsigned char *bytes = contents_of(&file);
    const int saved = store_save(&store, name_of(number), bytes, size, NULL, why);

    if (saved) why[0] = '\0';
    free(bytes);
    return saved;
}

int loads(int number, size_t size)
{
    const struct file file = {number, size};
    struct store_bytes found;
    int state = (int)store_load(&store, name_of(number), file_sound, &file, &found, why);

    if (state < STORE_DAMAGED) why[0] = '\0';
    if ((state == STORE_FOUND) != (found.bytes != NULL)
        || (found.bytes && (file_sound(&file, &found) || found.bytes[found.size] != 0)))
        state = -1;
    free(found.bytes);
    return state;
}

void check_state(int state, int expected, const char *part)
{
    tap_check(state == expected && strstr(why, part) && !strchr(why, '\n'),
              "state %d expected %d, '%s' names '%s'", state, expected, why, part);
}

int count_stored(void)
{
    return count_files(in_folder("cache/store"));
}

int is_replaced(int number, size_t size, const char *part)
{
    int good = loads(number, size) == STORE_DAMAGED && strstr(why, ": removed, for ")
               && strstr(why, part) && !strchr(why, '\n');

    good = good && loads(number, size) == STORE_ABSENT && saves(number, size)
           && loads(number, size) == STORE_FOUND;
    return good;
}

static int saved_and_loaded(void)
{
    begin_anew();
    tap_check(loads(1, SIZE) == STORE_ABSENT, "nothing there");
    tap_check(saves(1, SIZE) && loads(1, SIZE) == STORE_FOUND, "saved and found");
    tap_check(loads(2, SIZE) == STORE_ABSENT, "another is not there");
    tap_check(saves(2, 0) && loads(2, 0) == STORE_FOUND, "a file without bytes");
    tap_check(saves(1, SIZE + 1) && loads(1, SIZE + 1) == STORE_FOUND, "replaced");
    tap_check(count_stored() == 2, "%d files expected 2", count_stored());
    return TAP_PASS;
}

/* wherever memory runs out, the call says so and the files are whole */
static int memory_refused(void)
{
    struct store_bytes found;
    int refused = 0, wrong = 0;

    if (!allocations_counted()) return tap_skip("malloc cannot be refused here");
    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    for (int n = 1; n < 6; n++) {
        const long held = allocations_held();
        enum store_state state;

        allocations_refuse(n);
        state = store_load(&store, name_of(1), NULL, NULL, &found, why);
        allocations_refuse(0);
        free(found.bytes);
        refused += state == STORE_REFUSED && strstr(why, "cannot read");
        wrong += state != STORE_REFUSED && state != STORE_FOUND;
        allocations_refuse(n);
        (void)store_save(&store, name_of(10 + n), "abc", 3, NULL, why);
        allocations_refuse(0);
        wrong += allocations_held() > held;
    }
    tap_check(refused > 0 && wrong == 0, "%d refused, %d wrong, allowed 0", refused, wrong);
    tap_check(loads(1, SIZE) == STORE_FOUND, "what is on disk is whole");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"saved_and_loaded", saved_and_loaded},
        {"memory_refused", memory_refused},
        {"damaged_anywhere", damaged_anywhere},
        {"truncated", truncated},
        {"under_another_name", under_another_name},
        {"wrong_files", wrong_files},
        {"file_of_another_user", file_of_another_user},
        {"file_of_root", file_of_root},
        {"replaced_meanwhile", replaced_meanwhile},
        {"folder_and_modes", folder_and_modes},
        {"load_writes_nothing", load_writes_nothing},
        {"folder_refused", folder_refused},
        {"folder_not_to_be_made", folder_not_to_be_made},
        {"folder_not_to_be_written", folder_not_to_be_written},
        {"disk_full", disk_full},
        {"limit_removes_oldest", limit_removes_oldest},
        {"too_large", too_large},
        {"left_unfinished", left_unfinished},
        {"killed_while_writing", killed_while_writing},
        {"processes_at_once", processes_at_once},
        {"threads_at_once", threads_at_once},
    };

    (void)umask(022);
    return files_main(argc, argv, cases, COUNT(cases));
}
