/* truth.c - see truth.h. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "continuous/truth_view.h"

const struct truth_grid truth_coarse = {1.1, 5.6, 2}, truth_fine = {0.7, 6.6, 1};

enum { MOST = 6 }; /* dimensions of a lattice */

/* The points within the reach of a lattice, in standard deviations. */
struct lattice {
    int dimensions;
    size_t n;
    double *point, weight;
};

static struct lattice lattice_make(int dimensions, struct truth_grid grid)
{
    /* what lies outside is as little in more dimensions */
    const double reach = grid.reach + 0.2 * (dimensions > 3 ? dimensions - 3 : 0);
    const int most = (int)(reach / grid.step);
    struct lattice l = {.dimensions = dimensions, .weight = 1};
    int at[MOST];

    for (int pass = 0; pass < 2; pass++) {
        int carry = 0;

        if (pass) l.point = malloc((l.n + 1) * (size_t)(dimensions + 1) * sizeof *l.point);
        if (pass && !l.point) abort();
        l.n = 0;
        for (int i = 0; i < dimensions; i++) at[i] = -most;
        while (!carry) {
            int square = 0;

            for (int i = 0; i < dimensions; i++) square += at[i] * at[i];
            if (square * grid.step * grid.step <= reach * reach) {
                for (int i = 0; pass && i < dimensions; i++)
                    l.point[l.n * (size_t)dimensions + (size_t)i] = at[i] * grid.step;
                l.n++;
            }
            carry = 1;
            for (int i = 0; carry && i < dimensions; i++) {
                carry = at[i] == most;
                at[i] = carry ? -most : at[i] + 1;
            }
        }
    }
    for (int i = 0; i < dimensions; i++) l.weight *= grid.step / sqrt(2 * M_PI);
    return l;
}

/* The matrix h = c c^T with c below the diagonal; returns c's determinant. */
static double cholesky(int n, double h[MOST][MOST])
{
    double determinant = 1;

    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = h[i][j];

            for (int k = 0; k < j; k++) sum -= h[i][k] * h[j][k];
            h[i][j] = i == j ? sqrt(sum) : sum / h[j][j];
            if (i == j) determinant *= h[i][i];
        }
    return determinant;
}

/* x <- c^-1 x */
static void forwards(int n, double c[MOST][MOST], double *x)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= c[i][k] * x[k];
        x[i] /= c[i][i];
    }
}

/* x <- c^-T x */
static void backwards(int n, double c[MOST][MOST], double *x)
{
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++) x[i] -= c[k][i] * x[k];
        x[i] /= c[i][i];
    }
}

/* Which normal variables vary. */
struct varied {
    int n, index[MOST];
};

/* A step of Gauss and Newton to where the integrand is largest: z becomes that place, c the
 * root of the second derivatives and *height minus the logarithm there, if r were linear.
 */
static void step(const struct truth_view *v, const struct varied *varied, double *z,
                 double c[MOST][MOST], double *height)
{
    const double d = 1e-3;
    double r[3], j[MOST][3], x[MOST];

    truth_residual(v, z, r);
    *height = truth_dot(r, r) / 2;
    for (int a = 0; a < varied->n; a++) {
        const int i = varied->index[a];
        const double middle = z[i];
        double up[3], down[3];

        z[i] = middle + d;
        truth_residual(v, z, up);
        z[i] = middle - d;
        truth_residual(v, z, down);
        z[i] = middle;
        for (int k = 0; k < 3; k++) j[a][k] = (up[k] - down[k]) / (2 * d);
        *height += middle * middle / 2;
        x[a] = -middle - truth_dot(j[a], r);
    }
    for (int a = 0; a < varied->n; a++)
        for (int b = 0; b < varied->n; b++) c[a][b] = (a == b) + truth_dot(j[a], j[b]);
    (void)cholesky(varied->n, c);
    forwards(varied->n, c, x);
    for (int a = 0; a < varied->n; a++) *height -= x[a] * x[a] / 2;
    backwards(varied->n, c, x);
    for (int a = 0; a < varied->n; a++) z[varied->index[a]] += x[a];
}

/* The mean of F_latt^2 over its peak, and of exp(-B q^2/2), over the normal variables. */
static double mean(const struct truth_view *v, const struct varied *varied,
                   const struct lattice *l)
{
    double z[TRUTH_NORMALS] = {0}, at[TRUTH_NORMALS] = {0}, c[MOST][MOST];
    double height, sum = 0, root = 1;

    /* of a large crystal the first step is rough */
    step(v, varied, z, c, &height);
    if (height > (v->t->sd[TRUTH_PLACE] > 0 ? 300 : 60)) return 0; /* 1e-26 */
    for (int k = 0; k < 4; k++) step(v, varied, z, c, &height);
    if (height > 36) return 0; /* 2e-16 */
    for (int a = 0; a < varied->n; a++) root *= c[a][a];
    for (size_t i = 0; i < l->n; i++) {
        double x[MOST], r[3], squares = 0, q2 = 0;

        for (int a = 0; a < varied->n; a++)
            x[a] = l->point[i * (size_t)varied->n + (size_t)a];
        backwards(varied->n, c, x);
        for (int a = 0; a < varied->n; a++) {
            const int k = varied->index[a];

            at[k] = z[k] + x[a];
            squares += at[k] * at[k];
        }
        truth_residual(v, at, r);
        if (v->t->b_factor != 0) {
            double q[3];

            truth_scattering(v, at, q);
            q2 = truth_dot(q, q);
        }
        sum += exp(-(squares + truth_dot(r, r) + v->t->b_factor * q2) / 2);
    }
    return sum * l->weight / root;
}

/* The directions of the rotations of domains times their standard deviations. */
static struct truth_matrix ways(const struct truth *t)
{
    struct truth_matrix m;

    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) m.row[k][i] = t->sd[k] * t->way.row[k][i];
    return m;
}

/* How far, in 1/A, a scattering vector may be from a reflection that still shines there. */
static double reach_of(const struct truth_view *v, double q)
{
    const struct truth *t = v->t;
    const double distance = sqrt(truth_dot(v->place, v->place));
    const struct truth_matrix turns = ways(t);
    double sum =
        pow(truth_norm_of_inverse(&v->lattice), 2) + pow(q * truth_norm(&turns), 2);

    sum += pow(q * t->sd[TRUTH_SPACING], 2) + pow(q * t->sd[TRUTH_LINE], 2);
    for (int k = 0; k < 2; k++) {
        sum += pow(v->energy * t->sd[TRUTH_DIVERGENCE + k], 2);
        sum += pow(v->energy * t->sd[TRUTH_PLACE + k] / distance, 2);
    }
    return 9 * sqrt(sum); /* exp(-40) = 4e-18 */
}

/* The pixels that are computed, and what their scattering vectors have in common. */
struct window {
    size_t n;
    const int *place;
    double *sum;
    const struct varied *varied;
    const struct lattice *lattice;
    double reach; /* beyond it a reflection does not shine into a pixel, 1/A */
};

/* Add one reflection to all pixels. */
static void add_reflection(const struct window *w, struct truth_view *v, const double *hkl,
                           double weight)
{
    truth_view_reflection(v, hkl);
    for (size_t i = 0; i < w->n; i++)
        for (int sub = 0; sub < v->t->oversample * v->t->oversample; sub++) {
            double off[3];

            truth_view_pixel(v, w->place + 2 * i, sub);
            for (int k = 0; k < 3; k++)
                off[k] = v->q[k] - hkl[0] * v->star.row[0][k] - hkl[1] * v->star.row[1][k]
                         - hkl[2] * v->star.row[2][k];
            if (truth_dot(off, off) > w->reach * w->reach) continue;
            w->sum[i] += weight * mean(v, w->varied, w->lattice);
        }
}

/* Add all reflections at one phi and one source. */
static void add_view(const struct window *w, struct truth_view *v, double weight)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, hkl[3];
    double high[3] = {-INFINITY, -INFINITY, -INFINITY};

    for (size_t i = 0; i < w->n; i++) {
        truth_view_pixel(v, w->place + 2 * i, 0);
        for (int k = 0; k < 3; k++) {
            const double *axis = v->axes.row[k],
                         off = w->reach * sqrt(truth_dot(axis, axis));

            low[k] = fmin(low[k], truth_dot(axis, v->q) - off);
            high[k] = fmax(high[k], truth_dot(axis, v->q) + off);
        }
    }
    for (hkl[0] = ceil(low[0]); hkl[0] <= high[0]; hkl[0]++)
        for (hkl[1] = ceil(low[1]); hkl[1] <= high[1]; hkl[1]++)
            for (hkl[2] = ceil(low[2]); hkl[2] <= high[2]; hkl[2]++)
                add_reflection(w, v, hkl, weight);
}

/* Add up phi and the sources. */
static void add_range(const struct truth *t, struct truth_grid grid, struct window *w)
{
    static const double node[5] = {-0.9061798459386640, -0.5384693101056831, 0,
                                   0.5384693101056831, 0.9061798459386640};
    static const double share[5] = {0.1184634425280945, 0.2393143352496832,
                                    0.2844444444444444, 0.2393143352496832,
                                    0.1184634425280945};
    const double all = truth_weights(t);

    for (int j = 0; j == 0 || j < t->nsource; j++) {
        struct truth_view v = truth_view_of(t, t->phi0, truth_source(t, j));
        const double weight = truth_source(t, j)->weight / all;
        const struct truth_matrix turns = ways(t);
        double q, width;
        int panels;

        truth_view_pixel(&v, w->place, 0);
        q = sqrt(truth_dot(v.q, v.q));
        w->reach = reach_of(&v, q);
        width = 1 / truth_norm(&v.lattice) / q;
        if (t->sd[0] > 0 && t->sd[1] > 0 && t->sd[2] > 0)
            width = hypot(width, 1 / truth_norm_of_inverse(&turns));
        panels = t->nphi ? t->nphi : 1 + (int)(fabs(t->osc) / (grid.panel * width));
        for (int i = 0; i < panels; i++)
            for (int k = 0; k < 5; k++) {
                const double at = t->nphi ? 0 : node[k] / 2;
                const double part = t->nphi || t->osc == 0 ? k == 0 : share[k];

                if (part == 0) continue;
                v = truth_view_of(t, t->phi0 + t->osc * (i + 0.5 + at) / panels,
                                  truth_source(t, j));
                add_view(w, &v, weight * part / panels);
            }
    }
}

void truth_pixels(const struct truth *t, struct truth_grid grid, size_t n, const int *place,
                  double *photons)
{
    struct truth part = *t;
    double *sum = malloc(n * sizeof *sum);

    if (!sum) abort();
    memset(photons, 0, n * sizeof *photons);
    for (int tail = 0; tail <= (t->tail > 0); tail++) {
        struct varied varied = {0};
        struct lattice lattice;
        struct window w = {n, place, sum, &varied, &lattice, 0};

        for (int k = 0; tail && k < 3; k++) part.sd[k] *= t->tail_width;
        for (int k = 0; k < TRUTH_NORMALS; k++)
            if (part.sd[k] > 0 && varied.n < MOST) varied.index[varied.n++] = k;
        lattice = lattice_make(varied.n, grid);
        memset(sum, 0, n * sizeof *sum);
        add_range(&part, grid, &w);
        for (size_t i = 0; i < n; i++)
            photons[i] += (tail ? t->tail : 1 - t->tail) * sum[i]
                          * truth_brightness(t, place + 2 * i);
        free(lattice.point);
    }
    free(sum);
}
