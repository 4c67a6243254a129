/* tuning_cache_damage.c - texts and files that are damaged. SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nanobrag/simulator.h>

#include "compile/tune/tuning_cache_cases.h"
#include "support/files.h"
#include "support/tap.h"

enum { SAVED = 3, FLIPS = 3000 };

/* a real file; free() it */
static char *real_file(size_t *n)
{
    begin_anew();
    for (int i = 0; i < SAVED; i++) check_ok(save(i), "save");
    return slurp(path_of_entries(), n);
}

/* every entry of the file that is found is one that can be */
static int good_or_none(void)
{
    int good = 1;

    for (int i = 0; i < SAVED; i++) {
        struct tuning_entry found = {0};
        char key[32];

        (void)snprintf(key, sizeof key, "key %d", i);
        if (tuning_cache_find(ctx, key, &found))
            good &= found.strategy >= 0 && found.strategy <= NB_SPOTS && found.threads >= 0
                    && found.threads <= CONTEXT_THREADS_MOST && found.block >= 0
                    && found.block <= TUNING_BLOCK;
    }
    return good;
}

int damaged_anywhere(void)
{
    size_t n;
    char *bytes = real_file(&n);
    int good = 0, recalled = 0, complaints = 0;

    for (size_t length = 0; length < n; length++) {
        put(path_of_entries(), bytes, length);
        next_process();
        good += good_or_none();
        recalled += finds(1);
        complaints += ctx->fallbacks == 1;
    }
    tap_check(good == (int)n, "%d of %zu shortened files gave an entry that can be or none",
              good, n);
    tap_check(recalled > 0 && complaints == (int)n,
              "the whole lines of %d are used, %d complaints expected %zu", recalled,
              complaints, n);
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
        put(path_of_entries(), spoilt, n);
        next_process();
        good += good_or_none();
        recalled += finds(1);
        if ((int)ctx->fallbacks > most) most = (int)ctx->fallbacks;
    }
    tap_check(good == FLIPS, "%d of %d spoilt files gave entries that can be or none", good,
              FLIPS);
    tap_check(recalled > 0 && recalled < FLIPS, "the entry came back from %d of them",
              recalled);
    tap_check(most == 1, "%d lines about a file, allowed 1", most);
    free(spoilt);
    free(bytes);
    return TAP_PASS;
}

/* ---- lines ---- */

struct wrong {
    const char *from, *to; /* the text in the file, and what it becomes */
    const char *says;
    int first, other; /* whether the first entry, and the rest of the file, are used */
};

/* put `to` in the place of the first `from` */
static void spoil(const char *bytes, const struct wrong *wrong)
{
    const char *at = strstr(bytes, wrong->from);
    char *spoilt = malloc(strlen(bytes) + strlen(wrong->to) + 1);

    if (!at || !spoilt) abort();
    (void)sprintf(spoilt, "%.*s%s%s", (int)(at - bytes), bytes, wrong->to,
                  at + strlen(wrong->from));
    put(path_of_entries(), spoilt, strlen(spoilt));
    free(spoilt);
}

int wrong_lines(void)
{
    static const char shape[] = "line 2: not KEY = NUMBERS, machine and build";
    static const struct wrong wrongs[] = {
        {"threads 1 ", "threads 1025 ", shape, 0, 1},
        {"threads 1 ", "threads -1 ", shape, 0, 1},
        {"threads 1 ", "threads 1.5 ", shape, 0, 1},
        {"threads 1 ", "threads 1e400 ", shape, 0, 1},
        {"threads 1 ", "threads 4294967297 ", shape, 0, 1},
        {"threads 1 ", "threads 18446744073709551617 ", shape, 0, 1},
        {"threads 1 ", "threads  1 ", shape, 0, 1},
        {"threads 1 ", "threads +1 ", shape, 0, 1},
        {"threads 1 ", "threads nan ", shape, 0, 1},
        {"threads 1 ", "threads ", shape, 0, 1},
        {"threads 1 ", "", shape, 0, 1},
        {"threads 1 ", "Threads 1 ", shape, 0, 1},
        {"block 0 ", "block 65537 ", shape, 0, 1},
        {"strategy 1 ", "strategy 4 ", shape, 0, 1},
        {"strategy 1 ", "strategy 1 effort 1 ", shape, 0, 1},
        {"microseconds 1000\t", "microseconds 1000000000\t", shape, 0, 1},
        {"microseconds 1000\t", "microseconds 1000 7\t", shape, 0, 1},
        {"microseconds 1000\t", "microseconds 1000 \t", shape, 0, 1},
        {"microseconds 1000\t", "microseconds 1000", shape, 0, 1},
        {"microseconds 1000\t", "microseconds 1000\t\t", shape, 0, 1},
        {"microseconds 1000\t", "microseconds 1000\t\xc3\xa9", shape, 0, 1},
        {"microseconds 1000\t", "microseconds 1000\ta\t", shape, 0, 1},
        {"key 0 =", "=", shape, 0, 1},
        {"key 0 =", " =", shape, 0, 1},
        {"key 0 =", "key 0", shape, 0, 1},
        {"key 0 =", "key\t0 =", shape, 0, 1},
        {"key 0 =", "k\xc3\xa9y 0 =", shape, 0, 1},
        {"key 0 =", "\r\nkey 0 =", shape, 1, 1},
        {"key 0 =", "\nkey 0 =", shape, 1, 1},
        {"key 0 =", "{\"key\":0}\nkey 0 =", shape, 1, 1},
        {"key 0 =", "end\nkey 0 =", shape, 1, 1},
        {"tuning, format 2", "tuning, format ", "not \"nanobrag tuning, format 2\"", 0, 0},
        {"tuning, format 2", "tuning, format 1.", "not \"nanobrag tuning, format 2\"", 0,
         0},
        {"nanobrag tuning", "nanobrag", "not \"nanobrag tuning, format 2\"", 0, 0},
        {"format 2\n", "format 2\r\n", "not \"nanobrag tuning, format 2\"", 0, 0},
        {"\nend\n", "\n", "its last line is not \"end\"", 1, 1},
        {"\nend\n", "\nend", "its last line is not \"end\"", 1, 1},
        {"\nend\n", "\nend\nx", "not KEY = NUMBERS", 1, 1},
    };
    size_t n;
    char *bytes = real_file(&n);

    for (size_t i = 0; i < COUNT(wrongs); i++) {
        int first, other;

        spoil(bytes, &wrongs[i]);
        next_process();
        first = finds(0);
        other = finds(1);
        tap_check(first == wrongs[i].first && other == wrongs[i].other, "'%s': found %d %d",
                  wrongs[i].to, first, other);
        check_fallbacks(1, wrongs[i].says);
    }
    free(bytes);
    return TAP_PASS;
}

/* ---- files ---- */

/* what lies in its place is ignored and, where it can be, replaced */
static void check_ignored(const char *what, const char *says, int replaced)
{
    next_process();
    tap_check(!finds(1), "%s: nothing is taken", what);
    check_fallbacks(1, says);
    check_ok(save(2), "save");
    tap_check((count_entries() == 1 && file_holds(2)) == replaced, "it is %s",
              replaced ? "replaced" : "left alone");
    check_fallbacks(replaced ? 1 : 2, replaced ? says : "cannot write");
    (void)remove(path_of_entries());
}

int wrong_files(void)
{
    size_t n;
    char *bytes = real_file(&n), *large = malloc(TUNING_TEXT + 1);

    if (!large) abort();
    put(path_of_entries(), "", 0);
    check_ignored("an empty file", "not \"nanobrag tuning, format 2\"", 1);
    memset(large, '\n', TUNING_TEXT + 1);
    memcpy(large, bytes, n);
    put(path_of_entries(), large, TUNING_TEXT + 1);
    check_ignored("a byte too many", "removed, for it is too large", 1);
    memset(large, '=', TUNING_TEXT);
    put(path_of_entries(), large, TUNING_TEXT);
    check_ignored("signs", "not \"nanobrag tuning, format 2\"", 1);
    bytes[n] = '\0';
    put(path_of_entries(), bytes, n + 1);
    check_ignored("a NUL at its end", "not \"nanobrag tuning, format 2\"", 1);
    put(path_of_entries(), bytes, n);
    (void)chmod(path_of_entries(), 0602);
    check_ignored("a file of everybody", "removed, for other users can write it", 1);
    tap_check(mkdir(path_of_entries(), 0700) == 0, "a folder");
    check_ignored("a folder", "ignored, for it is not a regular file", 0);
    free(large);
    free(bytes);
    return TAP_PASS;
}

/* of two entries under a key the first is used */
int saved_twice(void)
{
    static const struct wrong twice = {"key 1 =", "key 0 =", "", 0, 0};
    size_t n;
    char *bytes = real_file(&n);

    spoil(bytes, &twice);
    next_process();
    tap_check(finds(0), "the first is used");
    tap_check(!finds(1) && finds(2), "and the key that is gone is not found");
    check_fallbacks(0, "");
    free(bytes);
    return TAP_PASS;
}

/* a file of another version is no fault: it is ignored, and replaced by the next save */
int other_format(void)
{
    static const char older[] = "nanobrag tuning, format 1\n"
                                "key 1 = threads 4 block 8 strategy 2 effort 1 "
                                "microseconds 812\ta machine\ta build\nend\n";
    static const char *const versions[] = {"format 1\n", "format 3\n", "format 10\n"};
    size_t n;
    char *bytes = real_file(&n);

    for (size_t i = 0; i < COUNT(versions); i++) {
        const struct wrong other = {"format 2\n", versions[i], "", 0, 0};

        spoil(bytes, &other);
        next_process();
        ctx->env.strict = 1;
        tap_check(!finds(1), "%.*s: not used", 8, versions[i]);
        check_ok(save(4), "save");
        tap_check(count_entries() == 1 && file_holds(4), "the file is replaced");
        check_fallbacks(0, "");
    }
    put(path_of_entries(), older, strlen(older));
    next_process();
    tap_check(!finds(1), "a whole file of format 1: not used");
    check_ok(save(5), "save");
    tap_check(count_entries() == 1 && file_holds(5), "the file is replaced");
    check_fallbacks(0, "");
    free(bytes);
    return TAP_PASS;
}

int damaged_is_replaced(void)
{
    static const struct wrong wrong = {"threads 1 ", "threads -1 ", "", 0, 1};
    size_t n;
    char *bytes = real_file(&n);

    spoil(bytes, &wrong);
    next_process();
    tap_check(!finds(0) && finds(1), "one entry is no good");
    check_ok(save(5), "save");
    tap_check(count_entries() == SAVED, "the others stay, and one more");
    spoil(bytes, &wrong);
    next_process();
    check_ok(save(1), "save what is there already");
    tap_check(count_entries() == SAVED - 1, "the others stay");
    put(path_of_entries(), bytes, 20);
    next_process();
    check_ok(save(6), "save where a part of the first line is left");
    check_fallbacks(1, "not \"nanobrag tuning");
    tap_check(count_entries() == 1 && file_holds(6), "a whole file again");
    check_ok(save(7), "save");
    check_fallbacks(1, "not \"nanobrag tuning");
    free(bytes);
    return TAP_PASS;
}

/* more than fits: the newest entries stay */
int limit_of_the_file(void)
{
    enum { MANY = 1200, LONG = TUNING_KEY - 30 };
    struct tuning_list list = {0};
    char name[TUNING_NAME], *text;
    struct stat st = {0};
    int n;

    begin_anew();
    check_ok(save(0), "save");
    for (int i = 0; i < MANY; i++) {
        const struct tuning_entry entry = entry_of(i);

        (void)snprintf(name, sizeof name, "%0*d\ta machine\ta build", LONG, i);
        tap_check(tuning_add(&list, name, &entry), "memory");
    }
    text = tuning_print(&list);
    tap_check(text && strlen(text) <= TUNING_TEXT && strlen(text) > 0.9 * TUNING_TEXT,
              "%zu bytes allowed %d", text ? strlen(text) : 0, (int)TUNING_TEXT);
    (void)snprintf(name, sizeof name, "%0*d =", LONG, MANY - 1);
    tap_check(text && strstr(text, name), "the newest is there");
    (void)snprintf(name, sizeof name, "%0*d =", LONG, 0);
    tap_check(text && !strstr(text, name), "the oldest is not");
    put(path_of_entries(), text, strlen(text));
    n = count_entries();
    check_ok(save(1), "save in a file that is full");
    (void)stat(path_of_entries(), &st);
    tap_check(st.st_size <= TUNING_TEXT && count_entries() >= n - 1 && file_holds(1),
              "%d entries, %d before", count_entries(), n);
    check_fallbacks(0, "");
    free(text);
    tuning_clear(&list);
    return TAP_PASS;
}
