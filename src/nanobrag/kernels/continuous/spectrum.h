/*
 * spectrum.h - a list of spectral lines, smoothed by a gaussian: for each spot the sum of
 * its lines with the spot's own variance, as numbers on a grid of half its width or less.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SPECTRUM_H
#define NB_KERNELS_CONTINUOUS_SPECTRUM_H

#include <stddef.h>

/* The numbers of all lines for some widths of a half octave, on one grid. */
struct spectrum_grid {
    int n;
    double low, step;
    double *table; /* SPECTRUM_NUMBERS n numbers for each width */
};

/* Tables of one half octave stand at the widths 2^((t - 1)/SPECTRUM_INTERVALS/2) times its
 * first, t from 0 to SPECTRUM_TABLES - 1; a blend takes four of them. */
enum {
    MOST_HALF_OCTAVES = 16,
    SPECTRUM_INTERVALS = 6,
    SPECTRUM_TABLES = SPECTRUM_INTERVALS + 3
};

/* n lines of a group of sources: their energies, relative to the group's energy, and their
 * weights. `extra` is the variance of the width that every line has itself. Many lines are
 * kept as tables too, so that the row of a spot is a blend of four of them, and its cost
 * does not follow their number. */
struct spectral_lines {
    int n, room;
    double *e, *w;
    double extra;
    double first, last; /* least and largest energy */
    int half_octaves;
    double least; /* width of the first half octave */
    struct spectrum_grid grid[MOST_HALF_OCTAVES];
    double *tables; /* of all grids */
    size_t tables_room;
};

/* Fills in a list of lines, which begins as {0}; its memory is kept and grown. `narrow` and
 * `wide` are the least and the largest width of spots; a row for another width takes longer
 * where there are many lines. Returns 0 when there is no memory. */
int spectrum_make(struct spectral_lines *spectrum, int n, const double *e, const double *w,
                  double extra, double narrow, double wide);
void spectrum_free(struct spectral_lines *spectrum);

/* How many numbers stand for a point of the grid: the value S, its slope times the step,
 * and its second derivative times the step's square. The values of all points come first,
 * then all slopes, then all second derivatives. */
enum { SPECTRUM_NUMBERS = 3 };

/* S(e) = sum of w_j N(e - e_j; variance + extra) at the energies low + i step, i < n.
 * Between two points S is the polynomial of degree 5 with the numbers of both points; S is
 * 0 at and beyond the first and the last point to 1e-8 of a line's peak. */
struct spectrum_row {
    int n, room;
    double low, step;
    double variance; /* variance of the spot, without `extra` */
    double *number; /* SPECTRUM_NUMBERS * n */
};

/* Makes a row, which begins as {0}; its memory is kept and grown. Returns 0, with n = 0,
 * when there is no memory. */
int spectrum_row(const struct spectral_lines *spectrum, double variance,
                 struct spectrum_row *row);
void spectrum_row_free(struct spectrum_row *row);

/* The adjoint and the tangent of the numbers of a row by the lines, at a fixed variance.
 * The adjoint adds to bar_e and bar_w, given `grid`, the cotangents of the numbers. The
 * tangent writes the changes of the numbers to `grid`. */
void spectrum_row_adjoint(const struct spectral_lines *spectrum, double variance,
                          const double *grid, double *bar_e, double *bar_w);

/* Cotangents of the tables of many lines, which add up over spots; begins as {0}. */
struct spectrum_bar {
    double *table[MOST_HALF_OCTAVES][SPECTRUM_TABLES]; /* NULL: none yet */
};

/* A row is a blend of tables. Adds `scale` times the cotangents of its numbers to the
 * cotangents of these tables. Returns 0, and adds nothing, if the row is no blend or there
 * is no memory. */
int spectrum_bar_add(const struct spectral_lines *spectrum, double variance, double scale,
                     const double *grid, struct spectrum_bar *to);

/* Adds to bar_e and bar_w, given the cotangents of the tables. Returns 0 if there are
 * none. */
int spectrum_bar_give(const struct spectral_lines *spectrum,
                      const struct spectrum_bar *from, double *bar_e, double *bar_w);
void spectrum_bar_free(struct spectrum_bar *bar);

void spectrum_row_change(const struct spectral_lines *spectrum, double variance,
                         const double *dot_e, const double *dot_w, double *grid);

#endif
