/*
 * floor.c - a test: are the loops vectorised? The best instruction set against the same
 * loops compiled without vectorisation, on case B.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

enum { SKIPPED = 77, ROUNDS = 9 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

/* Why the figures would mean nothing; NULL: they do. */
static const char *no_floor(const struct machine *m)
{
#if defined(SANITIZED)
    return "this build has a sanitizer";
#elif !defined(__OPTIMIZE__)
    return "this build is not optimised";
#endif
    if (strcmp(m->isa, "v2") == 0) return "this machine has no AVX2";
    if (strcmp(m->isa, "base") == 0) return "no floor is known for this architecture";
    return NULL;
}

/* least seconds of each, the two in turn: other work only makes them longer */
static int race(struct library *best, struct library *scalar, double seconds[2])
{
    struct library *const runner[2] = {best, scalar};

    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i <= 1; i++) {
            const double t = library_run(runner[i], NULL);

            if (t == 0) return 0;
            if (round == 0 || t < seconds[i]) seconds[i] = t;
        }
    return 1;
}

static int check(int precision, double allowed)
{
    struct bench_case c = cases_list[1];
    struct manner manner = {.threads = 1, .isa = ""};
    struct library best, scalar;
    double seconds[2] = {0, 0};
    int ok;

    c.nslow = 32;
    manner.options.precision = precision;
    manner.options.strategy = NB_LANES;
    ok = library_open(&best, &c, &manner);
    manner.isa = "scalar";
    ok = library_open(&scalar, &c, &manner) && ok;
    if (ok && race(&best, &scalar, seconds)) {
        const double measured = seconds[1] / seconds[0];

        ok = measured >= allowed;
        (void)printf("%s %s: %s %.3f ms, scalar %.3f ms: measured x%.2f allowed x%.2f\n",
                     ok ? "ok    " : "not ok", precision_word(precision),
                     best.description.kernel, 1e3 * seconds[0], 1e3 * seconds[1], measured,
                     allowed);
    } else {
        ok = 0;
        (void)printf("not ok %s: %s%s\n", precision_word(precision), best.said,
                     scalar.said);
    }
    library_close(&best);
    library_close(&scalar);
    return ok;
}

/* float: eight lanes of AVX2 leave room for 5; double has half as many lanes */
int floor_run(void)
{
    const struct machine m = machine_measure(1);
    const char *why = no_floor(&m);
    int ok;

    if (why) {
        (void)printf("skipped: %s\n", why);
        return SKIPPED;
    }
    ok = check(NB_SINGLE, 5);
    ok = check(NB_DOUBLE, 2.5) && ok;
    return ok ? 0 : 1;
}
