/*
 * gaussians.c - computes the Gaussians of an atom. T is the tensor of its displacement, and
 * d the vector from the atom. With T and the blur, a Gaussian a exp(-b s^2/4) of the form
 * factor has in space the density
 *
 *   a (4 pi)^(3/2) det(M)^(-1/2) exp(-4 pi^2 d.M^-1 d),   M = T + (b + blur) 1.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_model/gaussians.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/fftw/planner.h"

/* ---- the grid ---- */

/*
 * The grid, the blur and the radii are piecewise constant, so that derivatives are exact
 * derivatives of the computed sum. They stay the same while no atom moves by more than
 * place_step/2 along an axis from its position in the file, or changes its B by more than
 * b_slack, 1 A^2.
 */
static const double place_step = 0.5, b_slack = 1, b_stride = 4; /* A, A^2, A^2 */

/* Rounds a change of B up to 1, 5, 9, ... A^2. */
static double rounded_change(double change)
{
    return b_slack
           + (change > b_slack ? b_stride * ceil((change - b_slack) / b_stride) : 0);
}

static double least_b(const struct request *request)
{
    const nb_structure *structure = request->structure;
    double least = INFINITY;

    for (size_t i = 0; i < structure->model.natom; i++) {
        const double change = request->x[i][3] - structure->numbers[i][3];

        least = fmin(least, structure->least_b[i] - rounded_change(-change));
    }
    return least;
}

static double determinant(const double m[9])
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6])
           + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

static void set_axes(const struct gemmi_model *model, struct sampling *out)
{
    const double one[SYMMETRIC] = {1, 1, 1, 0, 0, 0};

    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            out->step[k][i] = model->orthogonal[3 * i + k] / out->n[k];
            out->star[k][i] = model->fractional[3 * k + i] * out->n[k];
        }
        out->shift[k] = model->fractional[9 + k] * out->n[k];
    }
    symmetric_in_basis(one, (const double(*)[3])out->step, out->metric);
    out->volume = fabs(determinant(model->orthogonal));
}

/*
 * With point_rate points in half of dmin, components of the density that fold back onto the
 * surface of the sphere come from at least (2 point_rate - 1) times as far out. There a
 * Gaussian of B has fallen by exp(-B/(4 dmin^2) ((2 point_rate - 1)^2 - 1)) more than at
 * the surface.
 *
 * folded_most is the largest part of a Gaussian that may fold back, in the worst case;
 * tail_most is the largest part of an atom's charge beyond its radius. Both are multiples
 * of the tolerance. folded_most is above 1, because most atoms are broader and most
 * reflections lie inside. Measured, R and the rms difference of F are below a quarter of
 * the tolerance. They are largest at low resolution, where atoms cancel each other and
 * their tails do not (tests/structure/test_fcalc.c).
 */
static const double point_rate = 1.5, folded_most = 10, tail_most = 1;

nb_status sampling_choose(const struct request *request, struct sampling *out)
{
    enum { SIDE_MOST = 8192 };
    const struct gemmi_model *model = &request->structure->model;
    const double dmin = request->how->dmin, tolerance = request->how->tolerance;
    const double fall = (2 * point_rate - 1) * (2 * point_rate - 1) - 1;
    const double needed =
        4 * dmin * dmin * log(1 / fmin(folded_most * tolerance, 1)) / fall;

    for (int k = 0; k < 3; k++) {
        const double points = 2 * point_rate * model->crystal.cell[k] / dmin;

        if (!(points < SIDE_MOST))
            return fail(request->ctx, NB_ERR_ARGUMENT,
                        "structure factors to %g A: the grid would have more than %d "
                        "points along an axis; raise dmin",
                        dmin, (int)SIDE_MOST);
        out->n[k] = planner_fast_size((int)ceil(points));
    }
    out->blur = fmax(needed - least_b(request), 0);
    out->tail = tail_most * tolerance * exp(-out->blur / (4 * dmin * dmin));
    set_axes(model, out);
    return NB_OK;
}

/* ---- one atom ---- */

/* coefficients a and b of the Gaussians of an atom; the constant of the form factor is the
 * last, with b = 0 */
struct coefficients {
    int n;
    double a[DENSITY_TERMS], b[DENSITY_TERMS];
};

static struct coefficients coefficients_of(const struct request *request, size_t i,
                                           int imaginary)
{
    const int kind = request->structure->kind_of[i];
    const struct gemmi_form_factor *factor = &request->structure->kind[kind].factor;
    const double *dispersion = request->dispersion[kind];
    struct coefficients out = {.n = 1, .a = {dispersion[1]}};

    if (imaginary) return out;
    out.n = DENSITY_TERMS;
    for (int k = 0; k < 4; k++) {
        out.a[k] = factor->a[k];
        out.b[k] = factor->b[k];
    }
    out.a[4] = factor->c + dispersion[0];
    return out;
}

/* Returns the charge beyond a radius r, A, as a sum over the absolute values of all
 * Gaussians; b is added to the b of each, A^2. */
static double charge_beyond(const struct coefficients *c, double b, double r)
{
    const double pi = acos(-1);
    double sum = 0;

    for (int k = 0; k < c->n; k++) {
        const double u = 2 * pi * r / sqrt(c->b[k] + b);

        sum += fabs(c->a[k]) * (erfc(u) + 2 / sqrt(pi) * u * exp(-u * u));
    }
    return sum;
}

/* Returns the radius, A, of an atom whose largest B is b, without slack for its
 * position. */
static double radius_of(const struct coefficients *c, double b, double tail)
{
    const double target = tail * charge_beyond(c, b, 0);
    double low = 0, high = 1;

    if (!(target > 0)) return 0.1;
    while (charge_beyond(c, b, high) > target) {
        low = high;
        high *= 2;
    }
    for (int i = 0; i < 10; i++) {
        const double middle = (low + high) / 2;

        if (charge_beyond(c, b, middle) > target)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Sets the sphere of an atom, beyond which its Gaussians are cut off. */
static void set_sphere(const struct request *request, const struct sampling *sampling,
                       size_t i, const struct coefficients *c, struct density_atom *out)
{
    const nb_structure *structure = request->structure;
    const double *x = request->x[i], *file = structure->numbers[i];
    const double b = structure->most_b[i] + rounded_change(x[3] - file[3]) + sampling->blur;
    const double radius = radius_of(c, b, sampling->tail) + place_step / 2 * sqrt(3);
    double middle[3];

    for (int k = 0; k < 3; k++)
        middle[k] = file[k] + place_step * rint((x[k] - file[k]) / place_step);
    for (int k = 0; k < 3; k++) {
        const double *star = sampling->star[k];
        const double length =
            sqrt(star[0] * star[0] + star[1] * star[1] + star[2] * star[2]);

        out->centre[k] =
            star[0] * x[0] + star[1] * x[1] + star[2] * x[2] + sampling->shift[k];
        out->middle[k] = star[0] * middle[0] + star[1] * middle[1] + star[2] * middle[2]
                         + sampling->shift[k];
        out->reach[k] = radius * length;
    }
    out->radius2 = radius * radius;
    memcpy(out->metric, sampling->metric, sizeof out->metric);
}

/* Inverts a symmetric matrix; returns its determinant. */
static double invert(const double m[SYMMETRIC], double out[SYMMETRIC])
{
    const double c0 = m[1] * m[2] - m[5] * m[5], c3 = m[4] * m[5] - m[3] * m[2],
                 c4 = m[3] * m[5] - m[1] * m[4];
    const double d = m[0] * c0 + m[3] * c3 + m[4] * c4;
    const double inverse[SYMMETRIC] = {c0,
                                       m[0] * m[2] - m[4] * m[4],
                                       m[0] * m[1] - m[3] * m[3],
                                       c3,
                                       c4,
                                       m[3] * m[4] - m[0] * m[5]};

    for (int k = 0; k < SYMMETRIC; k++) out[k] = inverse[k] / d;
    return d;
}

/* Sets out to the square of a symmetric matrix. */
static void square(const double m[SYMMETRIC], double out[SYMMETRIC])
{
    out[0] = m[0] * m[0] + m[3] * m[3] + m[4] * m[4];
    out[1] = m[3] * m[3] + m[1] * m[1] + m[5] * m[5];
    out[2] = m[4] * m[4] + m[5] * m[5] + m[2] * m[2];
    out[3] = m[0] * m[3] + m[3] * m[1] + m[4] * m[5];
    out[4] = m[0] * m[4] + m[3] * m[5] + m[4] * m[2];
    out[5] = m[3] * m[4] + m[1] * m[5] + m[5] * m[2];
}

/* Returns the height of one Gaussian for an occupancy of 1, and sets M^-1. */
static double height(const struct coefficients *c, int term, double blur,
                     const double tensor[SYMMETRIC], double inverse[SYMMETRIC])
{
    const double four_pi = 4 * acos(-1);
    double m[SYMMETRIC];

    memcpy(m, tensor, sizeof m);
    for (int k = 0; k < 3; k++) m[k] += c->b[term] + blur;
    return c->a[term] * four_pi * sqrt(four_pi / invert(m, inverse));
}

/* Sets the exponent of a Gaussian on the grid, 4 pi^2 M^-1 in units of grid steps. */
static void set_form(const struct sampling *sampling, const double inverse[SYMMETRIC],
                     struct density_term *out)
{
    const double four_pi2 = 4 * acos(-1) * acos(-1);

    symmetric_in_basis(inverse, sampling->step, out->form);
    for (int k = 0; k < SYMMETRIC; k++) out->form[k] *= four_pi2;
}

void gaussians_set(const struct request *request, const struct sampling *sampling, size_t i,
                   int imaginary, struct density_atom *out)
{
    const struct coefficients c = coefficients_of(request, i, imaginary);
    double tensor[SYMMETRIC];

    *out = (struct density_atom){.nterm = 0};
    structure_tensor(request->structure, i, request->x[i], tensor);
    set_sphere(request, sampling, i, &c, out);
    for (int t = 0; t < c.n; t++) {
        struct density_term *term = out->term + out->nterm;
        double inverse[SYMMETRIC];

        if (c.a[t] == 0) continue;
        term->scale = request->x[i][4] * height(&c, t, sampling->blur, tensor, inverse);
        set_form(sampling, inverse, term);
        out->nterm++;
    }
}

/* Sets the change of one Gaussian, whose form is set, with changes `dot` of its atom. */
static void change_of(const struct sampling *sampling, double occupancy, double unit,
                      const double inverse[SYMMETRIC], const double dot[NB_ATOM_NUMBERS],
                      struct density_term *term)
{
    const double four_pi2 = 4 * acos(-1) * acos(-1), now = occupancy * unit;
    const double trace = inverse[0] + inverse[1] + inverse[2], *f = term->form;
    double moved[3], twice[SYMMETRIC];

    for (int k = 0; k < 3; k++) {
        const double *star = sampling->star[k];

        moved[k] = star[0] * dot[0] + star[1] * dot[1] + star[2] * dot[2];
    }
    term->scale = unit * dot[4] - now * trace / 2 * dot[3];
    term->linear[0] = 2 * now * (f[0] * moved[0] + f[3] * moved[1] + f[4] * moved[2]);
    term->linear[1] = 2 * now * (f[3] * moved[0] + f[1] * moved[1] + f[5] * moved[2]);
    term->linear[2] = 2 * now * (f[4] * moved[0] + f[5] * moved[1] + f[2] * moved[2]);
    square(inverse, twice);
    symmetric_in_basis(twice, sampling->step, term->square);
    for (int k = 0; k < SYMMETRIC; k++) term->square[k] *= four_pi2 * now * dot[3];
}

void gaussians_change(const struct request *request, const struct sampling *sampling,
                      size_t i, int imaginary, const double dot[NB_ATOM_NUMBERS],
                      struct density_atom *out)
{
    const struct coefficients c = coefficients_of(request, i, imaginary);
    double tensor[SYMMETRIC];
    int at = 0;

    out->changes = 1;
    structure_tensor(request->structure, i, request->x[i], tensor);
    for (int t = 0; t < c.n; t++) {
        double inverse[SYMMETRIC];
        const double unit = height(&c, t, sampling->blur, tensor, inverse);

        if (c.a[t] != 0)
            change_of(sampling, request->x[i][4], unit, inverse, dot, &out->term[at++]);
    }
}

/* Returns the inner product of the change of a Gaussian with its moments. */
static double change_dot(const struct density_term *term, const double m[DENSITY_MOMENTS])
{
    const double *s = term->square;

    return term->scale * m[0] + term->linear[0] * m[1] + term->linear[1] * m[2]
           + term->linear[2] * m[3] + s[0] * m[4] + s[1] * m[5] + s[2] * m[6]
           + 2 * (s[3] * m[7] + s[4] * m[8] + s[5] * m[9]);
}

void gaussians_vjp(const struct request *request, const struct sampling *sampling, size_t i,
                   int imaginary, const double moments[DENSITY_TERMS][DENSITY_MOMENTS],
                   double bar[NB_ATOM_NUMBERS])
{
    const struct coefficients c = coefficients_of(request, i, imaginary);
    double tensor[SYMMETRIC];
    int at = 0;

    structure_tensor(request->structure, i, request->x[i], tensor);
    for (int t = 0; t < c.n; t++) {
        double inverse[SYMMETRIC];
        const double unit = height(&c, t, sampling->blur, tensor, inverse);
        struct density_term term;

        if (c.a[t] == 0) continue;
        set_form(sampling, inverse, &term);
        for (int k = 0; k < NB_ATOM_NUMBERS; k++) {
            double dot[NB_ATOM_NUMBERS] = {0};

            dot[k] = 1;
            change_of(sampling, request->x[i][4], unit, inverse, dot, &term);
            bar[k] += change_dot(&term, moments[at]);
        }
        at++;
    }
}
