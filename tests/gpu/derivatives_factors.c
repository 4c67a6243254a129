/* derivatives_factors.c - cotangents of structure factors. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/watched.h"
#include "gpu/derivatives_subject.h"
#include "support/files.h"
#include "support/tap.h"

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

/* Run the job and check that all factors are 0, without a launch. */
static void check_no_factor(struct factors *f)
{
    int bad = 0;

    run_well(&f->s, 0, &f->job, &f->r);
    for (size_t i = 0; i < jacobian_places(&f->s.t); i++) bad += f->r.f[i] != 0;
    tap_check(bad == 0 && watched.launches[GPU_F] == 0, "%d cotangents are not 0", bad);
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
