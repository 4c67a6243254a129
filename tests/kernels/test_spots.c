/*
 * test_spots.c - the sum over reflections: what it leaves out stays below the tolerance in
 * every scene, it is chosen where it should be, and its calls obey the rules of all others.
 *
 * SPDX-License-Identifier: MIT
 */
#define _DEFAULT_SOURCE // NOLINT(readability-identifier-naming)
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

enum { PIXELS = SPOTS_PIXELS };

static const struct renders_way reference = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0,
                                             1, NULL};
static const double tolerances[] = {1e-2, 1e-3, 1e-5, 1e-8, 1e-12};

/* ---- the bound ---- */

/* At every tolerance, and in float at those it can keep; `rounding` in double comes on
 * top. */
static void check_bound(const char *name, const nb_scene *scene, double rounding)
{
    static double truth[PIXELS], image[PIXELS];

    if (!renders_image(scene, &reference, truth, NULL)) return;
    for (size_t t = 0; t < COUNT(tolerances); t++)
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++) {
            const struct renders_way way = {precision, NB_STRATEGY_SPOTS, tolerances[t], 1,
                                            NULL};
            const double single = precision == NB_PRECISION_SINGLE ? 1e-5 : 0;
            nb_description about;
            struct renders_gap gap;
            char what[80];

            if (single > tolerances[t]) continue;
            if (!renders_image(scene, &way, image, &about)) continue;
            gap = renders_compare(image, truth, PIXELS);
            (void)snprintf(what, sizeof what, "%s, %s to %g", name,
                           precision == NB_PRECISION_SINGLE ? "float" : "double",
                           tolerances[t]);
            tap_check(gap.peak > 0 && about.strategy == NB_STRATEGY_SPOTS,
                      "%s: spots, peak %g", what, gap.peak);
            tap_promised(what, gap.worst, 0, tolerances[t] + single + rounding);
        }
}

/* the scenes that the running case is named after */
static int bound_scenes(void)
{
    static const char *const cases[] = {"bound_crystals", "bound_beams", "bound_detectors",
                                        "bound_factors"};
    struct named_scene named;
    unsigned tag = SCENES_CRYSTAL;

    for (int i = 0; strcmp(tap_running(), cases[i]) != 0; i++) tag <<= 1;
    for (size_t i = 0; scenes_at(SCENES_SPOTS | tag, i, &named); i++)
        check_bound(named.name, &named.scene, renders_allowed(&named.scene));
    return TAP_PASS;
}

static void check_shape(int shape)
{
    static const char *const names[] = {"square", "round", "gauss", "tophat", "gauss_star"};

    for (int lookup = 0; lookup <= NB_LOOKUP_TRICUBIC; lookup++)
        for (int count = 3; count <= 12; count += 9) {
            nb_scene scene = scenes_base_of(SCENES_SPOTS);
            char name[80];

            for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = count + i;
            scene.crystal.shape = shape;
            scene.crystal.hkl = lookup ? scenes_reflections() : NULL;
            scene.crystal.interpolate = lookup;
            (void)snprintf(name, sizeof name, "%s, look-up %d, N = %d", names[shape],
                           lookup, count);
            check_bound(name, &scene, renders_allowed(&scene));
        }
}

static int bound_shapes(void)
{
    check_shape(NB_SHAPE_GAUSS);
    check_shape(NB_SHAPE_TOPHAT);
    check_shape(NB_SHAPE_GAUSS_STAR);
    return TAP_PASS;
}

static int bound_on_request(void)
{
    check_shape(NB_SHAPE_SQUARE);
    check_shape(NB_SHAPE_ROUND);
    return TAP_PASS;
}

/* Nothing lies within the first radius: only tails are left, from 1e-3 to 1e-200 of what
 * the crystal could scatter, and they are the image's peak. */
static int bound_of_tails(void)
{
    static const double off[] = {0.7, 1.5, 2.5, 3.5, 5, 7};

    for (size_t i = 0; i < COUNT(off); i++)
        for (int shape = NB_SHAPE_GAUSS; shape <= NB_SHAPE_GAUSS_STAR; shape += 2) {
            const nb_scene scene = scenes_beside_spot(shape, 30, off[i]);
            char name[80];

            (void)snprintf(name, sizeof name, "%s, %g/N off",
                           shape == NB_SHAPE_GAUSS ? "gauss" : "gauss_star", off[i]);
            /* the slope of a gaussian's logarithm grows with the distance */
            check_bound(name, &scene, renders_allowed(&scene) * (1 + off[i]));
        }
    return TAP_PASS;
}

/* The spot lies beside the ROI, within reach of the point spread: its peak is not that of
 * the image, which is what the tolerance is a fraction of. */
static int bound_beside_roi(void)
{
    static double truth[PIXELS];
    nb_scene scene = scenes_base_of(SCENES_SPOTS);
    size_t brightest = 0;
    double most;

    if (!strstr(nb_features(), "fftw")) return tap_skip("this build has no FFTW");
    scene.crystal.shape = NB_SHAPE_GAUSS;
    if (!renders_image(&scene, &reference, truth, NULL)) return TAP_PASS;
    for (size_t i = 0; i < PIXELS; i++)
        if (truth[i] > truth[brightest]) brightest = i;
    most = truth[brightest];
    scene.psf = (nb_psf){.kind = NB_PSF_GAUSS, .fwhm = scene.detector.pixel};
    scene.psf.radius = 8;
    for (int off = 2; off <= 8; off += 2) {
        const int fast = (int)brightest % scene.detector.nfast;
        const int first = fast < scene.detector.nfast / 2 ? fast + off : fast - off - 1;
        double transforms, peak;
        char name[80];

        scene.detector.roi[0] = first, scene.detector.roi[1] = first + 2;
        scene.detector.roi[2] = (int)brightest / scene.detector.nfast;
        scene.detector.roi[3] = scene.detector.roi[2] + 1;
        (void)snprintf(name, sizeof name, "%d pixels beside a spot", off);
        if (!renders_image(&scene, &reference, truth, NULL)) continue;
        peak = worst_largest(truth, PIXELS);
        transforms = 16 * DBL_EPSILON * most / peak; /* of the point spread */
        check_bound(name, &scene, renders_allowed(&scene) + transforms);
    }
    return TAP_PASS;
}

/* Ten million samples in one spot, more than a float counts; and the same below zero, as a
 * difference of two images has it. */
static int bound_of_wide_spots(void)
{
    for (int fine = 1; fine >= 0; fine--) {
        nb_scene scene = scenes_beside_spot(NB_SHAPE_GAUSS, 10, 0.6);

        scene.oversample = fine ? 64 : 3;
        check_bound(fine ? "wide" : "wide, few samples", &scene, renders_allowed(&scene));
    }
    return TAP_PASS;
}

/* and lanes in float: what they lost they compute again in double */
static int tails_in_lanes(void)
{
    static const double off[] = {0.7, 1.5, 2.5, 3.5, 5, 7};
    static double truth[PIXELS], image[PIXELS];

    for (size_t i = 0; i < COUNT(off); i++)
        for (int shape = NB_SHAPE_GAUSS; shape <= NB_SHAPE_GAUSS_STAR; shape += 2) {
            const struct renders_way way = {NB_PRECISION_SINGLE, NB_STRATEGY_LANES, 0, 1,
                                            NULL};
            const nb_scene scene = scenes_beside_spot(shape, 30, off[i]);
            struct renders_gap gap;
            char name[80];

            if (!renders_image(&scene, &reference, truth, NULL)
                || !renders_image(&scene, &way, image, NULL))
                continue;
            gap = renders_compare(image, truth, PIXELS);
            (void)snprintf(name, sizeof name, "%s, %g/N off, peak %.2g",
                           shape == NB_SHAPE_GAUSS ? "gauss" : "gauss_star", off[i],
                           gap.peak);
            tap_close(name, gap.worst, 0, 3e-10); /* 1.7e-11 measured */
        }
    return TAP_PASS;
}

/* where the truth is 0, so is the image */
static int nothing_to_see(void)
{
    static double truth[PIXELS], image[PIXELS];
    const nb_scene scenes[] = {scenes_beside_spot(NB_SHAPE_TOPHAT, 30, 2),
                               scenes_beside_spot(NB_SHAPE_GAUSS, 2000, 300)};

    for (size_t i = 0; i < COUNT(scenes); i++)
        for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
             precision++) {
            const struct renders_way way = {precision, NB_STRATEGY_SPOTS, 0, 2, NULL};
            double most;

            if (!renders_image(&scenes[i], &reference, truth, NULL)
                || !renders_image(&scenes[i], &way, image, NULL))
                continue;
            most = renders_compare(image, image, PIXELS).peak;
            tap_check(renders_compare(truth, truth, PIXELS).peak == 0 && most == 0,
                      "shape %d: peak %g expected 0", scenes[i].crystal.shape, most);
        }
    return TAP_PASS;
}

/* A sample exactly halfway between reflections, h = -1/2 and k = 1/2, belongs to one of
 * them: all numbers are powers of 2, so nothing is rounded. */
static int halfway_counts_once(void)
{
    static const double vectors[4][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static double truth[PIXELS], image[PIXELS];
    const int slow = 20, fast = 32, at = SPOTS_NFAST * slow + fast;
    nb_scene scene = scenes_base_of(SCENES_SPOTS);
    nb_pixel_trace trace;
    nb_context *ctx;
    nb_simulator *sim;

    memset(scene.crystal.misset, 0, sizeof scene.crystal.misset);
    for (int i = 0; i < 3; i++) {
        scene.crystal.ncells[i] = 1;
        scene.crystal.cell[i] = 8;
        scene.crystal.cell[3 + i] = 90;
    }
    scene.crystal.ndomains = 1;
    scene.crystal.mosaic[0] = 0;
    scene.beam.wavelength = 16;
    scene.beam.direction[0] = 1; /* the pixel lies at 90 degrees, along y */
    scene.beam.polarization_axis[2] = 1;
    scene.detector.convention = NB_CONVENTION_CUSTOM;
    memcpy(scene.detector.vectors, vectors, sizeof vectors);
    scene.detector.pixel = 1000.0 / 1024;
    scene.detector.origin_kind = NB_ORIGIN_PIX0;
    scene.detector.origin[0] = -(slow + 0.5) * scene.detector.pixel;
    scene.detector.origin[1] = 64 * scene.detector.pixel;
    scene.detector.origin[2] = -(fast + 0.5) * scene.detector.pixel;
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK
        || nb_simulator_trace(sim, NULL, 0, slow, fast, &trace) != NB_OK)
        abort();
    tap_check(trace.h[0] == -0.5 && trace.h[1] == 0.5 && trace.h[2] == 0,
              "the sample lies at %.17g %.17g %.17g", trace.h[0], trace.h[1], trace.h[2]);
    nb_simulator_free(sim);
    nb_context_free(ctx);
    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        const struct renders_way way = {precision, NB_STRATEGY_SPOTS, 1e-5, 1, NULL};

        if (renders_image(&scene, &reference, truth, NULL)
            && renders_image(&scene, &way, image, NULL))
            tap_promised("share of its intensity", image[at] / truth[at], 1, 2e-5);
    }
    return TAP_PASS;
}

/* ---- calls ---- */
static nb_context *context_with(const nb_context_options *options)
{
    nb_context *ctx;

    if (nb_context_create(NB_API_VERSION, options, &ctx) != NB_OK) abort();
    return ctx;
}

static nb_simulator *make(nb_context *ctx, const nb_scene *scene, const char *names,
                          const nb_options *options)
{
    nb_simulator *sim;

    if (nb_simulator_create(ctx, scene, names, options, &sim) != NB_OK) {
        tap_check(0, "%s", nb_context_message(ctx));
        exit(1);
    }
    return sim;
}

static int forward(nb_simulator *sim, const double *x, double *image)
{
    nb_array array = nb_array_f64(image, SPOTS_NSLOW, SPOTS_NFAST);

    return nb_forward(sim, x, &array) == NB_OK;
}

/* lists made for one x serve another: longer cells, another radius, another sphere */
static int forward_at_x(void)
{
    static const char names[] = "cell misset distance wavelength";
    static double at_x[PIXELS], afresh[PIXELS], truth[PIXELS];
    static const double grown[] = {0.7, 1, 1.4};
    nb_scene scene = scenes_base_of(SCENES_SPOTS);
    nb_context *ctx = context_with(NULL);

    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        const nb_options options = {precision, NB_STRATEGY_SPOTS, 0},
                         exact = {0, NB_STRATEGY_REFERENCE, 0};
        nb_simulator *sim = make(ctx, &scene, names, &options);

        for (size_t g = 0; g < COUNT(grown); g++) {
            double x[11], allowed = precision == NB_PRECISION_SINGLE ? 2e-5 : 1e-10 + 1e-11;
            nb_simulator *second;
            nb_scene resolved;
            nb_param param;

            for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
                if (nb_simulator_param(sim, i, &param) != NB_OK) abort();
                x[i] =
                    param.value
                    * (strncmp(param.name, "cell_", 5) == 0 && strstr("abc", param.name + 5)
                           ? grown[g]
                           : 1 + 0.02 * (grown[g] - 1));
            }
            if (!tap_check(forward(sim, x, at_x)
                               && nb_simulator_resolved(sim, x, &resolved) == NB_OK,
                           "cell x %g: renders", grown[g]))
                continue;
            second = make(ctx, &resolved, NULL, &options);
            tap_check(forward(second, NULL, afresh)
                          && bits_same(at_x, afresh, sizeof at_x / sizeof *at_x),
                      "cell x %g: the bits of a simulator made there", grown[g]);
            nb_simulator_free(second);
            second = make(ctx, &resolved, NULL, &exact);
            (void)forward(second, NULL, truth);
            tap_promised("off the reference", renders_compare(at_x, truth, PIXELS).worst, 0,
                         allowed);
            nb_simulator_free(second);
        }
        nb_simulator_free(sim);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

struct progress {
    int calls, stop_at, backwards, outside;
    double last;
};

static int watch(void *user, double fraction)
{
    struct progress *p = user;

    p->backwards += fraction < p->last;
    p->outside += !(fraction >= 0 && fraction <= 1);
    p->last = fraction;
    return ++p->calls == p->stop_at;
}

/* many rows and many groups of orientations, so that threads have something to share */
enum { TALL = 200, TALL_PIXELS = TALL * SPOTS_NFAST };

static nb_scene tall(void)
{
    nb_scene s = scenes_base_of(SCENES_SPOTS);

    s.detector.nslow = TALL;
    s.crystal.mosaic[0] = 5;
    return s;
}

static int threads_same_bits(void)
{
    static const int threads[] = {2, 3, 5};
    static double one[TALL_PIXELS], many[TALL_PIXELS];
    const nb_scene scene = tall();

    for (int precision = NB_PRECISION_DOUBLE; precision <= NB_PRECISION_SINGLE;
         precision++) {
        struct renders_way way = {precision, NB_STRATEGY_SPOTS, 0, 1, NULL};

        if (!renders_image(&scene, &way, one, NULL)) continue;
        for (size_t i = 0; i < COUNT(threads); i++) {
            way.threads = threads[i];
            if (renders_image(&scene, &way, many, NULL))
                tap_check(bits_same(one, many, sizeof one / sizeof *one),
                          "precision %d: %d threads give the bits of one", precision,
                          threads[i]);
        }
    }
    return TAP_PASS;
}

/* and an image that is done again with wider spots, as only tails are in it */
static int progress_and_cancelling(void)
{
    static double expected[TALL_PIXELS], image[TALL_PIXELS];
    const nb_options spots = {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0};
    nb_scene scenes[] = {tall(), scenes_beside_spot(NB_SHAPE_GAUSS, 30, 4)};

    scenes[1].detector.nslow = TALL;
    for (size_t i = 0; i < COUNT(scenes); i++)
        for (int threads = 1; threads <= 2; threads++) {
            struct progress p = {0, 0, 0, 0, 0};
            const nb_context_options options = {.threads = threads,
                                                .progress = watch,
                                                .user = &p};
            nb_context *ctx = context_with(&options);
            nb_simulator *sim = make(ctx, &scenes[i], NULL, &spots);
            nb_array first = nb_array_f64(expected, TALL, SPOTS_NFAST);
            nb_array array = nb_array_f64(image, TALL, SPOTS_NFAST);
            int total, ok = nb_forward(sim, NULL, &first) == NB_OK;

            tap_check(ok && p.calls >= 3 - threads && p.last == 1 && p.backwards == 0
                          && p.outside == 0,
                      "%d reports, the last %g, %d backwards, %d outside 0 to 1", p.calls,
                      p.last, p.backwards, p.outside);
            total = p.calls;
            /* how many reports there are depends on the threads; 1 is certain */
            for (int stop = 1; stop <= (threads == 1 ? total : 1); stop += 1 + total / 8) {
                p = (struct progress){0, stop, 0, 0, 0};
                tap_check(nb_forward(sim, NULL, &array) == NB_ERR_CANCELLED,
                          "%d threads, stopped at report %d of %d", threads, stop, total);
                p = (struct progress){0};
                ok = nb_forward(sim, NULL, &array) == NB_OK;
                tap_check(ok && bits_same(image, expected, sizeof image / sizeof *image),
                          "the next call gives the whole image");
            }
            nb_simulator_free(sim);
            nb_context_free(ctx);
        }
    return TAP_PASS;
}

/* ---- memory ---- */

/* largest resident size so far, MB */
static double resident(void)
{
    struct rusage use;

    if (getrusage(RUSAGE_SELF, &use) != 0) abort();
    return (double)use.ru_maxrss / 1024;
}

/* 1e5 pairs of an orientation and a source: their own numbers take 0.4 MB */
static int memory_of_many_pairs(void)
{
    static const double allowed = 24; /* MB: image, lists of two threads, stacks */
    static double image[PIXELS];
    const struct renders_way way = {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0, 2, NULL};
    nb_scene scene = scenes_base_of(SCENES_SPOTS);
    nb_description about;
    double before, after;

    if (!renders_image(&scene, &way, image, NULL)) return TAP_PASS;
    before = resident();
    scene.crystal.ndomains = 250;
    scene.crystal.mosaic[0] = 0.3;
    scene.scan.osc = 1;
    scene.scan.nphi = 20;
    scene.beam.dispersion = 0.01;
    scene.beam.ndispersion = 20;
    scene.detector.roi[0] = 30, scene.detector.roi[1] = 38;
    scene.detector.roi[2] = 10, scene.detector.roi[3] = 18;
    if (!renders_image(&scene, &way, image, &about)) return TAP_PASS;
    after = resident();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return tap_skip("a sanitizer keeps what is freed");
#endif
    tap_check(about.nsource * about.nphi * about.ndomains == 100000,
              "%d sources x %d phi steps x %d domains", about.nsource, about.nphi,
              about.ndomains);
    tap_check(after - before <= allowed, "grew by %.1f MB allowed %g", after - before,
              allowed);
    return TAP_PASS;
}

#define NAMED(name)                                                                        \
    {                                                                                      \
#name, name                                                                        \
    }

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"bound_crystals", bound_scenes},
        {"bound_beams", bound_scenes},
        {"bound_detectors", bound_scenes},
        {"bound_factors", bound_scenes},
        NAMED(bound_shapes),
        NAMED(bound_on_request),
        NAMED(bound_of_tails),
        NAMED(bound_beside_roi),
        NAMED(bound_of_wide_spots),
        NAMED(tails_in_lanes),
        NAMED(nothing_to_see),
        NAMED(halfway_counts_once),
        NAMED(forward_at_x),
        NAMED(threads_same_bits),
        NAMED(progress_and_cancelling),
        NAMED(memory_of_many_pairs),
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
