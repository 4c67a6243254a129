/* derivatives_factors.c - cotangents of structure factors. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/emulated.h"
#include "gpu/derivatives_subject.h"
#include "support/files.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* a subject with the job and the results of its structure factors */
struct factors {
    struct subject s;
    struct gpu_derivatives_job job;
    struct results r;
};

static void open_factors(const char *name, struct factors *f)
{
    subject_open(name, 4, &f->s);
    f->job = objective_of(&f->s);
    f->r = results_make(&f->s, &f->job, 1);
}

static void close_factors(struct factors *f)
{
    results_drop(&f->s, &f->r);
    subject_close(&f->s);
}

/* Run the job and compare all factors with those of the host, of the largest, which is
 * returned. */
static double compare_factors(struct factors *f, int single, struct worst *worst)
{
    const size_t n = jacobian_places(&f->s.t);
    double *truth = numbers(n), most;

    jacobian_f_truth(&f->s.t, f->s.bar, truth);
    run_well(&f->s, single, &f->job, &f->r);
    most = worst_largest(truth, n);
    worst_add_all(worst, f->r.f, truth, n, most);
    free(truth);
    return most;
}

/* Run the job and check that all factors are 0, without a launch. */
static void check_no_factor(struct factors *f)
{
    int bad = 0;

    run_well(&f->s, 0, &f->job, &f->r);
    for (size_t i = 0; i < jacobian_places(&f->s.t); i++) bad += f->r.f[i] != 0;
    tap_check(bad == 0 && emulated.launches[GPU_F] == 0, "%d cotangents are not 0", bad);
}

int structure_factors(void)
{
    struct named_scene named;

    begin_anew();
    for (size_t k = 0; scenes_at(SCENES_FACTORS, k / 2, &named); k++) {
        const int single = k % 2;
        /* of a unit of 1e-16 of the peak, and rounding: 2.0e-6 and 1.2e-13 are measured */
        const double allowed = single ? 1e-5 : 2e-12;
        struct worst worst = {0};
        struct factors f;
        uint64_t before;

        open_factors(named.name, &f);
        before = emulated.launches[GPU_F];
        (void)compare_factors(&f, single, &worst);
        worst_check(&worst, allowed, "%s in %s, of the largest, in %d launches", named.name,
                    single ? "float" : "double", (int)(emulated.launches[GPU_F] - before));
        close_factors(&f);
    }
    return TAP_PASS;
}

/* So dark that a unit by what might be leaves few digits: a finer one is found. */
int faint_factors(void)
{
    struct worst worst = {0};
    struct factors f;
    double most;

    begin_anew();
    open_factors("gauss_nearest", &f);
    f.s.t.frame.fudge *= 80;
    most = compare_factors(&f, 0, &worst);
    worst_check(&worst, 2e-12, "in double, of the largest"); /* 1.4e-13 measured */
    tap_check(emulated.launches[GPU_F] == 2 && most > 0, "in %d launches, largest %g",
              (int)emulated.launches[GPU_F], most);
    close_factors(&f);
    return TAP_PASS;
}

/* a slope that is no number */
int factors_of_nothing(void)
{
    struct factors f;
    int bad = 0;

    begin_anew();
    open_factors("square_nearest", &f);
    f.s.bar[0] = NAN;
    run_well(&f.s, 0, &f.job, &f.r);
    for (size_t i = 0; i < jacobian_places(&f.s.t); i++) bad += !isnan(f.r.f[i]);
    tap_check(bad == 0 && isnan(f.r.sums.value), "%d cotangents are numbers", bad);
    memset(f.s.bar, 0, f.s.t.pixels * sizeof *f.s.bar);
    check_no_factor(&f);
    close_factors(&f);
    return TAP_PASS;
}

/* a constant F is a number of the frame, and has no place */
int constant_factor(void)
{
    struct factors f;

    begin_anew();
    open_factors("base", &f);
    check_no_factor(&f);
    close_factors(&f);
    return TAP_PASS;
}
