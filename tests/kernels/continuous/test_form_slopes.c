/*
 * test_form_slopes.c - the slopes of the closed form against differences in 128 bits: from
 * the numbers of a form to those of a frame, and adjoints against tangents.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "kernels/continuous/forms/changes.h"
#include "kernels/continuous/forms/form_make.h"
#include "kernels/continuous/forms/star.h"
#include "kernels/continuous/forms/star_make.h"
#include "kernels/continuous/forms/view.h"
#include "kernels/continuous/frame_change.h"
#include "kernels/continuous/quads.h"
#include "kernels/continuous_oracle.h"
#include "kernels/kernels.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const double degree = 3.14159265358979323846 / 180;

static void fill(double *out, int n, double size, unsigned *seed)
{
    for (int i = 0; i < n; i++) out[i] = size * oracle_uniform(seed);
}

/* ---- one form ---- */

/* A symmetric matrix with eigenvalues between about scale/2 and 2 scale. */
static void random_covariance(double scale, unsigned *seed, double *out)
{
    fill(out, 6, 0.25 * scale, seed);
    for (int i = 0; i < 3; i++) out[i] += scale;
}

static void random_form_of(unsigned seed, struct form_of *of)
{
    const double spread = 0.5 * degree, width = 0.4 / 400;

    fill(of->q0, 3, 0.4, &seed);
    random_covariance(width * width, &seed, of->block);
    random_covariance(spread * spread, &seed, of->spread);
    of->height = oracle_uniform(&seed);
    of->b = 12;
}

/* Changes of log I by about 1. */
static void random_form_dot(const struct form_of *of, unsigned seed, struct form_of *dot)
{
    fill(dot->q0, 3, 1e-3, &seed);
    fill(dot->block, 6, of->block[0], &seed);
    fill(dot->spread, 6, of->spread[0], &seed);
    dot->height = oracle_uniform(&seed);
    dot->b = 10 * oracle_uniform(&seed);
}

static const double *numbers_of(const void *of)
{
    return of;
}

/* Writes the sizes of place and numbers: those of a form, or of another where they are 0.
 */
static void sizes_of(const struct form *form, double *size)
{
    struct form_of of;
    struct form other;

    random_form_of(2, &of);
    form_make(&of, &other);
    for (int k = 0; k < FORM_SLOPES; k++)
        size[k] =
            k < 3 ? 1e-3
                  : fmax(fabs(numbers_of(form)[k - 3]), fabs(numbers_of(&other)[k - 3]));
}

static void compare_slopes(const struct form *form, const double d[3], struct worst *out)
{
    double truth[FORM_SLOPES], found[FORM_SLOPES], size[FORM_SLOPES];
    const struct form_steps at = form_at(form, form_load(d));
    const struct form_slopes slopes = form_back(form, &at);

    sizes_of(form, size);
    form_give(slopes.d, found);
    memcpy(found + 3, &slopes.by, sizeof slopes.by);
    quads_form_slopes(numbers_of(form), d, size, truth);
    for (int k = 0; k < FORM_SLOPES; k++)
        worst_add(out, size[k] * found[k], truth[k], 1 + fabs(truth[k]) + fabs(at.log));
}

static int form_slopes(void)
{
    static const char *const names[] = {"a reflection", "the reflection 000", "no spread",
                                        "a spread about one axis"};

    for (int i = 0; i < 4; i++) {
        struct worst w = {0};
        struct form_of of;
        struct form form;

        random_form_of(7 + (unsigned)i, &of);
        if (i == 1) memset(of.q0, 0, sizeof of.q0);
        for (int j = 0; j < 6 && i > 1; j++) of.spread[j] = i == 3 && j == 1 ? 1e-4 : 0;
        form_make(&of, &form);
        for (unsigned place = 0; place < 12; place++) {
            unsigned seed = 40 + place;
            double d[3];

            fill(d, 3, 3e-3, &seed);
            compare_slopes(&form, d, &w);
        }
        worst_check(&w, 1e-12, "slopes of %s", names[i]);
    }
    return TAP_PASS;
}

static int form_changes(void)
{
    struct worst all = {0}, transposed = {0};

    for (unsigned i = 0; i < 40; i++) {
        unsigned seed = 900 + i;
        struct form_of of, dot, to = {0};
        struct form form, found, truth, bar;
        double forward = 0, back = 0, size = 0;
        const double *a = numbers_of(&found), *b = numbers_of(&truth);

        random_form_of(60 + i, &of);
        random_form_dot(&of, 80 + i, &dot);
        form_make(&of, &form);
        form_make_tangent(&of, &form, &dot, &found);
        quads_form_change(numbers_of(&of), numbers_of(&dot), (double *)(void *)&truth);
        for (int k = 0; k < FORM_NUMBERS; k++) {
            /* a matrix or a vector has one scale: that of its largest number */
            const double most = fabs(numbers_of(&form)[k]) + fabs(b[k]);

            worst_add(&all, a[k], b[k], most > 0 ? most : 1);
        }
        for (int k = 0; k < FORM_NUMBERS; k++) {
            ((double *)(void *)&bar)[k] =
                oracle_uniform(&seed) / (fabs(numbers_of(&form)[k]) + 1e-30);
            forward += numbers_of(&bar)[k] * a[k];
            size += fabs(numbers_of(&bar)[k] * a[k]);
        }
        form_make_adjoint(&of, &form, &bar, &to);
        for (int k = 0; k < FORM_OF_NUMBERS; k++)
            back += numbers_of(&to)[k] * numbers_of(&dot)[k];
        worst_add(&transposed, back, forward, size);
    }
    worst_check(&all, 1e-12, "the tangent of a form");
    worst_check(&transposed, 1e-13, "its adjoint against the tangent");
    return TAP_PASS;
}

/* ---- a frame, and the nodes of a spot ---- */

enum { ROTATION_NUMBERS = 4 };

/* A frame of one source and one orientation, a spot on it, and its nodes. */
struct world {
    struct phys_frame frame;
    struct phys_source source;
    struct phys_orientation orientation;
    struct spot_name name;
    struct crystal_at crystal;
    struct beam_group group;
    struct view view;
    struct form_of of;
    struct spot_nodes nodes;
    struct node_values values;
    on_nodes at, line_at[NODE_STEPS], star_at[NODE_STEPS * STAR_MOST];
    struct star star;
};

static void fill_frame(struct world *w, int line)
{
    static const double axes[9] = {50, 3, -4, 5, 40, 6, -7, 2, 60};
    static const double corner[3] = {0.08, -0.05, 0.06}, spindle[3] = {0.1, 0.05, 0.99};
    static const double metric[6] = {64, 100, 80, 5, -6, 4};
    struct phys_frame *f = &w->frame;
    struct phys_broad *b = &f->broad;
    const double spread = 0.15 * degree;

    f->source = &w->source, f->orientation = &w->orientation;
    f->nsource = f->norientation = f->nlayers = 1;
    f->oversample = 2;
    f->pixel = 1e-4;
    memcpy(w->orientation.axes, axes, sizeof axes);
    w->orientation.weight = 0.9;
    w->source.direction[0] = w->source.weight = w->source.inverse_wavelength = 1;
    memcpy(f->pix0, corner, sizeof corner);
    f->fast[2] = -1, f->slow[1] = f->normal[0] = 1;
    f->fast[0] = 0.02;
    f->layer_offset = 1e-5, f->layer_step = 2e-5;
    memcpy(f->metric, metric, sizeof metric);
    f->fudge = 1.1;
    f->b_factor = 5;
    f->continuous = 1;
    b->half_range = 0.01;
    memcpy(b->spindle, spindle, sizeof spindle);
    for (int i = 0; i < 3; i++) b->spread[i] = spread * spread / 2500 * (1 + 0.3 * i);
    b->spread[3] = 0.3 * b->spread[0], b->spread[5] = -0.2 * b->spread[0];
    b->tail = 0.1, b->tail_width = 3;
    b->spacing = 3e-4;
    b->size = 3e-5;
    b->line = line ? 1e-3 : 0;
    for (int i = 0; i < 6; i++) b->divergence[i] = (i < 3 ? 1 : 0.3) * 1e-8;
}

/* Chooses the wave number at which the reflection is on the sphere, and its place. */
static void aim(struct world *w)
{
    const struct phys_frame *f = &w->frame;
    double q2 = 0, k, t, *q = w->of.q0;

    view_make(f, 0, &w->view);
    view_nodes(&w->view, f, &w->name, &w->of, &w->nodes);
    for (int i = 0; i < 3; i++) q2 += q[i] * q[i];
    if (q[0] > 0) {
        w->name.h = -w->name.h, w->name.k = -w->name.k, w->name.l = -w->name.l;
        q[0] = -q[0], q[1] = -q[1], q[2] = -q[2];
    }
    k = w->source.inverse_wavelength = -q2 / (2 * q[0]);
    t = f->pix0[0] / (q[0] + k);
    w->name.x = -(t * q[2] - f->pix0[2]) * f->oversample / f->pixel;
    w->name.y = (t * q[1] - f->pix0[1]) * f->oversample / f->pixel;
}

/* Gives the spot a star; its points are beside those of place.c. */
static void add_star(struct world *w, int star, unsigned seed)
{
    const int steps = w->nodes.along == ALONG_NOTHING ? 1 : NODE_STEPS;
    struct star_making making;

    w->name.star = star;
    star_make(&w->view, &w->frame, &w->name, form_load(w->of.q0), &w->star, &making);
    star_points(&making, &w->nodes, 0, w->at, w->star_at,
                w->nodes.line > 0 ? w->line_at : NULL);
    for (int row = 0; row < steps * star_numbers(&w->star); row++) {
        const int k = row % star_numbers(&w->star);
        const double width =
            k + 1 == star_numbers(&w->star)
                ? 1
                : 1 / sqrt(making.nodes.prior[k % w->star.n][k % w->star.n]);

        for (int i = 0; i < NODES; i++)
            w->star_at[row][i] += 0.1 * width * oracle_uniform(&seed);
    }
    w->nodes.star = &w->star;
    w->nodes.star_at = (const double(*)[NODES])w->star_at;
    view_nodes(&w->view, &w->frame, &w->name, &w->of, &w->nodes);
}

/* Sets the steps as place.c does it: in widths of the spot. */
static void set_steps(struct world *w, unsigned *seed)
{
    kernels_lanes("").nodes->values(&w->nodes, &w->values);
    w->nodes.step = 0.8 / sqrt(w->values.output[NODE_H][0]);
    for (int i = 0; i < NODES; i++)
        w->at[i] = w->values.output[NODE_M][i] + 0.2 * w->nodes.step * oracle_uniform(seed);
}

static void make_world(struct world *w, int along, int line, int star)
{
    unsigned seed = 5 + (unsigned)along;

    memset(w, 0, sizeof *w);
    w->view.crystal = &w->crystal;
    w->view.group = &w->group;
    w->name = (struct spot_name){.h = 5,
                                 .k = -4,
                                 .l = 9,
                                 .mosaic = MOSAIC_TAIL,
                                 .layer = 1,
                                 .along = along,
                                 .gauss = 0.4,
                                 .turn = 0.013};
    fill_frame(w, line);
    aim(w);
    for (int i = 0; i < NODES; i++) {
        w->nodes.x[i] = w->name.x + 3 * oracle_uniform(&seed);
        w->nodes.y[i] = w->name.y + 3 * oracle_uniform(&seed);
        w->at[i] = (along == ALONG_ENERGY ? 5e-4 : 5e-3) * oracle_uniform(&seed);
    }
    fill(w->line_at[0], NODE_STEPS * NODES, 5e-4, &seed);
    w->nodes.at = w->at;
    w->nodes.line_at = (const double(*)[NODES])w->line_at;
    w->nodes.step = along == ALONG_ENERGY ? 4e-3 : 1e-2;
    w->nodes.line_step = 5e-4;
    view_make(&w->frame, 0, &w->view);
    view_nodes(&w->view, &w->frame, &w->name, &w->of, &w->nodes);
    if (along != ALONG_NOTHING) set_steps(w, &seed);
    if (star) add_star(w, star, seed);
}

static struct quads_at places_of(const struct world *w)
{
    const struct quads_at at = {w->nodes.along, w->nodes.step,  w->nodes.line_step,
                                w->nodes.x,     w->nodes.y,     w->at,
                                w->line_at[0],  w->name.star,   w->star.n,
                                w->star.light,  w->star.way[0], w->star_at[0]};

    return at;
}

/* Returns what an output has to change by to change log I by about 1 within a width of the
 * spot along z. */
static double unit_of(const struct world *w, int output)
{
    static const double power[NODE_OUTPUTS] = {0, -0.5, 1, 1.5, 2};

    return w->nodes.along ? pow(w->values.output[NODE_H][0], power[output]) : 1;
}

/* Compares the changes of each output in its unit, or that of its largest change. */
static void compare_outputs(const struct world *w, double (*found)[NODES],
                            double (*truth)[QUADS_NODES], struct worst *out)
{
    const double change = worst_largest(truth[NODE_L], NODES);

    for (int o = 0; o < (w->nodes.along ? NODE_OUTPUTS : 1); o++)
        worst_add_all(out, found[o], truth[o], NODES,
                      fmax(unit_of(w, o) * change, worst_largest(truth[o], NODES)));
}

/* The numbers of a nodes_change that belong to nodes. */
static void numbers_of_nodes(const struct spot_nodes *n, struct nodes_change *out)
{
    memset(out, 0, sizeof *out);
    out->form = n->form;
    memcpy(out->q0, n->q0, sizeof out->q0);
    memcpy(out->origin, n->origin, sizeof out->origin);
    memcpy(out->fast, n->fast, sizeof out->fast);
    memcpy(out->slow, n->slow, sizeof out->slow);
    memcpy(out->s, n->s, sizeof out->s);
    memcpy(out->w, n->w, sizeof out->w);
    out->k = n->k, out->z0 = n->z0, out->line = n->line;
    memcpy(out->prior, n->prior, sizeof out->prior);
}

/* A change of log I by about 1. */
static void random_nodes_dot(const struct spot_nodes *n, unsigned seed,
                             struct nodes_change *dot)
{
    struct form_of of, of_dot;

    random_form_of(3, &of);
    memset(dot, 0, sizeof *dot);
    for (int k = 0; k < FORM_NUMBERS; k++)
        ((double *)(void *)&dot->form)[k] =
            1e-3 * oracle_uniform(&seed) * fabs(numbers_of(&n->form)[k]);
    random_form_dot(&of, seed, &of_dot);
    memcpy(dot->q0, of_dot.q0, sizeof dot->q0);
    fill(dot->origin, 3, 1e-5, &seed);
    fill(dot->fast, 3, 1e-8, &seed);
    fill(dot->slow, 3, 1e-8, &seed);
    dot->k = 1e-3 * oracle_uniform(&seed);
    fill(dot->s, 3, 1e-3, &seed);
    fill(dot->w, 3, 0.1, &seed);
    dot->z0 = n->along == ALONG_PHI ? 0 : 1e-3 * oracle_uniform(&seed);
    dot->line = n->line > 0 ? 2e-4 * oracle_uniform(&seed) : 0;
    fill(dot->by, 3, 1e-3, &seed);
    for (int k = 0; n->star && k < n->star->n; k++)
        dot->prior[k][k] = 0.1 * oracle_uniform(&seed) * n->prior[k][k];
}

/* Writes the changes of the outputs along a change behind the nodes, in the last lane but
 * one of the second batch. */
static void change_outputs(const struct world *w, const struct nodes_change *dot,
                           double (*out)[NODES])
{
    enum { AT = 2 * DIRECTION_LANES - 2, N = AT + 1 };
    const struct kernel_set kernels = kernels_lanes("");
    static on_directions lanes[2][NODE_OUTPUTS][NODES];
    struct nodes_change all[N];
    const struct change_along along = {N, all, NULL, NULL};

    for (int d = 0; d < N; d++) random_nodes_dot(&w->nodes, 50 + (unsigned)d, all + d);
    all[AT] = *dot;
    kernels.changes->outputs(kernels.nodes, &w->nodes, &w->values, &along, lanes);
    for (int o = 0; o < NODE_OUTPUTS; o++)
        for (int i = 0; i < NODES; i++) out[o][i] = lanes[1][o][i][AT % DIRECTION_LANES];
}

/* Computes values and slopes of a world's nodes. */
static void evaluate(const struct node_kernels *kernels, struct world *w)
{
    kernels->values(&w->nodes, &w->values);
    kernels->slopes(&w->nodes, &w->values);
}

/* Cotangents of outputs, each of which weighs as much as the others. */
static void random_bar(const struct world *w, unsigned seed, double (*bar)[NODES])
{
    for (int o = 0; o < NODE_OUTPUTS; o++) fill(bar[o], NODES, 1 / unit_of(w, o), &seed);
}

static double inner_outputs(int along, double (*bar)[NODES], double (*out)[NODES],
                            double *size)
{
    double sum = 0;

    *size = 0;
    for (int o = 0; o < (along ? NODE_OUTPUTS : 1); o++)
        for (int i = 0; i < NODES; i++) {
            sum += bar[o][i] * out[o][i];
            *size += fabs(bar[o][i] * out[o][i]);
        }
    return sum;
}

static const char *const ways[] = {"a still", "along phi", "along the energy"};

/* The ways of a spot: along what it is integrated, with a line or not, and its star. */
static const struct {
    int along, line, star;
    const char *more;
} kinds[] = {{ALONG_NOTHING, 0, 0, ""},
             {ALONG_NOTHING, 1, 0, " with a line"},
             {ALONG_PHI, 0, 0, ""},
             {ALONG_PHI, 1, 0, " with a line"},
             {ALONG_ENERGY, 0, 0, ""},
             {ALONG_NOTHING, 0, STAR_LIGHT, " of divergent light"},
             {ALONG_NOTHING, 1, STAR_PLACES, " of a large crystal, with a line"},
             {ALONG_PHI, 1, STAR_LIGHT | STAR_PLACES, " of both, with a line"},
             {ALONG_ENERGY, 0, STAR_LIGHT | STAR_PLACES, " of both"}};

static int nodes(void)
{
    const struct node_kernels *kernels = kernels_lanes("").nodes;
    static struct world w;

    for (size_t way = 0; way < COUNT(kinds); way++) {
        const int along = kinds[way].along;
        struct worst changes = {0}, transposed = {0};

        make_world(&w, along, kinds[way].line, kinds[way].star);
        evaluate(kernels, &w);
        for (unsigned direction = 0; direction < 6; direction++) {
            const struct quads_at at = places_of(&w);
            double found[NODE_OUTPUTS][NODES], truth[NODE_OUTPUTS][QUADS_NODES];
            double bar[NODE_OUTPUTS][NODES], size, back = 0;
            struct nodes_change number, dot, to = {0};

            numbers_of_nodes(&w.nodes, &number);
            random_nodes_dot(&w.nodes, 70 + direction, &dot);
            change_outputs(&w, &dot, found);
            quads_nodes_change(&at, numbers_of(&number), numbers_of(&dot), truth);
            compare_outputs(&w, found, truth, &changes);
            random_bar(&w, 90 + direction, bar);
            kernels->adjoint(&w.nodes, &w.values, bar, &to);
            for (size_t i = 0; i < sizeof to / sizeof(double); i++)
                back += numbers_of(&to)[i] * numbers_of(&dot)[i];
            const double forward = inner_outputs(along, bar, found, &size);

            worst_add(&transposed, back, forward, size);
        }
        worst_check(&changes, 1e-10, "nodes, %s%s: changes", ways[along], kinds[way].more);
        worst_check(&transposed, 1e-12, "the adjoint against the tangent");
    }
    return TAP_PASS;
}

/* ---- the way from the frame ---- */

/* Writes the changes of the outputs by the kernels, and the inner products of cotangents
 * with them, behind and before the nodes. */
static void take_through(const struct node_kernels *kernels, struct world *w,
                         const struct frame_change *c, double (*found)[NODES],
                         double *share, double product[2], double *size)
{
    double bar[NODE_OUTPUTS][NODES];
    struct crystal_bar crystal_bar = {0};
    struct crystal_change crystal;
    struct nodes_change moved, back = {0};
    struct form_of made;
    struct frame_change to = {0};

    view_crystal_tangent(&w->view, 0, &c->dot, &crystal);
    view_nodes_tangent(&w->view, &w->frame, &w->name, &w->nodes, &c->dot, &crystal, &moved,
                       &made);
    form_make_tangent(&w->of, &w->nodes.form, &made, &moved.form);
    change_outputs(w, &moved, found);
    *share = crystal.share[w->name.mosaic];
    random_bar(w, 99, bar);
    product[0] = inner_outputs(w->nodes.along, bar, found, size) + 2.5 * *share;
    *size += fabs(2.5 * *share);
    to.dot.source = &to.source;
    to.dot.rotation = &to.rotation;
    kernels->adjoint(&w->nodes, &w->values, bar, &back);
    crystal_bar.share[w->name.mosaic] = 2.5;
    view_nodes_adjoint(&w->view, &w->frame, &w->name, &w->of, &w->nodes, &back,
                       &crystal_bar, &to.dot);
    view_close(&w->view, &crystal_bar, &to.dot);
    product[1] = phys_frame_inner(1, 1, &to.dot, &c->dot);
}

/* Writes the changes of the outputs by differences. */
static void true_change(const struct world *w, const struct frame_change *c,
                        double (*truth)[QUADS_NODES], double *share)
{
    const struct phys_frame *f = &w->frame;
    const struct quads_at at = places_of(w);
    const struct spot_name *n = &w->name;
    const struct quads_name name = {n->h,     n->k,    n->l, n->mosaic, n->layer,
                                    n->gauss, n->turn, n->x, n->y};
    double number[PHYS_NUMBERS] = {0};
    struct quads_frame frame = {number,
                                numbers_of(&f->broad),
                                numbers_of(&w->source),
                                w->orientation.axes,
                                numbers_of(&c->dot),
                                numbers_of(&c->dot.broad),
                                numbers_of(&c->source),
                                numbers_of(&c->rotation),
                                w->orientation.weight,
                                f->oversample};

#define FRAME_STRAIN(name, dimension, count, kind)
#define FRAME_NUMBER(name, dimension, count, kind)                                         \
    memcpy(number + PHYS_AT_##name, (const void *)&f->name, (count) * sizeof(double));
#include "physics/frame_tangent.def"
#undef FRAME_NUMBER
    quads_view_change(&frame, &name, &at, truth, share);
}

static int frames(void)
{
    const struct node_kernels *kernels = kernels_lanes("").nodes;
    static struct world w;

    for (size_t way = 0; way < COUNT(kinds); way++) {
        const int along = kinds[way].along;
        make_world(&w, along, kinds[way].line, kinds[way].star);
        evaluate(kernels, &w);
        for (int kind = 0; kind < 6; kind++) {
            struct worst changes = {0}, transposed = {0};
            const char *name = "";

            for (unsigned direction = 0; direction < 3; direction++) {
                double found[NODE_OUTPUTS][NODES], truth[NODE_OUTPUTS][QUADS_NODES];
                double product[2], share[2], size;
                struct frame_change c;

                frame_change_random(&w.frame.broad, 31 + direction, &c);
                name = frame_change_keep(kind, &c);
                take_through(kernels, &w, &c, found, share, product, &size);
                true_change(&w, &c, truth, share + 1);
                compare_outputs(&w, found, truth, &changes);
                worst_add(&changes, share[0], share[1], 1);
                worst_add(&transposed, product[1], product[0], size);
            }
            worst_check(&changes, 1e-10, "%s%s: changes by %s", ways[along],
                        kinds[way].more, name);
            worst_check(&transposed, 1e-12, "the adjoint against the tangent");
        }
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"form_slopes", form_slopes},
                                            {"form_changes", form_changes},
                                            {"nodes", nodes},
                                            {"frames", frames}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
