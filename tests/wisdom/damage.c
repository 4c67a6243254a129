/* damage.c - files that are no good, or not ours. SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nanobrag/simulator.h>

#include "support/files.h"
#include "support/tap.h"
#include "wisdom/cases.h"

#ifdef NANOBRAG_CJSON

enum { NOBODY = 65534, KEPT = 3, FLIPS = 3000 };

static const char *path(void)
{
    return in_folder("cache/wisdom.json");
}

/* a real file, with a text too; free() it */
static char *real_file(size_t *n)
{
    begin_anew();
    for (int i = 0; i < KEPT; i++) check_ok(keep(i), "keep");
    check_ok(wisdom_keep_text(ctx, "poem", "(\"one\"\n two)"), "keep a text");
    return slurp(path(), n);
}

/* every finding of the file that is recalled is one that can be */
static int good_or_none(void)
{
    int good = 1;

    for (int i = 0; i < KEPT; i++) {
        struct finding found = {0};
        char key[32];

        (void)snprintf(key, sizeof key, "key %d", i);
        if (wisdom_recall(ctx, key, RIGOUR_MEASURED, 1, &found))
            good &= found.rigour >= RIGOUR_MEASURED && found.rigour <= RIGOUR_MOST
                    && found.strategy >= 0 && found.strategy <= NB_SPOTS
                    && found.threads >= 0 && found.threads <= CONTEXT_THREADS_MOST
                    && found.block >= 0 && found.block <= WISDOM_BLOCK;
    }
    free(wisdom_text(ctx, "poem"));
    return good;
}

int damaged_anywhere(void)
{
    size_t n;
    char *bytes = real_file(&n);
    int good = 0, recalled = 0, complaints = 0;

    for (size_t length = 0; length < n; length++) {
        put(path(), bytes, length);
        next_process();
        good += good_or_none();
        recalled += recalls(1);
        complaints += ctx->fallbacks == 1;
    }
    tap_check(good == (int)n,
              "%d of %zu shortened files gave a finding that can be or none", good, n);
    /* all but the last line end */
    tap_check(recalled == 1 && complaints == (int)n - 1,
              "%d recalled expected 1, %d complaints expected %zu", recalled, complaints,
              n - 1);
    free(bytes);
    return TAP_PASS;
}

/* numbers that differ little from run to run make a failure repeatable */
static unsigned draw(unsigned *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

int damaged_bytes(void)
{
    unsigned state = 1;
    size_t n;
    char *bytes = real_file(&n), *spoilt = malloc(n);
    int good = 0, recalled = 0, most = 0;

    if (!spoilt) abort();
    for (int i = 0; i < FLIPS; i++) {
        memcpy(spoilt, bytes, n);
        for (unsigned flips = 1 + draw(&state) % 3; flips > 0; flips--) {
            const size_t at = draw(&state) % n;

            spoilt[at] = (char)(spoilt[at] ^ (int)(1U << draw(&state) % 8));
        }
        put(path(), spoilt, n);
        next_process();
        good += good_or_none();
        recalled += recalls(1);
        if ((int)ctx->fallbacks > most) most = (int)ctx->fallbacks;
    }
    tap_check(good == FLIPS, "%d of %d spoilt files gave findings that can be or none",
              good, FLIPS);
    tap_check(recalled > 0 && recalled < FLIPS, "the finding came back from %d of them",
              recalled);
    tap_check(most == 1, "%d lines about a file, allowed 1", most);
    free(spoilt);
    free(bytes);
    return TAP_PASS;
}

/* ---- members ---- */

struct wrong {
    const char *from, *to; /* the text in the file, and what it becomes */
    const char *says;
    int others; /* whether what the rest of the file holds is used */
};

/* put `to` in the place of the first `from` */
static void spoil(const char *bytes, const struct wrong *wrong)
{
    const char *at = strstr(bytes, wrong->from);
    char *spoilt = malloc(strlen(bytes) + strlen(wrong->to) + 1);

    if (!at || !spoilt) abort();
    (void)sprintf(spoilt, "%.*s%s%s", (int)(at - bytes), bytes, wrong->to,
                  at + strlen(wrong->from));
    put(path(), spoilt, strlen(spoilt));
    free(spoilt);
}

int wrong_members(void)
{
    static const struct wrong wrongs[] = {
        {"\"threads\":1,", "\"threads\":1025,", "entries[0]: threads is no whole", 1},
        {"\"threads\":1,", "\"threads\":-1,", "threads is no whole number from 0", 1},
        {"\"threads\":1,", "\"threads\":1.5,", "threads is no whole number from 0", 1},
        {"\"threads\":1,", "\"threads\":1e400,", "threads is no whole number from 0", 1},
        {"\"threads\":1,", "\"threads\":-1e400,", "threads is no whole number", 1},
        {"\"threads\":1,", "\"threads\":4294967297,", "threads is no whole number", 1},
        {"\"threads\":1,", "\"threads\":\"1\",", "threads is no whole number from 0", 1},
        {"\"threads\":1,", "\"threads\":null,", "threads is no whole number from 0", 1},
        {"\"threads\":1,", "\"threads\":[1],", "threads is no whole number from 0", 1},
        {"\"threads\":1,", "", "entries[0]: threads is no whole number", 1},
        {"\"threads\":1,", "\"threads\":nan,", "not JSON", 0},
        {"\"threads\":1,", "\"threads\":NaN,", "not JSON", 0},
        {"\"block\":0", "\"block\":65537", "block is no whole number from 0 to 65536", 1},
        {"\"strategy\":1,", "\"strategy\":4,", "none of enum nb_strategy", 1},
        {"\"strategy\":1,", "\"strategy\":true,", "none of enum nb_strategy", 1},
        {"\"rigour\":1,", "\"rigour\":1001,", "rigour is no whole number from 0", 1},
        {"\"key\":\"key 0\",", "\"key\":0,", "entries[0]: key is no name", 1},
        {"\"key\":\"key 0\",", "\"key\":\"\",", "entries[0]: key is no name", 1},
        {"\"key\":\"key 0\",", "\"key\":\"a\\nb\",", "key is no name", 1},
        {"\"key\":\"key 0\",", "\"key\":\"\xc3\xa9\",", "key is no name", 1},
        {"\"machine\":", "\"mashine\":", "entries[0]: machine is no name", 1},
        {"\"build\":", "\"built\":", "entries[0]: build is no name", 1},
        {"{\"machine\":", "7,{\"machine\":", "entries[0]: machine is no name", 2},
        {"{\"machine\":", "null,[],{\"machine\":", "entries[0]: machine is no", 2},
        {"\"text\":\"", "\"text\":7,\"other\":\"", "texts[0]: text is no text", 2},
        {"\"name\":\"poem", "\"name\":\"", "texts[0]: name is no name", 2},
        {"nanobrag wisdom", "nanobrag", "not \"nanobrag wisdom\", version 1", 0},
        {"\"version\": 1", "\"version\": 2", "not \"nanobrag wisdom\", version 1", 0},
        {"\"version\": 1", "\"version\": \"1\"", "not \"nanobrag wisdom\"", 0},
        {"\"entries\"", "\"entry\"", "entries and texts are not both lists", 0},
        {"\"texts\": [", "\"texts\": {}, \"rest\": [", "not both lists", 0},
        {"{\"format\"", "[{\"format\"", "not JSON", 0},
        {"{\"format\"", "7 {\"format\"", "not JSON", 0},
        {"]}\n", "]}\nx", "not JSON", 0},
    };
    size_t n;
    char *bytes = real_file(&n);

    for (size_t i = 0; i < COUNT(wrongs); i++) {
        int first, other;

        spoil(bytes, &wrongs[i]);
        next_process();
        first = recalls(0);
        other = recalls(1);
        tap_check(first == (wrongs[i].others == 2) && other == (wrongs[i].others > 0),
                  "'%s': found %d %d", wrongs[i].to, first, other);
        check_fallbacks(1, wrongs[i].says);
    }
    free(bytes);
    return TAP_PASS;
}

/* ---- files ---- */

/* what lies in its place is ignored and, where it can be, replaced */
static void check_ignored(const char *what, const char *says, int replaced)
{
    int findings, texts;

    next_process();
    tap_check(!recalls(1), "%s: nothing is taken", what);
    check_fallbacks(1, says);
    check_ok(keep(2), "keep");
    tap_check((file_is_good(&findings, &texts) && file_holds(2)) == replaced, "it is %s",
              replaced ? "replaced" : "left alone");
    check_fallbacks(replaced ? 1 : 2, replaced ? says : "cannot write");
    tap_check(access(in_folder("cache/wisdom.json.tmp"), F_OK) != 0, "nothing is left");
    (void)remove(path());
}

int wrong_files(void)
{
    size_t n;
    char *bytes = real_file(&n), *large = malloc(WISDOM_FILE + 1);

    if (!large) abort();
    put(path(), "", 0);
    check_ignored("an empty file", "not JSON", 1);
    memset(large, ' ', WISDOM_FILE + 1);
    memcpy(large, bytes, n);
    put(path(), large, WISDOM_FILE + 1);
    check_ignored("a byte too many", "is larger than 1 MiB", 1);
    memset(large, '[', WISDOM_FILE);
    put(path(), large, WISDOM_FILE);
    check_ignored("brackets", "not JSON", 1);
    memset(large, 0, WISDOM_FILE);
    memcpy(large, bytes, n);
    put(path(), large, n + 1);
    check_ignored("a NUL at its end", "not JSON", 1);

    put(path(), bytes, n);
    (void)chmod(path(), 0620);
    check_ignored("a file of a group", "can be written by other users", 1);
    put(path(), bytes, n);
    (void)chmod(path(), 0602);
    check_ignored("a file of everybody", "can be written by other users", 1);

    put(in_folder("elsewhere"), bytes, n);
    tap_check(symlink("../elsewhere", path()) == 0, "a symbolic link");
    check_ignored("a symbolic link", "is not a regular file", 1);
    tap_check(holds(in_folder("elsewhere"), bytes, n), "its target is as it was");
    tap_check(mkfifo(path(), 0600) == 0, "a pipe");
    check_ignored("a pipe", "is not a regular file", 1);
    tap_check(mkdir(path(), 0700) == 0, "a folder");
    check_ignored("a folder", "is not a regular file", 0);
    free(large);
    free(bytes);
    return TAP_PASS;
}

int file_of_another_user(void)
{
    size_t n;
    char *bytes;

    if (geteuid() != 0) return tap_skip("only root can give a file away");
    bytes = real_file(&n);
    if (chown(path(), NOBODY, NOBODY) != 0) {
        free(bytes);
        return tap_skip("a file cannot be given away here");
    }
    next_process();
    tap_check(!recalls(1), "nothing is taken");
    check_fallbacks(1, "belongs to another user");
    check_ok(keep(9), "keep");
    check_fallbacks(2, "belongs to another user");
    tap_check(recalls(9), "kept for the process");
    tap_check(holds(path(), bytes, n), "it is left alone");
    free(bytes);
    return TAP_PASS;
}

/* the same key twice: the more rigorous, then the first */
int kept_twice(void)
{
    static const struct wrong twice[] = {{"\"key\":\"key 1\",\"rigour\":1,",
                                          "\"key\":\"key 0\",\"rigour\":1,", "", 0},
                                         {"\"key\":\"key 1\",\"rigour\":1,",
                                          "\"key\":\"key 0\",\"rigour\":2,", "", 0}};
    size_t n;
    char *bytes = real_file(&n);

    for (int i = 0; i < 2; i++) {
        struct finding found = {0};

        spoil(bytes, &twice[i]);
        next_process();
        tap_check(wisdom_recall(ctx, "key 0", RIGOUR_MEASURED, 1, &found)
                      && found.threads == finding_of(i).threads,
                  "rigour %d then %d: threads %d expected %d", 1, 1 + i, found.threads,
                  finding_of(i).threads);
        check_fallbacks(0, "");
    }
    free(bytes);
    return TAP_PASS;
}

int damaged_is_replaced(void)
{
    static const struct wrong wrong = {"\"threads\":1,", "\"threads\":-1,", "", 0};
    size_t n;
    char *bytes = real_file(&n);

    spoil(bytes, &wrong);
    next_process();
    tap_check(!recalls(0) && recalls(1), "one finding is no good");
    check_ok(keep(5), "keep");
    check_file(KEPT, 1);
    spoil(bytes, &wrong);
    next_process();
    check_ok(keep(1), "keep what is there already");
    check_file(KEPT - 1, 1);
    put(path(), bytes, n / 2);
    next_process();
    check_ok(keep(6), "keep where half of the file is left");
    check_fallbacks(1, "not JSON");
    check_file(1, 0);
    tap_check(file_holds(6), "a whole file again");
    check_ok(keep(7), "keep");
    check_fallbacks(1, "not JSON");
    free(bytes);
    return TAP_PASS;
}

#endif
