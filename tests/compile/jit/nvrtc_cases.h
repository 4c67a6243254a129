/*
 * nvrtc_cases.h - what the cases of test_nvrtc share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_NVRTC_CASES_H
#define NB_TESTS_NVRTC_CASES_H

#include "compile/jit/nvrtc.h"

extern struct nvrtc nvrtc;
extern char why[NVRTC_WHY];

/* Opens NVRTC; 1: there is none, `why` says so. */
int no_library(void);

/* a request without options that has time */
struct nvrtc_request request_for(const struct source *text);

/* Whether it compiled, which is a check; and the time that it took. */
int build(const struct nvrtc_request *request, const struct nvrtc_target *target,
          struct cubin *cubin, double *took);

/* The numbers of the architectures that NVRTC knows, and how many. */
int known_targets(int numbers[64]);

/* ---- compile/jit/nvrtc_kernels.c ---- */

int one_variant(void);
int every_variant(void);
int all_variants(void);

#endif
