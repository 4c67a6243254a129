/*
 * test_emulated_adjoint.c - the sums over pixels of the GPU's kernels of derivatives, run
 * on the host block by block, compared with sums over the Jacobian by the CPU's
 * kernels: gradients, losses, normal matrices, structure factors. No order of blocks may
 * change a bit.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "emulation/jacobian_runs.h"
#include "image/target.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Of the sizes of a sum's terms: rounding of N h, which a slope of the lattice's sine
 * multiplies by some 100. Photons of a loss are the way's own, whose rounding is left out.
 * Measured: 5.0e-14 and 2.3e-6; 6.9e-15 and 1.7e-7; 7.2e-15 and 2.8e-7. */
static const double double_allowed = 1e-12, float_allowed = 4e-5;
static const double double_losses = 1e-13, float_losses = 3e-6;
static const double double_normal = 1e-13, float_normal = 5e-6;

static double *numbers(size_t n)
{
    double *p = calloc(n + 1, sizeof *p);

    if (!p) abort();
    return p;
}

/* ---- sums over pixels ---- */

/* numbers between -1 and 1 that repeat from run to run */
static double *draws(size_t n, uint32_t seed)
{
    double *out = numbers(n);

    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (double)seed / 2147483648.0 - 1;
    }
    return out;
}

/* a trial with pixels masked away */
static void make_masked(const char *name, uint8_t **mask, struct device_run *t)
{
    const nb_scene scene = scenes_named(SCENES_FEATURES, name);

    device_run_make(&scene, 1, t);
    *mask = calloc(t->pixels, 1);
    if (!*mask) abort();
    t->job.mask = *mask;
    for (size_t i = 0; i < t->pixels; i++) {
        (*mask)[i] = i % 7 != 3;
        if ((*mask)[i]) continue;
        t->photons[i] = 0;
        for (int d = 0; d < t->n; d++) t->change[(size_t)d * t->pixels + i] = 0;
    }
}

/* value and gradient of a run against sums of slope times the true changes. Of each sum,
 * the sizes of its terms may be off by `allowed` */
static struct worst worst_gradient(const struct device_run *t,
                                   const struct jacobian_way *way, double value,
                                   const double *slope, const double *found)
{
    struct worst worst = {0};

    worst_add(&worst, found[0], value, fabs(value));
    for (int d = 0; d < way->n; d++) {
        const double *change = t->change + (size_t)(way->first + d) * t->pixels;
        double sum = 0, size = 0;

        for (size_t i = 0; i < t->pixels; i++) {
            sum += slope[i] * change[i];
            size += fabs(slope[i]) * fabs(change[i]);
            size += fabs(slope[i]) * t->photons[i] * t->unit[way->first + d];
        }
        worst_add(&worst, found[1 + d], sum, size);
    }
    return worst;
}

/* all gradients of a trial with one end */
static struct worst worst_gradients(const struct device_run *t, struct jacobian_way way,
                                    const struct gpu_derivatives_parameters *end,
                                    double value, const double *slope)
{
    double found[1 + TANGENTS_MOST];
    struct worst worst = {0};

    for (way.first = 0; jacobian_next(t, &way) > 0; way.first += way.n) {
        struct gpu_derivatives_parameters p = jacobian_parameters(t, &way);
        struct worst one;

        p.end = end->end;
        p.cotangent = end->cotangent;
        p.target = end->target;
        jacobian_totals(t, &way, &p, found);
        one = worst_gradient(t, &way, value, slope, found);
        worst_join(&worst, &one);
    }
    return worst;
}

/* given cotangents: J^T bar */
static int gradients(void)
{
    struct named_scene named;

    for (size_t s = 0; scenes_at(SCENES_SUMS, s, &named); s++) {
        struct device_run t;
        uint8_t *mask;
        double *bar, value = 0;
        float *rounded;

        make_masked(named.name, &mask, &t);
        bar = draws(t.pixels, 5);
        rounded = calloc(t.pixels, sizeof *rounded);
        if (!rounded) abort();
        for (size_t i = 0; i < t.pixels; i++) {
            rounded[i] = (float)bar[i];
            bar[i] = (double)rounded[i];
            value += bar[i] * t.photons[i];
        }
        for (int single = 0; single < 2; single++) {
            const struct jacobian_way way = {single ? &derivative_kernels_single
                                                    : &derivative_kernels_double,
                                             JACOBIAN_OF_FEW,
                                             1,
                                             0,
                                             0,
                                             0,
                                             0};
            const double allowed = single ? float_allowed : double_allowed;
            struct gpu_derivatives_parameters end = {.end = REDUCE_COTANGENT};
            struct worst worst;

            end.cotangent.wide = single ? NULL : bar;
            end.cotangent.single = single ? rounded : NULL;
            worst = worst_gradients(&t, way, &end, value, bar);
            worst_check(&worst, allowed, "%s, %s, of its terms", named.name,
                        single ? "float" : "double");
        }
        free(rounded);
        free(bar);
        free(mask);
        device_run_drop(&t);
    }
    return TAP_PASS;
}

/* totals are numbered as the members of a slope */
static int order_of_numbers(void)
{
    enum { NUMBER = sizeof(double) };
#define AT(member)                                                                         \
    (SUM_NUMBERS + (int)(offsetof(struct phys_frame_tangent, member) / sizeof(double)))
    static const int numbers_at[][2] = {
#define FRAME_NUMBER(name, dimension, count, kind)                                         \
    {SUM_NUMBERS + PHYS_AT_##name, AT(name)},                                              \
        {SUM_NUMBERS + PHYS_LAST_##name + 1,                                               \
         AT(name) + (int)(sizeof((struct phys_frame_tangent *)0)->name / NUMBER)},
#include "physics/frame_tangent.def"
#undef FRAME_NUMBER
        {SUM_LIST, AT(broad)},
    };
#undef AT
    int wrong = 0;

    for (size_t i = 0; i < sizeof numbers_at / sizeof *numbers_at; i++)
        wrong += numbers_at[i][0] != numbers_at[i][1];
    tap_check(wrong == 0, "%d of %d numbers lie elsewhere", wrong, PHYS_NUMBERS);
    return TAP_PASS;
}

/* ---- losses ---- */

static struct gpu_target target_of(const nb_target *target, const double *observed,
                                   const double *weight)
{
    struct gpu_target t = {0};

    t.model = target_model(target);
    t.observed.wide = observed;
    t.weight.wide = weight;
    return t;
}

/* photons of a way, whose rounding is not the loss's fault */
static double *own_photons(const struct device_run *t, struct jacobian_way way)
{
    double *photons = numbers(t->pixels),
           *change = numbers((size_t)TANGENTS_MOST * t->pixels);

    way.first = t->turning;
    way.n = 1;
    jacobian_changes(t, &way, photons, change);
    free(change);
    return photons;
}

static void check_loss(const struct device_run *t, int single, const nb_target *target,
                       const double *observed, const double *weight)
{
    const struct jacobian_way way = {single ? &derivative_kernels_single
                                            : &derivative_kernels_double,
                                     JACOBIAN_OF_FEW,
                                     1,
                                     0,
                                     0,
                                     0,
                                     0};
    const double allowed = single ? float_losses : double_losses;
    struct gpu_derivatives_parameters end = {.end = REDUCE_LOSS};
    double *photons = own_photons(t, way), *slope = numbers(t->pixels), value = 0;
    struct worst worst;

    for (size_t i = 0; i < t->pixels; i++) {
        struct phys_loss loss;

        if (!t->job.mask[i]) continue;
        loss = phys_loss(target_model(target), photons[i], observed[i],
                         weight ? weight[i] : 1);
        value += loss.value;
        slope[i] = loss.slope;
    }
    end.target = target_of(target, observed, weight);
    worst = worst_gradients(t, way, &end, value, slope);
    worst_check(&worst, allowed, "loss %d%s, %s, of its terms", target->kind,
                weight ? " weighted" : "", single ? "float" : "double");
    free(photons);
    free(slope);
}

static int losses(void)
{
    struct device_run t;
    uint8_t *mask;
    double *observed, *weight;

    make_masked("square_nearest", &mask, &t);
    observed = draws(t.pixels, 11);
    weight = draws(t.pixels, 12);
    for (size_t i = 0; i < t.pixels; i++) {
        observed[i] = i % 5 ? t.photons[i] * (1 + 0.3 * observed[i]) : 0;
        weight[i] = i % 11 ? 1 + 0.5 * weight[i] : 0;
    }
    for (int kind = NB_GAUSSIAN; kind <= NB_CAUCHY; kind++)
        for (int way = 0; way < 4; way++) {
            const nb_target target = {.kind = kind,
                                      .sigma_readout = 0.02 * t.peak,
                                      .gain = 1.7,
                                      .delta = 0.01 * t.peak};

            check_loss(&t, way / 2, &target, observed, way % 2 ? weight : NULL);
        }
    free(observed);
    free(weight);
    free(mask);
    device_run_drop(&t);
    return TAP_PASS;
}

/* ---- normal matrices ---- */

/* number of the matrix's row and column, of given slopes and curvatures */
static struct worst worst_normal(const struct device_run *t, const struct jacobian_way *way,
                                 double value, const double *slope, const double *curvature,
                                 const double *found)
{
    struct worst worst = worst_gradient(t, way, value, slope, found);
    const double *matrix = found + 1 + way->n;

    for (int i = 0; i < way->n; i++)
        for (int j = 0; j <= i; j++, matrix++) {
            const double *a = t->change + (size_t)(way->first + i) * t->pixels;
            const double *b = t->change + (size_t)(way->first + j) * t->pixels;
            const double unit = t->unit[way->first + i] * t->unit[way->first + j];
            double sum = 0, size = 0;

            for (size_t k = 0; k < t->pixels; k++) {
                sum += curvature[k] * a[k] * b[k];
                size += fabs(curvature[k] * a[k] * b[k])
                        + curvature[k] * t->photons[k] * t->photons[k] * unit;
            }
            worst_add(&worst, *matrix, sum, size);
        }
    return worst;
}

static void check_normal(const struct device_run *t, int single, int end,
                         const double *observed, const double *weight)
{
    enum { LENGTH = 1 + TANGENTS_MOST + TANGENTS_MOST * (TANGENTS_MOST + 1) / 2 };
    const nb_target target = {.kind = NB_POISSON_READOUT,
                              .sigma_readout = 0.02 * t->peak,
                              .gain = 1.7};
    const double allowed = single ? float_normal : double_normal;
    struct jacobian_way way = {single ? &derivative_kernels_single
                                      : &derivative_kernels_double,
                               JACOBIAN_OF_FEW,
                               1,
                               0,
                               0,
                               0,
                               0};
    double *photons = own_photons(t, way), *slope = numbers(t->pixels);
    double *curvature = numbers(t->pixels), found[LENGTH], value = 0;
    struct worst worst = {0};

    for (size_t i = 0; i < t->pixels; i++) {
        const struct phys_loss loss =
            phys_loss(target_model(&target), photons[i], observed[i], weight[i]);

        if (!t->job.mask[i]) continue;
        if (end == REDUCE_NORMAL) value += loss.value;
        slope[i] = end == REDUCE_NORMAL ? loss.slope : weight[i] * observed[i];
        curvature[i] = end == REDUCE_NORMAL ? loss.curvature : weight[i];
    }
    for (way.first = 0; jacobian_next(t, &way) > 0; way.first += way.n) {
        struct gpu_derivatives_parameters p = jacobian_parameters(t, &way);
        struct worst one;

        p.end = end;
        p.target = target_of(&target, observed, weight);
        jacobian_totals(t, &way, &p, found);
        one = worst_normal(t, &way, value, slope, curvature, found);
        worst_join(&worst, &one);
    }
    worst_check(&worst, allowed, "%s, %s, of its terms",
                end == REDUCE_NORMAL ? "a loss" : "squares", single ? "float" : "double");
    free(photons);
    free(slope);
    free(curvature);
}

static int normal_matrices(void)
{
    struct device_run t;
    uint8_t *mask;
    double *observed, *weight;

    make_masked("square_nearest", &mask, &t);
    observed = draws(t.pixels, 21);
    weight = draws(t.pixels, 22);
    for (size_t i = 0; i < t.pixels; i++) {
        observed[i] = t.photons[i] * (1 + 0.3 * observed[i]);
        weight[i] = 1 + 0.5 * weight[i];
    }
    for (int single = 0; single < 2; single++) {
        check_normal(&t, single, REDUCE_NORMAL, observed, weight);
        check_normal(&t, single, REDUCE_SQUARES, observed, weight);
    }
    free(observed);
    free(weight);
    free(mask);
    device_run_drop(&t);
    return TAP_PASS;
}

/* ---- structure factors ---- */

static int structure_factors(void)
{
    struct named_scene named;

    for (size_t s = 0; scenes_at(SCENES_FACTORS, s, &named); s++) {
        struct device_run t;
        uint8_t *mask;
        double *bar, *truth, *found, most;

        make_masked(named.name, &mask, &t);
        bar = draws(t.pixels, 41);
        truth = numbers(jacobian_places(&t));
        found = numbers(jacobian_places(&t));
        jacobian_f_truth(&t, bar, truth);
        most = worst_largest(truth, jacobian_places(&t));
        for (int way_of = 0; way_of < 3; way_of++) {
            const int single = way_of > 0;
            const struct jacobian_way way = {single ? &derivative_kernels_single
                                                    : &derivative_kernels_double,
                                             JACOBIAN_OF_FEW,
                                             1,
                                             0,
                                             0,
                                             way_of == 2,
                                             0};
            /* a unit of 1e-16 of the peak, and rounding: 9e-7 and 7.2e-13 are measured */
            const double allowed = single ? 1e-5 : 1e-11;
            double *again = numbers(jacobian_places(&t));
            struct worst worst = {0};

            jacobian_f(&t, &way, bar, again);
            if (way_of == 2)
                tap_check(bits_same(again, found, jacobian_places(&t)),
                          "%s: backwards, the same bits", named.name);
            memcpy(found, again, jacobian_places(&t) * sizeof *found);
            worst_add_all(&worst, found, truth, jacobian_places(&t), most);
            worst_check(&worst, allowed, "%s, %s, of the largest", named.name,
                        single ? "float" : "double");
            free(again);
        }
        free(bar);
        free(truth);
        free(found);
        free(mask);
        device_run_drop(&t);
    }
    return TAP_PASS;
}

/* ---- bits ---- */

/* blocks in another order, and tiles shared among launches */
static int same_bits(void)
{
    struct device_run t;
    uint8_t *mask;
    double *bar;

    make_masked("each_factor", &mask, &t);
    bar = draws(t.pixels, 31);
    for (int single = 0; single < 2; single++) {
        struct jacobian_way way = {single ? &derivative_kernels_single
                                          : &derivative_kernels_double,
                                   JACOBIAN_OF_FEW,
                                   1,
                                   0,
                                   0,
                                   0,
                                   0};
        double one[1 + TANGENTS_MOST], other[1 + TANGENTS_MOST];
        struct gpu_derivatives_parameters p;

        (void)jacobian_next(&t, &way);
        p = jacobian_parameters(&t, &way);
        p.end = REDUCE_COTANGENT;
        p.cotangent.wide = bar;
        jacobian_totals(&t, &way, &p, one);
        way.reversed = 1;
        way.strips = 3;
        jacobian_totals(&t, &way, &p, other);
        tap_check(bits_same(one, other, 1 + (size_t)way.n),
                  "%s: backwards and in three bands, the same bits",
                  single ? "float" : "double");
    }
    free(bar);
    free(mask);
    device_run_drop(&t);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"order_of_numbers", order_of_numbers},
        {"gradients", gradients},
        {"losses", losses},
        {"normal_matrices", normal_matrices},
        {"structure_factors", structure_factors},
        {"same_bits", same_bits},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
