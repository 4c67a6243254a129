/* star_make.c - see star_make.h. SPDX-License-Identifier: MIT */
#include "kernels/continuous/forms/star_make.h"

#include <string.h>

#include "kernels/continuous/forms/star.h"
#include "kernels/continuous/forms/view_parts.h"

/* Widths in the block are turned with it and lie in a plane: the error is some
 * 0.5 k angle^2 over the width of a block. */
static const double most_turned = 1e-4;

/* A direction of the light is left out where its variance is below this share of the
 * other's. */
static const double least_share = 1e-6;

enum { MIDDLE_STEP = NODE_STEPS / 2 };

static double variance_along(const double m[6], struct form_vector a)
{
    const double v[3] = {a.x, a.y, a.z};
    double sum = 0;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum += view_element(m, i, j) * v[i] * v[j];
    return sum;
}

int star_needed(const struct view *view, const struct spot_name *name,
                const struct spot_nodes *nodes)
{
    const double *k = view->crystal[name->crystal].k;
    const struct phys_broad *b = &view->frame->broad;
    const double width = sqrt(3 / (k[0] + k[1] + k[2]));
    const double most = most_turned * width / nodes->k;
    struct lab_widths widths;
    int star = 0;

    if (b->divergence[0] + b->divergence[1] + b->divergence[2] > most) star |= STAR_LIGHT;
    if (b->size == 0) return star;
    view_widths(view, name, nodes, &widths);
    if (b->size * b->size * widths.per_r2 > most) star |= STAR_PLACES;
    return star;
}

static struct form_vector unit(struct form_vector a)
{
    return form_scale(1 / sqrt(form_dot(a, a)), a);
}

/* Writes two unit vectors across a direction, and across each other. */
static void find_across(struct form_vector d, struct form_vector out[2])
{
    const double size[3] = {fabs(d.x), fabs(d.y), fabs(d.z)};
    const int least =
        size[0] < size[1] ? (size[0] < size[2] ? 0 : 2) : (size[1] < size[2] ? 1 : 2);
    const struct form_vector other = {least == 0, least == 1, least == 2};

    out[0] = unit(form_cross(d, other));
    out[1] = unit(form_cross(d, out[0]));
}

static void add_way(struct star *s, struct form_vector way)
{
    form_give(way, s->way[s->n++]);
}

/* Adds the directions of the light along which it varies most and least. */
static void add_light(const struct phys_broad *b, struct form_vector light, struct star *s)
{
    struct form_vector u[2], most, least;
    double high, low, angle;

    find_across(light, u);
    /* of a variance, twice the covariance is what the diagonals add */
    high = variance_along(b->divergence, form_axpy(1, u[0], u[1]));
    low = variance_along(b->divergence, form_axpy(-1, u[0], u[1]));
    angle = 0.5
            * atan2(0.5 * (high - low), variance_along(b->divergence, u[0])
                                            - variance_along(b->divergence, u[1]));
    most = form_axpy(sin(angle), u[1], form_scale(cos(angle), u[0]));
    least = form_axpy(-sin(angle), u[0], form_scale(cos(angle), u[1]));
    add_way(s, most);
    if (variance_along(b->divergence, least)
        > least_share * variance_along(b->divergence, most))
        add_way(s, least);
    s->light = s->n;
}

/* Finds the axes: the rows of the inverse of the Cholesky factor of the precision of y, so
 * that y has unit variances along them. */
static void find_axes(const star_matrix precision, struct star *s)
{
    star_matrix l = {{0}};

    s->height = 0;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = precision[i][j];

            for (int k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    for (int a = 0; a < s->n; a++) {
        s->height -= log(l[a][a]);
        for (int i = s->n - 1; i >= 0; i--) { /* l^T x = e_a */
            double sum = i == a;

            for (int k = i + 1; k < s->n; k++) sum -= l[k][i] * s->axis[a][k];
            s->axis[a][i] = sum / l[i][i];
        }
    }
}

/* Finds the axes, and the means of y by the displacement. */
static void find_means(struct star *s, struct star_making *out)
{
    const struct spot_nodes *n = &out->nodes;
    star_matrix precision = {{0}}, covariance = {{0}}, between = {{0}};
    const double none[STAR_AXES] = {0};
    double ignored[STAR_AXES] = {0};

    for (int k = 0; k < s->n; k++)
        for (int l = 0; l < s->n; l++)
            precision[k][l] = n->prior[k][l]
                              + form_dot(out->slope[k], form_times(out->ci, out->slope[l]));
    find_axes((const double(*)[STAR_AXES])precision, s);
    (void)star_inverse(s->n, (const double(*)[STAR_AXES])precision, covariance);
    star_prior(s, (const double(*)[STAR_AXES])n->prior, none, ignored, between);
    for (int k = 0; k < s->n; k++) {
        struct form_vector sum = {0, 0, 0};

        for (int l = 0; l < s->n; l++) {
            sum = form_axpy(-covariance[k][l], form_times(out->ci, out->slope[l]), sum);
            s->cross[k][l] = k == l ? 0 : -between[k][l];
        }
        form_give(sum, out->gain[k]);
    }
}

void star_make(const struct view *view, const struct phys_frame *frame,
               const struct spot_name *name, struct form_vector p, struct star *star,
               struct star_making *out)
{
    const struct phys_broad *b = &view->frame->broad;
    struct spot_name before = *name;
    struct lab_widths widths;
    struct form_of of;

    memset(star, 0, sizeof *star);
    memset(out, 0, sizeof *out);
    before.star = 0;
    view_nodes(view, frame, &before, &of, &out->nodes);
    view_widths(view, &before, &out->nodes, &widths);
    if (name->star & STAR_LIGHT) add_light(b, form_load(out->nodes.s), star);
    if (name->star & STAR_PLACES) {
        struct form_vector u[2];

        find_across(unit(form_load(widths.x)), u);
        add_way(star, u[0]);
        add_way(star, u[1]);
    }
    out->nodes.star = star;
    view_nodes(view, frame, name, &of, &out->nodes);
    for (int k = 0; k < star->n; k++) {
        const double *t = widths.turn, *way = star->way[k];
        const double scale = -out->nodes.k * (k < star->light ? 1 : sqrt(widths.per_r2));
        const struct form_vector turned = {form_dot(form_load(t), form_load(way)),
                                           form_dot(form_load(t + 3), form_load(way)),
                                           form_dot(form_load(t + 6), form_load(way))};

        out->slope[k] = form_scale(scale, turned);
    }
    memcpy(out->ci, out->nodes.form.ci, sizeof out->ci);
    if (b->line > 0 && name->along != ALONG_ENERGY) {
        const struct form_vector cp = form_times(out->ci, p);
        const double h = form_dot(p, cp) + 1 / (b->line * b->line);
        double more[6];

        form_symmetric(-1 / h, cp, cp, more);
        for (int i = 0; i < 6; i++) out->ci[i] += more[i];
    }
    find_means(star, out);
}

/* Finds the middles at node i in step j, whose scattering vector is p. */
static void find_middle(const struct star_making *m, struct form_vector p, double *y,
                        double *line_at)
{
    const struct spot_nodes *n = &m->nodes;
    const struct form_vector q0 = form_load(n->q0);
    const struct form_vector v = form_at(&n->form, form_axpy(-1, q0, p)).v;
    struct form_vector beside, cp;

    for (int k = 0; k < n->star->n; k++) {
        y[k] = form_dot(form_load(m->gain[k]), v);
        p = form_axpy(y[k], m->slope[k], p);
    }
    if (!line_at) return;
    beside = form_at(&n->form, form_axpy(-1, q0, p)).v;
    cp = form_times(n->form.ci, p);
    *line_at = -form_dot(cp, beside) / (form_dot(cp, p) + 1 / (n->line * n->line));
}

void star_middles(const struct star_making *making, const struct spot_nodes *nodes,
                  double (*star_at)[STAR_AXES][NODES], double (*line_at)[NODES])
{
    const struct spot_nodes *n = &making->nodes;
    const int steps = n->along == ALONG_NOTHING ? 1 : NODE_STEPS;

    for (int i = 0; i < NODES; i++) {
        const struct form_vector x =
            form_axpy(nodes->x[i], form_load(n->fast),
                      form_axpy(nodes->y[i], form_load(n->slow), form_load(n->origin)));
        const struct form_vector lab =
            form_scale(n->k, form_axpy(-1, form_load(n->s), unit(x)));

        for (int j = 0; j < steps; j++) {
            const double z = steps > 1 ? nodes->at[i] + (j - MIDDLE_STEP) * nodes->step : 0;
            double turn[9], y[STAR_AXES] = {0};
            struct form_vector p;

            view_turn(n->w, n->along == ALONG_PHI ? z : n->z0, turn);
            p.x = form_dot(form_load(turn), lab);
            p.y = form_dot(form_load(turn + 3), lab);
            p.z = form_dot(form_load(turn + 6), lab);
            if (n->along == ALONG_ENERGY) p = form_scale(exp(z), p);
            find_middle(making, p, y, line_at ? line_at[j] + i : NULL);
            for (int k = 0; k < STAR_AXES; k++) star_at[j][k][i] = y[k];
        }
    }
}
