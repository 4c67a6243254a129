/*
 * quads.c - see quads.h. All that is included behind the definition of `double` has 128
 * bits; what it defines has names of its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/quads.h"

#include <stddef.h>
#include <string.h>
#include <tgmath.h>

typedef double f64;
__extension__ typedef __float128 quad;

/* of libquadmath, whose header not every compiler finds */
quad sinq(quad x);
quad cosq(quad x);
quad sqrtq(quad x);
quad expq(quad x);
quad logq(quad x);
quad fabsq(quad x);
quad fminq(quad x, quad y);
quad fmaxq(quad x, quad y);

#undef sin
#undef cos
#undef sqrt
#undef exp
#undef log
#undef fabs
#undef fmin
#undef fmax
/* NOLINTBEGIN: the kernels' own names and text, in 128 bits */
#define double quad
#define sin                      sinq
#define cos                      cosq
#define sqrt                     sqrtq
#define exp                      expq
#define log                      logq
#define fabs                     fabsq
#define fmin                     fminq
#define fmax                     fmaxq
#define form_make                quads_form_make
#define form_make_adjoint        quads_form_make_adjoint
#define form_make_tangent        quads_form_make_tangent
#define form_make_known          quads_form_make_known
#define form_inverse             quads_form_inverse
#define view_in_axes             quads_view_in_axes
#define view_make                quads_view_make
#define view_square              quads_view_square
#define view_widths              quads_view_widths
#define view_turn                quads_view_turn
#define view_is_wide             quads_view_is_wide
#define view_nodes               quads_view_nodes
#define view_light               quads_view_light
#define ewald_stars              quads_ewald_stars
#define KERNELS                  quads_nodes
#define NB_KERNELS_SPOTS_EWALD_H /* its one function that is used here: */

static double ewald_stars(const double *axes, double *stars);

#include "kernels/continuous/forms/form_make.c"
#include "kernels/continuous/forms/nodes.c"
#include "kernels/continuous/forms/view.c"
/* NOLINTEND */

/* Differences are taken between these steps to either side. */
static const quad difference = 1e-10;

static quad ewald_stars(const quad *axes, quad *stars)
{
    quad volume;

    for (int i = 0; i < 3; i++)
        form_give(form_cross(form_load(axes + 3 * ((i + 1) % 3)),
                             form_load(axes + 3 * ((i + 2) % 3))),
                  stars + 3 * i);
    volume = form_dot(form_load(axes), form_load(stars));
    for (int i = 0; i < 9; i++) stars[i] /= volume;
    return volume;
}

/* Writes numbers + t dot. */
static void move(const f64 *numbers, const f64 *dot, quad t, int n, quad *out)
{
    for (int i = 0; i < n; i++) out[i] = numbers[i] + (dot ? t * dot[i] : 0);
}

static void narrow_all(const quad *high, const quad *low, int n, f64 *out)
{
    for (int i = 0; i < n; i++) out[i] = (f64)((high[i] - low[i]) / (2 * difference));
}

void quads_form_slopes(const f64 *form, const f64 d[3], const f64 *size, f64 *slope)
{
    for (int i = 0; i < FORM_SLOPES; i++) {
        quad value[2];

        for (int side = 0; side < 2; side++) {
            quad number[FORM_SLOPES];
            struct form f;

            move(d, NULL, 0, 3, number);
            move(form, NULL, 0, FORM_NUMBERS, number + 3);
            number[i] += (side ? difference : -difference) * size[i];
            memcpy(&f, number + 3, sizeof f);
            value[side] = form_at(&f, form_load(number)).log;
        }
        narrow_all(value + 1, value, 1, slope + i);
    }
}

void quads_form_change(const f64 *of, const f64 *dot, f64 *change)
{
    struct form made[2];

    for (int side = 0; side < 2; side++) {
        struct form_of from;

        move(of, dot, side ? difference : -difference, FORM_OF_NUMBERS,
             (quad *)(void *)&from);
        form_make(&from, made + side);
    }
    narrow_all((quad *)(void *)(made + 1), (quad *)(void *)made, FORM_NUMBERS, change);
}

/* The lists of the nodes in 128 bits. */
struct lists {
    on_nodes at, line_at[NODE_STEPS], star_at[NODE_STEPS * STAR_MOST];
    struct star star;
};

static void place_nodes(const struct quads_at *at, struct lists *lists,
                        struct spot_nodes *out)
{
    out->along = at->along;
    out->step = at->step;
    out->line_step = at->line_step;
    move(at->x, NULL, 0, NODES, out->x);
    move(at->y, NULL, 0, NODES, out->y);
    move(at->at, NULL, 0, NODES, lists->at);
    move(at->line_at, NULL, 0, NODE_STEPS * NODES, lists->line_at[0]);
    out->at = lists->at;
    out->line_at = (const quad(*)[NODES])lists->line_at;
    out->star = NULL;
    lists->star.n = 0;
    if (!at->star) return;
    lists->star.n = at->star_n;
    lists->star.light = at->star_light;
    move(at->star_ways, NULL, 0, 3 * STAR_AXES, lists->star.way[0]);
    move(at->star_at, NULL, 0, NODE_STEPS * STAR_MOST * NODES, lists->star_at[0]);
    out->star = &lists->star;
    out->star_at = (const quad(*)[NODES])lists->star_at;
}

/* Moves a by -by x a, which stands for a rotation to first order. */
static void turn_away(const quad *by, quad *a)
{
    form_give(form_axpy(-1, form_cross(form_load(by), form_load(a)), form_load(a)), a);
}

static void write_outputs(struct node_values *values, f64 (*change)[QUADS_NODES])
{
    const int n = values->steps > 1 ? NODE_OUTPUTS : 1;

    for (int o = 0; o < n; o++)
        narrow_all(values[1].output[o], values[0].output[o], NODES, change[o]);
}

void quads_nodes_change(const struct quads_at *at, const f64 *numbers, const f64 *dot,
                        f64 (*change)[QUADS_NODES])
{
    static struct node_values values[2];

    for (int side = 0; side < 2; side++) {
        struct nodes_change now;
        struct spot_nodes n;
        struct lists lists;
        quad *turned[] = {n.origin, n.fast, n.slow, n.s, n.w};

        move(numbers, dot, side ? difference : -difference,
             (int)(sizeof now / sizeof(quad)), (quad *)(void *)&now);
        place_nodes(at, &lists, &n);
        n.form = now.form;
        n.k = now.k, n.z0 = now.z0, n.line = now.line;
        memcpy(n.q0, now.q0, sizeof n.q0);
        memcpy(n.origin, now.origin, sizeof n.origin);
        memcpy(n.fast, now.fast, sizeof n.fast);
        memcpy(n.slow, now.slow, sizeof n.slow);
        memcpy(n.s, now.s, sizeof n.s);
        memcpy(n.w, now.w, sizeof n.w);
        memcpy(n.prior, now.prior, sizeof n.prior);
        for (int i = 0; i < 5; i++) turn_away(now.by, turned[i]);
        for (int k = 0; k < lists.star.n; k++) turn_away(now.by, lists.star.way[k]);
        quads_nodes.values(&n, values + side);
    }
    write_outputs(values, change);
}

/* Fills in a frame of one source and one orientation, moved by t. */
static void move_frame(const struct quads_frame *from, quad t, struct phys_source *source,
                       struct phys_orientation *o, struct phys_frame *f)
{
    quad number[PHYS_NUMBERS], rotation[4], axes[9];
    const quad *strain = number + PHYS_AT_strain;

    memset(f, 0, sizeof *f);
    move(from->number, from->number_dot, t, PHYS_NUMBERS, number);
#define FRAME_STRAIN(name, dimension, count, kind)
#define FRAME_NUMBER(name, dimension, count, kind)                                         \
    memcpy((void *)&f->name, number + PHYS_AT_##name, (count) * sizeof(quad));
#include "physics/frame_tangent.def"
#undef FRAME_NUMBER
    move(from->broad, from->broad_dot, t, (int)(sizeof f->broad / sizeof(quad)),
         (quad *)(void *)&f->broad);
    move(from->source, from->source_dot, t, (int)(sizeof *source / sizeof(quad)),
         (quad *)(void *)source);
    for (int i = 0; i < 4; i++) rotation[i] = t * from->rotation_dot[i];
    move(from->axes, NULL, 0, 9, axes);
    o->weight = from->weight + rotation[3];
    for (int i = 0; i < 3; i++) {
        struct form_vector a = form_load(axes + 3 * i);

        a = form_axpy(1, form_cross(form_load(rotation), a), a);
        for (int j = 0; j < 3; j++)
            a = form_axpy(strain[3 * i + j], form_load(axes + 3 * j), a);
        form_give(a, o->axes + 3 * i);
    }
    f->oversample = from->oversample;
    f->nsource = f->norientation = 1;
    f->source = source;
    f->orientation = o;
    f->continuous = 1;
}

void quads_view_change(const struct quads_frame *frame, const struct quads_name *name,
                       const struct quads_at *at, f64 (*change)[QUADS_NODES], f64 *share)
{
    static struct node_values values[2];
    quad shares[2];

    for (int side = 0; side < 2; side++) {
        const struct spot_name spot = {.h = name->h,
                                       .k = name->k,
                                       .l = name->l,
                                       .mosaic = name->mosaic,
                                       .layer = name->layer,
                                       .along = at->along,
                                       .gauss = name->gauss,
                                       .turn = name->turn,
                                       .x = name->x,
                                       .y = name->y,
                                       .star = at->star};
        struct crystal_at crystal = {0};
        struct beam_group group = {0};
        struct view view = {.crystal = &crystal, .group = &group};
        struct phys_source source;
        struct phys_orientation o;
        struct phys_frame f;
        struct form_of of;
        struct spot_nodes n;
        struct lists lists;

        move_frame(frame, side ? difference : -difference, &source, &o, &f);
        view_make(&f, 0, &view);
        place_nodes(at, &lists, &n);
        view_nodes(&view, &f, &spot, &of, &n);
        quads_nodes.values(&n, values + side);
        shares[side] = crystal.share[name->mosaic];
    }
    write_outputs(values, change);
    narrow_all(shares + 1, shares, 1, share);
}
