/*
 * spectrum.h - a list of spectral lines, smoothed by gaussians. Each spot has a row of the
 * spectrum: the sum of the lines, smoothed by the spot's variance along the energy, at the
 * points of a grid with steps of half a width or less.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_SPECTRUM_H
#define NB_KERNELS_CONTINUOUS_SPECTRUM_H

#include <stddef.h>

/* Tables of all lines, smoothed to several widths within half an octave, on one grid. */
struct spectrum_grid {
    int n;
    double low, step;
    double *table; /* SPECTRUM_NUMBERS x n numbers for each width */
};

/* Table t of a half octave has the width 2^((t - 1)/SPECTRUM_INTERVALS/2) times the first
 * width of the half octave, t from 0 to SPECTRUM_TABLES - 1. A row blends four of them. */
enum {
    MOST_HALF_OCTAVES = 16,
    SPECTRUM_INTERVALS = 6,
    SPECTRUM_TABLES = SPECTRUM_INTERVALS + 3
};

/* n lines of a group of sources: logarithms of their energies over the group's energy, and
 * their weights. `extra` is the variance that every line itself has. If lines are many, the
 * smoothed spectrum is tabulated for a series of widths. The row of a spot is then
 * interpolated between the tables of the four nearest widths, at a cost that does not
 * depend on the number of lines. */
struct spectral_lines {
    int n, room;
    double *e, *w;
    double extra;
    double first, last; /* least and largest e */
    int half_octaves;
    double least; /* first width of the first half octave */
    struct spectrum_grid grid[MOST_HALF_OCTAVES];
    double *tables; /* memory of the tables of all grids */
    size_t tables_room;
};

/* Fills in a list of lines. The list must begin as {0}; its memory is kept and grown.
 * `narrow` and `wide` are the least and the largest width of the spots. A row for a width
 * outside of these takes longer if lines are many. Returns 0 if there is no memory. */
int spectrum_make(struct spectral_lines *spectrum, int n, const double *e, const double *w,
                  double extra, double narrow, double wide);
void spectrum_free(struct spectral_lines *spectrum);

/* How many numbers each point of a grid has: the value S, its slope times the step, and its
 * second derivative times the square of the step. The values of all points come first, then
 * all slopes, then all second derivatives. */
enum { SPECTRUM_NUMBERS = 3 };

/* S(e) = sum of w_j N(e - e_j; variance + extra), tabulated at the energies low + i step, i
 * < n. Between two points S is the polynomial of degree 5 through the numbers of both
 * points. At and beyond the first and the last point S is 0, to 1e-8 of a line's peak. */
struct spectrum_row {
    int n, room;
    double low, step;
    double variance; /* variance of the spot, without spectral_lines.extra */
    double *number; /* SPECTRUM_NUMBERS * n */
};

/* Makes the row for a variance of a spot. The row must begin as {0}; its memory is kept and
 * grown. Returns 0, with n = 0, if there is no memory. */
int spectrum_row(const struct spectral_lines *spectrum, double variance,
                 struct spectrum_row *row);
void spectrum_row_free(struct spectrum_row *row);

/* spectrum_row_adjoint() adds the cotangents of the lines to bar_e and bar_w, from `grid`,
 * the cotangents of the numbers of a row, at a fixed variance. spectrum_row_change() writes
 * the changes of these numbers to `grid`, from the changes of the lines. */
void spectrum_row_adjoint(const struct spectral_lines *spectrum, double variance,
                          const double *grid, double *bar_e, double *bar_w);

/* Cotangents of the tables of many lines, summed over spots. The struct must begin as
 * {0}. */
struct spectrum_bar {
    double *table[MOST_HALF_OCTAVES][SPECTRUM_TABLES]; /* NULL: none yet */
};

/* Adds `scale` times `grid`, the cotangents of the numbers of a row, to the cotangents of
 * the tables that the row blends. Returns 0, and adds nothing, if the row blends no tables
 * or there is no memory. */
int spectrum_bar_add(const struct spectral_lines *spectrum, double variance, double scale,
                     const double *grid, struct spectrum_bar *to);

/* Propagates `from`, the cotangents of the tables, to the lines: adds the cotangents of
 * spectrum->e to bar_e, and the cotangents of spectrum->w to bar_w. Returns 0 if `from` has
 * no table. */
int spectrum_bar_give(const struct spectral_lines *spectrum,
                      const struct spectrum_bar *from, double *bar_e, double *bar_w);
void spectrum_bar_free(struct spectrum_bar *bar);

void spectrum_row_change(const struct spectral_lines *spectrum, double variance,
                         const double *dot_e, const double *dot_w, double *grid);

#endif
