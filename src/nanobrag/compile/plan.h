/*
 * plan.h - what compiled mode decides once: the signature of a call, and the plan that is
 * kept under it.
 *
 * A signature holds what a plan depends on and nothing that a fit changes: counts stand in
 * it as classes, powers of two, values not at all. It is compared as bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_COMPILE_PLAN_H
#define NB_COMPILE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "kernels/job.h"

enum operation {
    PLAN_FORWARD,
    PLAN_ADJOINT,
    PLAN_JACOBIAN,
    PLAN_DIGITIZE,
    PLAN_OPERATIONS
};

enum { PLAN_NAME = 160, PLAN_KEY = 512 };

/* All members are 32 bits wide, so that no byte of it is padding. Zeroed before it is
 * filled. */
struct signature {
    uint32_t operation;
    uint32_t shape, lookup, single_orientation; /* struct phys_spec */
    uint32_t strategy, precision;
    uint32_t kernel; /* instruction set, hashed */
    uint32_t device; /* of images: 0 the host, else compute capability times ten */
    uint32_t switches; /* of the scene: what its numbers can not turn on */
    uint32_t threads; /* of the context */
    uint32_t pixels, samples, sources, orientations, box; /* classes: plan_class() */
    uint32_t directions; /* of a Jacobian: a class */
    uint32_t free[4]; /* which parameters: a bit for each row of the registry */
    uint32_t donated; /* arguments given away: a bit for each */
};

struct plan {
    struct signature signature;
    struct phys_spec spec;
    struct schedule schedule;
    int effort; /* enum effort: how the schedule was found */
    double seconds; /* of one call with it as measured; 0: it was not */
    uint64_t hash; /* of signature and schedule; whoever keeps the plan fills it in */
    uint64_t used; /* when, in uses of the cache; 0: it is not in there */
};

/* 0 for 0, else 1 + the power of two that n does not pass. */
uint32_t plan_class(double n);

/* FNV-1a, 64 bits. */
uint64_t plan_hash(const void *bytes, size_t n);

/* "kernel=v3 operation=forward shape=square ..." into PLAN_KEY characters: the key of its
 * tuning entries. Numbers that are 0 are left out. */
void plan_key(const struct signature *signature, const char *kernel, char *out);

/* What a signature first differs in: "shape: square -> gauss"; "" for equal ones. */
void plan_difference(const struct signature *from, const struct signature *to, char *out);

/* "forward", "adjoint", "rows", "digitize". */
const char *plan_operation_name(enum operation operation);

/* The plan by estimate: kernels and how many threads the work is worth. */
void plan_estimate(const struct signature *signature, struct plan *out);

/*
 * The same by measurement: rehearse() runs the operation once on memory of the library's
 * own, on a schedule, and gives up past a limit in seconds (the time is then infinite).
 * What takes longer than a moment keeps its estimate, and its effort. Errors: those of
 * rehearse().
 */
typedef nb_status plan_rehearse(void *user, const struct schedule *schedule, double limit,
                                double *seconds);
nb_status plan_measure(nb_context *ctx, plan_rehearse *rehearse, void *user,
                       struct plan *plan);

/* ---- the cache: plans of a context ---- */

/* The plan of a signature; NULL: none yet. Kept until PLAN_CACHE others were used since. */
enum { PLAN_CACHE = 64 };
const struct plan *cache_find(nb_context *ctx, const struct signature *signature);

/* Keep a copy, and hand it out. Errors: NB_ERR_MEMORY. */
nb_status cache_add(nb_context *ctx, const struct plan *plan, const struct plan **out);

/* The plan that an operation used last; NULL: none. */
const struct plan *cache_last(const nb_context *ctx, enum operation operation);

#endif
