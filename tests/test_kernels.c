/*
 * test_kernels.c - every instruction set and variant against the reference kernel, and the
 * same bits for any number of threads. SPDX-License-Identifier: MIT
 */
#define _POSIX_C_SOURCE 200112L
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { PIXELS = 40 * 37 };

/* image of a scene; threads and instruction set as asked */
static int render(const nb_scene *scene, int strategy, int threads, const char *isa,
                  double *image)
{
    const nb_options options = {NB_DOUBLE, strategy, 0};
    nb_context_options with = {0};
    nb_context *ctx;
    nb_simulator *sim = NULL;
    nb_array array = nb_array_f64(image, scene->detector.nslow, scene->detector.nfast);
    nb_status status;

    with.threads = threads;
    (void)setenv("NANOBRAG_ISA", isa, 1);
    if (nb_context_create(NB_API_VERSION, &with, &ctx) != NB_OK) abort();
    status = nb_simulator_create(ctx, scene, NULL, &options, &sim);
    if (status == NB_OK) status = nb_forward(sim, NULL, &array);
    if (status != NB_OK) tap_note("%s", nb_context_message(ctx));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return status == NB_OK;
}

static double peak_of(const double *image)
{
    double peak = 0;

    for (int i = 0; i < PIXELS; i++) peak = fmax(peak, fabs(image[i]));
    return peak;
}

static int lanes_agree(const char *isa)
{
    static double reference[PIXELS], lanes[PIXELS];

    if (!kernels_lanes(isa).precise) return tap_skip("this machine cannot run %s", isa);
    for (size_t i = 0; i < scenes_count; i++) {
        const nb_scene scene = scenes_make(&scenes_list[i]);
        double peak, worst = 0;

        if (!tap_check(render(&scene, NB_REFERENCE, 1, "", reference)
                           && render(&scene, NB_LANES, 1, isa, lanes),
                       "%s renders", scenes_list[i].name))
            continue;
        peak = peak_of(reference);
        tap_check(peak > 0, "%s is not dark: peak %g", scenes_list[i].name, peak);
        for (int k = 0; k < PIXELS; k++)
            worst = fmax(worst, fabs(lanes[k] - reference[k]) / peak);
        tap_close(scenes_list[i].name, worst, 0, 1e-12);
    }
    return TAP_PASS;
}

static int lanes_v2(void)
{
    return lanes_agree("v2");
}

static int lanes_v3(void)
{
    return lanes_agree("v3");
}

static int lanes_v4(void)
{
    return lanes_agree("v4");
}

/* largest |q| on the detector, 1/A */
static double qmax_of(const nb_scene *scene)
{
    nb_context *ctx;
    nb_simulator *sim;
    nb_description about;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || nb_simulator_create(ctx, scene, NULL, NULL, &sim) != NB_OK
        || nb_describe(sim, NULL, &about) != NB_OK)
        abort();
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return about.qmax;
}

/* pi N |h| roundings of h are all that a long crystal at a high index may cost */
static int lanes_far_out(void)
{
    static double reference[PIXELS], lanes[PIXELS];
    nb_scene scene = scenes_base();
    double worst = 0, allowed, hmax;

    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 300;
    scene.crystal.cell[2] = 400;
    scene.detector.distance = 30;
    tap_check(render(&scene, NB_REFERENCE, 1, "", reference)
                  && render(&scene, NB_LANES, 1, "", lanes),
              "a crystal of 300 cells renders");
    for (int k = 0; k < PIXELS; k++) worst = fmax(worst, fabs(lanes[k] - reference[k]));
    hmax = 400 * qmax_of(&scene);
    allowed = fmax(1e-12, 4 * 2.2e-16 * 3.15 * 300 * hmax);
    tap_close("worst pixel over peak", worst / peak_of(reference), 0, allowed);
    return TAP_PASS;
}

static int threads_same_bits(void)
{
    static double one[PIXELS], many[PIXELS];

    for (size_t i = 0; i < scenes_count; i++) {
        const nb_scene scene = scenes_make(&scenes_list[i]);

        for (int threads = 2; threads <= 5; threads += threads == 2 ? 1 : 2) {
            if (!render(&scene, NB_LANES, 1, "", one)
                || !render(&scene, NB_LANES, threads, "", many))
                abort();
            tap_check(memcmp(one, many, sizeof one) == 0,
                      "%s: %d threads give the bits of one", scenes_list[i].name, threads);
        }
    }
    return TAP_PASS;
}

static int roi_same_bits(void)
{
    static double whole[PIXELS], part[PIXELS];
    nb_scene scene = scenes_base();
    int differ = 0, outside = 0;

    if (!render(&scene, NB_LANES, 2, "", whole)) abort();
    scene.detector.roi[0] = 5, scene.detector.roi[1] = 23;
    scene.detector.roi[2] = 7, scene.detector.roi[3] = 30;
    if (!render(&scene, NB_LANES, 2, "", part)) abort();
    for (int s = 0; s < 37; s++)
        for (int f = 0; f < 40; f++) {
            const int inside = f >= 5 && f < 23 && s >= 7 && s < 30;
            const double *a = whole + 40 * s + f, *b = part + 40 * s + f;

            differ += inside && memcmp(a, b, sizeof *a) != 0;
            outside += !inside && *b != 0;
        }
    tap_check(differ == 0, "%d pixels of the ROI differ from the whole image", differ);
    tap_check(outside == 0, "%d pixels outside the ROI are not 0", outside);
    return TAP_PASS;
}

/* a cropped image equals the crop: what lies around the ROI, and under the mask, gives its
 * light to the pixels beside it */
static int roi_point_spread(void)
{
    static double whole[PIXELS], part[PIXELS];
    static uint8_t mask[PIXELS];
    nb_scene scene = scenes_base();
    double worst = 0;

#ifndef NANOBRAG_FFTW
    return tap_skip("this build has no FFTW");
#endif
    scene.psf.kind = NB_PSF_GAUSS;
    scene.psf.fwhm = 1.2;
    if (!render(&scene, NB_LANES, 2, "", whole)) abort();
    for (int i = 0; i < PIXELS; i++) mask[i] = i % 7 != 0;
    scene.detector.mask = mask;
    scene.detector.roi[0] = 5, scene.detector.roi[1] = 23;
    scene.detector.roi[2] = 7, scene.detector.roi[3] = 30;
    if (!render(&scene, NB_LANES, 2, "", part)) abort();
    for (int s = 7; s < 30; s++)
        for (int f = 5; f < 23; f++)
            if (mask[40 * s + f])
                worst = fmax(worst, fabs(part[40 * s + f] - whole[40 * s + f]));
    tap_close("worst pixel over peak", worst / peak_of(whole), 0, 1e-12);
    tap_check(part[40 * 14] == 0 && part[0] == 0, "masked and outside pixels are 0");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"lanes_v2", lanes_v2},
        {"lanes_v3", lanes_v3},
        {"lanes_v4", lanes_v4},
        {"lanes_far_out", lanes_far_out},
        {"threads_same_bits", threads_same_bits},
        {"roi_same_bits", roi_same_bits},
        {"roi_point_spread", roi_point_spread},
    };

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
