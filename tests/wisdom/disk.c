/* disk.c - folders, rights, and disks that are full. SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/files.h"
#include "support/tap.h"
#include "wisdom/cases.h"

#ifdef NANOBRAG_CJSON

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
    check_ok(keep(1), "keep where there is no folder");
    check_mode("cache", 0700);
    check_mode("cache/wisdom.json", 0600);
    check_mode("cache/wisdom.lock", 0600);
    tap_check(count_files(in_folder("cache")) == 2, "no other file");
    (void)snprintf(ctx->env.cache_dir, ENV_PATH, "%s", in_folder("a/b//c/"));
    check_ok(keep(2), "nor those it lies in");
    check_mode("a", 0700);
    check_mode("a/b/c", 0700);
    tap_check(recalls(2) && file_holds(2), "kept");
    check_fallbacks(0, "");
    (void)remove(in_folder("a/b/c/wisdom.json"));
    (void)remove(in_folder("a/b/c/wisdom.lock"));
    (void)rmdir(in_folder("a/b/c"));
    (void)rmdir(in_folder("a/b"));
    (void)umask(mask);
    return TAP_PASS;
}

int recall_writes_nothing(void)
{
    begin_anew();
    tap_check(!recalls(1) && !wisdom_text(ctx, "poem"), "nothing there");
    tap_check(access(in_folder("cache"), F_OK) != 0, "no folder");
    (void)mkdir(in_folder("cache"), 0700);
    next_process();
    tap_check(!recalls(1), "nothing there");
    tap_check(count_files(in_folder("cache")) == 0, "no file");
    check_fallbacks(0, "");
    return TAP_PASS;
}

int folder_not_to_be_made(void)
{
    begin_anew();
    put(in_folder("plain"), "abc", 3);
    (void)snprintf(ctx->env.cache_dir, ENV_PATH, "%s", in_folder("plain/cache"));
    tap_check(!recalls(1), "nothing there");
    check_fallbacks(0, "");
    check_ok(keep(1), "keep below a file");
    check_fallbacks(1, "/plain/cache: cannot make this folder: Not a directory; what");
    tap_check(recalls(1), "kept for the process");
    tap_check(holds(in_folder("plain"), "abc", 3), "the file is as it was");
    return TAP_PASS;
}

/* as a user without rights, so that it holds for root too */
int folder_not_to_be_written(void)
{
    const int root = geteuid() == 0;

    begin_anew();
    check_ok(keep(1), "keep");
    (void)chmod(in_folder("cache/wisdom.json"), 0644);
    (void)chmod(in_folder("cache"), 0555);
    next_process();
    if (root && seteuid(NOBODY) != 0) return tap_skip("cannot become an ordinary user");
    tap_check(recalls(1), "recalled from a folder that cannot be written");
    check_ok(keep(2), "keep there");
    check_fallbacks(1, "Permission denied; what was measured");
    tap_check(recalls(2), "kept for the process");
    if (root) tap_check(seteuid(0) == 0, "root again");
    tap_check(count_files(in_folder("cache")) == 2, "nothing left in the folder");
    (void)chmod(in_folder("cache"), 0700);
    check_ok(keep(3), "keep when it can be written");
    tap_check(file_holds(1) && file_holds(2) && file_holds(3), "all of them are there");
    return TAP_PASS;
}

/* the disk gives out in the middle: the old file stays, the temporary one goes */
int disk_full(void)
{
    struct rlimit old, low;
    size_t n;
    char *bytes;

    begin_anew();
    check_ok(keep(1), "keep");
    bytes = slurp(in_folder("cache/wisdom.json"), &n);
    (void)getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = n + 10;
    (void)signal(SIGXFSZ, SIG_IGN);
    tap_check(setrlimit(RLIMIT_FSIZE, &low) == 0, "files end at %zu bytes", n + 10);
    check_ok(keep(2), "keep");
    (void)setrlimit(RLIMIT_FSIZE, &old);
    check_fallbacks(1, "/wisdom.json: cannot write: File too large; what was measured");
    tap_check(holds(in_folder("cache/wisdom.json"), bytes, n), "the old file is kept");
    tap_check(access(in_folder("cache/wisdom.json.tmp"), F_OK) != 0, "no temporary file");
    tap_check(recalls(2), "kept for the process");
    check_ok(keep(3), "keep when there is room");
    tap_check(file_holds(1) && file_holds(2) && file_holds(3), "all of them are there");
    free(bytes);
    return TAP_PASS;
}

int limit_of_the_file(void)
{
    enum { TEXTS = 8, LONG = WISDOM_TEXT - 2000 };
    char *text = calloc(1, LONG + 1), name[32];
    int findings, texts, there = 0;
    struct stat st = {0};

    if (!text) abort();
    begin_anew();
    check_ok(keep(1), "keep");
    for (int i = 0; i < TEXTS; i++) {
        memset(text, 'a' + i, LONG);
        (void)snprintf(name, sizeof name, "text %d", i);
        check_ok(wisdom_keep_text(ctx, name, text), "keep a long text");
    }
    check_fallbacks(0, "");
    (void)stat(in_folder("cache/wisdom.json"), &st);
    tap_check(st.st_size <= WISDOM_FILE && st.st_size > WISDOM_FILE - LONG,
              "%ld bytes allowed %d", (long)st.st_size, (int)WISDOM_FILE);
    (void)file_is_good(&findings, &texts);
    check_file(1, texts);
    next_process();
    for (int i = 0; i < TEXTS; i++) {
        char *found;

        (void)snprintf(name, sizeof name, "text %d", i);
        found = wisdom_text(ctx, name);
        if (found && i >= TEXTS - texts) there++;
        free(found);
    }
    tap_check(there == texts && texts > 1, "the newest %d, no other", there);
    memset(text, '"', LONG);
    check_ok(wisdom_keep_text(ctx, "quotes", text), "one that takes twice the room");
    check_fallbacks(0, "");
    tap_check(file_holds(1), "findings stay");
    free(text);
    return TAP_PASS;
}

#endif
