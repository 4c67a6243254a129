/*
 * test_gpu_derivatives.c - the host side of derivatives on a device
 * (gpu/derivatives/derivatives.h), whose kernels emulation/fakes/fake_nvrtc.c builds and an
 * emulated device runs: sums, normal matrices, tangents and structure factors compared with
 * the CPU's kernels; strips, passes, recordings; and every failure.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "emulation/emulated.h"
#include "gpu/derivatives_subject.h"
#include "gpu/text/derivatives/derivatives_parameters.h"
#include "image/target.h"
#include "support/files.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* What may be off, of the sizes of a sum's terms or of the largest change: rounding of N h,
 * which a slope of the lattice's sine multiplies by some 100, in double and in float. Sums
 * over pixels average it, but where the terms of few pixels cancel: each has its own. */
struct allowed {
    double wide, single; /* measured: */
};
static const struct allowed gradients_allowed = {1e-12, 4e-5}, /* 5.1e-14, 2.3e-6 */
    losses_allowed = {6e-13, 7e-6}, /* 3.4e-14, 3.9e-7 */
    normal_allowed = {6e-13, 5e-6}, /* 3.1e-14, 2.8e-7 */
    changes_allowed = {5e-13, 1e-5}; /* 2.9e-14, 6.8e-7 */

static double allowed_in(int single, const struct allowed *allowed)
{
    return single ? allowed->single : allowed->wide;
}

static const char *precision_name(int single)
{
    return single ? "float" : "double";
}

/* ---- sums over pixels ---- */

/* of each sum, the sizes of its terms may be off by so much */
static struct worst worst_gradient(const struct subject *s, double value,
                                   const double *slope, const struct results *found)
{
    const struct device_run *t = &s->t;
    struct worst worst = {0};

    worst_add(&worst, found->sums.value, value, fabs(value));
    for (int d = 0; d < s->n; d++) {
        const double *change = t->change + (size_t)(s->first + d) * t->pixels;
        double sum = 0, size = 0;

        for (size_t i = 0; i < t->pixels; i++) {
            sum += slope[i] * change[i];
            size += fabs(slope[i] * change[i])
                    + fabs(slope[i]) * t->photons[i] * t->unit[s->first + d];
        }
        worst_add(&worst, found->gradient[d], sum, size);
    }
    return worst;
}

static void check_pull(const char *name, int single, int most_turning)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct results r;
    struct worst worst;
    double value = 0;

    subject_open(name, most_turning, &s);
    request = objective_of(&s);
    r = results_make(&s, &request, 0);
    for (size_t i = 0; i < s.t.pixels; i++) value += s.bar[i] * s.t.photons[i];
    run_well(&s, single, &request, &r);
    worst = worst_gradient(&s, value, s.bar, &r);
    worst_check(&worst, allowed_in(single, &gradients_allowed),
                "%s in %s: %d tangents, %d turn, of its terms", name,
                precision_name(single), s.n, s.turning);
    results_drop(&s, &r);
    subject_close(&s);
}

static int gradients(void)
{
    struct named_scene named;

    begin_anew();
    for (int single = 0; single < 2; single++) {
        const int turning = single ? 4 : 100;

        for (size_t i = 0; scenes_at(SCENES_SUMS, i, &named); i++)
            check_pull(named.name, single, turning);
        check_pull("round_tricubic", single, turning);
        check_pull("gauss_nearest", single, turning);
    }
    check_pull("square_nearest", 1, 100);
    check_pull("gauss_tricubic", 1, 100);
    return TAP_PASS;
}

/* ---- losses ---- */

static void check_loss(struct subject *s, int single, const nb_target *target,
                       const double *observed, const double *weight)
{
    const double allowed = allowed_in(single, &losses_allowed);
    struct gpu_derivatives_job request = objective_of(s);
    struct results r = results_make(s, &request, 0);
    double *slope = numbers(s->t.pixels), value = 0;
    struct worst worst;
    nb_target full = *target;

    full.gain = target->gain == 0 ? 1 : target->gain;
    full.delta = target->delta == 0 ? 1 : target->delta;
    for (size_t i = 0; i < s->t.pixels; i++) {
        struct phys_loss loss;

        if (!s->mask[i]) continue;
        loss = phys_loss(target_model(&full), s->t.photons[i], observed[i],
                         weight ? weight[i] : 1);
        value += loss.value;
        slope[i] = loss.slope;
    }
    request.end = REDUCE_LOSS;
    request.target.model = target_model(target);
    request.target.observed = host_image(s, observed);
    if (weight) request.target.weight = host_image(s, weight);
    run_well(s, single, &request, &r);
    worst = worst_gradient(s, value, slope, &r);
    worst_check(&worst, allowed, "loss %d%s in %s, of its terms", target->kind,
                weight ? " weighted" : "", precision_name(single));
    free(slope);
    results_drop(s, &r);
}

/* what defaults stand for is filled in */
static int losses(void)
{
    struct subject s;
    double *observed, *weight;

    begin_anew();
    subject_open("square_nearest", 4, &s);
    observed = draws(s.t.pixels, 11);
    weight = draws(s.t.pixels, 12);
    for (size_t i = 0; i < s.t.pixels; i++) {
        observed[i] = i % 5 ? s.t.photons[i] * (1 + 0.3 * observed[i]) : 0;
        weight[i] = i % 11 ? 1 + 0.5 * weight[i] : 0;
    }
    for (int kind = NB_GAUSSIAN; kind <= NB_CAUCHY; kind++)
        for (int way = 0; way < 4; way++) {
            /* a narrow one changes fast with the photons that float rounds */
            const double width = (kind == NB_CAUCHY ? 0.1 : 0.01) * s.t.peak;
            const nb_target target = {.kind = kind,
                                      .sigma_readout = 0.02 * s.t.peak,
                                      .gain = way % 2 ? 1.7 : 0,
                                      .delta = way % 2 || kind == NB_CAUCHY ? width : 0,
                                      .saturation = way == 1 ? 0.5 * s.t.peak : 0};

            /* slopes of a loss change fast with the photons that float rounds */
            if (way / 2 && kind == NB_HUBER) continue;
            check_loss(&s, way / 2, &target, observed, way % 2 ? weight : NULL);
        }
    free(observed);
    free(weight);
    subject_close(&s);
    return TAP_PASS;
}

/* ---- normal matrices ---- */

static struct worst worst_normal(const struct subject *s, int n, const double *curvature,
                                 const struct results *found)
{
    const struct device_run *t = &s->t;
    struct worst worst = {0};

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double *a = t->change + (size_t)(s->first + i) * t->pixels;
            const double *b = t->change + (size_t)(s->first + j) * t->pixels;
            const double unit = t->unit[s->first + i] * t->unit[s->first + j];
            const double got = found->matrix[(size_t)i * (size_t)n + (size_t)j];
            double sum = 0, size = 0;

            for (size_t k = 0; k < t->pixels; k++) {
                sum += curvature[k] * a[k] * b[k];
                size += fabs(curvature[k] * a[k] * b[k])
                        + fabs(curvature[k]) * t->photons[k] * t->photons[k] * unit;
            }
            worst_add(&worst, got, sum, size);
        }
    return worst;
}

static void check_normal(struct subject *s, int single, enum gpu_reduction end,
                         const double *observed, const double *weight)
{
    const nb_target target = {.kind = NB_POISSON_READOUT,
                              .sigma_readout = 0.02 * s->t.peak,
                              .gain = 1.7,
                              .delta = 1};
    const double allowed = allowed_in(single, &normal_allowed);
    struct gpu_derivatives_job request = objective_of(s);
    struct results r = results_make(s, &request, 0);
    double *slope = numbers(s->t.pixels), *curvature = numbers(s->t.pixels), value = 0;
    struct worst worst, matrix;

    for (size_t i = 0; i < s->t.pixels; i++) {
        const struct phys_loss loss =
            phys_loss(target_model(&target), s->t.photons[i], observed[i], weight[i]);

        if (!s->mask[i]) continue;
        if (end == REDUCE_NORMAL) value += loss.value;
        slope[i] = end == REDUCE_NORMAL ? loss.slope : weight[i] * observed[i];
        curvature[i] = end == REDUCE_NORMAL ? loss.curvature : weight[i];
    }
    request.end = end;
    request.target.model = target_model(&target);
    request.target.observed = host_image(s, observed);
    request.target.weight = host_image(s, weight);
    r.sums.matrix = r.matrix;
    run_well(s, single, &request, &r);
    worst = worst_gradient(s, value, slope, &r);
    matrix = worst_normal(s, s->n, curvature, &r);
    worst_join(&worst, &matrix);
    worst_check(&worst, allowed, "%s in %s: %d tangents, of its terms",
                end == REDUCE_NORMAL ? "a loss" : "squares", precision_name(single), s->n);
    free(slope);
    free(curvature);
    results_drop(s, &r);
}

static int normal_matrices(void)
{
    struct subject s;
    double *observed, *weight;

    begin_anew();
    subject_open("square_nearest", 4, &s);
    if (s.n > TANGENTS_MOST) s.n = TANGENTS_MOST;
    observed = draws(s.t.pixels, 21);
    weight = draws(s.t.pixels, 22);
    for (size_t i = 0; i < s.t.pixels; i++) {
        observed[i] = s.t.photons[i] * (1 + 0.3 * observed[i]);
        weight[i] = 1 + 0.5 * weight[i];
    }
    for (int single = 0; single < 2; single++) {
        check_normal(&s, single, REDUCE_NORMAL, observed, weight);
        check_normal(&s, single, REDUCE_SQUARES, observed, weight);
    }
    free(observed);
    free(weight);
    subject_close(&s);
    return TAP_PASS;
}

/* ---- changes ---- */

static int changes(void)
{
    static const char *const names[] = {"square_nearest", "xds_roi", "gauss_tricubic"};

    begin_anew();
    for (size_t k = 0; k < 2 * COUNT(names); k++) {
        const int single = k % 2;
        const double allowed = allowed_in(single, &changes_allowed);
        struct subject s;
        struct gpu_derivatives_job request;
        struct results r;
        struct worst worst = {0};

        subject_open(names[k / 2], 4, &s);
        request = objective_of(&s);
        request.end = REDUCE_NOTHING;
        r = results_make(&s, &request, 0);
        run_well(&s, single, &request, &r);
        for (int d = 0; d < s.n; d++) {
            const double *truth = s.t.change + (size_t)(s.first + d) * s.t.pixels;
            const double most =
                fmax(s.t.peak * s.t.unit[s.first + d], worst_largest(truth, s.t.pixels));

            worst_add_all(&worst, r.change[d], truth, s.t.pixels, most);
        }
        worst_check(&worst, allowed, "%s in %s: %d images", names[k / 2],
                    precision_name(single), s.n);
        results_drop(&s, &r);
        subject_close(&s);
    }
    return TAP_PASS;
}

/* ---- how it is run ---- */

/* bands, any order of blocks, tangents in another order, images of other types and places:
 * the same bits */
static int same_bits(void)
{
    begin_anew();
    for (int end = REDUCE_NOTHING; end <= REDUCE_COTANGENT; end++) {
        struct subject s;
        struct gpu_derivatives_job request;
        struct results one, other;
        uint64_t before;

        emulated.order = EMULATED_IN_ORDER;
        subject_open("square_nearest", 4, &s);
        request = objective_of(&s);
        request.end = (enum gpu_reduction)end;
        one = results_make(&s, &request, end == REDUCE_COTANGENT);
        other = results_make(&s, &request, end == REDUCE_COTANGENT);
        run_well(&s, 0, &request, &one);
        before = emulated.launches[GPU_DERIVATIVES];
        s.gpu->properties.memory = end == REDUCE_COTANGENT ? 30000 : 800000;
        emulated.order = EMULATED_SHUFFLED;
        run_well(&s, 0, &request, &other);
        tap_check(results_same(&s, &one, &other), "%d launches, shuffled: the same bits",
                  (int)(emulated.launches[GPU_DERIVATIVES] - before));
        tap_check(emulated.launches[GPU_DERIVATIVES] - before > 2, "several bands");
        results_drop(&s, &one);
        results_drop(&s, &other);
        subject_close(&s);
    }
    emulated.order = EMULATED_IN_ORDER;
    return TAP_PASS;
}

/* the tangents backwards: those that turn come last */
static int any_tangent_first(void)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct results one, other;
    struct phys_frame_tangent *turned;
    size_t differ = 0;

    begin_anew();
    subject_open("square_nearest", 100, &s);
    request = objective_of(&s);
    one = results_make(&s, &request, 0);
    other = results_make(&s, &request, 0);
    turned = calloc((size_t)s.n, sizeof *turned);
    if (!turned) abort();
    run_well(&s, 0, &request, &one);
    for (int d = 0; d < s.n; d++) turned[d] = request.dot[s.n - 1 - d];
    request.dot = turned;
    run_well(&s, 0, &request, &other);
    for (int d = 0; d < s.n; d++)
        differ += !bits_same_or_zeros(one.gradient + d, other.gradient + s.n - 1 - d, 1);
    tap_check(differ == 0 && s.n > TANGENTS_MOST
                  && worst_largest(one.gradient, (size_t)s.n) > 0,
              "%zu of %d tangents, backwards, differ", differ, s.n);
    free(turned);
    results_drop(&s, &one);
    results_drop(&s, &other);
    subject_close(&s);
    return TAP_PASS;
}

static void check_input(struct subject *s, const struct results *expected,
                        struct gpu_input cotangent, const char *what)
{
    struct gpu_derivatives_job request = objective_of(s);
    struct results r = results_make(s, &request, 0);

    request.cotangent = cotangent;
    run_well(s, 0, &request, &r);
    tap_check(results_same(s, &r, expected), "%s: the same bits", what);
    results_drop(s, &r);
}

static int inputs(void)
{
    const struct gpu_driver *driver = &gpu_emulated;
    struct gpu_input input = {NULL, 0, 32, {0, 0}};
    struct gpu_derivatives_job request;
    struct subject s;
    struct results r;
    double *wide;
    float *rounded;
    size_t n;

    begin_anew();
    subject_open("square_nearest", 4, &s);
    n = s.t.pixels;
    rounded = calloc(n, sizeof *rounded);
    wide = numbers(2 * n);
    if (!rounded) abort();
    for (size_t i = 0; i < n; i++) {
        rounded[i] = (float)s.bar[i];
        wide[2 * (n - 1 - i)] = s.bar[i] = (double)rounded[i];
    }
    request = objective_of(&s);
    r = results_make(&s, &request, 0);
    run_well(&s, 0, &request, &r);
    input.host = rounded;
    input.stride[0] = s.t.frame.nfast;
    input.stride[1] = 1;
    check_input(&s, &r, input, "float");
    input = host_image(&s, wide + 2 * (n - 1));
    input.stride[0] = -(int64_t)2 * s.t.frame.nfast;
    input.stride[1] = -2;
    check_input(&s, &r, input, "backwards, every other one");
    memset(&input, 0, sizeof input);
    input.bits = 64;
    if (driver->allocate(s.t.ctx, s.gpu->device, n * sizeof(double), &input.device) != NB_OK
        || driver->upload(s.t.ctx, s.gpu->device, input.device, s.bar, n * sizeof(double))
               != NB_OK)
        abort();
    check_input(&s, &r, input, "on the device");
    driver->release(s.gpu->device, input.device);
    free(rounded);
    free(wide);
    results_drop(&s, &r);
    subject_close(&s);
    return TAP_PASS;
}

/* other numbers in every call: one recording of each kind of launch */
static int hundred_calls(void)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct results r;

    begin_anew();
    subject_open("square_nearest", 4, &s);
    s.n = 2;
    request = objective_of(&s);
    r = results_make(&s, &request, 0);
    s.t.job.roi[3] = GPU_SLOW;
    for (int i = 0; i < 100; i++) {
        s.t.frame.bragg_scale *= 1.01;
        s.bar[i] += 1;
        run_well(&s, 0, &request, &r);
    }
    tap_check(s.scene.graphs.captures == 1 && s.scene.graphs.replays == 100
                  && s.scene.graphs.skips == 0,
              "%d captures, %d replays, %d skips", (int)s.scene.graphs.captures,
              (int)s.scene.graphs.replays, (int)s.scene.graphs.skips);
    tap_check(s.scene.hot.builds == 1 && emulated.modules_held == 1, "%d built",
              (int)s.scene.hot.builds);
    results_drop(&s, &r);
    subject_close(&s);
    return TAP_PASS;
}

/* so far out in the tails of a gaussian that float lost them */
static int dark(void)
{
    begin_anew();
    for (int end = REDUCE_NOTHING; end <= REDUCE_COTANGENT; end++) {
        struct subject s;
        struct gpu_derivatives_job request;
        struct results one, other;

        subject_open("gauss_nearest", 4, &s);
        s.t.frame.fudge *= 1000;
        s.t.job.tolerance = 1; /* float is used whatever it costs */
        request = objective_of(&s);
        request.end = (enum gpu_reduction)end;
        one = results_make(&s, &request, 0);
        other = results_make(&s, &request, 0);
        run_well(&s, 0, &request, &one);
        tap_check(s.scene.f_sent == 1 && emulated.modules_held == 1, "in double");
        run_well(&s, 1, &request, &other);
        tap_check(emulated.modules_held == 2 && results_same(&s, &one, &other),
                  "in float, then in double: the same bits");
        results_drop(&s, &one);
        results_drop(&s, &other);
        subject_close(&s);
    }
    return TAP_PASS;
}

/* nothing rendered, nothing free */
static int corners(void)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct results r;
    double value = 0;
    int bad = 0;

    begin_anew();
    subject_open("square_nearest", 4, &s);
    request = objective_of(&s);
    request.n = 0;
    r = results_make(&s, &request, 0);
    for (size_t i = 0; i < s.t.pixels; i++) value += s.bar[i] * s.t.photons[i];
    run_well(&s, 0, &request, &r);
    tap_check(fabs(r.sums.value - value) <= 1e-11 * s.t.peak, "a value alone: %g",
              r.sums.value);
    results_drop(&s, &r);
    request = objective_of(&s);
    request.end = REDUCE_NOTHING;
    r = results_make(&s, &request, 0);
    s.t.job.roi[1] = s.t.job.roi[0];
    run_well(&s, 0, &request, &r);
    for (int d = 0; d < s.n; d++)
        for (size_t i = 0; i < s.t.pixels; i++) bad += r.change[d][i] != 0;
    tap_check(bad == 0, "an empty region: %d pixels are not 0", bad);
    results_drop(&s, &r);
    subject_close(&s);
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

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"order_of_numbers", order_of_numbers},
        {"gradients", gradients},
        {"losses", losses},
        {"normal_matrices", normal_matrices},
        {"changes", changes},
        {"structure_factors", structure_factors},
        {"faint_factors", faint_factors},
        {"factors_of_nothing", factors_of_nothing},
        {"constant_factor", constant_factor},
        {"same_bits", same_bits},
        {"any_tangent_first", any_tangent_first},
        {"inputs", inputs},
        {"hundred_calls", hundred_calls},
        {"dark", dark},
        {"corners", corners},
        {"not_to_be_had", not_to_be_had},
        {"stopped", stopped},
        {"kept_on_disk", kept_on_disk},
        {"limit", limit},
        {"classes", classes},
        {"time_to_wait", time_to_wait},
        {"of_nvrtc", of_nvrtc},
        {"refusals", refusals},
        {"any_call_fails", any_call_fails},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
