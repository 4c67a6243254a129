/* tap.c - see tap.h. One case runs at a time, in one thread. SPDX-License-Identifier: MIT
 */
#include "support/tap.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Checks, and failed ones, of the running case, and its name. */
static int checks, failures;
static const char *running;

const char *tap_running(void)
{
    return running;
}

int tap_check(int condition, const char *format, ...)
{
    va_list args;

    checks++;
    if (!condition) failures++;
    (void)printf("  %s ", condition ? "ok    " : "not ok");
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)putchar('\n');
    return condition;
}

int tap_close_at(const char *file, int line, const char *kind, const char *name,
                 double measured, double expected, double allowed)
{
    const double off = fabs(measured - expected);

    /* infinities of the same sign differ by NaN, but are equal */
    return tap_check(off <= allowed || measured == expected,
                     "%s: measured %.17g expected %.17g off %.2g %s %.2g [%s:%d]", name,
                     measured, expected, off, kind, allowed, file, line);
}

void tap_note(const char *format, ...)
{
    va_list args;

    (void)fputs("  ", stdout);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)putchar('\n');
}

int tap_skip(const char *format, ...)
{
    va_list args;

    (void)fputs("  skipped: ", stdout);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)putchar('\n');
    return TAP_SKIP;
}

static int run(const struct tap_case *c)
{
    int status;

    checks = failures = 0;
    running = c->name;
    (void)printf("%s\n", running);
    (void)fflush(stdout);
    status = c->run();
    if (status == TAP_SKIP && failures == 0) return TAP_SKIP;
    if (status != TAP_PASS && failures == 0) (void)tap_check(0, "returned %d", status);
    if (checks == 0) (void)tap_check(0, "made no check");
    (void)printf("%s: %d of %d checks passed\n", c->name, checks - failures, checks);
    return failures == 0 ? TAP_PASS : 1;
}

static const struct tap_case *find(const struct tap_case *cases, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(cases[i].name, name) == 0) return &cases[i];
    return NULL;
}

int tap_main(int argc, char **argv, const struct tap_case *cases, size_t n)
{
    const size_t asked = argc > 1 ? (size_t)argc - 1 : n;
    size_t skipped = 0, failed = 0;

    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < n; i++) (void)puts(cases[i].name);
        return 0;
    }
    for (size_t i = 0; i < asked; i++) {
        const struct tap_case *c = argc > 1 ? find(cases, n, argv[i + 1]) : &cases[i];
        int status;

        if (!c) {
            (void)fprintf(stderr, "%s: no case '%s'; --list names them\n", argv[0],
                          argv[i + 1]);
            return 2;
        }
        status = run(c);
        if (status == TAP_SKIP)
            skipped++;
        else if (status != TAP_PASS)
            failed++;
    }
    if (failed > 0) return 1;
    return asked > 0 && skipped == asked ? TAP_SKIP : 0;
}
