/*
 * test_tuning_cache.c - a tuning result holds until the process ends, and is merged into a
 * text on disk, no damage of which does harm. tests/base/store/test_store.c tests the file
 * itself.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "base/log.h"
#include "compile/identity.h"
#include "compile/tune/tuning_cache_cases.h"
#include "support/files.h"
#include "support/tap.h"

static char last_line[1024];

static void note_line(void *user, int level, const char *topic, const char *line)
{
    (void)user, (void)level;
    if (strcmp(topic, "fallback") == 0)
        (void)snprintf(last_line, sizeof last_line, "%s", line);
}

void next_process(void)
{
    tuning_cache_forget();
    ctx->options.log = note_line;
    ctx->env.strict = 0;
    ctx->env.topics = 0;
    ctx->fallbacks = 0;
    last_line[0] = '\0';
    (void)snprintf(ctx->env.cache_dir, sizeof ctx->env.cache_dir, "%s", in_folder("cache"));
}

void begin_anew(void)
{
    empty_folder();
    next_process();
}

struct tuning_entry entry_of(int number)
{
    const struct tuning_entry entry = {number % 3 + 1, number % 1000 + 1, number % 60000,
                                       1000 + number};

    return entry;
}

static int equal(struct tuning_entry a, struct tuning_entry b)
{
    return a.strategy == b.strategy && a.threads == b.threads && a.block == b.block
           && a.microseconds == b.microseconds;
}

static const char *key_of(int number)
{
    static char key[32];

    (void)snprintf(key, sizeof key, "key %d", number);
    return key;
}

nb_status save(int number)
{
    struct tuning_entry entry = entry_of(number);

    return tuning_cache_save(ctx, key_of(number), &entry, 1);
}

int finds(int number)
{
    struct tuning_entry found;

    return tuning_cache_find(ctx, key_of(number), &found) && equal(found, entry_of(number));
}

void check_fallbacks(int expected, const char *part)
{
    tap_check((int)ctx->fallbacks == expected && strstr(last_line, part)
                  && !strchr(last_line, '\n'),
              "%d fallbacks expected %d, '%s' names '%s'", (int)ctx->fallbacks, expected,
              last_line, part);
}

const char *path_of_entries(void)
{
    return in_folder("cache/tuning/tuning.txt");
}

/* 0: the file is no good */
static int read_file(struct tuning_list *list)
{
    char why[STORE_WHY], *text;
    size_t n;
    int good;

    text = slurp(path_of_entries(), &n);
    good = n > 0 && tuning_parse(text, n, list, why) && !why[0];
    free(text);
    return good;
}

int count_entries(void)
{
    struct tuning_list list = {0};
    const int good = read_file(&list);
    int n = 0;

    for (const struct tuning_record *at = list.first; at; at = at->next) n++;
    tuning_clear(&list);
    return good ? n : -1;
}

int file_holds(int number)
{
    struct tuning_list list = {0};
    char name[TUNING_NAME], machine[IDENTITY];
    const struct tuning_entry *found;
    int holds;

    identity_machine(machine);
    (void)snprintf(name, sizeof name, "%s\t%s\t%s", key_of(number), machine,
                   identity_build());
    (void)read_file(&list);
    found = tuning_find(&list, name);
    holds = found && equal(*found, entry_of(number));
    tuning_clear(&list);
    return holds;
}

/* ---- what rules ---- */

static int first_entry_rules(void)
{
    struct tuning_entry found = {0}, other = entry_of(2);

    begin_anew();
    tap_check(!tuning_cache_find(ctx, "key 1", &found), "nothing there");
    check_ok(save(1), "save");
    check_ok(tuning_cache_save(ctx, "key 1", &other, 1), "save another");
    tap_check(equal(other, entry_of(1)), "the first comes back");
    tap_check(tuning_cache_find(ctx, "key 1", &found) && equal(found, entry_of(1)),
              "and is found, strategy %d, threads %d, block %d", found.strategy,
              found.threads, found.block);
    tap_check(!finds(3), "not for another key");
    return TAP_PASS;
}

/* what is held for this process alone is not written, not even beside others */
static int of_this_process_alone(void)
{
    struct tuning_entry mine = entry_of(1), other = entry_of(2);

    begin_anew();
    check_ok(tuning_cache_save(ctx, "key 1", &mine, 0), "hold");
    tap_check(finds(1), "it holds");
    tap_check(count_files(in_folder("")) == 0, "nothing is written");
    check_ok(tuning_cache_save(ctx, "key 1", &other, 1), "save another");
    tap_check(equal(other, entry_of(1)), "the first comes back");
    check_ok(save(3), "save under another key");
    tap_check(count_entries() == 1 && file_holds(3), "that one alone is written");
    next_process();
    tap_check(!finds(1) && finds(3), "the next process finds the one that was written");
    check_fallbacks(0, "");
    return TAP_PASS;
}

static int without_folder(void)
{
    begin_anew();
    ctx->env.cache_dir[0] = '\0';
    check_ok(save(1), "save");
    check_ok(tuning_cache_save_fftw(ctx, "abc"), "save a text");
    tap_check(finds(1), "saved for the process");
    check_fallbacks(2, "NANOBRAG_CACHE_DIR");
    ctx->env.strict = 1;
    check_refused(save(2), NB_ERR_UNSUPPORTED, "no HOME", "NANOBRAG_STRICT=1");
    tuning_cache_forget();
    tap_check(!finds(1) && !tuning_cache_fftw(ctx), "and not longer");
    tap_check(count_files(in_folder("")) == 0, "no file");
    return TAP_PASS;
}

/* ---- with files ---- */

/* the one file of FFTW's wisdom */
static const char *path_of_fftw(void)
{
    static char path[400];
    DIR *dir = opendir(in_folder("cache/tuning"));
    const struct dirent *entry;

    path[0] = '\0';
    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, "fftw_wisdom-", 12) == 0)
            (void)snprintf(path, sizeof path, "%s/%s", in_folder("cache/tuning"),
                           entry->d_name);
    if (dir) (void)closedir(dir);
    return path;
}

/* the text that is found is this one; NULL: none */
static void check_fftw(const char *expected, const char *what)
{
    char *text = tuning_cache_fftw(ctx);

    tap_check(expected ? text && strcmp(text, expected) == 0 : !text, "%s: '%.40s'", what,
              text ? text : "(none)");
    free(text);
}

static int fftw_wisdom(void)
{
    static const char poem[] = "(line \"one\"\n\t\\ two caf\xe9)\n";
    char *large = calloc(1, TUNING_TEXT + 1), *bytes;
    size_t n;
    int ignored = 0;

    if (!large) abort();
    begin_anew();
    check_fftw(NULL, "nothing there");
    check_ok(tuning_cache_save_fftw(ctx, "draft"), "save");
    check_ok(tuning_cache_save_fftw(ctx, poem), "save the last one");
    for (int i = 0; i < 2; i++) {
        check_fftw(poem, i ? "in the next process" : "in this");
        next_process();
    }
    bytes = slurp(path_of_fftw(), &n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)(bytes[i] ^ 1);
        put(path_of_fftw(), bytes, n);
        bytes[i] = (char)(bytes[i] ^ 1);
        next_process();
        ignored += !tuning_cache_fftw(ctx) && ctx->fallbacks == 1 && !*path_of_fftw();
        check_ok(tuning_cache_save_fftw(ctx, poem), "save again");
    }
    tap_check(ignored == (int)n, "%d of %zu damaged files are removed", ignored, n);
    check_fallbacks(1, ".txt: removed, for it is damaged");
    memset(large, 'x', TUNING_TEXT);
    check_ok(tuning_cache_save_fftw(ctx, large), "one too long for the file");
    check_fallbacks(2, "cannot write: File too large; what was measured is not saved");
    check_fftw(large, "saved for the process");
    next_process();
    check_fftw(poem, "the file is as it was");
    (void)chmod(in_folder("cache/tuning"), 0770); /* as if it could not be written */
    check_ok(tuning_cache_save_fftw(ctx, "later"), "save in a folder that is not trusted");
    (void)chmod(in_folder("cache/tuning"), 0700);
    check_ok(tuning_cache_save_fftw(ctx, "later"), "save the same when it can be written");
    next_process();
    check_fftw("later", "it is in the file");
    free(bytes);
    free(large);
    return TAP_PASS;
}

/* put `to` in the place of each `from` in the file */
static void edit_entries(const char *from, const char *to)
{
    size_t n, used = 0;
    char *bytes = slurp(path_of_entries(), &n), *edited = calloc(4, n + 256);

    if (!edited) abort();
    for (const char *at = bytes; *at;) {
        const int here = strncmp(at, from, strlen(from)) == 0;

        used += (size_t)(here ? sprintf(edited + used, "%s", to)
                              : sprintf(edited + used, "%c", *at));
        at += here ? strlen(from) : 1;
    }
    put(path_of_entries(), edited, used);
    free(edited);
    free(bytes);
}

/* entries of another machine or build stay in the file, and are not used */
static int other_machine_and_build(void)
{
    char machine[IDENTITY], *text;
    size_t n;

    identity_machine(machine);
    tap_note("machine '%s', build '%s'", machine, identity_build());
    for (int i = 0; i < 2; i++) {
        begin_anew();
        check_ok(save(1), "save");
        edit_entries(i ? identity_build() : machine, "another");
        next_process();
        tap_check(!finds(1), "not for another %s", i ? "build" : "machine");
        check_ok(save(2), "save beside it");
        tap_check(count_entries() == 2, "both are in the file");
        edit_entries("another", i ? identity_build() : machine);
        next_process();
        tap_check(finds(1) && finds(2), "there again where it belongs");
        check_fallbacks(0, "");
    }
    check_ok(tuning_cache_save_fftw(ctx, "mine"), "save FFTW's wisdom");
    text = slurp(path_of_fftw(), &n);
    tap_check(rename(path_of_fftw(), in_folder("cache/tuning/fftw_wisdom-0.txt")) == 0,
              "that of another build has another name");
    next_process();
    check_fftw(NULL, "is not used");
    check_ok(tuning_cache_save_fftw(ctx, "mine too"), "save");
    tap_check(holds(in_folder("cache/tuning/fftw_wisdom-0.txt"), text, n), "is kept");
    free(text);
    return TAP_PASS;
}

/* Save an entry in another process. Returns 1 if that was possible. */
static int save_elsewhere(int number)
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        tuning_cache_forget();
        ctx->fallbacks = 0;
        _exit(save(number) != NB_OK || ctx->fallbacks > 0);
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

/* what another process found since, this one takes */
static int found_elsewhere_meanwhile(void)
{
    struct tuning_entry mine = entry_of(2);

    begin_anew();
    tap_check(!finds(1), "not there when this process reads the file");
    tap_check(save_elsewhere(1), "another one saves it");
    tap_check(!finds(1), "the file is read once");
    check_ok(tuning_cache_save(ctx, "key 1", &mine, 1), "save");
    tap_check(equal(mine, entry_of(1)) && finds(1), "that of the other one rules");
    tuning_cache_forget();
    mine = entry_of(3);
    check_ok(tuning_cache_save(ctx, "key 1", &mine, 1), "save without reading before");
    tap_check(equal(mine, entry_of(1)) && count_entries() == 1,
              "that of the file rules, and stays");
    check_fallbacks(0, "");
    return TAP_PASS;
}

static void use_folder(const char *name)
{
    (void)snprintf(ctx->env.cache_dir, sizeof ctx->env.cache_dir, "%s", in_folder(name));
}

/* Contexts of two folders do not mix their entries, nor what was read and reported. */
static int two_folders(void)
{
    static const char damaged[] = "?";

    begin_anew();
    check_ok(save(1), "save in the first folder");
    check_ok(tuning_cache_save_fftw(ctx, "one"), "save FFTW's wisdom");
    (void)chmod(in_folder("cache/tuning"), 0770);
    check_ok(save(2), "save where it cannot be written");
    check_fallbacks(1, "other users can write it; what was measured is not saved");
    use_folder("second");
    tap_check(!finds(1) && !finds(2), "the second folder has none of these");
    check_fftw(NULL, "nor the wisdom");
    check_ok(save(3), "save in the second folder");
    check_ok(tuning_cache_save_fftw(ctx, "two"), "save FFTW's wisdom");
    tap_check(finds(3) && save_elsewhere(4) && !finds(4), "its file is read once");
    use_folder("cache");
    (void)chmod(in_folder("cache/tuning"), 0700);
    tap_check(finds(1) && finds(2) && !finds(3), "the first has its own");
    check_fftw("one", "and its wisdom");
    check_ok(save(5), "save when it can be written");
    tap_check(count_entries() == 3 && file_holds(2) && file_holds(5),
              "what was unsaved is written where it belongs");
    use_folder("second");
    tap_check(!finds(4), "the file of the second is not read again");
    next_process();
    use_folder("second");
    tap_check(!finds(1) && !finds(2) && finds(3) && finds(4) && !finds(5),
              "the second file has its own");
    check_fftw("two", "and its wisdom");
    put(path_of_entries(), damaged, sizeof damaged - 1);
    for (int i = 0; i < 3; i++) {
        use_folder("cache");
        (void)finds(6 + i);
        use_folder("second");
        (void)finds(6 + i);
    }
    check_fallbacks(1, "/cache/tuning/tuning.txt: damaged");
    return TAP_PASS;
}

static int strict_is_an_error(void)
{
    begin_anew();
    put(in_folder("plain"), "", 0);
    (void)snprintf(ctx->env.cache_dir, ENV_PATH, "%s", in_folder("plain/cache"));
    ctx->env.strict = 1;
    check_refused(save(1), NB_ERR_UNSUPPORTED,
                  "/plain/cache/tuning: cannot make this folder", "NANOBRAG_STRICT=1");
    tap_check(finds(1), "saved for the process all the same");
    next_process();
    (void)mkdir(in_folder("cache"), 0700);
    (void)mkdir(in_folder("cache/tuning"), 0700);
    put(path_of_entries(), "{}", 2);
    ctx->env.strict = 1;
    check_refused(save(1), NB_ERR_UNSUPPORTED, "/tuning.txt: damaged, ignored",
                  "nanobrag tuning");
    check_ok(save(2), "the file has been replaced");
    return TAP_PASS;
}

static int log_lines(void)
{
    const int stderr_was = dup(2);
    FILE *file;
    char *lines;
    size_t n;

    begin_anew();
    ctx->env.topics = TOPIC_CACHE;
    file = freopen(in_folder("lines"), "w", stderr);
    (void)finds(1);
    (void)save(1);
    (void)finds(1);
    tuning_cache_forget();
    (void)finds(1);
    (void)save(1);
    (void)fflush(stderr);
    (void)dup2(stderr_was, 2);
    lines = slurp(in_folder("lines"), &n);
    tap_check(file
                  && strcmp(lines,
                            "nanobrag: [cache] tuning entry not found: key 1\n"
                            "nanobrag: [cache] tuning entry saved: key 1: strategy=2 "
                            "threads=2 block=1\n"
                            "nanobrag: [cache] tuning entry of this process: key 1: "
                            "strategy=2 threads=2 block=1\n"
                            "nanobrag: [cache] tuning entry of the file: key 1: "
                            "strategy=2 threads=2 block=1\n"
                            "nanobrag: [cache] tuning entry saved before: key 1: "
                            "strategy=2 threads=2 block=1\n")
                         == 0,
              "a line for each:\n%s", lines);
    free(lines);
    return TAP_PASS;
}

static int find_writes_nothing(void)
{
    begin_anew();
    tap_check(!finds(1) && !tuning_cache_fftw(ctx), "nothing there");
    tap_check(count_files(in_folder("")) == 0, "no folder");
    (void)mkdir(in_folder("cache"), 0700);
    (void)mkdir(in_folder("cache/tuning"), 0700);
    next_process();
    tap_check(!finds(1), "nothing there");
    tap_check(count_files(in_folder("cache/tuning")) == 0, "no file");
    check_fallbacks(0, "");
    return TAP_PASS;
}

/* what cannot be written is saved for the process, and written with the next */
static int written_later(void)
{
    struct store store;
    char why[STORE_WHY];
    int lock;

    begin_anew();
    check_ok(save(1), "save");
    (void)chmod(in_folder("cache/tuning"), 0770);
    next_process();
    tap_check(!finds(1), "not found in a folder that is not trusted");
    check_fallbacks(1, "/tuning: not used: other users can write it");
    check_ok(save(2), "save there");
    check_fallbacks(2, "other users can write it; what was measured is not saved");
    check_ok(save(3), "save there");
    tap_check(finds(2) && finds(3), "both are there in this process");
    (void)chmod(in_folder("cache/tuning"), 0700);
    check_ok(save(4), "save when it can be written");
    check_fallbacks(3, "not used");
    store = store_in(ctx->env.cache_dir, "tuning", ".txt", TUNING_TEXT, TUNING_TEXT);
    lock = store_lock(&store, 1000, why);
    tap_check(lock >= 0, "the lock is had");
    check_ok(save(5), "save without it");
    check_ok(save(6), "save, and wait no second again");
    check_fallbacks(5, "/tuning/lock: locked by another thread; what was measured");
    tap_check(!file_holds(5) && finds(5) && finds(6), "both are there in this process");
    store_unlock(lock);
    check_ok(save(7), "save with the lock");
    for (int i = 1; i <= 7; i++) tap_check(file_holds(i), "the file holds number %d", i);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"first_entry_rules", first_entry_rules},
        {"of_this_process_alone", of_this_process_alone},
        {"without_folder", without_folder},
        {"fftw_wisdom", fftw_wisdom},
        {"other_machine_and_build", other_machine_and_build},
        {"found_elsewhere_meanwhile", found_elsewhere_meanwhile},
        {"two_folders", two_folders},
        {"strict_is_an_error", strict_is_an_error},
        {"log_lines", log_lines},
        {"find_writes_nothing", find_writes_nothing},
        {"written_later", written_later},
        {"damaged_anywhere", damaged_anywhere},
        {"damaged_bytes", damaged_bytes},
        {"wrong_lines", wrong_lines},
        {"wrong_files", wrong_files},
        {"saved_twice", saved_twice},
        {"other_format", other_format},
        {"damaged_is_replaced", damaged_is_replaced},
        {"limit_of_the_file", limit_of_the_file},
        {"second_process", second_process},
        {"processes_at_once", processes_at_once},
        {"threads_at_once", threads_at_once},
    };
    static const char *const variables[] = {"NANOBRAG_STRICT", "NANOBRAG_LOGS",
                                            "NANOBRAGG_DISABLE_COMPILE",
                                            "NANOBRAG_DISABLE_COMPILE"};
    int status;

    for (size_t i = 0; i < COUNT(variables); i++) (void)unsetenv(variables[i]);
    (void)umask(022);
    if (argc > 1 && strcmp(argv[1], "--find") == 0) return find_only(argc, argv);
    status = files_main(argc, argv, cases, COUNT(cases));
    tuning_cache_forget();
    return status;
}
