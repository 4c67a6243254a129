/* factors.c - cotangents of structure factors. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "derivatives/subject.h"
#include "support/emulated.h"
#include "support/files.h"
#include "support/tap.h"

int structure_factors(void)
{
    static const char *const names[] = {"square_nearest", "gauss_nearest",
                                        "square_tricubic", "round_tricubic"};

    begin_anew();
    for (size_t k = 0; k < 2 * COUNT(names); k++) {
        const int single = k % 2;
        const double allowed = single ? 1e-5 : 1e-10;
        double *truth, most = 1e-300, worst = 0;
        struct gpu_derivatives_job rows;
        struct subject s;
        struct results r;
        uint64_t before;

        subject_open(names[k / 2], 4, &s);
        rows = objective_of(&s);
        r = results_make(&s, &rows, 1);
        truth = numbers(jacobian_places(&s.t));
        jacobian_f_truth(&s.t, s.bar, truth);
        before = emulated.launches[GPU_F];
        run_well(&s, single, &rows, &r);
        for (size_t i = 0; i < jacobian_places(&s.t); i++)
            most = fmax(most, fabs(truth[i]));
        for (size_t i = 0; i < jacobian_places(&s.t); i++)
            worst = fmax(worst, fabs(r.f[i] - truth[i]) / most);
        tap_check(worst <= allowed,
                  "%s in %s: off %.1e of the largest, %.0e allowed, in %d launches",
                  names[k / 2], single ? "float" : "double", worst, allowed,
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
    struct gpu_derivatives_job rows;
    struct results r;
    double *truth, most = 0, worst = 0;

    begin_anew();
    subject_open("gauss_nearest", 4, &s);
    s.t.frame.fudge *= 80;
    rows = objective_of(&s);
    r = results_make(&s, &rows, 1);
    truth = numbers(jacobian_places(&s.t));
    jacobian_f_truth(&s.t, s.bar, truth);
    run_well(&s, 0, &rows, &r);
    for (size_t i = 0; i < jacobian_places(&s.t); i++) {
        most = fmax(most, fabs(truth[i]));
        worst = fmax(worst, fabs(r.f[i] - truth[i]));
    }
    tap_check(emulated.launches[GPU_F] == 2 && most > 0 && worst <= 1e-10 * most,
              "in double: off %.1e of the largest, 1e-10 allowed, in %d launches",
              worst / most, (int)emulated.launches[GPU_F]);
    free(truth);
    results_drop(&s, &r);
    subject_close(&s);
    return TAP_PASS;
}

/* a slope that is no number */
int factors_of_nothing(void)
{
    struct subject s;
    struct gpu_derivatives_job rows;
    struct results r;
    int bad = 0;

    begin_anew();
    subject_open("square_nearest", 4, &s);
    rows = objective_of(&s);
    r = results_make(&s, &rows, 1);
    s.bar[0] = NAN;
    run_well(&s, 0, &rows, &r);
    for (size_t i = 0; i < jacobian_places(&s.t); i++) bad += !isnan(r.f[i]);
    tap_check(bad == 0 && isnan(r.sums.value), "%d cotangents are numbers", bad);
    memset(s.bar, 0, s.t.pixels * sizeof *s.bar);
    run_well(&s, 0, &rows, &r);
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
    struct gpu_derivatives_job rows;
    struct results r;
    int bad = 0;

    begin_anew();
    subject_open("base", 4, &s);
    rows = objective_of(&s);
    r = results_make(&s, &rows, 1);
    run_well(&s, 0, &rows, &r);
    for (size_t i = 0; i < jacobian_places(&s.t); i++) bad += r.f[i] != 0;
    tap_check(bad == 0 && emulated.launches[GPU_F] == 0, "%d cotangents are not 0", bad);
    results_drop(&s, &r);
    subject_close(&s);
    return TAP_PASS;
}
