/*
 * test_jacobian.c - nb_jvp() by lanes and by spots compared with the reference kernel;
 * rows, columns, directions and threads must not change it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "simulator.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { MOST_NAME = 4000 };

static void *numbers(size_t n)
{
    void *p = calloc(n + 1, sizeof(double));

    if (!p) abort();
    return p;
}

static size_t pixels_of(const nb_scene *s)
{
    return (size_t)s->detector.nslow * (size_t)s->detector.nfast;
}

/* columns of the Jacobian */
struct jacobian {
    size_t n, pixels;
    int listed; /* 1: from the listed spots of each tile */
    double *column; /* (n x pixels) */
    double *size; /* (n) of the image's peak over the scale of a parameter */
    char (*name)[64];
};

/* as many at a time as asked for */
static struct jacobian jacobian_of(const nb_scene *s, const char *names, int precision,
                                   int strategy, double tolerance, int threads, int at_once)
{
    const nb_options options = {precision, strategy, tolerance};
    nb_context *ctx = renders_context(threads);
    nb_simulator *sim;
    struct jacobian j = {.pixels = pixels_of(s)};
    nb_array *image;
    double *dx, peak = 0;

    if (nb_simulator_create(ctx, s, names, &options, &sim) != NB_OK) {
        (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
        abort();
    }
    j.n = nb_simulator_nparam(sim);
    j.column = numbers(j.n * j.pixels);
    j.name = calloc(j.n + 1, sizeof *j.name);
    image = calloc(j.n + 1, sizeof *image);
    dx = numbers(j.n * j.n);
    j.size = numbers(j.n);
    if (!j.name || !image) abort();
    image[0] = nb_array_f64(j.column, s->detector.nslow, s->detector.nfast);
    if (nb_forward(sim, NULL, image) != NB_OK) abort();
    for (size_t i = 0; i < j.pixels; i++) peak = fmax(peak, j.column[i]);
    for (size_t i = 0; i < j.n; i++) {
        nb_param param;

        if (nb_simulator_param(sim, i, &param) != NB_OK) abort();
        (void)snprintf(j.name[i], sizeof j.name[i], "%s", param.name);
        image[i] =
            nb_array_f64(j.column + i * j.pixels, s->detector.nslow, s->detector.nfast);
        dx[i * j.n + i] = 1;
        j.size[i] = peak / param.scale;
    }
    for (size_t i = 0; i < j.n; i += (size_t)at_once) {
        const int n = j.n - i < (size_t)at_once ? (int)(j.n - i) : at_once;

        if (nb_jvp(sim, NULL, n, dx + i * j.n, image + i) != NB_OK) {
            (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
            abort();
        }
    }
    free(dx);
    free(image);
    j.listed = sim->spots->nrows > 0;
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return j;
}

static void drop(struct jacobian *j)
{
    free(j->column);
    free(j->size);
    free(j->name);
}

/* the worst difference of two columns, over the largest number of the second or, of one
 * that holds tails only, what the image is by */
static struct worst worst_of(const struct jacobian *a, const struct jacobian *b)
{
    struct worst worst = {0};

    if (a->n != b->n) worst_fail(&worst);
    for (size_t p = 0; p < a->n && a->n == b->n; p++) {
        const double *x = a->column + p * a->pixels, *y = b->column + p * a->pixels;

        worst_add_all(&worst, x, y, a->pixels,
                      fmax(b->size[p], worst_largest(y, a->pixels)));
    }
    return worst;
}

/* of the parameter whose column is worst */
static const char *name_of(const struct jacobian *j, const struct worst *worst)
{
    const size_t p = worst->at / j->pixels;

    return p < j->n ? j->name[p] : "none";
}

/* all parameters but structure factors, and some of these */
static const char *names_of(const nb_scene *s, char *names)
{
    size_t used = (size_t)snprintf(names, MOST_NAME, "*");

    for (int h = -3; s->crystal.hkl && h <= 3; h++)
        for (int k = -2; k <= 2; k++) {
            nb_context *ctx = renders_context(1);
            nb_simulator *sim;
            const int more =
                snprintf(names + used, MOST_NAME - used, " F[%d,%d,%d]", h, k, (h + k) % 4);

            if (nb_simulator_create(ctx, s, names, NULL, &sim) == NB_OK) {
                used += (size_t)more;
                nb_simulator_free(sim);
            }
            names[used] = 0; /* not listed, or an equivalent of another */
            nb_context_free(ctx);
        }
    return names;
}

static nb_scene differentiable(nb_scene s)
{
    if (s.detector.curved) s.quirks &= ~(unsigned)NB_QUIRK_CURVED; /* has no derivative */
    return s;
}

/* every named scene, all parameters */
static struct worst worst_by(int precision, double allowed)
{
    struct worst all = {0};
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        const nb_scene s = differentiable(named.scene);
        char names[MOST_NAME];
        struct jacobian truth, found;
        struct worst worst;

        (void)names_of(&s, names);
        truth = jacobian_of(&s, names, NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0, 2, 8);
        found = jacobian_of(&s, names, precision, NB_STRATEGY_LANES, 0, 2, 100);
        worst = worst_of(&found, &truth);
        worst_check(&worst, allowed, "%s: %zu columns, of their largest, %s", named.name,
                    found.n, name_of(&found, &worst));
        tap_check(found.n > 20, "%zu columns", found.n);
        worst_join(&all, &worst);
        drop(&truth);
        drop(&found);
    }
    return all;
}

static int lanes_as_reference(void)
{
    /* rounding of N h, some 100 periods, in the slope of a sine: 3.6e-14 measured */
    (void)worst_by(NB_PRECISION_DOUBLE, 6e-13);
    return TAP_PASS;
}

static int float_lanes(void)
{
    const struct worst worst = worst_by(NB_PRECISION_SINGLE, 5e-5); /* 4.6e-6 measured */

    tap_check(worst.error > 1e-8, "float was used: %.1e off, more than 1e-8 expected",
              worst.error);
    return TAP_PASS;
}

/* Scenes of a crystal with local spots, in turn with the two shapes. A pair that does not
 * reach a cell of a tile is passed over: the columns lack what the image may lack. */
static int spots_as_lanes(void)
{
    static const double tolerances[] = {1e-14, 1e-6};
    int apart = 0;
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        nb_scene s = differentiable(named.scene);
        char names[MOST_NAME];
        struct jacobian truth;

        s.crystal.shape = i % 2 ? NB_SHAPE_TOPHAT : NB_SHAPE_GAUSS;
        for (int k = 0; k < 3; k++) s.crystal.ncells[k] *= 4;
        (void)names_of(&s, names);
        truth = jacobian_of(&s, names, NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0, 2, 100);
        for (size_t t = 0; t < 2; t++) {
            struct jacobian found = jacobian_of(&s, names, NB_PRECISION_DOUBLE,
                                                NB_STRATEGY_SPOTS, tolerances[t], 2, 100);
            const struct worst worst = worst_of(&found, &truth);

            /* rounding of N h; a pair that is passed over is small in its slope
             * too: 3.2e-13 and 1.9e-9 are measured */
            worst_check(&worst, 5e-12 + tolerances[t] / 30, "%s to %g: of its largest, %s",
                        named.name, tolerances[t], name_of(&found, &worst));
            apart += worst.error > 1e-12;
            drop(&found);
        }
        {
            struct jacobian found =
                jacobian_of(&s, names, NB_PRECISION_SINGLE, NB_STRATEGY_SPOTS, 0, 2, 100);
            const struct worst worst = worst_of(&found, &truth);

            /* rounding of a spot's profile in float: 2.0e-7 measured */
            worst_check(&worst, 4e-6, "%s in float: of its largest, %s", named.name,
                        name_of(&found, &worst));
            drop(&found);
        }
        drop(&truth);
    }
    tap_check(apart > 0, "something was passed over: columns differ in %d scenes", apart);
    return TAP_PASS;
}

/* Each shape of which the spots strategy lists the spots of every tile, for F of a list and
 * of one number, and one of several samples to a pixel: the rows are those of the reference
 * and have the same bits on any number of threads. */
static int rows_of_shapes(void)
{
    static const int shapes[] = {NB_SHAPE_GAUSS, NB_SHAPE_GAUSS_STAR, NB_SHAPE_ROUND,
                                 NB_SHAPE_TOPHAT};
    static const char *const shape_names[] = {"gauss", "gauss_star", "round", "tophat"};
    static const char *const scenes[] = {"gauss_constant", "gauss_nearest", "rotated"};

    for (int i = 0; i < 12; i++) {
        const int shape = i / 3;
        nb_scene s = scenes_named(SCENES_FEATURES, scenes[i % 3]);
        char names[MOST_NAME];
        struct jacobian truth, found, more;
        struct worst worst;

        s.crystal.shape = shapes[shape];
        for (int k = 0; k < 3; k++) s.crystal.ncells[k] *= 4;
        (void)names_of(&s, names);
        truth = jacobian_of(&s, names, NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0, 2, 8);
        found =
            jacobian_of(&s, names, NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 1e-14, 1, 100);
        more =
            jacobian_of(&s, names, NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 1e-14, 3, 100);
        worst = worst_of(&found, &truth);
        /* rounding of N h: 9.8e-14 measured */
        worst_check(&worst, 2e-12, "%s, %s: %zu columns, of their largest, %s",
                    shape_names[shape], scenes[i % 3], found.n, name_of(&found, &worst));
        tap_check(found.listed && !truth.listed, "its rows come from listed spots");
        tap_check(bits_same(more.column, found.column, found.n * found.pixels),
                  "the same bits on three threads");
        drop(&truth), drop(&found), drop(&more);
    }
    return TAP_PASS;
}

/* directions share a pass: bits are those of one after the other, on any number of
 * threads */
static int same_bits(void)
{
    static const struct {
        const char *name;
        int strategy;
    } scenes[] = {{"base", NB_STRATEGY_LANES},
                  {"square_tricubic", NB_STRATEGY_LANES},
                  {"gauss_constant", NB_STRATEGY_LANES},
                  {"gauss_constant", NB_STRATEGY_SPOTS},
                  {"weighted_domains", NB_STRATEGY_SPOTS},
                  {"rotated", NB_STRATEGY_SPOTS}};

    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
        const int strategy = scenes[k].strategy;
        nb_scene s = scenes_named(SCENES_FEATURES, scenes[k].name);
        struct jacobian one;

        if (strategy == NB_STRATEGY_SPOTS) {
            s.crystal.shape = NB_SHAPE_GAUSS;
            for (int i = 0; i < 3; i++) s.crystal.ncells[i] *= 4;
        }
        one = jacobian_of(&s, "*", NB_PRECISION_DOUBLE, strategy, 0, 1, 1);
        for (int threads = 1; threads <= 3; threads++) {
            struct jacobian all =
                jacobian_of(&s, "*", NB_PRECISION_DOUBLE, strategy, 0, threads, 100);

            tap_check(all.n > 16 && bits_same(all.column, one.column, all.n * all.pixels),
                      "%s: %zu directions at once on %d threads, the bits of one by one",
                      scenes[k].name, all.n, threads);
            drop(&all);
        }
        drop(&one);
    }
    return TAP_PASS;
}

/* ---- many structure factors ---- */

/* reflections of a box, and a detector whose tiles see hundreds of them */
static nb_scene crowded(nb_context *ctx, int size, nb_hkl **hkl)
{
    const size_t n = 2 * (size_t)size + 1;
    int *index = calloc(n * n * n, 3 * sizeof *index);
    double *f = numbers(n * n * n);
    nb_scene s = scenes_base();
    size_t count = 0;

    if (!index) abort();
    for (int h = -size; h <= size; h++)
        for (int k = -size; k <= size; k++)
            for (int l = -size; l <= size; l++, count++) {
                index[3 * count] = h;
                index[3 * count + 1] = k;
                index[3 * count + 2] = l;
                f[count] = 20 + (h * h + 3 * k + 7 * l) % 11;
            }
    if (nb_hkl_create(ctx, count, index, f, hkl) != NB_OK) abort();
    free(index);
    free(f);
    s.crystal.hkl = *hkl;
    s.crystal.default_f = 3;
    for (int i = 0; i < 3; i++) s.crystal.cell[i] *= 4;
    s.detector.pixel *= 8;
    return s;
}

/* the change along all structure factors at once, by lanes and by the reference */
static int many_columns(void)
{
    nb_context *ctx = renders_context(2);
    nb_hkl *hkl;
    nb_scene s = crowded(ctx, 12, &hkl);

    for (int lookup = NB_LOOKUP_NEAREST; lookup <= NB_LOOKUP_TRICUBIC; lookup++) {
        struct worst worst = {0};
        double *change[2], most;
        size_t n = 0;

        s.crystal.interpolate = lookup;
        for (int way = 0; way < 2; way++) {
            const nb_options options = {NB_PRECISION_DOUBLE,
                                        way ? NB_STRATEGY_LANES : NB_STRATEGY_REFERENCE, 0};
            nb_simulator *sim;
            nb_array image;
            double *dx;

            if (nb_simulator_create(ctx, &s, "F[*] default_f cell", &options, &sim))
                abort();
            n = nb_simulator_nparam(sim);
            dx = numbers(n);
            change[way] = numbers(pixels_of(&s));
            image = nb_array_f64(change[way], s.detector.nslow, s.detector.nfast);
            for (size_t i = 0; i < n; i++) dx[i] = cos(1.7 * (double)i);
            if (nb_jvp(sim, NULL, 1, dx, &image) != NB_OK) abort();
            free(dx);
            nb_simulator_free(sim);
        }
        most = worst_largest(change[0], pixels_of(&s));
        worst_add_all(&worst, change[1], change[0], pixels_of(&s), most);
        /* the sum of some 15000 columns: 2.7e-13 measured */
        worst_check(&worst, 5e-12, "%s, %zu parameters, of the largest",
                    lookup == NB_LOOKUP_TRICUBIC ? "tricubic" : "nearest", n);
        tap_check(most > 0, "the largest is %g", most);
        free(change[0]);
        free(change[1]);
    }
    nb_hkl_free(hkl);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- where it goes ---- */

/* float32 with a stride, a mask and a ROI: the numbers of a dense image, rounded, and 0
 * elsewhere */
static int into_any_array(void)
{
    enum { FAST = 40, SLOW = 37, STEP = 3 };
    static float sparse[SLOW * FAST * STEP];
    static double dense[SLOW * FAST];
    static uint8_t mask[SLOW * FAST];
    nb_context *ctx = renders_context(1);
    nb_scene s = scenes_base();
    nb_array image = {0}, whole = nb_array_f64(dense, SLOW, FAST);
    nb_simulator *sim;
    const double one = 1;
    int wrong = 0, dark = 0;

    for (int i = 0; i < SLOW * FAST; i++) mask[i] = i % 11 != 4;
    for (int i = 0; i < SLOW * FAST * STEP; i++) sparse[i] = 7;
    s.detector.mask = mask;
    s.detector.roi[0] = 5, s.detector.roi[1] = 38;
    s.detector.roi[2] = 3, s.detector.roi[3] = 30;
    image = whole;
    image.data = sparse;
    image.bits = 32;
    image.stride[0] = (int64_t)FAST * STEP;
    image.stride[1] = STEP;
    if (nb_simulator_create(ctx, &s, "distance", NULL, &sim) != NB_OK) abort();
    tap_check(nb_jvp(sim, NULL, 1, &one, &whole) == NB_OK, "dense");
    tap_check(nb_jvp(sim, NULL, 1, &one, &image) == NB_OK, "float32 with a stride: %s",
              nb_context_message(ctx));
    for (int i = 0; i < SLOW * FAST; i++) {
        const int f = i % FAST, slow = i / FAST;
        const int shown = f >= 5 && f < 38 && slow >= 3 && slow < 30 && mask[i];

        wrong += sparse[(size_t)i * STEP] != (float)dense[i];
        wrong += sparse[(size_t)i * STEP + 1] != 7;
        wrong += !shown && dense[i] != 0;
        dark += dense[i] == 0;
    }
    tap_check(wrong == 0 && dark < SLOW * FAST / 2, "%d wrong, %d of %d dark", wrong, dark,
              SLOW * FAST);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- progress ---- */

struct told {
    double last;
    int calls, back, stop_at; /* stop_at: the call that asks to stop; 0: none */
};

static int tell(void *user, double fraction)
{
    struct told *t = user;

    t->back += fraction < t->last || fraction > 1;
    t->last = fraction;
    return ++t->calls == t->stop_at;
}

/* every call that makes several passes is told as one, and stops when it is asked to */
static void check_progress(const char *name, const char *names)
{
    static const char *const calls[] = {"nb_jvp", "nb_jvp into float32", "nb_vjp", "nb_jtj",
                                        "nb_loss"};
    enum { CALLS = 5 };
    const nb_scene s = differentiable(scenes_named(SCENES_FEATURES, name));
    nb_context_options options = {0};
    struct told told = {0};
    nb_context *ctx;
    nb_simulator *sim;
    double *dx, *bar_x, *image = numbers(pixels_of(&s)), value;
    nb_array *dense, *narrow, two[2];
    nb_normal normal = {0};
    size_t n, d;

    options.threads = 1;
    options.progress = tell;
    options.user = &told;
    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK
        || nb_simulator_create(ctx, &s, names, NULL, &sim) != NB_OK)
        abort();
    n = nb_simulator_nparam(sim), d = nb_simulator_ndense(sim);
    dx = numbers(n * n);
    bar_x = numbers(2 * n);
    normal.matrix = numbers(d * d);
    normal.gradient = numbers(n);
    dense = calloc(n, sizeof *dense);
    narrow = calloc(n, sizeof *narrow);
    if (!dense || !narrow) abort();
    for (size_t i = 0; i < n; i++) {
        dx[i * n + i] = 1; /* all into one image: only what is told counts */
        dense[i] = nb_array_f64(image, s.detector.nslow, s.detector.nfast);
        narrow[i] = dense[i];
        narrow[i].bits = 32;
    }
    two[0] = two[1] = dense[0];
    for (int call = 0; call < CALLS; call++)
        for (int stop = 0; stop < 2; stop++) {
            const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = two};
            const int whole = told.calls;
            nb_status status = NB_OK;
            double most = 0;

            told = (struct told){0};
            told.stop_at = stop ? whole * 3 / 4 : 0;
            memset(normal.matrix, 0, d * d * sizeof(double));
            memset(normal.gradient, 0, n * sizeof(double));
            memset(image, 0, pixels_of(&s) * sizeof(double));
            if (call < 2)
                status = nb_jvp(sim, NULL, (int)n, dx, call ? narrow : dense);
            else if (call == 2)
                status = nb_vjp(sim, NULL, 2, two, bar_x);
            else if (call == 3)
                status = nb_jtj(sim, NULL, NULL, two, &normal);
            else
                status = nb_loss(sim, NULL, &target, &value, &normal);
            for (size_t i = 0; i < d * d; i++) most = fmax(most, fabs(normal.matrix[i]));
            tap_check(told.back == 0 && told.calls > 3, "%s, %s: told %d times, %d back",
                      name, calls[call], told.calls, told.back);
            if (stop)
                tap_check(status == NB_ERR_CANCELLED && most == 0,
                          "%s stops, and adds nothing", calls[call]);
            else
                tap_check(status == NB_OK && told.last == 1, "%s ends at %g", calls[call],
                          told.last);
        }
    free(dx), free(bar_x), free(image), free(dense), free(narrow);
    free(normal.matrix), free(normal.gradient);
    nb_simulator_free(sim);
    nb_context_free(ctx);
}

static int progress_of_passes(void)
{
    check_progress("base", "*");
    check_progress("point_spread", "*");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"lanes_as_reference", lanes_as_reference},
        {"float_lanes", float_lanes},
        {"spots_as_lanes", spots_as_lanes},
        {"rows_of_shapes", rows_of_shapes},
        {"same_bits", same_bits},
        {"many_columns", many_columns},
        {"into_any_array", into_any_array},
        {"progress_of_passes", progress_of_passes},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
