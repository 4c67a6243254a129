/* view_adjoint.c - from the cotangents of a spot to the cotangents of the frame.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "kernels/continuous/forms/view_parts.h"
#include "physics/step_vjp.h"

static const double *row_of(const double *rows, int i)
{
    return rows + (size_t)3 * (size_t)i;
}

/* Returns a m b. */
static double between(const double *a, const double m[6], const double *b)
{
    return form_dot(form_load(a), form_times(m, form_load(b)));
}

static void add3(double scale, struct form_vector v, double *to)
{
    to[0] += scale * v.x, to[1] += scale * v.y, to[2] += scale * v.z;
}

/* Returns the vector v with tr([t] E G) = t.v for two symmetric matrices E and G, where [t]
 * is the matrix of the cross product with t. */
static struct form_vector torque(const double e[6], const double g[6])
{
    double a[9], b[9], m[9];
    struct form_vector v;

    view_widen(e, a);
    view_widen(g, b);
    for (size_t i = 0; i < 9; i += 3)
        for (size_t j = 0; j < 3; j++)
            m[i + j] = a[i] * b[j] + a[i + 1] * b[3 + j] + a[i + 2] * b[6 + j];
    v.x = m[5] - m[7], v.y = m[6] - m[2], v.z = m[1] - m[3];
    return v;
}

/* Writes the transpose of a rotation. */
static void transpose(const double t[9], double out[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out[3 * i + j] = t[3 * j + i];
}

/* Returns J v for sign = 1, or J^T v for sign = -1. J = 1 + s2 [a] + (1 - s1)/a^2 [a]^2: if
 * the rotation vector a changes by da, the rotated vectors rotate by J da. */
static struct form_vector turning(struct form_vector a, double sign, struct form_vector v)
{
    const double a2 = form_dot(a, a);
    const double s2 = 0.5 - a2 * (1. / 24 - a2 * (1. / 720 - a2 * (1. / 40320)));
    const double s3 = 1. / 6 - a2 * (1. / 120 - a2 * (1. / 5040 - a2 * (1. / 362880)));
    const struct form_vector c = form_cross(a, v);

    return form_axpy(s3, form_cross(a, c), form_axpy(sign * s2, c, v));
}

/* Adds to the cotangents of beam, crystal size and detector, given g, the derivatives by
 * the elements of that part of a block's covariance that is fixed in the laboratory. */
static void widths_adjoint(const struct view *view, const struct spot_name *name,
                           const struct spot_nodes *nodes, const double g[6],
                           struct nodes_change *bar, struct phys_broad *to)
{
    const struct phys_broad *b = &view->frame->broad;
    const double k2 = nodes->k * nodes->k;
    struct lab_widths at;
    struct form_vector x, gx, x_bar, turn, back;
    double inverse[9], lab_bar[6], turned[6], per;

    view_widths(view, name, nodes, &at);
    transpose(at.turn, inverse);
    view_congruent(inverse, g, lab_bar);
    for (int i = 0; i < 6; i++) to->divergence[i] += at.light * k2 * lab_bar[i];
    if (at.size2 > 0) to->size += 2 * b->size * view_inner(lab_bar, at.size);
    bar->k += 2 / nodes->k * view_inner(lab_bar, at.lab);
    x = form_load(at.x);
    gx = form_times(lab_bar, x);
    per = k2 * at.size2 * at.per_r2 * at.per_r2;
    x_bar = form_axpy(-2 * per, gx,
                      form_scale(per
                                     * (4 * form_dot(x, gx) * at.per_r2
                                        - 2 * (lab_bar[0] + lab_bar[1] + lab_bar[2])),
                                 x));
    add3(1, x_bar, bar->origin);
    add3(name->x, x_bar, bar->fast);
    add3(name->y, x_bar, bar->slow);
    /* the laboratory widths do not turn with the crystal, so relative to it they turn
     * back */
    view_congruent(at.turn, at.lab, turned);
    turn = torque(turned, g);
    add3(-2, turn, bar->by);
    back = turning(form_scale(-name->turn, form_load(nodes->w)), -1, turn);
    add3(-2 * name->turn, back, bar->w);
}

/* Writes -p m p, where p is nodes->prior. */
static void through_prior(const struct spot_nodes *nodes, const star_matrix m,
                          star_matrix out)
{
    const int n = nodes->star->n;
    star_matrix pm = {{0}};

    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            for (int c = 0; c < n; c++) pm[a][b] -= nodes->prior[a][c] * m[c][b];
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            out[a][b] = 0;
            for (int c = 0; c < n; c++) out[a][b] += pm[a][c] * nodes->prior[c][b];
        }
}

/* Returns the slope of the covariance of variables k and l of a star by divergence[i]. */
static double by_divergence(const struct star *s, int k, int l, int i)
{
    const int x = i < 3 ? i : i == 5, y = i < 3 ? i : i == 3 ? 1 : 2;

    if (k >= s->light || l >= s->light) return 0;
    return 0.5 * (s->way[k][x] * s->way[l][y] + s->way[k][y] * s->way[l][x]);
}

/* Adds to the cotangents of divergence and size, given dL/d(nodes->prior). */
static void prior_adjoint(const struct spot_nodes *nodes, const struct phys_broad *b,
                          const star_matrix prior_bar, struct phys_broad *to)
{
    const struct star *s = nodes->star;
    star_matrix bar = {{0}};

    through_prior(nodes, prior_bar, bar);
    for (int k = 0; k < s->n; k++) {
        if (k >= s->light) to->size += 2 * b->size * bar[k][k];
        for (int l = 0; l < s->n; l++)
            for (int i = 0; i < 6; i++)
                to->divergence[i] += bar[k][l] * by_divergence(s, k, l, i);
    }
}

/* Writes the change of nodes->prior along a change `dot` of the widths. */
static void prior_tangent(const struct spot_nodes *nodes, const struct phys_broad *b,
                          const struct phys_broad *dot, star_matrix out)
{
    const struct star *s = nodes->star;
    star_matrix change = {{0}};

    for (int k = 0; k < s->n; k++)
        for (int l = 0; l < s->n; l++) {
            change[k][l] = k == l && k >= s->light ? 2 * b->size * dot->size : 0;
            for (int i = 0; i < 6; i++)
                change[k][l] += dot->divergence[i] * by_divergence(s, k, l, i);
        }
    through_prior(nodes, (const double(*)[STAR_AXES])change, out);
}

void view_light_adjoint(const struct view *view, const struct spot_name *name,
                        const struct spot_light *bar, struct phys_source *source)
{
    const struct beam_group *g = view->group + name->group;

    if (name->line >= 0 && name->rule == 0) {
        source[name->line].inverse_wavelength += bar->k;
        source[name->line].weight += bar->weight;
    }
    for (int j = g->first; j < g->first + g->n && name->rule > 0; j++) {
        const struct rule_slopes d =
            rules_slopes(&g->rules, name->rule, name->line, view->frame->source + j, g->k);

        source[j].inverse_wavelength += bar->k * d.at_e + bar->weight * d.weight_e / g->k;
        source[j].weight += bar->k * g->k * d.at_w + bar->weight * d.weight_w;
    }
}

/* Adds the cotangents of the sources of a spot's group, given the cotangents of the spot's
 * wave number and direction of light. */
static void group_adjoint(const struct view *view, const struct spot_name *name,
                          const struct nodes_change *bar, struct phys_frame_tangent *to)
{
    const struct beam_group *g = view->group + name->group;
    struct phys_source *source = to->source + g->first;
    const struct phys_source *from = view->frame->source + g->first;
    const struct spot_light light = {bar->k, 0};
    double sum = 0;

    view_light_adjoint(view, name, &light, to->source);
    for (int i = 0; i < g->n; i++) sum += from[i].weight;
    for (int i = 0; i < g->n; i++)
        add3(sum > 0 ? from[i].weight / sum : 0, form_load(bar->s), source[i].direction);
}

static void places_adjoint(const struct phys_frame *frame, const struct spot_name *name,
                           const struct nodes_change *bar, struct phys_frame_tangent *to)
{
    const double depth = frame->layer_offset + name->layer * frame->layer_step;
    struct phys_place_sums sums;

    memcpy(sums.place, bar->origin, sizeof sums.place);
    memcpy(sums.fast, bar->fast, sizeof sums.fast);
    memcpy(sums.slow, bar->slow, sizeof sums.slow);
    phys_places_vjp(frame, name->layer, depth, &sums, phys_numbers(to), 1);
}

void view_nodes_adjoint(const struct view *view, const struct phys_frame *frame,
                        const struct spot_name *name, const struct form_of *of,
                        const struct spot_nodes *nodes, const struct nodes_change *bar,
                        struct crystal_bar *crystal, struct phys_frame_tangent *to)
{
    const struct crystal_at *c = view->crystal + name->crystal;
    const struct phys_broad *b = &view->frame->broad;
    const double hkl[3] = {name->h, name->k, name->l}, spacing2 = b->spacing * b->spacing;
    struct nodes_change sum = *bar;
    struct form_of made = {0};
    double g[6];

    form_make_adjoint(of, &nodes->form, &bar->form, &made);
    view_add_elements(-0.5 * made.height, nodes->form.k, made.block);
    view_add_elements(0.5 * made.height, c->k, crystal->block);
    view_by_elements(made.block, g);
    for (int i = 0; i < 3; i++) made.q0[i] += bar->q0[i];
    to->broad.spacing += 2 * b->spacing * between(of->q0, g, of->q0);
    add3(2 * spacing2, form_times(g, form_load(of->q0)), made.q0);
    if (view_is_wide(view, name)) widths_adjoint(view, name, nodes, g, &sum, &to->broad);
    if (nodes->star) prior_adjoint(nodes, b, bar->prior, &to->broad);
    for (int i = 0; i < 6; i++) {
        crystal->block[i] += made.block[i];
        crystal->spread[name->mosaic][i] += made.spread[i];
    }
    for (int i = 0; i < 3; i++) {
        const double along = form_dot(form_load(row_of(c->stars, i)), form_load(made.q0));

        for (int j = 0; j < 3; j++) to->strain[3 * i + j] -= hkl[j] * along;
        to->broad.spindle[i] += sum.w[i];
        to->rotation[name->crystal].by[i] += sum.by[i];
    }
    to->b_factor += made.b;
    to->broad.half_range += name->gauss * sum.z0;
    to->broad.line += sum.line;
    places_adjoint(frame, name, &sum, to);
    group_adjoint(view, name, &sum, to);
}

/* The adjoint of view_in_axes() with the numbers m and the same axes on both sides. Given
 * g, the derivatives by the elements of the result, adds the cotangents of m to `number`
 * and the cotangent of the strain of the axes. */
static void axes_adjoint(double scale, const double m[6], const double axes[9],
                         const double g[6], double number[6], double strain[9])
{
    for (int i = 0; i < 3; i++) {
        struct form_vector axis_bar = {0, 0, 0};

        number[i] += scale * between(row_of(axes, i), g, row_of(axes, i));
        for (int j = 0; j < 3; j++) {
            const struct form_vector ga = form_times(g, form_load(row_of(axes, j)));

            if (j > i)
                number[2 + i + j] += scale * form_dot(form_load(row_of(axes, i)), ga);
            axis_bar = form_axpy(2 * scale * view_element(m, i, j), ga, axis_bar);
        }
        for (int j = 0; j < 3; j++)
            strain[3 * i + j] += form_dot(axis_bar, form_load(row_of(axes, j)));
    }
}

void view_close(const struct view *view, const struct crystal_bar *crystal,
                struct phys_frame_tangent *to)
{
    const struct phys_frame *frame = view->frame;
    const struct phys_broad *b = &frame->broad;

    for (int o = 0; o < view->ncrystal; o++, crystal++) {
        const struct crystal_at *c = view->crystal + o;
        const double weight = frame->orientation[o].weight;
        double full[9], g[6], spread_bar[6], tail_bar[6];

        view_by_elements(crystal->block, g);
        view_widen(c->block, full);
        view_congruent(full, g, g);
        for (int i = 0; i < 6; i++) g[i] = -g[i];
        if (frame->fudge != 0) to->fudge += view_inner(g, c->k) / frame->fudge;
        axes_adjoint(VIEW_PER_RHO2 * frame->fudge, frame->metric, c->axes, g, to->metric,
                     to->strain);
        view_by_elements(crystal->spread[MOSAIC_CORE], spread_bar);
        view_by_elements(crystal->spread[MOSAIC_TAIL], tail_bar);
        to->broad.tail_width +=
            2 * b->tail_width * view_inner(tail_bar, c->spread[MOSAIC_CORE]);
        for (int i = 0; i < 6; i++)
            spread_bar[i] += b->tail_width * b->tail_width * tail_bar[i];
        axes_adjoint(1, b->spread, c->axes, spread_bar, to->broad.spread, to->strain);
        to->broad.tail +=
            weight * (crystal->share[MOSAIC_TAIL] - crystal->share[MOSAIC_CORE]);
        to->rotation[o].weight += (1 - b->tail) * crystal->share[MOSAIC_CORE]
                                  + b->tail * crystal->share[MOSAIC_TAIL];
    }
}

/* ---- the tangent ---- */

void view_crystal_tangent(const struct view *view, int crystal,
                          const struct phys_frame_tangent *dot, struct crystal_change *out)
{
    const struct phys_frame *frame = view->frame;
    const struct crystal_at *c = view->crystal + crystal;
    const struct phys_broad *b = &frame->broad;
    const double weight = frame->orientation[crystal].weight;
    const double wide = b->tail_width * b->tail_width;
    const double scale = VIEW_PER_RHO2 * frame->fudge;
    double axes[9] = {0}, full[9], k[6] = {0}, *core = out->spread[MOSAIC_CORE];

    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int x = 0; x < 3; x++) {
                axes[3 * i + x] += dot->strain[3 * i + j] * c->axes[3 * j + x];
                out->stars[3 * j + x] -= dot->strain[3 * i + j] * c->stars[3 * i + x];
            }
    view_in_axes(2 * scale, frame->metric, axes, c->axes, k);
    view_in_axes(scale, dot->metric, c->axes, c->axes, k);
    view_in_axes(VIEW_PER_RHO2 * dot->fudge, frame->metric, c->axes, c->axes, k);
    view_widen(c->block, full);
    view_congruent(full, k, out->block);
    for (int i = 0; i < 6; i++) out->block[i] = -out->block[i];
    view_in_axes(2, b->spread, axes, c->axes, core);
    view_in_axes(1, dot->broad.spread, c->axes, c->axes, core);
    for (int i = 0; i < 6; i++)
        out->spread[MOSAIC_TAIL][i] =
            wide * core[i]
            + 2 * b->tail_width * dot->broad.tail_width * c->spread[MOSAIC_CORE][i];
    out->share[MOSAIC_CORE] =
        dot->rotation[crystal].weight * (1 - b->tail) - weight * dot->broad.tail;
    out->share[MOSAIC_TAIL] =
        dot->rotation[crystal].weight * b->tail + weight * dot->broad.tail;
}

/* Adds the change of the laboratory widths to the change of a block's covariance. */
static void widths_tangent(const struct view *view, const struct spot_name *name,
                           const struct spot_nodes *nodes,
                           const struct phys_frame_tangent *dot,
                           const struct nodes_change *moved, double block[6])
{
    const struct phys_broad *b = &view->frame->broad;
    const double k2 = nodes->k * nodes->k;
    struct form_vector x, dx, turn;
    struct lab_widths at;
    double lab[6], change[6], turned[6], m[9], t[9];

    view_widths(view, name, nodes, &at);
    x = form_load(at.x);
    dx = form_axpy(name->x, form_load(moved->fast),
                   form_axpy(name->y, form_load(moved->slow), form_load(moved->origin)));
    for (int i = 0; i < 6; i++) {
        const int a = i < 3 ? i : i == 5, c = i < 3 ? i : i == 3 ? 1 : 2;
        const double xa[3] = {x.x, x.y, x.z}, da[3] = {dx.x, dx.y, dx.z};
        const double along = form_dot(x, dx) * at.per_r2;

        lab[i] =
            (at.size2 > 0 ? 2 * b->size * dot->broad.size * at.size[i] : 0)
            + 2 * moved->k / nodes->k * at.lab[i]
            + at.light * k2 * (i < 3 ? 1 : 0.5) * dot->broad.divergence[i]
            + at.size2 * k2 * at.per_r2
                  * (-2 * along * (i < 3)
                     + at.per_r2
                           * (4 * along * xa[a] * xa[c] - xa[a] * da[c] - da[a] * xa[c]));
    }
    view_congruent(at.turn, lab, change);
    /* the change of the turn into the crystal's frame, and the rotation of the crystal */
    view_congruent(at.turn, at.lab, turned);
    view_widen(turned, m);
    turn = form_axpy(-name->turn,
                     turning(form_scale(-name->turn, form_load(nodes->w)), 1,
                             form_load(moved->w)),
                     form_scale(-1, form_load(moved->by)));
    for (int j = 0; j < 3; j++) {
        const struct form_vector column = {m[j], m[3 + j], m[6 + j]};
        const struct form_vector v = form_cross(turn, column);

        t[j] = v.x, t[3 + j] = v.y, t[6 + j] = v.z;
    }
    for (int i = 0; i < 6; i++) {
        const int a = i < 3 ? i : i == 5, c = i < 3 ? i : i == 3 ? 1 : 2;

        block[i] += change[i] + t[3 * a + c] + t[3 * c + a];
    }
}

struct spot_light view_light_tangent(const struct view *view, const struct spot_name *name,
                                     const struct phys_source *dot)
{
    const struct beam_group *g = view->group + name->group;
    struct spot_light out = {0, 0};

    if (name->line >= 0 && name->rule == 0)
        out =
            (struct spot_light){dot[name->line].inverse_wavelength, dot[name->line].weight};
    for (int j = g->first; j < g->first + g->n && name->rule > 0; j++) {
        const double e = dot[j].inverse_wavelength / g->k, w = dot[j].weight;
        struct rule_slopes d;

        if (e == 0 && w == 0) continue;
        d = rules_slopes(&g->rules, name->rule, name->line, view->frame->source + j, g->k);
        out.k += g->k * (d.at_e * e + d.at_w * w);
        out.weight += d.weight_e * e + d.weight_w * w;
    }
    return out;
}

void view_nodes_tangent(const struct view *view, const struct phys_frame *frame,
                        const struct spot_name *name, const struct spot_nodes *nodes,
                        const struct phys_frame_tangent *dot,
                        const struct crystal_change *crystal, struct nodes_change *out,
                        struct form_of *made)
{
    const struct crystal_at *c = view->crystal + name->crystal;
    const struct beam_group *g = view->group + name->group;
    const struct phys_broad *b = &view->frame->broad;
    const double hkl[3] = {name->h, name->k, name->l};
    const double sub = frame->pixel / frame->oversample;
    const double sub_dot = dot->pixel / frame->oversample;
    const double depth = frame->layer_offset + name->layer * frame->layer_step;
    const double depth_dot = dot->layer_offset + name->layer * dot->layer_step;
    double sum = 0;

    memset(out, 0, sizeof *out);
    memset(made, 0, sizeof *made);
    for (int i = 0; i < g->n; i++) sum += view->frame->source[g->first + i].weight;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) made->q0[i] += hkl[j] * crystal->stars[3 * j + i];
        out->q0[i] = made->q0[i];
        out->origin[i] =
            dot->pix0[i] + depth_dot * frame->normal[i] + depth * dot->normal[i];
        out->fast[i] = sub_dot * frame->fast[i] + sub * dot->fast[i];
        out->slow[i] = sub_dot * frame->slow[i] + sub * dot->slow[i];
        out->w[i] = dot->broad.spindle[i];
        out->by[i] = dot->rotation[name->crystal].by[i];
        for (int j = 0; j < g->n; j++)
            out->s[i] += (sum > 0 ? view->frame->source[g->first + j].weight / sum : 0)
                         * dot->source[g->first + j].direction[i];
    }
    out->k = view_light_tangent(view, name, dot->source).k;
    out->z0 = name->gauss * dot->broad.half_range;
    out->line = dot->broad.line;
    for (int i = 0; i < 6; i++) {
        made->block[i] = crystal->block[i];
        made->spread[i] = crystal->spread[name->mosaic][i];
    }
    view_add_product(2 * b->spacing * dot->broad.spacing, nodes->q0, nodes->q0,
                     made->block);
    view_add_product(2 * b->spacing * b->spacing, nodes->q0, made->q0, made->block);
    if (view_is_wide(view, name)) widths_tangent(view, name, nodes, dot, out, made->block);
    if (nodes->star) prior_tangent(nodes, b, &dot->broad, out->prior);
    made->height =
        0.5 * (view_inner(c->k, crystal->block) - view_inner(nodes->form.k, made->block));
    made->b = dot->b_factor;
}
