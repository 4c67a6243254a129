/*
 * test_attacked_caches.c - the cache of tuning results damaged, replaced by what is no
 * file, given to another user, or used by several processes at once: every run ends well,
 * with the bits of a run that has no cache.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack/attack.h"
#include "attack/program_run.h"
#include "compile/tune/tuning_cache.h"
#include "support/files.h"
#include "support/renders.h"

enum { BYTES = 4 * 16 * 16, AT_ONCE = 4, ENTRIES = 20 };
static const char folder[] = "cache/tuning", results[] = "cache/tuning/tuning.txt";

static void draw_image(struct program_run *run, int number)
{
    program_clear(run);
    for (const char *word = "-cell 30 40 50 80 90 100 -N 4 -default_F 10 -detpixels 16 "
                            "-pixel 1 -oversample 1 -gauss_xtal -compile tune -threads 2 "
                            "-quiet -floatfile";
         word; word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL)
        program_add(run, "%.*s", (int)strcspn(word, " "), word);
    program_add(run, "%d.bin", number);
}

/* Make a file of results as the library writes it, and return its bytes, to be freed. */
static char *real_results(size_t *n)
{
    nb_context *own = renders_context(1); /* which reads where the cache is */

    for (int i = 0; i < ENTRIES; i++) {
        struct tuning_entry entry = {0, 1 + i % 8, 16, 1000};
        char key[40];

        (void)snprintf(key, sizeof key, "attacked %d", i);
        check_ok(tuning_cache_save(own, key, &entry, 1), "saved");
    }
    nb_context_free(own);
    return slurp(results, n);
}

/* Put the file back with some bytes changed, cut or repeated. */
static void damage(struct attack *a, const char *bytes, size_t n)
{
    char *spoilt = malloc(2 * n + 1);
    size_t size = n;

    if (!spoilt) abort();
    memcpy(spoilt, bytes, n);
    memcpy(spoilt + n, bytes, n);
    for (int flips = attack_below(a, 20); flips > 0; flips--)
        spoilt[attack_below(a, (int)n)] = (char)attack_below(a, 256);
    if (attack_once_in(a, 3)) size = (size_t)attack_below(a, (int)(2 * n));
    put(results, spoilt, size);
    free(spoilt);
}

/* Replace the file, or its folder. */
static void replace(struct attack *a)
{
    static const char *const targets[] = {"/dev/zero", "/dev/null", "missing",
                                          "/etc/passwd", "tuning.txt"};

    (void)unlink(results);
    switch (attack_below(a, 5)) {
    case 0:
        (void)mkdir(results, 0700);
        break;
    case 1:
        (void)mkfifo(results, 0600);
        break;
    case 2:
        (void)symlink(targets[attack_below(a, (int)COUNT(targets))], results);
        break;
    case 3:
        (void)rmdir(folder);
        put(folder, "x", 1);
        break;
    default:
        put(results, "", 0);
        (void)chmod(attack_once_in(a, 2) ? results : folder,
                    (mode_t)attack_below(a, 0777 + 1));
    }
    /* only root can give a file away */
    if (attack_once_in(a, 4))
        (void)chown(attack_once_in(a, 2) ? results : folder, 1234, 1234);
}

static int has_bits(const char *path, const char *expected)
{
    return holds(path, expected, BYTES);
}

/* Several processes at once, each of which must render the same image. */
static void run_all(struct attack *a, const char *expected, const char *state)
{
    static struct program_run runs[AT_ONCE];
    const int count = 1 + attack_below(a, AT_ONCE);
    pid_t child[AT_ONCE];

    for (int i = 0; i < count; i++) {
        draw_image(&runs[i], i);
        child[i] = program_start(&runs[i]);
    }
    for (int i = 0; i < count; i++) {
        char name[20];

        program_wait(&runs[i], child[i], 60);
        (void)snprintf(name, sizeof name, "%d.bin", i);
        attack_expect(a, runs[i].status == 0 && has_bits(name, expected),
                      "process %d of %d, cache %s: ended with %d, \"%s\"", i, count, state,
                      runs[i].status, runs[i].errors);
        program_free(&runs[i]);
    }
}

static int tuning_results(void)
{
    static char expected[BYTES];
    struct attack attack = attack_begin(15);
    struct program_run run = {0};
    char *bytes, *image;
    size_t n, size;

    program_enter();
    draw_image(&run, 0);
    program_run(&run, 60);
    image = slurp("0.bin", &size);
    tap_check(run.status == 0 && size == BYTES, "an image without a cache");
    memcpy(expected, image, BYTES);
    (void)setenv("NANOBRAG_CACHE_DIR", in_folder("cache"), 1);
    bytes = real_results(&n);
    tap_check(n > 0, "a file of %zu bytes", n);
    while (n > 0 && attack_next(&attack)) {
        const int replaced = attack_once_in(&attack, 2);

        program_clean();
        (void)mkdir("cache", 0700);
        (void)mkdir(folder, 0700);
        damage(&attack, bytes, n);
        if (replaced) replace(&attack);
        run_all(&attack, expected, replaced ? "replaced" : "damaged");
    }
    free(bytes);
    free(image);
    program_free(&run);
    program_leave();
    attack_end(&attack, "states of the cache");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"tuning_results", tuning_results}};

    return attack_main(argc, argv, cases, COUNT(cases));
}
