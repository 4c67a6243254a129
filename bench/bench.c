/*
 * bench.c - nanobrag_bench: the timed loops that bench.py asks for. Each line of stdin is a
 * request, each line of stdout an answer of words KEY=VALUE:
 *
 *   machine [quick]      what the core can do at this moment
 *   REPEAT BUDGET WORDS [/ WORDS]...
 *                        times of simulators in turn, medians in seconds, one answer each;
 *                        the words are those of timed.h
 *
 * error=TEXT and features=TEXT end an answer. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/machine.h"
#include "timed.h"
#include "timing.h"

enum { LINE = 4096, TURNS = 4 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
#ifdef __OPTIMIZE__
#define OPTIMISED 1
#else
#define OPTIMISED 0
#endif

static void answer_machine(int quick)
{
    const struct machine m = machine_measure(quick);
    nb_context *ctx = NULL;

    (void)unsetenv("NANOBRAG_THREADS");
    (void)nb_context_create(NB_API_VERSION, NULL, &ctx);
    (void)printf("version=%s isa=%s hertz=%.9g sines=%.9g double=%.9g float=%.9g "
                 "cores=%d sanitized=%d optimised=%d features=%s\n",
                 nb_version(), m.isa, m.hertz, m.sines, m.peak[NB_PRECISION_DOUBLE],
                 m.peak[NB_PRECISION_SINGLE], ctx ? nb_context_threads(ctx) : 1, SANITIZED,
                 OPTIMISED, nb_features());
    nb_context_free(ctx);
}

static void answer_one(struct timed *t)
{
    const size_t size = t->is.options.precision == NB_PRECISION_SINGLE ? 4 : 8;
    const size_t bytes = (size_t)t->about.nslow * (size_t)t->about.nfast * size;
    char words[NAME];
    nb_compile_stats stats;

    (void)snprintf(words, sizeof words, "%s", timed_words);
    nb_simulator_stats(t->sim, &stats);
    (void)printf("n=%d made=%.9g strategy=%s kernel=%s evaluations=%.17g tiles=%d "
                 "tiles_small=%d tiles_double=%d parameters=%zu dense=%zu bytes=%llu "
                 "boxes=%zu bits=%llx",
                 t->n, t->made, strategy_word(t->about.strategy), t->about.kernel,
                 t->about.evaluations, t->about.tiles, t->about.tiles_small,
                 t->about.tiles_double, nb_simulator_nparam(t->sim),
                 nb_simulator_ndense(t->sim), (unsigned long long)stats.bytes,
                 t->is.of.scene.detector.nbox, timed_hash(t->photons, bytes));
    for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|")) {
        const int call = cases_place(timed_words, word);

        if (!(t->is.calls >> call & 1)) continue;
        (void)printf(" %s=%.9g", word, timing_median(t->times[call], t->n));
        (void)printf(" least_%s=%.9g", word, t->times[call][0]); /* they are sorted */
    }
    (void)putchar('\n');
}

/* Answer with as many lines as there are simulators. */
static void answer_times(char *line)
{
    static struct timed all[TURNS];
    static struct timed_request requests[TURNS];
    const char *said = NULL;
    char *words = line, *next;
    int repeat = 0, used = 0, n = 0, open = 0;
    double budget = 0;

    if (sscanf(line, "%d %lf %n", &repeat, &budget, &used) != 2 || repeat < 1)
        said = "a request is REPEAT BUDGET WORDS";
    for (words = line + used; words && n < TURNS; words = next, n++) {
        const char *wrong;

        next = strstr(words, " / ");
        if (next) *next = 0, next += 3;
        wrong = timed_read(words, requests + n);
        if (wrong && !said) said = wrong;
    }
    for (int good = 1; !said && good && open < n; open++) {
        good = timed_open(all + open, requests + open);
        if (!good) said = all[open].said;
    }
    if (!said && !timed_turns(all, n, repeat, budget))
        for (int i = 0; i < n; i++)
            if (*all[i].said) said = all[i].said;
    for (int i = 0; i < n; i++)
        if (said)
            (void)printf("error=%s\n", said);
        else
            answer_one(all + i);
    for (int i = 0; i < open; i++) timed_close(all + i);
}

int main(void)
{
    static char line[LINE];

    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "machine", 7) == 0)
            answer_machine(strstr(line, "quick") != NULL);
        else
            answer_times(line);
        (void)fflush(stdout);
    }
    return 0;
}
