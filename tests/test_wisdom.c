/*
 * test_wisdom.c - findings are kept for the process and on disk, and nothing that lies
 * there does harm.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "base/log.h"
#include "compile/identity.h"
#include "support/files.h"
#include "support/tap.h"
#include "wisdom/cases.h"

static char last_line[1024];

static void note_line(void *user, int level, const char *topic, const char *line)
{
    (void)user, (void)level;
    if (strcmp(topic, "fallback") == 0)
        (void)snprintf(last_line, sizeof last_line, "%s", line);
}

void next_process(void)
{
    wisdom_forget();
    ctx->options.log = note_line;
    ctx->env.strict = 0;
    ctx->env.topics = 0;
    ctx->fallbacks = 0;
    last_line[0] = '\0';
    (void)snprintf(ctx->env.cache_dir, sizeof ctx->env.cache_dir, "%s", in_folder("cache"));
}

static void clean(void)
{
    static const char *const files[] = {"json", "json.tmp", "lock"};
    char name[64];

    for (size_t i = 0; i < COUNT(files); i++) {
        (void)snprintf(name, sizeof name, "cache/wisdom.%s", files[i]);
        (void)remove(in_folder(name));
    }
    (void)rmdir(in_folder("cache"));
    empty_folder();
}

void begin_anew(void)
{
    clean();
    next_process();
}

struct finding finding_of(int number)
{
    const struct finding finding = {RIGOUR_MEASURED, number % 3 + 1, number % 1000 + 1,
                                    number % 60000};

    return finding;
}

static int equal(struct finding a, struct finding b)
{
    return a.rigour == b.rigour && a.strategy == b.strategy && a.threads == b.threads
           && a.block == b.block;
}

static const char *key_of(int number)
{
    static char key[32];

    (void)snprintf(key, sizeof key, "key %d", number);
    return key;
}

nb_status keep(int number)
{
    struct finding finding = finding_of(number);

    return wisdom_keep(ctx, key_of(number), &finding, 1);
}

int recalls(int number)
{
    struct finding found;

    return wisdom_recall(ctx, key_of(number), RIGOUR_MEASURED, 1, &found)
           && equal(found, finding_of(number));
}

void check_fallbacks(int expected, const char *part)
{
    tap_check((int)ctx->fallbacks == expected && strstr(last_line, part)
                  && !strchr(last_line, '\n'),
              "%d fallbacks expected %d, '%s' names '%s'", (int)ctx->fallbacks, expected,
              last_line, part);
}

#ifdef NANOBRAG_CJSON

int file_is_good(int *findings, int *texts)
{
    struct wisdom_book book = {0};
    char why[WISDOM_WHY] = "";
    const enum wisdom_state state = wisdom_read(ctx->env.cache_dir, &book, why);

    *findings = *texts = 0;
    for (const struct wisdom_item *item = book.first; item; item = item->next)
        (*(item->text ? texts : findings))++;
    wisdom_clear(&book);
    return state == WISDOM_GOOD;
}

void check_file(int findings, int texts)
{
    int findings_there, texts_there;
    const int good = file_is_good(&findings_there, &texts_there);

    tap_check(good && findings_there == findings && texts_there == texts,
              "a %s file, %d findings expected %d, %d texts expected %d",
              good ? "good" : "bad", findings_there, findings, texts_there, texts);
}

int file_holds(int number)
{
    struct wisdom_book book = {0};
    char why[WISDOM_WHY] = "", machine[IDENTITY];
    const struct wisdom_item like = {.machine = machine,
                                     .build = identity_build(),
                                     .name = key_of(number)};
    const struct wisdom_item *there;
    int holds;

    identity_machine(machine);
    (void)wisdom_read(ctx->env.cache_dir, &book, why);
    there = wisdom_find(&book, &like);
    holds = there && equal(there->finding, finding_of(number));
    wisdom_clear(&book);
    return holds;
}

#endif

/* ---- the table ---- */

static int first_finding_rules(void)
{
    struct finding found = {0}, other = finding_of(2);

    begin_anew();
    tap_check(!wisdom_recall(ctx, "key 1", RIGOUR_ESTIMATED, 1, &found), "nothing there");
    check_ok(keep(1), "keep");
    check_ok(wisdom_keep(ctx, "key 1", &other, 1), "keep another");
    tap_check(equal(other, finding_of(1)), "the first comes back");
    tap_check(wisdom_recall(ctx, "key 1", RIGOUR_MEASURED, 0, &found)
                  && equal(found, finding_of(1)),
              "and is recalled, strategy %d, threads %d, block %d", found.strategy,
              found.threads, found.block);
    tap_check(!recalls(3), "not for another key");
    return TAP_PASS;
}

static int rigour_order(void)
{
    struct finding found = {0}, guess = finding_of(1), better = finding_of(2);

    begin_anew();
    guess.rigour = RIGOUR_ESTIMATED;
    check_ok(wisdom_keep(ctx, "key 1", &guess, 1), "an estimate");
    tap_check(!wisdom_recall(ctx, "key 1", RIGOUR_ESTIMATED, 1, &found), "is not kept");
    check_ok(keep(1), "a measurement");
    check_ok(wisdom_keep(ctx, "key 1", &guess, 1), "another estimate");
    tap_check(equal(guess, finding_of(1)), "gets the measurement back");
    tap_check(wisdom_recall(ctx, "key 1", RIGOUR_ESTIMATED, 1, &found), "good for guesses");
    tap_check(!wisdom_recall(ctx, "key 1", RIGOUR_MEASURED + 1, 1, &found),
              "not for those who ask for more");
    better.rigour = RIGOUR_MEASURED + 1;
    check_ok(wisdom_keep(ctx, "key 1", &better, 1), "a better measurement");
    tap_check(equal(better, finding_of(1)), "the first rules in this process");
#ifdef NANOBRAG_CJSON
    next_process();
    tap_check(wisdom_recall(ctx, "key 1", RIGOUR_MEASURED + 1, 1, &found)
                  && found.threads == finding_of(2).threads,
              "the better one in the next, threads %d expected %d", found.threads,
              finding_of(2).threads);
#endif
    return TAP_PASS;
}

static int without_folder(void)
{
    begin_anew();
    ctx->env.cache_dir[0] = '\0';
    check_ok(keep(1), "keep");
    check_ok(wisdom_keep_text(ctx, "text", "abc"), "keep a text");
    tap_check(recalls(1), "kept for the process");
    check_fallbacks(2, "NANOBRAG_CACHE_DIR");
    ctx->env.strict = 1;
    check_refused(keep(2), NB_ERR_UNSUPPORTED, "no HOME", "NANOBRAG_STRICT=1");
    wisdom_forget();
    tap_check(!recalls(1) && !wisdom_text(ctx, "text"), "and not longer");
    tap_check(count_files(in_folder("")) == 0, "no file");
    return TAP_PASS;
}

/* a program linked without cJSON */
static int without_cjson(void)
{
#ifdef NANOBRAG_CJSON
    return tap_skip("built with cJSON");
#else
    begin_anew();
    check_ok(keep(1), "keep");
    check_ok(keep(2), "keep another");
    check_fallbacks(1, "this build has no cJSON");
    tap_check(recalls(1) && recalls(2), "kept for the process");
    tap_check(count_files(in_folder("")) == 0, "no file");
    ctx->env.strict = 1;
    check_refused(keep(3), NB_ERR_UNSUPPORTED, "cJSON", "NANOBRAG_STRICT=1");
    return TAP_PASS;
#endif
}

/* ---- with a file ---- */

#ifdef NANOBRAG_CJSON

static int texts(void)
{
    static const char poem[] = "(line \"one\"\n\t\\ two)\n";
    char *text, *large = calloc(1, WISDOM_TEXT + 1);

    if (!large) abort();
    begin_anew();
    tap_check(!wisdom_text(ctx, "poem"), "nothing there");
    check_ok(wisdom_keep_text(ctx, "poem", "draft"), "keep");
    check_ok(wisdom_keep_text(ctx, "poem", poem), "keep the last one");
    for (int i = 0; i < 2; i++) {
        text = wisdom_text(ctx, "poem");
        tap_check(text && strcmp(text, poem) == 0, i ? "in the next process" : "in this");
        free(text);
        next_process();
    }
    memset(large, 'x', WISDOM_TEXT);
    check_ok(wisdom_keep_text(ctx, "large", large), "one too long for the file");
    check_fallbacks(1, "text is no text, or too long");
    text = wisdom_text(ctx, "large");
    tap_check(text && strcmp(text, large) == 0, "kept for the process");
    free(text);
    check_ok(wisdom_keep_text(ctx, "latin", "caf\xe9"), "one that is not ASCII");
    check_fallbacks(2, "'latin': text is no text");
    free(large);
    return TAP_PASS;
}

/* put `to` in the place of each `from` in the file */
static void edit_file(const char *from, const char *to)
{
    size_t n, used = 0;
    char *bytes = slurp(in_folder("cache/wisdom.json"), &n), *edited = calloc(4, n + 256);

    if (!edited) abort();
    for (const char *at = bytes; *at;) {
        const int here = strncmp(at, from, strlen(from)) == 0;

        used += (size_t)(here ? sprintf(edited + used, "%s", to)
                              : sprintf(edited + used, "%c", *at));
        at += here ? strlen(from) : 1;
    }
    put(in_folder("cache/wisdom.json"), edited, used);
    free(edited);
    free(bytes);
}

static int other_machine_and_build(void)
{
    char machine[IDENTITY];

    identity_machine(machine);
    tap_note("machine '%s', build '%s'", machine, identity_build());
    for (int i = 0; i < 2; i++) {
        begin_anew();
        check_ok(keep(1), "keep");
        check_ok(wisdom_keep_text(ctx, "poem", "a"), "keep a text");
        edit_file(i ? identity_build() : machine, "another");
        next_process();
        tap_check(!recalls(1) && !wisdom_text(ctx, "poem"), "not for another %s",
                  i ? "build" : "machine");
        check_ok(keep(2), "keep beside it");
        check_file(2, 1);
        edit_file("another", i ? identity_build() : machine);
        next_process();
        tap_check(recalls(1) && recalls(2), "there again where it belongs");
        check_fallbacks(0, "");
    }
    return TAP_PASS;
}

/* what another process found since, this one takes */
static int found_elsewhere_meanwhile(void)
{
    struct finding mine = finding_of(2), better = finding_of(3);
    pid_t child;
    int status = -1;

    begin_anew();
    tap_check(!recalls(1), "not there when this process reads the file");
    child = fork();
    if (child == 0) {
        wisdom_forget();
        _exit(keep(1) != NB_OK || ctx->fallbacks > 0);
    }
    tap_check(waitpid(child, &status, 0) == child && status == 0, "another one keeps it");
    tap_check(!recalls(1), "the file is read once");
    check_ok(wisdom_keep(ctx, "key 1", &mine, 1), "keep");
    tap_check(equal(mine, finding_of(1)) && recalls(1), "that of the other one rules");
    wisdom_forget();
    better.rigour = RIGOUR_MEASURED + 1;
    check_ok(wisdom_keep(ctx, "key 1", &better, 1), "keep a better one");
    tap_check(better.threads == finding_of(3).threads, "a better one rules, threads %d",
              better.threads);
    check_fallbacks(0, "");
    return TAP_PASS;
}

static int strict_is_an_error(void)
{
    begin_anew();
    put(in_folder("plain"), "", 0);
    (void)snprintf(ctx->env.cache_dir, ENV_PATH, "%s", in_folder("plain/cache"));
    ctx->env.strict = 1;
    check_refused(keep(1), NB_ERR_UNSUPPORTED, "/plain/cache: cannot make this folder",
                  "NANOBRAG_STRICT=1");
    tap_check(recalls(1), "kept for the process all the same");
    next_process();
    (void)mkdir(in_folder("cache"), 0700);
    put(in_folder("cache/wisdom.json"), "{}", 2);
    ctx->env.strict = 1;
    check_refused(keep(1), NB_ERR_UNSUPPORTED, "/wisdom.json: damaged, ignored",
                  "nanobrag wisdom");
    check_ok(keep(2), "the file has been replaced");
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
    (void)recalls(1);
    (void)keep(1);
    (void)recalls(1);
    wisdom_forget();
    (void)recalls(1);
    (void)keep(1);
    (void)fflush(stderr);
    (void)dup2(stderr_was, 2);
    lines = slurp(in_folder("lines"), &n);
    tap_check(file
                  && strcmp(lines, "nanobrag: [cache] wisdom not found: key 1\n"
                                   "nanobrag: [cache] wisdom kept: key 1: strategy=2 "
                                   "threads=2 block=1\n"
                                   "nanobrag: [cache] wisdom of this process: key 1: "
                                   "strategy=2 threads=2 block=1\n"
                                   "nanobrag: [cache] wisdom of the file: key 1: "
                                   "strategy=2 threads=2 block=1\n"
                                   "nanobrag: [cache] wisdom kept before: key 1: "
                                   "strategy=2 threads=2 block=1\n")
                         == 0,
              "a line for each:\n%s", lines);
    free(lines);
    return TAP_PASS;
}

#define WITH_FILE(name) name
#else

static int needs_file(void)
{
    return tap_skip("built without cJSON");
}

#define WITH_FILE(name) needs_file
#endif

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"first_finding_rules", first_finding_rules},
        {"rigour_order", rigour_order},
        {"without_folder", without_folder},
        {"without_cjson", without_cjson},
        {"texts", WITH_FILE(texts)},
        {"other_machine_and_build", WITH_FILE(other_machine_and_build)},
        {"found_elsewhere_meanwhile", WITH_FILE(found_elsewhere_meanwhile)},
        {"strict_is_an_error", WITH_FILE(strict_is_an_error)},
        {"log_lines", WITH_FILE(log_lines)},
        {"damaged_anywhere", WITH_FILE(damaged_anywhere)},
        {"damaged_bytes", WITH_FILE(damaged_bytes)},
        {"wrong_members", WITH_FILE(wrong_members)},
        {"wrong_files", WITH_FILE(wrong_files)},
        {"file_of_another_user", WITH_FILE(file_of_another_user)},
        {"kept_twice", WITH_FILE(kept_twice)},
        {"damaged_is_replaced", WITH_FILE(damaged_is_replaced)},
        {"folder_and_modes", WITH_FILE(folder_and_modes)},
        {"recall_writes_nothing", WITH_FILE(recall_writes_nothing)},
        {"folder_not_to_be_made", WITH_FILE(folder_not_to_be_made)},
        {"folder_not_to_be_written", WITH_FILE(folder_not_to_be_written)},
        {"disk_full", WITH_FILE(disk_full)},
        {"limit_of_the_file", WITH_FILE(limit_of_the_file)},
        {"second_process", WITH_FILE(second_process)},
        {"killed_while_writing", WITH_FILE(killed_while_writing)},
        {"processes_at_once", WITH_FILE(processes_at_once)},
        {"locked_by_another", WITH_FILE(locked_by_another)},
        {"threads_at_once", threads_at_once},
    };
    static const char *const variables[] = {"NANOBRAG_STRICT", "NANOBRAG_LOGS",
                                            "NANOBRAGG_DISABLE_COMPILE",
                                            "NANOBRAG_DISABLE_COMPILE"};
    int status;

    for (size_t i = 0; i < COUNT(variables); i++) (void)unsetenv(variables[i]);
    (void)umask(022);
    if (argc > 1 && strcmp(argv[1], "--recall") == 0) return recall_only(argc, argv);
    status = files_main(argc, argv, cases, COUNT(cases));
    wisdom_forget();
    clean();
    (void)rmdir(in_folder(""));
    return status;
}
