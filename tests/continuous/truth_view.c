/* truth_view.c - see truth_view.h. SPDX-License-Identifier: MIT */
#include "continuous/truth_view.h"

#include <math.h>
#include <string.h>

double truth_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void truth_cross(const double *a, const double *b, double *out)
{
    const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                         a[0] * b[1] - a[1] * b[0]};

    memcpy(out, c, sizeof c);
}

void truth_unit(const double *a, double *out)
{
    const double length = sqrt(truth_dot(a, a));

    for (int i = 0; i < 3; i++) out[i] = a[i] / length;
}

void truth_apply(const struct truth_matrix *m, const double *v, double *out)
{
    const double c[3] = {truth_dot(m->row[0], v), truth_dot(m->row[1], v),
                         truth_dot(m->row[2], v)};

    memcpy(out, c, sizeof c);
}

/* m n */
static struct truth_matrix product(const struct truth_matrix *m,
                                   const struct truth_matrix *n)
{
    struct truth_matrix out = {0};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) out.row[i][j] += m->row[i][k] * n->row[k][j];
    return out;
}

/* v turned by the rotation vector w (docs/theory.md, 8) */
void truth_rotate(const double *w, const double *v, double *out)
{
    const double t2 = truth_dot(w, w), t = sqrt(t2);
    /* the series are exact to 1e-15 of 1 */
    const double s1 =
        t2 < 0.02 ? 1 - t2 / 6 * (1 - t2 / 20 * (1 - t2 / 42 * (1 - t2 / 72))) : sin(t) / t;
    const double s2 =
        t2 < 0.02 ? 0.5 * (1 - t2 / 12 * (1 - t2 / 30 * (1 - t2 / 56 * (1 - t2 / 90))))
                  : (1 - cos(t)) / t2;
    double c[3], cc[3];

    truth_cross(w, v, c);
    truth_cross(w, c, cc);
    for (int i = 0; i < 3; i++) out[i] = v[i] + s1 * c[i] + s2 * cc[i];
}

/* The square root of the sum of the squares of a matrix, and of its inverse: these are at
 * least the largest length of its image of a unit vector, and one over the least. */
double truth_norm(const struct truth_matrix *m)
{
    return sqrt(truth_dot(m->row[0], m->row[0]) + truth_dot(m->row[1], m->row[1])
                + truth_dot(m->row[2], m->row[2]));
}

double truth_norm_of_inverse(const struct truth_matrix *m)
{
    struct truth_matrix c;

    for (int i = 0; i < 3; i++)
        truth_cross(m->row[(i + 1) % 3], m->row[(i + 2) % 3], c.row[i]);
    return truth_norm(&c) / fabs(truth_dot(m->row[0], c.row[0]));
}

const nb_source *truth_source(const struct truth *t, int j)
{
    return t->nsource ? t->source + j : &t->beam;
}

double truth_weights(const struct truth *t)
{
    double sum = 0;

    for (int j = 0; j < t->nsource; j++) sum += t->source[j].weight;
    return t->nsource ? sum : t->beam.weight;
}

/* Sub-pixel `sub` of a pixel: its place, m. */
static void place_of(const struct truth *t, const int *pixel, int sub, double *out)
{
    const int n = t->oversample;
    const double fast = t->pixel * (pixel[0] + (sub % n + 0.5) / n);
    const double slow = t->pixel * (pixel[1] + (sub / n + 0.5) / n);

    for (int i = 0; i < 3; i++) out[i] = t->pix0[i] + fast * t->fast[i] + slow * t->slow[i];
}

/* Photons for each electron^2 of a pixel: what is taken once, at its first sub-pixel. */
double truth_brightness(const struct truth *t, const int *pixel)
{
    const double area = t->point_pixel ? 1 : t->pixel * t->pixel;
    double p[3], d[3], i[3], b[3], e[3], r, c, polarization;

    place_of(t, pixel, 0, p);
    r = sqrt(truth_dot(p, p));
    truth_unit(p, d);
    truth_unit(truth_source(t, 0)->direction, i);
    truth_cross(t->polarization_axis, i, b);
    truth_unit(b, b);
    truth_cross(i, b, e);
    truth_unit(e, e);
    c = truth_dot(i, d);
    polarization =
        (1 + c * c - t->kahn * (pow(truth_dot(d, e), 2) - pow(truth_dot(d, b), 2))) / 2;
    return t->photons * area / (r * r) * (t->point_pixel ? 1 : t->close / r)
           * (t->unpolarised ? 1 : polarization) * t->height * t->f2
           / (t->oversample * t->oversample);
}

/* What pixels and reflections share at one phi and one source. */
struct truth_view truth_view_of(const struct truth *t, double phi, const nb_source *source)
{
    const double from_middle = phi - t->phi0 - t->osc / 2;
    struct truth_view v = {.t = t, .energy = 1 / source->wavelength, .steady = 1};
    double w[3], drift[3], volume;

    for (int k = TRUTH_LINE; k < TRUTH_NORMALS; k++) v.steady &= t->sd[k] == 0;
    truth_unit(source->direction, v.light);
    for (int i = 0; i < 3; i++) {
        w[i] = phi * t->spindle[i];
        drift[i] = from_middle * t->drift[i];
    }
    for (int i = 0; i < 3; i++) {
        truth_rotate(drift, t->frame.row[i], v.turn.row[i]);
        truth_rotate(w, v.turn.row[i], v.turn.row[i]);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            v.axes.row[i][j] = truth_dot(t->axes.row[i], t->frame.row[j]);
    v.lattice = product(&t->shape, &v.axes);
    for (int i = 0; i < 3; i++) {
        double *star = v.star.row[i];

        truth_cross(v.axes.row[(i + 1) % 3], v.axes.row[(i + 2) % 3], star);
        volume = truth_dot(v.axes.row[i], star);
        for (int j = 0; j < 3; j++) {
            star[j] /= volume;
            v.lattice.row[i][j] *= sqrt(BLOCK);
        }
    }
    return v;
}

void truth_view_pixel(struct truth_view *v, const int *pixel, int sub)
{
    const double none[TRUTH_NORMALS] = {0};

    place_of(v->t, pixel, sub, v->place);
    truth_scattering(v, none, v->q);
}

/* Any two unit vectors across d and each other. */
static void across_of(const double *d, double e[2][3])
{
    const int least = fabs(d[0]) < fabs(d[1]) ? (fabs(d[0]) < fabs(d[2]) ? 0 : 2)
                                              : (fabs(d[1]) < fabs(d[2]) ? 1 : 2);
    double other[3] = {0, 0, 0};

    other[least] = 1;
    truth_cross(d, other, e[0]);
    truth_unit(e[0], e[0]);
    truth_cross(d, e[0], e[1]);
    truth_unit(e[1], e[1]);
}

void truth_view_reflection(struct truth_view *v, const double *hkl)
{
    double ray[3];

    for (int i = 0; i < 3; i++) ray[i] = v->energy * v->light[i];
    for (int i = 0; i < 3; i++) /* the inverse of `turn` is its transpose */
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                ray[i] += v->turn.row[j][i] * hkl[k] * v->star.row[k][j];
    across_of(ray, v->across);
    truth_apply(&v->t->shape, hkl, v->whole);
    for (int i = 0; i < 3; i++) v->whole[i] *= sqrt(BLOCK);
}

/* The scattering vector in `frame`. */
void truth_scattering(const struct truth_view *v, const double *z, double *out)
{
    const struct truth *t = v->t;
    const double h = t->sd[TRUTH_DIVERGENCE] * z[TRUTH_DIVERGENCE];
    const double up = t->sd[TRUTH_DIVERGENCE + 1] * z[TRUTH_DIVERGENCE + 1];
    const double energy = v->energy * (1 + t->sd[TRUTH_LINE] * z[TRUTH_LINE]);
    double d[3], light[3], w[3], q[3];

    memcpy(d, v->place, sizeof d);
    for (int k = 0; k < 2 && t->sd[TRUTH_PLACE] > 0; k++)
        for (int i = 0; i < 3; i++)
            d[i] -= t->sd[TRUTH_PLACE + k] * z[TRUTH_PLACE + k] * v->across[k][i];
    truth_unit(d, d);
    memcpy(light, v->light, sizeof light);
    if (h != 0 || up != 0) {
        for (int i = 0; i < 3; i++) w[i] = h * t->vertical[i];
        truth_rotate(w, light, light);
        for (int i = 0; i < 3; i++) w[i] = up * t->polarization_axis[i];
        truth_rotate(w, light, light);
    }
    for (int i = 0; i < 3; i++) q[i] = (d[i] - light[i]) * energy;
    truth_apply(&v->turn, q, out);
}

void truth_domain(const struct truth *t, const double *z, const double *q, double *out)
{
    double w[3] = {0, 0, 0};

    for (int k = 0; k < 3; k++) /* the vector turns the other way */
        for (int i = 0; i < 3; i++) w[i] -= t->sd[k] * z[k] * t->way.row[k][i];
    truth_rotate(w, q, out);
}

void truth_residual(const struct truth_view *v, const double *z, double *r)
{
    const struct truth *t = v->t;
    double q[3];

    if (v->steady)
        memcpy(q, v->q, sizeof q);
    else
        truth_scattering(v, z, q);
    truth_domain(t, z, q, q);
    truth_apply(&v->lattice, q, r);
    for (int i = 0; i < 3; i++)
        r[i] -= (1 + t->sd[TRUTH_SPACING] * z[TRUTH_SPACING]) * v->whole[i];
}
