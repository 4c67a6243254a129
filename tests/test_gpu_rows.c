/*
 * test_gpu_rows.c - the GPU's kernels of derivatives, run on this machine block by block,
 * against the rows of the Jacobian that the CPU's kernels find.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/rows_runs.h"
#include "support/scenes.h"
#include "support/tap.h"

static const double double_allowed = 1e-11, float_allowed = 5e-5;

static double *numbers(size_t n)
{
    double *p = calloc(n + 1, sizeof *p);

    if (!p) abort();
    return p;
}

/* ---- changes ---- */

/* the worst change of all tangents that the kernel serves, of the largest of its tangent
 * or, of one that holds tails only, what the image is by; and how many they are */
static double worst_change(const struct device_run *t, struct jacobian_way way, int *served,
                           char *where, size_t size)
{
    double *change = numbers((size_t)TANGENTS_MOST * t->pixels), worst = 0;

    (void)snprintf(where, size, "none");
    *served = 0;
    for (; jacobian_next(t, &way) > 0; way.first += way.n) {
        *served += way.n;
        jacobian_changes(t, &way, NULL, change);
        for (int d = 0; d < way.n; d++) {
            const double *truth = t->change + (size_t)(way.first + d) * t->pixels;
            double off = 0, most = t->peak * t->unit[way.first + d];

            for (size_t i = 0; i < t->pixels; i++) {
                const double gap = fabs(change[(size_t)d * t->pixels + i] - truth[i]);

                if (!(gap <= off)) off = gap;
                most = fmax(most, fabs(truth[i]));
            }
            if (!(off > 0) || off / most <= worst) continue;
            worst = off / most;
            (void)snprintf(where, size, "%s", t->name[way.first + d]);
        }
    }
    free(change);
    return worst;
}

static double worst_photons(const struct device_run *t, struct jacobian_way way)
{
    double *photons = numbers(t->pixels),
           *change = numbers((size_t)TANGENTS_MOST * t->pixels);
    double worst = 0;

    way.first = t->turning;
    way.n = 1;
    jacobian_changes(t, &way, photons, change);
    for (size_t i = 0; i < t->pixels; i++) {
        const double gap = fabs(photons[i] - t->photons[i]) / t->peak;

        if (!(gap <= worst)) worst = gap;
    }
    free(photons);
    free(change);
    return worst;
}

/* every named scene that the kernels serve */
static int changes_by(const struct jacobian_kernels *kernels, int parts, double allowed)
{
    int served = 0;

    for (size_t i = 0; i < scenes_count; i++) {
        const struct jacobian_way way = {kernels, JACOBIAN_OF_FEW, parts, 0, 0, 0, 0};
        nb_scene scene = scenes_make(&scenes_list[i]);
        struct device_run t;
        char where[64];
        double worst;
        int n;

        memset(&scene.psf, 0, sizeof scene.psf); /* comes after the photons */
        device_run_make(&scene, 1, &t);
        if (kernels->serve(&t.frame)) {
            worst = worst_change(&t, way, &n, where, sizeof where);
            tap_check(n == t.n && worst <= allowed,
                      "%s: %d tangents, %s off %.1e, %.0e allowed", scenes_list[i].name, n,
                      where, worst, allowed);
            worst = worst_photons(&t, way);
            tap_check(worst <= allowed / 10, "%s: photons off %.1e, %.0e allowed",
                      scenes_list[i].name, worst, allowed / 10);
            served++;
        } else
            tap_note("%s: left to the CPU", scenes_list[i].name);
        device_run_drop(&t);
    }
    tap_check(served > 20, "%d scenes of %zu", served, scenes_count);
    return TAP_PASS;
}

static int changes_double(void)
{
    return changes_by(&derivative_kernels_double, 1, double_allowed);
}

static int changes_float(void)
{
    return changes_by(&derivative_kernels_single, 1, float_allowed);
}

/* four anchors for a tile, for float */
static int changes_parts(void)
{
    return changes_by(&derivative_kernels_single, 2, float_allowed);
}

/* the kernels that leave sums out, and that of many turns */
static int classes(void)
{
    static const char *const names[] = {"square_nearest", "gauss_tricubic"};

    for (size_t i = 0; i < 2; i++) {
        const nb_scene scene = jacobian_scene(names[i]);
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
                char where[64];
                double worst;
                int n;

                if (!way.kernels->rows[t.job.spec.shape][t.job.spec.lookup][kind].block)
                    continue;
                worst = worst_change(&t, way, &n, where, sizeof where);
                tap_check(n > 10 && worst <= (single ? float_allowed : double_allowed),
                          "%s, class %d, %s: %d tangents, %s off %.1e", names[i], kind,
                          single ? "float" : "double", n, where, worst);
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
    nb_scene s = jacobian_scene(names[number]);

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
            const double allowed = single ? float_allowed : double_allowed;
            char where[64];
            double worst;
            int n;

            if (!way.kernels->serve(&t.frame)) abort();
            worst = worst_change(&t, way, &n, where, sizeof where);
            tap_check(n == t.n && worst <= allowed,
                      "mixture %d, %s: %d tangents, %s off %.1e, %.0e allowed", i,
                      single ? "float" : "double", n, where, worst, allowed);
            worst = worst_photons(&t, way);
            tap_check(worst <= allowed / 10, "photons off %.1e, %.0e allowed", worst,
                      allowed / 10);
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
        const nb_scene scene = jacobian_scene(names[i]);
        struct device_run t;
        char where[64];
        double worst;
        int n;

        device_run_make(&scene, 0, &t);
        worst = worst_change(&t, way, &n, where, sizeof where);
        tap_check(n == t.n && worst <= double_allowed,
                  "%s: %d tangents, %s off %.1e, %.0e allowed", names[i], n, where, worst,
                  double_allowed);
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
