/*
 * plan.c - signatures in words, and schedules: by estimate, or by measurement when compiled
 * mode is asked to tune.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/plan.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/simulator.h>

#include "base/log.h"

uint32_t plan_class(double n)
{
    return n > 0 ? 1 + (uint32_t)ceil(log2(fmax(n, 1))) : 0;
}

/* Returns the largest number of a class. */
static double largest_of_class(uint32_t class)
{
    return class > 0 ? exp2((double)class - 1) : 0;
}

uint64_t plan_hash(const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    uint64_t hash = 14695981039346656037ULL;

    for (size_t i = 0; i < n; i++) hash = (hash ^ byte[i]) * 1099511628211ULL;
    return hash;
}

/* ---- signatures in words ---- */

static const char *const operations[] = {"forward", "adjoint", "jacobian", "digitize"};
static const char *const shapes[] = {"square", "round", "gauss", "tophat"};
static const char *const lookups[] = {"constant", "nearest", "tricubic"};
static const char *const strategies[] = {"auto", "reference", "lanes", "spots"};
static const char *const precisions[] = {"double", "single"};

/* How a member of a signature is written: as a word for its value, as a number, or as a
 * class. */
struct member {
    const char *name;
    size_t at;
    const char *const *words;
    int is_class;
};

#define NUMBER(name)                                                                       \
    {                                                                                      \
#name, offsetof(struct signature, name), NULL, 0                                   \
    }
#define WORDS(name, words)                                                                 \
    {                                                                                      \
#name, offsetof(struct signature, name), words, 0                                  \
    }
#define CLASS(name)                                                                        \
    {                                                                                      \
#name, offsetof(struct signature, name), NULL, 1                                   \
    }
#define FREE(i)                                                                            \
    {                                                                                      \
        "free", offsetof(struct signature, free) + (i) * sizeof(uint32_t), NULL, 0         \
    }

static const struct member members[] = {
    WORDS(operation, operations),
    WORDS(shape, shapes),
    WORDS(lookup, lookups),
    NUMBER(single_orientation),
    WORDS(strategy, strategies),
    WORDS(precision, precisions),
    NUMBER(kernel),
    NUMBER(device),
    NUMBER(switches),
    NUMBER(threads),
    CLASS(pixels),
    CLASS(samples),
    CLASS(sources),
    CLASS(orientations),
    CLASS(box),
    CLASS(directions),
    FREE(0),
    FREE(1),
    FREE(2),
    FREE(3),
    NUMBER(donated),
};

enum { MEMBERS = sizeof members / sizeof *members, WORD = 24 };

static uint32_t value_of(const struct signature *signature, const struct member *member)
{
    uint32_t value;

    memcpy(&value, (const char *)signature + member->at, sizeof value);
    return value;
}

static const char *member_text(const struct member *member, uint32_t value, char out[WORD])
{
    if (member->words) return member->words[value];
    if (member->is_class && value > 0)
        (void)snprintf(out, WORD, "2^%u", value - 1);
    else
        (void)snprintf(out, WORD, "%x", value);
    return out;
}

const char *plan_operation_name(enum operation operation)
{
    return operations[operation];
}

void plan_key(const struct signature *signature, const char *kernel, char *out)
{
    size_t n = (size_t)snprintf(out, PLAN_KEY, "kernel=%s", kernel);

    for (int i = 0; i < MEMBERS && n < PLAN_KEY; i++) {
        const struct member *m = members + i;
        char word[WORD];

        /* the key begins with the kernel's name, and numbers that are 0 are left out */
        if (m->at == offsetof(struct signature, kernel)
            || (!m->words && value_of(signature, m) == 0))
            continue;
        n += (size_t)snprintf(out + n, PLAN_KEY - n, " %s=%s", m->name,
                              member_text(m, value_of(signature, m), word));
    }
}

void plan_difference(const struct signature *from, const struct signature *to, char *out)
{
    out[0] = '\0';
    for (int i = 0; i < MEMBERS; i++) {
        const struct member *m = members + i;
        const uint32_t a = value_of(from, m), b = value_of(to, m);
        char word_a[WORD], word_b[WORD];

        if (a == b) continue;
        (void)snprintf(out, PLAN_NAME, "%s: %s -> %s", m->name, member_text(m, a, word_a),
                       member_text(m, b, word_b));
        return;
    }
}

/* ---- schedules by estimate ---- */

/* The cost model, in nanoseconds of one core: the time of a sample by precision; the factor
 * of an operation compared with an image; the constant time of an operation, for the sums
 * of its chunks; the time of counting a pixel; and the work that is worth another thread.
 */
static const double per_sample[] = {8, 4};
static const double per_operation[] = {1, 3, 8, 0};
static const double per_launch[] = {0, 1e5, 1e5, 0};
static const double per_count = 2, worth_a_thread = 1e4;

static double work_of(const struct signature *s)
{
    const double pixels = largest_of_class(s->pixels);
    const double pairs = largest_of_class(s->sources) * largest_of_class(s->orientations);

    if (s->operation == PLAN_DIGITIZE) return per_count * pixels;
    return per_launch[s->operation]
           + pixels * largest_of_class(s->samples) * pairs * per_sample[s->precision]
                 * per_operation[s->operation];
}

/* Returns the number of tiles that a thread takes at a time. Threads that write
 * neighbouring tiles share cache lines, so a block holds several; it is short enough for
 * all threads to end together. Only images are written tile by tile. */
static int block_of(const struct signature *s, int threads)
{
    enum { TURNS = 8, MOST = 16 };
    const double tiles = largest_of_class(s->pixels) / TILE_PIXELS;

    if (s->operation != PLAN_FORWARD) return 1;
    return (int)fmax(1, fmin(MOST, floor(tiles / (TURNS * threads))));
}

void plan_estimate(const struct signature *signature, struct plan *out)
{
    double threads;

    memset(out, 0, sizeof *out);
    out->signature = *signature;
    out->spec.shape = (int)signature->shape;
    out->spec.lookup = (int)signature->lookup;
    out->spec.single_orientation = (int)signature->single_orientation;
    threads = 1 + floor(work_of(signature) / worth_a_thread);
    if (signature->strategy == NB_SPOTS)
        /* the spot strategy chooses its own number of threads */
        threads = signature->threads;
    out->schedule.threads = (int)fmin(threads, signature->threads);
    out->schedule.block = block_of(signature, out->schedule.threads);
}

/* ---- schedules by measurement ---- */

/* A run longer than long_run (s) gains little from another schedule. A schedule replaces
 * the best one if it needs less than `gain` of its time, and is given up if it needs more
 * than `patience` of it. Each is run RUNS times, of which the shortest counts. */
static const double long_run = 0.02, gain = 0.97, patience = 1.5;
enum { RUNS = 5, MOST_BLOCK = 16 };

struct measured {
    nb_context *ctx;
    plan_dry_run *dry_run;
    void *user;
    const char *name; /* of the operation */
    double best; /* the shortest time so far, s */
};

static nb_status shortest_run(const struct measured *m, const struct schedule *schedule,
                              double limit, double *seconds)
{
    *seconds = INFINITY;
    for (int i = 0; i < RUNS; i++) {
        double once;

        NB_TRY(m->dry_run(m->user, schedule, limit, &once));
        *seconds = fmin(*seconds, once);
        if (once > limit) break;
    }
    log_topic(m->ctx, TOPIC_AUTOTUNE, "%s, %d threads, block %d: %.4g ms", m->name,
              schedule->threads, schedule->block, 1e3 * *seconds);
    return NB_OK;
}

/* Measure a schedule, and put it into the plan if it is faster than the best so far. */
static nb_status try_schedule(struct measured *m, struct schedule schedule,
                              struct plan *plan)
{
    double seconds;

    NB_TRY(shortest_run(m, &schedule, patience * m->best, &seconds));
    if (seconds >= gain * m->best) return NB_OK;
    m->best = seconds;
    plan->schedule = schedule;
    return NB_OK;
}

nb_status plan_measure(nb_context *ctx, plan_dry_run *dry_run, void *user,
                       struct plan *plan)
{
    const struct schedule estimated = plan->schedule;
    const int all = (int)plan->signature.threads;
    struct measured m = {ctx, dry_run, user, operations[plan->signature.operation], 0};
    struct schedule s = {1, 1};

    /* The first run pays for its memory and its code. */
    NB_TRY(dry_run(user, &estimated, 2 * long_run, &m.best));
    if (isfinite(m.best)) NB_TRY(shortest_run(&m, &estimated, 2 * long_run, &m.best));
    if (!(m.best <= long_run)) return NB_OK;
    plan->measured = 1;
    for (; s.threads <= all;
         s.threads = 2 * s.threads > all && s.threads < all ? all : 2 * s.threads)
        if (s.threads != estimated.threads) NB_TRY(try_schedule(&m, s, plan));
    for (s = plan->schedule, s.block = 1; s.block <= MOST_BLOCK && s.threads > 1;
         s.block *= 2)
        if (s.block != plan->schedule.block) NB_TRY(try_schedule(&m, s, plan));
    plan->seconds = m.best;
    return NB_OK;
}
