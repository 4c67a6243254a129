/* numbers.h - the smaller and the larger of two whole numbers. SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_NUMBERS_H
#define NB_BASE_NUMBERS_H

static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

static inline int max_int(int a, int b)
{
    return a > b ? a : b;
}

#endif
