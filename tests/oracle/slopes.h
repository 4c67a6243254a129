/* slopes.h - cases of test_oracle. SPDX-License-Identifier: MIT */
#ifndef NB_TESTS_ORACLE_SLOPES_H
#define NB_TESTS_ORACLE_SLOPES_H

int oracle_slopes_double(void);
int oracle_slopes_single(void);

#endif
