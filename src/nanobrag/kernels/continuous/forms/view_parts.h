/*
 * view_parts.h - functions that view.c, its adjoint and its tangent share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_CONTINUOUS_VIEW_PARTS_H
#define NB_KERNELS_CONTINUOUS_VIEW_PARTS_H

#include "kernels/continuous/forms/view.h"

/* exp(-2 fudge rho^2/0.63) equals exp(-g K g/2) if K is VIEW_PER_RHO2 fudge times the
 * matrix of rho^2 */
#define VIEW_PER_RHO2 (4 / 0.63)

/* Returns element i, j of the symmetric matrix with the six numbers m, in the order of
 * phys_frame.metric. The last three numbers stand for two elements each. */
static inline double view_element(const double m[6], int i, int j)
{
    return i == j ? m[i] : m[2 + i + j] / 2;
}

/* Adds `scale` times the sum of m_ij (l_i r_j^T + r_j l_i^T)/2, where m_ij is
 * view_element() and l_i and r_j are rows of `left` and `right`. Both may be the axes of a
 * crystal. */
void view_in_axes(double scale, const double m[6], const double left[9],
                  const double right[9], double out[6]);

/* Adds scale (a b^T + b a^T)/2 to a symmetric matrix. */
static inline void view_add_product(double scale, const double *a, const double *b,
                                    double m[6])
{
    m[0] += scale * a[0] * b[0], m[1] += scale * a[1] * b[1], m[2] += scale * a[2] * b[2];
    m[3] += scale * 0.5 * (a[0] * b[1] + a[1] * b[0]);
    m[4] += scale * 0.5 * (a[0] * b[2] + a[2] * b[0]);
    m[5] += scale * 0.5 * (a[1] * b[2] + a[2] * b[1]);
}

/* Each of the last three numbers of a symmetric matrix stands for two elements.
 * view_by_elements() converts cotangents by the six numbers to derivatives by single
 * elements. view_add_elements() adds such derivatives to cotangents by the six numbers. */
static inline void view_by_elements(const double bar[6], double out[6])
{
    for (int i = 0; i < 6; i++) out[i] = i < 3 ? bar[i] : 0.5 * bar[i];
}

static inline void view_add_elements(double scale, const double elements[6], double bar[6])
{
    for (int i = 0; i < 6; i++) bar[i] += (i < 3 ? 1 : 2) * scale * elements[i];
}

/* Returns the sum of the products of the elements of two symmetric matrices. */
static inline double view_inner(const double a[6], const double b[6])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
           + 2 * (a[3] * b[3] + a[4] * b[4] + a[5] * b[5]);
}

/* Writes all elements of a symmetric matrix, row after row. */
static inline void view_widen(const double m[6], double out[9])
{
    out[0] = m[0], out[4] = m[1], out[8] = m[2];
    out[1] = out[3] = m[3];
    out[2] = out[6] = m[4];
    out[5] = out[7] = m[5];
}

/* Writes t m t^T for a general matrix t and a symmetric matrix m. */
static inline void view_congruent(const double t[9], const double m[6], double out[6])
{
    double rows[3][3];

    for (int i = 0; i < 3; i++) {
        const double *r = t + (size_t)3 * (size_t)i;

        rows[i][0] = r[0] * m[0] + r[1] * m[3] + r[2] * m[4];
        rows[i][1] = r[0] * m[3] + r[1] * m[1] + r[2] * m[5];
        rows[i][2] = r[0] * m[4] + r[1] * m[5] + r[2] * m[2];
    }
    for (int i = 0; i < 6; i++) {
        const int a = i < 3 ? i : i == 5, c = i < 3 ? i : i == 3 ? 1 : 2;
        const double *r = t + (size_t)3 * (size_t)c;

        out[i] = rows[a][0] * r[0] + rows[a][1] * r[1] + rows[a][2] * r[2];
    }
}

/* The covariance that is fixed in the laboratory, at the middle of a spot: the size of the
 * crystal, seen from the place x on the detector, plus the divergence. A part that a star
 * integrates is 0. */
struct lab_widths {
    double x[3], per_r2; /* x, m; 1/|x|^2, 1/m^2 */
    double size2, light; /* size^2 of the crystal, m^2; factor of the divergence: 0 if a
                            star integrates it, else 1 */
    double size[6]; /* covariance for a crystal size of 1 m, 1/A^2 */
    double lab[6]; /* covariance of size and divergence, 1/A^2 */
    double turn[9]; /* rotation from the laboratory's frame to the crystal's */
};

void view_widths(const struct view *view, const struct spot_name *name,
                 const struct spot_nodes *nodes, struct lab_widths *out);

/* Returns 1 if the block of a spot contains any laboratory width. */
int view_is_wide(const struct view *view, const struct spot_name *name);

/* Writes the rotation by -z about w, row after row. */
void view_turn(const double w[3], double z, double m[9]);

/* Returns the covariance of the variables k and l of a star. */
static inline double view_star_element(const struct phys_broad *b, const struct star *s,
                                       int k, int l)
{
    double sum = 0;

    if (k >= s->light || l >= s->light) return k == l ? b->size * b->size : 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sum += s->way[k][i] * view_element(b->divergence, i, j) * s->way[l][j];
    return sum;
}

#endif
