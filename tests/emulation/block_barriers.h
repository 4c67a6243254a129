/*
 * block_barriers.h - cases of test_block_races: whether the sanitizer finds a barrier that
 * is missing. Each barrier of a block is hidden in turn; all must be found but those behind
 * which no thread touches what another has touched, which a case names.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_BLOCK_BARRIERS_H
#define NB_TESTS_BLOCK_BARRIERS_H

/* of block_threads.h, whose macros are for kernels */
extern int block_lost_step, block_lost_warp_step;
int block_steps(void);
int block_warp_steps(void);
int block_races(void);

int wrong_warps_found(void);
int image_barriers(void);
int derivative_barriers(void);
int factor_barriers(void);
int count_barriers(void);

#endif
