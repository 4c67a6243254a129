/* factors.c - cotangents of structure factors. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/emulated.h"
#include "gpu/derivatives/subject.h"
#include "support/files.h"
#include "support/tap.h"
#include "support/worst.h"

int structure_factors(void)
{
    static const char *const names[] = {"square_nearest", "gauss_nearest",
                                        "square_tricubic", "round_tricubic"};

    begin_anew();
    for (size_t k = 0; k < 2 * COUNT(names); k++) {
        const int single = k % 2;
        /* of a unit of 1e-16 of the peak, and rounding: 2.0e-6 and 1.2e-13 are measured */
        const double allowed = single ? 1e-5 : 2e-12;
        struct worst worst = {0};
        double *truth;
        struct gpu_derivatives_job request;
        struct subject s;
        struct results r;
        uint64_t before;

        subject_open(names[k / 2], 4, &s);
        request = objective_of(&s);
        r = results_make(&s, &request, 1);
        truth = numbers(jacobian_places(&s.t));
        jacobian_f_truth(&s.t, s.bar, truth);
        before = emulated.launches[GPU_F];
        run_well(&s, single, &request, &r);
        worst_add_all(&worst, r.f, truth, jacobian_places(&s.t),
                      worst_largest(truth, jacobian_places(&s.t)));
        worst_check(&worst, allowed, "%s in %s, of the largest, in %d launches",
                    names[k / 2], single ? "float" : "double",
                    (int)(emulated.launches[GPU_F] - before));
        free(truth);
        results_drop(&s, &r);
        subject_close(&s);
    }
    return TAP_PASS;
}

/* So dark that a unit by what might be leaves few digits: a finer one is found. */
int faint_factors(void)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct results r;
    struct worst worst = {0};
    double *truth, most;

    begin_anew();
    subject_open("gauss_nearest", 4, &s);
    s.t.frame.fudge *= 80;
    request = objective_of(&s);
    r = results_make(&s, &request, 1);
    truth = numbers(jacobian_places(&s.t));
    jacobian_f_truth(&s.t, s.bar, truth);
    run_well(&s, 0, &request, &r);
    most = worst_largest(truth, jacobian_places(&s.t));
    worst_add_all(&worst, r.f, truth, jacobian_places(&s.t), most);
    worst_check(&worst, 2e-12, "in double, of the largest"); /* 1.4e-13 measured */
    tap_check(emulated.launches[GPU_F] == 2 && most > 0, "in %d launches, largest %g",
              (int)emulated.launches[GPU_F], most);
    free(truth);
    results_drop(&s, &r);
    subject_close(&s);
    return TAP_PASS;
}

/* a slope that is no number */
int factors_of_nothing(void)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct results r;
    int bad = 0;

    begin_anew();
    subject_open("square_nearest", 4, &s);
    request = objective_of(&s);
    r = results_make(&s, &request, 1);
    s.bar[0] = NAN;
    run_well(&s, 0, &request, &r);
    for (size_t i = 0; i < jacobian_places(&s.t); i++) bad += !isnan(r.f[i]);
    tap_check(bad == 0 && isnan(r.sums.value), "%d cotangents are numbers", bad);
    memset(s.bar, 0, s.t.pixels * sizeof *s.bar);
    run_well(&s, 0, &request, &r);
    for (size_t i = 0; i < jacobian_places(&s.t); i++) bad += r.f[i] != 0;
    tap_check(bad == 0 && emulated.launches[GPU_F] == 0, "%d cotangents are not 0", bad);
    results_drop(&s, &r);
    subject_close(&s);
    return TAP_PASS;
}

/* a constant F is a number of the frame, and has no place */
int constant_factor(void)
{
    struct subject s;
    struct gpu_derivatives_job request;
    struct results r;
    int bad = 0;

    begin_anew();
    subject_open("base", 4, &s);
    request = objective_of(&s);
    r = results_make(&s, &request, 1);
    run_well(&s, 0, &request, &r);
    for (size_t i = 0; i < jacobian_places(&s.t); i++) bad += r.f[i] != 0;
    tap_check(bad == 0 && emulated.launches[GPU_F] == 0, "%d cotangents are not 0", bad);
    results_drop(&s, &r);
    subject_close(&s);
    return TAP_PASS;
}
