/*
 * slit.h - what physics/ says of a row of n cells, in both precisions.
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_ORACLE_SLIT_H
#define NB_TESTS_ORACLE_SLIT_H

/* of sin(pi n v)/sin(pi v), but for a common sign */
struct slit {
    double value, slope_v, slope_n;
};

struct slit slit_double(double v, double n);
struct slit slit_single(double v, double n); /* v, n rounded to float by the caller */

#endif
