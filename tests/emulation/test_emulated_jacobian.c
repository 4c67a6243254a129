/*
 * test_emulated_jacobian.c - the GPU's kernels of derivatives, run on the host block by
 * block, compared with the Jacobian by the CPU's kernels.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "emulation/jacobian_runs.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Changes, of the largest of their tangent: rounding of N h, some 100 periods, of the sine
 * that a change is the slope of. Measured 3.6e-14 and 1.6e-6; photons, of the peak, 6.1e-14
 * and 1.4e-6. */
static const double double_allowed = 7e-13, float_allowed = 3e-5;
static const double double_photons = 1e-12, float_photons = 5e-6;

static double *numbers(size_t n)
{
    double *p = calloc(n + 1, sizeof *p);

    if (!p) abort();
    return p;
}

/* ---- changes ---- */

/* the worst change of all tangents that the kernel serves, of the largest of its tangent
 * or, of one that holds tails only, what the image is by; and how many they are */
static struct worst worst_change(const struct device_run *t, struct jacobian_way way,
                                 int *served, const char **where)
{
    double *change = numbers((size_t)TANGENTS_MOST * t->pixels);
    struct worst worst = {0};

    *where = "none";
    *served = 0;
    for (; jacobian_next(t, &way) > 0; way.first += way.n) {
        *served += way.n;
        jacobian_changes(t, &way, NULL, change);
        for (int d = 0; d < way.n; d++) {
            const double *truth = t->change + (size_t)(way.first + d) * t->pixels;
            const double most =
                fmax(t->peak * t->unit[way.first + d], worst_largest(truth, t->pixels));
            const size_t before = worst.count;

            worst_add_all(&worst, change + (size_t)d * t->pixels, truth, t->pixels, most);
            if (worst.at >= before) *where = t->name[way.first + d];
        }
    }
    free(change);
    return worst;
}

static struct worst worst_photons(const struct device_run *t, struct jacobian_way way)
{
    double *photons = numbers(t->pixels),
           *change = numbers((size_t)TANGENTS_MOST * t->pixels);
    struct worst worst = {0};

    way.first = t->turning;
    way.n = 1;
    jacobian_changes(t, &way, photons, change);
    worst_add_all(&worst, photons, t->photons, t->pixels, t->peak);
    free(photons);
    free(change);
    return worst;
}

/* every named scene that the kernels serve */
static int changes_by(const struct jacobian_kernels *kernels, int parts)
{
    const int single = kernels == &derivative_kernels_single;
    const double allowed = single ? float_allowed : double_allowed;
    int served = 0;
    struct named_scene named;

    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        const struct jacobian_way way = {kernels, JACOBIAN_OF_FEW, parts, 0, 0, 0, 0};
        nb_scene scene = named.scene;
        struct device_run t;
        const char *where;
        struct worst worst;
        int n;

        memset(&scene.psf, 0, sizeof scene.psf); /* comes after the photons */
        device_run_make(&scene, 1, &t);
        if (kernels->serve(&t.frame)) {
            worst = worst_change(&t, way, &n, &where);
            worst_check(&worst, allowed, "%s: %d tangents of %d, %s", named.name, n, t.n,
                        where);
            tap_check(n == t.n, "all tangents");
            worst = worst_photons(&t, way);
            worst_check(&worst, single ? float_photons : double_photons, "%s: photons",
                        named.name);
            served++;
        } else
            tap_note("%s: left to the CPU", named.name);
        device_run_drop(&t);
    }
    tap_check(served > 20, "%d scenes of %zu", served, scenes_count(SCENES_FEATURES));
    return TAP_PASS;
}

static int changes_double(void)
{
    return changes_by(&derivative_kernels_double, 1);
}

static int changes_float(void)
{
    return changes_by(&derivative_kernels_single, 1);
}

/* four anchors for a tile, for float */
static int changes_parts(void)
{
    return changes_by(&derivative_kernels_single, 2);
}

/* the kernels that leave sums out, and that of many turns */
static int classes(void)
{
    static const char *const names[] = {"square_nearest", "gauss_tricubic"};

    for (size_t i = 0; i < 2; i++) {
        const nb_scene scene = scenes_named(SCENES_FEATURES, names[i]);
        struct device_run t;

        device_run_make(&scene, 1, &t);
        for (int kind = 0; kind < JACOBIAN_KINDS; kind++)
            for (int single = 0; single < 2; single++) {
                const struct jacobian_way way = {single ? &derivative_kernels_single
                                                        : &derivative_kernels_double,
                                                 (enum jacobian_class)kind,
                                                 1,
                                                 0,
                                                 0,
                                                 0,
                                                 0};
                const char *where;
                struct worst worst;
                int n;

                if (!way.kernels->jacobian[t.job.spec.shape][t.job.spec.lookup][kind].block)
                    continue;
                worst = worst_change(&t, way, &n, &where);
                /* 2.9e-14 and 6.8e-7 measured */
                worst_check(&worst, single ? 1e-5 : 5e-13,
                            "%s, class %d, %s: %d tangents, %s", names[i], kind,
                            single ? "float" : "double", n, where);
                tap_check(n > 10, "%d tangents", n);
            }
        device_run_drop(&t);
    }
    return TAP_PASS;
}

/* what named scenes leave out: many pairs, so that a tile takes several chunks; dmin,
 * behind which polarization and layers wait; water under sensors, sources and curved
 * detectors */
static nb_scene mixed(int number)
{
    static const char *const names[] = {"list_of_sources", "list_of_sources", "layers",
                                        "each_factor",     "curved",          "layers",
                                        "grid_of_sources", "amorphous_table"};
    nb_scene s = scenes_named(SCENES_FEATURES, names[number]);

    if (number < 4) {
        s.dmin = 5.5;
        s.oversample = 2;
        s.detector.thickness = 450;
        s.detector.attenuation = 300;
        s.detector.nlayers = 2;
    }
    if (number == 0) s.crystal.ndomains = 16, s.scan.nphi = 3;
    if (number == 1) s.oversample_polar = 1, s.background.water = 40;
    if (number == 4) s.oversample_omega = s.oversample_polar = 1;
    if (number == 5) s.detector.point_pixel = s.oversample_omega = 1;
    if (number == 7) {
        s.detector.thickness = 450;
        s.detector.attenuation = 300;
        s.detector.nlayers = 3;
        s.beam.dispersion = 0.02;
        s.beam.ndispersion = 3;
    }
    if (number > 2 && number < 7) s.background.water = 40;
    return s;
}

static int mixtures(void)
{
    for (int i = 0; i < 8; i++) {
        const nb_scene scene = mixed(i);
        struct device_run t;

        device_run_make(&scene, 1, &t);
        for (int single = 0; single < 2; single++) {
            const struct jacobian_way way = {single ? &derivative_kernels_single
                                                    : &derivative_kernels_double,
                                             JACOBIAN_OF_FEW,
                                             1 + single,
                                             0,
                                             0,
                                             0,
                                             0};
            /* 1.4e-14 and 4.7e-7 measured, of photons 2.2e-14 */
            const double allowed = single ? 8e-6 : 2e-13;
            const char *where;
            struct worst worst;
            int n;

            if (!way.kernels->serve(&t.frame)) abort();
            worst = worst_change(&t, way, &n, &where);
            worst_check(&worst, allowed, "mixture %d, %s: %d tangents, %s", i,
                        single ? "float" : "double", n, where);
            tap_check(n == t.n, "all tangents");
            worst = worst_photons(&t, way);
            worst_check(&worst, single ? float_photons : 3e-13, "photons");
        }
        device_run_drop(&t);
    }
    return TAP_PASS;
}

/* the oracle: not the lanes, whose way of summing the kernels share */
static int as_reference(void)
{
    static const char *const names[] = {"each_factor", "list_of_sources", "sheared"};

    for (size_t i = 0; i < 3; i++) {
        const struct jacobian_way way =
            {&derivative_kernels_double, JACOBIAN_OF_FEW, 1, 0, 0, 0, 0};
        const nb_scene scene = scenes_named(SCENES_FEATURES, names[i]);
        struct device_run t;
        const char *where;
        struct worst worst;
        int n;

        device_run_make(&scene, 0, &t);
        worst = worst_change(&t, way, &n, &where);
        /* 2.2e-14 measured */
        worst_check(&worst, 4e-13, "%s: %d tangents, %s", names[i], n, where);
        tap_check(n == t.n, "all tangents");
        device_run_drop(&t);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"changes_double", changes_double},
        {"changes_float", changes_float},
        {"changes_parts", changes_parts},
        {"classes", classes},
        {"mixtures", mixtures},
        {"as_reference", as_reference},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
