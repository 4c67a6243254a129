/* attack.c - see attack.h. SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "attack/attack.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/files.h"

static const char *program;

int attack_main(int argc, char **argv, const struct tap_case *cases, size_t n)
{
    program = argv[0];
    return files_main(argc, argv, cases, n);
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns a number such as 20261123, of the day in Greenwich. */
static uint64_t seed_of_today(void)
{
    const time_t clock = time(NULL);
    struct tm day;
    char text[16];

    (void)gmtime_r(&clock, &day);
    (void)strftime(text, sizeof text, "%Y%m%d", &day);
    return strtoull(text, NULL, 10);
}

struct attack attack_begin(double seconds)
{
    const char *given = getenv("NANOBRAG_ATTACK_SECONDS");
    const char *seed = getenv("NANOBRAG_ATTACK_SEED");
    const char *trial = getenv("NANOBRAG_ATTACK_TRIAL");
    struct attack attack = {0};

    attack.seed = seed ? strtoull(seed, NULL, 10) : seed_of_today();
    attack.seconds = given ? strtod(given, NULL) : seconds;
    attack.alone = trial != NULL;
    if (trial) attack.trial = strtoull(trial, NULL, 10) - 1;
    attack.begin = now();
    return attack;
}

/* Returns the next of the numbers of splitmix64 (Steele, Lea & Flood, 2014). */
uint64_t attack_bits(struct attack *attack)
{
    uint64_t z = attack->state += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

int attack_next(struct attack *attack)
{
    if (attack->tried > 0 && (attack->alone || now() - attack->begin > attack->seconds))
        return 0;
    attack->tried++;
    attack->trial++;
    attack->state = attack->seed;
    attack->state = attack_bits(attack) + attack->trial;
    return 1;
}

int attack_expect(struct attack *attack, int condition, const char *format, ...)
{
    char text[2000];
    va_list args;

    if (condition) return 1;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    attack->failed++;
    (void)tap_check(0, "%s", text);
    tap_note("repeat: NANOBRAG_ATTACK_SEED=%" PRIu64 " NANOBRAG_ATTACK_TRIAL=%" PRIu64
             " %s %s",
             attack->seed, attack->trial, program, tap_running());
    (void)fflush(stdout);
    return 0;
}

void attack_end(const struct attack *attack, const char *what)
{
    tap_check(attack->failed == 0 && attack->tried > 0,
              "%ld %s tried with seed %" PRIu64 " in %.0f s: %ld failures", attack->tried,
              what, attack->seed, now() - attack->begin, attack->failed);
}

int attack_below(struct attack *attack, int n)
{
    return (int)(attack_bits(attack) % (uint64_t)n);
}

double attack_between(struct attack *attack, double low, double high)
{
    return low + (high - low) * 0x1p-53 * (double)(attack_bits(attack) >> 11);
}

double attack_decades(struct attack *attack, double low, double high)
{
    return low * pow(high / low, attack_between(attack, 0, 1));
}

int attack_once_in(struct attack *attack, int n)
{
    return attack_below(attack, n) == 0;
}
