/*
 * test_gpu_derivatives.c - the host side of derivatives on a device
 * (gpu/derivatives/derivatives.h): strips, passes, recordings, inputs; and every failure.
 * The numbers are those of test_gpu_gradients and test_gpu_kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "device/devices.h"
#include "device/watched.h"
#include "gpu/derivatives_subject.h"
#include "gpu/text/derivatives/derivatives_parameters.h"
#include "support/files.h"
#include "support/tap.h"
#include "support/worst.h"

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

        subject_open("square_nearest", 4, &s);
        request = objective_of(&s);
        request.end = (enum gpu_reduction)end;
        one = results_make(&s, &request, end == REDUCE_COTANGENT);
        other = results_make(&s, &request, end == REDUCE_COTANGENT);
        run_well(&s, 0, &request, &one);
        before = watched.launches[GPU_DERIVATIVES];
        s.gpu->properties.memory = end == REDUCE_COTANGENT ? 30000 : 800000;
        run_well(&s, 0, &request, &other);
        tap_check(results_same(&s, &one, &other), "%d launches, shuffled: the same bits",
                  (int)(watched.launches[GPU_DERIVATIVES] - before));
        tap_check(watched.launches[GPU_DERIVATIVES] - before > 2, "several bands");
        results_drop(&s, &one);
        results_drop(&s, &other);
        subject_close(&s);
    }
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
    const struct gpu_driver *driver = &gpu_watched;
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
static int many_calls(void)
{
    enum { CALLS = 20 };
    struct subject s;
    struct gpu_derivatives_job request;
    struct results r;

    begin_anew();
    subject_open("square_nearest", 4, &s);
    s.n = 2;
    request = objective_of(&s);
    r = results_make(&s, &request, 0);
    s.t.job.roi[3] = GPU_SLOW;
    for (int i = 0; i < CALLS; i++) {
        s.t.frame.bragg_scale *= 1.01;
        s.bar[i] += 1;
        run_well(&s, 0, &request, &r);
    }
    tap_check(s.scene.graphs.captures == 1 && s.scene.graphs.replays == CALLS
                  && s.scene.graphs.skips == 0,
              "%d captures, %d replays, %d skips", (int)s.scene.graphs.captures,
              (int)s.scene.graphs.replays, (int)s.scene.graphs.skips);
    tap_check(s.scene.hot.builds == 1 && watched.modules_held == 1, "%d built",
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
        tap_check(s.scene.f_sent == 1 && watched.modules_held == 1, "in double");
        run_well(&s, 1, &request, &other);
        tap_check(watched.modules_held == 2 && results_same(&s, &one, &other),
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
    double value = 0, *photons;
    int bad = 0;

    begin_anew();
    subject_open("square_nearest", 4, &s);
    request = objective_of(&s);
    request.n = 0;
    r = results_make(&s, &request, 0);
    photons = numbers(s.t.pixels);
    if (devices_image(s.t.sim, NULL, photons) != NB_OK) abort(); /* of the host */
    for (size_t i = 0; i < s.t.pixels; i++) value += s.mask[i] ? s.bar[i] * photons[i] : 0;
    run_well(&s, 0, &request, &r);
    tap_close("a value alone", r.sums.value, value,
              1e-11 * worst_largest(photons, s.t.pixels));
    free(photons);
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
        {"factors_of_nothing", factors_of_nothing},
        {"constant_factor", constant_factor},
        {"same_bits", same_bits},
        {"any_tangent_first", any_tangent_first},
        {"inputs", inputs},
        {"many_calls", many_calls},
        {"dark", dark},
        {"corners", corners},
        {"not_to_be_had", not_to_be_had},
        {"stopped", stopped},
        {"kept_on_disk", kept_on_disk},
        {"limit", limit},
        {"classes", classes},
        {"time_to_wait", time_to_wait},
        {"refusals", refusals},
        {"any_call_fails", any_call_fails},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
