/* store_disk.c - folders, permissions, limits, and full disks. SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/store/store_cases.h"
#include "support/files.h"
#include "support/tap.h"

enum { NOBODY = 65534 };

static void check_mode(const char *name, unsigned expected)
{
    struct stat st = {0};

    tap_check(stat(in_folder(name), &st) == 0 && (st.st_mode & 0777) == expected,
              "%s: mode %o expected %o", name, (unsigned)st.st_mode & 0777, expected);
}

int folder_and_modes(void)
{
    const mode_t mask = umask(0);

    begin_anew();
    tap_check(saves(1, SIZE), "saved where there is no folder");
    check_mode("cache", 0700);
    check_mode("cache/store", 0700);
    check_mode("cache/store/1.bin", 0600);
    tap_check(count_stored() == 1, "no other file");
    (void)chmod(in_folder("cache/store"), 0755);
    tap_check(loads(1, SIZE) == STORE_FOUND, "a folder that others may read");
    store = store_in(in_folder("a/b//c/"), "store", ".bin", SIZE, SIZE);
    tap_check(saves(2, SIZE) && loads(2, SIZE) == STORE_FOUND, "nor those it lies in");
    check_mode("a", 0700);
    check_mode("a/b/c/store", 0700);
    (void)umask(mask);
    return TAP_PASS;
}

int load_writes_nothing(void)
{
    begin_anew();
    tap_check(loads(1, SIZE) == STORE_ABSENT, "no folder");
    tap_check(count_files(in_folder("")) == 0, "nor is it made");
    (void)mkdir(in_folder("cache"), 0700);
    (void)mkdir(in_folder("cache/store"), 0700);
    tap_check(loads(1, SIZE) == STORE_ABSENT, "no file");
    tap_check(count_stored() == 0, "nor is it made");
    return TAP_PASS;
}

/* neither read nor written */
static void check_not_used(const char *what, const char *says)
{
    const int files = count_stored();

    tap_note("%s", what);
    check_state(loads(1, SIZE), STORE_REFUSED, says);
    check_state(saves(2, SIZE), 0, says);
    tap_check(count_stored() == files, "%d files expected %d", count_stored(), files);
}

int folder_refused(void)
{
    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    (void)chmod(in_folder("cache/store"), 0770);
    check_not_used("a group's folder", "/store: not used: other users can write it");
    (void)chmod(in_folder("cache/store"), 0702);
    check_not_used("everybody's folder", "/store: not used: other users can write it");
    (void)chmod(in_folder("cache/store"), 0700);
    tap_check(loads(1, SIZE) == STORE_FOUND, "it was there all the time");
    if (geteuid() == 0 && chown(in_folder("cache/store"), NOBODY, (gid_t)-1) == 0) {
        check_not_used("another's folder", "/store: not used: it belongs to another user");
        (void)chown(in_folder("cache/store"), 0, (gid_t)-1);
    }
    (void)rename(in_folder("cache/store"), in_folder("cache/moved"));
    (void)symlink("moved", in_folder("cache/store"));
    check_not_used("a link", "/store: cannot open this folder: ");
    (void)remove(in_folder("cache/store"));
    put(in_folder("cache/store"), "abc", 3);
    check_state(loads(1, SIZE), STORE_REFUSED, "/store: cannot open this folder: ");
    check_state(saves(1, SIZE), 0, "/store: cannot open this folder: ");
    tap_check(holds(in_folder("cache/store"), "abc", 3), "a file in its place stays");
    return TAP_PASS;
}

int folder_not_to_be_made(void)
{
    begin_anew();
    put(in_folder("plain"), "abc", 3);
    store = store_in(in_folder("plain/cache"), "store", ".bin", SIZE, SIZE);
    tap_check(loads(1, SIZE) == STORE_ABSENT, "nothing is below a file");
    check_state(saves(1, SIZE), 0,
                "/plain/cache/store: cannot make this folder: Not a directory");
    tap_check(holds(in_folder("plain"), "abc", 3), "the file is as it was");
    return TAP_PASS;
}

/* as a user without rights, so that it holds for root too; the folder is that user's */
int folder_not_to_be_written(void)
{
    const int root = geteuid() == 0;

    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    if (root
        && (chown(path_of(1), NOBODY, (gid_t)-1) != 0
            || chown(in_folder("cache/store"), NOBODY, (gid_t)-1) != 0))
        return tap_skip("cannot give a folder away");
    (void)chmod(in_folder("cache"), 0755);
    (void)chmod(in_folder("cache/store"), 0555);
    if (root && seteuid(NOBODY) != 0) return tap_skip("cannot become an ordinary user");
    tap_check(loads(1, SIZE) == STORE_FOUND, "found in a folder that cannot be written");
    check_state(saves(2, SIZE), 0, "/2.bin: cannot write: Permission denied");
    check_state(loads(1, SIZE + 1), STORE_DAMAGED, "/1.bin: ignored, for it is damaged");
    tap_check(loads(1, SIZE) == STORE_FOUND, "what cannot be removed stays");
    if (root) tap_check(seteuid(0) == 0, "root again");
    tap_check(count_stored() == 1, "nothing left in the folder");
    (void)chmod(in_folder("cache/store"), 0700);
    return TAP_PASS;
}

/* the disk gives out in the middle: an old file stays, the unfinished one goes */
int disk_full(void)
{
    struct rlimit old, low;

    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    (void)getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = SIZE;
    (void)signal(SIGXFSZ, SIG_IGN);
    tap_check(setrlimit(RLIMIT_FSIZE, &low) == 0, "files end at %d bytes", (int)SIZE);
    check_state(saves(2, SIZE + 10), 0, "/2.bin: cannot write: File too large");
    check_state(saves(1, SIZE + 10), 0, "/1.bin: cannot write: File too large");
    (void)setrlimit(RLIMIT_FSIZE, &old);
    tap_check(count_stored() == 1, "no unfinished file");
    tap_check(loads(1, SIZE) == STORE_FOUND, "the old file is as it was");
    tap_check(saves(2, SIZE + 10) && loads(2, SIZE + 10) == STORE_FOUND,
              "saved when there is space");
    return TAP_PASS;
}

/* when a file was used: some minutes ago */
static void set_age(const char *path, int minutes)
{
    struct timespec times[2];

    (void)clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= 60L * minutes;
    times[1] = times[0];
    tap_check(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0, "%d min old",
              minutes);
}

/* save a file in a store of this limit, with so many others removed for it */
static void check_removed(int number, uint64_t limit, int expected)
{
    const struct store limited = store_in(in_folder("cache"), "store", ".bin", SIZE, limit);
    const struct file file = {number, SIZE};
    unsigned char *bytes = contents_of(&file);
    uint64_t removed = 99;
    const int saved = store_save(&limited, name_of(number), bytes, SIZE, &removed, why);

    tap_check(saved && removed == (uint64_t)expected, "%d removed expected %d",
              (int)removed, expected);
    free(bytes);
}

int limit_removes_oldest(void)
{
    enum { FILES = 4 };

    begin_anew();
    for (int i = 0; i < FILES; i++) {
        tap_check(saves(i, SIZE), "saved");
        set_age(path_of(i), 10 * (FILES - i));
    }
    put(in_folder("cache/store/README"), "mine", 4);
    tap_check(loads(0, SIZE) == STORE_FOUND, "the oldest is used");
    check_removed(FILES, FILES * SIZE, 1);
    tap_check(loads(1, SIZE) == STORE_ABSENT, "the one used least recently is gone");
    tap_check(loads(0, SIZE) == STORE_FOUND && loads(2, SIZE) == STORE_FOUND
                  && loads(3, SIZE) == STORE_FOUND && loads(FILES, SIZE) == STORE_FOUND,
              "those used since are there");
    check_removed(0, FILES * SIZE, 0);
    tap_check(count_stored() == FILES + 1, "a file that is replaced is not counted twice");
    check_removed(1, 2 * SIZE + 1, 3);
    tap_check(count_stored() == 3 && loads(1, SIZE) == STORE_FOUND, "with less space");
    tap_check(holds(in_folder("cache/store/README"), "mine", 4), "no other file");
    return TAP_PASS;
}

int too_large(void)
{
    begin_anew();
    store.limit = SIZE - 1;
    check_state(saves(1, SIZE), 0, "/1.bin: cannot write: File too large");
    store.limit = 2 * SIZE;
    store.file_limit = SIZE - 1;
    check_state(saves(1, SIZE), 0, "/1.bin: cannot write: File too large");
    tap_check(access(in_folder("cache"), F_OK) != 0, "nothing is made");
    return TAP_PASS;
}

/* what killed processes leave goes after a while; what may be in the making stays */
int left_unfinished(void)
{
    static const char *const files[] = {"1.bin.123-4.tmp", "1.bin.123-5.tmp", "notes.tmp",
                                        "notes.bin.tmp"};
    char path[64];

    begin_anew();
    tap_check(saves(1, SIZE), "saved");
    for (size_t i = 0; i < COUNT(files); i++) {
        (void)snprintf(path, sizeof path, "cache/store/%s", files[i]);
        put(in_folder(path), "x", 1);
        if (i != 1) set_age(in_folder(path), 60);
    }
    tap_check(saves(2, SIZE), "saved");
    tap_check(access(in_folder("cache/store/1.bin.123-4.tmp"), F_OK) != 0,
              "one left unfinished an hour ago is gone");
    tap_check(count_stored() == 5, "nothing else: %d files", count_stored());
    return TAP_PASS;
}
