/*
 * plan.h - the decisions that compiled mode takes once: the signature of a call, and the
 * plan that is saved under this signature.
 *
 * A signature holds all properties on which a plan depends, and none that changes during a
 * fit: counts are reduced to classes (powers of two), and values are left out. Signatures
 * are compared as bytes.
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

enum { PLAN_NAME = 160 };

/* All members are 32 bits wide, so that there are no padding bytes, which would take part
 * in comparisons. Zero a signature before you fill it. */
struct signature {
    uint32_t operation;
    uint32_t shape, lookup, single_orientation; /* members of struct phys_spec */
    uint32_t strategy, precision;
    uint32_t kernel; /* hash of the kernel's name, which tells the instruction set */
    /* device of images: 0 for the host, else 10 times the compute capability */
    uint32_t device;
    uint32_t switches; /* options of a scene that select other code */
    uint32_t threads; /* threads of the context */
    uint32_t pixels, samples, sources, orientations, box; /* classes, by plan_class() */
    uint32_t directions; /* class of the number of directions of a Jacobian */
    uint32_t free[4]; /* the free parameters: a bit for each row of the registry */
    uint32_t donated; /* a bit for each donated argument */
};

struct plan {
    struct signature signature;
    struct phys_spec spec;
    struct schedule schedule;
    uint64_t hash; /* hash of signature and schedule */
    /* number of the cache's last use of this plan; 0: it is in no cache */
    uint64_t used;
};

/* Returns the class of a count: 0 for 0, else 1 + the exponent of the smallest power of two
 * >= n. */
uint32_t plan_class(double n);

/* Returns the 64-bit FNV-1a hash of n bytes. */
uint64_t plan_hash(const void *bytes, size_t n);

/* Describe the first difference of two signatures, as "shape: square -> gauss"; "" if they
 * are equal. */
void plan_difference(const struct signature *from, const struct signature *to, char *out);

/* Returns the name of an operation: "forward", "adjoint", "jacobian" or "digitize". */
const char *plan_operation_name(enum operation operation);

/* Make a plan by estimates: the kernels, the number of threads, the tiles at a time. */
void plan_estimate(const struct signature *signature, struct plan *out);

/* ---- the cache: plans of a context ---- */

/* PLAN_CACHE is the number of plans in a cache. cache_find() returns the plan of a
 * signature, or NULL if there is none. The pointer stays valid until PLAN_CACHE other plans
 * have been used. */
enum { PLAN_CACHE = 64 };
const struct plan *cache_find(nb_context *ctx, const struct signature *signature);

/* Save a copy of a plan, and point *out to it. Errors: NB_ERR_MEMORY. */
nb_status cache_add(nb_context *ctx, const struct plan *plan, const struct plan **out);

/* Returns the plan that an operation used last, or NULL if there is none. */
const struct plan *cache_last(const nb_context *ctx, enum operation operation);

#endif
