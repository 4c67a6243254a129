/* planes_by_hand.c - see planes_by_hand.h. SPDX-License-Identifier: MIT */
#include "api/planes_by_hand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

int hand_owner(const struct hand_scene *h, int s, int f)
{
    if (h->mask && !h->mask[s * h->nfast + f]) return -1;
    for (int b = 0; b < h->nbox; b++)
        if (f >= h->box[b][0] && f < h->box[b][1] && s >= h->box[b][2] && s < h->box[b][3])
            return b;
    return -1;
}

/* A pixel of a box, with its place from -1 to 1. */
struct pixel {
    real photons, y, w, u, v;
    int full; /* 1: saturated */
};

struct in_box {
    const struct hand_scene *h;
    int n, positive, kept[3];
    struct pixel *pixel;
    real barrier;
};

static int is_positive(const struct hand_scene *h)
{
    return h->target.kind == NB_LOSS_POISSON || h->target.kind == NB_LOSS_READOUT;
}

/* The loss and its first two derivatives by the photons m, of weight 1; of Cauchy's, which
 * is not convex, instead of the second the weight of reweighted least squares. */
static void loss_of(const nb_target *t, real m, real y, real d[3])
{
    const real g = t->gain > 0 ? t->gain : 1, delta = t->delta > 0 ? t->delta : 1;
    const real var = (real)t->sigma_readout * t->sigma_readout, off = m - y;

    d[0] = off * off / 2, d[1] = off, d[2] = 1;
    if (t->kind == NB_LOSS_POISSON) {
        d[0] = y > 0 ? m - y - y * logl(m / y) : m;
        d[1] = y > 0 ? 1 - y / m : 1;
        d[2] = y > 0 ? y / (m * m) : 0;
        if (y > 0 && !(m > 0)) d[0] = INFINITY;
    } else if (t->kind == NB_LOSS_READOUT) {
        const real v = m / g + var,
                   c = (y + g * var) / g; /* off^2/v by partial fractions */

        d[0] = (off * off / v + logl(v / ((y > 0 ? y : 0) / g + var))) / 2;
        d[1] = (g * (1 - c * c / (v * v)) + 1 / (g * v)) / 2;
        d[2] = (2 * c * c / (v * v * v) - 1 / (g * g * v * v)) / 2;
    } else if (t->kind == NB_LOSS_HUBER && fabsl(off) >= delta) {
        d[0] = delta * fabsl(off) - delta * delta / 2;
        d[1] = off > 0 ? delta : -delta;
        d[2] = 0;
    } else if (t->kind == NB_LOSS_CAUCHY) {
        d[2] = 1 / (1 + off / delta * (off / delta));
        d[0] = delta * delta / 2 * log1pl(off / delta * (off / delta));
        d[1] = off * d[2];
    }
}

static void add_pixel(const struct hand_scene *h, real m, real y, real w, real d[3])
{
    const real most = h->target.saturation > 0 ? h->target.saturation : INFINITY;

    if (y >= most && m > most) {
        d[0] = d[1] = d[2] = 0;
        return;
    }
    loss_of(&h->target, m, y < most ? y : most, d);
    for (int k = 0; k < 3; k++) d[k] *= w;
}

double hand_pixel(const struct hand_scene *h, int s, int f, double photons, double *slope,
                  double *curvature)
{
    const int at = s * h->nfast + f;
    const nb_target *t = &h->target;
    const double w = h->weight ? h->weight[at] : 1, g = t->gain > 0 ? t->gain : 1;
    const double v = photons / g + t->sigma_readout * t->sigma_readout;
    const double most = t->saturation > 0 ? t->saturation : INFINITY;
    real d[3] = {0};

    *slope = *curvature = 0;
    if (w == 0) return 0;
    add_pixel(h, photons, h->observed[at], w, d);
    *slope = (double)d[1];
    *curvature = (double)d[2];
    if (t->kind == NB_LOSS_POISSON && (d[1] != 0 || d[2] != 0))
        *curvature = photons > 1e-250 ? w / photons : 0; /* (dI/dx)^2/I is 0 below it */
    if (t->kind == NB_LOSS_READOUT && d[1] != 0) *curvature = w / v;
    if (t->kind == NB_LOSS_HUBER && d[1] != 0 && d[2] == 0)
        *curvature = *slope / (photons - fmin(h->observed[at], most));
    return (double)d[0];
}

/* Terms that the unsaturated pixels determine, by making 1, u, v orthogonal. */
static void keep(struct in_box *in)
{
    real *column = calloc(3 * (size_t)in->n + 1, sizeof *column);

    if (!column) abort();
    for (int k = 0; k < 3; k++) {
        real *c = column + k * in->n, size = 0, left = 0;

        for (int i = 0; i < in->n; i++) {
            const struct pixel *p = in->pixel + i;

            c[i] = p->full ? 0 : k == 0 ? 1 : k == 1 ? p->u : p->v;
            size += c[i] * c[i];
        }
        for (int twice = 0; twice < 2; twice++)
            for (int j = 0; j < k; j++) {
                const real *d = column + j * in->n;
                real along = 0, square = 0;

                if (!in->kept[j]) continue;
                for (int i = 0; i < in->n; i++) along += c[i] * d[i], square += d[i] * d[i];
                for (int i = 0; i < in->n; i++) c[i] -= along / square * d[i];
            }
        for (int i = 0; i < in->n; i++) left += c[i] * c[i];
        in->kept[k] = left > 1e-14L * size;
    }
    in->kept[0] = in->n > 0;
    free(column);
}

static struct in_box open_box(const struct hand_scene *h, int box)
{
    const int *b = h->box[box], width = b[1] - b[0] - 1, height = b[3] - b[2] - 1;
    struct in_box in = {.h = h, .positive = is_positive(h)};

    in.pixel = calloc((size_t)(width + 1) * (size_t)(height + 1), sizeof *in.pixel);
    if (!in.pixel) abort();
    for (int s = b[2]; s < b[3]; s++)
        for (int f = b[0]; f < b[1]; f++) {
            const int at = s * h->nfast + f;
            const real w = h->weight ? h->weight[at] : 1, y = h->observed[at];
            const struct pixel p = {h->image[at],
                                    y,
                                    w,
                                    width ? (real)(2 * (f - b[0]) - width) / width : 0,
                                    height ? (real)(2 * (s - b[2]) - height) / height : 0,
                                    h->target.saturation > 0 && y >= h->target.saturation};

            if (hand_owner(h, s, f) == box && w != 0) in.pixel[in.n++] = p;
        }
    keep(&in);
    return in;
}

/* The loss at a plane, with barrier, and its derivatives by the terms. */
static real value_of(const struct in_box *in, const real *x, real *g, real (*m)[3])
{
    real sum = 0;

    if (g) memset(g, 0, 3 * sizeof *g), memset(m, 0, 9 * sizeof **m);
    for (int i = 0; i < in->n; i++) {
        const struct pixel *p = in->pixel + i;
        const real row[3] = {1, p->u, p->v};
        real d[3];

        add_pixel(in->h, p->photons + x[0] + p->u * x[1] + p->v * x[2], p->y, p->w, d);
        sum += d[0];
        for (int k = 0; g && k < 3; k++) {
            g[k] += d[1] * row[k];
            for (int j = 0; j < 3; j++) m[k][j] += (d[2] + 1e-6L * p->w) * row[k] * row[j];
        }
    }
    for (int i = 0; in->positive && i < 4; i++) {
        const real row[3] = {1, i & 1 ? 1 : -1, i & 2 ? 1 : -1};
        const real corner = x[0] + row[1] * x[1] + row[2] * x[2];

        if (!(corner > 0)) return INFINITY;
        sum -= in->barrier * logl(corner);
        for (int k = 0; g && k < 3; k++) {
            g[k] -= in->barrier * row[k] / corner;
            for (int j = 0; j < 3; j++)
                m[k][j] += in->barrier * row[k] * row[j] / (corner * corner);
        }
    }
    return sum;
}

/* Solves m d = -g for the kept terms, by elimination; a pivot that is not positive is
 * raised. */
static void solve(const struct in_box *in, real (*m)[3], const real *g, real *d)
{
    real a[3][4];

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            a[i][j] = in->kept[i] && in->kept[j] ? m[i][j] : i == j ? 1 : 0;
        a[i][3] = in->kept[i] ? -g[i] : 0;
    }
    for (int i = 0; i < 3; i++) {
        const real least = 1e-10L * (fabsl(m[i][i]) + 1e-10L);

        if (a[i][i] < least) a[i][i] = least;
        for (int r = i + 1; r < 3; r++)
            for (int j = 3; j >= i; j--) a[r][j] -= a[r][i] / a[i][i] * a[i][j];
    }
    for (int i = 2; i >= 0; i--) {
        d[i] = a[i][3];
        for (int j = i + 1; j < 3; j++) d[i] -= a[i][j] * d[j];
        d[i] /= a[i][i];
    }
}

/* Newton's method with halved steps, for one barrier. */
static void descend(const struct in_box *in, real *x)
{
    for (int step = 0; step < 300; step++) {
        real g[3], m[3][3], d[3], part = 1, down;
        const real value = value_of(in, x, g, m);
        int moved = 0;

        solve(in, m, g, d);
        down = -(g[0] * d[0] + g[1] * d[1] + g[2] * d[2]);
        if (!(down > 0)) return;
        for (int i = 0; i < 60 && !moved; i++, part /= 2) {
            real to[3];

            for (int k = 0; k < 3; k++) to[k] = x[k] + part * d[k];
            moved = value_of(in, to, NULL, NULL) < value;
            if (moved) memcpy(x, to, sizeof to);
        }
        if (!moved) return;
    }
}

/* The level of a box with saturated pixels alone, by golden sections. */
static real find_level(const struct in_box *in)
{
    const real golden = 0.61803398874989484820L;
    real low = 0, high = 0;

    for (int i = 0; i < in->n; i++)
        high = fmaxl(high, in->h->target.saturation - in->pixel[i].photons);
    for (int i = 0; i < 100; i++) {
        const real a[3] = {high - golden * (high - low)},
                   b[3] = {low + golden * (high - low)};

        if (value_of(in, a, NULL, NULL) < value_of(in, b, NULL, NULL))
            high = b[0];
        else
            low = a[0];
    }
    return (low + high) / 2;
}

/* Sets x to the plane through three pixels. */
static void through(const struct in_box *in, const int i[3], real *x)
{
    real g[3] = {0}, m[3][3] = {{0}};

    for (int r = 0; r < 3; r++) {
        const struct pixel *p = in->pixel + i[r];
        const real row[3] = {1, p->u, p->v};

        for (int k = 0; k < 3; k++) {
            g[k] -= (p->y - p->photons) * row[k];
            for (int j = 0; j < 3; j++) m[k][j] += row[k] * row[j];
        }
    }
    solve(in, m, g, x);
}

/* The least of the minima of Cauchy's loss downhill from planes through pixels. */
static void find_lowest(const struct in_box *in, real *x)
{
    unsigned random = 1;

    for (int i = 0; i < 200; i++) {
        real from[3] = {0};
        int three[3];

        for (int k = 0; k < 3; k++) {
            random = 1664525 * random + 1013904223;
            three[k] = (int)(random >> 8) % in->n;
        }
        through(in, three, from);
        descend(in, from);
        if (value_of(in, from, NULL, NULL) < value_of(in, x, NULL, NULL))
            memcpy(x, from, sizeof from);
    }
    for (int i = 0; i < 2000; i++) {
        real g[3], m[3][3], d[3];

        (void)value_of(in, x, g, m);
        solve(in, m, g, d);
        for (int k = 0; k < 3; k++) x[k] += d[k];
    }
}

double hand_least(const struct hand_scene *h, int box, double *plane)
{
    const int *b = h->box[box], width = b[1] - b[0] - 1, height = b[3] - b[2] - 1;
    struct in_box in = open_box(h, box);
    real x[3] = {0}, mean = 0, size;
    int full = 0;

    for (int i = 0; i < in.n; i++) full += in.pixel[i].full;
    for (int i = 0; i < in.n; i++) mean += fabsl(in.pixel[i].y - in.pixel[i].photons);
    if (in.n > 0) mean /= in.n;
    size = mean * in.n;
    if (in.kept[0]) x[0] = in.positive ? mean + 1 : 0;
    in.barrier = in.positive && in.kept[0] ? size + 1 : 0;
    while (in.kept[0] && full < in.n) {
        descend(&in, x);
        if (!(in.barrier > 1e-15L)) break;
        in.barrier /= 4;
    }
    if (h->target.kind == NB_LOSS_CAUCHY && in.kept[0] && full < in.n) find_lowest(&in, x);
    in.barrier = 0;
    in.positive = 0;
    if (full > 0 && full == in.n) x[0] = find_level(&in);
    plane[0] = (double)x[0];
    plane[1] = width ? (double)(2 * x[1] / width) : 0;
    plane[2] = height ? (double)(2 * x[2] / height) : 0;
    size = value_of(&in, x, NULL, NULL);
    free(in.pixel);
    return (double)size;
}

double hand_photons(const struct hand_scene *h, int box, const double *plane, int s, int f)
{
    const int *b = h->box[box];
    const double width = (b[1] - b[0] - 1) / 2., height = (b[3] - b[2] - 1) / 2.;
    const double photons = plane[0] + plane[1] * (f - (b[0] + b[1] - 1) / 2.)
                           + plane[2] * (s - (b[2] + b[3] - 1) / 2.);
    const double size = fabs(plane[0]) + fabs(plane[1]) * width + fabs(plane[2]) * height;

    return is_positive(h) && fabs(photons) <= 1e-12 * size ? 0 : photons;
}

double hand_loss(const struct hand_scene *h, int box, const double *plane)
{
    const int *b = h->box[box];
    double sum = 0, slope, curvature;

    for (int s = b[2]; s < b[3]; s++)
        for (int f = b[0]; f < b[1]; f++)
            if (hand_owner(h, s, f) == box)
                sum += hand_pixel(h, s, f,
                                  h->image[s * h->nfast + f]
                                      + hand_photons(h, box, plane, s, f),
                                  &slope, &curvature);
    return sum;
}

/* ---- the matrix ---- */

/* Removes from `a` its part along `b`, both of three terms. */
static void remove_part(real *a, const real *b)
{
    real along = 0, square = 0;

    for (int k = 0; k < 3; k++) along += a[k] * b[k], square += b[k] * b[k];
    for (int k = 0; square > 0 && k < 3; k++) a[k] -= along / square * b[k];
}

/* Directions in which the plane of a box is free to change: what is left of 1, u, v without
 * the terms that are not kept and without the corners in which it is 0. */
static int free_directions(const struct hand_scene *h, int box, const double *plane,
                           real (*free_of)[3])
{
    const int *b = h->box[box];
    struct in_box in = open_box(h, box);
    real fixed[7][3] = {{0}};
    int nfixed = 0, n = 0;

    for (int k = 0; k < 3; k++)
        if (!in.kept[k]) fixed[nfixed++][k] = 1;
    for (int i = 0; in.positive && i < 4; i++) {
        const real corner[3] = {1, i & 1 ? 1 : -1, i & 2 ? 1 : -1};

        if (hand_photons(h, box, plane, i & 2 ? b[3] - 1 : b[2], i & 1 ? b[1] - 1 : b[0])
            == 0)
            memcpy(fixed[nfixed++], corner, sizeof corner);
    }
    free(in.pixel);
    for (int i = 0; i < nfixed; i++) /* orthogonal to each other */
        for (int j = 0; j < i; j++) {
            remove_part(fixed[i], fixed[j]);
            for (int k = 0; k < 3; k++)
                if (fabsl(fixed[i][k]) < 1e-10L) fixed[i][k] = 0;
        }
    for (int k = 0; k < 3; k++) {
        real size = 0;

        memset(free_of[n], 0, sizeof free_of[n]);
        free_of[n][k] = 1;
        for (int i = 0; i < nfixed; i++) remove_part(free_of[n], fixed[i]);
        for (int i = 0; i < n; i++) remove_part(free_of[n], free_of[i]);
        for (int i = 0; i < 3; i++) size += free_of[n][i] * free_of[n][i];
        n += size > 1e-10L;
    }
    return n;
}

void hand_orthogonal(const struct hand_scene *h, const double *planes, size_t n,
                     double *columns)
{
    const int pixels = h->nfast * h->nslow;
    double *root = calloc((size_t)pixels, sizeof *root);
    real *p = calloc(3 * (size_t)pixels, sizeof *p);

    if (!root || !p) abort();
    for (int b = 0; b < h->nbox; b++) {
        const int *box = h->box[b], width = box[1] - box[0] - 1;
        const int height = box[3] - box[2] - 1;
        real free_of[3][3];
        const int nfree = free_directions(h, b, planes + 3 * b, free_of);

        memset(p, 0, 3 * (size_t)pixels * sizeof *p);
        for (int s = box[2]; s < box[3]; s++)
            for (int f = box[0]; f < box[1]; f++) {
                const int at = s * h->nfast + f;
                const real u = width ? (real)(2 * (f - box[0]) - width) / width : 0;
                const real v = height ? (real)(2 * (s - box[2]) - height) / height : 0;
                double slope, curvature;

                if (hand_owner(h, s, f) != b) continue;
                (void)hand_pixel(h, s, f,
                                 h->image[at] + hand_photons(h, b, planes + 3 * b, s, f),
                                 &slope, &curvature);
                root[at] = sqrt(curvature);
                for (int k = 0; k < nfree; k++)
                    p[k * pixels + at] =
                        hand_photons(h, b, planes + 3 * b, s, f) == 0 && is_positive(h)
                            ? 0
                            : root[at]
                                  * (free_of[k][0] + u * free_of[k][1] + v * free_of[k][2]);
                for (size_t c = 0; c < n; c++)
                    columns[c * (size_t)pixels + (size_t)at] *= root[at];
            }
        for (int k = 0; k < nfree; k++) {
            real *q = p + k * pixels, size = 0, left = 0;

            for (int i = 0; i < pixels; i++) size += q[i] * q[i];
            for (int j = 0; j < k; j++) {
                const real *r = p + j * pixels;
                real along = 0;

                for (int i = 0; i < pixels; i++) along += q[i] * r[i];
                for (int i = 0; i < pixels; i++) q[i] -= along * r[i];
            }
            for (int i = 0; i < pixels; i++) left += q[i] * q[i];
            for (int i = 0; i < pixels; i++)
                q[i] = left > 1e-14L * size ? q[i] / sqrtl(left) : 0;
            for (size_t c = 0; c < n; c++) {
                double *column = columns + c * (size_t)pixels;
                real along = 0;

                for (int i = 0; i < pixels; i++) along += q[i] * column[i];
                for (int i = 0; i < pixels; i++) column[i] -= (double)(along * q[i]);
            }
        }
    }
    for (int i = 0; i < pixels; i++) /* outside every box nothing counts */
        if (hand_owner(h, i / h->nfast, i % h->nfast) < 0)
            for (size_t c = 0; c < n; c++) columns[c * (size_t)pixels + (size_t)i] = 0;
    free(root);
    free(p);
}
