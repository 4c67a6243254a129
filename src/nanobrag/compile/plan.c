/*
 * plan.c - writes signatures in words, and estimates schedules.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/plan.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/simulator.h>

uint32_t plan_class(double n)
{
    return n > 0 ? 1 + (uint32_t)ceil(log2(fmax(n, 1))) : 0;
}

/* Returns the largest number that belongs to a class. */
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

/* A member of a signature and how it is written: as a word, as a number, or as a class. */
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

/* The cost model, in ns of one core. per_sample: a sample in double, in float.
 * per_operation: factor of each operation over an image. per_launch: a constant for each
 * operation, for summing its chunks. per_count: counting a pixel. worth_a_thread: the work
 * that justifies one more thread. */
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
 * neighbouring tiles share cache lines, so a block has several tiles, but few enough that
 * all threads end at about the same time. Only images are written tile by tile. */
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
    if (signature->strategy == NB_STRATEGY_SPOTS)
        /* the strategy spots chooses its own number of threads */
        threads = signature->threads;
    out->schedule.threads = (int)fmin(threads, signature->threads);
    out->schedule.block = block_of(signature, out->schedule.threads);
}
