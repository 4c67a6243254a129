/*
 * test_allocations.c - a call allocates nothing, and running out of memory is an error
 * without a leak. Shared libraries are counted apart: OpenMP allocates and frees a block
 * for each region that runs on one thread, FFTW the workspace of each transform.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "api/allocations.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { NFAST = 40, NSLOW = 37, PIXELS = NFAST * NSLOW };

static int forward(nb_simulator *sim, const double *x, double *photons)
{
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);

    return nb_forward(sim, x, &image) == NB_OK;
}

static nb_simulator *make(nb_context *ctx, const nb_scene *scene, const char *names)
{
    nb_simulator *sim;
    const nb_status status = nb_simulator_create(ctx, scene, names, NULL, &sim);

    if (status != NB_OK) tap_check(0, "%s", nb_context_message(ctx));
    return sim;
}

static int no_allocation(void)
{
    static double photons[PIXELS];
    static float rounded[PIXELS];
    struct named_scene named;

    if (!allocations_counted()) return tap_skip("malloc cannot be counted here");
    for (int threads = 1; threads <= 2; threads++)
        for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
            const long made = allocations_made();
            nb_context *ctx = renders_context(threads);
            nb_simulator *sim = make(ctx, &named.scene, "misset default_f");
            nb_array single = nb_array_f32(rounded, NSLOW, NFAST);
            const double x[4] = {12, -33, 71, 80};
            int ok = forward(sim, x, photons) /* OpenMP makes its threads */
                     && nb_forward(sim, x, &single) == NB_OK /* and this a double image */
                     && allocations_made() > made;
            const long before = allocations_made(), held = allocations_held();
            const long elsewhere = allocations_elsewhere();

            ok &= forward(sim, NULL, photons) && forward(sim, x, photons)
                  && nb_forward(sim, x, &single) == NB_OK;
            tap_check(ok && allocations_made() == before && allocations_held() == held,
                      "%s on %d threads: %ld allocations in 3 calls, %ld blocks kept; "
                      "%ld by other libraries",
                      named.name, threads, allocations_made() - before,
                      allocations_held() - held, allocations_elsewhere() - elsewhere);
            nb_simulator_free(sim);
            nb_context_free(ctx);
        }
    return TAP_PASS;
}

/* one call of each kind, of derivatives too, with planes in at most two boxes; returns how
 * many failed */
static int call_all(nb_simulator *sim, int background)
{
    static double photons[PIXELS], changes[2 * PIXELS], ones[PIXELS];
    static float rounded[PIXELS], rounded_changes[PIXELS];
    static uint16_t counted[PIXELS];
    double matrix[9], gradient[3], bar_x[3] = {0}, value;
    const double dx[6] = {1, 0, 0, 0, 1, 2};
    nb_array image = nb_array_f64(photons, NSLOW, NFAST);
    nb_array single = nb_array_f32(rounded, NSLOW, NFAST);
    nb_array change[2] = {nb_array_f64(changes, NSLOW, NFAST),
                          nb_array_f64(changes + PIXELS, NSLOW, NFAST)};
    nb_array single_change = nb_array_f32(rounded_changes, NSLOW, NFAST);
    nb_array counts = nb_array_u16(counted, NSLOW, NFAST);
    const nb_array bar = nb_array_f64(ones, NSLOW, NFAST);
    const nb_target target = {.observed = &bar,
                              .kind = NB_LOSS_GAUSS,
                              .sigma_readout = 3,
                              .background = background};
    const nb_digitizer how = {.noise = 1, .scale = 1, .seed = 3};
    nb_normal normal = {.matrix = matrix, .gradient = gradient};
    nb_normal slope = {.gradient = gradient};
    nb_description description;
    double planes[6];
    int failed = 0;

    for (int i = 0; i < PIXELS; i++) ones[i] = 1;
    memset(matrix, 0, sizeof matrix);
    memset(gradient, 0, sizeof gradient);
    failed += nb_forward(sim, NULL, &image) != NB_OK;
    failed += nb_forward(sim, NULL, &single) != NB_OK;
    failed += nb_forward_batch(sim, 1, NULL, &image) != NB_OK;
    failed += nb_forward_add(sim, NULL, 0.5, &image) != NB_OK;
    failed += nb_jvp(sim, NULL, 2, dx, change) != NB_OK;
    failed += nb_jvp(sim, NULL, 1, dx, &single_change) != NB_OK;
    failed += nb_vjp(sim, NULL, 1, &bar, bar_x) != NB_OK;
    failed += nb_loss(sim, NULL, &target, &value, NULL) != NB_OK;
    failed += nb_loss(sim, NULL, &target, &value, &slope) != NB_OK;
    failed += nb_loss(sim, NULL, &target, &value, &normal) != NB_OK;
    if (background) failed += nb_planes(sim, NULL, &target, planes) != NB_OK;
    normal.gradient = NULL;
    failed += nb_jtj(sim, NULL, &bar, NULL, &normal) != NB_OK;
    failed += nb_digitize(sim, &how, &image, &counts) != NB_OK;
    failed += nb_simulator_describe(sim, NULL, &description) != NB_OK;
    return failed;
}

/* The table of <nanobrag/simulator.h>: what the first call of a kind takes is kept, and the
 * next ones take nothing, but for one block of each normal matrix behind a point spread,
 * which is given back. */
static int first_calls_alone(void)
{
    static const int strategies[] = {NB_STRATEGY_REFERENCE, NB_STRATEGY_LANES,
                                     NB_STRATEGY_SPOTS};

    if (!allocations_counted()) return tap_skip("malloc cannot be counted here");
    for (int i = 0; i < 9; i++) {
        static const int box[2][4] = {{3, 15, 5, 20}, {10, 30, 12, 31}};
        enum { MATRICES = 2 }; /* of call_all() */
        const nb_options options = {NB_PRECISION_DOUBLE, strategies[i % 3], 0};
        const int spreads = i >= 3 && i < 6, background = i >= 6 ? NB_BACKGROUND_PLANES : 0;
        const long expected = spreads ? 2 * MATRICES : 0;
        nb_context *ctx = renders_context(2);
        nb_scene scene = scenes_base();
        nb_simulator *sim;
        long made, first, held;
        int failed;

        scene.crystal.shape = NB_SHAPE_GAUSS;
        if (background) {
            memset(scene.detector.roi, 0, sizeof scene.detector.roi);
            scene.detector.box = box[0];
            scene.detector.nbox = 2;
        }
        if (spreads) {
            scene.psf.kind = NB_PSF_GAUSS;
            scene.psf.fwhm = 2 * scene.detector.pixel;
        }
        if (nb_simulator_create(ctx, &scene, "misset", &options, &sim) != NB_OK) abort();
        made = allocations_made();
        failed = call_all(sim, background);
        first = allocations_made() - made;
        held = allocations_held();
        made = allocations_made();
        failed += call_all(sim, background) + call_all(sim, background);
        made = allocations_made() - made;
        tap_check(failed == 0 && first > 0 && made == expected
                      && allocations_held() == held,
                  "strategy %d%s: %ld allocations in the first calls, %ld in the next, "
                  "expected %ld, %ld blocks more, %d calls failed",
                  strategies[i % 3],
                  spreads      ? " behind a point spread"
                  : background ? " with planes"
                               : "",
                  first, made, expected, allocations_held() - held, failed);
        nb_simulator_free(sim);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

/* memory that runs out anywhere is said, and what was taken until then is given back */
static int memory_refused(void)
{
    struct named_scene named;

    if (!allocations_counted()) return tap_skip("malloc cannot be refused here");
    for (size_t i = 0; scenes_at(SCENES_FEATURES, i, &named); i++) {
        nb_context *ctx = renders_context(1);
        const long held = allocations_held();
        nb_simulator *sim = NULL;
        int refusals = 0, wrong = 0;
        nb_status status;

        /* FFTW ends the program when it gets no memory */
        if (named.scene.psf.kind != NB_PSF_NONE) {
            nb_context_free(ctx);
            continue;
        }
        do {
            allocations_refuse(++refusals);
            status = nb_simulator_create(ctx, &named.scene, "misset", NULL, &sim);
            allocations_refuse(0);
            if (status != NB_OK)
                wrong += status != NB_ERR_MEMORY || sim || allocations_held() != held
                         || !strstr(nb_context_message(ctx), "memory");
        } while (status != NB_OK && refusals < 100);
        tap_check(wrong == 0 && refusals > 2 && status == NB_OK,
                  "%s: %d refusals, %d wrong answers", named.name, refusals - 1, wrong);
        nb_simulator_free(sim);
        tap_check(allocations_held() == held, "%s: %ld blocks left", named.name,
                  allocations_held() - held);
        nb_context_free(ctx);
    }
    return TAP_PASS;
}

/* An adjoint that paints takes its images at the first call, and none after it: once with
 * the n-th allocation refused. Returns 1 when there were that many. What compiled mode can
 * do without, it does. */
static int refuse_in_adjoint(long n, int *refusals, int *wrong)
{
    const nb_options spots = {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0};
    static double weights[PIXELS], gradient[8];
    const nb_array bar = nb_array_f64(weights, NSLOW, NFAST);
    nb_context *ctx = renders_context(1);
    nb_scene scene = scenes_base();
    const char *message = nb_context_message(ctx);
    nb_simulator *sim;
    nb_status status;
    long made, more;

    scene.crystal.shape = NB_SHAPE_GAUSS;
    for (int i = 0; i < PIXELS; i++) weights[i] = 1 + i % 3;
    if (nb_simulator_create(ctx, &scene, "cell", &spots, &sim) != NB_OK) abort();
    made = allocations_made();
    allocations_refuse(n);
    status = nb_vjp(sim, NULL, 1, &bar, gradient);
    allocations_refuse(0);
    made = allocations_made() - made;
    *refusals += status == NB_ERR_MEMORY;
    *wrong += status != NB_OK && (status != NB_ERR_MEMORY || !strstr(message, "memory"));
    more = allocations_made();
    *wrong += nb_vjp(sim, NULL, 1, &bar, gradient) != NB_OK;
    more = allocations_made() - more;
    *wrong += status == NB_OK && more > 0;
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return status != NB_OK || made >= n;
}

static int adjoint_memory(void)
{
    int refusals = 0, wrong = 0;
    long n = 1;

    if (!allocations_counted()) return tap_skip("malloc cannot be refused here");
    while (n < 1000 && refuse_in_adjoint(n, &refusals, &wrong)) n++;
    tap_check(n < 1000 && wrong == 0 && refusals > 2,
              "%ld allocations, %d refusals fail the call, %d wrong answers", n - 1,
              refusals, wrong);
    return TAP_PASS;
}

/* The Jacobian of a continuous crystal whose sources are lines of a spectrum, once with the
 * n-th allocation refused. Returns 1 when there were that many. The call fails, or its
 * result is the same. */
static int refuse_in_spectrum(long n, int *refusals, int *wrong)
{
    const nb_options spots = {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0};
    static const double dx[2] = {1, 0.1};
    static double change[PIXELS], expected[PIXELS];
    nb_array to = nb_array_f64(change, NSLOW, NFAST);
    nb_array again = nb_array_f64(expected, NSLOW, NFAST);
    nb_context *ctx = renders_context(1);
    nb_scene scene = scenes_base();
    const char *message = nb_context_message(ctx);
    nb_source lines[40];
    nb_simulator *sim;
    nb_status status;
    long made;

    for (int i = 0; i < 40; i++)
        lines[i] = (nb_source){{1, 0, 0}, 1.1 * (1 + 2e-3 * (i - 19.7)), 1 + i % 3};
    scene.beam.source = lines;
    scene.beam.nsource = 40;
    scene.crystal.mosaic_model = NB_MOSAIC_GAUSS;
    scene.crystal.shape = NB_SHAPE_GAUSS;
    scene.crystal.ndomains = scene.crystal.mosaic_seed = 0;
    scene.scan.osc = scene.scan.nphi = 0;
    for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 60;
    memcpy(scene.detector.roi, (int[]){10, 20, 10, 20}, sizeof scene.detector.roi);
    if (nb_simulator_create(ctx, &scene, "source_wavelength[1] cell_a", &spots, &sim)
        != NB_OK)
        abort();
    made = allocations_made();
    allocations_refuse(n);
    status = nb_jvp(sim, NULL, 1, dx, &to);
    allocations_refuse(0);
    made = allocations_made() - made;
    *refusals += status == NB_ERR_MEMORY;
    *wrong += status != NB_OK && (status != NB_ERR_MEMORY || !strstr(message, "memory"));
    *wrong += nb_jvp(sim, NULL, 1, dx, &again) != NB_OK;
    *wrong += status == NB_OK && memcmp(change, expected, sizeof change) != 0;
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return status != NB_OK || made >= n;
}

static int spectrum_memory(void)
{
    int refusals = 0, wrong = 0;
    long n = 1;

    if (!allocations_counted()) return tap_skip("malloc cannot be refused here");
    while (n < 1000 && refuse_in_spectrum(n, &refusals, &wrong)) n++;
    tap_check(n < 1000 && wrong == 0 && refusals > 10 && refusals == n - 1,
              "%ld allocations, %d refusals fail the call, %d wrong answers", n - 1,
              refusals, wrong);
    return TAP_PASS;
}

static int hkl_memory_refused(void)
{
    static const int indices[6] = {1, 2, 3, 2, 2, 3};
    static const double f[2] = {4, 5};
    nb_context *ctx = renders_context(1);
    const long held = allocations_held();
    nb_hkl *hkl;

    if (!allocations_counted()) {
        nb_context_free(ctx);
        return tap_skip("malloc cannot be refused here");
    }
    for (int n = 1; n <= 2; n++) {
        allocations_refuse(n);
        tap_check(nb_hkl_create(ctx, 2, indices, f, &hkl) == NB_ERR_MEMORY && !hkl
                      && allocations_held() == held,
                  "allocation %d of a list of reflections refused", n);
        allocations_refuse(0);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"no_allocation", no_allocation},   {"first_calls_alone", first_calls_alone},
        {"memory_refused", memory_refused}, {"hkl_memory_refused", hkl_memory_refused},
        {"adjoint_memory", adjoint_memory}, {"spectrum_memory", spectrum_memory},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
