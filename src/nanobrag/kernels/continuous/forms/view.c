/* view.c - the numbers of a frame as the spots of a continuous crystal need them.
 * SPDX-License-Identifier: MIT */
#include "kernels/continuous/forms/view.h"

#include <string.h>

#include "kernels/continuous/forms/star.h"
#include "kernels/continuous/forms/view_parts.h"
#include "kernels/spots/ewald.h"

void view_in_axes(double scale, const double m[6], const double left[9],
                  const double right[9], double out[6])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            view_add_product(scale * view_element(m, i, j), left + (size_t)3 * (size_t)i,
                             right + (size_t)3 * (size_t)j, out);
}

static void make_crystal(const struct phys_frame *frame,
                         const struct phys_orientation *from, struct crystal_at *to)
{
    const struct phys_broad *broad = &frame->broad;
    const double wide = broad->tail_width * broad->tail_width;

    memset(to, 0, sizeof *to);
    memcpy(to->axes, from->axes, sizeof to->axes);
    (void)ewald_stars(to->axes, to->stars);
    view_in_axes(VIEW_PER_RHO2 * frame->fudge, frame->metric, to->axes, to->axes, to->k);
    (void)form_inverse(to->k, to->block);
    view_in_axes(1, broad->spread, to->axes, to->axes, to->spread[MOSAIC_CORE]);
    for (int i = 0; i < 6; i++)
        to->spread[MOSAIC_TAIL][i] = wide * to->spread[MOSAIC_CORE][i];
    to->share[MOSAIC_CORE] = from->weight * (1 - broad->tail);
    to->share[MOSAIC_TAIL] = from->weight * broad->tail;
}

static int same_direction(const struct phys_source *a, const struct phys_source *b)
{
    return a->direction[0] == b->direction[0] && a->direction[1] == b->direction[1]
           && a->direction[2] == b->direction[2];
}

/* Fills in a group whose members `first` and `n` are set. */
static void make_group(const struct phys_frame *frame, int kept, struct beam_group *g)
{
    const struct phys_source *source = frame->source + g->first;
    double sum = 0, weight = 0, s[3] = {0};

    for (int i = 0; i < g->n; i++) {
        sum += source[i].weight * source[i].inverse_wavelength;
        weight += source[i].weight;
        for (int j = 0; j < 3; j++) s[j] += source[i].weight * source[i].direction[j];
    }
    if (!kept) g->k = weight > 0 ? sum / weight : source->inverse_wavelength;
    if (g->n == 1) g->k = source->inverse_wavelength;
    memcpy(g->s, source->direction, sizeof g->s);
    for (int j = 0; j < 3 && kept && g->n > 1 && weight > 0; j++) g->s[j] = s[j] / weight;
    if (g->n > 1) rules_make(g->n, source, g->k, &g->rules);
    g->low = g->high = log(source->inverse_wavelength / g->k);
    for (int i = 1; i < g->n; i++) {
        const double e = log(source[i].inverse_wavelength / g->k);

        g->low = fmin(g->low, e);
        g->high = fmax(g->high, e);
    }
}

/* Finds the groups: neighbouring sources of one direction. */
static void find_groups(const struct phys_frame *frame, struct view *out)
{
    out->ngroup = 0;
    for (int i = 0, n; i < frame->nsource; i += n) {
        const struct phys_source *source = frame->source + i;

        for (n = 1; i + n < frame->nsource && same_direction(source, source + n);) n++;
        out->group[out->ngroup].first = i;
        out->group[out->ngroup++].n = n;
    }
}

void view_make(const struct phys_frame *frame, int kept, struct view *out)
{
    out->frame = frame;
    out->ncrystal = frame->norientation;
    for (int i = 0; i < frame->norientation; i++)
        make_crystal(frame, frame->orientation + i, out->crystal + i);
    if (!kept) find_groups(frame, out);
    for (int i = 0; i < out->ngroup; i++) make_group(frame, kept, out->group + i);
}

double view_square(const struct view *view, const struct phys_spec *spec, const int hkl[3],
                   int *place)
{
    const struct phys_frame *f = view->frame;
    int at[3], inside = 1;

    for (int i = 0; i < 3; i++) {
        at[i] = hkl[i] - f->hkl_min[i];
        inside &= at[i] >= 0 && at[i] < f->hkl_size[i];
    }
    *place = inside ? (at[0] * f->hkl_size[1] + at[1]) * f->hkl_size[2] + at[2]
                    : f->hkl_size[0] * f->hkl_size[1] * f->hkl_size[2];
    if (spec->lookup == PHYS_CONSTANT) return 1;
    return f->f[*place] * f->f[*place];
}

/* ---- the nodes of a spot ---- */

void view_turn(const double w[3], double z, double m[9])
{
    const double a = z * sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    const double s1 = a == 0 ? 1 : sin(a) / a, half = sin(a / 2);
    const double s2 = a == 0 ? 0.5 : 2 * half * half / (a * a);
    const double x[9] = {0,         -z * w[2], z * w[1], z * w[2], 0,
                         -z * w[0], -z * w[1], z * w[0], 0};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double square = 0;

            for (int k = 0; k < 3; k++) square += x[3 * i + k] * x[3 * k + j];
            m[3 * i + j] = (i == j) - s1 * x[3 * i + j] + s2 * square;
        }
}

void view_widths(const struct view *view, const struct spot_name *name,
                 const struct spot_nodes *nodes, struct lab_widths *out)
{
    const struct phys_broad *b = &view->frame->broad;
    const double k2 = nodes->k * nodes->k;
    double r2 = 0, *x = out->x;

    for (int i = 0; i < 3; i++) {
        x[i] = nodes->origin[i] + name->x * nodes->fast[i] + name->y * nodes->slow[i];
        r2 += x[i] * x[i];
    }
    out->per_r2 = 1 / r2;
    out->size2 = name->star & STAR_PLACES ? 0 : b->size * b->size;
    out->light = name->star & STAR_LIGHT ? 0 : 1;
    view_turn(nodes->w, name->turn, out->turn);
    for (int i = 0; i < 6; i++) {
        const int a = i < 3 ? i : i == 5, c = i < 3 ? i : i == 3 ? 1 : 2;
        const double across = (i < 3) - x[a] * x[c] / r2;

        out->size[i] = k2 * across / r2;
        out->lab[i] = out->size2 * out->size[i]
                      + out->light * k2 * (i < 3 ? 1 : 0.5) * b->divergence[i];
    }
}

int view_is_wide(const struct view *view, const struct spot_name *name)
{
    const struct phys_broad *b = &view->frame->broad;
    int wide = b->size != 0 && !(name->star & STAR_PLACES);

    for (int i = 0; i < 6 && !(name->star & STAR_LIGHT); i++) wide |= b->divergence[i] != 0;
    return wide;
}

/* Writes the inverse covariance of a star's variables to nodes->prior. */
static void find_prior(const struct phys_broad *b, struct spot_nodes *nodes)
{
    star_matrix covariance = {{0}};

    for (int k = 0; k < nodes->star->n; k++)
        for (int l = 0; l < nodes->star->n; l++)
            covariance[k][l] = view_star_element(b, nodes->star, k, l);
    (void)star_inverse(nodes->star->n, (const double(*)[STAR_AXES])covariance,
                       nodes->prior);
}

/* Adds the widths that are fixed in the laboratory, turned to the crystal's frame, to a
 * block's covariance. */
static void add_widths(const struct lab_widths *widths, double block[6])
{
    double turned[6];

    view_congruent(widths->turn, widths->lab, turned);
    for (int i = 0; i < 6; i++) block[i] += turned[i];
}

struct spot_light view_light(const struct view *view, const struct spot_name *name)
{
    const struct beam_group *g = view->group + name->group;
    const struct phys_source *source = view->frame->source + name->line;
    const int point = rules_point(name->rule, name->line);

    if (name->line < 0) return (struct spot_light){g->k, 1};
    if (name->rule == 0)
        return (struct spot_light){source->inverse_wavelength, source->weight};
    return (struct spot_light){g->k * (1 + g->rules.at[point]), g->rules.weight[point]};
}

void view_nodes(const struct view *view, const struct phys_frame *frame,
                const struct spot_name *name, struct form_of *of, struct spot_nodes *nodes)
{
    const struct crystal_at *c = view->crystal + name->crystal;
    const struct beam_group *g = view->group + name->group;
    const struct phys_broad *b = &view->frame->broad;
    const double sub = frame->pixel / frame->oversample;
    const double depth = frame->layer_offset + name->layer * frame->layer_step;
    const double hkl[3] = {name->h, name->k, name->l};
    double ignored[6] = {0};

    for (int i = 0; i < 3; i++) {
        of->q0[i] =
            hkl[0] * c->stars[i] + hkl[1] * c->stars[3 + i] + hkl[2] * c->stars[6 + i];
        nodes->origin[i] = frame->pix0[i] + depth * frame->normal[i];
        nodes->fast[i] = sub * frame->fast[i];
        nodes->slow[i] = sub * frame->slow[i];
        nodes->s[i] = g->s[i];
        nodes->w[i] = b->spindle[i];
    }
    nodes->k = view_light(view, name).k;
    nodes->line = b->line;
    nodes->along = name->along;
    nodes->z0 = name->gauss * b->half_range;
    memcpy(of->block, c->block, sizeof of->block);
    memcpy(of->spread, c->spread[name->mosaic], sizeof of->spread);
    view_add_product(b->spacing * b->spacing, of->q0, of->q0, of->block);
    if (view_is_wide(view, name)) {
        struct lab_widths widths;

        view_widths(view, name, nodes, &widths);
        add_widths(&widths, of->block);
    }
    if (!name->star) nodes->star = NULL;
    if (nodes->star) find_prior(b, nodes);
    of->b = frame->b_factor;
    of->height =
        0.5 * log(form_inverse(c->block, ignored) / form_inverse(of->block, ignored));
    memcpy(nodes->q0, of->q0, sizeof nodes->q0);
    form_make(of, &nodes->form);
}
