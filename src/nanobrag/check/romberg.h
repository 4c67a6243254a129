/*
 * romberg.h - a slope with an error bar, from values of a function on a ladder of steps.
 *
 * Steps h0 2^-j, j = 0 to 11, differences over them in a first column, extrapolated to
 * step 0 in those that follow. The error of an entry is at least what separates it from
 * its neighbours, and what the rounding of the function makes of it; the entry of the
 * smallest bar wins. Knows nothing of images.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CHECK_ROMBERG_H
#define NB_CHECK_ROMBERG_H

enum { ROMBERG_ROWS = 12, ROMBERG_COLUMNS = 8, ROMBERG_POINTS = 9 };

/* what differences are taken between */
enum romberg_side { ROMBERG_BELOW = -1, ROMBERG_CENTRAL = 0, ROMBERG_ABOVE = 1 };

struct romberg {
    int side; /* enum romberg_side: x + h and x - h, or one of them and x */
    double h[ROMBERG_ROWS];
    long double t[ROMBERG_ROWS][ROMBERG_COLUMNS];
};

struct romberg_slope {
    double slope, bar;
    double truncation; /* part of the bar that is not rounding */
    double h; /* step and column that won */
    int column;
};

struct romberg_noise {
    long double level;
    int steps; /* neighbours that are equal to the last bit */
};

/* The largest power of two not above x > 0: x + h and x - h are then as good as exact. */
double romberg_power_below(double x);

/* Where the rounding of a function is measured, i = 0 to 8: so many spacings from x. */
double romberg_point(int side, int i);
double romberg_spacing(double x, double length);

/* Rounding of the function, from its values at those points. Overwrites them. */
struct romberg_noise romberg_noise(long double values[ROMBERG_POINTS]);

/* Extrapolate from the first column, which the caller has filled, and choose. */
struct romberg_slope romberg_choose(struct romberg *table, long double noise);

#endif
