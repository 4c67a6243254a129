/* disk.c - folders, rights, limits, and disks that are full. SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cubin/cases.h"
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
    tap_check(obtains(1, SIZE, 0), "made where there is no folder");
    check_mode("cache", 0700);
    check_mode("cache/cubins", 0700);
    check_mode(only_file(), 0600);
    tap_check(strlen(only_file()) == strlen("cache/cubins/") + 64 + strlen(".cubin"),
              "named by its key: %s", only_file());
    (void)chmod(in_folder("cache/cubins"), 0755);
    tap_check(obtains(1, SIZE, 1), "a folder that others may read");
    check_fallbacks(0, "");
    (void)umask(mask);
    return TAP_PASS;
}

/* made, not kept and not found */
static void check_not_used(const char *what, const char *says)
{
    const int before = (int)ctx->fallbacks;

    for (int i = 0; i < 2; i++) tap_check(obtains(1, SIZE, 0), "%s: made each time", what);
    check_fallbacks(before + 4, says);
}

int folder_refused(void)
{
    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    (void)chmod(in_folder("cache/cubins"), 0770);
    check_not_used("a group's folder", "/cubins: not used: other users can write there");
    (void)chmod(in_folder("cache/cubins"), 0702);
    check_not_used("everybody's folder", "/cubins: not used: other users can write there");
    (void)chmod(in_folder("cache/cubins"), 0700);
    tap_check(obtains(1, SIZE, 1), "it was there all the time");
    if (geteuid() == 0 && chown(in_folder("cache/cubins"), NOBODY, (gid_t)-1) == 0) {
        check_not_used("another's folder", "/cubins: not used: it belongs to another user");
        (void)chown(in_folder("cache/cubins"), 0, (gid_t)-1);
    }
    (void)rename(in_folder("cache/cubins"), in_folder("cache/moved"));
    (void)symlink("moved", in_folder("cache/cubins"));
    check_not_used("a link", "/cubins: cannot open this folder: ");
    (void)remove(in_folder("cache/cubins"));
    (void)rename(in_folder("cache/moved"), in_folder("cache/cubins"));
    ctx->env.strict = 1;
    (void)chmod(in_folder("cache/cubins"), 0770);
    prepare(1, SIZE);
    check_refused(run(), NB_ERR_UNSUPPORTED, "other users can write", "NANOBRAG_STRICT=1");
    tap_check(job.status == NB_OK && job.cubin.size == SIZE, "the code is there");
    cubin_free(&job.cubin);
    return TAP_PASS;
}

int folder_not_to_be_made(void)
{
    begin_anew();
    put(in_folder("plain"), "abc", 3);
    (void)snprintf(ctx->env.cache_dir, ENV_PATH, "%s", in_folder("plain/cache"));
    tap_check(obtains(1, SIZE, 0), "below a file");
    check_fallbacks(2, "cannot make this folder: Not a directory");
    tap_check(holds(in_folder("plain"), "abc", 3), "the file is as it was");
    return TAP_PASS;
}

/* as a user without rights, so that it holds for root too; the folder is that user's */
int folder_not_to_be_written(void)
{
    const int root = geteuid() == 0;

    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    if (root
        && (chown(in_folder(only_file()), NOBODY, (gid_t)-1) != 0
            || chown(in_folder("cache/cubins"), NOBODY, (gid_t)-1) != 0))
        return tap_skip("cannot give a folder away");
    (void)chmod(in_folder("cache"), 0755);
    (void)chmod(in_folder("cache/cubins"), 0555);
    if (root && seteuid(NOBODY) != 0) return tap_skip("cannot become an ordinary user");
    tap_check(obtains(1, SIZE, 1), "found in a folder that cannot be written");
    check_fallbacks(0, "");
    tap_check(obtains(2, SIZE, 0), "made");
    check_fallbacks(1, "/cubins: cannot write a file of this folder: Permission denied");
    if (root) tap_check(seteuid(0) == 0, "root again");
    tap_check(count_cubins() == 1, "nothing left in the folder");
    return TAP_PASS;
}

/* the disk gives out in the middle */
int disk_full(void)
{
    struct rlimit old, low;

    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    (void)getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = SIZE;
    (void)signal(SIGXFSZ, SIG_IGN);
    tap_check(setrlimit(RLIMIT_FSIZE, &low) == 0, "files end at %d bytes", (int)SIZE);
    tap_check(obtains(2, SIZE, 0), "made");
    (void)setrlimit(RLIMIT_FSIZE, &old);
    check_fallbacks(1, "/cubins: cannot write a file of this folder: File too large");
    tap_check(count_cubins() == 1, "no unfinished file");
    tap_check(obtains(1, SIZE, 1) && obtains(2, SIZE, 0) && obtains(2, SIZE, 1),
              "kept when there is room");
    return TAP_PASS;
}

/* the time of last use of the file of a number, some minutes ago */
static void set_age(int number, int minutes)
{
    unsigned char key[CUBIN_KEY];
    struct timespec times[2];
    struct nvrtc nvrtc;
    char name[200], why[NVRTC_WHY];
    int n;

    prepare(number, SIZE);
    if (nvrtc_open(FAKE_NVRTC, &nvrtc, why) != NB_OK
        || nvrtc_aim(&nvrtc, 9, 0, &job.target, why) != NB_OK)
        return;
    cubin_key(&nvrtc, &job.request, 0, &job.target, key);
    n = snprintf(name, sizeof name, "cache/cubins/");
    for (int i = 0; i < CUBIN_KEY; i++)
        n += snprintf(name + n, sizeof name - (size_t)n, "%02x", key[i]);
    (void)snprintf(name + n, sizeof name - (size_t)n, ".cubin");
    (void)clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= 60L * minutes;
    times[1] = times[0];
    tap_check(utimensat(AT_FDCWD, in_folder(name), times, 0) == 0, "number %d: %d min old",
              number, minutes);
}

int limit_removes_oldest(void)
{
    enum { FILES = 4, FILE_SIZE = CUBIN_HEADER + SIZE };

    begin_anew();
    for (int i = 0; i < FILES; i++) {
        tap_check(obtains(i, SIZE, 0), "made");
        set_age(i, 10 * (FILES - i));
    }
    put(in_folder("cache/cubins/README"), "mine", 4);
    tap_check(obtains(0, SIZE, 1), "the oldest is used");
    prepare(FILES, SIZE);
    job.limit = (uint64_t)FILES * FILE_SIZE;
    check_ok(run(), "one more than there is room for");
    tap_check(job.counts.removed == 1 && count_cubins() == FILES + 1,
              "%d removed expected 1", (int)job.counts.removed);
    cubin_free(&job.cubin);
    tap_check(obtains(0, SIZE, 1) && obtains(2, SIZE, 1) && obtains(3, SIZE, 1)
                  && obtains(FILES, SIZE, 1),
              "those used since are there");
    prepare(1, SIZE);
    job.limit = 2 * FILE_SIZE + 1;
    check_ok(run(), "with less room");
    tap_check(job.counts.built == 1 && job.counts.removed == 3 && count_cubins() == 3,
              "the one removed is made anew, %d removed expected 3",
              (int)job.counts.removed);
    cubin_free(&job.cubin);
    tap_check(holds(in_folder("cache/cubins/README"), "mine", 4), "no other file");
    check_fallbacks(0, "");
    return TAP_PASS;
}

int too_large(void)
{
    begin_anew();
    prepare(1, SIZE);
    job.limit = SIZE;
    check_ok(run(), "more than the limit");
    cubin_free(&job.cubin);
    check_fallbacks(1, "/cubins: cannot keep a file: File too large");
    tap_check(obtains(2, CUBIN_MOST - CUBIN_HEADER + 1, 0), "more than a file may have");
    check_fallbacks(2, "/cubins: cannot keep a file: File too large");
    tap_check(access(in_folder("cache"), F_OK) != 0, "nothing is kept");
    return TAP_PASS;
}

/* what killed processes leave goes after a while; what may be in the making stays */
int left_unfinished(void)
{
    char old[200], recent[200];
    struct timespec times[2];

    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    (void)snprintf(old, sizeof old, "%.77s.123-4.tmp", only_file());
    (void)snprintf(recent, sizeof recent, "%.77s.123-5.tmp", only_file());
    put(in_folder(old), "x", 1);
    put(in_folder(recent), "x", 1);
    put(in_folder("cache/cubins/notes.tmp"), "x", 1);
    (void)clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= 3600;
    times[1] = times[0];
    (void)utimensat(AT_FDCWD, in_folder(old), times, 0);
    (void)utimensat(AT_FDCWD, in_folder("cache/cubins/notes.tmp"), times, 0);
    tap_check(obtains(2, SIZE, 0), "made");
    tap_check(access(in_folder(old), F_OK) != 0 && access(in_folder(recent), F_OK) == 0
                  && count_cubins() == 4,
              "of those left unfinished the old one is gone, nothing else");
    check_fallbacks(0, "");
    return TAP_PASS;
}
