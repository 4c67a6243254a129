/* star_make.c - makes the star of a spot: its variables, axes and points.
 * SPDX-License-Identifier: MIT */
#include "kernels/continuous/forms/star_make.h"

#include <string.h>

#include "kernels/continuous/forms/star.h"
#include "kernels/continuous/forms/steps.h"
#include "kernels/continuous/forms/view_parts.h"

/* A width that is part of the block turns with the block and is treated as flat. This
 * leaves an error of about 0.5 k angle^2 over the width of a block. Above `most_turned` a
 * star integrates the width instead. */
static const double most_turned = 1e-4;

/* A second direction of the light is left out if its variance is below this share of the
 * variance along the first. */
static const double least_share = 1e-6;

/* The largest numbers of Newton's steps to the middle of a star, of halvings of one step,
 * of Newton's steps to a point of the star, and of Jacobi's sweeps. */
enum { STEPS_MOST = 20, HALVED_MOST = 10, BEND_STEPS = 2, JACOBI_SWEEPS = 6 };

/* Steps that lower the loss by less than this end the search for the middle. */
static const double settled = 1e-6;

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

/* Writes two unit vectors that are perpendicular to d and to each other. */
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

/* Adds two variables to a star: the directions across the light along which its direction
 * varies most and least. */
static void add_light(const struct phys_broad *b, struct form_vector light, struct star *s)
{
    struct form_vector u[2], most, least;
    double high, low, angle;

    find_across(light, u);
    /* the variances along the two diagonals differ by four times the covariance */
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
    memcpy(out->ci, out->nodes.form.ci, sizeof out->ci);
    if (b->line > 0 && name->along != ALONG_ENERGY) {
        const struct form_vector cp = form_times(out->ci, p);
        const double h = form_dot(p, cp) + 1 / (b->line * b->line);
        double more[6];

        form_symmetric(-1 / h, cp, cp, more);
        for (int i = 0; i < 6; i++) out->ci[i] += more[i];
    }
}

/* A place where a star is evaluated for one node: the node, y and z, and the results. */
struct star_node {
    double at[2], y[STAR_AXES], z; /* at: X and Y of the node */
    double turn[9]; /* rotation by z */
    struct form_vector p, v, slope[STAR_AXES]; /* scattering vector; displacement; its
                                                  slopes by y */
    double loss; /* half of v ci v + y prior y */
    double rise[STAR_AXES]; /* slope of -loss by y */
};

static void turn_node(const struct spot_nodes *n, struct star_node *to)
{
    view_turn(n->w, n->along == ALONG_PHI ? to->z : n->z0, to->turn);
}

/* Let u be the unit vector along a vector of length 1/per. Returns the change of k u,
 * rotated by at->turn, if that vector changes by `way`. */
static struct form_vector change_of(const struct star_node *at, double k, double per,
                                    struct form_vector u, struct form_vector way)
{
    const struct form_vector m = form_scale(k * per, form_axpy(-form_dot(way, u), u, way));

    return (struct form_vector){form_dot(form_load(at->turn), m),
                                form_dot(form_load(at->turn + 3), m),
                                form_dot(form_load(at->turn + 6), m)};
}

/* Returns the change of the displacement if the scattering vector p changes. Along the
 * form's n the displacement changes as much as the length of p. */
static struct form_vector displaced(const struct spot_nodes *n, struct form_vector p,
                                    struct form_vector change)
{
    const struct form_vector out = form_load(n->form.n);
    const double more = form_dot(p, change) / sqrt(form_dot(p, p) + 1e-300);

    return form_axpy(more - form_dot(out, change), out, change);
}

/* Returns the place of a node relative to the middle of the crystal, m. */
static struct form_vector place_of(const struct spot_nodes *n, const struct star_node *at)
{
    return form_axpy(at->at[0], form_load(n->fast),
                     form_axpy(at->at[1], form_load(n->slow), form_load(n->origin)));
}

/* Computes p, v, the loss and the slopes by y at the y and z of a node. */
static void look(const struct star_making *m, struct star_node *to)
{
    const struct spot_nodes *n = &m->nodes;
    const struct star *s = n->star;
    const double k = n->k * (n->along == ALONG_ENERGY ? exp(to->z) : 1);
    struct form_vector x = place_of(n, to), light = form_load(n->s), lab, cv;
    double per, per_s;

    for (int i = 0; i < s->n; i++)
        if (i < s->light)
            light = form_axpy(to->y[i], form_load(s->way[i]), light);
        else
            x = form_axpy(-to->y[i], form_load(s->way[i]), x);
    per = 1 / sqrt(form_dot(x, x)), per_s = 1 / sqrt(form_dot(light, light));
    x = form_scale(per, x), light = form_scale(per_s, light);
    lab = form_scale(k, form_axpy(-1, light, x));
    to->p = (struct form_vector){form_dot(form_load(to->turn), lab),
                                 form_dot(form_load(to->turn + 3), lab),
                                 form_dot(form_load(to->turn + 6), lab)};
    to->v = form_at(&n->form, form_axpy(-1, form_load(n->q0), to->p)).v;
    cv = form_times(m->ci, to->v);
    to->loss = 0.5 * (form_dot(to->v, cv) + star_square(s, n->prior, to->y));
    for (int i = 0; i < s->n; i++) {
        const struct form_vector way = form_load(s->way[i]);

        to->slope[i] = displaced(n, to->p,
                                 i < s->light ? change_of(to, -k, per_s, light, way)
                                              : change_of(to, -k, per, x, way));
        to->rise[i] = -form_dot(to->slope[i], cv);
        for (int j = 0; j < s->n; j++) to->rise[i] -= n->prior[i][j] * to->y[j];
    }
}

/* A step of Newton's method in y and z. `fall` is the fall of the loss if the loss is
 * quadratic. */
struct star_move {
    double y[STAR_AXES], z, fall;
};

/* Writes the curvature of the loss by y, and the step to the least loss. If `moves` is 1, z
 * moves, too, and the curvature is taken at the best z for each y. */
static void find_move(const struct star_making *m, const struct star_node *at, int moves,
                      star_matrix curved, struct star_move *out)
{
    const struct spot_nodes *n = &m->nodes;
    const struct form_vector p = at->p;
    const struct form_vector b =
        displaced(n, p,
                  n->along == ALONG_ENERGY
                      ? p
                      : form_scale(-1, form_cross(form_load(n->w), p)));
    const struct form_vector cb = form_times(m->ci, b);
    const double h = moves ? form_dot(b, cb) : 0, up = form_dot(cb, at->v);
    struct form_vector v = at->v;
    star_matrix inverse = {{0}};
    double ci[6], rise[STAR_AXES];

    memset(out, 0, sizeof *out);
    memcpy(ci, m->ci, sizeof ci);
    if (h > 0) {
        double less[6];

        form_symmetric(-1 / h, cb, cb, less);
        for (int i = 0; i < 6; i++) ci[i] += less[i];
        out->fall = 0.5 * up * up / h;
    }
    for (int k = 0; k < n->star->n; k++) {
        rise[k] = at->rise[k] + (h > 0 ? form_dot(at->slope[k], cb) * up / h : 0);
        for (int l = 0; l < n->star->n; l++)
            curved[k][l] =
                n->prior[k][l] + form_dot(at->slope[k], form_times(ci, at->slope[l]));
    }
    (void)star_inverse(n->star->n, (const double(*)[STAR_AXES])curved, inverse);
    for (int k = 0; k < n->star->n; k++) {
        for (int l = 0; l < n->star->n; l++) out->y[k] += inverse[k][l] * rise[l];
        out->fall += 0.5 * out->y[k] * rise[k];
        v = form_axpy(out->y[k], at->slope[k], v);
    }
    if (h > 0) out->z = -form_dot(cb, v) / h;
}

/* Takes a step, or the largest of its halves, quarters, ... that does not raise the loss.
 * Returns 0 if there is none. */
static int go(const struct star_making *m, const struct star_move *move, double most,
              struct star_node *to)
{
    double share = 1;

    for (int halved = 0; halved < HALVED_MOST; halved++) {
        struct star_node next = *to;

        for (int k = 0; k < m->nodes.star->n; k++) next.y[k] += share * move->y[k];
        if (most > 0) {
            next.z = fmin(fmax(next.z + share * move->z, -most), most);
            turn_node(&m->nodes, &next);
        }
        look(m, &next);
        if (next.loss <= to->loss) {
            *to = next;
            return 1;
        }
        share *= 0.5;
    }
    return 0;
}

/* Moves a node, evaluated already, to the y of least loss; if `most` is not 0, also to the
 * best z within -most .. most. Writes the curvature of the loss by y. */
static void settle(const struct star_making *m, double most, struct star_node *to,
                   star_matrix curved)
{
    struct star_move move;

    find_move(m, to, most > 0, curved, &move);
    for (int step = 0; step < STEPS_MOST && move.fall > settled; step++) {
        if (!go(m, &move, most, to)) return;
        find_move(m, to, most > 0, curved, &move);
    }
}

/* Evaluates a node at its y, and also with the place in the crystal from which a ray
 * parallel to the ray of the spot's middle meets the node. The y of less loss is kept. */
static void begin(const struct star_making *m, struct star_node *to)
{
    const struct star *s = m->nodes.star;
    const struct form_vector x = place_of(&m->nodes, to);
    struct star_node other = *to;

    for (int k = s->light; k < s->n; k++) other.y[k] = form_dot(x, form_load(s->way[k]));
    turn_node(&m->nodes, to);
    turn_node(&m->nodes, &other);
    look(m, to);
    look(m, &other);
    if (other.loss < to->loss) *to = other;
}

/* The points of a star (star.h), counted from its middle. Usually all nodes of a spot can
 * share them, because a crystal is small compared with its distance, and a divergence small
 * compared with the angles of a spot. */
struct star_shape {
    int shared; /* 1: all nodes of the spot have this shape */
    double y[STAR_AXES]; /* y of the middle for which the shape was found */
    star_matrix axis; /* rows are the axes, along which the loss has curvature 1 */
    double height; /* logarithm of the volume that the axes span */
    double point[STAR_POINTS][STAR_AXES]; /* y of the points, from the middle */
};

/* Rotates rows and columns i and j of a symmetric matrix so that element i, j becomes 0,
 * and rotates the rows of `ways` in the same way. */
static void rotate(int n, int i, int j, star_matrix a, star_matrix ways)
{
    const double angle = 0.5 * atan2(2 * a[i][j], a[i][i] - a[j][j]);
    const double c = cos(angle), s = sin(angle);

    for (int k = 0; k < n; k++) {
        const double x = a[k][i], y = a[k][j];

        a[k][i] = c * x + s * y, a[k][j] = c * y - s * x;
    }
    for (int k = 0; k < n; k++) {
        const double x = a[i][k], y = a[j][k], p = ways[i][k], q = ways[j][k];

        a[i][k] = c * x + s * y, a[j][k] = c * y - s * x;
        ways[i][k] = c * p + s * q, ways[j][k] = c * q - s * p;
    }
}

/* Finds the axes: eigenvectors of the curvature of the loss by Jacobi's method, where each
 * variable is in units of its standard deviation. */
static void find_axes(const struct spot_nodes *n, const star_matrix curved,
                      struct star_shape *to)
{
    const int axes = n->star->n;
    star_matrix a = {{0}};
    double unit[STAR_AXES];

    memset(to->axis, 0, sizeof to->axis);
    to->height = 0;
    for (int k = 0; k < axes; k++) {
        unit[k] = 1 / sqrt(n->prior[k][k]);
        to->axis[k][k] = 1;
    }
    for (int k = 0; k < axes; k++)
        for (int l = 0; l < axes; l++) a[k][l] = curved[k][l] * unit[k] * unit[l];
    for (int sweep = 0; sweep < (axes > 2 ? JACOBI_SWEEPS : 1); sweep++)
        for (int i = 0; i < axes; i++)
            for (int j = i + 1; j < axes; j++) rotate(axes, i, j, a, to->axis);
    for (int k = 0; k < axes; k++) {
        const double length = 1 / sqrt(a[k][k]);

        for (int l = 0; l < axes; l++) to->axis[k][l] *= length * unit[l];
        to->height += log(length * unit[k]);
    }
}

/* Writes y of a point `step` along an axis from the middle, in the valley of the loss. The
 * valley may be bent, because the sphere is. */
static void find_point(const struct star_making *m, const struct star_node *middle,
                       const star_matrix ways, int axis, double step, double *y)
{
    const struct spot_nodes *n = &m->nodes;
    struct star_node at = *middle;

    for (int k = 0; k < n->star->n; k++) at.y[k] += step * ways[axis][k];
    for (int i = 0; i < BEND_STEPS; i++) {
        look(m, &at);
        for (int a = 0; a < n->star->n; a++) {
            double off = 0;

            for (int k = 0; k < n->star->n; k++) off += ways[a][k] * at.rise[k];
            off = fmin(fmax(off, -STAR_STEP), STAR_STEP);
            for (int k = 0; k < n->star->n && a != axis; k++) at.y[k] += off * ways[a][k];
        }
    }
    memcpy(y, at.y, sizeof at.y);
}

/* How far points of a shared shape may be wrong, in standard deviations: shared_bend beside
 * the valley of the loss, shared_mixed by a correlation of two axes. The error of log I is
 * half of the square. */
static const double shared_bend = 0.01, shared_mixed = 0.01;

/* How far the curvature along an axis of a shared shape may be from 1; log I at the points
 * accounts for the difference. */
static const double shared_curvature = 0.3;

/* The number of nodes at which a shape is compared: four at the ends, and the middle
 * one. */
enum { SHAPE_NODES = 5 };

static void find_shape(const struct star_making *m, const struct star_node *at,
                       const star_matrix curved, struct star_shape *out)
{
    const int axes = m->nodes.star->n;

    memcpy(out->y, at->y, sizeof out->y);
    find_axes(&m->nodes, curved, out);
    for (int k = 0; k < axes; k++) out->point[0][k] = 0;
    for (int point = 1; point < 2 * axes + 1; point++) {
        find_point(m, at, (const double(*)[STAR_AXES])out->axis, (point - 1) / 2,
                   point % 2 ? -STAR_STEP : STAR_STEP, out->point[point]);
        for (int k = 0; k < axes; k++) out->point[point][k] -= at->y[k];
    }
}

/* Returns 1 if a curvature of the loss has the axes of a shape, within shared_mixed and
 * shared_curvature. */
static int has_axes(const struct star_shape *shape, int axes, const star_matrix curved)
{
    for (int a = 0; a < axes; a++)
        for (int b = 0; b <= a; b++) {
            const double most = a == b ? shared_curvature : shared_mixed;
            double off = a == b ? -1 : 0;

            for (int k = 0; k < axes; k++)
                for (int l = 0; l < axes; l++)
                    off += shape->axis[a][k] * curved[k][l] * shape->axis[b][l];
            if (!(fabs(off) <= most)) return 0;
        }
    return 1;
}

/* Returns 1 if the points of a shape lie in the valley of the loss at a node. */
static int is_in_valley(const struct star_making *m, const struct star_shape *shape,
                        const struct star_node *at)
{
    const int axes = m->nodes.star->n;

    for (int point = 1; point < 2 * axes + 1; point++) {
        struct star_node to = *at;

        for (int k = 0; k < axes; k++) to.y[k] += shape->point[point][k];
        look(m, &to);
        for (int b = 0; b < axes; b++) {
            double off = 0;

            for (int k = 0; k < axes && b != (point - 1) / 2; k++)
                off += shape->axis[b][k] * (to.rise[k] - at->rise[k]);
            if (!(fabs(off) <= shared_bend)) return 0;
        }
    }
    return 1;
}

/* Writes the points and the height of the star of node i in a step. */
static void find_points(const struct star_making *m, int i, struct star_shape *shape,
                        struct star_node *at, double (*out)[NODES])
{
    const int axes = m->nodes.star->n;
    star_matrix curved = {{0}};

    settle(m, 0, at, curved);
    if (!shape->shared) find_shape(m, at, (const double(*)[STAR_AXES])curved, shape);
    for (int point = 0; point < 2 * axes + 1; point++)
        for (int k = 0; k < axes; k++)
            out[point * axes + k][i] = at->y[k] + shape->point[point][k];
    out[star_numbers(m->nodes.star) - 1][i] = shape->height;
}

/* Returns the energy e of a line at which log I is largest. */
static double line_middle(const struct star_making *m, const struct star_node *at)
{
    const struct spot_nodes *n = &m->nodes;
    const struct form_vector cp = form_times(n->form.ci, at->p);

    return -form_dot(cp, at->v) / (form_dot(cp, at->p) + 1 / (n->line * n->line));
}

/* Finds the four nodes at the ends of the ellipse along X and Y, and the node in its
 * middle. */
static void find_ends(const struct spot_nodes *n, int out[SHAPE_NODES])
{
    double x = 0, y = 0, least = HUGE_VAL;

    memset(out, 0, SHAPE_NODES * sizeof *out);
    for (int i = 0; i < NODES; i++) {
        x += n->x[i] / NODES, y += n->y[i] / NODES;
        if (n->x[i] < n->x[out[0]]) out[0] = i;
        if (n->x[i] > n->x[out[1]]) out[1] = i;
        if (n->y[i] < n->y[out[2]]) out[2] = i;
        if (n->y[i] > n->y[out[3]]) out[3] = i;
    }
    for (int i = 0; i < NODES; i++) {
        const double off = hypot(n->x[i] - x, n->y[i] - y);

        if (off < least) least = off, out[SHAPE_NODES - 1] = i;
    }
}

/* Finds the middle of node i. If `most` is not 0, its z moves to the maximum of log I
 * within -most .. most. */
static void find_middle(const struct star_making *m, const struct spot_nodes *n, int i,
                        double most, double z, const double *y, struct star_node *out)
{
    star_matrix ignored = {{0}};

    *out = (struct star_node){.at = {n->x[i], n->y[i]}, .z = z};
    memcpy(out->y, y, sizeof out->y);
    begin(m, out);
    if (most > 0) settle(m, most, out, ignored);
}

/* Moves a node from its middle to the step at z, unless z is the middle. */
static void go_to(const struct star_making *m, double z, struct star_node *to)
{
    if (z == to->z) return;
    to->z = z;
    turn_node(&m->nodes, to);
    look(m, to);
}

/* Finds the shape in the middle of a spot, and whether the nodes at the ends have the same
 * shape in their first, middle and last step. */
static void share_shape(const struct star_making *m, const struct spot_nodes *n,
                        double most, const double *at, struct star_shape *out)
{
    const int far = n->along == ALONG_NOTHING ? 0 : MIDDLE_STEP;
    const int axes = m->nodes.star->n;
    int looked[SHAPE_NODES], shared = 1;
    star_matrix curved = {{0}};

    memset(out, 0, sizeof *out);
    find_ends(n, looked);
    for (int k = SHAPE_NODES - 1; k >= 0 && shared; k--) {
        const int i = looked[k];
        struct star_node middle;

        find_middle(m, n, i, most, at[i], out->y, &middle);
        for (int side = -1; side < 2 && shared; side++) {
            struct star_node step = middle;

            if (side != 0 && (far == 0 || k == SHAPE_NODES - 1)) continue;
            go_to(m, middle.z + side * far * n->step, &step);
            settle(m, 0, &step, curved);
            if (k == SHAPE_NODES - 1)
                find_shape(m, &step, (const double(*)[STAR_AXES])curved, out);
            else
                shared = has_axes(out, axes, (const double(*)[STAR_AXES])curved)
                         && is_in_valley(m, out, &step);
        }
    }
    out->shared = shared;
}

void star_points(const struct star_making *making, const struct spot_nodes *nodes,
                 double most, double *at, double (*star_at)[NODES],
                 double (*line_at)[NODES])
{
    const struct spot_nodes *n = &making->nodes;
    const int steps = n->along == ALONG_NOTHING ? 1 : NODE_STEPS;
    struct star_shape shape;

    if (steps == 1) most = 0;
    share_shape(making, nodes, most, at, &shape);
    for (int i = 0; i < NODES; i++) {
        struct star_node node;

        find_middle(making, nodes, i, most, at[i], shape.y, &node);
        at[i] = node.z;
        for (int j = 0; j < steps; j++) {
            struct star_node step = node;

            if (steps > 1) go_to(making, at[i] + (j - MIDDLE_STEP) * nodes->step, &step);
            find_points(making, i, &shape, &step,
                        star_at + (size_t)j * (size_t)star_numbers(n->star));
            if (line_at) line_at[j][i] = line_middle(making, &step);
        }
    }
}
