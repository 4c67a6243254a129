/*
 * place.c - lists the spots of a reflection. The numbers of a spot are found in the frame
 * of the crystal at the middle of its part of the rotation, at the phi or energy at which
 * the reflection comes nearest to the Ewald sphere.
 *
 * Near the spindle a reflection crosses the sphere slowly, and log I along phi is not
 * parabolic in the range. Such a reflection becomes several stills, by Gauss's rule.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/place.h"

#include <math.h>
#include <string.h>

#include "kernels/continuous/forms/star.h"
#include "kernels/continuous/forms/star_make.h"
#include "kernels/continuous/forms/steps.h"
#include "kernels/continuous/pattern.h"

/* The most points of Gauss's rule over phi; wider ranges than GAUSS_WIDTHS are cut. Lines
 * spread over more than RULE_WIDTHS become a row of the spectrum (spectrum.h). */
enum { GAUSS_MOST = 10, GAUSS_WIDTHS = 8, RULE_WIDTHS = 10 };

/* Each line of a spectrum has spots of its own if lines spread over more than lines_widths
 * widths of the reflection, or a width is above the share widest_energy of the energy. */
static const double lines_widths = 1e4, widest_energy = 0.1;

/* A spot that extends further than this share of q is divided into parts with nodes of
 * their own, at most PARTS_MOST in each direction. The streak of a spectrum has an odd
 * number of parts, so that its brightest place is not in a corner. */
static const double flat_share = 0.06;
enum { PARTS_MOST = 8 };

/* The largest |phi|, radian, for which the series along phi in nodes.c is used. */
static const double widest_phi = 0.15;

/* A reflection whose spots are being listed. */
struct laying {
    const struct view *view;
    const struct list_settings *settings;
    struct spot_name name;
    struct spot_table *out;
    double square, weight; /* as in struct listed_spot */
    int place;
    /* nearest to the sphere: phi, log of the energy, direction, distance from the sphere */
    double z, e, d[3], off;
    struct form_of of;
    struct spot_nodes nodes;
    struct form_vector n, p, b; /* in the crystal: d; scattering vector; its slope by z */
    double q1[6]; /* inverse covariance, integrated over the energies of a line */
    double h, margin; /* curvature along z; fraction of the cut kept for bends of log I */
    int settled; /* 1: it is decided that neither phi nor energies need Gauss's rule */
};

static struct form_vector turn_by(const double *w, double z, struct form_vector v)
{
    const struct form_vector axis = form_load(w);
    const double a = z * sqrt(form_dot(axis, axis)), half = sin(a / 2);
    const double s1 = a == 0 ? 1 : sin(a) / a,
                 s2 = a == 0 ? 0.5 : 2 * half * half / (a * a);
    const struct form_vector c = form_cross(axis, v);

    return form_axpy(z * z * s2, form_cross(axis, c), form_axpy(z * s1, c, v));
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Finds the phi within `half` of l->z, or the energy within the group's range, at which the
 * reflection is nearest to the sphere, by Newton's steps. */
static void find_nearest(struct laying *l, const double *q0, double half)
{
    const struct beam_group *g = l->view->group + l->name.group;
    const double *spindle = l->view->frame->broad.spindle, start = l->z;
    const struct form_vector light = form_load(g->s), w = form_load(spindle);
    const double wave = view_light(l->view, &l->name).k;

    l->e = l->name.line < 0 ? clamp(0, g->low, g->high) : 0;
    for (int step = 0; step < 6; step++) {
        const struct form_vector q = turn_by(spindle, l->z, form_load(q0));
        const double k = wave * exp(l->e);
        const struct form_vector out = form_axpy(k, light, q);
        const double length = sqrt(form_dot(out, out));
        const struct form_vector d = form_scale(1 / length, out);
        const double rate = form_dot(d, form_cross(w, q));

        l->off = length - k;
        form_give(d, l->d);
        if (half > 0 && rate == 0) return; /* reflection 000 */
        if (half > 0)
            l->z = clamp(l->z - l->off / rate, start - half, start + half);
        else if (l->name.line < 0 && form_dot(d, light) < 1)
            l->e = clamp(l->e - l->off / (k * (form_dot(d, light) - 1)), g->low, g->high);
        else
            return;
    }
}

/* Returns the variance of a spot along direction n, 1/A^2. */
static double variance_along(const struct laying *l)
{
    const struct form_vector n = l->n, q0 = form_load(l->of.q0);
    const struct form_vector turned = form_cross(n, q0);
    const double along = l->nodes.line * form_dot(l->p, n);

    return form_dot(n, form_times(l->of.block, n))
           + form_dot(turned, form_times(l->of.spread, turned)) + along * along;
}

/* Writes m - (m b)(m b)^T/h: the inverse covariance m after integration along b. */
static void project(const double m[6], struct form_vector b, double h, double out[6])
{
    const struct form_vector mb = form_times(m, b);

    out[0] = m[0] - mb.x * mb.x / h, out[1] = m[1] - mb.y * mb.y / h;
    out[2] = m[2] - mb.z * mb.z / h, out[3] = m[3] - mb.x * mb.y / h;
    out[4] = m[4] - mb.x * mb.z / h, out[5] = m[5] - mb.y * mb.z / h;
}

static double curvature(const double m[6], struct form_vector b)
{
    return form_dot(b, form_times(m, b));
}

/* Computes the form of the spot and the members of `l` from `n` to `h`. */
static void start_spot(struct laying *l)
{
    const struct phys_frame *frame = l->settings->job->frame + l->name.panel;
    const double *w = l->view->frame->broad.spindle;
    struct form_vector b;

    l->name.turn = l->z;
    view_nodes(l->view, frame, &l->name, &l->of, &l->nodes);
    l->n = turn_by(w, -l->z, form_load(l->d));
    l->p = form_axpy(-l->off, l->n, form_load(l->of.q0));
    memcpy(l->q1, l->nodes.form.ci, sizeof l->q1);
    l->h = 0;
    if (l->name.along == ALONG_ENERGY) {
        l->b = l->p;
        l->h = curvature(l->q1, l->b);
        return;
    }
    if (l->nodes.line > 0) {
        const double per = 1 / (l->nodes.line * l->nodes.line);

        project(l->q1, l->p, curvature(l->q1, l->p) + per, l->q1);
    }
    b = form_scale(-1, form_cross(form_load(w), l->p));
    l->b = b;
    if (l->name.along == ALONG_PHI) l->h = curvature(l->q1, b);
}

/* ---- the ellipse of a spot ---- */

/* Computes the slopes of the scattering vector by X and Y, in the crystal's frame. */
static void find_slopes(const struct laying *l, struct form_vector j[2])
{
    const struct spot_nodes *n = &l->nodes;
    const struct form_vector d = form_load(l->d);
    const double k = n->k * exp(l->e);
    const double *edge[2] = {n->fast, n->slow};
    const struct form_vector x =
        form_axpy(l->name.x, form_load(n->fast),
                  form_axpy(l->name.y, form_load(n->slow), form_load(n->origin)));
    const double scale = k / sqrt(form_dot(x, x));

    for (int i = 0; i < 2; i++) {
        const struct form_vector step = form_load(edge[i]);
        const struct form_vector across = form_axpy(-form_dot(step, d), d, step);

        j[i] = turn_by(n->w, -l->z, form_scale(scale, across));
    }
}

/* Finds conic, maximum, middle and reach of a spot, and the ellipse that holds it. Returns
 * 0 if the spot has no samples. */
static int find_ellipse(const struct laying *l, const struct form_vector j[2],
                        struct listed_spot *s)
{
    const double per = 1 / (2 * l->settings->cut);
    const struct beam_group *g = l->view->group + l->name.group;
    const struct form_vector v = form_scale(-l->off, l->n);
    double q[6], e[6], all = 1, det, left;
    struct spot_ellipse *o = &s->spot;

    memcpy(q, l->q1, sizeof q);
    if (l->h > 0) project(l->q1, l->b, l->h, q);
    s->conic[0] = per * form_dot(j[0], form_times(q, j[0]));
    s->conic[1] = 2 * per * form_dot(j[0], form_times(q, j[1]));
    s->conic[2] = per * form_dot(j[1], form_times(q, j[1]));
    s->conic[3] = 2 * per * form_dot(j[0], form_times(q, v));
    s->conic[4] = 2 * per * form_dot(j[1], form_times(q, v));
    s->conic[5] = per * form_dot(v, form_times(q, v)) - l->margin;
    memcpy(e, s->conic, sizeof e);
    s->reach = 0;
    if (l->h > 0) {
        const struct form_vector qb = form_times(l->q1, l->b);
        const int phi = l->name.along == ALONG_PHI;
        const double line = phi ? 0 : l->nodes.line;
        const double sd = sqrt((1 / l->h + line * line) / per);
        const double *m = s->maximum;
        double per2;

        s->maximum[0] = (phi ? l->z : l->e) - form_dot(qb, v) / l->h;
        s->maximum[1] = -form_dot(qb, j[0]) / l->h;
        s->maximum[2] = -form_dot(qb, j[1]) / l->h;
        s->middle = phi ? 0 : (g->low + g->high) / 2;
        s->reach =
            1.03 * sd + (phi ? l->view->frame->broad.half_range : (g->high - g->low) / 2);
        per2 = 1 / (s->reach * s->reach);
        e[0] += per2 * m[1] * m[1], e[1] += 2 * per2 * m[1] * m[2];
        e[2] += per2 * m[2] * m[2];
        e[3] += 2 * per2 * m[1] * (m[0] - s->middle);
        e[4] += 2 * per2 * m[2] * (m[0] - s->middle);
        e[5] += per2 * (m[0] - s->middle) * (m[0] - s->middle);
        all = 2;
    }
    det = e[0] * e[2] - e[1] * e[1] / 4;
    if (!(det > 0)) return 0;
    o->x = -(e[2] * e[3] - e[1] * e[4] / 2) / (2 * det);
    o->y = -(e[0] * e[4] - e[1] * e[3] / 2) / (2 * det);
    left = all - e[5] - (e[3] * o->x + e[4] * o->y) / 2;
    if (!(left > 0)) return 0;
    o->yb = 1.03 * sqrt(left * e[0] / det);
    o->xa = 1.03 * sqrt(left / e[0]);
    o->xb = -e[1] / (2 * e[0]) * o->yb;
    o->x += l->name.x;
    o->y += l->name.y;
    return isfinite(o->x) && isfinite(o->y);
}

/* Returns 1 if a rendered pixel lies in the rectangle of samples x +- wide, y +- high. */
static int is_shown(const struct laying *l, double x, double y, double wide, double high)
{
    const struct window *w = window_panel(l->settings->job->window, l->name.panel);
    const double over = l->settings->job->frame->oversample;
    const double low[2] = {(x - wide) / over, (y - high) / over};
    const double end[2] = {(x + wide) / over, (y + high) / over};
    int rectangle[4];

    if (end[0] < 0 || end[1] < 0 || low[0] > w->nfast || low[1] > w->nslow) return 0;
    rectangle[0] = (int)floor(fmax(low[0], 0));
    rectangle[1] = (int)fmin(ceil(end[0]) + 1, w->nfast);
    rectangle[2] = (int)floor(fmax(low[1], 0));
    rectangle[3] = (int)fmin(ceil(end[1]) + 1, w->nslow);
    return rectangle[0] < rectangle[1] && rectangle[2] < rectangle[3]
           && window_overlaps(w, rectangle);
}

/* ---- the nodes ---- */

/* Returns the scattering vector of a node at energy 0, in the laboratory's frame. */
static struct form_vector node_at(const struct spot_nodes *n, int i)
{
    const struct form_vector x =
        form_axpy(n->x[i], form_load(n->fast),
                  form_axpy(n->y[i], form_load(n->slow), form_load(n->origin)));
    const struct form_vector d = form_scale(1 / sqrt(form_dot(x, x)), x);

    return form_scale(n->k, form_axpy(-1, form_load(n->s), d));
}

/* Returns the change of z that leads from p to the maximum of log I. p has the slope b
 * along z, m is the inverse covariance, and `more` is added to the curvature. */
static double step_to_maximum(const struct spot_nodes *n, struct form_vector p,
                              struct form_vector b, const double m[6], double more)
{
    const struct form_vector v = form_at(&n->form, form_axpy(-1, form_load(n->q0), p)).v;
    const struct form_vector mb = form_times(m, b);

    return -form_dot(mb, v) / (form_dot(mb, b) + more);
}

/* Returns the largest |z| at which the middle of the steps of a node may lie. */
static double most_along(const struct laying *l, const struct listed_spot *s)
{
    return l->name.along == ALONG_PHI ? widest_phi : 3 * (s->reach + fabs(s->middle));
}

/* Finds the middles of the steps along z and along the energies of a line at each node. */
static void find_steps(const struct laying *l, struct listed_spot *s, double *line_at)
{
    const struct spot_nodes *n = &l->nodes;
    const struct form_vector w = form_load(n->w);
    const double per = n->line > 0 ? 1 / (n->line * n->line) : 0;
    const double most = most_along(l, s);
    const int steps = l->name.along == ALONG_NOTHING ? 1 : NODE_STEPS;
    double turn[3][3];

    for (int c = 0; c < 3; c++) {
        const double unit[3] = {c == 0, c == 1, c == 2};

        form_give(turn_by(n->w, l->z, form_load(unit)), turn[c]); /* row c of the inverse */
    }
    s->step = l->h > 0 ? 0.8 / sqrt(l->h) : 0;
    s->line_step = per > 0 ? 0.8 / sqrt(curvature(n->form.ci, l->p) + per) : 0;
    for (int i = 0; i < NODES; i++) {
        const struct form_vector at = node_at(n, i);
        struct form_vector p = {form_dot(form_load(turn[0]), at),
                                form_dot(form_load(turn[1]), at),
                                form_dot(form_load(turn[2]), at)};

        if (l->name.along == ALONG_PHI)
            s->at[i] = clamp(l->z
                                 + step_to_maximum(n, p, form_scale(-1, form_cross(w, p)),
                                                   l->q1, 0),
                             -most, most);
        if (l->name.along == ALONG_ENERGY) {
            const struct form_vector at_e = form_scale(exp(l->e), p);

            s->at[i] = clamp(l->e + step_to_maximum(n, at_e, at_e, l->q1, 0), -most, most);
        }
        for (int j = 0; line_at && j < steps; j++) {
            if (steps > 1) p = turn_by(n->w, -(s->at[i] + (j - MIDDLE_STEP) * s->step), at);
            line_at[j * NODES + i] = step_to_maximum(n, p, p, n->form.ci, per);
        }
    }
}

/* Adds the parts of a spot, each with its own nodes. Returns 0 if there is no memory. */
static int add_parts(struct laying *l, const struct form_vector j[2], struct listed_spot *s)
{
    const struct spot_ellipse *e = &s->spot;
    const struct form_vector a = form_scale(e->xa, j[0]);
    const struct form_vector b = form_axpy(e->xb, j[0], form_scale(e->yb, j[1]));
    const double size = sqrt(form_dot(a, a) + form_dot(b, b)) / fmax(l->nodes.form.q, 1e-9);
    const int whole = (int)clamp(ceil(size / flat_share), 1, PARTS_MOST);
    const int n = l->nodes.form.q == 0            ? 1
                  : l->name.along == ALONG_ENERGY ? whole | 1
                                                  : whole;
    const size_t line_numbers = (size_t)NODE_STEPS * NODES;
    const int lines = l->nodes.line > 0 && l->name.along != ALONG_ENERGY;
    const int steps = l->name.along == ALONG_NOTHING ? 1 : NODE_STEPS;
    const double over = l->settings->job->frame->oversample;
    size_t numbers = lines ? line_numbers : 0;
    struct star_making making;

    if (s->name.star)
        star_make(l->view, l->settings->job->frame + s->name.panel, &s->name, l->p,
                  &s->star, &making);
    if (s->name.star) numbers += (size_t)(steps * star_numbers(&s->star)) * NODES;
    for (int part = 0; part < n * n; part++) {
        const int row = part / n;
        const double wide = 2.0 / n, low_a = -1 + (part - row * n) * wide;
        const double low_b = -1 + row * wide;
        const double ca = low_a + wide / 2, cb = low_b + wide / 2;
        const double around = n == 1 ? 1 : sqrt(2) / n;
        double *line_at = NULL;

        if (hypot(ca, cb) > 1 + around + over / e->xa) continue;
        if (!list_grow(l->out, 1, numbers)) return 0;
        s->part = (struct spot_ellipse){e->x + e->xa * ca + e->xb * cb, e->y + e->yb * cb,
                                        around * e->xa, around * e->xb, around * e->yb};
        s->cell[0] = low_a, s->cell[1] = low_a + wide;
        s->cell[2] = low_b, s->cell[3] = low_b + wide;
        if (part - row * n == n - 1) s->cell[1] = 1;
        if (row == n - 1) s->cell[3] = 1;
        s->line_at = l->out->nnumber;
        if (lines) line_at = l->out->numbers + l->out->nnumber;
        s->star_at = s->line_at + (lines ? line_numbers : 0);
        l->out->nnumber += numbers;
        list_nodes(s, l->out, l->settings->pattern, &l->nodes);
        find_steps(l, s, line_at);
        list_nodes(s, l->out, l->settings->pattern, &l->nodes); /* again, now with steps */
        if (s->name.star)
            star_points(&making, &l->nodes, most_along(l, s), s->at,
                        (void *)(l->out->numbers + s->star_at), (void *)line_at);
        l->out->spot[l->out->n++] = *s;
    }
    return 1;
}

/* ---- Gauss's rule over phi ---- */

/* Returns the range of phi, or the range of the energies, in widths of the reflection. */
static double widths_of(const struct laying *l)
{
    const struct beam_group *g = l->view->group + l->name.group;
    const double range = l->name.along == ALONG_ENERGY
                             ? g->high - g->low
                             : 2 * l->view->frame->broad.half_range;

    return range * sqrt(fmax(l->h, 1e-30));
}

/* Returns how many points of Gauss's rule a range of `widths` widths needs. */
static int points_for(double widths)
{
    if (widths < 5) return widths < 1 ? 3 : widths < 2 ? 4 : widths < 3 ? 6 : 8;
    return widths < GAUSS_WIDTHS ? GAUSS_MOST : RULE_MOST;
}

/* Returns 1 if the range of phi or energies needs Gauss's rule: it is too narrow for the
 * series of log I, or it is not wide and log I is too far from a parabola. */
static int is_slow(const struct laying *l)
{
    const double u = 0.8 / sqrt(l->h), h3 = l->h * l->h * l->h, widths = widths_of(l);
    const double most = l->name.along == ALONG_ENERGY ? RULE_WIDTHS : GAUSS_WIDTHS;
    const struct form_vector q0 = form_load(l->of.q0);
    double f[NODE_STEPS], l3;

    if (widths < 2.6 || widths > most) return widths < 2.6;
    for (int j = 0; j < NODE_STEPS; j++) {
        const double step = (j - MIDDLE_STEP) * u;
        const struct form_vector q = l->name.along == ALONG_ENERGY
                                         ? form_scale(exp(step), l->p)
                                         : turn_by(l->nodes.w, -step, l->p);

        f[j] = form_at(&l->nodes.form, form_axpy(-1, q0, q)).log;
    }
    l3 = (f[4] - 2 * (f[3] - f[1]) - f[0]) / (2 * u * u * u);
    return l3 * l3 > 4e-5 * h3;
}

static int lay(struct laying *l);

/* Lists a still at each point of Gauss's rule over phi. Returns 0 if there is no memory. */
static int lay_by_gauss(const struct laying *whole)
{
    const double half = whole->view->frame->broad.half_range, widths = widths_of(whole);
    const int pieces = (int)ceil(fmin(widths, 1e5) / GAUSS_WIDTHS);
    const double each = widths / pieces;
    const int n = points_for(each);

    for (int piece = 0; piece < pieces; piece++)
        for (int i = 0; i < n; i++) {
            struct laying l = *whole;
            double at, weight;

            rules_even_point(n, i, &at, &weight);
            l.name.gauss = (2 * piece + 1 + at) / pieces - 1;
            l.weight = weight / pieces;
            l.z = l.name.gauss * half;
            l.name.along = l.name.line < 0 ? ALONG_ENERGY : ALONG_NOTHING;
            if (!lay(&l)) return 0;
        }
    return 1;
}

/* ---- points of a spectrum ---- */

/* Returns 1 if the reflection must be listed as stills at some of its energies. */
static int has_points(const struct laying *l)
{
    const double widths = widths_of(l);

    return widths > lines_widths || is_slow(l)
           || !(l->h * widest_energy * widest_energy > 1);
}

/* Lists a still at each point of Gauss's rule for the lines, or at each line if lines are
 * few or far apart. Returns 0 if there is no memory. */
static int lay_by_energies(const struct laying *whole)
{
    const struct beam_group *g = whole->view->group + whole->name.group;
    const double widths = widths_of(whole);
    const int points = points_for(widths);
    const int few = widths > RULE_WIDTHS || points > g->rules.most;

    for (int i = 0; i < (few ? g->n : points); i++) {
        struct laying l = *whole;

        l.name.along = ALONG_NOTHING;
        l.name.rule = few ? 0 : points;
        l.name.line = few ? g->first + i : i;
        if (!lay(&l)) return 0;
    }
    return 1;
}

/* ---- panels and layers ---- */

/* Returns the chord between d and the direction of place (x, y) of a layer. */
static double distance_to(const struct phys_frame *f, struct form_vector from,
                          struct form_vector d, double x, double y)
{
    const double sub = f->pixel / f->oversample;
    const struct form_vector at = form_axpy(x * sub, form_load(f->fast),
                                            form_axpy(y * sub, form_load(f->slow), from));
    const struct form_vector off = form_axpy(-1 / sqrt(form_dot(at, at)), at, d);

    return sqrt(form_dot(off, off));
}

/* Finds where the ray meets the plane of a layer. Returns 0 if it does not meet it, or does
 * so further than the angle `margin` beside the panel or the rendered pixels. */
static int meets_panel(struct laying *l, const struct phys_frame *f, double margin)
{
    const double sub = f->pixel / f->oversample;
    const double depth = f->layer_offset + l->name.layer * f->layer_step;
    const struct form_vector fast = form_load(f->fast), slow = form_load(f->slow);
    const struct form_vector d = form_load(l->d), across = form_cross(fast, slow);
    const struct form_vector from =
        form_axpy(depth, form_load(f->normal), form_load(f->pix0));
    const double away = form_dot(from, across) / form_dot(d, across);
    const double ff = form_dot(fast, fast), fs = form_dot(fast, slow),
                 ss = form_dot(slow, slow);
    const struct form_vector at = form_axpy(away, d, form_scale(-1, from));
    const double af = form_dot(at, fast), as = form_dot(at, slow);
    const double det = (ff * ss - fs * fs) * sub;
    const double x = (af * ss - as * fs) / det, y = (as * ff - af * fs) / det;
    const double beyond = 4 + margin * away * away / (fabs(form_dot(from, across)) * sub);

    if (!(away > 0) || !isfinite(x) || !isfinite(y)) return 0;
    l->name.x = x, l->name.y = y;
    if (distance_to(f, from, d, clamp(x, 0, (double)f->nfast * f->oversample),
                    clamp(y, 0, (double)f->nslow * f->oversample))
        > margin + 4 * sub / away)
        return 0;
    return is_shown(l, x, y, beyond, beyond);
}

/* Lists the spot on one layer. Returns 0: no memory; -1: Gauss's rule is needed. */
static int lay_on_layer(struct laying *l)
{
    struct form_vector j[2];
    struct listed_spot s;
    double wide;

    start_spot(l);
    if (l->off * l->off > 2 * (1 + l->margin) * l->settings->cut * variance_along(l))
        return 1;
    if (l->name.along == ALONG_PHI && !l->settled && is_slow(l)) return -1;
    if (l->name.along == ALONG_ENERGY && !l->settled && has_points(l)) return -1;
    l->settled = 1;
    find_slopes(l, j);
    memset(&s, 0, sizeof s);
    if (!find_ellipse(l, j, &s)) return 1;
    wide = sqrt(s.spot.xa * s.spot.xa + s.spot.xb * s.spot.xb);
    if (!is_shown(l, s.spot.x, s.spot.y, wide, s.spot.yb)) return 1;
    s.name = l->name;
    s.name.star = star_needed(l->view, &l->name, &l->nodes);
    s.weight = l->weight, s.square = l->square, s.place = l->place;
    return add_parts(l, j, &s);
}

/* Lists the spots on all panels, for the phi near l->z. Returns 0 if there is no memory. */
static int lay(struct laying *l)
{
    const struct job *job = l->settings->job;
    const struct crystal_at *c = l->view->crystal + l->name.crystal;
    const struct phys_broad *b = &l->view->frame->broad;
    const double half = l->name.along == ALONG_PHI ? b->half_range : 0;
    const double q = sqrt(form_dot(form_load(l->of.q0), form_load(l->of.q0)));
    const double *spread = c->spread[l->name.mosaic];
    const double k = view_light(l->view, &l->name).k, energies = b->line * q;
    double wide = c->block[0] + c->block[1] + c->block[2]
                  + q * q * (spread[0] + spread[1] + spread[2]) + energies * energies
                  + b->spacing * b->spacing * q * q
                  + k * k * (b->divergence[0] + b->divergence[1] + b->divergence[2]);

    if (b->size != 0) wide += list_widest_size(job, k);
    wide = sqrt(2 * l->settings->cut * wide);
    l->margin = 0.04 + (q > 0 ? 0.2 * fmin(1, wide / q) : 0);
    find_nearest(l, l->of.q0, half);
    if (half > 0 && l->name.line < 0) {
        start_spot(l); /* lay_by_gauss() needs the curvature along phi */
        return lay_by_gauss(l);
    }
    if (fabs(l->off) > wide) return 1;
    for (int p = 0; p < window_panels(job->window); p++)
        for (int layer = 0; layer < job->frame[p].nlayers; layer++) {
            int status;

            l->name.panel = p;
            l->name.layer = layer;
            if (!meets_panel(l, job->frame + p, 1.5 * wide / k)) continue;
            status = lay_on_layer(l);
            if (status < 0 && l->name.line < 0) return lay_by_energies(l);
            if (status < 0) return lay_by_gauss(l);
            if (!status) return 0;
        }
    return 1;
}

int place_reflection(const struct view *view, const struct list_settings *settings,
                     const struct spot_name *name, struct spot_table *out)
{
    const struct crystal_at *c = view->crystal + name->crystal;
    const struct beam_group *g = view->group + name->group;
    struct laying l = {.view = view, .settings = settings, .name = *name, .out = out};
    const int hkl[3] = {name->h, name->k, name->l};

    l.square = view_square(view, &settings->job->spec, hkl, &l.place);
    if (l.square == 0) return 1;
    l.weight = 1;
    for (int i = 0; i < 3; i++)
        l.of.q0[i] =
            hkl[0] * c->stars[i] + hkl[1] * c->stars[3 + i] + hkl[2] * c->stars[6 + i];
    l.name.gauss = 0;
    l.name.line = g->n > 1 ? -1 : g->first;
    l.name.rule = 0;
    l.name.along = view->frame->broad.half_range > 0 ? ALONG_PHI
                   : l.name.line < 0                 ? ALONG_ENERGY
                                                     : ALONG_NOTHING;
    return lay(&l);
}
